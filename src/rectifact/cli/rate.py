"""rectifact rate: the share of a class, or the mean grade, and differences between groups, from judges and people.

Tables for people go to the standard output; ``-o`` writes all figures as one table.
"""

import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd
import typer
from rich.table import Table
from rich.text import Text

from rectifact.cli import options
from rectifact.cli.outcome import Outcome, notes_of, say_warnings
from rectifact.cli.reading import Sheet
from rectifact.cli.tables import check_table_name, say_columns, write_table
from rectifact.cli.terminal import STDOUT, progress, say, show, show_plain, show_read
from rectifact.core.errors import InputError, count
from rectifact.crowd.data.names import no_answers, split_names
from rectifact.crowd.data.wide import grouped_answers, without_columns
from rectifact.crowd.data.workbooks import chosen_sheet
from rectifact.crowd.panel_rates import Rates, check_asked, checked_rates
from rectifact.io.files import real_path

MOST_SHOWN = 20
"""Rows of a table on the terminal."""


def rate(
    answers: Annotated[
        Path,
        typer.Argument(
            help="CSV, TSV, Excel, Parquet, JSON or JSONL file with one answer of a judge per row: task, worker, "
            "label. Or an export of Label Studio, Prodigy or Argilla, or an Inspect log."
        ),
    ],
    gold: Annotated[
        Path,
        typer.Option(
            help="File with people's labels for some of the tasks, with columns task and label. Several labels of a "
            "task become their consensus, or with --mean their mean."
        ),
    ],
    positive: Annotated[
        list[str] | None,
        typer.Option(help="Class whose share is estimated; repeat it for several, which count together."),
    ] = None,
    mean: Annotated[
        bool, typer.Option("--mean", help="Estimate the mean of labels that are grades, instead of a share.")
    ] = False,
    by: options.By = None,
    gold_weights: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN|FILE",
            help="Where tasks for --gold were not drawn with equal probability, 1 divided by that probability: a "
            "column of the --gold file, or a file with columns task and weight.",
        ),
    ] = None,
    classes: options.Classes = None,
    half_width: options.HalfWidth = None,
    confidence: options.Confidence = 0.95,
    out: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Write all figures here: .csv, .tsv, .parquet, or - for standard output."),
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
    report: options.Report = None,
    as_json: options.Json = False,
) -> None:
    """Estimate the share of a class or the mean grade, by group, from judges and a few human labels."""
    check_asked(positive or None, mean)
    _check(answers, gold, [by, gold_weights], out, Outcome(report, save=None, as_json=as_json))
    columns = {"task": task, "worker": worker, "label": label}
    with progress("judging"), warnings.catch_warnings(record=True, action="always") as caught:
        order = None if classes is None else split_names(classes)
        source = without_columns(chosen_sheet(answers, sheet), split_names(drop or ""), wide)
        reading: dict[str, Any] = {} if source is not answers else {"form": form, "question": field}
        reading |= {"classes": order, "asked": positive or None, "gold": gold}
        data, groups = grouped_answers(source, by, columns, wide, no_answers(missing), **reading)
        asked: dict[str, Any] = {"groups": groups, "gold_weights": gold_weights, "classes": order}
        asked |= {"confidence": confidence, "half_width": half_width}
        found = checked_rates(data, gold, positive or None, **asked)
    if out is not None:
        write_table(found.table(), out)
    say_columns(data.columns)
    say_warnings(caught, "rate")
    notes = notes_of(caught, "rate")
    who = f"{count(len(data), 'answer')} from {count(len(data.workers), 'judge')} on {count(len(data.tasks), 'task')}"
    columns_read = f"{data.source['sentence']} " if data.source.get("format") == "wide" else ""
    read = f"{columns_read}{who}, and {count(int(found.rates['labels'].iloc[0]), 'task')} labelled by people."
    if as_json:
        say(read)
        _warn(found)
        show_plain(json.dumps(_facts(data, found) | {"warnings": notes}))
    elif out != STDOUT:
        _show(found, read)
    else:
        say(read)
        _warn(found)
    if report is not None:
        _write_report(found, notes, report)


def _check(answers: Path, gold: Path, named: list[str | None], out: Path | None, outcome: Outcome) -> None:
    """Refuse outputs that could not be written after the work."""
    if out is not None and out != STDOUT:
        check_table_name(out)
    files = [Path(name) for name in named if name is not None and Path(name).is_file()]
    outputs = [path for path in (out, outcome.report) if path is not None]
    if any(real_path(path) == real_path(file) for path in outputs for file in files):
        raise InputError("One file is named twice, and would be overwritten.", "Choose another name for the output.")
    outcome.check(out, [answers, gold])


def _show(found: Rates, read: str) -> None:
    """What was read, tables for people and the result in sentences, all on the standard output."""
    show_read(read)
    if found.contradicted:
        show_plain(f"warning: {found.contradicted}")
    what, interval = found.quantity.what, f"with {found.confidence:.0%} interval"
    show(_rates(found, f"{what[0].upper()}{what[1:]}, {interval}"))
    if len(found.differences):
        show(_differences(found, f"Differences{' in points' if found.quantity.unit else ''}, {interval}"))
    for sentence in found.words()[bool(found.contradicted) :][: 2 * MOST_SHOWN]:
        show_plain(sentence)


def _warn(found: Rates) -> None:
    if found.contradicted:
        say(f"warning: {found.contradicted}")


def _rates(found: Rates, title: str) -> Table:
    columns = [
        "group",
        found.quantity.noun,
        "interval",
        "people alone",
        "interval",
        "judges alone",
        "tasks",
        "labels",
        "worth",
    ]
    table = Table(*columns, *_needed_column(found), title=title, title_justify="left")
    for row in found.rates.head(MOST_SHOWN).to_dict("records"):
        corrected = _cells(row, "rate", "", found.quantity.value)
        people = _cells(row, "human_rate", "human_", found.quantity.value)
        worth = "–" if np.isnan(row["worth"]) else f"{row['worth']:.0f}"
        numbers = found.quantity.value(row["judge_rate"]), str(row["tasks"]), str(row["labels"]), worth
        table.add_row(Text(str(row["group"])), *corrected, *people, *numbers, *_needed(row, found))
    table.caption = "worth: how many labels from people would be as precise without judges."
    if len(found.rates) > MOST_SHOWN:
        table.caption += f" {count(len(found.rates) - MOST_SHOWN, 'more row')} with -o."
    return table


def _differences(found: Rates, title: str) -> Table:
    change = found.quantity.change
    columns = [
        "difference",
        found.quantity.unit.strip() or "grades",
        "interval",
        "p-value",
        "people alone",
        "interval",
        "p-value",
        "judges alone",
    ]
    paired = ["pairs"] if found.differences["pairs"].any() else []
    table = Table(*columns, "labels", *paired, *_needed_column(found), title=title, title_justify="left")
    for row in found.differences.head(MOST_SHOWN).to_dict("records"):
        cells: list[Any] = [Text(f"{row['second']} minus {row['first']}")]
        for of in ("", "human_"):
            cells += _cells(row, f"{of}difference", of, change)
            cells.append("–" if np.isnan(row[f"{of}p_value"]) else f"{row[f'{of}p_value']:.2g}")
        numbers = [str(row[name]) for name in ("labels", *paired)]
        table.add_row(*cells, change(row["judge_difference"]), *numbers, *_needed(row, found))
    if len(found.differences) > MOST_SHOWN:
        table.caption = f"{count(len(found.differences) - MOST_SHOWN, 'more row')} with -o."
    return table


def _cells(row: dict[Any, Any], value: str, of: str, form: Callable[[float], str]) -> list[str]:
    """A figure and its interval, of which a single label has none."""
    if np.isnan(row[value]):
        return ["–", "–"]
    low, high = row[f"{of}low"], row[f"{of}high"]
    return [form(row[value]), "–" if np.isnan(low) else f"{form(low)} to {form(high)}"]


def _needed_column(found: Rates) -> list[str]:
    return [] if found.half_width is None else [f"more labels for ±{found.quantity.wanted(found.half_width)}"]


def _needed(row: dict[Any, Any], found: Rates) -> list[str]:
    if found.half_width is None:
        return []
    if not np.isfinite(row["labels_needed"]):
        return ["out of reach" if np.isinf(row["labels_needed"]) else "–"]
    return [str(max(int(row["labels_needed"]) - row["labels"], 0))]


def _facts(data: Any, found: Rates) -> dict[str, Any]:
    """The same for scripts; a figure that is not defined is null."""

    def records(table: pd.DataFrame) -> Any:
        return json.loads(table.to_json(orient="records"))

    return {
        "contradicted": found.contradicted,
        "answers": len(data),
        "tasks": len(data.tasks),
        "judges": len(data.workers),
        "positive": list(map(str, found.positive)),
        "mean": found.quantity.is_mean,
        "confidence": found.confidence,
        "half_width": found.half_width,
        "rates": records(found.rates),
        "differences": records(found.differences),
    }


def _write_report(found: Rates, notes: list[str], path: Path) -> None:
    from rectifact.report import write_report
    from rectifact.report.rates import rates_report

    write_report(rates_report(found, notes), path, title="rectifact: rates")
    say(f"report -> {path}")
