r"""Logistic PCA by alternating least squares: :math:`P(x_{ij} = 1) = 1 / (1 + e^{-\theta_{ij}})`, Theta of low rank.

References
----------
[1] A. I. Schein, L. K. Saul and L. H. Ungar, "A generalized linear model for principal component analysis of binary
data", AISTATS 2003.
"""

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import expit

from rectifact.core.monitor import Monitor
from rectifact.latent.model import LatentModel

__all__ = ["log_likelihood", "logistic_newton", "logistic_pca", "logistic_rows"]

TILE = 1 << 20
"""Entries of a dense tile."""


def logistic_pca(X: Any, start: LatentModel, *, monitor: Monitor) -> LatentModel:
    r"""Alternate between the rows of A and the columns of B, each by the least squares that its tangent asks for.

    The bound of [1], :math:`\log\cosh(\theta/2) \le \log\cosh(\theta_0/2) + w (\theta^2 - \theta_0^2) / 2` with
    :math:`w = \tanh(\theta_0/2) / (2 \theta_0)`, turns the likelihood into weighted least squares, so it cannot fall.
    The weights differ between entries: each row takes a linear system of its own, of order n d r^2 operations in all.

    Parameters
    ----------
    X : csr_array of zeros and ones, of shape (n_samples, n_features)
    start : factors to start from
    monitor : its loss is minus the log-likelihood per entry

    Examples
    --------
    >>> from rectifact.datasets import make_dots
    >>> from rectifact.latent.starts import svd_start
    >>> X = make_dots(size=12, grid=6, radius=3.0).X
    >>> monitor = Monitor(20, tol=0)
    >>> model = logistic_pca(X, svd_start(X, 4, "binary"), monitor=monitor)
    >>> monitor.history[-1]["loss"] < 0.8 * monitor.history[0]["loss"]
    True
    """
    A, B = monitor.resume((start.A, start.B))
    transposed = sp.csr_array(X.T)
    for _ in monitor:
        A = logistic_rows(X, A, B)
        B = logistic_rows(transposed, B.T, A.T).T
        balance = (np.linalg.norm(B) / np.linalg.norm(A)) ** 0.5  # or the two would drift apart in scale
        A, B = A * balance, B / balance
        monitor.record(lambda: -log_likelihood(X, A, B) / float(np.prod(X.shape)), state=lambda: (A, B))
    return LatentModel(A, B, 0.0)


def logistic_rows(X: Any, A: NDArray[Any], B: NDArray[Any]) -> NDArray[Any]:
    """One step for the rows of A: row i solves ``(B diag(w_i) B') a_i = B (x_i - 1/2)``."""
    rank = len(B)
    pairs = (B[:, None, :] * B[None, :, :]).reshape(rank * rank, -1)
    right = X @ B.T - 0.5 * B.sum(axis=1)
    out = np.empty_like(A)
    step = max(1, TILE // B.shape[1])
    for i in range(0, len(A), step):
        theta = A[i : i + step] @ B
        half = np.abs(theta) / 2
        w = np.where(half > 1e-4, np.tanh(half) / np.where(half > 1e-4, 4 * half, 1), 0.25 - half**2 / 12)
        systems = (w @ pairs.T).reshape(-1, rank, rank)
        ridge = 1e-10 * np.trace(systems, axis1=1, axis2=2)[:, None, None] * np.eye(rank)
        out[i : i + step] = np.linalg.solve(systems + ridge, right[i : i + step, :, None])[:, :, 0]
    return out


def logistic_newton(X: Any, B: NDArray[Any], *, n_iter: int = 60, largest: float = 30.0) -> NDArray[Any]:
    """Most likely embedding (n, rank) of the rows of X, B fixed: Newton's method with step halving, row by row.

    Rows that B separates have none; they stop where Theta is ``largest``, and probabilities are 1 to rounding.
    """
    rank, step = len(B), max(1, TILE // B.shape[1])
    pairs = (B[:, None, :] * B[None, :, :]).reshape(rank * rank, -1)
    out = np.zeros((X.shape[0], rank))
    for i in range(0, X.shape[0], step):
        rows = X[i : i + step].toarray()
        A = out[i : i + step]
        value = _row_likelihoods(rows, A @ B)
        for _ in range(n_iter):
            P = expit(A @ B)
            systems = ((P * (1 - P)) @ pairs.T).reshape(-1, rank, rank)
            ridge = (1e-10 * np.trace(systems, axis1=1, axis2=2) + 1e-12)[:, None, None] * np.eye(rank)
            gradient = (rows - P) @ B.T
            move = np.linalg.solve(systems + ridge, gradient[:, :, None])[:, :, 0]
            decrement = (gradient * move).sum(axis=1)
            size = np.minimum(1, largest / np.maximum(np.abs((A + move) @ B).max(axis=1), 1e-300))
            for _ in range(20):
                new = _row_likelihoods(rows, (A + size[:, None] * move) @ B)
                short = ~(new >= value)
                if not short.any():
                    break
                size = np.where(short, size / 2, size)
            A += np.where(short, 0, size)[:, None] * move
            value = np.where(short, value, new)
            if (decrement * size).max() < 1e-8:
                break
    return out


def _row_likelihoods(rows: NDArray[Any], theta: NDArray[Any]) -> NDArray[Any]:
    return (rows * theta - np.logaddexp(0, theta)).sum(axis=1)


def log_likelihood(X: Any, A: NDArray[Any], B: NDArray[Any]) -> float:
    """Log-likelihood of all entries, in nats, tile by tile."""
    total, step = 0.0, max(1, TILE // B.shape[1])
    for i in range(0, len(A), step):
        theta = A[i : i + step] @ B
        total -= float(np.logaddexp(0, theta).sum())
        rows = np.repeat(np.arange(len(theta)), np.diff(X.indptr[i : i + len(theta) + 1]))
        stored = slice(X.indptr[i], X.indptr[i + len(theta)])
        total += float((theta[rows, X.indices[stored]] * X.data[stored]).sum())
    return total
