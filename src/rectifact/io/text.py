"""Text files as they come: in UTF-8 or with a byte order mark, compressed or not, with comments before a table."""

import bz2
import codecs
import csv
import gzip
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

OPENERS: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open}
HEAD = 1 << 16  # bytes that show what a text file is
LINES = 200  # lines that do
MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
"""Byte order marks and encodings; that of UTF-32 begins like that of UTF-16 and comes first."""

SEPARATORS = ",;\t|"
COMMENT = ("#", "%")
PLAIN_NUMBER = re.compile(r"[+-]?(\d+([.,]\d*)?|[.,]\d+)([eE][+-]?\d+)?|[+-]?(nan|inf)|", re.IGNORECASE)
QUOTED = re.compile(r'"[^"]*("|$)')


def text_suffix(path: Path) -> str:
    """The ending that shows the format, whether the file is compressed or not.

    Examples
    --------
    >>> text_suffix(Path("answers.CSV.gz"))
    '.csv'
    """
    return (Path(path.stem) if path.suffix in OPENERS else path).suffix.lower()


def open_bytes(path: Path) -> Any:
    """The file, unpacked if it is compressed."""
    return OPENERS.get(path.suffix, open)(path, "rb")


def encoding_of(start: bytes) -> str:
    """The encoding that a byte order mark shows, or UTF-8; raises UnicodeError where text cannot be in UTF-8.

    Examples
    --------
    >>> encoding_of("task".encode("utf-16")), encoding_of(b"task")
    ('utf-16', 'utf-8')
    """
    found = next((name for mark, name in MARKS.items() if start.startswith(mark)), "utf-8")
    if found.startswith("utf-8") and b"\0" in start:  # UTF-16 without a byte order mark
        raise UnicodeError
    return found


def read_text(path: Path) -> str:
    """All text of a file, with lines that end in a newline alone, whichever system wrote it."""
    with open_bytes(path) as file:
        content = file.read()
    return content.decode(encoding_of(content)).replace("\r\n", "\n").replace("\r", "\n")


def text_head(path: Path) -> list[str]:
    """The first complete lines of a text file, at least one."""
    with open_bytes(path) as file:
        start = file.read(HEAD)
        encoding = encoding_of(start)
        while len(start.splitlines()) < 2 and (more := file.read(HEAD)):
            start += more
        ended = not file.read(1)
    text = codecs.getincrementaldecoder(encoding)().decode(start, final=ended)
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return (lines if ended or len(lines) == 1 else lines[:-1])[:LINES]


def utf8_source(path: Path) -> Path | pa.BufferReader:
    """What pyarrow reads: the file itself, or its text in UTF-8 where it has another encoding."""
    with open_bytes(path) as file:
        encoding = encoding_of(file.read(HEAD))
    if encoding.startswith("utf-8"):
        return path
    return pa.BufferReader(read_text(path).removeprefix("\N{ZERO WIDTH NO-BREAK SPACE}").encode())


@dataclass(frozen=True)
class Layout:
    """How the columns of a text file are separated.

    Attributes
    ----------
    separator : str
        A blank stands for any white space.
    skip : int
        Lines of comments before the table.
    names : tuple of str, or None
        Names of the columns, where the last of those lines has them.
    """

    separator: str
    skip: int = 0
    names: tuple[str, ...] | None = None


def find_layout(path: Path) -> Layout:
    r"""Comments and separator of a table in a text file.

    Whichever of comma, semicolon, tab and bar is most frequent in the first line separates; the ending of the name
    breaks ties. Numbers with decimal commas do not count as separated by commas, and lines of numbers without any of
    the four are separated by white space.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "excel.csv"
    ...     _ = path.write_text('# from Excel\ntask;worker;"yes, no, maybe"\n')
    ...     find_layout(path)
    Layout(separator=';', skip=1, names=None)
    """
    lines = text_head(path)
    skip = next((i for i, line in enumerate(lines) if not line.startswith(COMMENT) or line.startswith("%%M")), 0)
    table = [line for line in lines[skip:] if line.strip()]
    if not table:
        return Layout(_by_suffix(path), skip)
    separator = _separator(table[0], path)
    if separator is None:
        separator = " " if is_spaced(table) else _by_suffix(path)
    comment = lines[skip - 1].lstrip("#% ") if skip else ""
    names = _fields(comment, separator)
    if len(names) < 2 or len(names) != len(_fields(table[0], separator)):
        return Layout(separator, skip)
    return Layout(separator, skip, tuple(names))


def _by_suffix(path: Path) -> str:
    return "\t" if text_suffix(path) in {".tsv", ".tab"} else ","


def _separator(line: str, path: Path) -> str | None:
    """What separates the fields of a line, or None."""
    bare = QUOTED.sub("", line)
    for separator in ";\t|":
        fields = line.split(separator)
        if len(fields) > 1 and all(PLAIN_NUMBER.fullmatch(field.strip()) for field in fields):
            return separator
    counts = {separator: bare.count(separator) for separator in SEPARATORS}
    commonest = [separator for separator, n in counts.items() if n and n == max(counts.values())]
    if not commonest:
        return None
    return commonest[0] if len(commonest) == 1 else _by_suffix(path)


def _fields(line: str, separator: str) -> list[str]:
    if separator == " ":
        return line.split()
    return [field.strip() for field in next(csv.reader([line], delimiter=separator), [])]


def is_spaced(lines: list[str]) -> bool:
    """Whether lines hold as many words each, at least two, and numbers but for the first line."""
    rows = [line.split() for line in lines]
    numbers = all(PLAIN_NUMBER.fullmatch(word) for row in rows[1:] or rows for word in row)
    return numbers and len({len(row) for row in rows}) == 1 and len(rows[0]) > 1


def are_records(lines: list[str]) -> str | None:
    """What separates lines into as many fields each, at least two; None where lines are running text.

    Examples
    --------
    >>> are_records(["id,text", "1,Rain"]), are_records(["Rain, then snow", "Sun"])
    (',', None)
    """
    table = [line for line in lines if line.strip() and not line.startswith("#")]
    for separator in "\t;|,":
        sizes = {len(row) for row in csv.reader(table, delimiter=separator)}
        if len(sizes) == 1 and sizes.pop() > 1 and len(table) > 1:
            return separator
    return None


def are_numbers(lines: list[str]) -> bool:
    """Whether lines hold nothing but numbers, whatever separates them, but for the first line."""
    table = [line for line in lines if line.strip() and not line.startswith(COMMENT)]
    words = [word for line in table[1:] or table for word in re.split(r"[\s,;|]+", line) if word]
    return bool(words) and all(PLAIN_NUMBER.fullmatch(word) for word in words)
