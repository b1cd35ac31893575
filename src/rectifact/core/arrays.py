"""Which library an array belongs to, where it lives, and how to move it; every algorithm asks here."""

from typing import Any

import array_api_compat
import numpy as np
import scipy.sparse as sp
import scipy.special
from numpy.typing import NDArray

from rectifact.core.sparse import DeviceCSR, Shifted

__all__ = [
    "Array",
    "device",
    "digamma",
    "eps",
    "expit",
    "gammaln",
    "is_host",
    "namespace",
    "normal_like",
    "to_host",
    "to_like",
]

Array = Any
"""An array of any library that speaks the array API standard: numpy, torch, cupy; sparse where it says so."""


def namespace(*arrays: Array) -> Any:
    """Array API namespace shared by ``arrays``; scipy sparse matrices belong to numpy, others to their library.

    Examples
    --------
    >>> import numpy as np
    >>> namespace(np.ones(3)).__name__
    'array_api_compat.numpy'
    """
    return array_api_compat.array_namespace(*(_dense(a) for a in arrays))


def _dense(array: Array) -> Array:
    """An array of the library of ``array``, which may be sparse."""
    if isinstance(array, DeviceCSR | Shifted):
        return array.data
    return np.empty(0) if sp.issparse(array) else array


def is_host(array: Array) -> bool:
    """Whether ``array`` is a numpy array or a scipy sparse one, so that compiled host kernels apply."""
    return bool(sp.issparse(array) or array_api_compat.is_numpy_array(array))


def device(array: Array) -> Any:
    """Device that holds ``array``; ``"cpu"`` for numpy and scipy sparse."""
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
    """Copy ``array`` to numpy, or to scipy if it is sparse, where it lives elsewhere; else it comes back as it is."""
    if isinstance(array, DeviceCSR):
        return array.to_scipy()
    if sp.issparse(array):
        return array
    if array_api_compat.is_cupy_array(array):
        return array.get()
    if array_api_compat.is_torch_array(array):
        return array.detach().cpu().numpy()
    return np.asarray(array)


def to_like(values: NDArray[Any], like: Array) -> Array:
    """``values`` as an array of the library, floating type and device of ``like``."""
    return namespace(like).asarray(values, dtype=like.dtype, device=device(like))


def digamma(x: Array) -> Array:
    """Derivative of the logarithm of the gamma function, in the library of ``x``: numpy, torch or cupy."""
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

    They are drawn on the host, so that one seed gives the same numbers on every device.
    """
    return to_like(rng.standard_normal(shape), like)
