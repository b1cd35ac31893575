"""rectifact report: a saved model as a page for people."""

from pathlib import Path
from typing import Annotated

import typer

from rectifact.cli.outcome import Outcome, write_page
from rectifact.io.files import reading
from rectifact.model_shapes import check_saved
from rectifact.models import load_saved


def report(
    model: Annotated[
        Path,
        typer.Argument(
            help="Saved model, as rectifact labels --save, rectifact parts --save, rectifact embed --save, "
            "rectifact cluster --save or save_model write it: .rfx."
        ),
    ],
    out: Annotated[Path, typer.Option("--output", "-o", help="Report to write: .html.")] = Path("report.html"),
) -> None:
    """Write the report for a saved model: one HTML file that opens offline."""
    Outcome(out, save=None, as_json=False).check(None, [model])
    saved = load_saved(model)
    with reading(model, "a model saved by rectifact"):
        check_saved(saved)
    write_page(saved, out)
