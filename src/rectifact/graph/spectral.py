"""Leading eigenvectors of a graph, and the non-negative start that they give.

References
----------
[1] A. Damle, V. Minden and L. Ying, "Simple, direct and efficient multi-way spectral clustering", Information and
Inference 8(1), 2019: the rotation by pivoted QR. [2] H. F. Kaiser, "The varimax criterion for analytic rotation in
factor analysis", Psychometrika 23(3), 1958. [3] Y. Zhou and Y. Saad, "A Chebyshev-Davidson algorithm for large
symmetric eigenproblems", SIAM J. Matrix Anal. Appl. 29(3), 2007: the scaled filter.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import LinearOperator, eigsh

from rectifact.core.arrays import Array, device, eps, namespace, normal_like, to_like
from rectifact.core.linalg import successive_projection
from rectifact.graph.components import Components
from rectifact.graph.similarities import Similarities

SMALL = 200
"""Nodes of a component, or of a graph, whose matrix is made dense."""

CHECKED_NODES, CHECK_TOL, SPARE = 50_000, 1e-4, 10
"""Most nodes with which eigenvalues that were missed are looked for, how precisely, and how many more are asked for."""

SPARE_COLUMNS, DEPTH = 8, 6
"""Columns of a block beyond those wanted: eigenvalues that repeat that often are all found. Blocks of a round."""

FILTERED_NODES, FILTERED_RANK = 20_000, 50
"""Nodes and eigenvectors from which on a filter is tried before Lanczos iteration."""

FILTER_DEGREE, FILTER_ROUNDS, FILTER_TOL = 8, 8, 1e-3
"""Degree of the filter, most rounds, and largest residual of an eigenvector relative to the largest eigenvalue."""

ROTATED_ROWS, ROTATIONS, ROTATION_TOL = 5000, 100, 1e-4
"""Rows from which the rotation to the axes is found, most steps, and the change of the rotation at which it ends."""


def leading_eigenvectors(X: Similarities, rank: int, *, seed: int = 0) -> tuple[Array, Array]:
    """Largest ``rank`` eigenvalues, descending, and their eigenvectors in columns.

    A graph at hand is taken component by component: Lanczos iteration tends to find one vector for an eigenvalue,
    however often it repeats, and a normalised graph has the eigenvalue 1 in each of its components. Within a component,
    as in very regular graphs, eigenvalues that repeat are looked for. Other graphs, see :func:`block_eigenvectors`.

    Parameters
    ----------
    X : Similarities
    rank : int
        Number of eigenvalues.
    seed : int, default 0
        Seed of the first vector.

    Returns
    -------
    values : array of shape (rank,)
    vectors : array of shape (n_nodes, rank)

    Examples
    --------
    >>> values, vectors = leading_eigenvectors(Similarities(np.diag([1.0, 3.0, 2.0])), 2)
    >>> values
    array([3., 2.])
    """
    graph = X.local
    if graph is None:
        return block_eigenvectors(X, rank, seed=seed)
    n_parts, part = connected_components(graph, directed=False)
    order = np.argsort(part, kind="stable")
    ends = np.searchsorted(part[order], np.arange(n_parts + 1))
    together = graph[order][:, order] if n_parts > 1 else graph
    rng = np.random.default_rng(seed)
    found: list[tuple[float, int, NDArray[Any]]] = []  # value, first node of the component, vector
    sums = np.maximum.reduceat(np.asarray(abs(together).sum(axis=1)).ravel(), ends[:-1])
    for i in np.argsort(-sums, kind="stable").tolist():  # eigenvalues are at most as large as row sums
        first, last = int(ends[i]), int(ends[i + 1])
        if len(found) == rank and sums[i] <= found[-1][0]:
            break
        component = together[first:last, first:last] if n_parts > 1 else graph
        values, vectors = _of_component(component, min(rank, last - first), rng)
        found += [(float(value), first, vector) for value, vector in zip(values, vectors.T, strict=True)]
        found = sorted(found, key=lambda item: -item[0])[:rank]
    dense = np.zeros((graph.shape[0], len(found)))
    for j, (_, first, vector) in enumerate(found):
        dense[order[first : first + len(vector)], j] = vector
    return np.array([value for value, _, _ in found]), dense


def _of_component(graph: Any, k: int, rng: np.random.Generator) -> tuple[NDArray[Any], NDArray[Any]]:
    """Largest ``k`` eigenvalues of a connected graph, descending, and their eigenvectors in columns."""
    n = graph.shape[0]
    if n <= max(SMALL, 2 * k):
        values, vectors = np.linalg.eigh(graph.toarray())
        return values[::-1][:k], vectors[:, ::-1][:, :k]
    if n >= FILTERED_NODES and k >= FILTERED_RANK:
        filtered = filtered_eigenvectors(Similarities(graph), k, rng)
        if filtered is not None:
            return filtered
    values, vectors = eigsh(graph, k=k, which="LA", v0=rng.standard_normal(n))
    if n <= CHECKED_NODES and _missed(graph, values, vectors, rng):
        values, vectors = eigsh(graph, k=k + SPARE, which="LA", v0=rng.standard_normal(n))
    order = np.argsort(-values, kind="stable")[:k]
    return values[order], vectors[:, order]


def _missed(graph: Any, values: NDArray[Any], vectors: NDArray[Any], rng: np.random.Generator) -> bool:
    """Whether an eigenvalue that repeats was missed: one beside those found is larger than the smallest of them.

    Asking for more eigenvalues from the start finds such ones too, but those beyond a graph's communities lie close
    together, and take twenty times as long as the wanted ones.
    """

    def beside(x: NDArray[Any]) -> NDArray[Any]:
        return graph @ x - vectors @ (values * (x @ vectors))

    rest = LinearOperator(graph.shape, matvec=beside, dtype=vectors.dtype)
    largest = eigsh(
        rest, k=1, which="LA", tol=CHECK_TOL, v0=rng.standard_normal(graph.shape[0]), return_eigenvectors=False
    )
    return bool(largest[0] > values.min() + CHECK_TOL * abs(values.max()))


def filtered_eigenvectors(
    X: Similarities, rank: int, rng: np.random.Generator
) -> tuple[NDArray[Any], NDArray[Any]] | None:
    """Largest ``rank`` eigenvalues, descending, and their eigenvectors, to a residual of 1e-3; None if that takes long.

    Each round multiplies a block by a Chebyshev polynomial of X, which is small on the unwanted part of the spectrum
    and grows fast above it [3]. Where a gap follows the wanted eigenvalues, as in a graph of communities, a few
    products with whole blocks replace hundreds with single vectors.

    Parameters
    ----------
    X : Similarities
        On the host.
    rank : int
        Number of eigenvalues.
    rng : Generator
        Draws the first block.

    Returns
    -------
    values : array of shape (rank,)
    vectors : array of shape (n_nodes, rank)
    """
    V = _orthonormal(rng.standard_normal((X.shape[0], rank + SPARE_COLUMNS)))
    XV = X @ V
    least = -_above_eigenvalues(X)
    for _ in range(FILTER_ROUNDS):
        values, best = _descending(V.T @ XV)
        V, XV = V @ best, XV @ best
        residuals = np.linalg.norm(XV[:, :rank] - V[:, :rank] * values[:rank], axis=0)
        if residuals.max() <= FILTER_TOL * abs(values[0]):
            return values[:rank], V[:, :rank]
        V = _orthonormal(_filtered(X, V, XV, (least, values[-1]), values[0]))
        XV = X @ V
    return None


def _above_eigenvalues(X: Similarities) -> float:
    """A number that no eigenvalue of a connected graph exceeds: the largest ratio of ``X v`` and v, for any v > 0."""
    v = X.degrees[:, None]
    for _ in range(10):  # v approaches the first eigenvector, for which all ratios are the same
        v = v / v.max()
        v = X @ v + v
    return float((X @ v / v).max())


def _filtered(
    X: Similarities, V: NDArray[Any], XV: NDArray[Any], unwanted: tuple[float, float], largest: float
) -> NDArray[Any]:
    """A Chebyshev polynomial of X times V: at most 1 on the ``unwanted`` interval, scaled to 1 at ``largest`` [3]."""
    centre, half = sum(unwanted) / 2, (unwanted[1] - unwanted[0]) / 2
    first = ratio = half / (largest - centre)
    before, now = V, (XV - centre * V) * (ratio / half)
    for _ in range(FILTER_DEGREE - 1):
        following = 1 / (2 / first - ratio)
        ahead = X @ now
        ahead -= centre * now
        ahead *= 2 * following / half
        ahead -= ratio * following * before
        before, now, ratio = now, ahead, following
    return now


def _orthonormal(V: NDArray[Any]) -> NDArray[Any]:
    """An orthonormal basis of the columns, from their Gram matrix; twice, for accuracy. Faster than QR for tall V."""
    for _ in range(2):
        values, vectors = np.linalg.eigh(V.T @ V)
        V = V @ (vectors / np.sqrt(np.maximum(values, 1e-14 * values[-1])))
    return V


def block_eigenvectors(
    X: Similarities, rank: int, *, seed: int = 0, nodes: NDArray[np.bool_] | None = None
) -> tuple[Array, Array]:
    """Largest ``rank`` eigenvalues, descending, and their eigenvectors in columns, from products with whole blocks.

    Block Krylov iteration: each round adds the products of X with the last block to the basis, and starts the next with
    the best vectors in it. A device is good at such blocks, and where each product is a computation there are few.

    Parameters
    ----------
    X : Similarities
    rank : int
        Number of eigenvalues.
    seed : int, default 0
        Seed of the first block.
    nodes : array of bool of shape (n_nodes,) or None, default None
        Nodes of whole components, to leave the others out.

    Returns
    -------
    values : array of shape (rank,)
    vectors : array of shape (n_nodes, rank)

    Examples
    --------
    >>> values, vectors = block_eigenvectors(Similarities(np.diag([1.0, 3.0, 2.0, 3.0])), 3)
    >>> values.round(6)
    array([3., 3., 2.])
    """
    n, width, like = X.shape[0], rank + SPARE_COLUMNS, X.like
    xp = namespace(like)
    inside = to_like(np.ones(n) if nodes is None else 1.0 * nodes, like)[:, None]
    if n <= max(SMALL, DEPTH * width):
        values, vectors = _descending(inside * (X @ to_like(np.eye(n), like)))
        return values[:rank], inside * vectors[:, :rank]
    basis, _ = xp.linalg.qr(inside * normal_like(np.random.default_rng(seed), (n, width), like))
    products = X @ basis
    for _ in range(30):  # as a rule the residuals are small enough before that
        for _ in range(DEPTH - 1):
            block = products[:, -width:]
            for _ in range(3):  # then it is orthogonal to rounding, also where little was left of it
                block, _ = xp.linalg.qr(block - basis @ (basis.T @ block))
            basis, products = xp.concat([basis, block], axis=1), xp.concat([products, X @ block], axis=1)
        values, best = _descending(basis.T @ products)
        basis, products = basis @ best[:, :width], products @ best[:, :width]
        residuals = xp.linalg.vector_norm(products[:, :rank] - basis[:, :rank] * values[:rank], axis=0)
        if float(xp.max(residuals) / xp.max(xp.abs(values))) <= eps(like) ** 0.5:
            break
    return values[:rank], basis[:, :rank]


def _descending(A: Array) -> tuple[Array, Array]:
    """Eigenvalues of a matrix that is symmetric but for rounding, the largest first, and the eigenvectors."""
    xp = namespace(A)
    values, vectors = xp.linalg.eigh((A + A.T) / 2)
    return xp.flip(values, axis=0), xp.flip(vectors, axis=1)


def spectral_start(X: Similarities, rank: int, parts: Components) -> tuple[Array, Array]:
    """A non-negative start from leading eigenvectors, and their eigenvalues.

    Components that are clustered get one eigenvector each, and the others go to the largest eigenvalues. The
    eigenvectors of a component are rotated to the axes, rectified, and scaled by the roots of the eigenvalues. Where
    only products with X are at hand, all components are rotated together.

    Parameters
    ----------
    X : Similarities
    rank : int
        Number of columns.
    parts : Components
        Nodes in components that are not clustered have rows of zeros.

    Returns
    -------
    U : array of shape (n_nodes, rank)
    values : array of shape (rank,)
        Eigenvalues.
    """
    if X.local is None:
        values, vectors = block_eigenvectors(X, rank, nodes=parts.clustered)
        inside = to_like(1.0 * parts.clustered, vectors)[:, None]
        return inside * _rectified(values, vectors), values
    rng, found = np.random.default_rng(0), []
    for i, most in enumerate(parts.most_clusters(rank)):
        nodes = np.flatnonzero(parts.of_node == i)
        graph = X.local if len(nodes) == X.shape[0] else X.local[nodes][:, nodes]
        found.append((nodes, *_of_component(graph, most, rng)))
    shares = list(parts.numbers or _shares([values for _, values, _ in found], rank))
    U, done = np.zeros((X.shape[0], rank)), 0
    for (nodes, values, vectors), share in zip(found, shares, strict=True):
        U[nodes, done : done + share] = _rectified(values[:share], vectors[:, :share])
        done += share
    return U, np.concatenate([values[:share] for (_, values, _), share in zip(found, shares, strict=True)])


def _shares(values: list[NDArray[Any]], rank: int) -> list[int]:
    """How many eigenvectors of each component are taken: the first, and then those of the largest eigenvalues."""
    rest = sorted(((-value, i) for i, found in enumerate(values) for value in found[1:]), key=lambda item: item[0])
    shares = [1] * len(values)
    for _, i in rest[: rank - len(values)]:
        shares[i] += 1
    return shares


def _rectified(values: Array, vectors: Array) -> Array:
    xp = namespace(vectors)
    rotated = vectors @ _rotation(vectors)
    U = xp.clip(rotated * xp.sign(xp.sum(rotated, axis=0)), 0, None)
    U = U * xp.mean(xp.sqrt(xp.clip(values, 0, None)))
    return U + 1e-8 * xp.max(U)


def _rotation(vectors: Array) -> Array:
    """Rotation that brings rows close to the axes: from pivoted QR [1], then varimax [2] on rows of unit length.

    Rows of unit length count alike; in the eigenvectors themselves nodes with many edges would decide.
    """
    xp, (n, rank) = namespace(vectors), vectors.shape
    left, _, right = xp.linalg.svd(vectors[successive_projection(vectors, rank)].T)
    Q = left @ right
    if n > ROTATED_ROWS:
        chosen = np.sort(np.random.default_rng(0).choice(n, ROTATED_ROWS, replace=False))
        vectors = vectors[xp.asarray(chosen, device=device(vectors))]
    length = xp.linalg.vector_norm(vectors, axis=1, keepdims=True)
    rows = vectors / xp.where(length > 0, length, xp.ones_like(length))
    for _ in range(ROTATIONS):
        turned = rows @ Q
        left, _, right = xp.linalg.svd(rows.T @ (turned**3 - turned * xp.mean(turned**2, axis=0)))
        before, Q = Q, left @ right
        if float(xp.max(xp.abs(Q - before))) <= ROTATION_TOL:
            break
    return Q


def random_start(X: Similarities, rank: int, rng: np.random.Generator, where: NDArray[np.bool_] | None = None) -> Array:
    """Uniform numbers, scaled so that ``U U'`` is as near to X as it can be; zeros except for the places ``where``.

    The scale matters: larger numbers make solvers that go column by column set whole columns to zero, for good.
    """
    U = rng.random((X.shape[0], rank))
    U = to_like(U if where is None else U * where, X.like)
    G = U.T @ U
    return U * float(((U * (X @ U)).sum() / (G * G).sum()) ** 0.5)


def eigenvalue_bound(X: Similarities, rank: int) -> float:
    """Least relative error of any ``U U'`` of this rank, non-negative or not (Eckart and Young).

    As far as the leading eigenvalues were all found, see :func:`leading_eigenvectors`.
    """
    values, _ = leading_eigenvectors(X, rank)
    return float(1 - (namespace(values).clip(values, 0, None) ** 2).sum() / X.squared)
