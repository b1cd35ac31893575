"""What a record of an export says: answers, and how to take values out of a record."""

import reprlib
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from rectifact.io.records import BadRecord

Names = Mapping[str, str | None]
"""Fields that the user named, by role."""

ONE_LABEL = "Keep one label per worker and task; split a question with several into one question per label."


class Said(NamedTuple):
    """One answer.

    Attributes
    ----------
    task, worker : str or number
        The worker of a gold label is None.
    label : str, number or None
        None for an empty answer.
    question : str
        What was asked, where records answer several questions; empty if nothing is known about it.
    gold : bool
        Whether the label is certain.
    skipped : bool
        Whether the worker did not want to answer.
    """

    task: Any
    worker: Any
    label: Any
    question: str = ""
    gold: bool = False
    skipped: bool = False


def fields(record: Mapping[str, Any], asked: Iterable[Any] = ()) -> list[str]:
    """The names of the fields, and those of fields within fields that are ``asked`` for, such as ``output.verdict``.

    Examples
    --------
    >>> fields({"id": 1, "output": {"verdict": "pass"}}, ["output.verdict", "output.score", None])
    ['id', 'output', 'output.verdict']
    """
    within = [name for name in asked if isinstance(name, str) and name not in record and "." in name]
    return [*record, *(name for name in within if value_at(record, name) is not None)]


def value_at(record: Mapping[str, Any], name: str) -> Any:
    """A field, or one within a field, where dots stand between the names; None if it is missing."""
    if name in record:
        return record[name]
    start, _, rest = name.partition(".")
    inner = record.get(start)
    return value_at(inner, rest) if rest and isinstance(inner, dict) else None


def member(record: Mapping[str, Any], name: str, *kinds: type) -> Any:
    """A member of an object, which must be there and of one of these kinds."""
    value = value_at(record, name)
    if value is None and name not in record:
        raise BadRecord(f"has no {name!r}, only {_listed(record)}")
    if not isinstance(value, kinds):
        raise BadRecord(f"has {reprlib.repr(value)} as {name!r}, where {_kind_names(kinds)} is expected")
    return value


def optional(record: Mapping[str, Any], name: str, *kinds: type) -> Any:
    """A member that may be missing or null, both None."""
    return None if record.get(name) is None else member(record, name, *kinds)


def objects(record: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    """A member that is a list of objects; empty if it is missing or null."""
    found: list[dict[str, Any]] = optional(record, name, list) or []
    for value in found:
        if not isinstance(value, dict):
            raise BadRecord(f"has {reprlib.repr(value)} among its {name!r}, where an object is expected")
    return found


def named(value: Any, role: str) -> Any:
    """The name of a task or worker, which must be there and be text or a number."""
    if value is None or value == "" or value != value:
        raise BadRecord(f"has no {role}")
    return single(value, role)


def single(value: Any, role: str) -> Any:
    """Text, a number or null; objects and lists are refused."""
    if isinstance(value, dict | list):
        what = f"has {reprlib.repr(value)} as its {role}, where text or a number is expected"
        if isinstance(value, dict) and value:
            raise BadRecord(what, f"Put one of its fields ({', '.join(map(repr, list(value)[:6]))}) in its place.")
        raise BadRecord(what)
    return value


def only(values: Any) -> Any:
    """The label of a question that allows several: None if there is none, and an error if there are two or more."""
    if not isinstance(values, list):
        return single(values, "label")
    if len(values) > 1:
        raise BadRecord(f"has {len(values)} labels in one answer, {reprlib.repr(values)}", ONE_LABEL)
    return single(values[0], "label") if values else None


def _listed(record: Mapping[str, Any]) -> str:
    return reprlib.repr(list(record))


def _kind_names(kinds: tuple[type, ...]) -> str:
    words = {dict: "an object", list: "a list", str: "text", int: "a number"}
    return " or ".join(words[kind] for kind in kinds if kind in words)
