"""Writes the same answers as a table and as the exports of several tools, for ``test_exports.py``.

``python make_exports.py tables prodigy label_studio argilla inspect`` writes them beside itself. Those of Label Studio,
Argilla and Inspect are made with label-studio-sdk 2.1, argilla 2.8 (and datasets 5.2) and inspect_ai 0.3.285, which
must be installed; Prodigy's follow its documentation.
"""

import json
import sys
from pathlib import Path
from random import Random

HERE = Path(__file__).parent
PEOPLE = {
    "ann": "00000000-0000-4000-8000-000000000001",
    "bob": "00000000-0000-4000-8000-000000000002",
    "cyd": "00000000-0000-4000-8000-000000000003",
}
NUMBERS = {name: number for number, name in enumerate(PEOPLE, start=1)}
MODELS = ("judge-a", "judge-b")
CLASSES = ("bad", "good", "unclear")
QUESTION = "quality"


def crowd() -> tuple[list[tuple[int, str, str]], dict[int, str]]:
    """Answers to 24 tasks by three people and two models, with gaps, and the truth of every fourth task."""
    random = Random(7)
    truth = {task: random.choice(CLASSES) for task in range(1, 25)}
    right = dict(zip((*PEOPLE, *MODELS), (0.9, 0.8, 0.7, 0.85, 0.6), strict=True))
    answers = [
        (task, worker, truth[task] if random.random() < right[worker] else random.choice(CLASSES))
        for task in truth
        for worker in right
        if random.random() < 0.85
    ]
    return answers, {task: label for task, label in truth.items() if task % 4 == 0}


def of_task(task: int, workers) -> list[tuple[str, str]]:
    return [(worker, label) for number, worker, label in crowd()[0] if number == task and worker in workers]


def tables() -> None:
    answers, gold = crowd()
    rows = ["task,worker,label", *(",".join(map(str, row)) for row in answers)]
    (HERE / "answers.csv").write_text("\n".join(rows) + "\n")
    (HERE / "gold.csv").write_text(
        "\n".join(["task,label", *(f"{task},{label}" for task, label in gold.items())]) + "\n"
    )
    records = [dict(zip(("task", "worker", "label"), row, strict=True)) for row in answers]
    (HERE / "records.json").write_text(json.dumps(records, indent=1))
    (HERE / "records.jsonl").write_text("\n".join(map(json.dumps, records)) + "\n")


def prodigy() -> None:
    options = [{"id": name, "text": name.title()} for name in CLASSES]
    lines = []
    for task, worker, label in crowd()[0]:
        record = {"text": f"Answer {task}", "_input_hash": task, "_task_hash": -task, "options": options}
        about = {"_view_id": "choice", "accept": [label], "answer": "accept", "_timestamp": 1700000000 + len(lines)}
        lines.append(record | about | {"_annotator_id": worker, "_session_id": f"quality-{worker}"})
    ignored = lines[0] | {"answer": "ignore", "accept": []}
    (HERE / "prodigy.jsonl").write_text("\n".join(map(json.dumps, [*lines, ignored])) + "\n")


def label_studio() -> None:
    from label_studio_sdk.label_interface import LabelInterface
    from label_studio_sdk.label_interface.objects import AnnotationValue, PredictionValue, TaskValue

    choices = "".join(f'<Choice value="{name}"/>' for name in CLASSES)
    config = (
        f'<View><Text name="text" value="$text"/><Choices name="{QUESTION}" toName="text">{choices}</Choices></View>'
    )

    interface = LabelInterface(config)

    def result(label: str) -> list[dict]:
        return [
            {"id": "r1", "from_name": QUESTION, "to_name": "text", "type": "choices", "value": {"choices": [label]}}
        ]

    tasks, gold = [], crowd()[1]
    for task in range(1, 25):
        annotations = [
            AnnotationValue(completed_by=NUMBERS[worker], result=result(label), lead_time=3.5, result_count=1)
            for worker, label in of_task(task, PEOPLE)
        ]
        if task in gold:
            annotations.append(AnnotationValue(completed_by=9, result=result(gold[task]), ground_truth=True))
        if task == 5:
            annotations.append(AnnotationValue(completed_by=1, result=[], was_cancelled=True))
        predictions = [
            PredictionValue(model_version=model, score=0.8, result=result(label))
            for model, label in of_task(task, MODELS)
        ]
        made = TaskValue(data={"text": f"Answer {task}"}, annotations=annotations, predictions=predictions)
        assert all(interface.validate_annotation(part.model_dump()) for part in annotations if part.result)
        assert all(interface.validate_prediction(part.model_dump()) for part in predictions)
        tasks.append({"id": task, **made.model_dump(), "project": 1, "created_at": "2026-01-01T00:00:00.000000Z"})
    (HERE / "label_studio.json").write_text(json.dumps(tasks))


def argilla() -> None:
    import argilla as rg
    from argilla.records._io import GenericIO
    from datasets.table import InMemoryTable

    from datasets import Dataset

    def dataset(rows: list[dict]) -> Dataset:
        return Dataset(InMemoryTable.from_pylist(rows), fingerprint=QUESTION)  # a given one needs no pickle

    records = []
    for task in range(1, 25):
        responses = [
            rg.Response(QUESTION, label, user_id=PEOPLE[worker], status="submitted")
            for worker, label in of_task(task, PEOPLE)
        ]
        suggestions = [rg.Suggestion(QUESTION, label, agent=model) for model, label in of_task(task, MODELS[:1])]
        records.append(
            rg.Record(id=str(task), fields={"text": f"Answer {task}"}, responses=responses, suggestions=suggestions)
        )
    (HERE / "argilla.json").write_text(json.dumps(GenericIO.to_list(records)))
    dataset(GenericIO.to_list(records, flatten=True)).to_parquet(HERE / "argilla.parquet")
    everybody = (*PEOPLE, *MODELS)
    lists = [{"id": task, "text": f"Answer {task}", "given": of_task(task, everybody)} for task in range(1, 25)]
    beside = [
        {
            "id": row["id"],
            "text": row["text"],
            "annotators": [worker for worker, _ in row["given"]],
            "labels": [label for _, label in row["given"]],
        }
        for row in lists
    ]
    dataset(beside).to_parquet(HERE / "lists.parquet")
    dataset(beside).to_json(HERE / "lists.jsonl")
    inside = [
        {"id": row["id"], "annotations": [{"annotator": worker, "label": label} for worker, label in row["given"]]}
        for row in lists
    ]
    dataset(inside).to_parquet(HERE / "objects.parquet")


def inspect() -> None:
    from inspect_ai.log import EvalConfig, EvalDataset, EvalLog, EvalSample, EvalSpec, write_eval_log
    from inspect_ai.scorer import Score

    samples = [
        EvalSample(
            id=task,
            epoch=1,
            input=f"Question {task}",
            target="yes",
            scores={scorer: Score(value=label) for scorer, label in of_task(task, (*PEOPLE, *MODELS))},
        )
        for task in range(1, 25)
    ]
    spec = EvalSpec(
        created="2026-01-01T00:00:00+00:00",
        task=QUESTION,
        dataset=EvalDataset(),
        model="mockllm/model",
        config=EvalConfig(),
    )
    write_eval_log(EvalLog(status="success", eval=spec, samples=samples), str(HERE / "inspect.json"), format="json")


if __name__ == "__main__":
    for name in sys.argv[1:]:
        globals()[name]()
