"""The sweep of NMD in Triton, for single precision tensors on a CUDA device.

A sweep needs two products of the latent matrix Z. A tile of Theta is computed, turned into a tile of Z by the E-step of
``reference``, and multiplied, all on the chip: Z is never stored, and each product computes it again.

Matrix units multiply 16-bit numbers faster than 32-bit ones. Each single-precision number is split into the sum of two
of them, ``high + low``, and a product into three: high high + high low + low high. What is left out is below ``2^-16``
of each term, about 1e-5; a product in TF32 would leave out 1e-3, and fits stopped far from the maximum with it.
"""
# mypy: allow-untyped-defs, allow-incomplete-defs
# Triton accepts no annotations but its own.

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import torch
import triton
import triton.language as tl
from triton.language.extra.libdevice import fast_dividef, fast_logf

from rectifact.core.linalg import gram_inverse
from rectifact.core.operand import Operand
from rectifact.kernels.capture import repeated as repeated
from rectifact.kernels.penalty import Penalty
from rectifact.kernels.truncated import COEFFICIENTS_SINGLE, LOG_ROOT_2PI, ROOT_2PI
from rectifact.kernels.truncated import SHIFT as MOMENT_SHIFT

C0, C1, C2, C3, C4, C5, C6, C7, C8, C9, C10, C11, C12 = (tl.constexpr(value) for value in COEFFICIENTS_SINGLE)
SHIFT = tl.constexpr(MOMENT_SHIFT)
ONE_OVER_ROOT = tl.constexpr(1 / ROOT_2PI)
LOG_ROOT = tl.constexpr(LOG_ROOT_2PI)

ROWS, ROW_COLUMNS, COLUMN_COLUMNS = 64, 32, 64
"""Tile sizes that were fastest on an H200 for 70,000 x 784 and 8,192 x 65,536 at rank 64."""

PROGRAMS_PER_MULTIPROCESSOR = 4
BLOCK = 1024


class Halves(NamedTuple):
    """A single-precision matrix as the sum of two in bfloat16, which together hold 16 of its 24 bits."""

    high: Any
    low: Any


def halves(matrix: Any) -> Halves:
    """Split a float32 matrix; the remainder is below 2^-16 of each entry."""
    matrix = matrix.contiguous()
    parts = Halves(*(torch.empty_like(matrix, dtype=torch.bfloat16) for _ in range(2)))
    with torch.cuda.device(matrix.device):
        _halves_kernel[(triton.cdiv(matrix.numel(), BLOCK),)](matrix, *parts, matrix.numel(), BLOCK=BLOCK)
    return parts


@triton.jit
def _halves_kernel(matrix, high, low, size, BLOCK: tl.constexpr):
    places = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(matrix + places, mask=places < size)
    rounded = values.to(tl.bfloat16)
    tl.store(high + places, rounded, mask=places < size)
    tl.store(low + places, (values - rounded.to(tl.float32)).to(tl.bfloat16), mask=places < size)


def nmd_sweep(
    X: Operand,
    A: Any,
    B: Any,
    sigma: Any,
    link: str,
    objective: str,
    missing: bool,
    n_jobs: int = 1,
    penalty: Penalty | None = None,
) -> tuple[Any, Any, Any]:
    """:func:`rectifact.kernels.tiled_nmd.nmd_sweep` of the likelihood; each product makes the tiles of Z again."""
    binary, factors = link == "binary", (halves(A), halves(B))
    system, shift = (B @ B.T, 0.0) if penalty is None else penalty.row_system(B @ B.T, sigma)
    inverse = _beside(lambda: gram_inverse(system))
    products, sums = nmd_row_products(X.data, *factors, sigma, binary, missing)
    new = (products + shift) @ inverse()
    system = new.T @ new if penalty is None else penalty.column_matrix(new.T @ new, sigma)
    inverse = _beside(lambda: gram_inverse(system))
    products = nmd_column_products(X.data, *factors, halves(new), sigma, binary, missing)
    if penalty is not None:
        products = penalty.column_products(products, B, sigma)
        sums = penalty.less_columns(penalty.less_rows(sums, A), B, sigma)
    return new, inverse() @ products, sums


def _beside(work: Callable[[], Any]) -> Callable[[], Any]:
    """Begin ``work()`` on a second stream; the first one waits for it when the result is asked for.

    Small factorisations take a tenth of a millisecond, in which the device is nearly idle; beside a large kernel they
    cost nothing.
    """
    main, second = torch.cuda.current_stream(), _second_stream(torch.cuda.current_device())
    second.wait_stream(main)
    with torch.cuda.stream(second):
        result = work()

    def join() -> Any:
        torch.cuda.current_stream().wait_stream(second)
        return result

    return join


@cache
def _second_stream(device: int) -> Any:
    return torch.cuda.Stream(device)


@triton.jit
def _moments(a):
    """``truncated_moments`` in single precision: h, d and log Phi(-a)."""
    b = tl.abs(a)
    s = fast_dividef(1.0, b + SHIFT)
    t = 1.0 - 2.0 * SHIFT * s
    p = C12 * t + C11
    p = p * t + C10
    p = p * t + C9
    p = p * t + C8
    p = p * t + C7
    p = p * t + C6
    p = p * t + C5
    p = p * t + C4
    p = p * t + C3
    p = p * t + C2
    p = p * t + C1
    p = p * t + C0
    e = b + p * s
    exponent = 0.5 * b * b
    mills = fast_dividef(e, 1.0 + b * e)
    bell = tl.exp(-exponent) * ONE_OVER_ROOT
    rest = 1.0 - bell * mills
    positive = a >= 0
    r = fast_dividef(1.0, tl.where(positive, e, rest))
    h = tl.where(positive, b + r, bell * r)
    d = tl.where(positive, r, h + b)
    # The fast logarithm of the device: the accurate one takes many instructions, and sums agree to 1e-7 with this one.
    log_tail = fast_logf(tl.where(positive, mills, rest)) - tl.where(positive, LOG_ROOT + exponent, 0.0)
    return h, d, log_tail


@triton.jit
def _latent(theta, x, sigma, inside, BINARY: tl.constexpr, MISSING: tl.constexpr):
    """Tile of Z, and for each entry the log-likelihood with its derivatives in log sigma; NaN is missing.

    Outside the matrix theta and x are 0. The derivatives are 0 there as well, and Z is multiplied by factors that are.
    """
    positive = x > 0
    sign = tl.where(positive, -1.0, 1.0) if BINARY else 1.0
    a = sign * theta * (1.0 / sigma)
    h, d, log_p = _moments(a)
    z = -sigma * d * sign
    first = a * h
    second = -first * (1.0 + a * d)
    if not BINARY:
        rho = x * (1.0 / sigma) - a
        squared = rho * rho
        z = tl.where(positive, x, z)
        log_p = tl.where(positive, -0.5 * squared - (tl.log(sigma) + LOG_ROOT), log_p)
        first = tl.where(positive, squared - 1.0, first)
        second = tl.where(positive, -2.0 * squared, second)
    if MISSING:
        known = x == x
        z = tl.where(known, z, theta)
        log_p = tl.where(known, log_p, 0.0)
        first = tl.where(known, first, 0.0)
        second = tl.where(known, second, 0.0)
    return z, tl.where(inside, log_p, 0.0), first, second


@triton.jit
def _dot(a_high, a_low, b_high, b_low, total):
    """``total`` plus the product in three terms, the small ones first."""
    total = tl.dot(a_low, b_high, total)
    total = tl.dot(a_high, b_low, total)
    return tl.dot(a_high, b_high, total)


@triton.jit
def _row_kernel(
    X,
    A_high,
    A_low,
    B_high,
    B_low,
    ZB,
    sums,
    sigma_at,
    n,
    d,
    r,
    BM: tl.constexpr,
    BN: tl.constexpr,
    R: tl.constexpr,
    BINARY: tl.constexpr,
    MISSING: tl.constexpr,
):
    """``Z B'`` for BM rows, and the sums over them."""
    block = tl.program_id(0)
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
    for start in range(0, d, BN):
        columns = start + tl.arange(0, BN)
        some = (ranks[:, None] < r) & (columns[None, :] < d)
        b_high = tl.load(B_high + ranks[:, None] * d + columns[None, :], mask=some, other=0.0)
        b_low = tl.load(B_low + ranks[:, None] * d + columns[None, :], mask=some, other=0.0)
        inside = (rows[:, None] < n) & (columns[None, :] < d)
        x = tl.load(X + rows[:, None].to(tl.int64) * d + columns[None, :], mask=inside, other=0.0)
        theta = _dot(a_high, a_low, b_high, b_low, tl.zeros((BM, BN), tl.float32))
        z, log_p, first, second = _latent(theta, x, sigma, inside, BINARY, MISSING)
        z_high = z.to(tl.bfloat16)
        z_low = (z - z_high.to(tl.float32)).to(tl.bfloat16)
        products = _dot(z_high, z_low, tl.trans(b_high), tl.trans(b_low), products)
        likelihood += tl.sum(log_p, axis=1)
        slope += tl.sum(first, axis=1)
        curvature += tl.sum(second, axis=1)
    tl.store(ZB + places, products, mask=mine)
    tl.store(sums + block * 3, tl.sum(likelihood, axis=0))
    tl.store(sums + block * 3 + 1, tl.sum(slope, axis=0))
    tl.store(sums + block * 3 + 2, tl.sum(curvature, axis=0))


@triton.jit
def _column_kernel(
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
    for start in range(share * rows_each, tl.minimum((share + 1) * rows_each, n), BM):
        rows = start + tl.arange(0, BM)
        mine = (rows[:, None] < n) & (ranks[None, :] < r)
        places = rows[:, None].to(tl.int64) * r + ranks[None, :]
        a_high = tl.load(A_high + places, mask=mine, other=0.0)
        a_low = tl.load(A_low + places, mask=mine, other=0.0)
        w_high = tl.load(W_high + places, mask=mine, other=0.0)
        w_low = tl.load(W_low + places, mask=mine, other=0.0)
        inside = (rows[:, None] < n) & (columns[None, :] < d)
        x = tl.load(X + rows[:, None].to(tl.int64) * d + columns[None, :], mask=inside, other=0.0)
        theta = _dot(a_high, a_low, b_high, b_low, tl.zeros((BM, BN), tl.float32))
        z, _, _, _ = _latent(theta, x, sigma, inside, BINARY, MISSING)
        z_high = z.to(tl.bfloat16)
        z_low = (z - z_high.to(tl.float32)).to(tl.bfloat16)
        products = _dot(tl.trans(w_high), tl.trans(w_low), z_high, z_low, products)
    tl.store(parts + (share * r + ranks[:, None]) * d + columns[None, :], products, mask=some)


def nmd_row_products(X: Any, A: Halves, B: Halves, sigma: Any, binary: bool, missing: bool) -> tuple[Any, Any]:
    """``Z B'`` and the three sums of the E-step; see :func:`rectifact.kernels.reference.nmd_e_step`.

    Parameters
    ----------
    X : float32 tensor of shape (n, d)
        On a CUDA device: zero, positive, or NaN where an entry is missing.
    A, B : Halves of shape (n, r) and (r, d)
        Factors of Theta.
    sigma : float32 tensor of one number
        Standard deviation of the noise.
    binary : bool
        Whether a positive x says only that z > 0.
    missing : bool
        Whether entries may be NaN; False is faster.

    Returns
    -------
    products : tensor of shape (n, r)
    sums : tensor of 3 numbers
        Log-likelihood, and its first and second derivative in log sigma.
    """
    (n, d), r = X.shape, A.high.shape[1]
    blocks = triton.cdiv(n, ROWS)
    products = torch.empty((n, r), dtype=torch.float32, device=X.device)
    sums = torch.empty((blocks, 3), dtype=torch.float32, device=X.device)
    with torch.cuda.device(X.device):
        _row_kernel[(blocks,)](
            *(X, *A, *B, products, sums, sigma, n, d, r),
            BM=ROWS,
            BN=ROW_COLUMNS,
            R=_padded(r),
            BINARY=binary,
            MISSING=missing,
            num_stages=3,
        )
    return products, sums.sum(dim=0, dtype=torch.float64)


def nmd_column_products(X: Any, A: Halves, B: Halves, W: Halves, sigma: Any, binary: bool, missing: bool) -> Any:
    """``W' Z`` of shape (r, d), for weights W of shape (n, r) and the Z of :func:`nmd_row_products`."""
    (n, d), r = X.shape, A.high.shape[1]
    blocks = triton.cdiv(d, COLUMN_COLUMNS)
    processors = torch.cuda.get_device_properties(X.device).multi_processor_count
    shares = max(1, min(triton.cdiv(n, ROWS), triton.cdiv(PROGRAMS_PER_MULTIPROCESSOR * processors, blocks)))
    rows_each = triton.cdiv(triton.cdiv(n, shares), ROWS) * ROWS
    shares = triton.cdiv(n, rows_each)
    parts = torch.empty((shares, r, d), dtype=torch.float32, device=X.device)
    with torch.cuda.device(X.device):
        _column_kernel[(blocks, shares)](
            *(X, *A, *B, *W, parts, sigma, n, d, r, rows_each),
            BM=ROWS,
            BN=COLUMN_COLUMNS,
            R=_padded(r),
            BINARY=binary,
            MISSING=missing,
            num_stages=2,
        )
    return parts.sum(dim=0)


def _padded(rank: int) -> int:
    """Size of a tile that holds the rank; matrix units need at least 16."""
    return max(16, triton.next_power_of_2(rank))
