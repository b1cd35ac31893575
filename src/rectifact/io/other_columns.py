"""Columns of a table of counts or grades that hold something else, such as a latitude, an age or the sum of the row."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from rectifact.io.columns import WORDS, listing, word

LEAST_ROWS, LEAST_COLUMNS, MOST = 10, 5, 0.2
"""Rows, and columns of one kind, that a table must have, and share of its columns that may be of another kind."""

OFTEN = 0.1
"""Share of a column from which on negative numbers are measured, and not returns or codes of missing answers."""

GRADES, COMMON, BEYOND = 11, 0.05, 10.0
"""Different values that grades have at most; share of a column that has the highest of them, which is rare in counts;
and how many times the usual highest grade amounts beside grades exceed."""

CLEAR = 3.0
"""Standard errors of a correlation by chance from which on a column rises with the others."""


def other_columns(X: Any, names: Sequence[Any]) -> list[int]:
    """Which columns hold something else than the counts or grades of all others; none if the others are neither.

    A column is named if it is never 0 and mostly fractions other than halves, if it is often negative, if it is never 0
    and called as an age or a place is, if all of it is above all values of the others and does not rise with their sum,
    as counts do, and if it is their sum in each row. Beside such a column, amounts among grades are named too.

    Examples
    --------
    >>> X = np.random.default_rng(0).poisson(2.0, (20, 8))
    >>> other_columns(np.c_[X, np.linspace(47.1, 55.2, 20)], [*"abcdefgh", "lat"])
    [8]
    >>> other_columns(np.c_[X, X.sum(axis=1)], [*"abcdefgh", "in all"]), other_columns(X, [*"abcdefgh"])
    ([8], [])
    """
    if sp.issparse(X) or len(X) < LEAST_ROWS or X.shape[1] <= LEAST_COLUMNS:
        return []
    X = np.asarray(X, dtype=np.float64)
    if np.isinf(X).any():  # refused later
        return []
    n_known = np.maximum((~np.isnan(X)).sum(axis=0), 1)
    known = np.nan_to_num(X)
    whole, never_0 = (known == np.round(known)).all(axis=0) & ~(X < 0).any(axis=0), ~(X == 0).any(axis=0)
    fractions = (2 * known != np.round(2 * known)).sum(axis=0) / n_known
    beside = np.array([word(str(name)) in WORDS["beside_counts"] for name in names])
    other = ((fractions > 0.5) & never_0) | ((X < 0).sum(axis=0) >= OFTEN * n_known) | (beside & never_0)
    other |= _above(X, ~other) | _sums(X, ~other)
    other |= other.any() & _beside_grades(X, whole & ~other)
    same = whole & ~other
    usual = other.any() and same.sum() >= LEAST_COLUMNS and other.sum() <= MOST * len(other)
    return np.flatnonzero(other).tolist() if usual and (same | other).all() else []


def about_other_columns(X: Any, names: Sequence[Any], dropped: Sequence[str] = ()) -> tuple[list[int], str, str]:
    """Columns of another kind, what they are, and how to leave them out beside those already ``dropped``."""
    found = other_columns(X, names)
    if not found:
        return [], "", ""
    others = np.delete(np.asarray(X, dtype=np.float64), found, axis=1)
    such = [str(names[j]) for j in found]
    one = len(such) == 1
    what = (
        f"{', '.join(map(repr, such))} {'is' if one else 'are'} not of the kind of the other {others.shape[1]} "
        f"columns, which hold whole numbers from {np.nanmin(others) + 0.0:g} to {np.nanmax(others):g}."
    )
    unless = f"unless {'it belongs' if one else 'they belong'} there."
    return found, what, f"Leave {'it' if one else 'them'} out with --drop {listing([*dropped, *such])}, {unless}"


def _above(X: NDArray[np.float64], usual: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """A column of which all values are above all values of the other usual ones, and do not rise with their sum."""
    usual = usual & ~np.isnan(X).all(axis=0)  # a column without a value is neither above the others nor below
    lows = np.where(np.isnan(X), np.inf, X).min(axis=0)
    highs = np.where(usual, np.where(np.isnan(X), -np.inf, X).max(axis=0), -np.inf)
    first, second = np.argsort(-highs)[:2]
    above = np.zeros(len(usual), dtype=bool)
    if usual[first] and lows[first] > highs[second] >= 0:
        own, rest = np.nan_to_num(X[:, first]), np.nansum(np.delete(X, first, axis=1), axis=1)
        constant = np.ptp(own) == 0 or np.ptp(rest) == 0
        above[first] = constant or np.corrcoef(own, rest)[0, 1] < CLEAR / len(X) ** 0.5
    return above


def _beside_grades(X: NDArray[np.float64], usual: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Columns of amounts, such as an income, where most of the usual columns are grades."""
    highs = np.fmax.reduce(np.where(usual, X, np.nan), axis=0)
    at_top = (highs == X).sum(axis=0) >= COMMON * (~np.isnan(X)).sum(axis=0)
    grades = usual & at_top & (highs > 2) & (highs < GRADES)
    if 2 * grades.sum() <= usual.sum():
        return np.zeros(len(usual), dtype=bool)
    return np.asarray(usual & (highs > BEYOND * np.median(highs[grades])))


def _sums(X: NDArray[np.float64], usual: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """A column that is the sum of all other usual ones in each row."""
    total = np.nansum(X[:, usual], axis=1)
    is_sum = usual & (2 * np.nan_to_num(X) == total[:, None]).all(axis=0)
    return np.asarray(is_sum & (total > 0).any())
