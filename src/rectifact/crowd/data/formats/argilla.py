"""Argilla: records with responses of people and suggestions of models, nested, flattened, or of version 1."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from rectifact.crowd.data.formats.said import Names, Said, member, named, objects, only, optional
from rectifact.io.records import BadRecord

UNNAMED = "suggestion"
"""The worker who stands for an agent without a name."""

FLAT, ADVICE = ".responses", ".suggestion"


def recognise(record: Mapping[str, Any], names: Names) -> bool:
    """Whether it is a record with fields and responses, or a flattened one."""
    nested = isinstance(record.get("fields"), dict) and isinstance(record.get("responses"), dict | list)
    return nested or bool(_flat_questions(record) or _old_questions(record))


def reader(first: Mapping[str, Any], names: Names) -> Callable[[Mapping[str, Any]], Iterator[Said]]:
    """Records are called by their ``id``, or by the field or metadata that is named as the task."""
    flat = _flat if _flat_questions(first) else _old
    answers = _nested if isinstance(first.get("fields"), dict) else flat
    key = names.get("task")
    return lambda record: answers(record, _task(record, key))


def _task(record: Mapping[str, Any], key: str | None) -> Any:
    if key is None:
        return named(record.get("id") or record.get("external_id"), "task")
    parts = [part for part in (record, record.get("fields"), record.get("metadata")) if isinstance(part, dict)]
    return named(member(next((part for part in parts if key in part), record), key, str, int), "task")


def _nested(record: Mapping[str, Any], task: Any) -> Iterator[Said]:
    """Responses by question, or, in version 1, by user."""
    responses, suggestions = optional(record, "responses", dict, list), record.get("suggestions")
    if isinstance(responses, dict):
        for question in responses:
            for response in objects(responses, question):
                yield _response(task, question, response)
    else:
        for response in objects(record, "responses"):
            given = optional(response, "values", dict) or {}
            for question in given:
                yield _response(task, question, response | member(given, question, dict))
    if isinstance(suggestions, dict):
        for question in suggestions:
            yield from _suggestion(task, question, optional(suggestions, question, dict))
    else:
        for suggestion in objects(record, "suggestions"):
            yield from _suggestion(task, suggestion.get("question_name"), suggestion)


def _response(task: Any, question: str, response: Mapping[str, Any]) -> Said:
    worker = named(response.get("user_id"), "worker")
    done = response.get("status") in (None, "submitted")
    return Said(task, worker, only(response.get("value")) if done else None, question, skipped=not done)


def _suggestion(task: Any, question: Any, suggestion: Mapping[str, Any] | None) -> Iterator[Said]:
    if suggestion is not None and suggestion.get("value") is not None:
        worker = named(suggestion.get("agent") or UNNAMED, "worker")
        yield Said(task, worker, only(suggestion["value"]), str(question))


def _flat_questions(record: Mapping[str, Any]) -> list[str]:
    ends = [name for name in record if name.endswith(FLAT) and f"{name}.users" in record]
    return [name.removesuffix(FLAT) for name in ends]


def _flat(record: Mapping[str, Any], task: Any) -> Iterator[Said]:
    """Responses, users and statuses as lists, beside each other."""
    if not _flat_questions(record):
        raise BadRecord("has no responses", "Export all records together.")
    for question in _flat_questions(record):
        key = f"{question}{FLAT}"
        names = (key, f"{key}.users", f"{key}.status")
        values, users, statuses = (optional(record, name, list) or [] for name in names)
        statuses = statuses or ["submitted"] * len(values)
        if not len(values) == len(users) == len(statuses):
            raise BadRecord(f"has {len(values)} responses to {question!r}, but {len(users)} users")
        for value, user, status in zip(values, users, statuses, strict=True):
            yield _response(task, question, {"value": value, "user_id": user, "status": status})
    for name in [name for name in record if name.endswith(ADVICE)]:
        advice = {"value": record[name], "agent": record.get(f"{name}.agent")}
        yield from _suggestion(task, name.removesuffix(ADVICE), advice)


def _old_questions(record: Mapping[str, Any]) -> list[str]:
    """Columns of version 1 in a Hugging Face dataset: lists of objects with user, value and status."""
    return [
        name
        for name, value in record.items()
        if f"{name}-suggestion" in record
        or (isinstance(value, list) and value and isinstance(value[0], dict) and {"user_id", "value"} <= set(value[0]))
    ]


def _old(record: Mapping[str, Any], task: Any) -> Iterator[Said]:
    for question in _old_questions(record):
        for response in objects(record, question):
            yield _response(task, question, response)
        about = optional(record, f"{question}-suggestion-metadata", dict) or {}
        advice = {"value": record.get(f"{question}-suggestion"), "agent": about.get("agent")}
        yield from _suggestion(task, question, advice)
