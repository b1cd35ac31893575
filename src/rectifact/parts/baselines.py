"""Methods that the benchmarks compare AND with: alternating non-negative least squares, exact and by coordinates.

References
----------
[1] J. Kim and H. Park, "Fast nonnegative matrix factorization: an active-set-like method and comparisons", SIAM J. Sci.
Comput. 33(6), 2011. [2] A. Cichocki, R. Zdunek and S. Amari, "Hierarchical ALS algorithms for nonnegative matrix and 3D
tensor factorization", ICA 2007.
"""

from rectifact.core.arrays import Array, namespace
from rectifact.core.linalg import frobenius_residual, nnls_gram, squared_norm
from rectifact.core.monitor import Monitor
from rectifact.core.operand import Operand, operand
from rectifact.kernels import hals_sweep
from rectifact.parts.and_nmf import Factorization


def anls(X: Operand | Array, H: Array, *, monitor: Monitor) -> Factorization:
    """Weights, then parts, each by non-negative least squares with block principal pivoting [1].

    Parameters
    ----------
    X : Operand or array of shape (n_samples, n_features)
        Non-negative, in memory.
    H : array of shape (n_components, n_features)
        Parts to start from.
    monitor : Monitor
        Its loss is the relative error ``||X - W H|| / ||X||``, which cannot rise.

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
        H = nnls_gram(W.T @ W, X.rmatmul(W))
        monitor.record(lambda: frobenius_residual(X, W, H) / norm)
    return Factorization(W, H, namespace(H).zeros_like(H[:, 0]))


def hals(X: Operand | Array, H: Array, *, monitor: Monitor) -> Factorization:
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
        parts = hals_sweep(parts, W.T @ W, X.rmatmul(W).T)
        monitor.record(lambda: frobenius_residual(X, W, parts.T) / norm)
    return Factorization(W, parts.T, xp.zeros_like(H[:, 0]))
