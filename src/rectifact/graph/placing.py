"""Nodes that belong to another community than that of their largest membership, by the weight of their edges.

Memberships lean towards small communities, and weight alone towards large ones. A node is moved where both speak for
another community: it has more of the node's weight, and more of it relative to its own total degree. Where weights
differ, a single heavy edge must not decide: the other community also needs as many of the node's edges.
"""

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from rectifact.graph.bridges import into_communities

PASSES, ROUNDING = 50, 1e-9
"""Most times that all nodes are looked at; and the relative difference that is more than rounding."""


def placed(graph: sp.csr_array, labels: NDArray[Any], n_clusters: int) -> NDArray[Any]:
    """Communities after nodes were moved, until none has a better place; none becomes empty.

    Of nodes that are joined, only the one that gains most moves at once, so that the weight inside communities rises
    with every pass, whatever the order of the nodes.

    Parameters
    ----------
    graph : csr_array of shape (n_nodes, n_nodes)
        Symmetric weights.
    labels : array of shape (n_nodes,)
        -1 for nodes in no community, which stay there.
    n_clusters : int

    Examples
    --------
    >>> graph = np.kron(np.eye(2), np.ones((3, 3)) - np.eye(3))
    >>> placed(sp.csr_array(graph), np.array([0, 0, 1, 1, 1, 1]), 2).tolist()
    [0, 0, 0, 1, 1, 1]
    """
    graph, labels = sp.csr_array(graph, copy=True).astype(float), np.array(labels)
    graph.setdiag(0)
    graph.eliminate_zeros()
    degrees = np.asarray(graph.sum(axis=1)).ravel()
    for _ in range(PASSES):
        volumes = volumes_of(labels, degrees, n_clusters)
        new, gains = better_places(graph, labels, labels, volumes, degrees)
        movers = np.flatnonzero((new != labels) & ~_empties(labels, new, n_clusters))
        if not len(movers):
            break
        movers = movers[_gain_most(sp.coo_array(graph[movers][:, movers]), gains[movers], degrees[movers])]
        labels[movers] = new[movers]
    return labels


def volumes_of(labels: NDArray[Any], degrees: NDArray[Any], n_clusters: int) -> NDArray[Any]:
    """Total degree of each community."""
    inside = labels >= 0
    return np.bincount(labels[inside], degrees[inside], minlength=n_clusters)


def better_places(
    rows: sp.csr_array, labels: NDArray[Any], known: NDArray[Any], volumes: NDArray[Any], counted: Any = 0.0
) -> tuple[NDArray[Any], NDArray[Any]]:
    """The community that each node should be in, its own where there is no better one; and the weight that it gains.

    Parameters
    ----------
    rows : csr_array of shape (n, n_nodes)
        Weights of edges to the nodes of the graph.
    labels : array of shape (n,)
        Communities of the nodes in the rows; those in none, -1, stay there.
    known : array of shape (n_nodes,)
        Communities of the nodes of the graph.
    volumes : array of shape (n_clusters,)
        Total degrees of the communities.
    counted : array of shape (n,), default 0
        How much of the volume of its community each node in the rows is itself.
    """
    nodes, inside = np.arange(len(labels)), labels >= 0
    weights, edges = (into_communities(each, known, len(volumes)) for each in (rows, abs(rows).sign()))
    own, own_edges = (np.where(inside, each[nodes, labels], 0.0)[:, None] for each in (weights, edges))
    around = (np.where(inside, volumes[labels], 0.0) - counted)[:, None]
    more = 1 + ROUNDING
    relative = np.divide(own, around, out=np.zeros_like(own), where=(own > 0) & (around > 0))
    better = (weights > own * more) & (weights > relative * volumes * more) & (edges >= own_edges) & inside[:, None]
    best = np.where(better, weights, 0.0).argmax(axis=1)
    moves = better[nodes, best]
    return np.where(moves, best, labels), np.where(moves, weights[nodes, best] - own[:, 0], 0.0)


def _empties(labels: NDArray[Any], new: NDArray[Any], n_clusters: int) -> NDArray[np.bool_]:
    """Whether all nodes of a node's community would leave it."""
    stay = labels[(labels == new) & (labels >= 0)]
    return np.asarray(np.bincount(stay, minlength=n_clusters)[labels] == 0)


def _gain_most(between: sp.coo_array, gains: NDArray[Any], degrees: NDArray[Any]) -> NDArray[np.bool_]:
    """Whether each node gains more than all that it is joined to; of equal ones, that of the largest degree."""
    ranks = np.empty(len(gains), dtype=int)
    ranks[np.lexsort((degrees, gains))] = np.arange(len(gains))
    highest = np.full(len(gains), -1)
    np.maximum.at(highest, between.coords[0], ranks[between.coords[1]])
    return np.asarray(ranks > highest)
