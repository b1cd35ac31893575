"""Plans in money: which answers to buy from whom, until the expected error is low enough or the money is spent.

The error to expect of a task is the probability that its label is wrong, one minus its largest probability. What an
answer is worth is how far it is expected to lower that, one step ahead, divided by its price. An answer that could not
change the label by itself still prepares the next one, so a part of the gain in a smoother measure is added, the error
of a label that is drawn from the probabilities.

Answers to come are unknown, so every task is followed through several *worlds*: in each, answers are drawn from the
model, and the probabilities are updated by them.
"""

from dataclasses import dataclass
from heapq import heapify, heappop, heappush

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from rectifact.crowd.advice.workers import information
from rectifact.crowd.em import CrowdModel, Floats

WORLDS = 32
"""In which a plan follows a task."""

TILE = 1 << 22
"""Numbers worked on at once."""

PREPARES = 0.25
"""Part of the gain in the smoother measure that is added."""

LEAST_DROP = 1e-9
"""Expected errors that an answer must prevent, or prepare to prevent, to be compared with others."""

LEAST_GAIN, WORTHWHILE = 1e-6, 0.005
"""Expected errors that an answer must prevent to be in a plan: where a target is to be reached, and otherwise."""

MOST_ROWS = 2000
"""Tasks, in all worlds together, from which the curve of expected errors is drawn."""

MOST_PER_ANSWER = 10
"""Tasks that a plan compares for each answer in it, where there are many: the most uncertain ones."""

MOST_ASKED = 1000
"""Workers who are compared."""

WELL_KNOWN = 2.0
"""Nats by which other answers foretell those of a worker, from which on plans believe what the fit says of workers."""

LIKE_OTHERS = 20.0
"""Answers before a worker's own count for more than those of all, where a fit hardly knows the workers."""


@dataclass(frozen=True)
class Market:
    """Who can be asked what.

    Attributes
    ----------
    workers : array of shape (n_workers,)
        Numbers of those who can be asked.
    confusions : array of shape (n_workers, n_classes answered, n_classes true)
        Of their answers, as far as these are independent, see :func:`weakened`.
    costs : array of shape (n_workers,)
        Price of one answer.
    open : array of shape (n_tasks, n_workers)
        Whether the worker can be asked about the task.
    kin : array of shape (n_workers,)
        Number of the family: once one of them has answered a task, no other is asked.
    """

    workers: NDArray[np.int64]
    confusions: Floats
    costs: Floats
    open: NDArray[np.bool_]
    kin: NDArray[np.int64]


def weakened(confusions: Floats, priors: Floats, independence: Floats) -> Floats:
    """Confusion matrices of workers whose answers tell something new only with probability ``independence``.

    Otherwise, an answer is drawn from those that the worker usually gives, whatever the task.

    Examples
    --------
    >>> import numpy as np
    >>> weakened(np.eye(2)[None], np.array([0.5, 0.5]), np.array([0.5]))
    array([[[0.75, 0.25],
            [0.25, 0.75]]])
    """
    share = independence[:, None, None]
    return share * confusions + (1 - share) * (confusions @ priors)[:, :, None]


def like_the_crowd(counts: Floats) -> Floats:
    """Confusion matrices of workers who are hardly known: as they have answered, near those of the whole crowd.

    Parameters
    ----------
    counts : array of shape (n_workers, n_classes answered, n_classes true)
        Expected answers.

    Examples
    --------
    >>> import numpy as np
    >>> like_the_crowd(np.array([[[9.0, 1.0], [1.0, 9.0]], [[0.0, 1.0], [1.0, 0.0]]])).round(2)[:, 0]
    array([[0.81, 0.19],
           [0.73, 0.27]])
    """
    together = counts.sum(axis=0) + 1.0
    crowd = together / together.sum(axis=0)
    return (counts + LIKE_OTHERS * crowd) / (counts.sum(axis=1, keepdims=True) + LIKE_OTHERS)


def look_ahead(posteriors: Floats, confusions: Floats) -> tuple[Floats, Floats]:
    """By how much an answer of each worker is expected to lower the error of each task, and the smoother measure.

    Parameters
    ----------
    posteriors : array of shape (n_tasks, n_classes)
    confusions : array of shape (n_workers, n_classes answered, n_classes true)

    Returns
    -------
    error, smooth : array of shape (n_tasks, n_workers)
        Drops of the probability that the likeliest class is wrong, and of the probability that a class is wrong that
        is drawn from the probabilities.

    Examples
    --------
    >>> import numpy as np
    >>> error, _ = look_ahead(np.array([[0.6, 0.4], [0.9, 0.1]]), np.array([[[0.8, 0.2], [0.2, 0.8]]]))
    >>> error.round(2)  # one such answer could not change the label of the second task
    array([[0.2],
           [0. ]])
    """
    n_workers, n_answers, n_classes = confusions.shape
    by_answer = confusions.transpose(1, 0, 2).reshape(-1, n_classes)  # sums over answers are then over long rows
    shape = len(posteriors), n_answers, n_workers
    largest = posteriors[:, :1] * by_answer[:, 0]
    for c in range(1, n_classes):
        np.maximum(largest, posteriors[:, c, None] * by_answer[:, c], out=largest)
    squares = posteriors**2 @ (by_answer**2).T / np.maximum(posteriors @ by_answer.T, 1e-300)
    error = largest.reshape(shape).sum(axis=1) - posteriors.max(axis=1)[:, None]
    smooth = squares.reshape(shape).sum(axis=1) - (posteriors**2).sum(axis=1)[:, None]
    return np.maximum(error, 0), np.maximum(smooth, 0)


def expected_error(posteriors: Floats) -> float:
    """The share of labels that are expected to be wrong."""
    return float(1 - posteriors.max(axis=1).mean()) if len(posteriors) else 0.0


def drops(worlds: Floats, confusions: Floats) -> tuple[Floats, Floats]:
    """The expected drop of the error by an answer of each worker, and the same with what it prepares.

    ``worlds`` has the shape (n_tasks, n_worlds, n_classes); the results, means over worlds, (n_tasks, n_workers).
    """
    n_tasks, n_worlds, n_classes = worlds.shape
    rows = max(1, TILE // max(1, n_worlds * confusions.size))
    parts = [
        [
            part.reshape(-1, n_worlds, len(confusions)).mean(axis=1)
            for part in look_ahead(worlds[i : i + rows].reshape(-1, n_classes), confusions)
        ]
        for i in range(0, n_tasks, rows)
    ]
    error, smooth = (np.concatenate(part) for part in zip(*parts, strict=True))
    return error, error + PREPARES * smooth


def answered(worlds: Floats, confusions: Floats, rng: np.random.Generator) -> Floats:
    """Probabilities after one answer, drawn in each world: ``worlds`` (n, n_classes), ``confusions`` (n, k, c)."""
    chance = np.cumsum(np.einsum("nkc,nc->nk", confusions, worlds), axis=1)
    drawn = (rng.random(len(worlds))[:, None] * chance[:, -1:] > chance[:, :-1]).sum(axis=1)
    after = confusions[np.arange(len(worlds)), drawn] * worlds
    return after / after.sum(axis=1, keepdims=True)


def market_of(
    given: sp.csr_array,
    can_be_asked: NDArray[np.bool_],
    model: CrowdModel,
    *,
    costs: Floats,
    independence: Floats,
    kin: NDArray[np.int64],
) -> Market:
    """Who can be asked what: nobody twice, and nobody whose family has answered the task.

    Parameters
    ----------
    given : sparse array of shape (n_tasks, n_workers)
        Number of answers so far.
    can_be_asked : array of shape (n_tasks, n_workers) or (n_workers,)
    model : CrowdModel
        Fitted to them.
    costs : array of shape (n_workers,)
        Prices.
    independence : array of shape (n_workers,)
        What an answer is worth beside an independent one.
    kin : array of shape (n_workers,)
        Number of the family in which one tells the same as the other; a number of their own for all others.
    """
    some = _worth_asking(np.atleast_2d(can_be_asked).max(axis=0), model, costs, independence)
    family, number = np.unique(kin, return_inverse=True)
    one_hot = sp.csr_array((np.ones(len(kin)), (np.arange(len(kin)), number)), shape=(len(kin), len(family)))
    closed = (given.astype(bool).astype(float) @ one_hot)[:, number[some]].toarray() > 0
    is_open = can_be_asked[..., some] & ~closed
    confusions = weakened(model.confusions[some], model.priors, independence[some])
    return Market(some, confusions, costs[some], is_open, kin[some])


def _worth_asking(
    can_be_asked: NDArray[np.bool_], model: CrowdModel, costs: Floats, independence: Floats
) -> NDArray[np.int64]:
    """Numbers of workers who can be asked; of very many, those whose answers tell most for the money."""
    some = np.flatnonzero(can_be_asked)
    if len(some) <= MOST_ASKED:
        return some
    worth = information(model.priors, model.confusions[some]) * independence[some] / costs[some]
    return np.sort(some[np.argsort(-worth, kind="stable")[:MOST_ASKED]])


@dataclass(frozen=True)
class Purchase:
    """Answers to buy, in order.

    Attributes
    ----------
    tasks, workers : array of shape (n_answers,)
        Numbers.
    costs : array of shape (n_answers,)
        Prices.
    drops : array of shape (n_answers,)
        By how much the sum of the errors is expected to fall.
    """

    tasks: NDArray[np.int64]
    workers: NDArray[np.int64]
    costs: Floats
    drops: Floats


def buy(
    posteriors: Floats,
    market: Market,
    *,
    n: int,
    budget: float,
    excess: float,
    least: float = LEAST_GAIN,
    seed: int = 0,
) -> Purchase:
    """Answers that lower the error most for the money, one after the other.

    Parameters
    ----------
    posteriors : array of shape (n_tasks, n_classes)
    market : Market
    n : int
        Most answers.
    budget : float
        Most money.
    excess : float
        Expected wrong labels that are too many; the plan ends when it has prevented them.
    least : float, default 1e-6
        Expected errors that an answer must prevent, alone or on average with those after it to the same task.
    seed : int, default 0
        Of the answers that are drawn.

    Examples
    --------
    >>> import numpy as np
    >>> expert, amateur = np.array([[0.9, 0.1], [0.1, 0.9]]), np.array([[0.7, 0.3], [0.3, 0.7]])
    >>> both, prices = np.stack([expert, amateur]), np.array([10.0, 1.0])
    >>> market = Market(np.arange(2), both, prices, np.ones((2, 2), bool), np.arange(2))
    >>> plan = buy(np.array([[0.5, 0.5], [0.99, 0.01]]), market, n=2, budget=12, excess=np.inf)
    >>> plan.tasks.tolist(), plan.workers.tolist(), plan.costs.tolist()  # the cheap one first
    ([0, 0], [1, 0], [1.0, 10.0])
    """
    rng = np.random.default_rng(seed)
    worlds = np.repeat(posteriors[:, None], WORLDS, axis=1)
    is_open, left = market.open.copy(), budget
    rows: list[tuple[float, ...]] = []
    gains, values = drops(worlds[:, :1], market.confusions)
    offers = ((t, _offer(values[t], is_open[t], market, left)) for t in range(len(worlds)))
    heap = [(-offer[0], t, offer[1]) for t, offer in offers if offer]
    heapify(heap)
    while heap and len(rows) < n and excess > 0:
        _, t, m = heappop(heap)
        if market.costs[m] <= left:
            rows.append((t, m, market.costs[m], gains[t, m]))
            left, excess = left - market.costs[m], excess - gains[t, m]
            is_open[t] &= market.kin != market.kin[m]
            others = np.flatnonzero(is_open[t])
            if not len(others):
                continue
            worlds[t] = answered(worlds[t], market.confusions[np.full(WORLDS, m)], rng)
            gains[t, others], values[t, others] = drops(worlds[t : t + 1], market.confusions[others])
        if offer := _offer(values[t], is_open[t], market, left):
            heappush(heap, (-offer[0], t, offer[1]))
    table = np.array(rows, dtype=float).reshape(-1, 4)
    table = table[_pays_off(table[:, 0], table[:, 3], least)]
    return Purchase(table[:, 0].astype(np.int64), table[:, 1].astype(np.int64), table[:, 2], table[:, 3])


def _pays_off(tasks: Floats, gains: Floats, least: float) -> NDArray[np.bool_]:
    """Answers that prevent errors, or prepare later answers to the same task that do: ``least`` each on average.

    Examples
    --------
    >>> import numpy as np
    >>> _pays_off(np.array([0, 1, 0, 1, 1]), np.array([0.1, 0.0, 0.0, 0.2, 0.0]), 0.01)
    array([ True,  True, False,  True, False])
    """
    kept = np.zeros(len(tasks), dtype=bool)
    order = np.argsort(tasks, kind="stable")
    for rows in np.split(order, np.flatnonzero(np.diff(tasks[order])) + 1):
        start = 0
        while start < len(rows):  # the longest run of answers from here that is worth it, then the next one
            means = np.cumsum(gains[rows[start:]]) / np.arange(1, len(rows) - start + 1)
            worth = np.flatnonzero((means > least) & (gains[rows[start:]] > least))
            if not worth.size:
                break
            kept[rows[start : start + worth[-1] + 1]] = True
            start += int(worth[-1]) + 1
    return kept


def _offer(values: Floats, is_open: NDArray[np.bool_], market: Market, left: float) -> tuple[float, int] | None:
    """The worker whose answer is worth most for the money, and how much; None if there is nobody."""
    worth = np.where(is_open & (market.costs <= left) & (values > LEAST_DROP), values / market.costs, -1.0)
    best = int(worth.argmax())
    return None if worth[best] < 0 else (float(worth[best]), best)


def candidates(posteriors: Floats, n: int) -> NDArray[np.int64]:
    """The most uncertain tasks, many more than the ``n`` answers of a plan."""
    doubt = 1 - (posteriors**2).sum(axis=1)
    return np.sort(np.argsort(-doubt, kind="stable")[: max(MOST_PER_ANSWER * n, MOST_ROWS)])
