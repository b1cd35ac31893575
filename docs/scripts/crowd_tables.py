"""Write the tables on label aggregation in docs/benchmarks.rst and README.md from docs/benchmarks/crowd.json.

Run it from the root of the repository after ``rectifact bench crowd --peers -o docs/benchmarks/crowd.json``. It
replaces the lines between two comments, ``begin NAME`` and ``end NAME``.
"""

import re
from pathlib import Path

import pandas as pd

from rectifact.bench.crowd_field import CROWDS, JUDGES
from rectifact.bench.results import read_result

FIVE = ("bluebird", "dog52", "dog", "rte", "trec")
SHORT = {"crowd-kit DawidSkene": "crowd-kit DS", "crowd-kit GLAD": "GLAD", "crowd-kit MACE": "MACE"}
STRONGEST = ("EBCC", "BWA")
README = {"majority vote": "majority vote", "MV-EM": "Dawid-Skene EM", "one-coin EM": "one-coin EM"}
README |= {"crowd-kit DawidSkene": "crowd-kit 1.4"}


def csv_table(title: str, rows: list[list[str]]) -> str:
    """Rows, the first of them a header, as a csv-table of reStructuredText."""
    lines = [", ".join(f'"{cell}"' for cell in row) for row in rows]
    return "\n".join([f".. csv-table:: {title}", "   :header-rows: 1", "", *(f"   {line}" for line in lines)])


def methods_table(rows: pd.DataFrame) -> str:
    """The paper's methods on its sets, the published figure in brackets."""
    lines = [["method", *FIVE, "time, trec"]]
    for method, found in rows.groupby("method", sort=False):
        by_set = found.set_index("set")
        cells = []
        for name in FIVE:
            row = by_set.loc[name] if name in by_set.index else {"error_%": float("nan"), "paper_%": float("nan")}
            paper = "" if pd.isna(row["paper_%"]) else f" ({row['paper_%']:.2f})"
            cells.append("–" if pd.isna(row["error_%"]) else f"{row['error_%']:.2f}{paper}")
        lines.append([method, *cells, f"{1000 * by_set.loc['trec', 'seconds']:.0f} ms"])
    return csv_table("Methods on five published data sets", lines)


def errors_table(error: pd.DataFrame) -> str:
    """Errors by set; means and worst losses where a method ran on every set."""
    columns = list(error.columns)
    lines = [["data set", *(SHORT.get(name, name) for name in columns)]]
    for group, sets in {"crowds": list(CROWDS), "judges": list(JUDGES)}.items():
        lines += [[name, *(figure(error.loc[name, column]) for column in columns)] for name in sets]
        some = error.loc[sets]
        lines.append([f"mean, {group}", *(figure(some[column].mean(skipna=False)) for column in columns)])
        lines.append([f"worst loss, {group}", *(figure(loss) for loss in worst_loss(some))])
    return csv_table("Error in percent: the default and the rules of the field", lines)


def worst_loss(error: pd.DataFrame) -> pd.Series:
    """How far each error exceeds, on its worst set, the lowest of all; NaN where a method did not run on every set."""
    return error.sub(error.min(axis=1), axis=0).max(skipna=False)


def means_table(means: pd.DataFrame) -> str:
    """Log-loss, calibration error and time."""
    parts = [means[means["sets"] == group].set_index("method") for group in ("crowds", "judges")]
    measures = ("log-loss", "calibration error", "seconds in all")
    lines = [["method", *(f"{measure}, {group}" for group in ("crowds", "judges") for measure in measures)]]
    for method in means["method"].unique():
        cells = []
        for part in parts:
            has = method in part.index
            row = part.loc[method] if has else None
            cells += [f"{row['log_loss']:.3f}", f"{row['calibration_error']:.3f}"] if has else ["", ""]
            cells += [f"{row['seconds']:.2f}"] if has else [""]
        lines.append([method, *cells])
    return csv_table("How honest the probabilities are: means over the sets, and time", lines)


def figure(value: float) -> str:
    """A figure with two digits, a dash where there is none."""
    return "–" if pd.isna(value) else f"{value:.2f}"


def readme_table(error: pd.DataFrame) -> str:
    """A row for each set, with the stronger of two published rules, and the lowest error in bold."""
    strongest = error[list(STRONGEST)].mean().idxmin()
    columns = README | {strongest: strongest, "auto": "rectifact"}
    error = error[list(columns)]
    lines = [["", *columns.values()], ["---"] * (len(columns) + 1)]
    for group, sets in {"crowds": list(CROWDS), "LLM judges": list(JUDGES)}.items():
        some = error.loc[sets]
        lines += [markdown_row(name, some.loc[name]) for name in sets]
        lines.append(markdown_row(f"*mean, {group}*", some.mean()))
        lines.append(markdown_row(f"*worst loss, {group}*", worst_loss(some)))
    return "\n".join(f"| {' | '.join(line)} |" for line in lines).replace("| --- ", "|---").replace("|--- |", "|---|")


def markdown_row(name: str, figures: pd.Series) -> list[str]:
    cells = [f"{value:.2f}" for value in figures]
    least = min(cells, key=float)
    return [name, *(f"**{cell}**" if cell == least else cell for cell in cells)]


def replace(path: Path, name: str, text: str) -> None:
    """Put ``text`` between the comments ``begin name`` and ``end name``."""
    before = path.read_text(encoding="utf-8")
    between = re.compile(rf"(begin {name}(?: -->)?\n\n).*?(\n\n(?:\.\. |<!-- )end {name})", re.DOTALL)
    if not between.search(before):
        raise SystemExit(f"{path} has no comments 'begin {name}' and 'end {name}'.")
    path.write_text(between.sub(lambda found: found[1] + text + found[2], before), encoding="utf-8")


def tables(root: Path) -> list[tuple[str, str, str]]:
    """File, name and text of each table."""
    found = read_result(root / "docs/benchmarks/crowd.json")["tables"]["crowd"]
    error = pd.DataFrame(found["auto"]).set_index("set").astype(float)
    return [
        ("docs/benchmarks.rst", "methods", methods_table(pd.DataFrame(found["methods"]))),
        ("docs/benchmarks.rst", "errors", errors_table(error)),
        ("docs/benchmarks.rst", "means", means_table(pd.DataFrame(found["means"]))),
        ("README.md", "errors", readme_table(error)),
    ]


if __name__ == "__main__":
    for file, name, text in tables(Path()):
        replace(Path(file), name, text)
