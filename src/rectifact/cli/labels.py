"""rectifact labels: turns the answers of many workers into one label per task.

The table of labels goes to the standard output unless ``-o`` names a file; other files are written only on request.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import pandas as pd
import typer

from rectifact.cli import options
from rectifact.cli.dask_options import check_cluster, cluster_of
from rectifact.cli.outcome import Outcome, fitting, how_it_ended, say_warnings
from rectifact.cli.tables import (
    check_json_name,
    check_parts_name,
    check_table_name,
    write_list,
    write_parts,
    write_table,
)
from rectifact.cli.terminal import STDOUT, say
from rectifact.core.errors import InputError, count
from rectifact.core.findings import findings_table
from rectifact.core.validation import check_positive
from rectifact.crowd import DawidSkene, read_answers, read_lazy
from rectifact.crowd.advice.budget import expected_error
from rectifact.crowd.advice.foresight import Needed
from rectifact.crowd.advice.planning import LEAST_GAIN, worth_asking
from rectifact.crowd.advice.summary import Summary, summary_of
from rectifact.crowd.data.formats import label_studio as studio
from rectifact.crowd.data.groups import groups_in_column
from rectifact.crowd.data.names import plain_text
from rectifact.crowd.data.sources import is_source
from rectifact.io.records import json_records
from rectifact.models import SavedModel

MOST_PLANNED = 1000  # rows of a plan, the most useful first
MOST_BOUGHT = 20_000  # answers of a plan in money


def labels(
    answers: Annotated[
        list[Path],
        typer.Argument(
            help="CSV, TSV, Parquet, JSON or JSONL file with one answer per row: task, worker, label. Or an export of "
            "Label Studio, Prodigy or Argilla, or an Inspect log. Or partitioned answers, which Dask reads: a folder "
            "of Parquet files, or several Parquet files."
        ),
    ],
    out: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            help="Write one row per task here: label, confidence, ...; .csv, .tsv, .parquet, .jsonl, or - for standard "
            "output. "
            "For partitioned answers, a name without an extension creates a new folder of Parquet files, written "
            "in parallel.",
        ),
    ] = STDOUT,
    workers: Annotated[Path | None, typer.Option(help="Write one row per worker here: answers, accuracy, ...")] = None,
    label_studio: Annotated[
        Path | None,
        typer.Option(help="Write the labels here as pre-annotated tasks, which Label Studio imports: .json."),
    ] = None,
    form: options.Format = None,
    field: options.Field = None,
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
    costs: Annotated[
        Path | None,
        typer.Option(
            help="File with columns worker and cost, the price of one answer: --plan then says which answers to buy "
            "from whom. Workers without a price are not asked."
        ),
    ] = None,
    budget: Annotated[float | None, typer.Option(help="Most money that --plan may spend; see --costs.")] = None,
    target: Annotated[
        float | None,
        typer.Option(
            help="Share of wrong labels that is good enough, such as 0.05: --plan ends where no more are expected, and "
            "you are told how many answers that takes."
        ),
    ] = None,
    calibrate: Annotated[
        bool, typer.Option("--calibrate", help="Calibrate the probabilities; with --gold, using those labels.")
    ] = False,
    ordinal: Annotated[
        bool,
        typer.Option(
            "--ordinal",
            help="The labels are grades in order: label with the median grade, and add the columns expected (the "
            "expected grade), low and high (a 90 % interval).",
        ),
    ] = False,
    classes: Annotated[
        str | None,
        typer.Option(metavar="A,B,C", help="All classes in order, with commas; for grades that are not numbers."),
    ] = None,
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
    if label_studio is not None:
        check_json_name(label_studio)
    check_positive(budget=budget, target=target)
    if plan is None and budget is not None:
        raise InputError("--budget is for a plan.", "Name its file: --plan plan.csv.")
    others = [None if name is None else Path(name) for name in (groups, costs)]
    outcome.check(out, [*answers, gold, workers, plan, label_studio, *others])
    parts = "a folder of Parquet files, or several files"
    check_cluster(scheduler, local_cluster, in_parts=partitioned, parts=parts)
    if partitioned:
        reading: dict[str, Any] = {"format": form, "field": field, "label-studio": label_studio, "classes": classes}
        reading |= {"costs": costs, "target": target}
        _refuse_partitioned(wide=wide, plan=plan, calibrate=calibrate, report=report, save=save, **reading)
    model = DawidSkene(device=device, ordinal=ordinal, checkpoint=checkpoint, resume=resume)
    with cluster_of(scheduler, local_cluster):
        with fitting("aggregating", model) as caught:
            columns: dict[str, Any] = {"task": task, "worker": worker, "label": label, "missing": missing}
            data: Any
            if partitioned:
                data = read_lazy(answers if len(answers) > 1 else answers[0], **columns)
            else:
                data = read_answers(answers[0], wide=wide, format=form, field=field, **columns)
                data = data if classes is None else data.ordered(classes.split(","))
            known = gold if gold is not None or data.gold is None else pd.Series(data.gold[1], index=data.gold[0])
            families = None if groups is None else _groups(groups, answers[0], partitioned or wide, worker)
            model.fit(data, gold=known, groups=families)
            if calibrate:
                model.calibrate(known)
            needed = None if target is None and costs is None else _needed(model, target, costs)
        summary = summary_of(model)
        (write_parts if partitioned else write_table)(summary.result, out)
        if workers is not None:
            write_table(summary.workers, workers)
        if plan is not None:
            _write_plan(model, plan, costs, budget, target)
        if label_studio is not None:
            write_list(_tasks(data, answers[0], summary.result, field, task), label_studio)
        say_warnings(caught, "labels")
        _say(data, model, summary, gold)
        if needed is not None and target is not None:
            say(needed.words())
        outcome.write(SavedModel(model), _facts(data, model, summary) | _promised(needed), needed=needed)


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


def _write_plan(model: DawidSkene, path: Path, costs: Path | None, budget: float | None, target: float | None) -> None:
    if (costs, budget, target) != (None, None, None):
        bought = model.next_labels(MOST_BOUGHT, costs=costs, budget=budget, target_error=target)
        write_table(bought, path)
        spent, error = (bought["spent"].iloc[-1], bought["error"].iloc[-1]) if len(bought) else (0.0, _error(model))
        say(
            f"The plan buys {count(len(bought), 'answer')} for {spent:,.2f}, after which {error:.1%} of the labels are "
            f"expected to be wrong ({_error(model):.1%} now)."
        )
        return
    table = worth_asking(model.next_labels(min(len(model.tasks_), MOST_PLANNED)))
    write_table(table.assign(workers=table["workers"].map(lambda names: "; ".join(map(str, names)))), path)
    say(
        f"The plan has {len(table)} of {len(model.tasks_)} tasks: those where one more answer is expected to provide "
        f"{LEAST_GAIN} bits or more, up to a limit of {MOST_PLANNED} tasks."
    )


def _error(model: DawidSkene) -> float:
    return expected_error(model.probas_)


def _needed(model: DawidSkene, target: float | None, costs: Path | None) -> Needed:
    """Answers needed for the target or, for the report alone, for half the error."""
    wanted = max(_error(model) / 2, 1e-6) if target is None else target
    return model.labels_needed(wanted, costs=costs)


def _promised(needed: Needed | None) -> dict[str, Any]:
    if needed is None:
        return {}
    return {"needed": {"target": needed.target, "answers": needed.answers, "cost": needed.cost}}


def _tasks(data: Any, path: Path, result: pd.DataFrame, field: str | None, task: str | None) -> Iterator[Any]:
    """Tasks for Label Studio with labels as predictions: those of the export that was read, or new ones."""
    rows = zip(result["task"].tolist(), result["label"].tolist(), result["confidence"].tolist(), strict=True)
    if data.source.get("format") != "label-studio":
        yield from (studio.new_task(*row) for row in rows)
        return
    found = {plain_text(name): (label, confidence) for name, label, confidence in rows}
    for _, record in json_records(path):
        labelled = found.get(plain_text(studio.task_name(record, task)))
        made = None if labelled is None else studio.pre_annotated(record, *labelled, field)
        if made is not None:
            yield made


def _say(data: Any, model: DawidSkene, summary: Summary, gold: Path | None) -> None:
    """What was read, how the fit went and what was found, in sentences."""
    if data.source:
        say(" ".join([data.source["sentence"], *_about_gold(data, gold)]))
    say(
        f"{count(len(data), 'answer')} from {count(len(data.workers), 'worker')} on {count(len(data.tasks), 'task')}, "
        f"{count(len(data.classes), 'class')}: {how_it_ended(model)}."
    )
    for finding in summary.findings:
        say(finding.on_command_line())
    if data.columns and set(data.columns) != set(data.columns.values()):
        say("Columns read: " + ", ".join(f"{role} from {column!r}" for role, column in data.columns.items()) + ".")


def _about_gold(data: Any, gold: Path | None) -> list[str]:
    """What was done with the gold labels in the file."""
    if data.gold is None:
        return []
    found = f"{count(len(data.gold[0]), 'ground truth')} in the file {'is' if len(data.gold[0]) == 1 else 'are'}"
    return [f"{found} used as gold." if gold is None else f"{found} left aside, because of --gold."]


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
