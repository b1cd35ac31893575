"""New nodes, by their edges to nodes of the fit, and new points, by the names of their columns."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from rectifact.core.errors import InputError, count
from rectifact.graph.edges import ROLES, edge_columns, read_graph


@dataclass(frozen=True, eq=False)
class NewNodes:
    """New nodes and their edges.

    Parameters
    ----------
    names : list
    rows : csr_array of shape (n_new, n_nodes)
        Weights of the edges to the nodes of the fit.
    neighbours : array of int of shape (n_new,)
        Number of nodes of the fit that each has an edge to.
    unknown : array of int of shape (n_new,)
        Number of other new nodes that each has an edge to; these edges are not used.
    example : tuple or None
        Names of two new nodes that are joined.
    """

    names: list[Any]
    rows: sp.csr_array
    neighbours: NDArray[Any]
    unknown: NDArray[Any]
    example: tuple[Any, Any] | None

    def unused(self) -> str:
        """A sentence about edges that are not used; empty if all are."""
        if self.example is None:
            return ""
        n = int(self.unknown.sum()) // 2
        joins = "joins two nodes" if n == 1 else "join two nodes"
        such = f"{self.example[0]!r} and {self.example[1]!r}"
        return f"{count(n, 'edge')} {joins} that the fit does not know{',' if n == 1 else ', such as'} {such}."


def find_new_nodes(A: sp.csr_array, nodes: Any, known: Any) -> NewNodes:
    """The nodes of a graph that are not ``known``, and their edges to those that are.

    Parameters
    ----------
    A : csr_array of shape (n, n)
        Symmetric weights between ``nodes``.
    nodes : sequence
        Names of the rows of A.
    known : sequence
        Names of the nodes of the fit. They are compared as text where none is found as it is.

    Examples
    --------
    >>> A = sp.csr_array([[0, 2, 1], [2, 0, 0], [1, 0, 0]])
    >>> found = find_new_nodes(A, ["new", "b", "a"], ["a", "b", "c"])
    >>> found.names, found.rows.toarray().tolist()
    (['new'], [[1, 2, 0]])
    """
    names = [plain(node) for node in nodes]
    place = {plain(node): i for i, node in enumerate(known)}
    if not any(name in place for name in names):
        names, place = [str(name) for name in names], {str(node): i for node, i in place.items()}
    at = np.array([place.get(name, -1) for name in names])
    old, new = np.flatnonzero(at >= 0), np.flatnonzero(at < 0)
    if not len(old):
        raise InputError(
            f"No node of the new edges is a node of the fit, such as {names[0]!r}.",
            "Give edges from new nodes to nodes of the fit, called as in nodes_.",
            command="Give edges from new nodes to nodes of the model, called as they were there.",
        )
    if not len(new):
        what = "All nodes of the new edges are nodes of the fit: there is none to place."
        raise InputError(
            what, "Their communities are in labels_.", command="Their clusters are in the table of the fit."
        )
    A = sp.csr_array(A)
    to_old = sp.coo_array(A[new][:, old])
    shape = (len(new), len(known))
    rows = sp.csr_array((to_old.data, (to_old.coords[0], at[old][to_old.coords[1]])), shape=shape)
    among = sp.coo_array(sp.triu(A[new][:, new], 1))
    unknown = np.bincount(np.concatenate(among.coords), minlength=len(new))
    example = (names[new[among.coords[0][0]]], names[new[among.coords[1][0]]]) if among.nnz else None
    return NewNodes([names[i] for i in new], rows, np.diff(rows.indptr), unknown, example)


def plain(node: Any) -> Any:
    """A name as Python has it, not numpy."""
    return node.item() if isinstance(node, np.generic) else node


def read_new_nodes(X: Any, known: Any) -> Any:
    """Edges of new nodes in any form, by name.

    :class:`NewNodes` from edges, a frame whose columns are in the order of the fit, or X itself where it is a matrix.

    Examples
    --------
    >>> import pandas as pd
    >>> read_new_nodes(pd.DataFrame([[1, 0]], columns=["b", "a"]), ["a", "b"]).columns.tolist()
    ['a', 'b']
    """
    if not nw.dependencies.is_into_dataframe(X):
        graph = read_graph(X)
        return X if graph is None else find_new_nodes(*graph, known)
    table = nw.from_native(X, eager_only=True)
    names = [plain(node) for node in known]
    if found := in_order(X, names):
        return found[0]
    columns = _edge_columns(table, len(names))
    if columns is not None:
        graph = read_graph(X, columns)
        if graph is None:
            raise InputError("The table holds no edges.", "Give the columns source and target.")
        return find_new_nodes(*graph, known)
    lacking = [name for name in names if name not in table.columns]
    counted = names == list(range(len(names)))
    if counted or list(table.columns) in (list(range(len(names))), [str(i) for i in range(len(names))]):
        return X
    what = f"The columns of X are not the nodes of the fit: {lacking[0]!r} is not among them."
    raise InputError(what, "Name them as nodes_ does, or give a table of edges with the columns source and target.")


def in_order(X: Any, names: Sequence[Any]) -> tuple[Any] | None:
    """A frame with its columns in the order of ``names``, in a tuple, where they are the same; else None."""
    table = nw.from_native(X, eager_only=True)
    called = {str(name): name for name in table.columns}
    if len(called) != len(names) or len(table.columns) != len(names) or set(called) != set(map(str, names)):
        return None
    order = [called[str(name)] for name in names]
    return (X[order],) if hasattr(X, "iloc") else (nw.to_native(table.select(order)),)


def _edge_columns(table: Any, n_nodes: int) -> Mapping[str, str] | None:
    """The columns of a table of edges; None for any other table."""
    there = list(table.columns)
    few = len(there) in (2, 3) and (len(there) != n_nodes or not table.get_column(there[0]).dtype.is_numeric())
    names = edge_columns(table, {}, tables=True)
    if names is None and few:
        names = there
    return None if names is None else dict(zip(ROLES, names, strict=False))
