"""Hot loops. This is the only place that chooses between the plain, the compiled and the fused form.

``reference`` is the specification, in any array library; ``compiled`` has the same names and arguments in numba for
numpy arrays, ``fused_crowd`` and ``fused_nmd`` what is worth it in Triton for CUDA tensors. All are imported at the
first use, so that importing rectifact loads neither numba nor torch.
"""

from importlib.util import find_spec
from types import ModuleType

import array_api_compat
import numpy as np
import scipy.sparse as sp

from rectifact.core.arrays import Array, is_host
from rectifact.core.rectify import relu
from rectifact.core.sparse import dense_rows
from rectifact.kernels import reference

__all__ = [
    "column_sums",
    "crowd_counts",
    "crowd_posteriors",
    "hals_sweep",
    "nmd_e_step",
    "nmd_fused",
    "nmd_nearest",
    "nmd_newton",
    "relu_columns",
    "sparse_times",
]

MOST_FUSED_RANK = 128
"""Ranks up to which tiles of the factors fit on the chip."""


def column_sums(P: Array) -> Array:
    """Sums of the columns of a tall array; see :func:`rectifact.kernels.reference.column_sums`.

    Examples
    --------
    >>> column_sums(np.array([[1.0, 2.0], [3.0, 4.0]]))
    array([4., 6.])
    """
    return _form(P).column_sums(P)


def crowd_posteriors(
    indptr: Array, cells: Array, weights: Array, log_priors: Array, log_confusions: Array, known: Array | None
) -> tuple[Array, Array]:
    """E-step of Dawid-Skene; see :func:`rectifact.kernels.reference.crowd_posteriors`."""
    form = _crowd_form(log_confusions)
    return form.crowd_posteriors(indptr, cells, weights, log_priors, log_confusions, known)


def crowd_counts(indptr: Array, cells: Array, weights: Array, posteriors: Array, n_cells: int) -> Array:
    """M-step of Dawid-Skene; see :func:`rectifact.kernels.reference.crowd_counts`."""
    return _crowd_form(posteriors).crowd_counts(indptr, cells, weights, posteriors, n_cells)


def hals_sweep(U: Array, G: Array, B: Array) -> Array:
    """One sweep of hierarchical alternating least squares over the columns of ``U``, in place.

    See :func:`rectifact.kernels.reference.hals_sweep`.

    Examples
    --------
    >>> import numpy as np
    >>> hals_sweep(np.zeros((1, 2)), np.eye(2), np.array([[1.0, -1.0]]))
    array([[1., 0.]])
    """
    return _form(U).hals_sweep(U, G, B)


def sparse_times(X: Array, U: Array) -> Array:
    """Product of a sparse matrix with a dense one; see :func:`rectifact.kernels.reference.sparse_times`.

    Examples
    --------
    >>> sparse_times(sp.eye_array(2, format="csr"), np.array([[1.0], [2.0]]))
    array([[1.],
           [2.]])
    """
    return (_form(U) if sp.issparse(X) else reference).sparse_times(X, U)


def nmd_e_step(X: Array, rows: slice, theta: Array, sigma: float, binary: bool, z: Array) -> tuple[Array, Array]:
    """E-step of NMD on a range of rows; see :func:`rectifact.kernels.reference.nmd_e_step`."""
    if not sp.issparse(X):
        return reference.nmd_e_step(dense_rows(X, rows), theta, sigma, binary)
    from rectifact.kernels import compiled_nmd

    indptr = X.indptr[rows.start : rows.stop + 1]
    return z, np.array(compiled_nmd.nmd_e_step(indptr, X.indices, X.data, theta, sigma, binary, z))


def nmd_fused(X: Array, B: Array) -> ModuleType | None:
    """The module with fused products of an NMD sweep, where it serves: single precision on a CUDA device, rank to 128.

    None elsewhere, and where Triton is not installed.
    """
    if not _serves_triton(X) or str(X.dtype) != "torch.float32" or B.shape[0] > MOST_FUSED_RANK:
        return None
    from rectifact.kernels import fused_nmd

    return fused_nmd


def nmd_nearest(X: Array, rows: slice, theta: Array, z: Array) -> tuple[Array, Array]:
    """Nearest latent matrix on a range of rows; see :func:`rectifact.kernels.reference.nmd_nearest`."""
    if not sp.issparse(X):
        return reference.nmd_nearest(dense_rows(X, rows), theta)
    from rectifact.kernels import compiled_nmd

    indptr = X.indptr[rows.start : rows.stop + 1]
    return z, np.array(compiled_nmd.nmd_nearest(indptr, X.indices, X.data, theta, z))


def nmd_newton(X: Array, B: Array, sigma: float, binary: bool, A: Array, n_jobs: int = 1) -> tuple[Array, Array]:
    """Embedding of rows by Newton's method, from A and in place; see :func:`rectifact.kernels.reference.nmd_newton`."""
    if not sp.issparse(X):
        return reference.nmd_newton(X, B, sigma, binary, A)
    from rectifact.kernels import compiled_newton

    return compiled_newton.nmd_newton(X.indptr, X.indices, X.data, B, sigma, binary, A, n_jobs)


def relu_columns(Z: Array, thresholds: Array) -> Array:
    """:func:`rectifact.core.rectify.relu` with a threshold for each column.

    Examples
    --------
    >>> relu_columns(np.array([[1.0, 2.0], [3.0, 0.5]]), np.array([2.0, 1.0]))
    array([[0., 2.],
           [3., 0.]])
    """
    if not _serves_triton(Z):
        return relu(Z, thresholds)
    from rectifact.kernels import fused_parts

    return fused_parts.relu_columns(Z, thresholds)


def _serves_triton(array: Array) -> bool:
    """Whether it is a dense tensor on a CUDA device, and Triton is installed."""
    on_device = array_api_compat.is_torch_array(array) and array.is_cuda and str(array.layout) == "torch.strided"
    return bool(on_device) and find_spec("triton") is not None


def _form(array: Array) -> ModuleType:
    if not is_host(array):
        return reference
    from rectifact.kernels import compiled

    return compiled


def _crowd_form(array: Array) -> ModuleType:
    """Compiled on the host, fused on a CUDA device; the plain form is for numpy alone."""
    if is_host(array):
        return _form(array)
    from rectifact.kernels import fused_crowd

    return fused_crowd
