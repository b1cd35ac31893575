"""How serious a finding about data or a model is; the families judge, the command line and the report show."""

from typing import Literal, get_args

Severity = Literal["problem", "warning", "note"]
SEVERITIES: tuple[Severity, ...] = get_args(Severity)
"""All of them, the worst first."""
