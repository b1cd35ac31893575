"""Comparison of measured tables with stored ones: tight limits on scores, loose ones on times, others on memory."""

import math
from collections import Counter
from dataclasses import dataclass
from typing import Any, Literal

from rectifact.bench import Rows, Tables

Row = dict[str, Any]
Key = tuple[tuple[str, Any], ...]


@dataclass(frozen=True)
class Limit:
    """How much worse a figure may get: ``absolute``, or ``relative`` times the stored figure, whichever is more.

    Parameters
    ----------
    better : {"lower", "higher"}
    relative : float
    absolute : float

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
        """Whether the figure is worse than that; a missing figure or one that is not finite always is."""
        if measured is None or not math.isfinite(measured):
            return True
        worst = self.worst(stored)
        return measured > worst if self.better == "lower" else measured < worst


# Scores: 2 %, or half a percentage point. Errors that reach rounding have a smaller absolute limit.
SHARE_UP = Limit("higher", relative=0.02, absolute=0.005)
SHARE_DOWN = Limit("lower", relative=0.02, absolute=0.005)
PERCENT_UP = Limit("higher", relative=0.02, absolute=0.5)
PERCENT_DOWN = Limit("lower", relative=0.02, absolute=0.5)
EXACT_UP = Limit("higher", relative=0.02, absolute=1e-4)
EXACT_DOWN = Limit("lower", relative=0.02, absolute=1e-4)
# Times: three times as long. A run of a few milliseconds says little; a time per iteration or entry is a mean of many.
RUN = Limit("lower", relative=2.0, absolute=0.05)
UNIT = Limit("lower", relative=2.0, absolute=0.0)
# Memory: half as much again.
GIGABYTES = Limit("lower", relative=0.5, absolute=0.05)
MEGABYTES = Limit("lower", relative=0.5, absolute=50)

# The columns that are compared, and how. Other columns are not compared: the papers' figures, bounds, ratios of two
# times, and what other packages reach in a column of their own.
LIMITS: dict[str, Limit] = {
    # crowd; its table "auto" has a column of errors for each method
    **dict.fromkeys(("error_%", "majority vote", "MV-EM", "full", "one-coin EM", "auto"), PERCENT_DOWN),
    **dict.fromkeys(("log_loss", "calibration_error"), SHARE_DOWN),
    # panels
    **dict.fromkeys(("planned", "gold_planned"), PERCENT_DOWN),
    **dict.fromkeys(("label", "expected"), SHARE_DOWN),
    "shorter": PERCENT_UP,
    # parts
    **dict.fromkeys(("error", "error after 20", "error after 100", "error after 200"), EXACT_DOWN),
    **dict.fromkeys(("paper's start, floor", "paper's start, no floor", "blind, floor"), EXACT_DOWN),
    **dict.fromkeys(("binary weights", "uniform weights"), EXACT_DOWN),
    **dict.fromkeys(("npmi_mean", "npmi_least", "cosine"), SHARE_UP),
    **dict.fromkeys(("abundance_rmse",), SHARE_DOWN),
    **dict.fromkeys(("angle",), PERCENT_DOWN),
    # latent
    **dict.fromkeys(("rmse", "rmse_NMD", "rmse_default"), EXACT_DOWN),
    **dict.fromkeys(("recall", "regression", "neighbours"), SHARE_UP),
    "log_likelihood": EXACT_UP,
    # graph, and the text data of parts
    **dict.fromkeys(("accuracy", "nmi", "purity"), SHARE_UP),
    **dict.fromkeys(("relative_error", "mean_error_of_starts"), SHARE_DOWN),
    # all families: times of whole runs; times per iteration, entry, nonzero or edge; memory
    **dict.fromkeys(("seconds", "iterations_s", "NMD_s"), RUN),
    **dict.fromkeys(("s_per_iteration", "seconds_per_sweep", "ns_per_entry", "ns_per_nonzero", "ns_per_edge"), UNIT),
    "peak_GB": GIGABYTES,
    "above_data_MB": MEGABYTES,
}

# Columns of numbers that identify a row, in addition to all columns of text
PARAMETERS = {
    *("answers", "workers", "threads"),  # crowd
    *("labels", "points", "replays", "tasks"),  # panels
    *("batch", "gamma", "iterations", "level", "samples"),  # parts
    *("density", "n_features", "n_samples", "nonzero", "rank", "sweeps"),  # latent
    *("nodes", "starts"),  # graph
}
# Columns of text that were measured, and so do not identify a row
TEXT_RESULTS = {"prior", "recovered"}


@dataclass(frozen=True)
class Comparison:
    """Outcome of a comparison.

    Attributes
    ----------
    n_compared : int
        Figures that both results have.
    regressions : list of dict
        A row for each figure that is worse than its limit.
    unmatched : list of dict
        A row for each table with rows that only one of the results has.
    gone : list of dict
        A row for each column with a limit that is stored but no longer measured.
    """

    n_compared: int
    regressions: Rows
    unmatched: Rows
    gone: Rows


def compare(measured: dict[str, Tables], stored: dict[str, Tables]) -> Comparison:
    """Compare every measured row with the stored row of the same table and parameters.

    Families that were not measured are ignored.

    Parameters
    ----------
    measured, stored : dict
        Rows by family and table.

    Returns
    -------
    Comparison

    Examples
    --------
    >>> stored = {"crowd": {"methods": [{"set": "rte", "method": "auto", "error_%": 7.0, "seconds": 0.1}]}}
    >>> measured = {"crowd": {"methods": [{"set": "rte", "method": "auto", "error_%": 9.0, "seconds": 0.2}]}}
    >>> found = compare(measured, stored)
    >>> found.n_compared
    2
    >>> [(row["row"], row["column"], row["stored"], row["measured"], row["limit"]) for row in found.regressions]
    [('auto, rte', 'error_%', 7.0, 9.0, 7.5)]
    """
    n_compared, regressions, unmatched, gone = 0, [], [], []
    for family, tables in measured.items():
        before = stored.get(family, {})
        for table in dict.fromkeys([*tables, *before]):
            name = {"family": family, "table": table}
            new, old = _by_key(tables.get(table, [])), _by_key(before.get(table, []))
            lost: Counter[str] = Counter()
            for key in [key for key in new if key in old]:
                figures = _figures(old[key])
                kept = [column for column in figures if column in new[key]]
                lost.update(column for column in figures if column not in new[key])
                n_compared += len(kept)
                regressions += [name | row for row in _worse(key, kept, new[key], old[key])]
            gone += [name | {"column": column, "rows": n_rows} for column, n_rows in lost.items()]
            if new.keys() != old.keys():
                only = {"only measured": len(new.keys() - old.keys()), "only stored": len(old.keys() - new.keys())}
                unmatched.append(name | only)
    return Comparison(n_compared, regressions, unmatched, gone)


def _by_key(rows: Rows) -> dict[Key, Row]:
    """Rows by what identifies them; rows that look alike are numbered in their order."""
    seen: Counter[Key] = Counter()
    found = {}
    for row in rows:
        key = _key(row)
        seen[key] += 1
        found[(*key, ("", seen[key]))] = row
    return found


def _key(row: Row) -> Key:
    """Columns of text and parameters with their values, sorted by name of the column.

    Examples
    --------
    >>> _key({"method": "auto", "answers": 500, "seconds": 0.1, "paper_%": 3})
    (('answers', 500), ('method', 'auto'))
    """
    texts = {column for column, value in row.items() if isinstance(value, str)} - TEXT_RESULTS
    return tuple((column, row[column]) for column in sorted(texts | (PARAMETERS & row.keys())))


def _figures(row: Row) -> list[str]:
    """Columns of a row that have a limit and a finite figure."""
    return [c for c in LIMITS if isinstance(value := row.get(c), int | float) and math.isfinite(value)]


def _worse(key: Key, columns: list[str], new: Row, old: Row) -> Rows:
    named = ", ".join(value if isinstance(value, str) else f"{column} {value}" for column, value in key if column)
    return [
        {
            "row": named,
            "column": column,
            "stored": old[column],
            "measured": new[column],
            "limit": LIMITS[column].worst(old[column]),
        }
        for column in columns
        if LIMITS[column].broken(old[column], new[column])
    ]
