"""Leading eigenvectors of a graph, component by component, and the non-negative start that they give.

References
----------
[1] A. Damle, V. Minden and L. Ying, "Simple, direct and efficient multi-way spectral clustering", Information and
Inference 8(1), 2019: the rotation by pivoted QR.
"""

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.linalg import qr
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import eigsh

from rectifact.core.arrays import Array, is_host, namespace, to_like
from rectifact.graph.device import device_eigenvectors, pivots
from rectifact.graph.lazy import LazySimilarities, block_eigenvectors

__all__ = ["eigenvalue_bound", "leading_eigenvectors", "random_start", "spectral_start"]

SMALL = 200
"""Nodes of a component whose matrix is made dense."""

SPARE, SPARE_NODES = 10, 50_000
"""Eigenvalues asked for beyond those wanted, up to this many nodes: some that repeat may be missed at the end."""


def leading_eigenvectors(X: Array, rank: int, *, seed: int = 0) -> tuple[Array, Array]:
    """Largest ``rank`` eigenvalues, descending, and their eigenvectors in columns.

    Each connected component is taken by itself. Lanczos iteration tends to find one vector for an eigenvalue, however
    often it repeats, and a normalised graph has the eigenvalue 1 in each of its components. Eigenvalues that repeat
    within a component, as in very regular graphs, may still be missed.

    On a device, see :func:`rectifact.graph.device.device_eigenvectors`.

    Examples
    --------
    >>> import numpy as np
    >>> values, vectors = leading_eigenvectors(sp.csr_array(np.diag([1.0, 3.0, 2.0])), 2)
    >>> values
    array([3., 2.])
    """
    if isinstance(X, LazySimilarities):
        return block_eigenvectors(X, rank, seed=seed)
    if not is_host(X):
        return device_eigenvectors(X, rank, seed=seed)
    n_parts, part = connected_components(X, directed=False)
    order = np.argsort(part, kind="stable")
    ends = np.searchsorted(part[order], np.arange(n_parts + 1))
    together = sp.csr_array(X[order][:, order]) if n_parts > 1 else X
    rng = np.random.default_rng(seed)
    found: list[tuple[float, int, NDArray[Any]]] = []  # value, first node of the component, vector
    sums = np.maximum.reduceat(np.asarray(abs(together).sum(axis=1)).ravel(), ends[:-1])
    for i in np.argsort(-sums, kind="stable").tolist():  # eigenvalues are no larger than row sums
        first, last = int(ends[i]), int(ends[i + 1])
        if len(found) == rank and sums[i] <= found[-1][0]:
            break
        block = together[first:last, first:last] if n_parts > 1 else X
        for value, vector in zip(*_component(block, min(rank, last - first), rng), strict=True):
            found.append((float(value), first, vector))
        found = sorted(found, key=lambda item: -item[0])[:rank]
    dense = np.zeros((X.shape[0], len(found)))
    for j, (_, first, vector) in enumerate(found):
        dense[order[first : first + len(vector)], j] = vector
    return np.array([value for value, _, _ in found]), dense


def _component(block: sp.csr_array, k: int, rng: np.random.Generator) -> tuple[NDArray[Any], NDArray[Any]]:
    """Largest ``k`` eigenvalues of a connected graph, and their eigenvectors in rows."""
    n = block.shape[0]
    if n <= max(SMALL, 2 * k):
        values, vectors = np.linalg.eigh(block.toarray())
    else:
        more = SPARE if n <= SPARE_NODES else 0
        values, vectors = eigsh(block, k=k + more, which="LA", v0=rng.standard_normal(n))
    return values[-k:], vectors[:, -k:].T


def spectral_start(X: Array, rank: int, *, seed: int = 0) -> Array:
    """Eigenvectors scaled by the roots of their eigenvalues, rotated to the axes by pivoted QR [1], and rectified."""
    values, vectors = leading_eigenvectors(X, rank, seed=seed)
    xp = namespace(vectors)
    chosen = qr(vectors.T, pivoting=True)[2][:rank] if is_host(vectors) else pivots(vectors)
    left, _, right = xp.linalg.svd(vectors[chosen].T)
    signed = vectors @ (left @ right)
    U = xp.clip(signed * xp.sign(xp.sum(signed, axis=0)), 0, None)
    U = U * xp.mean(xp.sqrt(xp.clip(values, 0, None)))
    return U + 1e-8 * xp.max(U)


def random_start(X: Array, rank: int, rng: np.random.Generator) -> Array:
    """Uniform numbers, scaled such that ``U U'`` is as near to X as it can be.

    The scale matters: larger numbers make solvers that go column by column set whole columns to zero, for good.
    """
    U = rng.random((X.shape[0], rank))
    U = U if is_host(X) or isinstance(X, LazySimilarities) else to_like(U, X)
    G = U.T @ U
    return U * float(((U * (X @ U)).sum() / (G * G).sum()) ** 0.5)


def eigenvalue_bound(X: Array, rank: int, squared: float) -> float:
    """Least relative error of any ``U U'`` of this rank, non-negative or not (Eckart and Young).

    As far as the leading eigenvalues were all found, see :func:`leading_eigenvectors`.
    """
    values, _ = leading_eigenvectors(X, rank)
    return float(1 - (namespace(values).clip(values, 0, None) ** 2).sum() / squared)
