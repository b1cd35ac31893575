"""The choices of a climb in Triton: numbers that a device holds, in one pass each."""
# mypy: allow-untyped-defs, allow-incomplete-defs
# Triton accepts no annotations but its own.

from typing import Any

import torch
import triton
import triton.language as tl

from rectifact.kernels.reference_climb import Choices

BLOCK = 1024


def climb_on(
    after: Any, before: Any, point: Any, best: Any, further: Any, kept: Any, extrapolated: Any
) -> tuple[Any, Any, Any]:
    """:func:`rectifact.kernels.reference_climb.climb_on` in one pass over the four.

    While a graph is recorded, the state belongs to the recording, and is overwritten: see
    :func:`rectifact.kernels.capture.repeated`.
    """
    given = after, before, point, best = tuple(part.contiguous() for part in (after, before, point, best))
    recorded = torch.cuda.is_current_stream_capturing()
    made = (point, best, before) if recorded else tuple(torch.empty_like(after) for _ in range(3))
    with torch.cuda.device(after.device):
        climb_kernel[(triton.cdiv(after.numel(), BLOCK),)](
            *(*given, *made, further, kept, extrapolated, after.numel()), BLOCK=BLOCK
        )
    return made


def climb_choices(
    objective: Any,
    highest: Any,
    gap: Any,
    extrapolated: Any,
    rejected: Any,
    *,
    most: float,
    largest_gap: float,
    rounding: float,
) -> Choices:
    """:func:`rectifact.kernels.reference_climb.climb_choices` in one program."""
    given = objective, highest, gap, extrapolated, rejected
    made = Choices(*(torch.empty_like(each) for each in (extrapolated, gap, highest, gap, extrapolated, rejected)))
    with torch.cuda.device(gap.device):
        choices_kernel[(1,)](*given, *made, MOST=most, LARGEST=largest_gap, ROUNDING=rounding, num_warps=1)
    return made


def newton_step(log_sigma: Any, first: Any, second: Any, floor: float) -> Any:
    """:func:`rectifact.kernels.reference_climb.newton_step` in one program."""
    made = torch.empty_like(log_sigma)
    with torch.cuda.device(made.device):
        newton_kernel[(1,)](log_sigma, first, second, made, floor, num_warps=1)
    return made


@triton.jit
def climb_kernel(
    after, before, point, best, new_point, new_best, new_before, further, kept, extrapolated, size, BLOCK: tl.constexpr
):
    """All is read before anything is written: the new may be where the old was."""
    places = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = places < size
    there = tl.load(after + places, mask=inside)
    last = tl.load(before + places, mask=inside)
    if tl.load(kept) != 0:
        swept = tl.load(point + places, mask=inside)
        tl.store(new_point + places, there + tl.load(further) * (there - last), mask=inside)
        tl.store(new_best + places, swept, mask=inside)
        tl.store(new_before + places, there, mask=inside)
    else:
        tl.store(new_point + places, tl.where(tl.load(extrapolated) != 0, last, there), mask=inside)
        tl.store(new_best + places, tl.load(best + places, mask=inside), mask=inside)
        tl.store(new_before + places, last, mask=inside)


@triton.jit
def choices_kernel(
    objective,
    highest,
    gap,
    extrapolated,
    rejected,
    new_kept,
    new_further,
    new_highest,
    new_gap,
    new_ahead,
    new_rejected,
    MOST: tl.constexpr,
    LARGEST: tl.constexpr,
    ROUNDING: tl.constexpr,
):
    """One program makes all choices."""
    reached, top, width = tl.load(objective), tl.load(highest), tl.load(gap)
    kept = reached >= top - ROUNDING * tl.abs(top)
    further, narrower = width * 0.0, width
    if MOST > 0:
        further = tl.minimum(1.0 - width, MOST)
        narrower = tl.maximum(0.9 * width, 1.0 - MOST)
    wider = tl.where(tl.load(extrapolated) != 0, tl.minimum(4.0 * width, LARGEST), width)
    tl.store(new_kept, kept)
    tl.store(new_further, further)
    tl.store(new_highest, tl.where(kept & (reached > top), reached, top))
    tl.store(new_gap, tl.where(kept, narrower, wider))
    tl.store(new_ahead, kept & (MOST > 0))
    tl.store(new_rejected, tl.where(kept, 0, tl.load(rejected) + 1))


@triton.jit
def newton_kernel(log_sigma, first, second, new_log_sigma, floor):
    """One program makes the step."""
    slope, curvature = tl.load(first), tl.load(second)
    bent = curvature < 0
    newton = tl.where(bent, -slope / tl.where(bent, curvature, -1.0), 1e20 * slope)
    step = tl.minimum(tl.maximum(newton, -0.5), 0.5)
    tl.store(new_log_sigma, tl.maximum(tl.load(log_sigma) + step, floor))
