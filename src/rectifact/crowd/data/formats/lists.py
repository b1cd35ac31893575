"""Rows with lists of answers, as Hugging Face datasets hold them: in lists side by side, or in a list of objects."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from rectifact.core.errors import InputError
from rectifact.crowd.data.formats.said import Names, Said, member, named, objects, only, optional
from rectifact.crowd.data.tables import COLUMN_NAMES, find_column
from rectifact.io.records import BadRecord

Lists = Callable[[Mapping[str, Any]], tuple[list[Any], list[Any]]]
"""From a row to its workers and their labels."""


def recognise(record: Mapping[str, Any], names: Names) -> bool:
    """Whether it has workers and labels in lists, or labels in a list and no worker."""
    label = _find(record, "label", names.get("label"))
    alone = _find(record, "worker", names.get("worker")) is None and label is not None and _holds_values(record[label])
    return alone or _lists(record, names) is not None


def _holds_values(value: Any) -> bool:
    return isinstance(value, list) and len(value) > 0 and not isinstance(value[0], dict)


def reader(first: Mapping[str, Any], names: Names) -> Callable[[Mapping[str, Any]], Iterator[Said]]:
    """The lists are found in the first row.

    Examples
    --------
    >>> row = {"id": 7, "annotators": ["ann", "bob"], "labels": ["yes", "no"]}
    >>> [said[:3] for said in reader(row, {})(row)]
    [(7, 'ann', 'yes'), (7, 'bob', 'no')]
    """
    task, lists = find_column(list(first), "task", names.get("task")), _lists(first, names)
    if lists is None:
        raise InputError(
            f"There is no list of workers beside the labels among {list(first)}.",
            "Name the column that says who gave each label: worker='...'.",
            command="Name the column that says who gave each label: --worker.",
        )

    def answers(record: Mapping[str, Any]) -> Iterator[Said]:
        who = named(member(record, task, object), "task")
        workers, labels = lists(record)
        if len(workers) != len(labels):
            raise BadRecord(f"has {len(workers)} workers for {len(labels)} labels")
        for worker, label in zip(workers, labels, strict=True):
            yield Said(who, named(worker, "worker"), only(label))

    return answers


def _lists(first: Mapping[str, Any], names: Names) -> Lists | None:
    """Where the workers and labels of a row are, None if they are in no list."""
    beside = _pair(first, names)
    if beside is not None:  # a single worker is not a list, and has one answer
        return (lambda record: _beside(record, *beside)) if isinstance(first[beside[0]], list) else None
    for outer, value in first.items():
        inner = value[0] if isinstance(value, list) and value else value
        pair = _pair(inner, names) if isinstance(inner, dict) else None
        if pair is not None and (inner is not value or isinstance(inner[pair[0]], list)):
            return _inside(outer, *pair, listed=inner is not value)
    return None


def _pair(record: Mapping[str, Any], names: Names) -> tuple[str, str] | None:
    """The fields for worker and label, if there are both."""
    worker, label = (_find(record, role, names.get(role)) for role in ("worker", "label"))
    return None if worker is None or label is None else (worker, label)


def _beside(record: Mapping[str, Any], worker: str, label: str) -> tuple[list[Any], list[Any]]:
    workers, labels = (optional(record, name, list) or [] for name in (worker, label))
    return workers, labels


def _inside(outer: str, worker: str, label: str, *, listed: bool) -> Lists | None:
    """Answers as a list of objects, or as an object of lists, which is how datasets store the former."""
    if not listed:
        return lambda record: _beside(member(record, outer, dict), worker, label)

    def lists(record: Mapping[str, Any]) -> tuple[list[Any], list[Any]]:
        found = objects(record, outer)
        return [part.get(worker) for part in found], [member(part, label, object) for part in found]

    return lists


def _find(record: Mapping[str, Any], role: str, given: str | None = None) -> str | None:
    """The field for a role, by a usual name in the singular or the plural."""
    if given is not None:
        return given if given in record else None
    by_name = {str(name).lower(): name for name in reversed(list(record))}
    usual = (form for name in COLUMN_NAMES[role] for form in (name, f"{name}s", name.removesuffix("_id") + "_ids"))
    return next((by_name[form] for form in usual if form in by_name), None)
