"""The inverse of a small Gram matrix in Triton: one program, where the solver of the library needs twenty."""
# mypy: allow-untyped-defs, allow-incomplete-defs
# Triton accepts no annotations but its own.

from typing import Any

import torch
import triton
import triton.language as tl

from rectifact.core.linalg import gram_inverse as factorised

MOST, WARPS = 64, 4
"""Rows of a matrix that fits into the registers of one program, in double precision."""


def gram_inverse(G: Any) -> Any:
    """:func:`rectifact.core.linalg.gram_inverse`, without factors for a float32 matrix of up to 64 rows."""
    if len(G) > MOST:
        return factorised(G)
    inverse = torch.empty_like(G)
    with torch.cuda.device(G.device):
        inverse_kernel[(1,)](
            G, inverse, len(G), *G.stride(), R=max(16, triton.next_power_of_2(len(G))), num_warps=WARPS
        )
    return inverse


@triton.jit
def inverse_kernel(G, inverse, r, row_stride, column_stride, R: tl.constexpr):
    """Gauss-Jordan elimination in place, in double precision; pivots of a positive definite matrix need no search.

    Signs are chosen so that the matrix stays symmetric, which spares looking up a row besides a column; it ends as
    minus the inverse.
    """
    places = tl.arange(0, R)
    rows, columns = places[:, None], places[None, :]
    inside = (rows < r) & (columns < r)
    M = tl.load(G + rows * row_stride + columns * column_stride, mask=inside, other=0.0).to(tl.float64)
    ridge = 1e-12 * tl.sum(tl.sum(tl.where(rows == columns, M, 0.0), axis=1), axis=0)
    M = tl.where(rows == columns, M + ridge, M)
    for k in range(r):
        column = tl.sum(tl.where(columns == k, M, 0.0), axis=1)
        pivot = 1.0 / tl.sum(tl.where(places == k, column, 0.0), axis=0)
        scaled = column * pivot
        M -= scaled[:, None] * column[None, :]
        M = tl.where(rows == k, scaled[None, :], M)
        M = tl.where(columns == k, tl.where(places == k, -pivot, scaled)[:, None], M)
    tl.store(inverse + rows * r + columns, (-M).to(tl.float32), mask=inside)
