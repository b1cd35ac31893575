"""Input validation: data and parameters. Private helpers of scikit-learn are imported here only."""

import warnings
from collections.abc import Callable, Sequence
from numbers import Integral, Real
from os import PathLike
from typing import Any

import array_api_compat
import narwhals as nw
import numpy as np
import scipy.sparse as sp
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval as Interval
from sklearn.utils._param_validation import StrOptions as StrOptions
from sklearn.utils.validation import _check_n_features, validate_data

from rectifact.core.arrays import Array, device, is_host, namespace, to_host
from rectifact.core.device_csr import canonical_csr, is_native_sparse
from rectifact.core.errors import FitWarning, InputError, InputTypeError
from rectifact.core.id_columns import about_identifiers
from rectifact.core.operand import is_chunked, operand
from rectifact.core.sparse import entries, is_sparse
from rectifact.core.text_columns import remedy_for_text

fit_context = _fit_context

RUN_CONSTRAINTS: dict[str, Any] = {
    "max_iter": [Interval(Integral, 1, None, closed="left")],
    "tol": [Interval(Real, 0, None, closed="left")],
    "random_state": ["random_state"],
    "verbose": ["verbose"],
    "callbacks": ["array-like", None],
    "checkpoint": [str, PathLike, None],
    "resume": ["boolean"],
}
"""Constraints of the parameters that every iterating estimator has."""


NOT_FINITE = (
    "NaN or infinity in X",
    "Fill it in, for example with SimpleImputer, or drop the row; missing=np.nan of NMD or ANDNMF takes it as missing.",
    "Fill it in, or drop the row; missing=True takes it as missing.",
)
NEGATIVE = (
    "Negative values in data",
    "Clip them with X.clip(0) if they are noise, or shift the data.",
    "Set them to 0 if they are noise, or shift the data.",
)


def check_generator(random_state: Any) -> np.random.Generator:
    """A generator from whatever scikit-learn users pass as ``random_state``."""
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31, size=4))
    return np.random.default_rng(random_state)


def check_option(name: str, value: Any, choices: Sequence[Any]) -> None:
    """Refuse a value that is not one of the choices."""
    if value not in choices:
        what = f"{name}={value!r} is unknown; choose one of {', '.join(map(repr, choices))}."
        raise InputError(what, option=f"{name}=")


def check_at_least(least: int, **values: Any) -> None:
    """Refuse a size that is not a whole number, or too small."""
    for name, value in values.items():
        if not isinstance(value, Integral) or value < least:
            raise InputError(f"{name}={value!r} must be a whole number of at least {least}.", option=f"{name}=")


def check_positive(**values: Any) -> None:
    """Refuse a value that is given and is not a positive number."""
    for name, value in values.items():
        if value is not None and not (isinstance(value, Real) and 0 < float(value) < float("inf")):
            raise InputError(f"{name}={value!r} must be a positive number.", option=f"{name}=")


def check_matrix(
    estimator: Any,
    X: Any,
    *,
    reset: bool = True,
    nonnegative: bool = False,
    allow_nan: bool = False,
    sparse_chunks: bool = False,
) -> Array:
    """Check a matrix once, and return it in the form that :func:`rectifact.core.operand.operand` takes.

    Numpy arrays, lists and pandas or polars frames become a numpy array; every scipy sparse format becomes a canonical
    ``csr_array``; torch and cupy arrays stay where they are, and sparse ones become a
    :class:`rectifact.core.device_csr.DeviceCSR` there. float32 and float64 are kept; other numbers become float64 on
    the host, and integers float32 on a GPU. The input is never changed.

    A Dask array stays lazy. In ``fit`` its entries are checked in one computation; later they are checked when they
    are computed, and an error is raised then.

    Parameters
    ----------
    estimator : estimator
        Gets ``n_features_in_`` and ``feature_names_in_``.
    X : matrix of shape (n_samples, n_features)
    reset : bool, default True
        Whether this is ``fit``, which sets the features, or a later call, which compares them.
    nonnegative : bool, default False
        Whether negative entries are refused.
    allow_nan : bool, default False
        Whether NaN stands for a missing entry.
    sparse_chunks : bool, default False
        Whether sparse chunks of a Dask array may stay sparse; otherwise they are made dense one by one.

    Returns
    -------
    array, csr_array, DeviceCSR or Dask array

    Raises
    ------
    InputError
        Says what is wrong, where, and what to do.
    """
    if is_chunked(X):
        X = _check_chunks(estimator, X, reset, sparse_chunks)
        if not reset:
            return _map_chunks(X, _refuse_chunk, nonnegative, allow_nan)
    else:
        X = (_check_device_array if _is_on_device(X) else _check_host_matrix)(estimator, X, reset)
    sizes = X.chunks[0] if is_chunked(X) else (X.shape[0],)
    _refuse(operand(X).total(_faults, nonnegative, allow_nan), sizes)
    return X


def _is_on_device(X: Any) -> bool:
    """Whether X is an array of torch or cupy, dense or sparse."""
    return not is_host(X) and (array_api_compat.is_array_api_obj(X) or is_native_sparse(X))


def _check_host_matrix(estimator: Any, X: Any, reset: bool) -> Array:
    if isinstance(X, str | PathLike):
        raise InputError(
            f"X is the name {str(X)!r} of a file, and not a matrix.",
            "Read it first, for example with pandas.read_csv or scipy.sparse.load_npz.",
        )
    try:
        shape = X.shape if hasattr(X, "shape") else np.asarray(X).shape
    except ValueError as error:
        raise InputError("X is not a matrix: its rows differ in length.", "Make them equally long.") from error
    if len(shape) == 1 and all(isinstance(one, str) for one in X):
        what = "X is a list of texts, and not a matrix of numbers, samples by features."
        raise InputError(what, "Count their words first, with rectifact.parts.documents.count_words(X).X.")
    if len(shape) != 2:
        got = f"shape {tuple(shape)}" if shape else type(X).__name__
        raise InputError(
            f"X must be two-dimensional, samples by features; got {got}.",
            "Reshape your data: X.reshape(-1, 1) for a single feature, X.reshape(1, -1) for a single sample.",
        )
    check_not_empty(shape)
    if reset and (named := about_identifiers(X))[0]:
        warnings.warn(FitWarning(*named), stacklevel=5)
    options = {"accept_sparse": "csr", "dtype": ["float64", "float32"], "ensure_all_finite": False}
    try:
        with warnings.catch_warnings():
            if hasattr(estimator, "_features"):  # names from a file: matrices without names are as good
                warnings.filterwarnings("ignore", "X does not have valid feature names")
            checked = validate_data(estimator, X, reset=reset, **options)
    except TypeError as error:
        raise InputTypeError(f"X cannot be read as a matrix of numbers: {error}.") from error
    except (ValueError, OverflowError) as error:
        if "feature names should match" in str(error):
            remedy = "Use X.reindex(columns=model.feature_names_in_), and see which are missing."
            raise InputError("The columns of X are not those of the fit, in the same order.", remedy) from error
        if "could not convert" not in str(error):
            raise InputError(str(error)) from error
        raise InputError(f"{error}. X holds text where numbers are expected.", remedy_for_text(X)) from error
    if sp.issparse(checked):
        return canonical(checked)
    single = nw.dependencies.is_into_dataframe(X) and {*nw.from_native(X).schema.values()} == {nw.Float32()}
    return checked.astype(np.float32) if single else checked  # scikit-learn widens frames of other libraries


def check_alike(fitted: Array, X: Array) -> None:
    """Refuse data of another array library, or of another precision on a device, than that of the fit."""
    if is_chunked(X) and is_host(fitted):
        return  # its chunks are numpy arrays
    if is_host(X) != is_host(fitted) or (not is_host(X) and (X.dtype != fitted.dtype or X.device != fitted.device)):
        raise InputError(
            f"The model was fitted on {type(fitted).__name__} of {fitted.dtype}; X is {type(X).__name__} of {X.dtype}.",
            "Convert X, or fit again.",
        )


def check_factor(name: str, X: Any, fitted: Array) -> Array:
    """Weights or an embedding given by the user, as an array that can be multiplied with the parts ``fitted``."""
    try:
        on_device = _is_on_device(X) and not is_native_sparse(X)
        A = X if on_device else np.asarray(X, dtype=fitted.dtype)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} is not a matrix of numbers: {error}.") from error
    if len(A.shape) != 2 or A.shape[1] != fitted.shape[0]:
        raise InputError(f"{name} needs the shape (n_samples, {fitted.shape[0]}); got {tuple(A.shape)}.")
    check_alike(fitted, A)
    return A


def check_not_empty(shape: tuple[int, ...]) -> None:
    """Refuse a matrix without rows or columns, in the words that scikit-learn's estimator checks expect."""
    for size, what in zip(shape, ("sample", "feature"), strict=True):
        if size == 0:
            raise InputError(
                f"The data has 0 {what}(s) (shape={tuple(shape)}) while a minimum of 1 is required.",
                "Check the file, or the filter that made it.",
            )


def canonical(checked: Any) -> sp.csr_array:
    """A sparse matrix as a CSR array with sorted, distinct indices; the input is never changed."""
    csr = sp.csr_array(checked)
    if not csr.has_canonical_format:
        csr = csr.copy()  # it may share memory with the caller's matrix
        csr.sum_duplicates()
    return csr


def _check_device_array(estimator: Any, X: Array, reset: bool) -> Array:
    if len(X.shape) != 2 or 0 in tuple(X.shape):
        raise InputError(f"X must be two-dimensional and not empty, samples by features; got shape {tuple(X.shape)}.")
    if is_native_sparse(X):
        X = _checked_csr(X)
    else:
        X = X.detach() if getattr(X, "requires_grad", False) else X
        wanted = _floating_type(X)
        X = X if X.dtype == wanted else namespace(X).astype(X, wanted)
    _check_features(estimator, X, reset)
    return X


def _checked_csr(X: Any) -> Array:
    if str(getattr(X, "layout", "")) in ("torch.sparse_bsr", "torch.sparse_bsc"):
        raise InputTypeError(f"X is a tensor of layout {X.layout}, which is not supported.", "Give X.to_sparse_csr().")
    wanted = _floating_type(X)
    try:
        return canonical_csr(X, wanted)
    except (RuntimeError, ValueError) as error:
        raise InputError(
            f"The indices of the sparse matrix X cannot be used: {str(error).splitlines()[0]}",
            "Sort them in each row, and sum duplicates.",
        ) from error


def _floating_type(X: Any) -> Any:
    """float32 and float64 as they are; for integers float64 on a CPU, and float32 elsewhere, where it is faster."""
    like = X if array_api_compat.is_array_api_obj(X) else X.data
    xp = namespace(like)
    if X.dtype in (xp.float32, xp.float64):
        return X.dtype
    if not xp.isdtype(X.dtype, ("bool", "integral")):
        raise InputError(
            f"X must hold float32 or float64 numbers; got {X.dtype}.", "Convert it first, for example with X.float()."
        )
    return xp.float64 if str(device(like)).startswith("cpu") else xp.float32


def _check_features(estimator: Any, X: Array, reset: bool) -> None:
    """Set or compare the number of features of an array that scikit-learn does not know."""
    try:
        _check_n_features(estimator, X, reset=reset)
        if reset and hasattr(estimator, "feature_names_in_"):
            del estimator.feature_names_in_  # of an earlier fit; such arrays have none
    except ValueError as error:
        raise InputError(str(error)) from error


def _check_chunks(estimator: Any, X: Array, reset: bool, sparse_chunks: bool) -> Array:
    """Chunks of whole rows and floating-point numbers, none of them empty."""
    if X.ndim != 2:
        raise InputError(f"X must be two-dimensional, samples by features; got shape {tuple(X.shape)}.", "Reshape it.")
    if any(np.isnan(size) for size in X.shape):
        raise InputError("X has chunks of unknown sizes.", "Call X.compute_chunk_sizes() first.")
    check_not_empty(X.shape)
    if X.numblocks[1] > 1:
        raise InputError(
            f"X has {X.numblocks[1]} chunks of columns, and chunks must hold whole rows.",
            'Give X.rechunk({0: "auto", 1: -1}).',
        )
    if X.dtype.kind not in "biuf":
        raise InputError(f"X must hold real numbers; got {X.dtype}.", "Convert it first: X.astype(float).")
    _check_features(estimator, X, reset)
    dtype = X.dtype if X.dtype in (np.float32, np.float64) else np.dtype(np.float64)
    if 0 in X.chunks[0]:
        X = X.rechunk({0: tuple(size for size in X.chunks[0] if size)})  # an empty chunk has no largest entry
    return _map_chunks(X.astype(dtype), _floats, dtype, sparse_chunks)


def _map_chunks(X: Array, function: Callable[..., Any], *small: Any) -> Array:
    return X.map_blocks(function, *small, dtype=X.dtype, meta=np.empty((0, 0), dtype=X.dtype))


def _floats(chunk: Any, dtype: Any, sparse_chunks: bool) -> Any:
    if sp.issparse(chunk):
        return canonical(chunk.astype(dtype)) if sparse_chunks else chunk.toarray().astype(dtype, copy=False)
    return np.asarray(chunk, dtype=dtype)


def _refuse_chunk(chunk: Any, nonnegative: bool, allow_nan: bool, block_info: Any = None) -> Any:
    """The chunk as it is, unless something is wrong with it."""
    _refuse(_faults(chunk, nonnegative, allow_nan), start=block_info[0]["array-location"][0][0])
    return chunk


Fault = tuple[int, float, int, int] | None
"""Number of wrong entries, and the value, row and column of the first."""


def _faults(rows: Array, nonnegative: bool, allow_nan: bool) -> list[tuple[Fault, Fault]]:
    """Entries that are not finite, and those that are negative; a list, so that chunks add up to one in their order."""
    values = entries(rows)
    xp = namespace(values)
    good = xp.isfinite(values)
    if allow_nan:
        good = good | xp.isnan(values)
    not_finite = None if xp.all(good) else _first(rows, ~good)
    negative = _first(rows, values < 0) if nonnegative and xp.any(values < 0) else None
    return [(not_finite, negative)]


def _first(X: Array, bad: Array) -> tuple[int, float, int, int]:
    X, bad = to_host(X) if is_sparse(X) else X, to_host(bad)
    place = int(np.flatnonzero(bad)[0])
    if is_sparse(X):
        row, column = int(np.searchsorted(X.indptr, place, side="right")) - 1, int(X.indices[place])
    else:
        row, column = divmod(place, X.shape[1])
    return int(bad.sum()), float(X[row, column]), row, column


def _refuse(faults: list[tuple[Fault, Fault]], sizes: Sequence[int] = (), start: int = 0) -> None:
    """One error for the faults of all chunks, which have these numbers of rows; ``start`` is their first row."""
    for kind, (what, remedy, command) in enumerate((NOT_FINITE, NEGATIVE)):
        found = [(chunk, fault) for chunk, pair in enumerate(faults) if (fault := pair[kind]) is not None]
        if found:
            chunk, (_, value, row, column) = found[0]
            count = sum(fault[0] for _, fault in found)
            place = f"row {start + sum(sizes[:chunk]) + row}, column {column} (counted from 0)"
            raise InputError(
                f"{what}: {count} of its entries, first {value} at {place}.", remedy, option="missing=", command=command
            )
