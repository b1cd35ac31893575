"""Charts as SVG: text in, text out, without a library; every name is escaped, and colours follow the page around it."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rectifact.io.files import atomic_path, check_writable
from rectifact.report.frames import SIZE, Frame, frame_of
from rectifact.report.marks import PALETTE, Axis, Bars, Cells, Edges, Line, Mark, Points, Texts
from rectifact.report.names import shortened
from rectifact.report.pixels import png_address
from rectifact.report.scales import MARGIN, Scale, cut, width_of, written

WIDE, NARROW = 760, 372
"""Widths of a chart on a screen and on a phone."""

BOLD, WIDEST_BAR = 1.2, 90.0
"""How much wider bold letters are; pixels of a bar with a name, as those of a histogram touch each other."""

HEADING, LONGEST_TIP, LONGEST_NAME, MOST_CELLS = 26.0, 300, 600, 1600
"""Height of a title; letters that are said on hover, and of the whole chart; cells that are drawn one by one."""


@dataclass(frozen=True, repr=False)
class Chart:
    """A chart as data, and what it shows in words; a notebook shows it, and :meth:`save` writes it to a file.

    Parameters
    ----------
    title : str
    marks : sequence of marks
        Drawn in this order.
    words : str
        What the chart shows, for people who cannot see it, and for everyone else below it.
    x, y : Axis
    tall : bool
        Whether it gets more space.
    flat : bool
        Whether x runs down the page, so that long names fit beside it.
    square : bool
        Whether a unit has the same length on both axes.

    Examples
    --------
    >>> from rectifact.report.charts import bars
    >>> chart = bars("Fruit", ["apples", "pears"], [3, 5], "baskets", "More pears than apples.")
    >>> chart.svg().startswith("<svg")
    True
    """

    title: str
    marks: Sequence[Mark]
    words: str
    x: Axis = field(default_factory=Axis)
    y: Axis = field(default_factory=Axis)
    tall: bool = False
    flat: bool = False
    square: bool = False

    def __repr__(self) -> str:
        return f"Chart({self.title!r}, {self.words!r})"

    def with_x(self, **changes: Any) -> "Chart":
        """The chart with another x axis: the fields of :class:`Axis` that change."""
        return replace(self, x=replace(self.x, **changes))

    def with_y(self, **changes: Any) -> "Chart":
        """The chart with another y axis."""
        return replace(self, y=replace(self.y, **changes))

    def svg(self, width: int = WIDE) -> str:
        """The chart as an SVG element that takes its colours from the page."""
        frame = frame_of(self, width, 0)
        return f"<svg {_opening(self, frame)}>{_drawn(self, frame)}</svg>"

    def save(self, path: str | Path) -> None:
        """Write the chart to an SVG file, which needs nothing else.

        Parameters
        ----------
        path : str or Path
        """
        save_charts([self], path)

    def _document(self) -> str:
        return document([self])

    def _repr_html_(self) -> str:
        frame = frame_of(self, WIDE, HEADING)
        drawn = f"<svg {_opening(self, frame)}>{_title(self)}{_drawn(self, frame)}</svg>"
        style = f"<style>{style_sheet()}</style>"
        return f'<div style="max-width:{WIDE}px">{style}{drawn}<p>{_safe(self.words)}</p></div>'


def save_charts(charts: Sequence[Chart], path: str | Path) -> None:
    """Write charts, one below the other, to an SVG file, which needs nothing else.

    Parameters
    ----------
    charts : sequence of Chart
    path : str or Path
    """
    check_writable(Path(path))
    with atomic_path(Path(path)) as temporary:
        temporary.write_text(document(charts), encoding="utf-8")


def document(charts: Sequence[Chart]) -> str:
    """An SVG document with its own colours, and the title of each chart in the picture."""
    frames = [frame_of(chart, WIDE, HEADING) for chart in charts]
    heights = [frame.height for frame in frames]
    whole = f'xmlns="http://www.w3.org/2000/svg" class="rf-file" width="{WIDE}" height="{sum(heights):.0f}"'
    style = style_sheet() + "svg.rf-file{color:#1c2430;background:#fff}"
    style += "@media (prefers-color-scheme:dark){svg.rf-file{color:#e8ecf2;background:#12161c;--paper:#12161c}}"
    pieces = []
    for chart, frame, top in zip(charts, frames, [0.0, *np.cumsum(heights)], strict=False):
        said = f"<title>{_safe(chart.title)}</title><desc>{_safe(chart.words)}</desc>"
        place = f'y="{top:.0f}" width="{frame.width:.0f}" height="{frame.height:.0f}" {_opening(chart, frame)}'
        pieces.append(f"<svg {place}>{said}{_title(chart)}{_drawn(chart, frame)}</svg>")
    view = f'viewBox="0 0 {WIDE} {sum(heights):.0f}"'
    return f"<svg {whole} {view}><style>{style}</style>{''.join(pieces)}</svg>"


def style_sheet() -> str:
    """Rules for the classes in a chart; colours of the text around it unless a page sets others."""
    return (files("rectifact.report") / "page" / "chart.css").read_text(encoding="utf-8")


def _opening(chart: Chart, frame: Frame) -> str:
    name = _safe(shortened(f"{chart.title}. {chart.words}", LONGEST_NAME))
    return f'class="rf" viewBox="0 0 {frame.width:.0f} {frame.height:.0f}" role="img" aria-label="{name}"'


def _title(chart: Chart) -> str:
    return _text(10, 17, cut(chart.title, 15, WIDE - 20), "rf-title")


def _drawn(chart: Chart, frame: Frame) -> str:
    """Legend, axes and marks."""
    pieces = [_dot(x + 6, y - 4.5, 5, _colour(int(colour)), shade) for x, y, colour, shade, _ in frame.legend]
    pieces += [_text(x + 17, y, text) for x, y, *_, text in frame.legend]
    pieces += [*_rows(chart, frame), *_columns(chart, frame)]
    for mark in chart.marks:
        pieces += _mark(mark, chart, frame)
    return "".join(pieces)


def _rows(chart: Chart, frame: Frame) -> list[str]:
    """The axis that runs down: lines across the page, texts beside them, and the title above."""
    axis, (left, right) = chart.x if chart.flat else chart.y, sorted((frame.across.start, frame.across.end))
    pieces = [] if axis.names else [_path(f"M{left:.1f} {y:.1f}H{right:.1f}", "rf-grid") for y, _ in frame.down_ticks]
    pieces += [_path(f"M{left:.1f} {y:.1f}H{right:.1f}", "rf-zero") for y in _zero(frame.down, axis)]
    pieces += [_text(left - 7, y + 4.5, text, "rf-end") for y, text in frame.down_ticks]
    return [*pieces, _text(10, frame.top - 14, cut(axis.title, SIZE, frame.width - 20), "rf-soft")]


def _columns(chart: Chart, frame: Frame) -> list[str]:
    """The axis that runs across: lines down the page, texts below them, and the title at the bottom."""
    axis, (top, bottom) = chart.y if chart.flat else chart.x, sorted((frame.down.start, frame.down.end))
    pieces = [] if axis.names else [_path(f"M{x:.1f} {top:.1f}V{bottom:.1f}", "rf-grid") for x, _ in frame.across_ticks]
    pieces += [_path(f"M{x:.1f} {top:.1f}V{bottom:.1f}", "rf-zero") for x in _zero(frame.across, axis)]
    for x, text in frame.across_ticks:
        if frame.turned:
            turn = f'transform="translate({x + 4:.1f} {bottom + 14:.1f}) rotate(-45)"'
            pieces.append(_text(0, 0, text, "rf-end", turn))
        else:
            half = width_of(text, SIZE) / 2
            pieces.append(_text(min(x, frame.width - half), bottom + 17, text, "rf-middle"))
    title = cut(axis.title, SIZE, frame.width - 20)
    half, middle = width_of(title, SIZE) / 2, (frame.across.start + frame.across.end) / 2
    middle = min(max(middle, half + 4), frame.width - half - 4)
    return [*pieces, _text(middle, frame.height - 8, title, "rf-soft rf-middle")]


def _zero(scale: Scale, axis: Axis) -> list[float]:
    """Where 0 is, if values lie on both sides of it, and not only the margin of the axis."""
    apart = min(-scale.low, scale.high) > MARGIN * (scale.high - scale.low) and not (axis.names or axis.hidden)
    return [float(scale(0))] if apart else []


def _mark(mark: Mark, chart: Chart, frame: Frame) -> list[str]:
    match mark:
        case Bars():
            return _bars(mark, chart, frame)
        case Points():
            return _points(mark, chart, frame)
        case Line():
            kind = f"rf-line {_colour(mark.colour)}" + " rf-dash" * mark.dashed
            return [_path(_through(*frame.place(mark.x, mark.y)), kind)]
        case Edges():
            return [_path(_segments(mark.ends, frame), "rf-edges")]
        case Cells():
            return _cells(mark, frame)
        case Texts():
            return _texts(mark, frame)


def _texts(mark: Texts, frame: Frame) -> list[str]:
    """Texts that do not overlap those before them, nor leave the chart.

    One that would is drawn above its place, if there is room; else what precedes its colon, if it has one, is there.
    """
    pieces: list[str] = []
    taken: list[tuple[float, float, float]] = []
    for x, y, text, below in zip(*frame.place(mark.x, mark.y), mark.texts, mark.below, strict=True):
        shown, short = cut(text, SIZE, 150), ":" in text
        half = BOLD * width_of(shown, SIZE) / 2
        middle = min(max(x, half + 2), frame.width - half - 2)
        heights = [y + below + SIZE] if short else [y + below + SIZE, y - below - 3]
        free = (at for at in heights if all(abs(middle - a) > half + b or abs(at - c) > SIZE + 2 for a, b, c in taken))
        at = next(free, None)
        if at is not None:
            taken.append((middle, half, at))
            pieces.append(_text(middle, at, shown, "rf-middle rf-label"))
        elif short:
            pieces.append(_text(x, y + SIZE / 3, text.partition(":")[0], "rf-middle rf-label"))
    return pieces


def _through(x: NDArray[Any], y: NDArray[Any]) -> str:
    """A line through all points that are known, broken at others."""
    known = np.isfinite(x) & np.isfinite(y)
    begins = known & ~np.r_[False, known[:-1]]
    steps = zip(np.where(begins, "M", "L")[known], x[known], y[known], strict=True)
    return "".join(f"{pen}{a:.1f} {b:.1f}" for pen, a, b in steps)


def _segments(ends: NDArray[Any], frame: Frame) -> str:
    starts, stops = (frame.place(ends[:, end, 0], ends[:, end, 1]) for end in (0, 1))
    known = np.isfinite(ends).all(axis=(1, 2))
    corners = zip(*(part[known] for part in (*starts, *stops)), strict=True)
    return "".join(f"M{a:.1f} {b:.1f}L{c:.1f} {d:.1f}" for a, b, c, d in corners)


def _bars(mark: Bars, chart: Chart, frame: Frame) -> list[str]:
    colours = list(mark.colours) * (len(mark.x) if len(mark.colours) == 1 else 1)
    along = frame.down if frame.flat else frame.across
    unit = abs(along.end - along.start) / (along.high - along.low)
    half = min(mark.width, WIDEST_BAR / unit if chart.x.names else np.inf) / 2
    pieces = []
    for x, y, label, colour in zip(mark.x, mark.y, mark.labels, colours, strict=True):
        if np.isfinite(y):
            corners, empty = frame.place([x - half, x + half], [0, y]), "fill-opacity:0" * bool(y == 0)
            pieces.append(_rectangle(*corners, _colour(colour), empty, f"{label}: {_value(y, chart)}"))
    return pieces


def _points(mark: Points, chart: Chart, frame: Frame) -> list[str]:
    colours = list(mark.colours) * (len(mark.x) if len(mark.colours) == 1 else 1)
    ends = [] if mark.low is None or mark.high is None else [(mark.x, mark.low), (mark.x, mark.high)]
    pairs = np.stack([np.column_stack(end) for end in ends], axis=1) if ends else np.empty((0, 2, 2))
    x, y = frame.place(mark.x, mark.y)
    kind = " rf-ring" * mark.ring
    shown = np.flatnonzero(np.isfinite(x) & np.isfinite(y)).tolist()
    said = {i: _said(mark, i, chart) for i in shown}
    dots = [_dot(x[i], y[i], mark.radius, _colour(colours[i]) + kind, mark.shade, said[i]) for i in shown]
    return [_path(_segments(pairs, frame), "rf-range"), *dots]


def _said(mark: Points, i: int, chart: Chart) -> str:
    """What a point says on hover: its label, and its values if they mean something."""
    if not len(mark.labels) or mark.place:
        return mark.labels[i] if len(mark.labels) else ""
    text = f"{mark.labels[i]}: {_value(mark.y[i], chart)}"
    if mark.low is not None and mark.high is not None and mark.low[i] < mark.high[i]:
        text += f", {_value(mark.low[i], chart)} to {_value(mark.high[i], chart)}"
    if not chart.x.names:
        return f"{text}; {chart.x.title} {written(mark.x[i], chart.x.form, 0.001)}"
    name = chart.x.names[int(mark.x[i])]
    return text if name == mark.labels[i] else f"{text}; {name}"


def _value(value: float, chart: Chart) -> str:
    return written(float(f"{value:.4g}") if chart.y.form == "number" else value, chart.y.form, 0.001)


def _cells(mark: Cells, frame: Frame) -> list[str]:
    """A rectangle for each cell; of a large matrix, a pixel of an image."""
    values = np.nan_to_num(np.asarray(mark.values, dtype=float))
    ends = np.where(values < 0, abs(mark.low) or 1.0, abs(mark.high) or 1.0)
    share = np.clip(values / ends, -1, 1)
    corners = frame.place([-0.5, share.shape[1] - 0.5], [-0.5, share.shape[0] - 0.5])
    if share.size <= MOST_CELLS and len(mark.tips):
        return [
            _cell(i, j, value, tip, frame)
            for i, (row, tips) in enumerate(zip(share, mark.tips, strict=True))
            for j, (value, tip) in enumerate(zip(row, tips, strict=True))
        ]
    (left, right), (top, bottom) = corners
    size = f'x="{left:.1f}" y="{top:.1f}" width="{right - left:.1f}" height="{bottom - top:.1f}"'
    image = f'<image class="rf-image" preserveAspectRatio="none" {size} href="{png_address(_coloured(share))}"/>'
    return [image, _rectangle(*corners, "rf-frame")]


def _cell(i: int, j: int, share: float, tip: str, frame: Frame) -> str:
    corners = frame.place([j - 0.5, j + 0.5], [i - 0.5, i + 0.5])
    return _rectangle(*corners, "rf-cell c1" if share < 0 else "rf-cell c0", f"fill-opacity:{abs(share):.2f}", tip)


def _coloured(share: NDArray[Any]) -> NDArray[np.uint8]:
    """Pixels in the first two colours, the more transparent the closer to 0."""
    colours = np.array([[int(colour[i : i + 2], 16) for i in (1, 3, 5)] for colour in PALETTE[:2]])
    opaque = (255 * np.abs(share)).round()[..., None]
    return np.dstack([colours[(share < 0).astype(int)], opaque]).astype(np.uint8)


def _colour(number: int) -> str:
    return "c-none" if number < 0 else f"c{number % len(PALETTE)}"


def _text(x: float, y: float, text: str, kind: str = "", more: str = "") -> str:
    """A text; nothing if it is empty. A name keeps its own direction of writing."""
    if not text:
        return ""
    place = more or f'x="{x:.1f}" y="{y:.1f}"'
    shown = f' class="{kind}"' * bool(kind)
    return f"<text{shown} {place}>\u2068{_safe(text)}\u2069</text>"


def _path(d: str, kind: str) -> str:
    return f'<path class="{kind}" d="{d}"/>' if d else ""


def _dot(x: float, y: float, radius: float, kind: str, shade: float = 1.0, tip: str = "") -> str:
    faint = f' style="fill-opacity:{shade:.2f}"' * (shade < 1)
    return f'<circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="{radius:g}"{faint}>{_tip(tip)}</circle>'


def _rectangle(x: Any, y: Any, kind: str, style: str = "", tip: str = "") -> str:
    """A rectangle between two corners, at least half a pixel wide and high."""
    (left, right), (top, bottom) = np.sort(x), np.sort(y)
    size = f'width="{max(right - left, 0.6):.1f}" height="{max(bottom - top, 0.6):.1f}"'
    styled = f' style="{style}"' * bool(style)
    return f'<rect class="{kind}" x="{left:.1f}" y="{top:.1f}" {size}{styled}>{_tip(tip)}</rect>'


def _tip(text: str) -> str:
    return f"<title>{_safe(shortened(text, LONGEST_TIP))}</title>" if text else ""


def _safe(text: str) -> str:
    """Text that cannot become markup, nor break an XML document."""
    clean = "".join(letter if letter >= " " or letter in "\n\t" else "\N{REPLACEMENT CHARACTER}" for letter in text)
    return escape(clean.encode("utf-8", "replace").decode("utf-8"))
