"""Reads the records of JSON files one after the other, so that only the one being decoded is in memory.

A file holds one object after another (JSON Lines), a list of objects, or an object with such a list in it. Records of
Parquet files, whose columns may hold lists, are read in the same way.
"""

import json
import re
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any, NoReturn

from pyarrow import parquet

from rectifact.core.errors import InputError
from rectifact.io.files import reading
from rectifact.io.text import open_bytes, open_text, text_suffix

SUFFIXES = (".json", ".jsonl", ".ndjson")
CHUNK = 1 << 20  # characters
ROWS = 4096
LONGEST_WORD = len("-Infinity")
WHITE = re.compile(r"[ \t\r\n]*")
DECODER = json.JSONDecoder()


class BadRecord(Exception):
    """What is wrong with a record, as the end of a sentence, and what to do; who reads the file says which it is."""

    def __init__(self, what: str, remedy: str = "Correct it, or leave it out.", command: str | None = None) -> None:
        super().__init__(what, remedy)
        self.what, self.remedy, self.command = what, remedy, command

    def located(self, path: Path | None, number: int, line: int | None) -> InputError:
        """The whole message."""
        place = f"Record {number}" + ("" if path is None else f" of {str(path)!r}")
        where = "" if line is None else f" (line {line})"
        return InputError(f"{place}{where} {self.what}.", self.remedy, command=self.command)


def is_json(path: Path) -> bool:
    """Whether a file holds JSON: by its ending, or by its first character where the ending says nothing.

    Examples
    --------
    >>> is_json(Path("answers.JSONL.gz")), is_json(Path("answers.csv"))
    (True, False)
    """
    suffix = text_suffix(path)
    if suffix in (".csv", ".tsv", ".parquet") or not (suffix in SUFFIXES or path.is_file()):
        return False
    if suffix in SUFFIXES:
        return True
    with reading(path, "a table"), open_bytes(path) as file:
        return file.read(CHUNK).removeprefix(b"\xef\xbb\xbf").lstrip()[:1] in (b"{", b"[")


def json_records(path: Path) -> Iterator[tuple[int, Any]]:
    r"""The records of a JSON file, each with the line where it begins.

    A list that an object has as ``records``, or as ``samples`` after ``eval`` as in logs of Inspect, holds the records.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "answers.jsonl"
    ...     _ = path.write_text('{"task": 1}\n\n{"task": 2}\n')
    ...     list(json_records(path))
    [(1, {'task': 1}), (3, {'task': 2})]
    """
    with reading(path, "JSON"), open_text(path) as file:
        yield from _Window(file, path).records()


def parquet_records(path: Path) -> Iterator[tuple[None, Any]]:
    """The rows of a Parquet file as records; they have no lines."""
    with reading(path, "Parquet"):
        for batch in parquet.ParquetFile(path).iter_batches(ROWS):
            yield from ((None, row) for row in batch.to_pylist())


class _Window:
    """The part of a text file that is being decoded, and where it is."""

    def __init__(self, file: Any, path: Path) -> None:
        self.file, self.path = file, path
        self.text, self.at = "", 0
        self.line, self.counted = 1, 0  # the line of the place up to which lines were counted
        self.number, self.began = 0, 1  # the current record, and its line

    def records(self) -> Iterator[tuple[int, Any]]:
        if self.peek() == "[":
            yield from self.elements()
        elif self.peek() == "{":
            alone = yield from self.first_object()
            while alone and self.peek():
                yield self.record()
        if self.peek():
            self.refuse("an object, or a list of objects, is expected here", self.at)

    def first_object(self) -> Generator[tuple[int, Any], None, bool]:
        """An object that may have the list of records as a member; if not, it is a record itself: returns True."""
        line, members, alone = self.here(), {}, True
        self.began = line
        self.take("{")
        while self.peek() != "}":
            name = self.value()
            self.take(":")
            if self.peek() == "[" and (name == "records" or (name == "samples" and "eval" in members)):
                alone = False
                yield from self.elements()
            else:
                members[name] = self.value()
            if self.peek() != "}":
                self.take(",")
        self.take("}")
        if alone:
            self.number += 1
            yield line, members
        return alone

    def elements(self) -> Iterator[tuple[int, Any]]:
        self.take("[")
        while self.peek() != "]":
            yield self.record()
            if self.peek() != "]":
                self.take(",")
        self.take("]")

    def record(self) -> tuple[int, Any]:
        self.number += 1
        self.began = line = self.here()
        return line, self.value()

    def here(self) -> int:
        """The line of the next character that is not white space."""
        self.peek()
        self.count_lines()
        return self.line

    def count_lines(self) -> None:
        self.line += self.text.count("\n", self.counted, self.at)
        self.counted = self.at

    def peek(self) -> str:
        """The next character that is not white space; empty at the end of the file."""
        while True:
            self.at = WHITE.match(self.text, self.at).end()  # type: ignore[union-attr]
            if self.at < len(self.text) or not self.more():
                return self.text[self.at : self.at + 1]

    def take(self, character: str) -> None:
        if self.peek() != character:
            self.refuse(f"{character!r} is expected" if self.peek() else "the file ends too early", self.at)
        self.at += 1

    def value(self) -> Any:
        """The next value; what is cut off at the end of the window is decoded again when more has been read."""
        self.peek()
        while True:
            try:
                value, end = DECODER.raw_decode(self.text, self.at)
            except json.JSONDecodeError as error:
                cut = error.msg.startswith("Unterminated") or error.pos + LONGEST_WORD >= len(self.text)
                if not (cut and self.more()):
                    reason = error.msg[:1].lower() + error.msg[1:].removesuffix(" at").removesuffix(" starting")
                    self.refuse(reason, min(error.pos, len(self.text)))
            except ValueError as error:  # a number of thousands of digits
                self.refuse(str(error), self.at)
            except RecursionError:
                self.refuse("it is nested too deeply", self.at)
            else:
                if end < len(self.text) or isinstance(value, dict | list | str) or not self.more():
                    self.at = end
                    return value

    def more(self) -> bool:
        """Read at least as much as waits to be decoded, so that long records are not decoded many times."""
        self.count_lines()
        chunk = self.file.read(max(CHUNK, len(self.text) - self.at))
        self.text, self.at, self.counted = self.text[self.at :] + chunk, 0, 0
        return bool(chunk)

    def refuse(self, reason: str, position: int) -> NoReturn:
        line = self.line + self.text.count("\n", self.counted, position)
        lines = f"line {line}" if line == self.began else f"lines {self.began} to {line}"
        raise InputError(
            f"{str(self.path)!r} is not valid JSON in record {max(self.number, 1)} ({lines}): {reason}.",
            "Correct it, or export the file again.",
        )
