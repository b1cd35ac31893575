"""rectifact agree: how far workers agree, and whether judges may replace people.

Tables for people go to the standard output; ``-o`` writes all figures as one table.
"""

import json
import warnings
from pathlib import Path
from typing import Annotated, Any, Literal

import pandas as pd
import typer
from rich.table import Table
from rich.text import Text

from rectifact.cli import options
from rectifact.cli.outcome import Outcome, notes_of, say_warnings
from rectifact.cli.reading import Sheet
from rectifact.cli.tables import check_table_name, say_columns, write_table
from rectifact.cli.terminal import STDOUT, progress, say, say_more, show, show_plain, show_read
from rectifact.core.errors import InputError, count
from rectifact.crowd.data.levels import mention_grades
from rectifact.crowd.data.mixed import read_mixed_panel
from rectifact.crowd.data.names import no_answers, split_names
from rectifact.crowd.data.people import Panel
from rectifact.crowd.data.wide import without_columns
from rectifact.crowd.data.workbooks import chosen_sheet
from rectifact.crowd.panel_agreement import Agreement, agreement_of
from rectifact.crowd.panel_replacement import Replacement, check_shares, replacement_of
from rectifact.io.files import real_path

MOST_SHOWN = 20
"""Rows of a table on the terminal."""

TEST_ALONE = (
    "The test looks at agreement alone: a judge that passes may be biased, or right less often than people; rectifact "
    "evaluate looks at that."
)


def agree(
    answers: Annotated[
        Path,
        typer.Argument(
            help="CSV, TSV, Excel, Parquet, JSON or JSONL file with one answer per row: task, worker, label. Or an "
            "export of Label Studio, Prodigy or Argilla, or an Inspect log."
        ),
    ],
    humans: Annotated[
        Path | None,
        typer.Option(
            help="File with people's answers to the same tasks. The workers in ANSWERS are then judges, who are "
            "compared with people, and the test shows whether they may replace them."
        ),
    ] = None,
    people: options.People = None,
    level: Annotated[
        Literal["nominal", "ordinal", "interval"] | None,
        typer.Option(
            help="Whether answers are labels (nominal), ordered grades (ordinal) or numbers (interval); if not given, "
            "labels, and a note where they could be grades."
        ),
    ] = None,
    classes: options.Classes = None,
    epsilon: options.Epsilon = 0.2,
    confidence: options.Confidence = 0.95,
    out: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="Write all figures here, one per row; .csv, .tsv, .parquet, or - for standard output.",
        ),
    ] = None,
    tests: Annotated[
        Path | None, typer.Option(help="With people: write the test of each judge against each person here.")
    ] = None,
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
    """Measure how well workers agree, and judges with people, and test whether judges may replace people."""
    _check(answers, humans, people, out, tests, Outcome(report, save=None, as_json=as_json))
    order = None if classes is None else split_names(classes)
    columns = {"task": task, "worker": worker, "label": label}
    with progress("comparing"), warnings.catch_warnings(record=True, action="always") as caught:
        reading: dict[str, Any] = {"columns": columns, "wide": wide, "missing": no_answers(missing)}
        data = without_columns(chosen_sheet(answers, sheet), split_names(drop or ""), wide)
        reading |= {} if data is not answers else {"form": form, "question": field}
        panel = read_mixed_panel(data, humans, people=people, level=level or "nominal", classes=order, **reading)
        say_more(f"comparing: {_read(panel)}")
        if level is None:
            mention_grades(panel.answers)
        found = agreement_of(panel, confidence=confidence, n_resamples=1000, random_state=seed)
        test = _test(panel, epsilon)
    if out is not None:
        write_table(found.table(), out)
    if tests is not None and test is not None:
        write_table(test.people, tests)
    say_columns(panel.answers.columns)
    say_warnings(caught, "agree")
    notes, read = notes_of(caught, "agree"), _read(panel)
    if as_json:
        say(read)
        show_plain(json.dumps(_facts(panel, found, test) | {"warnings": notes}))
    elif out != STDOUT:
        _show(found, test, read)
    else:
        say(read)
    if report is not None:
        _write_report(found, test, notes, report)


def _check(
    answers: Path, humans: Path | None, people: str | None, out: Path | None, tests: Path | None, outcome: Outcome
) -> None:
    """Refuse outputs that could not be written after the work."""
    if humans is not None and real_path(humans) == real_path(answers):
        raise InputError("ANSWERS and --humans are the same file.", "Say which of the workers are people: --people.")
    if tests is not None and humans is None and people is None:
        raise InputError(
            "--tests needs people to test judges against.", "Name a file with --humans, or workers with --people."
        )
    if tests == STDOUT:
        raise InputError("Only the figures of -o can go to the standard output.", "Name a file for --tests.")
    for path in (out, tests):
        if path is not None and path != STDOUT:
            check_table_name(path)
    outcome.check(out, [answers, humans, tests])


def _test(panel: Panel, epsilon: float) -> Replacement | None:
    """The test of the judges; none without people, or with one."""
    check_shares(epsilon=epsilon)
    if not panel.has_people:
        return None
    if len(panel.answers.workers) - panel.n_judges < 2:
        warnings.warn("There is one person, and the test of the judges takes two.", stacklevel=1)
        return None
    return replacement_of(panel, epsilon=epsilon)


def _read(panel: Panel) -> str:
    """What was read."""
    answers = panel.answers
    n_people = len(answers.workers) - panel.n_judges
    who = count(panel.n_judges, "judge") + f" and {n_people} {'person' if n_people == 1 else 'people'}"
    who = who if panel.has_people else count(len(answers.workers), "worker")
    read = f"{answers.source['sentence']} " if answers.source.get("format") == "wide" else ""
    return f"{read}{count(len(answers), 'answer')} from {who} on {count(len(answers.tasks), 'task')}."


def _show(found: Agreement, test: Replacement | None, read: str) -> None:
    """What was read, and tables and sentences for people, all on the standard output."""
    show_read(read)
    interval = f"{found.confidence:.0%} interval"
    show(_table(found.overall, ["among"], f"Agreement, with {interval}"))
    if len(found.classes):
        rows = found.classes[found.classes["coefficient"] != "share of answers"]
        show(_table(rows, ["among", "class"], f"By class, with {interval}"))
    kappa = "Cohen's kappa"
    workers = found.workers[found.workers["coefficient"] == kappa].sort_values("value", ascending=False)
    show(_table(workers, ["worker", "with"], f"By worker, with {interval}"))
    pairs = found.pairs[found.pairs["coefficient"] == kappa].sort_values("value", ascending=False)
    show(_table(pairs, ["first", "second"], f"By pair, with {interval}"))
    if test is not None:
        show(_judges(test))
        for sentence in test.words():
            show_plain(sentence)
        show_plain(TEST_ALONE)


def _table(rows: pd.DataFrame, names: list[str], title: str) -> Table:
    """Names, coefficient, value, interval and number of tasks; the note where there is no value."""
    table = Table(*names, "coefficient", "value", "interval", "tasks", title=title, title_justify="left")
    for row in rows.head(MOST_SHOWN).to_dict("records"):
        value = f"{row['value']:.3f}" if pd.notna(row["value"]) else "–"
        ends = f"{row['low']:.3f} to {row['high']:.3f}" if pd.notna(row["low"]) else row["note"]
        table.add_row(*(Text(str(row[name])) for name in (*names, "coefficient")), value, ends, str(row["tasks"]))
    if len(rows) > MOST_SHOWN:
        table.caption = f"{count(len(rows) - MOST_SHOWN, 'more row')} with -o."
    return table


def _judges(test: Replacement) -> Table:
    title = f"May judges replace people? Alternative annotator test, epsilon {test.epsilon:g}"
    table = Table(
        "judge", "decision", "winning rate", "as good or better", "p-values", title=title, title_justify="left"
    )
    for row in test.judges.to_dict("records"):
        p_values = test.people.loc[test.people["judge"] == row["judge"], "p_value"]
        shown = ", ".join("–" if pd.isna(p) else f"{p:.2g}" for p in p_values[:MOST_SHOWN])
        shares = ("–" if pd.isna(row[name]) else f"{row[name]:.0%}" for name in ("winning_rate", "advantage"))
        table.add_row(Text(str(row["judge"])), row["decision"], *shares, shown)
    table.caption = "One p-value per person: " + ", ".join(map(str, test.people["person"].unique()[:MOST_SHOWN]))
    return table


def _facts(panel: Panel, found: Agreement, test: Replacement | None) -> dict[str, Any]:
    """The same for scripts."""

    def records(table: pd.DataFrame) -> Any:
        return json.loads(table.to_json(orient="records"))

    facts = {
        "answers": len(panel.answers),
        "tasks": len(panel.answers.tasks),
        "workers": len(panel.answers.workers),
        "level": found.level,
        "confidence": found.confidence,
        "agreement": records(found.overall),
    }
    if test is not None:
        facts |= {"epsilon": test.epsilon, "judges": records(test.judges), "tests": records(test.people)}
    return facts


def _write_report(found: Agreement, test: Replacement | None, notes: list[str], path: Path) -> None:
    from rectifact.report import write_report
    from rectifact.report.agreement import agreement_report

    write_report(agreement_report(found, test, notes), path, title="rectifact: agreement")
    say(f"report -> {path}")
