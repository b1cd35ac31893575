"""The default among the rules of the field, on eleven published crowds and six panels of LLM judges."""

import warnings
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import pandas as pd

from rectifact.bench import Extent, Rows
from rectifact.bench.crowd_peers import bwa, crowdkit, ebcc, smoothed_vote, written_here
from rectifact.bench.measure import Case, at_hand, measure
from rectifact.datasets import CrowdSet, load_crowd, load_judges
from rectifact.metrics import calibration_error, expected_error, log_loss


def two_grades(crowd: CrowdSet, least: Any) -> CrowdSet:
    """The same set with two classes: 1 for grades of at least ``least``, 0 for those below.

    Examples
    --------
    >>> from rectifact.datasets import make_crowd
    >>> two_grades(make_crowd(10, 5, 4, labels_per_task=2), 2).answers["label"].isin([0, 1]).all()
    np.True_
    """
    answers = crowd.answers.assign(label=(crowd.answers["label"] >= least).astype(int))
    return CrowdSet(answers, (crowd.truth >= least).astype(int))


CROWDS: dict[str, Callable[[], CrowdSet]] = {
    "bluebird": partial(load_crowd, "bluebird"),
    "dog52": partial(load_crowd, "dog", workers=52),
    **{name: partial(load_crowd, name) for name in ("rte", "trec", "product", "face", "adult", "weather", "polarity")},
    **{name: partial(load_crowd, name) for name in ("zencrowd-us", "fact")},
}
JUDGES: dict[str, Callable[[], CrowdSet]] = {
    "relevance33, 4 grades": partial(load_judges, "relevance33"),
    "relevance33, 2 grades": lambda: two_grades(load_judges("relevance33"), 2),
    **{name: partial(load_judges, name) for name in ("stars", "advice", "summaries", "framing")},
}
QUICK_SETS = ("bluebird", "dog52", "rte", "adult", "weather", "stars")
COMPARED = ("majority vote", "MV-EM", "full", "one-coin EM", "auto")
"""The methods of this package that are compared."""

SMOOTHED = "majority vote, 1/K added"
"""The vote as probabilities that are never 0; its labels are those of the vote."""

SLOW = {"EBCC", "crowd-kit GLAD", "crowd-kit MACE"}
"""Rules that are run once, without a first run that does not count."""

VERY_SLOW = {"crowd-kit GLAD", "crowd-kit MACE"}
MOST_ANSWERS = 40_000
"""Unless large data is asked for, the very slow ones are left out beyond: they would take minutes to hours."""


def error_percent(crowd: CrowdSet, probas: pd.DataFrame) -> float:
    """Error over the tasks whose truth is known, ties shared; ``probas`` has tasks in rows, classes in columns."""
    return 100 * expected_error(*_known(crowd, probas))


def scores(crowd: CrowdSet, probas: pd.DataFrame) -> dict[str, float]:
    """Error, log-loss and calibration error over the tasks whose truth is known.

    A true class that nobody answers is an error that nobody can avoid, and is left out of the log-loss.

    Examples
    --------
    >>> import numpy as np
    >>> from rectifact.datasets import make_crowd
    >>> crowd = make_crowd(4, 2, 2, labels_per_task=1)
    >>> right = pd.DataFrame(np.eye(2)[crowd.truth], index=crowd.truth.index)
    >>> scores(crowd, right)
    {'error_%': 0.0, 'log_loss': 0.0, 'calibration_error': 0.0}
    """
    P, codes = _known(crowd, probas)
    found = {
        "error_%": 100 * expected_error(P, codes),
        "log_loss": log_loss(P[codes >= 0], codes[codes >= 0]),
        "calibration_error": calibration_error(P, codes),
    }
    return {name: abs(round(value, 4)) for name, value in found.items()}


def _known(crowd: CrowdSet, probas: pd.DataFrame) -> tuple[Any, Any]:
    """Probabilities of the tasks with a known truth, and the column of the true class, -1 if there is none."""
    known = crowd.truth.index.intersection(probas.index)
    return probas.loc[known].to_numpy(), probas.columns.get_indexer(pd.Index(crowd.truth.loc[known]))


def field_cases(ours: Mapping[str, Callable[[CrowdSet], pd.DataFrame]], peers: bool) -> list[Case]:
    """What is compared: some methods of this package and, on request, the published rules."""
    rules = {SMOOTHED: partial(written_here, smoothed_vote)}
    if peers:
        rules |= {"EBCC": partial(written_here, ebcc), "BWA": partial(written_here, bwa)}
        rules |= {"crowd-kit DawidSkene": partial(crowdkit, "DawidSkene", n_iter=100)}
        rules |= {f"crowd-kit {name}": partial(crowdkit, name) for name in ("GLAD", "MACE")}
    cases = [Case(name, ours[name], scores) for name in COMPARED]
    return cases + [Case(name, partial(_on_table, rule), scores) for name, rule in rules.items()]


def _on_table(rule: Callable[[pd.DataFrame], pd.DataFrame], crowd: CrowdSet) -> pd.DataFrame:
    return rule(crowd.answers)


def run_field(cases: list[Case], extent: Extent) -> Rows:
    """Rows by set and method: error in percent, log-loss, calibration error, seconds."""
    sets = {name: load for name, load in (CROWDS | JUDGES).items() if name in QUICK_SETS or not extent.quick}
    rows: Rows = []
    for name, crowd in at_hand(sets):
        many = len(crowd.answers) > MOST_ANSWERS and not extent.large
        for case in cases:
            if many and case.name in VERY_SLOW:
                continue
            slow = case.name in SLOW
            with warnings.catch_warnings(action="ignore"):  # a method that does not converge shows in its error
                row = measure(case, crowd, warmup=0 if slow else 1, repeats=1 if slow else 3)
            rows.append({"set": name, "method": case.name, **row["score"], "seconds": row["min_s"]})
    return rows


def field_errors(rows: Rows) -> Rows:
    """Errors by set, with a column for each method."""
    if not rows:
        return []
    table = _wide(rows, "error_%").drop(columns=SMOOTHED).round(2)
    return [
        {"set": str(name), **{str(method): error for method, error in row.dropna().items()}}
        for name, row in table.iterrows()
    ]


def field_means(rows: Rows) -> Rows:
    """Means over the crowds and over the panels, for methods that ran on all of them, and seconds in all.

    ``worst_loss_%`` is how far a method's error exceeds, on its worst set, the lowest error of any method.
    """
    found: Rows = []
    for group, sets in {"crowds": CROWDS, "judges": JUDGES}.items():
        some = [row for row in rows if row["set"] in sets]
        if {row["set"] for row in some} != sets.keys():  # the summary is over all sets
            continue
        error, loss, calibration, seconds = (
            _wide(some, column) for column in ("error_%", "log_loss", "calibration_error", "seconds")
        )
        excess = error.sub(error.min(axis=1), axis=0)
        for method in error.columns[error.notna().all()]:
            figures = {
                "error_%": round(float(error[method].mean()), 2),
                "worst_loss_%": round(float(excess[method].max()), 2),
                "log_loss": round(float(loss[method].mean()), 4),
                "calibration_error": round(float(calibration[method].mean()), 4),
                "seconds": float(seconds[method].sum()),
            }
            found.append({"sets": group, "method": method, **figures})
    return found


def _wide(rows: Rows, column: str) -> pd.DataFrame:
    """One column of the rows, by set and method in order of appearance; NaN where a method did not run."""
    table = pd.DataFrame(rows).pivot(index="set", columns="method", values=column)
    methods, sets = (list(dict.fromkeys(row[key] for row in rows)) for key in ("method", "set"))
    return table.loc[sets, methods]
