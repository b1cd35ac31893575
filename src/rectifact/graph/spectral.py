"""Leading eigenvectors of a graph, also where eigenvalues repeat, and the non-negative start that they give.

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

__all__ = ["eigenvalue_bound", "leading_eigenvectors", "random_start", "spectral_start"]

SMALL = 200
"""Nodes of a component whose matrix is made dense."""


def leading_eigenvectors(X: sp.csr_array, rank: int, *, seed: int = 0) -> tuple[NDArray[Any], NDArray[Any]]:
    """Largest ``rank`` eigenvalues, descending, and their eigenvectors in columns.

    Each connected component is taken by itself. Lanczos iteration finds one vector for an eigenvalue, however often it
    repeats, and a normalised graph has the eigenvalue 1 in each of its components.

    Examples
    --------
    >>> import numpy as np
    >>> values, vectors = leading_eigenvectors(sp.csr_array(np.diag([1.0, 3.0, 2.0])), 2)
    >>> values
    array([3., 2.])
    """
    n_parts, part = connected_components(X, directed=False)
    values, columns = [], []
    rng = np.random.default_rng(seed)
    for i in range(n_parts):
        nodes = np.flatnonzero(part == i) if n_parts > 1 else np.arange(X.shape[0])
        block = sp.csr_array(X[nodes][:, nodes]) if n_parts > 1 else X
        k = min(rank, len(nodes))
        if len(nodes) <= max(SMALL, 2 * k):
            found, vectors = np.linalg.eigh(block.toarray())
            found, vectors = found[-k:], vectors[:, -k:]
        else:
            found, vectors = eigsh(block, k=k, which="LA", v0=rng.standard_normal(len(nodes)))
        values.append(found)
        columns.append(sp.coo_array((vectors.ravel(), (np.repeat(nodes, k), np.tile(np.arange(k), len(nodes))))))
    order = np.argsort(-np.concatenate(values), kind="stable")[:rank]
    owner = np.repeat(np.arange(n_parts), [len(v) for v in values])
    place = np.concatenate([np.arange(len(v)) for v in values])
    dense = np.zeros((X.shape[0], len(order)))
    for j, one in enumerate(order):
        column = columns[owner[one]]
        mine = column.col == place[one]
        dense[column.row[mine], j] = column.data[mine]
    return np.concatenate(values)[order], dense


def spectral_start(X: sp.csr_array, rank: int, *, seed: int = 0) -> NDArray[Any]:
    """Eigenvectors scaled by the roots of their eigenvalues, rotated to the axes by pivoted QR [1], and rectified."""
    values, vectors = leading_eigenvectors(X, rank, seed=seed)
    _, _, pivots = qr(vectors.T, pivoting=True)
    left, _, right = np.linalg.svd(vectors[pivots[:rank]].T)
    signed = vectors @ (left @ right)
    U = np.maximum(signed * np.sign(signed.sum(axis=0)), 0)
    return U * np.sqrt(np.maximum(values, 0)).mean() + 1e-8


def random_start(squared: float, n: int, rank: int, rng: np.random.Generator) -> NDArray[Any]:
    """Uniform numbers, scaled such that ``U U'`` is as large as X, whose squared norm is given."""
    U = rng.random((n, rank))
    return U * (squared**0.5 / np.linalg.norm(U.T @ U)) ** 0.5


def eigenvalue_bound(X: sp.csr_array, rank: int, squared: float) -> float:
    """Least relative error of any ``U U'`` of this rank, non-negative or not (Eckart and Young)."""
    values, _ = leading_eigenvectors(X, rank)
    return float(1 - (np.maximum(values, 0) ** 2).sum() / squared)
