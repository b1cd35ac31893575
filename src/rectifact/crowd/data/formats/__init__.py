"""Exports of annotation and evaluation tools: which tool a record is from, and the answers in it.

Each module has two functions for one shape of record: ``recognise``, and ``reader``, which gets the first record and
the names of fields that the user gave, and returns a pure function from a record to its answers.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from rectifact.core.errors import InputError
from rectifact.crowd.data.formats import argilla, inspect_logs, label_studio, lists, plain, prodigy
from rectifact.crowd.data.formats.said import Names, Said


class Format(NamedTuple):
    """A shape of records.

    Attributes
    ----------
    title : str
        What a file of them is called.
    takes : tuple of str
        Which of task, worker and label can be named.
    recognise : callable
        Whether a record has this shape, given the names of fields that the user gave.
    reader : callable
        From the first record and the given names to a function that turns a record into answers.
    holds : str
        Which questions are answered by a class, and can be read.
    """

    title: str
    takes: tuple[str, ...]
    recognise: Callable[[Mapping[str, Any], Names], bool]
    reader: Callable[[Mapping[str, Any], Names], Callable[[Mapping[str, Any]], Iterator[Said]]]
    holds: str = "labels"


ALL = ("task", "worker", "label")

FORMATS = {
    "label-studio": Format(
        "a Label Studio export",
        ("task",),
        label_studio.recognise,
        label_studio.reader,
        "choices, ratings, numbers and pairwise comparisons",
    ),
    "prodigy": Format("Prodigy's answers", ALL, prodigy.recognise, prodigy.reader),
    "argilla": Format("an Argilla export", ("task",), argilla.recognise, argilla.reader),
    "inspect": Format("an Inspect log", (), inspect_logs.recognise, inspect_logs.reader, "scores"),
    "datasets": Format("rows with lists of answers", ALL, lists.recognise, lists.reader),
    "records": Format("records with one answer each", ALL, plain.recognise, plain.reader),
}
"""Shapes of records by the name that forces them; the first that recognises a record reads the file."""

TABLES = ("csv", "tsv", "parquet")
"""Formats of tables, which can be forced too."""


def check_format(name: str | None, *, files: bool = True) -> None:
    """Refuse the name of a format that there is not, or that only ``files`` have."""
    there = (*TABLES, *FORMATS) if files else tuple(FORMATS)
    if name is not None and name not in there:
        raise InputError(f"format={name!r} is unknown here.", f"Choose one of {', '.join(there)}.", option="format=")


def recognise(record: Mapping[str, Any], names: Names | None = None) -> str:
    """The name of the first format that recognises the record; plain records are the last.

    Examples
    --------
    >>> recognise({"_input_hash": 5, "answer": "accept"}), recognise({"task": 1, "worker": "ann", "label": "yes"})
    ('prodigy', 'records')
    """
    return next(name for name, form in FORMATS.items() if form.recognise(record, names or {}))
