"""Graphs as people have them: lists of edges, networkx graphs."""

from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from rectifact.core.validation import InputError

__all__ = ["from_edges", "from_networkx"]


def from_edges(
    source: ArrayLike, target: ArrayLike, weight: ArrayLike | None = None
) -> tuple[sp.csr_array, NDArray[Any]]:
    """Symmetric adjacency matrix of an edge list, and the nodes in the order of its rows.

    Edges have no direction: those given both ways count twice, and so do repeated ones. Loops are kept.

    Examples
    --------
    >>> matrix, nodes = from_edges(["a", "b"], ["b", "c"])
    >>> nodes.tolist(), matrix.toarray().tolist()
    (['a', 'b', 'c'], [[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
    """
    ends = [pd.Series(np.asarray(end)) for end in (source, target)]
    if len(ends[0]) != len(ends[1]) or not len(ends[0]):
        raise InputError(f"Edges are pairs of nodes; got {len(ends[0])} sources and {len(ends[1])} targets.")
    if ends[0].isna().any() or ends[1].isna().any():
        raise InputError("Some edges lack a node. Drop those rows first.")
    codes, nodes = pd.factorize(pd.concat(ends), sort=True)
    values = np.ones(len(ends[0])) if weight is None else np.asarray(weight, dtype=float)
    if not (np.isfinite(values) & (values >= 0)).all():
        raise InputError("Weights of edges are finite and not negative. Drop or shift those that are not.")
    i, j = codes[: len(values)], codes[len(values) :]
    half = sp.coo_array((np.where(i == j, values / 2, values), (i, j)), shape=(len(nodes), len(nodes)))
    return sp.csr_array(half + half.T), np.asarray(nodes)


def from_networkx(graph: Any) -> tuple[sp.csr_array, list[Any]]:
    """Symmetric adjacency matrix of a networkx graph, and its nodes in the order of the rows."""
    nodes = list(graph.nodes)
    place = {node: i for i, node in enumerate(nodes)}
    edges = [(place[u], place[v], data.get("weight", 1.0)) for u, v, data in graph.edges(data=True)]
    if not edges:
        raise InputError("The graph has no edges: there is nothing to cluster.")
    source, target, weight = (np.array(part) for part in zip(*edges, strict=True))
    half = sp.coo_array(
        (np.where(source == target, weight / 2, weight), (source, target)), shape=(len(nodes), len(nodes))
    )
    return sp.csr_array(half + half.T), nodes
