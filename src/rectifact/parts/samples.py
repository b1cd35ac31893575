"""Samples before they are taken apart: their norms, and the matrix divided by them; sparse stays sparse."""

from numbers import Real
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from rectifact.core.arrays import Array, device, namespace, to_csr, to_host, to_like
from rectifact.core.errors import InputError
from rectifact.core.linalg import frobenius_residual
from rectifact.core.operand import Operand, is_chunked, operand
from rectifact.core.sparse import divide_rows, entries, is_sparse, with_entries
from rectifact.parts.starts import subspace

Norm = Literal["l1", "l2"] | None

MOST_NEGATIVE = 0.25
"""Share of the absolute sum that negative entries may have in data that counts as non-negative."""


MOST_SAMPLED = 1000
"""Rows from which a background is estimated."""


SHORT, THIN = 10, 0.05
"""Nonzeros of the median sample, and their share of the features, up to which samples are short, as titles are."""


def are_short(X: Any) -> bool:
    """Whether the samples of a sparse matrix in memory have so few entries each that features hardly occur together.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> are_short(sp.eye_array(100, format="csr")), are_short(np.eye(100))
    (True, False)
    """
    if not sp.issparse(X):
        return False
    median = float(np.median(np.diff(sp.csr_array(X).indptr)))
    return median <= min(SHORT, THIN * X.shape[1])


def choose_norm(X: Operand | Array) -> Norm:
    """``"l1"`` for samples that are non-negative but for noise, where it is the sum of the weights, else ``"l2"``.

    Examples
    --------
    >>> import numpy as np
    >>> choose_norm(np.array([[3.0, 1.0, -0.5]])), choose_norm(np.array([[3.0, -4.0]]))
    ('l1', 'l2')
    """
    size, signed = operand(X).total(_absolute_and_signed_sum)
    return "l1" if bool(size - signed <= MOST_NEGATIVE * 2 * size) else "l2"


def _absolute_and_signed_sum(rows: Array) -> tuple[Any, Any]:
    values = entries(rows)
    xp = namespace(values)
    return xp.sum(xp.abs(values)), xp.sum(values)


def largest_entry(X: Operand | Array) -> float:
    """Largest absolute value of an entry.

    Examples
    --------
    >>> import numpy as np
    >>> largest_entry(np.array([[3.0, -4.0]]))
    4.0
    """
    return operand(X).total(_largest_entry, combine=max)


def _largest_entry(rows: Array) -> float:
    values = entries(rows)
    return float(namespace(values).max(namespace(values).abs(values))) if values.shape[0] else 0.0


def smallest_entry(X: Operand | Array) -> float:
    """Smallest stored entry, or 0 if that is smaller.

    Examples
    --------
    >>> import numpy as np
    >>> smallest_entry(np.array([[3.0, -4.0]])), smallest_entry(np.array([[3.0, 1.0]]))
    (-4.0, 0.0)
    """
    return operand(X).total(_smallest_entry, combine=min)


def _smallest_entry(rows: Array) -> float:
    values = entries(rows)
    return min(float(namespace(values).min(values)), 0.0) if values.shape[0] else 0.0


def column_means(X: Operand | Array) -> Array:
    """Mean of each feature.

    Examples
    --------
    >>> import numpy as np
    >>> column_means(np.array([[3.0, 1.0], [1.0, 1.0]]))
    array([2., 1.])
    """
    X = operand(X)
    return X.total(_feature_sums) / X.shape[0]


def _feature_sums(rows: Array) -> Array:
    xp = namespace(rows)
    return (rows.T @ xp.ones((rows.shape[0], 1), dtype=rows.dtype, device=device(rows)))[:, 0]


def divide_columns(rows: Array, divisors: Array) -> Array:
    """Features divided by a number each; a sparse matrix stays sparse.

    Examples
    --------
    >>> import numpy as np
    >>> divide_columns(np.array([[3.0, 1.0]]), np.array([3.0, 1.0]))
    array([[1., 1.]])
    """
    if not is_sparse(rows):
        return rows / divisors
    return with_entries(rows, rows.data / namespace(divisors).take(divisors, rows.indices))


def column_maxima(Z: Array) -> Array:
    """Largest entry of each column of a dense array."""
    return namespace(Z).max(Z, axis=0)


def normalized(X: Operand, norm: Norm, power: float = 1.0) -> tuple[Operand, Array | float]:
    """Samples divided by their norms to a power, and the divisors as a column; without a norm they stay as they are.

    Examples
    --------
    >>> import numpy as np
    >>> samples, norms = normalized(operand(np.array([[3.0, 1.0], [0.0, 0.0]])), "l1")
    >>> samples.native.tolist(), norms.tolist()
    ([[0.75, 0.25], [0.0, 0.0]], [[4.0], [1.0]])
    """
    if norm is None or power == 0:
        return X, 1.0
    norms = sample_norms(X, norm)
    norms = norms if power == 1 else norms**power
    return operand(X.map_rows(divide_rows, along=(norms,), columns=X.shape[1])), norms


def background_start(X: Operand | Array, share: float = 0.1) -> Array:
    """What each feature has in nearly all samples: a low quantile of about a thousand rows; 0 for sparse data.

    Examples
    --------
    >>> import numpy as np
    >>> background_start(np.array([[2.0, 1.0], [2.0, 5.0], [7.0, 1.0]]), 0.5)
    array([2., 1.])
    """
    X = operand(X)
    step = max(1, X.shape[0] // MOST_SAMPLED)
    rows = X.total(_every, step, combine=_stacked)
    low = np.quantile(rows, share, axis=0) if len(rows) else np.zeros(X.shape[1])
    return to_like(np.maximum(low, 0.0), X.like)


def _every(rows: Array, step: int) -> NDArray[Any]:
    if is_sparse(rows):
        return np.empty((0, rows.shape[1]))
    return np.asarray(to_host(rows[::step]), dtype=np.float64)


def _stacked(one: Any, other: Any) -> Any:
    return np.concatenate([one, other])


def without_background(X: Operand, background: Array | None) -> Operand:
    """Dense samples minus the background; sparse samples stay as they are."""
    if background is None or is_sparse(X.data):
        return X
    return operand(X.map_rows(_minus, background, columns=X.shape[1]))


def _minus(rows: Array, background: Array) -> Array:
    return rows - background


def sample_norms(X: Operand | Array, norm: Literal["l1", "l2"]) -> Array:
    """Norm of each row in a column, 1 for rows of zeros, so that rows can be divided by it.

    Examples
    --------
    >>> import numpy as np
    >>> sample_norms(np.array([[3.0, 4.0], [0.0, 0.0]]), "l2")
    array([[5.],
           [1.]])
    """
    return operand(X).map_rows(_norms, norm, columns=1)


def _norms(rows: Array, norm: Literal["l1", "l2"]) -> Array:
    xp, values = namespace(rows), entries(rows)
    powers = with_entries(rows, values**2 if norm == "l2" else xp.abs(values))
    sums = powers @ xp.ones((rows.shape[1], 1), dtype=rows.dtype, device=device(rows))  # a product in every library
    norms = xp.sqrt(sums) if norm == "l2" else sums
    return xp.where(norms > 0, norms, xp.ones_like(norms))


def with_gaps(X: Operand, missing: Any) -> Operand:
    """Dense samples in memory, with NaN where ``missing``, a mask, is true; for NaN itself they are as they came.

    Raises
    ------
    InputError
        If the data cannot have gaps, or the mask has another shape.
    """
    if is_chunked(X.data) or is_sparse(X.data):
        form, remedy = ("a Dask array", "X.compute()") if is_chunked(X.data) else ("sparse", "X.toarray()")
        what = f"missing is for dense samples in memory, and X is {form}."
        command = "Save them as one .npy file, or fill the gaps first."
        raise InputError(what, f"Use {remedy}, or fill the gaps first.", option="missing", command=command)
    if isinstance(missing, Real):
        return X
    mask = np.asarray(to_host(missing)) != 0
    if mask.shape != X.shape:
        what = f"missing has the shape {mask.shape} and X {X.shape}."
        raise InputError(what, "Give a mask of the shape of X, np.nan, or None.", option="missing")
    xp = namespace(X.data)
    return operand(xp.where(to_like(1.0 * mask, X.data) > 0, float("nan"), X.data))


def fill_gaps(X: Operand, rank: int, *, n_iter: int = 100, tol: float = 1e-6) -> Operand:
    """Dense samples whose gaps (NaN) are filled by their own projection to ``rank`` directions, found by iteration.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.outer([1.0, 2.0, 3.0], [1.0, 2.0, 1.0])
    >>> X[1, 1] = np.nan
    >>> float(fill_gaps(operand(X), 1).data[1, 1].round(3))
    4.0
    """
    xp, gaps = namespace(X.data), namespace(X.data).isnan(X.data)
    known = xp.where(gaps, xp.zeros_like(X.data), X.data)
    counts = xp.clip(xp.sum(xp.astype(~gaps, X.dtype), axis=0), 1, None)
    filled = xp.where(gaps, xp.sum(known, axis=0) / counts, known)
    for _ in range(n_iter):
        space = subspace(filled, rank)
        new = xp.where(gaps, space.coordinates @ space.Vt, known)
        change = float(xp.linalg.matrix_norm(new - filled)) / max(float(xp.linalg.matrix_norm(new)), 1e-300)
        filled = new
        if change < tol:
            break
    signed = bool(xp.any(known < 0))
    return operand(filled if signed else xp.clip(filled, 0, None))


def sample_block(X: Operand | Array, most_rows: int, most_columns: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """A dense block of X on the host, and the l1 norms of its rows in X.

    Its rows are at equal distances, and its columns are those of the largest absolute sums.

    Examples
    --------
    >>> import numpy as np
    >>> sample_block(np.array([[1.0, 5.0], [2.0, 6.0], [3.0, 7.0]]), 2, 1)
    (array([[5.],
           [7.]]), array([ 6., 10.]))
    """
    X = operand(X)
    block, norms = X.total(_block, max(1, -(-X.shape[0] // most_rows)), most_columns, combine=_stacked_pairs)
    if block.shape[1] > most_columns:
        block = block[:, largest_columns(np.abs(block).sum(axis=0), most_columns)]
    return block, norms


def _block(rows: Array, step: int, most_columns: int) -> tuple[NDArray[Any], NDArray[Any]]:
    if not is_sparse(rows):
        block = np.asarray(to_host(rows[::step]), dtype=np.float64)
        return block, np.abs(block).sum(axis=1)
    chosen = abs(to_csr(rows)[::step])  # sparse data is in one piece: chunks are made dense before
    columns = largest_columns(np.asarray(chosen.sum(axis=0)).ravel(), most_columns)
    return to_csr(rows)[::step][:, columns].toarray().astype(np.float64), np.asarray(chosen.sum(axis=1)).ravel()


def largest_columns(sums: NDArray[Any], most: int) -> NDArray[Any]:
    """The columns of the largest sums, in their order."""
    return np.sort(np.argsort(-sums, kind="stable")[:most])


def _stacked_pairs(one: Any, other: Any) -> Any:
    return tuple(np.concatenate(pair) for pair in zip(one, other, strict=True))


def means_in_gaps(rows: Array) -> Array:
    """Samples with the mean of each feature in its gaps (NaN); sparse samples have none."""
    if is_sparse(rows):
        return rows
    xp = namespace(rows)
    known = ~xp.isnan(rows)
    sums = xp.sum(xp.where(known, rows, xp.zeros_like(rows)), axis=0)
    means = sums / xp.clip(xp.sum(xp.astype(known, rows.dtype), axis=0), 1, None)
    return xp.where(known, rows, means + xp.zeros_like(rows))


def left_over(rows: Array, W: Array, H: Array) -> tuple[Any, Any]:
    """Squared norm of what a fit ``W @ H`` leaves over of the entries that are not missing, and the sum of the data.

    Examples
    --------
    >>> import numpy as np
    >>> left, total = left_over(np.array([[3.0, np.nan]]), np.ones((1, 1)), np.ones((1, 2)))
    >>> float(left), float(total)
    (4.0, 4.0)
    """
    xp = namespace(H)
    if is_sparse(rows):
        return frobenius_residual(rows, W, H) ** 2, xp.sum(entries(rows))
    fitted = W @ H
    known = xp.where(xp.isnan(rows), fitted, rows)
    return xp.sum((known - fitted) ** 2), xp.sum(known)


def log_sums(rows: Array) -> tuple[Any, Any, Any, Any]:
    """Sums of ``x log x``, of ``r log r`` over the row sums r, column sums, and the sum of all entries; NaN is 0."""
    xp, values = namespace(rows), entries(rows)
    if not is_sparse(rows):
        rows = values = xp.where(xp.isnan(values), xp.zeros_like(values), values)
    by_row = (rows @ xp.ones((rows.shape[1], 1), dtype=rows.dtype, device=device(rows)))[:, 0]
    return _x_log_x(values), _x_log_x(by_row), _feature_sums(rows), xp.sum(values)


def _x_log_x(values: Array) -> Any:
    xp = namespace(values)
    return xp.sum(values * xp.log(xp.where(values > 0, values, xp.ones_like(values))))
