"""How accurate workers are, and who is most: by labels of some tasks, or else by the model's posteriors."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import ndtr

from rectifact.core.errors import count
from rectifact.crowd.data.names import in_words, plain, sentence
from rectifact.crowd.events import EVERYTHING
from rectifact.crowd.panel_shift import by_labels
from rectifact.crowd.prediction_powered import LEAST_LABELS, ROUNDING, Floats, Share, deviations, tuned_share
from rectifact.crowd.reference import GOLD, PEOPLE, consensus_classes

BY = {"gold labels": " by gold labels", "people": ", as people label", "": ", if the model is right"}
"""What an accuracy is measured by, in words."""

SURE = 0.9
"""Probability of the intervals of accuracies, as in :meth:`rectifact.DawidSkene.worker_report`."""


class Lead(NamedTuple):
    """How much more often the best of several workers is right than another, on the tasks that both answered.

    Attributes
    ----------
    other : any
        Name of the other worker.
    value, low, high : float
        Difference between the shares of right answers, with its interval.
    p_value : float
        Of no difference.
    tasks : int
        Tasks that both answered.
    certain : bool
        Whether it is more than chance explains, all comparisons considered.
    """

    other: Any
    value: float
    low: float
    high: float
    p_value: float
    tasks: int
    certain: bool


def measured_accuracies(said: NDArray[np.int64], posteriors: Floats, truth: NDArray[np.int64]) -> dict[int, Share]:
    """The accuracy of workers by labels of some tasks, sharpened by how likely all their answers are to be right.

    The labels decide, see :func:`rectifact.crowd.prediction_powered.share`: posteriors of workers who share errors are
    too sure of them, and an accuracy that rests on these alone is too high. Posteriors are used as far as they help all
    workers together, and equally far for each, see :func:`common_tuning`, so that who is ahead does not depend on it.

    Parameters
    ----------
    said : array of shape (n_tasks, n_workers)
        Number of the class that each worker gave, -1 for none.
    posteriors : array of shape (n_tasks, n_classes)
        Made without the labels.
    truth : array of shape (n_tasks,)
        Number of the true class, -1 where it is not known.

    Returns
    -------
    dict
        By number of the worker, for those who answered enough tasks with a label.

    Examples
    --------
    >>> import numpy as np
    >>> said = np.zeros((100, 1), dtype=int)
    >>> truth = np.where(np.arange(100) < 40, np.arange(100) % 4 == 0, -1)
    >>> found = measured_accuracies(said, np.tile([0.99, 0.01], (100, 1)), truth)  # posteriors are too sure
    >>> round(found[0].value, 2)
    0.75
    """
    found, tuning = {}, common_tuning(said, posteriors, truth)
    for worker, answer in enumerate(said.T):
        answered = np.flatnonzero(answer >= 0)
        right, expected = _on_labels(answer, posteriors, truth)
        if len(right) >= LEAST_LABELS:
            found[worker] = tuned_share(right, expected, posteriors[answered, answer[answered]], tuning)
    return found


def common_tuning(said: NDArray[np.int64], posteriors: Floats, truth: NDArray[np.int64]) -> float:
    """How far posteriors help to tell on which tasks answers are right, from 0 to 1, the same for all workers.

    It is the slope, within workers, of whether an answer is right on how likely that is.

    Examples
    --------
    >>> import numpy as np
    >>> said, truth = np.zeros((80, 2), dtype=int), np.arange(80) % 4 // 3
    >>> sure = np.where(truth == 0, 0.9, 0.4)
    >>> common_tuning(said, np.column_stack([sure, 1 - sure]), truth), common_tuning(said, np.ones((80, 2)), truth)
    (1.0, 0.0)
    """
    together = own = 0.0
    for answer in said.T:
        right, expected = _on_labels(answer, posteriors, truth)
        if len(right) >= LEAST_LABELS:
            centred = expected - expected.mean()
            together, own = together + float(centred @ right), own + float(centred @ centred)
    return float(np.clip(together / own, 0, 1)) if own > ROUNDING else 0.0


def _on_labels(answer: NDArray[np.int64], posteriors: Floats, truth: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """Whether a worker's answers to tasks with a label are right, and how likely that was without it."""
    labelled = np.flatnonzero((answer >= 0) & (truth >= 0))
    right = (answer[labelled] == truth[labelled]).astype(np.float64)
    return right, posteriors[labelled, answer[labelled]]


def with_measured(table: pd.DataFrame, found: dict[int, Share], by: str) -> pd.DataFrame:
    """A table of workers in which accuracies and their intervals are those ``found``, and ``accuracy_by`` says so."""
    table, z = table.copy(), deviations(SURE)
    for worker, measured in found.items():
        table.loc[worker, ["accuracy", "accuracy_low", "accuracy_high"]] = measured.value, *measured.interval(z)
        table.loc[worker, "accuracy_by"] = by
    return table


def with_biases(table: pd.DataFrame, biases: pd.DataFrame) -> pd.DataFrame:
    """A table of workers in which biases are those of a table of :class:`rectifact.crowd.panel_bias.Biases`.

    These are what sentences and reports show. ``bias_by`` says what they were measured by; people are not measured by
    themselves.

    Examples
    --------
    >>> workers = pd.DataFrame({"worker": ["gpt", "ann"], "bias_fail": [0.1, 0], "bias_pass": [-0.1, 0]})
    >>> row = {"worker": "gpt", "class": "pass", "group": "all tasks", "bias": -0.2, "against": "people"}
    >>> with_biases(workers, pd.DataFrame([row]))
      worker  bias_pass bias_by
    0    gpt       -0.2  people
    1    ann        NaN
    """
    table = table[[name for name in table if not str(name).startswith("bias_")]].copy()
    whole = biases[biases["group"] == EVERYTHING]
    names = table["worker"].map(plain)
    for label in whole["class"].unique():
        rows = whole[whole["class"] == label]
        table[f"bias_{label}"] = names.map(dict(zip(rows["worker"], rows["bias"], strict=True)))
    table["bias_by"] = names.map(dict(zip(whole["worker"], whole["against"], strict=True))).fillna("")
    return table


def most_accurate(
    said: NDArray[np.int64],
    posteriors: Floats,
    names: Sequence[Any],
    confidence: float,
    truth: NDArray[np.int64] | None = None,
) -> tuple[Any, list[Lead]]:
    """Name of the most accurate worker, by labels or else by the posteriors, and the lead over the others.

    See :func:`leads_of` for the parameters. Without a worker whose accuracy is known there is no lead.

    Examples
    --------
    >>> import numpy as np
    >>> said = np.column_stack([np.arange(100) % 5 == 0, np.zeros(100)]).astype(int)
    >>> name, (lead,) = most_accurate(said, np.tile([0.9, 0.1], (100, 1)), ["mini", "gpt"], 0.95)
    >>> name, lead.other
    ('gpt', 'mini')
    """
    if truth is None:
        accuracy = {w: float(posteriors[np.flatnonzero(a >= 0), a[a >= 0]].mean()) for w, a in enumerate(said.T)}
    else:
        accuracy = {w: one.value for w, one in measured_accuracies(said, posteriors, truth).items()}
    if not accuracy:
        return None, []
    best = max(accuracy, key=lambda worker: accuracy[worker])
    others = [worker for worker in range(said.shape[1]) if worker != best]
    return names[best], leads_of(said, posteriors, names, best, others, confidence, truth)


def leads_of(
    said: NDArray[np.int64],
    posteriors: Floats,
    names: Sequence[Any],
    best: int,
    others: Sequence[int],
    confidence: float = 0.95,
    truth: NDArray[np.int64] | None = None,
) -> list[Lead]:
    """The lead of one worker over others, each on the tasks that both answered.

    Where both say the same, they are right or wrong together, so that only tasks on which they differ count. Whose
    answer is right there is known from labels of some tasks or, without any, with the probabilities of the posteriors.

    Parameters
    ----------
    said : array of shape (n_tasks, n_workers)
        Number of the class that each worker gave, -1 for none.
    posteriors : array of shape (n_tasks, n_classes)
        Made without the labels.
    names : sequence
        Of the workers.
    best : int
        Number of the worker who is compared with the others.
    others : sequence of int
        Their numbers.
    confidence : float, default 0.95
        Probability of the intervals.
    truth : array of shape (n_tasks,), default None
        Number of the true class, -1 where it is not known. Pairs with fewer than ten such tasks are left out.

    Examples
    --------
    >>> import numpy as np
    >>> said = np.column_stack([np.zeros(100, dtype=int), np.arange(100) % 5 == 0]).astype(int)
    >>> (lead,) = leads_of(said, np.tile([0.9, 0.1], (100, 1)), ["gpt", "mini"], 0, [1])
    >>> lead.other, round(lead.value, 2), lead.certain
    ('mini', 0.16, True)
    """
    rows, tuning = [], None if truth is None else common_tuning(said, posteriors, truth)
    for other in others:
        both = np.flatnonzero((said[:, best] >= 0) & (said[:, other] >= 0))
        if not both.size:
            continue
        pair = said[both, best], said[both, other]
        first, second = (posteriors[both, answer] for answer in pair)
        if truth is None:
            figures = _by_model(first, second, pair[0] != pair[1], deviations(confidence))
        else:
            known = truth[both] >= 0
            if known.sum() < LEAST_LABELS:
                continue
            right = [(answer[known] == truth[both][known]).astype(np.float64) for answer in pair]
            figures = by_labels(right[0] - right[1], (first - second)[known], first - second, confidence, tuning)
        rows.append((plain(names[other]), *figures, len(both)))
    rows.sort(key=lambda row: row[4])
    found, certain = [], True
    for place, row in enumerate(rows):
        certain = certain and row[4] * (len(rows) - place) < 1 - confidence  # Holm's procedure
        found.append(Lead(*row, certain))
    return found


def _by_model(first: Floats, second: Floats, differ: NDArray[np.bool_], z: float) -> tuple[float, float, float, float]:
    """The difference that posteriors expect between the shares of right answers, its interval and its p-value."""
    n = len(first)
    value = float((first - second)[differ].sum() / n)
    square = float((first + second)[differ].sum() / n)  # one of them is right, so the square is 1
    error = float(np.sqrt(max(square - value**2, 0) / n + 1 / (3 * n**2)))
    return value, value - z * error, value + z * error, float(2 * ndtr(-abs(value) / error))


def accuracy_words(best: Any, leads: Sequence[Lead], confidence: float = 0.95, by: str = "gold labels") -> str:
    """Who is most accurate, ``by`` gold labels, people or, if empty, the model, as far as the comparisons tell.

    Examples
    --------
    >>> leads = [Lead("mini", 0.16, 0.1, 0.22, 1e-6, 100, True), Lead("qwen", 0.01, -0.02, 0.04, 0.5, 100, False)]
    >>> print(accuracy_words("gpt", leads))
    gpt has the highest accuracy by gold labels. Compared on the tasks that both answered, it is right more often than
    mini (by 16.0 points, 95% interval 10.0 to 22.0), but cannot be told apart from qwen (+1.0, -2.0 to +4.0). These are
    2 comparisons made together.
    >>> print(accuracy_words("gpt", [Lead("qwen", -0.01, -0.04, 0.02, 0.5, 100, False)]))
    gpt and qwen share the highest accuracy by gold labels. Compared on the tasks that both answered, gpt cannot be told
    apart from qwen (-1.0 points, 95% interval -4.0 to +2.0).
    """
    if not leads:
        return ""
    sure, open_ = ([lead for lead in leads if lead.certain is kind] for kind in (True, False))
    parts, named = [], False
    for group, start in ((sure, "is right more often than"), (open_, "cannot be told apart from")):
        shown = []
        for lead in group:
            ends = f"{100 * lead.low:+z.1f} to {100 * lead.high:+z.1f}"
            if group is sure:
                ends = f"{100 * lead.low:.1f} to {100 * lead.high:.1f}"
                level = "" if named else f"{confidence:.0%} interval "
                shown.append(f"{in_words(lead.other)} (by {100 * lead.value:.1f} points, {level}{ends})")
            else:
                level = "" if named else f" points, {confidence:.0%} interval"
                alone = len(leads) > 1 and (lead.low > 0 or lead.high < 0)
                allowed = f", which is not clear after allowing for {len(leads)} comparisons" if alone else ""
                shown.append(f"{in_words(lead.other)} ({100 * lead.value:+z.1f}{level or ','} {ends}{allowed})")
            named = True
        if shown:
            parts.append(f"{start} {sentence(shown)}")
    together = f" These are {count(len(leads), 'comparison')} made together." if len(leads) > 1 else ""
    best = in_words(best)
    ahead = [
        in_words(lead.other) for lead in open_ if lead.value < 0
    ]  # on the tasks that both answered, not on all of theirs
    first = (
        f"{best} has the highest accuracy" if not ahead else f"{sentence([best, *ahead])} share the highest accuracy"
    )
    it = best if ahead else "it"
    return f"{first}{BY[by]}. Compared on the tasks that both answered, {it} {', but '.join(parts)}.{together}"


def accuracy_sentence(found: Any) -> str:
    """Which judge is most accurate, compared with the others on the tasks that both answered."""
    best, leads, by = judges_compared(found)
    words = accuracy_words(best, leads, found.biases.confidence, by)
    return f"Of the judges, {words}{_best_by_gold(found, best, by)}" if words else ""


def _best_by_gold(found: Any, best: Any, by: str) -> str:
    """Which judge gold labels put first, where another one is compared because people are the better measure."""
    if by != PEOPLE or found.reference != GOLD:
        return ""
    table = found.workers().head(found.panel.n_judges)
    first = table.loc[table["accuracy"].idxmax()]
    if first["worker"] == best:
        return ""
    return f" By gold labels, which are fewer, {first['worker']} is first with {first['accuracy']:.1%}."


def judges_compared(found: Any) -> tuple[Any, list[Lead], str]:
    """The most accurate judge, its lead over the others, and what they are measured by.

    That is gold labels or people, whichever gives the shorter intervals: errors that people make without the judges
    make a lead look smaller, not larger. Without both, it is the model, which is empty.
    """
    n, posteriors = found.panel.n_judges, found.unaided
    said, names = found.model._answers.said()[:, :n], [found.panel.name(j) for j in range(n)]
    compared = []
    for by, truth in _labels_of(found).items():
        expected = posteriors if by == GOLD else np.zeros_like(posteriors)  # which know what people say
        compared.append((*most_accurate(said, expected, names, found.biases.confidence, truth), by))
    compared = [one for one in compared if one[1]]
    if compared:
        return min(compared, key=lambda one: sum(lead.high - lead.low for lead in one[1]) / len(one[1]))
    return (*most_accurate(said, posteriors, names, found.biases.confidence), "")


def _labels_of(found: Any) -> dict[str, Any]:
    """Classes of the tasks that gold labels or people tell, by what they are."""
    labels = {GOLD: found.truth} if found.reference == GOLD else {}
    return labels | ({PEOPLE: consensus_classes(found.panel)} if found.panel.has_people else {})
