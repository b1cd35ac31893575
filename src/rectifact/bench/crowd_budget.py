"""Replays of crowds with many answers per task: labels from 40 % of the answers, bought as planned.

Each replay starts from a few random answers per task, asks for a plan, takes the planned answers from the set, fits
again, and so on. ``python -m rectifact.bench.crowd_budget [bluebird dog relevance33] [--gold] [--quick]`` prints a row
per set: errors in percent with all answers, with a random part, and as planned, and the error that was promised at the
end.
"""

import json
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from rectifact.bench import Rows
from rectifact.bench.measure import at_hand, one_thread
from rectifact.crowd import DawidSkene
from rectifact.crowd.advice.budget import expected_error
from rectifact.datasets import CrowdSet, load_crowd, load_judges

SETS: dict[str, Callable[[], CrowdSet]] = {
    "bluebird": lambda: load_crowd("bluebird"),
    "dog": lambda: load_crowd("dog"),
    "relevance33": lambda: load_judges("relevance33"),
}
MOST_ANSWERS = 15_000
"""In a replay; of larger sets, tasks are drawn."""

SHARE, START, ROUNDS, GOLD = 0.4, 2, 10, 100
"""Part of the answers that is bought, answers per task to start from, plans, and true labels to calibrate by."""


@one_thread()
def run_budget(names: list[str], *, gold: bool = False, quick: bool = False) -> Rows:
    """Means over 20 replays, or two if quick, of each set that is at hand.

    Returns
    -------
    list of dict : ``full_%``, ``random_%`` and ``planned_%``, errors with all answers, a random part and the planned
        part; ``promised_%``, the error to expect by the probabilities at the end. With ``gold``, the last two are by
        probabilities calibrated with 100 true labels, on the other tasks.
    """
    rows: Rows = []
    for name, crowd in at_hand({name: SETS[name] for name in names}):
        with warnings.catch_warnings(action="ignore"):
            found = pd.DataFrame([replay(_drawn(crowd, seed), seed, gold=gold) for seed in range(2 if quick else 20)])
        spread = {"sd_planned": found["planned_%"].std(), "sd_gap": (found["promised_%"] - found["planned_%"]).std()}
        means = {str(column): float(found[column].mean()) for column in found}
        rows.append({"set": name, "replays": len(found), **means, **spread})
    return rows


def _drawn(crowd: CrowdSet, seed: int) -> CrowdSet:
    if len(crowd.answers) <= MOST_ANSWERS:
        return crowd
    truth = crowd.truth.sample(frac=MOST_ANSWERS / len(crowd.answers), random_state=seed)
    return CrowdSet(crowd.answers[crowd.answers["task"].isin(truth.index)], truth)


def replay(crowd: CrowdSet, seed: int, *, gold: bool = False) -> dict[str, float]:
    """Errors in percent of one replay."""
    answers = crowd.answers.sample(frac=1, random_state=seed).drop_duplicates(["task", "worker"], ignore_index=True)
    certain = crowd.truth.sample(min(GOLD, len(crowd.truth)), random_state=seed) if gold else None
    started = (answers.groupby("task").cumcount() < START).to_numpy()
    bought = buy_in_rounds(answers, started, certain)
    random = np.flatnonzero(started).tolist() + np.flatnonzero(~started)[: bought.sum() - started.sum()].tolist()
    model = _fitted(answers[bought], certain)
    rest = np.ones(len(model.tasks_), bool) if certain is None else ~np.isin(model.tasks_, certain.index)
    return {
        "share": float(bought.mean()),
        "full_%": _error(_fitted(answers, None), crowd),
        "random_%": _error(_fitted(answers.iloc[random], None), crowd),
        "planned_%": _error(model, crowd, rest),
        "promised_%": 100 * expected_error(model.probas_[rest]),
    }


def buy_in_rounds(answers: pd.DataFrame, started: Any, certain: Any) -> Any:
    """Which of the answers are bought, as plans say, until there are enough or no plan wants any more."""
    bought = started.copy()
    place = pd.Series(np.arange(len(answers)), index=pd.MultiIndex.from_frame(answers[["task", "worker"]]))
    for goal in np.linspace(bought.sum(), SHARE * len(answers), ROUNDS + 1)[1:].astype(int):
        left = answers.loc[~bought, ["task", "worker"]]
        plan = _fitted(answers[bought], certain).next_labels(max(int(goal - bought.sum()), 1), workers=left)
        if not len(plan):
            break
        bought[place.loc[pd.MultiIndex.from_frame(plan[["task", "worker"]])].to_numpy()] = True
    return bought


def _fitted(answers: pd.DataFrame, certain: Any) -> DawidSkene:
    model = DawidSkene().fit(answers)
    return model if certain is None else model.calibrate(certain)


def _error(model: DawidSkene, crowd: CrowdSet, some: Any = slice(None)) -> float:
    wrong = model.labels_ != crowd.truth.reindex(model.tasks_).to_numpy()
    return float(100 * wrong[some].mean())


if __name__ == "__main__":
    chosen = [name for name in sys.argv[1:] if not name.startswith("--")] or list(SETS)
    for row in run_budget(chosen, gold="--gold" in sys.argv, quick="--quick" in sys.argv):
        print(json.dumps(row))  # noqa: T201
