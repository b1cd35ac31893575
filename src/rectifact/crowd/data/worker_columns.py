"""Which columns of a table with one column per worker are workers, and which hold texts, counts or measurements."""

import re
import shlex
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rectifact.core.errors import FitWarning, InputError
from rectifact.crowd.data.names import fold, listed, plain
from rectifact.io.columns import WORDS

LEAVE_OUT_WIDE = "It has columns for task, worker and label, so it is long: leave out wide=True."

MANY = 3
"""A column with more than so many times the values of the others, and ten more, holds no labels beside them."""

MOST_WORKERS_NAMED = 12
"""Columns that the sentence about the workers names, before it says how many more there are."""


def not_wide(what: str) -> InputError:
    """The table has one answer per row."""
    return InputError(what, LEAVE_OUT_WIDE, command=LEAVE_OUT_WIDE.replace("wide=True", "--wide"))


def worker_columns(matrix: NDArray[Any], names: list[Any], long: bool, *, has_tasks: bool) -> NDArray[np.bool_]:
    """Which columns are workers; a warning names the others.

    Parameters
    ----------
    matrix : array of shape (n_tasks, n_columns)
        Of any values; None and empty texts are gaps.
    names : list
        Of the columns.
    long : bool
        Whether the table also has usual names of task, worker and label.
    has_tasks : bool
        Whether another column has the tasks: otherwise a column that is not a worker may be it, and is refused.
    """
    seen = [
        {fold(value) if isinstance(value, str) else value for value in column if value not in (None, "")}
        for column in matrix.T
    ]
    measured = _measured(matrix, names, seen, has_tasks=has_tasks)
    if (~measured).sum() < 2:  # nothing is left to compare
        measured[:] = False
    _say_measured([names[j] for j in np.flatnonzero(measured)])
    empty = np.array([not values for values in seen]) & any(seen)
    _say_empty([names[j] for j in np.flatnonzero(empty)])
    kept = ~measured & ~empty
    rest = np.flatnonzero(kept)
    kept[rest] = _with_shared_labels([seen[j] for j in rest], [names[j] for j in rest], long, has_tasks=has_tasks)
    return kept


def workers_sentence(names: Sequence[Any]) -> str:
    """Which columns were read as workers.

    Examples
    --------
    >>> workers_sentence(["gpt", "ann"])
    "Read with one column per worker: 'gpt', 'ann'."
    """
    shown = ", ".join(repr(plain(name)) for name in names[:MOST_WORKERS_NAMED])
    more = f" and {len(names) - MOST_WORKERS_NAMED} more" if len(names) > MOST_WORKERS_NAMED else ""
    return f"Read with one column per worker: {shown}{more}."


def is_measure(name: Any) -> bool:
    """Whether the name of a column says that it holds counts or measurements.

    Examples
    --------
    >>> is_measure("num_turns"), is_measure("latencyMs"), is_measure("gpt-4o"), is_measure("Ann")
    (True, True, False, False)
    """
    words = [word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+", str(name))]
    is_count = len(words) > 1 and words[0] in WORDS["number_of"]
    return is_count or bool(set(words) & set(WORDS["measure"]))


def _measured(matrix: NDArray[Any], names: list[Any], seen: list[set[Any]], *, has_tasks: bool) -> NDArray[np.bool_]:
    """Which columns hold numbers that are counts or measurements, by their names or beside those of the others."""
    numbers = [_numbers(column) for column in matrix.T]
    numeric = np.array([values is not None for values in numbers])
    named = numeric & np.array([is_measure(name) for name in names])
    if named.sum() > len(names) / 2:  # these are what is measured
        named[:] = False
    odd = named.copy()
    for j in np.flatnonzero(numeric & ~named):
        values, others = numbers[j], [numbers[i] for i in np.flatnonzero(~named) if i != j]
        if values is None or not others:
            continue
        n_values = np.median([len(seen[i]) for i in np.flatnonzero(~named) if i != j])
        many = len(seen[j]) > max(MANY * n_values, n_values + 10)
        if many and not has_tasks and len(seen[j]) == len(matrix):
            raise _may_be_the_task(f"The column {names[j]!r} has another value in each row", names[j])
        whole = np.mean([other is not None and not _has_fractions(other) for other in others]) > 1 / 2
        odd[j] = many or (whole and _has_fractions(values))
    return odd


def _numbers(column: NDArray[Any]) -> NDArray[np.float64] | None:
    """The values of a column, None if one of them is not a number."""
    filled = pd.Series([value for value in column if value not in (None, "")], dtype=object)
    values = pd.to_numeric(filled, errors="coerce").to_numpy(dtype=float)
    return values if len(values) and np.isfinite(values).all() else None


def _has_fractions(values: NDArray[np.float64]) -> bool:
    """Whether most values are neither whole nor half: half points are grades."""
    return bool(np.mean(values * 2 != np.rint(values * 2)) > 1 / 2)


def _say_measured(left: list[Any]) -> None:
    if left:
        one = len(left) == 1
        hold = (
            "holds a count or measurement, not labels, so it is"
            if one
            else ("hold counts or measurements, not labels, so they are")
        )
        remedy = f"If {'it is' if one else 'one of them is'} a worker, rename the column."
        what = f"{listed(np.array(left, dtype=object))} {hold} not read as {'a worker' if one else 'workers'}."
        warnings.warn(FitWarning(what, remedy), stacklevel=7)


def _say_empty(left: list[Any]) -> None:
    if left:
        why = (
            "is empty, so it is not read as a worker"
            if len(left) == 1
            else "are empty, so they are not read as workers"
        )
        warnings.warn(FitWarning(f"{listed(np.array(left, dtype=object))} {why}.", ""), stacklevel=7)


def _with_shared_labels(seen: list[set[Any]], names: list[Any], long: bool, *, has_tasks: bool) -> NDArray[np.bool_]:
    """Which columns share a label with the others: one that shares none holds texts or numbers."""
    kept = np.ones(len(names), dtype=bool)
    for j, labels in enumerate(seen):
        others = set().union(*(seen[:j] + seen[j + 1 :]))
        kept[j] = not (labels and others and not labels & others)
    if kept.all():
        return kept
    first = names[int(np.flatnonzero(~kept)[0])]
    what = f"The column {first!r} shares no label with the others"
    if long:
        raise not_wide(f"{what}, so it does not seem to be a worker.")
    if not has_tasks or kept.sum() < 2:
        raise _may_be_the_task(what, first)
    left = np.array(names, dtype=object)[~kept]
    so = "shares {}, so it is not read as a worker" if len(left) == 1 else "share {}, so they are not read as workers"
    what = f"{listed(left)} {so.format('no label with the other columns')}."
    warnings.warn(FitWarning(what, "If a worker is among them, spell labels alike in all columns."), stacklevel=7)
    return kept


def _may_be_the_task(what: str, name: Any) -> InputError:
    """A column that is not a worker may be the task, or be in the way."""
    quoted = shlex.quote(str(name))
    return InputError(
        f"{what}, so it does not seem to be a worker.",
        f"Name it as the task (task={name!r}), or drop it.",
        command=f"Name it as the task (--task {quoted}), or leave it out (--drop {quoted}).",
    )
