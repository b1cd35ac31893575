"""What all commands share: where messages and data go, progress, and tables in files."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from rich.text import Text

from rectifact.bench.results import columns_of, short
from rectifact.core.errors import InputError
from rectifact.core.monitor import Callback
from rectifact.io.files import atomic_path, check_writable

__all__ = [
    "STDOUT",
    "check_different_files",
    "check_table_name",
    "output",
    "progress",
    "rows_table",
    "save_arrays",
    "say",
    "show",
    "show_plain",
    "write_table",
    "writing_to_stdout",
]

STDOUT = Path("-")
messages = Console(stderr=True, highlight=False, soft_wrap=True)
output = Console(highlight=False, soft_wrap=True, width=None if sys.stdout is not None and sys.stdout.isatty() else 160)


def say(text: str) -> None:
    """Message to the user, on stderr."""
    messages.print(text, markup=False)


@contextmanager
def progress(what: str, max_iter: int | None = None) -> Iterator[Callback]:
    """Bar on stderr while something runs, with rate and remaining time; nothing where stderr is no terminal."""
    columns: list[ProgressColumn | str] = [SpinnerColumn(), "{task.description}", TimeElapsedColumn()]
    if max_iter is not None:
        columns += [BarColumn(bar_width=20), "{task.fields[rate]}", "at most", TimeRemainingColumn(), "to go"]
    with Progress(*columns, console=messages, transient=True, disable=not messages.is_terminal) as bars:
        bar = bars.add_task(what, total=max_iter, rate="")

        def advance(row: dict[str, float]) -> None:
            rate = f"{row['iter'] / max(row['seconds'], 1e-9):.3g}/s"
            description = f"{what}: iteration {row['iter']:.0f}"
            bars.update(bar, completed=row["iter"], description=description, rate=rate)

        yield advance


def show_plain(text: str) -> None:
    """Print one line of data for programs on the standard output."""
    with writing_to_stdout():
        sys.stdout.write(text + "\n")
        sys.stdout.flush()


def show(what: Any) -> None:
    """Print data for people on the standard output."""
    with writing_to_stdout():
        output.print(what)
        sys.stdout.flush()


@contextmanager
def writing_to_stdout() -> Iterator[None]:
    """One sentence where the standard output cannot be written to."""
    if sys.stdout is None:
        raise InputError("Cannot write to the standard output: it is closed.")
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise InputError(f"Cannot write to the standard output: {error.strerror}.") from error


def rows_table(title: str, rows: list[dict[str, Any]]) -> Table:
    """Rows as a table for people: figures short, gaps empty, a column for every name that some row has."""
    columns = columns_of(rows)
    table = Table(*map(escape, columns), title=escape(title), title_justify="left")
    for row in rows:
        table.add_row(*(Text(short(row.get(column))) for column in columns))
    return table


def check_different_files(paths: list[Path | None]) -> None:
    """Refuse one file under two names, which would be overwritten."""
    files = [path.resolve() for path in paths if path is not None and path != STDOUT]
    if len(set(files)) < len(files):
        raise InputError("One file is named twice, and would be overwritten. Choose another name for the output.")


def check_table_name(path: Path) -> None:
    """Refuse a name that does not tell the format, or a place that cannot be written to."""
    check_writable(path)
    if path.suffix.lower() not in {".csv", ".tsv", ".parquet"} and path.parent != Path("/dev"):
        raise InputError(f"{str(path)!r} should end in .csv, .tsv or .parquet, so that its format is known. Rename it.")


def save_arrays(path: Path, arrays: dict[str, Any]) -> None:
    """Write an .npz archive whole or not at all; names are arrays of text, so nothing is pickled."""
    with atomic_path(path) as temporary, temporary.open("wb") as file:
        np.savez_compressed(file, **arrays)
    say(f"{', '.join(arrays)} -> {path}")


def write_table(frame: pd.DataFrame, path: Path) -> None:
    """Write a table whole or not at all; ``-`` is the standard output."""
    if path == STDOUT:
        with writing_to_stdout():
            frame.to_csv(sys.stdout, index=False)
            sys.stdout.flush()
        return
    with atomic_path(path) as temporary:
        if path.suffix.lower() == ".parquet":
            frame.to_parquet(temporary, index=False)
        else:
            separator = "\t" if path.suffix.lower() == ".tsv" else ","
            frame.to_csv(temporary, index=False, sep=separator)
    say(f"{len(frame)} rows -> {path}")
