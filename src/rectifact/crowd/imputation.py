r"""From the observed co-occurrences to a root of all of them: blocks with :math:`R_{mj} \approx U_m U_j^T`.

Every function returns ``U`` of shape (n_workers, K, K), stacked blocks that equal :math:`A_m D^{1/2}` up to one
common rotation, which ``rotation`` then finds. Equation numbers are those of Ibrahim and Fu (2021).
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import eigsh

from rectifact import kernels
from rectifact.core.errors import InputError
from rectifact.core.monitor import Monitor
from rectifact.core.operand import Operand
from rectifact.core.sparse import with_columns
from rectifact.crowd.cooccurrence import Cooccurrences
from rectifact.crowd.em import Floats

OUTLIER = 0.03
"""Residual of a block, in Frobenius norm, above which it is trusted less and less."""

LEAST_CORRELATION = 0.04
"""Smallest canonical correlation of two workers' answers whose block is inverted; rare classes do not lower it."""

MOST_ROWS = 12_000
"""Rows of a completed co-occurrence matrix that still fit: 1.2 GB."""


def robust(
    pairs: Cooccurrences, start: Floats, *, monitor: Monitor, weigh_by_count: bool = True, reweigh: bool = True
) -> Floats:
    r"""Robust imputation: minimise :math:`\sum \|R_{mj} - U_m U_j^T\|_F` by reweighted least squares (eqs. 9-11).

    All workers are updated at once and moved half of the way: whole steps cycle with period two.

    Parameters
    ----------
    pairs : Cooccurrences
    start : array of shape (n_workers, K, K)
        For example that of the majority vote.
    monitor : Monitor
        Of the sum of weighted residuals.
    weigh_by_count : bool, default True
        Whether a block weighs by the number of answers behind it; the paper's blocks all weigh the same.
    reweigh : bool, default True
        Whether outlying blocks weigh less; else it is plain least squares, the paper's ablation with all weights 1.
    """
    U, importance = start, pairs.counts if weigh_by_count else np.ones(len(pairs.counts))
    starts = np.searchsorted(pairs.first, np.unique(pairs.first))  # pairs are sorted by their first worker
    met = pairs.first[starts]
    for _ in monitor:
        right = U[pairs.second]
        residual = np.linalg.norm(pairs.blocks - U[pairs.first] @ right.swapaxes(1, 2), axis=(1, 2))
        doubt = np.sqrt(residual**2 + OUTLIER**2) if reweigh else 1.0
        weight = (importance / doubt)[:, None, None]
        cross = np.add.reduceat(weight * (pairs.blocks @ right), starts)
        gram = np.add.reduceat(weight * (right.swapaxes(1, 2) @ right), starts)
        U = _half_step(U, met, cross, gram)
        monitor.record(lambda: (importance * residual).sum())
    return U


def pair_free(B: Operand, start: Floats, *, monitor: Monitor) -> Floats:
    r"""Imputation by plain least squares, without forming any pair of workers: linear in the answers.

    Not equations 9-11, whose weights for outliers need each pair: here all pairs of answers weigh the same. The normal
    equations of :math:`\sum n_{mj} \|R_{mj} - U_m U_j^T\|^2` need only products of the answers with the stacked blocks,
    minus what each answer contributes to itself.

    Parameters
    ----------
    B : Operand of shape (n_tasks, n_workers * K)
    start : array of shape (n_workers, K, K)
    monitor : Monitor
        Of the length of a step.
    """
    n_workers, k, _ = start.shape
    U = start
    given = B.total(_self_products).reshape(n_workers, k, 1)
    met = np.arange(n_workers)
    for _ in monitor:
        own = (U.swapaxes(1, 2) @ U).reshape(n_workers, -1)
        cells, workers = B.total(_pair_products, U.reshape(-1, k), own)
        cross = cells.reshape(U.shape) - given * U
        gram = (workers - given.sum(axis=1) * own).reshape(U.shape)
        previous, U = U, _half_step(U, met, cross, gram)
        monitor.record(lambda: np.linalg.norm(U - previous))
    return U


def _pair_products(rows: Any, U: Floats, V: Floats) -> tuple[Floats, Floats]:
    """``B' B U`` for cells and ``W' W V`` for workers, where ``W`` says who answered which task."""
    by_worker = with_columns(rows, rows.indices // (len(U) // len(V)), len(V))
    return _gram_product(rows, U), _gram_product(by_worker, V)


def _gram_product(X: Any, V: Floats) -> Floats:
    """``X' X V`` on all cores."""
    return kernels.crowd_counts(X.indptr, X.indices, X.data, kernels.sparse_times(X, V), X.shape[1])


def _self_products(rows: Any) -> Floats:
    """What answers contribute to those products by themselves, by cell."""
    return np.asarray(np.bincount(rows.indices, rows.data.astype(np.float64) ** 2, rows.shape[1]), dtype=np.float64)


def _half_step(U: Floats, met: np.ndarray, cross: Floats, gram: Floats) -> Floats:
    """Half of the way to ``cross @ gram^-1`` for the workers ``met``, with ``||U_m||_F <= 1`` (eq. 9b)."""
    ridge = 1e-9 * np.einsum("mkk->m", gram)[:, None, None] + 1e-12
    target = cross @ np.linalg.inv(gram + ridge * np.eye(U.shape[1]))
    target /= np.maximum(np.linalg.norm(target, axis=(1, 2), keepdims=True), 1)
    moved = U.copy()
    moved[met] = (U[met] + target) / 2
    return moved


def designated(pairs: Cooccurrences, chosen: NDArray[np.int64] | None = None) -> Floats:
    r"""Designated imputation: :math:`R_{mn} = R_{mr} R_{lr}^{-1} R_{ln}` over every usable path (eqs. 7-8).

    Paths are averaged with weights :math:`n_{mr} \cdot n_{lr} s_{lr}^2 \cdot n_{ln}`, where s is the smallest singular
    value of the block that is inverted. Blocks of workers whose answers hardly correlate on some contrast of classes
    invert nothing. Observed blocks stay as they are. Blocks that no path reaches stay zero.

    Parameters
    ----------
    pairs : Cooccurrences
    chosen : array of int, default None
        Numbers of the designated workers: l and r are among them. Without it, any two workers may be l and r.
    """
    n_workers, k = pairs.n_workers, pairs.blocks.shape[1]
    if n_workers * k > MOST_ROWS:
        raise InputError(
            f"identify='designated' completes a matrix of {n_workers * k} rows, which does not fit in memory.",
            "Use identify='robust' or 'pair-free', which need no such matrix.",
        )
    X = completed(pairs, chosen)
    return _root((X + X.T) / 2, k)


def completed(pairs: Cooccurrences, chosen: NDArray[np.int64] | None = None) -> Floats:
    """All co-occurrences, observed or imputed as in :func:`designated`, of shape (n_workers * K, n_workers * K)."""
    n_workers, k = pairs.n_workers, pairs.blocks.shape[1]
    smallest = smallest_singular_values(pairs.blocks)
    usable = _usable(pairs, chosen)
    inverses = np.zeros_like(pairs.blocks)
    inverses[usable] = np.linalg.inv(pairs.blocks[usable].swapaxes(1, 2))  # R_lr^-1 maps r's answers to l's
    reliability = np.where(usable, pairs.counts * smallest**2, 0)
    N = pairs.block_matrix(pairs.counts[:, None, None] * pairs.blocks)
    P = pairs.block_matrix(reliability[:, None, None] * inverses)
    n, p = pairs.worker_matrix(pairs.counts), pairs.worker_matrix(reliability)
    weight = (n @ (p @ n)).toarray()
    total = (N @ (P.T @ N)).toarray().reshape(n_workers, k, n_workers, k)
    X = np.divide(total, weight[:, None, :, None], out=np.zeros_like(total), where=weight[:, None, :, None] > 0)
    X[pairs.first, :, pairs.second, :] = pairs.blocks
    return X.reshape(n_workers * k, n_workers * k)


def smallest_singular_values(blocks: Floats) -> Floats:
    """The smallest singular value of each block."""
    return np.asarray(np.linalg.svd(blocks, compute_uv=False)[:, -1], dtype=float)


def smallest_correlations(blocks: Floats) -> Floats:
    """The smallest canonical correlation of the answers behind each block: 0 where it is singular.

    Examples
    --------
    >>> smallest_correlations(np.array([[[0.45, 0.05], [0.05, 0.45]], [[0.9, 0.02], [0.02, 0.06]]])).round(2)
    array([0.8 , 0.73])
    """
    rows, columns = (np.sqrt(np.maximum(blocks.sum(axis=axis), 1e-12)) for axis in (2, 1))
    return smallest_singular_values(blocks / (rows[:, :, None] * columns[:, None, :]))


def _usable(pairs: Cooccurrences, chosen: NDArray[np.int64] | None) -> NDArray[np.bool_]:
    """Which blocks can be inverted on a path: those between designated workers that are not too near to singular."""
    usable = smallest_correlations(pairs.blocks) > LEAST_CORRELATION
    if chosen is not None:
        usable &= np.isin(pairs.first, chosen) & np.isin(pairs.second, chosen)
    return usable


def reached(pairs: Cooccurrences, chosen: NDArray[np.int64] | None = None) -> NDArray[np.bool_]:
    """Which co-occurrences are observed or can be imputed by :func:`designated`, of shape (n_workers, n_workers)."""
    usable = _usable(pairs, chosen).astype(float)
    met, bridge = pairs.worker_matrix(np.ones(len(usable))), pairs.worker_matrix(usable)
    return np.asarray((met @ (bridge @ met) + met).toarray() > 0)


def not_imputed(pairs: Cooccurrences) -> Floats:
    """Root of the observed co-occurrences as they are, missing blocks and the diagonal left zero."""
    return _root(pairs.block_matrix(pairs.blocks), pairs.blocks.shape[1])


def _root(X: Any, k: int) -> Floats:
    """Symmetric root of the best positive approximation of rank ``k``, in blocks (n_workers, k, k)."""
    values, vectors = eigsh(X, k=k, which="LA", v0=np.ones(X.shape[0]))
    return (vectors * np.sqrt(np.maximum(values, 0))).reshape(-1, k, k)
