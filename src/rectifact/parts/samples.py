"""Samples before they are taken apart: their norms, and the matrix divided by them; sparse stays sparse."""

from typing import Any, Literal

from rectifact.core.arrays import Array, device, namespace
from rectifact.core.operand import Operand, operand
from rectifact.core.sparse import divide_rows, entries, with_entries

Norm = Literal["l1", "l2"] | None

MOST_NEGATIVE = 0.25
"""Share of the absolute sum that negative entries may have in data that counts as non-negative."""


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


def column_maxima(Z: Array) -> Array:
    """Largest entry of each column of a dense array."""
    return namespace(Z).max(Z, axis=0)


def normalized(X: Operand, norm: Norm) -> tuple[Operand, Array | float]:
    """Samples divided by their norms, and the norms as a column; ``norm=None`` leaves the samples as they are.

    Examples
    --------
    >>> import numpy as np
    >>> samples, norms = normalized(operand(np.array([[3.0, 1.0], [0.0, 0.0]])), "l1")
    >>> samples.native.tolist(), norms.tolist()
    ([[0.75, 0.25], [0.0, 0.0]], [[4.0], [1.0]])
    """
    if norm is None:
        return X, 1.0
    norms = sample_norms(X, norm)
    return operand(X.map_rows(divide_rows, along=(norms,), columns=X.shape[1])), norms


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
