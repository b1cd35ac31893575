"""Methods that the benchmarks compare AND with: alternating non-negative least squares, exact and by coordinates.

References
----------
[1] J. Kim and H. Park, "Fast nonnegative matrix factorization: an active-set-like method and comparisons", SIAM J. Sci.
Comput. 33(6), 2011. [2] A. Cichocki, R. Zdunek and S. Amari, "Hierarchical ALS algorithms for nonnegative matrix and 3D
tensor factorization", ICA 2007.
"""

from rectifact.core.arrays import Array, namespace
from rectifact.core.linalg import frobenius_residual, nnls_gram, solve_gram, squared_norm
from rectifact.core.monitor import Monitor
from rectifact.core.operand import Operand, operand
from rectifact.kernels import hals_sweep
from rectifact.parts.and_nmf import Factorization


def anls(X: Operand | Array, H: Array, *, monitor: Monitor, signed: bool = False) -> Factorization:
    """Weights, then parts, each by non-negative least squares with block principal pivoting [1].

    Parameters
    ----------
    X : Operand or array of shape (n_samples, n_features)
        In memory.
    H : array of shape (n_components, n_features)
        Parts to start from.
    monitor : Monitor
        Its loss is the relative error ``||X - W H|| / ||X||``, which cannot rise. Callbacks see the parts as ``row.U``.
    signed : bool, default False
        Whether parts may be negative, as weights never are.

    Returns
    -------
    Factorization

    Examples
    --------
    >>> import numpy as np
    >>> found = anls(np.eye(3)[:2], np.array([[1.0, 0.1, 0.0], [0.1, 1.0, 0.0]]), monitor=Monitor(20))
    >>> bool(found.W.min() >= 0 and found.H.min() >= 0)
    True
    """
    X = operand(X)
    norm = squared_norm(X) ** 0.5
    for _ in monitor:
        W = nnls_gram(H @ H.T, (X @ H.T).T).T
        H = (solve_gram if signed else nnls_gram)(W.T @ W, X.rmatmul(W))
        monitor.record(lambda: frobenius_residual(X, W, H) / norm, factor=lambda: namespace(H).asarray(H, copy=True))
    return Factorization(W, H, namespace(H).zeros_like(H[:, 0]))


def hals(X: Operand | Array, H: Array, *, monitor: Monitor, signed: bool = False) -> Factorization:
    """One part after another by non-negative least squares (HALS, [2]), compiled.

    Parameters and result are those of :func:`anls`; weights start at zero.

    Examples
    --------
    >>> import numpy as np
    >>> found = hals(np.eye(3)[:2], np.array([[1.0, 0.1, 0.0], [0.1, 1.0, 0.0]]), monitor=Monitor(20))
    >>> bool(found.W.min() >= 0 and found.H.min() >= 0)
    True
    """
    X, xp = operand(X), namespace(H)
    norm = squared_norm(X) ** 0.5
    W, parts = xp.zeros_like(X @ H.T), xp.asarray(H.T, copy=True)
    for _ in monitor:
        W = hals_sweep(W, parts.T @ parts, X @ parts)
        parts = (_signed_sweep if signed else hals_sweep)(parts, W.T @ W, X.rmatmul(W).T)
        monitor.record(lambda: frobenius_residual(X, W, parts.T) / norm, factor=lambda: xp.asarray(parts.T, copy=True))
    return Factorization(W, parts.T, xp.zeros_like(H[:, 0]))


def _signed_sweep(U: Array, G: Array, B: Array) -> Array:
    """What :func:`rectifact.kernels.hals_sweep` does, without its limit at zero."""
    for k in range(U.shape[1]):
        if float(G[k, k]) > 0:
            U[:, k] = U[:, k] + (B[:, k] - U @ G[:, k]) / G[k, k]
    return U
