"""Where NMD starts: one E-step from a constant, and the leading singular vectors of what it fills in.

[1] L. K. Saul, "A nonlinear matrix decomposition for mining the zeros of sparse data", SIAM J. Math. Data Sci. 4(2),
2022.
"""

from functools import partial
from math import log

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator
from scipy.special import ndtri

from rectifact.core.arrays import Array, namespace
from rectifact.core.lazy import is_lazy, summed
from rectifact.core.sparse import DeviceCSR, Shifted, is_sparse, with_entries
from rectifact.core.svd import lanczos_svd, subspace_svd
from rectifact.kernels.truncated import truncated_moments
from rectifact.latent.lazy import filled_factors
from rectifact.latent.model import LatentModel

__all__ = ["constant_start", "filled_means", "svd_start"]


def constant_start(X: Array, link: str) -> tuple[float, float]:
    """Theta and sigma that are the same for all entries, equation 4.14 of [1]; missing entries do not count."""
    missing, total, squares = summed(_moments, X)
    count = float(np.prod(X.shape)) - missing
    mean = total / count
    if link == "binary":
        return float(ndtri(mean)), 1.0
    return mean, max(squares / count - mean**2, 1e-300) ** 0.5


def _moments(X: Array) -> tuple[float, float, float]:
    """Number of missing entries, sum and sum of squares of the others."""
    values = X.data if is_sparse(X) else X[X != 0]
    xp = namespace(values)
    known = ~xp.isnan(values)
    seen = xp.astype(xp.where(known, values, xp.zeros_like(values)), xp.float64)
    return float(xp.sum(xp.astype(~known, xp.float64))), float(xp.sum(seen)), float(xp.sum(seen**2))


def svd_start(X: Array, rank: int, link: str, *, seed: int = 0) -> LatentModel:
    """Leading singular vectors of the latent matrix that one E-step from a constant fills in.

    All its zeros are alike, so it is a constant plus a matrix as sparse as X, and is never made dense. Lanczos
    iteration tells also singular values apart that nearly coincide, as those of regular images do.
    """
    theta, sigma = constant_start(X, link)
    below, above = filled_means(theta / sigma, sigma)
    fill = partial(_filled, link=link, theta=theta, below=below, above=above)
    if is_lazy(X):
        return LatentModel(*filled_factors(fill, X, below, rank, seed), log(sigma))
    if sp.issparse(X):
        S = fill(X)
        svd = lanczos_svd(_plus_constant(S, below), rank, tol=1e-8, seed=seed)
    else:
        values = X.data if isinstance(X, DeviceCSR) else X
        xp = namespace(values)
        seen = xp.full_like(values, above) if link == "binary" else values
        filled = xp.where(xp.isnan(values), theta, xp.where(values > 0, seen, below))
        Z = Shifted(with_entries(X, filled - below), below) if isinstance(X, DeviceCSR) else filled
        svd = subspace_svd(Z, rank, n_iter=50, tol=1e-10, seed=seed)
    root = svd.s**0.5
    A, B = svd.U * root, root[:, None] * svd.Vt
    if sp.issparse(X):
        A, B = (np.ascontiguousarray(factor, dtype=X.dtype) for factor in (A, B))
    return LatentModel(A, B, log(sigma))


def _filled(X: sp.csr_array, link: str, theta: float, below: float, above: float) -> sp.csr_array:
    """The latent matrix less ``below``, which is what is filled in for zeros."""
    values = np.asarray(X.data, dtype=np.float64)
    seen = np.full_like(values, above) if link == "binary" else values
    filled = np.where(np.isnan(values), theta, np.where(values > 0, seen, below))
    return sp.csr_array((filled - below, X.indices, X.indptr), shape=X.shape)


def filled_means(a: float, sigma: float) -> tuple[float, float]:
    """Posterior mean of an entry whose prior mean is ``a`` standard deviations, where it is negative and positive."""
    moments = truncated_moments(np.array([a, -a]))
    return -sigma * float(moments.d[0]), sigma * float(moments.d[1])


def _plus_constant(S: sp.csr_array, constant: float) -> LinearOperator:
    """``S + constant`` as something that can be multiplied."""
    return LinearOperator(
        S.shape,
        matvec=lambda v: S @ v + constant * v.sum(),
        rmatvec=lambda u: S.T @ u + constant * u.sum(),
        matmat=lambda V: S @ V + constant * V.sum(axis=0),
        rmatmat=lambda U: S.T @ U + constant * U.sum(axis=0),
        dtype=np.float64,
    )
