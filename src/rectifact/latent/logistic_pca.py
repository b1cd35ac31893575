r"""Logistic PCA by alternating least squares: :math:`P(x_{ij} = 1) = 1 / (1 + e^{-\theta_{ij}})`, Theta of low rank.

References
----------
[1] A. I. Schein, L. K. Saul and L. H. Ungar, "A generalized linear model for principal component analysis of binary
data", AISTATS 2003.
"""

from math import inf
from typing import Any

from rectifact.core.arrays import Array, device, eps, expit, namespace, rows_at_once, to_like
from rectifact.core.linalg import solve
from rectifact.core.monitor import Monitor
from rectifact.core.operand import Operand, operand
from rectifact.core.sparse import dense_rows, transposed
from rectifact.kernels.penalty import Penalty
from rectifact.latent.model import LatentModel
from rectifact.latent.priors import Gaussian, Priors, floor_of, learn

TILE = 1 << 15
"""Entries of a dense tile on the host, whose temporaries stay in the cache."""

ROUND, ROUND_TOL = 10, 100
"""Iterations between two updates of the priors, and by how much the loss may change meanwhile, in units of tol."""

WARM_UP = 20
"""Iterations without priors to begin with: they lead to a better peak where the data is nearly exact."""

Pull = tuple[Array, Array]
"""What a prior adds to the linear systems of rows: matrices, one or one for each row, and a vector."""


def logistic_pca(X: Operand, start: LatentModel, *, monitor: Monitor) -> LatentModel:
    r"""Alternate between the rows of A and the columns of B, each by weighted least squares.

    The bound of [1], :math:`\log\cosh(\theta/2) \le \log\cosh(\theta_0/2) + w (\theta^2 - \theta_0^2) / 2` with
    :math:`w = \tanh(\theta_0/2) / (2 \theta_0)`, is a weighted sum of squares; the likelihood cannot fall when that is
    minimised. The weights differ between entries: each row takes a linear system of its own, of order n d r^2
    operations in all. A missing entry has the weight 0.

    Parameters
    ----------
    X : Operand
        Zeros and ones, NaN where an entry is missing, in memory.
    start : LatentModel
        Factors to start from.
    monitor : Monitor
        Its loss is minus the log-likelihood per entry, missing ones included.

    Returns
    -------
    LatentModel
        With a sigma of 1, which has no meaning here.

    Examples
    --------
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
    size, turned = X.shape[0] * X.shape[1], operand(transposed(X.data))
    for _ in monitor:
        A = X.map_rows(logistic_rows, B, along=(A,), columns=B.shape[0])
        B = turned.map_rows(logistic_rows, A.T, along=(B.T,), columns=B.shape[0]).T
        balance = (norm(B) / norm(A)) ** 0.5  # or the two would drift apart in scale
        A, B = A * balance, B / balance
        monitor.record(lambda: -float(X.total(log_likelihood, B, along=(A,))) / size, state=lambda: (A, B))
    return LatentModel(A, B, 0.0)


def logistic_pca_with_priors(X: Operand, start: LatentModel, *, monitor: Monitor) -> tuple[LatentModel, Priors]:
    """Climb the likelihood times Gaussian priors on rows and columns, which are learnt on the way.

    Every ``ROUND`` iterations the priors are learnt again, see :mod:`rectifact.latent.priors`; between, the iterations
    are those of :func:`logistic_pca`, whose linear systems the priors add to. ``WARM_UP`` iterations without priors,
    which the monitor does not see, come first.

    Parameters
    ----------
    X, start, monitor
        As in :func:`logistic_pca`. The run has converged when the loss changes by less than ``ROUND_TOL * tol`` of
        itself in a round.

    Returns
    -------
    LatentModel
    Priors

    Examples
    --------
    >>> import numpy as np
    >>> from rectifact.latent.starts import svd_start
    >>> rng = np.random.default_rng(0)
    >>> theta = 2 * rng.normal(size=(200, 2)) @ rng.normal(size=(2, 60))
    >>> X = operand((rng.random((200, 60)) < expit(theta)) * 1.0)
    >>> model, priors = logistic_pca_with_priors(X, svd_start(X, 6, "binary"), monitor=Monitor(60))
    >>> spectrum = np.linalg.svd(model.A @ model.B, compute_uv=False)
    >>> bool(spectrum[1] > 5 * spectrum[2])               # two dimensions, and the other four are kept small
    True
    """
    size, turned = X.shape[0] * X.shape[1], operand(transposed(X.data))
    start = logistic_pca(X, start, monitor=Monitor(WARM_UP, tol=0, check_every=WARM_UP))
    priors = learn(X, start, logistic_curvatures, "binary")
    A, B, priors, last = monitor.resume((start.A, start.B, priors, inf))
    penalty = priors.penalty(X.like)
    for t in monitor:
        A = X.map_rows(logistic_rows, B, _row_pull(penalty), along=(A,), columns=B.shape[0])
        B = turned.map_rows(logistic_rows, A.T, _column_pull(penalty), along=(B.T,), columns=B.shape[0]).T
        settled, update = False, (t + 1) % ROUND == 0
        loss = _penalised_loss(X, A, B, penalty) / size if update or monitor.due else inf
        if update:
            last, settled = loss, abs(loss - last) <= ROUND_TOL * monitor.tol * abs(loss)
            priors = learn(X, LatentModel(A, B, 0.0), logistic_curvatures, "binary", priors)
            penalty = priors.penalty(X.like)
        monitor.record(
            lambda: loss,
            settled=False,  # the objective changes with the priors
            converged=lambda: settled,
            state=lambda: (A, B, priors, last),
        )
    return LatentModel(A, B, 0.0), priors


def _row_pull(penalty: Penalty) -> Pull:
    return penalty.row_precision[None], penalty.row_precision @ penalty.row_mean


def _column_pull(penalty: Penalty) -> Pull:
    spread = penalty.weights[:, None, None] * penalty.spread
    return penalty.column_precision + spread, penalty.column_precision @ penalty.column_mean


def _penalised_loss(X: Operand, A: Array, B: Array, penalty: Penalty) -> float:
    """Minus the log-likelihood, and what the factors cost."""
    cost = penalty.of_rows(A) + sum(penalty.of_columns(B, 1.0))
    return float(cost) - float(X.total(log_likelihood, B, along=(A,)))


def logistic_rows(X: Array, A: Array, B: Array, pull: Pull | None = None) -> Array:
    """One step for the rows of A: row i solves ``(B diag(w_i) B' + P_i) a_i = B (x_i - 1/2) + q``.

    P and q are the ``pull``, zero by default. Missing entries are left out of both sides.
    """
    xp, (n, rank) = namespace(B), A.shape
    pairs = _pairs(B)
    out = xp.empty_like(A)
    step = rows_at_once(B, B.shape[1], TILE)
    for i in range(0, n, step):
        tile = slice(i, i + step)
        rows, theta = dense_rows(X, tile), A[tile] @ B
        known = ~xp.isnan(rows)
        half = xp.clip(xp.abs(theta) / 2, 1e-6, None)  # where w is its limit, 1/4, to rounding
        w = xp.tanh(half) / (4 * half) * known
        systems = xp.reshape(w @ pairs.T, (-1, rank, rank))
        right = xp.where(known, rows - 0.5, 0.0) @ B.T
        if pull is not None:
            systems, right = systems + xp.broadcast_to(pull[0], (n, rank, rank))[tile], right + pull[1]
        out[tile] = solve(_ridged(systems, 1e-30), right[:, :, None])[:, :, 0]
    return out


def logistic_curvatures(X: Array, A: Array, B: Array, sigma: Any, link: str) -> tuple[Array, Array, Array]:
    """Sums over rows that priors are learnt from: of the curvatures ``p (1 - p)`` of each column, of A'A and of A.

    A missing entry has none. ``sigma`` and ``link`` are for others that learn priors.
    """
    xp, step = namespace(B), rows_at_once(B, B.shape[1], TILE)
    total = xp.zeros_like(B[0])
    for i in range(0, A.shape[0], step):
        P = expit(A[i : i + step] @ B)
        known = ~xp.isnan(dense_rows(X, slice(i, i + step)))
        total = total + xp.sum(P * (1 - P) * known, axis=0)
    return total, A.T @ A, xp.sum(A, axis=0)


def _pairs(B: Array) -> Array:
    """Products of all pairs of rows of B, (rank^2, n_features)."""
    return namespace(B).reshape(B[:, None, :] * B[None, :, :], (B.shape[0] ** 2, -1))


def _ridged(systems: Array, least: float = 0.0) -> Array:
    """Many small systems with a trace of a ridge, so that none is singular."""
    xp, rank = namespace(systems), systems.shape[-1]
    ridge = max(1e-10, eps(systems)) * xp.linalg.trace(systems) + least
    return systems + ridge[:, None, None] * xp.eye(rank, dtype=systems.dtype, device=systems.device)


def logistic_newton(
    X: Array, B: Array, prior: Gaussian | None = None, *, n_iter: int = 60, largest: float = 30.0
) -> Array:
    """Most probable embedding (n, rank) of some rows, B fixed: Newton's method with step halving, row by row.

    Without a prior a row that B separates has none; it stops where Theta reaches ``largest``, and probabilities are 1
    to rounding. A row of which all entries are missing stays at the mean of the prior, or at 0.
    """
    xp, rank, step = namespace(B), B.shape[0], rows_at_once(B, B.shape[1], TILE)
    pairs = _pairs(B)
    single = B.dtype == xp.float32
    out = xp.zeros((X.shape[0], rank), dtype=B.dtype, device=device(B))
    mean, precision = xp.zeros_like(B[:, 0]), xp.zeros((rank, rank), dtype=B.dtype, device=device(B))
    if prior is not None:
        mean, precision, largest = to_like(prior.mean, B), to_like(prior.precision(floor_of(B)), B), inf
        out += mean
    for i in range(0, X.shape[0], step):
        rows = dense_rows(X, slice(i, i + step))
        known = ~xp.isnan(rows)
        A = out[i : i + step]
        value = _row_objectives(rows, A, B, mean, precision)
        for _ in range(n_iter):
            P = expit(A @ B)
            systems = xp.reshape((P * (1 - P) * known) @ pairs.T, (-1, rank, rank)) + precision
            gradient = xp.where(known, rows - P, 0.0) @ B.T - (A - mean) @ precision
            move = solve(_ridged(systems, 1e-12), gradient[:, :, None])[:, :, 0]
            decrement = xp.sum(gradient * move, axis=1)
            size = xp.clip(largest / xp.clip(xp.max(xp.abs((A + move) @ B), axis=1), 1e-30, None), None, 1.0)
            slack = 1e-6 * xp.abs(value) if single else 0.0
            for _ in range(20):
                new = _row_objectives(rows, A + size[:, None] * move, B, mean, precision)
                short = ~(new >= value - slack)
                if not bool(xp.any(short)):
                    break
                size = xp.where(short, size / 2, size)
            A += xp.where(short, 0.0, size)[:, None] * move
            value = xp.where(short, value, new)
            if bool(xp.max(decrement * size) < (1e-6 if single else 1e-8)):
                break
    return out


def _row_objectives(rows: Array, A: Array, B: Array, mean: Array, precision: Array) -> Array:
    """Log-likelihood of each row, less what it costs under the prior."""
    xp, gap = namespace(B), A - mean
    return xp.sum(log_likelihoods(rows, A @ B), axis=1) - 0.5 * xp.sum((gap @ precision) * gap, axis=1)


def log_likelihoods(rows: Array, theta: Array) -> Array:
    """``x theta - log(1 + exp(theta))`` of each entry, 0 where it is missing."""
    xp = namespace(theta)
    normaliser = xp.clip(theta, 0.0, None) + xp.log1p(xp.exp(-xp.abs(theta)))
    return xp.where(xp.isnan(rows), 0.0, rows * theta - normaliser)


def log_likelihood(X: Array, A: Array, B: Array) -> float:
    """Log-likelihood of all entries that are not missing, in nats, tile by tile."""
    xp, step, total = namespace(A), rows_at_once(B, B.shape[1], TILE), 0.0
    for i in range(0, A.shape[0], step):
        found = log_likelihoods(dense_rows(X, slice(i, i + step)), A[i : i + step] @ B)
        total = total + xp.sum(found, dtype=xp.float64)
    return float(total)
