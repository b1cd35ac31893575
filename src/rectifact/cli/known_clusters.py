"""rectifact cluster --model: new nodes or points in the clusters of a saved model."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from rectifact.cli.cluster_data import ONLY_NODES, Given
from rectifact.cli.cluster_outputs import compare, read_truth, say_comparison, say_elsewhere
from rectifact.cli.cluster_table import RESERVED, group_columns
from rectifact.cli.known_parts import aligned
from rectifact.cli.outcome import Outcome
from rectifact.cli.reading import READING, Reading
from rectifact.cli.tables import as_json, write_table
from rectifact.cli.terminal import say, show_plain
from rectifact.core.errors import InputError, count
from rectifact.graph import SymNMF, SymNMFNet, from_edges, from_networkx
from rectifact.graph.bridges import shares_of_new
from rectifact.graph.far import FAR, outside_range
from rectifact.graph.new_nodes import NewNodes, find_new_nodes
from rectifact.graph.results import leading_memberships
from rectifact.graph.spelling import spelt_as_known, would_be_known
from rectifact.io.graphs import TWO_KINDS
from rectifact.io.inputs import Input
from rectifact.io.matrices import numbered
from rectifact.io.spelling import spelling_of
from rectifact.models import SavedModel, load_saved

USED = ("data", "known", "out", "as_json", "ignore_case", "truth", *READING)
"""Parameters of the command that have an effect with ``--model``."""

LONGEST = 200
"""Letters of the names of all columns, up to which they are asked for by name: a longer list may not be a file name."""


def apply_saved(
    path: Path,
    source: Reading,
    data: Path,
    out: Path,
    outcome: Outcome,
    ignore_case: bool = False,
    truth: str | None = None,
) -> None:
    """Write the cluster of each new node or point, by its edges to the nodes of the model or its nearest points."""
    saved = load_saved(path)
    model = saved.model
    if not isinstance(model, SymNMF | SymNMFNet):
        kind = type(model).__name__
        raise InputError(f"{str(path)!r} holds {kind}, not clusters.", "Name a file that cluster --save wrote.")
    if (saved.notes or {}).get("distances"):
        what = f"The clusters of {str(path)!r} are those of distances, in which new nodes cannot be placed."
        raise InputError(what, "Cluster the distances of all nodes together, without --model.")
    points = hasattr(model, "points_")
    if points == source.graph:
        of = "points" if points else "a graph"
        remedy = "Give points, without --graph." if points else "Give the edges of new nodes, with --graph."
        raise InputError(f"The clusters of {str(path)!r} are those of {of}.", remedy)
    if points and ignore_case:
        raise InputError(ONLY_NODES, "Leave it out for points.")
    given, new = _read(source, data, saved, path, ignore_case)
    groups = None if truth is None else read_truth(truth, data, given, ignore_case, source.sheet)
    membership = np.asarray(model.predict_membership(given.X), dtype=float)
    labels = np.asarray(model.predict(given.X))
    shares = None if points else shares_of_new(model, given.X, labels)
    compared = None if groups is None else compare(labels, groups.values)
    table = _table(given.names, given.title, labels, membership, new)
    last, more = ("distance", model._distances(given.X, labels)) if shares is None else ("share_inside", shares.own)
    beside = {last: more} | ({} if compared is None else group_columns(compared))
    for name, values in beside.items():
        table.insert(list(table.columns).index("membership1"), name, values)
    write_table(table, out)
    _say_placed(table, given, saved, path)
    if shares is not None:
        own = pd.DataFrame({"node": given.names, "cluster": labels})
        say_elsewhere(own, shares, "new node", "moved" in model.resolved_)
    if new is not None and new.unused():
        say(f"Note: {new.unused()} Edges among new nodes are not used: check the spelling, or fit all edges again.")
    names = list(map(str, given.names))
    if compared is not None:
        say_comparison(compared, names, f"new {given.what}")
    if outcome.as_json:
        summary = _summary(table, given.what, model.n_clusters, new)
        show_plain(as_json(summary | ({} if compared is None else {"truth": compared.summary(names)})))


def _say_placed(table: pd.DataFrame, given: Given, saved: SavedModel, path: Path) -> None:
    """Say how many new nodes or points have a cluster, and name those without one and those far from all."""
    what, placed = given.what, int((table["cluster"] > 0).sum())
    say(
        f"{placed:,} of {count(len(table), f'new {what}')} placed in the "
        f"{count(saved.model.n_clusters, 'cluster')} of {str(path)!r}, which stay as they are."
    )
    without = table[given.title][table["cluster"] < 0].astype(str).tolist()
    if without:
        why = "far from all points" if what == "point" else "without edges to a node in a cluster"
        say(f"Note: {count(len(without), f'new {what}')} in no cluster (-1), {why}: {_such(without)}.")
    if what == "point":
        _say_far(table[given.title][table["distance"] > FAR].astype(str).tolist(), saved, given.X)


def _summary(table: pd.DataFrame, what: str, n_clusters: int, new: NewNodes | None) -> dict[str, Any]:
    """Plain values for ``--json``."""
    inside = table["cluster"][table["cluster"] > 0]
    sizes = np.bincount(inside - 1, minlength=n_clusters).tolist()
    summary = {f"new_{what}s": len(table), "clusters": n_clusters, "sizes": sizes}
    summary |= {"in_no_cluster": len(table) - len(inside)}
    summary |= {"far": int((table["distance"] > FAR).sum())} if what == "point" else {}
    return summary | ({} if new is None else {"unused_edges": int(new.unknown.sum()) // 2})


def _such(names: list[str]) -> str:
    """The first of some names, for a sentence."""
    such = ", ".join(f'"{name}"' if "," in name else name for name in names[:5])
    return such + (", ..." if len(names) > 5 else "")


def _say_far(far: list[str], saved: SavedModel, X: Any) -> None:
    """Name points far from all others, whose cluster is only the nearest, and columns that may be in another unit."""
    from rectifact.report.members import in_units

    if far:
        lies = "lies" if len(far) == 1 else "lie"
        why = f"the column distance is above {FAR:g}, and the cluster is only the nearest one"
        say(f"Note: {count(len(far), 'point')} {lies} far from all clusters: {_such(far)}; {why}.")
    points = in_units(saved.model)
    if points is not None and (beyond := outside_range(points, X, saved.features)):
        say(f"Note: {beyond} Check the unit of the column.")


def _read(
    source: Reading, data: Path, saved: SavedModel, path: Path, ignore_case: bool
) -> tuple[Given, NewNodes | None]:
    """New nodes with their edges, or new points with their columns; and what is known about new nodes."""
    found = _found(source, data, saved)
    matrix: Any = found.matrix
    if source.graph:
        if matrix is not None:
            raise InputError(f"{str(data)!r} holds a matrix.", "Give the edges of new nodes as a table of pairs.")
        made = from_networkx(found.graph) if found.graph is not None else from_edges(*found.edges or (), sort=False)
        new = _new_nodes(made[0], made[1], saved.model.nodes_, ignore_case)
        return Given(new.rows, new.names), new
    if matrix is None:
        raise InputError(f"{str(data)!r} holds edges, and the model has clusters of points.", "Give points.")
    matrix = aligned(found, saved, path)
    title = "sample" if matrix.row_title in RESERVED else matrix.row_title
    names, named = numbered(matrix.rows, matrix.X.shape[0]), matrix.rows is not None
    return Given(matrix.X, names, title, "point", matrix.columns, named), None


def _new_nodes(A: Any, nodes: Any, known: Any, ignore_case: bool) -> NewNodes:
    """New nodes of the edges; those that are known but for capitals or spaces are made known, or named."""
    nodes = list(map(spelling_of(known), nodes))
    alike = would_be_known(nodes, known)
    n = len(alike)
    such = f"{alike[0][0]!r} is {alike[0][1]!r} there" if alike else ""
    if ignore_case:
        said = f"{count(n, 'node')} taken for known ones ({such})" if alike else "no node is a known one by that"
        say(f"Capitals and spaces ignored: {said}.")
        A, nodes = spelt_as_known(A, nodes, known)
    if ignore_case or not alike:
        return find_new_nodes(A, nodes, known)
    verb = "differs from a node" if n == 1 else "differ from nodes"
    what = f"{count(n, 'new node')} {verb} of the model only in capitals or spaces ({such})"
    if not {str(node) for node in nodes} & {str(node) for node in known}:
        raise InputError(f"{what}, and no other is known.", "To take them for the same, add --ignore-case.")
    say(f"Note: {what}; to take {'it' if n == 1 else 'them'} for the same, add --ignore-case.")
    return find_new_nodes(A, nodes, known)


def _found(source: Reading, data: Path, saved: SavedModel) -> Input:
    """The data, of which only the columns that the model knows have to be numbers."""
    features = (
        [] if source.graph or source.columns or saved.features is None else [str(name) for name in saved.features]
    )
    try:
        # new nodes are on one side, known ones on the other
        return source.read(data, "cluster", unsaid=(f"; {TWO_KINDS}",))
    except InputError:
        listed = ",".join('"' + name.replace('"', '""') + '"' for name in features)
        if not 0 < len(listed) < LONGEST:
            raise
        try:
            return replace(source, columns=listed, drop=None).read(data, "cluster")
        except InputError:
            pass
        raise


def _table(names: Any, title: str, labels: Any, membership: Any, new: NewNodes | None) -> pd.DataFrame:
    """One row per new node or point, with the columns of the table of a fit."""
    leading: dict[str, Any] = leading_memberships(labels, membership)
    following = pd.Series(leading["next_cluster"] + 1, dtype="Int64")
    leading["next_cluster"] = following.mask(following == 0)
    table = pd.DataFrame({title: names, "cluster": np.where(labels >= 0, labels + 1, -1), **leading})
    if new is not None:
        table["neighbours"], table["unknown"] = new.neighbours, new.unknown
    for k, values in enumerate(membership.T, 1):
        table[f"membership{k}"] = values
    return table
