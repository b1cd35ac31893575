"""The fill-in steps of NMD in numba, and the truncated moments that the E-step consists of.

Loops are written so that they are vectorised: over runs of constant length, without sums inside, and in the precision
of the data (one float64 literal would widen a whole loop). ``fastmath`` and ``error_model`` are always given: a
function that does not set them would inherit them from its first caller.
"""

from math import factorial, log
from typing import Any

import numpy as np
from numba import njit, types
from numba.extending import overload

from rectifact.core.arrays import Array
from rectifact.kernels.truncated import COEFFICIENTS, COEFFICIENTS_SINGLE, FAR, LOG_ROOT_2PI, ROOT_2PI, SHIFT

BLOCK = 512  # entries whose numbers stay in the first-level cache
LOG2_E = 1 / log(2)
FUSED = {"contract"}  # fused multiply-add and nothing else: more would cost digits

# What depends on the precision is chosen by overloads when numba compiles: functions that close over compiled ones
# would not be cached on disk.


def _series(r: Any) -> Any:
    """exp(r) for |r| < 0.35: Taylor, whose remainder is below rounding."""


def _fit(t: Any) -> Any:
    """P(t) = (a + 4) u(a), t = (a - 4) / (a + 4)."""


E = tuple(1 / factorial(k) for k in range(14))
E_ = tuple(np.float32(e) for e in E)
P = tuple(np.float64(c) for c in COEFFICIENTS)
P_ = tuple(np.float32(c) for c in COEFFICIENTS_SINGLE)
EXPONENT = tuple(np.float64(v) for v in (6.93147180369123816490e-01, 1.90821492927058770002e-10, 1023, 2.0**52, 40))
EXPONENT_ = tuple(np.float32(v) for v in (0.693359375, -2.12194440e-4, 127, 2.0**23, 14))
"""Ln 2 in two parts (the first of few bits), bias of the exponent, 2^(bits of the mantissa), where phi is 0."""


@overload(_series, inline="always")
def _series_of(r: Any) -> Any:
    def double(r: Any) -> Any:
        p = ((((E[13] * r + E[12]) * r + E[11]) * r + E[10]) * r + E[9]) * r + E[8]
        p = (((((p * r + E[7]) * r + E[6]) * r + E[5]) * r + E[4]) * r + E[3]) * r + E[2]
        return (p * r + E[1]) * r + E[0]

    def single(r: Any) -> Any:
        p = ((((E_[7] * r + E_[6]) * r + E_[5]) * r + E_[4]) * r + E_[3]) * r + E_[2]
        return (p * r + E_[1]) * r + E_[0]

    return double if r == types.float64 else single


@overload(_fit, inline="always")
def _fit_of(t: Any) -> Any:
    def double(t: Any) -> Any:  # even and odd powers apart: two chains of multiply-add run in parallel
        q = t * t
        p = (((((P[24] * q + P[22]) * q + P[20]) * q + P[18]) * q + P[16]) * q + P[14]) * q + P[12]
        p = (((((p * q + P[10]) * q + P[8]) * q + P[6]) * q + P[4]) * q + P[2]) * q + P[0]
        o = (((((P[23] * q + P[21]) * q + P[19]) * q + P[17]) * q + P[15]) * q + P[13]) * q + P[11]
        o = ((((o * q + P[9]) * q + P[7]) * q + P[5]) * q + P[3]) * q + P[1]
        return o * t + p

    def single(t: Any) -> Any:
        p = (((((P_[12] * t + P_[11]) * t + P_[10]) * t + P_[9]) * t + P_[8]) * t + P_[7]) * t + P_[6]
        return (((((p * t + P_[5]) * t + P_[4]) * t + P_[3]) * t + P_[2]) * t + P_[1]) * t + P_[0]

    return double if t == types.float64 else single


@njit(fastmath=True)
def _reduce(w: Array, factors: Array) -> Any:
    """Sums of log Phi(-a), of a h and of a h (1 + a d) over the entries that ``_moments`` filled in.

    Reassociation is allowed here, and only here: without it sums are not vectorised.
    """
    squares = first = second = 0.0
    for j in range(BLOCK):
        a, h, d = np.float64(w[j]), np.float64(w[j + BLOCK]), np.float64(w[j + 2 * BLOCK])
        above = max(a, 0.0)
        squares += above * above
        first += a * h
        second += a * h * (1.0 + a * d)
    for j in range(BLOCK):
        code = np.float64(w[j + 3 * BLOCK])
        factors[j] = code if code > 0.0 else 1.0 + code
    half = BLOCK // 2
    while half >= BLOCK // 32:  # down to products of 32, of which none is below 1e-9^32
        for j in range(half):
            factors[j] *= factors[j + half]
        half //= 2
    logs, product = 0.0, 1.0
    for j in range(BLOCK // 32):  # as a rule a single logarithm for all
        if factors[j] > 1e-16:
            product *= factors[j]
        else:
            logs += np.log(factors[j])
    return logs + np.log(product) - 0.5 * squares, first, second


@njit(fastmath=FUSED, error_model="numpy")
def _moments(w: Array, bits: Array, powers: Array, exponent: Any) -> None:
    """From a in w[:BLOCK]: h, d = h - a and a code of Phi(-a), in the three stretches of w that follow.

    The code is Phi(-a) exp(a^2 / 2) for a >= 0 and -Phi(a) for a < 0: bounded, and exact where Phi(-a) is near 1.
    Beyond a = 4e8 it stays at 1e-9, where its logarithm is lost in a^2 / 2. ``bits`` and ``powers`` are one scratch
    array, as integers and as numbers. Constants have the precision of w, as ``exponent`` does: one float64 literal
    would widen the whole loop.
    """
    real = w.dtype.type
    one, half, zero, grid, cell = real(1), real(0.5), real(0), real(16), real(1 / 16)
    shift, twice = real(SHIFT), real(2 * SHIFT)
    scale, least, log2_e = real(1 / ROOT_2PI), real(1e-9), real(LOG2_E)
    ln2_high, ln2_low, bias, step, far = exponent
    for j in range(BLOCK):  # exp(-a^2 / 2) as mantissa and bits of the power of 2
        b = min(abs(w[j]), far)
        high = np.floor(grid * b + half) * cell  # few bits: its square is exact
        low = b - high
        rest = low * (high + half * low)
        square = half * high * high
        n = np.floor(half - (square + rest) * log2_e)
        w[j + BLOCK] = _series(((-square - n * ln2_high) - n * ln2_low) - rest) * scale
        bits[j] = (max(n, -bias) + bias) * step
    for j in range(BLOCK):
        a, bell = w[j], w[j + BLOCK] * powers[j]
        b = abs(a)
        s = one / (b + shift)
        e = b + _fit(one - twice * s) * s  # 1 / d(b)
        mills = e / (one + b * e)
        below = bell * mills  # Phi(-b)
        r = one / (e if a >= zero else one - below)
        h = b + r if a >= zero else bell * r
        w[j + BLOCK] = h
        w[j + 2 * BLOCK] = r if a >= zero else h + b
        w[j + 3 * BLOCK] = max(mills * scale, least) if a >= zero else -below


@njit(fastmath=FUSED)
def _load(w: Array, theta: Array, scaling: Any) -> None:
    far = w.dtype.type(-FAR)
    for j in range(len(theta)):
        w[j] = theta[j] * scaling
    for j in range(len(theta), BLOCK):
        w[j] = far  # h = 0, Phi(-a) = 1: adds nothing


@njit(fastmath=FUSED)
def _store(w: Array, sigma: Any, z: Array) -> None:
    for j in range(len(z)):
        z[j] = -sigma * w[j + 2 * BLOCK]


def nmd_e_step(
    indptr: Array, indices: Array, data: Array, theta: Array, sigma: float, binary: bool, z: Array
) -> tuple[float, float, float]:
    """As in ``reference``."""
    single = theta.dtype == np.float32
    powers, exponent = np.empty(BLOCK, theta.dtype), EXPONENT_ if single else EXPONENT
    scratch = powers.view(np.int32 if single else np.int64), powers, exponent
    return _e_step(indptr, indices, data, theta, float(sigma), bool(binary), z, scratch)


@njit(nogil=True, cache=True, error_model="numpy")
def _e_step(
    indptr: Array, indices: Array, data: Array, theta: Array, sigma: float, binary: bool, z: Array, scratch: Any
) -> tuple[float, float, float]:
    """BLOCK entries after another: moments of all as if they were zero or of the other sign, then those of the data."""
    real = theta.dtype.type
    n_rows, n_columns = theta.shape
    means, posteriors = theta.reshape(-1), z.reshape(-1)
    w, factors, places = np.empty(4 * BLOCK, theta.dtype), np.empty(BLOCK), np.empty(BLOCK, np.int64)
    likelihood, first, second = 0.0, 0.0, 0.0
    scaling, far = 1.0 / sigma, real(-FAR)
    row, k, end = 0, indptr[0], n_rows * n_columns
    for block in range(0, end, BLOCK):
        stop = min(block + BLOCK, end)
        _load(w, means[block:stop], real(scaling))
        stored = 0
        while k < indptr[n_rows]:  # the entries of the data that lie in the block
            while k >= indptr[row + 1]:
                row += 1
            place = row * n_columns + indices[k] - block
            if place >= BLOCK:
                break
            places[stored] = place
            stored += 1
            k += 1
        for c in range(stored):
            x, place = data[k - stored + c], places[c]
            if binary and x > 0:
                w[place] = -w[place]
            elif x != 0:  # observed or missing: nothing is truncated there
                w[place] = far
        _moments(w, *scratch)
        _store(w, real(sigma), posteriors[block:stop])
        residual, positives = 0.0, 0
        for c in range(stored):
            x, place = data[k - stored + c], block + places[c]
            if binary and x > 0:
                posteriors[place] = -posteriors[place]
            elif x > 0:
                gap = (x - means[place]) * scaling
                residual += gap * gap
                positives += 1
                posteriors[place] = x
            elif x != 0:
                posteriors[place] = means[place]
        logs, slope, bend = _reduce(w, factors)
        likelihood += logs - 0.5 * residual - positives * (log(sigma) + LOG_ROOT_2PI)
        first += slope + residual - positives
        second -= bend + 2.0 * residual
    return likelihood, first, second


@njit(nogil=True, cache=True, fastmath={"reassoc", "contract"})  # sums may be reordered; NaN must be seen
def nmd_nearest(indptr: Array, indices: Array, data: Array, theta: Array, z: Array) -> float:
    """As in ``reference``, for the rows of ``indptr``; NaN is a missing entry."""
    total = 0.0
    for i in range(theta.shape[0]):
        means, row = theta[i], z[i]
        for j in range(len(means)):
            positive = max(means[j], theta.dtype.type(0))
            row[j] = means[j] - positive
            total += np.float64(positive) * np.float64(positive)
        for k in range(indptr[i], indptr[i + 1]):
            j = indices[k]
            if data[k] != 0:
                positive = max(means[j], theta.dtype.type(0))
                total -= np.float64(positive) * np.float64(positive)
                row[j] = means[j]
                if data[k] > 0:
                    gap = np.float64(data[k]) - np.float64(means[j])
                    total += gap * gap
                    row[j] = data[k]
    return total
