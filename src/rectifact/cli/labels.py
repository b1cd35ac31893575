"""rectifact labels: the answers of many annotators to one label per task."""

import warnings
from pathlib import Path
from typing import Annotated, Any

import typer

from rectifact.cli.outcome import JsonOption, Outcome, ReportOption, SaveOption, say_warnings
from rectifact.cli.terminal import STDOUT, check_different_files, check_table_name, progress, say, write_table
from rectifact.core.validation import InputError
from rectifact.crowd import DawidSkene, read_answers
from rectifact.models import SavedModel

__all__ = ["labels"]

MOST_PLANNED = 1000  # rows of a plan, the most useful first


def labels(
    answers: Annotated[Path, typer.Argument(help="CSV, TSV or Parquet file, one answer per row: task, worker, label.")],
    out: Annotated[
        Path,
        typer.Option("--output", "-o", help="One row per task: label, confidence, ...; .csv, .tsv, .parquet."),
    ] = STDOUT,
    workers: Annotated[Path | None, typer.Option(help="Write one row per worker here: answers, accuracy, ...")] = None,
    task: Annotated[str | None, typer.Option(help="Name of the column with the task.")] = None,
    worker: Annotated[str | None, typer.Option(help="Name of the column with the worker.")] = None,
    label: Annotated[str | None, typer.Option(help="Name of the column with the label.")] = None,
    wide: Annotated[bool, typer.Option("--wide", help="One row per task, one column per worker.")] = False,
    gold: Annotated[Path | None, typer.Option(help="File of labels that are certain: task, label or truth.")] = None,
    plan: Annotated[Path | None, typer.Option(help="Write the 1000 tasks to label next here, and whom to ask.")] = None,
    calibrate: Annotated[bool, typer.Option("--calibrate", help="Make too high confidence honest.")] = False,
    missing: Annotated[
        str,
        typer.Option(
            help="What stands for no answer, besides an empty cell. auto: -1 too, if --wide; nan: nothing else."
        ),
    ] = "auto",
    report: ReportOption = None,
    save: SaveOption = None,
    as_json: JsonOption = False,
) -> None:
    """Turn the answers of many annotators into one label per task, and learn who is good."""
    if STDOUT in (workers, plan):
        raise InputError("Only the labels can go to the standard output. Name a file for --workers and --plan.")
    outcome = Outcome(report, save, as_json)
    outputs = [path for path in (out, workers, plan) if path is not None and path != STDOUT]
    for path in outputs:
        check_table_name(path)
    outcome.check(out)
    check_different_files([answers, gold, *outputs, *outcome.paths])
    model = DawidSkene()
    with progress("aggregating", model.max_iter) as callback, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        data = read_answers(answers, task=task, worker=worker, label=label, wide=wide, missing=missing)
        model.set_params(callbacks=[callback]).fit(data, gold=gold)
        if calibrate:
            model.calibrate()
    write_table(model.result(), out)
    if workers is not None:
        write_table(model.worker_report(), workers)
    if plan is not None:
        table = model.next_labels(min(len(data.tasks), MOST_PLANNED))
        write_table(table.assign(workers=table["workers"].map(lambda names: "; ".join(map(str, names)))), plan)
    say_warnings(caught)
    say(
        f"{len(data)} answers of {len(data.workers)} workers on {len(data.tasks)} tasks, {len(data.classes)} classes: "
        f"{model.stop_reason_} after {model.n_iter_} iterations."
    )
    findings = model.diagnose()
    for row in findings.itertuples():
        say(f"{row.severity}: {row.finding}. {row.detail} {row.remedy}")
    if data.columns and set(data.columns) != set(data.columns.values()):
        say("Columns read: " + ", ".join(f"{role} from {column!r}" for role, column in data.columns.items()) + ".")
    summary: dict[str, Any] = {"answers": len(data), "tasks": len(data.tasks), "workers": len(data.workers)}
    summary |= {
        "classes": [str(name) for name in data.classes],
        "mean_confidence": float(model.probas_.max(axis=1).mean()),
    }
    outcome.write(SavedModel(model), summary | {"findings": findings.to_dict("records")})
