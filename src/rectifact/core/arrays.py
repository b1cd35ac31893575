"""Which library an array belongs to, which device holds it, and how to move it."""

from typing import Any

import array_api_compat
import array_api_compat.numpy
import numpy as np
import scipy.sparse as sp
import scipy.special
from numpy.typing import NDArray

from rectifact.core.device_csr import DeviceCSR, on_host
from rectifact.core.sparse import Shifted

Array = Any
"""An array of any library that follows the array API standard: numpy, torch, cupy; sparse where a docstring says so."""

_HOST = (np.ndarray, np.generic)


def namespace(*arrays: Array) -> Any:
    """Array API namespace shared by ``arrays``; scipy's sparse arrays belong to numpy.

    Examples
    --------
    >>> import numpy as np
    >>> namespace(np.ones(3)).__name__
    'array_api_compat.numpy'
    """
    if arrays and all(isinstance(a, _HOST) for a in arrays):  # loops over small arrays ask again and again
        return array_api_compat.numpy
    return array_api_compat.array_namespace(*(_dense(a) for a in arrays))


def _dense(array: Array) -> Array:
    """A dense array of the same library as ``array``, which may be sparse."""
    if isinstance(array, DeviceCSR | Shifted):
        return array.data
    return np.empty(0) if sp.issparse(array) else array


def is_array(value: Any) -> bool:
    """Whether ``value`` is a dense array of any library, and not a single number of numpy."""
    return bool(array_api_compat.is_array_api_obj(value)) and not isinstance(value, np.generic)


def is_host(array: Array) -> bool:
    """Whether ``array`` is a numpy or scipy sparse array, which the compiled kernels take."""
    return isinstance(array, _HOST) or bool(sp.issparse(array))


def rows_at_once(like: Array, n_columns: int, entries: int) -> int:
    """Rows of a tile of so many entries on the host, where it stays in the cache; a device gets 32 times as many.

    Examples
    --------
    >>> rows_at_once(np.zeros(1), 100, 1000)
    10
    """
    return max(1, (entries if is_host(like) else 32 * entries) // n_columns)


def device(array: Array) -> Any:
    """Device that holds ``array``; ``"cpu"`` for numpy and scipy sparse arrays."""
    return "cpu" if sp.issparse(array) else array_api_compat.device(_dense(array))


def eps(array: Array) -> float:
    """Machine epsilon of the floating type of ``array``.

    Examples
    --------
    >>> import numpy as np
    >>> eps(np.zeros(1, dtype="float32")) == 2**-23
    True
    """
    return float(namespace(array).finfo(array.dtype).eps)


def to_host(array: Array) -> Any:
    """``array`` as a numpy array, or as a scipy array if it is sparse; one that is already there is not copied."""
    if isinstance(array, DeviceCSR):
        return array.to_scipy()
    return array if sp.issparse(array) else on_host(array)


def to_csr(array: Array) -> sp.csr_array:
    """``array`` as a CSR matrix of doubles on the host.

    Examples
    --------
    >>> import numpy as np
    >>> to_csr(np.array([[0, 2]])).data
    array([2.])
    """
    return sp.csr_array(to_host(array)).astype(np.float64)


def to_like(values: NDArray[Any], like: Array) -> Array:
    """``values`` in the library, floating type and device of ``like``."""
    return namespace(like).asarray(values, dtype=like.dtype, device=device(like))


def choose(condition: Any, yes: Any, no: Any) -> Any:
    """``yes`` if ``condition``, one truth value, holds, else ``no``.

    On a device the choice between two arrays is made there, so that the host does not have to wait for the condition.

    Examples
    --------
    >>> choose(np.array(2.0) > 1, "yes", "no")
    'yes'
    """
    if isinstance(condition, bool) or is_host(condition):
        return yes if condition else no
    return namespace(condition).where(condition, yes, no)


def clip(x: Array, low: Any = None, high: Any = None) -> Array:
    """``x`` between ``low`` and ``high``, in the library of ``x``; quick for a single number on the host.

    Examples
    --------
    >>> float(clip(np.float64(7.0), 0.0, 5.0)), float(clip(np.float64(7.0), 0.0))
    (5.0, 7.0)
    """
    if not is_host(x):
        return namespace(x).clip(x, low, high)
    x = x if low is None else np.maximum(x, low)
    return x if high is None else np.minimum(x, high)


def digamma(x: Array) -> Array:
    """Derivative of the logarithm of the gamma function, in the library of ``x``."""
    return _special(x).digamma(x)


def gammaln(x: Array) -> Array:
    """Logarithm of the gamma function, in the library of ``x``."""
    return _special(x).gammaln(x)


def expit(x: Array) -> Array:
    """``1 / (1 + exp(-x))``, in the library of ``x``."""
    return _special(x).expit(x)


def _special(x: Array) -> Any:
    if array_api_compat.is_torch_array(x):
        import torch

        return torch.special
    if array_api_compat.is_cupy_array(x):
        import cupyx.scipy.special

        return cupyx.scipy.special
    return scipy.special


def normal_like(rng: np.random.Generator, shape: tuple[int, ...], like: Array) -> Array:
    """Standard normal draws in the library and on the device of ``like``.

    They are drawn on the host, so that a seed gives the same numbers on every device.
    """
    return to_like(rng.standard_normal(shape), like)


def names_of_rows(X: Any) -> Any:
    """The index of a pandas frame as an array, unless it only counts; None for anything else.

    Examples
    --------
    >>> import pandas as pd
    >>> names_of_rows(pd.DataFrame({"x": [1.0, 2.0]}, index=["a", "b"])).tolist()
    ['a', 'b']
    >>> names_of_rows(pd.DataFrame({"x": [1.0, 2.0]}))
    """
    index = getattr(X, "index", None)
    return None if index is None or callable(index) or type(index).__name__ == "RangeIndex" else np.asarray(index)
