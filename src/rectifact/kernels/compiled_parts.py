"""The sweep of a Poisson factorisation in numba, on the arrays of a CSR matrix; only stored entries are visited."""

from typing import Any

import numpy as np
from numba import njit

from rectifact.core.arrays import Array

SUMS = {"reassoc", "contract"}  # lets the sums over parts use vector instructions
LEAST = 1e-300  # where no part reaches, the fitted value is not exactly zero


def poisson_sweep(X: Any, W: Array, H: Array, n_inner: int, n_fixed: int) -> tuple[Array, Array, float]:
    """As in ``reference``, for a scipy CSR array without missing entries; memory is that of the factors."""
    W, parts = np.array(W, dtype=np.float64), np.ascontiguousarray(H.T, dtype=np.float64)
    counts = np.zeros_like(parts)
    loss = _sweep(X.indptr, X.indices, X.data, W, parts, parts.sum(axis=0), n_inner, W.shape[1] - n_fixed, counts)
    return W.astype(H.dtype, copy=False), counts.T.astype(H.dtype, copy=False), loss


@njit(nogil=True, cache=True, fastmath=SUMS, error_model="numpy")
def _sweep(
    indptr: Array,
    indices: Array,
    data: Array,
    W: Array,
    parts: Array,
    sizes: Array,
    n_inner: int,
    n_free: int,
    counts: Array,
) -> float:
    n, k = W.shape
    loss, gain = 0.0, np.empty(k)
    for i in range(n):
        w = W[i]
        for _ in range(n_inner):
            gain[:] = 0.0
            for a in range(indptr[i], indptr[i + 1]):
                part, mean = parts[indices[a]], LEAST
                for c in range(k):
                    mean += w[c] * part[c]
                ratio = data[a] / mean
                for c in range(k):
                    gain[c] += ratio * part[c]
            for c in range(n_free):
                w[c] = w[c] * gain[c] / sizes[c] if sizes[c] > 0 else 0.0
        for a in range(indptr[i], indptr[i + 1]):
            part, count, mean = parts[indices[a]], counts[indices[a]], LEAST
            for c in range(k):
                mean += w[c] * part[c]
            ratio = data[a] / mean
            loss -= data[a] * np.log(mean)
            for c in range(k):
                count[c] += ratio * w[c]
        for c in range(k):
            loss += w[c] * sizes[c]
    return loss
