"""From verdicts to a decision: rates, agreement, replacement, bias and labels of one panel of judges and people."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from html import escape
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rectifact.core.errors import FitWarning, InputError, count
from rectifact.core.findings import Finding
from rectifact.crowd.advice.audit import Audit, audit
from rectifact.crowd.advice.gold import LEAST_GOLD
from rectifact.crowd.copies import Pair, families_of, findings_beside, fit_without_copies, pairs_of, told_by_gold
from rectifact.crowd.data.answers import check_comparable
from rectifact.crowd.data.failures import named_by, without_failures
from rectifact.crowd.data.humans import task_groups
from rectifact.crowd.data.names import plain
from rectifact.crowd.data.people import Panel, check_people, mentioned, panel_of
from rectifact.crowd.data.task_names import gold_as_named
from rectifact.crowd.data.verdicts import Verdicts, read_verdicts
from rectifact.crowd.dawid_skene import DawidSkene
from rectifact.crowd.grades import numbers_of
from rectifact.crowd.panel_accuracy import measured_accuracies, with_biases, with_measured
from rectifact.crowd.panel_agreement import Agreement, agreement_of
from rectifact.crowd.panel_bias import Biases
from rectifact.crowd.panel_choice import with_reservations
from rectifact.crowd.panel_gap import agreement_gaps
from rectifact.crowd.panel_joint import with_joint_biases
from rectifact.crowd.panel_rates import Rates, check_options
from rectifact.crowd.panel_replacement import Replacement, check_shares, replacement_of
from rectifact.crowd.panel_shift import biases_by
from rectifact.crowd.panel_steps import next_steps
from rectifact.crowd.panel_words import decision_words, who, words_of
from rectifact.crowd.reference import (
    GOLD,
    Asked,
    asked_classes,
    beside_gold,
    gold_classes,
    gold_series,
    grades_by,
    people_beside,
    rates_by,
    reference_of,
)


@dataclass(frozen=True, repr=False)
class Evaluation:
    """What a panel of judges and people says, and how far it can be believed.

    Attributes
    ----------
    panel : Panel
        All answers; people come last among the workers.
    model : DawidSkene
        Fitted to all answers, and calibrated: ``model.result()`` has the labels. It has seen the gold labels only where
        the answers do not tell who is right: those of two judges, or of copies.
    reference : str
        What rates and biases are measured by: gold labels, people, or nothing, which is empty.
    truth : array of shape (n_tasks,) or None
        Number of the class of each task with a gold label, -1 for others.
    audit : Audit or None
        How often labels are right that have seen no gold label.
    rates : Rates or None
        The share of the positive class, and differences between groups; of grades without one, their mean.
    agreement : Agreement or None
    gaps : DataFrame
        Agreement of judges with people minus that of people with each other, see
        :func:`rectifact.crowd.panel_gap.agreement_gaps`.
    replacement : Replacement or None
        Which judges may replace people: those that pass the test, without a reservation.
    biases : Biases
    pairs : list of Pair
        Judges who err alike, twins first.
    groups : tuple or None
        Number of each task's group, and the names of the groups.
    texts : dict or None
        Texts by task.
    unknown : list of str
        What could not be measured, and why.
    by_people : Rates or None
        The share as people label, where there are gold labels and people.
    people_on_gold : tuple of int or None
        Of how many gold labels the consensus of people differs, and how many it was compared with.
    biases_by_people : Biases or None
        Biases against people, where gold labels decide and there are people as well.
    findings : list of Finding
        What is wrong with the answers, as :meth:`rectifact.DawidSkene.diagnose` finds it, the worst first.
    kind_column : str or None
        A column that seems to say who is a person, where nobody is named as one.
    grades : Rates or None
        The mean grade, where labels are numbers in order; the same as ``rates`` if no class is named.
    grades_by_people : Rates or None
        The same as people label, where gold labels decide and there are people as well.
    unaided : array of shape (n_tasks, n_classes)
        Probabilities of the classes by the answers alone, which no gold label has changed.
    """

    panel: Panel
    model: DawidSkene
    reference: str
    truth: NDArray[np.int64] | None
    audit: Audit | None
    rates: Rates | None
    agreement: Agreement | None
    gaps: pd.DataFrame
    replacement: Replacement | None
    biases: Biases
    pairs: list[Pair]
    groups: tuple[NDArray[np.int64], NDArray[Any]] | None
    texts: dict[Any, Any] | None
    unknown: list[str]
    by_people: Rates | None = None
    people_on_gold: tuple[int, int] | None = None
    biases_by_people: Biases | None = None
    findings: list[Finding] = field(default_factory=list)
    kind_column: str | None = None
    grades: Rates | None = None
    grades_by_people: Rates | None = None
    unaided: NDArray[np.float64] = field(default_factory=lambda: np.empty((0, 0)))

    def __repr__(self) -> str:
        return "\n".join([f"Evaluation of {self._read()}", *self.decision()])

    def _repr_html_(self) -> str:
        items = "".join(f"<li>{escape(sentence)}</li>" for sentence in self.decision())
        return f"<p><b>Evaluation of {escape(self._read())}</b></p><ul>{items}</ul>"

    def _read(self) -> str:
        answers = self.panel.answers
        return f"{count(len(answers), 'verdict')} from {who(self)} on {count(len(answers.tasks), 'task')}."

    @property
    def people(self) -> list[Any] | None:
        """Names of the people, None if there are none."""
        return [plain(name) for name in self.panel.answers.workers[self.panel.is_person]] or None

    def decision(self) -> list[str]:
        """The result in a few sentences: the rate, whom to trust, and what to do next."""
        return decision_words(self, command=False)

    def words(self) -> list[str]:
        """The result in sentences, each with its interval."""
        return words_of(self)

    def next_steps(self) -> list[Finding]:
        """What to do next, the most important first."""
        return next_steps(self)

    def workers(self) -> pd.DataFrame:
        """Table by worker: that of :meth:`rectifact.DawidSkene.worker_report`, ``kind``, and ``accuracy_by``.

        ``kind`` is judge or person. With gold labels, accuracies are measured by them, of workers who answered at least
        ten such tasks; ``accuracy_by`` says so. Others are inferred from all answers: too high where workers share
        errors, and too low by a few points where some tasks are hard for all. Biases are those of ``biases``, and
        ``bias_by`` says what they were measured by.
        """
        table = with_biases(self.model.worker_report(), self.biases.table).assign(accuracy_by="all answers")
        table.insert(1, "kind", np.where(self.panel.is_person, "person", "judge"))
        if self.reference != GOLD or self.truth is None:
            return table
        found = measured_accuracies(self.model._answers.said(), self.unaided, self.truth)
        return with_measured(table, found, GOLD)


def evaluate(
    data: Any,
    humans: Any = None,
    *,
    people: Any = None,
    gold: Any = None,
    positive: Any = None,
    by: Any = None,
    ordinal: bool = False,
    classes: Sequence[Any] | None = None,
    text_column: str | None = None,
    epsilon: float = 0.2,
    confidence: float = 0.95,
    half_width: float = 0.05,
    random_state: Any = 0,
    missing: Any = "auto",
    task: str | Sequence[str] | None = None,
    worker: str | None = None,
    label: str | None = None,
    wide: bool = False,
) -> Evaluation:
    """From verdicts of judges and people to a decision.

    One call for what :class:`rectifact.DawidSkene`, :func:`rectifact.rate`, :func:`rectifact.agreement` and
    :func:`rectifact.alternative_annotator_test` say together: which share passes, whether one version is better than
    another, whether judges agree with people as people do with each other, which judges may replace people, which are
    twins, who is biased, how many more labels are needed, and the label of each task. What is not given is not used,
    and ``next_steps()`` says what that leaves open.

    .. versionadded:: 0.2

    Parameters
    ----------
    data : table, path or matrix
        Verdicts in any form that :func:`rectifact.crowd.read_answers` takes.
    humans : table, path or matrix, default None
        Verdicts of people, where they are not in ``data``.
    people : str or sequence, default None
        Who of the workers in ``data`` are people: a list of names, a text with their names and commas, or the name of a
        column that says ``human`` for them. In an export of Label Studio, annotators are people.
    gold : str, dict, Series, table or path, default None
        Labels known to be right, of tasks drawn at random: a column of ``data``, or by task. Without it, or with
        fewer than ten, rates and biases are measured by the people, whose errors then stay in them.
    positive : label or list of labels, default None
        The class whose share is estimated. Without it, one that is called pass, yes, true or the like is taken, or with
        ``ordinal`` the mean grade is estimated.
    by : str, dict, Series, table or path, default None
        Groups of tasks to compare: a column of ``data``, or by task.
    ordinal : bool, default False
        Whether the labels are grades in order.
    classes : sequence, default None
        All classes in order; for grades that are not numbers.
    text_column : str, default None
        Column of ``data`` with the text of the task, to show beside tasks in doubt.
    epsilon : float, default 0.2
        Allowance for the cost of people, see :func:`rectifact.alternative_annotator_test`.
    confidence : float, default 0.95
        Probability of the intervals.
    half_width : float, default 0.05
        The results say how many more labels shorten the intervals of rates to this on either side. For mean grades, a
        share of the range of grades: 0.05 is 0.2 of grades from 1 to 5.
    random_state : int, Generator or None, default 0
        Of the bootstrap intervals of agreement, on which no verdict depends.
    missing : any, default "auto"
        What stands for no answer, such as ``["N/A", "error"]``, see :func:`rectifact.crowd.read_answers`.
    task, worker, label : str, default None
        Names of the columns of ``data``, where they do not have usual names.
    wide : bool, default False
        Whether a table has one column per worker.

    Returns
    -------
    Evaluation

    Examples
    --------
    >>> from rectifact import evaluate
    >>> from rectifact.datasets import make_crowd
    >>> crowd = make_crowd(300, 6, 2, labels_per_task=6, accuracy=(0.8, 0.9), random_state=0)
    >>> found = evaluate(crowd.answers, people=[3, 4, 5], gold=crowd.truth[:60], positive=1)
    >>> found.reference, found.audit.n_gold, len(found.decision())
    ('gold labels', 60, 4)
    """
    options: dict[str, Any] = {"ordinal": ordinal, "classes": classes, "epsilon": epsilon, "confidence": confidence}
    reading: dict[str, Any] = {"columns": {"task": task, "worker": worker, "label": label}, "wide": wide}
    reading |= {"gold": gold, "by": by, "text": text_column, "missing": missing}
    verdicts = read_verdicts(data, humans, people=people, **reading)
    return evaluation_of(verdicts, positive=positive, half_width=half_width, random_state=random_state, **options)


def evaluation_of(
    verdicts: Verdicts,
    *,
    positive: Any = None,
    ordinal: bool = False,
    classes: Sequence[Any] | None = None,
    epsilon: float = 0.2,
    confidence: float = 0.95,
    half_width: float | None = 0.05,
    random_state: Any = 0,
    callbacks: Sequence[Any] | None = None,
) -> Evaluation:
    """The same from verdicts that have been read; ``callbacks`` follow the fit."""
    parts = [part for part in (verdicts.judges, verdicts.people) if part is not None]
    used = named_by(positive, classes, verdicts.gold and verdicts.gold[1])
    parts = without_failures(parts, verdicts.missing, used=used)
    panel = panel_of(parts, "ordinal" if ordinal else "nominal", classes, has_level=False, used=used)
    answers = panel.answers
    _check(panel)
    check_options(confidence, half_width)
    check_shares(epsilon=epsilon)
    gold = verdicts.gold and gold_as_named(verdicts.gold, answers)
    known = gold_classes(answers, gold)
    names = asked_classes(positive, answers)
    mentioned(panel, gold and gold[1], [*names, *([] if classes is None else classes)])
    model = fit_without_copies(DawidSkene(ordinal=ordinal, callbacks=callbacks), answers, known)
    reference = reference_of(panel, model.probas_, known, gold)
    groups = None if verdicts.groups is None else task_groups(verdicts.groups, None, answers)
    unknown: list[str] = []
    asked = Asked(names, numbers_of(answers.classes) if ordinal else None, verdicts.groups, confidence, half_width)
    rates = rates_by(reference, panel, asked)
    if positive is None and names and rates is not None:
        what = f"The share that is estimated is that of {names[0]!r}."
        warnings.warn(FitWarning(what, "Choose another class with positive.", option="positive"), stacklevel=3)
    sampling: dict[str, Any] = {"n_resamples": 1000, "random_state": random_state}
    agreement = _or_why(unknown, lambda: agreement_of(panel, confidence=confidence, **sampling))
    gaps = agreement_gaps(panel, confidence=confidence)
    biases = biases_by(reference, panel, names, groups, confidence)
    found = None if known is None else audit(model.probas_, known, ordinal=ordinal, confidence=confidence)
    pairs = pairs_of(model, ~panel.is_person)
    replacement = _or_why(unknown, lambda: _replacement(panel, epsilon, families_of(pairs)))
    certain = None if known is None or (known >= 0).sum() < LEAST_GOLD else gold_series(answers, known)
    unaided = model._model.posteriors
    findings = findings_beside(pairs, model, panel, known)
    model = told_by_gold(model, certain).calibrate(certain)
    people = people_beside(reference, panel)
    replacement = with_joint_biases(replacement, panel, [reference, people], names, groups, confidence)
    other, on_gold = beside_gold(reference, people, panel, asked)
    evaluation = Evaluation(
        *(panel, model, reference.name, known, found, rates, agreement, gaps, replacement, biases, pairs, groups),
        texts=verdicts.texts,
        unknown=unknown,
        by_people=other,
        people_on_gold=on_gold,
        biases_by_people=None if people is None else biases_by(people, panel, names, groups, confidence),
        findings=findings,
        kind_column=verdicts.kind_column,
        grades=grades_by(reference, panel, asked) if names else rates,
        grades_by_people=other if people is None or not names else grades_by(people, panel, asked),
        unaided=unaided,
    )
    return replace(evaluation, replacement=with_reservations(evaluation))


def _check(panel: Panel) -> None:
    """Refuse answers of a single worker, and those that cannot be compared."""
    workers = panel.answers.workers
    if len(workers) == 1:
        raise InputError(
            f"All verdicts come from {plain(workers[0])!r}, and it takes two to compare them.",
            "Add the verdicts of others, or use rectifact.rate, which takes one judge with gold labels.",
            command="Add the verdicts of others, or use rectifact rate, which takes one judge with --gold.",
        )
    check_comparable(panel.answers)
    check_people(panel)


def _replacement(panel: Panel, epsilon: float, twins: list[list[Any]]) -> Replacement | None:
    return replacement_of(panel, epsilon=epsilon, twins=twins) if panel.has_people else None


def _or_why(unknown: list[str], measure: Any) -> Any:
    """What is measured or, where the answers do not allow it, None, and the reason in ``unknown``."""
    try:
        return measure()
    except InputError as error:
        if error.options:  # a parameter is wrong
            raise
        unknown.append(error.what)
        return None
