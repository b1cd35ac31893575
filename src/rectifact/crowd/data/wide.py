"""Tables with one column per worker, and groups of tasks beside the answers in any form."""

import warnings
from collections.abc import Sequence
from typing import Any

import pandas as pd

from rectifact.core.errors import InputError
from rectifact.crowd.data.answers import Answers
from rectifact.crowd.data.failures import named_by, without_failures
from rectifact.crowd.data.humans import Groups, task_groups
from rectifact.crowd.data.joined import refuse_repeated_rows, table_of, with_joined_task
from rectifact.crowd.data.label_columns import with_roles_beside
from rectifact.crowd.data.names import likely, object_array, with_commas
from rectifact.crowd.data.people import answered_once
from rectifact.crowd.data.read import coded, read_gold
from rectifact.crowd.data.tables import find_column, parts_of, usual_task
from rectifact.crowd.data.tidy import mention_no_answers, tidied


def grouped_answers(
    data: Any,
    by: Any,
    columns: dict[str, Any],
    wide: bool,
    missing: Any,
    form: Any = None,
    question: Any = None,
    classes: Sequence[Any] | None = None,
    asked: Any = None,
    gold: Any = None,
) -> tuple[Answers, Groups | None]:
    """One answer of each worker to a task, and groups of tasks, which may be a column of a wide table as well.

    Labels that differ only in case or spaces are one, but for those that ``classes`` list apart. Labels that seem to be
    no answers are named or left out, but for these, the class or classes ``asked`` about, and those that gold labels
    have.
    """
    beside: dict[str, dict[Any, Any]] = {}
    data, task = with_joined_task(data, columns.get("task"))
    columns = columns | {"task": task}
    if wide and isinstance(by, str):
        data, beside = wide_table(data, [by], columns.get("task"))
    if not wide:
        columns = with_roles_beside(data, columns, by=by)
    answers = answered_once(coded(data, columns, wide, missing, None, form, question))
    known = _labels_of(gold, answers)
    answers = tidied(answers, classes, [*named_by(asked), *known])
    meant = [*named_by(classes), *with_commas(named_by(asked), answers.classes)]
    if not isinstance(data, Answers):
        answers, *_ = without_failures([answers], missing, used=[*meant, *known])
    mention_no_answers(answers, meant=meant)
    if by is None:
        return answers, None
    return answers, task_groups(beside.get(by, by) if isinstance(by, str) else by, None if wide else data, answers)


def _labels_of(gold: Any, answers: Answers) -> list[Any]:
    """The labels among those that are known to be right, which are read again later, with all warnings."""
    if gold is None:
        return []
    with warnings.catch_warnings(action="ignore"):
        return list(read_gold(gold, answers)[1])


def wide_table(data: Any, columns: Sequence[Any], task: str | None) -> tuple[pd.DataFrame, dict[str, dict[Any, Any]]]:
    """A table with one column per worker, without those of ``columns`` that it has; and these by task.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"task": ["a", "b"], "version": [1, 2], "gpt": ["pass", "fail"]})
    >>> frame, beside = wide_table(table, ["version", None], None)
    >>> list(frame.columns), beside
    (['task', 'gpt'], {'version': {'a': 1, 'b': 2}})
    """
    frame = table_of(data)
    named = [name for name in columns if isinstance(name, str) and name in frame.columns]
    tasks = (
        frame[find_column(list(frame.columns), "task", task)]
        if task is not None or usual_task(list(frame.columns)) is not None
        else pd.Series(range(len(frame)))
    )
    if tasks.name is not None:
        refuse_repeated_rows(frame, str(tasks.name))
    beside = {}
    for name in named:
        kept = frame[name].notna() & (frame[name] != "")
        beside[name] = dict(zip(tasks[kept].tolist(), frame.loc[kept, name].tolist(), strict=True))
    joined = parts_of(task, list(frame.columns))  # which are needed where the answers are read
    return frame.drop(columns=[name for name in named if name not in joined]), beside


def without_columns(data: Any, drop: Sequence[str], wide: bool) -> Any:
    """A table with one column per worker without some columns, and whatever else as it is if there are none to drop.

    Examples
    --------
    >>> import pandas as pd
    >>> list(without_columns(pd.DataFrame({"task": ["a"], "gpt": [1], "turns": [3]}), ["turns"], wide=True).columns)
    ['task', 'gpt']
    """
    if not drop:
        return data
    if not wide:
        what = "--drop leaves out columns of a table with one column per worker, and this one is not read so."
        raise InputError(what, "Leave out --drop, or add --wide.")
    frame = table_of(data)
    for name in drop:
        if name not in frame.columns:
            meant = likely(name, object_array(list(frame.columns)))
            remedy = "Check the spelling." if meant is None else f"Did you mean {meant!r}?"
            raise InputError(f"There is no column {name!r} to leave out among {list(frame.columns)}.", remedy)
    return frame.drop(columns=list(drop))
