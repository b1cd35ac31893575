"""How sure each filled entry is: intervals from the errors of known entries that were hidden."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

COVERAGE = 0.9
"""Share of the hidden entries that lie within their intervals."""

BINS, DOUBT = 5, 10
"""Groups of entries by their prediction and by how much is known beside them; and entries of ordinary error that are
added to each group and column, whose own errors a few entries do not tell."""

FOLDS, LEAST = 5, 50
"""Folds in which the coverage is measured, and hidden entries from which on there are intervals."""

RARE = 0.05
"""Share of the hidden entries beside which less is known, where intervals have hardly been checked."""


class Cells(NamedTuple):
    """Entries of a matrix, and what is known about each: one element of each array per entry.

    Attributes
    ----------
    predicted : array of float
    column : array of int
    in_row : array of int
        How many other entries are known in the row of each.
    in_column : array of float
        Share of the entries that are known in the column of each.
    """

    predicted: NDArray[np.float64]
    column: NDArray[np.intp]
    in_row: NDArray[np.intp]
    in_column: NDArray[np.float64]

    def some(self, which: NDArray[Any]) -> "Cells":
        """Some of them."""
        return Cells(*(values[which] for values in self))


def cells_of(
    X: NDArray[np.float64], mask: NDArray[np.bool_], predicted: NDArray[np.float64], fitted: Any = None
) -> Cells:
    """The entries of a mask, where X has NaN for what is missing; for new rows, ``fitted`` has those of the fit.

    Entries that were hidden count as known, or their rows and columns could not be compared with those of gaps.
    """
    known, (row, column) = ~np.isnan(X), np.nonzero(mask)
    shares = known.mean(axis=0) if fitted is None else (~np.isnan(fitted)).mean(axis=0)
    return Cells(predicted[mask], column, known.sum(axis=1)[row] - known[mask], shares[column])


@dataclass(frozen=True)
class Groups:
    """Groups of entries by one of their features, and how large the errors of each group are, 1 for ordinary ones."""

    edges: NDArray[np.float64]
    factors: NDArray[np.float64]

    def of(self, values: NDArray[Any]) -> NDArray[np.float64]:
        """The factor of each entry."""
        return np.asarray(self.factors[np.searchsorted(self.edges, values, side="right")])


@dataclass(frozen=True)
class Intervals:
    """Intervals around predictions, which hold nine of ten entries that were hidden.

    Attributes
    ----------
    groups : tuple of Groups
        By the prediction, by how many entries are known in the row and in the column, and by the column itself.
    low, high : float
        Ends of the interval where errors are ordinary.
    """

    groups: tuple[Groups, ...]
    low: float
    high: float

    def around(self, cells: Cells) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Lower and upper end of the interval of each entry, before they are clipped to a scale."""
        size = _size(self.groups, cells)
        return cells.predicted + self.low * size, cells.predicted + self.high * size


def find_intervals(cells: Cells, actual: NDArray[np.float64]) -> Intervals:
    """Learn from hidden entries how far predictions are off: signed quantiles of errors divided by their usual size.

    These are split conformal intervals. The size of an error is a product of one factor for each of four groups that an
    entry belongs to, found in turn.

    Parameters
    ----------
    cells : Cells
        Hidden entries, as a fit without them predicts them.
    actual : array of float
        Their values.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> column = np.repeat([0, 1], 500)                       # the second is three times as uncertain
    >>> cells = Cells(np.full(1000, 9.0), column, np.full(1000, 2), np.full(1000, 0.5))
    >>> found = find_intervals(cells, 9 + rng.normal(size=1000) * (1 + 2 * column))
    >>> low, high = found.around(cells.some(np.array([0, 999])))
    >>> bool(high[1] - low[1] > 2 * (high[0] - low[0]))
    True
    """
    wrong, relative = actual - cells.predicted, np.empty(len(actual))
    for held in _folds(len(actual)):  # sizes are learnt from other entries: their own errors would look too ordinary
        relative[held] = wrong[held] / _size(_groups(cells.some(~held), wrong[~held]), cells.some(held))
    share = min(np.ceil((len(wrong) + 1) * (1 + COVERAGE) / 2) / len(wrong), 1.0)
    high, low = (sign * np.quantile(sign * relative, share, method="higher") for sign in (1, -1))
    return Intervals(_groups(cells, wrong), float(min(low, 0.0)), float(max(high, 0.0)))


def measured_coverage(cells: Cells, actual: NDArray[np.float64]) -> float:
    """Share of hidden entries that lie within the intervals that the other hidden entries lead to."""
    inside = np.zeros(len(actual), dtype=bool)
    for held in _folds(len(actual)):
        low, high = find_intervals(cells.some(~held), actual[~held]).around(cells.some(held))
        inside[held] = (low <= actual[held]) & (actual[held] <= high)
    return float(inside.mean())


def n_hardly_checked(cells: Cells, hidden: Cells) -> int:
    """How many entries are in rows of which less is known than of nearly all rows with hidden entries.

    Examples
    --------
    >>> hidden = Cells(np.ones(100), np.zeros(100, int), np.arange(100), np.ones(100))
    >>> n_hardly_checked(hidden.some(np.array([2, 50, 90])), hidden)
    1
    """
    return int((cells.in_row < np.quantile(hidden.in_row, RARE)).sum())


def _folds(n: int) -> Iterator[NDArray[np.bool_]]:
    """Which of n entries are in each fold."""
    fold = np.random.default_rng(0).permutation(n) % FOLDS
    yield from (fold == number for number in range(FOLDS))


def _groups(cells: Cells, wrong: NDArray[np.float64]) -> tuple[Groups, ...]:
    """Groups of entries by each of their features, one after the other."""
    size, found = np.ones(len(wrong)), []
    *features, column = _features(cells)
    edges = [np.unique(np.quantile(values, np.arange(1, BINS) / BINS)) for values in features]
    for values, between in zip((*features, column), (*edges, np.arange(1.0, column.max() + 1)), strict=True):
        code, relative = np.searchsorted(between, values, side="right"), np.abs(wrong) / size
        counts, sums = (np.bincount(code, weights, len(between) + 1) for weights in (None, relative))
        usual = max(float(relative.mean()), 1e-300)
        found.append(Groups(between, np.maximum((sums / usual + DOUBT) / (counts + DOUBT), 1e-3)))
        size = size * found[-1].of(values)
    return tuple(found)


def _size(groups: tuple[Groups, ...], cells: Cells) -> NDArray[np.float64]:
    """How large the error of each entry usually is, 1 for an ordinary one."""
    factors = [group.of(values) for group, values in zip(groups, _features(cells), strict=True)]
    return np.asarray(np.prod(factors, axis=0))


def _features(cells: Cells) -> tuple[NDArray[Any], ...]:
    return cells.predicted, cells.in_row, cells.in_column, cells.column
