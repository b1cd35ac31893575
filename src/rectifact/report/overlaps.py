"""Nodes between clusters, and clusters next to known groups, for the report on clusters."""

from typing import Any

import numpy as np

from rectifact.graph.bridges import ERRORS, FEWEST, MAY, OVERLAP, SHARE, shares_of
from rectifact.graph.comparison import Comparison, compare_with_groups, figure
from rectifact.graph.results import leading_memberships
from rectifact.models import SavedModel
from rectifact.report.blocks import Block, Column, Facts, Section, Table
from rectifact.report.members import cluster_number, node_names, noun
from rectifact.report.names import count, isolated

MOST_NODES, MOST_NAMED = 20_000, 5
"""Rows of a table, and nodes that a sentence names."""


def bridges_of(model: Any) -> Any:
    """The table of bridges, with the places of nodes for their names, which may repeat."""
    nodes, model.nodes_ = model.nodes_, np.arange(len(model.labels_))  # of a copy
    try:
        return model.bridges()
    finally:
        model.nodes_ = nodes


def overlaps(saved: SavedModel) -> list[Section]:
    """Nodes that may belong to two clusters, and between which clusters they are; no section if there are none."""
    model, names, what = saved.model, node_names(saved), noun(saved.model)
    table = bridges_of(model)
    if table.empty:
        return []
    pairs = np.sort(table[["cluster", "next_cluster"]].to_numpy(), axis=1)
    rows = []
    for a, b in np.unique(pairs, axis=0).tolist():
        both = (pairs == (a, b)).all(axis=1)
        rows.append([a + 1, b + 1, int(table["clear"][both].sum()), int(both.sum())])
    between = Table(
        f"Clusters with {what}s between them",
        [
            Column("cluster", "integer"),
            Column("and cluster", "integer"),
            Column("clear", "integer", f"{what}s that clearly lie between them"),
            Column("all", "integer", f"{what}s that may belong to both"),
        ],
        sorted(rows, key=lambda row: (-row[2], -row[3], row[0], row[1]))[:MOST_NODES],
    )
    shown = table.iloc[:MOST_NODES]
    columns = [
        Column(what),
        Column("verdict"),
        Column("cluster", "integer"),
        Column("share there", "share", "of the weight of its edges"),
        Column("other cluster", "integer", "where most of the rest of the weight goes"),
        Column("share in that", "share", "of the weight of its edges"),
        Column("membership", "share", "in the other cluster"),
        Column("edges", "integer"),
        Column("edges there", "integer", "to the other cluster"),
    ]
    listed = [
        [
            names[row.node],
            "clear" if row.clear else "few edges" if row.next_neighbours < FEWEST else "not clear",
            row.cluster + 1,
            round(float(row.share), 9),
            row.next_cluster + 1,
            round(float(row.next_share), 9),
            round(float(row.next_membership), 9),
            int(row.neighbours),
            int(row.next_neighbours),
        ]
        for row in shown.itertuples()
    ]
    nodes = Table(f"{what.title()}s that may belong to two clusters", columns, listed, left_out=len(table) - len(shown))
    return [Section("Overlaps", _words(table, len(names), what), [between, nodes])]


def _words(table: Any, n: int, what: str) -> str:
    clear, rest = int(table["clear"].sum()), int((~table["clear"]).sum())
    so = ", so the clusters overlap" if clear >= OVERLAP * n else ""
    said = f"{count(clear, what)} of {n:,} clearly {'lies' if clear == 1 else 'lie'} between two clusters{so}. "
    said = said if clear else f"No {what} of {n:,} clearly lies between two clusters. "
    said += (
        f"That takes at least {SHARE:.0%} of the weight of its edges in each of the two, at least {FEWEST} edges to "
        f"each, and more of them than {what}s of only one of the two have by chance; about {ERRORS:.0%} of the clear "
        "cases, or fewer, are still due to chance."
    )
    if rest:
        may = "may, as it has" if rest == 1 else "may, as they have"
        said += (
            f" {rest:,}{' more' if clear else ''} {may} a membership in another of at least {MAY:.0%}, but the edges "
        )
        said += "do not show it clearly."
    return (
        f"{said} Membership comes from the factorisation and leans towards small clusters; the shares say where the "
        "weight of the edges goes."
    )


def elsewhere(saved: SavedModel) -> str:
    """A sentence about nodes that have more weight to another cluster than to their own."""
    model, what = saved.model, noun(saved.model)
    if model.n_clusters == 1:
        return ""
    found = np.flatnonzero(shares_of(model).elsewhere & (model.labels_ >= 0)).tolist()
    if not found:
        return f"No {what} has more weight to another cluster than to its own."
    names = node_names(saved)
    such = ", ".join(isolated(names[i]) for i in found[:MOST_NAMED]) + (", …" if len(found) > MOST_NAMED else "")
    has = "has more weight to another cluster than to its own" if len(found) == 1 else "have more weight to another "
    return f"{count(len(found), what)} {has}{'' if len(found) == 1 else 'cluster than to their own'}: {such}."


def known_groups(saved: SavedModel) -> list[Section]:
    """Clusters next to the groups that were given."""
    found = []
    for title, values in (saved.groups or {}).items():
        compared = compare_with_groups(saved.model.labels_, values, title)
        columns = [Column("cluster", "integer"), *(Column(str(name), "integer") for name in compared.table.columns)]
        rows = [[int(k), *map(int, row)] for k, *row in compared.table.itertuples()]
        facts = [
            ("NMI", figure(compared.nmi, ".3f"), "normalised mutual information"),
            ("adjusted Rand index", figure(compared.ari, ".3f"), "1 if they are the same, about 0 by chance"),
            ("accuracy", figure(compared.accuracy, ".1%"), "if each cluster stands for one group"),
        ]
        table = Table(f"Clusters and {title}", columns, rows, f"Numbers of {noun(saved.model)}s.")
        what, names = noun(saved.model), node_names(saved)
        parts = [compared.sentence(what), (saved.notes or {}).get("groups", "")]
        parts.append(compared.disagreement([isolated(name) for name in names], what))
        blocks: list[Block] = [Facts(facts), table, *_disagreeing(saved, compared, names)]
        found.append(Section("Known groups", " ".join(filter(None, parts)), blocks))
    return found


def _disagreeing(saved: SavedModel, compared: Comparison, names: Any) -> list[Table]:
    """A table of the nodes whose cluster stands for another group than theirs; none if there are none."""
    model, what = saved.model, noun(saved.model)
    places = compared.disagree.tolist()
    leading = leading_memberships(model.labels_, np.asarray(model.membership_, dtype=float))
    rows = [
        [
            names[i],
            compared.known[i],
            int(model.labels_[i]) + 1,
            compared.stands_for[i],
            round(float(leading["membership"][i]), 9),
            cluster_number(leading["next_cluster"][i]),
            round(float(leading["next_membership"][i]), 9),
        ]
        for i in places[:MOST_NODES]
    ]
    columns = [
        Column(what),
        Column("known group"),
        Column("cluster", "integer"),
        Column("stands for", help=f"the group of most of its {what}s"),
        Column("membership", "share"),
        Column("next cluster", "integer"),
        Column("membership there", "share"),
    ]
    title = f"{what.title()}s that disagree with their known group"
    return [Table(title, columns, rows, left_out=len(places) - len(rows))] if rows else []
