"""Verdicts of judges and people as a team has them: in one file or two, with gold labels, groups and texts beside them.

What stands beside the answers is a column of their table, or comes by task: from a dict, a table or another file.
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from rectifact.core.errors import InputError
from rectifact.crowd.data.answers import Answers
from rectifact.crowd.data.formats.label_studio import annotators
from rectifact.crowd.data.groups import SEVERAL, groups_in_column, read_groups
from rectifact.crowd.data.humans import consensus, mention_gold
from rectifact.crowd.data.joined import with_joined_task
from rectifact.crowd.data.label_columns import refuse_other_labels, with_roles_beside
from rectifact.crowd.data.names import (
    NAMED,
    Gold,
    closest,
    likely,
    listed,
    matched,
    matched_workers,
    object_array,
    plain,
    sentence,
    split_names,
)
from rectifact.crowd.data.people import judges_columns, read_people
from rectifact.crowd.data.read import coded, read_gold
from rectifact.crowd.data.tables import COLUMN_NAMES
from rectifact.crowd.data.wide import wide_table
from rectifact.io.records import json_records

PEOPLE = {"person", "people", "human", "humans", "annotator", "expert", "true", "yes", "1"}
"""Values of a column that say that a worker is a person."""

KIND_NAMES = ("kind", "type", "worker_type", "annotator_type", "rater_type", "source", "role", "is_human")


@dataclass(frozen=True)
class Verdicts:
    """All that a file of verdicts holds, and the files beside it.

    Attributes
    ----------
    judges : Answers
    people : Answers or None
    gold : Gold or None
        Tasks and their certain labels, one each.
    groups, texts : dict or None
        By task.
    kind_column : str or None
        Column that may say who is a person, where nobody is named.
    missing : any
        What stood for no answer; None if answers came as :class:`Answers`, where all is decided.
    """

    judges: Answers
    people: Answers | None
    gold: Gold | None
    groups: dict[Any, Any] | None
    texts: dict[Any, Any] | None
    kind_column: str | None = None
    missing: Any = None


def read_verdicts(
    data: Any,
    humans: Any = None,
    *,
    people: Any = None,
    gold: Any = None,
    by: Any = None,
    text: str | None = None,
    columns: Mapping[str, Any] | None = None,
    wide: bool = False,
    missing: Any = "auto",
    form: str | None = None,
    question: str | None = None,
) -> Verdicts:
    """Read verdicts and what belongs to them.

    Parameters
    ----------
    data : table, path or matrix
        Answers, in any form that :func:`rectifact.crowd.read_answers` takes.
    humans : table, path or matrix, default None
        Answers of people, where they are not in ``data``.
    people : str or sequence, default None
        Who of the workers in ``data`` are people: their names, or a column that says so.
    gold, by : str, dict, Series, table or path, default None
        Certain labels, and groups of tasks: a column of ``data``, or by task.
    text : str, default None
        Column of ``data`` with the text of a task.
    columns : mapping, default None
        Names of the columns of task, worker and label; of several columns that name a task together, a list.
    wide, missing
        As in :func:`rectifact.crowd.read_answers`; a wide table may have the columns that are named here as well.
    form, question : str, default None
        As ``format`` and ``field`` there.

    Returns
    -------
    Verdicts
    """
    names: dict[str, Any] = dict.fromkeys(COLUMN_NAMES) | dict(columns or {})
    data, names["task"] = with_joined_task(data, names["task"])
    if wide:
        return _from_wide(data, humans, people, gold, by, text, names, missing)
    answers = coded(data, with_roles_beside(data, names, gold, by), False, missing, None, form, question)
    source = Path(data) if isinstance(data, str | Path) else data
    beside = _Beside(source, answers)
    judges, theirs = _split(answers, beside.people(people))
    if humans is not None:
        theirs = _joined(judges, theirs, read_people(humans, names, False, missing, question, judges))
        refuse_other_labels(data, judges, humans, theirs)
    known = answers.gold if gold is None else beside.gold(gold)
    kind = beside.kind_column() if theirs is None else None
    return Verdicts(judges, theirs, known, beside.groups(by), beside.texts(text), kind, _open(data, missing))


@dataclass(frozen=True)
class _Beside:
    """Columns beside the answers, by name; ``source`` is the file or table of the answers."""

    source: Any
    answers: Answers

    def column(self, name: Any, role: str = "task", has: str = SEVERAL) -> dict[Any, Any] | None:
        """A column by task or worker, None if there is no such column; ``has`` is said of one with several values."""
        is_table = isinstance(self.source, Path) or nw.dependencies.is_into_dataframe(self.source)
        if not isinstance(name, str) or not is_table:
            return None
        return groups_in_column(self.source, name, self.answers.columns.get(role), role, has)

    def people(self, given: Any) -> NDArray[np.bool_]:
        """Which workers are people."""
        workers = self.answers.workers
        if given is None:
            return self._annotators()
        kinds = self.column(given, "worker")
        if kinds is not None:
            return _by_kind(kinds, given, workers)
        return named_people(given, workers)

    def _annotators(self) -> NDArray[np.bool_]:
        """The annotators of a Label Studio export, if it has predictions as well; nobody else is known to be one."""
        workers = self.answers.workers
        found: set[Any] = set()
        if self.answers.source.get("format") == "label-studio" and isinstance(self.source, Path):
            found = {name for _, record in json_records(self.source) for name in annotators(record)}
        theirs = matched_workers(object_array(list(found)), workers) if found else np.empty(0, dtype=np.int64)
        is_person = np.isin(np.arange(len(workers)), theirs)
        return is_person if not is_person.all() else np.zeros(len(workers), dtype=bool)

    def kind_column(self) -> str | None:
        """A column with a usual name that says of some workers, but not of all, that they are people."""
        for name in KIND_NAMES:
            with suppress(InputError):  # a worker of several kinds
                kinds = (self.column(name, "worker") or {}).values()
                if 0 < sum(str(plain(kind)).strip().lower() in PEOPLE for kind in kinds) < len(kinds):
                    return name
        return None

    def gold(self, given: Any) -> Gold:
        """Certain labels, the consensus where a task has several."""
        is_file = isinstance(given, str) and Path(given).is_file()
        found = None if is_file else self.column(given, has="has several gold labels")
        if found is not None:
            return object_array(list(found)), object_array(list(found.values()))
        return gold_labels(given, self.answers)

    def groups(self, by: Any) -> dict[Any, Any] | None:
        """Groups of tasks."""
        found = self.column(by)
        return found if found is not None or by is None else groups_of(by, self.answers.columns)

    def texts(self, name: str | None) -> dict[Any, Any] | None:
        """Texts of tasks."""
        if name is None:
            return None
        try:
            found = self.column(name)
        except InputError as error:
            what = f"A task has several texts in the column text_column={name!r}."
            raise InputError(what, "Name the column with the text of the task.", option="text_column") from error
        if found is None:
            raise no_text_column(name)
        return found


def no_text_column(name: str) -> InputError:
    """There is no such column."""
    what = f"text_column={name!r} is not a column of the answers."
    return InputError(what, "Check the spelling.", option="text_column")


def texts_in(source: Any, answers: Answers, name: str | None) -> dict[Any, Any] | None:
    """Texts of tasks from a column of the file or table of the answers, in which each row is an answer."""
    return _Beside(source, answers).texts(name)


def gold_labels(given: Any, answers: Answers) -> Gold:
    """Certain labels by task, the consensus where a task has several."""
    if isinstance(given, str | Path) and not Path(given).is_file():
        what = f"gold={str(given)!r} is neither a column of the answers nor a file."
        raise InputError(what, "Check the spelling.", option="gold=")
    found = consensus(read_gold(given, answers), by_people=False)
    if not len(found[0]):
        raise InputError("There are no gold labels.", "Give labels of some of the tasks.")
    return found


def groups_of(by: Any, columns: Mapping[str, str]) -> dict[Any, Any]:
    """Groups of tasks from anything but a column of the answers."""
    if isinstance(by, str) and not Path(by).is_file():
        what = f"by={by!r} is neither a column of the answers nor a file."
        raise InputError(what, "Check the spelling.", option="by=")
    return read_groups(by, columns, "task")


def named_people(given: Any, workers: NDArray[Any]) -> NDArray[np.bool_]:
    """Which workers are named as people; a text has their names with commas, or is the name of one of them.

    Examples
    --------
    >>> import numpy as np
    >>> named_people("ann, bob", np.array(["gpt", "ann", "bob"], dtype=object))
    array([False,  True,  True])
    """
    is_one = isinstance(given, str) and matched_workers(object_array([given]), workers)[0] >= 0
    names = [given] if is_one else split_names(given) if isinstance(given, str) else list(given)
    place = matched_workers(object_array(names), workers) if names else np.empty(0, dtype=np.int64)
    strangers = object_array(names)[place < 0]
    is_named = np.isin(np.arange(len(workers)), place)
    if len(strangers):
        raise _no_such_people(strangers, workers, is_named)
    return is_named


def _no_such_people(strangers: NDArray[Any], workers: NDArray[Any], is_named: NDArray[np.bool_]) -> InputError:
    """An error about names that no worker has, with those that may be meant: workers who are not named already."""
    near = [likely(name, workers[~is_named]) for name in strangers[:NAMED]]
    meant = [repr(name) for name in dict.fromkeys(near) if name is not None]
    what = (
        f"people names {listed(strangers)}, who gave no answer; the workers are {listed(closest(strangers, workers))}."
    )
    remedy = "Check the spelling, or name a column that says who is a person."
    return InputError(what, f"Did you mean {sentence(meant)}?" if meant else remedy, option="people")


def _by_kind(kinds: Mapping[Any, Any], column: str, workers: NDArray[Any]) -> NDArray[np.bool_]:
    """Which workers are people by what a column says about them."""
    named = object_array([name for name, kind in kinds.items() if str(plain(kind)).strip().lower() in PEOPLE])
    if not len(named):
        values = object_array(list(dict.fromkeys(kinds.values())))
        raise InputError(
            f"The column {column!r} says {listed(values)}, none of which is known to mean a person.",
            "Write 'human' there for people, or list their names.",
        )
    return np.isin(np.arange(len(workers)), matched_workers(named, workers))


def _split(answers: Answers, is_person: NDArray[np.bool_]) -> tuple[Answers, Answers | None]:
    """Judges and people apart."""
    if not is_person.any():
        return answers, None
    if is_person.all():
        raise InputError(
            "All workers are named as people, so that there is no judge.",
            "Leave out people; rectifact.agreement compares people with each other.",
            option="people",
            command="Leave out --people; rectifact agree compares people with each other.",
        )
    return only(answers, ~is_person), only(answers, is_person)


def only(answers: Answers, kept: NDArray[np.bool_]) -> Answers:
    """The answers of some workers; tasks that none of them answered are left out."""
    theirs = kept[answers.worker]
    worker = (np.cumsum(kept) - 1)[answers.worker[theirs]]
    used, task = np.unique(answers.task[theirs], return_inverse=True)
    workers = answers.workers[kept]
    return replace(
        answers, task=task, worker=worker, label=answers.label[theirs], tasks=answers.tasks[used], workers=workers
    )


def _joined(judges: Answers, people: Answers | None, more: Answers) -> Answers:
    """The people of the second file, who are neither judges nor people of the first."""
    if people is not None:
        raise InputError(
            "People are given twice: among the answers, and in a file of their own.",
            "Leave out people or humans.",
            option=("people", "humans"),
        )
    place = matched(more.workers, judges.workers)
    both = more.workers[place >= 0]
    if len(both):
        verb = "is" if len(both) == 1 else "are"
        raise InputError(
            f"{listed(both)} {verb} among the judges and among the people.",
            "Keep each worker in one of the files, or give one file and name the people.",
            command="Keep each worker in one of the files, or give one file and name the people with --people.",
        )
    return more


def _from_wide(
    data: Any,
    humans: Any,
    people: Any,
    gold: Any,
    by: Any,
    text: str | None,
    names: dict[str, str | None],
    missing: Any,
) -> Verdicts:
    """The same from tables with one column per worker, and perhaps columns of gold labels, groups and texts."""
    frame, beside = wide_table(data, [gold, by, text], names["task"])
    if text is not None and text not in beside:
        raise no_text_column(text)
    answers = coded(frame, names if humans is None else judges_columns(names, True), True, missing, None)
    known, groups = beside.get(gold) if isinstance(gold, str) else None, beside.get(by) if isinstance(by, str) else None
    is_person = np.zeros(len(answers.workers), bool) if people is None else named_people(people, answers.workers)
    judges, theirs = _split(answers, is_person)
    mention_gold(judges.workers if gold is None else [])
    if humans is not None:
        theirs = _joined(judges, theirs, read_people(humans, names, True, missing, None, answers))
    labels = None if known is None else (object_array(list(known)), object_array(list(known.values())))
    if gold is not None and labels is None:
        labels = gold_labels(gold, answers)
    if by is not None and groups is None:
        groups = groups_of(by, answers.columns)
    return Verdicts(judges, theirs, labels, groups, None if text is None else beside[text], missing=missing)


def _open(data: Any, missing: Any) -> Any:
    """What stands for no answer, None where that is decided."""
    return None if isinstance(data, Answers) else missing
