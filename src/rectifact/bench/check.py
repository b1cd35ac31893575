"""Measured tables against stored ones: scores tightly, times loosely, memory in between."""

import math
from collections import Counter
from dataclasses import dataclass
from typing import Any, Literal

__all__ = ["Comparison", "Limit", "compare"]

Row = dict[str, Any]
Rows = list[Row]
Tables = dict[str, dict[str, Rows]]
Key = tuple[tuple[str, Any], ...]


@dataclass(frozen=True)
class Limit:
    """How much worse a figure may get: ``absolute``, or ``relative`` times the stored one, whichever is more.

    Examples
    --------
    >>> Limit("lower", relative=0.5, absolute=0.25).worst(2.0)
    3.0
    >>> Limit("higher", relative=0.5, absolute=0.25).worst(0.25)
    0.0
    """

    better: Literal["lower", "higher"]
    relative: float
    absolute: float

    def worst(self, stored: float) -> float:
        """The worst figure that still passes."""
        slack = max(self.absolute, self.relative * abs(stored))
        return stored + slack if self.better == "lower" else stored - slack

    def broken(self, stored: float, measured: float | None) -> bool:
        """Whether the figure is worse than that; one that is no longer reached, or no number, always is."""
        if measured is None or not math.isfinite(measured):
            return True
        worst = self.worst(stored)
        return measured > worst if self.better == "lower" else measured < worst


# Scores: 2 %, or half a percentage point. Errors that go down to rounding are held closer to zero.
SHARE_UP = Limit("higher", relative=0.02, absolute=0.005)
SHARE_DOWN = Limit("lower", relative=0.02, absolute=0.005)
PERCENT_DOWN = Limit("lower", relative=0.02, absolute=0.5)
EXACT_UP = Limit("higher", relative=0.02, absolute=1e-4)
EXACT_DOWN = Limit("lower", relative=0.02, absolute=1e-4)
# Times: three times as long. A whole run of milliseconds says little, a time per iteration or entry is a mean of many.
RUN = Limit("lower", relative=2.0, absolute=0.05)
UNIT = Limit("lower", relative=2.0, absolute=0.0)
# Memory: half as much again.
GIGABYTES = Limit("lower", relative=0.5, absolute=0.05)
MEGABYTES = Limit("lower", relative=0.5, absolute=50)

LIMITS: dict[str, Limit] = {
    # crowd: methods, scaling
    "error_%": PERCENT_DOWN,
    # crowd: auto has a column of errors for each method
    "majority vote": PERCENT_DOWN,
    "MV-EM": PERCENT_DOWN,
    "one-coin EM": PERCENT_DOWN,
    "auto": PERCENT_DOWN,
    # parts
    "error": EXACT_DOWN,
    "error after 20": EXACT_DOWN,
    "error after 100": EXACT_DOWN,
    "error after 200": EXACT_DOWN,
    "paper's start, floor": EXACT_DOWN,
    "paper's start, no floor": EXACT_DOWN,
    "blind, floor": EXACT_DOWN,
    "binary weights": EXACT_DOWN,
    "uniform weights": EXACT_DOWN,
    "npmi_mean": SHARE_UP,
    "npmi_least": SHARE_UP,
    # latent
    "rmse": EXACT_DOWN,
    "rmse_NMD": EXACT_DOWN,
    "log_likelihood": EXACT_UP,
    # graph, and the text of parts
    "accuracy": SHARE_UP,
    "nmi": SHARE_UP,
    "purity": SHARE_UP,
    "relative_error": SHARE_DOWN,
    "mean_error_of_starts": SHARE_DOWN,
    # times of whole runs
    "seconds": RUN,
    "iterations_s": RUN,
    "NMD_s": RUN,
    # times per iteration, entry, nonzero or edge
    "s_per_iteration": UNIT,
    "seconds_per_sweep": UNIT,
    "ns_per_entry": UNIT,
    "ns_per_nonzero": UNIT,
    "ns_per_edge": UNIT,
    # memory
    "peak_GB": GIGABYTES,
    "above_data_MB": MEGABYTES,
}
"""The columns that are compared, and how. A column that is not here is not compared: the papers' figures, bounds,
ratios of two times, and what the peers reach in a column of their own."""

PARAMETERS = frozenset(
    {
        *("answers", "workers", "threads"),  # crowd
        *("batch", "gamma", "iterations", "level", "samples"),  # parts
        *("density", "n_features", "n_samples", "nonzero", "rank", "sweeps"),  # latent
        *("nodes", "starts"),  # graph
    }
)
"""The numbers that tell rows apart, beside all columns of text."""

TEXT_RESULTS = frozenset({"recovered"})
"""Columns of text that were measured, and tell nothing apart."""


@dataclass(frozen=True)
class Comparison:
    """What came of a comparison.

    ``n_compared`` counts the figures that are in both results, ``regressions`` has a row for each that is worse than
    its limit, ``unmatched`` a row for each table with rows that only one of the two results has, and ``gone`` a row for
    each column with a limit that rows of both have in the stored result only.
    """

    n_compared: int
    regressions: Rows
    unmatched: Rows
    gone: Rows


def compare(measured: Tables, stored: Tables) -> Comparison:
    """Hold every measured row against the stored row of the same table and parameters.

    Examples
    --------
    >>> stored = {"crowd": {"methods": [{"set": "rte", "method": "auto", "error_%": 7.0, "seconds": 0.1}]}}
    >>> measured = {"crowd": {"methods": [{"set": "rte", "method": "auto", "error_%": 9.0, "seconds": 0.2}]}}
    >>> found = compare(measured, stored)
    >>> found.n_compared
    2
    >>> [(row["row"], row["column"], row["stored"], row["measured"], row["limit"]) for row in found.regressions]
    [('auto, rte', 'error_%', 7.0, 9.0, 7.5)]

    Families that were not measured are left alone.
    """
    n_compared, regressions, unmatched, gone = 0, [], [], []
    for family, tables in measured.items():
        before = stored.get(family, {})
        for table in dict.fromkeys([*tables, *before]):
            name = {"family": family, "table": table}
            new, old = _by_key(tables.get(table, [])), _by_key(before.get(table, []))
            both = [key for key in new if key in old]
            lost = Counter(column for key in both for column in _figures(old[key]) if column not in new[key])
            gone += [name | {"column": column, "rows": n_rows} for column, n_rows in lost.items()]
            for key in both:
                n_compared += len(_comparable(new[key], old[key]))
                regressions += [name | row for row in _worse(key, new[key], old[key])]
            if new.keys() != old.keys():
                only = {"only measured": len(new.keys() - old.keys()), "only stored": len(old.keys() - new.keys())}
                unmatched.append(name | only)
    return Comparison(n_compared, regressions, unmatched, gone)


def _by_key(rows: Rows) -> dict[Key, Row]:
    """Rows by what tells them apart; should that be the same for two, by their order too."""
    seen: Counter[Key] = Counter()
    found = {}
    for row in rows:
        key = _key(row)
        seen[key] += 1
        found[(*key, ("", seen[key]))] = row
    return found


def _key(row: Row) -> Key:
    """Columns of text and parameters with their values, sorted by name.

    Examples
    --------
    >>> _key({"method": "auto", "answers": 500, "seconds": 0.1, "paper_%": 3})
    (('answers', 500), ('method', 'auto'))
    """
    texts = {column for column, value in row.items() if isinstance(value, str)} - TEXT_RESULTS
    return tuple((column, row[column]) for column in sorted(texts | (PARAMETERS & row.keys())))


def _figures(old: Row) -> list[str]:
    """Columns of a stored row that have a limit and a finite figure."""
    return [c for c in LIMITS if isinstance(value := old.get(c), int | float) and math.isfinite(value)]


def _comparable(new: Row, old: Row) -> list[str]:
    """Columns of both rows that have a limit and a stored figure."""
    return [column for column in _figures(old) if column in new]


def _worse(key: Key, new: Row, old: Row) -> Rows:
    named = ", ".join(value if isinstance(value, str) else f"{column} {value}" for column, value in key if column)
    return [
        {
            "row": named,
            "column": column,
            "stored": old[column],
            "measured": new[column],
            "limit": LIMITS[column].worst(old[column]),
        }
        for column in _comparable(new, old)
        if LIMITS[column].broken(old[column], new[column])
    ]
