"""Messages, progress and data on the terminal: data goes to the standard output, everything else to stderr."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from time import perf_counter
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, SpinnerColumn, TimeElapsedColumn
from rich.table import Table

from rectifact.cli.waiting import Waiting
from rectifact.core.errors import InputError, Message, shortened
from rectifact.core.monitor import Callback, Step, watching

STDOUT = Path("-")
messages = Console(stderr=True, highlight=False, soft_wrap=True)
output = Console(highlight=False, soft_wrap=True, width=None if sys.stdout is not None and sys.stdout.isatty() else 160)


def _dashed(*names: str) -> dict[str, str]:
    return {name: f"--{name.replace('_', '-')}" for name in names}


EVERYWHERE = {"tol": "tol in Python", "missing": "rectifact embed --missing", **_dashed("checkpoint", "resume")}
NAMES = {
    "labels": _dashed("task", "worker", "label", "wide", "gold", "missing", "device", "format", "field")
    | _dashed("text_column", "target"),
    "agree": _dashed("task", "worker", "label", "wide", "missing", "level", "classes", "confidence", "epsilon")
    | _dashed("format", "field", "humans", "people"),
    "rate": _dashed("task", "worker", "label", "wide", "missing", "positive", "by", "gold_weights", "half_width")
    | _dashed("confidence", "format", "field", "mean"),
    "evaluate": _dashed("task", "worker", "label", "wide", "missing", "positive", "by", "half_width", "confidence")
    | _dashed("format", "field", "gold", "humans", "people", "epsilon", "classes", "text_column", "target")
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


QUIET, NORMAL, VERBOSE = -1, 0, 1
_level = NORMAL


def set_level(level: int) -> None:
    """How much is said: ``QUIET`` is nothing but errors and results, ``VERBOSE`` also what is being done."""
    global _level
    _level = level


def level() -> int:
    """How much is said."""
    return _level


def say(text: str) -> None:
    """Print a message on stderr, unless it should be quiet."""
    if _level > QUIET:
        complain(text)


def say_more(text: str) -> None:
    """Print a message on stderr for those who want to know what is being done."""
    if _level >= VERBOSE:
        complain(text)


def complain(text: str) -> None:
    """Print an error on stderr."""
    messages.print("\n".join(map(shortened, text.split("\n"))), markup=False)


def is_shown() -> bool:
    """Whether bars show progress: on a terminal, unless it should be quiet."""
    return messages.is_terminal and _level > QUIET


@contextmanager
def progress(what: str, max_iter: int | None = None) -> Iterator[Callback]:
    """Show how far something is: one bar over all starts, with the remaining time, if stderr is a terminal.

    With ``-v``, lines with iteration and loss are printed as well, at most one a second, and how long it took. The
    callback is for the numbers that a search tries; runs report by themselves.
    """
    columns: list[ProgressColumn | str] = [SpinnerColumn(), "{task.description}", TimeElapsedColumn()]
    if max_iter is not None:
        columns += [BarColumn(bar_width=20), "{task.fields[remaining]}"]
    hidden = not is_shown()
    waiting, line, begun = Waiting(), Line(what), perf_counter()
    with Progress(*columns, console=messages, transient=True, disable=hidden) as bars:
        bar = bars.add_task(what, total=None if max_iter is None else 1.0, remaining="")
        tried = ""

        def see(step: Step) -> None:
            waiting.see(step)
            line.see(waiting)
            words = ", ".join(part for part in (tried, waiting.words()) if part)
            found = None if tried else waiting.remaining()
            left = "" if found is None else f"{found[0]} {timedelta(seconds=round(found[1]))} to go"
            done = None if max_iter is None or tried else waiting.done
            bars.update(bar, description=f"{what}: {words}" if words else what, remaining=left, completed=done)

        def note(row: dict[str, float]) -> None:
            nonlocal tried
            if "k" in row:  # a number that was tried; how many will be is not known
                tried = f"tried {row['k']:.0f}, score {row['score']:.4g}"
                bars.update(bar, description=f"{what}: {tried}", total=None, remaining="")
                say_more(f"{what}: {tried}, {row['seconds']:.3g} s")

        with watching(see):
            yield note
    say_more(f"{what}: done after {perf_counter() - begun:.3g} s")


class Line:
    """Lines about a fit for ``-v``, at most one a second, and one at the end of each start."""

    def __init__(self, what: str) -> None:
        self.what, self._last, self._ended = what, -1.0, 0

    def see(self, waiting: Waiting) -> None:
        """Print where the fit is, unless that was done a moment ago."""
        now, ended = perf_counter(), len(waiting.ended)
        if waiting.loss is None or (now - self._last < 1 and ended == self._ended):
            return
        self._last, self._ended = now, ended
        say_more(f"{self.what}: {waiting.words()} of at most {waiting.max_iter}, loss {waiting.loss:.6g}")


def say_table(table: Table) -> None:
    """Print a table for people on stderr, unless it should be quiet."""
    if _level > QUIET:
        messages.print(table)


def show_plain(text: str) -> None:
    """Print one line for programs on the standard output."""
    with writing_to_stdout():
        sys.stdout.write(text + "\n")


def show_read(text: str) -> None:
    """Print what was read above the results on the standard output, unless it should be quiet."""
    if _level > QUIET:
        show_plain(text)


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
        drop_output()
        raise InputError(f"Cannot write to the standard output: {error.strerror}.") from error


def drop_output() -> None:
    """Let what is left for the standard output go nowhere: Python would try again, and complain, when it ends."""
    with suppress(OSError, ValueError), Path(os.devnull).open("w") as nowhere:  # the output need not be a file
        os.dup2(nowhere.fileno(), sys.stdout.fileno())
