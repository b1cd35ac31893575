"""Answers on a CUDA device: coded on the host, copied once, fitted there in single precision."""

from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rectifact.core.device_csr import DeviceCSR
from rectifact.core.errors import InputError, install
from rectifact.core.operand import Operand, operand


def answers_on(B: Operand, device: str) -> Operand:
    """The answers on a device; where all weights are 1, one number there stands for all of them."""
    host = B.data
    weights = tensor(np.ones(1), device).expand(host.nnz) if (host.data == 1).all() else tensor(host.data, device)
    return operand(DeviceCSR(weights, tensor(host.indices, device), tensor(host.indptr, device), host.shape))


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
        raise InputError(
            f"device={device!r} needs torch with Triton.",
            f"Install it from a clone of rectifact: {install('torch')}; or use device='cpu'.",
            option="device=",
        )
    import torch

    if not device.startswith("cuda") or not torch.cuda.is_available():
        raise InputError(
            f"device={device!r} cannot be used: there is no such CUDA device.", "Use device='cpu'.", option="device="
        )
