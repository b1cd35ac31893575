"""Which of several columns with usual names holds the labels: their values tell answers from what was judged."""

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from rectifact.core.errors import InputError
from rectifact.crowd.data.answers import Answers
from rectifact.crowd.data.joined import columns_of, table_of, with_joined_task
from rectifact.crowd.data.names import listed, plain, plain_text
from rectifact.crowd.data.tables import COLUMN_NAMES, in_file, parts_of, usual_column, usual_name

FEWEST_REPEATED = 10
"""Tasks with several answers below which all answers to each may agree by chance."""

MOST_CLASSES = 20
"""Values of a column of labels; one with more takes the place of another only if that has as many."""

KINDS = ("category", "class")
"""Names of columns with the kind of a task more often than with labels, but of labels more often than a score beside
them, which may be a confidence."""


def label_column(frame: Any, columns: Mapping[str, str]) -> str:
    """The column of the labels, which is not one with the same value in all answers to each task, if another is not.

    Parameters
    ----------
    frame : table of narwhals
    columns : mapping
        The columns of task, worker and label as their names tell.

    Examples
    --------
    >>> import narwhals as nw
    >>> import numpy as np
    >>> task, judge = np.repeat(np.arange(12), 2), np.tile(["a", "b"], 12)
    >>> table = pd.DataFrame({"task": task, "judge": judge, "response": task % 5, "verdict": np.arange(24) % 3})
    >>> label_column(nw.from_native(table), {"task": "task", "worker": "judge", "label": "response"})
    'verdict'
    """
    taken = {columns["task"], columns["worker"]}
    named = {usual_name(name): name for name in frame.columns if name not in taken}
    usual = [named[name] for name in COLUMN_NAMES["label"] if name in named]
    if columns["label"] not in usual or len(usual) < 2 or "_task_hash" in frame.columns:
        return columns["label"]
    table = pd.DataFrame({name: frame.get_column(name).to_numpy() for name in [columns["task"], *usual]}, dtype=object)
    task = table.pop(columns["task"])
    if task[task.duplicated()].nunique() < FEWEST_REPEATED:
        return columns["label"]
    sizes = {name: _n_values(table[name]) for name in usual}
    differing = [name for name in usual if sizes[name] and (table[name].groupby(task).nunique() > 1).any()]
    kinds = [name for name in differing if usual_name(name) in KINDS]
    if columns["label"] in differing:
        return kinds[0] if kinds and usual_name(columns["label"]) == "score" else columns["label"]
    most = max(MOST_CLASSES, sizes[columns["label"]])
    return next((name for name in [*kinds, *differing] if sizes[name] <= most), columns["label"])


def _n_values(column: "pd.Series[Any]") -> int:
    try:
        return int(column.nunique())
    except TypeError:  # lists
        return 0


def refuse_other_labels(data: Any, judges: Answers, humans: Any, people: Answers) -> None:
    """Refuse judges and people without a common label where another column of one has the labels of the other."""
    said, by_judges = (_texts(part.classes) for part in (people, judges))
    if said & by_judges:
        return
    of_judges, of_people = _columns_with(data, judges, said), _columns_with(humans, people, by_judges)
    if len(of_judges) + len(of_people) != 1:
        return
    name = (of_judges or of_people)[0]
    whose, read = ("judges", judges) if of_judges else ("people", people)
    what = (
        f"People write {listed(people.classes)} and judges {listed(judges.classes)}: the labels of {whose} were read "
        f"from the column {read.columns['label']!r}, and those of the column {name!r} are like the others."
    )
    command = f"Name that column: --label {shlex.quote(str(name))}."
    raise InputError(what, f"Name that column: label={name!r}.", command=command)


def _columns_with(data: Any, answers: Answers, wanted: set[str]) -> list[Any]:
    """Columns beside the answers that differ within tasks, and of which half of the values are among the ``wanted``."""
    if "label" not in answers.columns or not isinstance(data, str | Path | pd.DataFrame):
        return []
    table = table_of(with_joined_task(data, answers.columns["task"])[0])
    task = table[answers.columns["task"]]
    found = []
    for name in [name for name in table.columns if name not in answers.columns.values()]:
        values = _texts(table[name].dropna())
        differs = not task.duplicated().any() or (table[name].astype(str).groupby(task).nunique() > 1).any()
        if differs and len(values & wanted) * 2 >= len(values) > 0:
            found.append(name)
    return found


def _texts(values: Any) -> set[str]:
    """Values as texts, without regard to case and spaces."""
    return {str(plain_text(plain(value))).strip().lower() for value in pd.unique(pd.Series(list(values)))} - {""}


def with_roles_beside(data: Any, names: dict[str, Any], gold: Any = None, by: Any = None) -> dict[str, Any]:
    """Names of columns, with those of worker and label where the usual one has gold labels, groups or tasks.

    Parameters
    ----------
    data : table, path or list of records
    names : dict
        Columns of task, worker and label, None where they are not named.
    gold, by : any
        What was given as these; what is not a column does not matter.
    """
    beside = {name for name in (gold, by) if isinstance(name, str) and not Path(name).is_file()}
    if not beside and "," not in str(names["task"]):
        return names
    form, present = columns_of(data)
    if form != "records":
        return names
    apart = beside | set(parts_of(names["task"], present))
    left = [name for name in in_file(present) if name not in apart]
    for role in ("worker", "label"):
        named = usual_column(present, role)
        if names[role] is not None or named not in apart:
            continue
        found = usual_column(left, role)
        if found is None and named == by:
            continue  # which is refused where groups are read
        if found is None:
            what = f"No column for the {role} is left among {left}: {named!r} is named for something else."
            raise InputError(what, f"Name it: {role}='...'.", command=f"Name it: --{role}.")
        names = names | {role: found}
    return names
