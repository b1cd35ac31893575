"""Tidies the labels of answers: one class for each spelling, and a word about labels that seem to be no answers."""

import shlex
import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rectifact.core.errors import FitWarning, count
from rectifact.crowd.data.answers import Answers, sort_classes
from rectifact.crowd.data.free_texts import read_as_classes
from rectifact.crowd.data.grade_texts import plain_grades
from rectifact.crowd.data.label_starts import say_read
from rectifact.crowd.data.names import NAMED, as_spelt, fold, joined_names, matched, object_array, plain
from rectifact.crowd.data.spellings import is_no_answer, one_spelling, say_respelt
from rectifact.crowd.grades import numbers_of

STRAY = 0.01
"""Share of the answers below which a label that people and gold labels do not use may be a slip."""

UNLIKELY = 0.01
"""Probability that people would not have used some class by now, below which it may not be one."""

MOST_LISTED = 50
"""Labels that a remedy lists."""


def tidied(answers: Answers, classes: Sequence[Any] | None = None, used: Sequence[Any] = ()) -> Answers:
    """The answers with labels that differ only in case, spaces or marks as one class, and a warning that says so.

    It is spelt as in ``classes``, which keep those apart that they list apart, or else as most answers have it. Labels
    that begin with a class and go on as text are that class, unless they are ``used``: by people, as gold labels or
    by the user.

    Examples
    --------
    >>> import warnings
    >>> from rectifact.crowd.data.read import coded
    >>> rows = [{"task": t, "worker": w, "label": v} for t, w, v in zip("aabb", "xyxy", ["ok", "Ok ", "no", "ok"])]
    >>> with warnings.catch_warnings(action="ignore"):
    ...     tidied(coded(rows, dict.fromkeys(["task", "worker", "label"]), False, "auto", None)).classes.tolist()
    ['no', 'ok']
    """
    if answers.classes.dtype.kind in "biufmM":
        return answers
    if classes is None:
        answers = _renamed(answers, plain_grades(answers.classes.tolist()))
    given = np.bincount(answers.label, weights=answers.weight, minlength=len(answers.classes))
    seen = answers.classes.tolist()
    spelt = one_spelling(seen, given, classes)
    if spelt != seen:
        say_respelt(seen, spelt, np.bincount(answers.label, minlength=len(seen)))
        answers = _renamed(answers, spelt)
    read = read_as_classes(answers, classes, used)
    if not read:
        return answers
    is_read = np.array([name in read for name in answers.classes.tolist()], dtype=bool)
    say_read(read, int(is_read[answers.label].sum()))
    return _renamed(answers, [read.get(name, name) for name in answers.classes.tolist()])


def _renamed(answers: Answers, to: list[Any]) -> Answers:
    """The answers with other names of classes, the same for several that are one."""
    if to == answers.classes.tolist():
        return answers
    names = object_array(sort_classes(list(dict.fromkeys(to))))
    label = pd.Index(names).get_indexer(pd.Index(object_array(to)))[answers.label]
    return replace(answers, label=label.astype(answers.label.dtype), classes=names)


def mention_no_answers(answers: Answers, used: NDArray[Any] | None = None, meant: Sequence[Any] | None = None) -> None:
    """Name labels that seem to be no answers, and say how to leave them out.

    Parameters
    ----------
    answers : Answers
    used : array or None
        Labels that people or gold labels have, each as often as it was given: of others, those that hardly any answer
        has are named as well, and those that people would have used by now.
    meant : sequence or None
        Labels that the user has named as classes; these are not mentioned.
    """
    if numbers_of(answers.classes.tolist()) is not None:  # of many numbers, most are rare
        return
    n, names = np.bincount(answers.label, minlength=len(answers.classes)), answers.classes
    odd = _odd(names, n / max(n.sum(), 1), used) & (n > 0)
    if meant is not None and len(meant):
        odd &= matched(names, pd.unique(object_array([as_spelt(name, names) for name in meant]))) < 0
    if not odd.any():
        return
    those = names[odd][np.argsort(-n[odd], kind="stable")][:MOST_LISTED]
    number = {plain(name): count(int(k), "answer") for name, k in zip(names.tolist(), n, strict=True)}
    said = ", ".join(f"{plain(name)!r} ({number[plain(name)]})" for name in those[:NAMED].tolist())
    more = f" and {odd.sum() - NAMED} more" if odd.sum() > NAMED else ""
    count_as = "counts as a class" if odd.sum() == 1 else "count as classes"
    what = f"{said}{more} {count_as}, and may not be answers."
    remedy = "If so, leave them out: {}."
    listing = [plain(name) for name in those.tolist()]
    forms = f"missing={listing!r}", f"--missing {shlex.quote(joined_names(listing))}"
    warnings.warn(FitWarning(what, remedy.format(forms[0]), command=remedy.format(forms[1])), stacklevel=4)


def _odd(names: NDArray[Any], share: NDArray[np.float64], used: NDArray[Any] | None) -> NDArray[np.bool_]:
    """Which labels seem to be no answers; ``share`` of the answers have them, and people or gold labels ``used`` some.

    What may be the name of a class is one if people use it, or if without it a single class would be left.
    """
    folded = [fold(name) for name in names.tolist()]
    odd = np.array([is_no_answer(name, part) for name, part in zip(folded, share, strict=True)])
    maybe = np.array([is_no_answer(name, 0.0) for name in folded])
    if used is not None and len(used):
        theirs = matched(names, pd.unique(used)) >= 0
        missed = ((1 - share) ** len(used) * len(names) < UNLIKELY) & (share[theirs].sum() > 1 / 2)
        maybe = (maybe | (share < STRAY) | missed) & ~theirs
    return odd | maybe if (~(odd | maybe) & (share > 0)).sum() > 1 else odd
