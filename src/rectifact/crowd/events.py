"""One class against all others, or grades: what judges and people say, and whether people saw a random sample."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr
from scipy.stats import chi2_contingency

from rectifact.core.errors import FitWarning, count
from rectifact.crowd.advice.gold import cross_fitted
from rectifact.crowd.copies import fit_without_copies
from rectifact.crowd.data.answers import Answers
from rectifact.crowd.data.names import listed, matched, object_array, plain
from rectifact.crowd.dawid_skene import DawidSkene
from rectifact.crowd.prediction_powered import LEAST_LABELS, Estimate, Floats, Share, mean, share

EVERYTHING = "all tasks"
"""Name of the group with all tasks."""

Members = NDArray[np.bool_]
"""Which tasks are in a group."""

SURPRISING = 0.01
"""Probability of a difference between tasks with and without labels below which labels look selected."""


LEANS = ", so that the rate leans to such tasks"
"""What labels that look selected mean for a rate by people."""


@dataclass(frozen=True)
class Judged:
    """Answers of judges, and what they say together before any person is heard.

    Attributes
    ----------
    answers : Answers
    posteriors : array of shape (n_tasks, n_classes)
        Probabilities by :class:`rectifact.DawidSkene`; the judge's own answer where there is only one judge.
    """

    answers: Answers
    posteriors: Floats


def judge(answers: Answers) -> Judged:
    """What all judges say together, without any gold labels."""
    if len(answers.workers) == 1 or len(answers.classes) == 1:
        return Judged(answers, answers.shares())
    return Judged(answers, fit_without_copies(DawidSkene(), answers).probas_)


@dataclass(frozen=True)
class Measured:
    """What people and judges say of each task, as numbers: whether it is of a class, or its grade.

    Attributes
    ----------
    truth : array of shape (n_tasks,)
        By the labels of people, NaN where there is none; 1 or 0 for a class.
    weights : array of shape (n_tasks,) or None
        Weights of the labels.
    views : mapping of str to array of shape (n_tasks,)
        What judges think of a task, by its name, to see whether people saw a random sample.
    votes : array of shape (n_tasks,)
        Mean of the judges' answers.
    predicted : array of shape (n_tasks,)
        What judges say, made without the task's label.
    step : float or None
        The smallest difference between two grades; None for a class, whose share is estimated and not a mean.
    """

    truth: Floats
    weights: Floats | None
    views: Mapping[str, Floats]
    votes: Floats
    predicted: Floats
    step: float | None = None

    @property
    def labelled(self) -> Members:
        """Which tasks have a label."""
        return ~np.isnan(self.truth)

    def shares_of_labels(self, some: Members) -> Floats:
        """Weights of the labels of some tasks, which add up to 1."""
        weights = np.ones(int(some.sum())) if self.weights is None else self.weights[some]
        return weights / weights.sum()

    def estimates(self, members: Members) -> "Estimates":
        """The share or mean of some tasks."""
        some = members & self.labelled
        naive = float(self.votes[members].mean())
        if not some.any():
            nothing = Share(np.nan, np.nan, 0, int(members.sum()), np.nan, 0.0)
            return Estimates(nothing, nothing, naive)
        predicted, everywhere = self.predicted[some], self.predicted[members]
        return Estimates(self._estimate(some, predicted, everywhere), self._estimate(some, 0, 0 * everywhere), naive)

    def _estimate(self, some: Members, predicted: Any, everywhere: Floats) -> Estimate:
        truth, weights = self.truth[some], None if self.weights is None else self.weights[some]
        predicted = np.broadcast_to(predicted, truth.shape)
        if self.step is None:
            return share(truth, predicted, everywhere, weights)
        return mean(truth, predicted, everywhere, weights, self.step)


@dataclass(frozen=True)
class Estimates:
    """The same share or mean three times: corrected, by people alone, and by judges alone."""

    corrected: Estimate
    people: Estimate
    judges: float


CONFIDENCE = "the confidence of the judges"


def views_of_class(probability: Floats) -> dict[str, Floats]:
    """What judges think of a class: how probable it is, and how sure they are."""
    return {
        "the probability that judges give to the class": probability,
        CONFIDENCE: np.abs(probability - 0.5) + 0.5,
    }


def class_event(
    judged: Judged, positive: Sequence[Any], known: NDArray[np.int64], weights: Floats | None, seen: Floats | None
) -> Measured:
    """Whether a task is of a ``positive`` class.

    ``known`` is 1 or 0 by the label of people, -1 where there is none. ``seen`` are votes of judges alone, where people
    took part in ``judged``: people who answer a plan make its tasks certain, and that says nothing about how others
    were drawn.
    """
    answers = judged.answers
    chosen = matched(answers.classes, object_array(list(positive))) >= 0
    posterior = np.clip(judged.posteriors[:, chosen].sum(axis=1), 0, 1)
    predicted = posterior
    if (known >= 0).sum() >= LEAST_LABELS:
        predicted = cross_fitted(np.column_stack([1 - posterior, posterior]), known)[:, 1]
    views = views_of_class(posterior if seen is None else seen[:, chosen].sum(axis=1))
    truth = np.where(known >= 0, known, np.nan)
    return Measured(truth, weights, views, answers.shares()[:, chosen].sum(axis=1), predicted)


def grade_event(answers: Answers, values: Floats, truth: Floats, weights: Floats | None, step: float) -> Measured:
    """The grade of a task, where ``values`` are the numbers of the classes, and ``truth`` the grades by people.

    Judges predict it by the mean of their grades, each compared with the judge's own mean: a strict judge who saw a
    task does not make it a bad one. That mean need not be on the scale of people.
    """
    given, answered = values[answers.label], np.bincount(answers.task)
    own = np.bincount(answers.worker, given) / np.maximum(np.bincount(answers.worker), 1)
    far = np.bincount(answers.task, given - own[answers.worker]) / answered
    votes = np.bincount(answers.task, given) / answered
    return Measured(truth, weights, {"the grade by judges": far + given.mean()}, votes, far, step)


def warn_of_few(event: Measured, by_group: Mapping[Any, Members], by_people: bool = False) -> None:
    """Say where there are too few labels for judges to help."""
    labelled = event.labelled
    if labelled.sum() < LEAST_LABELS:
        n = int(labelled.sum())
        labels = f"{count(n, 'task')} that people labelled" if by_people else count(n, "gold label")
        alone = "people" if by_people else "gold labels"
        what = f"{labels} {'is' if n == 1 else 'are'} too few to use the judges, so {alone} alone decide."
        warnings.warn(FitWarning(what, f"Give at least {LEAST_LABELS}, better 100."), stacklevel=4)
        return
    labels, given = "labels of people" if by_people else "gold labels", labels_by_group(labelled, by_group)
    few = [name for name, n in given.items() if 0 < n < LEAST_LABELS]
    if few:
        what = f"Fewer than {LEAST_LABELS} {labels} in {listed(object_array(few))}, so they alone decide there."
        warnings.warn(FitWarning(what), stacklevel=4)
    none = [name for name, n in given.items() if not n]
    if none:
        what = f"There are no {labels} in {listed(object_array(none))}, so nothing is measured there."
        warnings.warn(FitWarning(what, "Label tasks drawn at random from each group."), stacklevel=4)


def labels_by_group(labelled: Members, by_group: Mapping[Any, Members]) -> dict[Any, int]:
    """How many tasks of each group have a label."""
    return {name: int((members & labelled).sum()) for name, members in by_group.items()}


def warn_if_selected(event: Measured, members: Mapping[Any, Members], by_people: bool = False) -> str:
    """Say, and return, where judges think differently of the tasks with labels than of all, by more than chance.

    ``by_people`` are the labels those of people, who may have been asked about tasks in doubt.
    """
    surprises = [
        (*_surprise(event, some, values), view, name)
        for name, some in members.items()
        for view, values in event.views.items()
    ]
    p_value, labelled, everywhere, view, name = min(surprises, key=lambda one: one[0])
    if p_value * len(surprises) >= SURPRISING:
        return ""
    where = "" if name == EVERYTHING else f" in {plain(name)!r}"
    figures = f"{view} is {labelled:.2f} on average over these tasks, and {everywhere:.2f} over all tasks."
    if not by_people:
        what = f"The tasks with gold labels do not look like a random sample{where}: {figures}"
        remedy = "Label tasks drawn at random, or give gold_weights."
        warnings.warn(FitWarning(what, remedy, option="gold_weights"), stacklevel=4)
        return what
    planned = view == CONFIDENCE and labelled < everywhere
    how = "are more often in doubt than others, as those of a plan are" if planned else "look selected"
    what = f"The tasks that people labelled {how}{where}{LEANS}: {figures}"
    remedy = "For the rate, give gold labels of tasks drawn at random{}."
    command = remedy.format(": --sample tasks.csv draws some")
    warnings.warn(FitWarning(what, remedy.format(""), command=command), stacklevel=4)
    return what


def warn_if_unequal(event: Measured, by_group: Mapping[Any, Members], by_people: bool = False) -> bool:
    """Say where people labelled a larger share of one group than of another, which matters for all tasks together."""
    if len(by_group) < 2 or event.weights is not None:
        return False
    labelled = event.labelled
    table = np.array([[(some & labelled).sum(), (some & ~labelled).sum()] for some in by_group.values()])
    if not table.sum(axis=0).all() or chi2_contingency(table).pvalue >= SURPRISING:
        return False
    shares = table[:, 0] / table.sum(axis=1)
    least, most = (repr(plain(list(by_group)[int(place)])) for place in (shares.argmin(), shares.argmax()))
    what = (
        f"People labelled {shares.max():.0%} of the tasks in {most} and {shares.min():.0%} of those in {least}, so "
        "that the row for all tasks leans to the former."
    )
    remedy, weighable = "Groups and differences are not affected", not by_people and bool(shares.min())
    more = "; give gold_weights to correct the row for all tasks." if weighable else "."
    warnings.warn(FitWarning(what, f"{remedy}{more}", option="gold_weights" if weighable else ()), stacklevel=4)
    return True


def _surprise(event: Measured, members: Members, values: Floats) -> tuple[float, float, float]:
    """Probability of such a difference by chance, and the means of the tasks with labels and of all."""
    some = members & event.labelled
    if min(some.sum(), (members & ~some).sum()) < LEAST_LABELS:
        return 1.0, np.nan, np.nan
    w = np.ones(int(some.sum())) if event.weights is None else event.weights[some]
    w = w / w.sum()
    labelled, everywhere = float(w @ values[some]), float(values[members].mean())
    spread = float(values[members].var() * (w @ w - 1 / members.sum()))
    p_value = 2 * ndtr(-abs(labelled - everywhere) / np.sqrt(spread)) if spread > 0 else 1.0
    return float(p_value), labelled, everywhere


def members_of(n_tasks: int, groups: tuple[NDArray[np.int64], NDArray[Any]] | None) -> dict[Any, Members]:
    """Which tasks belong to each group, and all of them."""
    named = {} if groups is None else {plain(name): groups[0] == g for g, name in enumerate(groups[1])}
    return {EVERYTHING: np.ones(n_tasks, dtype=bool)} | named


def labels_that_decide(labelled: Members, by_group: Mapping[Any, Members]) -> tuple[dict[Any, int], dict[Any, bool]]:
    """How many labels each group has that is not empty, and whether they decide in it.

    Groups are compared with each other: labels decide in all of them, or in none.
    """
    counts = labels_by_group(labelled, {name: some for name, some in by_group.items() if some.any()})
    fewest = min([n for name, n in counts.items() if name != EVERYTHING], default=0)
    return counts, {name: (n if name == EVERYTHING else fewest) >= LEAST_LABELS for name, n in counts.items()}
