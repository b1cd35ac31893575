"""The column of the tasks in a table of people or of gold labels, found by the tasks that judges answered."""

import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pandas as pd

from rectifact.core.errors import FitWarning, InputError
from rectifact.crowd.data.answers import Answers
from rectifact.crowd.data.joined import table_of
from rectifact.crowd.data.names import matched, object_array
from rectifact.crowd.data.tables import find_column, find_gold_column, in_file, usual_task

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
    if named in present or "task" not in judges.columns or usual_task(present, certain=True) is not None:
        return named
    own = judges.columns["task"]
    if own in present:
        return own
    others = {_present(present, role, names[role]) for role in ("worker", "label")}
    rest = [name for name in present if name not in others]
    found = columns_with_tasks(table_of(table)[rest], judges)
    if len(found) != 1 and usual_task(present) is not None:
        return named
    if len(found) != 1:
        raise InputError(
            f"{where} has no column for the task among {in_file(present)}.", f"Rename what has it to {own!r} there."
        )
    _say(where, found[0], judges)
    return found[0]


def gold_task_column(table: Any, present: Sequence[Any], answers: Any, data: Any) -> str:
    """The column of the tasks in a table of gold labels: one with a usual name, or the one with tasks of the answers.

    Parameters
    ----------
    table : table
    present : sequence
        Its columns.
    answers : Answers, partitioned answers or None
    data : any
        The gold labels as they were given, for messages.
    """
    own = {} if answers is None else answers.columns
    try:
        return find_gold_column(present, "task", own.get("task"))
    except InputError:
        if not isinstance(answers, Answers) or "task" not in own:
            raise
        with suppress(InputError):
            present = [name for name in present if name != find_gold_column(present, "label", own.get("label"))]
        found = columns_with_tasks(table_of(table)[list(present)], answers)
        if len(found) != 1 and (usual := usual_task(present)) is not None:
            return usual
        if len(found) != 1:
            raise
    _say(gold_words(data), found[0], answers)
    return found[0]


def gold_words(data: Any) -> str:
    """Gold labels as the subject of a sentence."""
    return f"The file of gold labels {str(data)!r}" if isinstance(data, str | Path) else "The table of gold labels"


def _say(where: str, column: str, answers: Answers) -> None:
    what = f"{where} has the tasks in the column {column!r}: its values are those of {answers.columns['task']!r}."
    warnings.warn(FitWarning(what), stacklevel=6)


def _present(present: Sequence[Any], role: str, named: str | None) -> str | None:
    """The column of another role, if there is one."""
    try:
        return find_column(present, role, named if named in present else None)
    except InputError:
        return None


def columns_with_tasks(table: pd.DataFrame, judges: Answers) -> list[str]:
    """Columns of which most values are tasks that judges answered."""
    return columns_with(table, judges.tasks)


def columns_with(table: pd.DataFrame, known: Any) -> list[str]:
    """Columns of which most values are among those that are known."""
    wanted = pd.unique(object_array(list(known)))
    numbers = {}
    for name in table.columns:
        try:
            values = object_array(pd.unique(table[name].dropna()).tolist())
        except TypeError:  # lists
            continue
        if len(values) and (matched(values, wanted) >= 0).mean() > MOST:
            numbers[name] = len(values)
    return [name for name, number in numbers.items() if number >= AS_MANY * max(numbers.values())]
