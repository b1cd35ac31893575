"""What a panel is measured by: gold labels, or else the people on it; and what it says before these are heard."""

import warnings
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rectifact.core.errors import FitWarning, InputError, count
from rectifact.crowd.data.answers import Answers
from rectifact.crowd.data.humans import consensus, task_groups
from rectifact.crowd.data.names import (
    Gold,
    listed,
    matched,
    object_array,
    plain,
    plain_text,
    refuse_strange,
    with_commas,
)
from rectifact.crowd.data.people import Panel
from rectifact.crowd.data.unmatched import left_out
from rectifact.crowd.data.verdicts import only
from rectifact.crowd.em import Floats
from rectifact.crowd.events import Judged, judge
from rectifact.crowd.panel_rates import Rates, means_of, rates_of
from rectifact.crowd.prediction_powered import LEAST_LABELS

GOLD, PEOPLE = "gold labels", "people"

POSITIVE = {"pass", "passed", "yes", "true", "1", "correct", "right", "good", "accept", "accepted", "positive", "win"}
"""Names of a class whose share is meant where none is named."""


@dataclass(frozen=True)
class Reference:
    """Labels to measure by.

    Attributes
    ----------
    name : str
        Gold labels, people, or nothing, which is empty.
    labels : Series or None
        Labels by task, several for a task that several people answered.
    judged : Judged
        What the panel says without them: judges alone, where people are the reference.
    truth : array of shape (n_tasks,) or None
        Number of the class of each task of the panel, -1 where it is not known.
    posteriors : array of shape (n_tasks, n_classes)
        What the panel says without them, for all its tasks.
    """

    name: str
    labels: "pd.Series[Any] | None"
    judged: Judged
    truth: NDArray[np.int64] | None
    posteriors: Floats


def gold_classes(answers: Answers, gold: Gold | None) -> NDArray[np.int64] | None:
    """The class of tasks with a gold label; a message says how many labels are of tasks that nobody answered."""
    if gold is None:
        return None
    refuse_strange(gold[1][matched(gold[0], answers.tasks) >= 0], answers.classes)
    known = answers.known(gold)
    left_out(gold[0], matched(gold[0], answers.tasks) >= 0)
    return known


def gold_series(answers: Answers, known: NDArray[np.int64]) -> "pd.Series[Any]":
    """Gold labels by task, as classes of the answers."""
    some = known >= 0
    return pd.Series(answers.classes[known[some]], index=pd.Index(answers.tasks[some], dtype=object))


def reference_of(panel: Panel, posteriors: Floats, known: NDArray[np.int64] | None, gold: Gold | None) -> Reference:
    """What a panel is measured by.

    Gold labels, if there are enough of them or no people; else the people.

    Parameters
    ----------
    panel : Panel
    posteriors : array of shape (n_tasks, n_classes)
        Of all answers, without gold labels.
    known : array of shape (n_tasks,) or None
        Classes of the tasks with a gold label.
    gold : Gold or None
        The gold labels themselves.
    """
    n_gold = 0 if known is None else int((known >= 0).sum())
    if gold is not None and (n_gold >= LEAST_LABELS or (n_gold and not panel.has_people)):
        labels = pd.Series(gold[1], index=pd.Index(gold[0], dtype=object), dtype=object)
        return Reference(GOLD, labels, Judged(panel.answers, posteriors), known, posteriors)
    if not panel.has_people:
        return Reference("", None, Judged(panel.answers, posteriors), None, posteriors)
    if n_gold:
        what = (
            f"{count(n_gold, 'gold label')} {'is' if n_gold == 1 else 'are'} too few to measure by, so people decide."
        )
        warnings.warn(FitWarning(what, f"Give at least {LEAST_LABELS}, better 100."), stacklevel=4)
    return by_people(panel)


def by_people(panel: Panel) -> Reference:
    """People as the reference: their consensus, and what judges say without them."""
    answers = panel.answers
    theirs = panel.is_person[answers.worker]
    tasks, said = answers.tasks[answers.task[theirs]], answers.classes[answers.label[theirs]]
    truth = consensus_classes(panel)
    judged = judge(only(answers, ~panel.is_person))
    posteriors = np.tile(answers.shares().mean(axis=0), (len(answers.tasks), 1))
    posteriors[matched(judged.answers.tasks, answers.tasks)] = judged.posteriors
    by_task = pd.Series(said, index=pd.Index(tasks, dtype=object), dtype=object)
    return Reference(PEOPLE, by_task, judged, truth, posteriors)


def consensus_classes(panel: Panel) -> NDArray[np.int64]:
    """The class that people agree on, by task; -1 where none of them answered, or they tie."""
    answers, theirs = panel.answers, panel.is_person[panel.answers.worker]
    tasks, said = answers.tasks[answers.task[theirs]], answers.classes[answers.label[theirs]]
    with warnings.catch_warnings(action="ignore"):  # ties are mentioned by the rates
        agreed, labels = consensus((tasks, said))
    truth = np.full(len(answers.tasks), -1, dtype=np.int64)
    truth[matched(agreed, answers.tasks)] = matched(labels, answers.classes)
    return truth


class Asked(NamedTuple):
    """What rates are asked for: of which classes, or the mean, by groups of tasks, with which intervals.

    Where no class is named, it is the mean of ``grades``, the numbers that the classes stand for, if they do; the
    half-width is then a share of their range.
    """

    names: tuple[Any, ...]
    grades: Floats | None
    groups: dict[Any, Any] | None
    confidence: float
    half_width: float | None


def asked_classes(given: Any, answers: Answers) -> tuple[Any, ...]:
    """The classes whose share is asked for, spelt as in the answers; none where nobody can tell."""
    if given is None:
        usual = POSITIVE if len(answers.classes) == 2 else POSITIVE - {"1"}  # which may be a grade
        named = [name for name in answers.classes.tolist() if plain_text(name).strip().lower() in usual]
        if len(named) != 1:
            return ()
        return tuple(named)
    names = list(given) if isinstance(given, list | tuple | set | np.ndarray) else [given]
    names = with_commas(names, answers.classes)
    place = matched(object_array(names), answers.classes)
    for name, where in zip(names, place, strict=True):
        if where < 0:
            what = f"positive={plain(name)!r} is not among the classes {listed(answers.classes)}."
            raise InputError(what, "Check the spelling.", option="positive")
    return tuple(plain(answers.classes[where]) for where in place)


def rates_by(reference: Reference, panel: Panel, asked: Asked) -> Rates | None:
    """The rates by a reference; None where nothing is asked for, or nothing to measure by is there."""
    if reference.labels is None or not (asked.names or asked.grades is not None):
        return None
    judged = reference.judged
    by = None if asked.groups is None else task_groups(asked.groups, None, judged.answers)
    options: dict[str, Any] = {"groups": by, "confidence": asked.confidence, "half_width": asked.half_width}
    options["by_people"] = reference.name == PEOPLE
    panel_name = "judges" if len(judged.answers.workers) == panel.n_judges else "judges and people"
    if not asked.names and asked.grades is not None:
        if asked.half_width is not None:
            options["half_width"] = asked.half_width * float(np.ptp(asked.grades))
        return means_of(judged.answers, reference.labels, **options).named(reference.name, panel_name)
    if reference.name == GOLD and panel.has_people:
        answers = panel.answers
        alone = ~panel.is_person[answers.worker]
        options["seen"] = replace(
            answers, task=answers.task[alone], worker=answers.worker[alone], label=answers.label[alone]
        ).shares()
    return rates_of(judged, reference.labels, list(asked.names), **options).named(reference.name, panel_name)


def grades_by(reference: Reference, panel: Panel, asked: Asked) -> Rates | None:
    """The mean grades by a reference, beside the share of a class; None where labels are not grades."""
    if asked.grades is None:
        return None
    with warnings.catch_warnings(action="ignore"):  # about the labels: the share has said it
        return rates_by(reference, panel, asked._replace(names=(), half_width=None))


def people_beside(reference: Reference, panel: Panel) -> Reference | None:
    """People as a second reference, where gold labels decide and people labelled enough tasks."""
    if reference.name != GOLD or not panel.has_people:
        return None
    people = by_people(panel)
    return None if people.truth is None or (people.truth >= 0).sum() < LEAST_LABELS else people


def beside_gold(
    reference: Reference, people: Reference | None, panel: Panel, asked: Asked
) -> tuple[Rates | None, tuple[int, int] | None]:
    """The rates as people label, where gold labels decide, and from how many gold labels people differ, of how many."""
    if people is None or people.truth is None or reference.truth is None:
        return None, None
    with warnings.catch_warnings(action="ignore"):  # about people who chose their tasks: gold labels decide
        rates = rates_by(people, panel, asked)
    both = (people.truth >= 0) & (reference.truth >= 0)
    wrong = int((people.truth != reference.truth)[both].sum())
    return rates, (wrong, int(both.sum())) if both.any() else None
