"""Kernels in Triton for torch tensors on a CUDA device: what is bound by memory traffic, fused.

A sweep of NMD needs two products of the latent matrix Z. Here a tile of Theta is made, turned into the tile of Z by the
E-step of ``reference``, and multiplied, all on the chip: Z is never stored, and each product makes it anew.

The E-step of Dawid-Skene takes a block of tasks to a program, a lane to a task; its sums stay in registers.

Matrix units multiply in three terms of TF32 each, which is as accurate as single precision. One term alone, with
relative errors of about 1e-3 in the products, was a third faster and stopped far from the maximum: on 20,000 x 784 at
rank 32, with a log-likelihood per entry of 1.37 instead of 2.23.
"""
# mypy: allow-untyped-defs, allow-incomplete-defs
# Triton does not take annotations of other kinds than its own.

from typing import Any

import torch
import triton
import triton.language as tl
from triton.language.extra.libdevice import fast_dividef

from rectifact.kernels.truncated import COEFFICIENTS_SINGLE, LOG_ROOT_2PI, ROOT_2PI
from rectifact.kernels.truncated import SHIFT as MOMENT_SHIFT

__all__ = ["crowd_counts", "crowd_posteriors", "nmd_column_products", "nmd_row_products"]

C0, C1, C2, C3, C4, C5, C6, C7, C8, C9, C10, C11, C12 = (tl.constexpr(value) for value in COEFFICIENTS_SINGLE)
SHIFT = tl.constexpr(MOMENT_SHIFT)
ONE_OVER_ROOT = tl.constexpr(1 / ROOT_2PI)
LOG_ROOT = tl.constexpr(LOG_ROOT_2PI)

ROWS, ROW_COLUMNS, COLUMN_COLUMNS = 64, 32, 64
"""Sizes of tiles that were fastest on an H200 for 70,000 x 784 at rank 64."""

PROGRAMS_PER_MULTIPROCESSOR = 4
PRECISION = "tf32x3"
TASKS = 256


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
    mills = fast_dividef(e, 1.0 + b * e)
    bell = tl.exp(-0.5 * b * b) * ONE_OVER_ROOT
    q = bell * mills
    positive = a >= 0
    r = fast_dividef(1.0, tl.where(positive, e, 1.0 - q))
    h = tl.where(positive, b + r, bell * r)
    d = tl.where(positive, r, h + b)
    log_tail = tl.log(tl.where(positive, mills, 1.0 - q)) - tl.where(positive, LOG_ROOT + 0.5 * b * b, 0.0)
    return h, d, log_tail


@triton.jit
def _latent(theta, x, sigma, inside, BINARY: tl.constexpr):
    """Tile of Z, and for each entry the log-likelihood with its derivatives in log sigma; NaN is missing."""
    positive = x > 0
    known = (x == x) & inside
    sign = tl.where(positive, -1.0, 1.0) if BINARY else 1.0
    a = sign * theta * (1.0 / sigma)
    h, d, log_p = _moments(a)
    z = -sigma * d * sign
    first = a * h
    second = -first * (1.0 + a * d)
    if not BINARY:
        rho = (x - theta) * (1.0 / sigma)
        squared = rho * rho
        z = tl.where(positive, x, z)
        log_p = tl.where(positive, -0.5 * squared - (tl.log(sigma) + LOG_ROOT), log_p)
        first = tl.where(positive, squared - 1.0, first)
        second = tl.where(positive, -2.0 * squared, second)
    z = tl.where(inside, tl.where(known, z, theta), 0.0)
    return z, tl.where(known, log_p, 0.0), tl.where(known, first, 0.0), tl.where(known, second, 0.0)


@triton.jit
def _row_kernel(
    X,
    A,
    B,
    ZB,
    sums,
    sigma,
    n,
    d,
    r,
    BM: tl.constexpr,
    BN: tl.constexpr,
    R: tl.constexpr,
    BINARY: tl.constexpr,
    PRECISION: tl.constexpr,
):
    """``Z B'`` of a block of rows, and the sums over it."""
    block = tl.program_id(0)
    rows = block * BM + tl.arange(0, BM)
    ranks = tl.arange(0, R)
    mine = (rows[:, None] < n) & (ranks[None, :] < r)
    a = tl.load(A + rows[:, None] * r + ranks[None, :], mask=mine, other=0.0)
    products = tl.zeros((BM, R), tl.float32)
    likelihood = tl.zeros((BM,), tl.float32)
    slope = tl.zeros((BM,), tl.float32)
    curvature = tl.zeros((BM,), tl.float32)
    for start in range(0, d, BN):
        columns = start + tl.arange(0, BN)
        some = (ranks[:, None] < r) & (columns[None, :] < d)
        b = tl.load(B + ranks[:, None] * d + columns[None, :], mask=some, other=0.0)
        inside = (rows[:, None] < n) & (columns[None, :] < d)
        x = tl.load(X + rows[:, None].to(tl.int64) * d + columns[None, :], mask=inside, other=0.0)
        theta = tl.dot(a, b, input_precision=PRECISION)
        z, log_p, first, second = _latent(theta, x, sigma, inside, BINARY)
        products += tl.dot(z, tl.trans(b), input_precision=PRECISION)
        likelihood += tl.sum(log_p, axis=1)
        slope += tl.sum(first, axis=1)
        curvature += tl.sum(second, axis=1)
    tl.store(ZB + rows[:, None] * r + ranks[None, :], products, mask=mine)
    tl.store(sums + block * 3, tl.sum(likelihood, axis=0))
    tl.store(sums + block * 3 + 1, tl.sum(slope, axis=0))
    tl.store(sums + block * 3 + 2, tl.sum(curvature, axis=0))


@triton.jit
def _column_kernel(
    X,
    A,
    B,
    weights,
    parts,
    sigma,
    n,
    d,
    r,
    rows_each,
    BM: tl.constexpr,
    BN: tl.constexpr,
    R: tl.constexpr,
    BINARY: tl.constexpr,
    PRECISION: tl.constexpr,
):
    """``weights' Z`` of a block of columns, over one share of the rows."""
    columns = tl.program_id(0) * BN + tl.arange(0, BN)
    share = tl.program_id(1)
    ranks = tl.arange(0, R)
    some = (ranks[:, None] < r) & (columns[None, :] < d)
    b = tl.load(B + ranks[:, None] * d + columns[None, :], mask=some, other=0.0)
    products = tl.zeros((R, BN), tl.float32)
    for start in range(share * rows_each, tl.minimum((share + 1) * rows_each, n), BM):
        rows = start + tl.arange(0, BM)
        mine = (rows[:, None] < n) & (ranks[None, :] < r)
        a = tl.load(A + rows[:, None] * r + ranks[None, :], mask=mine, other=0.0)
        w = tl.load(weights + rows[:, None] * r + ranks[None, :], mask=mine, other=0.0)
        inside = (rows[:, None] < n) & (columns[None, :] < d)
        x = tl.load(X + rows[:, None].to(tl.int64) * d + columns[None, :], mask=inside, other=0.0)
        theta = tl.dot(a, b, input_precision=PRECISION)
        z, _, _, _ = _latent(theta, x, sigma, inside, BINARY)
        products += tl.dot(tl.trans(w), z, input_precision=PRECISION)
    tl.store(parts + (share * r + ranks[:, None]) * d + columns[None, :], products, mask=some)


def nmd_row_products(X: Any, A: Any, B: Any, sigma: float, binary: bool) -> tuple[Any, Any]:
    """``Z B'`` and the three sums of the E-step; see :func:`rectifact.kernels.reference.nmd_e_step`.

    Parameters
    ----------
    X : float32 tensor (n, d) on a CUDA device: zero, positive, or NaN where it is missing
    A, B : factors of Theta, (n, r) and (r, d)
    sigma : standard deviation
    binary : whether a positive x says only that z > 0

    Returns
    -------
    tensor (n, r), and a tensor of log-likelihood, first and second derivative in log sigma
    """
    (n, d), r = X.shape, A.shape[1]
    blocks = triton.cdiv(n, ROWS)
    products = torch.empty_like(A)
    sums = torch.empty((blocks, 3), dtype=torch.float32, device=X.device)
    with torch.cuda.device(X.device):
        _row_kernel[(blocks,)](
            *(X, A, B, products, sums, sigma, n, d, r),
            BM=ROWS,
            BN=ROW_COLUMNS,
            R=_padded(r),
            BINARY=binary,
            PRECISION=PRECISION,
            num_stages=3,
        )
    return products, sums.sum(dim=0, dtype=torch.float64)


def nmd_column_products(X: Any, A: Any, B: Any, weights: Any, sigma: float, binary: bool) -> Any:
    """``weights' Z`` for weights (n, r) and the Z of :func:`nmd_row_products`; a tensor (r, d)."""
    (n, d), r = X.shape, A.shape[1]
    blocks = triton.cdiv(d, COLUMN_COLUMNS)
    processors = torch.cuda.get_device_properties(X.device).multi_processor_count
    shares = max(1, min(triton.cdiv(n, ROWS), triton.cdiv(PROGRAMS_PER_MULTIPROCESSOR * processors, blocks)))
    rows_each = triton.cdiv(triton.cdiv(n, shares), ROWS) * ROWS
    shares = triton.cdiv(n, rows_each)
    parts = torch.empty((shares, r, d), dtype=torch.float32, device=X.device)
    with torch.cuda.device(X.device):
        _column_kernel[(blocks, shares)](
            *(X, A, B, weights, parts, sigma, n, d, r, rows_each),
            BM=ROWS,
            BN=COLUMN_COLUMNS,
            R=_padded(r),
            BINARY=binary,
            PRECISION=PRECISION,
            num_stages=2,
        )
    return parts.sum(dim=0)


def _padded(rank: int) -> int:
    """Size of a tile that holds the rank; matrix units want at least 16."""
    return max(16, triton.next_power_of_2(rank))


@triton.jit
def _posterior_kernel(
    indptr,
    cells,
    weights,
    log_priors,
    log_confusions,
    known,
    posteriors,
    evidence,
    n_tasks,
    WEIGHTED: tl.constexpr,
    KNOWN: tl.constexpr,
    K: tl.constexpr,
    KP: tl.constexpr,
    TASKS: tl.constexpr,
):
    """Posteriors of a block of tasks, and the sum of their evidence."""
    block = tl.program_id(0)
    tasks = block.to(tl.int64) * TASKS + tl.arange(0, TASKS)
    mine = tasks < n_tasks
    classes = tl.arange(0, KP)
    real = classes < K
    begin = tl.load(indptr + tasks, mask=mine, other=0)
    end = tl.load(indptr + tasks + 1, mask=mine, other=0)
    longest = tl.max(end - begin, axis=0)
    priors = tl.load(log_priors + classes, mask=real, other=-float("inf"))
    joint = tl.zeros((TASKS, KP), tl.float32) + priors[None, :]
    for i in range(longest):
        has = mine & (begin + i < end)
        cell = tl.load(cells + begin + i, mask=has, other=0).to(tl.int64)
        said = tl.load(
            log_confusions + cell[:, None] * K + classes[None, :], mask=has[:, None] & real[None, :], other=0.0
        )
        if WEIGHTED:
            said = said * tl.load(weights + begin + i, mask=has, other=0.0)[:, None]
        joint += said
    top = tl.max(joint, axis=1)
    impossible = top == -float("inf")  # nothing is possible: as if there were no answers
    joint = tl.where(impossible[:, None], priors[None, :], joint)
    top = tl.where(impossible, tl.max(priors, axis=0), top)
    odds = tl.exp(joint - top[:, None])
    total = tl.sum(odds, axis=1)
    q = odds / total[:, None]
    seen = top + tl.log(total)
    if KNOWN:
        true = tl.load(known + tasks, mask=mine, other=-1)
        certain = classes[None, :] == true[:, None]
        q = tl.where((true >= 0)[:, None], tl.where(certain, 1.0, 0.0), q)
        seen = tl.where(true >= 0, tl.sum(tl.where(certain, joint, 0.0), axis=1), seen)
    tl.store(posteriors + tasks[:, None] * K + classes[None, :], q, mask=mine[:, None] & real[None, :])
    tl.store(evidence + block, tl.sum(tl.where(mine, seen, 0.0), axis=0))


@triton.jit
def _count_kernel(
    indptr,
    cells,
    weights,
    posteriors,
    counts,
    n_tasks,
    WEIGHTED: tl.constexpr,
    K: tl.constexpr,
    KP: tl.constexpr,
    TASKS: tl.constexpr,
):
    """Posteriors of a block of tasks, added to the cells of their answers."""
    tasks = tl.program_id(0).to(tl.int64) * TASKS + tl.arange(0, TASKS)
    mine = tasks < n_tasks
    classes = tl.arange(0, KP)
    real = classes < K
    begin = tl.load(indptr + tasks, mask=mine, other=0)
    end = tl.load(indptr + tasks + 1, mask=mine, other=0)
    q = tl.load(posteriors + tasks[:, None] * K + classes[None, :], mask=mine[:, None] & real[None, :], other=0.0)
    for i in range(tl.max(end - begin, axis=0)):
        has = mine & (begin + i < end)
        cell = tl.load(cells + begin + i, mask=has, other=0).to(tl.int64)
        share = q
        if WEIGHTED:
            share = q * tl.load(weights + begin + i, mask=has, other=0.0)[:, None]
        place = counts + cell[:, None] * K + classes[None, :]
        tl.atomic_add(place, share, mask=has[:, None] & real[None, :], sem="relaxed")


def crowd_posteriors(
    indptr: Any, cells: Any, weights: Any, log_priors: Any, log_confusions: Any, known: Any, posteriors: Any
) -> Any:
    """As in ``reference``, on tensors; ``weights`` of None are all 1. The evidence stays on the device."""
    n_tasks, n_classes = posteriors.shape
    blocks = triton.cdiv(n_tasks, TASKS)
    evidence = torch.empty(blocks, dtype=torch.float32, device=posteriors.device)
    with torch.cuda.device(posteriors.device):
        _posterior_kernel[(blocks,)](
            *(indptr, cells, weights, log_priors, log_confusions, known, posteriors, evidence, n_tasks),
            WEIGHTED=weights is not None,
            KNOWN=len(known) > 0,
            K=n_classes,
            KP=triton.next_power_of_2(n_classes),
            TASKS=TASKS,
        )
    return evidence.sum(dtype=torch.float64)


def crowd_counts(indptr: Any, cells: Any, weights: Any, posteriors: Any, n_cells: int) -> Any:
    """As in ``reference``, on tensors; ``weights`` of None are all 1. Sums are in single precision, in any order."""
    n_tasks, n_classes = posteriors.shape
    counts = torch.zeros((n_cells, n_classes), dtype=torch.float32, device=posteriors.device)
    with torch.cuda.device(posteriors.device):
        _count_kernel[(triton.cdiv(n_tasks, TASKS),)](
            *(indptr, cells, weights, posteriors, counts, n_tasks),
            WEIGHTED=weights is not None,
            K=n_classes,
            KP=triton.next_power_of_2(n_classes),
            TASKS=TASKS,
        )
    return counts
