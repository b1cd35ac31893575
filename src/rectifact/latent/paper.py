"""NMD as published, with a dense latent matrix and a truncated SVD in every iteration: to reproduce and compare.

References
----------
[1] L. K. Saul, "A nonlinear matrix decomposition for mining the zeros of sparse data", SIAM J. Math. Data Sci. 4(2),
2022.
"""

from math import exp, inf, log
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar

from rectifact.core.monitor import Monitor
from rectifact.core.svd import SVD, lanczos_svd
from rectifact.kernels.reference import nmd_e_step, nmd_nearest
from rectifact.kernels.truncated import truncated_moments
from rectifact.latent.model import LatentModel
from rectifact.latent.statistics import statistics

LEAST_GAIN = 1e-5
"""Increment of the log-likelihood per entry below which the paper stops (section 4.4)."""


def em_nmd(X: Any, rank: int, link: str, *, monitor: Monitor) -> LatentModel:
    """EM of section 4 in [1]: posterior means (4.8) and variances (4.9), then truncated SVD (4.11) and sigma (4.12).

    Starts from a constant (4.14) and stops when the log-likelihood per entry gains less than ``LEAST_GAIN``. For binary
    data the best sigma is searched for at the end.

    Parameters
    ----------
    X : numpy array of shape (n_samples, n_features)
        NaN where an entry is missing.
    rank : int
        Rank of Theta.
    link : {"relu", "binary"}
    monitor : Monitor
        Its loss is minus the log-likelihood per entry; the paper allows 512 iterations.

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
    facts = statistics(X)
    theta, sigma = facts.constant(link)
    least_sigma = 1e-8 * facts.largest
    saved, likelihood, sigma = monitor.resume((None, -np.inf, sigma))
    factors: Any = None if saved is None else SVD(*saved)
    Theta = np.full_like(X, theta) if factors is None else (factors.U * factors.s) @ factors.Vt
    for _ in monitor:
        before = likelihood
        Z, (likelihood, _, _) = nmd_e_step(X, Theta, sigma, binary)
        variance = _variances(X, Theta, sigma, binary)
        factors = lanczos_svd(Z, rank, start=factors)
        Theta = (factors.U * factors.s) @ factors.Vt
        sigma = max(float(np.sqrt(np.mean((Z - Theta) ** 2 + variance))), least_sigma)
        monitor.record(
            lambda: -likelihood / size,
            converged=lambda: (likelihood - before) / size < LEAST_GAIN,
            state=lambda: (factors, float(likelihood), sigma),
        )
    log_sigma = _best_scale(X, Theta, log(sigma)) if binary else log(sigma)
    return LatentModel(factors.U * factors.s, factors.Vt, log_sigma)


def alternating_nmd(X: Any, rank: int, *, monitor: Monitor) -> LatentModel:
    """The naive alternation of section 2.5 in [1]: fill in the zeros (2.10), then truncate the SVD.

    Parameters
    ----------
    X : numpy array of shape (n_samples, n_features)
        Non-negative.
    rank : int
        Rank of Theta.
    monitor : Monitor
        Its loss is the objective (2.9), relative to the squared norm of X.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = np.maximum(rng.standard_normal((30, 3)) @ rng.standard_normal((3, 20)), 0)
    >>> monitor = Monitor(300, tol=0)
    >>> model = alternating_nmd(X, 3, monitor=monitor)
    >>> bool(np.abs(np.maximum(model.A @ model.B, 0) - X).max() < 0.1)
    True
    """
    squared = float(np.sum(X**2))
    factors = lanczos_svd(X, rank)
    for _ in monitor:
        Z, _ = nmd_nearest(X, (factors.U * factors.s) @ factors.Vt)
        factors = lanczos_svd(Z, rank, start=factors)
        monitor.record(lambda: float(np.sum((Z - (factors.U * factors.s) @ factors.Vt) ** 2)) / squared)
    return LatentModel(factors.U * factors.s, factors.Vt, -inf)


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
