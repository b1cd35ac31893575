r"""Gaussian priors on rows and columns, learnt from the fit itself: empirical Bayes.

Rows :math:`a_i \sim N(m, S)` are latent variables. Given the latent matrix, each has a Gaussian posterior, whose mean
is the row of A; its covariance is taken to be :math:`V = (\bar w B B^T / \sigma^2 + S^{-1})^{-1}` for all rows, where
the curvature :math:`\bar w` says how much an entry tells. Columns :math:`b_j \sim N(k, T)` are point estimates. What
the factors cost then is a :class:`rectifact.kernels.penalty.Penalty`, and the moments of the factors give the next m,
S, k and T.

Where the data says little about a direction its prior becomes narrow, and the direction vanishes: a rank that is too
large does no harm.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rectifact.core.arrays import Array, eps, to_host, to_like
from rectifact.core.operand import Operand
from rectifact.kernels.penalty import Penalty
from rectifact.latent.model import LatentModel

Matrix = NDArray[np.float64]
Curvatures = Callable[..., tuple[Array, Array, Array]]

REPEATS = 3
"""Updates of the covariances for the same factors."""

MOST_GROWTH, MOST_DECAY = 20.0, 0.2
"""Factors by which an update may change a variance."""

WIDE = 1e4
"""Factor of the covariance of a wide prior: a hundred standard deviations where one was learnt."""


@dataclass(frozen=True)
class Gaussian:
    """A normal distribution; in float64 on the host.

    Attributes
    ----------
    mean : array of shape (rank,)
    covariance : array of shape (rank, rank)
    """

    mean: Matrix
    covariance: Matrix

    def precision(self, least: float) -> Matrix:
        """Inverse of the covariance, whose eigenvalues are at least ``least`` times the largest."""
        values, vectors = np.linalg.eigh(self.covariance)
        values = np.maximum(values, max(least * values[-1], 1e-300))
        return (vectors / values) @ vectors.T

    def mapped(self, H: Matrix) -> "Gaussian":
        """Distribution of ``a H``."""
        return Gaussian(self.mean @ H, H.T @ self.covariance @ H)


@dataclass(frozen=True)
class Priors:
    """The priors of both factors, and what is known about the rows.

    Attributes
    ----------
    rows, columns : Gaussian
    posterior : array of shape (rank, rank)
        V, the posterior covariance of a row.
    weights : array of shape (n_features,)
        Mean curvature of each column.
    n_rows : int
    """

    rows: Gaussian
    columns: Gaussian
    posterior: Matrix
    weights: Matrix
    n_rows: int

    def penalty(self, like: Array) -> Penalty:
        """The penalty of a sweep, in the library and precision of ``like``."""
        least = floor_of(like)
        parts = (
            *(self.rows.mean, self.rows.precision(least)),
            *(self.columns.mean, self.columns.precision(least)),
            *(self.n_rows * self.posterior, self.weights),
        )
        return Penalty(*(to_like(np.ascontiguousarray(part), like) for part in parts))


def floor_of(like: Array) -> float:
    """Least share of the largest variance: what is below is lost in rounding."""
    return max(1e3 * eps(like), 1e-9)


def shrinkage(rows: Gaussian, posterior: Matrix) -> float:
    """Share of the embedding that the prior decides, 0 to 1: the mean of V / S over all directions."""
    inverse = np.linalg.inv(np.linalg.cholesky(_safe(rows.covariance)))
    return float(np.mean(np.clip(np.linalg.eigvalsh(inverse @ posterior @ inverse.T), 0, 1)))


def learn(X: Operand, model: LatentModel, curvatures: Curvatures, link: str, before: Priors | None = None) -> Priors:
    """Priors for the factors of ``model``, by one pass over the data.

    Parameters
    ----------
    X : Operand
    model : LatentModel
    curvatures : callable
        Sums over rows, as :func:`rectifact.kernels.tiled_nmd.curvatures` gives them.
    link : str
        For ``curvatures``.
    before : Priors, optional
        Where to start from; the moments of the factors by default.
    """
    sums = X.total(curvatures, model.B, model.sigma, link, along=(model.A,))
    weights, gram, total = (np.asarray(to_host(part), dtype=np.float64) for part in sums)
    B, n = np.asarray(to_host(model.B), dtype=np.float64), X.shape[0]
    return _updated(B, gram, total, np.clip(weights / n, 1e-12, 1.0), float(model.sigma) ** 2, n, before)


def _updated(B: Matrix, gram: Matrix, total: Matrix, weights: Matrix, noise: float, n: int, before: Any) -> Priors:
    d = B.shape[1]
    m, k = total / n, B.mean(axis=1)
    of_rows, of_columns = gram / n - np.outer(m, m), B @ B.T / d - np.outer(k, k)
    S, T = (
        (_safe(of_rows), _safe(of_columns)) if before is None else (before.rows.covariance, before.columns.covariance)
    )
    V = np.zeros_like(S)
    for _ in range(REPEATS):
        V = _mean_inverse(B @ B.T / noise, S, weights.mean(keepdims=True))
        S_new = _next_covariance(of_rows, V, S)
        T = _next_covariance(of_columns, _mean_inverse((gram + n * V) / noise, T, weights), T)
        S = S_new
    return Priors(Gaussian(m, S), Gaussian(k, T), V, weights, n)


def row_prior(
    X: Operand, model: LatentModel, curvatures: Curvatures, link: str, wide: bool = False
) -> tuple[Gaussian, Matrix]:
    """Prior of the rows alone, for components that stay as they are, and the posterior covariance of a row.

    A ``wide`` one leaves rows to the data, and only keeps those that the components separate from running away.
    """
    sums = X.total(curvatures, model.B, model.sigma, link, along=(model.A,))
    weights, gram, total = (np.asarray(to_host(part), dtype=np.float64) for part in sums)
    B, n = np.asarray(to_host(model.B), dtype=np.float64), X.shape[0]
    m = total / n
    found = gram / n - np.outer(m, m)
    S = _safe(found)
    weight = np.clip(weights / n, 1e-12, 1.0).mean(keepdims=True)
    for _ in range(100):
        V = _mean_inverse(B @ B.T / float(model.sigma) ** 2, S, weight)
        S = _safe(found + V)
    if wide:
        S = WIDE * S
        V = _mean_inverse(B @ B.T / float(model.sigma) ** 2, S, weight)
    return Gaussian(m, S), V


def _mean_inverse(G: Matrix, S: Matrix, weights: Matrix) -> Matrix:
    """Mean over the weights w of ``(w G + S^-1)^-1``, in a basis in which both are diagonal."""
    root = np.linalg.cholesky(_safe(S))
    values, vectors = np.linalg.eigh(root.T @ G @ root)
    shares = np.mean(1 / (1 + weights[:, None] * np.maximum(values, 0)), axis=0)
    M = root @ vectors
    return np.asarray((M * shares) @ M.T)


def _next_covariance(found: Matrix, V: Matrix, S: Matrix) -> Matrix:
    """A step towards ``S = found + V``, the covariance of the estimates plus that of their errors.

    EM, which takes the right-hand side, is slow where V is nearly S. MacKay's fixed point takes
    ``found / (1 - V / S)`` in the directions in which S is 1 and V diagonal.
    """
    S = _safe(S)
    root = np.linalg.cholesky(S)
    inverse = np.linalg.inv(root)
    shares, vectors = np.linalg.eigh(inverse @ V @ inverse.T)
    known = np.maximum(1 - np.clip(shares, 0, 1), 1 / MOST_GROWTH) ** -0.5
    there = vectors.T @ inverse
    moved = (there @ found @ there.T) * known[:, None] * known
    values, axes = np.linalg.eigh((moved + moved.T) / 2)
    M = root @ vectors @ axes
    return _safe((M * np.clip(values, MOST_DECAY, None)) @ M.T)


def _safe(S: Matrix) -> Matrix:
    """A symmetric matrix with eigenvalues of at least 1e-11 times the largest."""
    values, vectors = np.linalg.eigh((S + S.T) / 2)
    return np.asarray((vectors * np.maximum(values, max(1e-11 * values[-1], 1e-200))) @ vectors.T)
