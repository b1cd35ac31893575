"""The operand for Dask arrays, which ``operand`` imports on demand: rows stay in chunks, and only small sums travel."""

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import cached_property, partial, reduce
from operator import matmul, methodcaller
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from rectifact.core.arrays import Array
from rectifact.core.errors import ClusterError, count
from rectifact.core.operand import Combine, Draw, Operand, add, is_chunked, operand
from rectifact.core.threads import one_blas_thread, single_thread

SPLIT_EVERY = 8
"""Results of chunks that are combined at once."""

LARGE_GRAPH = "1 GiB"
"""Parameters travel inside Dask's graph, from which they can be sent again; Dask would warn above 10 MB."""


class Chunks(Operand):
    """A Dask array in chunks of whole rows, dense or sparse: chunks stay where they are, and small sums travel.

    Each total is one computation, by the running ``distributed.Client`` or by threads of this process. Nothing is
    computed before a total, a sweep, or :meth:`keep`.
    """

    @property
    def like(self) -> Array:
        """An empty numpy array: small results are on this machine."""
        return np.empty(0, dtype=self.dtype)

    @property
    def stored_per_row(self) -> float:
        """Number of columns: nobody has counted the entries."""
        return self.shape[1]

    def rmatmul(self, left: Array) -> Array:
        """``left.T @ X``, one computation."""
        return self.total(_rmatmul, along=(left,))

    def __matmul__(self, right: Array) -> Array:
        return self.map_rows(matmul, right, columns=right.shape[1] if right.ndim == 2 else None)

    def pending(
        self, function: Callable[..., Any], *small: Any, along: Sequence[Array] = (), combine: Combine = add
    ) -> Any:
        """A total in a lazy box."""
        import dask.array

        arrays = (self.data, *along)
        if any(is_chunked(value) for value in small):
            # The matrix is read again once the other total is there; chunks that were kept for that would fill the
            # memory of the workers.
            arrays = tuple(_recomputed(array) if is_chunked(array) else array for array in arrays)
        gather = partial(_combined, combine)
        return dask.array.reduction(
            _boxes(function, arrays, small),
            chunk=_unchanged,
            combine=gather,
            aggregate=gather,
            axis=0,
            keepdims=True,
            concatenate=False,
            split_every=SPLIT_EVERY,
            dtype=object,
            meta=np.empty((0, 0), dtype=object),
        )

    def evaluate(self, *pending: Any) -> tuple[Any, ...]:
        """Values of pending totals, all in one computation."""
        import dask

        with _computing():
            return tuple(box.item() for box in dask.compute(*pending))

    def map_rows(
        self,
        function: Callable[..., Array],
        *small: Any,
        along: Sequence[Array] = (),
        columns: int | None = None,
        dtype: Any = None,
    ) -> Array:
        """Lazy rows in the same chunks."""
        return self._rows(_boxes(function, (self.data, *along), small), columns, dtype, methodcaller("item"))

    def again(self) -> "Operand":
        """The same chunks, to be made again."""
        return self._again

    @cached_property
    def _again(self) -> "Chunks":
        return Chunks(_recomputed(self.data))

    def sweep(
        self,
        function: Callable[..., tuple[Any, ...]],
        *small: Any,
        along: Sequence[Array] = (),
        columns: int | None = None,
        dtype: Any = None,
        keep: bool = True,
    ) -> tuple[Array, tuple[Any, ...]]:
        """New rows, which stay with the workers or remain lazy, and sums: one submission.

        Rows that a lost worker takes with it are made again from those before them.
        """
        boxes = _boxes(function, (self.data, *along), small)
        rows = self._rows(boxes, columns, dtype, _first)
        sums = operand(boxes).pending(_rest_of_box)
        if keep:
            rows, sums = self.keep(rows, sums)
        return rows, self.evaluate(sums)[0]

    def _rows(self, boxes: Array, columns: int | None, dtype: Any, item: Callable[..., Any]) -> Array:
        dtype = np.dtype(self.dtype if dtype is None else dtype)
        chunks = self.data.chunks[0]
        if columns is None:
            return boxes.map_blocks(item, dtype=dtype, chunks=(chunks,), drop_axis=1, meta=np.empty(0, dtype=dtype))
        shape = {"chunks": (chunks, (columns,)), "meta": np.empty((0, 0), dtype=dtype)}
        return boxes.map_blocks(item, dtype=dtype, **shape)

    def where(self, mask: Array, *along: Array) -> tuple["Operand", *tuple[Array, ...]]:
        """The rows where ``mask`` is true, in as many chunks; their numbers are one computation."""
        sizes = self.total(_sizes, along=(mask,))
        rows, *others = (None if array is None else _picked(array, mask, sizes) for array in (self.data, *along))
        return operand(rows), *others

    def kept(self) -> "Operand":
        """Chunks in the memory of the workers where they fit, else to be made again each time they are read."""
        return Chunks(*self.keep(self.data)) if self.total(_bytes) <= 0.5 * _memory() else self

    def keep(self, *rows: Array) -> tuple[Array, ...]:
        """Lazy tall arrays computed and kept in the memory of the workers."""
        import dask

        with _computing():
            kept: tuple[Array, ...] = dask.persist(*rows)
        return kept

    def gather(self, rows: Array) -> Array:
        """A lazy tall array, brought together on this machine."""
        import dask

        with _computing():
            (values,) = dask.compute(rows)
        return np.require(values, requirements="W")  # what has travelled may be read-only

    def split(self, values: NDArray[Any]) -> Array:
        """A tall host array, cut into the chunks of the matrix."""
        import dask.array

        return dask.array.from_array(values, chunks=(self.data.chunks[0], *((size,) for size in values.shape[1:])))

    def draw_rows(self, rng: np.random.Generator, draw: Draw) -> Array:
        """A lazy column; what travels is where in the sequence of the generator a chunk begins."""
        import dask.array

        places = np.empty((self.data.numblocks[0], 1), dtype=object)
        for i, n_rows in enumerate(self.data.chunks[0]):
            places[i, 0] = (rng.bit_generator.state, n_rows)
            draw(rng, n_rows)  # a rejected draw takes numbers too: where the next chunk begins is only known now
        boxes = dask.array.from_array(places, chunks=(1, 1))
        return self._rows(boxes, 1, None, partial(_drawn, draw, self.dtype))


def _boxes(function: Callable[..., Any], arrays: Sequence[Array], small: Sequence[Any]) -> Array:
    """What ``function(*chunks, *small)`` returns for each chunk of rows, one object each.

    Small arguments are one chunk of the graph: they travel to each worker once, and can be sent again.
    """
    import dask.array

    later = [place for place, value in enumerate(small) if is_chunked(value)]
    ready = [None if is_chunked(value) else value for value in small]
    vectors = [place for place, array in enumerate(arrays) if array is not None and array.ndim == 1]
    return dask.array.map_blocks(
        partial(_boxed_call, function, len(arrays), vectors, later),
        *(array[:, None] if place in vectors else array for place, array in enumerate(arrays)),
        dask.array.from_array(_box(ready), chunks=(1, 1)),
        *(small[place] for place in later),
        chunks=((1,) * arrays[0].numblocks[0], (1,)),
        dtype=object,
        meta=np.empty((0, 0), dtype=object),
    )


def _boxed_call(
    function: Callable[..., Any], n_arrays: int, vectors: list[int], later: list[int], *blocks: Any
) -> NDArray[Any]:
    chunks, (sent, *pending) = list(blocks[:n_arrays]), blocks[n_arrays:]
    for place in vectors:  # which travelled as columns, or Dask would take them for rows
        chunks[place] = chunks[place][:, 0]
    small = list(sent.item())
    for place, box in zip(later, pending, strict=True):
        small[place] = box.item()
    with single_thread():  # Dask works on one chunk per core
        return _box(function(*chunks, *small))


def _box(value: Any) -> NDArray[Any]:
    box = np.empty((1, 1), dtype=object)
    box[0, 0] = value
    return box


def _first(box: NDArray[Any]) -> Any:
    return box.item()[0]


def _rest_of_box(box: NDArray[Any]) -> tuple[Any, ...]:
    return tuple(box.item()[1:])


def _unchanged(boxes: Any, axis: Any, keepdims: bool) -> Any:
    return boxes


def _combined(combine: Combine, boxes: Any, axis: Any, keepdims: bool) -> NDArray[Any]:
    from dask.core import flatten

    return _box(reduce(combine, (box.item() for box in flatten([boxes]))))


def _sizes(X: Any, mask: NDArray[Any]) -> list[int]:
    return [int(mask.sum())]  # lists are added one after the other


def _picked(array: Array, mask: Array, sizes: list[int]) -> Array:
    mask = mask[:, None] if array.ndim == 2 else mask
    chunks = (tuple(sizes), *array.chunks[1:])
    return array.map_blocks(_rows_where, mask, dtype=array.dtype, chunks=chunks, meta=array._meta)


def _rows_where(rows: Any, mask: Any) -> Any:
    return rows[mask.ravel()]


def _rmatmul(X: Any, left: Any) -> Any:
    return np.asarray((X.T @ left).T)


def _drawn(draw: Draw, dtype: Any, place: NDArray[Any]) -> NDArray[Any]:
    state, n_rows = place.item()
    bits = getattr(np.random, state["bit_generator"])()
    bits.state = state
    return draw(np.random.Generator(bits), n_rows).astype(dtype)


def _recomputed(array: Array) -> Array:
    """The same lazy array under other names, so that its chunks are made again and not kept.

    ``dask.graph_manipulation.clone`` would keep the old names inside tasks that are written out, which those of slices
    and of rechunked arrays are.
    """
    import dask.array

    graph = array.__dask_graph__()
    with dask.config.set({"optimization.fuse.active": True}):  # without it tasks may be of a form that is not renamed
        tasks = array.__dask_optimize__(graph, array.__dask_keys__())
    if not tasks:
        return array  # in memory for good: only futures
    names = {key: _renamed(key) for key in tasks}
    again = {names[key]: task.substitute(names, key=names[key]) for key, task in tasks.items()}
    futures = {key for task in tasks.values() for key in task.dependencies} - tasks.keys()
    again |= {key: graph[key] for key in futures}
    return dask.array.Array(again, _renamed(array.name), array.chunks, meta=array._meta)


def _renamed(key: Any) -> Any:
    return (_renamed(key[0]), *key[1:]) if isinstance(key, tuple) else f"again-{key}"


@contextmanager
def _computing() -> Iterator[None]:
    """Let parameters travel inside Dask's graph without a warning, and keep BLAS to one thread per chunk here."""
    with _allowing_large_graphs(), naming_failures():
        yield


def _allowing_large_graphs() -> AbstractContextManager[Any]:
    if "distributed" not in sys.modules:
        return one_blas_thread()
    import dask

    return dask.config.set({"distributed.admin.large-graph-warning-threshold": LARGE_GRAPH})


@contextmanager
def naming_failures() -> Iterator[None]:
    """Report a scheduler that went away, and workers that died again and again, as a :class:`ClusterError`."""
    if "distributed" not in sys.modules:
        yield
        return
    from distributed import CancelledError, KilledWorker
    from distributed.client import ClosedClientError
    from distributed.comm import CommClosedError

    try:
        yield
    except KilledWorker as error:
        raise ClusterError(
            f"{count(error.allowed_failures + 1, 'Dask worker')} died computing the same chunk of the data, probably "
            "because they ran out of memory.",
            "Use smaller chunks, or workers with more memory.",
            command="Split the data into smaller files, or start workers with more memory.",
        ) from error
    except (CancelledError, ClosedClientError, CommClosedError) as error:
        raise ClusterError(
            "The connection to the Dask scheduler was lost.",
            "Start it again and repeat the fit; with checkpoint= and resume=True it continues where it was.",
            command="Start it again and repeat the command; with --checkpoint and --resume it continues where it was.",
        ) from error


def _bytes(X: Any) -> int:
    return sum(part.nbytes for part in ((X.data, X.indices, X.indptr) if sp.issparse(X) else (X,)))


def _memory() -> float:
    """Bytes that the workers may use, or this machine has where there are none."""
    try:
        from distributed import get_client

        workers = get_client().scheduler_info(n_workers=-1)["workers"].values()
        return float(sum(worker["memory_limit"] or 0 for worker in workers))
    except (ImportError, ValueError):
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")) if hasattr(os, "sysconf") else 0.0
