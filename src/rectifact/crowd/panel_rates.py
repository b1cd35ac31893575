"""The share of a class, and differences between groups: tables from answers of judges and a few labels of people."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rectifact.core.errors import InputError
from rectifact.core.reprs import short_repr
from rectifact.crowd.data.answers import Answers
from rectifact.crowd.data.humans import gold_weights as read_weights
from rectifact.crowd.data.humans import positive_labels, task_groups
from rectifact.crowd.data.names import matched, object_array, plain, plain_text, with_commas
from rectifact.crowd.data.people import answered_once
from rectifact.crowd.data.read import coded
from rectifact.crowd.events import (
    EVERYTHING,
    Judged,
    Shares,
    event_of,
    judge,
    warn_if_selected,
    warn_if_unequal,
    warn_of_few,
)
from rectifact.crowd.prediction_powered import (
    Share,
    deviations,
    difference,
    labels_for,
    labels_for_difference,
    wilson,
)

MOST_GROUPS = 10
"""Groups of which all pairs are compared; of more, each is compared with the first."""

RATE_COLUMNS = [
    *("group", "rate", "low", "high", "human_rate", "human_low", "human_high", "judge_rate"),
    *("tasks", "labels", "worth", "tuning", "labels_needed"),
]
DIFFERENCE_COLUMNS = [
    *("first", "second", "difference", "low", "high", "p_value", "human_difference", "human_low", "human_high"),
    *("human_p_value", "judge_difference", "tasks", "labels", "labels_needed"),
]


@short_repr
@dataclass(frozen=True)
class Rates:
    """The share of a class, for all tasks and by group, and the differences between groups.

    Attributes
    ----------
    rates : DataFrame
        One row for all tasks, and one per ``group``: the corrected ``rate`` with its interval from ``low`` to ``high``;
        the rate by the labels of people alone with theirs (``human_rate``, ``human_low``, ``human_high``);
        ``judge_rate``, the mean share of positive answers of judges, uncorrected; numbers of ``tasks`` and human
        ``labels``; ``worth``, the number of human labels that would be as precise without judges; ``tuning``, how far
        judges were used, from 0 to 1; and where a half-width was asked for, ``labels_needed``, the labels in all that
        reach it, infinite where labels of all tasks would not.
    differences : DataFrame
        The ``second`` group minus the ``first``, with intervals and p-values, corrected and by people alone.
    positive : tuple
        The classes whose share it is.
    confidence : float
        Probability of the intervals.
    half_width : float or None
        The half-width that ``labels_needed`` are for.
    reference, panel : str
        Whose labels decide, and who judged all tasks, in words.
    selected : str
        Why the tasks with labels do not look like a random sample; empty if they may be one.
    """

    rates: pd.DataFrame
    differences: pd.DataFrame
    positive: tuple[Any, ...]
    confidence: float
    half_width: float | None
    reference: str = "people"
    panel: str = "judges"
    selected: str = ""

    def named(self, reference: str, panel: str) -> "Rates":
        """The same, in other words for the labels that decide and for those who judged all tasks."""
        return replace(self, reference=reference, panel=panel)

    def table(self) -> pd.DataFrame:
        """Rates and differences in one table: ``second`` is empty in the rows of rates."""
        rates = self.rates.rename(columns={"group": "first", "rate": "value", "human_rate": "human_value"})
        rates = rates.rename(columns={"judge_rate": "judge_value"}).assign(kind="rate", second="")
        names = {f"{of}difference": f"{of}value" for of in ("", "human_", "judge_")}
        columns = ["kind", "first", "second", "value", "low", "high", "p_value"]
        columns += ["human_value", "human_low", "human_high"]
        columns += ["human_p_value", "judge_value", "tasks", "labels", "worth", "tuning", "labels_needed"]
        differences = self.differences.rename(columns=names).assign(kind="difference")
        parts = [part.reindex(columns=columns) for part in (rates, differences) if len(part)]
        return pd.concat(parts, ignore_index=True) if len(parts) > 1 else parts[0]

    def words(self) -> list[str]:
        """The result in sentences."""
        said = [_rate_words(row, wanted(self), self) for row in self.rates.to_dict("records")]
        said += [*_outside_words(self.rates), *self.difference_words()]
        if self.half_width is not None:
            rows = [*self.rates.to_dict("records"), *self.differences.to_dict("records")]
            said += [_needed_words(row, self) for row in rows]
        return said

    def difference_words(self) -> list[str]:
        """The differences between groups in sentences."""
        rows = self.differences.to_dict("records")
        return [_difference_words(row, self.confidence, len(rows)) for row in rows]


def rate(
    data: Any,
    gold: Any,
    positive: Any,
    *,
    by: Any = None,
    gold_weights: Any = None,
    confidence: float = 0.95,
    half_width: float | None = None,
    classes: Sequence[Any] | None = None,
    missing: Any = "auto",
    task: str | None = None,
    worker: str | None = None,
    label: str | None = None,
    wide: bool = False,
) -> Rates:
    """The share of a class, and differences between groups, from answers of judges and a few labels of people.

    The labels of people decide; judges make the interval shorter. What the judges say together, the probabilities of
    :class:`rectifact.DawidSkene`, is calibrated by the labels in folds, so that no label takes part in the prediction
    that it corrects, and enters by prediction-powered inference with power tuning [1]_ [2]_.

    Parameters
    ----------
    data : table, path or matrix
        Answers of judges in any form that :func:`rectifact.crowd.read_answers` takes; one judge is enough.
    gold : dict, Series, table or path
        Labels of people for some of the tasks, drawn at random. Several labels of a task become their consensus, and
        tasks on which people tie are left out.
    positive : label or list of labels
        The class, or classes, whose share is estimated.
    by : str, dict, Series, table or path, default None
        Groups of tasks to compare: a column of ``data``, or group by task.
    gold_weights : str, dict, Series, table or path, default None
        Where tasks for ``gold`` were not drawn with equal probability, 1 divided by that probability, up to a factor:
        a column of ``gold``, or weight by task.
    confidence : float, default 0.95
        Probability that an interval is meant to have.
    half_width : float, default None
        If given, ``labels_needed`` says how many human labels would make the intervals as short as this to both sides.
    classes : sequence, default None
        All classes, where people have some that no judge has given. A label of people that is neither among these nor
        an answer of a judge is refused, as it may be misspelt.

        .. versionadded:: 0.2
    missing : any, default "auto"
        What stands for no answer in a matrix, see :func:`rectifact.crowd.read_answers`.
    task, worker, label : str, default None
        Names of the columns of the answers, where they do not have usual names.
    wide : bool, default False
        Whether a table has one column per worker.

    Returns
    -------
    Rates
        The tables ``rates`` and ``differences``, and both in words.

    Notes
    -----
    Intervals are for the tasks that these are a random sample of, so that all labels do not make them vanish. A warning
    says where labels look selected: where judges say something else about the tasks with labels than about the others.

    References
    ----------
    .. [1] A. N. Angelopoulos, J. C. Duchi and T. Zrnic, "PPI++: efficient prediction-powered inference", 2023.
    .. [2] T. Zrnic and E. J. Candès, "Cross-prediction-powered inference", PNAS 121, 2024.

    Examples
    --------
    >>> from rectifact import rate
    >>> from rectifact.datasets import make_crowd
    >>> crowd = make_crowd(2000, 5, 2, labels_per_task=5, accuracy=(0.6, 0.8), random_state=0)
    >>> found = rate(crowd.answers, crowd.truth[:200], positive=1)
    >>> found.rates[["rate", "low", "high", "human_rate", "human_low", "human_high", "labels", "worth"]].round(2)
       rate   low  high  human_rate  human_low  human_high  labels   worth
    0  0.54  0.48  0.59        0.54       0.47        0.61     200  310.74
    """
    if isinstance(data, Answers) and data.weight is not None:
        raise InputError("Rates count all answers alike.", "Give answers without weights.")
    judged = judge(answered_once(coded(data, {"task": task, "worker": worker, "label": label}, wide, missing, None)))
    options: dict[str, Any] = {"gold_weights": gold_weights, "confidence": confidence, "half_width": half_width}
    options |= {"classes": classes}
    return rates_of(judged, gold, positive, groups=_groups(by, data, judged.answers), **options)


def _groups(by: Any, data: Any, answers: Answers) -> tuple[NDArray[np.int64], NDArray[Any]] | None:
    return None if by is None else task_groups(by, data, answers)


def rates_of(
    judged: Judged,
    gold: Any,
    positive: Any,
    *,
    groups: tuple[NDArray[np.int64], NDArray[Any]] | None = None,
    gold_weights: Any = None,
    confidence: float = 0.95,
    half_width: float | None = None,
    classes: Sequence[Any] | None = None,
    by_people: bool = False,
    seen: Any = None,
) -> Rates:
    """Rates from answers that have been read and judged; ``groups`` are numbers of tasks' groups, and their names.

    Labels may be those ``by_people`` of the panel; ``seen`` are votes of judges, where people took part in ``judged``.
    """
    check_options(confidence, half_width)
    names, answers = positive if isinstance(positive, list | tuple | set | np.ndarray) else (positive,), judged.answers
    names = tuple(with_commas(list(names), answers.classes))
    known = positive_labels(gold, answers, names, classes, by_people=by_people)
    weights = None if gold_weights is None else read_weights(gold_weights, gold, answers, known)
    event = event_of(judged, names, known, weights)
    everything = np.ones(len(known), dtype=bool)
    by_group = {} if groups is None else {plain(name): groups[0] == g for g, name in enumerate(groups[1])}
    warn_of_few(event, by_group, by_people)
    unequal = warn_if_unequal(event, by_group, by_people)
    view = None if seen is None else seen[:, matched(answers.classes, object_array(list(names))) >= 0].sum(axis=1)
    selected = warn_if_selected(event, by_group if unequal else {EVERYTHING: everything} | by_group, by_people, view)
    z = deviations(confidence)
    found = {name: event.shares(members) for name, members in by_group.items()}
    rows = [_rate_row(EVERYTHING, event.shares(everything), half_width, z)]
    rows += [_rate_row(name, shares, half_width, z) for name, shares in found.items()]
    pairs = [_difference_row(*pair, found, half_width, z) for pair in _pairs(list(found))]
    tables = pd.DataFrame(rows, columns=RATE_COLUMNS), pd.DataFrame(pairs, columns=DIFFERENCE_COLUMNS)
    return Rates(*tables, names, confidence, half_width, selected=selected)


def check_options(confidence: float, half_width: float | None) -> None:
    """Refuse a probability, or a half-width, that is none."""
    for name, value in {"confidence": confidence, "half_width": half_width}.items():
        if value is not None and not 0 < value < 1:
            example = "a probability, such as 0.95" if name == "confidence" else "a share, such as 0.02"
            raise InputError(f"{name}={value} must lie between 0 and 1.", f"Give {example}.", option=name)


def _pairs(names: list[Any]) -> list[tuple[Any, Any]]:
    return list(combinations(names, 2)) if len(names) <= MOST_GROUPS else [(names[0], name) for name in names[1:]]


def _rate_row(name: Any, found: Shares, half_width: float | None, z: float) -> list[Any]:
    one, people = found.corrected, found.people
    needed = np.nan if half_width is None or not one.n_labels else labels_for(one, half_width, z)
    figures = [one.value, *_ends(one, z), people.value, *_ends(people, z), found.judges]
    return [name, *figures, one.n_tasks, one.n_labels, one.worth, one.tuning, needed]


def _ends(one: Share, z: float) -> tuple[float, float]:
    return one.interval(z) if one.n_labels else (np.nan, np.nan)


def _difference_row(first: Any, second: Any, found: dict[Any, Shares], half_width: float | None, z: float) -> list[Any]:
    one, other = found[first], found[second]
    n_tasks, n_labels = (sum(getattr(part.people, of) for part in (one, other)) for of in ("n_tasks", "n_labels"))
    naive = other.judges - one.judges
    if not (one.people.n_labels and other.people.n_labels):
        return [first, second, *[np.nan] * 8, naive, n_tasks, n_labels, np.nan]
    figures = []
    for a, b in ((one.corrected, other.corrected), (one.people, other.people)):
        gap = difference(a, b, z)
        figures += [gap.value, gap.low, gap.high, gap.p_value]
    pair = one.corrected, other.corrected
    needed = np.nan if half_width is None else labels_for_difference(*pair, half_width, z)
    return [first, second, *figures, naive, n_tasks, n_labels, needed]


def wanted(found: Rates) -> str:
    """The classes whose share it is, in words."""
    return " or ".join(plain_text(name) for name in found.positive)


def _rate_words(row: dict[Any, Any], what: str, found: Rates) -> str:
    who = "All tasks" if row["group"] == EVERYTHING else str(row["group"])
    if not row["labels"]:
        return f"{who}: nobody has labelled any of these tasks; {found.panel} alone say {row['judge_rate']:.1%}."
    people = f"{row['human_rate']:.1%} ({row['human_low']:.1%} to {row['human_high']:.1%})"
    ends = f"{row['low']:.1%} to {row['high']:.1%}"
    return (
        f"{who}: the share of {what} is {row['rate']:.1%} ({found.confidence:.0%} interval {ends}); by "
        f"{found.reference} alone it is {people}, by {found.panel} alone {row['judge_rate']:.1%}."
    )


def _outside_words(rates: pd.DataFrame) -> list[str]:
    """Why the rate of all tasks may not lie between those of the groups, where it does not."""
    whole, groups = rates["rate"].iloc[0], rates["rate"].iloc[1:].dropna()
    if not len(groups) or groups.min() <= whole <= groups.max():
        return []
    return [
        "The rate of all tasks does not lie between those of the groups: each row is corrected by its own labels, and "
        "all of them are uncertain by as much as their intervals say."
    ]


def _difference_words(row: dict[Any, Any], confidence: float, n: int) -> str:
    pair = f"{row['second']} minus {row['first']}"
    if np.isnan(row["difference"]):
        return f"{pair} takes labels of people in both groups."
    value, low, high = (f"{100 * row[name]:+.1f}" for name in ("difference", "low", "high"))
    verdict = "more than chance explains" if row["p_value"] * n < 1 - confidence else "not more than chance explains"
    together = "" if n == 1 else f", {n} comparisons considered"
    interval = f"{confidence:.0%} interval {low} to {high}, p = {row['p_value']:.2g}"
    return f"{pair} is {value} points ({interval}): {verdict}{together}."


def best_half_width(row: Any, found: Rates) -> float:
    """Points to both sides, at best, of a rate or a difference if all of its tasks had labels."""
    rates, z = found.rates.set_index("group"), deviations(found.confidence)
    names = [row["group"]] if "group" in row else [row["first"], row["second"]]
    ends = [wilson(rates.loc[name, "rate"], rates.loc[name, "tasks"], z) for name in names]
    return float(50 * np.hypot.reduce([high - low for low, high in ends]))


def _needed_words(row: dict[Any, Any], found: Rates) -> str:
    who = row["group"] if "group" in row else f"{row['second']} minus {row['first']}"
    who = "All tasks" if who == EVERYTHING else who
    needed = row["labels_needed"]
    goal = f"{who}: an interval of {100 * (found.half_width or 0):g} points to both sides"
    if np.isnan(needed):
        return f"{goal} takes labels of people first."
    if np.isinf(needed):
        best = best_half_width(row, found)
        all_of_them = f"labels for all {row['tasks']} tasks would give about {best:.1f} points"
        return f"{goal} is out of reach: {all_of_them}. Add tasks."
    more = int(needed) - row["labels"]
    return f"{goal} takes about {max(more, 0)} more labels." if more > 0 else f"{goal} is reached."
