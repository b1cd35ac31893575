"""Inspect: samples of an evaluation, each scored by several scorers."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from rectifact.core.errors import InputError
from rectifact.crowd.data.formats.said import Names, Said, member, named, only, optional

ALONE = "value"
"""The question that a score answers which is a single value."""


def recognise(record: Mapping[str, Any], names: Names) -> bool:
    """Whether it is a scored sample, or a log without samples."""
    return ("scores" in record and "id" in record and ("epoch" in record or "target" in record)) or _is_log(record)


def reader(first: Mapping[str, Any], names: Names) -> Callable[[Mapping[str, Any]], Iterator[Said]]:
    """The samples are the tasks, and the scorers the workers."""
    if _is_log(first):
        raise InputError("This Inspect log has no samples.", "Write it with its samples: inspect log dump.")
    return answers


def answers(sample: Mapping[str, Any]) -> Iterator[Said]:
    """The value that each scorer gave; what a model wrote in a later epoch is a task of its own.

    Examples
    --------
    >>> sample = {"id": "q1", "epoch": 2, "scores": {"strict": {"value": "C"}, "lenient": {"value": "I"}}}
    >>> [said[:3] for said in answers(sample)]
    [('q1 (epoch 2)', 'strict', 'C'), ('q1 (epoch 2)', 'lenient', 'I')]
    """
    task, epoch = named(sample.get("id"), "task"), sample.get("epoch")
    if epoch not in (None, 1):
        task = f"{task} (epoch {epoch})"
    scores = optional(sample, "scores", dict) or {}
    for scorer in scores:
        value = member(member(scores, scorer, dict), "value", object)
        for question, label in value.items() if isinstance(value, dict) else [(ALONE, value)]:
            yield Said(task, scorer, only(label), question)


def _is_log(record: Mapping[str, Any]) -> bool:
    return isinstance(record.get("eval"), dict) and "version" in record and "status" in record
