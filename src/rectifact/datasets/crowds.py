"""Planted crowds: answers drawn from the Dawid-Skene model with a known truth."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from rectifact.core.errors import InputError
from rectifact.core.reprs import short_repr
from rectifact.core.validation import check_at_least, check_generator, check_option
from rectifact.datasets.seeds import RandomState, takes_seed


@short_repr
@dataclass(frozen=True)
class CrowdSet:
    """Answers of a crowd and what is known about the truth.

    Attributes
    ----------
    answers : DataFrame
        Columns ``task``, ``worker`` and ``label``.
    truth : Series
        True labels by task; may cover only some tasks, or none.
    confusions : array of shape (n_workers, n_classes, n_classes), or None
        Probability of each answer (second axis) given the true class (third axis); known for planted crowds only.
    prior : array of shape (n_classes,), or None
        Class probabilities; known for planted crowds only.
    """

    answers: pd.DataFrame
    truth: "pd.Series[Any]"
    confusions: NDArray[np.float64] | None = None
    prior: NDArray[np.float64] | None = None


@takes_seed
def make_crowd(
    n_tasks: int = 1000,
    n_workers: int = 20,
    n_classes: int = 3,
    *,
    labels_per_task: int = 5,
    prior: ArrayLike | None = None,
    accuracy: tuple[float, float] = (0.6, 0.9),
    n_spammers: int = 0,
    n_adversaries: int = 0,
    n_specialists: int = 0,
    assignment: Literal["uniform", "skewed", "groups", "blocks"] = "uniform",
    n_groups: int = 2,
    missing: float = 0.5,
    random_state: RandomState = 0,
) -> CrowdSet:
    """Draw answers from the Dawid-Skene model.

    Parameters
    ----------
    n_tasks : int, default 1000
        Tasks are numbered from 0, and so are workers and classes.
    n_workers : int, default 20
    n_classes : int, default 3
    labels_per_task : int, default 5
        Answers for each task, from as many different workers.
    prior : array of shape (n_classes,), default None
        Class probabilities; uniform by default. ``[.9, .06, .02, .02]`` makes rare classes.
    accuracy : tuple of two floats, default (0.6, 0.9)
        Range of the honest workers' probability of a right answer, which is the same for every class.
    n_spammers : int, default 0
        The first workers give answers that do not depend on the truth.
    n_adversaries : int, default 0
        The next workers take each class for the one after it as often as honest workers are right.
    n_specialists : int, default 0
        The last workers are each a specialist of one class, in turn: they give its label whenever it is right, and
        never else.

        .. versionadded:: 0.2
    assignment : {"uniform", "skewed", "groups", "blocks"}, default "uniform"
        Who answers what. ``"skewed"``: a few workers give most answers, as on real platforms; ``"groups"``:
        ``n_groups`` sets of workers that share no task; ``"blocks"``: tasks are dealt to few sets of
        ``labels_per_task`` workers, so that many pairs of workers share no task, though chains link all of them.
    n_groups : int, default 2
    missing : float, default 0.5
        For ``"blocks"``, the most that the share of pairs of workers without a common task may be.

        .. versionadded:: 0.2
    random_state : int, Generator, RandomState or None, default 0
        Random seed or generator.

    Returns
    -------
    CrowdSet

    Examples
    --------
    >>> crowd = make_crowd(n_tasks=100, n_workers=10, labels_per_task=3)
    >>> len(crowd.answers), crowd.confusions.shape
    (300, (10, 3, 3))
    """
    check_option("assignment", assignment, ("uniform", "skewed", "groups", "blocks"))
    check_at_least(1, n_tasks=n_tasks, n_workers=n_workers, labels_per_task=labels_per_task, n_groups=n_groups)
    check_at_least(2, n_classes=n_classes)
    check_at_least(0, n_spammers=n_spammers, n_adversaries=n_adversaries, n_specialists=n_specialists)
    if not 0 <= accuracy[0] <= accuracy[1] <= 1 or n_spammers + n_adversaries + n_specialists > n_workers:
        raise InputError(
            f"accuracy={accuracy} must be a range within 0 and 1, and there must not be more spammers, adversaries and "
            "specialists than workers."
        )
    if assignment == "blocks" and (labels_per_task < 2 or not 0 <= missing <= 1):
        raise InputError(
            f"Blocks need at least two labels per task, and a share of missing pairs within 0 and 1; got "
            f"labels_per_task={labels_per_task} and missing={missing}."
        )
    groups = n_groups if assignment == "groups" else 1
    if labels_per_task > n_workers // groups:
        raise InputError(
            f"labels_per_task={labels_per_task} needs as many different workers for every task; there are "
            f"{n_workers // groups}.",
            "Raise n_workers, or lower labels_per_task.",
        )
    rng = check_generator(random_state)
    probabilities = np.full(n_classes, 1 / n_classes) if prior is None else np.asarray(prior, dtype=float)
    if probabilities.shape != (n_classes,) or (probabilities < 0).any() or not np.isclose(probabilities.sum(), 1):
        raise InputError(f"prior must hold {n_classes} probabilities that sum to 1; got {probabilities.tolist()}.")
    right = rng.uniform(*accuracy, size=n_workers)
    confusions = _confusions(rng, right, n_classes, n_spammers, n_adversaries)
    _specialise(confusions, n_specialists)
    truth = rng.choice(n_classes, size=n_tasks, p=probabilities)

    weights = 1 / (1 + np.arange(n_workers)) if assignment == "skewed" else np.ones(n_workers)
    weights = rng.permutation(weights)
    workers = np.empty((n_tasks, labels_per_task), dtype=np.int64)
    if assignment == "blocks":
        blocks = worker_blocks(n_workers, labels_per_task, missing, rng)
        workers[:] = blocks[np.arange(n_tasks) % len(blocks)]
        groups = 0
    for group in range(groups):  # workers and tasks are dealt out like cards
        members = np.arange(group, n_workers, groups)
        draws = _distinct_draws(rng, len(workers[group::groups]), labels_per_task, weights[members])
        workers[group::groups] = members[draws]
    task = np.repeat(np.arange(n_tasks), labels_per_task)
    worker = workers.ravel()
    thresholds = np.cumsum(confusions, axis=1)[worker, :, truth[task]]
    label = np.minimum((rng.random(len(task))[:, None] > thresholds).sum(axis=1), n_classes - 1)
    return CrowdSet(
        answers=pd.DataFrame({"task": task, "worker": worker, "label": label}),
        truth=pd.Series(truth, name="label", index=pd.RangeIndex(n_tasks, name="task")),
        confusions=confusions,
        prior=probabilities,
    )


def _confusions(
    rng: np.random.Generator, right: NDArray[np.float64], n_classes: int, n_spammers: int, n_adversaries: int
) -> NDArray[np.float64]:
    """Confusion matrices of workers who are right with these probabilities, unless they are among the first."""
    wrong = rng.dirichlet(np.ones(n_classes - 1), size=(len(right), n_classes))
    confusions = np.empty((len(right), n_classes, n_classes))
    for k in range(n_classes):
        confusions[:, k, k] = right
        confusions[:, np.arange(n_classes) != k, k] = wrong[:, k] * (1 - right[:, None])
    confusions[:n_spammers] = rng.dirichlet(np.ones(n_classes), size=n_spammers)[:, :, None]
    adversaries = slice(n_spammers, n_spammers + n_adversaries)
    confusions[adversaries] = np.roll(confusions[adversaries], 1, axis=1)
    return confusions


def _specialise(confusions: NDArray[np.float64], n_specialists: int) -> None:
    """Make the last workers specialists of one class each: row and column of that class become those of a unit matrix.

    Other columns keep the proportions of their other answers.
    """
    n_workers, k, _ = confusions.shape
    for i, m in enumerate(range(n_workers - n_specialists, n_workers)):
        c = i % k
        confusions[m, c, :] = 0
        total = confusions[m].sum(axis=0)
        confusions[m] = np.divide(confusions[m], total, out=np.full((k, k), 1 / (k - 1)), where=total > 0)
        confusions[m, c, :] = confusions[m, :, c] = 0
        confusions[m, c, c] = 1


def worker_blocks(n_workers: int, size: int, missing: float, rng: np.random.Generator) -> NDArray[np.int64]:
    """Sets of workers who answer the same tasks, so that a share of the pairs of workers has no task in common.

    Each set shares a worker with one before it, until everybody is in one; then further sets join pairs that have not
    met, until no more than a share ``missing`` of the pairs is left.

    Parameters
    ----------
    n_workers : int
    size : int
        Of a set, at least 2.
    missing : float
    rng : numpy.random.Generator

    Returns
    -------
    array of shape (n_blocks, size)

    Examples
    --------
    >>> from itertools import combinations
    >>> blocks = worker_blocks(10, 3, 0.5, np.random.default_rng(0))
    >>> met = {frozenset(pair) for block in blocks.tolist() for pair in combinations(block, 2)}
    >>> len(blocks), 0.4 < 1 - len(met) / 45 <= 0.5
    (9, True)
    """
    apart = ~np.eye(n_workers, dtype=bool)
    new = rng.permutation(n_workers).tolist()
    blocks: list[list[int]] = []
    most = missing * n_workers * (n_workers - 1)
    while new or apart.sum() > most:
        if not blocks:
            block = [new.pop() for _ in range(size)]
        elif new:
            block = [int(rng.choice(np.concatenate(blocks)))]
            block += [new.pop() for _ in range(min(size - 1, len(new)))]
        else:
            block = list(divmod(int(rng.choice(np.flatnonzero(apart))), n_workers))
        others = np.setdiff1d(np.arange(n_workers), [*block, *new])
        block += rng.choice(others, size - len(block), replace=False).tolist()
        apart[np.ix_(block, block)] = False
        blocks.append(block)
    return np.array(blocks)


def _distinct_draws(rng: np.random.Generator, n_rows: int, n_draws: int, weights: NDArray[Any]) -> NDArray[np.int64]:
    """Draw ``n_draws`` different indices for every row, with probabilities that follow ``weights``."""
    if 4 * n_draws > len(weights):  # few candidates: the largest of randomly perturbed log-weights
        keys = np.log(weights) + rng.gumbel(size=(n_rows, len(weights)))
        return np.argsort(-keys, axis=1)[:, :n_draws]
    probabilities = weights / weights.sum()
    draws = rng.choice(len(weights), size=(n_rows, n_draws), p=probabilities)
    while True:  # many candidates: repeats are few and drawn again
        draws.sort(axis=1)
        repeated = np.diff(draws, axis=1, prepend=-1) == 0
        if not repeated.any():
            return rng.permuted(draws, axis=1)
        draws[repeated] = rng.choice(len(weights), size=int(repeated.sum()), p=probabilities)
