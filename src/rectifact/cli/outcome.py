"""Helpers for the fitting commands: progress and warnings, the report, saved model and JSON summary.

Each command runs its own fit and writes its own tables, with ``tables``; an :class:`Outcome` writes the rest.
"""

import json
import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rectifact.cli.tables import check_different_files
from rectifact.cli.terminal import STDOUT, in_options, progress, say, say_more, show_plain
from rectifact.core.errors import InputError, count
from rectifact.io.files import check_writable
from rectifact.models import SavedModel, save_model


def check_image_shape(text: str | None, n_features: int) -> tuple[int, int] | None:
    """Height and width from a text such as ``28x28``, which must fit the number of features.

    Examples
    --------
    >>> check_image_shape("2x3", 6)
    (2, 3)
    """
    if text is None:
        return None
    found = re.fullmatch(r"(\d+)[x×](\d+)", text.strip())
    if found is None:
        raise InputError(f"--image {text!r} is not a height and a width.", "Give both, such as 28x28.")
    height, width = int(found[1]), int(found[2])
    if height * width != n_features:
        raise InputError(f"--image {text} has {height * width} pixels, but a sample has {n_features} features.")
    return height, width


@contextmanager
def fitting(what: str, model: Any) -> Iterator[list[warnings.WarningMessage]]:
    """Show the progress of the model while it is fitted, and collect the warnings, for :func:`say_warnings`."""
    say_more(f"{what} with {model!r} on {_where(model)}")
    most = getattr(model, "max_iter", None)
    with progress(what, most) as callback, warnings.catch_warnings(record=True, action="always") as caught:
        if most is not None:
            model.set_params(callbacks=[callback])
        yield caught


def _where(model: Any) -> str:
    """Device and threads."""
    from numba import get_num_threads
    from threadpoolctl import threadpool_info

    blas = max((library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"), default=1)
    threads = f"{count(get_num_threads(), 'thread')}, {blas} for linear algebra"
    return f"{getattr(model, 'device', 'cpu')}, {threads}"


def say_warnings(caught: Sequence[warnings.WarningMessage], command: str) -> None:
    """Print the warnings of a fit as notes, in the words of the command, each once."""
    for note in notes_of(caught, command):
        say(f"Note: {note}")


def notes_of(caught: Sequence[warnings.WarningMessage], command: str) -> list[str]:
    """The warnings of a fit in the words of the command, each once."""
    return list(dict.fromkeys(in_options(warning.message, command) for warning in caught))


def how_it_ended(model: Any, unit: str = "iteration") -> str:
    """How the fit of a model ended, as the end of a sentence; ``unit`` is what it calls an iteration."""
    if model.stop_reason_ == "closed_form":
        return "computed without iterations"
    n = count(model.n_iter_, unit)
    if model.stop_reason_ == "max_iter":
        return f"stopped at the limit of {n} without converging"
    return f"converged after {n}" if model.converged_ else f"stopped after {n} without converging"


@dataclass(frozen=True)
class Outcome:
    """Where a command's report, model and summary go. Made before the work, so that mistakes are reported at once."""

    report: Path | None
    save: Path | None
    as_json: bool
    data: Path | None = None  # the file that was read, for the heading of the report

    def check(self, out: Path | None, others: Sequence[Path | None]) -> None:
        """Refuse what could not be written afterwards; ``out`` is where data goes, ``others`` are further files."""
        if self.as_json and out == STDOUT:
            raise InputError("With --json the standard output holds the summary.", "Name a file with -o for the data.")
        if self.save is not None:
            _check_model_name(self.save)
        if self.report is not None:
            from rectifact.report.html import check_report_possible

            check_report_possible(self.report)
        check_different_files([out, self.report, self.save, *others])

    def write(self, saved: SavedModel, summary: dict[str, Any], **more: Any) -> None:
        """Write whatever was asked for; ``summary`` holds plain values, ``more`` is for the report."""
        try:
            if self.report is not None:
                write_page(saved, self.report, self.data, **more)
        finally:  # a report that fails must not lose the model, nor the other way round
            if self.save is not None:
                save_model(**vars(saved), path=self.save)
                say(f"model -> {self.save}")
        if self.as_json:
            model = saved.model
            run = {"iterations": model.n_iter_, "stop_reason": model.stop_reason_}
            show_plain(json.dumps(summary | run))


def write_page(saved: SavedModel, path: Path, data: Path | None = None, **more: Any) -> None:
    """Write the report of a model, with the name of the file ``data`` in its heading; ``more`` as in ``report_of``."""
    from rectifact.report import report_of, write_report

    with progress("writing the report"):
        page = report_of(saved, **more)
        named = None if data is None or data == STDOUT else f"rectifact: {page.title.lower()} of {data.name}"
        write_report(page, path, title=named)
    say(f"report -> {path}")


def _check_model_name(path: Path) -> None:
    if path == STDOUT:
        raise InputError("A model cannot go to the standard output.", "Name a file: --save model.rfx.")
    if path.suffix.lower() != ".rfx":
        raise InputError(f"{str(path)!r} should end in .rfx, the extension of saved models.", "Rename it.")
    check_writable(path)
