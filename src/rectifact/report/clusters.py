"""Report on clusters: sizes and quality, a drawing of the graph, memberships, and similarities ordered by cluster."""

from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from rectifact.core.arrays import to_csr, to_host
from rectifact.core.findings import Finding
from rectifact.graph.bridges import hub_ranks, shares_of
from rectifact.graph.louvain import Division
from rectifact.graph.quality import edge_counts
from rectifact.graph.results import leading_memberships
from rectifact.graph.similarities import Similarities
from rectifact.models import SavedModel
from rectifact.report.blocks import Block, Card, Cards, Column, Facts, Findings, Report, Section, Table
from rectifact.report.charts import PALETTE, bars, convergence, ending, heat_map, histogram, network
from rectifact.report.cluster_opening import clusters_opening
from rectifact.report.drawing import draw
from rectifact.report.how_many import how_many, with_stability
from rectifact.report.members import (
    cluster_name,
    cluster_number,
    columns_section,
    node_names,
    noun,
    unsure_nodes,
)
from rectifact.report.names import count, isolated
from rectifact.report.overlaps import elsewhere, known_groups, overlaps
from rectifact.selection.communities import names_others

MOST_NODES, CELLS, MOST_CARDS, N_HUBS, N_MEMBERS, N_NAMED, MOST_NAMED = 20_000, 120, 60, 8, 40, 40, 80


def clusters_report(saved: SavedModel) -> Report:
    """Sections for SymNMF and SymNMFNet."""
    saved = replace(saved, model=_on_host(saved.model))
    model = saved.model
    n, (edges, loops) = len(model.labels_), edge_counts(model.affinity_matrix_)
    between = "" if noun(model) == "node" else " between neighbours"
    between += f", {loops:,} of them loops," if loops else ""
    words = f"{count(n, noun(model))} and {count(edges, 'edge')}{between} in {count(model.n_clusters, 'cluster')}, "
    words += f"found by {type(model).__name__}."
    louvain = model.compared_with_louvain()
    advised = saved.selection is not None and names_others(saved.selection.reason)
    findings = model.findings(first=1, other=louvain, advised=advised)
    sections = [
        _overview(saved, louvain, findings),
        *columns_section(saved),
        _network(saved),
        _communities(saved),
        _members(saved),
        *overlaps(saved),
        *known_groups(saved),
    ]
    sections += [*how_many(saved.selection), _matrix(saved), _objective(saved)]
    return Report("Clusters", words, sections, *clusters_opening(saved, findings))


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


def _overview(saved: SavedModel, louvain: Division | None, known: list[Finding]) -> Section:
    model = saved.model
    table = model.cluster_report()
    sizes = table["size"].to_numpy()
    left_out = int((model.labels_ < 0).sum())
    among = f", among the {sizes.sum():,} {noun(model)}s in a cluster" if left_out else ""
    facts = [
        ("clusters", str(model.n_clusters), ""),
        ("largest, smallest", f"{sizes.max():,}, {sizes.min():,}", f"{noun(model)}s"),
        ("weight inside clusters", f"{model.coverage_:.1%}", "of the total weight of the edges"),
        ("modularity", f"{model.modularity_:.3f}", f"that weight, less what would be inside by chance{among}"),
    ]
    if left_out:
        facts.append(
            (
                "in no cluster",
                f"{left_out:,}",
                f"{noun(model)}s, {left_out / len(model.labels_):.1%} of all",
            )
        )
    found = [(each.severity, each.finding, each.detail, each.command or each.remedy) for each in known]
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
    several = (
        with_stability(model, columns, rows) if model.n_clusters > 1 else (columns, rows)
    )  # one is always the same
    quality = Table("Quality of clusters", *several)
    words = f"A cluster is a group of {noun(model)}s that are densely connected to each other."
    words += f" Clusters are numbered by size, here and in all files. {(saved.notes or {}).get('names', '')}".rstrip()
    words += f" {louvain.sentence()}" if louvain is not None and not louvain.is_better else ""
    return Section("Overview", words, [Facts(facts), *findings, chart, quality])


def _network(saved: SavedModel) -> Section:
    """The graph as dots and lines, drawn by forces; a sample of its nodes where it is large."""
    model = saved.model
    drawing = draw(model.affinity_matrix_, model.labels_, np.asarray(model.membership_))
    names = node_names(saved)
    hover = [f"{names[i]}: {cluster_name(model.labels_[i])}" for i in drawing.nodes]
    what, (n_edges, loops) = noun(model), edge_counts(model.affinity_matrix_)
    drawn, different = len(drawing.nodes), n_edges - loops
    some = f"{drawn:,} of" if drawn < len(names) else "All"
    of_them = f"{len(drawing.edges):,} of " * (len(drawing.edges) < different)
    words = f"{some} {count(len(names), what)} and {of_them}the {count(different, 'edge')} between {what}s are drawn."
    if model.n_clusters > len(PALETTE):
        words += f" Colours repeat after {len(PALETTE)} clusters."
    colours = [int(model.labels_[i]) for i in drawing.nodes]
    named = {i: names[drawing.nodes[i]] for i in _hubs_in_turn(model, drawing.nodes)}
    title = f"The {'graph' if what == 'node' else 'points'}, coloured by cluster"
    few = model.n_clusters <= len(PALETTE)
    legend = {k: cluster_name(k) for k in sorted(set(colours))} if few else {}
    hubs = np.flatnonzero(hub_ranks(shares_of(model), model.labels_)[drawing.nodes] == 1).tolist()
    hubs = hubs if what == "node" and model.n_clusters > 1 else []
    chart = network(title, drawing.places, drawing.edges, colours, hover, words, named=named, legend=legend, hubs=hubs)
    about = f"{what.title()}s that are connected attract each other, and all others repel each other."
    about += " The hub of each cluster has a larger dot." if hubs else ""
    about += f" Grey {what}s are in no cluster." if (model.labels_ < 0).any() else ""
    if what == "point":
        about += " Each point is joined to its nearest neighbours; where it lies in the data is not drawn."
    return Section("Network", about, [chart])


def _hubs_in_turn(model: Any, nodes: Any) -> list[int]:
    """Places among the drawn ``nodes`` of those to be named: all of a few, else the nodes of most edges, by cluster.

    No more than a fifth of a cluster, and one of a small one: the names of all its nodes would hide it.
    """
    degree, labels = np.diff(model.affinity_matrix_.indptr)[nodes], model.labels_[nodes]
    order = np.argsort(-degree, kind="stable")
    rank = np.zeros(len(nodes), dtype=int)  # among the nodes of the same cluster
    may = np.zeros(len(nodes), dtype=bool)
    for label in np.unique(labels):
        own = order[labels[order] == label]
        rank[own] = np.arange(len(own))
        may[own] = (rank[own] < max(1, len(own) // 5)) | (len(nodes) <= N_NAMED)
    turn = np.lexsort((-degree, labels < 0, rank))
    most = len(nodes) if len(nodes) <= N_NAMED else max(N_NAMED, min(MOST_NAMED, 5 * model.n_clusters))
    return [int(i) for i in turn[may[turn]][:most]]


def _communities(saved: SavedModel) -> Section:
    """A card for each cluster: its hubs with their weights inside it, and its members."""
    model, names, table = saved.model, node_names(saved), saved.model.cluster_report()
    member, stability = _memberships(model), getattr(saved.model, "stability_", None)
    shares = shares_of(model)
    weight, ranks = _whole(shares.inside), hub_ranks(shares, model.labels_)
    items = []
    for k in np.argsort(-table["size"].to_numpy(), kind="stable")[:MOST_CARDS].tolist():
        own = np.flatnonzero(model.labels_ == k)
        hubs = own[np.argsort(ranks[own], kind="stable")]
        hubs = hubs[ranks[hubs] > 0][:N_HUBS]
        order = own[np.argsort(-member[own, k], kind="stable")][:N_MEMBERS]
        caption = count(len(own), noun(model))
        cut = table["conductance"][k]
        caption += f", conductance {cut:.2f}" if np.isfinite(cut) else ""
        caption += "" if stability is None or model.n_clusters == 1 else f", stability {stability[k]:.2f}"
        rest = f" and {len(own) - len(order):,} more" if len(own) > len(order) else ""
        members = ", ".join(isolated(names[i]) for i in order) + rest
        bars_ = [(names[i], float(weight[i])) for i in hubs]
        items.append(Card(f"cluster {k + 1}", caption, bars_, [("Members:", members)] if len(own) else [], k))
    words = (
        "The hubs of a cluster have the most weight to others in it, among the nodes that keep more of their weight "
        "there than in any other cluster: the first of all, and others that keep more than half. Bars show the sum of "
        "the weights of these edges. Members come in the order of their membership."
    )
    if noun(model) == "point":
        words = "Bars show the points with the most weight to their neighbours: they lie where the cluster is dense. "
        words += "Members come in the order of their membership."
    cards = Cards(
        "Hubs and members" if noun(model) == "node" else "Central points and members",
        items,
        "The largest cluster comes first.",
        model.n_clusters - len(items),
    )
    return Section("Communities", words, [cards])


def _whole(weight: Any) -> Any:
    """Weights without the rounding of the normalisation, where all of them are whole numbers."""
    nearest = np.round(weight)
    return nearest if np.allclose(weight, nearest, rtol=1e-9, atol=1e-6) else weight


def _members(saved: SavedModel) -> Section:
    model = saved.model
    leading = leading_memberships(model.labels_, np.asarray(model.membership_, dtype=float))
    largest, second = leading["membership"], leading["next_cluster"]
    order = np.argsort(np.where(model.labels_ >= 0, largest, 2), kind="stable")[:MOST_NODES].tolist()
    names = node_names(saved)
    degree = np.diff(model.affinity_matrix_.indptr)
    shares = np.round([largest, leading["next_membership"]], 9)
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
        f"A {what} with a membership of 1 belongs to one cluster only. Memberships are shares that the factorisation "
        f"gives, not probabilities: they are higher in small clusters, and vary for {what}s with few edges. "
        f"{elsewhere(saved)}"
    )
    return Section("Memberships", words.strip(), [spread, *unsure_nodes(saved), table])


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
    per_cell = f"{len(largest) / cells:.1f}".removesuffix(".0")
    words = f"{per_cell} {what}{'s' * (per_cell != '1')} per cell. Colour shows the square root of the weight."
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
