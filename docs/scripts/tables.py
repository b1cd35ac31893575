"""Write tables in the documentation and README.md from the stored results in docs/benchmarks.

Run it from the root of the repository after ``rectifact bench FAMILY --peers -o docs/benchmarks/FAMILY.json -o
docs/benchmarks/FAMILY.md``. It replaces the lines between two comments, ``begin NAME`` and ``end NAME``.
"""

import re
from pathlib import Path

import numpy as np
import pandas as pd

from rectifact.bench.crowd_field import CROWDS, JUDGES
from rectifact.bench.results import read_result

FIVE = ("bluebird", "dog52", "dog", "rte", "trec")
SHORT = {"crowd-kit DawidSkene": "crowd-kit DS", "crowd-kit GLAD": "GLAD", "crowd-kit MACE": "MACE"}
STRONGEST = ("EBCC", "BWA")
README = {"majority vote": "majority vote", "MV-EM": "Dawid-Skene EM", "one-coin EM": "one-coin EM"}
README |= {"crowd-kit DawidSkene": "crowd-kit 1.4"}
PARTS_SHORT = {"ANDNMF, refine=None": "refine=None"}
MEASURES = {
    "angle": "angle in degrees",
    "abundance_rmse": "RMSE of the abundances",
    "rmse_unscaled": "RMSE, weights not scaled",
    "npmi_mean": "NPMI",
}
BRIEF = {  # of the mixtures
    "Jasper Ridge": "Jasper Ridge, a hyperspectral image",
    "unmixing, 5 endmembers, 20 dB": "spectra without pure pixels, 5 substances, 20 dB",
    "signatures, 100 samples": "mutation counts, 8 signatures, 100 samples",
    "signatures, 1000 samples": "mutation counts, 1000 samples",
    "signatures, dispersion 0.5": "overdispersed counts, 300 samples",
    "neurons, background": "neurons over a background",
    "TDT2 counts": "TDT2 news, word counts: NPMI",
    "TDT2 tf-idf": "TDT2 news, tf-idf: NPMI",
}

TIMED = {  # family, table, column of the sets, default and peers
    "labels": ("crowd", "field", "set", "auto", ("crowd-kit DawidSkene", "crowd-kit GLAD", "crowd-kit MACE", "EBCC")),
    "communities": (
        *("graph", "communities", "data", "SymNMF"),
        ("scikit-learn spectral, kmeans", "networkx Louvain", "leidenalg Leiden"),
    ),
    "Last.fm, four ranks": (
        *("latent", "recommendation", "rank", "NMD"),
        ("truncated SVD", "implicit ALS, alpha 10, regularization 10", "implicit LMF"),
    ),
}


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
    lines = [["", *columns.values()]]
    for group, sets in {"crowds": list(CROWDS), "LLM judges": list(JUDGES)}.items():
        some = error.loc[sets]
        lines += [markdown_row(name, some.loc[name]) for name in sets]
        lines.append(markdown_row(f"*mean, {group}*", some.mean()))
        lines.append(markdown_row(f"*worst loss, {group}*", worst_loss(some)))
    return markdown(lines)


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


def share(value: float) -> str:
    """A share with three digits, nothing where there is none."""
    return "" if pd.isna(value) else f"{value:.3f}"


def short(value: float) -> str:
    """Two or three significant digits."""
    return "" if pd.isna(value) else f"{value:.3g}" if value >= 1e-3 else f"{value:.0e}"


def rmse_table(rows: pd.DataFrame) -> str:
    """Reconstruction without a prior, by default and by SVD."""
    lines = [["data", "rank", "NMD, prior=None", "NMD, default", "its prior", "longest row / median", "SVD"]]
    for row in rows.itertuples():
        errors = short(row.rmse_NMD), short(row.rmse_default)
        lines.append([row.data, str(row.rank), *errors, row.prior, short(row.norm_ratio), short(row.rmse_SVD)])
    return csv_table("RMSE of the data that was fitted", lines)


def held_out_table(rows: pd.DataFrame) -> str:
    """Log-loss of hidden entries by rank."""
    ranks = sorted(rows["rank"].unique())
    lines = [["method", *(f"rank {rank}" for rank in ranks)]]
    for method, found in rows.groupby("method", sort=False):
        by_rank = found.set_index("rank")["log_loss"]
        lines.append([method, *(share(by_rank[rank]) for rank in ranks)])
    return csv_table(
        "Planted zeros and ones of rank 5, 300 x 120, a tenth hidden: their log-loss, mean of five sets", lines
    )


def recall_table(rows: pd.DataFrame) -> str:
    """Recall at 20 and seconds by rank."""
    ranks = sorted(rows["rank"].unique())
    lines = [["method", *(f"rank {rank}" for rank in ranks), *(f"s, rank {rank}" for rank in ranks)]]
    for method, found in rows.groupby("method", sort=False):
        by_rank = found.set_index("rank")
        recalls, times = by_rank["recall"], by_rank["seconds"]
        lines.append([method, *(share(recalls[rank]) for rank in ranks), *(short(times[rank]) for rank in ranks)])
    scores = rows[rows["method"] == "NMD"].set_index("rank")["held_out_score"]
    lines.append(["NMD, score of held-out entries", *(f"{scores[rank]:.4f}" for rank in ranks), *[""] * len(ranks)])
    return csv_table("Last.fm: share of the hidden plays among the 20 best artists, and seconds", lines)


def accuracy_table(rows: pd.DataFrame) -> str:
    """Accuracy of classifiers on the embedding of new rows."""
    lines = [
        ["data", "rank", "embedding", "logistic regression", "neighbours", "RMSE", "prior", "longest row / median"]
    ]
    for row in rows.itertuples():
        prior = "" if pd.isna(row.prior) else row.prior
        accuracies = share(row.regression), share(row.neighbours)
        lines.append([row.data, str(row.rank), row.method, *accuracies, short(row.rmse), prior, short(row.norm_ratio)])
    return csv_table("Accuracy on the embedding of new rows", lines)


METHODS = {
    "SymNMF": "SymNMF",
    "scikit-learn spectral, kmeans": "spectral, k-means",
    "scikit-learn spectral, cluster_qr": "spectral, cluster_qr",
    "networkx Louvain": "Louvain",
    "leidenalg Leiden": "Leiden",
}


def communities_table(rows: pd.DataFrame) -> str:
    """NMI, seconds and number of communities."""
    nmi, seconds, clusters = (
        rows.pivot(index="data", columns="method", values=v) for v in ("nmi", "seconds", "clusters")
    )
    timed = ["SymNMF", "scikit-learn spectral, kmeans", "networkx Louvain", "leidenalg Leiden"]
    lines = [["graph", *METHODS.values(), *(f"{METHODS[name]}, s" for name in timed), "communities, SymNMF", "Leiden"]]
    for name in rows["data"].unique():
        cells = [share(nmi.loc[name, method]) for method in METHODS]
        cells += [short(seconds.loc[name, method]) for method in timed]
        cells += [short(clusters.loc[name, method]) for method in ("SymNMF", "leidenalg Leiden")]
        lines.append([name, *cells])
    return csv_table("NMI with the true classes (mean of ten LFR graphs each), seconds, number of communities", lines)


def nmi_table(rows: pd.DataFrame) -> str:
    """NMI alone."""
    nmi = rows.pivot(index="data", columns="method", values="nmi")
    lines = [["graph", *METHODS.values()]]
    lines += [[name, *(share(nmi.loc[name, method]) for method in METHODS)] for name in rows["data"].unique()]
    return csv_table("NMI with the true classes", lines)


def messy_table(rows: pd.DataFrame) -> str:
    """Components that are not communities."""
    lines = [["graph", "nodes", "NMI", "nodes in no cluster", "said so"]]
    for row in rows.itertuples():
        lines.append([row.data, str(row.nodes), share(row.nmi), str(row.in_no_cluster), "yes" if row.warned else "no"])
    return csv_table("SymNMF(3) on graphs with more components than clusters", lines)


def readme_others(recall: pd.DataFrame, communities: pd.DataFrame) -> str:
    """A few figures on embeddings and communities, the best in bold."""
    best = recall.groupby("method")["recall"].max()
    names = {"rectifact": "NMD", "truncated SVD": "truncated SVD", "implicit ALS": "ALS"}
    figures = {label: best[best.index.str.contains(name)].max() for label, name in names.items()}
    lines = [markdown_shares("Last.fm, recall at 20, best rank", figures)]
    nmi = communities.pivot(index="data", columns="method", values="nmi")
    spectral = nmi[[name for name in nmi.columns if "spectral" in name]].max(axis=1)
    for name in README_GRAPHS:
        row = {"rectifact": nmi.loc[name, "SymNMF"], "spectral clustering": spectral[name]}
        row |= {"Louvain": nmi.loc[name, "networkx Louvain"], "Leiden": nmi.loc[name, "leidenalg Leiden"]}
        lines.append(markdown_shares(f"{name}, NMI", row))
    return "\n".join(lines)


README_GRAPHS = ("e-mail, 986 connected people", "LFR, mixing 0.4", "LFR, mixing 0.5", "COIL-20", "TDT2")


def markdown_shares(what: str, figures: dict[str, float]) -> str:
    cells = {name: f"{value:.3f}" for name, value in figures.items()}
    most = max(cells.values())
    return f"- {what}: " + ", ".join(f"{name} {f'**{x}**' if x == most else x}" for name, x in cells.items())


def planted_table(rows: pd.DataFrame) -> str:
    """How often the right number is chosen."""
    lines = [["data", "right number", "right", "close", "chosen", "sure"]]
    for row in rows.itertuples():
        counts = row.right, row.close, row.sure
        right, close, sure = ("" if pd.isna(n) else f"{n:.0f} of {row.draws}" for n in counts)
        lines.append([row.data, row.k, right, close, row.chosen, sure])
    return csv_table("Planted numbers; close: off by one, or by a tenth for graphs", lines)


def structureless_table(rows: pd.DataFrame) -> str:
    """How often there is nothing to find, and the answer is one."""
    lines = [["data", "for", "answer: one"]]
    lines += [[row.data, row.family, f"{row.none} of {row.draws}"] for row in rows.itertuples()]
    return csv_table("Data without structure", lines)


def choice_table(real: pd.DataFrame, cost: pd.DataFrame) -> str:
    """What is chosen on real data, and what a choice from 20 numbers costs."""
    lines = [["data", "chosen", "expected", "cost of a choice from 2 to 21, in fits"]]
    chosen, expected = (real.set_index("data")[name] for name in ("chosen", "expected"))
    for row in cost.itertuples():
        known = [str(chosen[row.data]), expected[row.data]] if row.data in chosen.index else [str(row.chosen), ""]
        lines.append([row.data, *known, f"{row.fits:.1f}"])
    return csv_table("Real data, and cost: one fit is the mean over the 20 numbers", lines)


def trust_table(rows: pd.DataFrame) -> str:
    """Whether stability tells good parts from bad ones."""
    lines = [["data", "parts", "rank correlation of stability and closeness", "without fits with too few parts"]]
    for row in rows.itertuples():
        lines.append([row.data, str(row.parts), f"{row.rank_correlation:.2f}", f"{row.without_too_few:.2f}"])
    return csv_table("Fits with two parts too few, the right number, and two too many", lines)


def consensus_table(rows: pd.DataFrame) -> str:
    """Consensus NMF next to select."""
    lines = [["data, 5 parts", "method", "right", "chosen", "seconds"]]
    for row in rows.itertuples():
        lines.append([row.data, row.method, f"{row.right} of {row.draws}", row.chosen, short(row.seconds)])
    return csv_table("A choice from 2 to 10", lines)


def wide(mixtures: pd.DataFrame, measure: str) -> pd.DataFrame:
    """Data sets by methods; sets that do not have the measure are left out."""
    table = mixtures.pivot_table(index="data", columns="method", values=measure, sort=False)
    return table[mixtures["method"].unique()]


def measured(measure: str, value: float) -> str:
    """Angles with two digits, other figures with three."""
    return f"{value:.2f}" if measure == "angle" else f"{value:.3f}"


def mixtures_table(mixtures: pd.DataFrame, ranks: pd.DataFrame) -> str:
    """All rows, the best in each with a star, and the mean ranks."""
    methods = list(mixtures["method"].unique())
    lines = [["data", *(PARTS_SHORT.get(name, name) for name in methods)]]
    tables = {measure: wide(mixtures, measure) for measure in MEASURES}
    for data in mixtures["data"].unique():
        for measure, table in tables.items():
            if data in table.index:
                cells = [measured(measure, value) for value in table.loc[data]]
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


def published_table(tables: dict[str, pd.DataFrame]) -> str:
    """Rows of the papers' figures that the same run has measured again, with ``refine=None``."""
    lines = [["measured", "result"]]
    for row in tables["blind"].to_dict("records"):
        lines.append(
            [f"{row['data']}, blind: topics out of 100 recovered; error", f"{row['recovered']}; {row['error']:.3g}"]
        )
    for row in tables["noise"].to_dict("records"):
        text = ", ".join(
            f"{row[name]:.3g}" for name in ("paper's start, floor", "paper's start, no floor", "blind, floor")
        )
        lines.append([f"ctm, noise {row['gamma']}: error with floor, without, blind", text])
    last = tables["error against time"].query("data == 'dir'").iloc[-1]
    lines.append([f"dir, paper's start, {last['iterations']} stages: error", f"{last['error']:.3g}"])
    problem, linear = tables["purification checks"].to_dict("records")
    lines.append([f"Purification on {problem['data']}: severity of the finding", str(problem["severity"])])
    lines.append(["Purification, decode=linear, no noise: relative error", f"{linear['relative_error']:.1g}"])
    return csv_table("The papers' figures with refine=None, and Purification, in the same run", lines)


def brief_rows(mixtures: pd.DataFrame) -> list[list[str]]:
    """Some sets, for those who read one table; the best in bold."""
    lines = [["", "rectifact", "NMF (cd)", "NMF (KL)", "SPA", "VCA"]]
    methods = ("ANDNMF", "NMF, cd", "NMF, KL", "SPA", "VCA")
    tables = {measure: wide(mixtures, measure) for measure in ("angle", "npmi_mean")}
    for data, name in BRIEF.items():
        measure = "angle" if data in tables["angle"].index else "npmi_mean"
        cells = [measured(measure, tables[measure].loc[data, method]) for method in methods]
        best = (max if measure == "npmi_mean" else min)(cells, key=float)
        lines.append([name, *(f"**{cell}**" if cell == best else cell for cell in cells)])
    return lines


def markdown(rows: list[list[str]]) -> str:
    """Rows, the first of them a header, as a table of Markdown."""
    lines = [rows[0], ["---"] * len(rows[0]), *rows[1:]]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines).replace("| --- ", "|---").replace("|--- |", "|---|")


def budget_table(rows: pd.DataFrame) -> str:
    """Labels from a part of the answers, bought as planned."""
    columns = {"full": "all answers", "random": "40 %, random", "planned": "40 %, planned", "promised": "promised"}
    columns |= {"told": "workers known", "gold_planned": "planned, 100 true labels", "gold_promised": "promised then"}
    lines = [["set", "replays", *columns.values()]]
    for row in rows.to_dict("records"):
        cells = {name: f"{row[name]:.1f}" for name in columns}
        cells["planned"] += f" ± {row['se']:.1f}"
        cells["gold_promised"] += f" ± {row['promise_se']:.1f}"
        lines.append([row["set"], str(row["replays"]), *cells.values()])
    return csv_table("Errors in percent, means over replays", lines)


def coverage_table(rows: pd.DataFrame) -> str:
    """How often intervals of rates hold the truth."""
    lines = [["panel", "labels", "covered", "covered, people alone", "shorter than people alone"]]
    for row in rows.to_dict("records"):
        shares = (f"{row[name]:.1f} %" for name in ("covered", "people_covered", "shorter"))
        lines.append([f"``{row['set']}``", f"{row['labels']} of {row['tasks']:,}", *shares])
    return csv_table(f"95 % intervals, {rows['draws'].iloc[0]:,} draws of labels each", lines)


def power_table(rows: pd.DataFrame) -> str:
    """How often a planted difference is found."""
    lines = [["panel", "labels in all", "planted difference", "found with judges", "found by people alone"]]
    for row in rows.to_dict("records"):
        gap = f"{row['points']} points" if row["points"] else "none"
        found = (f"{row[name]:.0f} %" for name in ("found", "people_found"))
        lines.append([f"``{row['set']}``", str(row["labels"]), gap, *found])
    return csv_table(f"Tests at the level of 5 %, {rows['draws'].iloc[0]} draws each", lines)


def agreement_table(rows: pd.DataFrame) -> str:
    """How often intervals of agreement hold the truth."""
    lines = [["panel", "tasks", "all workers", "one pair"]]
    for row in rows.to_dict("records"):
        spans = (f"{row[f'{of}least']:.1f} to {row[f'{of}most']:.1f} %" for of in ("", "pair_"))
        lines.append([row["panel"], str(row["tasks"]), *spans])
    return csv_table(f"Share of 95 % intervals that hold the truth, {rows['draws'].iloc[0]} panels of each kind", lines)


PAPER = README | {"EBCC": "EBCC", "majority vote, 1/K added": "majority vote, pseudo-counts", "auto": "rectifact"}


def paper_means(means: pd.DataFrame) -> str:
    """Mean errors and the quality of probabilities, for the paper."""
    measures = {"error_%": "error, %", "worst_loss_%": "worst loss, %", "log_loss": "log-loss"}
    measures |= {"calibration_error": "calibration error"}
    by_method = means.set_index(["sets", "method"])
    lines = [["", *PAPER.values()]]
    for group, name in {"crowds": "crowds", "judges": "language models"}.items():
        for measure, words in measures.items():
            found = by_method.loc[group].loc[list(PAPER), measure].astype(float)
            lines.append(markdown_row(f"{name}: {words}", found))
    return markdown(lines)


def paper_selection(planted: pd.DataFrame, structureless: pd.DataFrame) -> str:
    """How often the right number is chosen, by family."""
    names = {"parts": "parts", "latent": "dimensions", "graph": "communities"}
    lines = [["", "right", "right or close", "no structure, and said so"]]
    for family, name in names.items():
        some, none = planted[planted["family"] == family], structureless[structureless["family"] == family]
        cells = [f"{some[column].sum():.0f} of {some['draws'].sum()}" for column in ("right", "close")]
        lines.append([name, *cells, f"{none['none'].sum():.0f} of {none['draws'].sum()}"])
    return markdown(lines)


def quality_table(rows: pd.DataFrame) -> str:
    """Seconds that NMD and each peer need to the same quality."""
    lines = [["peer", "goal", "reached", "peer, seconds", "NMD, seconds", "ratio"]]
    for row in rows.itertuples():
        seconds = (short(value) for value in (row.peer_s, row.NMD_s, row.ratio))
        lines.append([row.peer, row.goal, short(row.reached), *seconds])
    title = "2000 digits, rank 32: each peer runs 100 iterations, then NMD runs until it is as good"
    return csv_table(f"Time to the same quality, {title}", lines)


def ratios_table(families: dict[str, dict[str, pd.DataFrame]]) -> str:
    """How much longer each peer takes than our default, over the data sets that both were given."""
    lines = [["job", "peer", "data sets", "peer's time / ours, geometric mean", "least", "most"]]
    for job, (family, table, sets, default, peers) in TIMED.items():
        seconds = families[family][table].pivot_table(index=sets, columns="method", values="seconds")
        for peer in peers:
            ratios = (seconds[peer] / seconds[default]).dropna()
            figures = float(np.exp(np.log(ratios).mean())), ratios.min(), ratios.max()
            lines.append([job, peer, str(len(ratios)), *(short(value) for value in figures)])
    return csv_table("Above 1, the peer is slower than our default; below 1, it is faster", lines)


def digits(value: float, n: int = 2) -> str:
    """A number with two digits, and no more zeros than it needs; nothing for a gap."""
    if pd.isna(value):
        return ""
    return f"{value:,.0f}" if abs(value) >= 10**n else f"{value:.{n}g}"


def growth_table(rows: pd.DataFrame) -> str:
    """Time and memory at two sizes."""
    twice = "at ten times the size", "ratio"
    lines = [["", "size", "CPU seconds", *twice, "MB", *twice, "iterations"]]
    for row in rows.to_dict("records"):
        counts = [row["iterations"], row["iterations_tenfold"]]
        times = [digits(row[name]) for name in ("cpu_s", "cpu_s_tenfold")] + [f"{row['time_ratio']:.1f}"]
        memory = [digits(row[name]) for name in ("MB", "MB_tenfold")]
        ratio = "" if pd.isna(row["memory_ratio"]) else f"{row['memory_ratio']:.1f}"
        done = "" if any(pd.isna(n) or not n for n in counts) else ", ".join(f"{n:.0f}" for n in counts)
        lines.append([row["what"], f"{row['n']:,} {row['unit']}", *times, *memory, ratio, done])
    return csv_table("Inputs ten times as large", lines)


def threads_table(rows: pd.DataFrame) -> str:
    """Seconds with default threads and with one."""
    lines = [["", "size", "default threads, s", "one thread, s", "ratio"]]
    for row in rows.to_dict("records"):
        times = [digits(row[name]) for name in ("default_s", "one_thread_s")]
        lines.append([row["what"], f"{row['n']:,} {row['unit']}", *times, f"{row['ratio']:.2f}"])
    return csv_table("Whole commands, imports included, on two cores", lines)


CONSTANTS = {
    "ns_per_unit": "worker, ns per answer, row or entry",
    "worker_ms_per_chunk": "worker, ms per chunk",
    "coordinator_ms_per_chunk": "scheduler and client, ms per chunk",
    "kB_moved_per_chunk": "kB per chunk",
    "once_us_per_row": "worker, µs per row, once",
    "coordinator_us_per_piece": "scheduler, µs per piece moved, once",
    "passes": "passes outside of the loop",
    "bytes_held_per_row": "bytes held per row",
}
CHECKED = {"worker_s": "worker, s", "coordinator_s": "scheduler and client, s", "bytes": "bytes moved", "MB": "peak MB"}


def constants_table(rows: pd.DataFrame) -> str:
    """What one iteration costs, by fit."""
    lines = [["cost", *rows["fit"]]]
    lines += [[text, *(digits(value, 3) for value in rows[name])] for name, text in CONSTANTS.items()]
    return csv_table("Measured constants", lines)


def check_table(rows: pd.DataFrame) -> str:
    """What the constants say about a larger fit, and what it cost."""
    lines = [["fit", "size", "per iteration", "predicted", "measured", "ratio"]]
    for row in rows.to_dict("records"):
        size = f"{row['n']:,} x {row['columns']:,}, {row['chunks']} chunks"
        found = [digits(row[name], 3) for name in ("predicted", "measured")]
        lines.append([row["fit"], size, CHECKED[row["what"]], *found, f"{row['ratio']:.2f}"])
    return csv_table("A larger fit on this machine, predicted from smaller ones", lines)


def plan_table(rows: pd.DataFrame) -> str:
    """What fits would take on 100 machines."""
    names = {"GB_moved_per_iteration": "GB moved per iteration", "worker_GB": "GB per Dask worker"}
    names |= {"computing_s": "computing, s", "scheduling_s": "scheduling, s", "network_s": "network, s"}
    names |= {"iterations": "iterations", "once_min": "minutes outside of the loop", "fit_min": "minutes per fit"}
    lines = [["fit", "size", *names.values()]]
    for row in rows.to_dict("records"):
        lines.append([row["fit"], f"{row['n']:.0e} x {row['columns']:.0e}", *(digits(row[name]) for name in names)])
    return csv_table("100 machines with 8 cores each, and a network of 10 Gbit/s", lines)


def stored(root: Path, family: str) -> dict[str, pd.DataFrame]:
    """The tables of a stored result."""
    found = read_result(root / f"docs/benchmarks/{family}.json")["tables"][family]
    return {name: pd.DataFrame(rows) for name, rows in found.items()}


def tables(root: Path) -> list[tuple[str, str, str]]:
    """File, name and text of each table."""
    families = "crowd", "parts", "latent", "graph", "selection"
    crowd, parts, latent, graph, selection = (stored(root, name) for name in families)
    brief, panels = brief_rows(parts["mixtures"]), stored(root, "panels")
    scaling, cluster = stored(root, "scaling"), stored(root, "cluster")
    error = crowd["auto"].set_index("set").astype(float)
    return [
        ("docs/benchmarks.rst", "methods", methods_table(crowd["methods"])),
        ("docs/benchmarks.rst", "errors", errors_table(error)),
        ("docs/benchmarks.rst", "means", means_table(crowd["means"])),
        ("README.md", "errors", readme_table(error)),
        ("docs/crowd.rst", "budget", budget_table(panels["budget"])),
        ("docs/rates.rst", "coverage", coverage_table(panels["rates"])),
        ("docs/rates.rst", "power", power_table(panels["differences"])),
        ("docs/agreement.rst", "coverage", agreement_table(panels["agreement"])),
        ("docs/benchmarks.rst", "constants", constants_table(cluster["constants"])),
        ("docs/benchmarks.rst", "check", check_table(cluster["check"])),
        ("docs/benchmarks.rst", "plan", plan_table(cluster["plan"])),
        ("docs/benchmarks.rst", "mixtures", mixtures_table(parts["mixtures"], parts["ranks"])),
        ("docs/benchmarks.rst", "likelihood", likelihood_table(parts["likelihood"])),
        ("docs/benchmarks.rst", "published", published_table(parts)),
        ("docs/comparison.rst", "mixtures", csv_table("Mean angle to the true parts in degrees, or NPMI", brief)),
        ("README.md", "mixtures", markdown(brief)),
        ("docs/benchmarks.rst", "reconstruction", rmse_table(latent["rmse against rank"])),
        ("docs/benchmarks.rst", "held-out", held_out_table(latent["held-out entries"])),
        ("docs/benchmarks.rst", "quality", quality_table(latent["time to the same quality"])),
        ("docs/benchmarks.rst", "ratios", ratios_table({"crowd": crowd, "latent": latent, "graph": graph})),
        ("docs/comparison.rst", "recall", recall_table(latent["recommendation"])),
        ("docs/comparison.rst", "accuracy", accuracy_table(latent["classification"])),
        ("docs/benchmarks.rst", "communities", communities_table(graph["communities"])),
        ("docs/benchmarks.rst", "messy", messy_table(graph["messy graphs"])),
        ("docs/comparison.rst", "communities", nmi_table(graph["communities"])),
        ("docs/how_many.rst", "planted", planted_table(selection["planted"])),
        ("docs/how_many.rst", "structureless", structureless_table(selection["without structure"])),
        ("docs/how_many.rst", "choice", choice_table(selection["real"], selection["cost"])),
        ("docs/how_many.rst", "trust", trust_table(selection["stability and error"])),
        ("docs/how_many.rst", "consensus", consensus_table(selection["consensus NMF"])),
        ("docs/scaling.rst", "growth", growth_table(scaling["growth"])),
        ("docs/scaling.rst", "threads", threads_table(scaling["threads"])),
        ("README.md", "others", readme_others(latent["recommendation"], graph["communities"])),
        ("docs/paper/paper.md", "means", paper_means(crowd["means"])),
        ("docs/paper/paper.md", "mixtures", markdown(brief)),
        ("docs/paper/paper.md", "others", readme_others(latent["recommendation"], graph["communities"])),
        (
            "docs/paper/paper.md",
            "selection",
            paper_selection(selection["planted"], selection["without structure"]),
        ),
    ]


if __name__ == "__main__":
    for file, name, text in tables(Path()):
        replace(Path(file), name, text)
