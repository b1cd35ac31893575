"""The kernels in numba: names and arguments of ``reference``, cached on disk after the first compilation."""

import numpy as np
from numba import get_num_threads, njit, prange

from rectifact.core.arrays import Array

__all__ = ["crowd_counts", "crowd_posteriors", "hals_sweep"]


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


BLOCK = 512  # tasks of one unit of work
NOTHING = -40.0  # exp of this is below the rounding of 1


@njit(parallel=True, cache=True)
def crowd_posteriors(
    indptr: Array, cells: Array, weights: Array, log_priors: Array, log_confusions: Array
) -> tuple[Array, float]:
    """As in ``reference``; exp is called only where it shows, log once for several tasks."""
    n_tasks, n_classes = len(indptr) - 1, len(log_priors)
    posteriors = np.empty((n_tasks, n_classes))
    evidence = np.zeros((n_tasks + BLOCK - 1) // BLOCK)
    for block in prange(len(evidence)):
        product = 1.0  # of totals, each between 1 and n_classes
        for i in range(block * BLOCK, min(n_tasks, (block + 1) * BLOCK)):
            top = -np.inf
            for c in range(n_classes):
                joint = log_priors[c]  # a scalar that stays in a register while the task's answers go by
                for a in range(indptr[i], indptr[i + 1]):
                    joint += weights[a] * log_confusions[cells[a], c]
                posteriors[i, c] = joint
                top = max(top, joint)
            total = 0.0
            for c in range(n_classes):
                gap = posteriors[i, c] - top
                odds = 1.0 if gap == 0.0 else (np.exp(gap) if gap > NOTHING else 0.0)
                posteriors[i, c] = odds
                total += odds
            for c in range(n_classes):
                posteriors[i, c] /= total
            product *= total
            evidence[block] += top
            if product > 1e200:
                evidence[block] += np.log(product)
                product = 1.0
        evidence[block] += np.log(product)
    return posteriors, evidence.sum()


def crowd_counts(indptr: Array, cells: Array, weights: Array, posteriors: Array, n_cells: int) -> Array:
    """As in ``reference``; each thread counts for itself, because workers meet in many tasks."""
    partial = np.zeros((get_num_threads(), n_cells, posteriors.shape[1]))
    _add_counts(indptr, cells, weights, posteriors, partial)
    return partial.sum(axis=0)


@njit(parallel=True, cache=True)
def _add_counts(indptr: Array, cells: Array, weights: Array, posteriors: Array, partial: Array) -> None:
    n_tasks, n_classes = posteriors.shape
    n_parts = len(partial)
    for t in prange(n_parts):
        for i in range(n_tasks * t // n_parts, n_tasks * (t + 1) // n_parts):
            for a in range(indptr[i], indptr[i + 1]):
                for c in range(n_classes):
                    partial[t, cells[a], c] += weights[a] * posteriors[i, c]
