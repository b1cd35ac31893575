"""Ordered grades by panels of LLM judges: distance from what people say, without gold labels and with a hundred."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import mean_absolute_error

from rectifact.bench import Extent, Rows
from rectifact.bench.measure import at_hand
from rectifact.crowd import DawidSkene
from rectifact.crowd.grades import expected_grades
from rectifact.datasets import CrowdSet, load_judges

Panel = tuple[CrowdSet, "pd.Series[Any]"]
"""Answers with the truth that gold labels are drawn from, and what grades are measured against."""

N_GOLD = 100
DRAWS = 20
QUICK_DRAWS = 3


def _panel(name: str) -> Panel:
    """The grade of one person, or the mean of several."""
    return load_judges(name), load_judges(name, truth="mean").truth


PANELS: dict[str, Callable[[], Panel]] = {name: partial(_panel, name) for name in ("relevance33", "stars", "summaries")}


def run_grades(extent: Extent) -> Rows:
    """Rows by set and method: mean absolute error of the label and of the expected grade.

    The first rows are over all tasks; those with gold labels are over the tasks without one, and means over draws.
    """
    rows: Rows = []
    for name, (crowd, people) in at_hand(PANELS):
        errors = grade_errors(crowd, people, draws=QUICK_DRAWS if extent.quick else DRAWS)
        for method, (label, expected) in errors.items():
            rows.append({"set": name, "method": method, "label": round(label, 4), "expected": round(expected, 4)})
    return rows


def grade_errors(crowd: CrowdSet, people: "pd.Series[Any]", draws: int) -> dict[str, tuple[float, float]]:
    """Mean absolute errors of label and expected grade, by method; ``people`` has the true grades by task."""
    grades = crowd.answers.groupby("task")["label"]
    plain = pd.DataFrame({"label": grades.median(), "expected": grades.mean()})
    nominal, ordinal = DawidSkene().fit(crowd.answers), DawidSkene(ordinal=True).fit(crowd.answers)
    tables = {"median and mean": plain, "auto": _grades(nominal), "ordinal": _grades(ordinal)}
    found = {name: _errors(table, people) for name, table in tables.items()}
    drawn = []
    for seed in range(draws):
        gold = crowd.truth.sample(N_GOLD, random_state=seed)
        others = people.drop(gold.index)
        drawn.append([_errors(plain, others), _errors(_grades(ordinal.calibrate(gold)), others)])
    names = [f"{name}, {N_GOLD} gold labels" for name in ("median and mean", "ordinal")]
    return found | dict(zip(names, map(tuple, np.mean(drawn, axis=0).tolist()), strict=True))


def _grades(model: DawidSkene) -> pd.DataFrame:
    expected = expected_grades(model.probas_, model.classes_)
    return pd.DataFrame({"label": model.labels_, "expected": expected}, index=model.tasks_)


def _errors(table: pd.DataFrame, people: "pd.Series[Any]") -> tuple[float, float]:
    known = people.index.intersection(table.index)
    found, truth = table.loc[known], people.loc[known]
    return mean_absolute_error(truth, found["label"]), mean_absolute_error(truth, found["expected"])
