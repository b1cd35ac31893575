"""Members of clusters: their names, the means of their columns where they are points, and those that are not sure."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from rectifact.core.arrays import to_host
from rectifact.models import SavedModel
from rectifact.report.blocks import Block, Column, Section, Table
from rectifact.report.charts import sample_map
from rectifact.report.names import sample_names

MOST_COLUMNS, MOST_MEANS, MOST_DOTS, MOST_NODES = 50, 12, 3000, 20_000
"""Columns of points whose means are shown, clusters that they are shown for, points of the drawing, rows of a table."""

SURE = 0.9
"""Share of resamples from which on a node is sure to be in its cluster."""


def noun(model: Any) -> str:
    """What is clustered."""
    return "point" if hasattr(model, "points_") else "node"


def node_names(saved: SavedModel) -> list[str]:
    """Names of the nodes or points."""
    nodes = saved.model.nodes_
    plain = isinstance(nodes, np.ndarray) and nodes.dtype.kind == "i" and (nodes == np.arange(len(nodes))).all()
    if plain or saved.samples is not None:
        return [str(name) for name in sample_names(saved, len(nodes))]
    return [str(node) for node in nodes]


def cluster_name(label: int) -> str:
    """What a cluster is called."""
    return f"cluster {label + 1}" if label >= 0 else "no cluster"


def cluster_number(label: int) -> int | None:
    """The number of a cluster for people; None for none."""
    return int(label) + 1 if label >= 0 else None


def in_units(model: Any) -> Any:
    """Points as they were given, where that is a table of few columns; else None."""
    X = getattr(model, "points_", None)
    if X is None or model.metric != "euclidean" or sp.issparse(X) or X.shape[1] > MOST_COLUMNS:
        return None
    return np.asarray(to_host(X), dtype=float) * getattr(model, "spreads_", 1.0)


def columns_section(saved: SavedModel) -> list[Section]:
    """Means of the columns of points in each cluster, and the two columns by which clusters differ most."""
    model, X = saved.model, in_units(saved.model)
    if X is None or not (model.labels_ >= 0).any():
        return []
    known = saved.features if saved.features is not None else getattr(model, "feature_names_in_", None)
    names = [f"column {j + 1}" for j in range(X.shape[1])] if known is None else [str(name) for name in known]
    shown = [k for k in range(min(model.n_clusters, MOST_MEANS)) if (model.labels_ == k).any()]
    means = np.array([X[model.labels_ == k].mean(axis=0) for k in shown])
    sizes = np.array([(model.labels_ == k).sum() for k in shown])
    overall = X.mean(axis=0)
    told = np.sqrt(sizes @ (means - overall) ** 2 / sizes.sum()) / np.where(X.std(axis=0) > 0, X.std(axis=0), 1)
    order = np.argsort(-told, kind="stable").tolist()
    columns = [Column("column"), Column("all", "number", "mean over all points")]
    columns += [Column(f"cluster {k + 1}", "number") for k in shown]
    rows: list[list[Any]] = [[names[j], *(float(f"{v:.4g}") for v in (overall[j], *means[:, j]))] for j in order]
    table = Table("Means by cluster", columns, rows, "The column by which the clusters differ most comes first.")
    blocks: list[Block] = [table]
    if len(order) > 1 and len(shown) > 1:
        kept = np.linspace(0, len(X) - 1, min(len(X), MOST_DOTS)).astype(int)
        words = "The two columns by which the clusters differ most, relative to their spread."
        words += f" {len(kept):,} of {len(X):,} points are shown." if len(kept) < len(X) else ""
        own, labels = node_names(saved), np.array([cluster_name(label) for label in model.labels_[kept]])
        two = [names[j] for j in order[:2]]
        title = f"{two[0]} and {two[1]}"
        blocks.append(sample_map(title, X[kept][:, order[:2]], [own[i] for i in kept], two, words, labels))
    return [Section("Columns", "Means of the columns in each cluster, in the units of the data.", blocks)]


def unsure_nodes(saved: SavedModel) -> list[Block]:
    """Nodes that often are in another cluster where edges are drawn again."""
    model, shares = saved.model, getattr(saved.model, "shares_", None)
    if shares is None:
        return []
    names, inside = node_names(saved), np.flatnonzero(model.labels_ >= 0)
    own = shares[inside, model.labels_[inside]]
    order = np.argsort(own, kind="stable")
    order = order[own[order] < SURE][:MOST_NODES]
    rows: list[list[Any]] = []
    for i in inside[order].tolist():
        label, others = int(model.labels_[i]), shares[i].copy()
        others[label] = 0
        other = int(others.argmax())
        elsewhere = cluster_number(other) if others[other] > 0 else None
        shown = np.round([shares[i, label], others[other]], 3).tolist()
        rows.append([names[i], label + 1, shown[0], elsewhere, shown[1]])
    what = noun(model)
    columns = [Column(what), Column("cluster", "integer"), Column("share there", "share", "of the resamples")]
    columns += [Column("or cluster", "integer"), Column("share in that", "share", "of the resamples")]
    note = f"They are in their cluster in less than {SURE:.0%} of the graphs whose edges were drawn again. "
    note += f"Graphs in which a {what} is in no cluster, as when none of its edges is drawn, do not count for it."
    if not rows:
        note = f"All {what}s are in their cluster in at least {SURE:.0%} of the graphs whose edges were drawn again."
    return [Table(f"{what.title()}s that are not sure", columns, rows, note)]
