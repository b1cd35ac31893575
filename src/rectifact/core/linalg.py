"""Linear algebra that the families share; the big matrix is only ever multiplied, never made dense."""

from collections.abc import Callable
from typing import Any

import array_api_compat
import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from rectifact.core.arrays import Array, eps, is_host, namespace
from rectifact.core.operand import Operand, is_chunked, operand
from rectifact.core.sparse import entries, is_sparse

TILE = 1 << 20
"""Entries of a dense matrix that are worked on at once."""

MOST_GRAM_FEATURES = 1024
"""Features up to which ``X'X``, 8 MB in double precision, replaces readings of a matrix in chunks."""


def root(A: Array) -> Array:
    """Triangular R with ``R'R = A'A``, from a QR factorisation, which squares nothing.

    Examples
    --------
    >>> np.abs(root(np.array([[3.0], [4.0]])))
    array([[5.]])
    """
    return np.linalg.qr(A, mode="r") if is_host(A) else namespace(A).linalg.qr(A)[1]


def merge_roots(one: Array, other: Array) -> Array:
    """The root of two matrices stacked on each other, from the roots of both."""
    return root(namespace(one).concat([one, other]))


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
    """``A^-1 B`` for one or many regular matrices; on a device without waiting for the check that they are.

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
    """Inverse of a Gram matrix on a CUDA device, in double precision, with a tiny ridge in case of lower rank.

    It takes Cholesky factors without checking them, so that the host does not wait for the device.
    """
    if array_api_compat.is_cupy_array(G):
        xp = namespace(G)
        wide = xp.astype(G, xp.float64)
        ridge = 1e-12 * xp.linalg.trace(wide) * xp.eye(G.shape[0], dtype=xp.float64, device=G.device)
        return xp.astype(xp.linalg.inv(wide + ridge), G.dtype)
    import torch

    wide = G.to(torch.float64, copy=True)
    wide.diagonal().add_(1e-12 * torch.trace(wide))
    factor, _ = torch.linalg.cholesky_ex(wide)
    return torch.cholesky_inverse(factor).to(G.dtype)


def solve_gram(G: Array, B: Array, share: Callable[[Array], Array] | None = None) -> Array:
    """``G^+ B`` for a Gram matrix G, without the directions that it does not have.

    Parameters
    ----------
    G : array of shape (k, k)
        Symmetric and positive semidefinite.
    B : array of shape (k, d)
    share : callable, optional
        Maps the eigenvalues to the share of the solution that is wanted along each eigenvector; all of it by default,
        which on a CUDA device goes through :func:`gram_inverse`.

    Returns
    -------
    array of shape (k, d)

    Examples
    --------
    >>> solve_gram(np.diag([2.0, 0.0]), np.array([[4.0], [1.0]]))
    array([[2.],
           [0.]])
    """
    if share is None and on_cuda(G):
        return gram_inverse(G) @ B
    xp = namespace(G)
    values, vectors = xp.linalg.eigh(G)
    seen = values > values.shape[0] * eps(G) * values[-1]
    wanted = xp.ones_like(values) if share is None else share(values)
    gain = xp.where(seen, wanted / xp.where(seen, values, 1.0), 0.0)
    return (vectors * gain) @ (vectors.T @ B)


def pseudo_inverse(H: Array) -> Array:
    """Moore-Penrose inverse, through the smaller Gram matrix where that is accurate.

    A Gram matrix squares the condition number. Where its smallest eigenvalue says that half the digits or more would be
    lost, or that ``H`` does not have full rank, the slower SVD is taken instead. A CUDA device always takes
    :func:`gram_inverse`.

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
    xp, chosen = namespace(rows), []
    rest = xp.asarray(rows, copy=True)
    for _ in range(n_chosen):
        place = xp.reshape(xp.argmax(xp.linalg.vecdot(rest, rest)), (1,))
        longest = xp.take(rest, place, axis=0)
        length = xp.linalg.vector_norm(longest)
        direction = longest / xp.where(length > 0, length, xp.ones_like(length))
        rest -= (rest @ direction.T) * direction
        chosen.append(place)
    return xp.concat(chosen)


def nnls_gram(gram: NDArray[Any], cross: NDArray[Any]) -> NDArray[Any]:
    """Non-negative least squares for many right-hand sides that share one Gram matrix.

    Column j of the result minimises ``1/2 x' gram x - x' cross[:, j]`` over ``x >= 0``: with
    ``gram = A' A`` and ``cross = A' Y`` that is ``||A x - y_j||``. Block principal pivoting of Kim and
    Park (SIAM J. Sci. Comput. 33(6), 2011); columns with the same support are solved together. Columns
    that it does not settle, because ``gram`` is singular or close to it, go to scipy's active set solver.

    Parameters
    ----------
    gram : array of shape (k, k)
        Symmetric and positive semidefinite.
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


def squared_norm(X: Operand | Array) -> float:
    """Sum of the squared entries, in double precision.

    Parameters
    ----------
    X : Operand or array of shape (n, d)

    Returns
    -------
    float

    Examples
    --------
    >>> squared_norm(np.array([[3.0, 4.0]]))
    25.0
    """
    return float(operand(X).total(_squared_entries))


def _squared_entries(rows: Array) -> Array:
    xp = namespace(rows)
    values = xp.reshape(xp.astype(entries(rows), xp.float64, copy=False), (-1,))
    return values @ values


def frobenius_residual(
    X: Operand | Array, W: Array, H: Array, products: tuple[float, Array, Array] | None = None
) -> Array:
    """``||X - W H||_F`` without ever holding ``W H``.

    A sparse matrix takes ``||X||^2 - 2 <W, X H'> + <W'W, H H'>``, linear in its nonzeros; what is left of the
    difference is accurate to about ``sqrt(eps) ||X||``. A dense one is read in tiles of rows and loses nothing.
    ``||X - U U'||`` is ``frobenius_residual(X, U, U.T)``.

    Parameters
    ----------
    X : Operand or array of shape (n, d)
    W : array of shape (n, k)
    H : array of shape (k, d)
    products : tuple of ``||X||^2``, ``W'X`` and ``W'W``, optional
        Save another reading of a sparse matrix or of chunks; a dense matrix in memory does not need them.

    Returns
    -------
    number

    Examples
    --------
    >>> import numpy as np
    >>> float(frobenius_residual(np.array([[3.0, 4.0]]), np.zeros((1, 1)), np.ones((1, 2))))
    5.0
    """
    X, xp = operand(X), namespace(H)
    if products is not None and (is_chunked(X.data) or is_sparse(X.data)):
        squared, WtX, WtW = products
        rest = squared - 2 * xp.sum(WtX * H) + xp.sum(WtW * (H @ H.T))
    else:
        rest = X.total(_squared_residual, H, along=(W,))
    return xp.sqrt(xp.clip(rest, 0, None))


def _squared_residual(rows: Array, W: Array, H: Array) -> Array:
    xp = namespace(H)
    if is_sparse(rows):
        return _squared_entries(rows) - 2 * xp.sum(W * (rows @ H.T)) + xp.sum((W.T @ W) * (H @ H.T))
    height = max(1, TILE // max(rows.shape[1], 1))
    tiles = (slice(i, i + height) for i in range(0, rows.shape[0], height))
    return sum(xp.sum((rows[tile] - W[tile] @ H) ** 2) for tile in tiles)
