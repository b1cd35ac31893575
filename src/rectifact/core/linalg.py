"""Linear algebra the families share; the big matrix is only ever multiplied, never made dense."""

from typing import Any, NamedTuple

import array_api_compat
import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls
from scipy.sparse.linalg import ArpackError, LinearOperator, svds

from rectifact.core.arrays import Array, eps, namespace, normal_like
from rectifact.core.lazy import evaluate, is_lazy, opened, over_chunks, total
from rectifact.core.sparse import entries, is_sparse

__all__ = [
    "SVD",
    "frobenius_residual",
    "gram_inverse",
    "lanczos_svd",
    "nnls_gram",
    "on_cuda",
    "procrustes",
    "pseudo_inverse",
    "solve",
    "subspace_svd",
    "successive_projection",
]

TILE = 1 << 20
"""Entries of a dense matrix that are worked on at once."""


class SVD(NamedTuple):
    """Truncated singular value decomposition ``U @ diag(s) @ Vt``, singular values descending."""

    U: Array
    s: Array
    Vt: Array


def lanczos_svd(X: Any, rank: int, *, start: SVD | None = None, tol: float = 0.0, seed: int = 0) -> SVD:
    """Leading ``rank`` singular triplets by Lanczos iteration, accurate also on close spectra.

    Parameters
    ----------
    X : array, sparse array or LinearOperator of shape (n, d), on the host
    rank : int, ``1 <= rank <= min(n, d)``
    start : SVD of a nearby matrix, whose leading vectors then start the iteration
    tol : relative accuracy of the singular values; 0 is machine precision
    seed : of the starting vector where there is no ``start``

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
    random = np.random.default_rng(seed).standard_normal(min(n, d)).astype(X.dtype)
    v0 = random
    if start is not None:
        v0 = start.U @ start.s if n < d else start.s @ start.Vt  # every wanted direction is in it
        if not np.any(X.T @ v0 if n < d else X @ v0):  # but X may have turned away from all of them
            v0 = random
    if not np.any(X.T @ v0 if n < d else X @ v0):
        return SVD(np.eye(n, rank, dtype=X.dtype), np.zeros(rank, dtype=X.dtype), np.eye(rank, d, dtype=X.dtype))
    try:
        U, s, Vt = svds(X, k=rank, v0=v0, tol=tol)
    except ArpackError:  # a matrix of far lower rank may exhaust the iteration; blocks do not mind
        return subspace_svd(X, rank, n_iter=20, seed=seed)
    order = np.argsort(-s)
    return SVD(U[:, order], s[order], Vt[order])


def subspace_svd(
    X: Array,
    rank: int,
    *,
    start: SVD | None = None,
    n_iter: int = 4,
    tol: float = 0.0,
    oversample: int = 8,
    seed: int = 0,
) -> SVD:
    """Leading ``rank`` singular triplets by block subspace iteration, on any device.

    Each of the ``n_iter`` rounds multiplies by ``X`` and by its transpose once, in blocks. Cold, it is the
    randomised SVD; from the ``start`` of a nearby matrix one or two rounds suffice. Close singular
    values need many rounds: :func:`lanczos_svd` is the better choice there.

    Parameters
    ----------
    X : array or sparse array of shape (n, d)
    rank : int, ``1 <= rank <= min(n, d)``
    start : SVD of a nearby matrix
    n_iter : most rounds
    tol : stop before that when the squared norm that was found grows by less than this share; 0 never asks, which
        spares a device the waiting
    oversample : extra columns that speed convergence, dropped at the end
    seed : of the random columns

    Examples
    --------
    >>> import numpy as np
    >>> subspace_svd(np.diag([3.0, 2.0, 1.0, 0.5]), 2).s.round(6)
    array([3., 2.])
    """
    n, d = X.shape
    width = min(rank + oversample, n, d)
    like = np.empty(0, dtype=X.dtype) if isinstance(X, LinearOperator) else X
    like = like if start is None else start.Vt
    xp = namespace(like)
    V = normal_like(np.random.default_rng(seed), (d, width), like)
    if start is not None:
        kept = min(width, start.Vt.shape[0])
        V[:, :kept] = start.Vt[:kept].T
    found = 0.0
    for _ in range(n_iter):
        Q, _ = xp.linalg.qr(X @ V)
        V, R = xp.linalg.qr(X.T @ Q)
        if tol:
            before, found = found, float(xp.sum(R**2))
            if found - before <= tol * found:
                break
    U, s, Wt = xp.linalg.svd(R.T, full_matrices=False)  # X ~ Q R' V'
    return SVD((Q @ U)[:, :rank], s[:rank], (Wt @ V.T)[:rank])


def procrustes(H: Array, U: Array, weights: Array | None = None) -> Array:
    """Orthogonal ``Q`` that minimises ``||H - U Q||_F``, rows weighted by ``weights`` if given.

    Examples
    --------
    >>> import numpy as np
    >>> U = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    >>> np.abs(procrustes(U[:, ::-1], U).round(12))
    array([[0., 1.],
           [1., 0.]])
    """
    weighted = U if weights is None else U * weights[:, None]
    P, _, Rt = namespace(U).linalg.svd(weighted.T @ H, full_matrices=False)
    return P @ Rt


def on_cuda(array: Array) -> bool:
    """Whether ``array`` lives on a CUDA device, where small eigenvalue problems take milliseconds."""
    return bool(array_api_compat.is_cupy_array(array) or (array_api_compat.is_torch_array(array) and array.is_cuda))


def solve(A: Array, B: Array) -> Array:
    """``A^-1 B`` for one or many regular matrices; on a device without waiting to be told that they were.

    Examples
    --------
    >>> solve(np.array([[2.0]]), np.array([[4.0]]))
    array([[2.]])
    """
    if array_api_compat.is_torch_array(A):
        import torch

        return torch.linalg.solve_ex(A, B).result
    return namespace(A).linalg.solve(A, B)


def gram_inverse(G: Array) -> Array:
    """Inverse of a Gram matrix on a CUDA device, in double precision, with a trace of a ridge for lower rank.

    By Cholesky factors, without a look at the result: the host does not wait for the device.
    """
    if array_api_compat.is_cupy_array(G):
        xp = namespace(G)
        wide = xp.astype(G, xp.float64)
        ridge = 1e-12 * xp.linalg.trace(wide) * xp.eye(G.shape[0], dtype=xp.float64, device=G.device)
        return xp.astype(xp.linalg.inv(wide + ridge), G.dtype)
    import torch

    wide = G.to(torch.float64, copy=True)
    wide.diagonal().add_(1e-12 * torch.trace(wide))
    root, _ = torch.linalg.cholesky_ex(wide)
    return torch.cholesky_inverse(root).to(G.dtype)


def pseudo_inverse(H: Array) -> Array:
    """Moore-Penrose inverse, through the smaller Gram matrix where that is accurate.

    A Gram matrix squares the condition number. Where its smallest eigenvalue says that half the
    digits or more would be lost, or that ``H`` has not full rank, the slower SVD is taken instead. On a CUDA device,
    always through :func:`gram_inverse`.

    Examples
    --------
    >>> import numpy as np
    >>> pseudo_inverse(np.array([[2.0, 0.0, 0.0], [0.0, 4.0, 0.0]]))
    array([[0.5 , 0.  ],
           [0.  , 0.25],
           [0.  , 0.  ]])
    """
    xp = namespace(H)
    wide = H.shape[0] <= H.shape[1]
    if on_cuda(H):
        double = xp.astype(H, xp.float64)
        inverse = double.T @ gram_inverse(double @ double.T) if wide else gram_inverse(double.T @ double) @ double.T
        return xp.astype(inverse, H.dtype)
    gram = H @ H.T if wide else H.T @ H
    values, vectors = xp.linalg.eigh(gram)
    if not values[0] > eps(H) ** 0.5 * values[-1]:
        return xp.linalg.pinv(H)
    inverse = (vectors / values) @ vectors.T
    return H.T @ inverse if wide else inverse @ H.T


def successive_projection(rows: Array, n_chosen: int) -> Array:
    """Numbers of the rows that span the most: the longest, then the longest of what its direction leaves, and so on.

    This is the order in which QR with pivoting takes the rows. Nothing waits for a device.

    Parameters
    ----------
    rows : array of shape (n, d)
    n_chosen : int
        At most ``n``.

    Returns
    -------
    array of shape (n_chosen,)

    References
    ----------
    N. Gillis and S. A. Vavasis, "Fast and robust recursive algorithms for separable nonnegative matrix
    factorization", IEEE TPAMI 36(4), 2014.

    Examples
    --------
    >>> successive_projection(np.array([[1.0, 0.0], [0.5, 0.5], [0.0, 0.9]]), 2)
    array([0, 2])
    """
    xp, rest, chosen = namespace(rows), rows, []
    for _ in range(n_chosen):
        place = xp.reshape(xp.argmax(xp.sum(rest**2, axis=1)), (1,))
        longest = xp.take(rest, place, axis=0)
        length = xp.linalg.vector_norm(longest)
        direction = longest / xp.where(length > 0, length, xp.ones_like(length))
        rest = rest - (rest @ direction.T) * direction
        chosen.append(place)
    return xp.concat(chosen)


def nnls_gram(gram: NDArray[Any], cross: NDArray[Any]) -> NDArray[Any]:
    """Non-negative least squares for many right-hand sides that share one Gram matrix.

    Column j of the result minimises ``1/2 x' gram x - x' cross[:, j]`` over ``x >= 0``: with
    ``gram = A' A`` and ``cross = A' Y`` that is ``||A x - y_j||``. Block principal pivoting of Kim and
    Park (SIAM J. Sci. Comput. 33(6), 2011); columns with the same support are solved together. Columns
    it does not settle, because ``gram`` is singular or close to it, go to scipy's active set solver.

    Parameters
    ----------
    gram : array of shape (k, k), symmetric positive semidefinite
    cross : array of shape (k, n)

    Returns
    -------
    array of shape (k, n)

    Examples
    --------
    >>> import numpy as np
    >>> nnls_gram(np.eye(2), np.array([[1.0, -1.0], [2.0, 3.0]]))
    array([[1., 0.],
           [2., 3.]])
    """
    diagonal = np.diag(gram)
    unit = np.sqrt(np.where(diagonal > 0, diagonal, 1))  # a component that is zero everywhere stays zero
    G = gram / unit[:, None] / unit + np.diag(1.0 * (diagonal <= 0))
    C = cross / unit[:, None]
    size = np.abs(C).max(axis=0, initial=0)
    C = C / np.where(size > 0, size, 1)  # now a single tolerance fits all columns

    k, n = C.shape
    tol = 100 * k * eps(C)
    X, Y = np.zeros_like(C), -C
    passive = np.zeros(C.shape, dtype=bool)
    fewest, chances = np.full(n, k + 1), np.full(n, 3)
    for _ in range(10 * k + 20):
        wrong = np.where(passive, -tol > X, -tol > Y)
        count = wrong.sum(axis=0)
        todo = np.flatnonzero(count)
        if not todo.size:
            break
        fell = count < fewest
        fewest = np.minimum(fewest, count)
        chances = np.where(fell, 3, chances - 1)
        # Exchange all wrong variables while that makes progress, else only the last one, which cannot cycle.
        last = (k - 1 - np.argmax(wrong[::-1], axis=0)) == np.arange(k)[:, None]
        passive[:, todo] ^= (wrong & (last | (chances >= 0)))[:, todo]
        X[:, todo] = _solve_on_support(G, C[:, todo], passive[:, todo])
        Y[:, todo] = G @ X[:, todo] - C[:, todo]
    else:
        root = np.linalg.eigh(G)
        A = np.sqrt(np.maximum(root.eigenvalues, 0))[:, None] * root.eigenvectors.T
        for j in np.flatnonzero(np.where(passive, -tol > X, -tol > Y).any(axis=0)):
            X[:, j] = nnls(A, np.linalg.pinv(A.T) @ C[:, j])[0]
    return np.maximum(X, 0) * size / unit[:, None]


def _solve_on_support(G: NDArray[Any], C: NDArray[Any], support: NDArray[np.bool_]) -> NDArray[Any]:
    """Solve ``G[s, s] x[s] = c[s]`` for each column, once for all columns that share a support ``s``."""
    X = np.zeros_like(C)
    packed = np.packbits(support, axis=0)
    _, first, group = np.unique(packed, axis=1, return_index=True, return_inverse=True)
    order = np.argsort(group, kind="stable")
    for columns in np.split(order, np.cumsum(np.bincount(group, minlength=len(first)))[:-1]):
        s = np.flatnonzero(support[:, columns[0]])
        sub, right = G[np.ix_(s, s)], C[np.ix_(s, columns)]
        try:
            X[np.ix_(s, columns)] = np.linalg.solve(sub, right)
        except np.linalg.LinAlgError:
            X[np.ix_(s, columns)] = np.linalg.lstsq(sub, right)[0]
    return X


def frobenius_residual(X: Array, W: Array, H: Array, products: tuple[float, Array, Array] | None = None) -> Array:
    """``||X - W H||_F`` without ever holding ``W H``.

    A sparse ``X`` takes ``||X||^2 - 2 <W, X H'> + <W'W, H H'>``, linear in its nonzeros; what is left
    of the difference is accurate to about ``sqrt(eps) ||X||``. A dense ``X`` is read in row tiles and
    loses nothing. ``||X - U U'||`` is ``frobenius_residual(X, U, U.T)``.

    A lazy ``X`` does as a sparse one where ``products`` are at hand, ``||X||^2``, ``W'X`` and ``W'W``, so that it need
    not be read again; without them it is read once, and nothing is lost. Others do not need them.

    Examples
    --------
    >>> import numpy as np
    >>> float(frobenius_residual(np.array([[3.0, 4.0]]), np.zeros((1, 1)), np.ones((1, 2))))
    5.0
    """
    if is_lazy(X):
        return _lazy_residual(X, W, H) if products is None else _residual_of_products(H, *products)
    xp = namespace(X, W, H)
    if is_sparse(X):
        norm = xp.sum(xp.astype(entries(X), xp.float64) ** 2)
        return xp.sqrt(xp.clip(norm - 2 * xp.sum(W * (X @ H.T)) + xp.sum((W.T @ W) * (H @ H.T)), 0, None))
    rows = max(1, TILE // max(X.shape[1], 1))
    tiles = (slice(i, i + rows) for i in range(0, X.shape[0], rows))
    return xp.sqrt(sum(xp.sum((X[t] - W[t] @ H) ** 2) for t in tiles))


def _residual_of_products(H: Array, squared: float, WtX: Array, WtW: Array) -> float:
    return max(float(squared - 2 * (WtX * H).sum() + (WtW * (H @ H.T)).sum()), 0.0) ** 0.5


def _lazy_residual(X: Array, W: Array, H: Array) -> float:
    sums = total(over_chunks(_squared_residual, X, W, small=(H,)))
    return opened(evaluate(sums)[0])[0] ** 0.5


def _squared_residual(X: NDArray[Any], W: NDArray[Any], H: NDArray[Any]) -> tuple[float]:
    rest = X - W @ H
    return (float(np.vdot(rest, rest)),)
