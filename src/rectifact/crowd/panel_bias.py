"""How much too often workers give a class: by gold labels or labels of people, or else by the model."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import ndtr

from rectifact.crowd.advice.gold import cross_fitted
from rectifact.crowd.data.answers import Answers
from rectifact.crowd.data.names import in_words, plain, plain_text
from rectifact.crowd.events import EVERYTHING, labels_that_decide, members_of
from rectifact.crowd.panel_changes import apart, true_classes, usual_change
from rectifact.crowd.prediction_powered import LEAST_LABELS, Difference, Floats, deviations, difference, share
from rectifact.crowd.rate_tables import group_pairs

MODEL = "the model"
"""What is compared with where there are no labels to compare with."""

MOST_CLASSES, MOST_WORKERS = 8, 1000
"""Classes and workers of which biases are measured."""

COLUMNS = ["worker", "class", "group", "bias", "low", "high", "p_value", "tasks", "labels", "against", "certain"]
CHANGES = ["worker", "class", "asked", "first", "second", "change", "low", "high", "p_value", "against", "certain"]


@dataclass(frozen=True)
class Biases:
    """How much too often workers give a class.

    Attributes
    ----------
    table : DataFrame
        By ``worker``, ``class`` and ``group`` of tasks: ``bias``, the share of the class among the worker's answers
        minus its true share of the same tasks, from ``low`` to ``high``; the ``p_value`` of no bias; numbers of
        ``tasks`` and of ``labels`` behind it; ``against`` what it was measured; and whether it is ``certain``, all
        workers and classes considered; biases within groups are considered together, apart from those of all tasks.
    changes : DataFrame
        By worker and class, the bias in the ``second`` group minus that in the ``first``, without what usual errors
        explain, and ``against`` what it was measured. The classes whose share is ``asked`` for count as one, come
        first, and are tested apart from the others.
    confidence : float
        Probability of the intervals.
    shifts : DataFrame or None
        For grades, how much too high each worker grades on average, for all tasks and by ``group``, see
        :func:`rectifact.crowd.panel_shift.shifts_of`.
    shift_changes : DataFrame or None
        For grades, how that differs between groups.
    """

    table: pd.DataFrame
    changes: pd.DataFrame
    confidence: float
    shifts: pd.DataFrame | None = None
    shift_changes: pd.DataFrame | None = None

    def together(self) -> str:
        """How many biases were tested together, as the end of a clause; empty if it was one."""
        n = int((self.table["group"] == EVERYTHING).sum())
        return "" if n == 1 else f" when {n:,} are tested together"

    def words(self) -> list[str]:
        """The largest bias of each worker that is certain, in sentences, the largest first."""
        whole = self.table[(self.table["group"] == EVERYTHING) & self.table["certain"]]
        rows = whole.loc[whole["bias"].abs().sort_values(ascending=False, kind="stable").index]
        rows = rows.drop_duplicates("worker")
        return [bias_words(row, self.confidence) for row in rows.to_dict("records")]


def bias_words(row: Any, confidence: float) -> str:
    """A bias as a sentence.

    Examples
    --------
    >>> row = {"worker": "gpt", "class": "pass", "bias": 0.151, "low": 0.08, "high": 0.22, "against": "gold labels"}
    >>> bias_words(row, 0.95)
    'gpt says pass 15.1 points too often (95% interval 8.0 to 22.0).'
    >>> bias_words(row | {"bias": -0.05, "low": -0.1, "high": 0.01, "against": "people"}, 0.95)
    'gpt says pass 5.0 points less often than people (95% interval -1.0 to 10.0).'
    """
    sign = 1 if row["bias"] >= 0 else -1
    ends = sorted([100 * sign * row["low"], 100 * sign * row["high"]])
    too = "too often" if sign > 0 else "too rarely"
    than = "more often than people" if sign > 0 else "less often than people"
    by_model = ", if the model is right" if row["against"] == MODEL else ""
    return (
        f"{in_words(row['worker'])} says {class_in_words(row['class'])} {100 * abs(row['bias']):.1f} "
        f"points {than if row['against'] == 'people' else too} ({confidence:.0%} interval {ends[0]:.1f} to "
        f"{ends[1]:.1f}){by_model}."
    )


def class_in_words(name: Any) -> str:
    """A class before a number, in quotes where it ends in a digit.

    Examples
    --------
    >>> class_in_words("pass"), class_in_words(5)
    ('pass', "'5'")
    """
    text = plain_text(name)
    return repr(text) if text[-1:].isdigit() else text


def biases_of(
    answers: Answers,
    posteriors: Floats,
    known: NDArray[np.int64] | None,
    *,
    against: str,
    left_out: NDArray[np.bool_] | None = None,
    classes: Sequence[int | tuple[int, ...]] | None = None,
    asked: tuple[int, ...] = (),
    groups: tuple[NDArray[np.int64], NDArray[Any]] | None = None,
    confidence: float = 0.95,
) -> Biases:
    """Biases of all workers.

    A worker says a class too often by the share of tasks where they say it and it is wrong, minus the share where they
    do not say it and it is right. Both are known from labels of some tasks, and sharpened by the posteriors of all, as
    rates are (see :func:`rectifact.rate`).

    Parameters
    ----------
    answers : Answers
    posteriors : array of shape (n_tasks, n_classes)
        Without the labels in ``known``.
    known : array of shape (n_tasks,) or None
        Number of the true class, -1 where it is not known; None if none is.
    against : str
        What these labels are called.
    left_out : array of bool of shape (n_workers,), default None
        Workers who are not measured: those whose own answers the labels are.
    classes : sequence of int or of tuple, default None
        Numbers of the classes to look at, those in a tuple together; None for all, or for the last of two.
    asked : tuple of int, default ()
        Numbers of the classes whose share is asked for: changes between groups are first of all those of their share.
    groups : tuple, default None
        Number of the group of each task, -1 for none, and the names of the groups.
    confidence : float, default 0.95

    Examples
    --------
    >>> from rectifact.crowd import read_answers
    >>> from rectifact.datasets import make_crowd
    >>> crowd = make_crowd(500, 4, 2, labels_per_task=4, random_state=0)
    >>> answers = read_answers(crowd.answers)
    >>> found = biases_of(answers, answers.shares(), answers.known((crowd.truth.index, crowd.truth)), against="gold")
    >>> found.table[["worker", "class", "bias", "against"]].round(2)
       worker  class  bias against
    0       0      1 -0.02    gold
    1       2      1 -0.03    gold
    2       3      1 -0.04    gold
    3       1      1 -0.04    gold
    """
    k = len(answers.classes)
    wanted = list(classes) if classes is not None else [k - 1] if k == 2 else list(range(k))
    truth = np.full(len(answers.tasks), -1) if known is None else known
    members = members_of(len(truth), groups)
    compared = np.ones(len(answers.workers), dtype=bool) if left_out is None else ~left_out
    rows: list[list[Any]] = []
    changes: list[list[Any]] = []
    sets = [some if isinstance(some, tuple) else (some,) for some in wanted]
    for chosen in dict.fromkeys([*sets, *([asked] if asked else [])]):
        of_class = np.where(truth >= 0, np.isin(truth, chosen).astype(np.int64), -1)
        posterior = posteriors[:, chosen].sum(axis=1)
        view = _View(of_class, posterior, _predicted(posterior, of_class), deviations(confidence))
        right = np.isin(np.arange(k), chosen).astype(float)
        true = true_classes(posteriors, truth, right, view.predicted)
        for w, task, label in by_worker(answers, compared):
            head = [plain(answers.workers[w]), _named(answers, chosen)]
            found = _in_groups(np.isin(label, chosen), task, members, view)
            for name, (one, n_tasks, n_labels, by_labels) in found.items():
                measured = against if by_labels else MODEL
                if chosen in sets:
                    rows.append([*head, name, *_figures(one), n_tasks, n_labels, measured])
            for first, second in group_pairs([name for name in found if name != EVERYTHING]):
                both = members[first], members[second]
                usual = usual_change(np.isin(label, chosen).astype(float), right, true, task, both)
                figures = _figures(_change(found[first][0], found[second][0], view.z, usual))
                measured = against if found[first][3] else MODEL
                changes.append([*head, chosen == asked, first, second, *figures, measured])
    changes.sort(key=lambda row: not row[2])
    return Biases(with_certain(rows, COLUMNS, confidence), with_certain(changes, CHANGES, confidence), confidence)


def _named(answers: Answers, chosen: tuple[int, ...]) -> Any:
    """The name of a class, or of several that count together."""
    names = [plain(answers.classes[c]) for c in chosen]
    return names[0] if len(names) == 1 else " or ".join(map(plain_text, names))


class _View(NamedTuple):
    """One class against all others, by task: by labels (1, 0, or -1 for none), by the model, and both together."""

    known: NDArray[np.int64]
    posterior: Floats
    predicted: Floats
    z: float


def by_worker(answers: Answers, kept: NDArray[np.bool_]) -> Iterator[tuple[int, NDArray[Any], NDArray[Any]]]:
    """Number of each worker who is kept, and the tasks and labels of their answers."""
    order = np.argsort(answers.worker, kind="stable")
    ends = np.searchsorted(answers.worker[order], np.arange(len(answers.workers) + 1))
    for w in np.flatnonzero(kept & (np.diff(ends) > 0)).tolist():
        theirs = order[ends[w] : ends[w + 1]]
        yield w, answers.task[theirs], answers.label[theirs]


def _in_groups(
    says: NDArray[np.bool_], task: NDArray[Any], members: dict[Any, NDArray[np.bool_]], view: _View
) -> dict[Any, tuple[Difference, int, int, bool]]:
    """The bias of one worker in each group, with numbers of tasks and labels, and whether labels decide."""
    found = {}
    counts, decide = labels_that_decide(view.known[task] >= 0, {name: some[task] for name, some in members.items()})
    for name, n_labels in counts.items():
        here, by_labels = members[name][task], decide[name]
        where = task[here]
        one = (
            _against_labels(says[here], view.known[where], view.predicted[where], view.z)
            if by_labels
            else _against_model(says[here], view.posterior[where], view.z)
        )
        found[name] = one, int(here.sum()), n_labels, by_labels
    return found


def model_biases(model: Any, confidence: float = 0.95) -> Biases:
    """Biases of the workers of a fitted :class:`rectifact.DawidSkene`, measured by the model.

    Of many classes or workers, those with most answers.
    """
    answers = model._answers
    votes = np.bincount(answers.label, minlength=len(answers.classes))
    wanted = None
    if len(votes) > MOST_CLASSES:
        wanted = np.sort(np.argsort(-votes, kind="stable")[:MOST_CLASSES]).tolist()
    idle = np.ones(len(answers.workers), dtype=bool)
    idle[np.argsort(-answers.given, kind="stable")[:MOST_WORKERS]] = False
    options: dict[str, Any] = {"classes": wanted, "left_out": idle, "confidence": confidence}
    return biases_of(answers, model._model.posteriors, None, against="", **options)


def _figures(one: Difference) -> tuple[float, ...]:
    return one.value, one.low, one.high, one.p_value


def _predicted(posterior: Floats, known: NDArray[np.int64]) -> Floats:
    """The probability of a class, calibrated by the labels of other tasks."""
    posterior = np.clip(posterior, 0, 1)
    if (known >= 0).sum() < LEAST_LABELS:
        return posterior
    return cross_fitted(np.column_stack([1 - posterior, posterior]), known)[:, 1]


def _against_labels(says: NDArray[np.bool_], known: NDArray[np.int64], predicted: Floats, z: float) -> Difference:
    """Share of tasks where the class is said and wrong, minus the share where it is right and not said."""
    labelled, said = known >= 0, says.astype(float)
    true = known[labelled].astype(float)
    wrongly, missed = said[labelled] * (1 - true), (1 - said[labelled]) * true
    over = share(wrongly, said[labelled] * (1 - predicted[labelled]), said * (1 - predicted))
    under = share(missed, (1 - said[labelled]) * predicted[labelled], (1 - said) * predicted)
    return difference(under, over, z)


def _against_model(says: NDArray[np.bool_], posterior: Floats, z: float) -> Difference:
    """The same where probabilities take the place of labels: right if the model is."""
    gaps = says - posterior
    n = len(gaps)
    variance = float(gaps.var() / n + (posterior * (1 - posterior)).sum() / n**2 + 1 / (3 * n * n))
    error = float(np.sqrt(variance))
    value = float(gaps.mean())
    p_value = float(2 * ndtr(-abs(value) / error))
    return Difference(value, max(value - z * error, -1.0), min(value + z * error, 1.0), p_value)


def _change(first: Difference, second: Difference, z: float, usual: float) -> Difference:
    """The second minus the first, for different tasks, without what is ``usual``."""
    return apart(second.value - first.value - usual, first, second, z)


def with_certain(rows: list[list[Any]], columns: list[str], confidence: float) -> pd.DataFrame:
    """The table, and which rows are certain.

    All tasks are one family of tests, and groups of tasks another; changes of what is asked for are one, and those of
    the other classes another.
    """
    table = pd.DataFrame(rows, columns=columns[:-1])
    p = table["p_value"].to_numpy(dtype=float)
    first = np.zeros(len(p), dtype=bool)
    if "group" in table:
        first = (table["group"] == EVERYTHING).to_numpy()
    elif "asked" in table:
        first = table["asked"].to_numpy(dtype=bool)
    certain = np.zeros(len(p), dtype=bool)
    for family in (first, ~first):
        certain[family] = holm(p[family], confidence)
    return table.assign(certain=certain)


def holm(p: Floats, confidence: float) -> NDArray[np.bool_]:
    """Which p-values stay small by Holm's procedure over all of them.

    Examples
    --------
    >>> import numpy as np
    >>> holm(np.array([0.04, 0.001, 0.02]), 0.95)
    array([ True,  True,  True])
    >>> holm(np.array([0.04, 0.001, 0.03]), 0.95)
    array([False,  True, False])
    """
    order = np.argsort(p, kind="stable")
    passed = np.logical_and.accumulate(p[order] * (len(p) - np.arange(len(p))) < 1 - confidence)
    certain = np.zeros(len(p), dtype=bool)
    certain[order[passed]] = True
    return certain
