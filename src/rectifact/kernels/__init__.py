"""Hot loops. This is the only place that chooses between their forms.

``reference`` is the specification, in plain array code. The ``compiled`` modules do the same in numba, for numpy arrays
and the arrays of a CSR matrix; the ``fused`` ones in Triton, for CUDA tensors, where that pays. The sweep of NMD has
two forms of its own: ``tiled_nmd`` for all data, and ``fused_nmd`` for CUDA tensors. ``truncated`` (moments of
Gaussians) and ``capture`` (CUDA graphs) are helpers. Compiled, tiled and fused modules are imported at first use, so
that importing rectifact loads neither numba nor torch.
"""

from collections.abc import Callable
from importlib.util import find_spec
from types import ModuleType
from typing import Any

import array_api_compat
import numpy as np
import scipy.sparse as sp

from rectifact.core.arrays import Array, is_host, namespace
from rectifact.core.operand import Operand
from rectifact.core.rectify import relu
from rectifact.core.sparse import dense_rows
from rectifact.kernels import reference, reference_climb, reference_parts
from rectifact.kernels.penalty import Penalty

MOST_FUSED_RANK = 128
"""Ranks up to which tiles of the factors fit on the chip."""

MOST_NET_RANK = 64
"""Ranks up to which a tile of rows of SymNMF-Net fits into registers."""


def column_sums(P: Array) -> Array:
    """Sums of the columns of a tall array; see :func:`rectifact.kernels.reference.column_sums`.

    Examples
    --------
    >>> column_sums(np.array([[1.0, 2.0], [3.0, 4.0]]))
    array([4., 6.])
    """
    return _form(P).column_sums(P)


def crowd_posteriors(
    indptr: Array,
    cells: Array,
    weights: Array,
    log_priors: Array,
    log_confusions: Array,
    known: Array | None,
    n_subtypes: int = 1,
) -> tuple[Array, Array]:
    """E-step of Dawid-Skene; see :func:`rectifact.kernels.reference.crowd_posteriors`."""
    form = _crowd_form(log_confusions)
    return form.crowd_posteriors(indptr, cells, weights, log_priors, log_confusions, known, n_subtypes)


def crowd_sweep(
    indptr: Array,
    cells: Array,
    weights: Array,
    log_priors: Array,
    log_confusions: Array,
    known: Array | None,
    n_subtypes: int = 1,
) -> tuple[Array, Array, Array, Array]:
    """E-step of Dawid-Skene and the sums of the M-step; all in one pass on a device.

    Examples
    --------
    >>> B = sp.csr_array(np.array([[1.0, 0.0], [0.0, 1.0]]))  # one worker, two tasks
    >>> logs = np.log([[0.9, 0.2], [0.1, 0.8]])
    >>> _, counts, classes, _ = crowd_sweep(B.indptr, B.indices, B.data, np.log([0.5, 0.5]), logs, None)
    >>> counts.round(2), classes.round(2)
    (array([[0.82, 0.18],
           [0.11, 0.89]]), array([0.93, 1.07]))
    """
    given = indptr, cells, weights, log_priors, log_confusions, known, n_subtypes
    if not is_host(log_confusions):
        return _crowd_form(log_confusions).crowd_sweep(*given)
    posteriors, evidence = crowd_posteriors(*given)
    return posteriors, crowd_counts(*given[:3], posteriors, len(log_confusions)), column_sums(posteriors), evidence


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


def nmd_form(X: Operand, rank: int, objective: str) -> ModuleType:
    """The module with the sweep of NMD that suits the data.

    ``fused_nmd`` for the likelihood of dense single-precision data on a CUDA device with Triton, up to rank 128, and
    ``tiled_nmd`` for everything else.
    """
    fits = objective == "likelihood" and rank <= MOST_FUSED_RANK
    if fits and _serves_triton(X.data) and str(X.dtype) == "torch.float32":
        from rectifact.kernels import fused_nmd

        return fused_nmd
    from rectifact.kernels import tiled_nmd

    return tiled_nmd


def nmd_sweep(
    X: Operand,
    A: Array,
    B: Array,
    sigma: Any,
    link: str,
    objective: str,
    missing: bool,
    n_jobs: int = 1,
    penalty: Penalty | None = None,
) -> tuple[Array, Array, Array]:
    """One sweep of NMD: new A, new B and the objective; see :func:`rectifact.kernels.tiled_nmd.nmd_sweep`."""
    form = nmd_form(X, B.shape[0], objective)
    return form.nmd_sweep(X, A, B, sigma, link, objective, missing, n_jobs, penalty)


def climb_on(after: Array, *rest: Any) -> tuple[Array, Array, Array]:
    """A factor of a climb, one sweep further; see :func:`rectifact.kernels.reference_climb.climb_on`.

    Examples
    --------
    >>> climb_on(np.array([3.0]), np.array([1.0]), np.array([2.0]), np.array([0.0]), 0.5, True, False)
    (array([4.]), array([2.]), array([3.]))
    """
    return _climb_form(after).climb_on(after, *rest)


def climb_choices(objective: Any, *rest: Any, **limits: float) -> reference_climb.Choices:
    """How a climb goes on; see :func:`rectifact.kernels.reference_climb.climb_choices`."""
    return _climb_form(objective).climb_choices(objective, *rest, **limits)


def newton_step(log_sigma: Any, first: Any, second: Any, floor: float) -> Any:
    """The next log sigma; see :func:`rectifact.kernels.reference_climb.newton_step`.

    Examples
    --------
    >>> float(newton_step(0.0, np.float64(3.0), np.float64(-10.0), -1.0))
    0.3
    """
    return _climb_form(log_sigma).newton_step(log_sigma, first, second, floor)


def nmd_curvatures(X: Array, A: Array, B: Array, sigma: Any, link: str) -> tuple[Array, Array, Array]:
    """What priors are learnt from; see :func:`rectifact.kernels.tiled_nmd.curvatures`."""
    from rectifact.kernels import tiled_nmd

    return tiled_nmd.curvatures(X, A, B, sigma, link)


def nmd_repeated(step: Callable[[Any], Any], X: Operand, rank: int, objective: str) -> Callable[[Any], Any]:
    """``step``, a function of a loop's state around :func:`nmd_sweep`, in the form that is fastest to call repeatedly.

    See :func:`rectifact.kernels.capture.repeated` for what it may rely on.
    """
    return nmd_form(X, rank, objective).repeated(step)


def nmd_e_step(X: Array, rows: slice, theta: Array, sigma: Any, binary: bool, z: Array) -> tuple[Array, Array]:
    """E-step of NMD on a range of rows; see :func:`rectifact.kernels.reference.nmd_e_step`.

    ``z`` is scratch memory of the shape of ``theta``, which the result may use.
    """
    if not sp.issparse(X):
        return reference.nmd_e_step(dense_rows(X, rows), theta, sigma, binary)
    from rectifact.kernels import compiled_nmd

    indptr = X.indptr[rows.start : rows.stop + 1]
    return z, np.array(compiled_nmd.nmd_e_step(indptr, X.indices, X.data, theta, sigma, binary, z))


def nmd_nearest(X: Array, rows: slice, theta: Array, z: Array) -> tuple[Array, Array]:
    """Nearest latent matrix on a range of rows; see :func:`rectifact.kernels.reference.nmd_nearest`."""
    if not sp.issparse(X):
        return reference.nmd_nearest(dense_rows(X, rows), theta)
    from rectifact.kernels import compiled_nmd

    indptr = X.indptr[rows.start : rows.stop + 1]
    return z, np.array(compiled_nmd.nmd_nearest(indptr, X.indices, X.data, theta, z))


def nmd_newton(
    X: Array,
    B: Array,
    sigma: float,
    binary: bool,
    A: Array,
    n_jobs: int = 1,
    mean: Array | None = None,
    precision: Array | None = None,
) -> tuple[Array, Array]:
    """Embedding of rows by Newton's method, from A and in place; see :func:`rectifact.kernels.reference.nmd_newton`."""
    mean = namespace(B).zeros_like(B[:, 0]) if mean is None else mean
    precision = namespace(B).zeros_like(B @ B.T) if precision is None else precision
    if sp.issparse(X):
        from rectifact.kernels import compiled_newton

        return compiled_newton.nmd_newton(X.indptr, X.indices, X.data, B, sigma, binary, A, mean, precision, n_jobs)
    from rectifact.kernels.tiled_nmd import tiles

    ranges = tiles(X, B.itemsize)
    found = [reference.nmd_newton(dense_rows(X, rows), B, sigma, binary, A[rows], mean, precision) for rows in ranges]
    likelihoods, steps = (namespace(B).concat(parts) for parts in zip(*found, strict=True))
    return likelihoods, steps


def poisson_sweep(
    X: Array, W: Array, H: Array, n_inner: int = 1, n_fixed: int = 0, missing: bool = False
) -> tuple[Array, Array, Any]:
    """Weights of a Poisson factorisation, updated; see :func:`rectifact.kernels.reference_parts.poisson_sweep`.

    Examples
    --------
    >>> W, counts, loss = poisson_sweep(sp.csr_array([[3.0, 1.0]]), np.ones((1, 1)), np.array([[0.5, 0.5]]))
    >>> W, counts
    (array([[4.]]), array([[6., 2.]]))
    """
    if not sp.issparse(X):
        return reference_parts.poisson_sweep(X, W, H, n_inner, n_fixed, missing)
    from rectifact.kernels import compiled_parts

    return compiled_parts.poisson_sweep(X, W, H, n_inner, n_fixed)


def poisson_information(X: Array, W: Array, H: Array) -> Array:
    """Curvature of the Poisson likelihood; see :func:`rectifact.kernels.reference_parts.poisson_information`.

    Examples
    --------
    >>> poisson_information(np.array([[4.0]]), np.array([[4.0]]), np.array([[1.0]]))  # the inverse of the variance
    array([[0.25]])
    """
    return reference_parts.poisson_information(X, W, H)


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


def net_is_fused(X: Array, rank: int) -> bool:
    """Whether ``fused_net`` serves a graph: single precision, sparse, on a CUDA device with Triton, up to rank 64."""
    sparse = str(X.layout) == "torch.sparse_csr" and str(X.dtype) == "torch.float32"
    return bool(X.is_cuda) and sparse and rank <= MOST_NET_RANK and find_spec("triton") is not None


def _serves_triton(array: Array) -> bool:
    """Whether it is a dense tensor on a CUDA device, and Triton is installed."""
    on_device = array_api_compat.is_torch_array(array) and array.is_cuda and str(array.layout) == "torch.strided"
    return bool(on_device) and find_spec("triton") is not None


def _climb_form(array: Any) -> ModuleType:
    if not _serves_triton(array):
        return reference_climb
    from rectifact.kernels import fused_climb

    return fused_climb


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
