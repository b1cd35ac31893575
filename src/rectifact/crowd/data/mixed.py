"""Panels of judges and people who stand in one file."""

from collections.abc import Sequence
from typing import Any

from rectifact.crowd.agreement import Level
from rectifact.crowd.data.people import Panel, mentioned, panel_of, read_panel
from rectifact.crowd.data.verdicts import read_verdicts


def read_mixed_panel(
    data: Any,
    humans: Any = None,
    *,
    people: Any = None,
    level: Level = "nominal",
    classes: Sequence[Any] | None = None,
    **reading: Any,
) -> Panel:
    """A panel like that of :func:`read_panel`, where ``people`` may name those of the workers in ``data`` who are.

    ``reading`` is as in :func:`read_verdicts`: columns, wide, missing, form and question.
    """
    if people is None:
        return read_panel(data, humans, level=level, classes=classes, **reading)
    found = read_verdicts(data, humans, people=people, **reading)
    parts = [part for part in (found.judges, found.people) if part is not None]
    return mentioned(panel_of(parts, level, classes), meant=classes)
