"""Groups of points that some columns show and all together hide.

Columns that do not tell groups apart add the same noise to all distances, so groups that stand apart in a few columns
may run together in all. Each column is looked at alone, and those that show groups are then taken together.
"""

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from rectifact.graph.knn import nearest
from rectifact.graph.peaks import density_neighbours, separations

CLEARLY = 1.5
"""How far a second group must stand apart in a column, relative to what chance explains: many columns are looked at."""

MOST_CELLS = 200_000
"""Cells of a table whose columns are looked at."""


def groups_in_columns(points: Any) -> tuple[list[int], int]:
    """Columns that show groups by themselves, and how many groups stand apart in these together; none and 1 otherwise.

    A column in which many points have the same value is left out, as each value would be a group. Sparse points, those
    on other devices and large tables are not looked at.

    Parameters
    ----------
    points : array of shape (n_points, n_columns)

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> noise, ends = rng.normal(size=(400, 6)), rng.choice([0.0, 8.0], (400, 2))
    >>> groups_in_columns(np.hstack([noise[:, :2] + ends, noise[:, 2:]]))
    ([0, 1], 4)
    >>> groups_in_columns(noise)
    ([], 1)
    """
    n, n_columns = points.shape if isinstance(points, np.ndarray) else (0, 0)
    if n_columns < 2 or n < 4 or n * n_columns > MOST_CELLS:
        return [], 1
    alone = {j: _separations(points[:, [j]]) for j in range(n_columns) if 2 * len(np.unique(points[:, j])) > n}
    groups = {j: int((found > CLEARLY).sum()) for j, found in alone.items()}
    columns = [j for j, several in groups.items() if several > 1]
    if len(columns) < 2:
        return columns, groups[columns[0]] if columns else 1
    return columns, int((_separations(points[:, columns]) > 1).sum())


def _separations(points: NDArray[Any]) -> NDArray[Any]:
    """How far groups stand apart; points on a line are all joined, as a gap between them may be chance."""
    n, k = len(points), density_neighbours(len(points))
    squared = sp.csr_array(nearest(points, k, None, None))
    graph = sp.csr_array((np.ones(n * k), squared.indices, squared.indptr), shape=(n, n))
    if points.shape[1] == 1:
        order = np.argsort(points[:, 0], kind="stable")
        graph = graph + sp.csr_array((np.ones(n - 1), (order[:-1], order[1:])), shape=(n, n))
    return separations(np.sqrt(squared.data.reshape(n, k)), sp.csr_array(graph + graph.T))
