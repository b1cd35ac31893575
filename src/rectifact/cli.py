"""The command line: data to files or stdout, messages to stderr; exit 0 done, 1 a check failed, 2 bad input."""

import json
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd
import typer
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from rectifact import __version__
from rectifact.core.files import atomic_path, check_writable
from rectifact.core.monitor import Callback
from rectifact.core.validation import InputError
from rectifact.crowd import DawidSkene, read_answers
from rectifact.datasets import catalogue, data_folders, load_crowd

app = typer.Typer(
    no_args_is_help=True, pretty_exceptions_enable=False, help="Recover the truth behind non-negative data."
)
MOST_PLANNED = 1000  # rows of a plan, the most useful first
messages = Console(stderr=True, highlight=False, soft_wrap=True)
output = Console(highlight=False, soft_wrap=True, width=None if sys.stdout.isatty() else 160)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"rectifact {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Recover the truth behind non-negative data."""


@app.command()
def labels(
    answers: Annotated[Path, typer.Argument(help="CSV, TSV or Parquet file, one answer per row: task, worker, label.")],
    out: Annotated[
        Path,
        typer.Option("--output", "-o", help="One row per task: label, confidence, ...; .csv, .tsv, .parquet."),
    ] = Path("-"),
    workers: Annotated[Path | None, typer.Option(help="Write one row per worker here: answers, accuracy, ...")] = None,
    task: Annotated[str | None, typer.Option(help="Name of the column with the task.")] = None,
    worker: Annotated[str | None, typer.Option(help="Name of the column with the worker.")] = None,
    label: Annotated[str | None, typer.Option(help="Name of the column with the label.")] = None,
    wide: Annotated[bool, typer.Option("--wide", help="One row per task, one column per worker.")] = False,
    gold: Annotated[Path | None, typer.Option(help="File of labels that are certain: task, label.")] = None,
    plan: Annotated[Path | None, typer.Option(help="Write the 1000 tasks to label next here, and whom to ask.")] = None,
    calibrate: Annotated[bool, typer.Option("--calibrate", help="Make too high confidence honest.")] = False,
    missing: Annotated[str, typer.Option(help="What stands for no answer, besides nothing.")] = "auto",
) -> None:
    """Turn the answers of many annotators into one label per task, and learn who is good."""
    if Path("-") in (workers, plan):
        raise InputError("Only the labels can go to the standard output. Name a file for --workers and --plan.")
    outputs = [path for path in (out, workers, plan) if path is not None and path != Path("-")]
    for path in outputs:
        _check_table_name(path)
    files = [path.resolve() for path in (answers, gold, *outputs) if path is not None]
    if len(set(files)) < len(files):
        raise InputError("One file is named twice, and would be overwritten. Choose another name for the output.")
    data = read_answers(answers, task=task, worker=worker, label=label, wide=wide, missing=missing)
    with _progress("aggregating") as callback, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = DawidSkene(callbacks=[callback]).fit(data, gold=gold)
        if calibrate:
            model.calibrate()
    _write_table(model.result(), out)
    if workers is not None:
        _write_table(model.worker_report(), workers)
    if plan is not None:
        table = model.next_labels(min(len(data.tasks), MOST_PLANNED))
        _write_table(table.assign(workers=table["workers"].map(lambda names: "; ".join(map(str, names)))), plan)
    for warning in caught:
        _say(f"Note: {warning.message}")
    _say(
        f"{len(data)} answers of {len(data.workers)} workers on {len(data.tasks)} tasks, {len(data.classes)} classes: "
        f"{model.stop_reason_} after {model.n_iter_} iterations."
    )
    for row in model.diagnose().itertuples():
        _say(f"{row.severity}: {row.finding}. {row.detail} {row.remedy}")
    if data.columns and set(data.columns) != set(data.columns.values()):
        _say("Columns read: " + ", ".join(f"{role} from {column!r}" for role, column in data.columns.items()) + ".")


@app.command()
def demo() -> None:
    """Show a result on real data: five anaesthetists who graded 45 patients (Dawid and Skene, 1979)."""
    crowd = load_crowd("anaesthetists")
    model = DawidSkene().fit(crowd.answers)
    result = model.result()
    unanimous = (crowd.answers.groupby("task")["label"].nunique() == 1).sum()
    output.print("[bold]Which grade is each patient?[/bold]")
    output.print("5 anaesthetists graded 45 patients from 1 (fit) to 4 (unfit) before an operation.")
    output.print(f"All readings agree on {unanimous} patients only. The Dawid-Skene model finds the grades behind")
    output.print("the readings, and the habits of each doctor, without being told any right answer.\n")

    grades = Table("grade", "share of patients", title="Grades found", title_justify="left")
    for grade, share in zip(model.classes_, model.priors_, strict=True):
        grades.add_row(str(grade), f"{share:.2f} {'█' * round(40 * share)}")
    output.print(grades)

    doctors = Table("doctor", "readings", "right", "commonest mistake", title="Doctors", title_justify="left")
    for row, confusion in zip(model.worker_report().itertuples(), model.confusions_, strict=True):
        mistakes = confusion * model.priors_ * (1 - np.eye(len(model.classes_)))
        said, true = np.unravel_index(mistakes.argmax(), mistakes.shape)
        mistake = f"says {model.classes_[said]} for {confusion[said, true]:.0%} of grade {model.classes_[true]}"
        doctors.add_row(str(row.worker), str(row.answers), f"{row.accuracy:.0%}", mistake)
    output.print(doctors)

    doubtful = Table("patient", "grade", "confidence", "readings", title="Most doubtful patients", title_justify="left")
    for row in result.sort_values("confidence", kind="stable").head(5).itertuples():
        given = crowd.answers.query("task == @row.task")["label"]
        doubtful.add_row(str(row.task), str(row.label), f"{row.confidence:.1%}", " ".join(map(str, given)))
    output.print(doubtful)
    sure = (result["confidence"] > 0.99).sum()
    output.print(f"{sure} of {len(result)} patients are graded with more than 99 % confidence.")
    output.print("Your own answers: [bold]rectifact labels answers.csv -o truth.csv --workers workers.csv[/bold]")


@app.command()
def datasets() -> None:
    """List the data sets with a known truth, and where their files are looked for."""
    table = Table("set", "file", "found")
    for row in catalogue().itertuples(index=False):
        table.add_row(*row)
    output.print(table)
    _say("Files are looked for under " + " and then under ".join(map(str, data_folders())) + ".")


@app.command()
def bench(
    family: Annotated[str, typer.Argument(help="What to measure: crowd.")] = "crowd",
    peers: Annotated[bool, typer.Option("--peers", help="Measure the peers in the same run.")] = False,
    large: Annotated[bool, typer.Option("--large", help="Up to 100 million answers: takes minutes and 12 GB.")] = False,
    out: Annotated[Path | None, typer.Option("--output", "-o", help="Save results and environment as JSON.")] = None,
) -> None:
    """Measure errors and times on the published sets that are at hand, next to the papers' figures."""
    if family != "crowd":
        raise InputError(f"There is no benchmark {family!r}; choose crowd.")
    if out is not None:
        check_writable(out)
    from rectifact.bench.crowd import run_crowd
    from rectifact.bench.measure import environment, one_thread
    from rectifact.bench.scaling import run_scaling

    with _progress("measuring"), one_thread():
        tables = run_crowd(peers=peers) | {"scaling": run_scaling(peers=peers, large=large)}
        around = environment()
    for title, rows in tables.items():
        if rows:
            output.print(_rows_table(title, rows))
    if out is not None:
        with atomic_path(out) as temporary:
            results = json.dumps({"environment": around} | tables, indent=1, allow_nan=False)
            temporary.write_text(results + "\n", encoding="utf-8")


def _rows_table(title: str, rows: list[dict[str, Any]]) -> Table:
    """Rows as a table for people: figures short, gaps empty."""
    table = Table(*rows[0], title=title, title_justify="left")
    for row in rows:
        cells = ("" if value is None or value != value else value for value in row.values())
        table.add_row(*(f"{cell:.4g}" if isinstance(cell, float) else str(cell) for cell in cells))
    return table


def _say(text: str) -> None:
    messages.print(text, markup=False)


@contextmanager
def _progress(what: str) -> Iterator[Callback]:
    """Spinner on stderr while something runs; nothing where stderr is no terminal."""
    columns = SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn()
    with Progress(*columns, console=messages, transient=True, disable=not messages.is_terminal) as progress:
        bar = progress.add_task(what)
        yield lambda row: progress.update(bar, description=f"{what}: iteration {row['iter']:.0f}")


def _check_table_name(path: Path) -> None:
    check_writable(path)
    if path.suffix.lower() not in {".csv", ".tsv", ".parquet"} and path.parent != Path("/dev"):
        raise InputError(f"{str(path)!r} should end in .csv, .tsv or .parquet, so that its format is known. Rename it.")


def _write_table(frame: pd.DataFrame, path: Path) -> None:
    if path == Path("-"):
        try:
            frame.to_csv(sys.stdout, index=False)
            sys.stdout.flush()
        except BrokenPipeError:
            raise
        except OSError as error:
            raise InputError(f"Cannot write to the standard output: {error.strerror}.") from error
        return
    with atomic_path(path) as temporary:
        if path.suffix.lower() == ".parquet":
            frame.to_parquet(temporary, index=False)
        else:
            separator = "\t" if path.suffix.lower() == ".tsv" else ","
            frame.to_csv(temporary, index=False, sep=separator)
    _say(f"{len(frame)} rows -> {path}")


def main() -> None:
    """Run the command line; a mistake of the user is one sentence and exit code 2, anything else a traceback."""
    try:
        app()
    except InputError as error:
        _say(f"rectifact: {error}")
        sys.exit(2)
    except SystemExit as stop:
        if stop.code == 130:  # typer has caught Ctrl-C
            _say("rectifact: interrupted; no file was left half-written.")
        raise
    except BrokenPipeError:  # the reader of our output, such as head, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)


if __name__ == "__main__":
    main()
