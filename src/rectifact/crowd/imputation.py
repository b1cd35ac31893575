r"""From the observed co-occurrences to a root of all of them: blocks with :math:`R_{mj} \approx U_m U_j^T`.

Every function returns ``U`` of shape (n_workers, K, K), stacked blocks that equal :math:`A_m D^{1/2}` up to one
common rotation, which ``rotation`` then finds. Equation numbers are those of Ibrahim and Fu (2021).
"""

from collections.abc import Callable
from functools import singledispatch
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import eigsh

from rectifact import kernels
from rectifact.core.errors import InputError
from rectifact.core.monitor import Monitor
from rectifact.crowd.cooccurrence import Cooccurrences
from rectifact.crowd.em import Floats

__all__ = ["PairProducts", "designated", "not_imputed", "pair_free", "pair_products", "robust", "self_products"]

OUTLIER = 0.03
"""Residual of a block, in Frobenius norm, above which it is trusted less and less."""

PairProducts = Callable[[Floats, Floats], tuple[Floats, Floats]]
"""From blocks of cells and of workers to their products with all answers."""

LEAST_SINGULAR_VALUE = 0.02
MOST_ROWS = 12_000
"""Rows of a completed co-occurrence matrix that still fit: 1.2 GB."""


def robust(pairs: Cooccurrences, start: Floats, *, monitor: Monitor, weigh_by_count: bool = True) -> Floats:
    r"""Robust imputation: minimise :math:`\sum \|R_{mj} - U_m U_j^T\|_F` by reweighted least squares (eqs. 9-11).

    All workers are updated at once and moved half of the way: whole steps cycle with period two.

    Parameters
    ----------
    pairs : observed co-occurrences
    start : array (n_workers, K, K), for example that of the majority vote
    monitor : Monitor of the sum of weighted residuals
    weigh_by_count : whether a block weighs by the number of answers behind it; the paper's blocks all weigh the same
    """
    U, importance = start, pairs.counts if weigh_by_count else np.ones(len(pairs.counts))
    starts = np.searchsorted(pairs.first, np.unique(pairs.first))  # pairs are sorted by their first worker
    met = pairs.first[starts]
    for _ in monitor:
        right = U[pairs.second]
        residual = np.linalg.norm(pairs.blocks - U[pairs.first] @ right.swapaxes(1, 2), axis=(1, 2))
        weight = (importance / np.sqrt(residual**2 + OUTLIER**2))[:, None, None]
        cross = np.add.reduceat(weight * (pairs.blocks @ right), starts)
        gram = np.add.reduceat(weight * (right.swapaxes(1, 2) @ right), starts)
        U = _half_step(U, met, cross, gram)
        monitor.record(lambda: (importance * residual).sum())
    return U


def pair_free(B: Any, start: Floats, *, monitor: Monitor) -> Floats:
    r"""Imputation with weights :math:`n_{mj}` alone, without forming any pair: linear in the answers.

    The normal equations of :math:`\sum n_{mj} \|R_{mj} - U_m U_j^T\|^2` need only products of the answers with
    the stacked blocks, minus what each answer contributes to itself.
    """
    n_workers, k, _ = start.shape
    U = start
    products = pair_products(B, n_workers)
    given = self_products(B).reshape(n_workers, k, 1)
    met = np.arange(n_workers)
    for _ in monitor:
        own = (U.swapaxes(1, 2) @ U).reshape(n_workers, -1)
        cells, workers = products(U.reshape(-1, k), own)
        cross = cells.reshape(U.shape) - given * U
        gram = (workers - given.sum(axis=1) * own).reshape(U.shape)
        previous, U = U, _half_step(U, met, cross, gram)
        monitor.record(lambda: np.linalg.norm(U - previous))
    return U


@singledispatch
def pair_products(B: Any, n_workers: int) -> PairProducts:
    """The products ``B' B U`` of cells and ``W' W V`` of workers, where ``W`` says who answered which task."""
    k = B.shape[1] // n_workers
    W = sp.csr_array((B.data, B.indices // k, B.indptr), shape=(B.shape[0], n_workers))
    return lambda U, V: (_gathered(B, B @ U), _gathered(W, W @ V))


@singledispatch
def self_products(B: Any) -> Floats:
    """What answers contribute to those products by themselves, by cell."""
    return np.asarray(np.bincount(B.indices, B.data.astype(np.float64) ** 2, B.shape[1]), dtype=np.float64)


def _gathered(X: sp.csr_array, Y: Floats) -> Floats:
    """``X.T @ Y`` on all cores."""
    return kernels.crowd_counts(X.indptr, X.indices, X.data, Y, X.shape[1])


def _half_step(U: Floats, met: np.ndarray, cross: Floats, gram: Floats) -> Floats:
    """Half of the way to ``cross @ gram^-1`` for the workers ``met``, with ``||U_m||_F <= 1`` (eq. 9b)."""
    ridge = 1e-9 * np.einsum("mkk->m", gram)[:, None, None] + 1e-12
    target = cross @ np.linalg.inv(gram + ridge * np.eye(U.shape[1]))
    target /= np.maximum(np.linalg.norm(target, axis=(1, 2), keepdims=True), 1)
    moved = U.copy()
    moved[met] = (U[met] + target) / 2
    return moved


def designated(pairs: Cooccurrences) -> Floats:
    r"""Designated imputation: :math:`R_{mn} = R_{mr} R_{lr}^{-1} R_{ln}` over every usable path (eqs. 7-8).

    Paths are averaged with weights :math:`n_{mr} \cdot n_{lr} s_{lr}^2 \cdot n_{ln}`, where s is the smallest singular
    value of the block that is inverted; blocks with s below 0.02 invert nothing. Observed blocks stay as they
    are. Blocks that no path reaches stay zero.
    """
    n_workers, k = pairs.n_workers, pairs.blocks.shape[1]
    if n_workers * k > MOST_ROWS:
        raise InputError(
            f"identify='designated' completes a matrix of {n_workers * k} rows, which does not fit. Use "
            "identify='robust', which needs no such matrix."
        )
    smallest = np.linalg.svd(pairs.blocks, compute_uv=False)[:, -1]
    usable = smallest > LEAST_SINGULAR_VALUE
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
    X = X.reshape(n_workers * k, n_workers * k)
    return _root((X + X.T) / 2, k)


def not_imputed(pairs: Cooccurrences) -> Floats:
    """Root of the observed co-occurrences as they are, missing blocks and the diagonal left zero."""
    return _root(pairs.block_matrix(pairs.blocks), pairs.blocks.shape[1])


def _root(X: Floats | sp.csr_array, k: int) -> Floats:
    """Symmetric root of the best positive approximation of rank ``k``, in blocks (n_workers, k, k)."""
    values, vectors = eigsh(X, k=k, which="LA", v0=np.ones(X.shape[0]))
    return (vectors * np.sqrt(np.maximum(values, 0))).reshape(-1, k, k)
