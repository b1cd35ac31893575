"""Values as rectifact embed fits them: logarithms, columns divided by their spreads, ratings shifted above 0."""

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from rectifact.cli.terminal import say
from rectifact.core.errors import InputError
from rectifact.io.matrices import NamedMatrix, numbered
from rectifact.latent.ranking import Ranking
from rectifact.latent.scales import STRAY, scale_with_zero, stray_values

ABOVE = 0.25
"""How far above 0 the lowest rating is put, as a share of the range: as 1 is on a scale from 1 to 5."""

MUCH = 4.0
"""How many times another the range of a column must be to suggest different units; 1 to 5 is 4 times 0 to 1."""


def above_zero(matrix: NamedMatrix, values: str = "raw") -> NamedMatrix:
    """Ratings with gaps, with a constant added if the lowest are not above 0, and a line that says so.

    The model reads a 0 as "at most 0", which is right for amounts, and too low for an answer such as no. Sparse data is
    left as it is, and so is data of which hardly any value is negative: those may be mistakes.
    """
    X = np.asarray(matrix.X, dtype=float) if isinstance(matrix.X, np.ndarray) else np.zeros(0)
    low, high = (np.nanmin(X), np.nanmax(X)) if X.size and not np.isnan(X).all() else (0.0, 0.0)
    if low == 0 and values == "raw" and (top := scale_with_zero(X)):
        shift = max(1.0, ABOVE * top)
        say(
            f"With --missing, 0 is read as an answer on a scale, as others are, up to {top:g}; {shift:g} is added for "
            f"the fit, and what is written is in the units of the file.{_unrated(matrix)}"
        )
        return by(matrix, shift)
    if low >= 0 or (X < 0).sum() < STRAY * (~np.isnan(X)).sum() or stray_values(X):
        return matrix
    shift = float(ABOVE * (high - low) - low) if high > low else float(1 - low)
    say(
        f"Negative values with --missing are read as ratings on a scale, {low:g} to {high:g}; {shift:g} is added for "
        "the fit, and what is written is in the units of the file. For returned goods, use --returns."
    )
    return by(matrix, shift)


def _unrated(matrix: NamedMatrix) -> str:
    """What to do if 0 says that there is no answer; beside columns of 0 and 1 alone, it is an answer such as no."""
    if not matrix.triples and (np.fmax.reduce(np.asarray(matrix.X, dtype=float), axis=0) <= 1).any():
        return ""
    return " If 0 stands for no answer, add --missing-values=0."


def by(matrix: NamedMatrix, shift: float) -> NamedMatrix:
    """The matrix with a constant added to each value."""
    return replace(matrix, X=np.asarray(matrix.X, dtype=float) + shift, shift=shift) if shift else matrix


def ranking_in_units(found: Any, shift: float) -> Any:
    """Mean values of what is recommended first, in the units of the file; other findings have no unit."""
    if not isinstance(found, Ranking) or not shift:
        return found
    back = {name: getattr(found, name) - shift for name in ("model", "means", "popular", "every")}
    return replace(found, **back)


def as_values(matrix: Any, values: str) -> Any:
    """The matrix with ``log(1 + x)``, or a one for each positive entry, in place of its values, as asked for."""
    if values == "raw":
        return matrix
    X: Any = matrix.X
    if matrix.shift:
        raise InputError(f"--values {values} is for values that are not negative.", "Leave it out.")

    def changed(x: Any) -> Any:
        if np.any(x < 0):
            raise InputError(f"--values {values} is for values that are not negative.", "Check the file.")
        return np.log1p(x) if values == "log" else np.where(np.isnan(x), x, x > 0)

    if sp.issparse(X):
        X = sp.csr_array(X, dtype=float, copy=True)
        X.data = changed(X.data)
        return replace(matrix, X=X)
    return replace(matrix, X=changed(np.asarray(X, dtype=float)))


def scaled(matrix: Any, scale: str) -> tuple[Any, Any]:
    """The matrix, each column divided by the standard deviation of what is known of it, and these; or as it is."""
    if scale == "none":
        return matrix, None
    if sp.issparse(matrix.X):
        raise InputError("--scale standard is for a table of numbers.", "Leave it out: these values are of one kind.")
    spreads = np.nan_to_num(np.nanstd(np.asarray(matrix.X, dtype=float), axis=0))
    spreads = np.where(spreads > 0, spreads, 1.0)
    return divided(matrix, spreads), spreads


def divided(matrix: Any, spreads: Any) -> Any:
    """The matrix with each column divided by its spread, or as it is if there are none."""
    return matrix if spreads is None else replace(matrix, X=np.asarray(matrix.X, dtype=float) / spreads)


def without_columns(matrix: Any, spreads: Any, found: list[int]) -> tuple[Any, Any]:
    """The matrix and the spreads of its columns without some of them."""
    if not found:
        return matrix, spreads
    kept = np.delete(np.arange(matrix.X.shape[1]), found)
    names = numbered(matrix.columns, matrix.X.shape[1])[kept]
    return replace(matrix, X=matrix.X[:, kept], columns=names), None if spreads is None else spreads[kept]


def remedy_of_large(values: str) -> str:
    """What to do about large values, beyond what ``--values`` does already."""
    said = {"raw": "Use --values log, or --values binary to count only what is present."}
    return said.get(values, "Use --values binary to count only what is present." if values == "log" else "")


def remedy_of_units(matrix: Any, column: int, name: str, spreads: Any) -> str:
    """What to do about a column that decides the result; to divide it by its spread helps unless it is far from 0."""
    X, unit = np.asarray(matrix.X, dtype=float), 1.0 if spreads is None else spreads[column]
    values, ways = X[:, column] * unit, []
    if matrix.rows is None and len(np.unique(values)) == len(X) and np.allclose(values, np.round(values)):
        ways.append(f"--id-column {name} if it names the rows")
    if spreads is None and not _still_largest(X, column):
        ways.append("--scale standard, which divides each column by its spread")
    it_out = f"it out with --drop {name}."
    return f"Use {', or '.join(ways)}, or leave {it_out}" if ways else f"Leave {it_out}"


def _still_largest(X: Any, column: int) -> bool:
    """Whether a column holds most of the squares even if each is divided by its spread, as it is far from 0.

    Examples
    --------
    >>> counts = np.tile([[0.0, 4.0], [2.0, 0.0]], 3)
    >>> _still_largest(np.c_[counts, [1990.0, 2020.0]], 6), _still_largest(np.c_[counts, [0.0, 2020.0]], 6)
    (True, False)
    >>> _still_largest(1e300 * np.c_[counts, [1990.0, 2020.0]], 6)
    True
    """
    largest = np.nan_to_num(np.fmax.reduce(np.abs(X), axis=0))
    X = X / np.where(largest > 0, largest, 1.0)  # the squares of the largest numbers are infinite
    squares, variances = np.nansum(X**2, axis=0), np.nanvar(X, axis=0)
    after = squares / np.where(variances > 0, variances, 1.0)
    return bool(2 * after[column] > after.sum())


def differ_much(X: Any) -> bool:
    """Whether some columns of a table spread over far more than others: their units may differ.

    Examples
    --------
    >>> stars, people = np.array([[1.0, 3, 5], [5, 2, 2]]), np.array([[1.0, 40], [0, 90]])
    >>> differ_much(np.tile(stars, (9, 1))), differ_much(np.tile(people, (9, 1)))
    (False, True)
    """
    known = np.asarray(X, dtype=float)[:, (~np.isnan(X)).sum(axis=0) >= 10]  # fewer do not tell a range
    ranges = np.nanmax(known, axis=0) - np.nanmin(known, axis=0)
    ranges = ranges[ranges > 0]
    return bool(len(ranges) and ranges.max() > MUCH * ranges.min())
