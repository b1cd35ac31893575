"""An order of the nodes that depends on the graph alone: not on the rows of its file, nor on the names.

What is drawn at random, such as hidden edges, is drawn in this order, so the same graph gives the same result however
it was written down.

References
----------
[1] B. Weisfeiler and A. Leman, "The reduction of a graph to canonical form and the algebra which appears therein",
1968: nodes are told apart by their neighbours, by those of their neighbours, and so on.
"""

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

ROUNDS, PICKS = 16, 4
"""How far neighbours are followed, and nodes that are marked where several look alike, as all do in a ring."""

PRECISION = 2.0**36
"""Weights are compared to about ten digits: sums of the same numbers in another order differ in the last ones."""


def canonical_order(graph: sp.csr_array) -> NDArray[Any]:
    """Places of the nodes in an order that stays the same if the nodes are numbered otherwise.

    Nodes that can be exchanged without changing the graph, such as two that hang on the same one, may be in either
    order. So may nodes of random graphs in which all nodes have the same number of edges.

    Parameters
    ----------
    graph : csr_array of shape (n_nodes, n_nodes)
        Symmetric weights.

    Returns
    -------
    array of int of shape (n_nodes,)

    Examples
    --------
    >>> star = sp.csr_array(np.array([[0, 1, 1, 1], [1, 0, 0, 0], [1, 0, 0, 0], [1, 0, 0, 0.0]]))
    >>> other = star[[3, 2, 1, 0]][:, [3, 2, 1, 0]]  # the centre is the last, not the first
    >>> np.array_equal(star[canonical_order(star)].toarray() > 0, other[canonical_order(other)].toarray() > 0)
    False
    >>> first, second = canonical_order(star), canonical_order(other)
    >>> np.array_equal(star[first][:, first].toarray(), other[second][:, second].toarray())
    True
    """
    weights, keys = _rounded(graph.data).view(np.uint64), np.zeros(graph.shape[0], dtype=np.uint64)
    for mark in range(1, PICKS + 1):
        keys = _refined(graph, weights, keys)
        values, first, times = np.unique(keys, return_index=True, return_counts=True)
        if len(values) == len(keys):
            break
        keys = keys.copy()
        keys[first[times.argmax()]] ^= np.uint64(mark)
    return np.argsort(_refined(graph, weights, keys), kind="stable")


def _refined(graph: sp.csr_array, weights: NDArray[Any], keys: NDArray[Any]) -> NDArray[Any]:
    """Keys of nodes, each mixed with those of its neighbours, until no more nodes are told apart."""
    n_known = len(np.unique(keys))
    rows = np.flatnonzero(np.diff(graph.indptr))
    for _ in range(ROUNDS):
        around = np.zeros(len(keys), dtype=np.uint64)
        if len(rows):
            around[rows] = np.add.reduceat(_mixed(_mixed(keys)[graph.indices] ^ weights), graph.indptr[rows])
        keys = _mixed(_mixed(keys) + around)  # sums of whole numbers do not depend on their order
        n_before, n_known = n_known, len(np.unique(keys))
        if n_known == n_before:
            break
    return keys


def _rounded(values: NDArray[Any]) -> NDArray[Any]:
    mantissa, exponent = np.frexp(np.asarray(values, dtype=np.float64))
    return np.ldexp(np.round(mantissa * PRECISION) / PRECISION, exponent)


def _mixed(keys: NDArray[Any]) -> NDArray[Any]:
    """Each bit of a key spread over all of them, so that sums of keys tell sets of neighbours apart."""
    keys = keys + np.uint64(0x9E3779B97F4A7C15)
    keys = (keys ^ (keys >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    keys = (keys ^ (keys >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(keys ^ (keys >> np.uint64(31)))
