"""Numbers such as 99 that stand for missing answers."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from rectifact.latent.scales import EACH, GRADES, STRAY, counted, is_closed, known_columns

CODES = (-999, -99, -98, -97, -9, -8, -7, -2, -1, 9, 66, 77, 88, 97, 98, 99, 666, 777, 888, 997, 998, 999, 9999)
"""Values by which surveys say that an answer is missing."""

COLUMN_CODES = (*CODES, -9999, -888, -998, -777, -88, -77, 6666, 7777, 8888, 9997, 9998, 99999)
"""Values that may say so in a single column, such as an age or an income."""

GRADES_APART = 0.75
"""How far above grades a code must be, as a share of their range: 9 beside 1 to 5."""

AS_OTHERS = 0.3
"""Share of the other values that end in 9 from which on 99 and 999 are values like them, such as prices."""

MOST_NAMED = 3
"""Columns with codes of their own of which a sentence is said each."""


def missing_codes(X: Any) -> tuple[str, list[float]]:
    """A sentence and the values such as 99 or -1 that seem to say that an answer is missing; or nothing.

    They occur often and in several columns, far outside the few whole numbers that all other values are. Columns with
    many different values, such as an age or a number of the row, do not count. X is as in :func:`stray_values`.

    Examples
    --------
    >>> answers = np.tile([1.0, 2.0, 3.0, 4.0, 5.0, 99.0, 3.0, 2.0], (20, 1))
    >>> said, codes = missing_codes(np.hstack([answers, answers]))
    >>> said
    '99 is the value of 40 of 320 cells, far outside the others, 1 to 5: it seems to stand for missing answers.'
    """
    X, more = _with_few_values(X)
    found, counts = counted(X)
    if np.sum(found < 0) > 1 and found[0] == -found[-1]:  # a scale such as -2 to 2
        return "", []
    is_code = _codes_after_a_gap(found) | _codes_far_out(found)
    plain, codes = found[~is_code], found[is_code].tolist()
    n, total = int(counts[is_code].sum()), int(counts.sum())
    if not codes or n < max(EACH, STRAY * total) or _n_columns_with(X, codes) < 2:
        return "", []
    seems = "it seems" if len(codes) == 1 else "they seem"
    where = f"far outside the others, {plain[0] + 0.0:g} to {plain[-1]:g}"
    return f"{_named(codes)} of {n:,} of {total:,} cells{more}, {where}: {seems} to stand for missing answers.", codes


def column_codes(X: Any) -> dict[int, list[float]]:
    """Codes of missing answers of single columns, such as 999 in an age or 99 in one of many questions.

    They are at least 1 % of the column, five cells or more, and farther above its other values than those are apart, or
    its only negative values. Single digits count beside grades only, as counts may be 9. A sparse array has none.

    Examples
    --------
    >>> ages = np.r_[np.arange(18.0, 90), [999] * 6]
    >>> column_codes(np.c_[ages, ages % 10])
    {0: [999.0]}
    """
    found: dict[int, list[float]] = {}
    for j, column in enumerate(() if sp.issparse(X) or np.ndim(X) < 2 else known_columns(X)):
        if not len(column) or (column.min() not in COLUMN_CODES and column.max() not in COLUMN_CODES):
            continue  # in time linear in its length
        values, counts = np.unique(column, return_counts=True)
        coded = _above_the_others(values, counts) | _below_zero(values)
        n = int(counts[coded].sum())
        if n >= max(EACH, STRAY * len(column)) and 2 * n < len(column):
            found[j] = values[coded].tolist()
    return found


def _above_the_others(values: NDArray[np.float64], counts: NDArray[Any]) -> NDArray[np.bool_]:
    """Which of the different values of a column, the lowest first, are codes far above all others."""
    is_code = np.zeros(len(values), dtype=bool)
    first = len(values)
    while first and values[first - 1] > 0 and values[first - 1] in COLUMN_CODES:
        first -= 1
    for start in range(max(first, 2), len(values)):  # 88 may be an age where 999 is a code
        code, plain, n = values[start], values[:start], counts[:start]
        kept = plain >= 0 if (plain >= 0).sum() > 1 else slice(None)  # -1 may be a code beside 999
        wide, step = np.ptp(plain[kept]), np.diff(plain[kept]).max()
        grades = is_closed(n) and n.min() >= STRAY * n.sum()
        far = code - plain[-1] > (GRADES_APART * wide if grades else max(wide, 2 * step))
        if far and (grades or code > GRADES) and _share_like(code, plain, n) < AS_OTHERS:
            is_code[start:] = True
            break
    return is_code


def _share_like(code: float, plain: NDArray[np.float64], counts: NDArray[Any]) -> float:
    """The share of other values that end in the digit of a code, as prices such as 199 and 9.99 do."""
    alike = [f"{value:.10g}"[-1] == f"{code:g}"[-1] for value in plain.tolist()]
    return float(counts[alike].sum() / counts.sum())


def _below_zero(values: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which of the different values of a column, the lowest first, are codes and its only negative ones.

    A -1 beside a 0 may be an answer, or a return.
    """
    negative = values < 0
    others = values[~negative]
    far = len(others) > 1 and negative.any() and (others[0] >= 1 or values[negative][-1] <= -7)
    return negative & bool(far and np.isin(values[negative], COLUMN_CODES).all() and values[0] != -values[-1])


def about_column_codes(X: Any, names: Any, known: list[float]) -> tuple[str, list[float]]:
    """What is said of the codes of single columns besides those already ``known``, and which these are."""
    found = {j: codes for j, codes in column_codes(X).items() if not set(codes) <= set(known)}
    said, every = [], sorted({code for codes in found.values() for code in codes})
    for j, codes in list(found.items())[:MOST_NAMED]:
        column = np.asarray(X, dtype=np.float64)[:, j]
        column = column[~np.isnan(column)]
        plain = column[~np.isin(column, codes)]
        n, seem = len(column) - len(plain), "it seems" if len(codes) == 1 else "they seem"
        said.append(
            f"{_named(codes)} of {n:,} of {len(column):,} cells of {str(names[j])!r}, far outside the others, "
            f"{plain.min() + 0.0:g} to {plain.max():g}: {seem} to stand for missing answers."
        )
    more = len(found) - len(said)
    said += [f"{more:,} more {'column has' if more == 1 else 'columns have'} such values."] * bool(more)
    return " ".join(said), every


def _named(codes: list[float]) -> str:
    """``99 is the value``, or ``98 and 99 are the values``."""
    listed = " and ".join(f"{code:g}" for code in codes)
    return f"{listed} is the value" if len(codes) == 1 else f"{listed} are the values"


def _codes_far_out(found: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which of different values, the lowest first, are usual codes far outside a few whole numbers from 0 on."""
    is_code = np.isin(found, CODES)
    for _ in range(2):  # what is far outside depends on which values are codes
        plain = found[~is_code]
        if not is_code.any() or not 2 <= len(plain) <= GRADES or (plain != np.round(plain)).any() or plain[0] < 0:
            return np.zeros(len(found), dtype=bool)
        far = max(2 * np.diff(plain).max(), GRADES_APART * (plain[-1] - plain[0]))
        is_code &= (found < 0) | (found > plain[-1] + far)
    return is_code


def _codes_after_a_gap(found: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which of these are 8 and 9, or 7 to 9, beside grades that end at least three below, as 1 to 5."""
    for first in (7.0, 8.0):
        plain = found[found < first]
        if len(plain) < 3 or found[-1] != 9 or not np.array_equal(found[found >= first], np.arange(first, 10)):
            continue
        if plain[0] in (0, 1) and plain[-1] <= first - 3 and (np.diff(plain) == 1).all():
            return np.asarray(found >= first)
    return np.zeros(len(found), dtype=bool)


def _with_few_values(X: Any) -> tuple[Any, str]:
    """The columns of X with few different values, and how to say so; of a sparse array, all that is stored."""
    if sp.issparse(X) or np.ndim(X) < 2:
        return X, ""
    few = np.array([len(np.unique(column)) <= GRADES + len(CODES) for column in known_columns(X)])
    return (X, "") if few.all() else (np.asarray(X)[:, few], " of columns with few different values")


def _n_columns_with(X: Any, values: list[float]) -> int:
    """How many columns have one of these values."""
    if sp.issparse(X):
        entries = sp.coo_array(X)
        return len(np.unique(entries.coords[1][np.isin(entries.data, values)]))
    return int(np.isin(np.asarray(X, dtype=np.float64), values).any(axis=0).sum())
