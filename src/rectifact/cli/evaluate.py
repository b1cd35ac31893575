"""rectifact evaluate: from the verdicts of judges and people to a decision.

The decision goes to the standard output in sentences; labels, plan and report are written only on request.
"""

import json
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import pandas as pd
import typer

from rectifact.cli import options
from rectifact.cli.outcome import Outcome, notes_of, say_warnings
from rectifact.cli.plans import Planning, promised
from rectifact.cli.reading import Sheet
from rectifact.cli.tables import check_table_name, named_as_read, say_columns, write_table
from rectifact.cli.terminal import QUIET, STDOUT, level, progress, say, show_plain
from rectifact.core.errors import InputError, count
from rectifact.core.findings import Finding, findings_table
from rectifact.core.threads import one_blas_thread
from rectifact.crowd import DawidSkene
from rectifact.crowd.data.names import no_answers, split_names
from rectifact.crowd.data.verdicts import read_verdicts
from rectifact.crowd.data.wide import without_columns
from rectifact.crowd.data.workbooks import chosen_sheet
from rectifact.crowd.evaluation import Evaluation, evaluation_of
from rectifact.crowd.panel_bias import Biases
from rectifact.crowd.panel_rates import Rates
from rectifact.crowd.panel_steps import sample_words, tasks_to_label
from rectifact.crowd.panel_words import decision_words, who
from rectifact.io.files import real_path


def evaluate(
    answers: Annotated[
        Path,
        typer.Argument(
            help="File of verdicts: CSV, TSV, Excel, Parquet, JSON or JSONL with one verdict per row: task, worker, "
            "label. Or an export of Label Studio, Prodigy or Argilla, or an Inspect log."
        ),
    ],
    humans: Annotated[
        Path | None, typer.Option(help="File with the verdicts of people, where they are not in ANSWERS.")
    ] = None,
    people: options.People = None,
    gold: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN|FILE",
            help="Labels known to be right, of tasks drawn at random: a file with columns task and label (or truth), "
            "or a column of ANSWERS.",
        ),
    ] = None,
    positive: Annotated[
        list[str] | None,
        typer.Option(
            help="Class whose share is estimated, such as pass, or several with commas, which count together. With "
            "--ordinal, the mean grade is estimated as well, or alone."
        ),
    ] = None,
    by: options.By = None,
    ordinal: Annotated[
        bool, typer.Option("--ordinal", help="The labels are ordered grades; if numbers, their mean is estimated.")
    ] = False,
    classes: options.Classes = None,
    out: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Write one row per task here: label, confidence, ...; as for labels."),
    ] = None,
    workers: Annotated[
        Path | None, typer.Option(help="Write one row per judge and person here: answers, accuracy, ...")
    ] = None,
    sample: Annotated[
        Path | None,
        typer.Option(help="Write tasks to label for the rate here, drawn at random from those without a label."),
    ] = None,
    plan: options.Plan = None,
    ask: options.Ask = None,
    costs: options.Costs = None,
    budget: options.Budget = None,
    target: options.Target = None,
    half_width: options.HalfWidth = 0.05,
    epsilon: options.Epsilon = 0.2,
    confidence: options.Confidence = 0.95,
    probabilities: options.Probabilities = False,
    text_column: options.TextColumn = None,
    form: options.Format = None,
    field: options.Field = None,
    task: options.Task = None,
    worker: options.Worker = None,
    label: options.Label = None,
    wide: options.Wide = False,
    drop: options.Drop = None,
    sheet: Sheet = None,
    missing: options.Missing = "auto",
    seed: options.Seed = 0,
    report: options.Report = None,
    as_json: options.Json = False,
) -> None:
    """From verdicts of judges and people to a decision: rates, agreement, who may replace whom, labels."""
    planning = Planning(plan, costs, budget, target, ask)
    _check(
        answers,
        humans,
        costs,
        [gold, by],
        out,
        [workers, sample],
        planning,
        Outcome(report, save=None, as_json=as_json),
    )
    columns = {"task": task, "worker": worker, "label": label}
    reading: dict[str, Any] = {
        "columns": columns,
        "wide": wide,
        "missing": no_answers(missing),
        "form": form,
        "question": field,
    }
    order = None if classes is None else split_names(classes)
    measuring: dict[str, Any] = {"ordinal": ordinal, "classes": order, "epsilon": epsilon, "confidence": confidence}
    bar = progress("evaluating", DawidSkene().max_iter)
    few_threads = one_blas_thread()  # tables of answers make many small products
    with few_threads, bar as callback, warnings.catch_warnings(record=True, action="always") as caught:
        data = without_columns(chosen_sheet(answers, sheet), split_names(drop or ""), wide)
        verdicts = read_verdicts(data, humans, people=people, gold=gold, by=by, text=text_column, **reading)
        found = evaluation_of(
            verdicts,
            positive=positive or None,
            half_width=half_width,
            random_state=seed,
            callbacks=[callback],
            **measuring,
        )
        asked = found.people
        needed = planning.needed(found.model, asked)
    names = verdicts.judges.columns, found.panel.answers.task_parts
    if out is not None:
        write_table(named_as_read(found.model.result(probabilities=probabilities), *names), out)
    if workers is not None:
        write_table(found.workers(), workers)
    if sample is not None:
        drawn = tasks_to_label(found, random_state=seed)
        write_table(named_as_read(drawn, *names), sample)
        say(sample_words(found, len(drawn)))
    planned = planning.write(found.model, asked, shown=report is not None)
    say_columns(verdicts.judges.columns)
    say_warnings(caught, "evaluate")
    notes, read = notes_of(caught, "evaluate"), _read(verdicts.judges.source, found)
    if as_json or out == STDOUT:
        say(read)
    if as_json:
        show_plain(json.dumps(_facts(found) | {"warnings": notes} | promised(needed), default=str))
    elif out != STDOUT:
        _show(found, read)
    if needed is not None and target is not None and plan is None:  # which says it by itself
        say(needed.words())
    if report is not None:
        _write_report(found, needed, planned, notes, report)


def _check(
    answers: Path,
    humans: Path | None,
    costs: Path | None,
    named: Sequence[str | None],
    out: Path | None,
    tables: Sequence[Path | None],
    planning: Planning,
    outcome: Outcome,
) -> None:
    """Refuse, before the work, what could not be written afterwards."""
    planning.check()
    if humans is not None and real_path(humans) == real_path(answers):
        raise InputError("ANSWERS and --humans are the same file.", "Say which of the workers are people: --people.")
    if STDOUT in tables:
        raise InputError("Only the labels can go to the standard output.", "Name a file for --workers and for --plan.")
    for path in (out, *tables):
        if path is not None and path != STDOUT:
            check_table_name(path)
    read = [Path(name) for name in named if name is not None and Path(name).is_file()]
    outcome.check(out, [answers, humans, costs, *tables, planning.path])
    written = {real_path(path) for path in (out, *tables, planning.path, outcome.report) if path is not None}
    if written & {real_path(path) for path in read}:
        raise InputError("One file is named twice, and would be overwritten.", "Choose another name for the output.")


def _read(source: dict[str, str], found: Evaluation) -> str:
    """What was read."""
    answers = found.panel.answers
    read = f"{source['sentence']} " if source else ""
    return f"{read}{count(len(answers), 'verdict')} from {who(found)} on {count(len(answers.tasks), 'task')}."


def _show(found: Evaluation, read: str) -> None:
    """The decision and all that supports it, as sentences on the standard output."""
    parts = {
        "Decision": decision_words(found),
        "Results": [*([read] if level() > QUIET else []), *found.words()[1:]],
        "About the data": [finding.on_command_line() for finding in found.findings],
        "What to do next": [step.on_command_line() for step in found.next_steps()],
    }
    for title, sentences in parts.items():
        if sentences:
            show_plain(title)
        for sentence in sentences:
            show_plain(f"  {sentence}")


def _facts(found: Evaluation) -> dict[str, Any]:
    """The same for scripts; a figure that is not defined is null."""

    def records(table: pd.DataFrame | None) -> Any:
        return [] if table is None else json.loads(table.to_json(orient="records"))

    def findings(rows: list[Finding]) -> Any:
        return findings_table(rows).to_dict("records")

    def biases(of: Biases | None) -> Any:
        if of is None:
            return None
        tables = {"biases": of.table, "leanings": of.changes, "shifts": of.shifts, "shift_changes": of.shift_changes}
        return {name: records(table) for name, table in tables.items()}

    def shares(of: Rates | None) -> dict[str, Any]:
        return {"rates": records(None if of is None else of.rates)} | {
            "differences": records(None if of is None else of.differences)
        }

    test, agreement = found.replacement, found.agreement
    return {
        "answers": len(found.panel.answers),
        "tasks": len(found.panel.answers.tasks),
        "judges": found.panel.n_judges,
        "people": int(found.panel.is_person.sum()),
        "reference": found.reference,
        "decision": decision_words(found),
        "results": found.words()[1:],
        "confidence": found.biases.confidence,
        **shares(found.rates),
        "as_people_label": shares(found.by_people),
        "mean_grades": shares(found.grades),
        "agreement": records(None if agreement is None else agreement.overall),
        "gaps": records(found.gaps),
        "workers": records(found.workers()),
        "replacement": records(None if test is None else test.judges),
        "pairs": [pair._asdict() for pair in found.pairs],
        **(biases(found.biases) or {}),
        "biases_by_people": biases(found.biases_by_people),
        "audit": None if found.audit is None else vars(found.audit),
        "findings": findings(found.findings),
        "next": findings(found.next_steps()),
    }


def _write_report(found: Evaluation, needed: Any, plan: Any, notes: list[str], path: Path) -> None:
    from rectifact.report import write_report
    from rectifact.report.evaluation import evaluation_reports

    reports = evaluation_reports(found, needed=needed, plan=plan, notes=notes)
    write_report(reports, path, title="rectifact: evaluation")
    say(f"report -> {path}")
