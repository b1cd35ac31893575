"""Leading singular vectors of a matrix whose rows are made from those of another one, wherever that is held."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator, eigsh

from rectifact.core.arrays import is_host
from rectifact.core.linalg import SVD, lanczos_svd, subspace_svd
from rectifact.core.operand import Operand, is_chunked
from rectifact.core.sparse import gram

__all__ = ["truncated_svd"]

MOST_GRAM_FEATURES = 1024
"""Columns up to which the Gram matrix, of 8 MB then, is made in one computation instead of one for each product."""


def truncated_svd(X: Operand, make: Callable[..., Any], *small: Any, rank: int, seed: int = 0) -> SVD:
    """Leading ``rank`` singular triplets of the matrix with the rows ``make(rows of X, *small)``.

    On the host by Lanczos iteration in double precision, which also tells apart singular values that nearly coincide,
    as those of regular images do. Chunks are never gathered: the right singular vectors come from the Gram matrix, or
    from a Lanczos iteration with one computation for each product. On a device by block subspace iteration.

    Parameters
    ----------
    X : Operand
    make : callable
        Function of a module. What it returns has as many columns as X, and can be multiplied; it may be sparse, or
        :class:`rectifact.core.sparse.Shifted`.
    small : any
        Further arguments of ``make``.
    rank : int
    seed : int, default 0
        For the starting vector.

    Returns
    -------
    SVD
        In the precision of X; U is lazy where X is held in chunks.
    """
    if is_chunked(X.data):
        return _from_chunks(X, make, small, rank, seed)
    if not is_host(X.data):
        return subspace_svd(make(X.data, *small), rank, n_iter=50, tol=1e-10, seed=seed)
    svd = lanczos_svd(make(_double(X.data), *small), rank, tol=1e-8, seed=seed)
    return SVD(*(np.ascontiguousarray(part, dtype=X.dtype) for part in svd))


def _from_chunks(X: Operand, make: Callable[..., Any], small: tuple[Any, ...], rank: int, seed: int) -> SVD:
    d = X.shape[1]
    if d <= MOST_GRAM_FEATURES:
        values, vectors = np.linalg.eigh(X.total(_gram, make, *small))
    else:
        times = LinearOperator((d, d), lambda v: X.total(_gram_times, v.ravel(), make, *small), dtype=np.float64)
        values, vectors = eigsh(times, k=rank, v0=np.random.default_rng(seed).standard_normal(d), tol=1e-10)
    order = np.argsort(-values)[:rank]
    s, V = np.sqrt(np.maximum(values[order], 0)), vectors[:, order]
    inverse = np.where(s > 0, 1 / np.where(s > 0, s, 1), 0)
    U = X.map_rows(_projected, V * inverse, X.dtype, make, *small, columns=rank)
    return SVD(U, s.astype(X.dtype), np.ascontiguousarray(V.T, dtype=X.dtype))


def _double(rows: Any) -> Any:
    return rows.astype(np.float64, copy=False)


def _gram(rows: Any, make: Callable[..., Any], *small: Any) -> NDArray[Any]:
    return np.asarray(gram(make(_double(rows), *small)))


def _gram_times(rows: Any, v: NDArray[Any], make: Callable[..., Any], *small: Any) -> NDArray[Any]:
    made = make(_double(rows), *small)
    return np.asarray(made.T @ (made @ v))


def _projected(rows: Any, V: NDArray[Any], dtype: Any, make: Callable[..., Any], *small: Any) -> NDArray[Any]:
    return np.ascontiguousarray(make(_double(rows), *small) @ V, dtype=dtype)
