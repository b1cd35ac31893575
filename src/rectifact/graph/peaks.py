"""How many groups points form: peaks of their density that are higher than chance makes them.

Neighbours are similar wherever a cut goes, so hidden edges of a neighbour graph are predicted better by ever smaller
groups. A cut between two groups is another matter: it goes where points are rare. From the densest point down, each
point joins the group of its denser neighbours, and where two groups meet, the lower one has a prominence: how far its
peak lies above the place where they meet [1]. Each density is that of the distance to one of the nearest neighbours,
in as many dimensions as the distances to half and to all of them show.

References
----------
[1] F. Chazal, L. Guibas, S. Oudot and P. Skraba, "Persistence-based clustering in Riemannian manifolds", Journal of the
ACM 60(6), 2013.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma

NEIGHBOURS, SHARE = 15, 10
"""Neighbours whose distance is the density, and the points that there are for each of them at least."""


def density_neighbours(n_points: int) -> int:
    """How many neighbours tell the density of a point."""
    return min(max(2, min(NEIGHBOURS, n_points // SHARE)), n_points - 1)


def separations(distances: NDArray[Any], graph: Any) -> NDArray[Any]:
    """How far each group of points stands apart from denser ones, relative to what chance explains; largest first.

    The log-density of a point is known up to ``1 / sqrt(k)`` with k neighbours, and n points have about ``n / k``
    densities that do not depend on each other. The highest of them lies ``sqrt(2 log(n / k))`` standard errors above
    their mean. On a line it must be crossed where it is lowest, which is as far below; in more dimensions there are
    ways around, hence ``1 + 1 / dimension``.

    Parameters
    ----------
    distances : array of shape (n_points, k)
        To the nearest other points, ascending.
    graph : csr_array of shape (n_points, n_points)
        Which points are joined; symmetric.

    Returns
    -------
    array
        One figure per group of at least k points; the first, of the densest group, is infinite. Groups above 1 are
        real. Those without an edge to a denser one are always above.

    Examples
    --------
    >>> from sklearn.neighbors import NearestNeighbors
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(size=(100, 2)), rng.normal(size=(100, 2)) + 6])
    >>> near = NearestNeighbors(n_neighbors=15).fit(X)
    >>> found = separations(near.kneighbors()[0], near.kneighbors_graph().maximum(near.kneighbors_graph().T))
    >>> int((found > 1).sum())
    2
    """
    n, k = distances.shape
    density, dimension = shape_of_density(distances)
    needed = (2 * np.log(max(n / k, 2))) ** 0.5 * (1 + 1 / dimension) / k**0.5
    prominence, sizes = prominences(density, graph, floor=float(density.min()) - 2 * needed)
    return np.asarray(np.sort(prominence[sizes >= k])[::-1] / needed)


def shape_of_density(distances: NDArray[Any]) -> tuple[NDArray[Any], float]:
    """Log-density of each point, up to a constant, and the dimension in which it is meant."""
    positive = distances[distances > 0]
    logs = np.log(np.maximum(distances, positive.min() if len(positive) else 1.0))
    k = distances.shape[1]
    half = max(1, k // 2)
    spread = float(np.mean(logs[:, k - 1] - logs[:, half - 1]))  # times the dimension, a difference of digammas
    dimension = max(1.0, float(digamma(k) - digamma(half)) / spread) if spread > 0 else 1.0
    return -dimension * logs[:, k - 1], dimension


def prominences(heights: NDArray[Any], graph: Any, floor: float) -> tuple[NDArray[Any], NDArray[Any]]:
    """How far each peak lies above the highest way to a higher one, and the nodes that are then in its group.

    Parameters
    ----------
    heights : array of shape (n_nodes,)
    graph : csr_array of shape (n_nodes, n_nodes)
        Symmetric.
    floor : float
        Height at which peaks meet that are not joined. The highest of all has an infinite prominence.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> path = csr_array(np.eye(5, k=1) + np.eye(5, k=-1))
    >>> [found.tolist() for found in prominences(np.array([1.0, 5.0, 2.0, 4.0, 3.0]), path, 0.0)]
    [[2.0, inf], [2, 5]]
    """
    order = np.argsort(-heights, kind="stable")
    rank = np.argsort(order).tolist()
    above, sizes = list(range(len(heights))), [1] * len(heights)
    found: list[tuple[float, int]] = []

    def peak(node: int) -> int:
        while above[node] != node:
            above[node] = above[above[node]]
            node = above[node]
        return node

    first, ends = graph.indptr.tolist(), graph.indices.tolist()
    for node in order.tolist():
        denser = {peak(other) for other in ends[first[node] : first[node + 1]] if rank[other] < rank[node]}
        if not denser:
            continue
        top = min(denser, key=rank.__getitem__)
        for other in denser - {top}:
            found.append((float(heights[other] - heights[node]), sizes[other]))
            above[other] = top
            sizes[top] += sizes[other]
        above[node] = top
        sizes[top] += 1
    highest, *others = [node for node in order.tolist() if above[node] == node]
    found += [(float(heights[node] - floor), sizes[node]) for node in others]
    found.append((np.inf, sizes[highest] + sum(sizes[node] for node in others)))
    prominence, members = zip(*found, strict=True)
    return np.asarray(prominence), np.asarray(members)
