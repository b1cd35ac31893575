"""Columns that name tasks together, such as a prompt and a version, where people or gold labels call them otherwise."""

import re
import warnings
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from rectifact.core.errors import FitWarning, InputError
from rectifact.crowd.data.answers import Answers
from rectifact.crowd.data.joined import columns_of, table_of
from rectifact.crowd.data.names import sentence
from rectifact.crowd.data.tables import find_gold_column, usual_column
from rectifact.crowd.data.task_columns import columns_with, columns_with_tasks


def with_task_parts(data: Any, answers: Any, where: str) -> Any:
    """A table whose columns that name tasks together are called as in the ``answers``; other data as it is.

    They are found by their names, without regard to case, spaces and marks, or by their values; a warning says so.

    Parameters
    ----------
    data : any
        Answers of people, or gold labels.
    answers : Answers, partitioned answers or None
    where : str
        The data as the subject of a sentence.
    """
    names = list(answers.task_parts) if isinstance(answers, Answers) else []
    form, present = columns_of(data) if names else ("", [])
    missing = [name for name in names if name not in present]
    if form != "records" or not missing or answers.columns["task"] in present:
        return data
    table = table_of(data)
    found: dict[Any, str] = {}
    for name in missing:
        free = [column for column in present if column not in names and column not in found]
        alike = [column for column in free if _letters(column) == _letters(name)]
        if len(alike) != 1:
            others = _of_other_roles(present)
            rest = table[[column for column in free if column not in others]]
            alike = columns_with(rest, list(answers.task_parts[name].values()))
        if len(alike) == 1:
            found[alike[0]] = name
    left = [name for name in missing if name not in found.values()]
    if left and columns_with_tasks(table, answers):  # in one column, as "12, v1"
        return data
    if left:
        column = "column" if len(left) == 1 else "columns"
        has = "has" if len(left) == 1 else "have"
        raise InputError(
            f"{where} has no {column} {sentence([repr(name) for name in left])} among {list(present)}, and "
            f"{sentence([repr(name) for name in names])} name the tasks of the answers together.",
            f"Rename what {has} it there, or add it." if len(left) == 1 else "Rename what has them there, or add them.",
        )
    pairs = [f"{column!r}{'' if i else ' is read'} as {name!r}" for i, (column, name) in enumerate(found.items())]
    what = f"{where} has other names for the columns of the tasks: {sentence(pairs)}."
    warnings.warn(FitWarning(what), stacklevel=5)
    return table.rename(columns=found)


def _letters(name: Any) -> str:
    return re.sub(r"[\W_]+", "", str(name).casefold())


def _of_other_roles(present: Sequence[Any]) -> set[Any]:
    """Columns with usual names of workers and labels."""
    found = {usual_column(present, role) for role in ("worker", "label")}
    with suppress(InputError):
        found.add(find_gold_column(present, "label", None))
    return found
