"""The points or the graph that rectifact cluster was given."""

from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import scipy.sparse as sp

from rectifact.cli.reading import Reading
from rectifact.cli.terminal import say
from rectifact.core.errors import InputError, count
from rectifact.graph import from_edges, from_networkx
from rectifact.graph.spelling import without_case
from rectifact.io.matrices import numbered

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


def read_given(source: Reading, path: Path) -> Given:
    """Points or the adjacency matrix of a graph, from a file of any kind."""
    found = source.read(path, "cluster")
    if found.graph is not None:
        return Given(*from_networkx(found.graph))
    if found.edges is not None:
        return Given(*from_edges(*found.edges, sort=False))
    matrix: Any = found.matrix
    names = numbered(matrix.rows, matrix.X.shape[0])
    named = matrix.rows is not None
    if source.graph:
        X = _without_gaps(matrix.X)
        _check_weights(X, names)
        return Given(_without_directions(X), names, named=named)
    _check_cells(matrix.X, names, matrix.columns)
    return Given(matrix.X, names, matrix.row_title, "point", matrix.columns, named)


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


def _without_gaps(X: Any) -> Any:
    """A matrix of weights with its empty cells set to 0, which means that there is no edge."""
    gaps = None if sp.issparse(X) else np.isnan(X)
    if gaps is None or not gaps.any() or gaps.all():
        return X
    n = int(gaps.sum())
    verbs = ("is", "counts") if n == 1 else ("are", "count")
    say(f"{count(n, 'cell')} of the matrix {verbs[0]} empty and {verbs[1]} as 0, no edge.")
    return np.where(gaps, 0.0, X)


def _check_weights(X: Any, names: Any) -> None:
    """Refuse negative weights of a matrix, by the names of the nodes."""
    found = sp.coo_array(X)
    bad = np.flatnonzero(found.data < 0)
    if not len(bad) or X.shape[0] != X.shape[1]:
        return
    i, j = (int(axis[bad[0]]) for axis in found.coords)
    n, ends = len(bad), f"{str(names[i])!r} and {str(names[j])!r}"
    raise InputError(
        f"{count(n, 'weight')} of the matrix {'is' if n == 1 else 'are'} negative, the first {found.data[bad[0]]:g} "
        f"between {ends}; weights say how strong an edge is.",
        "Set negative ones to 0, for no edge.",
    )


def _without_directions(X: Any) -> Any:
    """The weights of edges both ways added up, as those of lists of edges are, where a matrix is not symmetric."""
    if X.shape[0] != X.shape[1]:
        n, m = X.shape
        raise InputError(
            f"A matrix of {n} rows and {count(m, 'column')} is not that of a graph, which has a column for each row.",
            "Leave out --graph for points; or give a list of edges.",
        )
    if not abs(X - X.T).max() > 1e-6 * abs(X).max():  # rounding is left to the fit
        return X
    say("The matrix is not symmetric: directions are ignored, and weights of both directions are added up.")
    loops = sp.diags_array(X.diagonal())
    return X + X.T - (loops if sp.issparse(X) else loops.toarray())
