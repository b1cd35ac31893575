"""Results of benchmarks in files: as JSON to compare with, as markdown to read.

A result is ``{"environment": {...}, "tables": {family: {table: rows}}}``, for one family or all of them.
"""

import json
import math
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from rectifact.bench import Rows
from rectifact.core.errors import InputError
from rectifact.io.files import atomic_path, check_writable, reading


def bundled(name: str, family: str) -> dict[str, Any]:
    """What a data file of this package says on a family: ``printed``, figures by set and method; ``scaling``, cases.

    Examples
    --------
    >>> bundled("printed", "crowd")["bluebird"]["MV-EM"]
    12.03
    """
    return json.loads((files("rectifact.bench") / f"{name}.json").read_text(encoding="utf-8"))[family]


def plain(value: Any) -> Any:
    """The same value in types that JSON has; figures that are not finite become None.

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
    """Refuse, before anything is measured, a file that cannot be written or whose name does not tell the format."""
    check_writable(path)
    if path.suffix.lower() not in {".json", ".md"}:
        raise InputError(f"{str(path)!r} should end in .json or .md.", "Rename it.")


def save_result(result: dict[str, Any], path: Path) -> None:
    """Write JSON or markdown, by the suffix; a failed write leaves nothing behind."""
    markdown = path.suffix.lower() == ".md"
    text = as_markdown(result) if markdown else json.dumps(result, indent=1, allow_nan=False) + "\n"
    with atomic_path(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def read_result(path: Path) -> dict[str, Any]:
    """A stored JSON result."""
    with reading(path, "a result of rectifact bench"):
        result = json.loads(path.read_text(encoding="utf-8"))
    if not (isinstance(result, dict) and isinstance(result.get("environment"), dict) and _is_tables(result)):
        raise InputError(
            f"{str(path)!r} has no environment and tables with figures and text by family.",
            "Measure again: rectifact bench all -o results.json.",
        )
    return result


def _is_tables(result: dict[str, Any]) -> bool:
    """Whether there are rows by family and table, and every cell is text, a gap, or a number that a float can hold."""
    try:
        families = result["tables"].values()
        cells = [cell for tables in families for rows in tables.values() for row in rows for cell in row.values()]
    except (AttributeError, KeyError, TypeError):
        return False
    return all(abs(c) < 2**63 if isinstance(c, int) else c is None or isinstance(c, float | str) for c in cells)


def columns_of(rows: Rows) -> list[str]:
    """Names of all columns that any row has, in order of appearance.

    Examples
    --------
    >>> columns_of([{"method": "a", "error": 1}, {"method": "b", "seconds": 2}])
    ['method', 'error', 'seconds']
    """
    return list(dict.fromkeys(column for row in rows for column in row))


def short(value: Any) -> str:
    """Text of a cell: four digits of a figure, nothing for a gap.

    Examples
    --------
    >>> short(0.123456), short(None), short(float("nan")), short(12)
    ('0.1235', '', '', '12')
    """
    if value is None or value != value:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def as_markdown(result: dict[str, Any]) -> str:
    r"""The environment as a list, then each table that has rows under a heading.

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
