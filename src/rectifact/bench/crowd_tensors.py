"""TensorADMM: the Dawid-Skene model from moments of first, second and third order, written from the paper.

References
----------
[1] P. Traganitis, A. Pages-Zamora and G. Giannakis, "Blind multiclass ensemble classification", IEEE Transactions on
Signal Processing 66(18), 2018.
[2] K. Huang, N. Sidiropoulos and A. Liavas, "A flexible and efficient algorithmic framework for constrained matrix and
tensor factorization", IEEE Transactions on Signal Processing 64(19), 2016: ADMM inside of alternating updates.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rectifact.core.errors import InputError
from rectifact.core.monitor import Monitor
from rectifact.crowd import Answers
from rectifact.crowd.em import confusions_of, e_step, expected_sums

Floats = NDArray[np.float64]

MOST_CELLS = 1 << 26
"""Of all third moments: 512 MiB."""

ADMM_STEPS = 10


@dataclass(frozen=True)
class Moments:
    """Joint frequencies of the answers of single workers, pairs and triples of workers; 0 where nobody saw them.

    Attributes
    ----------
    one : array of shape (M, K)
    two : array of shape (M, M, K, K)
    three : array of shape (M, M, M, K, K, K)
    pairs, triples : array of shape (M, M) and (M, M, M)
        1 where all of different workers share a task, else 0.
    """

    one: Floats
    two: Floats
    three: Floats
    pairs: Floats
    triples: Floats


def moments_of(answers: Answers) -> Moments:
    """Moments of answers; repeated answers of a worker to a task count as one, with their mean."""
    n, m, k = len(answers.tasks), len(answers.workers), len(answers.classes)
    if (m * k) ** 3 > MOST_CELLS:
        raise InputError(f"{m} workers and {k} classes have too many third moments.", "Take fewer workers.")
    E = np.zeros((n, m, k))
    np.add.at(E, (answers.task, answers.worker, answers.label), 1)
    E /= np.maximum(E.sum(axis=2, keepdims=True), 1)
    flat = E.reshape(n, m * k)
    two = (flat.T @ flat).reshape(m, k, m, k).swapaxes(1, 2)
    three = np.empty((m, m, m, k, k, k))
    for i in range(m):
        for a in range(k):
            some = E[:, i, a] > 0
            product = (flat[some] * E[some, i, a, None]).T @ flat[some]
            three[i, :, :, a] = product.reshape(m, k, m, k).swapaxes(1, 2)
    apart = ~np.eye(m, dtype=bool)
    distinct = apart[:, :, None] & apart[:, None, :] & apart[None, :, :]
    given, shared, common = E.sum(axis=(0, 2)), two.sum(axis=(2, 3)), three.sum(axis=(3, 4, 5))
    pairs, triples = apart & (shared > 0), distinct & (common > 0)
    return Moments(
        E.sum(axis=0) / np.maximum(given, 1)[:, None],
        two * (pairs / np.where(pairs, shared, 1))[:, :, None, None],
        three * (triples / np.where(triples, common, 1))[:, :, :, None, None, None],
        pairs.astype(float),
        triples.astype(float),
    )


def simplex(V: Floats) -> Floats:
    """Nearest points with non-negative entries that sum to 1, for each column.

    Examples
    --------
    >>> simplex(np.array([[0.5, 2.0], [0.1, 0.0]])).round(6)
    array([[0.7, 1. ],
           [0.3, 0. ]])
    """
    ordered = -np.sort(-V, axis=0)
    excess = (np.cumsum(ordered, axis=0) - 1) / np.arange(1, len(V) + 1)[:, None]
    last = (ordered > excess).sum(axis=0) - 1
    return np.maximum(V - excess[last, np.arange(V.shape[1])], 0)


def constrained(cross: Floats, gram: Floats, start: Floats) -> Floats:
    """Columns in the simplex that minimise ``tr(A G A') / 2 - tr(A' C)``, by a few steps of ADMM [2]."""
    k = len(gram)
    weight = max(float(np.trace(gram)) / k, 1e-9)
    inverse = np.linalg.inv(gram + weight * np.eye(k))
    Z, dual = start, np.zeros_like(start)
    for _ in range(ADMM_STEPS):
        A = (cross + weight * (Z - dual)) @ inverse
        Z = simplex(A + dual)
        dual += A - Z
    return Z


def tensor_admm(answers: Answers, *, max_iter: int = 100, tol: float = 1e-5) -> Floats:
    r"""TensorADMM [1]: least squares of all moments up to the third order, alternating over workers and the prior.

    With confusions A and prior d, the moments are :math:`A_m d`, :math:`A_m D A_j^T` and
    :math:`\sum_c d_c\, a_{mc} \circ a_{jc} \circ a_{lc}`; each block is solved with its columns in the simplex. It
    starts from the majority vote.

    Returns
    -------
    array of shape (n_tasks, n_classes)
        Posteriors under the model found.
    """
    priors, confusions = fit_moments(answers, moments_of(answers), Monitor(max_iter=max_iter, tol=tol))
    with np.errstate(divide="ignore"):
        floored = confusions_of(np.maximum(confusions, 1e-3), 0.0)
        return np.asarray(e_step(answers.matrix(), np.maximum(priors, 1e-6), floored)[0])


def fit_moments(answers: Answers, moments: Moments, monitor: Monitor) -> tuple[Floats, Floats]:
    """Prior and confusions that fit the moments, from the majority vote's."""
    votes = answers.matrix().total(expected_sums, along=(answers.shares(None),))
    d, A = votes.classes / len(answers.tasks), confusions_of(votes.counts, 0.1)
    for _ in monitor:
        for m in range(len(A)):
            A[m] = constrained(*_worker_terms(moments, A, d, m), A[m])
        d = _prior(*_prior_terms(moments, A), d)
        monitor.record(lambda: _residual(moments, A, d))
    return d, A


def _worker_terms(moments: Moments, A: Floats, d: Floats, m: int) -> tuple[Floats, Floats]:
    """Cross products and Gram matrix of worker m's problem; triples are counted once, in either order."""
    grams = A.swapaxes(1, 2) @ A
    contracted = np.einsum("jlabc,jbe->lace", moments.three[m], A, optimize=True)
    third = np.einsum("lace,lce->ae", contracted, A, optimize=True) / 2
    cross = np.outer(moments.one[m], d) + (np.einsum("jab,jbe->ae", moments.two[m], A) + third) * d
    pairs = np.einsum("j,jce->ce", moments.pairs[m], grams)
    triples = np.einsum("jl,jce,lce->ce", moments.triples[m], grams, grams, optimize=True) / 2
    return cross, np.outer(d, d) * (1 + pairs + triples)


def _prior_terms(moments: Moments, A: Floats) -> tuple[Floats, Floats]:
    """The same for the prior, in which all moments are linear."""
    grams = A.swapaxes(1, 2) @ A
    one = np.einsum("ma,mac->c", moments.one, A)
    two = np.einsum("mjab,mac,jbc->c", moments.two, A, A, optimize=True) / 2
    three = np.zeros(A.shape[2])
    triples = np.zeros((A.shape[2], A.shape[2]))
    for m in range(len(A)):
        contracted = np.einsum("jlabc,jbe->lace", moments.three[m], A, optimize=True)
        three += np.einsum("lace,lce,ae->e", contracted, A, A[m], optimize=True) / 6
        weights = np.einsum("jl,jce,lce->ce", moments.triples[m], grams, grams, optimize=True)
        triples += grams[m] * weights / 6
    pairs = np.einsum("mj,mce,jce->ce", moments.pairs, grams, grams, optimize=True) / 2
    return one + two + three, grams.sum(axis=0) + pairs + triples


def _prior(target: Floats, gram: Floats, d: Floats) -> Floats:
    """Prior in the simplex that minimises ``d' G d / 2 - d' t``, by ADMM."""
    weight = float(np.trace(gram)) / len(d)
    inverse = np.linalg.inv(gram + weight * np.eye(len(d)))
    z, dual = d, np.zeros_like(d)
    for _ in range(10 * ADMM_STEPS):
        x = inverse @ (target + weight * (z - dual))
        z = simplex((x + dual)[:, None])[:, 0]
        dual = dual + x - z
    return z


def _residual(moments: Moments, A: Floats, d: Floats) -> float:
    """Sum of squares that is left of the second moments: cheap, and enough to see when nothing moves."""
    model = np.einsum("mac,c,jbc->mjab", A, d, A, optimize=True)
    return float((moments.pairs[:, :, None, None] * (moments.two - model) ** 2).sum())
