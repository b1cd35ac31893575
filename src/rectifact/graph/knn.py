"""From points to the symmetric sparse matrix of similarities that is factorised.

References
----------
[1] D. Kuang, S. Yun and H. Park, "SymNMF: nonnegative low-rank approximation of a similarity matrix for graph
clustering", J. Global Optimization 62(3), 2015, section 7.1. [2] L. Zelnik-Manor and P. Perona, "Self-tuning spectral
clustering", NIPS 2004.
"""

from dataclasses import dataclass
from typing import Any

import array_api_compat
import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_array

from rectifact.core.arrays import Array, device, is_host, namespace
from rectifact.core.device_csr import DeviceCSR, canonical_csr, csr, is_native_sparse
from rectifact.core.errors import InputError
from rectifact.core.operand import is_chunked
from rectifact.core.sparse import dense_rows, is_sparse, native, stored_rows, with_entries
from rectifact.core.validation import check_at_least, check_option
from rectifact.graph.scaling import check_points
from rectifact.graph.search import nearest_among, nearest_others

SCALE_NEIGHBOUR = 7
"""The neighbour whose distance is the scale of a point [2]."""

TILE = 1 << 24
"""Distances that are held at once on a device."""


def similarity_graph(
    X: Any,
    n_neighbors: int | None = None,
    *,
    metric: str = "euclidean",
    neighbors: Any = None,
    n_jobs: int | None = None,
) -> Any:
    r"""Sparse similarities of points to their nearest neighbours, symmetric and normalised.

    :math:`s_{ij} = \exp(-d_{ij}^2 / (\sigma_i \sigma_j))` where j is among the neighbours of i or i among those of j,
    with the distance to the seventh neighbour as the scale :math:`\sigma_i` [2]; ``metric="cosine"`` takes the cosine
    itself. The result is :math:`D^{-1/2} S D^{-1/2}` [1].

    Parameters
    ----------
    X : array or sparse array of shape (n_samples, n_features)
        Points, on the host or on a device.
    n_neighbors : int or None, default None
        Number of neighbours; None is ``floor(log2(n_samples)) + 1``.
    metric : {"euclidean", "cosine"}, default "euclidean"
        The cosine suits text.
    neighbors : scikit-learn transformer or None, default None
        Makes a sparse graph of distances to neighbours in place of exact search, such as scikit-learn's
        KNeighborsTransformer or pynndescent's PyNNDescentTransformer. For points on the host.
    n_jobs : int or None, default None
        Threads of exact search on the host.

    Returns
    -------
    csr_array of shape (n_samples, n_samples)
        Its diagonal is empty. For points on a device, it is a CSR matrix of their library there.

    Examples
    --------
    >>> import numpy as np
    >>> graph = similarity_graph(np.array([[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]]), 2)
    >>> bool(abs(graph - graph.T).max() < 1e-15), float(graph[0, 4])
    (True, 0.0)
    """
    return native(normalized(connect(X, n_neighbors, metric=metric, neighbors=neighbors, n_jobs=n_jobs).similarities))


@dataclass(frozen=True)
class Neighbours:
    """Points and their similarities to their neighbours, before normalisation.

    Parameters
    ----------
    similarities : CSR matrix of shape (n, n)
        Symmetric.
    points : array or sparse array of shape (n, d)
        Of unit length for the cosine.
    scales : array of shape (n,)
        Distances to the seventh neighbour; ones for the cosine.
    n_neighbors : int
    metric : {"euclidean", "cosine"}
    """

    similarities: Any
    points: Any
    scales: Array
    n_neighbors: int
    metric: str

    @property
    def connected(self) -> Any:
        """The similarities; refused where there are none."""
        if not self.similarities.nnz:
            what = "No point is similar to another: all of X is 0, or no two rows have a column in common."
            raise InputError(what, "Check the file or the filter that made it.")
        return self.similarities


def connect(
    X: Any,
    n_neighbors: int | None = None,
    *,
    metric: str = "euclidean",
    neighbors: Any = None,
    n_jobs: int | None = None,
) -> Neighbours:
    """Similarities of points to their nearest neighbours, and what is needed to find those of new points.

    Parameters and similarities are those of :func:`similarity_graph`, before normalisation.
    """
    check_option("metric", metric, ("euclidean", "cosine"))
    X = _points(X)
    check_points(X)
    n = X.shape[0]
    if n < 2:
        raise InputError("A similarity graph needs at least two points; X has one sample.", "Give more samples.")
    k = int(np.floor(np.log2(n))) + 1 if n_neighbors is None else n_neighbors
    check_at_least(1, n_neighbors=k)
    X = _unit_rows(X) if metric == "cosine" else X
    squared = nearest(X, min(max(k, SCALE_NEIGHBOUR), n - 1), neighbors, n_jobs)
    xp, rows = namespace(squared), stored_rows(squared)
    among_k = xp.arange(squared.nnz, dtype=rows.dtype, device=device(rows)) - squared.indptr[rows] < k
    left, right, apart = (part[among_k] for part in (rows, squared.indices, squared.data))
    scales = _scales(squared) if metric == "euclidean" else xp.ones(n, dtype=apart.dtype, device=device(apart))
    filled = squared_lengths(X) > 0  # an empty row is similar to no other by the cosine
    similarity = _similarity(apart, scales[left], scales[right], filled[left] & filled[right], metric)
    S = csr(similarity, left, right, (n, n))
    return Neighbours(S.maximum(S.T), X, scales, k, metric)


def similarities_to(near: Neighbours, X: Any) -> Array:
    """Similarities of new points to their nearest neighbours among the old ones, before normalisation.

    Parameters
    ----------
    near : Neighbours
    X : array or sparse array of shape (m, d)
        New points, of the library of the old ones.

    Returns
    -------
    CSR matrix of shape (m, n)
    """
    points, k = _points(near.points), near.n_neighbors
    n = points.shape[0]
    X, found, squared = nearest_known(near, X, min(max(k, SCALE_NEIGHBOUR), n))
    xp = namespace(squared)
    scales = xp.sqrt(squared[:, min(SCALE_NEIGHBOUR, squared.shape[1]) - 1])
    scales = xp.where(scales > 0, scales, xp.min(near.scales)) if near.metric == "euclidean" else xp.ones_like(scales)
    k = min(k, found.shape[1])
    left = xp.arange(X.shape[0] * k, dtype=found.dtype, device=device(found)) // k
    right, apart = (xp.reshape(part[:, :k], (-1,)) for part in (found, squared))
    filled, others = squared_lengths(X) > 0, squared_lengths(points) > 0
    similarity = _similarity(apart, scales[left], near.scales[right], filled[left] & others[right], near.metric)
    return csr(similarity, left, right, (X.shape[0], n))


def _similarity(squared: Array, left: Array, right: Array, filled: Array, metric: str) -> Array:
    """Similarities of pairs of points from their squared distances and the scales of both."""
    xp = namespace(squared)
    if metric == "cosine":
        return xp.clip((1 - squared / 2) * filled, 0, None)
    return xp.exp(-squared / (left * right))


def normalized(S: Array) -> Array:
    """``D^-1/2 S D^-1/2`` with D the sums of rows; rows without weight stay empty.

    Parameters
    ----------
    S : array or sparse array of shape (n, n)
        Symmetric, without negative entries.

    Returns
    -------
    csr_array of shape (n, n)
        In double precision.

    Examples
    --------
    >>> import numpy as np
    >>> normalized(sp.csr_array(np.array([[0.0, 2.0], [2.0, 0.0]]))).toarray()
    array([[0., 1.],
           [1., 0.]])
    """
    S = S if isinstance(S, DeviceCSR) else sp.csr_array(S, dtype=float)
    xp, rows = namespace(S), stored_rows(S)
    degree = S @ xp.ones(S.shape[0], dtype=S.dtype, device=device(S))
    scale = 1 / xp.sqrt(xp.where(degree > 0, degree, xp.ones_like(degree)))
    return csr(S.data * scale[rows] * scale[S.indices], rows, S.indices, S.shape)


def _points(X: Any) -> Array:
    """Points as the search takes them; those on a device stay there."""
    if is_chunked(X):
        raise InputError(
            "affinity='knn' searches neighbours on one machine, and X is a Dask array.",
            "Give X.compute(), or a graph with affinity='precomputed'.",
        )
    if is_native_sparse(X):
        return canonical_csr(X, X.dtype)
    if isinstance(X, DeviceCSR) or (array_api_compat.is_array_api_obj(X) and not is_host(X)):
        return X
    X = check_array(X, accept_sparse="csr", dtype=["float64", "float32"])
    return sp.csr_array(X) if sp.issparse(X) else X


def _unit_rows(X: Array) -> Array:
    """Rows of length 1; those of length 0 as they are."""
    xp, length = namespace(X), namespace(X).sqrt(squared_lengths(X))
    length = xp.where(length > 0, length, xp.ones_like(length))
    return with_entries(X, X.data / length[stored_rows(X)]) if is_sparse(X) else X / length[:, None]


def _scales(squared: Array) -> Array:
    """Distance of each point to its seventh neighbour, or to its last; something small where that is 0."""
    xp = namespace(squared)
    first, end = squared.indptr[:-1], squared.indptr[1:]
    none = xp.zeros(1, dtype=squared.dtype, device=device(squared))
    distances = xp.sqrt(xp.concat([none, squared.data]))  # the first is for points without neighbours
    scale = distances[xp.where(end > first, xp.minimum(first + SCALE_NEIGHBOUR, end), xp.zeros_like(end))]
    least = xp.min(xp.where(scale > 0, scale, xp.full_like(scale, xp.inf)))
    least = xp.where(least < xp.inf, least, xp.ones_like(least))
    return xp.where(scale > 0, scale, least)


def nearest(X: Array, k: int, transformer: Any, n_jobs: int | None) -> Array:
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
    if not is_host(X):
        return _in_tiles(X, k)
    if transformer is not None:
        return _transformed(X, transformer)
    numbers, distances = nearest_others(X, k, n_jobs)
    n = X.shape[0]
    return csr(distances.ravel() ** 2, np.repeat(np.arange(n), k), numbers.ravel(), (n, n))


def nearest_known(near: Neighbours, X: Any, k: int) -> tuple[Array, Array, Array]:
    """New points as the old ones are stored, and as :func:`_nearest_among` the ``k`` old ones nearest to each."""
    X = _unit_rows(_points(X)) if near.metric == "cosine" else _points(X)
    return X, *_nearest_among(_points(near.points), X, k)


def _nearest_among(points: Array, X: Array, k: int) -> tuple[Array, Array]:
    """Numbers of the ``k`` points that are nearest to each row of X, and squared distances, the nearest first."""
    if is_host(X):
        found, distances = nearest_among(points, X, k)
        return found, distances**2
    xp = namespace(X)
    squares, parts = squared_lengths(points), []
    step = max(1, min(TILE // points.shape[0], TILE // (k * X.shape[1])))
    for i in range(0, X.shape[0], step):
        tile = dense_rows(X, slice(i, min(i + step, X.shape[0])))
        distances = squared_lengths(tile)[:, None] + squares[None, :] - 2 * (points @ tile.T).T
        near, number = _smallest(distances, k), xp.arange(tile.shape[0], device=device(tile))[:, None]
        exact = xp.clip(distances[number, near], 0, None)
        if not is_sparse(points):
            exact = xp.sum((points[near] - tile[:, None, :]) ** 2, axis=2)
        order = xp.argsort(exact, axis=1, stable=True)
        parts.append((near[number, order], exact[number, order]))
    found, squared = (xp.concat(part) for part in zip(*parts, strict=True))
    return found, squared


def squared_lengths(X: Array) -> Array:
    """Squared Euclidean norm of each row."""
    xp = namespace(X)
    if is_sparse(X):
        return with_entries(X, X.data**2) @ xp.ones(X.shape[1], dtype=X.dtype, device=device(X))
    return xp.linalg.vecdot(X, X)


def _transformed(X: Any, transformer: Any) -> sp.csr_array:
    graph = sp.csr_array(transformer.fit_transform(X))
    graph.sort_indices()
    rows = stored_rows(graph)
    other = graph.indices != rows
    rows, columns, distances = rows[other], graph.indices[other], graph.data[other]
    order = np.lexsort((distances, rows))
    return csr(distances[order] ** 2, rows, columns[order], graph.shape)


def _in_tiles(X: Array, k: int) -> Array:
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
    columns, squared = (xp.reshape(xp.concat(part), (-1,)) for part in zip(*found, strict=True))
    numbers = xp.arange(n * k, dtype=columns.dtype, device=columns.device) // k
    return csr(squared, numbers, columns, (n, n))


def _smallest(distances: Array, k: int) -> Array:
    """Column numbers of the ``k`` least entries of each row, in any order."""
    if array_api_compat.is_torch_array(distances):
        return distances.topk(k, dim=1, largest=False, sorted=False).indices
    return namespace(distances).argpartition(distances, k - 1, axis=1)[:, :k]
