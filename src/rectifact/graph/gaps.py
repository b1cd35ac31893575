"""Groups of a small table of points: a division whose groups are compact and lie farther apart than chance has it.

Among few points, the density near a point is known from two or three neighbours alone, so only a large drop of it is
more than chance, and a group of five beside one of eleven has no room for such a drop. But two groups of points that
lie apart are also divided by a gap that is wider than any inside them. The divisions are those of average linkage; a
division counts if its mean silhouette [1] and the gap both exceed what clouds without groups reach. In many dimensions
all distances are alike, so both are judged by the dimension.

References
----------
[1] P. J. Rousseeuw, "Silhouettes: a graphical aid to the interpretation and validation of cluster analysis", J.
Computational and Applied Mathematics 20, 1987.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import pdist, squareform
from sklearn.metrics import silhouette_score

from rectifact.graph.peaks import NEIGHBOURS, SHARE, separations, shape_of_density

FEWEST = 4
"""Points of the smallest group."""

SMALL = NEIGHBOURS * SHARE
"""Points of a table from which on their density tells all groups."""

COMPACT = 0.85
"""Silhouette that clouds without groups hardly reach, times the root of the dimension."""

GAP = 1.5
"""Width of a gap, relative to the widest inside a group, that they hardly reach in a plane."""


@dataclass(frozen=True)
class Division:
    """A division of points: how many groups, its mean silhouette, and both figures relative to what chance explains."""

    groups: int
    silhouette: float
    compact: float
    apart: float

    @property
    def score(self) -> float:
        """How far the division exceeds what chance explains; above 1, its groups are real."""
        return min(self.compact, self.apart)


def divisions(points: Any, dimension: float) -> list[Division]:
    """Divisions of a small table by average linkage, each into groups of at least four points.

    None where most points are the same as others, as the answers to a few questions are: each pile of them would be a
    group.

    Parameters
    ----------
    points : array or sparse array of shape (n_points, n_features)
    dimension : float
        In which the points lie, as far as their neighbours show it.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> groups = np.repeat([[0, 0], [8, 0], [0, 8]], [11, 8, 5], axis=0)
    >>> [found.groups for found in divisions(rng.normal(size=(24, 2)) + groups, 2.0) if found.score > 1]
    [3]
    >>> [found.groups for found in divisions(rng.normal(size=(24, 2)), 2.0) if found.score > 1]
    []
    """
    n = points.shape[0]
    points = points.toarray() if sp.issparse(points) else points
    if 2 * len(np.unique(points, axis=0)) <= n:
        return []
    D = squareform(pdist(points))
    tree = linkage(squareform(D, checks=False), "average")
    tried = (fcluster(tree, k, "maxclust") for k in range(2, n // FEWEST + 1))
    found = [_division(D, labels - 1, dimension) for labels in tried if np.bincount(labels)[1:].min() >= FEWEST]
    unique = {each.groups: each for each in found if each is not None}
    return list(unique.values())


def _division(D: NDArray[Any], labels: NDArray[Any], dimension: float) -> Division | None:
    """How far a division exceeds chance; None where there is nothing inside its groups to compare with."""
    k = int(labels.max()) + 1
    if k < 2:
        return None
    inside = max(_widest(D[np.ix_(labels == i, labels == i)]) for i in range(k))
    if inside == 0:
        return None
    between = float(D[labels[:, None] != labels].min())
    silhouette = float(silhouette_score(D, labels, metric="precomputed"))
    wider = dimension * np.log(max(between, 1e-300) / inside) / (2 * np.log(GAP))
    return Division(k, silhouette, silhouette * dimension**0.5 / COMPACT, float(wider))


def _widest(D: NDArray[Any]) -> float:
    """The widest gap inside a group: the longest edge of its minimum spanning tree."""
    return float(linkage(squareform(D, checks=False), "single")[-1, 2])


@dataclass(frozen=True)
class Apart:
    """How far groups of points stand apart, as :func:`rectifact.graph.peaks.separations` has it, with those by gaps.

    ``fewest`` are the points of the smallest group that was looked for; ``compact`` is a division whose groups are
    compact, though no gap divides all of them, if it has more groups than stand apart.
    """

    scores: NDArray[Any]
    fewest: int
    compact: Division | None = None

    @property
    def groups(self) -> int:
        """How many groups stand apart."""
        return max(1, int((self.scores > 1).sum()))


def groups_apart(distances: NDArray[Any], graph: Any, points: Any, order: NDArray[Any] | None = None) -> Apart:
    """How far each group of points stands apart: by density, and in small tables also by gaps.

    Parameters
    ----------
    distances : array of shape (n_points, k)
        To the nearest other points, ascending.
    graph : csr_array of shape (n_points, n_points)
        Which points are joined; symmetric.
    points : array or sparse array of shape (n_points, n_features)
    order : array of shape (n_points,) or None, default None
        Places, in ``distances`` and ``points``, of the rows of ``graph``; None if they are the same.
    """
    n_points, fewest = distances.shape
    scores = separations(distances if order is None else distances[order], graph)
    if not 2 * FEWEST <= n_points < SMALL or not (isinstance(points, np.ndarray) or sp.issparse(points)):
        return Apart(scores, fewest)
    points = points if order is None else points[order]  # equal distances are then broken alike, too
    found = divisions(points, shape_of_density(distances[:, :2])[1])  # further neighbours may be in another group
    if not found:
        return Apart(scores, FEWEST)
    real = [each for each in found if each.score > 1]
    best = max(real, key=lambda each: each.silhouette) if real else max(found, key=lambda each: each.score)
    by_gaps = np.r_[np.inf, np.full(best.groups - 1, max(best.score, 0.0))]
    n = max(len(scores), len(by_gaps))
    scores = np.maximum(np.pad(scores, (0, n - len(scores))), np.pad(by_gaps, (0, n - len(by_gaps))))
    apart = Apart(scores, FEWEST)
    compact = max(found, key=lambda each: each.silhouette)
    return replace(apart, compact=compact) if compact.compact > 1 and compact.groups > apart.groups else apart
