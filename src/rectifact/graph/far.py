"""New points far from those of the fit, or in other units."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from rectifact.core.arrays import to_host
from rectifact.core.errors import count
from rectifact.graph.knn import SCALE_NEIGHBOUR, Neighbours, nearest, nearest_known

FAR, USUAL = 2.0, 0.95
"""Relative distance beyond which a new point is far, and the quantile of the distances in its cluster that is 1."""

BEYOND = 0.1
"""Share of the range of a column by which a value may lie outside it without a word."""

TINY, FEW = 0.1, 3
"""Share of the smallest value below which a positive one is in another unit, though the range may dwarf the difference;
and how many new values have to be on one side of the range, if they are most of them, for it to matter how close."""


def relative_distances(near: Neighbours, X: Any, labels: NDArray[Any], new: NDArray[Any]) -> NDArray[Any]:
    """Distance of each new point to its seventh nearest point of the fit, relative to what is usual in its cluster.

    Usual is the 95 % quantile of the same distance for the points of the fit in that cluster, or for all of them where
    a new point is in none.

    Parameters
    ----------
    near : Neighbours
        Points of the fit.
    X : array or sparse array of shape (n_new, n_features)
        New points, divided as those of the fit are.
    labels, new : array of int
        Cluster of each point of the fit, and of each new point.

    Examples
    --------
    >>> from rectifact.graph.knn import connect
    >>> old = np.arange(20.0)[:, None]
    >>> found = relative_distances(connect(old), np.array([[5.0], [119.0]]), np.zeros(20, int), np.zeros(2, int))
    >>> found.round(1).tolist()
    [0.4, 15.1]
    """
    k = min(SCALE_NEIGHBOUR, near.points.shape[0] - 1)
    inside = to_host(near.scales).astype(float) if near.metric == "euclidean" else _to_neighbour(near.points, k)
    usual = np.array([_usual(inside, labels == k) for k in range(-1, int(max(labels.max(), new.max())) + 1)])
    squared = to_host(nearest_known(near, X, k)[2]).astype(float)
    return np.asarray(np.sqrt(squared[:, -1]) / usual[new + 1])


def _to_neighbour(points: Any, k: int) -> NDArray[Any]:
    """Distance of each point to its k-th neighbour."""
    squared = to_host(nearest(points, k, None, None).data).astype(float)
    return np.asarray(np.sqrt(squared.reshape(-1, k)[:, -1]))


def _usual(distances: NDArray[Any], inside: NDArray[np.bool_]) -> float:
    """What is usual among the points ``inside``, or among all where there are none."""
    return max(float(np.quantile(distances[inside] if inside.any() else distances, USUAL)), 1e-300)


def outside_range(points: NDArray[Any], X: Any, names: Sequence[Any] | None) -> str:
    """A sentence about columns of new points X that lie outside those of the fit; empty if none does.

    Examples
    --------
    >>> outside_range(np.array([[1.0], [2.0]]), np.array([[1.5], [180.0]]), ["height"])
    "'height' lies outside the range of the fit, 1 to 2, in 1 of 2 new points."
    """
    X = X.toarray() if sp.issparse(X) else X
    low, high = points.min(axis=0), points.max(axis=0)
    beyond = _beyond(np.asarray(X, dtype=float), low, high).sum(axis=0)
    found = np.flatnonzero(beyond)
    if not len(found):
        return ""
    first = int(found[np.argmax(beyond[found])])
    called = f"column {first + 1}" if names is None else repr(str(names[first]))
    more = f", and so do values of {count(len(found) - 1, 'other column')}" if len(found) > 1 else ""
    span = " to ".join(f"{float(f'{end:.4g}'):,.10g}" for end in (low[first], high[first]))
    share = f"{beyond[first]:,} of {count(len(X), 'new point')}"
    return f"{called} lies outside the range of the fit, {span}, in {share}{more}."


def _beyond(X: NDArray[Any], low: NDArray[Any], high: NDArray[Any]) -> NDArray[np.bool_]:
    """Whether each value is far outside its column's range, or outside it as most new values are, on the same side.

    Thousandths of incomes between 2,000 and 160,000 are hardly outside that range, by its length, and yet below it.
    """
    rounding = 1e-9 * np.maximum(np.abs(low), np.abs(high))
    margin = BEYOND * (high - low) + rounding
    far = (low - margin > X) | (high + margin < X) | ((X > 0) & (TINY * low > X))
    sides = low - rounding > X, high + rounding < X
    least = max(FEW, len(X) / 2)
    return np.asarray(far | np.any([side & (side.sum(axis=0) >= least) for side in sides], axis=0))
