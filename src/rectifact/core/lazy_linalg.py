"""Linear algebra of lazy matrices, tall ones in chunks of rows: each function is one computation, or one a round."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rectifact.core.arrays import Array, eps, normal_like
from rectifact.core.lazy import summed
from rectifact.core.linalg import MOST_GRAM_FEATURES, SVD, merge_roots, root

__all__ = ["lazy_subspace_svd"]


def lazy_subspace_svd(
    X: Array, rank: int, *, n_iter: int = 30, tol: float = 0.0, oversample: int = 8, seed: int = 0
) -> tuple[SVD, float]:
    """:func:`rectifact.core.linalg.subspace_svd` of a lazy X, and the sum of the squares of its entries.

    The same rounds from the same start, so that the result is the same to rounding. ``X V = Q R`` is needed in one
    pass: ``X'Q`` is ``(X'XV) R^-1``, and R comes from the chunks' own, by QR in a tree. With few features all rounds
    but the last take ``X'X`` instead, which is made once. The last one reads X, since singular values below ``1e-8``
    of the first are lost in ``X'X``, and they say which rank the data has.

    Returns
    -------
    SVD with a lazy U, and the squared norm
    """
    n, d = X.shape
    width = min(rank + oversample, n, d)
    V = normal_like(np.random.default_rng(seed), (d, width), np.empty(0, dtype=X.dtype))
    gram = summed(_gram, X)[0] if d <= MOST_GRAM_FEATURES else None
    found = 0.0
    for t in range(n_iter):
        products, R_y, squared = _read(X, V) if gram is None else _from_gram(gram, V)
        inverse = _inverse(R_y)
        basis, R = np.linalg.qr(products @ inverse)
        before, found = found, float((R**2).sum())
        if t == n_iter - 1 or (tol and found - before <= tol * found):
            break
        V = basis
    if gram is not None:
        products, R_y, squared = _read(X, V)
        inverse = _inverse(R_y)
        basis, R = np.linalg.qr(products @ inverse)
    left, s, right = np.linalg.svd(R.T, full_matrices=False)  # X ~ (X V R_y^-1) R' basis'
    U = X @ np.ascontiguousarray((V @ inverse @ left)[:, :rank])
    return SVD(U, s[:rank], (right @ basis.T)[:rank]), float(squared)


def _read(X: Array, V: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any], float]:
    """``X'XV``, the root of ``XV`` and the squared norm of X."""
    return summed(_products_and_root, X, V, combine=_merge)


def _products_and_root(X: NDArray[Any], V: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any], float]:
    Y = X @ V
    return X.T @ Y, root(Y), float(np.vdot(X, X))


def _merge(one: Any, other: Any) -> Any:
    return one[0] + other[0], merge_roots(one[1], other[1]), one[2] + other[2]


def _gram(X: NDArray[Any]) -> tuple[NDArray[Any]]:
    return (X.T @ X,)


def _from_gram(gram: NDArray[Any], V: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any], float]:
    """The same as :func:`_read` out of ``X'X``; the root is symmetric."""
    products = gram @ V
    values, vectors = np.linalg.eigh(V.T @ products)
    R = (vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T
    return products, R, float(np.trace(gram))


def _inverse(R: NDArray[Any]) -> NDArray[Any]:
    """Pseudo-inverse: directions that X does not have are left out."""
    return np.linalg.pinv(R, rcond=R.shape[0] * eps(R))
