"""Nodes between communities: how much of the weight of their edges goes to their own, and to another."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from rectifact.core.arrays import to_csr, to_host
from rectifact.graph.similarities import Similarities

MAY, FEWEST, CLEAR = 0.25, 3, 3.0
"""Membership from which on a node may belong to another community; the fewest edges into it, and the standard
deviations by which they must be more than usual in its own community, for a clear case."""


@dataclass(frozen=True, eq=False)
class EdgeShares:
    """Where the edges of each node go; loops do not count.

    Parameters
    ----------
    own : array of shape (n_nodes,)
        Share of the weight into its own community; 0 for nodes in none.
    other : array of int of shape (n_nodes,)
        The other community that most weight goes to; -1 if none does.
    other_share : array of shape (n_nodes,)
    neighbours, other_neighbours : array of int of shape (n_nodes,)
        Number of edges, and of those to the other community.
    excess : array of shape (n_nodes,)
        Edges to the other community beyond what is usual in its own, in standard deviations.
    weight : array of shape (n_nodes,)
        Of all of its edges.
    """

    own: NDArray[Any]
    other: NDArray[Any]
    other_share: NDArray[Any]
    neighbours: NDArray[Any]
    other_neighbours: NDArray[Any]
    excess: NDArray[Any]
    weight: NDArray[Any]

    @property
    def inside(self) -> NDArray[Any]:
        """Weight of the edges into a node's own community."""
        return np.asarray(self.own * self.weight)

    @property
    def elsewhere(self) -> NDArray[Any]:
        """Whether more weight goes to another community than to a node's own."""
        return np.asarray(self.other_share > self.own + 1e-12)


def edge_shares(graph: sp.csr_array, labels: NDArray[Any], n_clusters: int) -> EdgeShares:
    """Shares of the weight of each node's edges.

    With q the share of the weight of a node's own community that goes to the other one, d of its edges would be
    expected there as d q, with the variance d q (1 - q) of draws.

    Parameters
    ----------
    graph : csr_array of shape (n_nodes, n_nodes)
        Symmetric weights.
    labels : array of shape (n_nodes,)
        Community of each node; -1 for none.
    n_clusters : int
        Number of communities.

    Examples
    --------
    >>> graph = sp.csr_array(np.array([[0, 3, 1], [3, 0, 0], [1, 0, 0.0]]))
    >>> found = edge_shares(graph, np.array([0, 0, 1]), 2)
    >>> found.own.tolist(), found.other.tolist(), found.other_share.tolist()
    ([0.75, 1.0, 0.0], [1, -1, 0], [0.25, 0.0, 1.0])
    """
    graph = sp.csr_array(graph, copy=True)
    graph.setdiag(0)
    graph.eliminate_zeros()
    nodes, inside = np.arange(len(labels)), labels >= 0
    groups = sp.csr_array(
        (np.ones(int(inside.sum())), (nodes[inside], labels[inside])), shape=(len(labels), n_clusters)
    )
    weights, counts = (graph @ groups).toarray(), (abs(graph).sign() @ groups).toarray()
    weight = np.asarray(graph.sum(axis=1)).ravel()
    shares = weights / np.maximum(weight, 1e-300)[:, None]
    own = np.where(inside, shares[nodes, labels], 0.0)
    others = shares.copy()
    others[nodes[inside], labels[inside]] = 0
    other = others.argmax(axis=1)
    between = groups.T @ weights
    usual = (between / np.maximum(between.sum(axis=1, keepdims=True), 1e-300))[labels, other]
    neighbours, there = np.diff(graph.indptr), counts[nodes, other]
    spread = np.sqrt(np.maximum(neighbours * usual * (1 - usual), 1e-12))
    found = others[nodes, other] > 0
    excess = np.where(inside & found, (there - neighbours * usual) / spread, 0.0)
    there = np.where(found, there, 0).astype(int)
    return EdgeShares(own, np.where(found, other, -1), others[nodes, other], neighbours, there, excess, weight)


def shares_of(model: Any) -> EdgeShares:
    """:func:`edge_shares` of a fitted estimator, on the graph before its normalisation."""
    S = sp.csr_array(sp.vstack(Similarities(model.affinity_matrix_).operand.total(_as_csr), format="csr"))
    degrees = np.asarray(to_host(model.degrees_)).astype(float)
    roots = np.sqrt(degrees) if model.resolved_["normalize"] else np.ones(len(degrees))
    graph = sp.csr_array(S * roots[:, None] * roots)
    return edge_shares(graph, np.asarray(to_host(model.labels_)), model.n_clusters)


def _as_csr(rows: Any) -> list[Any]:
    """Some rows in a list, so that chunks add up to one in their order."""
    return [to_csr(rows)]


def hub_ranks(inside: NDArray[Any], labels: NDArray[Any]) -> NDArray[Any]:
    """Place of each node in its community by the weight of its edges ``inside``, 1 for the hub; 0 for nodes in none.

    Examples
    --------
    >>> hub_ranks(np.array([1.0, 3.0, 2.0, 5.0, 0.0]), np.array([0, 0, 0, 1, -1])).tolist()
    [3, 1, 2, 1, 0]
    """
    order = np.lexsort((-inside, labels))
    first = np.searchsorted(labels[order], labels[order])
    ranks = np.empty(len(labels), dtype=int)
    ranks[order] = np.arange(len(labels)) - first + 1
    return np.where(labels >= 0, ranks, 0)


def memberships_there(model: Any, shares: EdgeShares) -> NDArray[Any]:
    """Membership of each node in the other community that most of its weight goes to."""
    membership = np.asarray(to_host(model.membership_)).astype(float)
    return np.where(shares.other >= 0, membership[np.arange(len(membership)), shares.other], 0.0)


def clear_bridges(shares: EdgeShares, there: NDArray[Any], labels: NDArray[Any]) -> NDArray[Any]:
    """Whether each node clearly lies between two communities, by its membership ``there`` and by its edges."""
    by_edges = (shares.other_neighbours >= FEWEST) & (shares.excess >= CLEAR)
    return np.asarray((labels >= 0) & (there >= MAY) & by_edges)
