"""Answers in memory as three integer vectors, whatever they were read from."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from rectifact.core.errors import InputError, InputTypeError
from rectifact.core.operand import Operand, operand
from rectifact.core.reprs import short_repr
from rectifact.crowd.data.names import (
    Gold,
    as_spelt,
    check_gold,
    distinct,
    matched,
    object_array,
    outside_classes,
    plain,
    plain_text,
)
from rectifact.crowd.data.results import result_table
from rectifact.crowd.data.spellings import gold_like, spelt_as
from rectifact.crowd.data.unmatched import refuse_unanswered
from rectifact.crowd.em import Floats, vote_shares
from rectifact.crowd.grades import chosen, expected_grades, grade_intervals

Codes = NDArray[Any]
"""Integers that number tasks, workers or classes."""

MOST_VOTE_CELLS = 1 << 29
"""Tasks times classes: a table of votes of this size takes 4 GiB."""

MOST_UNSEEN = 1000
"""Classes that nobody chose which ``n_classes`` may add."""


@short_repr
@dataclass(frozen=True)
class Answers:
    """Who answered what, as integer codes. A repeated (task, worker) pair is a separate reading.

    Attributes
    ----------
    task, worker, label : array of shape (n_answers,)
        Integers, positions in the next three.
    tasks, workers, classes : array
        The original values; tasks and workers in order of appearance, classes sorted (text that looks like
        numbers, by number).
    columns : dict of str
        Which columns of a table were read as task, worker and label.
    weight : array of shape (n_answers,) or None
        How much each answer counts; None if all count the same.
    gold : tuple of two arrays, or None
        Tasks and their certain labels, where the file of the answers has some.
    source : dict of str
        The ``format`` of the records that the answers were read from, or "wide" for a table with one column per worker,
        and a ``sentence`` about it; empty for other tables.
    task_parts : dict of str to dict
        Where several columns name a task together, the value of each of these columns by the name of the task.
    """

    task: Codes
    worker: Codes
    label: Codes
    tasks: NDArray[Any]
    workers: NDArray[Any]
    classes: NDArray[Any]
    columns: dict[str, str] = field(default_factory=dict)
    weight: NDArray[np.float64] | None = None
    gold: Gold | None = field(default=None, metadata={"since": "0.2"})
    source: dict[str, str] = field(default_factory=dict, metadata={"since": "0.2"})
    task_parts: dict[str, dict[Any, Any]] = field(default_factory=dict, metadata={"since": "0.2"})

    def weighted(self, weight: ArrayLike) -> "Answers":
        """The same answers, each counting for its ``weight``."""
        try:
            values = np.asarray(weight, dtype=float)
        except (TypeError, ValueError) as error:
            raise InputTypeError(f"weights must be numbers: {error}.", "Give one number for each answer.") from error
        if values.shape != (len(self),) or not (values >= 0).all() or not 0 < values.sum() < 1e15:
            raise InputError(
                f"weights holds one number of at least 0, not all 0, for each of the {len(self)} answers; got shape "
                f"{values.shape}.",
                "Give them in the order of the answers.",
            )
        kept = values > 0
        task, worker, label = self.task[kept], self.worker[kept], self.label[kept]
        return replace(self, task=task, worker=worker, label=label, weight=values[kept])

    def recoded(self, classes: NDArray[Any]) -> "Answers":
        """The same answers, with labels numbered as in ``classes``."""
        position = pd.Index(classes).get_indexer(pd.Index(self.classes))
        unknown = np.flatnonzero((position < 0) & (np.bincount(self.label, minlength=len(self.classes)) > 0))
        if unknown.size:
            raise outside_classes(self.classes[unknown].tolist(), list(classes))
        return replace(self, label=position[self.label], classes=np.asarray(classes))

    def ordered(self, names: Sequence[str]) -> "Answers":
        """The same answers, with the classes in the order of their names as text; names that nobody chose are added."""
        seen = {plain_text(value): value for value in self.classes.tolist()}
        wanted = [as_spelt(name.strip(), self.classes) for name in names]
        if len(set(wanted)) < len(wanted):
            raise InputError(f"A class is listed twice among {wanted}.", "List each once.", option="classes")
        classes = [seen.get(plain_text(name), name) for name in wanted]
        try:
            return self.recoded(np.array(classes, dtype=self.classes.dtype))
        except ValueError as error:
            if isinstance(error, InputError):
                raise
            return self.recoded(object_array(classes))

    def __len__(self) -> int:
        return len(self.label)

    @property
    def codes(self) -> tuple[Codes, Codes, Codes, Any]:
        """All that a fit sees: task, worker, label and weight of each answer."""
        return self.task, self.worker, self.label, self.weight

    @property
    def given(self) -> Codes:
        """Number of answers by each worker."""
        return np.bincount(self.worker, minlength=len(self.workers))

    def matrix(self) -> Operand:
        """The matrix B of shape (n_tasks, n_workers * n_classes): how often worker m answered k."""
        return operand(self.one_hot())

    def answered(self) -> sp.csr_array:
        """Number of answers by each worker to each task, of shape (n_tasks, n_workers)."""
        shape = len(self.tasks), len(self.workers)
        return sp.csr_array((np.ones(len(self)), (self.task, self.worker)), shape=shape)

    def said(self) -> NDArray[np.int64]:
        """Class that each worker gave each task, of shape (n_tasks, n_workers); -1 for none."""
        said = np.full((len(self.tasks), len(self.workers)), -1, dtype=np.int64)
        said[self.task, self.worker] = self.label
        return said

    def known(self, gold: Gold | None) -> NDArray[np.int64] | None:
        """The class of each task where a gold label says it, -1 elsewhere; None without any labels.

        Gold labels of tasks that nobody answered are left out.
        """
        if gold is None:
            return None
        gold = distinct(gold_like(gold, self.classes))
        place, codes = matched(gold[0], self.tasks), matched(gold[1], self.classes)
        found = place >= 0
        refuse_unanswered(gold[0], found, self.tasks)
        check_gold(gold, codes, found, len(np.unique(place[found])) < found.sum(), self.classes)
        known = np.full(len(self.tasks), -1, dtype=np.int64)
        known[place[found]] = codes[found]  # -1 for a class that no worker has
        return known

    def shares(self, known: NDArray[np.int64] | None = None) -> Floats:
        """Shares of the votes of each task."""
        return vote_shares(self.votes(), known)

    def labels(self, probas: Floats, ordinal: bool = False) -> NDArray[Any]:
        """The likeliest class of each task, or the median of ordered grades."""
        return self.classes[chosen(probas, ordinal)]

    def grades(self, probas: Floats) -> tuple[Floats, NDArray[Any]]:
        """Expected grade of each task, and the interval."""
        return expected_grades(probas, self.classes), grade_intervals(probas, self.classes)

    def result(self, probas: Floats, ordinal: bool = False) -> pd.DataFrame:
        """Table by task: label, confidence, entropy and number of answers; of ordered grades, more."""
        given = np.bincount(self.task, minlength=len(self.tasks))
        return result_table(self.tasks, self.classes, probas, given, ordinal)

    def by_task(self, values: NDArray[Any]) -> NDArray[Any]:
        """Values in the order of the tasks: as they are."""
        return values

    def votes(self) -> NDArray[np.float64]:
        """Number, or weight, of the answers for each class, of shape (n_tasks, n_classes)."""
        shape = len(self.tasks), len(self.classes)
        if shape[0] * shape[1] > MOST_VOTE_CELLS:
            raise InputError(
                f"{shape[1]} classes are too many for {shape[0]} tasks.", "Merge rare labels into 'other'."
            )
        cells = np.bincount(
            self.task.astype(np.int64) * shape[1] + self.label, weights=self.weight, minlength=shape[0] * shape[1]
        )
        return cells.reshape(shape).astype(np.float64)

    def one_hot(self) -> sp.csr_array:
        """Answers by task, of shape (n_tasks, n_workers * n_classes): the matrix B, one entry per reading."""
        shape = len(self.tasks), len(self.workers) * len(self.classes)
        index = np.int32 if max(shape) < 2**31 else np.int64
        cell = self.worker.astype(index) * len(self.classes) + self.label.astype(index)
        return answer_matrix(self.task, cell, shape, self.weight)


def answer_matrix(
    task: Codes, cell: Codes, shape: tuple[int, int], weight: NDArray[np.float64] | None = None
) -> sp.csr_array:
    """The matrix B of answers in any order: each is an entry in the row of its task and the column ``cell``."""
    data = np.ones(len(cell)) if weight is None else weight
    B = sp.coo_array((data.astype(np.float32), (task, cell)), shape=shape)
    B.has_canonical_format = True  # a repeated reading stays an entry of its own
    return B.tocsr()


def with_classes(answers: Answers, n_classes: int | None) -> Answers:
    """Make room for classes that nobody chose, where classes are whole numbers counted from 0 or 1.

    Examples
    --------
    >>> import numpy as np
    >>> from rectifact.crowd import read_answers
    >>> with_classes(read_answers(np.array([[1, 3], [3, 3]])), 4).classes
    array([1, 2, 3, 4])
    """
    seen = answers.classes
    if n_classes is None or n_classes == len(seen):
        return answers
    if n_classes < len(seen):
        raise InputError(
            f"n_classes={n_classes}, but the answers hold {len(seen)}: {seen.tolist()}.",
            "Raise it.",
            option="n_classes",
        )
    seen_as = {plain_text(value): value for value in seen.tolist()}
    first = 0 if "0" in seen_as else 1
    wanted = [str(first + k) for k in range(min(n_classes, len(seen) + MOST_UNSEEN))]
    if n_classes > len(wanted) or not seen_as.keys() <= set(wanted):
        raise InputError(
            f"n_classes={n_classes} needs classes numbered from 0 or 1 without many gaps; found {seen.tolist()}.",
            "Name all of them instead: read_answers(data, classes=[...]).",
            option="n_classes",
        )
    return answers.recoded(np.array([seen_as.get(text, text) for text in wanted], dtype=seen.dtype))


def merge_answers(old: Answers, more: Answers) -> tuple[Answers, NDArray[np.bool_]]:
    """Both together, old tasks and workers first, and which tasks got more answers."""
    tasks = pd.Index(old.tasks).append(pd.Index(more.tasks).difference(pd.Index(old.tasks), sort=False))
    workers = pd.Index(old.workers).append(pd.Index(more.workers).difference(pd.Index(old.workers), sort=False))
    task, worker = tasks.get_indexer(more.tasks)[more.task], workers.get_indexer(more.workers)[more.worker]
    weight = None
    if old.weight is not None or more.weight is not None:
        weight = np.concatenate([np.ones(len(a)) if a.weight is None else a.weight for a in (old, more)])
    touched = np.bincount(task, minlength=len(tasks)) > 0
    pairs = (old.task, task), (old.worker, worker), (old.label, more.label)
    task, worker, label = (np.concatenate(pair) for pair in pairs)
    merged = Answers(task, worker, label, tasks.to_numpy(), workers.to_numpy(), old.classes, old.columns, weight)
    return replace(merged, task_parts=parts_together([old, more])), touched


def parts_together(several: Sequence[Answers]) -> dict[str, dict[Any, Any]]:
    """The columns that name tasks together, of all of these answers; the first to name a task decides."""
    names = dict.fromkeys(name for answers in several for name in answers.task_parts)
    turned = list(reversed(several))
    return {name: {k: v for one in turned for k, v in one.task_parts.get(name, {}).items()} for name in names}


def encode(values: Any, role: str) -> tuple[NDArray[Any], NDArray[Any]]:
    """Codes in order of appearance, -1 where there is no value, and the values."""
    try:
        codes, uniques = pd.factorize(values)
    except TypeError as error:
        raise InputTypeError(f"A {role} is a list or a dict ({error}).", "Turn it into text first.") from error
    if uniques.dtype.kind in "mM":  # or their tolist would give nanoseconds
        uniques = pd.Index(uniques).astype(object).to_numpy()
    return codes.astype(np.int32), np.asarray(uniques)


def make_answers(
    codes: dict[str, Codes],
    values: dict[str, NDArray[Any]],
    classes: Sequence[Any] | None,
    columns: dict[str, str],
) -> Answers:
    """Answers from codes and values by role, the classes put in order: the given one, or sorted."""
    if not len(codes["label"]):
        raise InputError("There are no answers in this data.", "Check the file, or what stands for a missing answer.")
    seen = values["label"].tolist()
    ordered = sort_classes(seen) if classes is None else list(classes)
    try:
        position = {value: i for i, value in enumerate(ordered)}
    except TypeError as error:
        raise InputTypeError(f"A class is a list or a dict ({error}).", "Turn it into text first.") from error
    if len(position) < len(ordered):
        raise InputError(f"A class is listed twice among {ordered}.", "List each once.")
    if classes is not None:
        seen = spelt_as(seen, codes["label"], ordered)
    kept = object_array(ordered)
    if values["label"].dtype != object and len({type(value) for value in ordered}) == 1:
        kept = kept.astype(values["label"].dtype)
    label = np.array([position[value] for value in seen], dtype=np.int32)[codes["label"]]
    return Answers(codes["task"], codes["worker"], label, values["task"], values["worker"], kept, columns)


def sort_classes(seen: list[Any]) -> list[Any]:
    """Numbers, and text that reads as numbers, by value; what has no order of its own by type and text."""
    try:
        if np.isfinite([float(value) for value in seen]).all():
            return sorted(seen, key=lambda value: (float(value), str(value)))
    except (TypeError, ValueError):
        pass
    try:
        return sorted(seen)
    except TypeError:
        return sorted(seen, key=lambda value: (type(value).__name__, repr(value)))


def check_comparable(answers: Answers) -> None:
    """Refuse data from which nothing can be learnt: one worker, one class, as many classes as answers."""
    lonely = (answers.worker == answers.worker[0]).all()
    workers = answers.workers[answers.worker[:1]] if lonely else answers.workers
    check_seen(workers, answers.classes, int(np.count_nonzero(np.bincount(answers.label))), len(answers))


def check_seen(workers: NDArray[Any], classes: NDArray[Any], n_seen: int, n_answers: int) -> None:
    """Refuse ``n_answers`` by these ``workers``, with ``n_seen`` classes, if nothing can be learnt from them."""
    if len(workers) == 1:
        raise InputError(
            f"All answers come from one worker, {plain(workers[0])!r}, so that there is nothing to compare.",
            "Add the answers of others, or name the column that tells workers apart.",
        )
    if len(classes) < 2:
        raise InputError(
            f"Every answer is {plain(classes[0])!r}: with one class there is nothing to decide.",
            "Name the column with the labels, or list all classes.",
        )
    if n_seen >= max(n_answers, 3):
        raise InputError(
            f"There are {n_seen} classes for {n_answers} answers, so that no two answers agree.",
            "Name the column with the labels; free text or measurements must be grouped into classes first.",
        )
