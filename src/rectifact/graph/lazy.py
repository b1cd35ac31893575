"""Similarities in a dask array: solvers see them through ``X @ U``, one computation each, with U on this machine."""

from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from rectifact.core.arrays import Array, eps
from rectifact.core.errors import InputError
from rectifact.core.lazy import cut_like, evaluate, kept, opened, over_chunks, rows, summed, total

__all__ = ["LazySimilarities", "block_eigenvectors", "lazy_similarities"]


class LazySimilarities:
    """A symmetric lazy matrix in chunks of rows, dense or sparse, with what the solvers ask of a matrix.

    ``source`` is the matrix as it was given, ``array`` the same, in the memory of the workers where that suffices.
    """

    def __init__(self, source: Array) -> None:
        self.source, self.array = source, kept(source)
        self.shape: tuple[int, int] = source.shape
        self.dtype = source.dtype

    def __matmul__(self, U: NDArray[Any]) -> NDArray[Any]:
        columns = U.reshape(self.shape[0], -1)
        boxes = over_chunks(_times, self.array, small=(columns,))
        (product,) = evaluate(rows(boxes, self.array, columns.shape[1], U.dtype))
        return np.require(product, requirements="W").reshape(U.shape)

    def sum(self, axis: int) -> NDArray[Any]:
        """Sums of rows, which are those of columns."""
        return self @ np.ones(self.shape[0])

    @cached_property
    def squared(self) -> float:
        """Squared Frobenius norm."""
        return float(summed(_squared, self.array)[0])


def lazy_similarities(X: Array) -> LazySimilarities:
    """Check that X is square, symmetric and not empty.

    Symmetry is seen by the products of X and of its transpose with the same random vector.
    """
    n = X.shape[0]
    if n != X.shape[1]:
        raise InputError(f"affinity='precomputed' needs a square matrix of similarities; got shape {X.shape}.")
    S = LazySimilarities(X)
    v = np.random.default_rng(0).random((n, 1))
    product = over_chunks(_times, S.array, small=(v,))
    transposed = total(over_chunks(_transposed_times, S.array, cut_like(v, S.array)))
    forth, box = evaluate(rows(product, X, 1, np.float64), transposed)
    (back,) = opened(box)
    if not forth.any():
        raise InputError("X has no edges: there is nothing to cluster. Check the file or the filter.")
    if abs(forth - back).max() > max(1e-10, 10 * eps(np.empty(0, dtype=X.dtype))) * n**0.5 * forth.max():
        raise InputError("X is not symmetric. Give (X + X.T) / 2 in chunks of rows.")
    return S


def block_eigenvectors(
    X: Any, rank: int, *, spare: int = 8, n_iter: int = 60, tol: float = 1e-9, seed: int = 0
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Largest ``rank`` eigenvalues, descending, and their eigenvectors in columns, from products with whole blocks.

    Each round multiplies X by what is left of the Ritz vectors' equations, and looks for the best vectors in the space
    of all rounds since the last restart. Blocks take few products where each is a computation, and find eigenvalues
    that repeat up to ``spare`` times.

    Parameters
    ----------
    X : symmetric, with ``shape`` and ``X @ U``
    rank : number of eigenvalues
    spare : further columns of a block
    n_iter : most rounds
    tol : least residual, relative to the largest eigenvalue
    seed : of the first block

    Examples
    --------
    >>> values, vectors = block_eigenvectors(np.diag([1.0, 3.0, 2.0, 3.0]), 3)
    >>> values.round(6)
    array([3., 3., 2.])
    """
    n = X.shape[0]
    width = min(rank + spare, n)
    basis, _ = np.linalg.qr(np.random.default_rng(seed).standard_normal((n, width)))
    products = X @ basis
    for _ in range(n_iter):
        values, Y = np.linalg.eigh(basis.T @ products)
        values, Y = values[::-1], Y[:, ::-1]
        rest = products @ Y[:, :width] - basis @ Y[:, :width] * values[:width]
        if np.linalg.norm(rest[:, :rank], axis=0).max() <= tol * abs(values[0]) or basis.shape[1] + width > n:
            break
        if basis.shape[1] >= 8 * width:
            basis, products = basis @ Y[:, : 3 * width], products @ Y[:, : 3 * width]
        for _ in range(2):  # once is not enough where little is left
            rest, _ = np.linalg.qr(rest - basis @ (basis.T @ rest))
        basis, products = np.hstack([basis, rest]), np.hstack([products, X @ rest])
    return values[:rank], basis @ Y[:, :rank]


def _times(X: Any, U: NDArray[Any]) -> tuple[NDArray[Any]]:
    return (np.asarray(X @ U),)


def _squared(X: Any) -> tuple[float]:
    entries = X.data if sp.issparse(X) else X
    return (float(np.vdot(entries, entries)),)


def _transposed_times(X: Any, v: NDArray[Any]) -> tuple[NDArray[Any]]:
    return (np.asarray(X.T @ v),)
