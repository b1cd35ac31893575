"""Replays of crowds with many answers per task: labels from 40 % of the answers, bought as planned.

Each replay starts from a few random answers per task, asks for a plan, takes the planned answers from the set, fits
again, and so on.
"""

import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from rectifact.bench import Extent, Rows
from rectifact.bench.measure import at_hand
from rectifact.crowd import DawidSkene
from rectifact.crowd.advice.budget import expected_error
from rectifact.datasets import CrowdSet, load_crowd, load_judges, make_crowd


def _planted(n_classes: int) -> CrowdSet:
    """A crowd for which the model holds, with workers of very different quality."""
    accuracy = (0.5, 0.8) if n_classes == 2 else (0.3, 0.6)
    crowd = make_crowd(300, 15, n_classes, labels_per_task=15, accuracy=accuracy, n_spammers=3, random_state=0)
    return CrowdSet(crowd.answers, crowd.truth)


SETS: dict[str, Callable[[], CrowdSet]] = {
    "planted, 2 classes": partial(_planted, 2),
    "planted, 4 classes": partial(_planted, 4),
    "bluebird": lambda: load_crowd("bluebird"),
    "dog": lambda: load_crowd("dog"),
    "relevance33": lambda: load_judges("relevance33"),
}
MOST_ANSWERS = 15_000
"""In a replay; of larger sets, tasks are drawn."""

SHARE, START, ROUNDS, GOLD = 0.4, 2, 10, 100
"""Part of the answers that is bought, answers per task to start from, plans, and true labels to calibrate by."""

TARGET = 1e-9
"""Share of wrong labels that is aimed at: out of reach, so that plans go on as long as any answer may help."""

REPLAYS, QUICK_REPLAYS = 20, 2


def run_budget(extent: Extent) -> Rows:
    """Means over replays of each set that is at hand, in percent.

    Returns
    -------
    list of dict : ``full``, ``random`` and ``planned``, errors with all answers, a random part and the planned part,
        and ``se``, the standard error of the last; ``promised``, the error to expect by the probabilities at the end.
        ``told`` is the error if plans and labels know the workers from a fit to all answers. ``gold_planned`` and
        ``gold_promised`` are with 100 true labels, known to the fit and to calibrate by, on the other tasks, and
        ``promise_se`` is the standard error of their difference.
    """
    rows: Rows = []
    for name, crowd in at_hand(SETS):
        n = QUICK_REPLAYS if extent.quick else REPLAYS
        with warnings.catch_warnings(action="ignore"):
            found = pd.DataFrame([replay(_drawn(crowd, seed), seed) for seed in range(n)])
        means = {str(column): round(float(found[column].mean()), 2) for column in found}
        rows.append(
            {
                "set": name,
                "replays": n,
                **means,
                "se": _standard_error(found["planned"]),
                "promise_se": _standard_error(found["gold_promised"] - found["gold_planned"]),
            }
        )
    return rows


def _standard_error(values: "pd.Series[float]") -> float:
    return round(float(values.to_numpy().std(ddof=1)) / len(values) ** 0.5, 2)


def _drawn(crowd: CrowdSet, seed: int) -> CrowdSet:
    if len(crowd.answers) <= MOST_ANSWERS:
        return crowd
    truth = crowd.truth.sample(frac=MOST_ANSWERS / len(crowd.answers), random_state=seed)
    return CrowdSet(crowd.answers[crowd.answers["task"].isin(truth.index)], truth)


def replay(crowd: CrowdSet, seed: int) -> dict[str, float]:
    """Errors in percent of one replay."""
    answers = crowd.answers.sample(frac=1, random_state=seed).drop_duplicates(["task", "worker"], ignore_index=True)
    certain = crowd.truth.sample(GOLD, random_state=seed)
    started = (answers.groupby("task").cumcount() < START).to_numpy()
    bought, with_gold = (buy_in_rounds(answers, started, gold) for gold in (None, certain))
    random = np.flatnonzero(started).tolist() + np.flatnonzero(~started)[: bought.sum() - started.sum()].tolist()
    planned, calibrated, full = (
        _fitted(answers[bought], None),
        _fitted(answers[with_gold], certain),
        _fitted(answers, None),
    )
    told = answers[buy_in_rounds(answers, started, None, full)]
    rest = ~np.isin(calibrated.tasks_, certain.index)
    return {
        "share": 100 * float(bought.mean()),
        "full": _error(full, crowd),
        "random": _error(_fitted(answers.iloc[random], None), crowd),
        "planned": _error(planned, crowd),
        "promised": 100 * expected_error(planned.probas_),
        "told": _wrong(full.predict(told), pd.unique(told["task"]), crowd),
        "gold_planned": _error(calibrated, crowd, rest),
        "gold_promised": 100 * expected_error(calibrated.probas_[rest]),
    }


def buy_in_rounds(answers: pd.DataFrame, started: Any, certain: Any, full: DawidSkene | None = None) -> Any:
    """Which of the answers are bought, as plans say, until there are enough or no plan wants any more.

    With ``full``, a fit to all answers, plans know the workers from the start.
    """
    bought = started.copy()
    place = pd.Series(np.arange(len(answers)), index=pd.MultiIndex.from_frame(answers[["task", "worker"]]))
    for goal in np.linspace(bought.sum(), SHARE * len(answers), ROUNDS + 1)[1:].astype(int):
        left = answers.loc[~bought, ["task", "worker"]]
        model = _fitted(answers[bought], certain)
        if full is not None:
            _tell(model, full, answers[bought])
        plan = model.next_labels(max(int(goal - bought.sum()), 1), workers=left, target_error=TARGET)
        if not len(plan):
            break
        bought[place.loc[pd.MultiIndex.from_frame(plan[["task", "worker"]])].to_numpy()] = True
    return bought


def _fitted(answers: pd.DataFrame, certain: Any) -> DawidSkene:
    model = DawidSkene().fit(answers, gold=certain)
    return model if certain is None else model.calibrate(certain)


def _tell(model: DawidSkene, full: DawidSkene, answers: pd.DataFrame) -> None:
    """Replace what a model knows of the workers, and the probabilities that follow from it, by a fit to all answers."""
    workers = pd.Index(full.workers_).get_indexer(model.workers_)
    probas = pd.DataFrame(full.predict_proba(answers), index=pd.unique(answers["task"])).loc[model.tasks_].to_numpy()
    model._model = replace(model._model, confusions=full.confusions_[workers], priors=full.priors_, posteriors=probas)
    model.probas_ = probas


def _error(model: DawidSkene, crowd: CrowdSet, some: Any = slice(None)) -> float:
    return _wrong(model.labels_[some], model.tasks_[some], crowd)


def _wrong(labels: Any, tasks: Any, crowd: CrowdSet) -> float:
    return float(100 * (labels != crowd.truth.reindex(tasks).to_numpy()).mean())
