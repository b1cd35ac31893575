"""rectifact labels: the answers of many annotators to one label per task."""

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer
from scipy.stats import entropy

from rectifact.cli.dask_options import LocalClusterOption, SchedulerOption, check_cluster, cluster_of
from rectifact.cli.outcome import (
    CheckpointOption,
    JsonOption,
    Outcome,
    ReportOption,
    ResumeOption,
    SaveOption,
    say_warnings,
)
from rectifact.cli.tables import check_different_files, check_parts_name, check_table_name, write_parts, write_table
from rectifact.cli.terminal import STDOUT, in_options, progress, say
from rectifact.core.errors import InputError
from rectifact.crowd import DawidSkene, read_answers
from rectifact.crowd.data.answers import listed
from rectifact.crowd.data.partitions import read_lazy
from rectifact.crowd.data.sources import is_source
from rectifact.models import SavedModel

__all__ = ["labels"]

MOST_PLANNED = 1000  # rows of a plan, the most useful first
LEAST_GAIN = 0.001  # bits that an answer must promise to be worth a row of it
ALMOST_NOTHING = 0.1  # bits that a worker's answer tells, or part of the doubt about a task if that is below one bit


def labels(
    answers: Annotated[
        list[Path],
        typer.Argument(
            help="CSV, TSV or Parquet file, one answer per row: task, worker, label. Or answers in parts, which dask "
            "reads: a folder of Parquet files, or several of them."
        ),
    ],
    out: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            help="One row per task: label, confidence, ...; .csv, .tsv, .parquet. Of answers in parts, a name without "
            "ending is a new folder, to which the workers write Parquet files.",
        ),
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
    scheduler: SchedulerOption = None,
    local_cluster: LocalClusterOption = None,
    report: ReportOption = None,
    save: SaveOption = None,
    as_json: JsonOption = False,
) -> None:
    """Turn the answers of many annotators into one label per task, and learn who is good."""
    if STDOUT in (workers, plan):
        raise InputError("Only the labels can go to the standard output. Name a file for --workers and --plan.")
    outcome = Outcome(report, save, as_json)
    outputs = [path for path in (out, workers, plan) if path is not None and path != STDOUT]
    in_parts = len(answers) > 1 or is_source(answers[0])
    for path in outputs:
        (check_parts_name if in_parts and path == out else check_table_name)(path)
    outcome.check(out)
    check_different_files([*answers, gold, *outputs, *outcome.paths])
    check_cluster(scheduler, local_cluster, in_parts=in_parts, parts="a folder of Parquet files, or several files")
    if in_parts:
        _refuse_among_answers(outputs, answers)
        _refuse_in_parts(wide=wide, plan=plan, calibrate=calibrate, report=report, save=save)
    model = DawidSkene(device=device, checkpoint=checkpoint, resume=resume)
    read = _reader(answers, in_parts=in_parts, task=task, worker=worker, label=label, wide=wide, missing=missing)
    with cluster_of(scheduler, local_cluster):
        with progress("aggregating", model.max_iter) as callback, warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            data = read()
            model.set_params(callbacks=[callback]).fit(data, gold=gold)
            if calibrate:
                model.calibrate()
        (write_parts if in_parts else write_table)(model.result(), out)
        if workers is not None:
            write_table(model.worker_report(), workers)
        if plan is not None:
            _write_plan(model, plan)
        say_warnings(caught, "labels")
        say(
            f"{len(data)} answers of {len(data.workers)} workers on {len(data.tasks)} tasks, {len(data.classes)} "
            f"classes: {model.stop_reason_} after {model.n_iter_} iterations."
        )
        _say_who_tells_nothing(model)
        findings = [] if in_parts else model.diagnose().to_dict("records")
        for row in findings:
            remedy = in_options(row["remedy"], "labels")
            say(f"{row['severity']}: {row['finding']}. {row['detail']} {remedy}")
        if data.columns and set(data.columns) != set(data.columns.values()):
            say("Columns read: " + ", ".join(f"{role} from {column!r}" for role, column in data.columns.items()) + ".")
        summary: dict[str, Any] = {"answers": len(data), "tasks": len(data.tasks), "workers": len(data.workers)}
        summary |= {
            "classes": [str(name) for name in data.classes],
            "mean_confidence": float(model.probas_.max(axis=1).mean()),
        }
        outcome.write(SavedModel(model), summary | {"findings": findings})


def _reader(answers: list[Path], *, in_parts: bool, wide: bool, **options: Any) -> Callable[[], Any]:
    """How the answers are read: as one table, or in parts."""
    if not in_parts:
        return lambda: read_answers(answers[0], wide=wide, **options)
    return lambda: read_lazy(answers if len(answers) > 1 else answers[0], **options)


def _refuse_among_answers(outputs: list[Path], folders: list[Path]) -> None:
    """Refuse a table that would be read as answers the next time."""
    for path in outputs:
        if path.suffix.lower() == ".parquet" and path.resolve().parent in [folder.resolve() for folder in folders]:
            raise InputError(
                f"{str(path)!r} would lie among the answers, and be taken for some of them. Choose another folder."
            )


def _refuse_in_parts(**options: Any) -> None:
    """Say which options need all answers in memory."""
    wanted = [f"--{name}" for name, value in options.items() if value]
    if wanted:
        raise InputError(f"{', '.join(wanted)} cannot be had of answers in parts. Leave it out, or give one file.")


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
