"""Sparse matrices on a device: torch's CSR tensors and cupyx's CSR matrices behind one small class.

Neither follows the array API, and they differ in what they can do: a CSR tensor has no transpose that can be
multiplied, and cupyx checks a transposed matrix again in every product. The families see products, stored entries and
dense tiles only.
"""

import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import array_api_compat
import numpy as np
import scipy.sparse as sp

Array = Any


@dataclass(frozen=True, eq=False)
class DeviceCSR:
    """A canonical CSR matrix whose arrays live on a device: sorted indices without repetition.

    It can be multiplied, ``X @ V`` and ``X.T @ U``, with dense arrays of its library. The transpose is made at its
    first use and kept, as a CSR matrix of its own: a product with it is then as fast, and waits for nothing.

    Parameters
    ----------
    data, indices, indptr : arrays on one device
    shape : (n_rows, n_columns)
    """

    data: Array
    indices: Array
    indptr: Array
    shape: tuple[int, int]

    @property
    def dtype(self) -> Any:
        """Type of the stored entries."""
        return self.data.dtype

    @property
    def device(self) -> Any:
        """Device that holds the arrays."""
        return array_api_compat.device(self.data)

    @property
    def nnz(self) -> int:
        """Number of stored entries."""
        return int(self.data.shape[0])

    @cached_property
    def native(self) -> Any:
        """The matrix in the form of its library: a tensor of layout ``torch.sparse_csr``, or a cupyx ``csr_matrix``."""
        if array_api_compat.is_cupy_array(self.data):
            from cupyx.scipy.sparse import csr_matrix

            made = csr_matrix((self.data, self.indices, self.indptr), shape=self.shape)
            made.has_canonical_format = True  # or the first product would check it, and synchronise
            return made
        return _torch_csr(self.data, self.indices, self.indptr, self.shape)

    @cached_property
    def T(self) -> "DeviceCSR":
        """The transpose, as a CSR matrix too."""
        xp = array_api_compat.array_namespace(self.data)
        order = xp.argsort(self.indices, stable=True)  # entries by column, and by row within each
        columns = xp.arange(self.shape[1] + 1, dtype=self.indices.dtype, device=self.device)
        indptr = xp.astype(xp.searchsorted(self.indices[order], columns), self.indptr.dtype)
        turned = DeviceCSR(self.data[order], self.rows()[order], indptr, (self.shape[1], self.shape[0]))
        turned.__dict__["T"] = self
        return turned

    def __matmul__(self, V: Array) -> Array:
        return self.native @ V if V.ndim == 2 else (self.native @ V[:, None])[:, 0]

    def __sub__(self, other: "DeviceCSR") -> "DeviceCSR":
        return self._combined(other, lambda x, y: x - y)

    def maximum(self, other: "DeviceCSR") -> "DeviceCSR":
        """The larger of two entries in each place; zeros are not stored."""
        xp = array_api_compat.array_namespace(self.data)
        larger = self._combined(other, xp.maximum)
        kept = larger.data != 0
        if bool(xp.all(kept)):
            return larger
        return csr(larger.data[kept], larger.rows()[kept], larger.indices[kept], self.shape)

    def _combined(self, other: "DeviceCSR", function: Callable[[Array, Array], Array]) -> "DeviceCSR":
        """``function(x, y)`` wherever one of the two matrices has an entry."""
        xp = array_api_compat.array_namespace(self.data)
        alike = self.nnz == other.nnz and bool(xp.all(self.indptr == other.indptr))
        if alike and bool(xp.all(self.indices == other.indices)):
            return replace(self, data=function(self.data, other.data))
        n_columns = self.shape[1]
        places = xp.concat([xp.astype(S.rows(), xp.int64) * n_columns + S.indices for S in (self, other)])
        order = xp.argsort(places, stable=True)
        places = places[order]
        x = xp.concat([self.data, xp.zeros_like(other.data)])[order]
        y = xp.concat([xp.zeros_like(self.data), other.data])[order]
        first = xp.concat([xp.ones_like(places[:1]), xp.astype(places[1:] != places[:-1], places.dtype)]) > 0
        y[:-1] = xp.where(first[1:], y[:-1], y[1:])  # a place that both have comes twice, first with x, then with y
        places, x, y = places[first], x[first], y[first]
        return csr(function(x, y), places // n_columns, places % n_columns, self.shape)

    def rows(self, first: int = 0, last: int | None = None) -> Array:
        """Row numbers of the stored entries ``first`` to ``last``."""
        xp = array_api_compat.array_namespace(self.data)
        places = xp.arange(first, self.nnz if last is None else last, dtype=self.indptr.dtype, device=self.device)
        return xp.astype(xp.searchsorted(self.indptr, places, side="right") - 1, self.indices.dtype)

    @cached_property
    def _ends(self) -> np.ndarray[Any, Any]:
        """Row pointers on the host, copied once; tiles are cut with them."""
        return on_host(self.indptr)

    def dense(self, rows: slice) -> Array:
        """A range of rows as a dense array."""
        xp = array_api_compat.array_namespace(self.data)
        start, stop, _ = rows.indices(self.shape[0])
        first, last = int(self._ends[start]), int(self._ends[stop])
        tile = xp.zeros((stop - start, self.shape[1]), dtype=self.dtype, device=self.device)
        tile[self.rows(first, last) - start, self.indices[first:last]] = self.data[first:last]
        return tile

    def to_scipy(self) -> sp.csr_array:
        """A copy on the host."""
        parts = tuple(on_host(part) for part in (self.data, self.indices, self.indptr))
        return sp.csr_array(parts, shape=self.shape)

    def like(self, matrix: sp.csr_array) -> "DeviceCSR":
        """A scipy matrix in the library, on the device and with the floating-point type of this one."""
        xp = array_api_compat.array_namespace(self.data)
        parts = ((matrix.data, self.data), (matrix.indices, self.indices), (matrix.indptr, self.indptr))
        data, indices, indptr = (xp.asarray(part, dtype=own.dtype, device=self.device) for part, own in parts)
        return DeviceCSR(data, indices, indptr, tuple(matrix.shape))


def on_host(array: Array) -> Any:
    """A dense array of any library as a numpy array; one that is already there is not copied."""
    if array_api_compat.is_cupy_array(array):
        return array.get()
    return np.asarray(array.detach().cpu() if array_api_compat.is_torch_array(array) else array)


def is_native_sparse(X: Any) -> bool:
    """Whether X is a sparse tensor of torch, in any layout, or a sparse matrix of cupyx, in any format."""
    if array_api_compat.is_torch_array(X):
        return str(X.layout) != "torch.strided"
    cupyx = sys.modules.get("cupyx.scipy.sparse")
    return cupyx is not None and bool(cupyx.issparse(X))


def csr(values: Array, rows: Array, columns: Array, shape: tuple[int, int]) -> Array:
    """A CSR matrix in the library of its entries, which are sorted by row and distinct.

    Its indices have 32 bits where they suffice, which scikit-learn asks for.

    Examples
    --------
    >>> csr(np.array([1.0, 2.0]), np.array([0, 2]), np.array([1, 0]), (3, 2)).toarray().tolist()
    [[0.0, 1.0], [0.0, 0.0], [2.0, 0.0]]
    """
    xp = array_api_compat.array_namespace(values)
    index = xp.int32 if max(*shape, values.shape[0]) < 2**31 else xp.int64
    places = xp.arange(shape[0] + 1, dtype=rows.dtype, device=array_api_compat.device(rows))
    indices, indptr = (xp.astype(part, index) for part in (columns, xp.searchsorted(rows, places)))
    if array_api_compat.is_numpy_array(values):
        return sp.csr_array((values, indices, indptr), shape=shape)
    return DeviceCSR(values, indices, indptr, shape)


def _torch_csr(data: Array, indices: Array, indptr: Array, shape: tuple[int, int], check: bool = False) -> Any:
    import torch

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Sparse CSR tensor support")
        check = check and len(data) > 0  # torch's check of an empty matrix fails on CUDA
        return torch.sparse_csr_tensor(indptr, indices, data, size=shape, check_invariants=check)


def canonical_csr(X: Any, dtype: Any) -> DeviceCSR:
    """A sparse matrix of torch or cupyx with sorted, distinct indices; the input is never changed.

    Every format of cupyx and the CSC and COO layouts of torch are converted. A CSR tensor shares its values.

    Raises
    ------
    RuntimeError or ValueError
        If the indices of a tensor are not valid.
    """
    shape = (int(X.shape[0]), int(X.shape[1]))
    if not array_api_compat.is_torch_array(X):
        csr = X.tocsr()
        csr = csr.astype(dtype) if csr.dtype != dtype else csr
        if not csr.has_canonical_format:
            csr = csr.copy() if csr is X else csr
            csr.sum_duplicates()
        return DeviceCSR(csr.data, csr.indices, csr.indptr, shape)
    import torch

    if X.requires_grad:
        X = X.detach()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Sparse CS[RC] tensor support|Sparse invariant checks")
        if X.layout == torch.sparse_coo:
            X = X.coalesce()
        csr = X if X.layout == torch.sparse_csr else X.to_sparse_csr()
    _torch_csr(csr.values(), csr.col_indices(), csr.crow_indices(), shape, check=True)
    index = torch.int32 if max(*shape, csr.values().shape[0]) < 2**31 else torch.int64  # the faster one
    return DeviceCSR(csr.values().to(dtype), csr.col_indices().to(index), csr.crow_indices().to(index), shape)
