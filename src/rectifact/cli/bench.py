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

FAMILIES = ("crowd", "parts", "latent", "graph")
PLOTS = ("parts", "latent")


def bench(
    family: Annotated[str, typer.Argument(help=f"What to measure: {', '.join(FAMILIES)}.")],
    peers: Annotated[
        bool, typer.Option("--peers", help="crowd, graph: measure crowd-kit, snorkel and scikit-learn in the same run.")
    ] = False,
    large: Annotated[bool, typer.Option("--large", help="Large data too: takes minutes and 12 GB.")] = False,
    out: Annotated[Path | None, typer.Option("--output", "-o", help="Save results and environment as JSON.")] = None,
    plot: Annotated[Path | None, typer.Option(help="parts, latent: draw the figure here, .svg, .png or .pdf.")] = None,
) -> None:
    """Measure errors and times on the published sets that are at hand, next to the papers' figures."""
    check_option("family", family, FAMILIES)
    if plot is not None and family not in PLOTS:
        raise InputError(f"--plot is for {' and '.join(PLOTS)}. Leave it out.")
    for path in (out, plot):
        if path is not None:
            check_writable(path)
    from rectifact.bench.measure import environment, one_thread
    from rectifact.bench.plots import check_plot, plot_error_against_time, plot_rmse_against_rank

    if plot is not None:
        check_plot(plot)

    with progress("measuring"), one_thread():
        tables = {"crowd": _crowd, "parts": _parts, "latent": _latent, "graph": _graph}[family](peers, large)
        around = environment()
    for title, rows in tables.items():
        if rows:
            output.print(rows_table(title, rows))
    if out is not None:
        with atomic_path(out) as temporary:
            results = json.dumps({"environment": around} | tables, indent=1, allow_nan=False)
            temporary.write_text(results + "\n", encoding="utf-8")
    if plot is not None and family == "parts":
        plot_error_against_time(tables["error against time"], plot)
    elif plot is not None:
        plot_rmse_against_rank(tables["rmse against rank"], plot)


def _crowd(peers: bool, large: bool) -> Tables:
    from rectifact.bench.crowd import run_crowd
    from rectifact.bench.scaling import run_scaling

    return run_crowd(peers=peers) | {"scaling": run_scaling(peers=peers, large=large)}


def _latent(peers: bool, large: bool) -> Tables:
    from rectifact.bench.latent import run_latent
    from rectifact.bench.latent_scaling import run_latent_scaling

    return run_latent(large=large) | {"scaling": run_latent_scaling(large=large)}


def _graph(peers: bool, large: bool) -> Tables:
    from rectifact.bench.graph import run_graph
    from rectifact.bench.graph_scaling import run_graph_scaling

    return run_graph(peers=peers, large=large) | run_graph_scaling(large=large)


def _parts(peers: bool, large: bool) -> Tables:
    from rectifact.bench.parts import run_parts
    from rectifact.bench.parts_scaling import run_parts_scaling
    from rectifact.bench.purification import run_purification

    return run_parts() | {"purification": run_purification(), "scaling": run_parts_scaling(large=large)}
