"""Answers on a CUDA device: coded on the host, copied once, fitted there in single precision."""

from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from rectifact.core.errors import InputError

__all__ = ["DeviceAnswers", "check_device", "tensor"]


class DeviceAnswers(NamedTuple):
    """The matrix B as tensors: the parts of a CSR array, and its shape; ``data`` of None are all 1."""

    indptr: Any
    indices: Any
    data: Any
    shape: tuple[int, int]

    @classmethod
    def of(cls, B: sp.csr_array, device: str) -> "DeviceAnswers":
        """Copy ``B`` to the device."""
        data = None if (B.data == 1).all() else tensor(B.data, device)
        return cls(tensor(B.indptr, device), tensor(B.indices, device), data, B.shape)


def tensor(values: NDArray[Any], device: str) -> Any:
    """A numpy array on a device, numbers with a fraction in single precision."""
    import torch

    made = torch.from_numpy(np.ascontiguousarray(values))
    return made.to(device, torch.float32) if made.is_floating_point() else made.to(device)


def check_device(device: str) -> None:
    """Refuse a device that is not there, before the work."""
    if device == "cpu":
        return
    if find_spec("torch") is None or find_spec("triton") is None:
        raise InputError(f"device={device!r} needs torch with Triton: pip install 'rectifact[torch]', or device='cpu'.")
    import torch

    if not device.startswith("cuda") or not torch.cuda.is_available():
        raise InputError(f"device={device!r} cannot be used: there is no such CUDA device. Use device='cpu'.")
