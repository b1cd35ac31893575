"""Labels that begin with a class and go on as text, such as ``pass - meets the criteria``: which of them are the class.

Such a label may be a class of its own. It is not if people and gold labels, who would have used it by now, never do; or
if it is far less frequent than the class and workers give it to whatever task, where those who mean a class of its own
would agree on tasks.
"""

import shlex
import warnings
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from rectifact.core.errors import FitWarning, count
from rectifact.crowd.data.answers import Answers
from rectifact.crowd.data.failures import repeats_by_chance
from rectifact.crowd.data.label_starts import class_texts, start_of, starts
from rectifact.crowd.data.names import NAMED, as_spelt, joined_names, plain, unmarked

SELDOM = 0.25
"""Answers with such a label, as a share of those with the class alone, up to which it may be that class."""

UNLIKELY = 0.05
"""Probability that people never use a class of its own, below which there is none."""

CHANCE, CERTAIN = 0.05, 0.01
"""Probability that a label meets on tasks as often by chance, below which it may be, and is, a class of its own."""

FEWEST_TASKS = 5
"""Tasks with such a label below which it cannot be seen to be a class of its own."""

MANY, ONCE = 10, 2
"""Texts behind one class from which they are free texts, and how often each then occurs on average, at most."""

NEARLY_ALL = 0.9
"""Share of the answers that are such texts where no class is ever written alone."""

MOST_LISTED = 20
"""Classes that a remedy lists."""

ASKED = "Some labels begin with another one"

LONGEST = 30
"""Letters of what may be a class that is never written alone."""


def read_as_classes(answers: Answers, classes: Sequence[Any] | None, used: Sequence[Any]) -> dict[Any, Any]:
    """Labels to read as the class that they begin with, and that class; a warning names others that may be one.

    Parameters
    ----------
    answers : Answers
    classes : sequence or None
        All classes, where the user lists them: whatever else begins with one of them is that class.
    used : sequence
        Labels of people, gold labels and labels that the user names, each as often as it was given.
    """
    names = answers.classes.tolist()
    begun = {name: found for name in names if (found := starts(name))}
    if not begun:
        return {}
    if classes is not None:
        return class_texts(names, [as_spelt(name, answers.classes) for name in classes])
    given = dict(zip(names, np.bincount(answers.label, minlength=len(names)).tolist(), strict=True))
    theirs = _used_classes(Counter(unmarked(name) for name in used), names, begun)
    read: dict[Any, Any] = {}
    asked: dict[Any, Any] = {}
    for start, (name, texts) in _families(given, begun, theirs).items():
        of_one, may_be = _read_of(answers, given, name, texts, theirs[start])
        read |= dict.fromkeys(of_one, name)
        asked |= dict.fromkeys(may_be, name)
    if len({read.get(name, name) for name in names if given[name]}) < 2:
        return {}
    _ask(asked, [name for name in names if name not in read and name not in asked and given[name]], given)
    return read


def _used_classes(
    theirs: Counter[str], names: Sequence[Any], begun: Mapping[Any, list[tuple[str, str]]]
) -> Counter[str]:
    """The labels of people, each as often as it was used; free texts of theirs are the class that they begin with."""
    known = {*theirs, *map(unmarked, names)}
    texts: dict[str, list[str]] = {}
    for name, found in begun.items():
        start = start_of(found, known)
        if start is not None and unmarked(name) in theirs:
            texts.setdefault(start, []).append(unmarked(name))
    free = {start: own for start, own in texts.items() if _is_free(own, theirs)}
    of_texts = Counter({start: sum(theirs[text] for text in own) for start, own in free.items()})
    written = {text for own in free.values() for text in own}
    return Counter({name: n for name, n in theirs.items() if name not in written}) + of_texts


def _read_of(
    answers: Answers, given: Mapping[Any, int], name: Any, texts: list[Any], n_used: int
) -> tuple[list[Any], list[Any]]:
    """Of the labels that begin with a class, those to read as it, and those to ask about."""
    alone = given.get(name, 0)
    total = alone + sum(given[text] for text in texts)
    free = _is_told(1 - alone / total, n_used) or _is_free(texts, given)
    seldom = {text for text in texts if given[text] <= SELDOM * alone}
    chance = _by_chance(answers, [name, *texts])
    kept = {text for text in texts if chance[text] < CHANCE or not (free or text in seldom)}
    kept -= {text for text in kept if _is_told(given[text] / total, n_used)}
    read = [text for text in texts if text not in kept]
    doubtful = [text for text in texts if text in kept and (n_used or chance[text] > CERTAIN or text in seldom)]
    return read, doubtful if alone else []


def _families(
    given: Mapping[Any, int], begun: Mapping[Any, list[tuple[str, str]]], used: Collection[str]
) -> dict[str, tuple[Any, list[Any]]]:
    """For each class that others begin with, how it is written and those others, but for those that are ``used``."""
    there = {unmarked(name): name for name in given if given[name]}
    known = {*used, *(form for form, name in there.items() if start_of(begun.get(name, []), there) is None)}
    known |= _never_alone(given, begun)
    families: dict[str, tuple[Any, list[Any]]] = {}
    for name, found in begun.items():
        start = None if unmarked(name) in used or not given[name] else start_of(found, known)
        if start is not None:
            families.setdefault(start, (there.get(start, start), []))[1].append(name)
    return families


def _never_alone(given: Mapping[Any, int], begun: Mapping[Any, list[tuple[str, str]]]) -> set[str]:
    """Starts of many free texts, if nearly all answers are such texts and begin with a few words that recur."""
    texts: dict[str, list[Any]] = {}
    for name, found in begun.items():
        if len(found[-1][0]) <= LONGEST:
            texts.setdefault(found[-1][0], []).append(name)
    free = {start: own for start, own in texts.items() if _is_free(own, given)}
    covered = sum(given[name] for own in free.values() for name in own)
    return set(free) if len(free) > 1 and covered >= NEARLY_ALL * sum(given.values()) else set()


def _is_free(texts: Sequence[Any], given: Mapping[Any, int]) -> bool:
    """Whether the texts behind a class differ too much to be names."""
    return len(texts) >= MANY and sum(given[text] for text in texts) <= ONCE * len(texts)


def _is_told(share: float, n_used: int) -> bool:
    """Whether people who used a class so often would have used another one, of this ``share``, by now."""
    return bool((1 - share) ** n_used < UNLIKELY)


def _by_chance(answers: Answers, family: Sequence[Any]) -> dict[Any, float]:
    """Probability that workers give each label of a family to the same tasks as often as here by chance.

    It allows for the number of labels, and is 1 for those that too few tasks have.
    """
    place = {name: code for code, name in enumerate(answers.classes.tolist())}
    codes = {place[name]: name for name in family if name in place}
    within = np.isin(answers.label, list(codes))
    task, worker, label = answers.task[within], answers.worker[within], answers.label[within]
    often = [code for code, n in enumerate(np.bincount(label)) if n >= FEWEST_TASKS]
    tested = [code for code in often if len(np.unique(task[label == code])) >= FEWEST_TASKS]
    found = {codes[code]: repeats_by_chance(task, worker, label == code) * len(tested) for code in tested}
    return dict.fromkeys(family, 1.0) | found


def _ask(asked: dict[Any, Any], classes: Sequence[Any], given: Mapping[Any, int]) -> None:
    """Ask about labels that may be the class that they begin with, or a class of their own."""
    if not asked or len(classes) > MOST_LISTED:
        return
    said = "; ".join(
        f"{text!r} ({count(given[text], 'answer')}) with {to!r}" for text, to in list(asked.items())[:NAMED]
    )
    more = f"; and {len(asked) - NAMED} more" if len(asked) > NAMED else ""
    what = f"{ASKED}, and count as classes of their own: {said}{more}."
    remedy = "If they are that class, list all classes without them: {}."
    listing = [plain(name) for name in classes]
    forms = f"classes={listing!r}", f"--classes {shlex.quote(joined_names(listing))}"
    warnings.warn(FitWarning(what, remedy.format(forms[0]), command=remedy.format(forms[1])), stacklevel=5)
