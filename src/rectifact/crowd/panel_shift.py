"""How much too high judges grade on average: by gold labels or people's labels, or else by the model."""

from dataclasses import astuple, replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import ndtr, stdtr, stdtrit

from rectifact.crowd.data.answers import Answers
from rectifact.crowd.data.names import in_words, matched, object_array, plain, sentence
from rectifact.crowd.data.people import Panel
from rectifact.crowd.events import EVERYTHING, labels_that_decide, members_of
from rectifact.crowd.panel_bias import (
    MODEL,
    MOST_CLASSES,
    Biases,
    biases_of,
    by_worker,
    with_certain,
)
from rectifact.crowd.panel_changes import apart, usual_change
from rectifact.crowd.panel_leaning import MOST_LEANINGS, leaning_sentences
from rectifact.crowd.prediction_powered import Difference, Floats, deviations
from rectifact.crowd.rate_tables import group_pairs
from rectifact.crowd.reference import PEOPLE, Reference

COLUMNS = ["worker", "group", "shift", "low", "high", "p_value", "tasks", "labels", "against", "certain"]
CHANGES = ["worker", "first", "second", "change", "low", "high", "p_value", "against", "certain"]

MOST_BIASES = 4
"""Biases that are named."""


def biases_by(reference: Reference, panel: Panel, names: tuple[Any, ...], groups: Any, confidence: float) -> Biases:
    """Biases about the positive class of two, about all of a few, and about the positive ones of many or of grades."""
    answers = panel.answers
    chosen = matched(object_array(list(names)), answers.classes).tolist() if names else []
    is_grade = panel.scale.level == "ordinal"
    few = 2 < len(answers.classes) <= MOST_CLASSES
    classes = None if few else chosen or None
    if is_grade and chosen:
        classes = [tuple(chosen)]
    options: dict[str, Any] = {"against": reference.name, "confidence": confidence}
    options |= {"left_out": panel.is_person if reference.name == PEOPLE else None}
    measured = answers, reference.posteriors, reference.truth
    found = biases_of(*measured, classes=classes, asked=tuple(chosen), groups=groups, **options)
    if not is_grade:
        return found
    shifts, changes = shifts_of(*measured, panel.scale.values, groups=groups, **options)
    return replace(found, shifts=shifts, shift_changes=changes)


def shifts_of(
    answers: Answers,
    posteriors: Floats,
    known: NDArray[np.int64] | None,
    grades: Floats,
    *,
    against: str,
    left_out: NDArray[np.bool_] | None = None,
    groups: tuple[NDArray[np.int64], NDArray[Any]] | None = None,
    confidence: float = 0.95,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The mean of each worker's grades minus that of the true grades of the same tasks, and how it changes by group.

    It is known from labels of some tasks, and sharpened by the expected grades of all: what the worker's grades differ
    from these on the tasks with labels is compared with what they differ on all tasks.

    Parameters
    ----------
    answers : Answers
    posteriors : array of shape (n_tasks, n_classes)
        Without the labels in ``known``.
    known : array of shape (n_tasks,) or None
        Number of the true class, -1 where it is not known; None if none is.
    grades : array of shape (n_classes,)
        Numbers that the classes stand for.
    against : str
        What these labels are called.
    left_out : array of bool of shape (n_workers,), default None
        Workers who are not measured: those whose own answers the labels are.
    groups : tuple, default None
        Number of the group of each task, -1 for none, and the names of the groups.
    confidence : float, default 0.95

    Returns
    -------
    shifts : DataFrame
        By ``worker`` and ``group``: ``shift``, from ``low`` to ``high``; the ``p_value`` of none; numbers of ``tasks``
        and ``labels``; ``against`` what it was measured; and whether it is ``certain``, all workers considered; shifts
        within groups are considered together, apart from those of all tasks.
    changes : DataFrame
        By ``worker``, the shift in the ``second`` group minus that in the ``first``, without what usual errors explain;
        all workers and pairs of groups are considered together.

    Examples
    --------
    >>> import numpy as np
    >>> from rectifact.crowd import read_answers
    >>> truth = np.arange(100) % 3
    >>> answers = read_answers(np.column_stack([truth, truth + (np.arange(100) % 2)]))
    >>> found, _ = shifts_of(answers, answers.shares(), truth, np.arange(4.0), against="gold labels")
    >>> found[["worker", "shift", "certain"]].round(2)
       worker  shift  certain
    0       0    0.0    False
    1       1    0.5     True
    """
    truth = np.full(len(answers.tasks), -1) if known is None else known
    members = members_of(len(truth), groups)
    true = np.where((truth >= 0)[:, None], np.eye(len(grades))[truth], posteriors)
    expected = posteriors @ grades
    view = _View(truth, expected, posteriors @ grades**2 - expected**2, grades, confidence)
    rows: list[list[Any]] = []
    changes: list[list[Any]] = []
    kept = np.ones(len(answers.workers), dtype=bool) if left_out is None else ~left_out
    for worker, task, label in by_worker(answers, kept):
        name = plain(answers.workers[worker])
        counts, by_gold = labels_that_decide(truth[task] >= 0, {group: some[task] for group, some in members.items()})
        found = {
            group: Difference(*_shift(grades[label[here]], task[here], view, by_gold[group]))
            for group, here in ((group, members[group][task]) for group in counts)
        }
        against_by = {group: against if sure else MODEL for group, sure in by_gold.items()}
        for group, one in found.items():
            n_tasks = int(members[group][task].sum())
            rows.append([name, group, *astuple(one), n_tasks, counts[group], against_by[group]])
        for first, second in group_pairs([group for group in found if group != EVERYTHING]):
            usual = usual_change(grades[label], grades, true, task, (members[first], members[second]))
            change = found[second].value - found[first].value - usual
            figures = astuple(apart(change, found[first], found[second], deviations(confidence)))
            changes.append([name, first, second, *figures, against_by[first]])
    return with_certain(rows, COLUMNS, confidence), with_certain(changes, CHANGES, confidence)


class _View(NamedTuple):
    """By task: number of the true class or -1, and the grade that is expected."""

    truth: NDArray[np.int64]
    expected: Floats
    variance: Floats
    grades: Floats
    confidence: float


def _shift(said: Floats, task: NDArray[Any], view: _View, by_gold: bool) -> tuple[float, float, float, float]:
    """How much too high the grades of a worker are on these tasks."""
    far = said - view.expected[task]
    if not by_gold:
        return _by_model(far, view.variance[task], deviations(view.confidence))
    known = view.truth[task] >= 0
    wrong = said[known] - view.grades[view.truth[task[known]]]
    return by_labels(wrong, far[known], far, view.confidence)


def by_labels(
    wrong: Floats, far: Floats, everywhere: Floats, confidence: float, tuning: float | None = None
) -> tuple[float, float, float, float]:
    """The mean of a difference that labels show, its interval, and the p-value of none.

    Parameters
    ----------
    wrong : array of shape (n_labels,)
        The difference for each task with a label, in whole steps.
    far : array of shape (n_labels,)
        What it is expected to be without the label.
    everywhere : array of shape (n_tasks,)
        The same for all tasks: it takes out of the mean what chance has put into it by drawing these tasks.
    confidence : float
    tuning : float, default None
        How far that is used, from 0 to 1; None for what makes the interval shortest.
    """
    n, spread = len(wrong), float(far.var())
    if tuning is None:
        tuning = 0.0 if spread == 0 else float(np.clip(np.cov(wrong, far, bias=True)[0, 1] / spread, 0, 1))
    rest = wrong - tuning * far
    value = float(rest.mean() + tuning * everywhere.mean())
    common = 2 * tuning * float(np.cov(rest, far, bias=True)[0, 1])
    variance = rest.var(ddof=1) / n + (tuning**2 * everywhere.var() + common) / len(everywhere)
    return _interval(value, float(np.sqrt(max(variance, 1 / (3 * n * n)))), n - 1, confidence)


def _interval(value: float, error: float, freedom: int, confidence: float) -> tuple[float, float, float, float]:
    reach = float(stdtrit(freedom, (1 + confidence) / 2)) * error
    return value, value - reach, value + reach, float(2 * stdtr(freedom, -abs(value) / error))


def _by_model(far: Floats, variance: Floats, z: float) -> tuple[float, float, float, float]:
    """The same where expected grades take the place of labels: right if the model is."""
    n = len(far)
    error = float(np.sqrt(far.var() / n + variance.sum() / n**2 + 1 / (3 * n * n)))
    value = float(far.mean())
    return value, value - z * error, value + z * error, float(2 * ndtr(-abs(value) / error))


def shift_words(row: Any, confidence: float) -> str:
    """A shift as a sentence.

    Examples
    --------
    >>> row = {"worker": "gpt", "shift": 0.61, "low": 0.5, "high": 0.72, "against": "people"}
    >>> shift_words(row, 0.95)
    'gpt grades 0.61 higher than people on average (95% interval 0.50 to 0.72).'
    >>> shift_words(row | {"shift": -0.2, "low": -0.3, "high": -0.1, "against": "gold labels"}, 0.95)
    'gpt grades 0.20 too low on average (95% interval 0.10 to 0.30).'
    """
    sign = 1 if row["shift"] >= 0 else -1
    ends = sorted([sign * row["low"], sign * row["high"]])
    than = "higher than people" if sign > 0 else "lower than people"
    how = than if row["against"] == "people" else "too high" if sign > 0 else "too low"
    by_model = ", if the model is right" if row["against"] == MODEL else ""
    return (
        f"{in_words(row['worker'])} grades {abs(row['shift']):.2f} {how} on average ({confidence:.0%} interval "
        f"{ends[0]:.2f} to {ends[1]:.2f}){by_model}."
    )


def bias_summary(found: Any) -> str:
    """The certain biases by gold labels or people, where there are both by both; or that there is none."""
    said, other = _sentences(found.biases), found.biases_by_people
    theirs = [] if other is None else _sentences(other)
    if bias_sentences(found.biases):
        return " ".join([*said, *theirs])
    table = found.biases.table
    judges = [found.panel.name(w) for w in range(found.panel.n_judges)]
    whole = table[(table["group"] == EVERYTHING) & table["worker"].isin(judges)]
    if not len(whole):
        return " ".join(theirs)
    by = "By gold labels, no" if theirs else "No"
    none = f"{by} bias of a judge is more than chance explains{found.biases.together()}; {_reach(whole)}."
    return " ".join([*theirs, none, *said])


def _sentences(found: Biases) -> list[str]:
    """Some biases, and some leanings, which are news of their own."""
    return [*bias_sentences(found)[:MOST_BIASES], *leaning_sentences(found)[:MOST_LEANINGS]]


def bias_sentences(found: Biases) -> list[str]:
    """The certain biases, those of mean grades first."""
    if found.shifts is None:
        return found.words()
    sure = found.shifts[found.shifts["certain"] & (found.shifts["group"] == EVERYTHING)]
    rows = sure.loc[sure["shift"].abs().sort_values(ascending=False, kind="stable").index]
    return [*(shift_words(row, found.confidence) for row in rows.to_dict("records")), *found.words()]


def _reach(whole: pd.DataFrame) -> str:
    reach = max(whole["high"].max(), -whole["low"].min())
    text = f"intervals reach up to {100 * reach:.0f} points"
    off = whole[(whole["low"] > 0) | (whole["high"] < 0)]["worker"].drop_duplicates().tolist()
    if not off:
        return text
    whose = f"that of {sentence(off)}, taken alone, excludes" if len(off) == 1 else ""
    return f"{text}, and {whose or f'those of {sentence(off)}, taken alone, exclude'} 0"
