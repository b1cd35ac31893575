"""Plain means of rows and columns, and whether a model predicts worse than they do by more than chance."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

DOUBT = 5
"""Entries of the same mean that are added to each row, and at most to each column, whose own mean a few entries do not
tell; fewer where the means of columns differ by far more than the values of one column, as in different units."""

LEAST_COLUMN = 10
"""Hidden entries of a column from which on its own error counts."""


def means_of(X: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """The mean of the known entries everywhere, the means of rows and columns added up, and those of columns.

    How far a row differs is in units of the spread of each column: one column of incomes among answers from 1 to 5 does
    not decide what is typical of a row. Both are drawn a little towards the mean, see :data:`DOUBT`.
    """
    known, mean = ~np.isnan(X), np.nanmean(X)
    rest, counts = np.where(known, X - mean, 0.0), known.sum(axis=0)
    variances, doubts = _variances_and_doubts(rest, counts)
    columns, spreads = rest.sum(axis=0) / (counts + doubts), np.sqrt(variances)
    rest = np.where(known, rest - columns, 0.0) / np.where(spreads > 0, spreads, 1.0)
    rows = rest.sum(axis=1, keepdims=True) / (known.sum(axis=1, keepdims=True) + DOUBT)
    return np.full(X.shape, mean), mean + columns + rows * spreads, np.tile(mean + columns, (len(X), 1))


def _variances_and_doubts(
    rest: NDArray[np.float64], counts: NDArray[Any]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The variance of each column, and the entries of the overall mean that are added to it, in two arrays.

    The entries are as many as the variance of the column is times that of the means of columns, which is what the best
    linear estimate takes; at most ``DOUBT``.

    Parameters
    ----------
    rest : array of shape (n_samples, n_features)
        Differences from the overall mean, 0 where an entry is missing.
    counts : array of shape (n_features,)
        Known entries of each column.
    """
    means = rest.sum(axis=0) / np.maximum(counts, 1)
    within, free = np.maximum((rest**2).sum(axis=0) - counts * means**2, 0.0), np.maximum(counts - 1, 0)
    each, told = within / np.maximum(free, 1), counts >= LEAST_COLUMN
    usual = float(np.median(each[told])) if told.any() else float(within.sum() / max(int(free.sum()), 1))
    own = (within + DOUBT * usual) / np.maximum(free + DOUBT, 1)
    between = float(counts @ means**2 - own.sum()) / max(int(counts.sum()), 1)  # what chance does not explain
    return own, np.minimum(own / between, DOUBT) if between > 0 else np.full(len(own), float(DOUBT))


def chances_of_losses(
    found: NDArray[np.float64], means: NDArray[np.float64], known: NDArray[np.float64], mask: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """How likely chance makes squared errors of a model exceed those of means by as much, for each column.

    A one-sided t test of the differences, paired by entry; 1 where fewer than two entries are in the mask. Their
    variance is at least what the variance of all known values of the column leads to: among few entries, none may be a
    rare answer.

    Parameters
    ----------
    found, means, known : arrays of shape (n_samples, n_features)
        Predictions of both, and the values, NaN where they are not known.
    mask : array of bool of the same shape
        Which entries are compared.

    Examples
    --------
    >>> known, far = np.tile([[0.0, 0.0], [1.0, 1.0]], (20, 1)), np.tile([[0.4, 3.0], [0.5, -2.0]], (20, 1))
    >>> chances_of_losses(far, np.full((40, 2), 0.5), known, np.ones((40, 2), dtype=bool)).round(3).tolist()
    [1.0, 0.0]
    """
    counts, apart = mask.sum(axis=0), np.where(mask, found - means, 0.0)
    more = np.where(mask, apart * (found + means - 2 * known), 0.0)  # a difference of squares
    mean = more.sum(axis=0) / np.maximum(counts, 1)
    paired = np.where(mask, (more - mean) ** 2, 0.0).sum(axis=0) / np.maximum(counts - 1, 1)
    usual = 4 * (apart**2).sum(axis=0) / np.maximum(counts, 1) * _variances(known)
    error = np.sqrt(np.maximum(paired, usual) / np.maximum(counts, 1))
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where(error > 0, mean / error, np.where(mean > 0, np.inf, -np.inf))
    return np.asarray(np.where(counts > 1, stats.t.sf(t, np.maximum(counts - 1, 1)), 1.0))


def _variances(X: NDArray[np.float64]) -> NDArray[np.float64]:
    """The variance of what is known of each column; 0 where nothing is."""
    known = ~np.isnan(X)
    counts = np.maximum(known.sum(axis=0), 1)
    rest = np.where(known, X - np.where(known, X, 0.0).sum(axis=0) / counts, 0.0)
    return np.asarray((rest**2).sum(axis=0) / counts)
