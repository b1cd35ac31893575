"""rectifact labels: the answers of many annotators to one label per task."""

import warnings
from pathlib import Path
from typing import Annotated, Any

import typer
from scipy.stats import entropy

from rectifact.cli.outcome import (
    CheckpointOption,
    JsonOption,
    Outcome,
    ReportOption,
    ResumeOption,
    SaveOption,
    say_warnings,
)
from rectifact.cli.terminal import STDOUT, check_different_files, check_table_name, progress, say, write_table
from rectifact.cli.wording import on_command_line
from rectifact.core.validation import InputError
from rectifact.crowd import DawidSkene, read_answers
from rectifact.crowd.answers import listed
from rectifact.models import SavedModel

__all__ = ["labels"]

MOST_PLANNED = 1000  # rows of a plan, the most useful first
LEAST_GAIN = 0.001  # bits that an answer must promise to be worth a row of it
ALMOST_NOTHING = 0.1  # bits that a worker's answer tells, or part of the doubt about a task if that is below one bit


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
    device: Annotated[str, typer.Option(help="Where the fit runs: cpu, or cuda.")] = "cpu",
    checkpoint: CheckpointOption = None,
    resume: ResumeOption = False,
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
    model = DawidSkene(device=device, checkpoint=checkpoint, resume=resume)
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
        _write_plan(model, plan)
    say_warnings(caught, "labels")
    say(
        f"{len(data)} answers of {len(data.workers)} workers on {len(data.tasks)} tasks, {len(data.classes)} classes: "
        f"{model.stop_reason_} after {model.n_iter_} iterations."
    )
    _say_who_tells_nothing(model)
    findings = model.diagnose()
    for row in findings.itertuples():
        say(f"{row.severity}: {row.finding}. {row.detail} {on_command_line(str(row.remedy), 'labels')}")
    if data.columns and set(data.columns) != set(data.columns.values()):
        say("Columns read: " + ", ".join(f"{role} from {column!r}" for role, column in data.columns.items()) + ".")
    summary: dict[str, Any] = {"answers": len(data), "tasks": len(data.tasks), "workers": len(data.workers)}
    summary |= {
        "classes": [str(name) for name in data.classes],
        "mean_confidence": float(model.probas_.max(axis=1).mean()),
    }
    outcome.write(SavedModel(model), summary | {"findings": findings.to_dict("records")})


def _write_plan(model: DawidSkene, path: Path) -> None:
    table = model.next_labels(min(len(model.tasks_), MOST_PLANNED))
    table = table[table["gain"] >= LEAST_GAIN]
    write_table(table.assign(workers=table["workers"].map(lambda names: "; ".join(map(str, names)))), path)
    say(
        f"The plan has {len(table)} of {len(model.tasks_)} tasks, at most {MOST_PLANNED}: those where one more answer "
        f"is expected to tell {LEAST_GAIN} bits or more."
    )


def _say_who_tells_nothing(model: DawidSkene) -> None:
    limit = ALMOST_NOTHING * min(1.0, float(entropy(model.priors_, base=2)))
    report = model.worker_report().sort_values("information", kind="stable")
    silent = report.loc[report["information"] < limit, "worker"].to_numpy()
    if len(silent):
        say(f"These workers tell almost nothing: {listed(silent)}; leave them out or ask them less.")
