"""The column of the tasks in a table beside the answers of judges, found by the tasks that judges answered."""

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from rectifact.core.errors import FitWarning, InputError
from rectifact.crowd.data.answers import Answers
from rectifact.crowd.data.joined import table_of
from rectifact.crowd.data.names import matched, object_array
from rectifact.crowd.data.tables import find_column

MOST = 0.5
"""Share of the values of a column above which it holds the tasks that judges answered."""

AS_MANY = 1 / 3
"""Of two such columns, one with fewer values than this part of the other's may hold grades, which are numbers too."""


def task_column(
    table: Any, present: Sequence[Any], names: Mapping[str, Any], judges: Answers, where: str
) -> str | None:
    """The column of the tasks: as it is named, None if it has a usual name, or the one with the judges' tasks.

    Parameters
    ----------
    table : path or table
    present : sequence
        Its columns.
    names : mapping
        Columns of task, worker and label, where the user named them.
    judges : Answers
    where : str
        The table as the subject of a sentence.
    """
    named: str | None = names["task"]
    if named in present or "task" not in judges.columns:
        return named
    try:
        find_column(present, "task", None)
    except InputError:
        others = {_present(present, role, names[role]) for role in ("worker", "label")}
        rest = [name for name in present if name not in others]
        found = _with_tasks(table_of(table)[rest], judges)
    else:
        return named
    if len(found) != 1:
        own = judges.columns["task"]
        raise InputError(
            f"{where} has no column for the task among {list(present)}.", f"Rename what has it to {own!r} there."
        )
    what = f"{where} has the tasks in the column {found[0]!r}: its values are those of {judges.columns['task']!r}."
    warnings.warn(FitWarning(what), stacklevel=5)
    return found[0]


def _present(present: Sequence[Any], role: str, named: str | None) -> str | None:
    """The column of another role, if there is one."""
    try:
        return find_column(present, role, named if named in present else None)
    except InputError:
        return None


def _with_tasks(table: pd.DataFrame, judges: Answers) -> list[str]:
    """Columns of which most values are tasks that judges answered."""
    numbers = {}
    for name in table.columns:
        values = object_array(pd.unique(table[name].dropna()).tolist())
        if len(values) and (matched(values, judges.tasks) >= 0).mean() > MOST:
            numbers[name] = len(values)
    return [name for name, number in numbers.items() if number >= AS_MANY * max(numbers.values())]
