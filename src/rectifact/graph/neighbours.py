"""The nearest neighbours of points: by scikit-learn or a transformer of yours on the host, by tiles on a device."""

from typing import Any

import array_api_compat
import numpy as np
import scipy.sparse as sp
from sklearn.neighbors import NearestNeighbors

from rectifact.core.arrays import Array, is_host, namespace
from rectifact.core.device_csr import csr
from rectifact.core.errors import InputError
from rectifact.core.sparse import dense_rows, is_sparse, stored_rows, with_entries

TILE = 1 << 24
"""Distances that are held at once on a device."""


def nearest(X: Array, k: int, transformer: Any = None, n_jobs: int | None = None) -> Array:
    """Squared distances of each point to its nearest others.

    Parameters
    ----------
    X : array or sparse array of shape (n, d)
    k : int
        Number of neighbours.
    transformer : scikit-learn transformer or None
        Makes a sparse graph of distances in place of exact search; the number of neighbours is then its own.
    n_jobs : int or None
        For exact search on the host.

    Returns
    -------
    CSR matrix of shape (n, n)
        On the device of X. Entries of a row are in the order of their distance; zeros are stored.
    """
    if not is_host(X) and transformer is not None:
        raise InputError(
            "neighbors is for points on the host.", "Leave it out, or give a numpy array.", option="neighbors"
        )
    if transformer is not None:
        return _transformed(X, transformer)
    columns, squared = _on_host(X, k, n_jobs) if is_host(X) else _in_tiles(X, k)
    xp, n = namespace(squared), X.shape[0]
    rows = xp.arange(n, dtype=columns.dtype, device=array_api_compat.device(columns))[:, None] + xp.zeros_like(columns)
    squared, rows, columns = (xp.reshape(part, (-1,)) for part in (squared, rows, columns))
    return csr(squared, rows, columns, (n, n))


def squared_lengths(X: Array) -> Array:
    """Squared Euclidean norm of each row."""
    xp = namespace(X)
    if is_sparse(X):
        return with_entries(X, X.data**2) @ xp.ones(X.shape[1], dtype=X.dtype, device=array_api_compat.device(X.data))
    return xp.linalg.vecdot(X, X)


def _transformed(X: Any, transformer: Any) -> sp.csr_array:
    graph = sp.csr_array(transformer.fit_transform(X))
    graph.sort_indices()
    rows = stored_rows(graph)
    other = graph.indices != rows
    rows, columns, distances = rows[other], graph.indices[other], graph.data[other]
    order = np.lexsort((distances, rows))
    return csr(distances[order] ** 2, rows, columns[order], graph.shape)


def _on_host(X: Any, k: int, n_jobs: int | None) -> tuple[Array, Array]:
    distances, columns = NearestNeighbors(n_neighbors=k, n_jobs=n_jobs).fit(X).kneighbors()
    return columns, distances**2


def _in_tiles(X: Array, k: int) -> tuple[Array, Array]:
    """All distances are compared, tile by tile.

    Those between dense points that are kept are computed again from differences; those between sparse ones come from
    inner products, and are less accurate for near duplicates.
    """
    xp, (n, d) = namespace(X), X.shape
    squares = squared_lengths(X)
    step = max(1, min(TILE // n, TILE // (k * d)))
    found = []
    for i in range(0, n, step):
        rows = slice(i, min(i + step, n))
        tile = dense_rows(X, rows)
        distances = squares[rows][:, None] + squares[None, :] - 2 * (X @ tile.T).T
        number = xp.arange(rows.stop - rows.start, device=squares.device)
        distances[number, number + rows.start] = float("inf")
        near, number = _smallest(distances, k), number[:, None]
        if is_sparse(X):
            exact = xp.clip(distances[number, near], 0, None)
        else:  # inner products lose what two near points have in common
            exact = xp.sum((X[near] - tile[:, None, :]) ** 2, axis=2)
        order = xp.argsort(exact, axis=1, stable=True)
        found.append((near[number, order], exact[number, order]))
    columns, squared = (xp.concat(part) for part in zip(*found, strict=True))
    return columns, squared


def _smallest(distances: Array, k: int) -> Array:
    """Column numbers of the ``k`` least entries of each row, in any order."""
    if array_api_compat.is_torch_array(distances):
        return distances.topk(k, dim=1, largest=False, sorted=False).indices
    return namespace(distances).argpartition(distances, k - 1, axis=1)[:, :k]
