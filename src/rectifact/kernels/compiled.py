"""The kernels in numba, with the names and arguments of ``reference``; cached on disk after the first compilation."""

from typing import Any

import numpy as np
from numba import get_num_threads, prange

from rectifact.core.arrays import Array
from rectifact.core.threads import is_forked
from rectifact.kernels.compiled_nmd import EXPONENT, LOG2_E, _series
from rectifact.kernels.two_forms import two_forms

HALS_ROWS = 64

LARGE_LOOP = 1e7
"""Multiplications of a loop that is worth several threads: on busy cores they wait for each other, 25 ms each time."""


def hals_sweep(U: Array, G: Array, B: Array) -> Array:
    """As in ``reference``; rows are independent given ``G``, so one pass over memory serves all columns.

    With one thread the loop is plain, so that several Python threads may run one each.
    """
    return (_parallel_sweep if _several_threads(U.size * len(G)) else _plain_sweep)(U, G, B)


def n_threads() -> int:
    """Threads of a parallel loop."""
    return 1 if is_forked() else get_num_threads()


def _several_threads(multiplications: float) -> bool:
    return multiplications >= LARGE_LOOP and n_threads() > 1


def _sweep(U: Array, G: Array, B: Array) -> Array:
    n, r = U.shape
    for tile in prange((n + HALS_ROWS - 1) // HALS_ROWS):
        first, size = tile * HALS_ROWS, min(n - tile * HALS_ROWS, HALS_ROWS)
        V = np.zeros((r, HALS_ROWS), U.dtype)  # a tile of U, transposed: the inner loops run over rows and vectorise
        step = np.zeros(HALS_ROWS, U.dtype)
        V[:, :size] = U[first : first + size].T
        for k in range(r):
            if G[k, k] > 0:
                step[:size] = B[first : first + size, k]
                for j in range(r):
                    for i in range(HALS_ROWS):
                        step[i] -= V[j, i] * G[j, k]
                for i in range(HALS_ROWS):
                    V[k, i] = max(0.0, V[k, i] + step[i] / G[k, k])
        U[first : first + size] = V[:, :size].T
    return U


_parallel_sweep, _plain_sweep = two_forms(_sweep)


def sparse_times(X: Any, U: Array) -> Array:
    """As in ``reference``, for a scipy CSR array; with one thread the loop is plain, as in ``hals_sweep``."""
    out = np.empty((X.shape[0], U.shape[1]), np.result_type(X.data, U))
    times = _parallel_times if _several_threads(X.nnz * U.shape[1]) else _plain_times
    times(X.indptr, X.indices, X.data, np.ascontiguousarray(U), out)
    return out


def _times(indptr: Array, indices: Array, data: Array, U: Array, out: Array) -> None:
    for i in prange(len(out)):
        for k in range(U.shape[1]):
            out[i, k] = 0
        for place in range(indptr[i], indptr[i + 1]):
            j, x = indices[place], data[place]  # read once: the compiler cannot know that out does not overlap
            for k in range(U.shape[1]):
                out[i, k] += x * U[j, k]


_parallel_times, _plain_times = two_forms(_times)


TILE = 128  # tasks whose numbers stay in the first cache
PART = 32 * TILE  # tasks that one thread takes at once
FEW_CLASSES = 4
LN2_HIGH, LN2_LOW = EXPONENT[:2]


def column_sums(P: Array) -> Array:
    """As in ``reference``, one column after another, because numpy sums long thin arrays slowly.

    Not as a product either: the threads of BLAS would then wait on the cores that the other kernels need.
    """
    return np.array([P[:, c].sum() for c in range(P.shape[1])])


def crowd_posteriors(
    indptr: Array,
    cells: Array,
    weights: Array,
    log_priors: Array,
    log_confusions: Array,
    known: Array | None,
    n_subtypes: int = 1,
) -> tuple[Array, float]:
    """As in ``reference``; with one thread the loop is plain, as in ``hals_sweep``."""
    form = _parallel_posteriors if get_num_threads() > 1 else _plain_posteriors
    posteriors = np.empty((len(indptr) - 1, len(log_priors)))
    known = np.empty(0, dtype=np.int64) if known is None else known
    logs = _fixed(log_priors), np.ascontiguousarray(log_confusions)
    return posteriors, form(indptr, cells, weights, *logs, known, n_subtypes, posteriors)


def _fixed(values: Array) -> Any:
    """A tuple, whose length the compiler knows: it halves the cost of loops over a few classes."""
    return tuple(values.tolist()) if len(values) <= FEW_CLASSES else values


def _posteriors(
    indptr: Array,
    cells: Array,
    weights: Array,
    log_priors: Any,
    log_confusions: Array,
    known: Array,
    n_subtypes: int,
    posteriors: Array,
) -> float:
    """Tile by tile: gather, exp, normalise."""
    n_tasks, n_classes = len(posteriors), len(log_priors)
    n_parts = (n_tasks + PART - 1) // PART
    evidence = np.zeros(n_parts)
    for part in prange(n_parts):
        odds, bits = np.empty(TILE * n_classes), np.empty(TILE * n_classes, dtype=np.int64)
        powers = bits.view(np.float64)
        end = min(n_tasks, (part + 1) * PART)
        for tile in range(part * PART, end, TILE):
            stop = min(tile + TILE, end)
            for i in range(tile, stop):
                base, top = (i - tile) * n_classes, -np.inf
                for c in range(n_classes):
                    odds[base + c] = log_priors[c]
                for a in range(indptr[i], indptr[i + 1]):
                    weight, cell = weights[a], cells[a]
                    for c in range(n_classes):
                        odds[base + c] += weight * log_confusions[cell, c]
                for c in range(n_classes):
                    top = max(top, odds[base + c])
                if top == -np.inf:  # every class is ruled out: ignore the answers
                    for c in range(n_classes):
                        odds[base + c] = log_priors[c]
                        top = max(top, log_priors[c])
                if len(known) and known[i] >= 0:
                    own, top = known[i] * n_subtypes, -np.inf
                    for c in range(n_classes):
                        odds[base + c] = odds[base + c] if own <= c < own + n_subtypes else -np.inf
                        top = max(top, odds[base + c])
                    if top == -np.inf:  # the answers say that it cannot be: the known class counts
                        evidence[part] += top
                        odds[base + own : base + own + n_subtypes] = top = 0.0
                for c in range(n_classes):
                    odds[base + c] -= top
                evidence[part] += top
            used = (stop - tile) * n_classes
            for j in range(used):  # a series times 2^n, because loops over calls of exp are not vectorised
                x = max(odds[j], -700.0)
                n = np.floor(x * LOG2_E + 0.5)
                odds[j] = _series((x - n * LN2_HIGH) - n * LN2_LOW)
                bits[j] = (np.int64(n) + 1023) << 52  # the bits of 2^n
            for j in range(used):
                odds[j] *= powers[j]
            product = 1.0  # of totals between 1 and n_classes: one log serves many
            for i in range(tile, stop):
                base, total = (i - tile) * n_classes, 0.0
                for c in range(n_classes):
                    total += odds[base + c]
                product *= total
                if product > 1e200:
                    evidence[part] += np.log(product)
                    product = 1.0
                scale = 1.0 / total
                for c in range(n_classes):
                    posteriors[i, c] = odds[base + c] * scale
            evidence[part] += np.log(product)
    return evidence.sum()


_parallel_posteriors, _plain_posteriors = two_forms(_posteriors)


def crowd_counts(indptr: Array, cells: Array, weights: Array, posteriors: Array, n_cells: int) -> Array:
    """As in ``reference``; each thread keeps its own counts, because many tasks share their workers.

    It is a separate pass, because the tables of many workers would not fit into the cache next to the posteriors.
    """
    n_classes = posteriors.shape[1]
    partial = np.zeros((n_threads(), n_cells, n_classes))
    form = _parallel_counts if len(partial) > 1 else _plain_counts
    form(indptr, cells, weights, posteriors, _fixed(np.zeros(n_classes)), partial)
    return partial.sum(axis=0)


def _add_counts(indptr: Array, cells: Array, weights: Array, posteriors: Array, classes: Any, partial: Array) -> None:
    n_tasks, n_classes, n_parts = len(posteriors), len(classes), len(partial)
    for part in prange(n_parts):
        for i in range(n_tasks * part // n_parts, n_tasks * (part + 1) // n_parts):
            for a in range(indptr[i], indptr[i + 1]):
                for c in range(n_classes):
                    partial[part, cells[a], c] += weights[a] * posteriors[i, c]


_parallel_counts, _plain_counts = two_forms(_add_counts)
