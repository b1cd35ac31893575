"""How many communities: the number that predicts hidden edges best. For points, the number of groups that stand apart.

Modularity cannot decide: it has a resolution limit, and it is positive on random graphs. The likelihood of edges that
the fit has not seen falls as soon as communities follow noise. The edges between neighbouring points are not noise,
whatever the number: there, the density of the points decides (:mod:`rectifact.graph.peaks`).

References
----------
[1] B. Karrer and M. E. J. Newman, "Stochastic blockmodels and community structure in networks", Physical Review E 83,
2011.
"""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import clone

from rectifact.core.arrays import to_host
from rectifact.core.errors import InputError, count
from rectifact.core.estimator import quiet_copy
from rectifact.graph.base import Graph, GraphClusterer
from rectifact.graph.canonical import canonical_order
from rectifact.graph.chance import SHIFT
from rectifact.graph.components import fixed_least
from rectifact.graph.diagnosis import WEAK
from rectifact.graph.gaps import Apart, groups_apart
from rectifact.graph.hidden_groups import groups_in_columns
from rectifact.graph.knn import nearest
from rectifact.graph.louvain import compare_with_louvain
from rectifact.graph.normalisation import inverse_roots
from rectifact.graph.overlaps import matched_overlaps, partners
from rectifact.graph.peaks import density_neighbours
from rectifact.graph.similarities import Similarities
from rectifact.graph.spectral import leading_eigenvectors
from rectifact.graph.splits import drawn_edges, hold_out, n_splits
from rectifact.graph.weights import HIDDEN, few_hold_most

FIRST, MOST, NODES_PER_CLUSTER = 32, 256, 4
"""Eigenvalues looked at first and at most, and the fewest nodes per community."""

MOST_DRAWS = 10
"""Samples of edges whose communities are compared with those of all edges; large graphs have 2."""

Shares = list[tuple[NDArray[Any], int]]
"""Nodes of components, and how many communities each has."""

WEIGHT = 1.0
"""Edges between two communities that are taken for granted, as many as degrees alone let expect."""


DIGITS = 12
"""Digits of a log-likelihood that count: rounding must not tell one community from two of which one is empty."""


class GraphTrial:
    """What is known about each number of communities.

    Parameters
    ----------
    estimator : GraphClusterer
    X : graph or points
        Whatever the estimator takes.
    rng : Generator
        Not used: the hidden edges are the same ones for the same graph, whatever the seed and the order of its nodes.
    """

    parameter = "n_clusters"
    recurs = "recur in both halves"
    what = ("community", "communities")
    ladder: tuple[int, ...] = ()
    negligible = 0.001
    measure = "log-likelihood of a hidden edge, above that of a random graph with the same degrees"

    def __init__(self, estimator: GraphClusterer, X: Any, rng: np.random.Generator) -> None:
        # the graph below has its values as they are wanted
        self._estimator = quiet_copy(estimator, affinity="precomputed", values="raw", random_state=0)
        given = clone(estimator).set_params(n_clusters=1)._graph(X, join=False)
        self._estimator.set_params(reassign=estimator._reassigns(given))
        graph, self._near, self._parts = _adjacency(given), given.near, given.parts
        self._order = canonical_order(graph)
        self._graph = sp.csr_array(graph[self._order][:, self._order])
        self._graph.sort_indices()
        self.ordered = self._graph  # weights of all edges, in the canonical order of the nodes
        self.most = max(1, min(MOST, self._graph.shape[0] // NODES_PER_CLUSTER))
        self._splits = hold_out(self._graph, np.random.default_rng(0), max(2, n_splits(self._graph.nnz // 2)))
        self._scored = n_splits(self._graph.nnz // 2)
        self.recurrence: dict[int, NDArray[Any]] = {}
        self.stability_range: NDArray[Any] | None = None
        self._labels: dict[tuple[int, int], NDArray[Any]] = {}

    def start(self, lowest: int) -> int:
        """Eigenvalues of the graph that stand out from those of its noise."""
        return min(self.most, outstanding_eigenvalues(self._graph, self.most))

    def scores(self, k: int) -> NDArray[Any]:
        """Log-likelihood of each hidden edge, weighted by its weight over the mean; a row for each split."""
        splits = enumerate(self._splits[: self._scored])
        gains = np.stack([edge_gains(split.rest, self._labels_of(i, k), split.hidden) for i, split in splits])
        return gains.round(DIGITS)

    def free(self) -> list[int]:
        """Numbers whose score costs nothing more."""
        known = [k for i, k in self._labels if i < self._scored]
        return sorted({k for k in known if known.count(k) == self._scored})

    def recurring(self, k: int, ks: Sequence[int]) -> int:
        """``k``: hidden edges decide alone, as their likelihood falls as soon as communities follow noise."""
        return k

    def doubt(self) -> str:
        """That a few edges hold most of the weight, where they do: then no number is sure."""
        return HIDDEN if not self.of_points and few_hold_most(self._graph) else ""

    def least(self, typical: int | None = None) -> int:
        """Nodes that a component needs to get clusters; ``typical`` is the size of communities, where it is known."""
        return self._estimator.min_component or fixed_least(self._parts.sizes, typical)

    def components(self, least: int) -> list[NDArray[Any]]:
        """Nodes of each connected component that has at least so many; the largest is the first, and always there."""
        return self._parts.of_nodes(least)

    @property
    def is_connected(self) -> bool:
        """Whether all nodes with edges are in one component."""
        return int((self._parts.sizes > 1).sum()) <= 1

    def adjacency(self, nodes: NDArray[Any]) -> sp.csr_array:
        """Weights of the edges between some nodes, in their order in X."""
        places = np.argsort(self._order)[nodes]
        return sp.csr_array(self._graph[places][:, places])

    @property
    def of_points(self) -> bool:
        """Whether the nodes are points, joined to their neighbours."""
        return self._near is not None

    def groups_apart(self) -> Apart:
        """How far groups of points stand apart."""
        if self._near is None:
            raise ValueError("Only points have a density.")
        k = density_neighbours(self._graph.shape[0])
        squared = to_host(nearest(self._near.points, k, None, None)).data.reshape(-1, k)
        return groups_apart(np.sqrt(squared), self._graph, self._near.points, self._order)

    def in_columns(self) -> tuple[list[int], int]:
        """Columns of points that show groups alone, and how many groups stand apart in these."""
        return groups_in_columns(getattr(self._near, "points", None))

    def stability(self, k: int, model: Any = None) -> NDArray[Any]:
        """Overlap (Jaccard) of each community in samples of the edges with that of ``model``, the mean of them.

        Without a model, of two samples with each other. Sets ``stability_range``, the lowest and the highest.
        """
        if model is None:
            return matched_overlaps(self._labels_of(0, k), self._labels_of(1, k), k)
        labels, n = np.asarray(to_host(model.labels_)), self._graph.shape[0]
        if len(labels) != n:
            what = f"The graph has {count(n, 'node')}, but the model was fitted to {len(labels):,}."
            raise InputError(what, "Give the graph of the fit.", option="X=")
        found = self._recurrence(labels[self._order], k, self._shares_of(labels))
        self.stability_range = np.stack([found.min(axis=0), found.max(axis=0)])
        return found.mean(axis=0)

    def are_found_again(self, k: int) -> bool:
        """Whether each of k communities of a connected graph is found again where some of the edges are left out."""
        return bool((self._recurrence(self._fit(self._graph, k), k).mean(axis=0) >= WEAK).all())

    def are_louvains(self, k: int) -> bool:
        """Whether Louvain's method finds the same k communities, as far as it can be tried."""
        labels = self._fit(self._graph, k)
        inside = labels >= 0
        other = compare_with_louvain(sp.csr_array(self._graph[inside][:, inside]), labels[inside], k)
        return other is not None and other.agreement == 1

    def _recurrence(self, labels: NDArray[Any], k: int, shares: Shares | None = None) -> NDArray[Any]:
        """Overlap of each community with that of each sample of the edges, a row for each."""
        draws = range(max(2, min(MOST_DRAWS, self._scored)))
        return np.array([matched_overlaps(labels, self._labels_of(i, k, shares), k) for i in draws])

    def resampled(self, model: Any, rng: np.random.Generator) -> NDArray[Any]:
        """Whether a node belongs to each community of ``model``, in a graph of edges drawn again."""
        k, own = model.n_clusters, np.asarray(to_host(model.labels_))
        labels, shares = np.empty(len(self._order), dtype=int), self._shares_of(own)
        drawn = drawn_edges(self._graph, rng)
        labels[self._order] = self._fit(drawn, k) if shares is None else self._fit_shares(drawn, shares)
        return np.asarray(labels[:, None] == partners(own, labels, k), dtype=float)

    def _fit(self, graph: sp.csr_array, k: int) -> NDArray[Any]:
        with warnings.catch_warnings(action="ignore"):
            model = clone(self._estimator).set_params(n_clusters=k).fit(graph)
        return np.asarray(to_host(model.labels_))

    def _fit_shares(self, graph: sp.csr_array, shares: Shares) -> NDArray[Any]:
        """Communities of each component on its own, as many as it has in the model that is judged."""
        labels, done = np.full(graph.shape[0], -1), 0
        for nodes, k in shares:
            part = sp.csr_array(graph[nodes][:, nodes])
            found = np.where(np.asarray(part.sum(axis=1)).ravel() > 0, 0, -1) if k == 1 else self._fit(part, k)
            labels[nodes] = np.where(found < 0, -1, found + done)
            done += k
        return labels

    def _shares_of(self, labels: NDArray[Any]) -> Shares | None:
        """Nodes of each component, in canonical order, and how many communities it has.

        None for a connected graph, and where a community is empty or in several components.
        """
        if self.is_connected or self.of_points:
            return None
        of_node, inside = self._parts.of_node, labels >= 0
        pairs = np.unique(np.stack([of_node[inside], labels[inside]]), axis=1)
        if pairs.shape[1] != labels.max() + 1:
            return None
        ordered = of_node[self._order]
        return [(np.flatnonzero(ordered == i), int((pairs[0] == i).sum())) for i in np.unique(pairs[0])]

    def _labels_of(self, sample: int, k: int, shares: Shares | None = None) -> NDArray[Any]:
        if shares is not None:
            return self._fit_shares(self._splits[sample].rest, shares)
        if k == 1:
            return np.zeros(self._graph.shape[0], dtype=int)
        if (sample, k) not in self._labels:
            self._labels[sample, k] = self._fit(self._splits[sample].rest, k)
        return self._labels[sample, k]


def _adjacency(graph: Graph) -> sp.csr_array:
    """The graph on the host, before its normalisation, without loops."""
    S = graph.S.scaled(1 / inverse_roots(graph.degrees)) if graph.normalized else graph.S
    A = sp.csr_array(to_host(S.operand.gather(S.operand.data))).astype(float)
    A.setdiag(0)
    A.eliminate_zeros()
    return A


def edge_gains(graph: sp.csr_array, labels: NDArray[Any], hidden: sp.coo_array) -> NDArray[Any]:
    """Log-likelihood of each hidden edge under the block model with degrees [1], above that by degrees alone.

    With ``e`` the weight between two communities in the graph, and ``x`` the weight that the degrees of their nodes let
    expect where no node is joined to itself, an edge between them has the gain ``log(e / x)``; nodes without a
    community have one of their own.

    Parameters
    ----------
    graph : csr_array of shape (n_nodes, n_nodes)
    labels : array of shape (n_nodes,)
        -1 for nodes without a community.
    hidden : coo_array of shape (n_nodes, n_nodes)

    Returns
    -------
    array of shape (n_hidden,)
        Each weighted by the weight of the edge over the mean weight.

    Examples
    --------
    >>> graph = sp.csr_array(sp.block_diag([np.ones((4, 4)) - np.eye(4)] * 2))
    >>> edge_gains(graph, np.repeat([0, 1], 4), sp.coo_array(([1.0, 1.0], ([0, 0], [1, 5])), shape=(8, 8))).round(2)
    array([ 0.75, -2.06])
    """
    labels = np.where(labels < 0, labels.max() + 1, labels)
    groups = sp.csr_array((np.ones(len(labels)), (np.arange(len(labels)), labels)))
    between = (groups.T @ graph @ groups).toarray()
    expected = _expected(groups, np.asarray(graph.sum(axis=1)).ravel())
    unit = WEIGHT * float(np.mean(hidden.data))
    gains, (i, j) = np.log((between + unit) / (expected + unit)), hidden.coords
    return gains[labels[i], labels[j]] * (hidden.data / np.mean(hidden.data))


def _expected(groups: sp.csr_array, degrees: NDArray[Any]) -> NDArray[Any]:
    """Weight between communities that degrees alone let expect, in graphs without loops.

    With loops, a clique would have fewer edges inside its parts than expected, and so would seem to have parts.

    Examples
    --------
    >>> _expected(sp.csr_array(np.repeat(np.eye(2), [1, 3], axis=0)), np.full(4, 3.0)).round(9).tolist()
    [[0.0, 3.0], [3.0, 6.0]]
    """
    totals, squares = groups.T @ degrees, groups.T @ degrees**2
    pairs = np.outer(totals, totals) - np.diag(squares)
    return np.maximum(pairs, 0) / max(pairs.sum(), 1e-300) * totals.sum()  # in this order, one community has no error


def outstanding_eigenvalues(graph: sp.csr_array, most: int) -> int:
    """Number of eigenvalues above the noise: those of noise lie around zero, so the lowest shows how high they reach.

    Of the graph divided by the roots of its degrees, each raised by a share of their mean.
    """
    degrees = np.asarray(graph.sum(axis=1)).ravel()
    roots = 1 / np.sqrt(degrees + SHIFT * max(float(degrees.mean()), 1e-300))
    S = sp.csr_array(graph * roots[:, None] * roots)
    lowest = float(leading_eigenvectors(Similarities(sp.csr_array(-S)), 1)[0][0])
    rank = min(FIRST, most)
    while True:
        above = int(np.sum(leading_eigenvectors(Similarities(S), rank)[0] > lowest))
        if above < rank or rank == most:
            return max(above, 1)
        rank = min(2 * rank, most)
