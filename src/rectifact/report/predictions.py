"""What the report on an embedding says about hidden entries and recommendations."""

from typing import Any

import numpy as np

from rectifact.core.errors import count
from rectifact.latent.filling import Comparison
from rectifact.models import SavedModel
from rectifact.report.blocks import Column, Table

MOST_COLUMNS, MOST_NAMED = 200, 5
"""Columns up to which the error of each is shown, and that a sentence names."""


def noted(saved: SavedModel) -> list[str]:
    """What the command that made the model knows about its values and recommendations, in sentences."""
    notes = saved.notes or {}
    kinds = {"log": "logarithms of 1 plus each value", "binary": "ones for positive values, and zeros"}
    values = kinds.get(notes.get("values", ""))
    return [
        *([f"It was fitted to {values}; errors are in these units."] if values else []),
        *([f"{float(notes['shift']):g} was added to all ratings, to have them above 0."] if notes.get("shift") else []),
        *([notes["recommendations"]] if notes.get("recommendations") else []),
    ]


def hidden_facts(judged: Comparison | None, svd: float | None, k: int) -> list[tuple[str, str, str]]:
    """Errors of hidden entries, by the model and by simpler means; by truncated SVD if that is known."""
    if judged is None:
        return []
    (by, error), same = judged.plain, "RMSE of the same entries"
    what = f"RMSE of {judged.entries}; lower is better"
    facts = [("hidden entries", f"{judged.model:.4g}", what), ("by the mean", f"{judged.mean:.4g}", same)]
    facts += [(f"by {by.removeprefix('the ')}", f"{error:.4g}", same)]
    if svd is not None:
        facts += [("by truncated SVD", f"{svd:.4g}", f"{same}, at rank {k}, filled in again and again")]
    return facts


def error_of_columns(judged: Comparison | None, names: Any, *, gaps: bool, unit: str = "") -> list[Table]:
    """How well each column of data with gaps is predicted, next to its mean, where there are not too many."""
    if judged is None or not gaps or not 1 < len(judged.by_column) <= MOST_COLUMNS:
        return []
    columns = [
        Column("feature"),
        Column("hidden", "integer", "known entries that were hidden from a second fit"),
        Column("error", "number", f"RMSE of these entries{unit or ', in units of the column'}"),
        Column("by the mean", "number", "RMSE of the mean of the column, drawn slightly towards the overall mean"),
        Column("better by", "number", "share of the error of the mean that the model saves; below 0 it is worse"),
    ]
    rows = []
    for name, (n, ours, mean) in zip(names, judged.by_column, strict=True):
        saved = 1 - ours / mean if n and mean > 0 else np.nan
        rows.append([str(name), n, *(float(f"{value:.3g}") for value in (ours, mean, saved))])
    note, of = "", f"of {count(len(judged.checked_columns), 'column')} that could be checked"
    worse, unsure = judged.worse_columns, [j for j in judged.no_better_columns if j not in judged.worse_columns]
    if worse:
        note += f"In {len(worse)} {of}, the model is worse than the mean of the column: {_named(names, worse)}. "
    if unsure:
        what = "hidden entries do not show that the model is better than the mean of the column"
        note += f"In {len(unsure)} {of}, {what}: {_named(names, unsure)}. "
    note += "Where the model is worse, take the mean of the column, or leave the cells empty. "
    note += "embed --fill also writes an interval for each filled cell."
    return [Table("How sure are filled cells?", columns, rows, note)]


def _named(names: Any, columns: list[int]) -> str:
    """The first of these columns, in quotes."""
    shown = ", ".join(repr(str(names[j])) for j in columns[:MOST_NAMED])
    return shown + (f" and {len(columns) - MOST_NAMED} more" if columns[MOST_NAMED:] else "")


def beside(error: float, other: float) -> str:
    """How much smaller one error is than another, in words."""
    less = 1 - error / max(other, 1e-300)
    if abs(less) <= 0.005:
        return "the same as by"
    return f"{less:.0%} less than by" if less > 0 else f"{-less:.0%} more than by"
