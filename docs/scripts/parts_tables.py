"""Write the tables on mixtures in benchmarks.rst, comparison.rst and README.md from docs/benchmarks/parts.json.

Run it from the root of the repository after ``rectifact bench parts --peers --quick -o docs/benchmarks/parts.json``. It
replaces the lines between two comments, ``begin NAME`` and ``end NAME``.
"""

import re
from pathlib import Path

import pandas as pd

from rectifact.bench.results import read_result

OURS = "ANDNMF"
SHORT = {"ANDNMF, refine=None": "refine=None"}
MEASURES = {
    "angle": "angle in degrees",
    "abundance_rmse": "RMSE of the abundances",
    "rmse_unscaled": "RMSE, weights not scaled",
    "npmi_mean": "NPMI",
}
BRIEF = {
    "Jasper Ridge": "Jasper Ridge, a hyperspectral image",
    "unmixing, 5 endmembers, 20 dB": "spectra without pure pixels, 5 substances, 20 dB",
    "signatures, 100 samples": "mutation counts, 8 signatures, 100 samples",
    "signatures, 1000 samples": "mutation counts, 1000 samples",
    "signatures, dispersion 0.5": "overdispersed counts, 300 samples",
    "neurons, background": "neurons over a background",
    "TDT2 counts": "TDT2 news, word counts: NPMI",
    "TDT2 tf-idf": "TDT2 news, tf-idf: NPMI",
}


def csv_table(title: str, rows: list[list[str]]) -> str:
    """Rows, the first of them a header, as a csv-table of reStructuredText."""
    lines = [", ".join(f'"{cell}"' for cell in row) for row in rows]
    return "\n".join([f".. csv-table:: {title}", "   :header-rows: 1", "", *(f"   {line}" for line in lines)])


def wide(mixtures: pd.DataFrame, measure: str) -> pd.DataFrame:
    """Data sets by methods; sets that do not have the measure are left out."""
    table = mixtures.pivot_table(index="data", columns="method", values=measure, sort=False)
    return table[mixtures["method"].unique()]


def figure(measure: str, value: float) -> str:
    """Angles with two digits, other figures with three."""
    return f"{value:.2f}" if measure == "angle" else f"{value:.3f}"


def mixtures_table(mixtures: pd.DataFrame, ranks: pd.DataFrame) -> str:
    """All rows, the best in each with a star, and the mean ranks."""
    methods = list(mixtures["method"].unique())
    lines = [["data", *(SHORT.get(name, name) for name in methods)]]
    tables = {measure: wide(mixtures, measure) for measure in MEASURES}
    for data in mixtures["data"].unique():
        for measure, table in tables.items():
            if data in table.index:
                cells = [figure(measure, value) for value in table.loc[data]]
                best = (max if measure == "npmi_mean" else min)(cells, key=float)
                cells = [f"{cell}*" if cell == best else cell for cell in cells]
                lines.append([f"{data}: {MEASURES[measure]}", *cells])
    lines.append(["mean rank", *(f"{ranks.set_index('method').loc[name, 'mean_rank']:.2f}" for name in methods)])
    return csv_table("Real and simulated mixtures: the default among the peers; * marks the best", lines)


def likelihood_table(rows: pd.DataFrame) -> str:
    """The time of a Poisson fit, and that of scikit-learn."""
    lines = [["method", "iterations", "divergence", "CPU seconds", "times ours", "memory above the data, MB"]]
    for row in rows.to_dict("records"):
        held = "" if pd.isna(row["megabytes"]) else f"{row['megabytes']:.0f}"
        seconds, times = f"{row['cpu_seconds']:.1f}", f"{row['times_ours']:.1f}"
        lines.append([row["method"], str(row["iterations"]), f"{row['divergence']:,.0f}", seconds, times, held])
    first = rows.iloc[0]
    title = (
        f"KL divergence on TDT2 counts ({first['documents']} by {first['words']}, {first['parts']} parts), one thread"
    )
    return csv_table(title, lines)


def published_table(tables: dict[str, list[dict[str, object]]]) -> str:
    """Rows of the papers' figures that the same run has measured again, with ``refine=None``."""
    lines = [["measured", "result"]]
    for row in tables["blind"]:
        lines.append(
            [f"{row['data']}, blind: topics out of 100 recovered; error", f"{row['recovered']}; {row['error']:.3g}"]
        )
    for row in tables["noise"]:
        text = ", ".join(
            f"{row[name]:.3g}" for name in ("paper's start, floor", "paper's start, no floor", "blind, floor")
        )
        lines.append([f"ctm, noise {row['gamma']}: error with floor, without, blind", text])
    last = [row for row in tables["error against time"] if row["data"] == "dir"][-1]
    lines.append([f"dir, paper's start, {last['iterations']} stages: error", f"{last['error']:.3g}"])
    problem, linear = tables["purification checks"]
    lines.append([f"Purification on {problem['data']}: severity of the finding", str(problem["severity"])])
    lines.append(["Purification, decode=linear, no noise: relative error", f"{linear['relative_error']:.1g}"])
    return csv_table("The papers' figures with refine=None, and Purification, in the same run", lines)


def brief_rows(mixtures: pd.DataFrame) -> list[list[str]]:
    """Some sets, for those who read one table; the best in bold."""
    lines = [["", "rectifact", "NMF (cd)", "NMF (KL)", "SPA", "VCA"]]
    methods = (OURS, "NMF, cd", "NMF, KL", "SPA", "VCA")
    tables = {measure: wide(mixtures, measure) for measure in ("angle", "npmi_mean")}
    for data, name in BRIEF.items():
        measure = "angle" if data in tables["angle"].index else "npmi_mean"
        cells = [figure(measure, tables[measure].loc[data, method]) for method in methods]
        best = (max if measure == "npmi_mean" else min)(cells, key=float)
        lines.append([name, *(f"**{cell}**" if cell == best else cell for cell in cells)])
    return lines


def markdown(rows: list[list[str]]) -> str:
    """Rows, the first of them a header, as a table of Markdown."""
    lines = [rows[0], ["---"] * len(rows[0]), *rows[1:]]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines).replace("| --- ", "|---").replace("|--- |", "|---|")


def replace(path: Path, name: str, text: str) -> None:
    """Put ``text`` between the comments ``begin name`` and ``end name``."""
    before = path.read_text(encoding="utf-8")
    between = re.compile(rf"(begin {name}(?: -->)?\n\n).*?(\n\n(?:\.\. |<!-- )end {name})", re.DOTALL)
    if not between.search(before):
        raise SystemExit(f"{path} has no comments 'begin {name}' and 'end {name}'.")
    path.write_text(between.sub(lambda found: found[1] + text + found[2], before), encoding="utf-8")


def tables(root: Path) -> list[tuple[str, str, str]]:
    """File, name and text of each table."""
    found = read_result(root / "docs/benchmarks/parts.json")["tables"]["parts"]
    mixtures, ranks = pd.DataFrame(found["mixtures"]), pd.DataFrame(found["ranks"])
    brief = brief_rows(mixtures)
    return [
        ("docs/benchmarks.rst", "mixtures", mixtures_table(mixtures, ranks)),
        ("docs/benchmarks.rst", "likelihood", likelihood_table(pd.DataFrame(found["likelihood"]))),
        ("docs/benchmarks.rst", "published", published_table(found)),
        ("docs/comparison.rst", "mixtures", csv_table("Mean angle to the true parts in degrees, or NPMI", brief)),
        ("README.md", "mixtures", markdown(brief)),
    ]


if __name__ == "__main__":
    for file, name, text in tables(Path()):
        replace(Path(file), name, text)
