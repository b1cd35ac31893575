"""Communities next to those of Louvain's method."""

from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.metrics import adjusted_rand_score

from rectifact.core.errors import count, install
from rectifact.graph.canonical import canonical_order
from rectifact.graph.chance import FIRST, edges_of, rewired
from rectifact.graph.quality import quality
from rectifact.graph.similarities import Similarities

CLEARLY, MOST_EDGES = 0.01, 50_000
"""Modularity by which one division must be better, and the edges for which another is looked for."""

RUNS, FEW_ENTRIES = 5, 40_000
"""Runs of Louvain's method, of which the best counts, and entries of a graph up to which there are several."""

REWIRED_ENTRIES = 20_000
"""Entries of a graph up to which a random graph with the same degrees is divided, too."""


@dataclass(frozen=True)
class Division:
    """Another division of the nodes, next to the communities of a fit.

    Parameters
    ----------
    n : int
        Number of communities of more than one node.
    modularity : float
    own_n, own_modularity : int and float
        Those of the fit, over the same nodes.
    agreement : float
        Adjusted Rand index of both.
    among : int or None, default None
        Number of these nodes where they are not all nodes of the graph.
    by_chance : float or None, default None
        Modularity that the method reaches on a random graph with the same degrees; None where it was not tried.
    """

    n: int
    modularity: float
    own_n: int
    own_modularity: float
    agreement: float
    among: int | None = None
    by_chance: float | None = None

    @property
    def where(self) -> str:
        """Which nodes both are about, where they are not all."""
        return f"among the {count(self.among, 'node')} in a cluster, " if self.among else ""

    @property
    def is_better(self) -> bool:
        """Whether it has several communities, and a modularity that is clearly higher."""
        return self.n > 1 and self.modularity > self.own_modularity + CLEARLY

    @property
    def _method(self) -> str:
        words = f"{self.where}Louvain's method"
        return words[0].upper() + words[1:]

    def sentence(self) -> str:
        """How both compare, in words.

        Examples
        --------
        >>> Division(2, 0.4, 2, 0.4, 1.0).sentence()
        "Louvain's method finds the same 2 communities (modularity 0.400)."
        """
        if self.n <= 1 and self.own_n <= 1:
            return f"{self._method} finds no more than one community either."
        if self.agreement == 1 and self.n == self.own_n:
            return f"{self._method} finds the same {self.n} communities (modularity {self.modularity:.3f})."
        more = self.own_modularity - self.modularity
        how = "higher" if more > CLEARLY else "lower" if more < -CLEARLY else "about equal"
        have = "this one has" if self.own_n == 1 else f"these {self.own_n} have"
        return (
            f"{self._method} finds {self.n} {'community' if self.n == 1 else 'communities'} with a modularity of "
            f"{self.modularity:.3f}; {have} {self.own_modularity + 0.0:.3f}, which is {how}, and both agree with an "
            f"adjusted Rand index of {self.agreement:.2f} (1 if they are the same, about 0 by chance)."
        )

    def summary(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {"communities": self.n, "modularity": round(self.modularity, 6), "ari": round(self.agreement, 4)}


def why_not_compared(n_edges: int) -> str:
    """That networkx is missing where a graph would have been compared with Louvain's communities; else empty."""
    if not 0 < n_edges <= MOST_EDGES or find_spec("networkx") is not None:
        return ""
    return f"Note: the division was not compared with Louvain's, which needs networkx: {install('graphs')}."


def compare_with_louvain(
    graph: sp.csr_array, labels: NDArray[Any], n_clusters: int, among: int | None = None
) -> Division | None:
    """Communities by Louvain's method, from networkx, next to ``labels``; None for a large graph or without networkx.

    Parameters
    ----------
    graph : csr_array of shape (n_nodes, n_nodes)
        Weights of the edges between nodes in a community.
    labels : array of shape (n_nodes,)
    n_clusters : int
    among : int or None, default None
        Number of these nodes where they are not all nodes of the graph, to say so.
    """
    if not 0 < graph.nnz <= 2 * MOST_EDGES or find_spec("networkx") is None:
        return None
    import networkx as nx

    order = canonical_order(graph)  # or it would depend on the order of the nodes
    graph, labels = sp.csr_array(graph[order][:, order]), labels[order]
    graph.sort_indices()
    network = nx.from_scipy_sparse_array(graph)
    n_runs = RUNS if graph.nnz <= FEW_ENTRIES else 1
    runs = [nx.community.louvain_communities(network, seed=seed) for seed in range(n_runs)]
    found = max(runs, key=lambda communities: nx.community.modularity(network, communities))
    other = np.empty(len(labels), dtype=int)
    for k, nodes in enumerate(found):
        other[list(nodes)] = k
    degrees, S = np.asarray(graph.sum(axis=1)).ravel(), Similarities(graph)
    own, theirs = (
        float(quality(S, of_node, n, degrees, False).modularity.sum())
        for of_node, n in ((labels, n_clusters), (other, len(found)))
    )
    n = sum(len(nodes) > 1 for nodes in found)  # nobody counts nodes without edges as communities
    agreement = float(adjusted_rand_score(labels, other))
    by_chance = _by_chance(graph) if n_clusters == 1 and graph.nnz <= REWIRED_ENTRIES else None
    return Division(n, theirs, n_clusters, own, agreement, among, by_chance)


def _by_chance(graph: sp.csr_array) -> float | None:
    """Modularity of a random graph with the same degrees by the same method; None for a graph with weights."""
    import networkx as nx

    if np.ptp(graph.data) > 1e-9 * graph.data.max() or graph.diagonal().any():  # products of roots are rounded
        return None
    edges, sides = edges_of(graph)
    network = nx.Graph(rewired(edges, FIRST * len(edges), np.random.default_rng(0), keep_sides=sides))
    runs = [nx.community.louvain_communities(network, seed=seed) for seed in range(RUNS)]
    return float(max(nx.community.modularity(network, communities) for communities in runs))
