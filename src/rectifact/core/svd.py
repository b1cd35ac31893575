"""Truncated singular value decompositions, by Lanczos iteration and by block iteration; X is only multiplied."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh, svds

from rectifact.core.arrays import Array, eps, is_host, namespace, normal_like
from rectifact.core.linalg import MOST_GRAM_FEATURES, merge_roots, root, squared_norm
from rectifact.core.operand import Operand, is_chunked, operand
from rectifact.core.sparse import Shifted, gram, is_sparse

OVERSAMPLE = 8


class SVD(NamedTuple):
    """Truncated singular value decomposition ``U @ diag(s) @ Vt``, singular values descending."""

    U: Array
    s: Array
    Vt: Array


class Round(NamedTuple):
    """One round of block iteration, ``X ~ Q @ R.T @ basis.T``, and the squared norm of X where the round saw it."""

    Q: Array
    basis: Array
    R: Array
    squared: float = np.nan


def truncated_svd(X: Operand, rank: int, *, seed: int = 0) -> tuple[SVD, float]:
    """Leading ``rank`` singular triplets and the squared norm, by the method that suits what holds the matrix.

    The long flat spectrum of a sparse matrix would take block iteration many rounds, so that a CSR matrix on the host
    takes Lanczos iteration. Others take block iteration: chunks the same rounds from the same start as a matrix in
    memory, with the same result to rounding.

    Parameters
    ----------
    X : Operand of shape (n, d)
    rank : int
        At most ``min(n, d)``.
    seed : int, default 0
        Seed of the first vectors.

    Returns
    -------
    SVD
        Its ``U`` is a tall array where the matrix is, lazy for chunks.
    float
        The squared norm of X.

    Examples
    --------
    >>> found, squared = truncated_svd(operand(np.diag([3.0, 2.0, 0.5])), 2)
    >>> found.s.round(6), squared
    (array([3., 2.]), 13.25)
    """
    if is_chunked(X.data):
        return _chunked_svd(X, rank, n_iter=30, tol=1e-8, seed=seed)
    if is_sparse(X.data) and is_host(X.data):
        return lanczos_svd(X.data, rank, tol=1e-6, seed=seed), squared_norm(X)
    return subspace_svd(X.data, rank, n_iter=30, tol=1e-8, seed=seed), squared_norm(X)


def lanczos_svd(X: Any, rank: int, *, start: SVD | None = None, tol: float = 0.0, seed: int = 0) -> SVD:
    """Leading ``rank`` singular triplets by Lanczos iteration, accurate also on close spectra.

    Parameters
    ----------
    X : array, sparse array, Shifted or LinearOperator of shape (n, d), on the host
    rank : int
        At least 1, at most ``min(n, d)``.
    start : SVD, optional
        That of a nearby matrix, whose leading vectors then start the iteration.
    tol : float, default 0
        Relative accuracy of the singular values; 0 is machine precision.
    seed : int, default 0
        Seed of the first vector where there is no ``start``.

    Returns
    -------
    SVD

    Examples
    --------
    >>> import numpy as np
    >>> lanczos_svd(np.diag([3.0, 2.0, 1.0, 0.5]), 2).s.round(6)
    array([3., 2.])
    """
    n, d = X.shape
    if rank >= min(n, d):  # Lanczos needs room to move
        dense = X @ np.eye(d, dtype=X.dtype) if d <= n else (X.T @ np.eye(n, dtype=X.dtype)).T
        return SVD(*np.linalg.svd(dense, full_matrices=False))
    starts = [np.random.default_rng(seed).standard_normal(min(n, d)).astype(X.dtype)]
    if start is not None:  # every wanted direction is in it, but X may have turned away from all of them
        starts.insert(0, start.U @ start.s if n < d else start.s @ start.Vt)
    v0 = next((v for v in starts if np.any(X.T @ v if n < d else X @ v)), None)
    if v0 is None:
        return SVD(np.eye(n, rank, dtype=X.dtype), np.zeros(rank, dtype=X.dtype), np.eye(rank, d, dtype=X.dtype))
    try:
        U, s, Vt = svds(_as_operator(X) if isinstance(X, Shifted) else X, k=rank, v0=v0, tol=tol)
    except ArpackError:  # a matrix of far lower rank may exhaust Lanczos iteration, but not block iteration
        return subspace_svd(X, rank, n_iter=20, seed=seed)
    order = np.argsort(-s)
    return SVD(U[:, order], s[order], Vt[order])


def _as_operator(X: Shifted) -> LinearOperator:
    times, back = X.__matmul__, X.T.__matmul__
    return LinearOperator(X.shape, matvec=times, matmat=times, rmatvec=back, rmatmat=back, dtype=X.dtype)


def subspace_svd(
    X: Array,
    rank: int,
    *,
    start: SVD | None = None,
    n_iter: int = 4,
    tol: float = 0.0,
    oversample: int = OVERSAMPLE,
    seed: int = 0,
) -> SVD:
    """Leading ``rank`` singular triplets by block subspace iteration, on any device.

    Each of the ``n_iter`` rounds multiplies by ``X`` and by its transpose once. Cold, it is the randomised SVD; from
    the ``start`` of a nearby matrix one or two rounds suffice. Close singular values need many rounds:
    :func:`lanczos_svd` is the better choice there.

    Parameters
    ----------
    X : array or sparse array of shape (n, d)
    rank : int
        At least 1, at most ``min(n, d)``.
    start : SVD, optional
        That of a nearby matrix.
    n_iter : int, default 4
        Most rounds.
    tol : float, default 0
        Stop earlier when the squared norm that was found grows by less than this share. 0 never asks, so that the host
        need not wait for a device.
    oversample : int, default 8
        Extra columns that speed up convergence, dropped at the end.
    seed : int, default 0
        Seed of the random columns.

    Returns
    -------
    SVD

    Examples
    --------
    >>> import numpy as np
    >>> subspace_svd(np.diag([3.0, 2.0, 1.0, 0.5]), 2).s.round(6)
    array([3., 2.])
    """
    like = np.empty(0, dtype=X.dtype) if isinstance(X, LinearOperator) else X
    V = _first_columns(X.shape, rank + oversample, like if start is None else start.Vt, seed)
    if start is not None:
        kept = min(V.shape[1], start.Vt.shape[0])
        V[:, :kept] = start.Vt[:kept].T
    _, last = _block_iteration(partial(_round, X), V, n_iter, tol)
    return _unfolded(last, rank)


def _chunked_svd(X: Operand, rank: int, n_iter: int, tol: float, seed: int) -> tuple[SVD, float]:
    """Block iteration on chunks, one computation per round.

    With few features all rounds but the last take ``X'X``, which is made once. The last one reads X: singular values
    below ``1e-8`` of the first are lost in ``X'X``, and they say which rank the data has.
    """
    V = _first_columns(X.shape, rank + OVERSAMPLE, X.like, seed)
    if X.shape[1] <= MOST_GRAM_FEATURES:
        V, _ = _block_iteration(partial(_gram_round, X.total(gram)), V, n_iter, tol)
        n_iter = 1
    _, last = _block_iteration(partial(_chunked_round, X), V, n_iter, tol)
    return _unfolded(last, rank), last.squared


def _first_columns(shape: tuple[int, int], width: int, like: Array, seed: int) -> Array:
    return normal_like(np.random.default_rng(seed), (shape[1], min(width, *shape)), like)


def _block_iteration(one_round: Callable[[Array], Round], V: Array, n_iter: int, tol: float) -> tuple[Array, Round]:
    """The last round, and the columns it began with."""
    found = 0.0
    for left in reversed(range(n_iter)):
        last = one_round(V)
        if tol:
            before, found = found, float(namespace(V).sum(last.R**2))
        if not left or (tol and found - before <= tol * found):
            break
        V = last.basis
    return V, last


def _unfolded(last: Round, rank: int) -> SVD:
    U, s, Wt = namespace(last.R).linalg.svd(last.R.T, full_matrices=False)
    return SVD(operand(last.Q) @ U[:, :rank], s[:rank], (Wt @ last.basis.T)[:rank])


def _round(X: Array, V: Array) -> Round:
    xp = namespace(V)
    Q, _ = xp.linalg.qr(X @ V)
    return Round(Q, *xp.linalg.qr(X.T @ Q))


def _chunked_round(X: Operand, V: NDArray[Any]) -> Round:
    """A round from one reading: with ``X V = Q R`` and R from the chunks' own, ``X'Q`` is ``(X'XV) R^-1``."""
    products, R, squared = X.total(_products_and_root, V, combine=_merge)
    inverse = _inverse(R)
    return Round(X @ (V @ inverse), *np.linalg.qr(products @ inverse), squared=float(squared))


def _gram_round(gram: NDArray[Any], V: NDArray[Any]) -> Round:
    """The same from ``X'X``, without Q; the root of ``V'X'XV`` is symmetric."""
    products = gram @ V
    values, vectors = np.linalg.eigh(V.T @ products)
    R = (vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T
    return Round(None, *np.linalg.qr(products @ _inverse(R)))


def _inverse(R: NDArray[Any]) -> NDArray[Any]:
    """Pseudo-inverse: directions that X does not have are left out."""
    return np.linalg.pinv(R, rcond=R.shape[0] * eps(R))


def _products_and_root(rows: NDArray[Any], V: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any], float]:
    Y = rows @ V
    return rows.T @ Y, root(Y), float(np.vdot(rows, rows))


def _merge(one: Any, other: Any) -> Any:
    return one[0] + other[0], merge_roots(one[1], other[1]), one[2] + other[2]


def mapped_svd(X: Operand, make: Callable[..., Any], *small: Any, rank: int, seed: int = 0) -> SVD:
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
        values, vectors = np.linalg.eigh(X.total(_mapped_gram, make, *small))
    else:
        times = LinearOperator((d, d), lambda v: X.total(_mapped_gram_times, v.ravel(), make, *small), dtype=np.float64)
        values, vectors = eigsh(times, k=rank, v0=np.random.default_rng(seed).standard_normal(d), tol=1e-10)
    order = np.argsort(-values)[:rank]
    s, V = np.sqrt(np.maximum(values[order], 0)), vectors[:, order]
    inverse = np.where(s > 0, 1 / np.where(s > 0, s, 1), 0)
    U = X.map_rows(_projected, V * inverse, X.dtype, make, *small, columns=rank)
    return SVD(U, s.astype(X.dtype), np.ascontiguousarray(V.T, dtype=X.dtype))


def _double(rows: Any) -> Any:
    return rows.astype(np.float64, copy=False)


def _mapped_gram(rows: Any, make: Callable[..., Any], *small: Any) -> NDArray[Any]:
    return np.asarray(gram(make(_double(rows), *small)))


def _mapped_gram_times(rows: Any, v: NDArray[Any], make: Callable[..., Any], *small: Any) -> NDArray[Any]:
    made = make(_double(rows), *small)
    return np.asarray(made.T @ (made @ v))


def _projected(rows: Any, V: NDArray[Any], dtype: Any, make: Callable[..., Any], *small: Any) -> NDArray[Any]:
    return np.ascontiguousarray(make(_double(rows), *small) @ V, dtype=dtype)
