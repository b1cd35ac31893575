"""Messages, progress and data on the terminal: data goes to the standard output, everything else to stderr."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, SpinnerColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from rectifact.core.errors import InputError, Message
from rectifact.core.monitor import Callback

STDOUT = Path("-")
messages = Console(stderr=True, highlight=False, soft_wrap=True)
output = Console(highlight=False, soft_wrap=True, width=None if sys.stdout is not None and sys.stdout.isatty() else 160)


def _dashed(*names: str) -> dict[str, str]:
    return {name: f"--{name.replace('_', '-')}" for name in names}


EVERYWHERE = {"tol": "tol in Python", "missing": "rectifact embed --missing", **_dashed("checkpoint", "resume")}
NAMES = {
    "labels": _dashed("task", "worker", "label", "wide", "gold", "missing", "device", "format", "field")
    | _dashed("text_column"),
    "agree": _dashed("task", "worker", "label", "wide", "missing", "level", "classes", "confidence", "epsilon")
    | _dashed("format", "field"),
    "rate": _dashed("task", "worker", "label", "wide", "missing", "positive", "by", "gold_weights", "half_width")
    | _dashed("confidence", "format", "field"),
    "evaluate": _dashed("task", "worker", "label", "wide", "missing", "positive", "by", "half_width", "confidence")
    | _dashed("format", "field", "gold", "humans", "people", "epsilon", "classes", "text_column")
    | {"gold_weights": "rectifact rate --gold-weights", "level": "--ordinal"},
    "parts": {
        "n_components": "-k",
        **_dashed("stop_words", "min_df", "max_df", "max_words", "ngrams", "init", "noise_floor", "normalize"),
        **_dashed("refine", "background", "decode", "missing"),
    },
    "embed": {"n_components": "-k", **_dashed("link", "objective", "missing", "max_iter")},
    "cluster": {
        "n_clusters": "-k",
        "n_neighbors": "--neighbors",
        "n_jobs": "--jobs",
        **_dashed("metric", "l1", "n_init", "solver", "init"),
        "min_component": "--min-component",
    },
}
"""The option of each command for each parameter of Python that messages mention."""


def in_options(message: Any, command: str) -> str:
    """A message of the library with the options of ``command`` in place of parameters; other text as it is."""
    names = EVERYWHERE | NAMES.get(command, {})
    return message.on_command_line(names) if isinstance(message, Message) else str(message)


def say(text: str) -> None:
    """Print a message on stderr."""
    messages.print(text, markup=False)


@contextmanager
def progress(what: str, max_iter: int | None = None) -> Iterator[Callback]:
    """Show a bar with rate and remaining time while something runs; nothing if stderr is not a terminal."""
    columns: list[ProgressColumn | str] = [SpinnerColumn(), "{task.description}", TimeElapsedColumn()]
    if max_iter is not None:
        columns += [BarColumn(bar_width=20), "{task.fields[rate]}", "at most", TimeRemainingColumn(), "to go"]
    with Progress(*columns, console=messages, transient=True, disable=not messages.is_terminal) as bars:
        bar = bars.add_task(what, total=max_iter, rate="")

        def advance(row: dict[str, float]) -> None:
            if "k" in row:  # a number that was tried
                bars.update(bar, description=f"{what}: tried {row['k']:.0f}, score {row['score']:.4g}")
                return
            rate = f"{row['iter'] / max(row['seconds'], 1e-9):.3g}/s"
            description = f"{what}: iteration {row['iter']:.0f}"
            bars.update(bar, completed=row["iter"], description=description, rate=rate)

        yield advance


def say_table(table: Table) -> None:
    """Print a table for people on stderr."""
    messages.print(table)


def show_plain(text: str) -> None:
    """Print one line for programs on the standard output."""
    with writing_to_stdout():
        sys.stdout.write(text + "\n")


def show(what: Any) -> None:
    """Print text or a table for people on the standard output."""
    with writing_to_stdout():
        output.print(what)


@contextmanager
def writing_to_stdout() -> Iterator[None]:
    """Write all of it to the standard output; a failure is an :class:`InputError`."""
    if sys.stdout is None:
        raise InputError("Cannot write to the standard output: it is closed.")
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise InputError(f"Cannot write to the standard output: {error.strerror}.") from error
