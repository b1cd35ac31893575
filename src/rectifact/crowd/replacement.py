r"""The alternative annotator test of Calderon, Reichart and Dror (ACL 2025), on whether a judge may replace people.

Each person is left out in turn, and both the judge and that person are compared with the remaining people, task by
task. For labels, the score of an answer is the share of the remaining people who gave it; for grades and numbers,
minus the root mean squared difference from their answers. The judge is as good as the person on a task if their score
is not lower, and the other way round, so that both are on a tie. With :math:`\rho^f` and :math:`\rho^h` the shares of
tasks where the judge, and the person, is as good as the other, the null hypothesis :math:`\rho^f \le \rho^h -
\varepsilon` is tested by a one-sided paired t-test: :math:`\varepsilon` is what people cost more. The
Benjamini-Yekutieli procedure allows for several people, whose tests depend on each other. The share of people for whom
the hypothesis is rejected is the winning rate; the judge passes if it is one half or more.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Comparison:
    """A judge and one person, compared on the tasks that both answered, and at least one other person.

    Attributes
    ----------
    n_tasks : int
    judge_as_good, person_as_good : float
        Share of tasks where the score is not lower than the other's.
    t : float
        How many standard errors the person's lead lies above ``epsilon``; negative if the judge is ahead.
    p_value : float
        Of the null hypothesis that the judge is worse by ``epsilon`` or more; small if the judge wins.
    """

    n_tasks: int
    judge_as_good: float
    person_as_good: float
    t: float
    p_value: float


def scores(answer: Floats, others: Floats, numeric: bool) -> Floats:
    """Score of each answer, given those of other people (n_tasks, n_people), where NaN is none.

    Examples
    --------
    >>> import numpy as np
    >>> others = np.array([[1.0, 2.0, np.nan], [1.0, 1.0, 4.0]])
    >>> scores(np.array([1.0, 1.0]), others, numeric=False).round(2)
    array([0.5 , 0.67])
    >>> scores(np.array([1.0, 1.0]), others, numeric=True).round(2)
    array([-0.71, -1.73])
    """
    if numeric:
        return np.asarray(-np.sqrt(np.nanmean((answer[:, None] - others) ** 2, axis=1)))
    n = (~np.isnan(others)).sum(axis=1)
    return np.asarray((answer[:, None] == others).sum(axis=1) / n)


def compare(judge: Floats, person: int, people: Floats, *, epsilon: float, least: int, numeric: bool) -> Comparison:
    """Compare a judge with one person.

    Parameters
    ----------
    judge : array of shape (n_tasks,)
        Answers as numbers; NaN is none.
    person : int
        Column of ``people`` that is left out.
    people : array of shape (n_tasks, n_people)
    epsilon : float
    least : int
        With fewer tasks, there is no test: t and p-value are NaN.
    numeric : bool
        Whether differences of answers count, or only whether they are equal.

    Returns
    -------
    Comparison
    """
    rows = np.flatnonzero(~np.isnan(judge) & ~np.isnan(people[:, person]))
    others = np.delete(people[rows], person, axis=1)
    compared = (~np.isnan(others)).any(axis=1)
    rows, others, n = rows[compared], others[compared], int(compared.sum())
    if not n:
        return Comparison(0, np.nan, np.nan, np.nan, np.nan)
    of_judge, of_person = (scores(part[rows], others, numeric) for part in (judge, people[:, person]))
    tie = np.isclose(of_judge, of_person, rtol=0, atol=1e-12)
    judge_as_good, person_as_good = (of_judge > of_person) | tie, (of_person > of_judge) | tie
    difference = person_as_good.astype(float) - judge_as_good
    t = _t_statistic(difference, epsilon) if n >= max(least, 2) else np.nan
    return Comparison(n, float(judge_as_good.mean()), float(person_as_good.mean()), t, float(student.cdf(t, n - 1)))


def _t_statistic(values: Floats, center: float) -> float:
    """Distance of the mean from ``center`` in standard errors; infinite if all values are equal, and not ``center``."""
    gap, error = float(values.mean()) - center, float(values.std(ddof=1)) / np.sqrt(len(values))
    return gap / error if error > 0 else float(np.copysign(np.inf, gap)) if gap else 0.0


def rejected(p_values: Floats, rate: float) -> NDArray[np.bool_]:
    """Which hypotheses the Benjamini-Yekutieli procedure rejects at this false discovery rate; NaN is none [1]_.

    References
    ----------
    .. [1] Y. Benjamini and D. Yekutieli, "The control of the false discovery rate in multiple testing under
       dependency", Annals of Statistics 29, 2001.

    Examples
    --------
    >>> import numpy as np
    >>> rejected(np.array([0.001, 0.2, 0.015, np.nan]), 0.05)
    array([ True, False,  True, False])
    """
    known = np.flatnonzero(~np.isnan(p_values))
    m = len(known)
    wins = np.zeros(len(p_values), dtype=bool)
    rank = np.arange(1, m + 1)
    order = known[np.argsort(p_values[known], kind="stable")]
    low = np.flatnonzero(p_values[order] <= rank * rate / (m * (1 / rank).sum()))
    wins[order[: low.max() + 1 if len(low) else 0]] = True
    return wins


MOST_MORE, TINY = 10, 1e-12
"""With so many times the tasks, a judge that would pass then has too few of them; one that would not, fails."""

PASSES, FAILS, TOO_FEW = "passes the test", "does not pass the test", "too few tasks to say"
"""What the test says, which looks at agreement alone."""

MAY, RESERVED, RULED_OUT = "may replace", "passes the test, with a reservation", "ruled out"
"""Decisions where more is known of a judge than the test looks at."""


@dataclass(frozen=True)
class Verdict:
    """The test of one judge.

    Attributes
    ----------
    comparisons : list of Comparison
        One for each person.
    wins : array of bool
        Against whom the judge wins.
    winning_rate : float
        Share of wins among the people with enough tasks.
    advantage : float
        Mean share of tasks where the judge is as good as the person: the average advantage probability.
    decision : {"passes the test", "does not pass the test", "too few tasks to say"}
    tasks_needed : float
        With which the judge would pass if all shares stayed the same, where there are too few; else NaN.
    """

    comparisons: list[Comparison]
    wins: NDArray[np.bool_]
    winning_rate: float
    advantage: float
    decision: str
    tasks_needed: float


def verdict_on(judge: Floats, people: Floats, *, epsilon: float, rate: float, least: int, numeric: bool) -> Verdict:
    """Test one judge against all people; ``judge`` and ``people`` are as in :func:`compare`.

    What passes is as published. A judge that does not pass may lack tasks: if it is ahead of half of the people,
    though not significantly, and would pass with ten times as many tasks or fewer, there are too few tasks to say;
    otherwise it does not pass.
    """
    comparisons = [
        compare(judge, person, people, epsilon=epsilon, least=least, numeric=numeric)
        for person in range(people.shape[1])
    ]
    t, p_values, sizes = (np.array([getattr(one, name) for one in comparisons]) for name in ("t", "p_value", "n_tasks"))
    wins, tested = rejected(p_values, rate), ~np.isnan(p_values)
    n = int(tested.sum())
    if not n:
        return Verdict(comparisons, wins, np.nan, np.nan, TOO_FEW, np.nan)
    advantage = float(np.mean([one.judge_as_good for one in comparisons if not np.isnan(one.p_value)]))
    needed = _tasks_needed(t[tested], sizes[tested], rate)
    decision = PASSES if 2 * wins.sum() >= n else TOO_FEW if np.isfinite(needed) else FAILS
    return Verdict(
        comparisons, wins, float(wins.sum() / n), advantage, decision, needed if decision == TOO_FEW else np.nan
    )


def _tasks_needed(t: Floats, sizes: NDArray[np.int64], rate: float) -> float:
    """Tasks per person with which half of the people would be won, as t grows with their square root.

    NaN if these are more than ``MOST_MORE`` times as many as there are, or if no number is enough.
    """
    m = len(t)
    half = (m + 1) // 2
    wanted = student.isf(half * rate / (m * (1 / np.arange(1, m + 1)).sum()), np.maximum(sizes - 1, 1))
    times = (wanted / np.minimum(t, -TINY)) ** 2
    needed = np.sort((sizes * times)[times <= MOST_MORE])
    return float(np.ceil(needed[half - 1])) if len(needed) >= half else np.nan
