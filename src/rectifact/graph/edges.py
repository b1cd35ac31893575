"""Graphs as people have them: lists of edges, networkx graphs."""

from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from rectifact.core.errors import InputError

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
    if len({pd.api.types.is_numeric_dtype(end) for end in ends}) == 2:
        raise InputError("Sources are numbers and targets are text, or the reverse. Make both text, with astype(str).")
    codes, nodes = pd.factorize(pd.concat(ends), sort=True)
    n = len(ends[0])
    return _adjacency(codes[:n], codes[n:], weight, len(nodes)), np.asarray(nodes)


def from_networkx(graph: Any) -> tuple[sp.csr_array, list[Any]]:
    """Symmetric adjacency matrix of a networkx graph, and its nodes in the order of the rows."""
    nodes = list(graph.nodes)
    place = {node: i for i, node in enumerate(nodes)}
    edges = [(place[u], place[v], data.get("weight", 1.0)) for u, v, data in graph.edges(data=True)]
    if not edges:
        raise InputError("The graph has no edges: there is nothing to cluster.")
    source, target, weight = zip(*edges, strict=True)
    return _adjacency(np.array(source), np.array(target), weight, len(nodes)), nodes


def _adjacency(source: NDArray[Any], target: NDArray[Any], weight: Any, n_nodes: int) -> sp.csr_array:
    """Symmetric matrix of edges between numbered nodes."""
    try:
        values = np.ones(len(source)) if weight is None else np.asarray(weight, dtype=float)
    except (TypeError, ValueError) as error:
        raise InputError(f"Weights of edges are numbers: {error}.") from error
    if values.shape != source.shape:
        raise InputError(f"There are {len(source)} edges, but weights of shape {values.shape}. Give one for each edge.")
    if not (np.isfinite(values) & (values >= 0)).all():
        raise InputError("Weights of edges are finite and not negative. Drop or shift those that are not.")
    loops = source == target
    half = sp.coo_array((np.where(loops, values / 2, values), (source, target)), shape=(n_nodes, n_nodes))
    return sp.csr_array(half + half.T)
