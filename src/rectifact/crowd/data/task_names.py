"""Names of tasks that differ only in spaces, case, hyphens or underscores: one task, unless a worker answered both."""

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from unicodedata import normalize

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rectifact.core.errors import FitWarning
from rectifact.crowd.data.answers import Answers
from rectifact.crowd.data.names import Gold, matched, plain, plain_text
from rectifact.crowd.data.spellings import gold_like

SEPARATORS = str.maketrans("-_", "  ")

SPELT_ALIKE = "only in spaces, case, hyphens or underscores"


def _spaced(text: str) -> str:
    return " ".join(text.split())


def _cased(text: str) -> str:
    return normalize("NFKC", _spaced(text)).casefold()


def _separated(text: str) -> str:
    return _cased(text).translate(SEPARATORS)


LEVELS: tuple[Callable[[str], str], ...] = (_spaced, _cased, _separated)
"""What makes names alike, the surest first; each finds all that the one before it does."""


def one_task_each(answers: Answers) -> Answers:
    """The answers with spellings of a task's name as one task, called as most answers have it.

    No two names are joined that a worker answered both. If case, hyphens or underscores tell even one pair of such
    tasks apart, they tell all tasks apart. A warning says what was joined.

    Examples
    --------
    >>> import warnings
    >>> from rectifact.crowd import read_answers
    >>> rows = [{"task": t, "worker": w, "label": v} for t, w, v in zip(["a-1", "b-2", "A_1 ", "b-2"], "xxyy", "npnp")]
    >>> with warnings.catch_warnings(action="ignore"):
    ...     read_answers(rows).tasks.tolist()
    ['a-1', 'b-2']
    """
    to = np.arange(len(answers.tasks))
    if answers.tasks.dtype.kind in "biufmM":
        return answers
    for level in LEVELS:
        group = _alike(answers.tasks, level)
        if group is None:
            continue
        clash = _answered_twice(answers, to, group)
        if clash.any() and (level is _spaced or not clash.all()):
            _say_apart(answers.tasks, group, clash)
        if clash.any() and level is not _spaced:
            break
        to = _joined(answers, to, np.where((group >= 0) & ~clash[group], group, -1))
    return _with_joined(answers, to)


def like_tasks(names: NDArray[Any], known: Any) -> NDArray[Any]:
    """Names of tasks in the spelling of the one task of ``known`` that they can mean; a warning says how many differ.

    A name is left alone if its task is named exactly as well, and no other name is repeated: these are two tasks.

    Examples
    --------
    >>> import numpy as np, warnings
    >>> with warnings.catch_warnings(action="ignore"):
    ...     like_tasks(np.array(["A_1", "b", "c"]), np.array(["a-1", "b", "B"])).tolist()
    ['a-1', 'b', 'c']
    """
    if not isinstance(known, np.ndarray) or not len(known):  # partitioned answers
        return names
    place = matched(names, known)
    if (place >= 0).all():
        return names
    lost = np.flatnonzero((place < 0) & np.array([isinstance(name, str) for name in names]))
    is_unique = pd.Index(names).is_unique
    taken = set(place[place >= 0].tolist()) if is_unique else set()
    found = np.full(len(names), -1, dtype=np.int64)
    texts = [plain_text(name) for name in known.tolist()]
    for level in LEVELS:
        meant = _told_apart(texts, level)
        for i in lost[found[lost] < 0].tolist():
            one = meant.get(level(names[i]), -1)
            found[i] = -1 if one in taken else one
            taken |= {one} if is_unique else set()
    return _respelt(names, known, found)


def like_tasks_of(gold: Gold, known: Any) -> Gold:
    """Gold labels with names of tasks as in ``known``."""
    return like_tasks(gold[0], known), gold[1]


def gold_as_named(gold: Gold, answers: Answers) -> Gold:
    """Gold labels with names of tasks and classes as in the answers."""
    return gold_like(like_tasks_of(gold, answers.tasks), answers.classes)


def _told_apart(texts: list[str], level: Callable[[str], str]) -> dict[str, int]:
    """Places of names by their forms; forms of several names are left out."""
    forms = pd.Series([level(text) for text in texts])
    once = forms[~forms.duplicated(keep=False)]
    return dict(zip(once.tolist(), once.index.tolist(), strict=True))


def _alike(names: NDArray[Any], level: Callable[[str], str]) -> NDArray[np.int64] | None:
    """The same number for names that have the same form, -1 for others; None if there are none.

    Names such as ``aBcD`` and ``AbCd``, in which capitals and small letters mix in different ways, are random ones, in
    which case counts.
    """
    forms = pd.Series([level(name) if isinstance(name, str) else plain_text(name) for name in names.tolist()])
    if not forms.duplicated().any():
        return None
    group = np.where(forms.duplicated(keep=False), pd.factorize(forms)[0], -1).astype(np.int64)
    if level is not _spaced:
        within = np.flatnonzero(group >= 0)
        texts = [_spaced(plain_text(name)).translate(SEPARATORS) for name in names[within].tolist()]
        mixed = np.array([text not in (text.lower(), text.upper()) for text in texts], dtype=bool)
        ways = pd.Series(texts)[mixed].groupby(group[within][mixed]).nunique()
        group[np.isin(group, ways.index[ways > 1].to_numpy())] = -1
    kept = np.flatnonzero(group >= 0)
    group[kept] = np.unique(group[kept], return_inverse=True)[1]
    return group if kept.size else None


def _answered_twice(answers: Answers, to: NDArray[np.int64], group: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether a worker answered several tasks of a group; those that are ``to`` be one count once."""
    theirs = group[answers.task] >= 0
    table = pd.DataFrame({"task": to[answers.task[theirs]], "worker": answers.worker[theirs]}).drop_duplicates()
    again = table[table.duplicated(["worker"], keep=False)]
    again = again.assign(group=group[again["task"].to_numpy()])
    clash = np.zeros(int(group.max()) + 1, dtype=bool)
    clash[again.loc[again.duplicated(["worker", "group"]), "group"].to_numpy(dtype=np.int64)] = True
    return clash


def _joined(answers: Answers, to: NDArray[np.int64], group: NDArray[np.int64]) -> NDArray[np.int64]:
    """Which task each is, where those of each group become the one with the most answers."""
    given = np.bincount(to[answers.task], minlength=len(to))
    places = np.flatnonzero(group >= 0)
    order = places[np.lexsort((places, -given[places], group[places]))]
    first = order[np.unique(group[order], return_index=True)[1]]
    joined = to.copy()
    joined[places] = first[group[places]]
    return joined[joined]


def _with_joined(answers: Answers, to: NDArray[np.int64]) -> Answers:
    other = np.flatnonzero(to != np.arange(len(to)))
    if not other.size:
        return answers
    _say_joined(answers.tasks[other], answers.tasks[to[other]])
    kept, first = np.unique(to, return_index=True)
    kept = kept[np.argsort(first)]  # in order of appearance, under any spelling
    number = np.empty(len(to), dtype=answers.task.dtype)
    number[kept] = np.arange(len(kept))
    return replace(answers, task=number[to][answers.task], tasks=answers.tasks[kept])


def _respelt(names: NDArray[Any], known: NDArray[Any], found: NDArray[np.int64]) -> NDArray[Any]:
    other = found >= 0
    if not other.any():
        return names
    _say_joined(names[other], known[found[other]])
    respelt = names.astype(object)
    respelt[other] = known.astype(object)[found[other]]
    return respelt


def _say_joined(others: NDArray[Any], ones: NDArray[Any]) -> None:
    n_names = len(pd.unique(others))
    one, other = plain(ones[0]), plain(others[0])
    what, such = ("name of a task differs", "") if n_names == 1 else ("names of tasks differ", ", for instance,")
    counts = "counts" if n_names == 1 else "count"
    what = f"{n_names} {what} from another {SPELT_ALIKE}, and {counts} as the same task: {other!r}{such} as {one!r}."
    warnings.warn(FitWarning(what, "If they are different tasks, give them different names."), stacklevel=5)


def _say_apart(names: NDArray[Any], group: NDArray[np.int64], clash: NDArray[np.bool_]) -> None:
    pair = names[np.flatnonzero(group == np.flatnonzero(clash)[0])[:2]]
    what = f"Names of tasks differ {SPELT_ALIKE}, such as {plain(pair[0])!r} and {plain(pair[1])!r}, and workers "
    what += f"answered {'both' if clash.sum() == 1 else 'several of them'}, so they count as different tasks."
    remedy = "If they are the same task, spell the name alike, and keep one answer of each worker."
    warnings.warn(FitWarning(what, remedy), stacklevel=5)
