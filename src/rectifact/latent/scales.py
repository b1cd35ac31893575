"""Closed scales, such as 1 to 5 stars, values that cannot belong to one, and how large amounts may be filled in."""

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

FEW = 50
"""Known entries of a column below which they do not tell its range."""

GRADES, OFTEN, EACH = 11, 0.05, 5
"""Different values that a closed scale, such as 1 to 5 stars, has at most; share of the known entries that must have
the highest of them, as the largest of a few counts is rare; and known entries for each of them, and of the highest."""


SPREADS, MOST_BEYOND = 2.0, 0.9
"""Standard deviations of a column by which a filled amount may exceed what is known of it; and which quantile, over its
columns, of how far a row exceeds all others counts for those where it is not known."""

STRAY, USUAL = 0.01, 0.05
"""Share of the values that may be far outside a scale, and of those of new rows that may be beyond the known ones."""


def is_closed(counts: NDArray[Any]) -> bool:
    """Whether different values that occur so often, the lowest first, are a closed scale: two values, or grades.

    Examples
    --------
    >>> is_closed(np.array([20, 30, 70, 90, 50])), is_closed(np.array([200, 30, 7, 1]))  # stars, and how many were sold
    (True, False)
    """
    total, n = counts.sum(), len(counts)
    if n <= 2:
        return bool(n and total >= EACH * n)
    return bool(n <= GRADES and total >= EACH * n and counts[-1] >= max(EACH, OFTEN * total))


def ranges_of(X: Any) -> NDArray[np.float64]:
    """The lowest and the highest value that each column may have, as two rows.

    These are the lowest and the highest known ones of a closed scale: that of the column, or that of all columns of
    few different values where the column is one of them and has none or too few of them are known. Amounts may be
    anything from 0 on.

    Parameters
    ----------
    X : array or sparse array on the host
        With NaN for what is missing.

    Examples
    --------
    >>> stars = np.tile([[1.0, 4.0, np.nan], [3.0, 5.0, 5.0]], (30, 1))
    >>> ranges_of(stars), ranges_of(stars[:2])
    (array([[1., 4., 1.],
           [3., 5., 5.]]), array([[ 0.,  0.,  0.],
           [inf, inf, inf]]))
    """
    ranges, everything = np.tile([[0.0], [np.inf]], (1, X.shape[1])), Counter[float]()
    in_common = np.zeros(X.shape[1], dtype=bool)
    for j, column in enumerate(known_columns(X)):
        values, counts = np.unique(column, return_counts=True)
        if len(values) > GRADES:  # an age among answers from 1 to 5
            continue
        if len(everything) <= GRADES:
            everything.update(dict(zip(values.tolist(), counts.tolist(), strict=True)))
        in_common[j] = len(column) < FEW or not is_closed(counts)
        if not in_common[j]:
            ranges[:, j] = values[[0, -1]]
    found = sorted(everything)
    if is_closed(np.array([everything[value] for value in found])):
        ranges[:, in_common] = [[found[0]], [found[-1]]]
    return ranges


def with_scales_of(model: Any, X: Any, spreads: Any, shift: float = 0.0) -> Any:
    """The model, with the closed scales of X as they are once its columns are divided by these spreads.

    Columns of one scale, such as 1 to 5, have no values in common once each is divided by a spread of its own, so a fit
    to the columns that were divided does not find them. Amounts that are never negative begin at ``shift``.

    Parameters
    ----------
    model : NMD or LogisticPCA
        Fitted to ``X / spreads``.
    X : array
        With NaN for what is missing.
    spreads : array or None
        None where nothing was divided.
    shift : float
        What was added to each value, before any was divided.
    """
    if (spreads is not None or shift) and hasattr(model, "_ranges"):
        X = np.asarray(X, dtype=np.float64)
        low, high = ranges_of(X)
        begins = np.isinf(high) & ~(np.fmin.reduce(X, axis=0) < shift)
        low[begins] = shift
        model._ranges = np.array([low, high]) / (1.0 if spreads is None else spreads)
    return model


def scale_with_zero(X: Any) -> float:
    """The highest value of the scales of the data, if 0 is an answer on them like the others; 0 if it is not.

    It is one where each column that has a 0 is a closed scale, such as no and yes or 0 to 10, and some value is neither
    0 nor 1. Counts are not closed, as their highest values are rare; zeros and ones alone are a kind of data of their
    own. Fewer than 1 % of zeros may be mistakes.

    Parameters
    ----------
    X : array or sparse array on the host
        With NaN for what is missing.

    Examples
    --------
    >>> answers = np.tile([[0.0, 3.0, 4.0], [1.0, 5.0, np.nan], [1.0, 4.0, 5.0]], (30, 1))
    >>> scale_with_zero(answers), scale_with_zero(answers[:, 1:]), scale_with_zero(answers[:, :1])
    (5.0, 0.0, 0.0)
    """
    zeros, n_known, only_binary = [], 0, True
    for column in known_columns(X):
        zeros.append(int((column == 0).sum()))
        n_known += len(column)
        only_binary &= bool(((column == 0) | (column == 1)).all())
    if only_binary or sum(zeros) < max(1, STRAY * n_known):
        return 0.0
    high = ranges_of(X)[1]
    closed = np.isfinite(high)
    return float(high[closed].max()) if closed[np.array(zeros) > 0].all() else 0.0


def known_columns(X: Any) -> Iterator[NDArray[np.float64]]:
    """The known values of each column, zeros of a sparse array included."""
    if not sp.issparse(X):
        yield from (column[~np.isnan(column)] for column in np.asarray(X, dtype=np.float64).T)
        return
    X = sp.csc_array(X, dtype=np.float64)
    for start, stop in pairwise(X.indptr.tolist()):
        stored = X.data[start:stop]
        yield np.concatenate([stored[~np.isnan(stored)], np.zeros(X.shape[0] - len(stored))])


def tops_of(X: Any) -> NDArray[np.float64]:
    """The largest and the second largest known value of each column and its standard deviation, as three rows.

    Where too little of a column is known, they are the highest of all columns.

    Parameters
    ----------
    X : array or sparse array on the host
        With NaN for what is missing.
    """
    tops, few = np.zeros((3, X.shape[1])), np.zeros(X.shape[1], dtype=bool)
    for j, column in enumerate(known_columns(X)):
        few[j] = len(column) < FEW
        if len(column):
            size = np.abs(column).max() or 1.0  # the squares of the largest numbers are infinite
            tops[:, j] = *np.sort(column)[[-1, max(-2, -len(column))]], size * (column / size).std()
    if few.any():
        tops[:, few] = tops.max(axis=1, keepdims=True)
    return tops


def limits_of(known: NDArray[np.float64], tops: NDArray[np.float64]) -> NDArray[np.float64]:
    """The most that each entry may be filled in with: what is known of its column, and a little more.

    A row that exceeds all others in the columns where it is known, as a large shop does, may exceed them as far here.

    Parameters
    ----------
    known : array of shape (n_samples, n_features)
        Rows of the fit, or new ones, with NaN for what is missing.
    tops : array of shape (3, n_features)
        As :func:`tops_of` gives them for the data of the fit.

    Examples
    --------
    >>> sold = np.tile([[1.0, 2.0, 4.0], [2.0, 4.0, 8.0]], (30, 1))
    >>> limits_of(np.array([[1.0, 2.0, np.nan], [6.0, 12.0, np.nan]]), tops_of(sold))[:, 2]
    array([12., 28.])
    """
    largest, second, spread = tops
    others = np.where(known == largest, second, largest)  # the largest of the other rows
    with np.errstate(divide="ignore", invalid="ignore"):
        beyond = np.where((known > 0) & (others > 0), known / others, np.nan)
    beyond[np.isnan(beyond).all(axis=1)] = 1.0
    exceeds = np.maximum(np.nanquantile(beyond, MOST_BEYOND, axis=1, keepdims=True), 1.0)
    with np.errstate(over="ignore"):  # beyond the largest number there is no limit
        return np.asarray(exceeds * largest + SPREADS * spread)


def n_cut(known: NDArray[np.float64], full: NDArray[np.float64], limits: NDArray[np.float64]) -> int:
    """How many of the entries that were filled in were cut to their limits."""
    return int((np.isnan(known) & (full == limits)).sum())


def n_clipped(known: NDArray[np.float64], full: NDArray[np.float64], ranges: NDArray[np.float64]) -> int:
    """How many of the entries that were filled in lie at the end of a closed scale."""
    low, high = ranges
    at_end = ((full == low) | (full == high)) & np.isfinite(high)
    return int((np.isnan(known) & at_end).sum())


def counted(X: Any) -> tuple[NDArray[np.float64], NDArray[Any]]:
    """The different known values, the lowest first, and how often each occurs; of a sparse array, those stored."""
    values = np.asarray(X.data if sp.issparse(X) else X, dtype=np.float64)
    return np.unique(values[~np.isnan(values)], return_counts=True)


def stray_values(X: Any) -> str:
    """A sentence, if a few values lie far outside the closed scale that all others have, and else nothing.

    They are fewer than one in a hundred, and farther from the scale than that is wide. X has NaN for what is missing;
    of a sparse array, only what is stored counts.

    Examples
    --------
    >>> stray_values(np.r_[np.tile([1.0, 2.0, 3.0, 4.0, 5.0], 50), 55.0])
    '1 of 251 known values, 55, lies far outside the scale of the others, 1 to 5.'
    """
    found, counts = counted(X)
    common = found[counts >= OFTEN * counts.sum()]
    if len(found) > 2 * GRADES or len(common) < 2:
        return ""
    wide = common[-1] - common[0]
    stray = (found > common[-1] + wide) | (found < common[0] - wide)
    n, total = int(counts[stray].sum()), int(counts.sum())
    if not n or n >= STRAY * total or not is_closed(counts[~stray]):
        return ""
    shown = ", ".join(f"{value:g}" for value in found[stray][:3]) + (" and others" if stray.sum() > 3 else "")
    low, high = found[~stray][[0, -1]]
    lie = "lies" if n == 1 else "lie"
    return f"{n:,} of {total:,} known values, {shown}, {lie} far outside the scale of the others, {low:g} to {high:g}."


def outside(new: NDArray[np.float64], X: Any) -> NDArray[np.bool_]:
    """Which values of new rows are above or below all known ones of the column; of all columns, where those are few."""
    known = [column if len(column) else np.array([np.nan]) for column in known_columns(X)]
    low, high = (np.array([end(column) for column in known]) for end in (np.min, np.max))
    few = np.array([len(column) < FEW for column in known])
    low, high = np.where(few, np.nanmin(low), low), np.where(few, np.nanmax(high), high)
    return np.asarray((new < low) | (new > high))
