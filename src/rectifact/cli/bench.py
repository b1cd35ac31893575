"""rectifact bench: errors and times, next to the papers' figures and the peers."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from rectifact.cli.terminal import output, progress, rows_table
from rectifact.core.files import atomic_path, check_writable
from rectifact.core.validation import InputError, check_option

__all__ = ["bench"]

Tables = dict[str, list[dict[str, Any]]]

FAMILIES = ("crowd", "parts")


def bench(
    family: Annotated[str, typer.Argument(help=f"What to measure: {', '.join(FAMILIES)}.")],
    peers: Annotated[
        bool, typer.Option("--peers", help="crowd: measure crowd-kit and snorkel in the same run.")
    ] = False,
    large: Annotated[bool, typer.Option("--large", help="Large data too: takes minutes and 12 GB.")] = False,
    out: Annotated[Path | None, typer.Option("--output", "-o", help="Save results and environment as JSON.")] = None,
    plot: Annotated[Path | None, typer.Option(help="parts: draw error against time here, .svg or .png.")] = None,
) -> None:
    """Measure errors and times on the published sets that are at hand, next to the papers' figures."""
    check_option("family", family, FAMILIES)
    if plot is not None and family != "parts":
        raise InputError("--plot draws error against time for parts. Leave it out.")
    for path in (out, plot):
        if path is not None:
            check_writable(path)
    from rectifact.bench.measure import environment, one_thread
    from rectifact.bench.plots import check_plot, plot_error_against_time

    if plot is not None:
        check_plot(plot)

    with progress("measuring"), one_thread():
        tables = {"crowd": _crowd, "parts": _parts}[family](peers, large)
        around = environment()
    for title, rows in tables.items():
        if rows:
            output.print(rows_table(title, rows))
    if out is not None:
        with atomic_path(out) as temporary:
            results = json.dumps({"environment": around} | tables, indent=1, allow_nan=False)
            temporary.write_text(results + "\n", encoding="utf-8")
    if plot is not None:
        plot_error_against_time(tables["error against time"], plot)


def _crowd(peers: bool, large: bool) -> Tables:
    from rectifact.bench.crowd import run_crowd
    from rectifact.bench.scaling import run_scaling

    return run_crowd(peers=peers) | {"scaling": run_scaling(peers=peers, large=large)}


def _parts(peers: bool, large: bool) -> Tables:
    from rectifact.bench.parts import run_parts
    from rectifact.bench.parts_scaling import run_parts_scaling
    from rectifact.bench.purification import run_purification

    return run_parts() | {"purification": run_purification(), "scaling": run_parts_scaling(large=large)}
