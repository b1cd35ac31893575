"""Samples before they are taken apart: their norms, and the matrix divided by them; sparse stays sparse."""

from typing import Literal

import scipy.sparse as sp

from rectifact.core.arrays import Array, namespace
from rectifact.core.lazy import evaluate
from rectifact.core.sparse import DeviceCSR, entries, is_sparse, with_entries

__all__ = ["choose_norm", "divided", "sample_norms"]

Norm = Literal["l1", "l2"] | None

MOST_NEGATIVE = 0.25
"""Share of the absolute sum that negative entries may have in data that counts as non-negative."""


def choose_norm(X: Array) -> Norm:
    """``"l1"`` for samples that are non-negative but for noise, where it is the sum of the weights, else ``"l2"``.

    Examples
    --------
    >>> import numpy as np
    >>> choose_norm(np.array([[3.0, 1.0, -0.5]])), choose_norm(np.array([[3.0, -4.0]]))
    ('l1', 'l2')
    """
    values = entries(X)
    xp = namespace(values)
    size, signed = evaluate(xp.sum(xp.abs(values)), xp.sum(values))
    return "l1" if bool(size - signed <= MOST_NEGATIVE * 2 * size) else "l2"


def sample_norms(X: Array, norm: Norm) -> Array:
    """Norm of each row, 1 for rows of zeros and for ``norm=None``, so that rows can be divided by it.

    Examples
    --------
    >>> import numpy as np
    >>> sample_norms(np.array([[3.0, 4.0], [0.0, 0.0]]), "l2")
    array([5., 1.])
    """
    xp = namespace(X)
    if sp.issparse(X):
        powers = X.power(2) if norm == "l2" else abs(X)
        sums = powers.sum(axis=1) if norm else xp.ones(X.shape[0])
        sums = xp.asarray(sums, dtype=X.dtype)
        norms = xp.sqrt(sums) if norm == "l2" else sums
    elif norm is None:
        norms = xp.ones(X.shape[0], dtype=X.dtype, device=X.device) if is_sparse(X) else xp.ones_like(X[:, 0])
    elif isinstance(X, DeviceCSR):  # sums of rows are a product
        powers = with_entries(X, X.data**2 if norm == "l2" else xp.abs(X.data))
        sums = powers @ xp.ones(X.shape[1], dtype=X.dtype, device=X.device)
        norms = xp.sqrt(sums) if norm == "l2" else sums
    else:
        norms = xp.linalg.vector_norm(X, axis=1, ord=1 if norm == "l1" else 2)
    return xp.where(norms > 0, norms, xp.ones_like(norms))


def divided(X: Array, norms: Array) -> Array:
    """Rows of X divided by ``norms``; a sparse X stays sparse."""
    if isinstance(X, DeviceCSR):
        return with_entries(X, X.data / norms[X.rows()])
    return sp.csr_array(sp.diags_array(1 / norms) @ X) if sp.issparse(X) else X / norms[:, None]
