"""Two workers of a small panel who say nearly the same: the answers alone cannot tell excellence from repetition."""

from collections.abc import Iterator
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rectifact.core.findings import Finding
from rectifact.crowd.data.answers import Answers
from rectifact.crowd.data.names import listed
from rectifact.crowd.em import CrowdModel

MOST_WORKERS = 12
"""Workers of a panel that two of them can decide."""

COMMON, ALIKE, AHEAD = 30, 0.9, 0.1
"""Tasks that two workers share at least; how often they say the same; and how much more often than any other pair."""


class Likeness(NamedTuple):
    """The pair of workers who agree most often: their numbers, how often, and how often the next pair does."""

    pair: tuple[int, int]
    agreement: float
    others: float


def pair_agreements(said: NDArray[np.int64], least: int) -> Iterator[tuple[tuple[int, int], float]]:
    """Pairs of workers who share enough tasks, and the share of these on which they say the same.

    Parameters
    ----------
    said : array of shape (n_tasks, n_workers)
        As :meth:`rectifact.crowd.data.answers.Answers.said` gives it.
    least : int
        Number of tasks that are enough.
    """
    for a, b in combinations(range(said.shape[1]), 2):
        both = (said[:, a] >= 0) & (said[:, b] >= 0)
        if both.sum() >= least:
            yield (a, b), float((said[both, a] == said[both, b]).mean())


def most_alike(answers: Answers) -> Likeness | None:
    """The pair of workers who agree most often; None where fewer than two pairs share enough tasks."""
    found = sorted(((share, pair) for pair, share in pair_agreements(answers.said(), COMMON)), reverse=True)
    if len(found) < 2:
        return None
    (agreement, pair), (others, _), *_ = found
    return Likeness(pair, agreement, others)


def likeness_findings(answers: Answers, model: CrowdModel) -> list[Finding]:
    """A warning where two workers agree far more often than all others, and the model takes them for the best."""
    if not 3 <= len(answers.workers) <= MOST_WORKERS:
        return []
    found = most_alike(answers)
    if found is None or found.agreement < ALIKE or found.agreement - found.others < AHEAD:
        return []
    if set(found.pair) != set(_best_two(model).tolist()):
        return []
    names = listed(answers.workers[list(found.pair)]).replace(", ", " and ")
    detail = (
        f"{names} give the same answer to {found.agreement:.0%} of the tasks that they share, and no other pair to "
        f"more than {found.others:.0%}. Either both are excellent, or one repeats the other: the answers alone "
        "cannot tell, and the labels follow these two."
    )
    remedy = "If they run the same model, name them as a family in {}; or check them against gold labels."
    return [
        Finding("warning", "two workers decide the labels", detail, remedy.format("groups"), remedy.format("--groups"))
    ]


def _best_two(model: CrowdModel) -> NDArray[np.int64]:
    accuracy = np.einsum("mkk,k->m", model.confusions, model.priors)
    return np.argsort(-accuracy, kind="stable")[:2]
