"""What rectifact cluster says besides its table: sizes and quality, and known groups next to clusters."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from rich.table import Table

from rectifact.cli.cluster_data import Given
from rectifact.cli.how_many import Found
from rectifact.cli.known_groups import Groups, Samples, read_groups
from rectifact.cli.outcome import how_it_ended
from rectifact.cli.terminal import say, say_table
from rectifact.core.errors import InputError, count
from rectifact.core.findings import Finding, findings_table
from rectifact.graph.bridges import OVERLAP, WeightShares, shares_of
from rectifact.graph.comparison import Comparison, compare_with_groups
from rectifact.graph.diagnosis import WEAK
from rectifact.graph.louvain import Division, why_not_compared
from rectifact.graph.quality import edge_counts
from rectifact.io.graphs import node_attributes

NAMES = {"id", "label", "name", "key"}
"""Attributes of nodes that say what they are called."""

MOST_NAMED = 5
"""Hubs and bridges on the terminal."""

MOST_SIZES, MOST_GROUPS, MOST_ROWS = 30, 10, 20
"""Sizes of clusters on the terminal, and groups and clusters of a table there."""


def check_possible(how_many: int | range | str, n: int, what: str) -> None:
    """Refuse more clusters than nodes or points."""
    if isinstance(how_many, int) and how_many > n:
        raise InputError(f"There are {count(n, what)}, too few for {how_many} clusters.", "Lower -k.")


def read_truth(text: str, data: Path, given: Given, ignore_case: bool, sheet: str | None) -> Groups:
    """Known groups of the nodes or points, by the name of their column, or of an attribute of the nodes of a graph."""
    known = np.asarray([str(name) for name in given.names])
    place, _, column = (text, "", "") if Path(text).exists() else text.rpartition(":")
    path = Path(place) if place else data
    attributes = node_attributes(path) if path.is_file() else None
    if attributes is not None:
        values = _attribute(attributes, column, f"--truth {text!r}", path)
        return Groups({column: np.asarray([values.get(name) for name in known.tolist()], dtype=object)})
    if given.what == "node" and path == data:
        raise InputError(
            f"--truth {text!r} is not a file, and {str(data)!r} has edges, not groups of nodes.",
            "Give a table with one row per node, such as nodes.csv:group.",
        )
    samples = Samples(data, len(known), known, given.named, given.what, sheet)
    return read_groups(text, samples, option="--truth", said="Known groups", ignore_case=ignore_case)


def _attribute(nodes: dict[str, dict[str, Any]], name: str, given: str, path: Path) -> dict[str, Any]:
    """The values of an attribute, by node; an error lists those that there are."""
    there = dict.fromkeys(key for data in nodes.values() for key, value in data.items() if _is_plain(value))
    if name not in there:
        others = [key for key in there if key not in NAMES]
        has = f"Give one of {', '.join(others)}." if others else "It has none: give a table, such as nodes.csv:group."
        raise InputError(f"{given} does not name an attribute of the nodes of {str(path)!r}.", has)
    values = {node: data[name] for node, data in nodes.items() if _is_plain(data.get(name))}
    say(f"Known groups from the attribute {name!r}: {len(values):,} of {count(len(nodes), 'node')}.")
    return values


def _is_plain(value: Any) -> bool:
    return isinstance(value, str | int | float | bool)


def compare(labels: Any, groups: dict[str, Any]) -> Comparison:
    """Clusters next to the groups of the only column that was given."""
    ((title, values),) = groups.items()
    return compare_with_groups(labels, values, title)


def say_comparison(found: Comparison, names: list[str], what: str) -> None:
    """Show clusters next to known groups, how far they agree, and which nodes do not."""
    if len(found.table.columns) <= MOST_GROUPS and len(found.table) <= MOST_ROWS:
        shown = Table("cluster", *found.table.columns, title=f"Clusters and {found.title}", title_justify="left")
        for own in shown.columns:
            own.justify = "right"
        for cluster, *row in found.table.itertuples():
            shown.add_row(str(cluster), *(str(n) if n else "" for n in row))
        say_table(shown)
    say(found.sentence(what))
    table = " The columns known_group, cluster_group and agrees of the table have all of them."
    say(found.disagreement(names, what) + table * (len(found.disagree) > 0))


def say_clusters(found: Found, n: int, what: str, roles: pd.DataFrame | None, louvain: Division | None = None) -> None:
    """Sizes, quality and how the fit ended, how Louvain's communities compare, stability, and hubs and bridges."""
    model, sizes, (n_edges, loops) = found.model, _sizes(found.model), edge_counts(found.model.affinity_matrix_)
    edges = count(n_edges, "edge") + ("" if what == "node" else " between neighbours")
    among = "" if sum(sizes) == n else f" among the {count(sum(sizes), what)} in a cluster"
    chosen = "" if found.selection is None else " (a number chosen from the data)"
    say(
        f"{count(n, what)}, {edges}{f', {loops} of them from a node to itself' if loops else ''}, "
        f"{count(model.n_clusters, 'cluster')}{chosen} of {', '.join(map(str, sizes[:MOST_SIZES]))}"
        f"{', ...' if len(sizes) > MOST_SIZES else ''}; modularity {round(model.modularity_, 3) + 0.0:.3f}{among}, "
        f"relative error {model.relative_error_:.4f} from start {model.resolved_['start']}, {how_it_ended(model)}."
    )
    if louvain is not None and not louvain.is_better:  # which is a finding
        say(louvain.sentence())
    if louvain is None and what == "node" and (missing := why_not_compared(n_edges)):
        say(missing)
    found.say_stability("clusters")
    if roles is not None:
        told = _of_reliable(roles, found.stability)
        _say_roles(told)
        say_moved(model.resolved_.get("moved", 0))
        say_elsewhere(told, shares_of(model), by_edges="moved" in model.resolved_)


def _of_reliable(roles: pd.DataFrame, stability: Any) -> pd.DataFrame:
    """Roles without those in clusters that are not found again: these have just been called unreliable."""
    if stability is None:
        return roles
    reliable = roles["cluster"].isin(np.flatnonzero(np.asarray(stability) >= WEAK))
    return roles.assign(cluster=roles["cluster"].where(reliable, -1), hub_rank=roles["hub_rank"].where(reliable, 0))


def _say_roles(roles: pd.DataFrame) -> None:
    """Name the hubs of clusters, and the nodes that clearly tie two clusters together."""
    hubs = roles[roles["hub_rank"] == 1].sort_values("cluster")
    if len(hubs) < 2:
        return
    own = [f"{node} (cluster {k + 1})" for node, k in hubs[["node", "cluster"]].to_numpy().tolist()]
    among = "of the nodes that keep more of their weight there than in any other"
    said = f"Hubs, which have the most weight inside their cluster {among}: {_first(own)}."
    between = roles[(roles["bridge_to"] >= 0) & (roles["cluster"] >= 0)].sort_values(
        "neighbours", ascending=False, kind="stable"
    )
    ends = between[["node", "cluster", "bridge_to"]].to_numpy().tolist()
    tied = [f"{node} ({k + 1} and {other + 1})" for node, k, other in ends]
    ties = f"Bridges, which clearly tie two clusters together: {_first(tied)}."
    if not tied:
        ties = "No node clearly ties two clusters together; next_membership says which may belong to two."
    elif len(tied) >= OVERLAP * len(roles):
        ties = (
            f"{len(tied):,} of {len(roles):,} nodes are split between two clusters, so the clusters overlap: read "
            f"next_cluster and next_membership too. They are {_first(tied)}."
        )
    where = "The columns hub_rank and bridge_to of the table have all of them."
    say(f"{said} {ties} {where if tied else 'The column hub_rank of the table has the places of other nodes.'}")


def say_moved(n: int) -> None:
    """Say how many nodes were moved by their edges, as their membership does not show it."""
    if n:
        has, them = ("is", "its") if n == 1 else ("are", "their")
        say(
            f"{count(n, 'node')} {has} not in the cluster of {them} largest membership, but in the one that has more "
            f"of {them} edge weight; --no-reassign would leave {'it' if n == 1 else 'them'} there."
        )


def say_elsewhere(roles: pd.DataFrame, shares: WeightShares, what: str = "node", by_edges: bool = False) -> None:
    """Name the nodes that have more weight to another cluster than to their own; clusters count from 0.

    ``by_edges`` says that these are nodes that were not moved, though others were where their edges spoke for it.
    """
    found = roles.assign(other=shares.other)[shares.elsewhere & (roles["cluster"] >= 0).to_numpy()]
    if found.empty:
        return
    such = [
        f"{node} ({k + 1}, more to {j + 1})" for node, k, j in found[["node", "cluster", "other"]].to_numpy().tolist()
    ]
    one = len(found) == 1
    has, own = ("has", "its own") if one else ("have", "their own")
    stay = "It stays there" if one else "They stay there"
    moved = f"{own} has more of it relative to the weight of all edges there, or more of {own.split()[0]} edges"
    large = "clusters with much weight in all get more from every node, wherever it belongs"
    say(
        f"Note: {count(len(found), what)} {has} more weight to another cluster than to {own}: {_first(such)}. {stay}, "
        f"as {moved if by_edges else large}."
    )


def _first(names: list[str]) -> str:
    more = f" and {len(names) - MOST_NAMED:,} more" if len(names) > MOST_NAMED else ""
    return ", ".join(names[:MOST_NAMED]) + more


def summary_of(
    found: Found, n: int, what: str, findings: Sequence[Finding], louvain: Division | None = None
) -> dict[str, Any]:
    """Plain values for ``--json``."""
    model, sizes, (n_edges, loops) = found.model, _sizes(found.model), edge_counts(found.model.affinity_matrix_)
    summary = {f"{what}s": n, "edges": n_edges, "loops": loops, "clusters": model.n_clusters, "sizes": sizes}
    summary |= {"in_no_cluster": n - sum(sizes), "normalized": model.resolved_["normalize"]}
    summary |= {"moved": model.resolved_["moved"]} if "moved" in model.resolved_ else {}
    summary |= {"modularity": model.modularity_, "relative_error": model.relative_error_}
    in_words = [replace(finding, remedy=finding.command or finding.remedy) for finding in findings]
    summary |= {"findings": findings_table(in_words).to_dict("records")}
    summary |= {} if louvain is None else {"louvain": louvain.summary()}
    ranges = getattr(model, "stability_range_", None)
    if ranges is not None:
        summary["stability_range"] = np.round(np.transpose(ranges), 4).tolist()
    return summary | found.summary


def _sizes(model: Any) -> list[int]:
    labels = model.labels_[model.labels_ >= 0]
    return [int(size) for size in np.bincount(labels, minlength=model.n_clusters)]
