"""Single charts of a report, for the ``plot_`` methods of the estimators."""

from collections.abc import Iterator
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from rectifact.core.arrays import to_host
from rectifact.core.errors import InputError
from rectifact.models import SavedModel
from rectifact.report.charts import bars, convergence
from rectifact.report.document import report_of
from rectifact.report.svg import Chart

CHARTS = {
    "labels": ("Overview", "Labels found"),
    "confidence": ("Overview", "Confidence"),
    "workers": ("Workers", "Accuracy"),
    "agreement": ("Worker graph", "Agreement beyond"),
    "weights": ("Weights", ""),
    "residuals": ("Residuals", ""),
    "map": ("Map", ""),
    "sizes": ("Overview", "Cluster sizes"),
    "network": ("Network", ""),
    "memberships": ("Memberships", ""),
    "similarities": ("Similarities", ""),
}
"""Section of the report in which a chart is, and how its title begins."""


def chart_of(model: Any, name: str, **data: Any) -> Chart:
    """The chart of this name; ``data`` are fields of :class:`rectifact.models.SavedModel`."""
    check_is_fitted(model)
    if name == "part":
        return part_chart(model, **data)
    drawn = convergence(model) if name == "convergence" else _charts(SavedModel(model, **data), *CHARTS[name])
    chart = next(iter(drawn), None)
    if chart is None:
        what = f"The report on this {type(model).__name__} has no chart of {name}."
        raise InputError(what, "See rectifact.report.report_of(model) for what it has.")
    return chart


def part_chart(model: Any, part: int, n: int, features: Any) -> Chart:
    """The largest features of one part, as bars."""
    H = np.asarray(to_host(model.components_), dtype=float)
    if not isinstance(part, Integral) or not 1 <= part <= len(H):
        raise InputError(f"part={part!r} must be between 1 and {len(H)}.", "Parts are counted from 1.")
    names = getattr(model, "feature_names_in_", np.arange(H.shape[1])) if features is None else np.asarray(features)
    if len(names) != H.shape[1]:
        raise InputError(f"There are {len(names)} names for {H.shape[1]} features.", "Give one name for each.")
    values = H[part - 1]
    largest = np.argsort(-np.abs(values), kind="stable")[:n]
    words = f"The {len(largest)} largest features of part {part}."
    return bars(f"Part {part}", [str(names[j]) for j in largest], values[largest], "value", words)


def _charts(saved: SavedModel, section: str, title: str) -> Iterator[Chart]:
    for found in report_of(saved).sections:
        if found.title == section:
            yield from (block for block in found.blocks if isinstance(block, Chart) and block.title.startswith(title))
