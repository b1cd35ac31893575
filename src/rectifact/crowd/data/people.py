"""Judges and people read together: the same tasks and classes, one answer of each worker to a task."""

import shlex
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rectifact.core.errors import FitWarning, InputError, count
from rectifact.crowd.agreement import LEVELS, Level, Scale
from rectifact.crowd.data.answers import Answers, encode, make_answers, parts_together
from rectifact.crowd.data.failures import named_by, without_failures
from rectifact.crowd.data.files import fields_of
from rectifact.crowd.data.formats import FORMATS
from rectifact.crowd.data.joined import RepeatedTask, SeveralTasks, with_joined_task
from rectifact.crowd.data.label_columns import refuse_other_labels, with_roles_beside
from rectifact.crowd.data.levels import is_number, scale_for
from rectifact.crowd.data.names import joined_names, listed, matched, object_array, plain, sentence, split_names
from rectifact.crowd.data.read import coded
from rectifact.crowd.data.tables import COLUMN_NAMES, find_column, in_file, likely_column
from rectifact.crowd.data.task_columns import task_column
from rectifact.crowd.data.task_names import one_task_each
from rectifact.crowd.data.task_parts import with_task_parts
from rectifact.crowd.data.tidy import mention_no_answers, tidied
from rectifact.crowd.data.unmatched import mention_unjudged, no_common_task
from rectifact.io.records import is_json

CONTRADICT, FEWEST_CONTRADICT = 0.2, 10
"""Share and number of repeated answers that contradict the first one, from which they may be to different tasks."""


@dataclass(frozen=True)
class Panel:
    """Answers of judges and, if there are any, of people, who come last among the workers.

    Attributes
    ----------
    answers : Answers
        At most one answer of each worker to each task.
    n_judges : int
        The first so many workers are judges; all of them, if nobody was named as a person.
    scale : Scale
        What the classes mean.
    """

    answers: Answers
    n_judges: int
    scale: Scale

    @property
    def has_people(self) -> bool:
        """Whether some of the workers are people."""
        return self.n_judges < len(self.answers.workers)

    @property
    def is_person(self) -> NDArray[np.bool_]:
        """Which workers are people."""
        return np.arange(len(self.answers.workers)) >= self.n_judges

    def name(self, worker: int) -> Any:
        """Name of a worker; a person with the name of a judge is told apart."""
        names = self.answers.workers
        same = self.is_person[worker] and names[worker] in names[: self.n_judges]
        return f"{names[worker]} (person)" if same else names[worker]


def read_panel(
    data: Any,
    humans: Any = None,
    *,
    level: Level = "nominal",
    classes: Sequence[Any] | None = None,
    columns: dict[str, Any] | None = None,
    wide: bool = False,
    missing: Any = "auto",
    form: str | None = None,
    question: str | None = None,
) -> Panel:
    """Read answers of judges, and of people, who may use classes and tasks of their own.

    Parameters
    ----------
    data, humans : table, path or matrix
        As in :func:`rectifact.crowd.read_answers`; ``humans`` may be None. One worker or one class is enough here.
    level : {"nominal", "ordinal", "interval"}
    classes : sequence or None
        All classes in their order.
    columns : dict or None
        Names of the columns of task, worker and label.
    wide, missing
        As in :func:`rectifact.crowd.read_answers`.
    form, question : str or None
        Format and field of ``data``; the answers of people have that field too where they come as records.

    Returns
    -------
    Panel
    """
    given: dict[str, Any] = dict.fromkeys(COLUMN_NAMES) | (columns or {})
    own = given if humans is None else judges_columns(given, wide)
    if not wide:
        data, task = with_joined_task(data, given["task"])
        own = with_roles_beside(data, own | {"task": task})
    parts = [coded(data, own, wide, missing, None, form, question)]
    if humans is not None:
        parts.append(read_people(humans, given, wide, missing, question, parts[0]))
        refuse_other_labels(data, parts[0], humans, parts[1])
    parts = without_failures(parts, None if isinstance(data, Answers) else missing, used=named_by(classes))
    order = classes
    if classes is None and all(isinstance(part, Answers) for part in (data, humans) if part is not None):
        order = _common_order(parts)
    return mentioned(panel_of(parts, level, order), meant=classes)


def mentioned(panel: Panel, gold: NDArray[Any] | None = None, meant: Sequence[Any] | None = None) -> Panel:
    """The same panel; labels that seem to be no answers and are not ``meant`` are named, by people and ``gold``."""
    answers = panel.answers
    used = answers.classes[answers.label[panel.is_person[answers.worker]]].astype(object)
    mention_no_answers(answers, used if gold is None else np.concatenate([used, gold.astype(object)]), meant)
    return panel


def read_people(
    humans: Any, names: dict[str, Any], wide: bool, missing: Any, question: str | None, judges: Answers | None = None
) -> Answers:
    """Answers of people, in a file of their own: its format is recognised, and a table has no ``question``.

    Columns that are named for the judges need not be there: usual names are looked for then. Beside a ``wide`` table of
    judges, worker and label are named for people alone, so that they must be there. A column for the task without a
    usual name is found by the tasks of the ``judges``.
    """
    where = _where(humans)
    humans, task = with_joined_task(with_task_parts(humans, judges, where), names["task"])
    names = names | {"task": task}
    is_records = isinstance(humans, str | Path) and is_json(Path(humans))
    form, present = fields_of(humans)
    if form == "records" and present and judges is not None:
        names = names | {"task": task_column(humans, present, names, judges, where)}
    if wide and form == "records" and present:
        _check_named(humans, present, names)
    if wide and form == "records" and not _is_long(present, names):
        return _people_by_column(humans, names, missing)
    found = names
    if form != "records":  # an export, which says by itself where most of it is
        meant = [*FORMATS[form].takes, *(("worker", "label") if wide else ())]
        found = {role: name if role in meant else None for role, name in names.items()}
    elif present:
        found = {role: name if name in present else None for role, name in names.items()}
        _check_columns(humans, present, found, names)
    try:
        return coded(humans, found, False, missing, None, None, question if is_records else None)
    except SeveralTasks as error:
        raise error.of_people(where) from error


def judges_columns(names: dict[str, str | None], wide: bool) -> dict[str, str | None]:
    """Names of columns that are meant for judges beside a table of people: of a ``wide`` table, the task alone."""
    return names | {"worker": None, "label": None} if wide else names


def _is_long(present: list[Any], names: dict[str, str | None]) -> bool:
    """Whether a table has one answer per row: columns for the task, the worker and the label."""
    try:
        for role, name in names.items():
            find_column(present, role, name if name in present else None)
    except InputError:
        return False
    return bool(present)


def _people_by_column(humans: Any, names: dict[str, str | None], missing: Any) -> Answers:
    """Answers of people from a table with one column for each of them."""
    try:
        return coded(humans, names, True, missing, None)
    except InputError as error:
        if not isinstance(humans, str | Path):
            raise
        what = f"The people's file {str(humans)!r} cannot be read. {error.what}"
        rows = "If it has one answer per row, name its columns: {}; else merge the rows of each task."
        named = rows.format("worker='...', label='...'"), rows.format("--worker COLUMN --label COLUMN")
        remedy, command = named if isinstance(error, RepeatedTask) else (error.remedy, error.command)
        raise InputError(what, remedy, command=command) from error


def _check_named(humans: Any, present: list[Any], names: dict[str, str | None]) -> None:
    """Refuse a worker or label that is named and not a column of the people's table, and one without the other."""
    named = [role for role in ("worker", "label") if names[role] is not None]
    for role in named:
        if names[role] not in present:
            meant = likely_column(present, role, str(names[role]))
            remedy = f"Check the spelling, or leave out {{}}{role}." if meant is None else f"Did you mean {meant!r}?"
            what = f"{_where(humans)} has no column {names[role]!r} for the {role} among {in_file(present)}."
            raise InputError(what, remedy.format(""), command=remedy.format("--"))
    other = "label" if named == ["worker"] else "worker"
    if len(named) == 1 and not _is_long(present, {other: None}):
        remedy = f"Name it: {{}}; if each person has a column, leave out {{}}{named[0]}."
        command = remedy.format(f"--{other} COLUMN", "--")
        what = f"{_where(humans)} has no column for the {other} among {in_file(present)}."
        raise InputError(what, remedy.format(f"{other}='...'", ""), command=command)


def _where(humans: Any) -> str:
    """The answers of people as the subject of a sentence."""
    return f"The people's file {str(humans)!r}" if isinstance(humans, str | Path) else "The people's table"


def _check_columns(humans: Any, present: list[Any], found: dict[str, str | None], names: dict[str, str | None]) -> None:
    """Refuse people's columns without usual names, and say what to call them: options name those of the judges."""
    lacking = []
    for role, name in found.items():
        try:
            find_column(present, role, name)
        except InputError:
            lacking.append(role)
    if lacking:
        wanted = sentence([f"the {role}" for role in lacking])
        called = sentence([repr(names[role] or role) for role in lacking])
        raise InputError(
            f"{_where(humans)} has no column for {wanted} among {in_file(present)}.",
            f"Rename what has {'it' if len(lacking) == 1 else 'them'} to {called} there, with one answer per row.",
        )


def panel_of(
    parts: Sequence[Answers],
    level: Level,
    classes: Sequence[Any] | None,
    *,
    has_level: bool = True,
    used: Sequence[Any] = (),
) -> Panel:
    """Answers of judges and, where there is a second part, of people, with ``classes`` in order or sorted.

    ``has_level`` says whether the user can choose another ``level``; gold labels and the user have ``used`` labels.
    """
    if not isinstance(level, str):
        what = f"level is one of {', '.join(LEVELS)}, and it is a {type(level).__name__} here."
        raise InputError(what, "Give the answers of people by name, as humans=.", option="level")
    if level not in LEVELS:
        raise InputError(f"level={level!r} is not known.", f"Choose one of {', '.join(LEVELS)}.", option="level")
    if any(part.weight is not None for part in parts):
        raise InputError("Agreement counts all answers alike.", "Give answers without weights.")
    if classes is not None:
        classes = [_like(name, parts[0].classes) for name in classes]
    by_people = [name for part in parts[1:] for name in part.classes[part.label].tolist()]
    answers = tidied(_merged(parts), classes, [*by_people, *used])
    if classes is not None:
        if len(set(classes)) < len(classes):
            raise InputError(f"A class is listed twice among {classes}.", "List each once.", option="classes")
        answers = answers.recoded(object_array(classes))
    scale = scale_for(answers, level, classes is not None, has_level=has_level)
    return Panel(answers, len(parts[0].workers), scale)


def _like(name: Any, known: NDArray[Any]) -> Any:
    """A class as the answers spell it: a number and its text are the same."""
    place = int(matched(np.array([name], dtype=object), known)[0])
    return name if place < 0 else plain(known[place])


def _common_order(parts: list[Answers]) -> list[Any] | None:
    """The order of the classes of answers that were read before, if the first has them all."""
    first = parts[0].classes
    known = all((matched(part.classes, first) >= 0).all() for part in parts)
    return first.tolist() if known else None


def _merged(parts: Sequence[Answers]) -> Answers:
    """All answers, coded together; the workers of each part are kept apart, whatever their names."""
    first = parts[0]
    tasks, labels, workers, start = [], [], [], 0
    for part in parts:
        tasks.append(_spelled_like(part.tasks, first.tasks)[part.task])
        labels.append(_spelled_like(part.classes, first.classes)[part.label])
        workers.append(part.worker.astype(np.int64) + start)
        start += len(part.workers)
    codes, values = {}, {}
    codes["task"], values["task"] = encode(np.concatenate(tasks), "task")
    codes["label"], values["label"] = encode(np.concatenate(labels), "label")
    codes["worker"] = np.concatenate(workers)
    values["worker"] = np.concatenate([part.workers.astype(object) for part in parts])
    merged = make_answers(codes, values, None, first.columns)
    merged = replace(merged, source=first.source, task_parts=parts_together(parts))
    return answered_once(one_task_each(merged) if len(parts) > 1 else merged)


def _spelled_like(names: NDArray[Any], known: NDArray[Any]) -> NDArray[Any]:
    """Names, those in ``known`` in the spelling they have there."""
    place = matched(names, known)
    spelled = names.astype(object)
    spelled[place >= 0] = known.astype(object)[place[place >= 0]]
    return spelled


def check_people(panel: Panel) -> None:
    """Refuse people of whom no answer can be the same as a judge's: on other tasks, or in other words."""
    answers, theirs = panel.answers, panel.is_person[panel.answers.worker]
    if not theirs.any():
        return
    if not np.intersect1d(answers.task[theirs], answers.task[~theirs]).size:
        by_people, by_judges = (answers.tasks[np.unique(answers.task[some])] for some in (theirs, ~theirs))
        what, remedy = "No task was answered by a judge and by a person.", "Check that both name the tasks alike."
        raise no_common_task(what, remedy, by_people, by_judges)
    by_people = np.unique(answers.task[theirs])
    found = np.isin(by_people, answers.task[~theirs])
    mention_unjudged(answers.tasks[by_people], found)
    check_labels(panel)


def check_labels(panel: Panel) -> None:
    """Refuse people who have no label in common with judges."""
    answers, theirs = panel.answers, panel.is_person[panel.answers.worker]
    said, by_judges = (answers.classes[np.unique(answers.label[some])] for some in (theirs, ~theirs))
    grades = panel.scale.level != "nominal" and bool(is_number(answers.classes).all())
    if not grades and len(said) + len(by_judges) > 2 and not set(said.tolist()) & set(by_judges.tolist()):
        what = f"People write {listed(said)} and judges {listed(by_judges)}, so that they have no label in common."
        raise InputError(what, "Write the labels alike in both.")


def answered_once(answers: Answers) -> Answers:
    """The first answer of each worker to each task: a worker's agreement with themselves is another matter."""
    cell = answers.task.astype(np.int64) * len(answers.workers) + answers.worker
    _, first, of = np.unique(cell, return_index=True, return_inverse=True)
    kept = np.sort(first)
    repeated = len(cell) - len(kept)
    if not repeated:
        return answers
    what = f"{count(repeated, 'repeated answer')} of a worker to the same task {'was' if repeated == 1 else 'were'}"
    others = int((answers.label != answers.label[first][of]).sum())
    differ = f"; {others} of them contradict{'s' if others == 1 else ''} the first answer, which was kept"
    remedies = _missing_column(answers) if others >= max(CONTRADICT * repeated, FEWEST_CONTRADICT) else ("", None)
    message = FitWarning(f"{what} left out{differ if others else ''}.", remedies[0], command=remedies[1])
    warnings.warn(message, stacklevel=5)
    task, worker, label = (codes[kept] for codes in (answers.task, answers.worker, answers.label))
    return replace(answers, task=task, worker=worker, label=label)


def _missing_column(answers: Answers) -> tuple[str, str]:
    """What to ask where repeated answers contradict each other, in Python and for commands."""
    name = str(answers.columns.get("task", "task"))
    remedy = "Is a column missing that tells them apart, such as a version? If so, add it, and name both columns: {}."
    names = [*(split_names(name) if "," in name else [name]), "version"]
    return remedy.format(f"task={names!r}"), remedy.format(f"--task {shlex.quote(joined_names(names))}")
