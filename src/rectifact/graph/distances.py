"""Distances that would be read as weights: how they show, and points that are as far apart as they say.

References
----------
[1] W. S. Torgerson, "Multidimensional scaling: I. Theory and method", Psychometrika 17, 1952. [2] J. B. Tenenbaum,
V. de Silva and J. C. Langford, "A global geometric framework for nonlinear dimensionality reduction", Science 290,
2000.
"""

from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components, shortest_path
from scipy.stats import rankdata

from rectifact.core.errors import FitWarning, InputError

TRIANGLES, MOST_DRAWN = 20_000, 500
"""Triples of nodes that are drawn, and the nodes that they are drawn from."""

CLEARLY, SURE = 0.15, 2.0
"""How many more triangles must speak for distances than for similarities, as a share of all, and in standard errors."""

BROKEN, SPREAD = 0.01, 3.0
"""Share of triangles with a side longer than the others together, as rounding makes some; and the ratio of the longest
to the shortest side above which it says something that there are no more."""

FILLED = 0.9
"""Share of the pairs that have a number in a matrix of distances; those of the same place have none."""

MOST_NODES = 5000
"""Nodes whose distances are turned into places."""

ROUNDED = 1e-6
"""Share of the largest distance by which both directions of a pair may differ through rounding."""

NO_LESS = 1e-9
"""Share of the largest eigenvalue from which on another is a dimension, and not rounding."""


def like_distances(X: Any) -> bool:
    """Whether the matrix of a graph looks like distances: zeros on the diagonal, and other numbers for all pairs.

    Nodes that are near a third one are near each other, so the two longer sides of a triangle are about as long; of
    similarities, it is the two smaller ones that are alike. Ranks say which is true, whatever the unit; a scale of each
    node, such as the size of a city in trade between cities, is taken out.

    Parameters
    ----------
    X : array or sparse array of shape (n_nodes, n_nodes)
        Symmetric.

    Examples
    --------
    >>> places = np.random.default_rng(0).random((1, 30))
    >>> apart = abs(places - places.T)
    >>> like_distances(apart), like_distances(np.exp(-apart) * (apart > 0))
    (True, False)
    """
    n = X.shape[0]
    if n < 5 or X.shape != (n, n) or (sp.issparse(X) and X.nnz < FILLED * n * (n - 1)):
        return False
    if n > MOST_DRAWN:
        drawn, n = np.random.default_rng(0).choice(n, MOST_DRAWN, replace=False), MOST_DRAWN
        X = sp.csr_array(X)[drawn][:, drawn] if sp.issparse(X) else X[np.ix_(drawn, drawn)]
    D = np.asarray(X.toarray() if sp.issparse(X) else X, dtype=float)
    i, j = np.triu_indices(n, 1)
    sides = D[i, j]
    if D.diagonal().any() or not np.isfinite(sides).all() or sides.min() < 0 or sides.min() == sides.max():
        return False
    if (sides > 0).mean() < FILLED or not _same_places(D):
        return False
    ranks = np.zeros((n, n))
    ranks[i, j] = rankdata(sides)
    ranks += ranks.T
    scales = ranks.sum(axis=1) / (n - 1)
    corners = _corners(n)
    short, middle, long = _sides(ranks - scales[:, None] - scales, corners)
    more = float(np.sign((middle - short) - (long - middle)).mean())
    short, middle, long = _sides(D, corners)
    if sides.max() > SPREAD * sides[sides > 0].min() and (long > short + middle).mean() <= BROKEN:
        return bool(more > CLEARLY / 3)
    return bool(more > max(CLEARLY, SURE / np.sqrt(n * (n - 1) / 6)))


def _same_places(D: NDArray[Any]) -> bool:
    """Whether nodes that are 0 apart are equally far from all others, to a thousandth of the largest distance."""
    i, j = np.nonzero(np.triu(D == 0, 1))
    return bool((abs(D[i] - D[j]) <= 1e-3 * D.max()).all())


def _corners(n: int) -> NDArray[Any]:
    """Triples of different nodes, one in each row."""
    drawn = np.random.default_rng(0).integers(n, size=(TRIANGLES, 3))
    return drawn[(drawn != np.roll(drawn, 1, axis=1)).all(axis=1)]


def _sides(D: NDArray[Any], corners: NDArray[Any]) -> NDArray[Any]:
    """The shortest, the middle and the longest side of each triangle."""
    a, b, c = corners.T
    return np.sort(np.stack([D[a, b], D[b, c], D[a, c]]), axis=0)


def distance_warning(X: Any) -> FitWarning | None:
    """What to say about similarities that look like distances; None about others."""
    if not (sp.issparse(X) or isinstance(X, np.ndarray)) or not like_distances(X):
        return None
    return FitWarning(
        "X looks like distances, and its large numbers are read as strong ties.",
        "For a matrix of distances D, give similarities instead, such as np.exp(-((D / np.median(D)) ** 2)).",
        option="distances",
    )


def listed_distances(source: Any, target: Any, distance: Any) -> tuple[sp.csr_array, Any]:
    """Distances between pairs, the shortest where one is listed twice, and the nodes in the order of the list.

    Examples
    --------
    >>> D, nodes = listed_distances(["a", "b", "b"], ["b", "a", "c"], [3.0, 2.0, 0.0])
    >>> nodes.tolist(), D.nnz, D.toarray().tolist()
    (['a', 'b', 'c'], 4, [[0.0, 2.0, 0.0], [2.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    """
    both = np.stack([source, target], axis=1).ravel()
    codes, nodes = pd.factorize(both)
    ends = np.sort(codes.reshape(-1, 2), axis=1)
    table = pd.DataFrame({"a": ends[:, 0], "b": ends[:, 1], "apart": np.asarray(distance, dtype=float)})
    if not (np.isfinite(table["apart"]) & (table["apart"] >= 0)).all():
        raise InputError("Some distances are negative or not finite.", "Drop such rows.")
    table = table[table["a"] != table["b"]].groupby(["a", "b"], as_index=False).min()
    a, b, apart = (table[name].to_numpy() for name in ("a", "b", "apart"))
    where = (np.concatenate([a, b]), np.concatenate([b, a]))
    return sp.csr_array((np.tile(apart, 2), where), shape=(len(nodes), len(nodes))), nodes


def known_distances(X: Any) -> Any:
    """The distances of a matrix that may have gaps: dense, or the known ones where some are not known.

    Where only one direction has a number, it counts for both, else their mean does; 0 between nodes that are not at the
    same place is a gap, too.

    Examples
    --------
    >>> known_distances(np.array([[0.0, 2.0], [np.nan, 0.0]])).toarray().tolist()
    [[0.0, 2.0], [2.0, 0.0]]
    """
    D = np.asarray(X.toarray() if sp.issparse(X) else X, dtype=float).copy()
    np.fill_diagonal(D, 0)
    if (np.nan_to_num(D) < 0).any():
        raise InputError("Some distances are negative.", "Check what the numbers mean.")
    if sp.issparse(X) or not _same_places(np.nan_to_num(D)):
        D[D == 0] = np.nan
    D = np.where(np.isnan(D), D.T, D)
    D = (D + np.where(np.isnan(D.T), D, D.T)) / 2
    np.fill_diagonal(D, np.nan)
    known = np.nonzero(~np.isnan(D))
    return sp.csr_array((D[known], known), shape=D.shape)


def differ_by_direction(X: Any) -> bool:
    """Whether a matrix of distances has another number for some pair in the other direction; a gap is no number.

    Examples
    --------
    >>> differ_by_direction(np.array([[0.0, 2.0], [3.0, 0.0]])), differ_by_direction(np.array([[0.0, 2.0], [0.0, 0.0]]))
    (True, False)
    """
    D = np.nan_to_num(np.asarray(X.toarray() if sp.issparse(X) else X, dtype=float))
    return bool((abs(D - D.T)[(D > 0) & (D.T > 0)] > ROUNDED * D.max(initial=0)).any())


def points_of(D: Any) -> NDArray[np.float64]:
    """Points that are as far apart as a matrix says, or as near to it as points can be [1].

    Parameters
    ----------
    D : array or sparse array of shape (n, n)
        Symmetric; what a sparse one does not store is the length of the shortest path along what it does [2].

    Returns
    -------
    array of shape (n, n_dimensions)

    Examples
    --------
    >>> points_of(np.array([[0.0, 3.0, 4.0], [3.0, 0.0, 5.0], [4.0, 5.0, 0.0]])).shape
    (3, 2)
    """
    n = D.shape[0]
    if n > MOST_NODES:
        what = f"Distances are read for at most {MOST_NODES:,} nodes; there are {n:,}."
        raise InputError(what, "Cluster a part of them, or the points themselves.")
    if sp.issparse(D):
        n_parts = connected_components(D, directed=False)[0]  # zeros are stored, and join
        if n_parts > 1:
            what = f"The listed distances leave {n_parts} parts that no path joins."
            raise InputError(what, "Add distances between them, or cluster each part alone.")
        D = D if D.nnz == n * (n - 1) else shortest_path(D, directed=False)
        D = D.toarray() if sp.issparse(D) else D
    squared = np.asarray(D, dtype=float) ** 2
    means = squared.mean(axis=0)
    if not squared.any():
        raise InputError("All distances are 0: there is nothing to tell nodes apart.", "Check the file.")
    values, vectors = np.linalg.eigh((means[:, None] + means - squared - squared.mean()) / 2)
    kept = values > NO_LESS * max(values[-1], 1e-300)
    return np.asarray(vectors[:, kept][:, ::-1] * np.sqrt(values[kept])[::-1])
