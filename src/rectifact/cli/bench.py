"""rectifact bench: errors and times, next to the papers' figures and the peers."""

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from rectifact.bench.check import compare
from rectifact.bench.results import check_result_name, columns_of, plain, read_result, save_result, short
from rectifact.cli.tables import check_different_files
from rectifact.cli.terminal import progress, say, show
from rectifact.core.errors import InputError, count
from rectifact.core.validation import check_option
from rectifact.io.files import check_writable

Tables = dict[str, list[dict[str, Any]]]

PLOTS = ("parts", "latent")


@dataclass(frozen=True)
class Extent:
    """How much to measure."""

    peers: bool
    large: bool
    quick: bool


def bench(
    family: Annotated[
        str, typer.Argument(help="What to measure: crowd, parts, latent, graph, all (these four), cuda or dask.")
    ],
    peers: Annotated[
        bool, typer.Option("--peers", help="With crowd or graph: also measure crowd-kit, snorkel and scikit-learn.")
    ] = False,
    large: Annotated[
        bool, typer.Option("--large", help="Also measure large data, which takes minutes and 12 GB of memory.")
    ] = False,
    quick: Annotated[
        bool, typer.Option("--quick", help="Measure only some of the rows, in about a minute per family.")
    ] = False,
    out: Annotated[
        list[Path] | None,
        typer.Option(
            "--output",
            "-o",
            help="Save the environment and the tables here: .json or .md; may be given more than once.",
        ),
    ] = None,
    check: Annotated[
        Path | None, typer.Option(help="Compare with this stored .json result; exit with code 1 if a figure is worse.")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(help="With parts or latent: draw the figure here: .svg, .png or .pdf.")
    ] = None,
) -> None:
    """Measure errors and times on the published data sets on this machine, next to the papers' figures."""
    check_option("family", family, (*FAMILIES, *ELSEWHERE, "all"))
    families = tuple(FAMILIES) if family == "all" else (family,)
    outputs = list(out or ())
    if large and quick:
        raise InputError("--large and --quick are mutually exclusive.", "Leave one out.")
    check_different_files([*outputs, check, plot])
    for path in outputs:
        check_result_name(path)
    _check_plot(family, plot)
    _check_place(families)
    stored = None if check is None else read_result(check)

    around, tables = _measure(families, Extent(peers, large, quick))
    for path in outputs:
        save_result({"environment": around, "tables": tables}, path)
    if plot is not None:
        _draw(tables, plot)
    if check is not None and stored is not None:
        _compare(tables, stored, check)


def _check_plot(family: str, plot: Path | None) -> None:
    if plot is None:
        return
    if family not in PLOTS:
        raise InputError(f"--plot is for {' and '.join(PLOTS)}.", "Leave it out.")
    from rectifact.bench.plots import check_plot

    check_writable(plot)
    check_plot(plot)


def _check_place(families: tuple[str, ...]) -> None:
    for family, package in (("graph", "torch"), ("cuda", "torch"), ("dask", "distributed")):
        if family in families and find_spec(package) is None:
            extra = "dask" if package == "distributed" else package
            raise InputError(f"Measuring {family} needs {package}.", f"Install it: pip install 'rectifact[{extra}]'.")
    if "cuda" in families:
        import torch

        if not torch.cuda.is_available() or find_spec("triton") is None:
            raise InputError("Measuring cuda needs a CUDA device and Triton, and one of them is missing.")


def _measure(families: tuple[str, ...], extent: Extent) -> tuple[dict[str, Any], dict[str, Tables]]:
    """The environment, and the tables of one family after the other, each shown as soon as it is measured."""
    from rectifact.bench.measure import environment, one_thread

    with one_thread() if families[0] in FAMILIES else nullcontext():  # as they are measured
        around = plain(environment())
    tables = {}
    for family in families:
        with progress(f"measuring {family}"):
            tables[family] = plain((FAMILIES | ELSEWHERE)[family](extent))
        for title, rows in tables[family].items():
            if rows:
                show(rows_table(f"{family}: {title}", rows))
    return around, tables


def _compare(tables: dict[str, Tables], stored: dict[str, Any], check: Path) -> None:
    """Say what is in one result only, show what got worse, and exit with 1 if anything did."""
    found = compare(tables, stored["tables"])
    for row in found.unmatched:
        counts = f"{count(row['only measured'], 'row')} only measured, {row['only stored']} only in {check}"
        say(f"{row['family']}, {row['table']}: {counts}.")
    for row in found.gone:
        rows = count(row["rows"], "row")
        say(f"{row['family']}, {row['table']}: {row['column']!r} is no longer measured in {rows}.")
    if not found.n_compared:
        raise InputError(
            f"{str(check)!r} has none of the figures that were measured.", "Store a result of the same family."
        )
    if found.regressions:
        show(rows_table(f"worse than in {check}", found.regressions))
    where = ", ".join(str(stored["environment"][name]) for name in ("date", "cpu") if name in stored["environment"])
    figures = count(found.n_compared, "figure")
    say(f"{figures} compared with {check} ({where}): {len(found.regressions)} got worse.")
    if found.regressions:
        raise typer.Exit(1)


def rows_table(title: str, rows: list[dict[str, Any]]) -> Table:
    """Rows as a table for people: short figures, empty gaps, a column for every name that some row has."""
    columns = columns_of(rows)
    table = Table(*map(escape, columns), title=escape(title), title_justify="left")
    for row in rows:
        table.add_row(*(Text(short(row.get(column))) for column in columns))
    return table


def _draw(tables: dict[str, Tables], plot: Path) -> None:
    from rectifact.bench.plots import plot_error_against_time, plot_rmse_against_rank

    if "parts" in tables:
        plot_error_against_time(tables["parts"]["error against time"], plot)
    else:
        plot_rmse_against_rank(tables["latent"]["rmse against rank"], plot)


# Modules are imported before the threads are limited: a library that is loaded later would not be limited.


def _crowd(extent: Extent) -> Tables:
    from rectifact.bench.crowd import run_crowd
    from rectifact.bench.crowd_scaling import run_scaling
    from rectifact.bench.measure import one_thread

    with one_thread():
        return run_crowd(peers=extent.peers, quick=extent.quick) | {
            "scaling": run_scaling(peers=extent.peers, large=extent.large, quick=extent.quick)
        }


def _parts(extent: Extent) -> Tables:
    from rectifact.bench.measure import one_thread
    from rectifact.bench.parts import run_parts
    from rectifact.bench.parts_purification import run_purification
    from rectifact.bench.parts_scaling import run_parts_scaling

    with one_thread():
        return run_parts(quick=extent.quick) | {
            "purification": run_purification(quick=extent.quick),
            "scaling": run_parts_scaling(large=extent.large, quick=extent.quick),
        }


def _latent(extent: Extent) -> Tables:
    from rectifact.bench.latent import run_latent
    from rectifact.bench.latent_scaling import run_latent_scaling
    from rectifact.bench.measure import one_thread

    with one_thread():
        scaling = run_latent_scaling(large=extent.large, quick=extent.quick)
        return run_latent(large=extent.large, quick=extent.quick) | {"scaling": scaling}


def _graph(extent: Extent) -> Tables:
    from rectifact.bench.graph import run_graph
    from rectifact.bench.graph_scaling import run_graph_scaling
    from rectifact.bench.measure import one_thread
    from rectifact.graph import net  # noqa: F401

    with one_thread():
        tables = run_graph(peers=extent.peers, large=extent.large, quick=extent.quick)
        return tables | run_graph_scaling(large=extent.large, quick=extent.quick)


FAMILIES: dict[str, Callable[[Extent], Tables]] = {
    "crowd": _crowd,
    "parts": _parts,
    "latent": _latent,
    "graph": _graph,
}


def _cuda(extent: Extent) -> Tables:
    from rectifact.bench.cuda import run_cuda

    return run_cuda(quick=extent.quick)


def _dask(extent: Extent) -> Tables:
    from rectifact.bench.dask import run_dask

    return {"fits": run_dask(quick=extent.quick)}


ELSEWHERE: dict[str, Callable[[Extent], Tables]] = {"cuda": _cuda, "dask": _dask}
"""What is measured on other machines than the families, and is not part of all."""
