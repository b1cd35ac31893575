"""How the number of parts, dimensions or clusters was chosen, and how far each of them can be trusted."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rectifact.core.errors import count
from rectifact.models import TABLE
from rectifact.report.blocks import Block, Column, Section, Table
from rectifact.report.charts import lines, scores
from rectifact.selection import Selection

WIDE = 20
"""Largest number from which on the axis of a chart is logarithmic."""

SHORTEST = 0.005
"""Seconds below which a number was judged along with others."""


def how_many(selection: Selection | None) -> list[Section]:
    """The curve with the choice marked, and its table; no section if the number was given."""
    if selection is None:
        return []
    table, best = selection.table, selection.best
    k, score, error, stability = (table[name].to_numpy() for name in ("k", "score", "standard_error", "stability"))
    has_errors, scored = bool(np.isfinite(error).any()), np.isfinite(score)
    blocks: list[Block] = []
    if has_errors:
        top = k[int(np.argmax(score))]
        words = f"{top} has the highest score{', and is' if top == best else f'; {best} is'} chosen. Bars show one "
        words += "standard error of the difference from the highest: within it, scores cannot be told apart."
        shown = _comparable(score)
        if not shown.all():
            words += f" {count(int((~shown).sum()), 'number')} with far lower scores left out; the table has them."
        chart = scores("Score by number", k[shown], score[shown], error[shown], best, "number", "score", words)
        blocks.append(chart.with_x(log=bool(k.max() >= WIDE)))
    elif scored.sum() > 1:
        words = f"{best} is chosen. Groups below the line may be due to chance."
        curve = {"score": (k[scored], score[scored]), "chance": (k[scored], np.ones(scored.sum()))}
        blocks.append(lines("Score by number", curve, "number", "score", words).with_x(whole=True))
    known = np.isfinite(stability)
    if known.sum() > 1:
        curve = {"stability": (k[known], stability[known])}
        words = f"Mean over all of them, where it was measured; {stability[k == best][0]:.2f} for {best}."
        blocks.append(lines("Stability by number", curve, "number", "stability", words).with_x(whole=True))
    columns = [
        Column("number", "integer"),
        Column("score", "number", selection.measure),
        Column("standard error", "number", "of the difference from the highest score; within it, they are as good"),
        Column("stability", "number", "mean over all of them; 1 if resampled data leads to the same"),
        Column("seconds", "number"),
        Column("choice"),
    ]
    names = [name for name in TABLE if name != "k"]
    if (table["seconds"] < SHORTEST).all():  # all numbers were judged at once
        names.remove("seconds")
        columns.pop(-2)
    values = table[names].map(lambda value: float(f"{value:.4g}"))
    values = values.round({"stability": 3, "seconds": 2})
    rows = [[int(n), *row, "chosen" if n == best else ""] for n, row in zip(k, values.to_numpy().tolist(), strict=True)]
    empty = {i + 1 for i, name in enumerate(values.columns) if values[name].isna().all()}
    kept = [i for i in range(len(columns)) if i not in empty]
    columns, rows = [columns[i] for i in kept], [[row[i] for i in kept] for row in rows]
    note = f"Score: {selection.measure}."
    return [Section("How many?", selection.reason, [*blocks, Table("Numbers that were tried", columns, rows, note)])]


def _comparable(score: NDArray[Any]) -> NDArray[Any]:
    """Which scores a chart shows: those far below all that a choice is made between would flatten the rest.

    Examples
    --------
    >>> _comparable(np.array([0.9, 0.98, 0.99, 0.97, -3.0]))
    array([ True,  True,  True,  True, False])
    """
    best, first = np.nanmax(score), score[np.isfinite(score)][0]
    return np.asarray(~(score < first - (best - first)))


def with_stability(model: Any, columns: list[Column], rows: list[Any]) -> tuple[list[Column], list[Any]]:
    """A table with one row per part, dimension or cluster, and their stability as a further column if it is known."""
    stability = getattr(model, "stability_", None)
    if stability is None:
        return columns, rows
    new = Column("stability", "number", "how far it is found again in resampled data; 1 if it is the same")
    return [*columns, new], [[*row, round(float(value), 3)] for row, value in zip(rows, stability, strict=True)]
