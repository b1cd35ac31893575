"""Other algorithms for NMD, written from the papers in dense numpy.

References
----------
[1] L. K. Saul, SIAM J. Math. Data Sci. 4(2), 2022: EM, here with a randomised SVD as in fi_nomad.
[2] G. Seraghiti et al., "Accelerated algorithms for nonlinear matrix decomposition with the ReLU function", MLSP 2023:
A-NMD and 3B-NMD.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr
from sklearn.utils.extmath import randomized_svd

Matrix = NDArray[Any]
ROOT_2PI = np.sqrt(2 * np.pi)


def e_step_expression(X: Matrix, Theta: Matrix, sigma: float) -> tuple[Matrix, Matrix, float]:
    """Posterior means, variances and log-likelihood, written with scipy's functions."""
    a = Theta / sigma
    log_tail = log_ndtr(-a)
    mills = np.exp(-0.5 * a**2 - log_tail) / X.dtype.type(ROOT_2PI)
    positive = X > 0
    Z = np.where(positive, X, Theta - sigma * mills)
    variance = np.where(positive, 0, sigma**2 * (1 - mills * (mills - a)))
    density = -0.5 * ((X - Theta) / sigma) ** 2 - np.log(sigma * ROOT_2PI)
    return Z, variance, float(np.where(positive, density, log_tail).sum(dtype=np.float64))


def em_with_randomized_svd(X: Matrix, rank: int, n_iter: int) -> Iterator[float]:
    """EM for relu from a constant; yields the log-likelihood per entry before each iteration."""
    Theta, sigma = np.full_like(X, X.mean()), float(X.std())
    for _ in range(n_iter):
        Z, variance, likelihood = e_step_expression(X, Theta, sigma)
        yield likelihood / X.size
        U, s, Vt = randomized_svd(Z, rank, n_iter=2, random_state=0)
        Theta = (U * s) @ Vt
        sigma = float(np.sqrt(np.mean((Z - Theta) ** 2 + variance)))


def relative_error(X: Matrix, Theta: Matrix) -> float:
    """Norm of what the rectified Theta leaves of X, relative to X."""
    return float(np.linalg.norm(X - np.maximum(Theta, 0)) / np.linalg.norm(X))


def a_nmd(X: Matrix, rank: int, n_iter: int) -> Iterator[float]:
    """A-NMD [2]: momentum on Z and Theta, a truncated SVD in each iteration; yields the relative error after each."""
    U, s, Vt = randomized_svd(X, rank, random_state=0)
    before = Theta = (U * s) @ Vt
    Z, beta, most, error = X, 0.7, 1.0, np.inf
    for _ in range(n_iter):
        filled = np.where(X > 0, X, np.minimum(Theta, 0))
        U, s, Vt = randomized_svd(filled + beta * (filled - Z), rank, n_iter=2, random_state=0)
        after = (U * s) @ Vt
        Theta = after + beta * (after - before)
        now = float(np.linalg.norm(filled - after))
        if now < error:  # the step ahead went well: make it longer
            beta, most = min(most, 1.1 * beta), min(1.0, 1.05 * most)
        else:
            beta, most = beta / 2.5, beta
        Z, before, error = filled, after, now
        yield relative_error(X, after)


def three_block_nmd(X: Matrix, rank: int, n_iter: int, beta: float = 0.7) -> Iterator[float]:
    """3B-NMD [2]: Theta = W H by alternating least squares, momentum on Z; yields the error after each iteration.

    The largest momentum from 0.4 to 0.95 worked best here; 0.7 on both Z and Theta diverged.
    """
    U, s, Vt = randomized_svd(X, rank, random_state=0)
    H, Theta, Z = Vt, (U * s) @ Vt, X
    for _ in range(n_iter):
        filled = np.where(X > 0, X, np.minimum(Theta, 0))
        ahead = filled + beta * (filled - Z)
        W = np.linalg.solve(H @ H.T, H @ ahead.T).T
        H = np.linalg.solve(W.T @ W, W.T @ ahead)
        Z, Theta = filled, W @ H
        yield relative_error(X, Theta)
