"""The threshold of AND in Triton: one pass over the weights, where torch takes two slow ones."""
# mypy: allow-untyped-defs, allow-incomplete-defs
# Triton does not take annotations of other kinds than its own.

from typing import Any

import torch
import triton
import triton.language as tl

BLOCK = 1024


@triton.jit
def _relu_kernel(Z, thresholds, kept, size, n_columns, BLOCK: tl.constexpr):
    places = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = places < size
    values = tl.load(Z + places, mask=inside)
    threshold = tl.load(thresholds + places % n_columns, mask=inside)
    tl.store(kept + places, tl.where(threshold > values, 0.0, values), mask=inside)


def relu_columns(Z: Any, thresholds: Any) -> Any:
    """As :func:`rectifact.core.rectify.relu`, with a threshold for each column of the tensor Z."""
    Z, thresholds = Z.contiguous(), thresholds.contiguous()
    kept = torch.empty_like(Z)
    with torch.cuda.device(Z.device):
        _relu_kernel[(triton.cdiv(Z.numel(), BLOCK),)](Z, thresholds, kept, Z.numel(), Z.shape[1], BLOCK=BLOCK)
    return kept
