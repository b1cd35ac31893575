"""The points or the graph that rectifact cluster was given."""

from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
import scipy.sparse as sp

from rectifact.cli.reading import Reading
from rectifact.cli.terminal import say
from rectifact.core.errors import InputError, count
from rectifact.graph import from_edges, from_networkx
from rectifact.graph.distances import differ_by_direction, known_distances, like_distances, listed_distances, points_of
from rectifact.graph.spelling import without_case
from rectifact.io.columns import quoted
from rectifact.io.edge_columns import may_be_far, sounds_far
from rectifact.io.graphs import ADDED
from rectifact.io.inputs import Input
from rectifact.io.matrices import numbered
from rectifact.io.two_modes import sum_node

ONLY_NODES = "--ignore-case is for the nodes of a graph."


class Given(NamedTuple):
    """Points, or a graph, and what is known about the rows.

    Attributes
    ----------
    X : array or sparse array
        Points in rows, or an adjacency matrix.
    names : sequence
        Those of the rows; their numbers where they have none.
    title : str
        What the names are called.
    what : {"node", "point"}
    columns : array of str, or None
        Names of the columns of points.
    named : bool
        Whether the names are those of the data, and not numbers of its rows.
    """

    X: Any
    names: Any
    title: str = "node"
    what: Literal["node", "point"] = "node"
    columns: Any = None
    named: bool = True

    @property
    def affinity(self) -> Literal["knn", "precomputed"]:
        """What it is for SymNMF."""
        return "precomputed" if self.what == "node" else "knn"


def read_given(source: Reading, path: Path, values: str | None, ignore_case: bool = False) -> Given:
    """Points or the graph of a file, whose nodes that differ only in capitals or spaces are one if asked for."""
    given = _read(source, path, values)
    return as_one(given) if ignore_case else given


def _read(source: Reading, path: Path, values: str | None) -> Given:
    """Points or the adjacency matrix of a graph, from a file of any kind.

    Distances become points that are as far apart; where nobody says what weights are, those that look like distances
    are asked about.
    """
    found = source.read(path, "cluster", unsaid=ADDED if values == "distance" else ())
    if values == "distance":
        return _placed(found, source)
    if found.graph is not None:
        given = Given(*from_networkx(found.graph))
    elif found.edges is not None:
        given = Given(*from_edges(*found.edges, sort=False))
    else:
        given = _of_matrix(found.matrix, source.graph)
    given = _without_sums(given, found) if given.what == "node" else given
    weighted = found.edges is None or len(found.edges) > 2
    if values is None and given.what == "node" and weighted:
        _check_not_distances(given.X, found.weight or source.weight or "", path)
    return given


def _without_sums(given: Given, found: Input) -> Given:
    """A graph without a node that holds the sums of the others, such as a row of totals."""
    node = sum_node(given.X)
    if node is None and found.matrix is not None:  # sums of what leads from a node, or to it
        X = _without_gaps(found.matrix.X, say_so=False)
        node = next((each for each in map(sum_node, (X, X.T)) if each is not None), None)
    elif node is None and found.edges is not None and len(found.edges) > 2:
        ends = [pd.Index(given.names).get_indexer(end) for end in found.edges[:2]]
        directed = sp.coo_array((found.edges[2], ends), shape=given.X.shape).tocsr()
        node = next((each for each in map(sum_node, (directed, directed.T)) if each is not None), None)
    if node is None:
        return given
    kept = np.delete(np.arange(len(given.names)), node)
    say(
        f"{str(given.names[node])!r} is left out: its weight to each other node is the sum of all other weights of "
        "that node, as in a row of totals."
    )
    return given._replace(X=given.X[kept][:, kept], names=[given.names[i] for i in kept])


def _of_matrix(matrix: Any, is_graph: bool) -> Given:
    names, named = numbered(matrix.rows, matrix.X.shape[0]), matrix.rows is not None
    if is_graph:
        X = _without_gaps(matrix.X)
        _check_weights(X, names)
        return Given(_without_directions(X), names, named=named)
    _check_cells(matrix.X, names, matrix.columns)
    return Given(matrix.X, names, matrix.row_title, "point", matrix.columns, named)


def _placed(found: Input, source: Reading) -> Given:
    """Nodes as points that are as far apart as their distances say."""
    if not source.graph:
        raise InputError("--values distance is for distances between nodes.", "Give their file with --graph.")
    matrix: Any = found.matrix
    if found.edges is not None and len(found.edges) < 3:
        raise InputError("The edges have no column of distances.", "Name it with --weight.")
    if matrix is not None:
        _check_square(matrix.X)
        D, names = known_distances(matrix.X), numbered(matrix.rows, matrix.X.shape[0])
        twice = "; where both directions differ, their mean counts" if differ_by_direction(matrix.X) else ""
    else:
        start, target, apart = found.edges or _edges_of(found.graph)
        D, names = listed_distances(start, target, apart)
        repeated = int((np.asarray(start) != np.asarray(target)).sum()) > D.nnz // 2
        twice = "; of a pair that is listed more than once, the shortest counts" if repeated else ""
    points, named = points_of(D), matrix is None or matrix.rows is not None
    paths = "" if D.nnz == len(names) * (len(names) - 1) else "; between others, the shortest path counts"
    far = f"{count(len(names), 'node')} are clustered as points so far apart"
    say(f"Distances of {D.nnz // 2:,} pairs: {far}{twice}{paths}.")
    return Given(points, names, what="point", named=named)


def _edges_of(graph: Any) -> tuple[Any, Any, Any]:
    """The edges of a graph of networkx as a list, which begins with a loop for each node, as some may have no edge."""
    nodes, edges = list(graph.nodes), list(graph.edges(data="weight", default=1.0))
    start, end = (np.array([*nodes, *(edge[side] for edge in edges)], dtype=object) for side in (0, 1))
    return start, end, np.array([*[0.0] * len(nodes), *(edge[2] for edge in edges)], dtype=float)


def _check_not_distances(X: Any, weight: str, path: Path) -> None:
    """Ask about weights that seem to be distances, by their name, that of the file, or how they go together."""
    if sounds_far(weight):
        what = f"The weights are from {weight!r}, which sounds like a distance"
    elif sounds_far(path.stem):
        what = f"By its name, {path.name!r} holds distances"
    elif like_distances(X):
        what = f"The numbers of {path.name!r} go together as distances do, with all pairs of nodes and 0 for none"
    else:
        if may_be_far(weight):
            say(
                f"Note: a large {weight!r} counts as a strong tie. If it means a weak one, add --values distance, or "
                f"leave it out with --drop {quoted(weight)}."
            )
        return
    raise InputError(
        f"{what}, and a large weight would count as a strong tie.",
        "Add --values distance if large means far apart, or --values raw if it means a strong tie.",
    )


def as_one(given: Given) -> Given:
    """The graph with nodes that differ only in capitals or spaces as one."""
    if given.what == "point":
        raise InputError(ONLY_NODES, "Leave it out for points.")
    X, names = without_case(sp.csr_array(given.X), given.names)
    say(f"Capitals and spaces ignored: {count(len(given.names), 'node')} before, {count(len(names), 'node')} after.")
    return given._replace(X=X, names=names)


def _check_cells(X: Any, names: Any, columns: Any) -> None:
    """Refuse empty cells, by the names of their columns."""
    if sp.issparse(X) or columns is None:
        return  # the fit refuses them by number
    bad = ~np.isfinite(X)
    if not bad.any():
        return
    n, (row, column) = int(bad.sum()), np.argwhere(bad)[0]
    told = ", ".join(repr(str(columns[j])) for j in np.flatnonzero(bad.any(axis=0))[:5])
    where = f"{'column' if bad.any(axis=0).sum() == 1 else 'columns'} {told}"
    what = f"{count(n, 'cell')} of the {where} {'has' if n == 1 else 'have'} no number, the first in the row of "
    drop = f"drop the {'row' if n == 1 else 'rows'}, or leave out the column with --drop {str(columns[column])!r}."
    raise InputError(f"{what}{str(names[row])!r}.", f"Fill {'it' if n == 1 else 'them'} in, {drop}")


def _without_gaps(X: Any, *, say_so: bool = True) -> Any:
    """A matrix of weights with its empty cells set to 0, which means that there is no edge."""
    gaps = None if sp.issparse(X) else np.isnan(X)
    if gaps is None or not gaps.any() or gaps.all():
        return X
    n = int(gaps.sum())
    verbs = ("is", "counts") if n == 1 else ("are", "count")
    if say_so:
        say(f"{count(n, 'cell')} of the matrix {verbs[0]} empty and {verbs[1]} as 0, no edge.")
    return np.where(gaps, 0.0, X)


def _check_weights(X: Any, names: Any) -> None:
    """Refuse negative weights of a matrix, by the names of the nodes."""
    found = sp.coo_array(X)
    bad = np.flatnonzero(found.data < 0)
    if not len(bad) or X.shape[0] != X.shape[1]:
        return
    i, j = (int(axis[bad[0]]) for axis in found.coords)
    if _are_correlations(X):
        raise InputError(
            f"The matrix looks like correlations, {len(bad) // 2} of them negative; weights say how strong an edge is.",
            "Give their strength: in Python, write abs(X) with 0 on the diagonal, or set negative ones to 0. If "
            "negative ones mean far apart, write 1 - X instead, and add --values distance.",
        )
    n, ends = len(bad), f"{str(names[i])!r} and {str(names[j])!r}"
    raise InputError(
        f"{count(n, 'weight')} of the matrix {'is' if n == 1 else 'are'} negative, the first {found.data[bad[0]]:g} "
        f"between {ends}; weights say how strong an edge is.",
        "Set negative ones to 0, for no edge.",
    )


def _are_correlations(X: Any) -> bool:
    """Whether a square matrix is symmetric, with ones on the diagonal and nothing beyond 1."""
    X = X.toarray() if sp.issparse(X) else np.asarray(X)
    return bool(np.allclose(X.diagonal(), 1) and abs(X).max() <= 1 + 1e-6 and np.allclose(X, X.T, atol=1e-4))


def _without_directions(X: Any) -> Any:
    """The weights of edges both ways added up, as those of lists of edges are, where a matrix is not symmetric."""
    _check_square(X)
    if not abs(X - X.T).max() > 1e-6 * abs(X).max():  # rounding is left to the fit
        return X
    say("The matrix is not symmetric: directions are ignored, and weights of both directions are added up.")
    loops = sp.diags_array(X.diagonal())
    return X + X.T - (loops if sp.issparse(X) else loops.toarray())


def _check_square(X: Any) -> None:
    """Refuse a matrix that does not have a column for each row."""
    n, m = X.shape
    if n != m:
        raise InputError(
            f"A matrix of {n} rows and {count(m, 'column')} is not that of a graph, which has a column for each row.",
            "Leave out --graph for points; or give a list of edges.",
        )
