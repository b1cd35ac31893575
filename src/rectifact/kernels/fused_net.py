r"""An epoch of SymNMF-Net with one block in Triton, for sparse graphs of single precision on a CUDA device.

The epoch is bound by reading, for every edge, the row of U of the node it leads to. The forward kernel writes U once,
with rows that begin at a multiple of 128 bytes; the backward kernel reads the rows of a node's neighbours and goes on
to Adam's step in registers, so that no gradient is stored. The rank is a constant of the programs, so that the compiler
knows how rows are aligned, and reads four numbers at once. The forward kernel multiplies on matrix units, in three
terms of TF32, which lose no accuracy; in the backward kernel, the layout they need would cost more than they save.
"""
# mypy: allow-untyped-defs, allow-incomplete-defs
# Triton accepts no annotations but its own.

from collections.abc import Callable
from math import log

import torch
import triton
import triton.language as tl

BETAS = 0.9, 0.999
EPSILON = 1e-8
"""Adam's constants, those of torch."""

LOG_BETAS = tuple(log(beta) for beta in BETAS)
FORWARD_ROWS, TILES, BACKWARD_ROWS = 16, 16, 32
FORWARD_WARPS, BACKWARD_WARPS = 1, 4
"""Tile sizes that were fastest on an H200 for a million nodes at rank 20."""

AHEAD = 4
"""Neighbours of a node whose rows are read at once: the next read need not wait for the last."""


def epochs(
    X: torch.Tensor, P: torch.Tensor, inverse: torch.Tensor, adam: dict[str, torch.Tensor]
) -> Callable[[float], None]:
    """A function that takes one step of Adam on P with a learning rate, and keeps P non-negative.

    Its gradient is that of ``|X - U U'|^2`` for ``U = relu(P inverse)``, let through the ReLU where it would raise U.

    Parameters
    ----------
    X : CSR tensor of shape (n, n)
    P : tensor of shape (n, r)
        Changed in place, and so are the moments.
    inverse : tensor of shape (r, r)
    adam : dict
        ``step``, ``exp_avg`` and ``exp_avg_sq``, as torch names them.
    """
    n, r = P.shape
    padded = max(16, triton.next_power_of_2(r))
    U = torch.zeros((n, padded), dtype=torch.float32, device=P.device)
    tiles = triton.cdiv(n, FORWARD_ROWS * TILES)
    parts = torch.empty((tiles, padded, padded), dtype=torch.float32, device=P.device)
    graph = X.crow_indices(), X.col_indices(), X.values()
    moments = adam["exp_avg"], adam["exp_avg_sq"]
    inverse = inverse.contiguous()

    def step(rate: float) -> None:
        adam["step"].add_(1)
        with torch.cuda.device(P.device):
            _forward[(tiles,)](
                *(P, inverse, U, parts, n), r=r, BM=FORWARD_ROWS, R=padded, TILES=TILES, num_warps=FORWARD_WARPS
            )
            gram = parts.sum(dim=0)
            _backward[(triton.cdiv(n, BACKWARD_ROWS),)](
                *(*graph, U, gram, inverse, P, *moments, adam["step"], rate, n),
                r=r,
                FIRST=BETAS[0],
                SECOND=BETAS[1],
                LOG_FIRST=LOG_BETAS[0],
                LOG_SECOND=LOG_BETAS[1],
                EPS=EPSILON,
                BM=BACKWARD_ROWS,
                R=padded,
                AHEAD=AHEAD,
                num_warps=BACKWARD_WARPS,
            )

    return step


@triton.jit
def _forward(P, inverse, U, parts, n, r: tl.constexpr, BM: tl.constexpr, R: tl.constexpr, TILES: tl.constexpr):
    """``U = relu(P inverse)``, and the share of these rows in ``U'U``."""
    k = tl.arange(0, R)
    block = tl.program_id(0)
    M = tl.load(inverse + k[:, None] * r + k[None, :], mask=(k[:, None] < r) & (k[None, :] < r), other=0.0)
    gram = tl.zeros((R, R), tl.float32)
    for tile in range(TILES):
        rows = (block * TILES + tile).to(tl.int64) * BM + tl.arange(0, BM)
        inside = (rows[:, None] < n) & (k[None, :] < r)
        p = tl.load(P + rows[:, None] * r + k[None, :], mask=inside, other=0.0)
        u = tl.maximum(tl.dot(p, M, input_precision="tf32x3"), 0.0)
        tl.store(U + rows[:, None] * R + k[None, :], u, mask=inside)
        gram = tl.dot(tl.trans(u), u, gram, input_precision="tf32x3")
    tl.store(parts + block.to(tl.int64) * R * R + k[:, None] * R + k[None, :], gram)


@triton.jit
def _backward(
    indptr,
    indices,
    data,
    U,
    gram,
    inverse,
    P,
    first_moment,
    second_moment,
    step_at,
    rate,
    n,
    r: tl.constexpr,
    FIRST: tl.constexpr,
    SECOND: tl.constexpr,
    LOG_FIRST: tl.constexpr,
    LOG_SECOND: tl.constexpr,
    EPS: tl.constexpr,
    BM: tl.constexpr,
    R: tl.constexpr,
    AHEAD: tl.constexpr,
):
    """``4 (U U'U - X U)`` for BM rows, back through ReLU and inverse, and a step of Adam."""
    k = tl.arange(0, R)
    rows = tl.program_id(0).to(tl.int64) * BM + tl.arange(0, BM)
    begin = tl.load(indptr + rows, mask=rows < n, other=0)
    end = tl.load(indptr + rows + 1, mask=rows < n, other=0)
    inside = (rows[:, None] < n) & (k[None, :] < r)
    square = (k[:, None] < r) & (k[None, :] < r)
    places = rows[:, None] * r + k[None, :]
    M = tl.load(inverse + k[:, None] * r + k[None, :], mask=square, other=0.0)
    p = tl.load(P + places, mask=inside, other=0.0)
    product = tl.zeros((BM, R), tl.float32)
    for first in range(0, tl.max(end - begin, axis=0), AHEAD):
        for i in tl.static_range(AHEAD):
            at = begin + first + i
            has = at < end
            node = tl.load(indices + at, mask=has, other=0).to(tl.int64)
            weight = tl.load(data + at, mask=has, other=0.0)
            neighbour = tl.load(U + node[:, None] * R + k[None, :], mask=has[:, None] & (k[None, :] < r), other=0.0)
            product += weight[:, None] * neighbour
    u = tl.load(U + rows[:, None] * R + k[None, :], mask=inside, other=0.0)
    G = tl.load(gram + k[:, None] * R + k[None, :])
    slope = 4.0 * (tl.dot(u, G, input_precision="ieee") - product)
    slope = tl.where((u > 0) | (slope < 0), slope, 0.0)
    gradient = tl.dot(slope, M, input_precision="ieee")
    m = tl.load(first_moment + places, mask=inside, other=0.0)
    v = tl.load(second_moment + places, mask=inside, other=0.0)
    m += (1.0 - FIRST) * (gradient - m)
    v = SECOND * v + (1.0 - SECOND) * gradient * gradient
    step = tl.load(step_at)
    unbiased = tl.sqrt(v) / tl.sqrt(1.0 - tl.exp(step * LOG_SECOND)) + EPS
    p -= rate / (1.0 - tl.exp(step * LOG_FIRST)) * m / unbiased
    tl.store(P + places, tl.maximum(p, 0.0), mask=inside)
    tl.store(first_moment + places, m, mask=inside)
    tl.store(second_moment + places, v, mask=inside)
