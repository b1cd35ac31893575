"""Matrices that may be sparse, on the host or on a device: their entries, and others like them."""

from dataclasses import dataclass, replace
from typing import Any

import array_api_compat
import numpy as np
import scipy.sparse as sp

from rectifact.core.device_csr import Array, DeviceCSR


@dataclass(frozen=True, eq=False)
class Shifted:
    """``X + constant`` as something that can be multiplied; ``X``, on the host or on a device, stays sparse.

    Examples
    --------
    >>> Shifted(sp.csr_array(np.eye(2)), 3.0) @ np.array([1.0, 0.0])
    array([4., 3.])
    """

    X: Any
    constant: float

    @property
    def data(self) -> Array:
        """Stored entries of X, which have its library and device."""
        return self.X.data

    @property
    def dtype(self) -> Any:
        """Type of the entries."""
        return self.X.dtype

    @property
    def shape(self) -> tuple[int, int]:
        """That of X."""
        return tuple(self.X.shape)

    @property
    def T(self) -> "Shifted":
        """The transpose."""
        return Shifted(self.X.T, self.constant)

    def __matmul__(self, V: Array) -> Array:
        xp = array_api_compat.array_namespace(V)
        return self.X @ V + self.constant * xp.sum(V, axis=0)


def is_sparse(X: Any) -> bool:
    """Whether X, once validated, stores its nonzeros only, on the host or on a device.

    Examples
    --------
    >>> is_sparse(sp.eye_array(2, format="csr")), is_sparse(np.eye(2))
    (True, False)
    """
    return isinstance(X, DeviceCSR) or bool(sp.issparse(X))


def entries(X: Array) -> Array:
    """Entries of X as a dense array: the stored ones if X is sparse.

    Examples
    --------
    >>> entries(sp.csr_array(np.diag([1.0, 0.0, 2.0]))).tolist()
    [1.0, 2.0]
    """
    return X.data if is_sparse(X) else X


def with_entries(X: Array, values: Array) -> Array:
    """X with other entries: a sparse matrix keeps the places of those that are stored.

    Examples
    --------
    >>> with_entries(sp.csr_array(np.diag([1.0, 2.0])), np.array([5.0, 6.0])).toarray().tolist()
    [[5.0, 0.0], [0.0, 6.0]]
    """
    if isinstance(X, DeviceCSR):
        return replace(X, data=values)
    return sp.csr_array((values, X.indices, X.indptr), shape=X.shape) if sp.issparse(X) else values


def divide_rows(X: Array, divisors: Array) -> Array:
    """Rows of X divided by a column of numbers; a sparse matrix stays sparse.

    Examples
    --------
    >>> divide_rows(np.array([[2.0, 4.0], [3.0, 6.0]]), np.array([[2.0], [3.0]])).tolist()
    [[1.0, 2.0], [1.0, 2.0]]
    """
    return with_entries(X, X.data / divisors[stored_rows(X), 0]) if is_sparse(X) else X / divisors


def stored_rows(X: Array) -> Array:
    """Row numbers of the stored entries of a CSR matrix.

    Examples
    --------
    >>> stored_rows(sp.csr_array(np.diag([1.0, 0.0, 2.0]))).tolist()
    [0, 2]
    """
    return X.rows() if isinstance(X, DeviceCSR) else np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))


def with_stored(X: Array, values: Array, elsewhere: float) -> Array:
    """A matrix with ``values`` where X stores entries and ``elsewhere`` in all other places; it can be multiplied.

    Of a dense X all entries are stored, and ``values`` are the matrix.

    Examples
    --------
    >>> with_stored(sp.csr_array(np.diag([1.0, 2.0])), np.array([5.0, 6.0]), -1.0) @ np.eye(2)
    array([[ 5., -1.],
           [-1.,  6.]])
    """
    return Shifted(with_entries(X, values - elsewhere), elsewhere) if is_sparse(X) else values


def gram(X: Any) -> Array:
    """``X'X`` on the host as a dense array, where X may be sparse, or sparse but for a constant.

    Examples
    --------
    >>> gram(Shifted(sp.csr_array(np.eye(2)), 1.0))
    array([[5., 4.],
           [4., 5.]])
    """
    if isinstance(X, Shifted):
        sums = X.constant * X.X.sum(axis=0)
        return gram(X.X) + np.add.outer(sums, sums) + X.constant**2 * X.shape[0]
    products = X.T @ X
    return products.toarray() if sp.issparse(products) else products


def with_columns(X: Array, columns: Array, n_columns: int) -> Array:
    """The entries of a CSR matrix on the host, moved within their rows to other columns.

    Examples
    --------
    >>> with_columns(sp.csr_array(np.diag([1.0, 2.0])), np.array([2, 2]), 3).toarray().tolist()
    [[0.0, 0.0, 1.0], [0.0, 0.0, 2.0]]
    """
    return sp.csr_array((X.data, columns, X.indptr), shape=(X.shape[0], n_columns))


def from_coordinates(values: Array, rows: Array, columns: Array, shape: tuple[int, int]) -> sp.csr_array:
    """A sparse matrix on the host; entries in the same place are added.

    Examples
    --------
    >>> from_coordinates(np.ones(3), np.array([0, 1, 1]), np.array([0, 1, 1]), (2, 2)).toarray().tolist()
    [[1.0, 0.0], [0.0, 2.0]]
    """
    return sp.csr_array((values, (rows, columns)), shape=shape)


def coordinates(X: Any) -> tuple[Array, Array, Array]:
    """Rows, columns and values of the stored entries of a sparse matrix on the host.

    Examples
    --------
    >>> [part.tolist() for part in coordinates(sp.csr_array(np.diag([0.0, 2.0])))]
    [[1], [1], [2.0]]
    """
    stored = sp.coo_array(X)
    return stored.row, stored.col, stored.data


def dense_rows(X: Array, rows: slice) -> Array:
    """A range of rows of X as a dense array of its library.

    Examples
    --------
    >>> dense_rows(np.eye(3), slice(1, 2)).tolist()
    [[0.0, 1.0, 0.0]]
    """
    if isinstance(X, DeviceCSR):
        return X.dense(rows)
    return X[rows].toarray() if sp.issparse(X) else X[rows]


def transposed(X: Array) -> Array:
    """The transpose, of which ranges of rows can be taken: CSR if X is sparse.

    Examples
    --------
    >>> dense_rows(transposed(sp.csr_array(np.array([[1.0, 2.0]]))), slice(1, 2)).tolist()
    [[2.0]]
    """
    return sp.csr_array(X.T) if sp.issparse(X) else X.T


def native(X: Array) -> Any:
    """X in the form of its library, to be returned to the user."""
    return X.native if isinstance(X, DeviceCSR) else X
