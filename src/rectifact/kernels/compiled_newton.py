r"""Newton's method for NMD in numba: the embedding of each row, given components and sigma.

With :math:`C = B / \sigma`, :math:`y = x / \sigma` and :math:`a = \theta / \sigma = v C`, the log-likelihood of a row
is concave in v. Its gradient is :math:`C g` with g = -h(a) where x = 0, y - a where x > 0 (relu) or h(-a) (binary);
its negative Hessian is :math:`C\, diag(w)\, C^T` with w = h d where truncated, 1 where observed and 0 where missing. A
Gaussian prior of v adds a quadratic term.
"""

from math import log
from threading import Lock
from typing import Any

import numpy as np
from numba import njit, prange

from rectifact.core.arrays import Array
from rectifact.core.threads import is_forked, kernel_threads
from rectifact.kernels.compiled_nmd import BLOCK, EXPONENT, FUSED, _load, _moments, _reduce
from rectifact.kernels.truncated import LOG_ROOT_2PI
from rectifact.kernels.two_forms import two_forms

TOLERANCE, MOST_STEPS = 1e-2, 100
"""As in ``reference``: a row stops after the step whose Newton decrement is smaller, or after so many."""

ONE_AT_A_TIME = Lock()
"""The method has threads of its own, which several Python threads, such as those of Dask, must not enter together."""


def nmd_newton(
    indptr: Array,
    indices: Array,
    data: Array,
    B: Array,
    sigma: float,
    binary: bool,
    A: Array,
    mean: Array,
    precision: Array,
    n_jobs: int = 1,
) -> tuple[Array, Array]:
    """As in ``reference``; always in double precision."""
    likelihoods, iterations = np.empty(len(A)), np.empty(len(A), np.int64)
    V = np.ascontiguousarray(A, dtype=np.float64)
    C = np.ascontiguousarray(B / sigma, dtype=np.float64)
    values = np.asarray(data, dtype=np.float64) / (1.0 if binary else sigma)
    prior = (np.ascontiguousarray(part, dtype=np.float64) for part in (mean, precision))
    with kernel_threads(n_jobs), ONE_AT_A_TIME:
        newton = _plain_newton if is_forked() else _parallel_newton
        newton(indptr, indices, values, C, bool(binary), V, *prior, likelihoods, iterations)
    A[:] = V
    if not binary:
        positive = np.concatenate([[0], np.cumsum(values > 0)])
        likelihoods -= np.diff(positive[indptr]) * (log(sigma) + LOG_ROOT_2PI)
    return likelihoods, iterations


@njit(fastmath=FUSED)
def _combine(C: Array, v: Array, out: Array) -> None:
    """Write v C to ``out``."""
    out[:] = 0.0
    for k in range(len(v)):
        c, row = v[k], C[k]
        for j in range(len(out)):
            out[j] += c * row[j]


@njit(fastmath=True)
def _dots(C: Array, g: Array, out: Array) -> None:
    """Write C g to ``out``."""
    for k in range(len(out)):
        total, row = 0.0, C[k]
        for j in range(len(g)):
            total += row[j] * g[j]
        out[k] = total


@njit(fastmath=True)
def _hessian(C: Array, weights: Array, left: Array, H: Array) -> None:
    """Lower triangle of C diag(weights) C', in tiles of two by two; BLAS would start threads inside ours."""
    r, d = C.shape
    for k in range(r):
        row, out = C[k], left[k]
        for j in range(d):
            out[j] = row[j] * weights[j]
    for k in range(0, r, 2):
        k1 = min(k + 1, r - 1)  # the last row twice if r is odd
        x0, x1 = left[k], left[k1]
        for i in range(0, k + 1, 2):
            i1 = min(i + 1, r - 1)
            y0, y1 = C[i], C[i1]
            h00 = h01 = h10 = h11 = 0.0
            for j in range(d):
                h00 += x0[j] * y0[j]
                h01 += x0[j] * y1[j]
                h10 += x1[j] * y0[j]
                h11 += x1[j] * y1[j]
            H[k, i], H[k, i1], H[k1, i], H[k1, i1] = h00, h01, h10, h11


@njit(error_model="numpy")
def _solve(H: Array, ridge: float, L: Array, g: Array, p: Array) -> bool:
    """Solve ``(H + ridge I) p = g`` by Cholesky; False if it breaks down."""
    r = len(g)
    for i in range(r):
        for k in range(i):
            total = H[i, k]
            for q in range(k):
                total -= L[i, q] * L[k, q]
            L[i, k] = total / L[k, k]
        total = H[i, i] + ridge
        for q in range(i):
            total -= L[i, q] * L[i, q]
        if not total > 0.0:
            return False
        L[i, i] = np.sqrt(total)
    for i in range(r):
        total = g[i]
        for q in range(i):
            total -= L[i, q] * p[q]
        p[i] = total / L[i, i]
    for i in range(r - 1, -1, -1):
        total = p[i]
        for q in range(i + 1, r):
            total -= L[q, i] * p[q]
        p[i] = total / L[i, i]
    return True


@njit
def _prior(v: Array, mean: Array, precision: Array, pull: Array) -> float:
    """What the prior takes off, (v - m)' P (v - m) / 2; its gradient goes to ``pull``."""
    cost = 0.0
    for k in range(len(v)):
        total = 0.0
        for q in range(len(v)):
            total += precision[k, q] * (v[q] - mean[q])
        pull[k] = total
        cost += 0.5 * total * (v[k] - mean[k])
    return cost


@njit(error_model="numpy")
def _evaluate(a: Array, places: Array, values: Array, binary: bool, scratch: Any, g: Array, weights: Array) -> float:
    """Log-likelihood, gradient and weights at a = theta / sigma."""
    w, bits, powers, factors = scratch
    total, d = 0.0, len(a)
    k = 0
    for block in range(0, d, BLOCK):
        used = min(BLOCK, d - block)
        _load(w, a[block : block + used], 1.0)
        begin = k
        while k < len(places) and places[k] < block + BLOCK:
            if binary and values[k] > 0:
                w[places[k] - block] = -w[places[k] - block]
            k += 1
        _moments(w, bits, powers, EXPONENT)
        for j in range(used):
            g[block + j] = -w[j + BLOCK]
        for j in range(used):
            weights[block + j] = w[j + BLOCK] * w[j + 2 * BLOCK]
        for q in range(begin, k):
            y, place = values[q], places[q]
            at = place - block
            if binary and y > 0:
                g[place] = -g[place]
            elif y > 0 or np.isnan(y):
                for m in range(3):
                    w[at + m * BLOCK] = 0.0
                w[at + 3 * BLOCK] = 1.0
                g[place] = weights[place] = 0.0
                if y > 0:
                    gap = y - a[place]
                    g[place], weights[place] = gap, 1.0
                    total -= 0.5 * gap * gap
        logs, _, _ = _reduce(w, factors)
        total += logs
    return total


def _newton(
    indptr: Array,
    indices: Array,
    scaled: Array,
    C: Array,
    binary: bool,
    V: Array,
    mean: Array,
    precision: Array,
    likelihoods: Array,
    iterations: Array,
) -> None:
    """Rows in parallel, each maximising its own concave likelihood, times its prior."""
    n, (r, d) = len(V), C.shape
    n_parts = (n + 15) // 16
    for part in prange(n_parts):
        powers = np.empty(BLOCK)
        scratch = np.empty(4 * BLOCK), powers.view(np.int64), powers, np.empty(BLOCK)
        a, trial, move, g, weights = np.empty(d), np.empty(d), np.empty(d), np.empty(d), np.empty(d)
        slope, p, at, pull = np.empty(r), np.empty(r), np.empty(r), np.empty(r)
        H, L, left = np.empty((r, r)), np.empty((r, r)), np.empty((r, d))
        for i in range(part * 16, min(n, part * 16 + 16)):
            places, values = indices[indptr[i] : indptr[i + 1]], scaled[indptr[i] : indptr[i + 1]]
            _combine(C, V[i], a)
            cost = _prior(V[i], mean, precision, pull)
            value = _evaluate(a, places, values, binary, scratch, g, weights) - cost
            for step in range(MOST_STEPS):
                iterations[i] = step + 1
                _dots(C, g, slope)
                _hessian(C, weights, left, H)
                for k in range(r):
                    slope[k] -= pull[k]
                    for q in range(k + 1):
                        H[k, q] += precision[k, q]
                ridge = 1e-13 * np.trace(H) + 1e-200
                for _ in range(21):
                    solved = _solve(H, ridge, L, slope, p)
                    if solved:
                        break
                    ridge *= 100.0
                if not solved:  # no direction to follow: the row stays where it is
                    break
                decrement = 0.0
                for k in range(r):
                    decrement += slope[k] * p[k]
                _combine(C, p, move)
                size = 1.0
                while size > 1e-9:
                    for j in range(d):
                        trial[j] = a[j] + size * move[j]
                    for k in range(r):
                        at[k] = V[i, k] + size * p[k]
                    new_cost = _prior(at, mean, precision, pull)
                    new = _evaluate(trial, places, values, binary, scratch, g, weights) - new_cost
                    if new >= value + 1e-4 * size * decrement or (
                        decrement < 1e-8 and new >= value - 1e-12 * abs(value)
                    ):
                        break
                    size *= 0.5
                if size <= 1e-9:
                    break
                value, cost = new, new_cost
                V[i] += size * p
                a[:] = trial
                if decrement < TOLERANCE * TOLERANCE:  # the step just taken has squared it
                    break
            likelihoods[i] = value + cost


_parallel_newton, _plain_newton = two_forms(_newton, error_model="numpy")
