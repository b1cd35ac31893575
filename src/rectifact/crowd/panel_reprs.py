"""Rates, agreement and the test for replacing people in one line: the figures first."""

from typing import Any

import pandas as pd

from rectifact.core.errors import count
from rectifact.crowd.data.names import sentence

MOST_ROWS, MOST_LETTERS = 3, 480
"""Rows of each kind, and letters, that are shown."""

MAIN = ["observed agreement", "Krippendorff's alpha", "Cohen's kappa"]
"""Coefficients that are shown."""


def rates_repr(found: Any) -> str:
    """The rates and the differences of the first groups.

    Examples
    --------
    >>> from rectifact import rate
    >>> from rectifact.datasets import make_crowd
    >>> crowd = make_crowd(2000, 5, 2, labels_per_task=5, accuracy=(0.6, 0.8), random_state=0)
    >>> rate(crowd.answers, crowd.truth[:200], positive=1)
    Rates(share of 1, 95% intervals: all tasks 53.6% (48.1% to 59.1%); 200 labels)
    """
    quantity = found.quantity
    rows = found.rates.to_dict("records")
    said = [
        f"{row['group']} {quantity.value(row['rate'])} ({quantity.ends(row)})"
        for row in rows
        if not pd.isna(row["rate"])
    ]
    differences = [
        f"{row['second']} minus {row['first']} {quantity.change(row['difference'])}{quantity.unit} "
        f"({quantity.changes(row)})"
        for row in found.differences.dropna(subset="difference").to_dict("records")
    ]
    parts = [*_first(said), *_first(differences), count(int(rows[0]["labels"]), "label")]
    return _line("Rates", f"{quantity.what}, {found.confidence:.0%} intervals: {'; '.join(parts)}")


def agreement_repr(found: Any) -> str:
    """The main coefficients of each group of workers.

    Examples
    --------
    >>> from rectifact import agreement
    >>> from rectifact.datasets import make_crowd
    >>> agreement(make_crowd(300, 5, 2, labels_per_task=5, random_state=0).answers)
    Agreement(95% intervals: workers: observed agreement 0.59 (0.57 to 0.62), Krippendorff's alpha 0.19 (0.15 to 0.24))
    """
    rows = found.overall[found.overall["coefficient"].isin(MAIN)]
    parts = [
        f"{among}: {', '.join(_coefficient(row) for row in some.to_dict('records'))}"
        for among, some in rows.groupby("among", sort=False)
    ]
    return _line("Agreement", f"{found.confidence:.0%} intervals: {'; '.join(parts)}")


def replacement_repr(found: Any) -> str:
    """The judges by decision."""
    parts = [
        f"{decision}: {sentence(rows['judge'].tolist(), 2 * MOST_ROWS)}"
        for decision, rows in found.judges.groupby("decision", sort=False)
    ]
    return _line("Replacement", f"epsilon {found.epsilon:g}; {'; '.join(parts)}")


def _coefficient(row: Any) -> str:
    ends = "" if pd.isna(row["low"]) else f" ({row['low']:.2f} to {row['high']:.2f})"
    return f"{row['coefficient']} {'not defined' if pd.isna(row['value']) else format(row['value'], '.2f')}{ends}"


def _first(parts: list[str]) -> list[str]:
    more = len(parts) - MOST_ROWS - 1
    return [*parts[: MOST_ROWS + 1], *([f"{more} more"] if more > 0 else [])]


def _line(name: str, text: str) -> str:
    return f"{name}({text if len(text) <= MOST_LETTERS else f'{text[: MOST_LETTERS - 3]}...'})"
