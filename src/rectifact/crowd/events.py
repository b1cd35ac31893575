"""One class against all others: what judges and people say of it, and whether people saw a random sample of tasks."""

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
from rectifact.crowd.prediction_powered import LEAST_LABELS, Floats, Share, share

EVERYTHING = "all tasks"
"""Name of the group with all tasks."""

Members = NDArray[np.bool_]
"""Which tasks are in a group."""

SURPRISING = 0.01
"""Probability of a difference between tasks with and without labels below which labels look selected."""


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
class Event:
    """Whether the class of a task is one of those that count: what people and judges say.

    Attributes
    ----------
    known : array of shape (n_tasks,)
        1 or 0 by the label of people, -1 where there is none.
    weights : array of shape (n_tasks,) or None
        Weights of the labels.
    posterior : array of shape (n_tasks,)
        Probability by the judges.
    votes : array of shape (n_tasks,)
        Share of the judges' answers.
    predicted : array of shape (n_tasks,)
        The probability, calibrated by other tasks' labels.
    """

    known: NDArray[np.int64]
    weights: Floats | None
    posterior: Floats
    votes: Floats
    predicted: Floats

    def shares(self, members: Members) -> "Shares":
        """Shares of some tasks."""
        some = members & (self.known >= 0)
        naive = float(self.votes[members].mean())
        if not some.any():
            nothing = Share(np.nan, np.nan, 0, int(members.sum()), np.nan, 0.0)
            return Shares(nothing, nothing, naive)
        truth, predicted, everywhere = self.known[some].astype(float), self.predicted[some], self.predicted[members]
        weights = None if self.weights is None else self.weights[some]
        alone = share(truth, 0 * predicted, 0 * everywhere, weights)
        return Shares(share(truth, predicted, everywhere, weights), alone, naive)


@dataclass(frozen=True)
class Shares:
    """The same share three times: corrected, by people alone, and by judges alone."""

    corrected: Share
    people: Share
    judges: float


def event_of(judged: Judged, positive: Sequence[Any], known: NDArray[np.int64], weights: Floats | None) -> Event:
    """The event that a task is of a ``positive`` class; ``known`` and ``weights`` are as in :class:`Event`."""
    answers = judged.answers
    chosen = matched(answers.classes, object_array(list(positive))) >= 0
    posterior = np.clip(judged.posteriors[:, chosen].sum(axis=1), 0, 1)
    predicted = posterior
    if (known >= 0).sum() >= LEAST_LABELS:
        predicted = cross_fitted(np.column_stack([1 - posterior, posterior]), known)[:, 1]
    return Event(known, weights, posterior, answers.shares()[:, chosen].sum(axis=1), predicted)


def warn_of_few(event: Event, by_group: Mapping[Any, Members], by_people: bool = False) -> None:
    """Say where there are too few labels for judges to help."""
    labelled = event.known >= 0
    if labelled.sum() < LEAST_LABELS:
        n = int(labelled.sum())
        labels = f"{count(n, 'task')} that people labelled" if by_people else count(n, "gold label")
        what = f"{labels} {'is' if n == 1 else 'are'} too few to use the judges, so people alone decide."
        warnings.warn(FitWarning(what, f"Give at least {LEAST_LABELS}, better 100."), stacklevel=4)
        return
    few = [name for name, members in by_group.items() if (members & labelled).sum() < LEAST_LABELS]
    if few:
        labels = "labels of people" if by_people else "gold labels"
        what = f"Fewer than {LEAST_LABELS} {labels} in {listed(object_array(few))}, so people alone decide there."
        warnings.warn(FitWarning(what), stacklevel=4)


def warn_if_selected(
    event: Event, members: Mapping[Any, Members], by_people: bool = False, seen: Floats | None = None
) -> str:
    """Say, and return, where judges think differently of the tasks with labels than of all, by more than chance.

    ``seen`` is what judges alone think of the class, where posteriors know more: people who answer a plan make the
    tasks of the plan certain, and that says nothing about how others were drawn. ``by_people`` are the labels those of
    people, who may have been asked about tasks in doubt.
    """
    posterior = event.posterior if seen is None else seen
    confidence = "the confidence of the judges"
    views = {
        "the probability that judges give to the class": posterior,
        confidence: np.abs(posterior - 0.5) + 0.5,
    }
    surprises = [
        (*_surprise(event, some, values), view, name)
        for name, some in members.items()
        for view, values in views.items()
    ]
    p_value, labelled, everywhere, view, name = min(surprises)
    if p_value * len(surprises) >= SURPRISING:
        return ""
    where = "" if name == EVERYTHING else f" in {plain(name)!r}"
    figures = f"{view} is {labelled:.2f} in the mean of these tasks, and {everywhere:.2f} in that of all."
    if not by_people:
        what = f"The tasks with gold labels do not look like a random sample{where}: {figures}"
        remedy = "Label tasks drawn at random, or give gold_weights."
        warnings.warn(FitWarning(what, remedy, option="gold_weights"), stacklevel=4)
        return what
    planned = view == confidence and labelled < everywhere
    how = "are more often in doubt than others, as those of a plan are" if planned else "look selected"
    what = f"The tasks that people labelled {how}{where}, so that the rate leans to such tasks: {figures}"
    remedy = "For the rate, give gold labels of tasks drawn at random{}."
    command = remedy.format(": --sample tasks.csv draws some")
    warnings.warn(FitWarning(what, remedy.format(""), command=command), stacklevel=4)
    return what


def warn_if_unequal(event: Event, by_group: Mapping[Any, Members], by_people: bool = False) -> bool:
    """Say where people labelled a larger share of one group than of another, which matters for all tasks together."""
    if len(by_group) < 2 or event.weights is not None:
        return False
    labelled = event.known >= 0
    table = np.array([[(some & labelled).sum(), (some & ~labelled).sum()] for some in by_group.values()])
    if not table.sum(axis=0).all() or chi2_contingency(table).pvalue >= SURPRISING:
        return False
    shares = table[:, 0] / table.sum(axis=1)
    least, most = (repr(plain(list(by_group)[int(place)])) for place in (shares.argmin(), shares.argmax()))
    what = (
        f"People labelled {shares.max():.0%} of the tasks in {most} and {shares.min():.0%} of those in {least}, so "
        "that the row for all tasks leans to the former."
    )
    remedy = "Groups and differences are not affected"
    more = "." if by_people else "; give gold_weights to correct the row for all tasks."
    warnings.warn(FitWarning(what, f"{remedy}{more}", option=() if by_people else "gold_weights"), stacklevel=4)
    return True


def _surprise(event: Event, members: Members, values: Floats) -> tuple[float, float, float]:
    """Probability of such a difference by chance, and the means of the tasks with labels and of all."""
    some = members & (event.known >= 0)
    if min(some.sum(), (members & ~some).sum()) < LEAST_LABELS:
        return 1.0, np.nan, np.nan
    w = np.ones(int(some.sum())) if event.weights is None else event.weights[some]
    w = w / w.sum()
    labelled, everywhere = float(w @ values[some]), float(values[members].mean())
    spread = float(values[members].var() * (w @ w - 1 / members.sum()))
    p_value = 2 * ndtr(-abs(labelled - everywhere) / np.sqrt(spread)) if spread > 0 else 1.0
    return float(p_value), labelled, everywhere
