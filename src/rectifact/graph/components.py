"""Connected components of a graph, and which of them are clustered."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from rectifact.core.arrays import Array, to_host
from rectifact.graph.similarities import Similarities

SMALL_CLUSTER, SMALLEST = 10, 4
"""Nodes that a component needs for clusters of its own, unless clusters are smaller than twice that on average, and
the fewest where their number is to be chosen."""

MOST_COMPONENTS = 256
"""Components that get clusters where the number of clusters is to be chosen."""


@dataclass(frozen=True)
class Components:
    """Connected components of a graph.

    Parameters
    ----------
    of_node : array of shape (n_nodes,)
        Component of each node; they are numbered by size, the largest is 0.
    sizes : array of shape (n_components,)
        Numbers of their nodes.
    least : float
        Nodes that a component needs for each of its clusters.
    n_clustered : int
        Number of components that are clustered: the first ones, since they are the largest.
    numbers : tuple of int or None
        How many clusters each of them gets; None leaves it to the eigenvalues.
    """

    of_node: NDArray[Any]
    sizes: NDArray[Any]
    least: float
    n_clustered: int
    numbers: tuple[int, ...] | None = None

    @property
    def columns(self) -> NDArray[np.bool_]:
        """Whether each node may belong to each cluster; one column for all if it is not known which component has it.

        Examples
        --------
        >>> Components(np.array([0, 1, 2]), np.array([9, 8, 1]), 2.0, 2, (2, 1)).columns.astype(int).tolist()
        [[1, 1, 0], [0, 0, 1], [0, 0, 0]]
        """
        if self.numbers is None:
            return self.clustered[:, None]
        return self.of_node[:, None] == np.repeat(np.arange(self.n_clustered), self.numbers)

    @property
    def clustered(self) -> NDArray[np.bool_]:
        """Whether each node is in a component that is clustered."""
        return self.of_node < self.n_clustered

    def of_nodes(self, least: int) -> list[NDArray[Any]]:
        """Nodes of each component that has at least ``least`` of them and an edge, and of the largest in any case."""
        n = max(1, int((self.sizes >= max(least, 2)).sum()))
        return [np.flatnonzero(self.of_node == i) for i in range(n)]

    @property
    def large_enough(self) -> int:
        """Number of components that could be clustered if there were clusters enough."""
        return max(1, int((self.sizes >= self.least).sum()))

    def least_for(self, n_clusters: int) -> int | None:
        """The ``min_component`` that keeps these components where there are ``n_clusters``; None if the default does.

        Examples
        --------
        >>> found = Components(np.zeros(1), np.array([90, 12, 9]), 10.0, 2)
        >>> found.least_for(4), found.least_for(7)
        (None, 12)
        """
        by_itself = max(1, int((self.sizes >= least_nodes(self.sizes, n_clusters)).sum()))
        return None if by_itself == self.n_clustered else int(self.sizes[self.n_clustered - 1])

    def most_clusters(self, n_clusters: int) -> list[int]:
        """Largest number of clusters that each component may have, of those that are clustered."""
        if self.numbers is not None:
            return list(self.numbers)
        sizes = self.sizes[: self.n_clustered]
        most = np.maximum(1, sizes // self.least).astype(int)
        most = sizes if most.sum() < n_clusters else most  # else some clusters would stay empty
        return np.minimum(most, n_clusters - self.n_clustered + 1).tolist()


def find_components(S: Similarities, n_clusters: int, least: int | None = None) -> Components:
    """Components of a graph, and which of them are clustered.

    A component takes part if it has at least ``least`` nodes, and more than one. If there are more of those than
    clusters, clusters are shared out by size (Sainte-Laguë), and components that would get none are left out.

    Parameters
    ----------
    S : Similarities
    n_clusters : int
        Number of clusters.
    least : int or None, default None
        Fewest nodes; None is 10, or half the mean size of a cluster where that is less.

    Returns
    -------
    Components

    Examples
    --------
    >>> triangle = np.ones((3, 3)) - np.eye(3)
    >>> found = find_components(Similarities(sp.csr_array(sp.block_diag([[[0.0]], triangle, triangle]))), 1)
    >>> found.of_node.tolist(), found.sizes.tolist(), found.n_clustered
    ([2, 0, 0, 0, 1, 1, 1], [3, 3, 1], 1)
    """
    numbers = S.operand.split(np.arange(S.shape[0])[:, None])
    parts = S.kept.total(_joined, along=(numbers,), combine=_merged)
    _, first, parts, sizes = np.unique(parts, return_index=True, return_inverse=True, return_counts=True)
    order = np.lexsort((first, -sizes))
    of_node, sizes = np.argsort(order)[parts], sizes[order]
    found = Components(of_node, sizes, least_nodes(sizes, n_clusters, least), 0)
    return replace(found, n_clustered=_seated(sizes[: found.large_enough], n_clusters))


def least_nodes(sizes: NDArray[Any], n_clusters: int, least: int | None = None) -> float:
    """Fewest nodes of a component with clusters, from the sizes of all; 2 or more, unless no component has edges.

    Examples
    --------
    >>> least_nodes(np.array([100, 3, 1]), 5), least_nodes(np.array([6, 6, 1]), 3), least_nodes(np.array([9, 1]), 2, 1)
    (10.0, 2.0, 2.0)
    """
    fewest = float(least or min(SMALL_CLUSTER, sizes[sizes > 1].sum() / (2 * n_clusters)) or 1)
    return max(fewest, 2.0) if sizes.max() > 1 else fewest


def fixed_least(sizes: NDArray[Any], typical: int | None = None) -> int:
    """Fewest nodes of a component with clusters where their number is to be chosen: one threshold for all numbers.

    It is 10, or half the size of a typical community where that is less, but not below 4, unless no component is
    larger. Where hundreds of components have as many, only the largest ones count.

    Parameters
    ----------
    sizes : array of shape (n_components,)
        Numbers of nodes, the largest first.
    typical : int or None, default None
        Nodes of a typical community; None is the size of the component that the median node is in.

    Examples
    --------
    >>> fixed_least(np.array([24, 6, 6])), fixed_least(np.array([24, 6, 6]), 6)
    (10, 4)
    >>> fixed_least(np.array([90, 12, 9, 2])), fixed_least(np.array([12, 6, 6, 6, 5])), fixed_least(np.array([3, 3]))
    (10, 4, 3)
    """
    size = int(sizes[np.searchsorted(np.cumsum(sizes), sizes.sum() / 2)]) if typical is None else typical
    least = min(max(SMALLEST, min(SMALL_CLUSTER, size // 2)), int(sizes[0]))
    return least if len(sizes) <= MOST_COMPONENTS else max(least, int(sizes[MOST_COMPONENTS]) + 1)


def _joined(rows: Array, numbers: Array) -> NDArray[Any]:
    """Component of each node in the graph that has the edges of some rows only."""
    graph = sp.csr_array(to_host(rows))
    if not graph.data.all():  # stored zeros are not edges
        graph = graph.copy()
        graph.eliminate_zeros()
    n, first = graph.shape[1], int(numbers[0, 0])
    after = np.full(n - first - graph.shape[0], graph.indptr[-1])
    ends = np.concatenate([np.zeros(first, dtype=after.dtype), graph.indptr, after])  # rows of others are empty
    whole = sp.csr_array((graph.data, graph.indices, ends), shape=(n, n))
    return connected_components(whole, directed=False)[1]


def _merged(one: NDArray[Any], other: NDArray[Any]) -> NDArray[Any]:
    """Components of a graph that has the edges of two: those of one and of the other are joined by the nodes."""
    n_one, n_other = int(one.max()) + 1, int(other.max()) + 1
    places = (one, n_one + other)
    joined = sp.coo_array((np.ones(len(one)), places), shape=(n_one + n_other, n_one + n_other))
    return connected_components(joined.tocsr(), directed=False)[1][one]


def _seated(sizes: NDArray[Any], n_clusters: int) -> int:
    """Number of components, the largest first, that get a cluster where clusters are shared out by size."""
    if len(sizes) <= n_clusters:
        return len(sizes)
    candidates = sizes[:n_clusters]
    quotients = candidates[:, None] / (2 * np.arange(n_clusters) + 1)
    last = np.sort(quotients, axis=None)[-n_clusters]
    return max(1, min(n_clusters, int((candidates >= last).sum())))
