"""rectifact labels: turns the answers of many workers into one label per task.

The table of labels goes to the standard output unless ``-o`` names a file; other files are written only on request.
"""

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

import pandas as pd
import typer

from rectifact.cli import options
from rectifact.cli.dask_options import check_cluster, cluster_of
from rectifact.cli.outcome import Outcome, fitting, how_it_ended, notes_of, say_warnings
from rectifact.cli.plans import Planning, promised
from rectifact.cli.reading import Sheet
from rectifact.cli.tables import (
    check_json_name,
    check_parts_name,
    check_table_name,
    named_as_read,
    say_columns,
    write_list,
    write_parts,
    write_table,
)
from rectifact.cli.terminal import STDOUT, say
from rectifact.core.errors import InputError, count
from rectifact.core.findings import findings_table
from rectifact.crowd import DawidSkene, MajorityVote, read_answers, read_lazy
from rectifact.crowd.advice.audit import Audit, audit_of
from rectifact.crowd.advice.summary import Summary, summary_of
from rectifact.crowd.data.formats import label_studio as studio
from rectifact.crowd.data.free_texts import ASKED
from rectifact.crowd.data.groups import groups_in_column
from rectifact.crowd.data.joined import with_joined_task
from rectifact.crowd.data.label_starts import lists_apart
from rectifact.crowd.data.names import no_answers, plain_text, split_names
from rectifact.crowd.data.sources import is_source
from rectifact.crowd.data.tidy import tidied
from rectifact.crowd.data.verdicts import no_text_column, texts_in
from rectifact.crowd.data.wide import wide_table, without_columns
from rectifact.crowd.data.workbooks import chosen_sheet
from rectifact.io.files import real_path
from rectifact.io.records import json_records
from rectifact.models import SavedModel

FEW_WORKERS = 20
"""Workers up to which each of them matters: judges of a few makers, who may be wrong on the same tasks."""

UNCHECKED = (
    "Confidence assumes that workers err independently; only labels known to be right (--gold) show whether they do."
)

IN_PARTS = "a folder of Parquet files, or several files"
IN_MEMORY = "Leave out what needs all answers in memory, or give one file."


def labels(
    answers: Annotated[
        list[Path],
        typer.Argument(
            help="CSV, TSV, Excel, Parquet, JSON or JSONL file with one answer per row: task, worker, label. Or an "
            "export of Label Studio, Prodigy or Argilla, or an Inspect log. Or partitioned answers, which Dask reads: "
            "a folder of Parquet files, or several Parquet files."
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
    task: options.Task = None,
    worker: options.Worker = None,
    label: options.Label = None,
    wide: options.Wide = False,
    drop: options.Drop = None,
    sheet: Sheet = None,
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
    model: Annotated[
        Literal["auto", "full", "one-coin", "majority"],
        typer.Option(
            help="How labels are inferred. auto: a confusion matrix per worker, with priors learnt from the crowd; "
            "full: a confusion matrix per worker, by plain EM; one-coin: one accuracy per worker; majority: the most "
            "common answer."
        ),
    ] = "auto",
    plan: options.Plan = None,
    ask: options.Ask = None,
    costs: options.Costs = None,
    budget: options.Budget = None,
    target: options.Target = None,
    calibrate: Annotated[
        bool, typer.Option("--calibrate", help="Calibrate the probabilities; with --gold, using those labels.")
    ] = False,
    ordinal: Annotated[
        bool,
        typer.Option(
            "--ordinal",
            help="The labels are ordered grades: label with the median grade, and add the columns expected (the "
            "expected grade), low and high (a 90 % interval).",
        ),
    ] = False,
    classes: options.Classes = None,
    probabilities: options.Probabilities = False,
    text_column: options.TextColumn = None,
    missing: options.Missing = "auto",
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
    outcome = Outcome(report, save, as_json, answers[0] if len(answers) == 1 else None)
    partitioned = len(answers) > 1 or is_source(answers[0])
    planning = Planning(plan, costs, budget, target, ask)
    planning.check()
    _check_outputs(answers, out, [workers, plan], partitioned)
    if label_studio is not None:
        check_json_name(label_studio)
    others = [None if name is None else Path(name) for name in (groups, costs)]
    outcome.check(out, [*answers, gold, workers, plan, label_studio, *others])
    check_cluster(scheduler, local_cluster, in_parts=partitioned, parts=IN_PARTS)
    if partitioned:
        reading: dict[str, Any] = {"format": form, "field": field, "label-studio": label_studio, "classes": classes}
        reading |= {"costs": costs, "target": target, "probabilities": probabilities, "text-column": text_column}
        in_memory: dict[str, Any] = {"wide": wide, "drop": drop, "sheet": sheet, "plan": plan, "calibrate": calibrate}
        _refuse("not available for partitioned answers", IN_MEMORY, **in_memory, report=report, save=save, **reading)
    if model == "majority":
        learning: dict[str, Any] = {"gold": gold, "groups": groups, "ordinal": ordinal, "calibrate": calibrate}
        learning |= {"plan": plan, "costs": costs, "target": target, "checkpoint": checkpoint}
        _refuse("not available for the majority vote", "Leave out --model, or these.", **learning)
    fitted: Any = (
        MajorityVote()
        if model == "majority"
        else DawidSkene(model=model, device=device, ordinal=ordinal, checkpoint=checkpoint, resume=resume)
    )
    with cluster_of(scheduler, local_cluster):
        with fitting("aggregating", fitted) as caught:
            columns: dict[str, Any] = {"task": task, "worker": worker, "label": label, "missing": no_answers(missing)}
            data: Any
            texts = None
            source: Any = answers[0] if partitioned else chosen_sheet(answers[0], sheet)
            if partitioned:
                data = read_lazy(answers if len(answers) > 1 else answers[0], **columns)
            else:
                order = None if classes is None else split_names(classes)
                reading = {"format": form, "field": field, **columns}
                data, texts = _read(source, text_column, wide, drop, order, reading)
            known = gold if gold is not None or data.gold is None else pd.Series(data.gold[1], index=data.gold[0])
            families = None if groups is None else _groups(groups, source, partitioned or wide, worker)
            fitted.fit(data, **({} if model == "majority" else {"gold": known, "groups": families}))
            audit = None if known is None or model == "majority" else audit_of(fitted)
            if calibrate:
                fitted.calibrate(known)
            planning.check_names(fitted)
            planned_by = planning.basis(fitted, audit, known)
            needed = planning.needed(planned_by)
        _say_doubts(audit)
        summary = summary_of(fitted, probabilities=probabilities)
        _write_labels(summary.result, data, out)
        if workers is not None:
            write_table(summary.workers, workers)
        planned = planning.write(planned_by, shown=report is not None, audit=audit)
        if label_studio is not None:
            write_list(_tasks(data, answers[0], summary.result, field, task), label_studio)
        say_warnings(caught, "labels")
        notes = notes_of(caught, "labels")
        _say(data, fitted, summary, gold, audit)
        if needed is not None and target is not None and plan is None:  # which says it by itself
            say(needed.words())
        facts = _facts(data, fitted, summary, audit) | promised(needed) | _said(audit, notes)
        outcome.write(SavedModel(fitted), facts, needed=needed, plan=planned, audit=audit, texts=texts, notes=notes)


def _read(
    answers: Any,
    text_column: str | None,
    wide: bool,
    drop: str | None,
    order: list[str] | None,
    options: dict[str, Any],
) -> tuple[Any, Any]:
    """The answers with classes in ``order``, and the texts of the tasks, if there is a column of them."""
    source: Any = without_columns(answers, split_names(drop or ""), wide)
    source, options["task"] = with_joined_task(source, options["task"])
    texts = None
    if wide and text_column is not None:
        source, beside = wide_table(source, [text_column], options["task"])
        if text_column not in beside:
            raise no_text_column(text_column)
        texts = beside[text_column]
    if not isinstance(source, Path):
        options = {name: value for name, value in options.items() if name not in ("format", "field")}
    # Labels that differ only in case or marks are one as they are read, unless the order lists them apart.
    apart = order is not None and lists_apart(order)
    with warnings.catch_warnings():
        if order is not None:  # which answers the question
            warnings.filterwarnings("ignore", message=ASKED)
        data = read_answers(source, wide=wide, classes=order if apart else None, **options)
    data = data if order is None or apart else tidied(data, order).ordered(order)
    return data, texts if wide or text_column is None else texts_in(source, data, text_column)


def _write_labels(table: Any, data: Any, out: Path) -> None:
    """One row per task, in columns named as in the answers; partitioned answers have a table of Dask."""
    if isinstance(table, pd.DataFrame):
        write_table(named_as_read(table, data.columns, data.task_parts), out)
    else:
        write_parts(named_as_read(table, data.columns), out)


def _said(audit: Audit | None, notes: list[str]) -> dict[str, Any]:
    return ({} if audit is None else {"audit": vars(audit)}) | {"warnings": notes}


def _groups(groups: str, answers: Any, without_column: bool, worker: str | None) -> Any:
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
        folders = [real_path(folder) for folder in answers] if partitioned else []
        if path.suffix.lower() == ".parquet" and real_path(path).parent in folders:
            raise InputError(
                f"{str(path)!r} would lie among the answers, and be read as some of them the next time.",
                "Choose another folder.",
            )


def _refuse(why: str, remedy: str, **options: Any) -> None:
    """Say which options are not available."""
    wanted = [f"--{name}" for name, value in options.items() if value]
    if wanted:
        raise InputError(f"{', '.join(wanted)} {'is' if len(wanted) == 1 else 'are'} {why}.", remedy)


def _tasks(data: Any, path: Path, result: pd.DataFrame, field: str | None, task: str | None) -> Iterator[Any]:
    """Tasks for Label Studio with labels as predictions: those of the export that was read, or new ones."""
    rows = zip(result["task"].tolist(), result["label"].tolist(), result["confidence"].tolist(), strict=True)
    if data.source.get("format") != "label-studio":
        parts = data.task_parts.items()
        yield from (studio.new_task(*row, {name: by.get(row[0]) for name, by in parts}) for row in rows)
        return
    found = {plain_text(name): (label, confidence) for name, label, confidence in rows}
    for _, record in json_records(path):
        labelled = found.get(plain_text(studio.task_name(record, task)))
        made = None if labelled is None else studio.pre_annotated(record, *labelled, field)
        if made is not None:
            yield made


def _say_doubts(audit: Audit | None) -> None:
    """What forbids to use the labels, before anything else."""
    for doubt in () if audit is None else audit.findings():
        say(doubt.on_command_line())


def _say(data: Any, model: Any, summary: Summary, gold: Path | None, audit: Audit | None) -> None:
    """What was read, how the fit went and what was found, in sentences."""
    if data.source:
        say(" ".join([data.source["sentence"], *_about_gold(data, gold)]))
    say(
        f"{count(len(data), 'answer')} from {count(len(data.workers), 'worker')} on {count(len(data.tasks), 'task')}, "
        f"{count(len(data.classes), 'class')}: {how_it_ended(model)}."
    )
    for finding in summary.findings:
        say(finding.on_command_line())
    say_columns(data.columns)
    if audit is not None:
        say(audit.words())
    elif len(data.workers) <= FEW_WORKERS and not isinstance(model, MajorityVote):
        say(UNCHECKED)


def _about_gold(data: Any, gold: Path | None) -> list[str]:
    """What was done with the gold labels in the file."""
    if data.gold is None:
        return []
    found = f"{count(len(data.gold[0]), 'ground truth')} in the file {'is' if len(data.gold[0]) == 1 else 'are'}"
    return [f"{found} used as gold." if gold is None else f"{found} set aside because of --gold."]


def _facts(data: Any, model: Any, summary: Summary, audit: Audit | None) -> dict[str, Any]:
    """The same for scripts."""
    found = [*([] if audit is None else audit.findings()), *summary.findings]
    return {
        "answers": len(data),
        "tasks": len(data.tasks),
        "workers": len(data.workers),
        "classes": [str(name) for name in data.classes],
        "mean_confidence": float(model.probas_.max(axis=1).mean()),
        "findings": findings_table(found).to_dict("records"),
    }
