"""Estimates whose tasks belong together: what two groups with the same prompts have in common.

Each task moves an estimate by its influence, and the sum of squared influences is its variance. Where one prompt has a
task in each of two groups, the products of their influences add up to the covariance of both estimates [1]_.

[1] Cluster-robust variances: K.-Y. Liang and S. L. Zeger, "Longitudinal data analysis using generalized linear models",
Biometrika 73, 1986.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from rectifact.crowd.events import Estimates, Measured, Members
from rectifact.crowd.prediction_powered import Estimate, Floats, Share

Items = NDArray[np.int64]
"""Number of the prompt, or whatever else several tasks are about, of each task."""

DISCORDANT = 0.5
"""What is taken from the sum of products of labels that pairs have in common: as if one more pair had differed, because
pairs that all agree so far will not agree for ever. For shares, this is Newcombe's correction."""


def influences(event: Measured, members: Members, found: Estimate) -> Floats:
    """How far each task moves the estimate ``found`` of some tasks, 0 for others."""
    some, moved = members & event.labelled, np.zeros(len(event.truth))
    w, n = event.shares_of_labels(some), int(some.sum())
    errors = event.truth[some] - found.tuning * event.predicted[some]
    lost = 2 if found.tuning else 0 if isinstance(found, Share) else 1  # degrees of freedom, as in the variances
    moved[some] = w * (errors - w @ errors) * np.sqrt(n / max(n - lost, 1))
    predicted = event.predicted[members]
    moved[members] += found.tuning * (predicted - predicted.mean()) / len(predicted)
    return moved


def correlation(
    event: Measured, items: Items, groups: tuple[Members, Members], found: tuple[Estimate, Estimate]
) -> float:
    """Correlation of the estimates of two groups that have tasks about the same items."""
    moved = [influences(event, *pair) for pair in zip(groups, found, strict=True)]
    one, other = (np.bincount(items, weights=part) for part in moved)
    common, (_, n_labelled) = float(one @ other), count_pairs(event, items, groups)
    if common > 0 and n_labelled:
        weights = [event.shares_of_labels(members & event.labelled) for members in groups]
        step = 1.0 if event.step is None else event.step
        common = max(common - DISCORDANT * step**2 * float(np.prod([w @ w for w in weights])), 0.0)
    spread = float(np.sqrt(found[0].variance * found[1].variance))
    return float(np.clip(common / spread, -1, 1)) if spread > 0 else 0.0


def count_pairs(event: Measured, items: Items, groups: tuple[Members, Members]) -> tuple[int, int]:
    """Number of items with a task in both groups, and of those with labels in both."""
    one, other = groups
    labelled = event.labelled
    return (
        len(np.intersect1d(items[one], items[other])),
        len(np.intersect1d(items[one & labelled], items[other & labelled])),
    )


def clustered(event: Measured, items: Items | None, found: Estimates) -> Estimates:
    """Estimates for all tasks, worth less where tasks about one item are alike."""
    if items is None:
        return found
    corrected, people = (_worth_less(event, items, one) for one in (found.corrected, found.people))
    return replace(found, corrected=corrected, people=people)


def _worth_less(event: Measured, items: Items, found: Estimate) -> Estimate:
    """An estimate for all tasks as precise as that of independent items."""
    if not found.n_labels:
        return found
    moved = influences(event, np.ones(len(items), dtype=bool), found)
    alone, together = float(moved @ moved), float(np.sum(np.bincount(items, weights=moved) ** 2))
    times = max(together / alone, 1.0) if alone > 0 else 1.0
    return replace(found, worth=found.worth / times, alone=found.alone / times)
