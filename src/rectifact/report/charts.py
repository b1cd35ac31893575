"""The charts of the reports: from arrays to marks and axes; ``svg.py`` draws them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from rectifact.report.marks import PALETTE, Axis, Bars, Cells, Edges, Form, Line, Mark, Points, Texts
from rectifact.report.names import count
from rectifact.report.pixels import image_address
from rectifact.report.scales import written
from rectifact.report.svg import Chart

__all__ = [
    "PALETTE",
    "bars",
    "convergence",
    "ending",
    "heat_map",
    "histogram",
    "image_address",
    "lines",
    "network",
    "ranges",
    "sample_map",
    "scatter",
    "scores",
]

MOST_POINTS, MOST_DOTS, MOST_NAMES = 3000, 60, 30
"""Points of a scatter plot; points of a line that are large; names beside a heat map."""

SAME = 1e-9
"""Relative difference of values that are the same but for rounding."""

LONGEST_UPRIGHT, MOST_FLAT = 6, 60
"""Letters of a name that fit below a bar; bars that lie flat, with longer names beside them."""

HUB = 1.7
"""Radius of a hub in the drawing of a graph, over that of other nodes."""


def histogram(title: str, values: ArrayLike, x: str, *, span: tuple[float, float] | None = None) -> Chart:
    """Counts of values in 20 equal bins; only the counts go into the page."""
    values = np.asarray(values, dtype=float)
    if span is None and len(values) and np.ptp(values) <= SAME * np.abs(values).max():  # equal but for rounding
        span = float(values.min() - 0.5), float(values.max() + 0.5)
    counts, edges = np.histogram(values, bins=20, range=span)
    ranges = [f"{written(a, _form(x))} to {written(b, _form(x))}" for a, b in pairwise(_rounded(edges))]
    bar = Bars((edges[1:] + edges[:-1]) / 2, counts.astype(float), ranges, width=float(edges[1] - edges[0]))
    words = f"{count(len(values), 'value')}; {counts.max():,} of them from {ranges[counts.argmax()]}."
    return Chart(title, [bar], words, Axis(x, form=_form(x)), Axis("count", whole=True))


def _rounded(edges: NDArray[Any]) -> list[float]:
    return [float(f"{edge:.3g}") for edge in edges]


def bars(title: str, names: Sequence[str], values: ArrayLike, y: str, words: str) -> Chart:
    """One bar per name; long names stand beside the bars, short ones below them."""
    heights = _floats(values)
    flat = max(map(len, names), default=0) > LONGEST_UPRIGHT and len(names) <= MOST_FLAT
    bar = Bars(np.arange(len(names), dtype=float), heights, list(names), width=0.72 if flat else 0.8)
    return Chart(title, [bar], words, Axis(names=list(names)), Axis(y, form=_form(y)), flat=flat)


def _form(title: str) -> Form:
    """Shares and confidences are percentages."""
    return "share" if title.startswith(("share", "confidence")) else "number"


def ranges(
    title: str,
    names: Sequence[str],
    values: ArrayLike,
    low: ArrayLike,
    high: ArrayLike,
    y: str,
    words: str,
    colours: Sequence[int],
) -> Chart:
    """One point per name, with its interval; ``colours`` are numbers."""
    middle, start, end = (_floats(part) for part in (values, low, high))
    points = Points(np.arange(len(names), dtype=float), middle, list(names), list(colours), start, end, radius=5)
    return Chart(title, [points], words, Axis(names=list(names)), Axis(y), flat=True)


def lines(
    title: str,
    curves: Mapping[str, tuple[ArrayLike, ArrayLike]],
    x: str,
    y: str,
    words: str,
    *,
    intervals: Mapping[str, tuple[ArrayLike, ArrayLike]] = MappingProxyType({}),
    dotted: Sequence[str] = (),
) -> Chart:
    """One line per name, with points, ``intervals`` around some of them; others are ``dotted``, without points."""
    marks: list[Mark] = []
    for colour, (name, (xs, ys)) in enumerate(curves.items()):
        along, up = _floats(xs), _floats(ys)
        marks.append(Line(along, up, name, colour, dashed=name in dotted))
        if name not in dotted:
            low, high = (_floats(end) for end in intervals[name]) if name in intervals else (None, None)
            radius = 4 if len(along) <= MOST_DOTS else 2
            marks.append(Points(along, up, [name] * len(along), [colour], low, high, radius))
    return Chart(title, marks, words, Axis(x, form=_form(x)), Axis(y, form=_form(y)))


def scores(
    title: str, xs: ArrayLike, ys: ArrayLike, errors: ArrayLike, chosen: int, x: str, y: str, words: str
) -> Chart:
    """A line through scores with their standard errors, and a ring around the chosen one."""
    error, up = _floats(errors), _floats(ys)
    chart = lines(title, {y: (xs, ys)}, x, y, words, intervals={y: (up - error, up + error)})
    place = int(np.flatnonzero(np.asarray(xs) == chosen)[0])
    ring = Points(_floats([chosen]), up[[place]], colours=[1], radius=9, ring=True, name="chosen")
    return replace(chart, marks=[*chart.marks, ring], x=Axis(x, whole=True))


def convergence(model: Any) -> list[Chart]:
    """The loss at each check, on a logarithmic scale where it falls far; no chart for very short runs."""
    loss = np.array([row["loss"] for row in model.history_])
    if len(loss) < 4 or not np.isfinite(loss).all():
        return []
    iterations = [int(row["iter"]) for row in model.history_]
    first, last = _told_apart(float(loss[0]), float(loss[-1]))
    words = f"From {first} to {last} in {count(iterations[-1], 'iteration')}; {ending(model)}."
    chart = lines("Loss by iteration", {"loss": (iterations, loss)}, "iteration", "loss", words)
    return [chart.with_x(whole=True).with_y(log=bool(loss.min() > 0 and loss.max() > 100 * loss.min()))]


def _told_apart(first: float, last: float) -> tuple[str, str]:
    """Two numbers with three digits, or with as many as they need to differ, at most six."""
    pairs = [(f"{first:.{digits}g}", f"{last:.{digits}g}") for digits in range(3, 7)]
    return next((pair for pair in pairs if pair[0] != pair[1]), pairs[0])


def ending(model: Any) -> str:
    """How a fit ended, in words."""
    if model.converged_:
        return "converged"
    reason = model.stop_reason_
    return "stopped at the iteration limit" if reason == "max_iter" else f"stopped: {reason.replace('_', ' ')}"


def scatter(title: str, points: NDArray[Any], names: Any, axes: Sequence[str], words: str) -> Chart:
    """Points in two dimensions, at most 3000 of them, evenly chosen."""
    kept = np.linspace(0, len(points) - 1, min(len(points), MOST_POINTS)).astype(int)
    labels = [str(names[i]) for i in kept]
    if len(kept) < len(points):
        words += f" {len(kept):,} of {len(points):,} points are shown."
    dots = Points(_floats(points[kept, 0]), _floats(points[kept, 1]), labels, radius=3, place=True, shade=0.75)
    return Chart(title, [dots], words, Axis(axes[0]), Axis(axes[1]))


def sample_map(
    title: str, places: NDArray[Any], names: Any, axes: Sequence[str], words: str, values: NDArray[Any] | None = None
) -> Chart:
    """Points in the plane with their names, coloured by values: classes, or numbers in five steps.

    Axes without titles are not shown.
    """
    marks: list[Mark] = []
    for colour, shade, name, inside in _groups(values, len(places)):
        labels = [f"{names[i]}" if values is None or pd.isna(values[i]) else f"{names[i]}: {values[i]}" for i in inside]
        x, y = places[inside].T
        marks.append(Points(x, y, labels, [colour], radius=3.5, place=True, shade=shade, name=name))
    across, up = (Axis(title) if title else Axis(hidden=True) for title in axes)
    return Chart(title, marks, words, across, up, tall=not any(axes), square=not any(axes))


def _groups(values: NDArray[Any] | None, n: int) -> list[tuple[int, float, str, list[int]]]:
    """Colour, shade, name and members of each group of points."""
    if values is None:
        return [(0, 0.75, "", list(range(n)))]
    column = pd.Series(values)
    if pd.api.types.is_numeric_dtype(column) and column.nunique() > len(PALETTE):
        steps = pd.qcut(column, 5, duplicates="drop")
        levels = steps.cat.categories
        ends = [" to ".join(map(written, _rounded(np.array([level.left, level.right])))) for level in levels]
        found = [(0, 0.15 + 0.85 * (i + 1) / len(ends), ends[i], steps == level) for i, level in enumerate(levels)]
        rest = column.isna()
    else:
        common = column.dropna().astype(str).value_counts().index.tolist()
        shown = sorted(common[: len(PALETTE)], key=_natural)
        found = [(i, 0.8, name, column.astype(str) == name) for i, name in enumerate(shown)]
        rest = ~column.astype(str).isin(shown)
    found += [(-1, 0.6, "none" if column[rest].isna().all() else "other", rest)] if rest.any() else []
    return [(colour, shade, name, np.flatnonzero(inside.to_numpy()).tolist()) for colour, shade, name, inside in found]


def _natural(name: str) -> tuple[float, str]:
    """Numbers by their size, before names."""
    try:
        return float(name), name
    except ValueError:
        return np.inf, name


def network(
    title: str,
    places: NDArray[Any],
    edges: NDArray[Any],
    colours: Sequence[int],
    hover: Sequence[str],
    words: str,
    *,
    named: Mapping[int, str] = MappingProxyType({}),
    legend: Mapping[int, str] = MappingProxyType({}),
    hubs: Sequence[int] = (),
) -> Chart:
    """Nodes at places in the plane, and the edges between them.

    ``edges`` (n_edges, 2) holds numbers of nodes; ``colours`` are numbers too, -1 is grey; ``hover`` names the nodes.
    ``named`` are those whose names are shown, the most important first; ``legend`` says what colours mean, if they do
    not repeat; ``hubs`` are nodes with larger dots.
    """
    radius = 5 if len(places) <= 200 else 4 if len(places) <= 600 else 2.5
    large, larger = set(hubs), HUB * radius
    groups: dict[tuple[int, float], list[int]] = {}
    for i, colour in enumerate(colours):  # one mark for each entry of the legend, and then the hubs, above all others
        groups.setdefault((colour if legend else 0, larger if i in large else radius), []).append(i)
    marks: list[Mark] = [Edges(places[edges])]
    for (colour, size), own in sorted(groups.items(), key=lambda item: (item[0][1], item[0][0] < 0, item[0][0])):
        name = legend.get(colour, "") if size == radius or (colour, radius) not in groups else ""
        own_hover, own_colours = [hover[i] for i in own], [colours[i] for i in own]
        marks.append(Points(places[own, 0], places[own, 1], own_hover, own_colours, radius=size, place=True, name=name))
    if named:
        at, beside = places[list(named)], [larger if i in large else radius for i in named]
        marks.append(Texts(at[:, 0], at[:, 1], list(named.values()), np.asarray(beside) + 1.0))
    bare = Axis(hidden=True)
    return Chart(title, marks, words, bare, bare, tall=True, square=True)


def spectra(places: NDArray[Any], parts: NDArray[Any], unit: str) -> Chart:
    """One line per part over features that are places on an axis, such as wavelengths, with their unit."""
    marks: list[Mark] = [
        Line(places, part, f"part {i + 1}", i) for i, part in enumerate(np.asarray(parts, dtype=float))
    ]
    words = f"The names of the {len(places)} features are numbers, so that parts can be drawn along them."
    return Chart("Parts along the features", marks, words, Axis(unit or "feature"), Axis("value"))


def heat_map(
    title: str,
    values: NDArray[Any],
    axis: str,
    names: Sequence[str],
    words: str,
    *,
    span: tuple[float, float] | None = None,
    legend: tuple[str, ...] = (),
) -> Chart:
    """A symmetric matrix as colours, its first row at the top; ``names`` of its rows, or none.

    ``span`` are the values at the ends of the colours; negative values have a colour of their own, and ``legend`` says
    what both full colours mean.
    """
    matrix = np.asarray(values, dtype=float)
    tips = [
        [f"{a}, {b}: {written(value)}" for b, value in zip(names, row, strict=True)]
        for a, row in zip(names, matrix, strict=False)
    ]
    known = matrix[np.isfinite(matrix)]
    ends = (float(min(known.min(), 0)), float(known.max())) if len(known) else (0.0, 1.0)
    side = Axis(names=list(names)) if 0 < len(names) <= MOST_NAMES else Axis(hidden=True)
    cells = Cells(matrix, tips, *(span or ends), legend)
    return Chart(title, [cells], words, replace(side, title=axis), side, square=True)


def _floats(values: ArrayLike) -> NDArray[Any]:
    return np.asarray(values, dtype=float).ravel()
