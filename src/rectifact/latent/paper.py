"""NMD as published: a dense latent matrix and a truncated SVD in every iteration. To reproduce, and to compare with.

References
----------
[1] L. K. Saul, "A nonlinear matrix decomposition for mining the zeros of sparse data", SIAM J. Math. Data Sci. 4(2),
2022.
"""

from collections.abc import Callable
from math import exp, log
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar

from rectifact.core.monitor import Monitor
from rectifact.core.svd import SVD, lanczos_svd
from rectifact.kernels.reference import nmd_e_step
from rectifact.kernels.truncated import truncated_moments
from rectifact.latent.model import LatentModel
from rectifact.latent.starts import constant_start

__all__ = ["em_nmd"]

LEAST_GAIN = 1e-5
"""Increment of the log-likelihood per entry below which the paper stops (section 4.4)."""


def em_nmd(
    X: Any,
    rank: int,
    link: str,
    *,
    monitor: Monitor,
    svd: Callable[..., SVD] = lanczos_svd,
    least_gain: float = LEAST_GAIN,
) -> LatentModel:
    """EM of section 4 in [1]: posterior means (4.8) and variances (4.9), then truncated SVD (4.11) and sigma (4.12).

    Starts from a constant (4.14) and stops when the log-likelihood per entry gains less than ``least_gain``. For binary
    data sigma is searched for once more at the end.

    Parameters
    ----------
    X : dense array of shape (n_samples, n_features), NaN where it is missing
    rank : rank of Theta
    link : ``"relu"`` or ``"binary"``
    monitor : its loss is minus the log-likelihood per entry; the paper allows 512 iterations
    svd : truncated SVD, ``svd(Z, rank, start=...)``

    Examples
    --------
    >>> from rectifact.datasets import make_dots
    >>> X = make_dots(size=12, grid=6, radius=3.0).X.toarray()
    >>> monitor = Monitor(60, tol=0)
    >>> model = em_nmd(X, 5, "binary", monitor=monitor)
    >>> monitor.history[-1]["loss"] < 0.1 * monitor.history[0]["loss"]
    True
    """
    binary, size = link == "binary", X.size
    theta, sigma = constant_start(X, link)
    least_sigma = 1e-8 * float(np.nanmax(X))
    saved, before, sigma = monitor.resume((None, -np.inf, sigma))
    factors = None if saved is None else SVD(*saved)
    Theta = np.full_like(X, theta) if factors is None else (factors.U * factors.s) @ factors.Vt
    for _ in monitor:
        Z, (likelihood, _, _) = nmd_e_step(X, Theta, sigma, binary)
        variance = _variances(X, Theta, sigma, binary)
        factors = svd(Z, rank, start=factors)
        Theta = (factors.U * factors.s) @ factors.Vt
        sigma = max(float(np.sqrt(np.mean((Z - Theta) ** 2 + variance))), least_sigma)
        if (likelihood - before) / size < least_gain:
            monitor.stop_reason = "converged"
        before = float(likelihood)
        monitor.record(lambda: -likelihood / size, state=lambda: (factors, before, sigma))
    if factors is None:
        raise ValueError("A monitor that allows no iteration leaves no model.")
    log_sigma = _best_scale(X, Theta, log(sigma)) if binary else log(sigma)
    return LatentModel(factors.U * factors.s, factors.Vt, log_sigma)


def _variances(X: Any, Theta: Any, sigma: float, binary: bool) -> Any:
    """Posterior variances (4.9): 0 where an entry is seen, sigma^2 where it is missing."""
    sign = np.where((X > 0) & binary, -1.0, 1.0)
    variance = sigma**2 * truncated_moments(sign * Theta / sigma).variance
    return np.where(np.isnan(X), sigma**2, variance if binary else np.where(X > 0, 0.0, variance))


def _best_scale(X: Any, Theta: Any, log_sigma: float) -> float:
    """Golden-section search for log sigma with Theta fixed."""
    found = minimize_scalar(
        lambda s: -float(nmd_e_step(X, Theta, exp(s), True)[1][0]), bracket=(log_sigma - 1, log_sigma), method="golden"
    )
    return max(float(found.x), log_sigma - 7)
