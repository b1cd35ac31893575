r"""The alternative annotator test: may a judge replace people? (Calderon, Reichart and Dror, ACL 2025.)

Each person is left out in turn, and both the judge and that person are compared with the remaining people, task by task.
For labels, the score of an answer is the share of the remaining people who gave it; for grades and numbers, minus the root
mean squared difference from their answers. The judge is as good as the person on a task if their score is not lower, and
the other way round, so that both are on a tie. With :math:`\rho^f` and :math:`\rho^h` the shares of tasks where the judge,
and the person, is as good as the other, the null hypothesis :math:`\rho^f \le \rho^h - \varepsilon` is tested by a one-sided
paired t-test: :math:`\varepsilon` is what people cost more. The Benjamini-Yekutieli procedure allows for several people,
whose tests depend on each other. The share of people for whom the hypothesis is rejected is the winning rate; the judge
passes if it is one half or more.
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
    p_value : float
        That the judge is worse by ``epsilon`` or more; small if the judge wins.
    p_worse : float
        That the judge is not worse by ``epsilon``; small if the judge certainly loses.
    """

    n_tasks: int
    judge_as_good: float
    person_as_good: float
    p_value: float
    p_worse: float


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
        With fewer tasks, the p-values are NaN.
    numeric : bool
        Whether differences of answers count, or only whether they are equal.

    Returns
    -------
    Comparison
    """
    others = np.delete(people, person, axis=1)
    kept = ~np.isnan(judge) & ~np.isnan(people[:, person]) & (~np.isnan(others)).any(axis=1)
    n = int(kept.sum())
    if not n:
        return Comparison(0, np.nan, np.nan, np.nan, np.nan)
    of_judge, of_person = (scores(part[kept], others[kept], numeric) for part in (judge, people[:, person]))
    tie = np.isclose(of_judge, of_person, rtol=0, atol=1e-12)
    judge_as_good, person_as_good = (of_judge > of_person) | tie, (of_person > of_judge) | tie
    difference = person_as_good.astype(float) - judge_as_good
    below, above = _t_test(difference, epsilon) if n >= max(least, 2) else (np.nan, np.nan)
    return Comparison(n, float(judge_as_good.mean()), float(person_as_good.mean()), below, above)


def _t_test(values: Floats, center: float) -> tuple[float, float]:
    """One-sided p-values for a mean below ``center``, and above it."""
    gap, error = values.mean() - center, values.std(ddof=1) / np.sqrt(len(values))
    if error == 0:
        return float(gap >= 0), float(gap <= 0)
    below = student.cdf(gap / error, len(values) - 1)
    return float(below), float(student.sf(gap / error, len(values) - 1))


def rejected(p_values: Floats, rate: float) -> NDArray[np.bool_]:
    """Which hypotheses the Benjamini-Yekutieli procedure rejects at this false discovery rate; NaN is none [1]_.

    References
    ----------
    .. [1] Y. Benjamini and D. Yekutieli, "The control of the false discovery rate in multiple testing under dependency",
       Annals of Statistics 29, 2001.

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


MAY, MAY_NOT, TOO_FEW = "may replace", "may not replace", "too few tasks to say"


@dataclass(frozen=True)
class Verdict:
    """The test of one judge.

    Attributes
    ----------
    comparisons : list of Comparison
        One for each person.
    wins, losses : array of bool
        For whom the judge is shown not to be worse by ``epsilon``, and for whom to be worse by more than that.
    winning_rate : float
        Share of the people with enough tasks for whom the judge wins.
    advantage : float
        Mean share of tasks where the judge is as good as the person: the average advantage probability.
    decision : {"may replace", "may not replace", "too few tasks to say"}
    """

    comparisons: list[Comparison]
    wins: NDArray[np.bool_]
    losses: NDArray[np.bool_]
    winning_rate: float
    advantage: float
    decision: str


def alternative_annotator_test(
    judge: Floats, people: Floats, *, epsilon: float, rate: float, least: int, numeric: bool
) -> Verdict:
    """Test one judge against all people; ``judge`` and ``people`` are as in :func:`compare`.

    A judge that does not pass may fail for lack of tasks. It certainly fails if the opposite test, that it is worse by more
    than ``epsilon``, is significant for so many people that half of them cannot be won; otherwise there are too few tasks to
    say. This distinction is ours; what passes is as published.
    """
    options = {"epsilon": epsilon, "least": least, "numeric": numeric}
    comparisons = [compare(judge, person, people, **options) for person in range(people.shape[1])]  # type: ignore[arg-type]
    p_values, p_worse = (np.array([getattr(one, name) for one in comparisons]) for name in ("p_value", "p_worse"))
    wins, losses = rejected(p_values, rate), rejected(p_worse, rate)
    tested = ~np.isnan(p_values)
    n = int(tested.sum())
    if not n:
        return Verdict(comparisons, wins, losses, np.nan, np.nan, TOO_FEW)
    advantage = float(np.mean([one.judge_as_good for one, known in zip(comparisons, tested, strict=True) if known]))
    decision = MAY if 2 * wins.sum() >= n else MAY_NOT if 2 * (n - losses.sum()) < n else TOO_FEW
    return Verdict(comparisons, wins, losses, float(wins.sum() / n), advantage, decision)
