"""Rates on panels of LLM judges: how often intervals hold the truth, and how often a planted difference is found."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rectifact.bench import Extent, Rows
from rectifact.bench.measure import at_hand
from rectifact.crowd import read_answers
from rectifact.crowd.advice.gold import cross_fitted
from rectifact.crowd.events import Judged, Measured, judge
from rectifact.crowd.panel_rates import rates_of
from rectifact.crowd.prediction_powered import deviations, difference
from rectifact.datasets import CrowdSet, load_judges


@dataclass(frozen=True)
class Panel:
    """Judged tasks whose true labels are known.

    Attributes
    ----------
    judged : Judged
    truth : Series
        Labels by task, for tasks that were judged.
    positive : tuple
        Classes whose share is estimated.
    """

    judged: Judged
    truth: "pd.Series[Any]"
    positive: tuple[Any, ...]


def panel_of(crowd: CrowdSet, positive: tuple[Any, ...]) -> Panel:
    """What the judges of a set say together, and the truth."""
    judged = judge(read_answers(crowd.answers))
    return Panel(judged, crowd.truth[crowd.truth.index.isin(judged.answers.tasks)], positive)


def _load(name: str, positive: tuple[Any, ...]) -> Panel:
    return panel_of(load_judges(name), positive)


POSITIVE: dict[str, tuple[Any, ...]] = {"relevance33": (2, 3), "framing": ("yes",), "stars": (4, 5)}
PANELS: dict[str, Callable[[], Panel]] = {name: partial(_load, name, classes) for name, classes in POSITIVE.items()}

LABELS = {"relevance33": 200, "framing": 100}
"""Drawn for one rate."""

LABELS_OF_TWO = {"relevance33": 800, "framing": 600, "stars": 200}
"""Drawn for the difference between two groups, from both together."""

GAPS = (0.05, 0.0)
"""Planted differences between the two groups."""

CONFIDENCE = 0.95
DRAWS, QUICK_DRAWS = 1000, 20
POWER_DRAWS, QUICK_POWER_DRAWS = 300, 10

FIRST_SEED = 300_000
"""Far from those by which the method was chosen."""


def run_coverage(extent: Extent) -> Rows:
    """Rows by set: how often, in percent, intervals from random labels hold the share by all labels.

    Returns
    -------
    list of dict : ``covered`` and ``people_covered``, with judges and by people alone, and ``shorter``, by how much
        percent the mean interval with judges is shorter
    """
    rows: Rows = []
    for name, panel in at_hand({name: PANELS[name] for name in LABELS if name in PANELS}):
        found = coverage(panel, LABELS[name], QUICK_DRAWS if extent.quick else DRAWS)
        rows.append({"set": name, "labels": LABELS[name], "tasks": len(panel.truth), **found})
    return rows


def coverage(panel: Panel, n_labels: int, draws: int) -> dict[str, Any]:
    """One row of :func:`run_coverage`."""
    share = panel.truth.isin(panel.positive).mean()
    classes = sorted(panel.truth.unique(), key=str)
    drawn = []
    for seed in range(FIRST_SEED, FIRST_SEED + draws):
        gold = panel.truth.sample(n_labels, random_state=seed)
        with warnings.catch_warnings(action="ignore"):
            found = rates_of(panel.judged, gold, panel.positive, confidence=CONFIDENCE, classes=classes).rates.iloc[0]
        drawn.append([found["low"], found["high"], found["human_low"], found["human_high"]])
    low, high, human_low, human_high = np.array(drawn).T
    return {
        "draws": draws,
        "covered": _percent((low <= share) & (share <= high)),
        "people_covered": _percent((human_low <= share) & (share <= human_high)),
        "shorter": round(100 * float(1 - (high - low).mean() / (human_high - human_low).mean()), 1),
    }


def run_power(extent: Extent) -> Rows:
    """Rows by set and planted difference between two groups: how often, in percent, p is below 0.05.

    Returns
    -------
    list of dict : ``found`` and ``people_found``, with judges and by people alone
    """
    rows: Rows = []
    for name, panel in at_hand({name: PANELS[name] for name in LABELS_OF_TWO if name in PANELS}):
        for gap in GAPS:
            found = power(panel, LABELS_OF_TWO[name], gap, QUICK_POWER_DRAWS if extent.quick else POWER_DRAWS)
            rows.append({"set": name, "labels": LABELS_OF_TWO[name], "points": round(100 * gap), **found})
    return rows


def power(panel: Panel, n_labels: int, gap: float, draws: int) -> dict[str, Any]:
    """One row of :func:`run_power`: tasks of two groups are drawn with replacement, so that their shares differ."""
    posterior, truth = _event(panel)
    found = [_p_values(posterior, truth, n_labels, gap, np.random.default_rng(seed)) for seed in range(draws)]
    with_judges, people = np.array(found).T
    return {
        "draws": draws,
        "found": _percent(with_judges < 1 - CONFIDENCE),
        "people_found": _percent(people < 1 - CONFIDENCE),
    }


def _event(panel: Panel) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Of each task with a truth, the probability by the judges that its class counts, and whether it does."""
    answers = panel.judged.answers
    chosen = np.isin(answers.classes.astype(object), np.array(panel.positive, dtype=object))
    posterior = pd.Series(panel.judged.posteriors[:, chosen].sum(axis=1), index=answers.tasks)
    truth = panel.truth.isin(panel.positive)
    return posterior.loc[truth.index].clip(0, 1).to_numpy(), truth.to_numpy()


def _p_values(
    posterior: NDArray[np.float64], truth: NDArray[np.bool_], n_labels: int, gap: float, rng: np.random.Generator
) -> tuple[float, float]:
    """p-values of the difference between two groups of tasks, with judges and by people alone."""
    n = len(truth)
    group = np.arange(n) % 2
    is_positive = rng.random(n) < truth.mean() + gap * (group - 0.5)
    task = np.where(is_positive, rng.choice(np.flatnonzero(truth), n), rng.choice(np.flatnonzero(~truth), n))
    labelled = rng.permutation(n)[:n_labels]
    known = np.full(n, -1)
    known[labelled] = is_positive[labelled]
    said = posterior[task]
    predicted = cross_fitted(np.column_stack([1 - said, said]), known)[:, 1]
    event = Measured(np.where(known >= 0, known, np.nan), None, {}, said, predicted)
    first, second = (event.estimates(group == number) for number in (0, 1))
    z = deviations(CONFIDENCE)
    gaps = difference(first.corrected, second.corrected, z), difference(first.people, second.people, z)
    return gaps[0].p_value, gaps[1].p_value


def _percent(held: NDArray[np.bool_]) -> float:
    return round(100 * float(held.mean()), 1)
