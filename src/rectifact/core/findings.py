"""What is wrong or worth knowing about a fit. Families make findings; the command line and the report show them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import pandas as pd

from rectifact.core.errors import shortened

Severity = Literal["problem", "warning", "note"]
SEVERITIES: tuple[Severity, ...] = get_args(Severity)
"""All of them, the worst first."""


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong or worth knowing.

    Attributes
    ----------
    severity : {"problem", "warning", "note"}
    finding : str
        What it is, in a few words.
    detail : str
        What was found, as one sentence.
    remedy : str
        What to do, in the words of Python.
    command : str or None
        The remedy in the words of the command line, where they differ.
    """

    severity: Severity
    finding: str
    detail: str
    remedy: str
    command: str | None = None

    def __post_init__(self) -> None:
        """Names of workers and classes may be long."""
        for name in ("finding", "detail", "remedy", "command"):
            text = getattr(self, name)
            object.__setattr__(self, name, None if text is None else shortened(text))

    def on_command_line(self) -> str:
        """The finding as the command line shows it."""
        return f"{self.severity}: {self.finding}. {self.detail} {self.command or self.remedy}"


def findings_table(findings: Sequence[Finding]) -> pd.DataFrame:
    """Table of severity, finding, detail and remedy, the worst first."""
    worst_first = sorted(findings, key=lambda found: SEVERITIES.index(found.severity))
    rows = [(found.severity, found.finding, found.detail, found.remedy) for found in worst_first]
    return pd.DataFrame(rows, columns=["severity", "finding", "detail", "remedy"])
