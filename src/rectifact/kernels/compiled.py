"""The kernels in numba: names and arguments of ``reference``, cached on disk after the first compilation."""

import numpy as np
from numba import get_num_threads, njit, prange

from rectifact.core.arrays import Array

__all__ = ["crowd_counts", "crowd_sweep", "hals_sweep"]


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


NOTHING = -40.0  # exp of this is below the rounding of 1


def crowd_sweep(
    indptr: Array,
    cells: Array,
    weights: Array,
    log_priors: Array,
    log_confusions: Array,
    known: Array,
    posteriors: Array,
) -> tuple[Array, float]:
    """As in ``reference``; each thread counts for itself, because workers meet in many tasks."""
    partial = np.zeros((get_num_threads(), *log_confusions.shape))
    evidence = _sweep(indptr, cells, weights, log_priors, log_confusions, known, posteriors, partial)
    return partial.sum(axis=0), evidence


@njit(parallel=True, cache=True)
def _sweep(
    indptr: Array,
    cells: Array,
    weights: Array,
    log_priors: Array,
    log_confusions: Array,
    known: Array,
    posteriors: Array,
    partial: Array,
) -> float:
    """One pass over the answers; exp is called only where it shows, log once for many tasks."""
    n_tasks, n_classes = posteriors.shape
    n_parts = len(partial)
    evidence = np.zeros(n_parts)
    for part in prange(n_parts):
        product, tops = 1.0, 0.0  # product of totals, each between 1 and n_classes
        for i in range(n_tasks * part // n_parts, n_tasks * (part + 1) // n_parts):
            top = -np.inf
            for c in range(n_classes):
                joint = log_priors[c]  # a scalar that stays in a register while the task's answers go by
                for a in range(indptr[i], indptr[i + 1]):
                    joint += weights[a] * log_confusions[cells[a], c]
                posteriors[i, c] = joint
                top = max(top, joint)
            if len(known) and known[i] >= 0:
                tops += posteriors[i, known[i]]
                for c in range(n_classes):
                    posteriors[i, c] = 1.0 if c == known[i] else 0.0
            else:
                total = 0.0
                for c in range(n_classes):
                    gap = posteriors[i, c] - top
                    odds = 1.0 if gap == 0.0 else (np.exp(gap) if gap > NOTHING else 0.0)
                    posteriors[i, c] = odds
                    total += odds
                for c in range(n_classes):
                    posteriors[i, c] /= total
                tops += top
                product *= total
                if product > 1e200:
                    tops += np.log(product)
                    product = 1.0
            for a in range(indptr[i], indptr[i + 1]):
                for c in range(n_classes):
                    partial[part, cells[a], c] += weights[a] * posteriors[i, c]
        evidence[part] = tops + np.log(product)
    return evidence.sum()


def crowd_counts(indptr: Array, cells: Array, weights: Array, posteriors: Array, n_cells: int) -> Array:
    """As in ``reference``; each thread counts for itself."""
    partial = np.zeros((get_num_threads(), n_cells, posteriors.shape[1]))
    _add_counts(indptr, cells, weights, posteriors, partial)
    return partial.sum(axis=0)


@njit(parallel=True, cache=True)
def _add_counts(indptr: Array, cells: Array, weights: Array, posteriors: Array, partial: Array) -> None:
    n_tasks, n_classes = posteriors.shape
    n_parts = len(partial)
    for part in prange(n_parts):
        for i in range(n_tasks * part // n_parts, n_tasks * (part + 1) // n_parts):
            for a in range(indptr[i], indptr[i + 1]):
                for c in range(n_classes):
                    partial[part, cells[a], c] += weights[a] * posteriors[i, c]
