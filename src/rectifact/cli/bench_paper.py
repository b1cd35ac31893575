"""rectifact bench paper: the tables, figures and theorems of a paper, measured next to what it prints."""

from pathlib import Path
from typing import Any

from rich.markup import escape
from rich.table import Table
from rich.text import Text

from rectifact.bench.papers import PAPERS, Curves, Experiment, Paper, paper
from rectifact.bench.papers.drawing import charts
from rectifact.bench.papers.stored import kept, with_items
from rectifact.bench.results import check_result_name, columns_of, plain, save_result, short
from rectifact.cli.tables import check_different_files
from rectifact.cli.terminal import progress, say, show
from rectifact.core.errors import InputError
from rectifact.io.files import check_writable
from rectifact.report.svg import save_charts

MOST_SHOWN = 40
"""Rows of a table that are shown; curves are longer, and a file has all of them."""


def bench_paper(
    name: str | None, chosen: dict[str, str | None], *, quick: bool, outputs: list[Path], plot: Path | None
) -> None:
    """Measure what was chosen of a paper, or all of it; show and save the tables."""
    if name not in PAPERS:
        raise InputError(f"Which paper? Got {name!r}.", f"Name one of {', '.join(PAPERS)}: rectifact bench paper nmd.")
    check_different_files([*outputs, plot])
    for path in outputs:
        check_result_name(path)
        kept(path)  # refuses a file that is something else, before anything is measured
    experiments = _chosen(paper(name), chosen)
    if plot is not None:
        _check_plot(plot, experiments)
    tables = _measure(name, experiments, quick, outputs)
    if plot is not None:
        _draw(name, experiments, tables, plot)


def _chosen(of: Paper, chosen: dict[str, str | None]) -> dict[str, Experiment]:
    """The experiments that --table, --figure or --item name; all of them if none does."""
    names = [f"{option[2:]} {value}" for option, value in chosen.items() if value is not None and option != "--item"]
    names += [chosen["--item"].strip().lower()] if chosen["--item"] is not None else []
    if not names:
        return of.experiments
    if len(names) > 1:
        raise InputError("--table, --figure and --item are mutually exclusive.", "Give one of them.")
    if names[0] not in of.experiments:
        raise InputError(
            f"There is no experiment for {names[0]!r} of the paper {of.name!r}.",
            f"Choose from: {', '.join(of.experiments)}; the paper's page in the documentation has the reasons.",
        )
    return {names[0]: of.experiments[names[0]]}


def _check_plot(plot: Path, experiments: dict[str, Experiment]) -> None:
    """Refuse, before anything is measured, what could not be drawn: one figure is a file, several are a folder."""
    if not any(experiment.has_picture for experiment in experiments.values()):
        raise InputError("There is nothing to draw.", "Leave --plot out, or choose a figure.")
    if len(experiments) > 1 and plot.suffix:
        raise InputError("--plot with several figures needs a folder.", "Name a folder, or choose one with --figure.")
    if len(experiments) == 1 and plot.suffix.lower() != ".svg":
        raise InputError(f"{str(plot)!r} should end in .svg.", "Rename it.")
    check_writable(plot / "figure.svg" if len(experiments) > 1 else plot)


def _draw(name: str, experiments: dict[str, Experiment], tables: dict[str, Any], plot: Path) -> None:
    for title, rows in tables.items():
        if not experiments[title].has_picture:
            continue
        path = plot if len(experiments) == 1 else plot / f"{name}-{title.replace(' ', '-')}.svg"
        save_charts(charts(title, rows, experiments[title]), path)
        say(f"{title} -> {path}")


def _measure(name: str, experiments: dict[str, Experiment], quick: bool, outputs: list[Path]) -> dict[str, Any]:
    from rectifact.bench.measure import environment, one_thread, timed

    tables: dict[str, Any] = {}
    seconds: dict[str, float] = {}
    with one_thread():
        around = plain(environment())
        for title, experiment in experiments.items():
            with progress(f"measuring {title}"):
                measured, seconds[title] = timed(experiment.measure, quick)
                rows = plain(measured)
            if not rows:
                say(f"{title}: the data is not on this machine; rectifact datasets says where it is looked for.")
                continue
            tables[title] = rows
            heading, shown = _shown(f"{name}: {title}", rows, experiment.curves)
            show(rows_table(heading, shown))
            if len(rows) > len(shown):
                say(f"{title}: {len(rows) - len(shown)} more rows are not shown; -o saves them.")
    runs = {
        title: {"date": around["date"], "cpu": around["cpu"], "quick": quick, "seconds": seconds[title]}
        for title in tables
    }
    for path in outputs:
        save_result(with_items(kept(path), name, tables, runs, around), path)
    return tables


def _shown(title: str, rows: list[dict[str, Any]], curves: Curves | None) -> tuple[str, list[dict[str, Any]]]:
    """What the terminal shows of many rows: the last point of each curve, or the first rows of a table."""
    if curves is None or len(rows) <= MOST_SHOWN:
        return title, rows[:MOST_SHOWN]
    ends = {(row.get(curves.panel), row.get(curves.line)): row for row in rows}
    return f"{title}, the end of each curve", list(ends.values())


def rows_table(title: str, rows: list[dict[str, Any]]) -> Table:
    """Rows as a table for people: short figures, empty gaps, a column for every name that some row has."""
    columns = columns_of(rows)
    table = Table(*map(escape, columns), title=escape(title), title_justify="left")
    for row in rows:
        table.add_row(*(Text(short(row.get(column))) for column in columns))
    return table
