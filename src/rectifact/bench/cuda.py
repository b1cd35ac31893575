"""Speed of each family on a CUDA device: against plain torch, against the host, and against the limits of the device.

Plain torch is a straightforward implementation with dense matrices, ``index_add_`` and autograd. The limits are the
bytes that must move at the rate of a large copy, and the operations at the rate of a large product, both measured here.
"""

import os
from collections.abc import Callable
from functools import partial
from math import log
from statistics import median
from time import perf_counter
from typing import Any
from unittest.mock import patch

import numpy as np
import scipy.sparse as sp
import torch

from rectifact.bench import Extent, Rows, Tables
from rectifact.core.device_csr import DeviceCSR
from rectifact.core.monitor import Monitor
from rectifact.core.operand import operand
from rectifact.core.rectify import Geometric
from rectifact.core.threads import one_blas_thread
from rectifact.crowd.em import em, expected_sums
from rectifact.datasets import make_block_model
from rectifact.graph import net, normalized, tensors
from rectifact.graph.similarities import Similarities
from rectifact.graph.spectral import random_start
from rectifact.latent.extrapolation import begin_climb
from rectifact.latent.model import LatentModel
from rectifact.latent.nmd import Expectation, nmd, sweep
from rectifact.parts.and_nmf import Threshold, and_nmf

EXPECT = Expectation("relu", missing=False)
DEVICE = "cuda"


def run(extent: Extent) -> Tables:
    """Tables ``"limits"``, ``"times"`` and ``"precision"``; in a quick run sizes are a tenth as large."""
    torch.backends.cuda.matmul.allow_tf32 = False
    limits = _limits()
    scale = 10 if extent.quick else 1
    rows = [
        *_nmd(70_000 // scale, 784, 64, limits),
        *_large_nmd(32_768 // scale, 65_536, 64, limits),
        *_crowd(20_000_000 // scale, 100_000, 3, limits),
        *_parts(1_000_000 // scale, 100, limits),
        *_net(1_000_000 // scale, 20, limits),
    ]
    return {"limits": [limits], "times": rows, "precision": _precision(20_000 // scale)}


def _limits() -> dict[str, Any]:
    """Rates of a large copy and of large products."""
    big, A = torch.empty(2**30, device=DEVICE), torch.randn((8192, 8192), device=DEVICE)
    copied = _ms(lambda: big.clone())
    single = _ms(lambda: A @ A)
    torch.backends.cuda.matmul.allow_tf32 = True
    tf32 = _ms(lambda: A @ A)
    torch.backends.cuda.matmul.allow_tf32 = False
    half = A.bfloat16()
    bfloat = _ms(lambda: half @ half)
    work = 2 * 8192**3 / 1e9
    return {
        "device": torch.cuda.get_device_name(),
        "copy_TB_s": 8 * 2**30 / copied / 1e9,
        "float32_TFLOP_s": work / single,
        "tf32_TFLOP_s": work / tf32,
        "bf16_TFLOP_s": work / bfloat,
    }


PRECISIONS = ("float32", "tf32", "bf16")


def _row(what: str, size: str, ms: float, plain: float, limits: dict[str, Any], **work: float) -> dict[str, Any]:
    """A time and its ratios; ``work`` is the gigabytes to move and the teraflops to compute, by precision."""
    floors = [work.get("GB", 0.0) / 1e3 / limits["copy_TB_s"]]
    floors += [work.get(precision, 0.0) / limits[f"{precision}_TFLOP_s"] for precision in PRECISIONS]
    floor = 1e3 * max(floors)
    row = {"what": what, "size": size, "ms": ms, "plain_torch_ms": plain, "times_faster": plain / ms}
    return row | {"limit_ms": floor, "share_of_limit": floor / ms}


def _ms(run: Callable[[], Any], repeats: int = 5, *, warmup: int = 1) -> float:
    """Median of the times in milliseconds; the first run, which compiles, does not count."""
    times = []
    for _ in range(warmup + repeats):
        torch.cuda.synchronize()
        begin = perf_counter()
        run()
        torch.cuda.synchronize()
        times.append(1e3 * (perf_counter() - begin))
    return median(times[warmup:])


def _latent_data(n: int, d: int, r: int) -> tuple[Any, LatentModel]:
    rng = torch.Generator(device=DEVICE).manual_seed(0)
    X = torch.randn((n, d), device=DEVICE, generator=rng).sub_(0.9).clamp_(min=0)
    A, B = (torch.randn(shape, device=DEVICE, generator=rng) for shape in ((n, r), (r, d)))
    return X, LatentModel(0.1 * A, B, log(0.5))


def _nmd(n: int, d: int, r: int, limits: dict[str, Any]) -> Rows:
    """512 sweeps with extrapolation, against plain torch with a dense Z, and against tiles on the host."""
    X, start = _latent_data(n, d, r)
    monitor = partial(Monitor, 512, tol=0, check_every=10)
    ms = _ms(lambda: nmd(operand(X), start, expect=EXPECT, monitor=monitor()), 3)
    plain = _ms(lambda: _plain_sweep(X, start.A, start.B, 0.5))
    dense = X.cpu().numpy()
    host = LatentModel(start.A.cpu().numpy(), start.B.cpu().numpy(), start.log_sigma)
    csr, cores = operand(sp.csr_array(dense)), os.cpu_count() or 1
    with one_blas_thread():
        host_ms = _ms(lambda: sweep(csr, host, EXPECT, n_jobs=cores), repeats=1)
    # Four products in three terms of bfloat16; X is read twice.
    row = _row("512 NMD sweeps", f"{n} x {d}, rank {r}", ms, 512 * plain, limits, **_sweep_work(n, d, r, 512))
    return [row | {"host_ms": 512 * host_ms}]


def _sweep_work(n: int, d: int, r: int, times: int = 1) -> dict[str, float]:
    return {"GB": times * 8 * n * d / 1e9, "bf16": times * 3 * 8 * n * d * r / 1e12}


def _large_nmd(n: int, d: int, r: int, limits: dict[str, Any]) -> Rows:
    X, start = _latent_data(n, d, r)
    point = begin_climb(start).point
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    ms = _ms(lambda: sweep(operand(X), point, EXPECT))
    beyond = (torch.cuda.max_memory_allocated() - before) / 1e9
    plain = _ms(lambda: _plain_sweep(X, start.A, start.B, 0.5), 2)
    row = _row("NMD sweep", f"{n} x {d}, rank {r}", ms, plain, limits, **_sweep_work(n, d, r))
    return [row | {"GB_beyond_data": beyond}]


def _plain_sweep(X: Any, A: Any, B: Any, sigma: float) -> tuple[Any, Any, Any]:
    """One sweep with a dense Theta and a dense Z, by torch's own functions."""
    a = A @ B / sigma
    log_tail = torch.special.log_ndtr(-a)
    h = torch.exp(-0.5 * a * a - log_tail) / (2 * np.pi) ** 0.5
    Z = torch.where(X > 0, X, sigma * (a - h))
    likelihood = torch.where(X > 0, -0.5 * (X / sigma - a) ** 2, log_tail).sum()
    A = Z @ B.T @ torch.linalg.pinv(B @ B.T)
    return A, torch.linalg.pinv(A.T @ A) @ (A.T @ Z), likelihood


def _crowd(n_tasks: int, n_workers: int, n_classes: int, limits: dict[str, Any]) -> Rows:
    """20 iterations of EM on five answers per task; the host gets a tenth of the tasks."""
    rng = torch.Generator(device=DEVICE).manual_seed(0)
    n_answers, shape = 5 * n_tasks, (n_tasks, n_workers * n_classes)
    cells = torch.randint(0, shape[1], (n_answers,), dtype=torch.int32, device=DEVICE, generator=rng)
    indptr = torch.arange(0, n_answers + 1, 5, dtype=torch.int32, device=DEVICE)
    start = torch.rand((n_tasks, n_classes), device=DEVICE, generator=rng)
    start /= start.sum(dim=1, keepdim=True)
    B = operand(DeviceCSR(torch.ones(1, device=DEVICE).expand(n_answers), cells, indptr, shape))
    sums = B.total(expected_sums, along=(start,))
    twenty = partial(Monitor, 20, tol=0, check_every=20)
    ms = _ms(lambda: em(B, sums, smoothing=0.1, monitor=twenty()), 3)
    plain = 20 * _ms(lambda: _plain_em(cells, start, n_tasks, n_workers), 3)
    part = n_tasks // 10
    ones = np.ones(5 * part, dtype=np.float32)
    some = sp.csr_array((ones, cells[: 5 * part].cpu().numpy(), indptr[: part + 1].cpu().numpy()), (part, shape[1]))
    few = operand(some)
    sums = few.total(expected_sums, along=(start[:part].double().cpu().numpy(),))
    em(few, sums, smoothing=0.1, monitor=Monitor(1))  # compiles
    host = _ms(lambda: em(few, sums, smoothing=0.1, monitor=twenty()), repeats=1, warmup=0)
    # Two passes over the cells, indices and posteriors; the tables of workers stay in the cache.
    moved = 20 * 2 * 4 * (n_answers + n_tasks + n_tasks * n_classes) / 1e9
    size = f"{n_answers} answers, {n_tasks} tasks, {n_workers} workers, {n_classes} classes"
    return [_row("20 iterations of Dawid-Skene", size, ms, plain, limits, GB=moved) | {"host_ms": 10 * host}]


def _plain_em(cells: Any, posteriors: Any, n_tasks: int, n_workers: int) -> Any:
    """An M-step and an E-step by scatter and gather; each task has five consecutive answers."""
    n_classes = posteriors.shape[1]
    each = cells.long()
    counts = torch.zeros((n_workers * n_classes, n_classes), device=cells.device)
    counts.index_add_(0, each, posteriors.repeat_interleave(5, dim=0))
    shaped = counts.reshape(n_workers, n_classes, n_classes) + 0.1
    logs = torch.log(shaped / shaped.sum(dim=1, keepdim=True)).reshape(-1, n_classes)
    joint = logs[each].reshape(n_tasks, 5, n_classes).sum(dim=1) + torch.log(posteriors.mean(dim=0))
    return torch.softmax(joint, dim=1)


def _parts(n: int, rank: int, limits: dict[str, Any]) -> Rows:
    """100 stages of AND after compression to the subspace of the parts; the host runs two stages on all cores."""
    rng = torch.Generator(device=DEVICE).manual_seed(0)
    W = torch.rand((n, rank), device=DEVICE, generator=rng)
    W *= torch.rand((n, rank), device=DEVICE, generator=rng) < 0.1
    truth = torch.eye(rank, device=DEVICE) + 0.1 * torch.rand((rank, rank), device=DEVICE, generator=rng)
    X, start = W @ truth, truth + 0.1 * torch.rand((rank, rank), device=DEVICE, generator=rng)
    threshold = Threshold(Geometric(0.5, 1.1))

    def run(X: Any, start: Any, stages: int) -> None:
        and_nmf(X, start, threshold=threshold, monitor=Monitor(stages, tol=0, check_every=stages))

    ms = _ms(lambda: run(X, start, 100), 3)
    plain = 100 * _ms(lambda: _plain_stage(X, start), 3)
    X, start = X.cpu().numpy(), start.cpu().numpy()
    host = _ms(lambda: run(X, start, 2), repeats=1, warmup=0)
    work = {"GB": 100 * 4 * 4 * n * rank / 1e9, "float32": 100 * 3 * 2 * n * rank * rank / 1e12}
    return [_row("100 stages of AND", f"{n} samples, {rank} parts", ms, plain, limits, **work) | {"host_ms": 50 * host}]


def _plain_stage(X: Any, H: Any) -> Any:
    W = torch.relu(X @ torch.linalg.pinv(H) - 0.1)
    return torch.linalg.pinv(W.T @ W) @ (W.T @ X)


def _net(n: int, rank: int, limits: dict[str, Any]) -> Rows:
    """An epoch of SymNMF-Net; plain torch gets its gradient from autograd."""
    S = normalized(make_block_model(n, rank, degree=16).adjacency)
    squared = float(S.data @ S.data)
    X = tensors.to_torch(S, DEVICE)
    U = tensors.to_tensor(random_start(Similarities(S), rank, np.random.default_rng(0)), X)
    made = net.start(X, U, squared**0.5, 1)

    def run(n_iter: int) -> None:
        monitor = Monitor(n_iter, tol=0, check_every=n_iter)
        net.train(X, squared, made, net.SETTINGS["repaired"], 1e-3, terms=[], monitor=monitor)

    ms = (_ms(lambda: run(110), 3) - _ms(lambda: run(10), 3)) / 100
    P = made.P.detach().clone().requires_grad_()
    optimizer = torch.optim.Adam([P], lr=1e-3)
    plain_net = net.Net(P, made.lam.detach(), made.U0)

    def epoch() -> None:
        optimizer.zero_grad()
        net.loss(X, squared, plain_net).backward()
        optimizer.step()

    plain = _ms(epoch)
    # The graph once; P, its gradient, U and the moments of Adam are read or written about a dozen times in total.
    moved = (8 * S.nnz + 12 * 4 * n * rank) / 1e9
    return [_row("epoch of SymNMF-Net", f"{n} nodes, {S.nnz // 2} edges, rank {rank}", ms, plain, limits, GB=moved)]


def _precision(n: int) -> Rows:
    """Log-likelihood per entry after 200 sweeps, by the arithmetic of the products."""
    rng = np.random.default_rng(0)
    W = np.abs(rng.standard_normal((n, 16))) * (rng.random((n, 16)) < 0.3)
    X = np.maximum(W @ rng.standard_normal((16, 784)) - 1, 0)
    X = torch.tensor(X / X.max(), dtype=torch.float32, device=DEVICE)
    seeded = torch.Generator(device=DEVICE).manual_seed(0)
    A, B = (0.1 * torch.randn(shape, device=DEVICE, generator=seeded) for shape in ((n, 32), (32, 784)))
    start = LatentModel(A, B, log(0.1))
    wide = LatentModel(start.A.double(), start.B.double(), start.log_sigma)
    rows = [_reached("two halves of bfloat16, three terms (fused)", X, start), _reached("float64", X.double(), wide)]
    with patch("rectifact.kernels.MOST_FUSED_RANK", 0):
        rows.append(_reached("float32", X, start))
        torch.backends.cuda.matmul.allow_tf32 = True
        rows.append(_reached("TF32, one term", X, start))
        torch.backends.cuda.matmul.allow_tf32 = False
    return rows


def _reached(name: str, X: Any, start: LatentModel) -> dict[str, Any]:
    monitor = Monitor(200, tol=0, check_every=10)
    nmd(operand(X), start, expect=EXPECT, monitor=monitor, floor=-9.0)
    return {"products": name, "sweeps": monitor.n_iter, "log_likelihood_per_entry": -monitor.history[-1]["loss"]}
