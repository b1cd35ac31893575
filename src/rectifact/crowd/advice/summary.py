"""Collects what the command line and the report show about a fitted aggregator: two tables and the findings."""

from dataclasses import dataclass
from typing import Any

import pandas as pd

from rectifact.core.findings import Finding


@dataclass(frozen=True)
class Summary:
    """Tables and findings for the command line and the report to show.

    Attributes
    ----------
    result : DataFrame
        By task; a Dask dataframe for partitioned answers.
    workers : DataFrame
        By worker.
    findings : list of Finding
        The worst first; for partitioned answers, those about workers alone.
    """

    result: Any
    workers: pd.DataFrame
    findings: list[Finding]


def summary_of(model: Any, *, probabilities: bool = False) -> Summary:
    """Summary of a fitted aggregator; with ``probabilities``, the table by task has one for each class."""
    return Summary(
        model.result(probabilities=True) if probabilities else model.result(), model.worker_report(), model._findings()
    )
