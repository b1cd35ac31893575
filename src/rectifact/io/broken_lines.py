"""What is wrong with lines of a CSV file: another number of columns, or a quotation mark that is not closed."""

import csv
import re
from pathlib import Path

import pyarrow as pa

from rectifact.core.errors import InputError, count
from rectifact.io.text import SEPARATORS, open_text

COLUMNS = re.compile(r"Expected (\d+) columns, got (\d+)")
"""How pyarrow says that a line has another number of columns."""

SHOWN = 60
"""Letters of the line that are quoted."""


def broken_line(path: Path, reason: str, expected: str) -> InputError | None:
    r"""The error about the line that a reader complains of; None where it complains of something else.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "t.csv"
    ...     _ = path.write_text("id,text\n1,late\n2,late, and broken\n")
    ...     error = broken_line(path, "Expected 2 columns, got 3", "CSV")
    >>> error.what.partition("has ")[2]
    "3 columns, where the first line has 2: '2,late, and broken'."
    """
    found = COLUMNS.search(reason)
    if found is None:
        return None
    wanted, got = int(found[1]), int(found[2])
    place = _first(path, wanted, got)
    if place is None:
        return None
    line, text, separator = place
    shown = text if len(text) <= SHOWN else f"{text[:SHOWN]}..."
    what = f"Line {line} of {str(path)!r} has {count(got, 'column')}, where the first line has {wanted}: {shown!r}."
    export = f"or export the table as {expected} again."
    if got < wanted:
        return InputError(what, f"Complete it, {export}")
    mark = {",": "a comma", ";": "a semicolon", "\t": "a tab", "|": "a vertical bar"}[separator]
    quotes = (
        f"Put a text that holds {mark} or a quotation mark in quotes, with each quotation mark in it doubled, {export}"
    )
    return InputError(what, quotes)


def _first(path: Path, wanted: int, got: int) -> tuple[int, str, str] | None:
    """Number, text and separator of the first line with so many columns."""
    with open_text(path) as file:
        lines = file.read().splitlines(keepends=True)
    for separator in SEPARATORS:
        reader, begun = csv.reader(lines, delimiter=separator), 0
        usual = False
        try:
            for row in reader:
                if usual and len(row) == got:
                    return begun + 1, lines[begun].strip(), separator
                usual = usual or len(row) == wanted
                begun = reader.line_num
        except csv.Error:
            continue
    return None


def check_closed(path: Path, table: pa.Table) -> None:
    r"""Refuse a table whose last cell took in the rest of the file, as its quotation mark is not closed.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "t.csv"
    ...     _ = path.write_text('id,text\n1,"late\n2,broken\n')
    ...     check_closed(path, pa.table({"id": [1], "text": ["late\n2,broken\n"]}))
    Traceback (most recent call last):
    rectifact.core.errors.InputError: A quotation mark in line 2 of ... is not closed: all that follows ...
    """
    cell = str(table.column(table.num_columns - 1)[-1].as_py()) if table.num_rows and table.num_columns else ""
    if "\n" not in cell.rstrip():
        return
    with open_text(path) as file:
        text = file.read()
    taken, rest = (part.replace("\r\n", "\n").replace('""', '"').rstrip("\n") for part in (cell, text))
    if rest.endswith(taken):  # a cell that is closed has its quotation mark behind it
        line = text.count("\n") + (not text.endswith("\n")) - taken.count("\n")
        raise InputError(
            f"A quotation mark in line {line} of {str(path)!r} is not closed: all that follows would be one cell.",
            "Close it, or leave it out.",
        )
