"""Gaussian priors on the factors of NMD, as quadratic penalties that a sweep takes off the log-likelihood."""

from dataclasses import dataclass
from typing import Any

from rectifact.core.arrays import Array, namespace


@dataclass(frozen=True)
class Penalty:
    r"""Penalties on the rows a of A and the columns b of B, which the expected log-likelihood leads to.

    A row costs :math:`(a - m)^T P (a - m) / 2`. Column j costs :math:`(b - k)^T Q (b - k) / 2` for its prior, and
    :math:`w_j b^T V b / (2 \sigma^2)` because the rows are only known up to their posterior covariance.

    Attributes
    ----------
    row_mean, column_mean : arrays of shape (rank,)
        m and k.
    row_precision, column_precision : arrays of shape (rank, rank)
        P and Q.
    spread : array of shape (rank, rank)
        V, posterior covariances of all rows, added up.
    weights : array of shape (n_features,)
        w, the mean curvature of the entries of each column: 1 where all are observed, 0 where none is.
    """

    row_mean: Array
    row_precision: Array
    column_mean: Array
    column_precision: Array
    spread: Array
    weights: Array

    def of_rows(self, A: Array) -> Array:
        """What the rows of A cost."""
        gap = A - self.row_mean
        return 0.5 * namespace(A).sum((gap @ self.row_precision) * gap)

    def of_columns(self, B: Array, sigma: Any) -> tuple[Array, Array]:
        """What the columns of B cost: for their prior, and for the spread of the rows."""
        xp = namespace(B)
        gap = B - self.column_mean[:, None]
        spread = 0.5 * xp.sum(self.weights * xp.sum(B * (self.spread @ B), axis=0)) / sigma**2
        return 0.5 * xp.sum((self.column_precision @ gap) * gap), spread

    def row_system(self, gram: Array, sigma: Any) -> tuple[Array, Array]:
        """Matrix and shift of the least squares for rows: ``A = (Z B' + shift) matrix^-1``."""
        pull = sigma**2 * self.row_precision
        return gram + pull, pull @ self.row_mean

    def column_matrix(self, gram: Array, sigma: Any) -> Array:
        """Matrix of the least squares for columns, from ``A'A``.

        Weights differ between columns. All take the matrix of the largest one; :meth:`column_products` makes up for
        what that is too much at the old B, so the objective cannot fall.
        """
        most = namespace(gram).max(self.weights)
        return gram + sigma**2 * self.column_precision + most * self.spread

    def column_products(self, products: Array, B: Array, sigma: Any) -> Array:
        """Right-hand side of the least squares for columns, from ``A'Z`` and the old B."""
        pull = sigma**2 * self.column_precision @ self.column_mean
        rest = namespace(B).max(self.weights) - self.weights
        return products + pull[:, None] + self.spread @ (B * rest)

    def less_rows(self, sums: Array, A: Array) -> Array:
        """The objective and its derivatives in log sigma, less what the rows cost."""
        xp = namespace(sums)
        cost = xp.astype(xp.asarray(self.of_rows(A)), sums.dtype)
        return sums - xp.stack([cost, 0 * cost, 0 * cost])

    def less_columns(self, sums: Array, B: Array, sigma: Any) -> Array:
        """The objective and its derivatives in log sigma, less what the columns cost."""
        xp = namespace(sums)
        prior, spread = (xp.astype(xp.asarray(cost), sums.dtype) for cost in self.of_columns(B, sigma))
        return sums - xp.stack([prior + spread, -2 * spread, 4 * spread])
