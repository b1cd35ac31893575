"""Prodigy: one answer per record, a choice among options or accept and reject."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from rectifact.crowd.data.formats.said import Names, Said, member, named, only
from rectifact.io.records import BadRecord

HASHES = ("_input_hash", "_task_hash")
ANNOTATORS = ("_annotator_id", "_session_id")


def recognise(record: Mapping[str, Any], names: Names) -> bool:
    """Whether it has one of Prodigy's hashes and an answer."""
    return "answer" in record and any(name in record for name in HASHES)


def reader(first: Mapping[str, Any], names: Names) -> Callable[[Mapping[str, Any]], Iterator[Said]]:
    """A choice is about the input; accept and reject are about the input and the label that was suggested.

    Examples
    --------
    >>> said = {"_input_hash": 5, "_session_id": "db-ann", "accept": ["yes"], "answer": "accept"}
    >>> next(reader(said, {})(said))[:3]
    (5, 'db-ann', 'yes')
    """
    choice = is_choice(first)
    hashes = HASHES if choice else reversed(HASHES)
    task = names.get("task") or next((name for name in hashes if name in first), HASHES[0])
    worker = names.get("worker") or next((name for name in ANNOTATORS if first.get(name) is not None), ANNOTATORS[0])
    label = names.get("label")

    def answers(record: Mapping[str, Any]) -> Iterator[Said]:
        answer = member(record, "answer", str)
        said = Said(named(member(record, task, object), "task"), named(member(record, worker, object), "worker"), None)
        if answer == "ignore" or (answer == "reject" and choice and label is None):
            yield said._replace(skipped=True)
        elif label is not None:
            yield said._replace(label=only(member(record, label, object)))
        elif is_choice(record) != choice:
            kinds = ("a choice", "accepted or rejected")
            ours, others = kinds if is_choice(record) else reversed(kinds)
            raise BadRecord(f"is {ours}, while the first record is {others}", "Export one dataset at a time.")
        else:
            yield said._replace(label=only(record.get("accept")) if choice else answer)

    return answers


def is_choice(record: Mapping[str, Any]) -> bool:
    """Whether the question was a choice among options."""
    return "accept" in record or "options" in record
