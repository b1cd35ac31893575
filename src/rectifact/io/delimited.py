"""Tables in text files: what separates their columns, and how their characters are written."""

import bz2
import gzip
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

__all__ = ["find_separator", "text_suffix"]

LONGEST_HEADER = 1 << 24  # bytes looked at
OPENERS: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open}
QUOTED = re.compile(rb'"[^"]*("|$)')


def text_suffix(path: Path) -> str:
    """End of the name that tells the format, whether the file is compressed or not.

    Examples
    --------
    >>> text_suffix(Path("answers.CSV.gz"))
    '.csv'
    """
    return (Path(path.stem) if path.suffix in OPENERS else path).suffix.lower()


def find_separator(path: Path) -> str:
    r"""Whichever of comma, semicolon and tab is commonest in the first line; a tie goes by the name of the file.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "excel.csv"
    ...     _ = path.write_text('task;worker;"yes, no, maybe"\n')
    ...     find_separator(path)
    ';'
    """
    with OPENERS.get(path.suffix, open)(path, "rb") as file:
        header = QUOTED.sub(b"", file.readline(LONGEST_HEADER))
    counts = {separator: header.count(separator.encode()) for separator in ",;\t"}
    commonest = [separator for separator, count in counts.items() if count == max(counts.values())]
    if len(commonest) == 1:
        return commonest[0]
    return "\t" if text_suffix(path) == ".tsv" else ","
