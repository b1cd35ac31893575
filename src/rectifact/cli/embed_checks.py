"""What rectifact embed refuses or asks about before it fits: empty cells, negative values, codes of missing answers."""

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from rectifact.cli.embed_values import above_zero
from rectifact.cli.reading import names_in
from rectifact.cli.terminal import say
from rectifact.core.errors import InputError, count
from rectifact.io.matrices import numbered
from rectifact.io.other_columns import about_other_columns
from rectifact.io.stray_texts import codes_in
from rectifact.latent.codes import about_column_codes, missing_codes
from rectifact.latent.data import large_values

MANY_ZEROS = 0.3
"""Share of the values from which on zeros are what nothing was counted, and not one value among others."""


def check_gaps(matrix: Any, allowed: bool) -> None:
    """Refuse missing values by the names of their row and column, before some rows of them are taken."""
    if not allowed:
        _refuse(matrix, np.isnan, "missing", "Fill it in, or drop the row; --missing takes it as missing.")


def check_negative(matrix: Any) -> None:
    """Refuse negative values by the names of the first row and column; counts, unlike measurements, have a zero."""
    remedy = "Set them to 0 if they are noise, or shift the data."
    found, what, leave_out = about_other_columns(matrix.X, numbered(matrix.columns, matrix.X.shape[1]))
    if found and (np.asarray(matrix.X)[:, found] < 0).any():
        raise InputError(f"{what} Some of their values are negative.", leave_out)
    if are_counts(matrix.X):
        remedy = "Negative counts may be returns: --returns drop sets them to 0."
    _refuse(matrix, lambda values: values < 0, "negative", remedy)


def are_counts(X: Any) -> bool:
    """Whether all values are whole numbers, many of them 0.

    Examples
    --------
    >>> are_counts(np.array([[2, 0, 0], [-1, 0, 5]])), are_counts(np.array([[-3, 2], [1, -1]]))
    (True, False)
    """
    values = np.asarray(X.data if sp.issparse(X) else X, dtype=float)
    known = values[~np.isnan(values)]
    many = sp.issparse(X) or np.mean(known == 0) >= MANY_ZEROS if known.size else False
    return bool(many and (known == np.round(known)).all())


def check_codes(text: str | None) -> tuple[float, ...] | None:
    """Numbers that mean a missing value; None if they are to be looked for, and nothing if there are none."""
    if text is None:
        return None
    return codes_in(names_in(text))[0]


def without_codes(matrix: Any, codes: tuple[float, ...] | None) -> Any:
    """The matrix with NaN for these numbers, and a line that says how many there were."""
    if not codes:
        return matrix
    X: Any = matrix.X.copy() if sp.issparse(matrix.X) else np.array(matrix.X, dtype=float)
    values = X.data if sp.issparse(X) else X
    coded = np.isin(values, codes)
    values[coded] = np.nan
    say(f"{count(int(coded.sum()), 'cell')} with {' or '.join(f'{code:g}' for code in codes)} read as missing.")
    return replace(matrix, X=X)


def check_entries(
    matrix: Any, codes: tuple[float, ...] | None = (), values: str = "raw", *, gaps: bool, in_chunks: bool
) -> Any:
    """The matrix with codes of missing values as NaN; refuses what cannot be embedded, in chunks when it is computed.

    That is a single row or column, negative values, codes of missing values, and missing ones unless there may be gaps.
    """
    if in_chunks:
        return matrix
    _check_shape(matrix.X)
    _refuse(matrix, np.isinf, "infinite", "Correct it, or leave its cell empty and add --missing.")
    check_gaps(matrix, gaps)
    if codes is None:
        _refuse_codes(matrix)
    matrix = without_codes(matrix, codes)
    matrix = above_zero(matrix, values) if gaps else matrix
    check_negative(matrix)
    if values == "raw" and sp.issparse(matrix.X) and not gaps and (found := large_values(matrix.X)):
        say(f"{found} With --values log, all values count.")  # before a long fit, and with a remedy after it
    return matrix


def _check_shape(X: Any) -> None:
    """Refuse a single row or column: dimensions are what several have in common."""
    for n, noun in zip(X.shape, ("row", "column"), strict=True):
        if n < 2:
            raise InputError(
                f"The data has only {n} {noun}, and dimensions are what several {noun}s have in common.",
                f"Give data with more {noun}s.",
            )


def _refuse_codes(matrix: Any) -> None:
    """Refuse values such as 99 that stand for missing ones, by the option that reads them so."""
    X, names = matrix.X, numbered(matrix.columns, matrix.X.shape[1])
    said, codes = missing_codes(X)
    own, more = about_column_codes(X, names, codes)
    said, codes = " ".join(filter(None, (said, own))), sorted({*codes, *more})
    if codes and not (codes[0] < 0 and are_counts(X)):  # negative counts may be returns
        named = ",".join(f"{code:g}" for code in codes)
        raise InputError(
            said,
            f"Add --missing-values={named} to read {'it' if len(codes) == 1 else 'them'} as missing, or "
            "--missing-values=none if that is what was measured.",
        )


def _refuse(matrix: Any, test: Any, what: str, remedy: str) -> None:
    """Refuse values that pass the test, by the names of the first row and column."""
    X: Any = sp.coo_array(matrix.X) if sp.issparse(matrix.X) else np.asarray(matrix.X, dtype=float)
    bad = test(X.data if sp.issparse(X) else X)
    if not bad.any():
        return
    row, column = (axis[bad][0] for axis in X.coords) if sp.issparse(X) else np.argwhere(bad)[0]
    names = ((matrix.rows, "row", row), (matrix.columns, "column", column))
    places = [f"{axis} {str(own[i])!r}" if own is not None else f"{axis} {i + 1}" for own, axis, i in names]
    raise InputError(
        f"{count(int(bad.sum()), 'value')} of the data {'is' if bad.sum() == 1 else 'are'} {what}, the first in "
        f"{places[0]}, {places[1]}.",
        remedy,
    )


def check_for_chunks(coordinates: str | None, values: str, scale: str) -> None:
    """Refuse what needs the whole matrix, which is in chunks."""
    if coordinates == "positions":
        raise InputError(
            "Positions need a matrix in memory, and this one is in chunks.", "Use --coordinates embedding."
        )
    if values != "raw":
        raise InputError(f"--values {values} needs a matrix in memory.", "Write chunks with values of that kind.")
    if scale != "none":
        raise InputError(f"--scale {scale} needs a matrix in memory.", "Divide the columns before you write chunks.")
