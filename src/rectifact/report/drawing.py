"""Places of the nodes of a graph in the plane: connected ones attract each other, and all repel each other.

References
----------
[1] T. Fruchterman and E. Reingold, "Graph drawing by force-directed placement", Software: Practice and Experience
21(11), 1991.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

MOST_DRAWN, MOST_EDGES = 2000, 8000
"""Nodes and edges of a drawing; of larger graphs a sample is drawn."""

STEPS = 60


@dataclass(frozen=True)
class Drawing:
    """Which nodes and edges are drawn, and where.

    Parameters
    ----------
    nodes : array of shape (n_drawn,)
        Numbers of the nodes in the graph.
    places : array of shape (n_drawn, 2)
    edges : array of shape (n_edges, 2)
        Pairs of numbers of drawn nodes.
    """

    nodes: NDArray[Any]
    places: NDArray[Any]
    edges: NDArray[Any]


def draw(S: sp.csr_array, labels: NDArray[Any], membership: NDArray[Any]) -> Drawing:
    """A drawing of a graph, the same each time.

    Parameters
    ----------
    S : csr_array of shape (n, n)
        Symmetric similarities.
    labels : array of shape (n,)
        Cluster of each node; -1 for none.
    membership : array of shape (n, n_clusters)
        Where nodes start: between the clusters that they belong to.

    Returns
    -------
    Drawing
    """
    rng = np.random.default_rng(0)
    n = S.shape[0]
    nodes = np.arange(n) if n <= MOST_DRAWN else np.sort(rng.choice(n, MOST_DRAWN, replace=False))
    graph = sp.triu(S[nodes][:, nodes], 1).tocoo()
    strongest = np.argsort(-graph.data, kind="stable")[:MOST_EDGES]
    edges = np.column_stack([graph.row[strongest], graph.col[strongest]])
    angles = 2 * np.pi * np.arange(membership.shape[1]) / membership.shape[1]
    start = membership[nodes] @ np.column_stack([np.cos(angles), np.sin(angles)])
    start[labels[nodes] < 0] = 1.5 * _on_circle(rng, int((labels[nodes] < 0).sum()))
    return Drawing(nodes, _placed(start + 0.1 * rng.standard_normal(start.shape), edges), edges)


def _on_circle(rng: np.random.Generator, n: int) -> NDArray[Any]:
    angle = 2 * np.pi * rng.random(n)
    return np.column_stack([np.cos(angle), np.sin(angle)])


def _placed(places: NDArray[Any], edges: NDArray[Any]) -> NDArray[Any]:
    """Places after some steps of [1], with a weak pull to the middle, so that components stay together."""
    n = len(places)
    A = sp.coo_array((np.ones(len(edges)), (edges[:, 0], edges[:, 1])), shape=(n, n)).tocsr()
    A = (A + A.T).astype(np.float32)
    degree = np.asarray(A.sum(axis=1)).ravel()[:, None]
    places, distance = places.astype(np.float32), np.float32(1.6 / np.sqrt(n))
    for step in range(STEPS):
        apart = [places[:, axis, None] - places[None, :, axis] for axis in (0, 1)]
        repulsion = distance**2 / np.maximum(apart[0] ** 2 + apart[1] ** 2, 1e-6)
        force = np.column_stack([(part * repulsion).sum(axis=1) for part in apart])
        pulls = np.maximum(degree, 1)
        force += (A @ places - degree * places) / np.sqrt(pulls) * 0.6 - 0.3 * places
        length = np.maximum(np.linalg.norm(force, axis=1, keepdims=True), 1e-9)
        places += force / length * np.minimum(length, 0.1 * (1 - step / STEPS))
    return places.astype(float)
