"""Similarities and memberships of any library as torch tensors, and back; for SymNMF-Net."""

import array_api_compat
import torch

from rectifact.core.arrays import Array, namespace
from rectifact.core.device_csr import DeviceCSR
from rectifact.core.sparse import is_sparse


def home_of(array: Array) -> str:
    """Where torch finds an array of any library: the name of a device."""
    if array_api_compat.is_cupy_array(array):
        return f"cuda:{array.device.id}"
    return str(array.device) if torch.is_tensor(array) else "cpu"


def to_torch(S: Array, device: str, dtype: torch.dtype = torch.float32, unit: float = 1.0) -> torch.Tensor:
    """Similarities of any library, divided by ``unit``, as a tensor: sparse ones in CSR, dense ones dense."""
    if not is_sparse(S):
        return (torch.from_dlpack(S) / unit).to(device, dtype)
    data, indices, indptr = (torch.from_dlpack(part) for part in (S.data, S.indices, S.indptr))
    index = torch.int32 if len(data) < 2**31 else torch.int64  # the faster one
    return DeviceCSR(
        (data / unit).to(device, dtype), indices.to(device, index), indptr.to(device, index), S.shape
    ).native


def to_tensor(U: Array, like: torch.Tensor) -> torch.Tensor:
    """An array of any library as a tensor of the type and on the device of another."""
    return torch.from_dlpack(U).to(like.device, like.dtype)


def back(U: torch.Tensor, like: Array) -> Array:
    """A tensor as an array of the library and type of ``like``, on its device."""
    xp = namespace(like)
    return xp.astype(xp.from_dlpack(U.detach().to(home_of(like)).contiguous()), like.dtype)
