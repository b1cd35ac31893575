"""Names of workers that differ only in case or spaces: one worker, unless both answered the same task.

Names that differ in spaces alone are one worker even then, who answered the task again.
"""

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rectifact.core.errors import FitWarning, InputError, count
from rectifact.crowd.data.answers import Answers, Codes
from rectifact.crowd.data.names import NAMED, listed, plain
from rectifact.io.graphs import folded


def one_name_each(answers: Answers) -> Answers:
    """The answers with spellings of a worker's name as one worker, called as most answers have it.

    Spellings under which one task was answered are different workers, unless they differ in spaces alone. Warnings say
    what was merged, and what was not.

    Examples
    --------
    >>> import warnings
    >>> from rectifact.crowd import read_answers
    >>> rows = [{"task": t, "worker": w, "label": v} for t, w, v in zip("aabb", ["x", "y", "X ", "y"], [1, 1, 0, 1])]
    >>> with warnings.catch_warnings(action="ignore"):
    ...     read_answers(rows).workers.tolist()
    ['x', 'y']
    """
    alike = _alike(answers.workers)
    if not len(alike):
        return answers
    spaced = [_same_but_for_spaces(answers.workers, places) for places in alike]
    shared = _shared(answers, alike, spaced)
    merged, apart = [], []
    for places, parts, n_shared in zip(alike, spaced, shared, strict=True):
        merged += [part for part in parts if len(part) > 1] if n_shared else [places]
        apart += [np.array([part[0] for part in parts])] if n_shared else []
    if apart:
        _say_apart(answers.workers, apart, sum(shared))
    return _merged(answers, merged)


def _alike(workers: NDArray[Any]) -> list[NDArray[np.int64]]:
    """Places of the workers whose names differ only in case or spaces, for each such name; numbers are never alike."""
    if workers.dtype.kind in "biufmM":
        return []
    texts = [name for name in workers.tolist() if isinstance(name, str) and not name.isdecimal()]
    spelt = [folded(name) for name in texts]
    if len(set(spelt)) == len(spelt):
        return []
    place = {name: i for i, name in enumerate(workers.tolist())}
    groups: dict[str, list[int]] = {}
    for name, text in zip(texts, spelt, strict=True):
        groups.setdefault(text, []).append(place[name])
    return [np.array(places) for places in groups.values() if len(places) > 1]


def _same_but_for_spaces(workers: NDArray[Any], places: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Places of names that differ in spaces alone, for each such name."""
    groups: dict[str, list[int]] = {}
    for place in places.tolist():
        groups.setdefault(" ".join(workers[place].split()), []).append(place)
    return [np.array(part) for part in groups.values()]


def _shared(answers: Answers, alike: list[NDArray[np.int64]], spaced: list[list[NDArray[np.int64]]]) -> list[int]:
    """Number of tasks that were answered under several spellings, for each name; spaces make no spelling."""
    group, spelling = np.full(len(answers.workers), -1, dtype=np.int64), np.arange(len(answers.workers))
    for number, places in enumerate(alike):
        group[places] = number
        for part in spaced[number]:
            spelling[part] = part[0]
    theirs = group[answers.worker] >= 0
    worker = spelling[answers.worker[theirs]]
    table = pd.DataFrame({"worker": worker, "task": answers.task[theirs]}).drop_duplicates()
    table["name"] = group[table["worker"].to_numpy()]
    spellings = table.groupby(["name", "task"]).size()
    shared = spellings[spellings > 1].groupby("name").size()
    return [int(shared.get(number, 0)) for number in range(len(alike))]


def _merged(answers: Answers, alike: list[NDArray[np.int64]]) -> Answers:
    """The answers in which the workers of each group are one."""
    if not alike:
        return answers
    given, to = answers.given, np.arange(len(answers.workers))
    for places in alike:
        to[places] = places[np.argmax(given[places])]
    kept, first = np.unique(to, return_index=True)
    kept = kept[np.argsort(first)]  # in order of appearance, under any spelling
    _say_merged(answers.workers, to, given)
    number = np.empty(len(to), dtype=answers.worker.dtype)
    number[kept] = np.arange(len(kept))
    return replace(answers, worker=number[to][answers.worker], workers=answers.workers[kept])


def _say_merged(workers: NDArray[Any], to: NDArray[np.int64], given: Codes) -> None:
    other = np.flatnonzero(to != np.arange(len(to)))
    names = list(dict.fromkeys(to[other].tolist()))
    said = "; ".join(f"{listed(workers[other[to[other] == name]])} as {workers[name]!r}" for name in names[:NAMED])
    more = f"; and {len(names) - NAMED} more" if len(names) > NAMED else ""
    answers = count(int(given[other].sum()), "answer")
    what = f"Workers whose names differ only in case or spaces count as one: {said}{more} ({answers})."
    warnings.warn(FitWarning(what, "If they are different workers, give them different names."), stacklevel=6)


def _say_apart(workers: NDArray[Any], apart: list[NDArray[np.int64]], n_shared: int) -> None:
    said = "; ".join(" and ".join(repr(name) for name in workers[places][:NAMED]) for places in apart[:NAMED])
    more = f"; and {len(apart) - NAMED} more" if len(apart) > NAMED else ""
    were = "was" if n_shared == 1 else "were"
    why = f"{count(n_shared, 'task')} {were} answered under several of these spellings"
    what = f"Names of workers differ only in case or spaces: {said}{more}. They count as different workers, as {why}."
    remedy = "If they are one worker, spell the name alike, and keep one answer to each task."
    warnings.warn(FitWarning(what, remedy), stacklevel=6)


def refuse_strangers(workers: NDArray[Any]) -> None:
    """Refuse ``workers`` whose confusion matrices are not known."""
    if len(workers):
        were, first = ("was", ":") if len(workers) == 1 else ("were", "; the first is")
        raise InputError(
            f"{count(len(workers), 'worker')} {were} not in the data of the fit{first} {plain(workers[0])!r}.",
            "Leave out their answers, or add them with partial_fit.",
        )
