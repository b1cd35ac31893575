"""rectifact report: a saved model as a page for people."""

from pathlib import Path
from typing import Annotated

import typer

from rectifact.cli.tables import check_different_files
from rectifact.cli.terminal import progress, say
from rectifact.models import load_saved


def report(
    model: Annotated[Path, typer.Argument(help="Model saved with --save or save_model: .rfx.")],
    out: Annotated[Path, typer.Option("--output", "-o", help="Report to write: .html.")] = Path("report.html"),
) -> None:
    """Write the report for a saved model: one HTML file that opens offline."""
    from rectifact.report import report_of, write_report
    from rectifact.report.html import check_report_possible

    check_report_possible(out)
    check_different_files([model, out])
    saved = load_saved(model)
    with progress("writing the report"):
        found = report_of(saved)
        write_report(found, out, title=f"rectifact: {found.title.lower()}")
    say(f"report -> {out}")
