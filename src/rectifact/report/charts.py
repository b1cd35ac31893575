"""Charts as plain dicts in the language of plotly.js; colours of text and grid are set by the page, light or dark."""

import base64
import struct
import zlib
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rectifact.report.blocks import Chart

__all__ = ["bars", "convergence", "heat_map", "histogram", "lines", "png_address", "scatter"]

PALETTE = ("#3b7dd8", "#e07b39", "#3f9d63", "#b5479b", "#8a6d3b", "#5f6b7a", "#c23b3b", "#2aa6b8", "#8f7ae0", "#a3a600")
"""Colours that differ in lightness too, so that they can be told apart in grey."""

MOST_POINTS = 5000


def _layout(x: str, y: str, **more: Any) -> dict[str, Any]:
    return {"xaxis": {"title": {"text": x}}, "yaxis": {"title": {"text": y}}} | more


def histogram(
    title: str, values: ArrayLike, x: str, *, bins: int = 20, span: tuple[float, float] | None = None
) -> Chart:
    """Counts of values in equal bins; only the counts go into the page."""
    values = np.asarray(values, dtype=float)
    counts, edges = np.histogram(values, bins=bins, range=span)
    middle = (edges[1:] + edges[:-1]) / 2
    text = [f"{a:.3g} to {b:.3g}: {n}" for a, b, n in zip(edges, edges[1:], counts, strict=False)]
    bar = {"type": "bar", "x": _plain(middle), "y": counts.tolist(), "hovertext": text, "hoverinfo": "text"}
    bar |= {"marker": {"color": PALETTE[0]}, "width": float(edges[1] - edges[0])}
    fullest = int(counts.argmax())
    words = f"{len(values)} values; most, {counts[fullest]}, between {edges[fullest]:.3g} and {edges[fullest + 1]:.3g}."
    return Chart(title, [bar], _layout(x, "number", bargap=0.05), words)


def bars(title: str, names: Sequence[str], values: ArrayLike, y: str, words: str) -> Chart:
    """One bar per name."""
    heights = np.asarray(values, dtype=float)
    places = list(range(1, len(names) + 1))  # names may repeat, or look like numbers
    hover = [escape(name) for name in names]
    bar = {"type": "bar", "x": places, "y": _plain(heights), "hovertext": hover, "hoverinfo": "text+y"}
    axis = {
        "title": {"text": ""},
        "tickmode": "array",
        "tickvals": places,
        "ticktext": [_short(name) for name in names],
    }
    return Chart(title, [bar | {"marker": {"color": PALETTE[0]}}], _layout("", y) | {"xaxis": axis}, words)


def lines(title: str, curves: Mapping[str, tuple[ArrayLike, ArrayLike]], x: str, y: str, words: str) -> Chart:
    """One line per name, with points."""
    data = [
        {"type": "scatter", "mode": "lines+markers", "name": name, "x": _plain(xs), "y": _plain(ys)}
        | {"line": {"color": colour}}
        for (name, (xs, ys)), colour in zip(curves.items(), PALETTE, strict=False)
    ]
    return Chart(title, data, _layout(x, y, showlegend=len(data) > 1), words)


def convergence(history: Sequence[Mapping[str, float]], stop: str) -> Chart | None:
    """The loss at each check, on a logarithmic scale where it falls far; nothing for very short runs."""
    loss = np.array([row["loss"] for row in history])
    if len(loss) < 4 or not np.isfinite(loss).all():
        return None
    words = f"From {loss[0]:.6g} to {loss[-1]:.6g} in {history[-1]['iter']:.0f} iterations; ended: {stop}."
    curve = {"loss": ([row["iter"] for row in history], loss)}
    chart = lines("Loss by iteration", curve, "iteration", "loss", words)
    if loss.min() > 0 and loss.max() > 100 * loss.min():
        chart.layout["yaxis"] |= {"type": "log", "exponentformat": "power"}
    return chart


def scatter(title: str, points: NDArray[Any], names: Any, axes: Sequence[str], words: str) -> Chart:
    """Points in two dimensions, at most 5000, evenly chosen."""
    kept = np.linspace(0, len(points) - 1, min(len(points), MOST_POINTS)).astype(int)
    trace: dict[str, Any] = {"type": "scatter", "mode": "markers", "text": [escape(str(names[i])) for i in kept]}
    trace |= {"x": _plain(points[kept, 0]), "y": _plain(points[kept, 1]), "hoverinfo": "text"}
    trace["marker"] = {"size": 5, "color": PALETTE[0], "opacity": 0.75}
    if len(kept) < len(points):
        words += f" {len(kept)} of {len(points)} points are drawn."
    return Chart(title, [trace], _layout(*axes, showlegend=False), words)


def heat_map(title: str, values: NDArray[Any], axis: str, names: Sequence[str], words: str) -> Chart:
    """A symmetric matrix as colours, first row at the top; ``names`` of its rows, or none."""
    scale = [[0, "rgba(128,128,128,0.12)"], [1, PALETTE[0]]]
    data: dict[str, Any] = {
        "type": "heatmap",
        "z": [_plain(row) for row in values],
        "colorscale": scale,
        "showscale": True,
    }
    if names:
        data["hovertext"] = [
            [escape(f"{a}, {b}: {value:.4g}") for b, value in zip(names, row, strict=True)]
            for a, row in zip(names, values, strict=True)
        ]
        data["hoverinfo"] = "text"
    layout = _layout(axis, axis)
    for side in ("xaxis", "yaxis"):
        layout[side] |= {"constrain": "domain", "showgrid": False, "zeroline": False}
        if 0 < len(names) <= 30:
            layout[side] |= {"tickmode": "array", "tickvals": list(range(len(names)))}
            layout[side]["ticktext"] = [_short(name, 12) for name in names]
    layout["yaxis"] |= {"autorange": "reversed", "scaleanchor": "x"}
    return Chart(title, [data], layout, words)


def png_address(pixels: NDArray[Any], least: int = 64) -> str:
    """A grey image, 0 black to 1 white, as an address that holds the image itself.

    Pixels are repeated until a side has at least ``least``.

    Examples
    --------
    >>> import numpy as np
    >>> png_address(np.zeros((2, 2)))[:22]
    'data:image/png;base64,'
    """
    grey = (np.clip(pixels, 0, 1) * 255).round().astype(np.uint8)
    scale = max(1, -(-least // max(grey.shape)))
    grey = np.repeat(np.repeat(grey, scale, axis=0), scale, axis=1)
    height, width = grey.shape
    rows = b"".join(b"\0" + row.tobytes() for row in grey)
    parts = (
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)),
        (b"IDAT", zlib.compress(rows)),
        (b"IEND", b""),
    )
    chunks = (
        struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body)) for kind, body in parts
    )
    return "data:image/png;base64," + base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"".join(chunks)).decode()


def _plain(values: ArrayLike) -> list[float | None]:
    """Numbers for JSON, short, with None where there is none."""
    return [float(f"{value:.5g}") if np.isfinite(value) else None for value in np.asarray(values, dtype=float).ravel()]


def _short(name: str, most: int = 24) -> str:
    """A name for an axis; plotly would take what looks like markup for markup."""
    return escape(name if len(name) <= most else name[: most - 1] + "…")
