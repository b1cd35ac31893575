"""Charts of a fitted model for notebooks; the report draws them, and is imported when a chart is asked for."""

from importlib import import_module
from typing import Any


def plot(model: Any, chart: str, **data: Any) -> Any:
    """A chart of the report on a model.

    Parameters
    ----------
    model : fitted estimator
    chart : str
        Its name in :mod:`rectifact.report.plots`.
    **data
        What else the report may show, as in :func:`rectifact.write_report`.

    Returns
    -------
    rectifact.report.Chart
        A notebook shows it; ``save("chart.svg")`` writes it to a file.
    """
    return import_module("rectifact.report.plots").chart_of(model, chart, **data)


class ConvergencePlot:
    """What every estimator with a history can show."""

    def plot_convergence(self) -> Any:
        """Chart of the loss by iteration, as in the report.

        .. versionadded:: 0.2
        """
        return plot(self, "convergence")
