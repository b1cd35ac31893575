"""What every fitting command can give besides its data: a report, a saved model, a summary for scripts."""

import json
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from rectifact.cli.terminal import STDOUT, say, show_plain
from rectifact.cli.wording import on_command_line
from rectifact.core.errors import InputError
from rectifact.io.files import check_writable
from rectifact.models import SavedModel, save_model

__all__ = [
    "CheckpointOption",
    "JsonOption",
    "Outcome",
    "ReportOption",
    "ResumeOption",
    "SaveOption",
    "say_warnings",
]

ReportOption = Annotated[Path | None, typer.Option("--report", help="Write a report for people here: .html.")]
SaveOption = Annotated[
    Path | None, typer.Option("--save", help="Save the fitted model here: .rfx, for rectifact report.")
]
JsonOption = Annotated[
    bool, typer.Option("--json", help="Print a summary for scripts on the standard output, as JSON.")
]
CheckpointOption = Annotated[
    Path | None, typer.Option("--checkpoint", help="Folder in which the fit saves its state while it runs.")
]
ResumeOption = Annotated[
    bool, typer.Option("--resume", help="Go on with the fit in the folder of --checkpoint; begin where there is none.")
]


@dataclass(frozen=True)
class Outcome:
    """Where a command's report, model and summary go. Made before the work, so that mistakes are told at once."""

    report: Path | None
    save: Path | None
    as_json: bool

    @property
    def paths(self) -> list[Path]:
        """Files that will be written."""
        return [path for path in (self.report, self.save) if path is not None]

    def check(self, out: Path | None) -> None:
        """Refuse what could not be written afterwards; ``out`` is where the command's data goes."""
        if self.as_json and out == STDOUT:
            raise InputError("With --json the standard output holds the summary. Name a file with -o for the data.")
        if self.save is not None:
            _check_model_name(self.save)
        if self.report is not None:
            from rectifact.report.html import check_report_possible

            check_report_possible(self.report)

    def write(self, saved: SavedModel, summary: dict[str, Any]) -> None:
        """Write whatever was asked for; ``summary`` holds plain values."""
        try:
            self._write_report(saved)
        finally:  # a report that fails must not lose the model, nor the other way round
            self._save(saved)
        if self.as_json:
            model = saved.model
            run = {"iterations": model.n_iter_, "stop_reason": model.stop_reason_}
            show_plain(json.dumps(summary | run))

    def _write_report(self, saved: SavedModel) -> None:
        if self.report is None:
            return
        from rectifact.report import report_of, write_report

        report = report_of(saved)
        write_report(report, self.report, title=f"rectifact: {report.title.lower()}")
        say(f"report -> {self.report}")

    def _save(self, saved: SavedModel) -> None:
        if self.save is not None:
            save_model(**vars(saved), path=self.save)
            say(f"model -> {self.save}")


def _check_model_name(path: Path) -> None:
    if path == STDOUT:
        raise InputError("A model cannot go to the standard output. Name a file: --save model.rfx.")
    if path.suffix.lower() != ".rfx":
        raise InputError(f"{str(path)!r} should end in .rfx, so that it is known as a model. Rename it.")
    check_writable(path)


def say_warnings(caught: Sequence[warnings.WarningMessage], command: str) -> None:
    """Warnings of a fit as notes, in the words of the command."""
    for warning in caught:
        say(f"Note: {on_command_line(str(warning.message), command)}")
