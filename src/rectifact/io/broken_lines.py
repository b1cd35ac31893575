"""Which line of a CSV file has more or fewer columns than the others."""

import csv
import re
from pathlib import Path

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
