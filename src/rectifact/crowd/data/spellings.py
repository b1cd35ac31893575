"""Spellings of labels that differ only in case, spaces or a final .0, and labels that say that there is no answer."""

import re
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rectifact.core.errors import FitWarning, count
from rectifact.crowd.data.grade_texts import plain_grades
from rectifact.crowd.data.label_starts import class_texts, say_read
from rectifact.crowd.data.marks import NUMBER
from rectifact.crowd.data.names import (
    NAMED,
    Gold,
    as_spelt,
    fold,
    listed,
    matched,
    object_array,
    outside_classes,
    plain,
    unmarked,
)

NO_ANSWER = {"n/a", "#n/a", "n.a.", "null", "nan", "nil", "undefined"}
"""What tools write in place of an answer, without capitals."""

MAYBE_NO_ANSWER = {"na", "none", "-", "--", "?", "missing", "empty", "skipped", "no answer"}
"""What may also be the name of a class, if many answers have it."""

FAILED = re.compile(
    r"(api |parse |parsing |json |rate ?limit |http )?(error|exception|failure)\b.*|time[d ]*out\b.*|parse .*"
)
"""What stands where a judge did not answer, or its answer could not be read."""

REFUSED = re.compile(
    r"(.*\b)?(i|we)( am|'m|’m)? (cannot|can not|can't|can’t|could not|couldn't|unable to|not able to|not sure)\b.*"
    r"|(unable|failed) to .*|as an ai\b.*"
    r"|(cannot|can't) (be )?(judge|answer|determine|assess|evaluate|decide|say|tell)d?\b.*"
)
"""What a judge says instead of an answer."""

SELDOM = 0.1
"""Share of the answers below which such a name is hardly that of a class."""


def one_spelling(names: list[Any], given: NDArray[Any], classes: Sequence[Any] | None = None) -> list[Any]:
    """How each name is spelt: as ``classes`` do, which keep apart what they list apart, or as it is given most often.

    Examples
    --------
    >>> import numpy as np
    >>> one_spelling(["Ok ", "no", "ok"], np.array([1, 2, 3])), one_spelling(["a", "A"], np.ones(2), ["a", "A"])
    (['ok', 'no', 'ok'], ['a', 'A'])
    >>> one_spelling(["ok", "**ok**", "no", "No."], np.ones(4)), one_spelling(["A", "A-", "C", "C++"], np.ones(4))
    (['ok', 'ok', 'no', 'no'], ['A', 'A-', 'C', 'C++'])
    """
    wanted = [] if classes is None else list(classes)
    place = matched(object_array(wanted), object_array(names)).tolist() if wanted else []
    kept = [names[i] if i >= 0 else name for name, i in zip(wanted, place, strict=True)]
    best: dict[str, Any] = {}
    for name in [*kept, *(names[i] for i in sorted(range(len(names)), key=lambda i: (-given[i], str(names[i]))))]:
        best.setdefault(fold(name), name)
    marked = _without_marks(best, set(map(fold, kept)))
    return [name if name in kept else marked[fold(name)] for name in names]


def _without_marks(best: dict[str, Any], kept: set[str]) -> dict[str, Any]:
    """Spellings, with labels with marks around them spelt like the same label without, if it is there.

    Where all labels have marks, those that differ only in marks are one, and numbers are numbers. What is ``kept``
    stays, and so do all if a single label would be left.
    """
    core = {form: unmarked(form) for form in best}
    some_plain = any(form == without for form, without in core.items())
    target: dict[str, Any] = {}
    for form in best:  # those that are kept come first, and then the most frequent
        if form in kept or form == core[form] or not some_plain:
            target.setdefault(core[form], best[form])
    if not some_plain and all(map(NUMBER.fullmatch, core.values())):
        target = {without: without for without in target}
    found = {form: name if form in kept else target.get(core[form], name) for form, name in best.items()}
    return found if len(set(found.values())) > 1 else best


def spelt_as(names: list[Any], codes: NDArray[Any], classes: list[Any]) -> list[Any]:
    """Names as ``classes`` are spelt, which a warning says if they differ; others are refused."""
    if all(name in classes for name in names):
        return names
    known = object_array(classes)
    spelt = [name if name in classes else as_spelt(name, known) for name in names]
    texts = class_texts(spelt, classes)
    unknown = [name for name in spelt if name not in classes and name not in texts]
    if unknown:
        raise outside_classes(unknown, classes, "given ")
    given = np.bincount(codes, minlength=len(names))
    if spelt != names:
        say_respelt(names, spelt, given)
    if texts:
        say_read(texts, int(sum(k for name, k in zip(spelt, given, strict=True) if name in texts)))
    return [texts.get(name, name) for name in spelt]


def say_respelt(names: Sequence[Any], spelt: Sequence[Any], given: NDArray[Any]) -> None:
    """Say which names are spelt otherwise, and how many answers have them."""
    groups: dict[Any, list[Any]] = {}
    for name, to in zip(names, spelt, strict=True):
        if name != to:
            groups.setdefault(to, []).append(name)
    n_other = int(sum(k for name, to, k in zip(names, spelt, given, strict=True) if name != to))
    said = "; ".join(f"{listed(object_array(own))} as {plain(to)!r}" for to, own in list(groups.items())[:NAMED])
    more = f"; and {len(groups) - NAMED} more" if len(groups) > NAMED else ""
    answers = count(n_other, "answer")
    marks = any(fold(name) != fold(to) for name, to in zip(names, spelt, strict=True))
    differ = "case, spaces, punctuation or a final .0" if marks else "case, spaces or a final .0"
    what = f"Labels that differ only in {differ} count as one: {said}{more} ({answers})."
    remedy = "To keep some apart, list them with {}."
    warnings.warn(FitWarning(what, remedy.format("classes"), command=remedy.format("--classes")), stacklevel=5)


def is_no_answer(folded: str, share: float) -> bool:
    """Whether a label, without capitals, says that there is no answer; ``share`` of the answers have it."""
    words = folded.replace("_", " ").replace("-", " ").strip() or folded
    if folded in MAYBE_NO_ANSWER or words in MAYBE_NO_ANSWER:
        return share < SELDOM
    return is_failure(folded) or REFUSED.fullmatch(words) is not None


def is_failure(folded: str) -> bool:
    """Whether a label, without capitals, is what tools write where there is no answer, or it could not be read.

    Examples
    --------
    >>> is_failure("n/a"), is_failure("parse_error"), is_failure("none")
    (True, True, False)
    """
    words = folded.replace("_", " ").replace("-", " ").strip() or folded
    return folded in NO_ANSWER or words in NO_ANSWER or FAILED.fullmatch(words) is not None


def gold_like(gold: Gold, classes: NDArray[Any]) -> Gold:
    """Certain labels spelt as the classes of the answers; those that say that there is no label are left out.

    What may be the name of a class that no worker has, such as none, stays: it may not be dropped unasked.

    A warning says which were spelt otherwise, and how many were left out.
    """
    tasks, labels = gold[0], object_array(list(gold[1]))
    unknown = matched(labels, classes) < 0
    if not unknown.any():
        return gold
    labels[unknown] = plain_grades(labels[unknown].tolist())
    unknown = matched(labels, classes) < 0
    several = classes.tolist()[::-1]
    like = {unmarked(name): plain(name) for name in several} | {fold(name): plain(name) for name in several}
    spelt = object_array([like.get(fold(name), like.get(unmarked(name))) for name in labels])
    place = np.array([name is not None for name in spelt], dtype=bool) & unknown
    empty = np.array([not pd.isna(name) and is_no_answer(fold(name), 1.0) for name in labels]) & unknown & ~place
    if place.any():
        own = pd.unique(labels[place])
        labels_are = "Gold labels {} are" if len(own) > 1 else "The gold label {} is"
        marks = any(fold(name) != fold(to) for name, to in zip(labels[place], spelt[place], strict=True))
        differ = "case, spaces or punctuation" if marks else "case or spaces"
        what = f"{labels_are.format(listed(own))} read as {listed(pd.unique(spelt[place]))}: only {differ} differ."
        warnings.warn(FitWarning(what), stacklevel=5)
        labels[place] = spelt[place]
    if empty.any():
        were = "was" if empty.sum() == 1 else "were"
        said = listed(pd.unique(labels[empty]))
        what = f"{count(int(empty.sum()), 'gold label')} {were} left out, as there is no such class: {said}."
        warnings.warn(FitWarning(what), stacklevel=5)
    return tasks[~empty], labels[~empty]
