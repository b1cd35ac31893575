"""Arrays that are not there yet: those of dask, whose chunks of rows are computed where they lie."""

from typing import Any

import array_api_compat

from rectifact.core.arrays import Array

__all__ = ["evaluate", "is_lazy"]


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

    computed: tuple[Any, ...] = dask.compute(*values)
    return computed
