"""The sweep of NMD in Triton, for single precision tensors on a CUDA device.

A sweep needs two products of the latent matrix Z. A tile of Theta is computed, turned into a tile of Z by the E-step of
``reference``, and multiplied, all on the chip. The second product reads Z if it is small enough to be stored, and else
computes it again.

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

from rectifact.core.operand import Operand
from rectifact.kernels.capture import repeated as repeated
from rectifact.kernels.fused_inverse import gram_inverse
from rectifact.kernels.fused_nmd_programs import column_kernel, halves_kernel, row_kernel, stored_kernel
from rectifact.kernels.penalty import Penalty

ROWS, ROW_COLUMNS, COLUMN_COLUMNS = 64, 32, 64
"""Tile sizes that were fastest on an H200 for 70,000 x 784 and 8,192 x 65,536 at rank 64."""

ROW_REGISTERS, COLUMN_REGISTERS = 168, 200
"""Limits on the registers of a thread: without them, fewer programs would share a multiprocessor."""

STORED_ROWS, STORED_COLUMNS = 32, 64
ROW_PROGRAMS, COLUMN_PROGRAMS = 6, 4
"""Programs for each multiprocessor; where there are fewer tiles, rows or columns are shared out among programs."""

MOST_STORED, MOST_STORED_COLUMNS = 2**30, 8192
"""Bytes and columns of a Z that is stored: pieces of longer rows lie far apart, and cost more than they save."""

BLOCK = 1024


class Halves(NamedTuple):
    """A single-precision matrix as the sum of two in bfloat16, which together hold 16 of its 24 bits."""

    high: Any
    low: Any


def halves(matrix: Any, unit: Any = None) -> Halves:
    """Split a float32 matrix, divided by ``unit`` if there is one; the remainder is below 2^-16 of each entry."""
    matrix = matrix.contiguous()
    parts = Halves(*(torch.empty_like(matrix, dtype=torch.bfloat16) for _ in range(2)))
    with torch.cuda.device(matrix.device):
        halves_kernel[(triton.cdiv(matrix.numel(), BLOCK),)](matrix, unit, *parts, matrix.numel(), BLOCK=BLOCK)
    return parts


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
    system, shift = (B @ B.T, None) if penalty is None else penalty.row_system(B @ B.T, sigma)
    inverse = _beside(lambda: gram_inverse(system))
    binary, factors, Z = link == "binary", (halves(A, sigma), halves(B)), _room_for(X.data)
    products, sums = nmd_row_products(X.data, *factors, sigma, binary, missing, Z)
    new = (products if shift is None else products + shift) @ inverse()
    system = new.T @ new if penalty is None else penalty.column_matrix(new.T @ new, sigma)
    inverse = _beside(lambda: gram_inverse(system))
    if Z is None:
        products = nmd_column_products(X.data, *factors, halves(new), sigma, binary, missing)
    else:
        products = _stored_products(Z, halves(new), sigma)
    if penalty is not None:
        products = penalty.column_products(products, B, sigma)
        sums = penalty.less_columns(penalty.less_rows(sums, A), B, sigma)
    return new, inverse() @ products, sums


def _room_for(X: Any) -> Any:
    """Memory for Z, or None where it is computed twice."""
    stored = 4 * X.numel() <= MOST_STORED and X.shape[1] <= MOST_STORED_COLUMNS
    return Halves(*(torch.empty_like(X, dtype=torch.bfloat16) for _ in range(2))) if stored else None


def _beside(work: Callable[[], Any]) -> Callable[[], Any]:
    """Begin ``work()`` on a second stream; the first one waits for it when the result is asked for.

    An inverse takes a few hundredths of a millisecond, in which the device is nearly idle; beside a large kernel it
    costs nothing. Without priority it would wait until the last programs of that kernel have begun.
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
    return torch.cuda.Stream(device, priority=-1)


def nmd_row_products(
    X: Any, A: Halves, B: Halves, sigma: Any, binary: bool, missing: bool, Z: Halves | None = None
) -> tuple[Any, Any]:
    """``Z B'`` and the three sums of the E-step; see :func:`rectifact.kernels.reference.nmd_e_step`.

    Parameters
    ----------
    X : float32 tensor of shape (n, d)
        On a CUDA device: zero, positive, or NaN where an entry is missing.
    A, B : Halves of shape (n, r) and (r, d)
        Factors of Theta / sigma.
    sigma : float32 tensor of one number
        Standard deviation of the noise.
    binary : bool
        Whether a positive x says only that z > 0.
    missing : bool
        Whether entries may be NaN; False is faster.
    Z : Halves of shape (n, d), default None
        Where Z / sigma is stored, if it is.

    Returns
    -------
    products : tensor of shape (n, r)
    sums : tensor of 3 numbers
        Log-likelihood, and its first and second derivative in log sigma.
    """
    (n, d), r = X.shape, A.high.shape[1]
    blocks = triton.cdiv(n, ROWS)
    columns_each, shares = _shares(d, ROW_COLUMNS, triton.cdiv(ROW_PROGRAMS * _processors(X), blocks))
    parts = torch.empty((shares, n, r), dtype=torch.float32, device=X.device)
    sums = torch.empty((shares * blocks, 3), dtype=torch.float32, device=X.device)
    with torch.cuda.device(X.device):
        row_kernel[(blocks, shares)](
            *(X, *A, *B, parts, sums, *(Z or (None, None)), sigma, n, d, r, columns_each),
            BM=ROWS,
            BN=ROW_COLUMNS,
            R=_padded(r),
            BINARY=binary,
            MISSING=missing,
            STORE=Z is not None,
            num_stages=3,
            maxnreg=ROW_REGISTERS,
        )
    return parts[0] if shares == 1 else parts.sum(dim=0), sums.sum(dim=0, dtype=torch.float64)


def _processors(X: Any) -> int:
    return int(torch.cuda.get_device_properties(X.device).multi_processor_count)


def _shares(length: int, tile: int, wanted: int) -> tuple[int, int]:
    """Length of a share in whole tiles, and the number of shares, as near to ``wanted`` as that allows."""
    wanted = max(1, min(triton.cdiv(length, tile), wanted))
    each = triton.cdiv(triton.cdiv(length, wanted), tile) * tile
    return each, triton.cdiv(length, each)


def nmd_column_products(X: Any, A: Halves, B: Halves, W: Halves, sigma: Any, binary: bool, missing: bool) -> Any:
    """``W' Z`` of shape (r, d), for weights W of shape (n, r) and the Z of :func:`nmd_row_products`."""
    (n, d), r = X.shape, A.high.shape[1]
    blocks = triton.cdiv(d, COLUMN_COLUMNS)
    rows_each, shares = _shares(n, ROWS, triton.cdiv(COLUMN_PROGRAMS * _processors(X), blocks))
    parts = torch.empty((shares, r, d), dtype=torch.float32, device=X.device)
    with torch.cuda.device(X.device):
        column_kernel[(blocks, shares)](
            *(X, *A, *B, *W, parts, sigma, n, d, r, rows_each),
            BM=ROWS,
            BN=COLUMN_COLUMNS,
            R=_padded(r),
            BINARY=binary,
            MISSING=missing,
            num_stages=2,
            maxnreg=COLUMN_REGISTERS,
        )
    return parts.sum(dim=0)


def _stored_products(Z: Halves, W: Halves, sigma: Any) -> Any:
    """:func:`nmd_column_products` from a stored Z / sigma."""
    (n, d), r = Z.high.shape, W.high.shape[1]
    blocks = triton.cdiv(d, STORED_COLUMNS)
    rows_each, shares = _shares(n, STORED_ROWS, triton.cdiv(2 * _processors(Z.high), blocks))
    parts = torch.empty((shares, r, d), dtype=torch.float32, device=Z.high.device)
    with torch.cuda.device(Z.high.device):
        stored_kernel[(blocks, shares)](
            *(*Z, *W, parts, sigma, n, d, r, rows_each), BM=STORED_ROWS, BN=STORED_COLUMNS, R=_padded(r), num_stages=4
        )
    return parts.sum(dim=0)


def _padded(rank: int) -> int:
    """Size of a tile that holds the rank; matrix units need at least 16."""
    return max(16, triton.next_power_of_2(rank))
