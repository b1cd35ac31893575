"""Leading eigenvectors of a graph, and the non-negative start that they give.

References
----------
[1] A. Damle, V. Minden and L. Ying, "Simple, direct and efficient multi-way spectral clustering", Information and
Inference 8(1), 2019: the rotation by pivoted QR.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import eigsh

from rectifact.core.arrays import Array, eps, namespace, normal_like, to_like
from rectifact.core.linalg import successive_projection
from rectifact.graph.similarities import Similarities

SMALL = 200
"""Nodes of a component, or of a graph, whose matrix is made dense."""

SPARE, SPARE_NODES = 10, 50_000
"""Eigenvalues asked for beyond those wanted, up to this many nodes: some that repeat may be missed at the end."""

SPARE_COLUMNS, DEPTH = 8, 6
"""Columns of a block beyond those wanted: eigenvalues that repeat that often are all found. Blocks of a round."""


def leading_eigenvectors(X: Similarities, rank: int, *, seed: int = 0) -> tuple[Array, Array]:
    """Largest ``rank`` eigenvalues, descending, and their eigenvectors in columns.

    A graph at hand is taken component by component: Lanczos iteration tends to find one vector for an eigenvalue,
    however often it repeats, and a normalised graph has the eigenvalue 1 in each of its components. Eigenvalues that
    repeat within a component, as in very regular graphs, may still be missed. Other graphs, see
    :func:`block_eigenvectors`.

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
        for value, vector in zip(*_of_component(component, min(rank, last - first), rng), strict=True):
            found.append((float(value), first, vector))
        found = sorted(found, key=lambda item: -item[0])[:rank]
    dense = np.zeros((graph.shape[0], len(found)))
    for j, (_, first, vector) in enumerate(found):
        dense[order[first : first + len(vector)], j] = vector
    return np.array([value for value, _, _ in found]), dense


def _of_component(graph: Any, k: int, rng: np.random.Generator) -> tuple[NDArray[Any], NDArray[Any]]:
    """Largest ``k`` eigenvalues of a connected graph, and their eigenvectors in rows."""
    n = graph.shape[0]
    if n <= max(SMALL, 2 * k):
        values, vectors = np.linalg.eigh(graph.toarray())
    else:
        more = SPARE if n <= SPARE_NODES else 0
        values, vectors = eigsh(graph, k=k + more, which="LA", v0=rng.standard_normal(n))
    return values[-k:], vectors[:, -k:].T


def block_eigenvectors(X: Similarities, rank: int, *, seed: int = 0) -> tuple[Array, Array]:
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
    if n <= max(SMALL, DEPTH * width):
        values, vectors = _descending(X @ to_like(np.eye(n), like))
        return values[:rank], vectors[:, :rank]
    basis, _ = xp.linalg.qr(normal_like(np.random.default_rng(seed), (n, width), like))
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


def spectral_start(X: Similarities, rank: int) -> Array:
    """Eigenvectors scaled by the roots of their eigenvalues, rotated to the axes by pivoted QR [1], and rectified."""
    values, vectors = leading_eigenvectors(X, rank)
    xp = namespace(vectors)
    left, _, right = xp.linalg.svd(vectors[successive_projection(vectors, rank)].T)
    signed = vectors @ (left @ right)
    U = xp.clip(signed * xp.sign(xp.sum(signed, axis=0)), 0, None)
    U = U * xp.mean(xp.sqrt(xp.clip(values, 0, None)))
    return U + 1e-8 * xp.max(U)


def random_start(X: Similarities, rank: int, rng: np.random.Generator) -> Array:
    """Uniform numbers, scaled so that ``U U'`` is as near to X as it can be.

    The scale matters: larger numbers make solvers that go column by column set whole columns to zero, for good.
    """
    U = to_like(rng.random((X.shape[0], rank)), X.like)
    G = U.T @ U
    return U * float(((U * (X @ U)).sum() / (G * G).sum()) ** 0.5)


def eigenvalue_bound(X: Similarities, rank: int) -> float:
    """Least relative error of any ``U U'`` of this rank, non-negative or not (Eckart and Young).

    As far as the leading eigenvalues were all found, see :func:`leading_eigenvectors`.
    """
    values, _ = leading_eigenvectors(X, rank)
    return float(1 - (namespace(values).clip(values, 0, None) ** 2).sum() / X.squared)
