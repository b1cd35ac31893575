"""The data of the estimators: checked, in the form that the algorithms take, with missing entries as NaN."""

import warnings
from math import isnan
from numbers import Real
from typing import Any

import numpy as np
import pyarrow as pa
import scipy.sparse as sp

from rectifact.core.arrays import Array, is_host, namespace, to_host, to_like
from rectifact.core.device_csr import DeviceCSR, canonical_csr, is_native_sparse
from rectifact.core.errors import FitWarning, InputError
from rectifact.core.operand import Operand, is_chunked, operand
from rectifact.core.sparse import is_sparse, with_entries
from rectifact.core.validation import check_matrix
from rectifact.io.columns import WORDS, is_rating, word
from rectifact.io.kinds import find_triples
from rectifact.io.tables import is_name
from rectifact.io.whole_names import MOST_LISTED
from rectifact.latent.scales import scale_with_zero
from rectifact.latent.statistics import Statistics, statistics

CHECK_ON_DEVICE = 10
"""Iterations between checks on a device, which has to wait for the host at each of them."""

LEAST_VALUES, LEAST_COLUMNS, MOST_SQUARES = 100, 5, 0.5
"""Positive entries and columns from which on large ones are looked for, and the share of the squares that few of them
may hold."""


def refuse_triples(X: Any) -> None:
    """Refuse a frame with one row for each pair, such as user, item and rating, which is not a matrix."""
    table, call = _as_table(X)
    triples = () if table is None else find_triples(table)
    if table is None or not triples:
        return
    label = {str(name): name for name in X.columns}
    row, column, *values = (label[name] for name in triples)
    listed, named = ", ".join(map(repr, label.values())), {word(name) for name in triples[:2]}
    sure = any(is_name(table.schema.field(name).type) for name in triples[:2]) or named & {*WORDS["row"]}
    what = f"X has one row for each pair, with the columns {listed}, and not one for each sample."
    what = what if sure else f"X may have one row for each pair, with the columns {listed}, or one for each sample."
    as_it_is = "" if sure else " For a matrix of these columns, use X.to_numpy()."
    if not values:
        raise InputError(what, f"Use pandas.crosstab(X[{row!r}], X[{column!r}]).{as_it_is}")
    value, counted = values[0], word(str(values[0])) in WORDS["count"]
    rated = not counted and is_rating(table.column(triples[2]).to_numpy())
    twice = table.group_by(list(triples[:2])).aggregate([]).num_rows < len(table)
    how = ", 'sum'" if counted or (twice and not rated) else ""
    pivot = f"{call}.pivot_table({value!r}, {row!r}, {column!r}{how})"
    if rated:
        unknown = "with missing=np.nan: a rating that is not listed is unknown, and not 0."
        raise InputError(what, f"Use {pivot} {unknown}{as_it_is}")
    raise InputError(what, f"Use {pivot}.fillna(0).{as_it_is}")


def _as_table(X: Any) -> tuple[Any, str]:
    """A narrow frame of pandas or polars as an Arrow table, and what has its ``pivot_table``; None for other data."""
    names = [str(name) for name in getattr(X, "columns", ())]
    if not 2 <= len(names) <= MOST_LISTED or len(set(names)) < len(names):
        return None, ""
    if hasattr(X, "to_arrow"):
        return X.to_arrow(), "X.to_pandas()"
    if not hasattr(X, "pivot_table"):
        return None, ""
    try:
        return pa.Table.from_pandas(X.set_axis(names, axis=1), preserve_index=False), "X"
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):  # cells of several types
        return None, ""


def check_nonnegative(estimator: Any, X: Any, *, reset: bool, missing: bool) -> Operand:
    """Non-negative data: CSR on the host and in chunks, as it came on a device; NaN only with ``missing``."""
    X = check_matrix(estimator, X, reset=reset, nonnegative=True, allow_nan=missing, sparse_chunks=True)
    if reset and missing and np.ndim(estimator.missing) == 0:
        _warn_of_zeros(X)
    return _mapped(operand(X), _csr)


def _warn_of_zeros(X: Array) -> None:
    """Warn of a 0 that is an answer on a scale like the others; in sparse data it is what was not counted."""
    top = scale_with_zero(X) if is_host(X) and not is_chunked(X) and not is_sparse(X) else 0.0
    if top:
        what = f"0 seems to be an answer on a scale up to {top:.3g}, and is read as at most 0: predictions are too low."
        remedy = f"Add {max(1.0, top / 4):g} to X, and subtract it from what fill and recommend return."
        warnings.warn(FitWarning(what, remedy, command="Leave out --values."), stacklevel=6)


def check_binary(estimator: Any, X: Any, *, reset: bool, missing: bool) -> Operand:
    """Zeros and ones in memory: CSR without stored zeros on the host, as they came on a device; NaN if ``missing``."""
    name = type(estimator).__name__
    if is_chunked(X):
        raise InputError(
            f"{name} works on one machine, and X is a Dask array.", "Use NMD, which takes Dask arrays, or X.compute()."
        )
    X = check_matrix(estimator, X, reset=reset, nonnegative=True, allow_nan=missing)
    if is_host(X):
        X = sp.csr_array(X, copy=True)
        X.eliminate_zeros()
    if statistics(X).fractional:
        raise InputError(f"{name} is for zeros and ones, and X has other values.", "Use NMD, or X > 0.")
    return operand(X)


def resolve_link(link: str, objective: str, facts: Statistics) -> str:
    """The link that suits the data, after a check that something can be fitted."""
    if link == "binary" and facts.fractional:
        raise _not_binary()
    if link == "auto":
        link = "relu" if facts.fractional else "binary"
    if link == "binary" and objective == "latent":
        raise InputError(
            "objective='latent' is for link='relu': a threshold leaves the scale of Theta open.",
            "Use objective='likelihood'.",
            option=("objective", "link"),
        )
    if facts.positive == 0:
        raise InputError("No entry of X is positive: there is nothing to embed.", "Check the file or the filter.")
    if link == "binary" and facts.positive == facts.known:
        if facts.known < facts.size:
            raise InputError(
                "All known entries of X are one: there is nothing to tell apart.",
                "If missing entries stand for zeros, as in lists of what was bought, do not treat them as missing: "
                "leave out --missing, or missing= in Python.",
            )
        what, remedy = "All entries of X are one: there is nothing to tell apart.", "Use data that has zeros as well."
        raise InputError(what, remedy)
    return link


def check_link(X: Operand, link: str) -> Operand:
    """X, whose entries must be zeros and ones if the link is binary; chunks are checked when they are computed."""
    return _mapped(X, _refuse_fractions) if link == "binary" else X


def _refuse_fractions(X: Array) -> Array:
    if statistics(X).fractional:
        raise _not_binary()
    return X


def _not_binary() -> InputError:
    what = "link='binary' is for zeros and ones, and X has other values."
    return InputError(what, "Use link='relu', or X > 0.", option="link", command="Use --link relu.")


def with_missing(X: Operand, missing: Any) -> Operand:
    """X with NaN where ``missing``, a mask, is true; a sparse mask stays sparse. NaN and None change nothing."""
    if missing is None or (isinstance(missing, Real) and isnan(float(missing))):
        return X
    mask = to_host(canonical_csr(missing, missing.dtype) if is_native_sparse(missing) else missing)
    if tuple(mask.shape) != X.shape:
        raise InputError(
            f"missing has the shape {tuple(mask.shape)} and X {X.shape}.",
            "Give a mask of the shape of X, np.nan, or None.",
            option="missing",
        )
    if is_chunked(X.data):
        raise InputError(
            "A Dask array takes no mask.",
            "Give missing=np.nan and da.where(mask, np.nan, X).",
            option="missing",
        )
    return operand(_masked(X.data, mask))


def _masked(X: Array, mask: Any) -> Array:
    if isinstance(X, DeviceCSR):  # the union of two patterns is found on the host, once
        return X.like(_masked(to_host(X), mask))
    if not is_host(X):
        mask = mask.toarray() if sp.issparse(mask) else mask
        return namespace(X).where(to_like(mask, X) != 0, float("nan"), X)
    hidden = sp.csr_array(mask, dtype=X.dtype, copy=True)
    hidden.data[:] = np.where(hidden.data != 0, np.nan, 0)
    return sp.csr_array(X + hidden)


def check_magnitude(largest: float, dtype: Any) -> None:
    """Refuse numbers so extreme that results in their unit would overflow or vanish."""
    least, most = (1e-290, 1e290) if str(dtype).endswith("float64") else (1e-30, 1e30)
    if largest > most or 0 < largest < least:
        what = f"The largest entry of X is {largest:.0e}, too {'large' if largest > most else 'small'} to compute with."
        raise InputError(what, "Divide X by it first: only the scale of the results changes.")


def in_units(X: Operand, unit: float) -> Operand:
    """X divided by ``unit``."""
    return X if unit == 1 else _mapped(X, _divided, unit)


def check_every(X: Operand) -> int:
    """Iterations between checks of a loop over X."""
    return 1 if is_host(X.data) or is_chunked(X.data) else CHECK_ON_DEVICE


def double_on_host(X: Array) -> Array:
    """X in double precision on the host; as it is on a device, where that would be slow."""
    return X.astype(np.float64) if is_host(X) else X


def _mapped(X: Operand, function: Any, *small: Any) -> Operand:
    """Rows of the same shape, as an operand."""
    return operand(X.map_rows(function, *small, columns=X.shape[1]))


def _csr(X: Any) -> Any:
    return sp.csr_array(X) if is_host(X) else X


def _divided(X: Array, unit: float) -> Array:
    return with_entries(X, X.data / unit) if is_sparse(X) else X / unit


def largest_column(X: Any) -> tuple[int, float]:
    """The column that holds most of the sum of squares, and its share; a share of 0 if that is less than half.

    Parameters
    ----------
    X : array or sparse array on the host, or frame

    Examples
    --------
    >>> largest_column(np.array([[1.0, 0.0, 1.0, 1.0, 1990.0], [0.0, 1.0, 1.0, 0.0, 2003.0]]))[0]
    4
    """
    X = X / _largest(X.data) if sp.issparse(X) else np.asarray(X, dtype=np.float64) / _largest(X)
    squares = np.asarray(X.multiply(X).sum(axis=0)).ravel() if sp.issparse(X) else np.nansum(X**2, axis=0)
    squares = np.nan_to_num(squares)
    column, total = int(squares.argmax()), squares.sum()
    share = float(squares[column] / total) if total > 0 else 0.0
    return column, share if share > MOST_SQUARES and len(squares) >= LEAST_COLUMNS else 0.0


def unit_column(X: Any) -> tuple[int, float]:
    """The column of :func:`largest_column`, with a share of 0 if a single value holds most of its squares."""
    column, share = largest_column(X)
    values = sp.csc_array(X)[:, [column]].data if sp.issparse(X) else np.asarray(X, dtype=np.float64)[:, column]
    squares = (values / _largest(values)) ** 2
    return column, 0.0 if MOST_SQUARES * np.nansum(squares) < 1.0 else share


def _largest(values: Any) -> float:
    """The largest size of a value, by which squares are kept from overflowing; 1 if there is none."""
    sizes = np.abs(np.asarray(values, dtype=np.float64))
    largest = float(np.nanmax(sizes, initial=0.0))
    return largest if largest > 0 else 1.0


def large_values(X: Any) -> str:
    """A sentence, if one positive entry in a hundred holds most of the sum of squares, and else nothing.

    Parameters
    ----------
    X : array or sparse array on the host, or frame

    Examples
    --------
    >>> large_values(np.arange(100.0))
    ''
    >>> large_values(np.r_[np.ones(99), 100.0])
    'The largest 1% of the positive values hold 99% of their squares: a few values decide the result.'
    """
    values = np.asarray(X.data if sp.issparse(X) else X, dtype=np.float64).ravel()
    squares = np.sort((values[values > 0] / _largest(values)) ** 2)
    if len(squares) < LEAST_VALUES:
        return ""
    share = squares[-(len(squares) // 100) :].sum() / squares.sum()
    if share < MOST_SQUARES:
        return ""
    return f"The largest 1% of the positive values hold {share:.0%} of their squares: a few values decide the result."
