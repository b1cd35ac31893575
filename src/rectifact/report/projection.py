"""A map of samples: points in the plane whose neighbours are the neighbours of the samples."""

from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.manifold import TSNE
from sklearn.random_projection import GaussianRandomProjection

MOST_MAPPED, MOST_COLUMNS, FEW = 1500, 256, 10
"""Samples on a map; columns from which on they are projected at random first; samples that need no map."""

STEPS = 500


@dataclass(frozen=True)
class Map:
    """Which samples are on the map, where, and by which method.

    Parameters
    ----------
    samples : array of shape (n_mapped,)
        Their numbers.
    places : array of shape (n_mapped, 2)
    method : str
    """

    samples: NDArray[Any]
    places: NDArray[Any]
    method: str


def evenly(n: int, most: int) -> NDArray[Any]:
    """At most ``most`` of ``n`` numbers, evenly spread."""
    return np.unique(np.linspace(0, n - 1, min(n, most)).astype(int))


def in_the_plane(rows: NDArray[Any]) -> tuple[NDArray[Any], str]:
    """Rows as points in the plane, by UMAP if it is installed, else by t-SNE; the same each time.

    Very few rows are shown along their two principal axes.

    Examples
    --------
    >>> import numpy as np
    >>> places, method = in_the_plane(np.eye(4))
    >>> places.shape, method
    ((4, 2), 'principal components')
    """
    rows = np.asarray(rows, dtype=np.float64)
    if len(rows) < FEW:
        return principal_axes(rows), "principal components"
    if rows.shape[1] > MOST_COLUMNS:  # keeps distances to within a few percent
        rows = GaussianRandomProjection(MOST_COLUMNS, random_state=0).fit_transform(rows)
    if find_spec("umap") is not None:
        from umap import UMAP

        near = min(15, len(rows) - 1)
        return np.asarray(UMAP(n_neighbors=near, random_state=0, n_jobs=1).fit_transform(rows), dtype=float), "UMAP"
    start = principal_axes(rows)
    start = 1e-4 * start / max(float(start[:, 0].std()), 1e-300)
    perplexity = min(30.0, (len(rows) - 1) / 3)
    found = TSNE(perplexity=perplexity, init=start.astype(np.float32), max_iter=STEPS, random_state=0)
    return np.asarray(found.fit_transform(rows), dtype=float), "t-SNE"


def principal_axes(rows: NDArray[Any]) -> NDArray[Any]:
    """Coordinates along the two axes of largest variance."""
    U, s, _ = np.linalg.svd(rows - rows.mean(axis=0), full_matrices=False)
    U, s = (np.pad(U, ((0, 0), (0, 1))), np.pad(s, (0, 1))) if len(s) < 2 else (U, s)
    return np.asarray(U[:, :2] * s[:2])
