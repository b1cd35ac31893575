"""Records with one answer each: fields for task, worker and label, found by their names as the columns of a table."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from rectifact.crowd.data.formats.said import Names, Said, fields, member, named, only
from rectifact.crowd.data.tables import COLUMN_NAMES, find_columns


def recognise(record: Mapping[str, Any], names: Names) -> bool:
    """Any record may be one; whether it has the fields is seen when they are looked for."""
    return True


def columns(first: Mapping[str, Any], names: Names) -> dict[str, str]:
    """The fields for task, worker and label."""
    return find_columns(fields(first, names.values()), {role: names.get(role) for role in COLUMN_NAMES})


def reader(first: Mapping[str, Any], names: Names) -> Callable[[Mapping[str, Any]], Iterator[Said]]:
    """Every record has the fields that were found in the first; a label of null is an empty answer."""
    task, worker, label = columns(first, names).values()

    def answers(record: Mapping[str, Any]) -> Iterator[Said]:
        who, what = named(member(record, worker, object), "worker"), only(member(record, label, object))
        yield Said(named(member(record, task, object), "task"), who, what)

    return answers
