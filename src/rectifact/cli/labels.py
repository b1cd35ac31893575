"""rectifact labels: turns the answers of many workers into one label per task.

The table of labels goes to the standard output unless ``-o`` names a file; other files are written only on request.
"""

from pathlib import Path
from typing import Annotated, Any

import typer

from rectifact.cli import options
from rectifact.cli.dask_options import check_cluster, cluster_of
from rectifact.cli.outcome import Outcome, fitting, how_it_ended, say_warnings
from rectifact.cli.tables import check_parts_name, check_table_name, write_parts, write_table
from rectifact.cli.terminal import STDOUT, say
from rectifact.core.errors import InputError, count
from rectifact.core.findings import findings_table
from rectifact.crowd import DawidSkene, read_answers, read_lazy
from rectifact.crowd.advice.planning import LEAST_GAIN, worth_asking
from rectifact.crowd.advice.summary import Summary, summary_of
from rectifact.crowd.data.groups import groups_in_column
from rectifact.crowd.data.sources import is_source
from rectifact.models import SavedModel

MOST_PLANNED = 1000  # rows of a plan, the most useful first


def labels(
    answers: Annotated[
        list[Path],
        typer.Argument(
            help="CSV, TSV or Parquet file with one answer per row: task, worker, label. Or partitioned answers, which "
            "Dask reads: a folder of Parquet files, or several Parquet files."
        ),
    ],
    out: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            help="Write one row per task here: label, confidence, ...; .csv, .tsv, .parquet, or - for standard output. "
            "For partitioned answers, a name without an extension creates a new folder of Parquet files, written "
            "in parallel.",
        ),
    ] = STDOUT,
    workers: Annotated[Path | None, typer.Option(help="Write one row per worker here: answers, accuracy, ...")] = None,
    task: Annotated[str | None, typer.Option(help="Name of the column with the task.")] = None,
    worker: Annotated[str | None, typer.Option(help="Name of the column with the worker.")] = None,
    label: Annotated[str | None, typer.Option(help="Name of the column with the label.")] = None,
    wide: Annotated[
        bool, typer.Option("--wide", help="The table has one row per task and one column per worker.")
    ] = False,
    gold: Annotated[
        Path | None, typer.Option(help="File of labels known to be right, with columns task and label (or truth).")
    ] = None,
    groups: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN|FILE",
            help="Workers who may err alike, such as judges that run the same model: a column of the answers, or a "
            "file with columns worker and group.",
        ),
    ] = None,
    plan: Annotated[
        Path | None, typer.Option(help="Write a plan here: what to label next and whom to ask, for at most 1000 tasks.")
    ] = None,
    calibrate: Annotated[
        bool, typer.Option("--calibrate", help="Calibrate the probabilities; with --gold, using those labels.")
    ] = False,
    missing: Annotated[
        str,
        typer.Option(
            help="Value that means no answer, besides an empty cell. auto: also -1 with --wide; nan: nothing else."
        ),
    ] = "auto",
    device: Annotated[str, typer.Option(help="Where the fit runs: cpu or cuda.")] = "cpu",
    checkpoint: options.Checkpoint = None,
    resume: options.Resume = False,
    scheduler: options.Scheduler = None,
    local_cluster: options.LocalCluster = None,
    report: options.Report = None,
    save: options.Save = None,
    as_json: options.Json = False,
) -> None:
    """Turn the answers of many workers into one label per task, and learn how good each worker is."""
    outcome = Outcome(report, save, as_json)
    partitioned = len(answers) > 1 or is_source(answers[0])
    _check_outputs(answers, out, [workers, plan], partitioned)
    outcome.check(out, [*answers, gold, workers, plan, None if groups is None else Path(groups)])
    parts = "a folder of Parquet files, or several files"
    check_cluster(scheduler, local_cluster, in_parts=partitioned, parts=parts)
    if partitioned:
        _refuse_partitioned(wide=wide, plan=plan, calibrate=calibrate, report=report, save=save)
    model = DawidSkene(device=device, checkpoint=checkpoint, resume=resume)
    with cluster_of(scheduler, local_cluster):
        with fitting("aggregating", model) as caught:
            columns: dict[str, Any] = {"task": task, "worker": worker, "label": label, "missing": missing}
            data: Any
            if partitioned:
                data = read_lazy(answers if len(answers) > 1 else answers[0], **columns)
            else:
                data = read_answers(answers[0], wide=wide, **columns)
            families = None if groups is None else _groups(groups, answers[0], partitioned or wide, worker)
            model.fit(data, gold=gold, groups=families)
            if calibrate:
                model.calibrate(gold)
        summary = summary_of(model)
        (write_parts if partitioned else write_table)(summary.result, out)
        if workers is not None:
            write_table(summary.workers, workers)
        if plan is not None:
            _write_plan(model, plan)
        say_warnings(caught, "labels")
        _say(data, model, summary)
        outcome.write(SavedModel(model), _facts(data, model, summary))


def _groups(groups: str, answers: Path, without_column: bool, worker: str | None) -> Any:
    """Groups from a column of the answers of that name, or else from a file."""
    found = None if without_column else groups_in_column(answers, groups, worker)
    if found is None and not Path(groups).is_file():
        raise InputError(
            f"{groups!r} is neither a column of the answers nor a file.",
            "Name a file with columns worker and group." if without_column else "Check the spelling.",
            option="groups",
        )
    return Path(groups) if found is None else found


def _check_outputs(answers: list[Path], out: Path, others: list[Path | None], partitioned: bool) -> None:
    """Refuse tables that could not be written after the work."""
    if STDOUT in others:
        raise InputError("Only the labels can go to the standard output.", "Name a file for --workers and for --plan.")
    outputs = [path for path in (out, *others) if path is not None and path != STDOUT]
    for path in outputs:
        (check_parts_name if partitioned and path == out else check_table_name)(path)
        folders = [folder.resolve() for folder in answers] if partitioned else []
        if path.suffix.lower() == ".parquet" and path.resolve().parent in folders:
            raise InputError(
                f"{str(path)!r} would lie among the answers, and be read as some of them the next time.",
                "Choose another folder.",
            )


def _refuse_partitioned(**options: Any) -> None:
    """Say which options need all answers in memory."""
    wanted = [f"--{name}" for name, value in options.items() if value]
    if wanted:
        verb = "is" if len(wanted) == 1 else "are"
        raise InputError(
            f"{', '.join(wanted)} {verb} not available for partitioned answers.",
            "Leave out what needs all answers in memory, or give one file.",
        )


def _write_plan(model: DawidSkene, path: Path) -> None:
    table = worth_asking(model.next_labels(min(len(model.tasks_), MOST_PLANNED)))
    write_table(table.assign(workers=table["workers"].map(lambda names: "; ".join(map(str, names)))), path)
    say(
        f"The plan has {len(table)} of {len(model.tasks_)} tasks: those where one more answer is expected to provide "
        f"{LEAST_GAIN} bits or more, up to a limit of {MOST_PLANNED} tasks."
    )


def _say(data: Any, model: DawidSkene, summary: Summary) -> None:
    """What was read, how the fit went and what was found, in sentences."""
    say(
        f"{count(len(data), 'answer')} from {count(len(data.workers), 'worker')} on {count(len(data.tasks), 'task')}, "
        f"{count(len(data.classes), 'class')}: {how_it_ended(model)}."
    )
    for finding in summary.findings:
        say(finding.on_command_line())
    if data.columns and set(data.columns) != set(data.columns.values()):
        say("Columns read: " + ", ".join(f"{role} from {column!r}" for role, column in data.columns.items()) + ".")


def _facts(data: Any, model: DawidSkene, summary: Summary) -> dict[str, Any]:
    """The same for scripts."""
    return {
        "answers": len(data),
        "tasks": len(data.tasks),
        "workers": len(data.workers),
        "classes": [str(name) for name in data.classes],
        "mean_confidence": float(model.probas_.max(axis=1).mean()),
        "findings": findings_table(summary.findings).to_dict("records"),
    }
