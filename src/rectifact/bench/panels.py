"""Panels of judges and crowds with many answers: grades, plans, and how often intervals hold the truth."""

from collections.abc import Callable

from rectifact.bench import Extent, Rows, Tables
from rectifact.bench.crowd_budget import run_budget
from rectifact.bench.crowd_grades import run_grades
from rectifact.bench.measure import one_thread
from rectifact.bench.panels_agreement import run_agreement
from rectifact.bench.panels_rates import run_coverage, run_power

TABLES: dict[str, Callable[[Extent], Rows]] = {
    "grades": run_grades,
    "rates": run_coverage,
    "differences": run_power,
    "agreement": run_agreement,
    "budget": run_budget,
}
"""What is measured, by name."""


@one_thread()
def run(extent: Extent, only: str | None = None) -> Tables:
    """Measure on the sets that are at hand; planted ones always are. A quick run draws and replays less often.

    Parameters
    ----------
    extent : Extent
    only : str, default None
        Name of the one table that is wanted.

    Returns
    -------
    dict : ``"grades"``, mean absolute errors of ordered grades; ``"rates"``, how often intervals of rates hold the
        truth; ``"differences"``, how often a planted difference is found; ``"agreement"``, how often intervals of
        agreement hold the truth; ``"budget"``, errors in percent of labels from 40 % of the answers
    """
    return {name: measure(extent) for name, measure in TABLES.items() if only in (None, name)}
