"""Counts that vary more than Poisson counts: how much more, and samples weighted so that a Poisson likelihood fits.

An entry of mean m has the variance :math:`m + c m^2`, as negative binomial counts have. A Poisson likelihood takes
large counts for far more exact than they are, and spends parts on their noise. Divided by :math:`1 + c m`, counts have
a variance equal to their mean again. The divisor is approximated by a number for each row times one for each column,
which keeps the parts, up to scale, and the zeros of sparse data.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rectifact.core.arrays import Array, to_csr, to_host
from rectifact.core.operand import Operand, operand
from rectifact.core.sparse import divide_rows, is_sparse
from rectifact.parts.samples import column_means, divide_columns, sample_norms

MOST_ROWS, MOST_COLUMNS = 1000, 500
"""The block in which the dispersion is measured: rows at equal distances, and the columns with the largest parts."""

ROUNDING = 1e-4
"""Distance from a whole number, in units of counts, that is rounding."""


@dataclass(frozen=True)
class Dispersion:
    """Counts of mean m have the variance ``unit * m + excess * m**2``; a unit of 0 says that they are not counts."""

    excess: float
    unit: float

    def share(self, mean: float) -> float:
        """The share of the variance of a count with this mean that Poisson noise does not explain."""
        return self.excess * mean / (self.unit + self.excess * mean) if self.excess > 0 else 0.0


def dispersion(X: Operand | Array, W: Array, H: Array) -> Dispersion:
    """Dispersion of counts X (n_samples, n_features) around their fit ``W @ H``: 0 for Poisson counts and other data.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> W, H = rng.gamma(1.0, 100.0, (200, 2)), rng.random((2, 40))
    >>> found = dispersion(rng.poisson(rng.gamma(2.0, 0.5, (200, 40)) * (W @ H)), W, H)
    >>> round(found.excess, 1), found.unit
    (0.5, 1.0)
    """
    X = operand(X)
    H = np.asarray(to_host(H), dtype=float)
    columns = np.sort(np.argsort(-H.sum(axis=0), kind="stable")[:MOST_COLUMNS])
    step = max(1, -(-X.shape[0] // MOST_ROWS))
    rows, means = X.total(_block, step, columns, H[:, columns], along=(W,), combine=_stacked)
    known = ~np.isnan(rows)
    rows, means = rows[known], means[known]
    unit = count_unit(rows)
    large = means >= unit  # below one count there is little to see
    if unit == 0 or not large.any():
        return Dispersion(0.0, unit)
    m = means[large]
    return Dispersion(max(float(np.mean(((rows[large] - m) ** 2 - unit * m) / m**2)), 0.0), unit)


def count_unit(values: NDArray[Any]) -> float:
    """What one count is: the smallest positive value if all others are its multiples, else 0.

    Examples
    --------
    >>> count_unit(np.array([0.0, 3.0, 1.0])), count_unit(np.array([0.5, 2.0])), count_unit(np.array([1.0, 2.3]))
    (1.0, 0.5, 0.0)
    """
    positive = values[values > 0]
    if not len(positive) or bool((values < 0).any()):
        return 0.0
    unit = float(positive.min())
    counts = positive / unit
    return unit if bool((np.abs(counts - np.round(counts)) <= ROUNDING * np.sqrt(counts)).all()) else 0.0


def _block(rows: Array, W: Array, step: int, columns: NDArray[Any], H: NDArray[Any]) -> tuple[Any, Any]:
    some = to_csr(rows)[::step][:, columns].toarray() if is_sparse(rows) else to_host(rows[::step])[:, columns]
    return np.asarray(some, dtype=float), np.asarray(to_host(W[::step]), dtype=float) @ H


def _stacked(one: Any, other: Any) -> Any:
    return tuple(np.concatenate(pair) for pair in zip(one, other, strict=True))


def variance_divisors(X: Operand, found: Dispersion) -> tuple[Array, Array]:
    """A number for each row (n_samples, 1) and each column (n_features,) of X: variance over mean, apart from scale."""
    rate = found.excess / found.unit
    return 1 + rate / X.shape[1] * sample_norms(X, "l1"), 1 + rate * column_means(X)


def divided(X: Operand, rows: Array, columns: Array) -> Operand:
    """X, divided by a number for each row and each column; sparse stays sparse.

    Examples
    --------
    >>> divided(operand(np.array([[2.0, 6.0]])), np.array([[2.0]]), np.array([1.0, 3.0])).native
    array([[1., 1.]])
    """
    return operand(X.map_rows(_divided, columns, along=(rows,), columns=X.shape[1]))


def _divided(block: Array, rows: Array, columns: Array) -> Array:
    return divide_columns(divide_rows(block, rows), columns)
