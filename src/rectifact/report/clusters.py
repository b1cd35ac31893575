"""Report on clusters: sizes and quality, a drawing of the graph, memberships, and similarities ordered by cluster."""

from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from rectifact.core.arrays import to_csr, to_host
from rectifact.graph.quality import edge_counts
from rectifact.graph.results import leading_memberships
from rectifact.graph.similarities import Similarities
from rectifact.models import SavedModel
from rectifact.report.blocks import Block, Card, Cards, Column, Facts, Findings, Report, Section, Table
from rectifact.report.charts import PALETTE, bars, convergence, ending, heat_map, histogram, network
from rectifact.report.drawing import draw
from rectifact.report.how_many import how_many, with_stability
from rectifact.report.members import (
    cluster_name,
    cluster_number,
    columns_section,
    in_units,
    node_names,
    noun,
    unsure_nodes,
)
from rectifact.report.names import count, isolated

MOST_NODES, CELLS, MOST_CARDS, N_HUBS, N_MEMBERS, N_NAMED = 20_000, 120, 60, 8, 40, 15
NEGLIGIBLE = 0.005
"""Conductance that counts as none."""

OVERLAP = 0.25
"""Membership from which on a node belongs to a cluster besides its own, as in ``communities()``."""


def clusters_report(saved: SavedModel) -> Report:
    """Sections for SymNMF and SymNMFNet."""
    saved = replace(saved, model=_on_host(saved.model))
    model = saved.model
    n, (edges, loops) = len(model.labels_), edge_counts(model.affinity_matrix_)
    between = "" if noun(model) == "node" else " between neighbours"
    between += f", {loops:,} of them loops," if loops else ""
    words = f"{count(n, noun(model))} and {count(edges, 'edge')}{between} in {count(model.n_clusters, 'cluster')}, "
    words += f"found by {type(model).__name__}."
    sections = [
        _overview(saved),
        *columns_section(saved),
        _network(saved),
        _communities(saved),
        _members(saved),
        *_overlaps(saved),
    ]
    sections += [*how_many(saved.selection), _matrix(saved), _objective(saved)]
    return Report("Clusters", words, sections, *_opening(saved))


def _opening(saved: SavedModel) -> tuple[list[str], list[str]]:
    """The sentences that matter most, and what to do next."""
    model, table = saved.model, saved.model.cluster_report()
    sizes, cuts = table["size"].to_numpy(), table["conductance"].to_numpy()
    what, points = noun(model), hasattr(model, "points_")
    main = [
        f"The largest of {count(model.n_clusters, 'cluster')} has {count(int(sizes.max()), what)}, the smallest "
        f"{count(int(sizes.min()), what)}.",
    ]
    if model.n_clusters == 1:
        all_of = "All" if sizes.max() == len(model.labels_) else f"{sizes.max():,} of"
        main = [f"{all_of} {count(len(model.labels_), what)} are in one cluster."]
    if points and model.n_clusters == 1:
        main += [saved.selection.reason] if saved.selection is not None else []
    elif points:
        chosen = saved.selection.reason if saved.selection is not None else ""
        main.insert(0, chosen or f"{model.coverage_:.0%} of the weight between neighbours is inside clusters.")
    elif model.n_clusters > 1:
        main.insert(
            0,
            f"{model.coverage_:.0%} of the weight of the edges is inside the {count(model.n_clusters, 'cluster')}. "
            f"Modularity is {model.modularity_:.2f}. Random graphs reach 0.3 too if the best division is looked for, "
            "so modularity alone does not show that clusters are real; stability and -k auto do.",
        )
    if saved.selection is not None and not points and saved.selection.best == 1:
        main.insert(0, saved.selection.reason)
    if model.n_clusters == 1:
        cuts = cuts[:0]  # there are no others
    if np.isfinite(cuts).any() and np.nanmax(cuts) < NEGLIGIBLE:
        main.append("Hardly any weight leaves the clusters.")
    elif np.isfinite(cuts).any():
        best, last = int(np.nanargmin(cuts)), int(np.nanargmax(cuts))
        main.append(
            f"Cluster {best + 1} is the best separated (conductance {cuts[best]:.2f}), cluster {last + 1} the least "
            f"({cuts[last]:.2f}); conductance is the share of the weight that leaves a cluster."
        )
    steps = ["Name the clusters: the hubs of each come first under Communities."]
    if model.n_clusters == 1:
        steps = []
    elif points:
        steps = ["Name the clusters: under Columns are the means of each."] if in_units(model) is not None else []
    between = int(((_memberships(model) >= OVERLAP).sum(axis=1) > 1).sum())
    if between:
        steps.append(f"Look at the {count(between, what)} in several clusters, under Overlaps.")
    if saved.selection is None:
        steps.append(f"Let the {'points' if points else 'graph'} choose the number of clusters: -k auto.")
    if getattr(model, "stability_", None) is None:
        steps.append("Find out which clusters are found again when edges are drawn again: --stability.")
    return main, steps


def _memberships(model: Any) -> Any:
    """Memberships of nodes in clusters; none of nodes without a cluster."""
    return np.where((model.labels_ >= 0)[:, None], np.asarray(model.membership_, dtype=float), 0.0)


def _on_host(model: Any) -> Any:
    """A copy of the model whose similarities are a CSR matrix on the host, and its results numpy arrays."""
    copied = copy(model)
    chunks = Similarities(model.affinity_matrix_).operand.total(_as_csr)
    copied.affinity_matrix_ = sp.vstack(chunks, format="csr")
    copied.labels_, copied.membership_ = to_host(model.labels_), to_host(model.membership_)
    copied.degrees_ = to_host(model.degrees_)
    return copied


def _as_csr(rows: Any) -> list[Any]:
    """Some rows in a list, so that chunks add up to one in their order."""
    return [to_csr(rows)]


def _overview(saved: SavedModel) -> Section:
    model = saved.model
    table = model.cluster_report()
    sizes = table["size"].to_numpy()
    facts = [
        ("clusters", str(model.n_clusters), ""),
        ("largest, smallest", f"{sizes.max():,}, {sizes.min():,}", f"{noun(model)}s"),
        ("weight inside clusters", f"{model.coverage_:.1%}", "of the total weight of the edges"),
        ("modularity", f"{model.modularity_:.3f}", "that weight, less what would be inside by chance"),
    ]
    left_out = int((model.labels_ < 0).sum())
    if left_out:
        facts.append(
            (
                "in no cluster",
                f"{left_out:,}",
                f"{noun(model)}s, {left_out / len(model.labels_):.1%} of all",
            )
        )
    found = [
        (each.severity, each.finding, each.detail, each.command or each.remedy) for each in model.findings(first=1)
    ]
    findings: list[Block] = [Findings(found)] if found else []
    words = "Sizes: " + ", ".join(f"{size:,}" for size in sizes[:30]) + ("." if len(sizes) <= 30 else ", …")
    chart = bars("Cluster sizes", [str(i + 1) for i in range(len(sizes))], sizes, f"{noun(model)}s", words)
    columns = [
        Column("cluster", "integer"),
        Column(f"{noun(model)}s", "integer"),
        Column("coverage", "share", "of the weight of all edges, inside this cluster"),
        Column("conductance", "number", "weight that leaves it, relative to its own; 0 if nothing leaves"),
        Column("modularity", "number", "its part of the modularity"),
    ]
    shares = table[["coverage", "conductance", "modularity"]].to_numpy().round(6)
    rows = [[k + 1, int(sizes[k]), *map(float, shares[k])] for k in range(len(sizes))]
    quality = Table("Quality of clusters", *with_stability(model, columns, rows))
    words = f"A cluster is a group of {noun(model)}s that are densely connected to each other."
    words += " Clusters are numbered by size, here and in all files."
    return Section("Overview", words, [Facts(facts), *findings, chart, quality])


def _network(saved: SavedModel) -> Section:
    """The graph as dots and lines, drawn by forces; a sample of its nodes where it is large."""
    model = saved.model
    drawing = draw(model.affinity_matrix_, model.labels_, np.asarray(model.membership_))
    names = node_names(saved)
    hover = [f"{names[i]}: {cluster_name(model.labels_[i])}" for i in drawing.nodes]
    what, (n_edges, loops) = noun(model), edge_counts(model.affinity_matrix_)
    words = f"{count(len(drawing.nodes), what)} of {len(names):,} and {count(len(drawing.edges), 'edge')} of "
    words += f"{n_edges - loops:,} between different {what}s are drawn."
    if model.n_clusters > len(PALETTE):
        words += f" Colours repeat after {len(PALETTE)} clusters."
    colours = [int(model.labels_[i]) for i in drawing.nodes]
    busy = np.argsort(-np.diff(model.affinity_matrix_.indptr)[drawing.nodes], kind="stable")[:N_NAMED]
    named = {int(i): names[drawing.nodes[i]] for i in busy}
    title = f"The {'graph' if what == 'node' else 'points'}, coloured by cluster"
    chart = network(title, drawing.places, drawing.edges, colours, hover, words, named=named)
    about = f"{what.title()}s that are connected attract each other, and all others repel each other."
    about += f" Grey {what}s are in no cluster." if (model.labels_ < 0).any() else ""
    if what == "point":
        about += " Each point is joined to its nearest neighbours; where it lies in the data is not drawn."
    return Section("Network", about, [chart])


def _communities(saved: SavedModel) -> Section:
    """A card for each cluster: its hubs with their weights inside it, and its members."""
    model, names, table = saved.model, node_names(saved), saved.model.cluster_report()
    member, stability = _memberships(model), getattr(saved.model, "stability_", None)
    S = model.affinity_matrix_.tocoo()
    same = (model.labels_[S.row] == model.labels_[S.col]) & (S.row != S.col)
    roots = np.sqrt(model.degrees_) if model.resolved_["normalize"] else np.ones(len(names))
    weight = np.bincount(S.row[same], (S.data * roots[S.row] * roots[S.col])[same], minlength=len(names))
    items = []
    for k in np.argsort(-table["size"].to_numpy(), kind="stable")[:MOST_CARDS].tolist():
        own = np.flatnonzero(model.labels_ == k)
        hubs = own[np.argsort(-weight[own], kind="stable")][:N_HUBS]
        order = own[np.argsort(-member[own, k], kind="stable")][:N_MEMBERS]
        caption = count(len(own), noun(model))
        cut = table["conductance"][k]
        caption += f", conductance {cut:.2f}" if np.isfinite(cut) else ""
        caption += "" if stability is None else f", stability {stability[k]:.2f}"
        rest = f" and {len(own) - len(order):,} more" if len(own) > len(order) else ""
        members = ", ".join(isolated(names[i]) for i in order) + rest
        bars_ = [(names[i], float(weight[i])) for i in hubs]
        items.append(Card(f"cluster {k + 1}", caption, bars_, [("Members:", members)] if len(own) else [], k))
    words = (
        f"The hubs of a cluster are the {noun(model)}s with the most weight to others in it, shown as bars: the sum "
        "of the weights of their edges. Members come in the order of their membership."
    )
    cards = Cards("Hubs and members", items, "The largest cluster comes first.", model.n_clusters - len(items))
    return Section("Communities", words, [cards])


def _overlaps(saved: SavedModel) -> list[Section]:
    """Nodes that belong to several clusters, and which clusters share nodes; no section if there are none."""
    model, names = saved.model, node_names(saved)
    member = _memberships(model)
    inside = (member >= OVERLAP) | (model.labels_[:, None] == np.arange(model.n_clusters))
    several = np.flatnonzero(inside.sum(axis=1) > 1)
    if not len(several):
        return []
    shared = inside[several].astype(int).T @ inside[several].astype(int)
    pairs = [(int(shared[a, b]), a, b) for a in range(len(shared)) for b in range(a) if shared[a, b]]
    between = Table(
        f"Clusters that share {noun(model)}s",
        [
            Column("cluster", "integer"),
            Column("and cluster", "integer"),
            Column(f"{noun(model)}s in both", "integer"),
        ],
        [[b + 1, a + 1, n] for n, a, b in sorted(pairs, reverse=True)[:MOST_NODES]],
    )
    order = several[np.argsort(member[several].max(axis=1), kind="stable")][:MOST_NODES]
    nodes = Table(
        f"{noun(model).title()}s in several clusters",
        [Column(noun(model)), Column("clusters", "integer"), Column("memberships")],
        [[names[i], int(inside[i].sum()), _listed(member[i], inside[i])] for i in order.tolist()],
        left_out=len(several) - len(order),
    )
    words = (
        f"{count(len(several), noun(model))} of {len(names):,} belong to more than one cluster: their membership in "
        f"another is at least {OVERLAP:.0%}."
    )
    return [Section("Overlaps", words, [between, nodes])]


def _listed(member: Any, inside: Any) -> str:
    places = [k for k in np.argsort(-member, kind="stable").tolist() if inside[k]]
    return ", ".join(f"cluster {k + 1} ({member[k]:.0%})" for k in places)


def _members(saved: SavedModel) -> Section:
    model = saved.model
    leading = leading_memberships(model.labels_, np.asarray(model.membership_, dtype=float))
    largest, second = leading["membership"], leading["next_cluster"]
    order = np.argsort(np.where(model.labels_ >= 0, largest, 2), kind="stable")[:MOST_NODES].tolist()
    names = node_names(saved)
    degree = np.diff(model.affinity_matrix_.indptr)
    shares = np.round([largest, leading["next_membership"]], 4)
    rows: list[list[Any]] = [
        [
            names[i],
            cluster_number(model.labels_[i]),
            float(shares[0, i]),
            cluster_number(second[i]),
            float(shares[1, i]),
            int(degree[i]),
        ]
        for i in order
    ]
    columns = [
        Column(noun(model)),
        Column("cluster", "integer"),
        Column("membership", "share", f"in the cluster of the {noun(model)}"),
        Column("next cluster", "integer", "where the membership is second largest"),
        Column("membership there", "share"),
        Column("neighbours", "integer"),
    ]
    table = Table(
        f"{noun(model).title()}s by membership, lowest first",
        columns,
        rows,
        left_out=len(names) - len(order),
    )
    inside = largest[model.labels_ >= 0]
    what = noun(model)
    spread = histogram("Largest memberships", inside, f"largest membership of a {what}", span=(0, 1))
    words = (
        f"A {what} with a membership of 1 belongs to one cluster only; {what}s with lower values lie between clusters."
    )
    return Section("Memberships", words, [spread, *unsure_nodes(saved), table])


def _matrix(saved: SavedModel) -> Section:
    """Similarities with the nodes ordered by cluster, summed into cells."""
    model = saved.model
    largest = np.asarray(model.membership_).max(axis=1)
    cells = min(CELLS, len(largest))
    rank = np.argsort(np.lexsort((-largest, model.labels_)))
    place = rank * cells // len(largest)
    S = model.affinity_matrix_.tocoo()
    grid = np.zeros((cells, cells))
    np.add.at(grid, (place[S.row], place[S.col]), S.data)
    what = noun(model)
    words = f"{len(largest) / cells:.1f} {what}s per cell. Colour shows the square root of the weight."
    chart = heat_map("Similarities ordered by cluster", np.sqrt(grid), f"{what}s, by cluster", (), words)
    return Section("Similarities", "Good clusters show as squares along the diagonal.", [chart])


def _objective(saved: SavedModel) -> Section:
    model = saved.model
    bound = model.eigenvalue_bound()
    facts = [
        ("relative error", f"{model.relative_error_:.5f}", "‖S - U Uᵀ‖² / ‖S‖² for the similarities S"),
        ("bound", f"{bound:.5f}", "no factorisation of this rank can do better"),
        ("stationarity", f"{model.stationarity_:.1e}", "0 where no small change of U lowers the error"),
        ("iterations", f"{model.n_iter_:,}", ending(model)),
    ]
    theory = getattr(model, "diagnostics_", None)
    if theory is not None:
        words = f"lambda is {model.lambda_:.3g} and should exceed {theory['least_lambda']:.3g}; epsilon is "
        words += f"{theory['epsilon']:.3g}"
        facts.append(("Proposition 1", "holds" if theory["holds"] else "does not hold", words))
    blocks: list[Block] = [Facts(facts)]
    errors = model.resolved_.get("errors", {})
    if len(errors) > 1 and max(errors.values()) - min(errors.values()) < 1e-6:
        facts.append(("starts", str(len(errors)), "all reached the same error"))
    elif len(errors) > 1:
        columns = [Column("start"), Column("relative error", "number"), Column("above the bound", "number")]
        best_first = sorted(errors.items(), key=lambda item: item[1])
        blocks.append(Table("Starts", columns, [[name, round(e, 7), round(e - bound, 7)] for name, e in best_first]))
    words = "The error has many local minima; --init pool tries random starts too."
    return Section("Objective and bound", words, [*blocks, *convergence(model)])
