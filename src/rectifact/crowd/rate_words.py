"""Rates in words: shares or mean grades, differences between groups, and labels that are needed."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from rectifact.core.errors import count
from rectifact.crowd.events import EVERYTHING
from rectifact.crowd.prediction_powered import deviations, wilson


def rates_words(found: Any) -> list[str]:
    """The result in sentences."""
    said = [found.contradicted] if found.contradicted else []
    said += [_rate_words(row, found) for row in found.rates.to_dict("records")]
    said += [*_outside_words(found.rates, found.quantity.noun), *difference_words(found)]
    return [*said, *needed_words(found, [found.rates, found.differences])]


def difference_words(found: Any) -> list[str]:
    """The differences between groups in sentences."""
    rows = found.differences.to_dict("records")
    return [_difference_words(row, found, len(rows)) for row in rows]


def needed_words(found: Any, tables: Sequence[pd.DataFrame]) -> list[str]:
    """How many more labels the rates and differences in ``tables`` take, in sentences; none if that is not asked."""
    if found.half_width is None:
        return []
    return [_needed_words(row, found) for table in tables for row in table.to_dict("records")]


def _rate_words(row: dict[Any, Any], found: Any) -> str:
    who, quantity = "All tasks" if row["group"] == EVERYTHING else str(row["group"]), found.quantity
    by_judges = quantity.value(row["judge_rate"])
    if not row["labels"]:
        return f"{who}: nobody has labelled any of these tasks; {found.panel} alone say {by_judges}."
    people = f"{quantity.value(row['human_rate'])} ({quantity.ends(row, 'human_')})"
    return (
        f"{who}: the {quantity.what} is {quantity.value(row['rate'])} ({found.confidence:.0%} interval "
        f"{quantity.ends(row)}); by {found.reference} alone it is {people}, by {found.panel} alone {by_judges}."
    )


def _outside_words(rates: pd.DataFrame, noun: str) -> list[str]:
    """Why the rate of all tasks may not lie between those of the groups, where it does not."""
    whole, groups = rates["rate"].iloc[0], rates["rate"].iloc[1:]
    if not len(groups) or groups.isna().any() or groups.min() <= whole <= groups.max():
        return []
    return [
        f"The {noun} of all tasks does not lie between those of the groups: each row is corrected by its own labels, "
        "and all of them are uncertain by as much as their intervals say."
    ]


def _difference_words(row: dict[Any, Any], found: Any, n: int) -> str:
    pair, quantity = f"{row['second']} minus {row['first']}", found.quantity
    if np.isnan(row["difference"]):
        return f"{pair} takes labels of people in both groups."
    interval = f"{found.confidence:.0%} interval {quantity.changes(row)}, p = {row['p_value']:.2g}{pairs_words(row)}"
    verdict = chance_words(row, n, found.confidence)
    return f"{pair} is {quantity.change(row['difference'])}{quantity.unit} ({interval}): {verdict}."


def chance_words(row: Any, n: int, confidence: float) -> str:
    """Whether a difference is more than chance explains, where ``n`` of them are looked at.

    Examples
    --------
    >>> row = {"low": 0.06, "high": 0.56, "p_value": 0.02}
    >>> chance_words(row, 1, 0.95)
    'more than chance explains'
    >>> print(chance_words(row, 3, 0.95))
    not more than chance explains, 3 comparisons considered (the interval, which excludes 0, is for this comparison
    alone)
    """
    if row["p_value"] * n < 1 - confidence:
        verdict, alone = "more than chance explains", ""
    else:
        verdict = "not more than chance explains"
        apart = n > 1 and (row["low"] > 0 or row["high"] < 0)
        alone = " (the interval, which excludes 0, is for this comparison alone)" if apart else ""
    return f"{verdict}{'' if n == 1 else f', {n} comparisons considered'}{alone}"


def pairs_words(row: Any) -> str:
    """That tasks of both groups were compared in pairs, and how many; empty if they were not.

    Examples
    --------
    >>> pairs_words({"pairs": 200, "labelled_pairs": 60}), pairs_words({"pairs": 0, "labelled_pairs": 0})
    ('; compared in 200 pairs, 60 of them labelled', '')
    """
    if not row["pairs"]:
        return ""
    return f"; compared in {count(int(row['pairs']), 'pair')}, {int(row['labelled_pairs'])} of them labelled"


def best_half_width(row: Any, found: Any) -> float:
    """Half the interval, at best, of a rate or a difference if all of its tasks had labels."""
    rates, z = found.rates.set_index("group"), deviations(found.confidence)
    names = [row["group"]] if "group" in row else [row["first"], row["second"]]
    paired = bool(found.differences["pairs"].any())
    best = float(np.hypot.reduce([_best(rates.loc[name], found.quantity.is_mean or paired, z) for name in names]))
    if not row.get("pairs"):
        return best
    unpaired = float(np.hypot.reduce([rates.loc[name, "high"] - rates.loc[name, "low"] for name in names]))
    return best * min((row["high"] - row["low"]) / unpaired, 1.0)  # as far as pairs shorten it now


def _best(row: Any, by_labels: bool, z: float) -> float:
    if by_labels:  # by people alone, whose intervals shrink with the root of their labels
        return float((row["human_high"] - row["human_low"]) / 2 * np.sqrt(row["labels"] / row["tasks"]))
    low, high = wilson(row["rate"], row["tasks"], z)
    return (high - low) / 2


def _needed_words(row: dict[Any, Any], found: Any) -> str:
    who = row["group"] if "group" in row else f"{row['second']} minus {row['first']}"
    who = "All tasks" if who == EVERYTHING else who
    needed = row["labels_needed"]
    goal = f"{who}: an interval of {found.quantity.wanted(found.half_width or 0)} on either side"
    if np.isnan(needed):
        return f"{goal} takes labels from people first."
    if np.isinf(needed):
        best = found.quantity.size(best_half_width(row, found))
        return f"{goal} is out of reach: labels for all {row['tasks']} tasks would give about {best}. Add tasks."
    more = int(needed) - row["labels"]
    return f"{goal} takes about {count(max(more, 0), 'more label')}." if more > 0 else f"{goal} is reached."
