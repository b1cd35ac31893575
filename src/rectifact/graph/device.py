"""Graphs on a device: similarities checked, made from points, and their leading eigenvectors, all by products there.

What scipy does on the host by Lanczos iteration and trees is done in blocks here, since a device is good at large
products and bad at decisions.
"""

import array_api_compat
import numpy as np

from rectifact.core.arrays import Array, eps, namespace, normal_like, to_like
from rectifact.core.errors import InputError
from rectifact.core.sparse import DeviceCSR, dense_rows, with_entries

__all__ = ["device_eigenvectors", "device_graph", "device_symmetric", "pivots"]

SMALL = 200
"""Nodes of a graph whose matrix is made dense for its eigenvectors."""

SPARE = 8
"""Columns of a block beyond those wanted: eigenvalues that repeat as often as a block is wide are all found."""

TILE = 1 << 24
"""Distances that are held at once."""


def device_symmetric(X: Array) -> Array:
    """A symmetric matrix without stored zeros; one that is symmetric but for rounding becomes so."""
    if X.shape[0] != X.shape[1]:
        raise InputError(f"affinity='precomputed' needs a square matrix of similarities; got shape {tuple(X.shape)}.")
    xp = namespace(X)
    S = _without_zeros(X) if isinstance(X, DeviceCSR) else X
    values = S.data if isinstance(S, DeviceCSR) else S
    largest = float(xp.max(values)) if values.shape[0] else 0.0
    if largest == 0:
        raise InputError("X has no edges: there is nothing to cluster. Check the file or the filter.")
    other = S.T
    alike = not isinstance(S, DeviceCSR) or bool(
        xp.all(S.indptr == other.indptr) and xp.all(S.indices == other.indices)
    )
    turned = other.data if isinstance(S, DeviceCSR) else other
    apart = float(xp.max(xp.abs(values - turned))) if alike else np.inf
    if apart > max(1e-10, 10 * eps(X)) * largest:
        raise InputError("X is not symmetric. Give X + X.T, or affinity='knn' if X holds points.")
    values = (values + turned) / 2 if apart else values
    if not isinstance(S, DeviceCSR):
        return values
    return DeviceCSR(values, S.indices, S.indptr, S.shape, symmetric=True)


def _without_zeros(X: DeviceCSR) -> DeviceCSR:
    xp = namespace(X)
    kept = X.data != 0
    if bool(xp.all(kept)):
        return X
    return _from_coordinates(X.rows()[kept], X.indices[kept], X.data[kept], X.shape)


def _from_coordinates(rows: Array, columns: Array, values: Array, shape: tuple[int, int]) -> DeviceCSR:
    """CSR matrix of coordinates that are sorted by row and then by column, without repetition."""
    xp = namespace(values)
    ends = xp.arange(shape[0] + 1, dtype=rows.dtype, device=values.device)
    indptr = xp.searchsorted(rows, ends)
    index = xp.int32 if values.shape[0] < 2**31 else xp.int64
    return DeviceCSR(values, xp.astype(columns, index), xp.astype(indptr, index), shape)


def device_eigenvectors(
    X: Array, rank: int, *, seed: int = 0, n_blocks: int = 6, max_rounds: int = 30
) -> tuple[Array, Array]:
    """Largest ``rank`` eigenvalues of a symmetric matrix, descending, and their eigenvectors in columns.

    Block Krylov iteration, restarted with the best vectors. A block is wider than ``rank``, so that eigenvalues which
    repeat, as 1 does in every component of a normalised graph, are found as often as they are asked for.

    Parameters
    ----------
    X : symmetric array or sparse array of shape (n, n) on a device
    rank : how many
    seed : of the first block
    n_blocks : products of a round
    max_rounds : most rounds; the vectors are accurate to the square root of the precision before that, as a rule
    """
    n, width = X.shape[0], rank + SPARE
    xp = namespace(X)
    if n <= max(SMALL, width * n_blocks):
        values, vectors = xp.linalg.eigh(dense_rows(X, slice(0, n)))
        return xp.flip(values[-rank:], axis=0), xp.flip(vectors[:, -rank:], axis=1)
    V, _ = xp.linalg.qr(normal_like(np.random.default_rng(seed), (n, width), X))
    for _ in range(max_rounds):
        Q, XQ = _krylov(X, V, n_blocks)
        T = Q.T @ XQ
        values, vectors = xp.linalg.eigh((T + T.T) / 2)
        values, vectors = xp.flip(values[-width:], axis=0), xp.flip(vectors[:, -width:], axis=1)
        V = Q @ vectors
        rest = XQ @ vectors[:, :rank] - V[:, :rank] * values[:rank]
        if float(xp.max(xp.linalg.vector_norm(rest, axis=0)) / xp.max(xp.abs(values))) < eps(X) ** 0.5:
            break
    return values[:rank], V[:, :rank]


def _krylov(X: Array, V: Array, n_blocks: int) -> tuple[Array, Array]:
    """Orthonormal basis of the columns of V, X V, X^2 V and so on, and X times it."""
    xp = namespace(V)
    blocks, products = [V], [X @ V]
    for _ in range(n_blocks - 1):
        W, basis = products[-1], xp.concat(blocks, axis=1)
        for _ in range(2):  # the second time it is orthogonal to rounding, also where little was left of it
            W, _ = xp.linalg.qr(W - basis @ (basis.T @ W))
        W = W - basis @ (basis.T @ W)
        blocks.append(xp.linalg.qr(W)[0])
        products.append(X @ blocks[-1])
    return xp.concat(blocks, axis=1), xp.concat(products, axis=1)


def pivots(vectors: Array) -> Array:
    """Numbers of the rows that QR with pivoting takes first: the longest, then the longest of what is left, and so on.

    As many as there are columns. Nothing waits for the device.
    """
    xp, rest, chosen = namespace(vectors), vectors, []
    for _ in range(vectors.shape[1]):
        place = xp.reshape(xp.argmax(xp.sum(rest**2, axis=1)), (1,))
        row = xp.take(rest, place, axis=0)
        length = xp.linalg.vector_norm(row)
        direction = row / xp.where(length > 0, length, xp.ones_like(length))
        rest = rest - (rest @ direction.T) @ direction
        chosen.append(place)
    return xp.concat(chosen)


def device_graph(X: Array, k: int, scale_neighbor: int, metric: str) -> DeviceCSR:
    """Similarities of points to ``k`` neighbours, as :func:`rectifact.graph.similarity_graph` defines them.

    All distances are compared, tile by tile. Between dense points those that count are computed anew from
    differences; between sparse ones they come from inner products, and are less accurate for near duplicates.
    """
    xp, n = namespace(X), X.shape[0]
    if metric == "cosine":
        X = _unit_rows(X)
    near, squared = _neighbours(X, min(max(k, scale_neighbor), n - 1))
    k = min(k, near.shape[1])
    own = xp.arange(n, dtype=near.dtype, device=near.device)[:, None] + xp.zeros_like(near[:, :k])
    left, right, squared_k = (xp.reshape(part, (-1,)) for part in (own, near[:, :k], squared[:, :k]))
    if metric == "cosine":
        length = _squared_rows(X)  # 0 where a row is empty, which is like no other
        seen = length[left] * length[right] > 0
        similarity = xp.where(seen, 1 - squared_k / 2, xp.zeros_like(squared_k))
    else:
        scale = xp.sqrt(squared[:, min(scale_neighbor, near.shape[1]) - 1])
        largest = xp.max(scale)
        least = xp.min(xp.where(scale > 0, scale, xp.where(largest > 0, largest, xp.ones_like(largest))))
        scale = xp.where(scale > 0, scale, least)  # duplicates have something small
        similarity = xp.exp(-squared_k / (scale[left] * scale[right]))
    return _normalized(_symmetric_pairs(left, right, similarity, n))


def _unit_rows(X: Array) -> Array:
    xp = namespace(X)
    length = xp.sqrt(_squared_rows(X))
    length = xp.where(length > 0, length, xp.ones_like(length))
    return with_entries(X, X.data / length[X.rows()]) if isinstance(X, DeviceCSR) else X / length[:, None]


def _squared_rows(X: Array) -> Array:
    xp = namespace(X)
    if isinstance(X, DeviceCSR):
        return with_entries(X, X.data**2) @ xp.ones(X.shape[1], dtype=X.dtype, device=X.device)
    return xp.sum(X * X, axis=1)


def _neighbours(X: Array, k: int) -> tuple[Array, Array]:
    """Numbers (n, k) of the nearest other points, nearest first, and their squared distances."""
    xp, (n, d) = namespace(X), X.shape
    squares = _squared_rows(X)
    step = max(1, min(TILE // n, TILE // (k * d)))
    found = []
    for i in range(0, n, step):
        rows = slice(i, min(i + step, n))
        tile = dense_rows(X, rows)
        distances = squares[rows][:, None] + squares[None, :] - 2 * (X @ tile.T).T
        number = xp.arange(rows.stop - rows.start, device=squares.device)
        distances[number, number + rows.start] = float("inf")
        near, number = _smallest(distances, k), number[:, None]
        if isinstance(X, DeviceCSR):
            exact = xp.clip(distances[number, near], 0, None)
        else:  # inner products lose what two near points have in common
            exact = xp.sum((X[near] - tile[:, None, :]) ** 2, axis=2)
        order = xp.argsort(exact, axis=1, stable=True)
        found.append((near[number, order], exact[number, order]))
    near, exact = (xp.concat(part) for part in zip(*found, strict=True))
    return near, exact


def _smallest(distances: Array, k: int) -> Array:
    """Column numbers of the ``k`` least entries of each row, in any order."""
    if array_api_compat.is_torch_array(distances):
        return distances.topk(k, dim=1, largest=False, sorted=False).indices
    return namespace(distances).argpartition(distances, k - 1, axis=1)[:, :k]


def _symmetric_pairs(left: Array, right: Array, similarity: Array, n: int) -> DeviceCSR:
    """Matrix with the larger of the two similarities of each pair, which differ by rounding at most; zeros left out."""
    xp = namespace(similarity)
    low, high = xp.minimum(left, right), xp.maximum(left, right)
    order = xp.argsort(-similarity, stable=True)
    keys = xp.astype(low, xp.int64)[order] * n + xp.astype(high, xp.int64)[order]
    by_key = xp.argsort(keys, stable=True)
    keys, values = keys[by_key], similarity[order][by_key]
    first = xp.concat([xp.ones_like(keys[:1]) > 0, keys[1:] != keys[:-1]]) & (values > 0)
    keys, values = keys[first], values[first]
    low, high = keys // n, keys % n
    rows, columns = xp.concat([low, high]), xp.concat([high, low])
    order = xp.argsort(rows * n + columns)
    made = _from_coordinates(rows[order], columns[order], xp.concat([values, values])[order], (n, n))
    return DeviceCSR(made.data, made.indices, made.indptr, made.shape, symmetric=True)


def _normalized(S: DeviceCSR) -> DeviceCSR:
    xp = namespace(S)
    degree = S @ to_like(np.ones(S.shape[0]), S)
    scale = 1 / xp.sqrt(xp.where(degree > 0, degree, xp.ones_like(degree)))
    return DeviceCSR(S.data * (scale[S.rows()] * scale[S.indices]), S.indices, S.indptr, S.shape, symmetric=True)
