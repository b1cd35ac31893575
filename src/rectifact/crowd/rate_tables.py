"""Tables of shares or mean grades, for all tasks and by group, and of the differences between groups."""

from collections.abc import Mapping
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from rectifact.crowd.events import EVERYTHING, Estimates, Measured, Members
from rectifact.crowd.labels_for import labels_for, labels_for_difference
from rectifact.crowd.pairing import Items, clustered, correlation, count_pairs
from rectifact.crowd.prediction_powered import Difference, Estimate, difference
from rectifact.crowd.quantity import Quantity

MOST_GROUPS = 10
"""Groups of which all pairs are compared; of more, each is compared with the first."""

RATE_COLUMNS = [
    *("group", "rate", "low", "high", "human_rate", "human_low", "human_high", "judge_rate"),
    *("tasks", "labels", "worth", "tuning", "labels_needed"),
]
DIFFERENCE_COLUMNS = [
    *("first", "second", "difference", "low", "high", "p_value", "human_difference", "human_low", "human_high"),
    *("human_p_value", "judge_difference", "tasks", "labels", "pairs", "labelled_pairs", "labels_needed"),
]


class Sought(NamedTuple):
    """What is estimated, the half-width that is asked for, and the standard deviations of intervals."""

    quantity: Quantity
    half_width: float | None
    z: float


def rate_tables(
    event: Measured, by_group: Mapping[Any, Members], items: Items | None, asked: Sought
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Rates of all tasks and of each group, and differences between groups.

    ``items`` are numbers that tasks share which differ only in their group; None if no two tasks do.
    """
    found = {name: event.estimates(members) for name, members in by_group.items()}
    everything = event.estimates(np.ones(len(event.truth), dtype=bool))
    rows = [_rate_row(EVERYTHING, clustered(event, items, everything), asked)]
    rows += [_rate_row(name, estimates, asked) for name, estimates in found.items()]
    pairs = []
    for first, second in group_pairs(list(found)):
        tied = None if items is None else _Tied(event, items, (by_group[first], by_group[second]))
        pairs.append([first, second, *_difference_row(found[first], found[second], tied, asked)])
    return pd.DataFrame(rows, columns=RATE_COLUMNS), pd.DataFrame(pairs, columns=DIFFERENCE_COLUMNS)


def group_pairs(names: list[Any]) -> list[tuple[Any, Any]]:
    """Groups that are compared: all pairs, or of many groups each with the first."""
    return list(combinations(names, 2)) if len(names) <= MOST_GROUPS else [(names[0], name) for name in names[1:]]


def _rate_row(name: Any, found: Estimates, asked: Sought) -> list[Any]:
    one, people = found.corrected, found.people
    needed = np.nan if asked.half_width is None or not one.n_labels else labels_for(one, asked.half_width, asked.z)
    figures = [_inside(one.value, asked), *_ends(one, asked), people.value, *_ends(people, asked), found.judges]
    return [name, *figures, one.n_tasks, one.n_labels, one.worth, one.tuning, needed]


def _ends(one: Estimate, asked: Sought) -> tuple[float, float]:
    low, high = one.interval(asked.z) if one.n_labels > asked.quantity.is_mean else (np.nan, np.nan)
    return _inside(low, asked), _inside(high, asked)


def _inside(value: float, asked: Sought) -> float:
    """A mean cannot be outside of its grades, or a share below 0."""
    return float(np.clip(value, asked.quantity.least, asked.quantity.most))


class _Tied(NamedTuple):
    """Two groups of tasks, some of which are about the same items."""

    event: Measured
    items: Items
    groups: tuple[Members, Members]

    def correlation(self, first: Estimate, second: Estimate) -> float:
        return correlation(self.event, self.items, self.groups, (first, second))


class _Compared(NamedTuple):
    """Two estimates, how far they vary together, and their difference."""

    first: Estimate
    second: Estimate
    correlation: float
    gap: Difference

    def figures(self) -> list[float]:
        return [self.gap.value, self.gap.low, self.gap.high, self.gap.p_value]


def _compared(first: Estimate, second: Estimate, tied: _Tied | None, asked: Sought) -> _Compared:
    shared = 0.0 if tied is None else tied.correlation(first, second)
    return _Compared(first, second, shared, difference(first, second, asked.z, shared))


def _difference_row(one: Estimates, other: Estimates, tied: _Tied | None, asked: Sought) -> list[Any]:
    n_tasks, n_labels = (sum(getattr(part.people, of) for part in (one, other)) for of in ("n_tasks", "n_labels"))
    numbers = [n_tasks, n_labels, *((0, 0) if tied is None else count_pairs(*tied))]
    naive = other.judges - one.judges
    if min(one.people.n_labels, other.people.n_labels) <= asked.quantity.is_mean:
        return [*[np.nan] * 8, naive, *numbers, np.nan]
    people = _compared(one.people, other.people, tied, asked)
    best = _compared(one.corrected, other.corrected, tied, asked)
    if tied is not None and _width(people.gap) < _width(best.gap):  # judges help the rates, and blur what pairs share
        best = people
    needed = np.nan
    if asked.half_width is not None:
        needed = labels_for_difference(best.first, best.second, asked.half_width, asked.z, best.correlation)
    return [*best.figures(), *people.figures(), naive, *numbers, needed]


def _width(gap: Difference) -> float:
    return gap.high - gap.low
