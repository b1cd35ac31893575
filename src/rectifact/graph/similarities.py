"""The matrix that SymNMF factorises: given and checked here, or from ``knn``; then used through its products."""

from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from rectifact.core.arrays import Array, device, eps, is_host, namespace
from rectifact.core.device_csr import canonical_csr, is_native_sparse
from rectifact.core.errors import InputError
from rectifact.core.linalg import squared_norm
from rectifact.core.operand import Operand, is_chunked, operand
from rectifact.core.sparse import entries, is_sparse, stored_rows, with_entries
from rectifact.graph.scaling import check_magnitude
from rectifact.kernels import sparse_times


class Similarities:
    """A symmetric matrix on the host, on a device, or in chunks of Dask, seen through its products.

    ``X @ U`` is there when it returns, in the library of U: tall arrays are where the matrix is, or on this machine
    where the matrix is in chunks. Chunks stay in memory where they fit.

    Parameters
    ----------
    matrix : array of shape (n_nodes, n_nodes)
        Symmetric; dense or sparse, of numpy, scipy, torch, cupy or Dask.

    Examples
    --------
    >>> X = Similarities(sp.csr_array(np.diag([1.0, 2.0])))
    >>> X @ np.ones((2, 1))
    array([[1.],
           [2.]])
    >>> X.squared
    5.0
    """

    def __init__(self, matrix: Array) -> None:
        self.operand = operand(canonical_csr(matrix, matrix.dtype) if is_native_sparse(matrix) else matrix)
        self.kept = self.operand.kept()
        self.shape = self.operand.shape

    def __matmul__(self, U: Array) -> Array:
        X = self.kept
        return X.gather(X.map_rows(sparse_times, U, columns=U.shape[1], dtype=U.dtype))

    @property
    def local(self) -> sp.csr_array | None:
        """The matrix where it is sparse and in the memory of this machine; None where only products are cheap."""
        return self.operand.data if sp.issparse(self.operand.data) else None

    @cached_property
    def like(self) -> Array:
        """An empty array of the kind that U is: in double precision on the host, else in that of the matrix."""
        like = self.operand.like
        return np.empty(0) if is_host(like) else like

    @cached_property
    def degrees(self) -> Array:
        """Sums of the rows: total weight of the edges of each node."""
        xp = namespace(self.like)
        return (self @ xp.ones((self.shape[0], 1), dtype=self.like.dtype, device=device(self.like)))[:, 0]

    def scaled(self, scale: Array) -> "Similarities":
        """The matrix with row i and column i multiplied by ``scale[i]``, held where this one is."""
        X = self.operand
        scale = namespace(scale).astype(scale, X.dtype)
        rows = X.map_rows(_scaled, scale, along=(X.split(scale[:, None]),), columns=self.shape[1])
        return Similarities(rows)

    @property
    def on_host(self) -> bool:
        """Whether U is on the host."""
        return is_host(self.like)

    @cached_property
    def squared(self) -> float:
        """Squared Frobenius norm."""
        return squared_norm(self.kept)


def _scaled(rows: Array, own: Array, scale: Array) -> Array:
    if is_sparse(rows):
        return with_entries(rows, rows.data * own[stored_rows(rows), 0] * scale[rows.indices])
    return rows * own * scale


def check_similarities(X: Array) -> Similarities:
    """Refuse a matrix that is not square, not symmetric or empty.

    One in memory that is symmetric but for rounding becomes so: the larger of two entries counts. Stored zeros go.
    """
    if X.shape[0] != X.shape[1]:
        raise InputError(
            f"affinity='precomputed' needs a square matrix of similarities; got shape {tuple(X.shape)}.",
            "Give affinity='knn' if X holds points, or a DataFrame with the columns source and target for edges.",
        )
    return _checked_chunks(operand(X)) if is_chunked(X) else _symmetric(X)


def _symmetric(X: Array) -> Similarities:
    X, xp = _host_csr(X) if is_host(X) else X, namespace(X)
    S = X.maximum(X.T) if is_sparse(X) else xp.maximum(X, X.T)
    _check_edges(bool(xp.any(entries(S) > 0)))
    check_magnitude(float(xp.max(entries(S))), 1e8 if eps(X) > 1e-10 and not is_host(X) else 1e50)
    apart = entries(S - X)
    _check_symmetric(
        0 in apart.shape or float(xp.max(apart)) <= _rounding(X) * float(xp.max(entries(S))),
        "Give X + X.T, or affinity='knn' if X holds points.",
    )
    return Similarities(S)


def _host_csr(X: Any) -> sp.csr_array:
    """A CSR matrix with indices of 32 bits where they suffice, which scikit-learn asks for."""
    S = sp.csr_array(X)
    index = np.int32 if S.nnz < 2**31 else np.int64
    return sp.csr_array((S.data, S.indices.astype(index), S.indptr.astype(index)), shape=S.shape)


def _checked_chunks(X: Operand) -> Similarities:
    """Symmetry shows in the products of X and of its transpose with the same random vector."""
    S, n = Similarities(X), X.shape[0]
    v = np.random.default_rng(0).random((n, 1))
    rows, (back,) = S.kept.sweep(_both_products, v, along=(X.split(v),), columns=1, dtype=v.dtype)
    forth = X.gather(rows)
    _check_edges(forth.any())
    _check_symmetric(
        abs(forth - back).max() <= _rounding(X.like) * n**0.5 * forth.max(),
        "Give (X + X.T) / 2 in chunks of rows.",
    )
    return S


def _both_products(rows: Any, own: Array, v: Array) -> tuple[Array, Array]:
    return rows @ v, rows.T @ own


def _check_edges(found: bool) -> None:
    if not found:
        raise InputError("X has no edges: there is nothing to cluster.", "Check the file or the filter that made it.")


def _check_symmetric(symmetric: bool, remedy: str) -> None:
    if not symmetric:
        raise InputError("X is not symmetric.", remedy, option="affinity")


def _rounding(X: Array) -> float:
    """How far entries may be apart, relative to the largest."""
    return max(1e-10, 10 * eps(X))
