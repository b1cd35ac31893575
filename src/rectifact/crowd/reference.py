"""What a panel is measured by: gold labels, or else the people on it; and what it says before these are heard."""

import warnings
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rectifact.core.errors import FitWarning, count
from rectifact.crowd.data.answers import Answers
from rectifact.crowd.data.humans import consensus, task_groups
from rectifact.crowd.data.names import Gold, matched, refuse_strange
from rectifact.crowd.data.people import Panel
from rectifact.crowd.data.verdicts import only
from rectifact.crowd.em import Floats
from rectifact.crowd.events import Judged, judge
from rectifact.crowd.panel_rates import Rates, rates_of
from rectifact.crowd.prediction_powered import LEAST_LABELS

GOLD, PEOPLE = "gold labels", "people"


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
    lost = int((matched(gold[0], answers.tasks) < 0).sum())
    if lost:
        verb = "was" if lost == 1 else "were"
        what = f"{count(lost, 'gold label')} of tasks that nobody answered {verb} left out."
        warnings.warn(FitWarning(what), stacklevel=4)
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
    """What rates are asked for: of which classes, by groups of tasks, with which probability and half-width."""

    names: tuple[Any, ...]
    groups: dict[Any, Any] | None
    confidence: float
    half_width: float | None


def rates_by(reference: Reference, panel: Panel, asked: Asked) -> Rates | None:
    """The rates by a reference; None where no class is named, or nothing to measure by is there."""
    if not asked.names or reference.labels is None:
        return None
    judged = reference.judged
    by = None if asked.groups is None else task_groups(asked.groups, None, judged.answers)
    options: dict[str, Any] = {"groups": by, "confidence": asked.confidence, "half_width": asked.half_width}
    options["by_people"] = reference.name == PEOPLE
    if reference.name == GOLD and panel.has_people:
        answers = panel.answers
        alone = ~panel.is_person[answers.worker]
        options["seen"] = replace(
            answers, task=answers.task[alone], worker=answers.worker[alone], label=answers.label[alone]
        ).shares()
    found = rates_of(judged, reference.labels, list(asked.names), **options)
    return found.named(
        reference.name, "judges" if len(judged.answers.workers) == panel.n_judges else "judges and people"
    )


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
