"""The figures of the papers as charts: one panel for each data set, one line for each method."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from rectifact.bench import Rows
from rectifact.bench.papers import Curves, Experiment
from rectifact.report.charts import bars, heat_map, lines, ranges
from rectifact.report.svg import Chart


def charts(name: str, rows: Rows, experiment: Experiment) -> Sequence[Chart]:
    """Charts of the rows of an experiment, such as ``"figure 4.1"``; none if it has no picture."""
    title = name[0].upper() + name[1:]
    if experiment.pictures is not None:
        return experiment.pictures(title, rows)
    return panels(title, rows, experiment.curves) if experiment.curves is not None else []


def panels(title: str, rows: Rows, curves: Curves) -> list[Chart]:
    """Charts of the curves of a figure.

    Examples
    --------
    >>> rows = [{"data": "ORL", "method": "hals", "iteration": i, "error": 1 / i} for i in (1, 2, 3)]
    >>> [chart.title for chart in panels("Figure 4.1", rows, Curves("iteration", "error"))]
    ['Figure 4.1, ORL']
    """
    drawn = []
    for name in dict.fromkeys(row.get(curves.panel) for row in rows):
        own = [row for row in rows if row.get(curves.panel) == name]
        heading = title if name is None else f"{title}, {name}"
        for y in (curves.y, *curves.more):
            found = {}
            for line in dict.fromkeys(str(row[curves.line]) for row in own):
                points = [row for row in own if str(row[curves.line]) == line and _shown(row, curves, y)]
                label = f"{curves.line} {line}" if line[:1].isdigit() and curves.line != "method" else line
                found[label] = [row[curves.x] for row in points], [row[y] for row in points]
            ends = ", ".join(f"{line} {ys[-1]:.3g}" for line, (_, ys) in found.items() if ys)
            chart = lines(heading, found, curves.x, y, f"Last values of {y}: {ends}.")
            if curves.square:
                bare = {"title": "", "hidden": True}
                chart = replace(chart, square=True).with_x(**bare).with_y(**bare)
            drawn.append(chart.with_x(log=curves.log_x).with_y(log=curves.log_y))
    return drawn


def _shown(row: dict[str, Any], curves: Curves, y: str) -> bool:
    """Whether a row has a value, and one that a logarithmic axis can show: the limit without noise is at 0."""
    beyond = (curves.log_x and row[curves.x] <= 0) or (curves.log_y and (row.get(y) or 0) <= 0)
    return row.get(y) is not None and not beyond


def columns(title: str, rows: Rows, x: str, ys: Sequence[str], y: str) -> list[Chart]:
    """One chart with a line for each column in ``ys``."""
    along = [row[x] for row in rows]
    found = {name: (along, [row[name] for row in rows]) for name in ys}
    words = "; ".join(f"{name}: {', '.join(f'{v:.3g}' for v in values)}" for name, (_, values) in found.items())
    return [lines(title, found, x, y, f"{words}.")]


def bars_by_data(title: str, rows: Rows, y: str) -> list[Chart]:
    """A bar for each method, one chart for each data set."""
    drawn = []
    for data in dict.fromkeys(row["data"] for row in rows):
        own = {row["method"]: row[y] for row in rows if row["data"] == data}
        words = ", ".join(f"{method} {value:.3g}" for method, value in own.items())
        drawn.append(bars(f"{title}, {data}", list(own), list(own.values()), y, f"{words}."))
    return drawn


def spread(title: str, rows: Rows, quantiles: tuple[str, str, str], y: str) -> list[Chart]:
    """The interval between two columns of each row around a third, by data and method; a colour for each method."""
    names = [f"{row['data']}, {row['method']}" for row in rows]
    methods = list(dict.fromkeys(row["method"] for row in rows))
    low, middle, high = ([row[column] for row in rows] for column in quantiles)
    words = "; ".join(f"{name} {value:.3g}" for name, value in zip(names, middle, strict=True))
    colours = [methods.index(row["method"]) for row in rows]
    return [ranges(title, names, middle, low, high, y, f"Middle: {words}.", colours)]


def matrix(title: str, values: Any, words: str) -> Chart:
    """A square matrix as colours."""
    return heat_map(title, values, "", [str(i + 1) for i in range(len(values))], words)
