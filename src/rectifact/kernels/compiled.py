"""The kernels in numba: names and arguments of ``reference``, cached on disk after the first compilation."""

from numba import njit, prange

from rectifact.core.arrays import Array

__all__ = ["hals_sweep"]


@njit(parallel=True, cache=True)
def hals_sweep(U: Array, G: Array, B: Array) -> Array:
    """As in ``reference``; rows are independent given ``G``, so one pass over memory serves all columns."""
    for i in prange(U.shape[0]):
        for k in range(U.shape[1]):
            if G[k, k] > 0:
                step = B[i, k]
                for j in range(U.shape[1]):
                    step -= U[i, j] * G[j, k]
                U[i, k] = max(0.0, U[i, k] + step / G[k, k])
    return U
