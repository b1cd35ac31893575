"""Biases beside what the test of replacement allows: certainly more than that, or too near to it to tell."""

from typing import Any

import numpy as np
import pandas as pd

from rectifact.crowd.events import EVERYTHING
from rectifact.crowd.panel_bias import MODEL
from rectifact.crowd.panel_replacement import rounded_up
from rectifact.crowd.prediction_powered import deviations
from rectifact.crowd.reference import PEOPLE

LEAST_BIAS = 0.1
"""Bias from which on a judge may be ruled out, however little epsilon allows."""


def allowed_bias(found: Any) -> float:
    """The bias that a judge may have without being ruled out."""
    return max(float(found.replacement.epsilon), LEAST_BIAS)


def beyond_allowance(found: Any, judge: Any) -> bool:
    """Whether a bias is larger than allowed for certain, all judges and classes considered."""
    rows = [rows[rows["worker"] == judge] for rows in _measured(found)]
    return any(
        abs(row["bias"]) > allowed_bias(found) and row["to_tell"] <= row["labels"]
        for table in rows
        for row in table.to_dict("records")
    )


def near_allowance(found: Any, judge: Any, name: Any) -> str:
    """How many labels would tell whether the bias about a class is larger than allowed; empty if these labels do."""
    if found.replacement is None or beyond_allowance(found, judge):
        return ""
    limit = allowed_bias(found)
    for table in _measured(found):
        rows = table[(table["worker"] == judge) & (table["class"] == name)]
        if not len(rows) or not rows["certain"].iloc[0]:
            continue
        row = rows.iloc[0]
        least, most = np.sort(np.sign(row["bias"]) * np.array([row["low"], row["high"]]))
        if row["to_tell"] <= row["labels"] or not (least <= limit <= most or abs(row["bias"]) > limit):
            return ""
        points = f"the {100 * limit:g} points that are allowed"
        if row["to_tell"] > row["tasks"]:
            return f" (too near to {points} to tell with these tasks)"
        labels = "tasks labelled by people" if row["against"] == PEOPLE else row["against"]
        return f" (about {rounded_up(row['to_tell'])} {labels} would tell whether that is more than {points})"
    return ""


def _measured(found: Any) -> list[pd.DataFrame]:
    """Biases on all tasks, by gold labels and by people, each with the number of labels that it takes ``to_tell``."""
    tables = []
    for biases in (found.biases, found.biases_by_people):
        if biases is not None:
            rows = biases.table[(biases.table["group"] == EVERYTHING) & (biases.table["against"] != MODEL)]
            tables.append(rows.assign(to_tell=_labels_to_tell(rows, allowed_bias(found), biases.confidence)))
    return tables


def _labels_to_tell(rows: pd.DataFrame, limit: float, confidence: float) -> np.ndarray[Any, Any]:
    """With how many labels each interval would end at the limit, if biases stay the same.

    The intervals are those of all rows together (Bonferroni): in the table, each has its own probability.
    """
    bias = rows["bias"].to_numpy(dtype=float)
    up, down = rows["high"].to_numpy(dtype=float) - bias, bias - rows["low"].to_numpy(dtype=float)
    towards_limit = np.where((np.abs(bias) > limit) == (bias > 0), down, up)
    wider = deviations(1 - (1 - confidence) / max(len(rows), 1)) / deviations(confidence)
    distance = np.maximum(np.abs(np.abs(bias) - limit), 1e-9)
    return np.asarray(rows["labels"].to_numpy(dtype=float) * (wider * towards_limit / distance) ** 2)
