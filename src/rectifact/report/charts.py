"""Charts as plain dicts for plotly.js, and images; the page sets the colours of text and grid, light or dark."""

import base64
import struct
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from html import escape
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rectifact.report.blocks import Chart
from rectifact.report.names import count

PALETTE = ("#3b7dd8", "#e07b39", "#3f9d63", "#b5479b", "#8a6d3b", "#5f6b7a", "#c23b3b", "#2aa6b8", "#8f7ae0", "#a3a600")
"""Colours that differ in lightness too, so that they can be told apart in greyscale."""

MOST_POINTS, IMAGE_SIDE = 5000, 64


def histogram(title: str, values: ArrayLike, x: str, *, span: tuple[float, float] | None = None) -> Chart:
    """Counts of values in 20 equal bins; only the counts go into the page."""
    values = np.asarray(values, dtype=float)
    counts, edges = np.histogram(values, bins=20, range=span)
    ranges = [f"{a:.3g} to {b:.3g}" for a, b in pairwise(edges)]
    hover = [f"{within}: {n}" for within, n in zip(ranges, counts, strict=True)]
    bar = _bar((edges[1:] + edges[:-1]) / 2, counts.tolist(), hover, hoverinfo="text", width=edges[1] - edges[0])
    words = f"{count(len(values), 'value')}; {counts.max():,} of them from {ranges[counts.argmax()]}."
    layout = _layout(x, "count", bargap=0.05)
    layout["xaxis"]["exponentformat"] = "power"  # plotly writes 1μ for a millionth
    return Chart(title, [bar], layout, words)


def bars(title: str, names: Sequence[str], values: ArrayLike, y: str, words: str) -> Chart:
    """One bar per name."""
    places = range(1, len(names) + 1)  # names may repeat, or look like numbers
    layout = _layout("", y)
    layout["xaxis"] |= _ticks(places, names)
    return Chart(title, [_bar(places, _plain(values), [escape(name) for name in names])], layout, words)


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
    places = range(1, len(names) + 1)
    values, low, high = (np.asarray(part, dtype=float) for part in (values, low, high))
    point: dict[str, Any] = {"type": "scatter", "mode": "markers", "x": list(places), "y": _plain(values)}
    point |= {"hovertext": [escape(name) for name in names], "hoverinfo": "text+y"}
    point["marker"] = {"size": 8, "color": [PALETTE[colour % len(PALETTE)] for colour in colours]}
    point["error_y"] = {"type": "data", "symmetric": False, "color": "#8a93a0"}
    point["error_y"] |= {"array": _plain(high - values), "arrayminus": _plain(values - low)}
    layout = _layout("", y, showlegend=False)
    layout["xaxis"] |= _ticks(places, names) | {"tickangle": -35}
    return Chart(title, [point], layout, words)


def lines(title: str, curves: Mapping[str, tuple[ArrayLike, ArrayLike]], x: str, y: str, words: str) -> Chart:
    """One line per name, with points."""
    data = [
        {"type": "scatter", "mode": "lines+markers", "name": name, "x": _plain(xs), "y": _plain(ys)}
        | {"line": {"color": colour}}
        for (name, (xs, ys)), colour in zip(curves.items(), PALETTE, strict=False)
    ]
    layout = _layout(x, y, showlegend=len(data) > 1)
    layout["yaxis"]["exponentformat"] = "power"
    return Chart(title, data, layout, words)


def scores(
    title: str, xs: ArrayLike, ys: ArrayLike, errors: ArrayLike, chosen: int, x: str, y: str, words: str
) -> Chart:
    """A line through scores with their standard errors, and a ring around the chosen one."""
    chart = lines(title, {y: (xs, ys)}, x, y, words)
    chart.data[0]["error_y"] = {"type": "data", "array": _plain(errors), "thickness": 1.5, "width": 4}
    ring: dict[str, Any] = {"type": "scatter", "mode": "markers", "name": "chosen", "hoverinfo": "skip"}
    place = int(np.flatnonzero(np.asarray(xs) == chosen)[0])
    ring |= {"x": [chosen], "y": _plain([np.asarray(ys)[place]])}
    ring["marker"] = {"size": 16, "symbol": "circle-open", "color": PALETTE[1], "line": {"width": 3}}
    return replace(chart, data=[*chart.data, ring], layout=chart.layout | {"showlegend": True})


def convergence(model: Any) -> list[Chart]:
    """The loss at each check, on a logarithmic scale where it falls far; no chart for very short runs."""
    loss = np.array([row["loss"] for row in model.history_])
    if len(loss) < 4 or not np.isfinite(loss).all():
        return []
    iterations = [int(row["iter"]) for row in model.history_]
    words = f"From {loss[0]:.6g} to {loss[-1]:.6g} in {iterations[-1]} iterations; {ending(model)}."
    curve = {"loss": (iterations, loss)}
    chart = lines("Loss by iteration", curve, "iteration", "loss", words)
    if iterations[-1] < 10:
        chart.layout["xaxis"]["dtick"] = 1
    if loss.min() > 0 and loss.max() > 100 * loss.min():
        chart.layout["yaxis"]["type"] = "log"
    return [chart]


def ending(model: Any) -> str:
    """How a fit ended, in words."""
    if model.converged_:
        return "converged"
    reason = model.stop_reason_
    return "stopped at the iteration limit" if reason == "max_iter" else f"stopped: {reason.replace('_', ' ')}"


def scatter(title: str, points: NDArray[Any], names: Any, axes: Sequence[str], words: str) -> Chart:
    """Points in two dimensions, at most 5000 of them, evenly chosen."""
    kept = np.linspace(0, len(points) - 1, min(len(points), MOST_POINTS)).astype(int)
    trace: dict[str, Any] = {"type": "scatter", "mode": "markers", "text": [escape(str(names[i])) for i in kept]}
    trace |= {"x": _plain(points[kept, 0]), "y": _plain(points[kept, 1]), "hoverinfo": "text"}
    trace["marker"] = {"size": 5, "color": PALETTE[0], "opacity": 0.75}
    if len(kept) < len(points):
        words += f" {len(kept):,} of {len(points):,} points are shown."
    return Chart(title, [trace], _layout(*axes, showlegend=False), words)


def network(
    title: str, places: NDArray[Any], edges: NDArray[Any], colours: Sequence[int], hover: Sequence[str], words: str
) -> Chart:
    """Nodes at places in the plane, and the edges between them.

    ``edges`` (n_edges, 2) holds numbers of nodes; ``colours`` are numbers too, -1 is grey; ``hover`` names the nodes.
    """
    ends = places[edges]
    x, y = (np.column_stack([ends[:, :, axis], np.full(len(ends), np.nan)]) for axis in (0, 1))  # a gap after each
    line: dict[str, Any] = {"type": "scatter", "mode": "lines", "x": _plain(x), "y": _plain(y), "hoverinfo": "skip"}
    line["line"] = {"color": "rgba(128,128,128,0.28)", "width": 1}
    dots: dict[str, Any] = {
        "type": "scatter",
        "mode": "markers",
        "x": _plain(places[:, 0]),
        "y": _plain(places[:, 1]),
    }
    dots |= {"text": [escape(text) for text in hover], "hoverinfo": "text"}
    shades = ["#9aa0a6" if colour < 0 else PALETTE[colour % len(PALETTE)] for colour in colours]
    dots["marker"] = {"size": 7 if len(places) <= 500 else 5, "color": shades, "line": {"width": 0.5, "color": "white"}}
    hidden = {"visible": False}
    layout = {"xaxis": dict(hidden), "yaxis": hidden | {"scaleanchor": "x"}, "showlegend": False}
    return Chart(title, [line, dots], layout, words, tall=True)


def heat_map(title: str, values: NDArray[Any], axis: str, names: Sequence[str], words: str) -> Chart:
    """A symmetric matrix as colours, its first row at the top; ``names`` of its rows, or none."""
    data: dict[str, Any] = {"type": "heatmap", "z": [_plain(row) for row in values], "showscale": True}
    data["colorscale"] = [[0, "rgba(128,128,128,0.12)"], [1, PALETTE[0]]]
    if names:
        data["hoverinfo"] = "text"
        data["hovertext"] = [
            [escape(f"{a}, {b}: {value:.4g}") for b, value in zip(names, row, strict=True)]
            for a, row in zip(names, values, strict=True)
        ]
    layout = _layout(axis, axis)
    for side in ("xaxis", "yaxis"):
        layout[side] |= {"constrain": "domain", "showgrid": False, "zeroline": False}
        if 0 < len(names) <= 30:
            layout[side] |= _ticks(range(len(names)), names, 12)
        elif not names:
            layout[side] |= {"showticklabels": False, "ticks": ""}
    layout["yaxis"] |= {"autorange": "reversed", "scaleanchor": "x"}
    return Chart(title, [data], layout, words)


def image_address(pixels: NDArray[Any], shape: tuple[int, int]) -> str:
    """A grey PNG image as an address that holds the image itself; missing pixels count as 0.

    An image without negative pixels goes from black at 0 to white; others have 0 at middle grey.

    Examples
    --------
    >>> import numpy as np
    >>> image_address(np.zeros(4), (2, 2))[:22]
    'data:image/png;base64,'
    """
    image = np.nan_to_num(pixels).reshape(shape)
    image = image / (float(np.abs(image).max()) or 1.0)
    image = image if image.min() >= 0 else (1 + image) / 2
    scale = max(1, -(-IMAGE_SIDE // max(shape)))  # a few pixels would be a speck
    grey = np.kron((image * 255).round().astype(np.uint8), np.ones((scale, scale), dtype=np.uint8))
    rows = np.pad(grey, ((0, 0), (1, 0))).tobytes()  # each row begins with its filter, 0 for none
    head = struct.pack(">IIBBBBB", grey.shape[1], grey.shape[0], 8, 0, 0, 0, 0)
    chunks = _png_chunk(b"IHDR", head) + _png_chunk(b"IDAT", zlib.compress(rows)) + _png_chunk(b"IEND", b"")
    return "data:image/png;base64," + base64.b64encode(b"\x89PNG\r\n\x1a\n" + chunks).decode()


def _png_chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def _bar(x: ArrayLike, heights: Sequence[float | None], hover: list[str], **more: Any) -> dict[str, Any]:
    bar = {"type": "bar", "x": _plain(x), "y": heights, "hovertext": hover, "hoverinfo": "text+y"}
    return bar | {"marker": {"color": PALETTE[0]}} | more


def _layout(x: str, y: str, **more: Any) -> dict[str, Any]:
    return {"xaxis": {"title": {"text": x}}, "yaxis": {"title": {"text": y, "standoff": 12}}} | more


def _ticks(places: Sequence[int], names: Sequence[str], longest: int = 24) -> dict[str, Any]:
    """Names at places of an axis, cut where they are long; plotly would render what looks like markup."""
    texts = [escape(name if len(name) <= longest else name[: longest - 1] + "…") for name in names]
    return {"tickmode": "array", "tickvals": list(places), "ticktext": texts}


def _plain(values: ArrayLike) -> list[float | None]:
    """Numbers for JSON, rounded to five digits; None for those that are not finite."""
    return [float(f"{value:.5g}") if np.isfinite(value) else None for value in np.asarray(values, dtype=float).ravel()]
