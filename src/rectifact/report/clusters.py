"""Report of clusters: sizes, how sharp memberships are, and the similarities in order."""

from typing import Any

import numpy as np

from rectifact.models import SavedModel
from rectifact.report.blocks import Block, Column, Facts, Report, Section, Table
from rectifact.report.charts import bars, convergence, heat_map, histogram
from rectifact.report.names import sample_names

__all__ = ["clusters_report"]

MOST_NODES, CELLS = 20_000, 120


def clusters_report(saved: SavedModel) -> Report:
    """Sections for SymNMF and SymNMFNet."""
    model = saved.model
    S = model.affinity_matrix_
    words = f"{S.shape[0]} nodes and {S.nnz // 2} edges in {model.n_clusters} clusters, by {type(model).__name__}."
    return Report("Clusters", words, [_overview(saved), _members(saved), _matrix(saved), _objective(saved)])


def _overview(saved: SavedModel) -> Section:
    model = saved.model
    sizes = np.bincount(model.labels_, minlength=model.n_clusters)
    inside = _share_inside(model)
    facts = [
        ("clusters", str(model.n_clusters), ""),
        ("largest, smallest", f"{sizes.max():,}, {sizes.min():,}", "nodes"),
        ("weight inside clusters", f"{inside:.1%}", "of all edges"),
    ]
    numbers = [str(i + 1) for i in range(len(sizes))]
    words = "Sizes: " + ", ".join(f"{size:,}" for size in sizes[:30]) + "."
    chart = bars("Sizes of clusters", numbers, sizes, "nodes", words)
    words = "A cluster is a group of nodes that are densely connected with each other."
    return Section("Overview", words, [Facts(facts), chart])


def _share_inside(model: Any) -> float:
    S = model.affinity_matrix_.tocoo()
    same = model.labels_[S.row] == model.labels_[S.col]
    return float(S.data[same].sum() / max(S.data.sum(), 1e-300))


def _members(saved: SavedModel) -> Section:
    model = saved.model
    membership = np.asarray(model.membership_)
    sharp = membership.max(axis=1)
    second = np.argsort(-membership, axis=1, kind="stable")[:, : min(2, membership.shape[1])]
    order = np.argsort(sharp, kind="stable")[:MOST_NODES]
    names = _node_names(saved)
    degree = np.diff(model.affinity_matrix_.indptr)
    rows = [
        [names[i], int(model.labels_[i]) + 1, round(float(sharp[i]), 4), int(second[i, -1]) + 1, int(degree[i])]
        for i in order.tolist()
    ]
    columns = [
        Column("node"),
        Column("cluster", "integer"),
        Column("membership", "share", "in its own cluster"),
        Column("next cluster", "integer", "where it belongs next"),
        Column("neighbours", "integer"),
    ]
    table = Table("Nodes between clusters first", columns, rows, left_out=len(names) - len(order))
    spread = histogram("Sharpness of memberships", sharp, "largest membership of a node", span=(0, 1))
    return Section("Memberships", "1 belongs to one cluster only; lower values lie between clusters.", [spread, table])


def _node_names(saved: SavedModel) -> list[str]:
    model = saved.model
    if saved.samples is not None:
        return [str(name) for name in sample_names(saved, len(model.labels_))]
    nodes = model.nodes_
    plain = isinstance(nodes, np.ndarray) and nodes.dtype.kind == "i" and (nodes == np.arange(len(nodes))).all()
    return [str(node + 1) for node in range(len(nodes))] if plain else [str(node) for node in nodes]


def _matrix(saved: SavedModel) -> Section:
    """Similarities with nodes in the order of their clusters, summed into cells."""
    model = saved.model
    sharp = np.asarray(model.membership_).max(axis=1)
    rank = np.empty(len(sharp), dtype=int)
    rank[np.lexsort((-sharp, model.labels_))] = np.arange(len(sharp))
    cells = min(CELLS, len(sharp))
    place = rank * cells // len(sharp)
    S = model.affinity_matrix_.tocoo()
    grid = np.zeros((cells, cells))
    np.add.at(grid, (place[S.row], place[S.col]), S.data)
    words = (
        f"Nodes in the order of their clusters, {len(sharp) / cells:.1f} to a cell; {_share_inside(model):.1%} of the "
        "weight lies in the blocks. Colour is the square root of the weight."
    )
    chart = heat_map("Similarities in the order of the clusters", np.sqrt(grid), "nodes, by cluster", (), words)
    return Section("Similarities", "Good clusters show as blocks on the diagonal.", [chart])


def _objective(saved: SavedModel) -> Section:
    model = saved.model
    bound = model.eigenvalue_bound()
    facts = [
        ("relative error", f"{model.relative_error_:.5f}", "squared distance of U U' from the graph, over its size"),
        ("bound", f"{bound:.5f}", "no factorisation of this rank can be better"),
        ("stationarity", f"{model.stationarity_:.1e}", "0 where no small change of U helps"),
        ("ended", model.stop_reason_.replace("_", " "), f"after {model.n_iter_} iterations"),
    ]
    blocks: list[Block] = [Facts(facts)]
    errors = model.resolved_.get("errors", {})
    if len(errors) > 1 and max(errors.values()) - min(errors.values()) < 1e-6:
        facts.append(("starts", str(len(errors)), "all ended at the same error"))
    elif len(errors) > 1:
        columns = [Column("start"), Column("relative error", "number"), Column("above the bound", "number")]
        rows = [
            [name, round(error, 7), round(error - bound, 7)]
            for name, error in sorted(errors.items(), key=lambda item: item[1])
        ]
        blocks.append(Table("Starts", columns, rows))
    curve = convergence(model.history_, model.stop_reason_)
    words = "There are many local minima. If the lowest was found from one start only, raise n_init."
    return Section("Objective and bound", words, blocks + ([curve] if curve else []))
