"""How good communities are, by the weights of edges inside and between them.

References
----------
[1] M. E. J. Newman and M. Girvan, "Finding and evaluating community structure in networks", Physical Review E 69, 2004.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rectifact.core.arrays import Array, namespace, to_host, to_like
from rectifact.graph.similarities import Similarities


@dataclass(frozen=True)
class Quality:
    """Weights of edges by cluster; each edge counts from both of its ends, a loop once.

    Parameters
    ----------
    sizes : array of shape (n_clusters,)
        Numbers of nodes.
    inside : array of shape (n_clusters,)
        Weight between nodes of the cluster.
    volumes : array of shape (n_clusters,)
        Sums of their degrees.
    total : float
        Sum of all degrees.
    among : array of shape (n_clusters,)
        Sums of the degrees by edges between nodes in a cluster.
    """

    sizes: NDArray[Any]
    inside: NDArray[Any]
    volumes: NDArray[Any]
    total: float
    among: NDArray[Any]

    @property
    def coverage(self) -> NDArray[Any]:
        """Share of all weight that is inside each cluster."""
        return self.inside / self.total

    @property
    def modularity(self) -> NDArray[Any]:
        """Share of the weight inside each cluster, less that if edges were drawn at random with the same degrees [1].

        Only edges between nodes in a cluster count, as if there were no others.
        """
        total = max(float(self.among.sum()), 1e-300)
        return self.inside / total - (self.among / total) ** 2

    @property
    def conductance(self) -> NDArray[Any]:
        """Weight that leaves each cluster, relative to its volume or that of the rest, whichever is less.

        0 for a component of the graph; NaN for a cluster without edges, or without a rest.
        """
        least = np.minimum(self.volumes, self.total - self.volumes)
        cut = np.maximum(self.volumes - self.inside, 0)
        return np.divide(cut, least, out=np.full(len(cut), np.nan), where=least > 0)


def modularity_of_new(
    edges: NDArray[Any], new: NDArray[Any], old: NDArray[Any], strength: NDArray[Any], degrees: NDArray[Any]
) -> float:
    """Modularity of new nodes by their edges to old ones.

    It is the share of the weight of these edges that stays within a cluster, less what it would be if they were drawn
    at random with the strengths of the new nodes and the degrees of the old ones. For the nodes of the graph itself it
    is the modularity of Newman and Girvan.

    Parameters
    ----------
    edges : array of shape (n_new, n_clusters)
        Weight of the edges from each new node to the old nodes of each cluster.
    new, old : array of shape (n_new,) and (n_old,)
        Cluster of each node; -1 for none.
    strength : array of shape (n_new,)
        Weight of all edges of each new node.
    degrees : array of shape (n_old,)
        Sums of the rows of the graph of the old nodes.

    Examples
    --------
    >>> pairs = np.kron(np.eye(2), [[0.0, 3.0], [3.0, 0.0]])
    >>> labels = np.array([0, 0, 1, 1])
    >>> edges = pairs @ (labels[:, None] == np.arange(2))
    >>> float(modularity_of_new(edges, labels, labels, pairs.sum(axis=1), pairs.sum(axis=0)))
    0.5
    """
    n_clusters, chosen = edges.shape[1], new >= 0
    inside = edges[chosen, new[chosen]].sum()
    volumes = [
        np.bincount(labels[labels >= 0], weights[labels >= 0], minlength=n_clusters) / weights.sum()
        for labels, weights in ((new, strength), (old, degrees))
    ]
    return float(inside / strength.sum() - volumes[0] @ volumes[1])


def edge_counts(graph: Any) -> tuple[int, int]:
    """Edges of a symmetric CSR matrix on the host, each once, and how many of them are from a node to itself.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> edge_counts(csr_array([[2, 1, 0], [1, 0, 3], [0, 3, 0]]))
    (3, 1)
    """
    loops = int((graph.diagonal() != 0).sum())
    return (int((graph.data != 0).sum()) + loops) // 2, loops


def quality(S: Similarities, labels: Array, n_clusters: int, degrees: Array, normalized: bool) -> Quality:
    """Weights inside and around clusters, from one product with the similarities.

    Parameters
    ----------
    S : Similarities
    labels : array of shape (n_nodes,)
        Cluster of each node; -1 for none.
    n_clusters : int
        Number of clusters.
    degrees : array of shape (n_nodes,)
        Sums of rows before normalisation.
    normalized : bool
        Whether ``S`` was divided by the roots of the degrees; weights are those before.

    Returns
    -------
    Quality

    Examples
    --------
    >>> pairs = np.kron(np.eye(2), [[0.0, 3.0], [3.0, 0.0]])
    >>> found = quality(Similarities(pairs), np.array([0, 0, 1, 1]), 2, np.full(4, 3.0), False)
    >>> found.coverage.tolist(), float(found.modularity.sum()), found.conductance.tolist()
    ([0.5, 0.5], 0.5, [0.0, 0.0])
    """
    of_node, weights = to_host(labels), to_host(degrees).astype(float)
    chosen = of_node >= 0
    columns = np.column_stack([of_node[:, None] == np.arange(n_clusters), chosen])
    members, xp = to_like(columns, S.like), namespace(S.like)
    if normalized:
        members *= xp.sqrt(degrees)[:, None]
    inside = S @ members
    among = members.T @ inside[:, -1]
    inside *= members
    sizes = np.bincount(of_node[chosen], minlength=n_clusters)
    volumes = np.bincount(of_node[chosen], weights[chosen], minlength=n_clusters)
    within, among = to_host(xp.sum(inside, axis=0)).astype(float), to_host(among).astype(float)
    return Quality(sizes, within[:-1], volumes, float(weights.sum()), among[:-1])
