"""From points, edges and networks to the symmetric sparse matrix that is factorised.

References
----------
[1] D. Kuang, S. Yun and H. Park, "SymNMF: nonnegative low-rank approximation of a similarity matrix for graph
clustering", J. Global Optimization 62(3), 2015, section 7.1. [2] L. Zelnik-Manor and P. Perona, "Self-tuning spectral
clustering", NIPS 2004.
"""

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import normalize

from rectifact.core.arrays import is_host
from rectifact.core.errors import InputError
from rectifact.core.sparse import DeviceCSR, canonical_csr, is_native_sparse, native
from rectifact.core.validation import check_at_least, check_option
from rectifact.graph.device import device_graph

__all__ = ["normalized", "similarity_graph", "small_indices"]

SCALE_NEIGHBOR = 7
"""The neighbour whose distance is the scale of a point [2]."""


def similarity_graph(
    X: Any,
    n_neighbors: int | None = None,
    *,
    metric: str = "euclidean",
    neighbors: Any = None,
    n_jobs: int | None = None,
) -> sp.csr_array:
    r"""Sparse similarities of points to their nearest neighbours, symmetric and normalised.

    :math:`s_{ij} = \exp(-d_{ij}^2 / (\sigma_i \sigma_j))` where j is among the neighbours of i or i among those of j,
    with the distance to the seventh neighbour as the scale :math:`\sigma_i` [2]; ``metric="cosine"`` takes the cosine
    itself. The result is :math:`D^{-1/2} S D^{-1/2}` [1].

    Parameters
    ----------
    X : array or sparse array of shape (n_samples, n_features), on the host or on a device
    n_neighbors : number of neighbours; None is ``floor(log2(n_samples)) + 1``
    metric : ``"euclidean"``, or ``"cosine"`` for text
    neighbors : transformer that makes a sparse graph of distances to neighbours, such as scikit-learn's
        KNeighborsTransformer or pynndescent's PyNNDescentTransformer, instead of exact search; on the host
    n_jobs : of exact search on the host

    Returns
    -------
    csr_array of shape (n_samples, n_samples), with an empty diagonal; for points on a device, a CSR matrix of their
    library there

    Examples
    --------
    >>> import numpy as np
    >>> graph = similarity_graph(np.array([[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]]), 2)
    >>> bool(abs(graph - graph.T).max() < 1e-15), float(graph[0, 4])
    (True, 0.0)
    """
    check_option("metric", metric, ("euclidean", "cosine"))
    n = X.shape[0]
    if n < 2:
        raise InputError(f"A graph needs at least two points; X has {n} sample(s).")
    k = int(np.floor(np.log2(n))) + 1 if n_neighbors is None else n_neighbors
    check_at_least(1, n_neighbors=k)
    if isinstance(X, DeviceCSR) or not (is_host(X) or isinstance(X, list)):
        return _on_device(X, k, metric, neighbors)
    X = normalize(X) if metric == "cosine" else X
    distances = _distances(X, min(max(k, SCALE_NEIGHBOR), n - 1), neighbors, n_jobs)
    scales = _scales(distances)
    nearest = _nearest(distances, k)
    row = np.repeat(np.arange(n), np.diff(nearest.indptr))
    if metric == "cosine":
        length = np.asarray(abs(X).sum(axis=1)).ravel()  # 0 where a row is empty, which is like no other
        similarity = np.where(length[row] * length[nearest.indices] > 0, 1 - nearest.data**2 / 2, 0)
    else:
        similarity = np.exp(-(nearest.data**2) / (scales[row] * scales[nearest.indices]))
    S = sp.csr_array((np.maximum(similarity, 0), nearest.indices, nearest.indptr), shape=(n, n))
    S = sp.csr_array(S.maximum(S.T))
    S.eliminate_zeros()
    return normalized(S)


def _on_device(X: Any, k: int, metric: str, neighbors: Any) -> Any:
    if neighbors is not None:
        raise InputError("neighbors is for points on the host. Leave it out, or give a numpy array.")
    return native(device_graph(canonical_csr(X, X.dtype) if is_native_sparse(X) else X, k, SCALE_NEIGHBOR, metric))


def _distances(X: Any, k: int, neighbors: Any, n_jobs: int | None) -> sp.csr_array:
    """Distances to ``k`` neighbours in rows, nearest first, the point itself left out; zeros are stored."""
    if neighbors is not None:
        graph = sp.csr_array(neighbors.fit_transform(X))
        graph.sort_indices()
        rows = [_without_self(graph, i, k) for i in range(graph.shape[0])]
        indices, data = (np.concatenate(part) for part in zip(*rows, strict=True))
        indptr = np.cumsum([0, *(len(row[0]) for row in rows)])
        return sp.csr_array((data, indices, indptr), shape=graph.shape)
    distance, index = NearestNeighbors(n_neighbors=k, n_jobs=n_jobs).fit(X).kneighbors()
    n = X.shape[0]
    return sp.csr_array((distance.ravel(), index.ravel(), np.arange(0, n * k + 1, k)), shape=(n, n))


def _without_self(graph: sp.csr_array, i: int, k: int) -> tuple[NDArray[Any], NDArray[Any]]:
    stored = slice(graph.indptr[i], graph.indptr[i + 1])
    index, distance = graph.indices[stored], graph.data[stored]
    index, distance = index[index != i], distance[index != i]
    order = np.argsort(distance, kind="stable")[:k]
    return index[order], distance[order]


def _scales(distances: sp.csr_array) -> NDArray[np.float64]:
    """Distance of each point to its seventh neighbour, or to the last that is there; of duplicates, something small."""
    first, end = distances.indptr[:-1], distances.indptr[1:]
    scale = np.zeros(distances.shape[0])
    some = end > first
    scale[some] = distances.data[np.minimum(first + SCALE_NEIGHBOR, end)[some] - 1]
    positive = scale[scale > 0]
    return np.where(scale > 0, scale, positive.min() if positive.size else 1.0)


def _nearest(distances: sp.csr_array, k: int) -> sp.csr_array:
    """The first ``k`` entries of each row."""
    place = np.arange(distances.nnz) - np.repeat(distances.indptr[:-1], np.diff(distances.indptr))
    kept = place < k
    counts = np.minimum(np.diff(distances.indptr), k)
    return sp.csr_array(
        (distances.data[kept], distances.indices[kept], np.r_[0, np.cumsum(counts)]), shape=distances.shape
    )


def normalized(S: sp.csr_array) -> sp.csr_array:
    """``D^-1/2 S D^-1/2`` with D the sums of rows; rows without weight stay empty.

    Examples
    --------
    >>> import numpy as np
    >>> normalized(sp.csr_array(np.array([[0.0, 2.0], [2.0, 0.0]]))).toarray()
    array([[0., 1.],
           [1., 0.]])
    """
    degree = np.asarray(S.sum(axis=1), dtype=float).ravel()
    scale = 1 / np.sqrt(np.where(degree > 0, degree, 1))
    S = sp.csr_array(S)
    data = S.data * np.repeat(scale, np.diff(S.indptr)) * scale[S.indices]
    return small_indices(sp.csr_array((data, S.indices, S.indptr), shape=S.shape))


def small_indices(S: sp.csr_array) -> sp.csr_array:
    """The same matrix with indices of 32 bits where they suffice, which scikit-learn asks for."""
    if S.nnz >= 2**31:
        return S
    return sp.csr_array((S.data, S.indices.astype(np.int32), S.indptr.astype(np.int32)), shape=S.shape)
