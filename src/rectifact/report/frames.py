"""The frame of a chart: margins, legend, ticks and scales at a certain width."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rectifact.report.marks import Axis, Bars, Cells, Line, Points
from rectifact.report.scales import Scale, cut, labels, limits, ticks, width_of

if TYPE_CHECKING:
    from rectifact.report.svg import Chart

SIZE, ROW, CELL, EDGE = 13.0, 24.0, 48.0, 10.0
"""Height of the letters, of a row and of a cell of a matrix with names beside them, space at the sides, in pixels."""

PHONE = 500
"""Widths below this are those of a phone."""

SHORT = 4
"""Letters of names that are left out where there is no room for all, instead of being turned."""

Entry = tuple[float, float, str, float, str]
"""Place, colour, shade and text of an entry of the legend."""

Ticks = Sequence[tuple[float, str]]
"""Places in pixels, and what is written there."""


@dataclass(frozen=True)
class Frame:
    """Where everything is, in pixels; ``across`` and ``down`` are the scales of the page, whichever axis they show."""

    width: float
    height: float
    top: float
    across: Scale
    down: Scale
    across_ticks: Ticks
    down_ticks: Ticks
    turned: bool
    legend: Sequence[Entry]
    flat: bool

    def place(self, x: Any, y: Any) -> tuple[NDArray[Any], NDArray[Any]]:
        """Pixels of values on the two axes."""
        return (self.across(y), self.down(x)) if self.flat else (self.across(x), self.down(y))


def frame_of(chart: "Chart", width: float, heading: float) -> Frame:
    """Frame of a chart at a width, below a heading of some height."""
    phone = width < PHONE
    across, down = (chart.y, chart.x) if chart.flat else (chart.x, chart.y)
    spans = [_span(chart, "y"), _span(chart, "x")] if chart.flat else [_span(chart, "x"), _span(chart, "y")]
    legend, top = _legend(chart, width, heading)
    top += 30 if down.title else 10
    beside = _ticks(down, spans[1], 5 if phone else 6)
    longest = (0.5 if phone else 0.36) * width if down.names else 90
    beside = [(at, cut(text, SIZE, longest)) for at, text in beside]
    left, right = EDGE + _widest(beside) + 8 * bool(beside), width - 14
    size = _height(chart, phone, right - left)
    matrix = _has(chart, Cells)
    ends = (top, top + size) if chart.flat or matrix else (top + size, top)
    scales = Scale(*spans[0][:2], left, right, spans[0][2]), Scale(*spans[1][:2], *ends, spans[1][2])
    scales = _square(*scales, matrix) if chart.square else scales
    below = _ticks(across, spans[0], 4 if phone else 8)
    below, turned = _turned(below, across, scales[0].end - scales[0].start, 90 if phone else 120)
    under = 22 * bool(across.title) + _space(below, turned)
    shown = _spaced(_at(below, scales[0]), SIZE + 3 if turned else _widest(below) + 8)
    rows = _spaced(_at(beside, scales[1]), SIZE + 2)
    return Frame(width, top + size + under, top, *scales, shown, rows, turned, legend, chart.flat)


def _has(chart: "Chart", kind: type) -> bool:
    return any(isinstance(mark, kind) for mark in chart.marks)


def _span(chart: "Chart", side: str) -> tuple[float, float, bool]:
    """Where an axis begins and ends, and whether it is logarithmic."""
    axis, place = (chart.x, 0) if side == "x" else (chart.y, 1)
    values = np.concatenate([np.empty(0), *(mark.extent()[place] for mark in chart.marks)])
    tight = _has(chart, Cells) or (_has(chart, Bars) and side == "x")
    if tight and not axis.names and len(values):
        return float(values.min()), float(values.max()), False
    return limits(values, axis, bars=_has(chart, Bars) and side == "y")


def _ticks(axis: Axis, span: tuple[float, float, bool], most: int) -> list[tuple[float, str]]:
    """Values that are marked, and their texts."""
    if axis.hidden:
        return []
    if axis.names:
        return [(float(i), name) for i, name in enumerate(axis.names)]
    at = ticks(span[0], span[1], most, log=span[2], whole=axis.whole)
    return list(zip(at, labels(at, axis.form), strict=True))


def _at(marked: Ticks, scale: Scale) -> list[tuple[float, str]]:
    return [(float(scale(value)), text) for value, text in marked]


def _spaced(marked: Ticks, apart: float) -> list[tuple[float, str]]:
    """The same ticks, without the text of some of them where they are too close."""
    step = min((abs(b - a) for (a, _), (b, _) in pairwise(marked)), default=apart)
    every = max(1, int(np.ceil(apart / max(step, 1e-9))))
    return [(at, text if i % every == 0 else "") for i, (at, text) in enumerate(marked)]


def _widest(marked: Ticks) -> float:
    return max((width_of(text, SIZE) for _, text in marked), default=0.0)


def _turned(
    marked: list[tuple[float, str]], axis: Axis, room: float, longest: float
) -> tuple[list[tuple[float, str]], bool]:
    """Names below a chart, turned and cut where they do not fit side by side."""
    most = max((len(text) for _, text in marked), default=0)
    if not axis.names or most <= SHORT or _widest(marked) <= room / max(len(marked), 1) - 6:
        return marked, False
    return [(at, cut(text, SIZE, longest)) for at, text in marked], True


def _space(marked: Ticks, turned: bool) -> float:
    if not marked:
        return EDGE
    return 20 + 0.72 * _widest(marked) if turned else 26.0


def _height(chart: "Chart", phone: bool, width: float) -> float:
    """Height of the area inside the axes."""
    if chart.flat and chart.x.names:
        return max(ROW * len(chart.x.names), 2 * ROW)
    if _has(chart, Cells):
        return min(width, CELL * max(len(chart.y.names), 4) if chart.y.names else np.inf, 420 if phone else 560)
    if chart.tall:
        return 330.0 if phone else 560.0
    return 190.0 if phone else 260.0


def _square(across: Scale, down: Scale, matrix: bool) -> tuple[Scale, Scale]:
    """A unit as long on one axis as on the other: points in the middle, a matrix beside its names."""
    units = [abs(scale.end - scale.start) / (scale.high - scale.low) for scale in (across, down)]
    halves = [min(units) * (scale.high - scale.low) / 2 for scale in (across, down)]
    middle = across.start + halves[0] if matrix else (across.start + across.end) / 2
    across = replace(across, start=middle - halves[0], end=middle + halves[0])
    middle, half = (down.start + down.end) / 2, halves[1] if down.end > down.start else -halves[1]
    return across, replace(down, start=middle - half, end=middle + half)


def _legend(chart: "Chart", width: float, top: float) -> tuple[list[Entry], float]:
    """Names of the marks that have one, where there are several, and how far down they reach."""
    named = [(mark.colour, 1.0, mark.name) for mark in chart.marks if isinstance(mark, Line) and mark.name]
    points = [mark for mark in chart.marks if isinstance(mark, Points) and mark.name]
    named += [(mark.colours[0], mark.shade, mark.name) for mark in points]
    cells = [entry for mark in chart.marks if isinstance(mark, Cells) for entry in enumerate(mark.legend)]
    named += [(colour, 1.0, name) for colour, name in cells]
    entries: list[Entry] = []
    x, y = EDGE, top + 14
    for colour, shade, name in named if len(named) > 1 else []:
        text = cut(name, SIZE, width / 2.2)
        needed = 34 + width_of(text, SIZE)
        if x + needed > width and x > EDGE:
            x, y = EDGE, y + 22
        entries.append((x, y, str(colour), shade, text))
        x += needed
    return entries, y + 8 if entries else top
