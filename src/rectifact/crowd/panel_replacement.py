"""Whether judges may replace people: the alternative annotator test of each judge, and of all of them together."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from rectifact.core.errors import InputError, count
from rectifact.core.validation import check_at_least
from rectifact.crowd.agreement import Level
from rectifact.crowd.copies import fit_without_copies
from rectifact.crowd.data.answers import Answers
from rectifact.crowd.data.names import in_words
from rectifact.crowd.data.people import Panel, check_labels, read_panel
from rectifact.crowd.dawid_skene import DawidSkene
from rectifact.crowd.grades import chosen
from rectifact.crowd.panel_reprs import replacement_repr
from rectifact.crowd.replacement import FAILS, MAY, PASSES, RESERVED, RULED_OUT, Floats, Verdict, verdict_on

TOGETHER = "panel (all judges)"
"""Name of the aggregated label in the tables."""

JUDGE_COLUMNS = ["judge", "decision", "winning_rate", "advantage", "people", "wins", "tasks", "tasks_needed"]
PERSON_COLUMNS = ["judge", "person", "tasks", "judge_as_good", "person_as_good", "p_value", "outcome"]


@dataclass(frozen=True, repr=False)
class Replacement:
    """The alternative annotator test of several judges.

    Attributes
    ----------
    judges : DataFrame
        By judge, the panel's aggregated label last: ``decision`` and, from :func:`rectifact.evaluate`, the
        ``reservation`` where there is one; ``winning_rate``, the share of people against whom
        the judge wins; ``advantage``, the mean share of tasks where the judge is as good as the person or better; the
        number of ``people`` who took part in the test, ``wins`` against them, the fewest ``tasks`` behind one of these
        comparisons, and where they are too few, ``tasks_needed`` per person if all shares stay the same.
    people : DataFrame
        By judge and person: number of ``tasks``, shares of tasks where one is as good as the other or better,
        ``p_value``, and the ``outcome``: win, no win, or too few tasks.
    epsilon : float
        What was allowed for the cost of people.
    least : int
        Fewest tasks for a comparison.
    n_tasks : int
        Tasks that there are.
    follows : tuple or None
        The judge whose answer the panel's label is most often, on how many of how many tasks.
    together : array of shape (n_tasks,) or None
        The panel's label of each task as a number, NaN where no judge answered; None if there is one judge.
    joint_biases : tuple
        From :func:`rectifact.evaluate`: biases of that label by gold labels or else people, and by people beside gold.
    """

    judges: pd.DataFrame
    people: pd.DataFrame
    epsilon: float
    least: int
    n_tasks: int = 0
    follows: tuple[Any, int, int] | None = None
    together: Floats | None = None
    joint_biases: tuple[Any, ...] = ()

    def __repr__(self) -> str:
        return replacement_repr(self)

    def words(self) -> list[str]:
        """The decision about each judge as a sentence."""
        said = [_sentence(row, self) for row in self.judges.to_dict("records")]
        if self.follows is not None and self.follows[1] == self.follows[2]:
            said.append(f"{TOGETHER} is the answer of {self.follows[0]} on all {self.follows[2]} tasks.")
        return said


def alternative_annotator_test(
    judges: Any,
    humans: Any,
    level: Level = "nominal",
    *,
    epsilon: float = 0.2,
    classes: Sequence[Any] | None = None,
    rate: float = 0.05,
    min_tasks: int = 30,
    missing: Any = "auto",
    task: str | Sequence[str] | None = None,
    worker: str | None = None,
    label: str | None = None,
    wide: bool = False,
) -> Replacement:
    """Whether judges may replace people, by the alternative annotator test [1]_.

    Each person is left out in turn, and the judge and that person are compared with the remaining people. A judge wins
    against a person if it represents the others as well as that person does, or better, after ``epsilon`` was taken
    off the person; it passes if it wins against half of them or more. The last row is the label on which
    all judges together decide: that of :class:`rectifact.DawidSkene` for labels, with ``ordinal=True`` for grades; the
    mean for numbers.

    Parameters
    ----------
    judges, humans : table, path or matrix
        Answers in any form that :func:`rectifact.crowd.read_answers` takes. Three people or more are best, two are
        needed.
    level : {"nominal", "ordinal", "interval"}, default "nominal"
        Whether answers are labels, which are equal or not, or grades and numbers, whose root mean squared differences
        are compared. Grades that are not numbers count from 0 in their order.
    epsilon : float, default 0.2
        How much more often than the judge a person must be as good as the other to be worth the cost. The authors
        advise 0.2 for experts, 0.15 for trained people and 0.1 for crowd workers; 0 allows for no cost.
    classes : sequence, default None
        All classes in order. Grades that are not numbers need it.
    rate : float, default 0.05
        False discovery rate of the tests against all people, by the Benjamini-Yekutieli procedure.
    min_tasks : int, default 30
        People are left out who share fewer tasks with the judge and another person: the t-test needs as many.
    missing : any, default "auto"
        What stands for no answer in a matrix, see :func:`rectifact.crowd.read_answers`.
    task, worker, label : str, default None
        Names of the columns of both tables, where they do not have usual names.
    wide : bool, default False
        Whether a table has one column per worker.

    Returns
    -------
    Replacement
        The tables ``judges`` and ``people``, and the decisions in words.

    References
    ----------
    .. [1] N. Calderon, R. Reichart and R. Dror, "The alternative annotator test for LLM-as-a-judge: how to
       statistically justify replacing human annotators with LLMs", ACL 2025.

    Examples
    --------
    >>> from rectifact import alternative_annotator_test
    >>> from rectifact.datasets import make_crowd
    >>> answers = make_crowd(200, 5, 2, labels_per_task=5, accuracy=(0.8, 0.8)).answers
    >>> is_judge = answers["worker"] < 2
    >>> test = alternative_annotator_test(answers[is_judge], answers[~is_judge], epsilon=0.2)
    >>> test.judges[["judge", "decision", "winning_rate"]]
                    judge         decision  winning_rate
    0                   0  passes the test           1.0
    1                   1  passes the test           1.0
    2  panel (all judges)  passes the test           1.0
    """
    columns = {"task": task, "worker": worker, "label": label}
    panel = read_panel(judges, humans, level=level, classes=classes, columns=columns, wide=wide, missing=missing)
    return replacement_of(panel, epsilon=epsilon, rate=rate, min_tasks=min_tasks)


def check_shares(**shares: float) -> None:
    """Refuse shares below 0, or of 1 and more."""
    for name, value in shares.items():
        if not 0 <= value < 1:
            what = f"{name}={value} must be at least 0 and below 1."
            raise InputError(what, "Give a share, such as 0.2." if name == "epsilon" else "Give 0.05.", option=name)


def replacement_of(
    panel: Panel, *, epsilon: float, rate: float = 0.05, min_tasks: int = 30, twins: Sequence[Sequence[Any]] = ()
) -> Replacement:
    """The test on answers that have been read; judges who are ``twins`` count as one in the label of all judges."""
    check_at_least(2, min_tasks=min_tasks)
    check_shares(epsilon=epsilon, rate=rate)
    _check_people(panel)
    people = _values(panel, panel.n_judges, len(panel.answers.workers))
    of_judges = _values(panel, 0, panel.n_judges)
    answers = {panel.name(j): of_judges[:, j] for j in range(panel.n_judges)}
    if panel.n_judges > 1:
        answers[TOGETHER] = _together(panel, of_judges, twins)
    options: dict[str, Any] = {"epsilon": epsilon, "rate": rate, "least": min_tasks}
    numeric = panel.scale.level != "nominal"
    verdicts = {name: verdict_on(values, people, numeric=numeric, **options) for name, values in answers.items()}
    names = [panel.name(w) for w in range(panel.n_judges, len(panel.answers.workers))]
    by_judge = [_judge_row(name, verdict) for name, verdict in verdicts.items()]
    by_person = [row for name, verdict in verdicts.items() for row in _person_rows(name, verdict, names)]
    tables = pd.DataFrame(by_judge, columns=JUDGE_COLUMNS), pd.DataFrame(by_person, columns=PERSON_COLUMNS)
    return Replacement(*tables, epsilon, min_tasks, len(panel.answers.tasks), _follows(answers), answers.get(TOGETHER))


def _follows(answers: dict[Any, Floats]) -> tuple[Any, int, int] | None:
    """The judge whose answer the joint label is most often, on how many of the tasks that the judge answered."""
    joint = answers.get(TOGETHER)
    if joint is None:
        return None
    found = []
    for name, values in answers.items():
        both = ~(np.isnan(values) | np.isnan(joint))
        if name != TOGETHER and both.any():
            found.append((name, int((values == joint)[both].sum()), int(both.sum())))
    return max(found, key=lambda one: one[1] / one[2], default=None)


def _check_people(panel: Panel) -> None:
    n_people = len(panel.answers.workers) - panel.n_judges
    if n_people < 2:
        raise InputError(
            f"The test compares people with each other, and there is {count(n_people, 'person')}.",
            "Add the answers of at least two people to the same tasks.",
        )
    check_labels(panel)
    answers, n_tasks = panel.answers, len(panel.answers.tasks)
    person = panel.is_person[answers.worker]
    judged = np.bincount(answers.task[~person], minlength=n_tasks) > 0
    if not (judged & (np.bincount(answers.task[person], minlength=n_tasks) > 1)).any():
        raise InputError("No task was answered by a judge and by two people.", "Check that both name the tasks alike.")


def _values(panel: Panel, start: int, stop: int) -> Floats:
    """Answers of some workers as numbers, of shape (n_tasks, stop - start); NaN where there is none."""
    answers = panel.answers
    theirs = (answers.worker >= start) & (answers.worker < stop)
    values = np.full((len(answers.tasks), stop - start), np.nan)
    values[answers.task[theirs], answers.worker[theirs] - start] = panel.scale.values[answers.label[theirs]]
    return values


def _together(panel: Panel, of_judges: Floats, twins: Sequence[Sequence[Any]]) -> Floats:
    """The label of each task on which all judges together decide, as a number."""
    answers = panel.answers
    theirs = answers.worker < panel.n_judges
    answered = np.unique(answers.task[theirs])
    values = np.full(len(answers.tasks), np.nan)
    if panel.scale.level == "interval":
        values[answered] = np.nanmean(of_judges[answered], axis=1)
        return values
    label = answers.label[theirs]
    if (label == label[0]).all():
        values[answered] = panel.scale.values[label[0]]
        return values
    task = np.searchsorted(answered, answers.task[theirs])
    workers = answers.workers[: panel.n_judges]
    subset = Answers(task, answers.worker[theirs], label, answers.tasks[answered], workers, answers.classes)
    ordinal = panel.scale.level == "ordinal"
    model = fit_without_copies(DawidSkene(ordinal=ordinal), subset, families=twins)
    values[answered] = panel.scale.values[chosen(model.probas_, ordinal)]
    return values


def _judge_row(name: Any, verdict: Verdict) -> list[Any]:
    tested = [one.n_tasks for one in verdict.comparisons if not np.isnan(one.p_value)]
    most = max(one.n_tasks for one in verdict.comparisons)
    figures = verdict.winning_rate, verdict.advantage, len(tested), int(verdict.wins.sum())
    return [name, verdict.decision, *figures, min(tested, default=most), verdict.tasks_needed]


def _person_rows(name: Any, verdict: Verdict, people: list[Any]) -> list[list[Any]]:
    rows = []
    for person, one, win in zip(people, verdict.comparisons, verdict.wins, strict=True):
        outcome = "too few tasks" if np.isnan(one.p_value) else "win" if win else "no win"
        rows.append([name, person, one.n_tasks, one.judge_as_good, one.person_as_good, one.p_value, outcome])
    return rows


def _sentence(row: dict[Any, Any], test: Replacement) -> str:
    judge, decision, least = in_words(row["judge"]), row["decision"], test.least
    unsure = f"Too few tasks to say whether {judge} may replace people"
    if not row["people"] and decision != RULED_OUT:
        return f"{unsure}: no person shares {least} tasks with it and another person."
    people = "1 person" if row["people"] == 1 else f"{row['people']} people"
    details = (
        f"it wins against {row['wins']} of {people} at epsilon {test.epsilon:g}, and is as good as the person or "
        f"better on {row['advantage']:.0%} of the tasks"
    )
    if decision in (PASSES, FAILS):
        return f"{judge} {decision} for replacing people: {details}."
    if decision == MAY:
        return f"{judge} may replace people: {details}."
    if decision == RESERVED:
        return f"{judge} passes the test for replacing people, but {row['reservation']}; {details}."
    if decision == RULED_OUT:
        return f"{judge} is ruled out: it {row['reservation']}; in the test, {details}."
    needed = rounded_up(row["tasks_needed"])
    enough = (
        f"if this stays so, about {needed} tasks per person that another person answers too would be enough to show it"
        f" (now {shared_tasks(test, [row['judge']])})"
    )
    if needed > test.n_tasks > 0:
        enough += f", more than the {test.n_tasks} that there are"
    return f"{unsure}: {details}; {enough}."


def rounded_up(tasks: float) -> int:
    """A number of tasks that is enough, in two digits.

    Examples
    --------
    >>> rounded_up(113.0), rounded_up(110.0), rounded_up(8.0)
    (120, 110, 8)
    """
    unit = 10 ** max(len(str(math.ceil(tasks))) - 2, 0)
    return math.ceil(tasks / unit) * unit


def shared_tasks(test: Replacement, judges: Sequence[Any]) -> str:
    """How many tasks of a person count now: those that judge and another person answered too, from least to most."""
    compared = test.people[test.people["judge"].isin(judges) & test.people["p_value"].notna()]["tasks"]
    least, most = int(compared.min()), int(compared.max())
    return str(least) if least == most else f"{least} to {most}"
