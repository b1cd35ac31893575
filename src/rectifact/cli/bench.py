"""rectifact bench: errors and times, next to the papers' figures and the peers."""

from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import typer

from rectifact.bench import Extent, Tables
from rectifact.bench.check import compare
from rectifact.bench.plots import check_plot, plot_error_against_time, plot_rmse_against_rank
from rectifact.bench.results import check_result_name, plain, read_result, save_result
from rectifact.cli.bench_paper import bench_paper, rows_table
from rectifact.cli.tables import check_different_files
from rectifact.cli.terminal import progress, say, show
from rectifact.core.errors import InputError, count, missing_extra
from rectifact.core.validation import check_option

Run = Callable[[Extent], Tables]

PLOTS = {
    "parts": ("error against time", plot_error_against_time),
    "latent": ("rmse against rank", plot_rmse_against_rank),
}
"""The table that is drawn, and how."""


def bench(
    family: Annotated[
        str,
        typer.Argument(
            help="What to measure: crowd, parts, latent, graph, all (these four), panels, selection, scaling, cluster, "
            "cuda or dask; or paper."
        ),
    ],
    name: Annotated[
        str | None,
        typer.Argument(
            help="After paper, which one: crowd, and, purification, nmd or symnmf-net. After panels, only this table: "
            "grades, rates, differences, agreement or budget."
        ),
    ] = None,
    peers: Annotated[
        bool,
        typer.Option(
            "--peers",
            help="Also measure others: with crowd EBCC, BWA, crowd-kit and snorkel; with parts NMF, SPA and VCA; with "
            "latent implicit; with graph scikit-learn, Louvain and Leiden; with selection consensus NMF.",
        ),
    ] = False,
    large: Annotated[
        bool, typer.Option("--large", help="Also measure on large data, which takes minutes and 12 GB of memory.")
    ] = False,
    quick: Annotated[
        bool,
        typer.Option(
            "--quick", help="Measure only some rows of the tables, in about a minute per family; peers take longer."
        ),
    ] = False,
    out: Annotated[
        list[Path] | None,
        typer.Option(
            "--output",
            "-o",
            help="Save the environment and the tables here: .json or .md; may be given more than once. With paper, or "
            "a table of panels, a .json file keeps what is not measured again.",
        ),
    ] = None,
    check: Annotated[
        Path | None, typer.Option(help="Compare with this stored .json result; exit with code 1 if a figure is worse.")
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(
            help="With parts or latent: save a plot here: .svg, .png or .pdf. With paper: save the figure here: .svg."
        ),
    ] = None,
    table: Annotated[str | None, typer.Option(help="With paper: only this table, such as 1.")] = None,
    figure: Annotated[str | None, typer.Option(help="With paper: only this figure, such as 4.1.")] = None,
    item: Annotated[
        str | None, typer.Option(help="With paper: only this, such as 'theorem 1'; an unknown name lists them all.")
    ] = None,
) -> None:
    """Measure errors and times on the published data sets, and show them next to the papers' figures."""
    check_option("family", family, (*FAMILIES, *ELSEWHERE, "all", "paper"))
    chosen = {"--table": table, "--figure": figure, "--item": item}
    if family == "paper":
        refused = {"--peers": peers, "--large": large, "--check": check is not None}
        _refuse(refused, "not for paper")
        bench_paper(name, chosen, quick=quick, outputs=list(out or ()), plot=plot)
        return
    _refuse({option: value is not None for option, value in chosen.items()}, "only for paper")
    measured = _measured(family, name)
    families = tuple(measured)
    outputs = list(out or ())
    if large and quick:
        raise InputError("--large and --quick are mutually exclusive.", "Leave one out.")
    check_different_files([*outputs, check, plot])
    for path in outputs:
        check_result_name(path)
    if plot is not None:
        if family not in PLOTS:
            raise InputError(f"--plot is for {' and '.join(PLOTS)}.", "Leave it out.")
        check_plot(plot)
    _check_place(families)
    stored = None if check is None else read_result(check)

    around, tables = _measure(measured, Extent(peers, large, quick))
    if name is not None:
        tables = {family: _kept(outputs, family) | tables[family]}
    for path in outputs:
        save_result({"environment": around, "tables": tables}, path)
    if plot is not None:
        table, draw = PLOTS[family]
        draw(tables[family][table], plot)
    if check is not None and stored is not None:
        _compare(tables, stored, check)


def _measured(family: str, name: str | None) -> dict[str, Run]:
    """What to measure, by family; ``name`` is the one table of panels that is wanted."""
    if family == "all" and name is None:
        return FAMILIES
    if family == "panels" and name is not None:
        panels = import_module("rectifact.bench.panels")
        check_option("name", name, tuple(panels.TABLES))
        return {family: partial(panels.run, only=name)}
    if name is not None:
        raise InputError(f"{name!r} has no meaning after {family!r}.", "Leave it out.")
    return {family: (FAMILIES | ELSEWHERE)[family]}


def _kept(outputs: list[Path], family: str) -> Tables:
    """The tables of a family in a .json file that is about to be written."""
    stored = [read_result(path)["tables"] for path in outputs if path.suffix == ".json" and path.exists()]
    return stored[0].get(family, {}) if stored else {}


def _refuse(options: dict[str, bool], why: str) -> None:
    for option, given in options.items():
        if given:
            raise InputError(f"{option} is {why}.", "Leave it out.")


def _check_place(families: tuple[str, ...]) -> None:
    for family, package in (("graph", "torch"), ("cuda", "torch"), ("dask", "distributed"), ("cluster", "distributed")):
        if family in families and find_spec(package) is None:
            extra = "dask" if package == "distributed" else package
            raise missing_extra(f"Measuring {family}", package, extra)
    if "cuda" in families:
        import torch

        if not torch.cuda.is_available() or find_spec("triton") is None:
            raise InputError("Measuring cuda needs a CUDA device and Triton, and one of them is missing.")


def _measure(measured: dict[str, Run], extent: Extent) -> tuple[dict[str, Any], dict[str, Tables]]:
    """The environment, and the tables of one family after the other, each shown as soon as it is measured."""
    from rectifact.bench.measure import environment, one_thread

    with one_thread() if measured.keys() <= FAMILIES.keys() else nullcontext():  # as they are measured
        around = plain(environment())
    tables = {}
    for family, run in measured.items():
        with progress(f"measuring {family}"):
            tables[family] = plain(run(extent))
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


def _run(family: str, extent: Extent) -> Tables:
    """Measure one family; a module limits its threads itself, after it is imported with the libraries it needs."""
    return import_module(f"rectifact.bench.{family}").run(extent)


FAMILIES: dict[str, Run] = {name: partial(_run, name) for name in ("crowd", "parts", "latent", "graph")}
ELSEWHERE: dict[str, Run] = {
    name: partial(_run, name) for name in ("panels", "selection", "scaling", "cluster", "cuda", "dask")
}
"""What is not part of all: what takes long, and what is measured on other machines."""
