"""Columns of points in different units: whether they are divided by their standard deviations, and how that is said.

The distance of two points is that of their largest columns. In a table with an income in euros and an age in years,
the age does not count, and nobody has chosen that. Pixels, coordinates of an embedding and other columns of one kind
are left as they are: there, a small spread says that a column matters little.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rectifact.core.arrays import Array, namespace, to_host, to_like
from rectifact.core.errors import FitWarning, InputError
from rectifact.core.sparse import entries, is_sparse

MOST_COLUMNS = 50
"""Tables of more columns are taken for images, spectra, counts or embeddings, whose columns have the same unit."""

RATIO = 10.0
"""Standard deviations that differ by more than this factor are taken for those of different units."""

CENTRED = 1e-3
"""Mean, in standard deviations, below which a column was centred on purpose, as principal components are."""


def check_magnitude(largest: float, most: float) -> None:
    """Refuse numbers whose squares, or higher powers in a solver, would overflow or vanish."""
    if largest > most or 0 < largest < 1 / most:
        what = f"The largest entry of X is {largest:.0e}, and its powers cannot be computed."
        raise InputError(what, "Divide X by it first: communities do not depend on the scale.")


def check_points(X: Array) -> None:
    """Refuse points whose squared distances would overflow or vanish."""
    xp, values = namespace(X), entries(X)
    if 0 not in values.shape:
        check_magnitude(float(xp.max(xp.abs(values))), 1e100 if X.dtype == xp.float64 else 1e15)


def find_spreads(X: Any, scale: str, metric: str) -> NDArray[Any] | None:
    """What columns of points are divided by: their standard deviations, 1 for a constant column; None for nothing.

    Parameters
    ----------
    X : array or sparse array of shape (n_samples, n_features)
    scale : {"auto", "standard", "none"}
    metric : {"euclidean", "cosine"}
        The cosine compares entries of one row, which must have the same unit.

    Examples
    --------
    >>> X = np.array([[30.0, 28_000.0], [55.0, 41_000.0], [42.0, 90_000.0]])
    >>> find_spreads(X, "auto", "euclidean").round().tolist()
    [10.0, 26696.0]
    >>> find_spreads(X / [1, 1000], "auto", "euclidean") is None
    True
    """
    check_points(X)
    if scale == "none" or (scale == "auto" and (metric == "cosine" or is_sparse(X) or X.shape[1] > MOST_COLUMNS)):
        return None
    if is_sparse(X) or metric == "cosine":
        what = "scale='standard' is for dense points and the Euclidean distance."
        raise InputError(what, "Leave it out.", option=("scale=",), command="Leave out --scale.")
    xp = namespace(X)
    centres, spreads = (to_host(values).astype(float) for values in (xp.mean(X, axis=0), xp.std(X, axis=0)))
    spreads = np.where(spreads > 1e-7 * np.abs(centres), spreads, 0.0)  # the rest is rounding
    if scale == "auto" and not _differ(X, centres, spreads):
        return None
    return np.where(spreads > 0, spreads, 1.0)


def _differ(X: Array, centres: NDArray[Any], spreads: NDArray[Any]) -> bool:
    """Whether columns have different units, as their standard deviations let suppose."""
    if (np.abs(centres) <= CENTRED * spreads).all():
        return False
    xp = namespace(X)
    lowest, highest = xp.min(X, axis=0), xp.max(X, axis=0)
    ends = (lowest == X) | (highest == X)
    told = spreads[(spreads > 0) & ~to_host(xp.all(ends, axis=0))]  # yes or no is rare or frequent, in the same unit
    return len(told) > 1 and bool(told.max() > RATIO * told.min())


def divided(X: Array, spreads: Any) -> Array:
    """Points with their columns divided by ``spreads``; as they are where that is None."""
    if spreads is None:
        return X
    return X / to_like(np.asarray(spreads), X)


def scaled_note(spreads: NDArray[Any], names: Sequence[Any] | None) -> FitWarning:
    """Which column would have decided alone, and how to undo it.

    Examples
    --------
    >>> print(scaled_note(np.array([11.0, 25_300.0]), ["age", "income"]).what)
    Columns differ in spread, and 'income' would decide alone: its standard deviation is 2,300 times that of 'age'.
    """
    most = int(np.argmax(spreads))
    least = int(np.argmin(np.where(spreads == 1.0, np.inf, spreads)))  # not a constant column
    told = [f"column {k + 1}" if names is None else repr(str(names[k])) for k in (most, least)]
    return FitWarning(
        f"Columns differ in spread, and {told[0]} would decide alone: its standard deviation is "
        f"{float(f'{spreads[most] / spreads[least]:.2g}'):,.0f} times that of {told[1]}.",
        "All columns are divided by their standard deviations; to keep them as they are: scale='none'.",
        option=("scale=",),
        command="All columns are divided by their standard deviations; to keep them as they are: --scale none.",
    )
