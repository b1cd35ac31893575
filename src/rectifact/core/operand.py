"""The data matrix behind one small interface: in memory on the host or a device, dense or CSR, or in chunks of Dask.

Algorithms ask an operand for products, for totals over its rows and for new rows; they never ask what holds it. Work on
rows is a function of a module, which sees the matrix on one machine and a chunk of its rows on many. Tall results, with
one row for each row of the matrix, are plain arrays where the matrix is: numpy, torch, cupy, or Dask arrays.
"""

from collections.abc import Callable, Sequence
from typing import Any

import array_api_compat
import numpy as np
from numpy.typing import NDArray

from rectifact.core.arrays import Array, device, namespace, to_like
from rectifact.core.sparse import is_sparse, native

Combine = Callable[[Any, Any], Any]
Draw = Callable[[np.random.Generator, int], NDArray[Any]]


def add(one: Any, other: Any) -> Any:
    """Sum of two numbers or arrays, or of two tuples of them, element by element."""
    if isinstance(one, tuple):
        return tuple(add(a, b) for a, b in zip(one, other, strict=True))
    return one + other


def is_chunked(X: Any) -> bool:
    """Whether X is a Dask array."""
    return bool(array_api_compat.is_dask_array(X))


def operand(X: Any) -> "Operand":
    """The operand that fits X: a numpy or sparse array, a torch or cupy array, or a Dask array in chunks of rows.

    Examples
    --------
    >>> operand(np.ones((3, 2))).total(lambda rows: rows.sum(axis=0))
    array([3., 3.])
    """
    if isinstance(X, Operand):
        return X
    if not is_chunked(X):
        return Operand(X)
    from rectifact.core.chunks import Chunks

    return Chunks(X)


class Operand:
    """A matrix in memory, on the host or on a device.

    Parameters
    ----------
    data : array of shape (n_rows, n_columns)
        Dense, or a CSR matrix: scipy's on the host, :class:`rectifact.core.device_csr.DeviceCSR` on a device.
    """

    def __init__(self, data: Array) -> None:
        self.data = data

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and columns."""
        return tuple(self.data.shape)

    @property
    def dtype(self) -> Any:
        """Type of the entries."""
        return self.data.dtype

    @property
    def like(self) -> Array:
        """An empty array of the library, type and device in which small results are made."""
        return namespace(self.data).empty(0, dtype=self.dtype, device=device(self.data))

    @property
    def native(self) -> Any:
        """The matrix as its library has it, to give back to the user."""
        return native(self.data)

    def where(self, mask: Array, *along: Array) -> tuple["Operand", *tuple[Array, ...]]:
        """The rows where a tall ``mask`` is true, as an operand, and the same rows of other tall arrays."""
        return operand(self.data[mask]), *(None if array is None else array[mask] for array in along)

    @property
    def stored_per_row(self) -> float:
        """Mean number of entries of a row that a product has to touch."""
        return (self.data.nnz if is_sparse(self.data) else self.shape[0] * self.shape[1]) / self.shape[0]

    def __matmul__(self, right: Array) -> Array:
        return self.data @ right

    def rmatmul(self, left: Array) -> Array:
        """``left.T @ X`` for a tall ``left``: small."""
        return (self.data.T @ left).T

    def pending(
        self, function: Callable[..., Any], *small: Any, along: Sequence[Array] = (), combine: Combine = add
    ) -> Any:
        """A total that need not be there yet: an argument for other totals, and for :meth:`evaluate`."""
        return function(self.data, *along, *small)

    def evaluate(self, *pending: Any) -> tuple[Any, ...]:
        """Values of pending totals, all in one computation."""
        return pending

    def total(
        self, function: Callable[..., Any], *small: Any, along: Sequence[Array] = (), combine: Combine = add
    ) -> Any:
        """``function(rows, *along, *small)``, combined over all rows.

        Parameters
        ----------
        function : callable
            Of a module, so that it can travel. Gets rows of the matrix, the same rows of ``along``, then ``small``.
        small : any
            Numbers and small arrays, or pending totals.
        along : sequence of arrays
            Tall arrays, whose rows belong to those of the matrix; None stays None.
        combine : callable
            Makes one result out of two; adds by default.
        """
        return self.evaluate(self.pending(function, *small, along=along, combine=combine))[0]

    def map_rows(
        self,
        function: Callable[..., Array],
        *small: Any,
        along: Sequence[Array] = (),
        columns: int | None = None,
        dtype: Any = None,
    ) -> Array:
        """New rows ``function(rows, *along, *small)``, in the chunks of the matrix, when they are needed.

        ``columns`` is their number of columns, None for a vector; ``dtype`` is that of the matrix unless given.
        """
        return function(self.data, *along, *small)

    def again(self) -> "Operand":
        """The matrix for a second reading in the same computation, for rows that wait for a pending total.

        Chunks are made again; kept for the second reading, they would fill the memory of the workers.
        """
        return self

    def sweep(
        self,
        function: Callable[..., tuple[Any, ...]],
        *small: Any,
        along: Sequence[Array] = (),
        columns: int | None = None,
        dtype: Any = None,
        keep: bool = True,
    ) -> tuple[Array, tuple[Any, ...]]:
        """New rows and sums from one pass: ``function(rows, *along, *small)`` returns both, the rows first.

        The new rows are kept in memory. Chunks of Dask whose rows need not be kept, ``keep=False``, are made again
        when they are needed.
        """
        rows, *sums = function(self.data, *along, *small)
        return rows, tuple(sums)

    def kept(self) -> "Operand":
        """The same matrix in memory where half the memory of the workers holds it, for loops that read it often."""
        return self

    def keep(self, *rows: Array) -> tuple[Array, ...]:
        """Tall arrays computed and kept in memory."""
        return rows

    def gather(self, rows: Array) -> Array:
        """A tall array, computed and whole, where small results are."""
        return rows

    def split(self, values: NDArray[Any]) -> Array:
        """A tall host array, cut into the chunks of the matrix."""
        return values

    def draw_rows(self, rng: np.random.Generator, draw: Draw) -> Array:
        """``draw(rng, n_rows)``, a column of random numbers of the library and type of the matrix.

        Chunks draw their own rows from the same sequence: ``draw`` takes any number of rows, one after another.

        Examples
        --------
        >>> import dask.array as da
        >>> X = operand(da.zeros((5, 2), chunks=(2, 2)))
        >>> parts = X.draw_rows(np.random.default_rng(0), lambda rng, n: rng.random((n, 1))).compute()
        >>> bool((parts == np.random.default_rng(0).random((5, 1))).all())
        True
        """
        return to_like(draw(rng, self.shape[0]), self.like)
