"""What a run of the benchmarks leaves: one result, as JSON to compare with, and as markdown to read.

A result is ``{"environment": {...}, "tables": {family: {table: rows}}}``, for one family as for all of them.
"""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np

from rectifact.core.errors import InputError
from rectifact.io.files import atomic_path, check_writable, reading

__all__ = ["as_markdown", "check_result_name", "columns_of", "plain", "read_result", "save_result", "short"]

Rows = list[dict[str, Any]]
Tables = dict[str, dict[str, Rows]]
SUFFIXES = (".json", ".md")


def plain(value: Any) -> Any:
    """The same in types that JSON has; a figure that is not finite becomes None.

    Examples
    --------
    >>> import numpy as np
    >>> plain({"rank": np.int64(4), "seconds": [0.5, np.inf]})
    {'rank': 4, 'seconds': [0.5, None]}
    """
    if isinstance(value, dict):
        return {str(name): plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value


def check_result_name(path: Path) -> None:
    """Refuse, before anything is measured, a name that does not tell the format, or a place that is none."""
    check_writable(path)
    if path.suffix.lower() not in SUFFIXES:
        raise InputError(
            f"{str(path)!r} should end in {' or '.join(SUFFIXES)}, so that its format is known. Rename it."
        )


def save_result(result: dict[str, Any], path: Path) -> None:
    """Write JSON or markdown, by the suffix, whole or not at all."""
    markdown = path.suffix.lower() == ".md"
    text = as_markdown(result) if markdown else json.dumps(result, indent=1, allow_nan=False) + "\n"
    with atomic_path(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def read_result(path: Path) -> dict[str, Any]:
    """A stored JSON result."""
    with reading(path, "a result of rectifact bench"):
        result = json.loads(path.read_text(encoding="utf-8"))
    if not (
        isinstance(result, dict) and isinstance(result.get("environment"), dict) and _are_tables(result.get("tables"))
    ):
        raise InputError(
            f"{str(path)!r} has no environment and tables of figures and text by family. Make it anew: rectifact bench "
            "all -o results.json."
        )
    return result


def _are_tables(tables: Any) -> bool:
    return isinstance(tables, dict) and all(
        isinstance(family, dict) and all(isinstance(rows, list) and all(map(_is_row, rows)) for rows in family.values())
        for family in tables.values()
    )


def _is_row(row: Any) -> bool:
    """Whether every cell is text, a gap, or a number that a float can hold."""
    return isinstance(row, dict) and all(
        abs(cell) < 2**63 if isinstance(cell, int) else cell is None or isinstance(cell, float | str)
        for cell in row.values()
    )


def columns_of(rows: Rows) -> list[str]:
    """Every name that some row has, in the order they come.

    Examples
    --------
    >>> columns_of([{"method": "a", "error": 1}, {"method": "b", "seconds": 2}])
    ['method', 'error', 'seconds']
    """
    return list(dict.fromkeys(column for row in rows for column in row))


def short(value: Any) -> str:
    """A cell for people: four digits of a figure, nothing for a gap.

    Examples
    --------
    >>> short(0.123456), short(None), short(float("nan")), short(12)
    ('0.1235', '', '', '12')
    """
    if value is None or value != value:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def as_markdown(result: dict[str, Any]) -> str:
    r"""The environment as a list, then a table under a heading for each that has rows.

    Examples
    --------
    >>> rows = [{"method": "a|b", "error": 0.123456}, {"method": "c", "seconds": 2}]
    >>> print(as_markdown({"environment": {"cpus": 2}, "tables": {"crowd": {"methods": rows}}}))
    # Benchmarks
    <BLANKLINE>
    - cpus: 2
    <BLANKLINE>
    ## crowd: methods
    <BLANKLINE>
    | method | error | seconds |
    |---|---|---|
    | a\|b | 0.1235 |  |
    | c |  | 2 |
    <BLANKLINE>
    """
    lines = ["# Benchmarks", "", *(f"- {name}: {_in_words(value)}" for name, value in result["environment"].items())]
    for family, tables in result["tables"].items():
        for title, rows in tables.items():
            lines += ["", f"## {family}: {title}", "", *_markdown_table(rows)] if rows else []
    return "\n".join(lines) + "\n"


def _in_words(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {item}" for name, item in value.items())
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _markdown_table(rows: Rows) -> list[str]:
    columns = columns_of(rows)
    lines = [columns, *([short(row.get(column)) for column in columns] for row in rows)]
    head, *body = ("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)
    return [head, "|" + "---|" * len(columns), *body]
