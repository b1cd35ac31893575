"""Programs in Triton for the sweep of NMD; ``fused_nmd`` says what they are for, and calls them."""
# mypy: allow-untyped-defs, allow-incomplete-defs
# Triton accepts no annotations but its own.

from math import log

import triton
import triton.language as tl

from rectifact.kernels.truncated import COEFFICIENTS_DEVICE, LOG_ROOT_2PI
from rectifact.kernels.truncated import SHIFT as MOMENT_SHIFT

C0, C1, C2, C3, C4, C5, C6, C7 = (tl.constexpr(value) for value in COEFFICIENTS_DEVICE)
SHIFT = tl.constexpr(MOMENT_SHIFT)
LOG_ROOT = tl.constexpr(LOG_ROOT_2PI)
BITS = tl.constexpr(1 / log(2))


@triton.jit
def halves_kernel(matrix, unit, high, low, size, BLOCK: tl.constexpr):
    """Numbers divided by ``unit`` in bfloat16, and what that leaves, in bfloat16 again."""
    places = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(matrix + places, mask=places < size)
    if unit is not None:
        values = values / tl.load(unit)
    rounded = values.to(tl.bfloat16)
    tl.store(high + places, rounded, mask=places < size)
    tl.store(low + places, (values - rounded.to(tl.float32)).to(tl.bfloat16), mask=places < size)


@triton.jit
def _reciprocal(x):
    """``1 / x`` by the one instruction that the device has for it; subnormal numbers count as 0, here and below."""
    return tl.inline_asm_elementwise("rcp.approx.ftz.f32 $0, $1;", "=f,f", [x], tl.float32, is_pure=True, pack=1)


@triton.jit
def _power_of_two(x):
    return tl.inline_asm_elementwise("ex2.approx.ftz.f32 $0, $1;", "=f,f", [x], tl.float32, is_pure=True, pack=1)


@triton.jit
def _binary_logarithm(x):
    return tl.inline_asm_elementwise("lg2.approx.ftz.f32 $0, $1;", "=f,f", [x], tl.float32, is_pure=True, pack=1)


@triton.jit
def _moments(a):
    """``truncated_moments`` to 1e-6: h, d and log Phi(-a), the last in bits."""
    b = tl.abs(a)
    s = _reciprocal(b + SHIFT)
    p = C7 * s + C6
    p = p * s + C5
    p = p * s + C4
    p = p * s + C3
    p = p * s + C2
    p = p * s + C1
    p = p * s + C0
    e = b + p * s
    whole = 1.0 + b * e
    log_bell = b * b * (-0.5 * BITS) - LOG_ROOT * BITS
    bell = _power_of_two(log_bell)
    positive = a >= 0
    part = tl.where(positive, e, whole - bell * e)
    r = _reciprocal(part)
    h = tl.where(positive, b + r, bell * whole * r)
    d = tl.where(positive, r, h + b)
    log_tail = _binary_logarithm(part) - _binary_logarithm(whole) + tl.where(positive, log_bell, 0.0)
    return h, d, log_tail


@triton.jit
def _latent(a, x, sigma, BINARY: tl.constexpr, MISSING: tl.constexpr):
    """Tile of Z / sigma from one of Theta / sigma, and the log-likelihood in bits with its derivatives in log sigma.

    NaN is missing. Outside the matrix a and x are 0: the derivatives are 0 there, and Z is multiplied by factors that
    are, but the log-likelihood is that of a zero, one bit.
    """
    positive = x > 0
    side = tl.where(positive, -a, a) if BINARY else a
    h, d, log_p = _moments(side)
    first = side * h
    second = -first * (1.0 + side * d)
    if BINARY:
        z = tl.where(positive, d, -d)
    else:
        scaled = x * (1.0 / sigma)
        squared = (scaled - a) * (scaled - a)
        z = tl.where(positive, scaled, -d)
        log_p = tl.where(positive, squared * (-0.5 * BITS) - (tl.log(sigma) + LOG_ROOT) * BITS, log_p)
        first = tl.where(positive, squared - 1.0, first)
        second = tl.where(positive, -2.0 * squared, second)
    if MISSING:
        known = x == x
        z = tl.where(known, z, a)
        log_p = tl.where(known, log_p, 0.0)
        first = tl.where(known, first, 0.0)
        second = tl.where(known, second, 0.0)
    return z, log_p, first, second


@triton.jit
def _split(z):
    """``halves`` of a tile; bits are cut off, as the device rounds single numbers to bfloat16 slowly."""
    bits = z.to(tl.int32, bitcast=True) & -65536
    high = (bits >> 16).to(tl.int16).to(tl.bfloat16, bitcast=True)
    return high, (z - bits.to(tl.float32, bitcast=True)).to(tl.bfloat16)


@triton.jit
def _dot(a_high, a_low, b_high, b_low, total):
    """``total`` plus the product in three terms, the small ones first."""
    total = tl.dot(a_low, b_high, total)
    total = tl.dot(a_high, b_low, total)
    return tl.dot(a_high, b_high, total)


@triton.jit
def row_kernel(
    X,
    A_high,
    A_low,
    B_high,
    B_low,
    parts,
    sums,
    Z_high,
    Z_low,
    sigma_at,
    n,
    d,
    r,
    columns_each,
    BM: tl.constexpr,
    BN: tl.constexpr,
    R: tl.constexpr,
    BINARY: tl.constexpr,
    MISSING: tl.constexpr,
    STORE: tl.constexpr,
):
    """``Z B'`` for BM rows over one share of the columns, and the sums over them; with STORE also Z / sigma."""
    block = tl.program_id(0)
    share = tl.program_id(1)
    sigma = tl.load(sigma_at)
    rows = block * BM + tl.arange(0, BM)
    ranks = tl.arange(0, R)
    mine = (rows[:, None] < n) & (ranks[None, :] < r)
    places = rows[:, None].to(tl.int64) * r + ranks[None, :]
    a_high = tl.load(A_high + places, mask=mine, other=0.0)
    a_low = tl.load(A_low + places, mask=mine, other=0.0)
    products = tl.zeros((BM, R), tl.float32)
    likelihood = tl.zeros((BM,), tl.float32)
    slope = tl.zeros((BM,), tl.float32)
    curvature = tl.zeros((BM,), tl.float32)
    begin, end = share * columns_each, tl.minimum((share + 1) * columns_each, d)
    for start in range(begin, end, BN):
        columns = start + tl.arange(0, BN)
        some = (ranks[:, None] < r) & (columns[None, :] < d)
        b_high = tl.load(B_high + ranks[:, None] * d + columns[None, :], mask=some, other=0.0)
        b_low = tl.load(B_low + ranks[:, None] * d + columns[None, :], mask=some, other=0.0)
        inside = (rows[:, None] < n) & (columns[None, :] < d)
        at = rows[:, None].to(tl.int64) * d + columns[None, :]
        x = tl.load(X + at, mask=inside, other=0.0)
        a = _dot(a_high, a_low, b_high, b_low, tl.zeros((BM, BN), tl.float32))
        z, log_p, first, second = _latent(a, x, sigma, BINARY, MISSING)
        z_high, z_low = _split(z)
        if STORE:
            tl.store(Z_high + at, z_high, mask=inside)
            tl.store(Z_low + at, z_low, mask=inside)
        products = _dot(z_high, z_low, tl.trans(b_high), tl.trans(b_low), products)
        likelihood += tl.sum(log_p, axis=1)
        slope += tl.sum(first, axis=1)
        curvature += tl.sum(second, axis=1)
    outside = tl.cdiv(end - begin, BN) * BN - (end - begin)
    likelihood = tl.where(rows < n, likelihood + outside, 0.0) * (1 / BITS)
    tl.store(parts + share.to(tl.int64) * n * r + places, products * sigma, mask=mine)
    own = sums + (share * tl.num_programs(0) + block) * 3
    tl.store(own, tl.sum(likelihood, axis=0))
    tl.store(own + 1, tl.sum(slope, axis=0))
    tl.store(own + 2, tl.sum(curvature, axis=0))


@triton.jit
def stored_kernel(
    Z_high,
    Z_low,
    W_high,
    W_low,
    parts,
    sigma_at,
    n,
    d,
    r,
    rows_each,
    BM: tl.constexpr,
    BN: tl.constexpr,
    R: tl.constexpr,
):
    """``W' Z`` for BN columns of a stored Z / sigma, over one share of the rows."""
    columns = tl.program_id(0) * BN + tl.arange(0, BN)
    share = tl.program_id(1)
    ranks = tl.arange(0, R)
    sigma = tl.load(sigma_at)
    products = tl.zeros((R, BN), tl.float32)
    for start in range(share * rows_each, tl.minimum((share + 1) * rows_each, n), BM):
        rows = start + tl.arange(0, BM)
        mine = (rows[:, None] < n) & (ranks[None, :] < r)
        places = rows[:, None].to(tl.int64) * r + ranks[None, :]
        w_high = tl.load(W_high + places, mask=mine, other=0.0)
        w_low = tl.load(W_low + places, mask=mine, other=0.0)
        inside = (rows[:, None] < n) & (columns[None, :] < d)
        at = rows[:, None].to(tl.int64) * d + columns[None, :]
        z_high = tl.load(Z_high + at, mask=inside, other=0.0)
        z_low = tl.load(Z_low + at, mask=inside, other=0.0)
        products = _dot(tl.trans(w_high), tl.trans(w_low), z_high, z_low, products)
    some = (ranks[:, None] < r) & (columns[None, :] < d)
    tl.store(parts + (share * r + ranks[:, None]) * d + columns[None, :], products * sigma, mask=some)


@triton.jit
def column_kernel(
    X,
    A_high,
    A_low,
    B_high,
    B_low,
    W_high,
    W_low,
    parts,
    sigma_at,
    n,
    d,
    r,
    rows_each,
    BM: tl.constexpr,
    BN: tl.constexpr,
    R: tl.constexpr,
    BINARY: tl.constexpr,
    MISSING: tl.constexpr,
):
    """``W' Z`` for BN columns, over one share of the rows."""
    columns = tl.program_id(0) * BN + tl.arange(0, BN)
    share = tl.program_id(1)
    sigma = tl.load(sigma_at)
    ranks = tl.arange(0, R)
    some = (ranks[:, None] < r) & (columns[None, :] < d)
    b_high = tl.load(B_high + ranks[:, None] * d + columns[None, :], mask=some, other=0.0)
    b_low = tl.load(B_low + ranks[:, None] * d + columns[None, :], mask=some, other=0.0)
    products = tl.zeros((R, BN), tl.float32)
    # Places from the first row of a tile on fit into 32 bits, and stay the same.
    own = tl.arange(0, BM)[:, None] * r + ranks[None, :]
    at = tl.arange(0, BM)[:, None] * d + columns[None, :]
    for start in range(share * rows_each, tl.minimum((share + 1) * rows_each, n), BM):
        rows = start + tl.arange(0, BM)
        mine = (rows[:, None] < n) & (ranks[None, :] < r)
        base = tl.cast(start, tl.int64) * r
        a_high = tl.load(A_high + base + own, mask=mine, other=0.0)
        a_low = tl.load(A_low + base + own, mask=mine, other=0.0)
        w_high = tl.load(W_high + base + own, mask=mine, other=0.0)
        w_low = tl.load(W_low + base + own, mask=mine, other=0.0)
        inside = (rows[:, None] < n) & (columns[None, :] < d)
        x = tl.load(X + tl.cast(start, tl.int64) * d + at, mask=inside, other=0.0)
        a = _dot(a_high, a_low, b_high, b_low, tl.zeros((BM, BN), tl.float32))
        z, _, _, _ = _latent(a, x, sigma, BINARY, MISSING)
        z_high, z_low = _split(z)
        products = _dot(tl.trans(w_high), tl.trans(w_low), z_high, z_low, products)
    tl.store(parts + (share * r + ranks[:, None]) * d + columns[None, :], products * sigma, mask=some)
