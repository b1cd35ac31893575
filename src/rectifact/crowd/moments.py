"""Further methods of ``identify``, from moments of the answers: MultiSPA, CNMF and the spectral method.

[1] S. Ibrahim, X. Fu, N. Kargas and K. Huang, "Crowdsourcing via pairwise co-occurrences: identifiability
and algorithms", NeurIPS 2019: MultiSPA and CNMF.

[2] Y. Zhang, X. Chen, D. Zhou and M. I. Jordan, "Spectral methods meet EM: a provably optimal algorithm for
crowdsourcing", JMLR 17, 2016.
"""

import numpy as np

from rectifact.core.linalg import successive_projection
from rectifact.core.monitor import Monitor
from rectifact.core.operand import Operand
from rectifact.crowd.cooccurrence import Cooccurrences
from rectifact.crowd.em import Floats, Sums, confusions_of, e_step
from rectifact.crowd.rotation import FLOOR, match_classes


def multispa(pairs: Cooccurrences, answers_given: Floats) -> tuple[Floats, Floats]:
    """MultiSPA [1]: the columns of a worker's co-occurrences, scaled to sum to 1, have the confusions as corners.

    Returns
    -------
    priors, confusions : array
        Hidden classes in the order in which each worker is right most often.
    """
    k = pairs.blocks.shape[1]
    confusions = np.full((pairs.n_workers, k, k), 1 / k)
    bounds = np.searchsorted(pairs.first, np.arange(pairs.n_workers + 1))
    for m in range(pairs.n_workers):
        Z = pairs.blocks[bounds[m] : bounds[m + 1]].transpose(1, 0, 2).reshape(k, -1)
        mass = Z.sum(axis=0)
        if (mass > 0).sum() >= k:
            columns = Z[:, mass > 0] / mass[mass > 0]
            corners = np.maximum(columns[:, successive_projection(columns.T, k)], FLOOR)
            corners = corners / corners.sum(axis=0)
            _, confusions[m : m + 1] = match_classes(np.ones(k), corners[None], np.ones(1))
    return _priors_of(pairs, confusions, answers_given), confusions


def _priors_of(pairs: Cooccurrences, confusions: Floats, answers_given: Floats) -> Floats:
    """Priors whose mixture of confusions best gives each worker's share of answers, by least squares."""
    marginal = np.zeros(confusions.shape[:2])
    np.add.at(marginal, pairs.first, pairs.counts[:, None] * pairs.blocks.sum(axis=2))
    total = np.maximum(marginal.sum(axis=1, keepdims=True), 1e-12)
    root = np.sqrt(answers_given)[:, None]
    A = (root[:, :, None] * confusions).reshape(-1, confusions.shape[2])
    solution = np.linalg.lstsq(A, (root * marginal / total).ravel())[0]
    priors = np.maximum(solution, FLOOR)
    return priors / priors.sum()


def cnmf(pairs: Cooccurrences, priors: Floats, confusions: Floats, *, monitor: Monitor) -> tuple[Floats, Floats]:
    """Coupled NMF [1]: fit ``A_m D A_j'`` to every observed co-occurrence in Kullback-Leibler divergence.

    Multiplicative updates in the form of EM on pairs of answers: the posterior class of a pair of answers is
    proportional to ``priors * A_m(k) * A_j(l)``; blocks weigh by the number of answers behind them.

    Parameters
    ----------
    pairs : Cooccurrences
    priors, confusions : array
        The model to start from.
    monitor : Monitor
        Of the divergence, up to a constant, which cannot rise.
    """
    observed = pairs.counts[:, None, None] * pairs.blocks
    for _ in monitor:
        left, right = confusions[pairs.first] * priors, confusions[pairs.second]
        model = np.maximum(left @ right.swapaxes(1, 2), 1e-300)
        gathered = left * ((observed / model) @ right)  # expected answers k of the first where c is true
        counts = np.zeros_like(confusions)
        np.add.at(counts, pairs.first, gathered)
        priors = counts.sum(axis=(0, 1)) / counts.sum()
        confusions = confusions_of(counts, 1e-9)
        monitor.record(lambda: -(observed * np.log(model)).sum())
    return priors, confusions


def spectral(B: Operand, votes: Sums, *, rng: np.random.Generator) -> tuple[Floats, Floats] | None:
    """Third-order moments of three random groups of workers [2], whitened and decomposed by the power method.

    The corners give each group's mean confusions; the posteriors under these give each worker's. None where fewer tasks
    than classes have answers from all three groups.

    Parameters
    ----------
    B : Operand of shape (n_tasks, n_workers * n_classes)
        In memory: views of the tasks are compared one by one.
    votes : Sums
        Under the shares of the votes; they only name the classes.
    rng : numpy.random.Generator
        For the partition and the starts of the power method.
    """
    n_tasks, k = B.shape[0], len(votes.classes)
    n_workers = B.shape[1] // k
    group = rng.permutation(np.arange(n_workers) % 3)
    views = [B @ np.kron((group == g)[:, None], np.eye(k)) for g in range(3)]
    given = [np.maximum(view.sum(axis=1, keepdims=True), 1) for view in views]
    together = np.all([view.sum(axis=1) > 0 for view in views], axis=0)
    Z = [(view / total)[together] for view, total in zip(views, given, strict=True)]
    if len(Z[0]) < k:
        return None
    group_confusions = np.stack([_group_confusions(Z[g - 2], Z[g - 1], Z[g], rng) for g in range(3)])
    # Each answer is judged by the mean confusions of its group, which names the classes and fits every worker.
    _, sums, _ = e_step(B, votes.classes / n_tasks, group_confusions[group])
    return sums.classes / n_tasks, confusions_of(sums.counts, 0.1)


def _group_confusions(Za: Floats, Zb: Floats, Zc: Floats, rng: np.random.Generator) -> Floats:
    """Mean confusions of the third view (Algorithm 1 of [2]): symmetrise, whiten, tensor power, undo."""
    n, k = Zc.shape
    cross_ab, cross_cb, cross_ca = Za.T @ Zb / n, Zc.T @ Zb / n, Zc.T @ Za / n
    Xa = Za @ (cross_cb @ np.linalg.pinv(cross_ab)).T
    Xb = Zb @ (cross_ca @ np.linalg.pinv(cross_ab.T)).T
    M2 = Xa.T @ Xb / n
    values, vectors = np.linalg.eigh((M2 + M2.T) / 2)
    keep = np.maximum(values, 1e-6)
    whiten, unwhiten = vectors / np.sqrt(keep), vectors * np.sqrt(keep)
    T = np.einsum("ni,nj,nl->ijl", Xa @ whiten, Xb @ whiten, Zc @ whiten, optimize=True) / n
    columns = []
    for _ in range(k):
        value, v = _top_eigenvector((T + T.transpose(1, 2, 0) + T.transpose(2, 0, 1)) / 3, rng)
        T = T - value * np.einsum("i,j,l->ijl", v, v, v)
        columns.append(unwhiten @ v * value)
    corners = np.maximum(np.stack(columns, axis=1), 0.01)
    return match_classes(np.ones(k), (corners / corners.sum(axis=0))[None], np.ones(1))[1][0]


def _top_eigenvector(T: Floats, rng: np.random.Generator) -> tuple[float, Floats]:
    """Best of several starts of the tensor power method."""
    best, where = -np.inf, np.zeros(len(T))
    for v in rng.standard_normal((10 * len(T), len(T))):
        v = v / np.linalg.norm(v)
        for _ in range(50):
            v = np.einsum("ijl,j,l->i", T, v, v)
            v = v / max(np.linalg.norm(v), 1e-300)
        value = float(np.einsum("ijl,i,j,l->", T, v, v, v))
        if value > best:
            best, where = value, v
    return best, where
