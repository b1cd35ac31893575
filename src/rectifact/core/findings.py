"""The severities of findings. Families make findings; the command line and the report only show them."""

from typing import Literal, get_args

Severity = Literal["problem", "warning", "note"]
SEVERITIES: tuple[Severity, ...] = get_args(Severity)
"""All of them, the worst first."""
