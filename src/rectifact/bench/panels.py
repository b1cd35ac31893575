"""Panels of judges and crowds with many answers: ordered grades, and labels from a part of the answers."""

from rectifact.bench import Extent, Tables
from rectifact.bench.crowd_budget import run_budget
from rectifact.bench.crowd_grades import run_grades
from rectifact.bench.measure import one_thread


@one_thread()
def run(extent: Extent) -> Tables:
    """Measure on the sets that are at hand; planted crowds always are. A quick run draws and replays less often.

    Returns
    -------
    dict : ``"grades"``, mean absolute errors of ordered grades; ``"budget"``, errors in percent of labels from 40 % of
        the answers
    """
    return {"grades": run_grades(extent), "budget": run_budget(extent)}
