"""Arrays that are not there yet: those of dask, whose chunks of rows are computed where they lie.

Algorithms see a lazy matrix through its small products. :func:`evaluate` makes all that an iteration needs in one
computation. Where the work of a chunk is a function of numpy arrays, :func:`over_chunks` calls it on every chunk, and
:func:`total` adds up what it returns where the chunks lie, so that only sums travel.
"""

import os
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any

import array_api_compat
import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from rectifact.core.arrays import Array

__all__ = [
    "add",
    "cut_like",
    "draw_rows",
    "evaluate",
    "is_lazy",
    "kept",
    "large_graphs",
    "opened",
    "over_chunks",
    "persist",
    "recomputed",
    "rows",
    "summed",
    "total",
]

SPLIT_EVERY = 8
"""Results of chunks that are added up at a time."""

LARGE_GRAPH = "1 GiB"
"""Parameters travel inside of dask's graph, which can be made again; dask would warn of 10 MB already."""


def is_lazy(array: Array) -> bool:
    """Whether ``array`` is dask's."""
    return bool(array_api_compat.is_dask_array(array))


def evaluate(*values: Any) -> tuple[Any, ...]:
    """The values as they are; where some are lazy, all of them after *one* computation.

    A running ``distributed.Client`` does it, and the threads of this process where there is none.

    Examples
    --------
    >>> evaluate(1.0, 2.0)
    (1.0, 2.0)
    """
    if not any(is_lazy(value) for value in values):
        return values
    import dask

    with large_graphs():
        computed: tuple[Any, ...] = dask.compute(*values)
    return computed


def persist(*arrays: Array) -> tuple[Array, ...]:
    """The arrays as they are; where they are lazy, computed in one go and kept in the memory of the workers."""
    if not any(is_lazy(array) for array in arrays):
        return arrays
    import dask

    with large_graphs():
        kept: tuple[Array, ...] = dask.persist(*arrays)
    return kept


def large_graphs() -> AbstractContextManager[Any]:
    """Let parameters travel inside of dask's graph without a warning; without ``distributed`` none would come."""
    if "distributed" not in sys.modules:
        return nullcontext()
    import dask

    return dask.config.set({"distributed.admin.large-graph-warning-threshold": LARGE_GRAPH})


def kept(X: Array) -> Array:
    """The chunks in memory, where half of what the workers have holds them; else to be made anew each time.

    For arrays that are read in every iteration. What is not lazy comes back as it is.
    """
    if not is_lazy(X):
        return X
    (n_bytes,) = summed(_bytes, X)
    return persist(X)[0] if n_bytes <= 0.5 * _memory() else X


def _bytes(X: Any) -> tuple[int]:
    return (sum(part.nbytes for part in ((X.data, X.indices, X.indptr) if sp.issparse(X) else (X,))),)


def _memory() -> float:
    """Bytes that the workers may use, or this machine has where there are none."""
    try:
        from distributed import get_client

        workers = get_client().scheduler_info(n_workers=-1)["workers"].values()
        return float(sum(worker["memory_limit"] or 0 for worker in workers))
    except (ImportError, ValueError):
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")) if hasattr(os, "sysconf") else 0.0


def recomputed(array: Array) -> Array:
    """The same array under other names, so that it is made anew and not kept; a host array as it is.

    An iteration that reads the data twice, the second time with a number that the first has found, would otherwise
    hold all chunks in memory in between. Arrays that share an origin share it again: ``recomputed(X @ P)`` reads
    ``recomputed(X)``.
    """
    if not is_lazy(array):
        return array
    from dask.graph_manipulation import clone

    return clone(array, seed="second reading")


def cut_like(values: NDArray[Any], like: Array) -> Array:
    """``values`` by row as a lazy array with the chunks of ``like``, or as they are where ``like`` is not lazy."""
    if not is_lazy(like):
        return values
    import dask.array

    return dask.array.from_array(values, chunks=(like.chunks[0], *((size,) for size in values.shape[1:])))


def draw_rows(rng: np.random.Generator, draw: Callable[[np.random.Generator, int], NDArray[Any]], like: Array) -> Array:
    """``draw(rng, n)`` for the n rows of ``like``; of a lazy one, each chunk draws its own rows of the same numbers.

    What travels is where in the sequence of the generator a chunk begins. ``draw`` takes any number of rows, one after
    another, to one column.

    Examples
    --------
    >>> import dask.array as da
    >>> X = da.zeros((5, 2), chunks=(2, 2))
    >>> parts = draw_rows(np.random.default_rng(0), lambda rng, n: rng.random((n, 1)), X).compute()
    >>> bool((parts == np.random.default_rng(0).random((5, 1))).all())
    True
    """
    if not is_lazy(like):
        return draw(rng, like.shape[0])
    import dask.array

    places = np.empty((like.numblocks[0], 1), dtype=object)
    for i, n_rows in enumerate(like.chunks[0]):
        places[i, 0] = (rng.bit_generator.state, n_rows)
        draw(rng, n_rows)  # a rejected draw takes numbers too: nobody knows where the next chunk begins before
    boxes = dask.array.from_array(places, chunks=(1, 1))
    options = {"chunks": (like.chunks[0], (1,)), "dtype": float, "meta": np.empty((0, 0))}
    return boxes.map_blocks(partial(_drawn, draw), **options)


def _drawn(draw: Callable[[np.random.Generator, int], NDArray[Any]], place: NDArray[Any]) -> NDArray[Any]:
    state, n_rows = place.item()
    bits = getattr(np.random, state["bit_generator"])()
    bits.state = state
    return draw(np.random.Generator(bits), n_rows)


def over_chunks(function: Callable[..., tuple[Any, ...]], *arrays: Array, small: Sequence[Any] = ()) -> Array:
    """What ``function(*chunks, *small)`` returns for each chunk of rows, boxed: see :func:`rows` and :func:`total`.

    Parameters
    ----------
    function : of a module, so that it can travel; gets the chunks of ``arrays`` in the same rows, then ``small``
    arrays : lazy arrays of two dimensions with the same chunks of rows and one chunk of columns
    small : numbers, arrays, or totals that are not there yet, which travel to each worker once, within the graph: a
        worker that is lost loses nothing that cannot be sent again

    Examples
    --------
    >>> import dask.array as da
    >>> X = da.from_array(np.arange(6.0).reshape(3, 2), chunks=(2, 2))
    >>> evaluate(total(over_chunks(lambda chunk: (chunk.sum(axis=0),), X)))[0].item()
    (array([6., 9.]),)
    """
    import dask.array

    ready = [None if is_lazy(value) else value for value in small]
    sent = dask.array.from_array(_box(ready), chunks=(1, 1)) if small else None
    later = [place for place, value in enumerate(small) if is_lazy(value)]
    return dask.array.map_blocks(
        partial(_boxed_call, function, len(arrays), later),
        *arrays,
        *([] if sent is None else [sent]),
        *(small[place] for place in later),
        chunks=((1,) * arrays[0].numblocks[0], (1,)),
        dtype=object,
        meta=np.empty((0, 0), dtype=object),
    )


def total(boxes: Array, combine: Callable[[Any, Any], Any] | None = None) -> Array:
    """Sums over all chunks, in a lazy box: of ``evaluate(total(...))`` take :func:`opened`.

    ``combine`` makes one tuple out of two; None adds their elements.
    """
    import dask.array

    gather = partial(_combined, combine or add)
    return dask.array.reduction(
        boxes,
        chunk=_as_it_is,
        combine=gather,
        aggregate=gather,
        axis=0,
        keepdims=True,
        concatenate=False,
        split_every=SPLIT_EVERY,
        dtype=object,
        meta=np.empty((0, 0), dtype=object),
    )


def summed(
    function: Callable[..., tuple[Any, ...]],
    X: Array,
    *small: Any,
    combine: Callable[[Any, Any], Any] | None = None,
) -> Any:
    """``function(X, *small)``; of a lazy X, one computation of it on all chunks, combined as :func:`total` does.

    Examples
    --------
    >>> summed(lambda chunk: (chunk.sum(axis=0),), np.ones((3, 2)))
    (array([3., 3.]),)
    """
    if not is_lazy(X):
        return function(X, *small)
    return opened(evaluate(total(over_chunks(function, X, small=small), combine))[0])


def opened(box: NDArray[Any]) -> Any:
    """What is in an evaluated box."""
    return box.item()


def add(one: tuple[Any, ...], other: tuple[Any, ...]) -> tuple[Any, ...]:
    """Tuple of sums."""
    return tuple(a + b for a, b in zip(one, other, strict=True))


def rows(boxes: Array, like: Array, n_columns: int | None, dtype: Any, place: int = 0) -> Array:
    """Lazy array of the rows that boxes hold at ``place``, in the chunks of ``like``; None columns is a vector."""
    if n_columns is None:
        options: dict[str, Any] = {"chunks": (like.chunks[0],), "drop_axis": 1, "meta": np.empty(0, dtype=dtype)}
    else:
        options = {"chunks": (like.chunks[0], (n_columns,)), "meta": np.empty((0, 0), dtype=dtype)}
    return boxes.map_blocks(_item, place, dtype=dtype, **options)


def _box(value: Any) -> NDArray[Any]:
    box = np.empty((1, 1), dtype=object)
    box[0, 0] = value
    return box


def _boxed_call(function: Callable[..., Any], n_arrays: int, later: list[int], *blocks: Any) -> NDArray[Any]:
    chunks, boxes = blocks[:n_arrays], blocks[n_arrays:]
    small = list(boxes[0].item()) if boxes else []
    for place, box in zip(later, boxes[1:], strict=True):
        small[place] = box.item()
    return _box(function(*chunks, *small))


def _as_it_is(boxes: Any, axis: Any, keepdims: bool) -> Any:
    return boxes


def _combined(combine: Callable[[Any, Any], Any], boxes: Any, axis: Any, keepdims: bool) -> NDArray[Any]:
    first, *others = _flat(boxes)
    result = first.item()
    for other in others:
        result = combine(result, other.item())
    return _box(result)


def _flat(boxes: Any) -> list[NDArray[Any]]:
    return [box for part in boxes for box in _flat(part)] if isinstance(boxes, list) else [boxes]


def _item(box: NDArray[Any], place: int) -> Any:
    return box.item()[place]
