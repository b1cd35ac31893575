"""Text files as they come: UTF-8, with a byte order mark, or Windows-1252; compressed or not, with comments first."""

import bz2
import codecs
import csv
import gzip
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import pyarrow as pa

from rectifact.core.errors import FitWarning, count

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

WINDOWS = "cp1252"
"""How text that is not UTF-8 is read: what Excel and other programs write on Windows; Latin-1 is a part of it."""

NOT_IN_TEXT = bytes({*range(32)} - {*b"\a\b\t\n\v\f\r\x1a\x1b"})
"""Bytes that no text has, by the rule of the command ``file``, but for the mark that DOS puts at the end."""

NO_TEXT = {"n/a", "#n/a", "na", "n.a.", "none", "null", "nan", "nil", "-", "--", "–", "—", "?", ".", "..", "..."}
"""What cells and lines hold in place of a text."""

SEPARATORS = ",;\t|"
COMMENT = ("#", "%")
PLAIN_NUMBER = re.compile(r"[+-]?(\d+([.,]\d*)?|[.,]\d+)([eE][+-]?\d+)?|[+-]?(nan|inf)|", re.IGNORECASE)
QUOTED = re.compile(r'"[^"]*("|$)')


def says_something(text: Any) -> bool:
    """Whether a cell or a line holds a text, rather than nothing, or something in its place.

    Examples
    --------
    >>> [says_something(text) for text in ("slow delivery", " ", "N/A", ".")]
    [True, False, False, False]
    """
    stripped = text.strip() if isinstance(text, str) else text
    return bool(stripped) and stripped.casefold() not in NO_TEXT if isinstance(stripped, str) else True


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


def encoding_of(content: bytes) -> str:
    r"""The encoding that a byte order mark shows, UTF-8, or else Windows-1252; raises UnicodeError if it is not text.

    Text with more letters in UTF-8 than bytes that are not is damaged UTF-8, and no other encoding.

    Examples
    --------
    >>> encoding_of("task".encode("utf-16")), encoding_of(b"task"), encoding_of(b"caf\xe9")
    ('utf-16', 'utf-8', 'cp1252')
    """
    found = _marked(content)
    if not found.startswith("utf-8"):
        return found
    try:
        content.decode(found)
    except UnicodeDecodeError:
        text = content.decode("utf-8", "replace")
        wrong = text.count("\N{REPLACEMENT CHARACTER}")
        foreign = len(text) - len(text.encode("ascii", "ignore"))
        if found != "utf-8" or foreign - wrong >= wrong or content.translate(None, NOT_IN_TEXT) != content:
            raise
        return WINDOWS
    if b"\0" in content:  # UTF-16 without a byte order mark
        raise UnicodeError
    return found


def _marked(start: bytes) -> str:
    return next((name for mark, name in MARKS.items() if start.startswith(mark)), "utf-8")


def file_encoding(path: Path) -> str:
    """The same of a file, which is held in memory only if it is not UTF-8."""
    state = path.stat()
    return _file_encoding(path, state.st_size, state.st_mtime_ns)


@lru_cache(maxsize=64)  # a table is opened several times
def _file_encoding(path: Path, size: int, changed: int) -> str:
    with open_bytes(path) as file:
        chunk = file.read(HEAD)
        found = _marked(chunk)
        if found.startswith("utf-8") and b"\0" in chunk:  # UTF-16 without a byte order mark
            raise UnicodeError
        decoder = codecs.getincrementaldecoder("utf-8")()
        try:
            while chunk and found.startswith("utf-8"):
                decoder.decode(chunk)
                chunk = file.read(HEAD)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            file.seek(0)
            return encoding_of(file.read())
    return found


def errors_of(encoding: str) -> str:
    """What to do with bytes that do not fit: Windows-1252 leaves five of them undefined."""
    return "replace" if encoding == WINDOWS else "strict"


def decoded(content: bytes, encoding: str) -> str:
    """Text, with lines that end in a newline alone, whichever system wrote it."""
    return content.decode(encoding, errors_of(encoding)).replace("\r\n", "\n").replace("\r", "\n")


def warn_of_windows(first: Path, n: int = 1) -> None:
    """Say that a file, or the first of several, is read as Windows-1252."""
    which = f"{str(first)!r} is" if n == 1 else f"{count(n, 'file')}, the first {str(first)!r}, are"
    what = f"{which} not UTF-8; read as Windows-1252 (cp1252)."
    remedy = f"If letters look wrong, save {'it' if n == 1 else 'them'} as UTF-8."
    warnings.warn(FitWarning(what, remedy), stacklevel=3)


def _checked_encoding(path: Path) -> str:
    encoding = file_encoding(path)
    if encoding == WINDOWS:
        warn_of_windows(path)
    return encoding


def read_text(path: Path) -> str:
    """All text of a file, with lines that end in a newline alone, whichever system wrote it."""
    encoding = _checked_encoding(path)
    with open_bytes(path) as file:
        return decoded(file.read(), encoding)


def open_text(path: Path) -> Any:
    """The file for reading text, whatever its encoding."""
    encoding = _checked_encoding(path)
    return OPENERS.get(path.suffix, open)(path, "rt", encoding=encoding, errors=errors_of(encoding))


def text_head(path: Path) -> list[str]:
    """The first complete lines of a text file, at least one."""
    encoding = file_encoding(path)
    with open_bytes(path) as file:
        start = file.read(HEAD)
        while len(start.splitlines()) < 2 and (more := file.read(HEAD)):
            start += more
        ended = not file.read(1)
    text = codecs.getincrementaldecoder(encoding)(errors_of(encoding)).decode(start, final=ended)
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return (lines if ended or len(lines) == 1 else lines[:-1])[:LINES]


def utf8_source(path: Path) -> Path | pa.BufferReader:
    """What pyarrow reads: the file itself, or its text in UTF-8 where it has another encoding."""
    if file_encoding(path).startswith("utf-8"):
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
