"""Label Studio: tasks with annotations and predictions, read from its JSON export and written as pre-annotations."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from rectifact.crowd.data.formats.said import ONE_LABEL, Names, Said, member, named, objects, only
from rectifact.io.records import BadRecord

VALUES = {"choices": "choices", "rating": "rating", "number": "number", "pairwise": "selected"}
"""The control tags that give a class, and where a result of each has it."""

UNNAMED = "prediction"
"""The worker who stands for a model without a version."""


def recognise(record: Mapping[str, Any], names: Names) -> bool:
    """Whether it is a task with annotations or predictions."""
    found = (record.get(name) for name in ("annotations", "predictions"))
    return isinstance(record.get("data"), dict) and any(isinstance(value, list) for value in found)


def reader(first: Mapping[str, Any], names: Names) -> Callable[[Mapping[str, Any]], Iterator[Said]]:
    """Tasks are called by their ``id``, or by the field of their data that is named as the task."""
    field = names.get("task")
    return lambda record: answers(record, field)


def answers(record: Mapping[str, Any], field: str | None = None) -> Iterator[Said]:
    """The answers of people, gold labels (``ground_truth``) and the answers of models (``predictions``).

    Examples
    --------
    >>> choice = [{"from_name": "tone", "type": "choices", "value": {"choices": ["rude"]}}]
    >>> task = {"id": 7, "data": {}, "annotations": [{"completed_by": 3, "result": choice}]}
    >>> [(said.task, said.worker, said.label, said.question) for said in answers(task)]
    [(7, 3, 'rude', 'tone')]
    """
    if "annotations" not in record and "predictions" not in record:
        raise BadRecord("has neither 'annotations' nor 'predictions', so it is not a task of Label Studio")
    task = task_name(record, field)
    for annotation in objects(record, "annotations"):
        gold = annotation.get("ground_truth") is True
        worker = None if gold else _annotator(annotation)
        if annotation.get("was_cancelled") is True:
            yield Said(task, worker, None, skipped=True)
        else:
            yield from _results(annotation, task, worker, gold)
    predictions = objects(record, "predictions")
    if sum(not prediction.get("model_version") for prediction in predictions) > 1:
        raise BadRecord("has several predictions without a 'model_version'", "Name the model of each.")
    for prediction in predictions:
        worker = named(prediction.get("model_version") or UNNAMED, "worker")
        yield from _results(prediction, task, worker, gold=False)


def annotators(record: Mapping[str, Any]) -> Iterator[Any]:
    """The people who answered a task, in contrast to models."""
    for annotation in objects(record, "annotations"):
        if annotation.get("ground_truth") is not True and annotation.get("completed_by") is not None:
            yield _annotator(annotation)


def task_name(record: Mapping[str, Any], field: str | None) -> Any:
    """The ``id`` of a task, or a field of its data."""
    if field is not None:
        return named(member(member(record, "data", dict), field, str, int), "task")
    if record.get("id") is None:
        raise BadRecord(
            "has no 'id'",
            "Name a field of its data that tells tasks apart: task='...'.",
            command="Name a field of its data that tells tasks apart: --task.",
        )
    return named(record["id"], "task")


def _annotator(annotation: Mapping[str, Any]) -> Any:
    """Number of the user, or the address where the export has one."""
    who = annotation.get("completed_by")
    if isinstance(who, dict):
        who = who.get("email") or who.get("id")
    if who is None:
        raise BadRecord("has an annotation without 'completed_by'")
    return named(who, "worker")


def _results(said: Mapping[str, Any], task: Any, worker: Any, gold: bool) -> Iterator[Said]:
    """One answer for each control tag that gives a class; an empty answer if there is none."""
    asked = set()
    for item in classes_of(said):
        question = str(item.get("from_name") or "")
        if question in asked:
            raise BadRecord(f"has several answers to {question!r} in one annotation, perhaps for regions", ONE_LABEL)
        asked.add(question)
        key = VALUES[item["type"]]
        yield Said(task, worker, only(member(member(item, "value", dict), key, list, str, int, float)), question, gold)
    if not asked and not gold:
        yield Said(task, worker, None)


def classes_of(said: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The results of an annotation or prediction that give a class."""
    return [item for item in objects(said, "result") if str(item.get("type")) in VALUES]


def pre_annotated(
    record: Mapping[str, Any], label: Any, confidence: float, field: str | None, version: str = "rectifact"
) -> dict[str, Any] | None:
    """A task to import, with the label as a prediction for the question ``field``, or the first that was answered.

    None for a task without an answer, which does not show what its question is called.
    """
    said = [*objects(record, "annotations"), *objects(record, "predictions")]
    items = (item for part in said for item in classes_of(part) if field in (None, item.get("from_name")))
    asked = next(items, None)
    if asked is None:
        return None
    task = {"id": record["id"]} if "id" in record else {}
    control: dict[str, Any] = {name: asked[name] for name in ("from_name", "to_name", "type") if name in asked}
    return task | {"data": record["data"], "predictions": [_prediction(control, label, confidence, version)]}


def new_task(
    name: Any, label: Any, confidence: float, parts: Mapping[str, Any] | None = None, version: str = "rectifact"
) -> dict[str, Any]:
    """A task of which only the name is known, and its ``parts`` if it has some, with the label as a prediction.

    Examples
    --------
    >>> task = new_task("t1", "yes", 0.9)
    >>> task["data"], task["predictions"][0]["result"][0]["value"]
    ({'task': 't1'}, {'choices': ['yes']})
    """
    control = {"from_name": "label", "to_name": "task", "type": "choices"}
    return {"data": {**(parts or {}), "task": name}, "predictions": [_prediction(control, label, confidence, version)]}


def _prediction(control: dict[str, Any], label: Any, confidence: float, version: str) -> dict[str, Any]:
    kind = control["type"]
    value = {VALUES[kind]: [str(label)] if kind == "choices" else label}
    return {"model_version": version, "score": confidence, "result": [control | {"value": value}]}
