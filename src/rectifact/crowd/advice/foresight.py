"""How many answers a target takes: the error to expect against answers bought, from simulated purchases."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rectifact.core.errors import InputError
from rectifact.core.reprs import short_repr
from rectifact.crowd.advice.budget import LEAST_DROP, MOST_ROWS, Market, answered, drops, expected_error
from rectifact.crowd.em import Floats

AT_ONCE = 0.1
"""Answers per task that are bought in one step of the curve."""

ROUNDING = 1e-9
"""By which an error may miss the target."""

TOLD = 5e-4
"""Errors that a sentence does not tell apart."""


def sample(n_tasks: int, seed: int = 0) -> NDArray[np.int64]:
    """Tasks for a curve: some of many, or all of them several times."""
    if n_tasks > MOST_ROWS:
        return np.sort(np.random.default_rng(seed).choice(n_tasks, MOST_ROWS, replace=False))
    return np.tile(np.arange(n_tasks), -(-MOST_ROWS // n_tasks))


@short_repr
@dataclass(frozen=True)
class Needed:
    """How many answers it takes, at least, until labels are as good as wanted.

    Attributes
    ----------
    target : float
        The error that is wanted: the share of labels that are wrong.
    answers : int or None
        Answers to buy; None if the workers who can be asked cannot reach the target.
    cost : float or None
        Their price.
    curve : DataFrame
        ``answers`` bought, their ``cost``, and the ``error`` to expect then.
    """

    target: float
    answers: int | None
    cost: float | None
    curve: pd.DataFrame

    def words(self) -> str:
        """The result in a sentence; a cost is named where answers have prices other than 1."""
        error = self.curve["error"]
        now, last = error.iloc[0], self.curve[error <= error.min() + TOLD].iloc[0]  # what follows gains nothing
        priced = not np.allclose(self.curve["cost"], self.curve["answers"])
        if self.answers is None:
            return (
                f"The workers who can be asked cannot reach an expected error of {self.target:.1%}: it is {now:.1%} "
                f"now, and {last['error']:.1%} after {last['answers']:,.0f} more answers"
                f"{_for(last['cost']) if priced else ''}."
            )
        if self.answers == 0:
            return f"The expected error is {now:.1%} already; {self.target:.1%} is wanted."
        price, (plural, needed) = _for(self.cost) if priced else "", ("", "is") if self.answers == 1 else ("s", "are")
        return (
            f"About {self.answers:,} more answer{plural}{price} {needed} needed to bring the "
            f"expected error from {now:.1%} to {self.target:.1%}."
        )


def check_target(target: float | None, name: str) -> None:
    """Refuse a target that is not a share of wrong labels."""
    if target is not None and target >= 1:
        what = f"{name}={target:g} must be below 1: it is a share of wrong labels."
        raise InputError(what, f"Give {target / 100:g} for {target:g} percent.", option=f"{name}=")


def _for(cost: float | None) -> str:
    return f" for {cost:,.2f}"


def foresee(posteriors: Floats, market: Market, *, target: float, seed: int = 0) -> pd.DataFrame:
    """The expected error against answers bought per task, if every answer is bought knowing those before it.

    In each step, some answers are bought where they are worth most, drawn from the model and taken into account, until
    the error is at the target or nobody is left to ask.

    Parameters
    ----------
    posteriors : array of shape (n_tasks, n_classes)
        Of a :func:`sample` of tasks.
    market : Market
        For these tasks.
    target : float
        Error at which to stop.
    seed : int, default 0
        Of the answers that are drawn.

    Returns
    -------
    DataFrame
        ``answers`` bought per task, their ``cost``, and the ``error`` to expect then.

    Examples
    --------
    >>> import numpy as np
    >>> confusions = np.tile([[0.8, 0.2], [0.2, 0.8]], (3, 1, 1))  # three workers who are right in four of five cases
    >>> market = Market(np.arange(3), confusions, np.ones(3), np.ones((2000, 3), bool), np.arange(3))
    >>> curve = foresee(np.full((2000, 2), 0.5), market, target=0.0)
    >>> curve.iloc[[0, 10, -1]].round(1).to_numpy().tolist()  # answers per task, cost, error
    [[0.0, 0.0, 0.5], [1.0, 1.0, 0.2], [3.0, 3.0, 0.1]]
    """
    rng, every, now, is_open = (
        np.random.default_rng(seed),
        np.arange(len(posteriors)),
        posteriors.copy(),
        market.open.copy(),
    )
    gains, values = drops(now[:, None], market.confusions)
    curve, bought, spent, error = [(0.0, 0.0, expected_error(now))], 0, 0.0, expected_error(now)
    while curve[-1][2] > target + ROUNDING:
        worth = np.where(is_open & (values > LEAST_DROP), values / market.costs, -1.0)
        best = worth.argmax(axis=1)
        order = np.argsort(-worth[every, best], kind="stable")[: max(1, int(AT_ONCE * len(now)))]
        some = order[worth[order, best[order]] > 0]
        if not len(some):
            break
        asked = best[some]
        error -= float(gains[some, asked].sum()) / len(now)  # as a plan counts, and less random than what was drawn
        now[some] = answered(now[some], market.confusions[asked], rng)
        is_open[some] &= market.kin != market.kin[asked][:, None]
        gains[some], values[some] = drops(now[some][:, None], market.confusions)
        bought, spent = bought + len(some), spent + float(market.costs[asked].sum())
        curve.append((bought / len(now), spent / len(now), max(error, 0.0)))
    return pd.DataFrame(curve, columns=["answers", "cost", "error"])


def needed(curve: pd.DataFrame, target: float) -> Needed:
    """Where a curve meets the target, between two of its points."""
    error = curve["error"].to_numpy()
    reached = np.flatnonzero(error <= target + ROUNDING)
    if not len(reached):
        return Needed(target, None, None, curve)
    i = int(reached[0])
    if i == 0:
        return Needed(target, 0, 0.0, curve)
    part = (error[i - 1] - target) / max(error[i - 1] - error[i], 1e-300)
    answers, cost = (float(values[i - 1] + part * (values[i] - values[i - 1])) for values in _columns(curve))
    return Needed(target, int(np.ceil(answers - 1e-6)), cost, curve)


def _columns(curve: pd.DataFrame) -> list[Floats]:
    return [curve[name].to_numpy() for name in ("answers", "cost")]
