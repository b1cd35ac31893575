r"""Logistic PCA by alternating least squares: :math:`P(x_{ij} = 1) = 1 / (1 + e^{-\theta_{ij}})`, Theta of low rank.

References
----------
[1] A. I. Schein, L. K. Saul and L. H. Ungar, "A generalized linear model for principal component analysis of binary
data", AISTATS 2003.
"""

from typing import Any

from rectifact.core.arrays import Array, device, eps, expit, namespace
from rectifact.core.linalg import solve
from rectifact.core.monitor import Monitor
from rectifact.core.operand import Operand
from rectifact.core.sparse import dense_rows
from rectifact.latent.model import LatentModel

TILE = 1 << 20
"""Entries of a dense tile."""


def logistic_pca(X: Operand, start: LatentModel, *, monitor: Monitor) -> LatentModel:
    r"""Alternate between the rows of A and the columns of B, each by weighted least squares.

    The bound of [1], :math:`\log\cosh(\theta/2) \le \log\cosh(\theta_0/2) + w (\theta^2 - \theta_0^2) / 2` with
    :math:`w = \tanh(\theta_0/2) / (2 \theta_0)`, is a weighted sum of squares; the likelihood cannot fall when that is
    minimised. The weights differ between entries: each row takes a linear system of its own, of order n d r^2
    operations in all.

    Parameters
    ----------
    X : Operand
        Zeros and ones, in memory.
    start : LatentModel
        Factors to start from.
    monitor : Monitor
        Its loss is minus the log-likelihood per entry.

    Returns
    -------
    LatentModel
        Sigma has no meaning here.

    Examples
    --------
    >>> from rectifact.core.operand import operand
    >>> from rectifact.datasets import make_dots
    >>> from rectifact.latent.starts import svd_start
    >>> X = operand(make_dots(size=12, grid=6, radius=3.0).X)
    >>> monitor = Monitor(20, tol=0)
    >>> model = logistic_pca(X, svd_start(X, 4, "binary"), monitor=monitor)
    >>> monitor.history[-1]["loss"] < 0.8 * monitor.history[0]["loss"]
    True
    """
    A, B = monitor.resume((start.A, start.B))
    norm = namespace(A).linalg.vector_norm
    size = X.shape[0] * X.shape[1]
    for _ in monitor:
        A = logistic_rows(X @ B.T, A, B)
        B = logistic_rows(X.rmatmul(A).T, B.T, A.T).T
        balance = (norm(B) / norm(A)) ** 0.5  # or the two would drift apart in scale
        A, B = A * balance, B / balance
        monitor.record(lambda: -log_likelihood(X, A, B) / size, state=lambda: (A, B))
    return LatentModel(A, B, 0.0)


def logistic_rows(products: Array, A: Array, B: Array) -> Array:
    """One step for the rows of A: row i solves ``(B diag(w_i) B') a_i = B (x_i - 1/2)``; ``products`` are ``X B'``."""
    xp, rank = namespace(B), B.shape[0]
    pairs = _pairs(B)
    right = products - 0.5 * xp.sum(B, axis=1)
    out = xp.empty_like(A)
    step = max(1, TILE // B.shape[1])
    for i in range(0, A.shape[0], step):
        theta = A[i : i + step] @ B
        half = xp.abs(theta) / 2
        w = xp.where(half > 1e-4, xp.tanh(half) / xp.where(half > 1e-4, 4 * half, 1.0), 0.25 - half**2 / 12)
        systems = xp.reshape(w @ pairs.T, (-1, rank, rank))
        out[i : i + step] = solve(_ridged(systems), right[i : i + step, :, None])[:, :, 0]
    return out


def _pairs(B: Array) -> Array:
    """Products of all pairs of rows of B, (rank^2, n_features)."""
    return namespace(B).reshape(B[:, None, :] * B[None, :, :], (B.shape[0] ** 2, -1))


def _ridged(systems: Array, least: float = 0.0) -> Array:
    """Many small systems with a trace of a ridge, so that none is singular."""
    xp, rank = namespace(systems), systems.shape[-1]
    ridge = max(1e-10, eps(systems)) * xp.linalg.trace(systems) + least
    return systems + ridge[:, None, None] * xp.eye(rank, dtype=systems.dtype, device=systems.device)


def logistic_newton(X: Array, B: Array, *, n_iter: int = 60, largest: float = 30.0) -> Array:
    """Most likely embedding (n, rank) of some rows, B fixed: Newton's method with step halving, row by row.

    A row that B separates has none; it stops where Theta reaches ``largest``, and probabilities are 1 to rounding.
    """
    xp, rank, step = namespace(B), B.shape[0], max(1, TILE // B.shape[1])
    pairs = _pairs(B)
    single = B.dtype == xp.float32
    out = xp.zeros((X.shape[0], rank), dtype=B.dtype, device=device(B))
    for i in range(0, X.shape[0], step):
        rows = dense_rows(X, slice(i, i + step))
        A = out[i : i + step]
        value = _row_likelihoods(rows, A @ B)
        for _ in range(n_iter):
            P = expit(A @ B)
            systems = xp.reshape((P * (1 - P)) @ pairs.T, (-1, rank, rank))
            gradient = (rows - P) @ B.T
            move = solve(_ridged(systems, 1e-12), gradient[:, :, None])[:, :, 0]
            decrement = xp.sum(gradient * move, axis=1)
            size = xp.clip(largest / xp.clip(xp.max(xp.abs((A + move) @ B), axis=1), 1e-30, None), None, 1.0)
            slack = 1e-6 * xp.abs(value) if single else 0.0
            for _ in range(20):
                new = _row_likelihoods(rows, (A + size[:, None] * move) @ B)
                short = ~(new >= value - slack)
                if not bool(xp.any(short)):
                    break
                size = xp.where(short, size / 2, size)
            A += xp.where(short, 0.0, size)[:, None] * move
            value = xp.where(short, value, new)
            if bool(xp.max(decrement * size) < (1e-6 if single else 1e-8)):
                break
    return out


def _row_likelihoods(rows: Array, theta: Array) -> Array:
    xp = namespace(theta)
    return xp.sum(rows * theta - xp.logaddexp(xp.zeros_like(theta), theta), axis=1)


def log_likelihood(X: Any, A: Array, B: Array) -> float:
    """Log-likelihood of all entries, in nats: the sum of ``x theta - log(1 + exp(theta))``, Theta tile by tile."""
    xp, step = namespace(A), max(1, TILE // B.shape[1])
    total = xp.sum(A * (X @ B.T), dtype=xp.float64)
    for i in range(0, A.shape[0], step):
        theta = A[i : i + step] @ B
        total = total - xp.sum(xp.logaddexp(xp.zeros_like(theta), theta), dtype=xp.float64)
    return float(total)
