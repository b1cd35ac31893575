"""The figures of the papers as charts: one panel for each data set, one line for each method."""

from rectifact.bench import Rows
from rectifact.bench.papers import Curves
from rectifact.report.charts import lines
from rectifact.report.svg import Chart


def panels(title: str, rows: Rows, curves: Curves) -> list[Chart]:
    """Charts of the rows of a figure.

    Examples
    --------
    >>> rows = [{"data": "ORL", "method": "hals", "iteration": i, "error": 1 / i} for i in (1, 2, 3)]
    >>> [chart.title for chart in panels("Figure 4.1", rows, Curves("iteration", "error"))]
    ['Figure 4.1, ORL']
    """
    charts = []
    for name in dict.fromkeys(row.get(curves.panel) for row in rows):
        own = [row for row in rows if row.get(curves.panel) == name]
        found = {}
        for line in dict.fromkeys(str(row[curves.line]) for row in own):
            points = [row for row in own if str(row[curves.line]) == line and row.get(curves.y) is not None]
            found[line] = [row[curves.x] for row in points], [row[curves.y] for row in points]
        ends = ", ".join(f"{line} {ys[-1]:.3g}" for line, (_, ys) in found.items() if ys)
        heading = title if name is None else f"{title}, {name}"
        chart = lines(heading, found, curves.x, curves.y, f"Last values of {curves.y}: {ends}.")
        charts.append(chart.with_x(log=curves.log_x).with_y(log=curves.log_y))
    return charts
