"""Answers that are not independent: how much a task's answers vary together, and workers who copy each other.

Where Dawid-Skene holds, the residual of an answer k in state s, :math:`e_k - A_m(., s)`, is uncorrelated with those of
the other answers to the task. Where it does not, the answers of a task are worth fewer than they are: their number
divided by the design effect of survey statistics.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from rectifact.core.operand import Operand
from rectifact.core.sparse import coordinates, from_coordinates
from rectifact.crowd.cooccurrence import n_paired_answers
from rectifact.crowd.copying import Copy
from rectifact.crowd.em import Floats, Sums, confusions_of

NOTICED = 1e-3
"""Probability of a state below which it is left out: a task is in one or two of them."""

SURE = 2.0
"""Standard errors by which the design effect must exceed 1."""

SHARED = 50.0
"""Answers of a worker that count as much as the design effect of the whole crowd."""

COPIES = (0.90, 0.98)
"""Correlation of residuals from which two workers begin to count as one, and from which they do."""

COMMON_TASKS = 50
"""Which two workers must share, before they can be called copies."""

LEAST_ERRORS = 15.0
"""Sum of squared residuals on these tasks: two workers who are hardly ever wrong are not copies of each other."""

MOST_PAIRS = 500_000
"""Pairs of answers that are compared; of more, a part of the tasks."""


class DesignEffects(NamedTuple):
    """How much more a task's answers vary together than independent answers would; 1 is independent.

    Attributes
    ----------
    overall : float
    error : float
        Its standard error.
    workers : array of shape (n_workers,)
        Of the answers of each worker; those of few answers are close to the overall one.
    """

    overall: float
    error: float
    workers: Floats

    @property
    def certain(self) -> bool:
        """Whether independent answers are ruled out."""
        return self.overall - SURE * self.error > 1


def design_effects(
    B: Operand, posteriors: Any, confusions: Floats, vote_weights: Floats, members: NDArray[np.int64] | None = None
) -> DesignEffects:
    r"""Design effects of the answers under a model.

    With residuals :math:`r_a` of the answers a to a task, weighted by :math:`f_a`,

    .. math:: d_m = 1 + \frac{\sum_{a \in m} r_a \cdot \sum_{b \ne a} f_b r_b}{\sum_{a \in m} |r_a|^2}

    in expectation over the posterior of the states. The squares of single answers are not in the sum, because each
    answer helped to fit its own matrix; nor are the products within a family, for which the weights make up.

    Parameters
    ----------
    B : Operand of shape (n_tasks, n_workers * n_classes)
        How often worker m answered k.
    posteriors : array of shape (n_tasks, n_states)
    confusions : array of shape (n_workers, n_classes, n_states)
        Without a prior, which would bias the residuals.
    vote_weights : array of shape (n_workers,)
        Less than 1 for copies of other workers.
    members : array of shape (n_workers,), default None
        Number of the family that a worker is in, -1 for none.

    Examples
    --------
    >>> import numpy as np
    >>> from rectifact.core.operand import operand
    >>> from rectifact.crowd import read_answers
    >>> from rectifact.datasets import make_crowd
    >>> def effect(answers, truth, confusions):
    ...     answers = read_answers(answers)
    ...     certain = np.eye(3)[truth.loc[answers.tasks]]
    ...     order = np.asarray(answers.workers, dtype=int)
    ...     return design_effects(operand(answers.one_hot()), certain, confusions[order], np.ones(20)).overall
    >>> crowd = make_crowd(1000, 20, 3)
    >>> first = crowd.answers.groupby("task")["label"].transform("first")
    >>> copied = crowd.answers.assign(label=first.where(crowd.answers.index % 5 < 2, crowd.answers["label"]))
    >>> round(effect(crowd.answers, crowd.truth, crowd.confusions), 1)
    1.0
    >>> effect(copied, crowd.truth, crowd.confusions) > 1.1
    True
    """
    kin = None if members is None or not (members >= 0).any() else members
    together, alone, squares = B.total(_residual_sums, confusions, vote_weights, kin, along=(posteriors,))
    if not alone.sum() > 0:
        return DesignEffects(1.0, 0.0, np.ones(len(confusions)))
    excess = together.sum() / alone.sum()
    crowd = SHARED * alone.sum() / B.total(_n_answers)  # what so many answers have alone
    workers = 1 + (together + crowd * excess) / (alone + crowd)
    return DesignEffects(1 + float(excess), float(np.sqrt(squares) / alone.sum()), np.maximum(workers, 1.0))


def _n_answers(rows: Any) -> float:
    return float(rows.nnz)


def _residual_sums(
    rows: Any, posteriors: Floats, confusions: Floats, vote_weights: Floats, kin: NDArray[np.int64] | None
) -> tuple[Floats, Floats, float]:
    """By worker: products of residuals with those of other answers, and their squares. Squared sums over tasks."""
    n_workers, n_classes, n_states = confusions.shape
    together, alone, by_task = np.zeros(n_workers), np.zeros(n_workers), np.zeros(rows.shape[0])
    for state in range(n_states):
        likely = np.flatnonzero(posteriors[:, state] > NOTICED)
        some = _counting(rows[likely])
        task = np.repeat(np.arange(len(likely)), np.diff(some.indptr))
        worker, label = np.divmod(some.indices, n_classes)
        residuals = -confusions[worker, :, state]
        residuals[np.arange(len(label)), label] += 1
        own = residuals * vote_weights[worker, None]
        others = _sums_by(task, own) - (own if kin is None else _sums_by(_with_kin(task, kin[worker]), own))
        share = posteriors[likely, state][task]
        product = share * np.einsum("ak,ak->a", residuals, others)
        together += np.bincount(worker, product, minlength=n_workers)
        alone += np.bincount(worker, share * np.einsum("ak,ak->a", residuals, residuals), minlength=n_workers)
        by_task += np.bincount(likely[task], product, minlength=len(by_task))
    return together, alone, float(by_task @ by_task)


def _counting(rows: Any) -> Any:
    """The answers whose weight is not zero."""
    if rows.data.all():
        return rows
    rows = rows.copy()
    rows.eliminate_zeros()
    return rows


def _sums_by(key: Any, values: Floats) -> Floats:
    """For each value, the sum of all with the same key."""
    return np.stack([np.bincount(key, part)[key] for part in values.T], axis=1)


def _with_kin(task: Any, family: Any) -> Any:
    """Numbers that are the same for the answers of one family to one task; answers of others have their own."""
    alone = family < 0
    key = np.where(alone, -1 - np.arange(len(task)), task * (family.max(initial=0) + 1) + family)
    return np.unique(key, return_inverse=True)[1]


class Families(NamedTuple):
    """Workers who err alike.

    Attributes
    ----------
    vote_weights : array of shape (n_workers,)
        What an answer counts, so that a family of copies counts as one worker.
    members : array of shape (n_workers,)
        Number of the family, -1 for a worker without one.
    """

    vote_weights: Floats
    members: NDArray[np.int64]


def find_families(
    B: Operand,
    votes: Any,
    vote_sums: Sums,
    groups: NDArray[np.int64] | None = None,
    copies: Sequence[Copy] = (),
) -> Families:
    """Workers who answer the same: copies of one source under several names, and groups that are given.

    Residuals are measured from the vote, because a model takes two copies for the truth: nobody else agrees so well.
    Good workers also share what a model cannot explain, so that only near copies are found; workers who merely err
    alike are left to :func:`design_effects`. In a group that is given, a worker counts for one over one plus the
    correlations with the others. Both by the share of a worker's answers to tasks that the others answered too: who
    answered a thousand tasks, fifty of them together with a copy, counts nearly in full.

    Parameters
    ----------
    B : Operand of shape (n_tasks, n_workers * n_classes)
        How often worker m answered k.
    votes : array of shape (n_tasks, n_classes)
        Shares of the votes.
    vote_sums : Sums
        Under these shares.
    groups : array of shape (n_workers,), default None
        Number of the group that a worker is in, -1 for none.
    copies : sequence of Copy, default ()
        Workers who were found to copy others.

    Examples
    --------
    >>> import pandas as pd
    >>> from rectifact.core.operand import operand
    >>> from rectifact.crowd import read_answers
    >>> from rectifact.crowd.em import expected_sums
    >>> from rectifact.datasets import make_crowd
    >>> table = make_crowd(200, 3, 2, labels_per_task=3).answers
    >>> answers = read_answers(pd.concat([table, table[table["worker"] == 0].assign(worker=3)]))
    >>> B, votes = operand(answers.one_hot()), answers.shares()
    >>> families = find_families(B, votes, B.total(expected_sums, along=(votes,)))
    >>> dict(zip(answers.workers.tolist(), families.vote_weights.round(1).tolist())) == {0: 0.5, 1: 1.0, 2: 1.0, 3: 0.5}
    True
    """
    confusions = confusions_of(vote_sums.counts, 0)
    n_workers, (begin, end) = len(confusions), COPIES
    stride = max(1, -(-int(B.total(n_paired_answers)) // MOST_PAIRS))
    sums = B.total(_pairs, confusions, stride, along=(votes,))
    one, other, common = coordinates(sums[0])
    product, square, other_square = (_at(matrix, one, other) for matrix in sums[1:])
    scale = np.sqrt(square * other_square)
    correlation = np.where(scale > LEAST_ERRORS, product / np.maximum(scale, LEAST_ERRORS), 0.0)
    alike = np.where(common * stride >= COMMON_TASKS, np.clip((correlation - begin) / (end - begin), 0, 1), 0.0)
    if groups is not None:
        given = (groups[one] == groups[other]) & (groups[one] >= 0)
        alike = np.where(given, np.clip(correlation, 0, 1), alike)
    for worker, source, share in copies:
        pair = (one == min(worker, source)) & (other == max(worker, source))
        alike = np.where(pair, np.maximum(alike, share), alike)
    answers = np.maximum(vote_sums.counts.sum(axis=(1, 2)), 1e-9)
    links = np.zeros(n_workers)
    for worker in (one, other):  # of the answers that stand alone, each counts in full
        shared = np.minimum(common * stride / answers[worker], 1)
        links += np.bincount(worker, alike * shared, minlength=n_workers)
    return Families(1 / (1 + links), _components(one[alike > 0.5], other[alike > 0.5], groups, n_workers))


def same_source(members: NDArray[np.int64], vote_weights: Floats, n_workers: int) -> NDArray[np.int64]:
    """Number of a family for workers of whom one tells the same as the other; a number of their own for all others.

    In a family that was given, workers may differ: they are linked by more than half if one tells the same.

    Examples
    --------
    >>> import numpy as np
    >>> same_source(np.array([0, 0, -1, 1, 1]), np.array([0.5, 0.5, 1, 0.9, 0.9]), 6).tolist()
    [6, 6, 2, 3, 4, 5]
    """
    sizes = np.array([(members == number).sum() for number in members])
    links = (1 / vote_weights - 1) / np.maximum(sizes - 1, 1)
    numbers = np.arange(n_workers)
    known = len(members)
    numbers[:known] = np.where((members >= 0) & (links > 0.5), n_workers + members, numbers[:known])
    return numbers


def _pairs(rows: Any, posteriors: Floats, confusions: Floats, stride: int) -> tuple[Any, ...]:
    """By pair of workers: common tasks, products of their residuals there, and squares of the one's and the other's."""
    n_workers, n_classes, n_states = confusions.shape
    rows, posteriors = rows[::stride], posteriors[::stride]
    found = [np.zeros((6, 0))]
    for state in range(n_states):
        likely = np.flatnonzero(posteriors[:, state] > NOTICED)
        some = _counting(rows[likely])
        task = np.repeat(np.arange(len(likely)), np.diff(some.indptr))
        worker, label = np.divmod(some.indices, n_classes)
        residuals = np.eye(n_classes)[label] - confusions[worker, :, state]
        square = np.einsum("ak,ak->a", residuals, residuals)
        for lag in range(1, int(np.diff(some.indptr).max(initial=0))):  # pairs of answers that stand so far apart
            a = np.flatnonzero((task[:-lag] == task[lag:]) & (worker[:-lag] != worker[lag:]))
            a, b = np.where(worker[a] < worker[a + lag], (a, a + lag), (a + lag, a))  # answers come in any order
            share = posteriors[likely[task[a]], state]
            products = share * np.einsum("pk,pk->p", residuals[a], residuals[b])
            found.append(np.stack([worker[a], worker[b], share, products, share * square[a], share * square[b]]))
    one, other, *values = np.concatenate(found, axis=1)
    places, shape = (one.astype(np.int64), other.astype(np.int64)), (n_workers, n_workers)
    return tuple(from_coordinates(value, *places, shape) for value in values)


def _at(matrix: Any, rows: Any, columns: Any) -> Floats:
    """Entries of a sparse matrix at places that are sorted by row and column and hold all that is stored."""
    n_columns, values = matrix.shape[1], np.zeros(len(rows))
    row, column, stored = coordinates(matrix)
    values[np.searchsorted(rows * np.int64(n_columns) + columns, row * np.int64(n_columns) + column)] = stored
    return values


def _components(one: Any, other: Any, groups: Any, n_workers: int) -> NDArray[np.int64]:
    """Number of the connected component of each worker, -1 where it is alone."""
    if groups is not None:
        order = np.argsort(groups, kind="stable")
        kin = (groups[order[:-1]] == groups[order[1:]]) & (groups[order[:-1]] >= 0)
        one, other = np.concatenate([one, order[:-1][kin]]), np.concatenate([other, order[1:][kin]])
    graph = from_coordinates(np.ones(len(one)), one, other, (n_workers, n_workers))
    _, component = connected_components(graph, directed=False)
    alone = np.bincount(component)[component] == 1
    return np.where(alone, -1, component).astype(np.int64)
