"""Groups of points that no neighbours join, where there are more of them than clusters: the nearest become one.

The groups are joined as in single linkage, by the shortest edges of the minimum spanning tree of their distances.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import minimum_spanning_tree

from rectifact.core.arrays import is_host
from rectifact.core.errors import FitWarning
from rectifact.graph.components import Components, find_components
from rectifact.graph.knn import Neighbours
from rectifact.graph.search import nearest_among
from rectifact.graph.similarities import Similarities

MOST_GROUPS = 200
"""Groups of which all distances are computed."""


def joined(near: Neighbours, n_clusters: int, least: int | None) -> tuple[Neighbours, int]:
    """Neighbours with edges between the nearest groups, so that there are as many as clusters; and how many there were.

    Groups that are too small for a cluster are left alone, and so are points on a device.

    Parameters
    ----------
    near : Neighbours
    n_clusters : int
    least : int or None
        Fewest points of a group that counts; None is as in :func:`rectifact.graph.components.find_components`.
    """
    if not is_host(near.points):
        return near, 0
    S = sp.csr_array(near.connected)
    parts = find_components(Similarities(S), n_clusters, least)
    n = parts.large_enough
    if not n_clusters < n <= MOST_GROUPS:
        return near, 0
    links = _links(near, parts, n, n - n_clusters)
    weight = float(S.data.mean())  # as that of any other edge, since the similarity of far points may be 0
    left, right = links.T
    edges = sp.csr_array((np.full(len(links), weight), (left, right)), shape=S.shape)
    return replace(near, similarities=sp.csr_array(S + edges + edges.T)), n


def _links(near: Neighbours, parts: Components, n: int, wanted: int) -> NDArray[Any]:
    """Pairs of nearest points of groups, for the ``wanted`` shortest edges of the tree that spans the first ``n``."""
    groups = [np.flatnonzero(parts.of_node == i) for i in range(n)]
    distances, ends = np.full((n, n), np.inf), np.zeros((n, n, 2), dtype=int)
    for j, there in enumerate(groups):
        for i in range(j):
            here = groups[i]
            found, apart = (each[:, 0] for each in nearest_among(near.points[there], near.points[here], 1))
            nearest = int(np.argmin(apart))
            distances[i, j], ends[i, j] = apart[nearest], (here[nearest], there[found[nearest]])
    ranks = np.argsort(np.argsort(distances, axis=None, kind="stable")).reshape(n, n) + 1  # 0 would be no edge
    tree = sp.coo_array(minimum_spanning_tree(np.triu(ranks, 1)))
    shortest = np.argsort(tree.data, kind="stable")[:wanted]
    return ends[tree.coords[0][shortest], tree.coords[1][shortest]]


def joined_note(n: int, n_clusters: int) -> FitWarning:
    """That groups were joined, and how to keep them apart.

    Examples
    --------
    >>> print(joined_note(6, 3).what)
    The points are in 6 groups that no neighbours join, more than the 3 clusters: the nearest groups are joined.
    """
    clusters = "1 cluster" if n_clusters == 1 else f"{n_clusters} clusters"
    return FitWarning(
        f"The points are in {n} groups that no neighbours join, more than the {clusters}: the nearest groups are "
        "joined.",
        f"To keep them apart, raise n_clusters to {n}.",
        option="n_clusters",
        command=f"To keep them apart: -k {n}.",
    )
