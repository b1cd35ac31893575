"""Figures of benchmark tables; matplotlib comes with the extra ``bench``."""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

from rectifact.core.errors import InputError, missing_extra
from rectifact.io.files import atomic_path, check_writable

TITLES = {"dir": "DIR: Dirichlet weights", "ctm": "CTM: correlated weights", "neg": "NEG: signed parts"}


def check_plot(path: Path) -> None:
    """Refuse, before anything is measured, a figure that could not be drawn."""
    check_writable(path)
    if path.suffix.lower() not in {".svg", ".png", ".pdf"}:
        raise InputError(f"{str(path)!r} should end in .svg, .png or .pdf.", "Rename it.")
    if find_spec("matplotlib") is None:
        raise missing_extra("Figures need", "matplotlib", "bench")


def plot_error_against_time(rows: list[dict[str, Any]], path: Path) -> None:
    """Figure 1 of Li and Liang (2017): total correlation error against seconds, one panel per data set."""
    figure, axes = _panels(len(TITLES), 13 / 3, 4.2)
    methods = list(dict.fromkeys(row["method"] for row in rows))
    for axis, (data, title) in zip(axes, TITLES.items(), strict=True):
        for i, method in enumerate(methods):
            own = [row for row in rows if row["data"] == data and row["method"] == method]
            style = {"marker": "o" if method.startswith("AND") else "s", "markersize": 3.5, "color": f"C{i}"}
            axis.plot([row["seconds"] for row in own], [row["error"] for row in own], label=method, **style)
        axis.set(title=title, xlabel="seconds, one thread", xscale="log", yscale="log")
    axes[0].set_ylabel("total correlation error")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4, frameon=False, fontsize=8)
    _save(figure, path)


def plot_rmse_against_rank(rows: list[dict[str, Any]], path: Path) -> None:
    """Figure 5.1 of Saul (2022): RMSE of NMD and truncated SVD against rank, one panel per data set."""
    names = list(dict.fromkeys(row["data"] for row in rows))
    figure, axes = _panels(len(names), 4.2, 3.6)
    for axis, name in zip(axes, names, strict=True):
        own = [row for row in rows if row["data"] == name]
        for method, marker in (("SVD", "s"), ("NMD", "o")):
            axis.plot([row["rank"] for row in own], [row[f"rmse_{method}"] for row in own], marker=marker, label=method)
        axis.set(title=name, xlabel="rank", xscale="log")
        axis.set_xticks([row["rank"] for row in own], [str(row["rank"]) for row in own], minor=False)
        axis.minorticks_off()
        axis.set_ylim(bottom=0)
    axes[0].set_ylabel("RMSE")
    axes[0].legend(frameon=False)
    _save(figure, path)


def _panels(n: int, width: float, height: float) -> tuple[Any, Any]:
    """A figure with ``n`` panels side by side, each of this size in inches."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(n * width, height), layout="constrained")
    axes = figure.subplots(1, n, squeeze=False)[0]
    for axis in axes:
        axis.grid(alpha=0.3)
    return figure, axes


def _save(figure: Any, path: Path) -> None:
    with atomic_path(path) as temporary, temporary.open("wb") as file:
        figure.savefig(file, format=path.suffix[1:].lower(), dpi=150)
