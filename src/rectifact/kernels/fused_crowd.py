"""The steps of Dawid-Skene in Triton, for tensors on a CUDA device.

A tile of tasks is one program, with a lane to a task; its sums stay in registers. What a worker says of each class is a
row of a table, padded to a power of two so that it is read, or added to, as one vector. The tables stay in the
second-level cache, and its rate of such reads and additions is what bounds the time: on an H200 100 million answers
take .75 ms to read and 1.0 ms to add, whether one number or four at a time.
"""
# mypy: allow-untyped-defs, allow-incomplete-defs
# Triton does not take annotations of other kinds than its own.

from typing import Any

import torch
import triton
import triton.language as tl

TASKS, TASKS_OF_MANY, MANY = 256, 128, 16
"""Tasks of a program, one for each of its threads; fewer where there are many classes, padded."""


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
    counts,
    totals,
    n_tasks,
    WEIGHT_STRIDE: tl.constexpr,
    KNOWN: tl.constexpr,
    COUNT: tl.constexpr,
    SUBTYPES: tl.constexpr,
    K: tl.constexpr,
    KP: tl.constexpr,
    TASKS: tl.constexpr,
):
    """Posteriors of a tile of tasks, and the sum of their evidence; with COUNT also what :func:`_add` adds up."""
    tile = tl.program_id(0)
    tasks = tile.to(tl.int64) * TASKS + tl.arange(0, TASKS)
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
        said = tl.load(log_confusions + cell[:, None] * KP + classes[None, :], mask=has[:, None], other=0.0)
        joint += said * tl.load(weights + (begin + i) * WEIGHT_STRIDE, mask=has, other=0.0)[:, None]
    top = tl.max(joint, axis=1)
    impossible = top == -float("inf")  # nothing is possible: as if there were no answers
    joint = tl.where(impossible[:, None], priors[None, :], joint)
    top = tl.where(impossible, tl.max(priors, axis=0), top)
    lost = tl.zeros((TASKS,), tl.float32)
    if KNOWN:
        true = tl.load(known + tasks, mask=mine, other=-1)
        certain = (true >= 0)[:, None]
        own = (classes // SUBTYPES)[None, :] == true[:, None]
        joint = tl.where(certain & (own == 0), -float("inf"), joint)
        top = tl.max(joint, axis=1)
        ruled_out = top == -float("inf")  # the answers say that it cannot be: the known class counts
        lost = tl.where(ruled_out, -float("inf"), 0.0)
        joint = tl.where(ruled_out[:, None] & own, 0.0, joint)
        top = tl.where(ruled_out, 0.0, top)
    odds = tl.exp(joint - top[:, None])
    total = tl.sum(odds, axis=1)
    q = odds / total[:, None]
    seen = top + tl.log(total) + lost
    tl.store(posteriors + tasks[:, None] * K + classes[None, :], q, mask=mine[:, None] & real[None, :])
    tl.store(evidence + tile, tl.sum(tl.where(mine, seen, 0.0), axis=0))
    if COUNT:
        tl.store(totals + tile * KP + classes, tl.sum(tl.where(mine[:, None], q, 0.0), axis=0))
        _add(q, begin, end, mine, cells, weights, counts, longest, WEIGHT_STRIDE, KP)


@triton.jit
def _add(q, begin, end, mine, cells, weights, counts, longest, WEIGHT_STRIDE: tl.constexpr, KP: tl.constexpr):
    """Posteriors of a tile of tasks, added to the cells of their answers."""
    classes = tl.arange(0, KP)
    for i in range(longest):
        has = mine & (begin + i < end)
        cell = tl.load(cells + begin + i, mask=has, other=0).to(tl.int64)
        share = q * tl.load(weights + (begin + i) * WEIGHT_STRIDE, mask=has, other=0.0)[:, None]
        everything = has[:, None] & (classes >= 0)[None, :]  # the padding too: one vector is one addition
        tl.atomic_add(counts + cell[:, None] * KP + classes[None, :], share, mask=everything, sem="relaxed")


@triton.jit
def _count_kernel(
    indptr,
    cells,
    weights,
    posteriors,
    counts,
    n_tasks,
    WEIGHT_STRIDE: tl.constexpr,
    K: tl.constexpr,
    KP: tl.constexpr,
    TASKS: tl.constexpr,
):
    """Posteriors of a tile of tasks, added to the cells of their answers."""
    tasks = tl.program_id(0).to(tl.int64) * TASKS + tl.arange(0, TASKS)
    mine = tasks < n_tasks
    classes = tl.arange(0, KP)
    real = classes < K
    begin = tl.load(indptr + tasks, mask=mine, other=0)
    end = tl.load(indptr + tasks + 1, mask=mine, other=0)
    q = tl.load(posteriors + tasks[:, None] * K + classes[None, :], mask=mine[:, None] & real[None, :], other=0.0)
    _add(q, begin, end, mine, cells, weights, counts, tl.max(end - begin, axis=0), WEIGHT_STRIDE, KP)


def crowd_posteriors(
    indptr: Any, cells: Any, weights: Any, log_priors: Any, log_confusions: Any, known: Any, n_subtypes: int = 1
) -> tuple[Any, Any]:
    """As in ``reference``, on tensors. The evidence stays on the device.

    Weights that are all the same may be one number, expanded: a stride of 0 is kept, and moves no memory.
    """
    return _judge(indptr, cells, weights, log_priors, log_confusions, known, n_subtypes, None, None)


def crowd_sweep(
    indptr: Any, cells: Any, weights: Any, log_priors: Any, log_confusions: Any, known: Any, n_subtypes: int = 1
) -> tuple[Any, Any, Any, Any]:
    """As in ``reference``, on tensors, in one pass over the answers. Sums are in single precision, in any order."""
    padded = triton.next_power_of_2(log_priors.shape[0])
    n_tasks, n_classes = indptr.shape[0] - 1, log_priors.shape[0]
    counts = torch.zeros((log_confusions.shape[0], padded), dtype=torch.float32, device=indptr.device)
    totals = torch.empty((triton.cdiv(n_tasks, _tasks(padded)), padded), dtype=torch.float32, device=indptr.device)
    posteriors, evidence = _judge(indptr, cells, weights, log_priors, log_confusions, known, n_subtypes, counts, totals)
    classes = totals[:, :n_classes].sum(dim=0, dtype=torch.float64).to(torch.float32)
    return posteriors, counts[:, :n_classes].contiguous(), classes, evidence


def _judge(
    indptr: Any,
    cells: Any,
    weights: Any,
    log_priors: Any,
    log_confusions: Any,
    known: Any,
    n_subtypes: int,
    counts: Any,
    totals: Any,
) -> tuple[Any, Any]:
    n_tasks, n_classes = indptr.shape[0] - 1, log_priors.shape[0]
    padded = triton.next_power_of_2(n_classes)
    tiles = triton.cdiv(n_tasks, _tasks(padded))
    posteriors = torch.empty((n_tasks, n_classes), dtype=torch.float32, device=indptr.device)
    evidence = torch.empty(tiles, dtype=torch.float32, device=indptr.device)
    logs = log_priors, torch.nn.functional.pad(log_confusions, (0, padded - n_classes)).contiguous()
    with torch.cuda.device(indptr.device):
        _posterior_kernel[(tiles,)](
            *(indptr, cells, weights, *logs, known, posteriors, evidence, counts, totals, n_tasks),
            WEIGHT_STRIDE=weights.stride(0),
            KNOWN=known is not None,
            COUNT=counts is not None,
            SUBTYPES=n_subtypes,
            K=n_classes,
            KP=padded,
            TASKS=_tasks(padded),
            num_warps=_tasks(padded) // 32,
        )
    return posteriors, evidence.sum(dtype=torch.float64)


def crowd_counts(indptr: Any, cells: Any, weights: Any, posteriors: Any, n_cells: int) -> Any:
    """As in ``reference``, on tensors. Sums are in single precision, in any order."""
    n_tasks, n_classes = posteriors.shape
    padded = triton.next_power_of_2(n_classes)
    counts = torch.zeros((n_cells, padded), dtype=torch.float32, device=posteriors.device)
    with torch.cuda.device(posteriors.device):
        _count_kernel[(triton.cdiv(n_tasks, _tasks(padded)),)](
            *(indptr, cells, weights, posteriors, counts, n_tasks),
            WEIGHT_STRIDE=weights.stride(0),
            K=n_classes,
            KP=padded,
            TASKS=_tasks(padded),
            num_warps=_tasks(padded) // 32,
        )
    return counts[:, :n_classes].contiguous()


def _tasks(padded: int) -> int:
    """Tasks of a program for a number of classes, padded."""
    return TASKS if padded <= MANY else TASKS_OF_MANY
