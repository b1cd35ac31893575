"""The share of a class, or the mean grade, and differences between groups: tables from judges and a few people."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from rectifact.core.errors import FitWarning, InputError
from rectifact.crowd.data.answers import Answers
from rectifact.crowd.data.humans import Groups, graded_labels, positive_labels
from rectifact.crowd.data.humans import gold_weights as read_weights
from rectifact.crowd.data.names import plain, with_commas
from rectifact.crowd.data.paired import paired_tasks
from rectifact.crowd.data.wide import grouped_answers
from rectifact.crowd.events import (
    EVERYTHING,
    Judged,
    Measured,
    class_event,
    grade_event,
    judge,
    warn_if_selected,
    warn_if_unequal,
    warn_of_few,
)
from rectifact.crowd.grades import numbers_of
from rectifact.crowd.misfit import grades_misfit, labels_misfit
from rectifact.crowd.panel_reprs import rates_repr
from rectifact.crowd.prediction_powered import deviations
from rectifact.crowd.quantity import Quantity
from rectifact.crowd.rate_tables import Sought, rate_tables
from rectifact.crowd.rate_words import difference_words, rates_words


@dataclass(frozen=True, repr=False)
class Rates:
    """The share of a class, or the mean grade, for all tasks and by group, and the differences between groups.

    Attributes
    ----------
    rates : DataFrame
        One row for all tasks, and one per ``group``: the corrected ``rate``, a share or a mean grade, with its
        interval from ``low`` to ``high``; the same by the labels of people alone (``human_rate``, ``human_low``,
        ``human_high``) and by judges, uncorrected (``judge_rate``); numbers of ``tasks`` and human
        ``labels``; ``worth``, the number of human labels that would be as precise without judges; ``tuning``, how far
        judges were used, 0 if not at all; and where a half-width was asked for, ``labels_needed``, the labels in all
        that reach it, infinite where labels of all tasks would not.
    differences : DataFrame
        The ``second`` group minus the ``first``, with intervals and p-values, corrected and by people alone. Of tasks
        that several columns name, such as a prompt and a version, ``pairs`` counts those that differ only in their
        group, and ``labelled_pairs`` those of them that have labels in both: differences use these pairs.
    positive : tuple
        The classes whose share it is; empty for a mean grade.
    confidence : float
        Probability of the intervals.
    half_width : float or None
        The half-width that ``labels_needed`` are for.
    quantity : Quantity
        What the rates are, and how they are written.
    reference, panel : str
        Whose labels decide, and who judged all tasks, in words.
    selected : str
        Why the tasks with labels do not look like a random sample; empty if they may be one.
    contradicted : str
        Why nothing of this can be relied on: gold labels that fit the answers no better than shuffled ones; empty if
        they fit.
    """

    rates: pd.DataFrame
    differences: pd.DataFrame
    positive: tuple[Any, ...]
    confidence: float
    half_width: float | None
    quantity: Quantity
    reference: str = "people"
    panel: str = "judges"
    selected: str = ""
    contradicted: str = ""

    def __repr__(self) -> str:
        return rates_repr(self)

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
        columns += ["human_p_value", "judge_value", "tasks", "labels", "pairs", "labelled_pairs"]
        columns += ["worth", "tuning", "labels_needed"]
        whole = dict.fromkeys(("pairs", "labelled_pairs"), "Int64")  # rows of rates have none
        differences = self.differences.rename(columns=names).assign(kind="difference").astype(whole)
        parts = [part.reindex(columns=columns) for part in (rates, differences) if len(part)]
        return pd.concat(parts, ignore_index=True) if len(parts) > 1 else parts[0]

    def words(self) -> list[str]:
        """The result in sentences; one that forbids to rely on them comes first."""
        return rates_words(self)

    def difference_words(self) -> list[str]:
        """The differences between groups in sentences."""
        return difference_words(self)


def rate(
    data: Any,
    gold: Any,
    positive: Any = None,
    *,
    mean: bool = False,
    by: Any = None,
    gold_weights: Any = None,
    confidence: float = 0.95,
    half_width: float | None = None,
    classes: Sequence[Any] | None = None,
    missing: Any = "auto",
    task: str | Sequence[str] | None = None,
    worker: str | None = None,
    label: str | None = None,
    wide: bool = False,
) -> Rates:
    """The share of a class, or the mean grade, and differences between groups, from judges and a few human labels.

    The labels of people decide; judges make the interval shorter. What the judges say together, the probabilities of
    :class:`rectifact.DawidSkene`, is calibrated by the labels in folds, so that no label takes part in the prediction
    that it corrects, and enters by prediction-powered inference with power tuning [1]_ [2]_. A mean grade takes the
    mean of the judges' grades in place of these probabilities.

    Parameters
    ----------
    data : table, path or matrix
        Answers of judges in any form that :func:`rectifact.crowd.read_answers` takes; one judge is enough.
    gold : dict, Series, table or path
        Labels of people for some of the tasks, drawn at random. Several labels of a task become their consensus, and
        tasks on which people tie are left out.
    positive : label or list of labels, default None
        The class, or classes, whose share is estimated.
    mean : bool, default False
        Whether labels are grades, and their mean is estimated in place of a share. Several labels of a task then count
        by their mean.

        .. versionadded:: 0.2
    by : str, dict, Series, table or path, default None
        Groups of tasks to compare: a column of ``data``, or group by task.
    gold_weights : str, dict, Series, table or path, default None
        Where tasks for ``gold`` were not drawn with equal probability, 1 divided by that probability, up to a factor:
        a column of ``gold``, or weight by task.
    confidence : float, default 0.95
        Probability that an interval is meant to have.
    half_width : float, default None
        If given, ``labels_needed`` says how many human labels would shorten the intervals to this on either side,
        a share or, with ``mean``, in grades.
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
    check_asked(positive, mean)
    columns = {"task": task, "worker": worker, "label": label}
    answers, groups = grouped_answers(data, by, columns, wide, missing, classes=classes, asked=positive, gold=gold)
    options: dict[str, Any] = {"gold_weights": gold_weights, "confidence": confidence, "half_width": half_width}
    found = checked_rates(answers, gold, positive, groups=groups, classes=classes, **options)
    if found.contradicted:
        warnings.warn(FitWarning(found.contradicted), stacklevel=2)
    return found


def checked_rates(
    answers: Answers, gold: Any, positive: Any, *, classes: Sequence[Any] | None = None, **options: Any
) -> Rates:
    """Rates from answers that have been read or, where no class is named, means; and whether gold labels fit them.

    ``options`` are those of :func:`rates_of`.
    """
    if positive is None:
        return replace(means_of(answers, gold, **options), contradicted=grades_misfit(answers, gold))
    judged = judge(answers)
    found = rates_of(judged, gold, positive, classes=classes, **options)
    return replace(found, contradicted=labels_misfit(judged, gold))


def check_asked(positive: Any, mean: bool) -> None:
    """Refuse to estimate both a share and a mean, or nothing."""
    if (positive is None) is not mean:
        what = "positive and mean=True exclude each other." if mean else "It is not said what to estimate."
        remedy = "Name the class whose share you want with {}, or ask for the mean of grades with {}."
        forms = remedy.format("positive", "mean=True"), remedy.format("--positive", "--mean")
        raise InputError(what, forms[0], option=("positive", "mean="), command=forms[1])


def rates_of(
    judged: Judged,
    gold: Any,
    positive: Any,
    *,
    groups: Groups | None = None,
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
    names, answers = positive if isinstance(positive, list | tuple | set | np.ndarray) else (positive,), judged.answers
    names = tuple(with_commas(list(names), answers.classes))
    known = positive_labels(gold, answers, names, classes, by_people=by_people)
    weights = None if gold_weights is None else read_weights(gold_weights, gold, answers, known >= 0)
    event = class_event(judged, names, known, weights, seen)
    found = _tabulated(event, Quantity.share(names), answers, groups, confidence, half_width, by_people)
    return replace(found, positive=names)


def means_of(
    answers: Answers,
    gold: Any,
    *,
    groups: Groups | None = None,
    gold_weights: Any = None,
    confidence: float = 0.95,
    half_width: float | None = None,
    by_people: bool = False,
) -> Rates:
    """Mean grades, as :func:`rates_of` gives shares; the labels of the answers must be numbers."""
    values = numbers_of(answers.classes)
    if values is None:
        odd = next(name for name in answers.classes.tolist() if numbers_of([name]) is None)
        raise InputError(
            f"A mean takes grades that are numbers, and there are answers such as {plain(odd)!r}.",
            "Write grades as numbers, or name the class whose share you want with positive in place of mean=True.",
            option=("positive", "mean="),
        )
    truth, step = graded_labels(gold, answers, values)
    weights = None if gold_weights is None else read_weights(gold_weights, gold, answers, ~np.isnan(truth))
    event = grade_event(answers, values, truth, weights, step)
    everything = np.concatenate([values, truth[event.labelled]])
    quantity = Quantity.mean(float(everything.min()), float(everything.max()))
    return _tabulated(event, quantity, answers, groups, confidence, half_width, by_people)


def _tabulated(
    event: Measured,
    quantity: Quantity,
    answers: Answers,
    groups: Groups | None,
    confidence: float,
    half_width: float | None,
    by_people: bool,
) -> Rates:
    """The tables of what was measured, and warnings about its labels."""
    check_options(confidence, half_width, quantity.is_mean)
    everything = np.ones(len(event.truth), dtype=bool)
    by_group = {} if groups is None else {plain(name): groups[0] == g for g, name in enumerate(groups[1])}
    warn_of_few(event, by_group, by_people)
    unequal = warn_if_unequal(event, by_group, by_people)
    selected = warn_if_selected(event, by_group if unequal else {EVERYTHING: everything} | by_group, by_people)
    asked = Sought(quantity, half_width, deviations(confidence))
    tables = rate_tables(event, by_group, paired_tasks(answers, groups), asked)
    return Rates(*tables, (), confidence, half_width, quantity, selected=selected)


def check_options(confidence: float, half_width: float | None, is_mean: bool = False) -> None:
    """Refuse a probability, or a half-width, that is none; that of a mean is in grades."""
    if is_mean and half_width is not None and not 0 < half_width < np.inf:
        raise InputError(f"half_width={half_width} must be above 0.", "Give it in grades.", option="half_width")
    for name, value in {"confidence": confidence, "half_width": None if is_mean else half_width}.items():
        if value is not None and not 0 < value < 1:
            example = "a probability, such as 0.95" if name == "confidence" else "a share, such as 0.02"
            raise InputError(f"{name}={value} must lie between 0 and 1.", f"Give {example}.", option=name)
