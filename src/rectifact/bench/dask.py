"""Fits with Dask on one machine: time and memory by number of processes and rows, and the traffic per iteration."""

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from rectifact.bench import Extent, Tables
from rectifact.bench.measure import timed
from rectifact.core.monitor import Callback
from rectifact.crowd import DawidSkene
from rectifact.datasets import make_crowd
from rectifact.latent import NMD
from rectifact.parts import ANDNMF

N_FEATURES, N_PARTS, N_CHUNKS, N_ITER = 200, 10, 20, 6


def run(extent: Extent) -> Tables:
    """A row for each fit, number of Dask workers and number of rows; each Dask worker is a process with one thread."""
    rows = (50_000,) if extent.quick else (250_000, 1_000_000)
    answers = (200_000,) if extent.quick else (1_000_000, 4_000_000)
    found = []
    for n_processes in (1, 2):
        for fit, sizes in ((_parts, rows), (_latent, tuple(n // 4 for n in rows)), (_crowd, answers)):
            found += [_measured(fit, n, n_processes) for n in sizes]
    return {"fits": found}


def _measured(fit: Callable[[int, Callback], dict[str, Any]], n: int, n_processes: int) -> dict[str, Any]:
    """One fit in fresh processes, so that peaks of memory come from this fit alone."""
    from distributed import Client, LocalCluster

    local = {"host": "127.0.0.1", "dashboard_address": "127.0.0.1:0"}
    processes = LocalCluster(n_workers=n_processes, threads_per_worker=1, processes=True, **local)
    with processes, Client(processes) as client:
        client.run(warm)
        before = max(client.run(peak_megabytes).values())
        ticks: list[tuple[float, float]] = []
        with warnings.catch_warnings(action="ignore", category=ConvergenceWarning):
            row, seconds = timed(fit, n, lambda row: ticks.append((row["seconds"], loopback_bytes())))
        peak = max(client.run(peak_megabytes).values())
    per_iteration, sent = np.median(np.diff(ticks, axis=0), axis=0).tolist()
    return row | {
        "workers": n_processes,
        "rows": n,
        "s_per_iteration": per_iteration,
        "seconds": seconds,
        "MB_travelled_per_iteration": sent / 1e6,
        "worker_MB_before": before,
        "worker_MB_peak": peak,
    }


def warm() -> None:
    """Load what a fit needs, so that libraries do not count as its memory."""
    import rectifact.crowd
    import rectifact.kernels.compiled
    import rectifact.latent
    import rectifact.parts  # noqa: F401


def peak_megabytes() -> float:
    """Largest resident memory of this process in megabytes; ``ru_maxrss`` would start from that of its parent."""
    return from_listing("/proc/self/status", "VmHWM:", 1) / 1e3


def loopback_bytes() -> float:
    """Bytes over the loopback interface since the machine started: the traffic between all of the processes."""
    return from_listing("/proc/net/dev", "lo:", 9)


def from_listing(path: str, name: str, place: int) -> float:
    """The number at ``place`` in the line that begins with ``name``, or NaN."""
    lines = Path(path).read_text(encoding="utf-8").splitlines()
    return next((float(line.split()[place]) for line in lines if line.strip().startswith(name)), float("nan"))


def _mixtures(n: int, seed: int) -> Any:
    rng = np.random.default_rng(seed)
    parts = np.random.default_rng(0).random((N_PARTS, N_FEATURES))
    weights = rng.random((n, N_PARTS)) * (rng.random((n, N_PARTS)) < 0.2)
    return weights @ parts


def _rectified(n: int, seed: int) -> Any:
    rng = np.random.default_rng(seed)
    B = np.random.default_rng(0).standard_normal((N_PARTS, N_FEATURES))
    return np.maximum(rng.standard_normal((n, N_PARTS)) @ B - 2, 0)


def _parts(n: int, tick: Callback) -> dict[str, Any]:
    return _fit_chunks(ANDNMF(N_PARTS, random_state=0), _mixtures, n, tick)


def _latent(n: int, tick: Callback) -> dict[str, Any]:
    return _fit_chunks(NMD(N_PARTS), _rectified, n, tick)


def _fit_chunks(model: Any, make: Callable[[int, int], Any], n: int, tick: Callback) -> dict[str, Any]:
    """A fit to a matrix whose chunks are made where they are needed, each from its own seed."""
    import dask.array as da
    from dask import delayed

    size = n // N_CHUNKS
    chunks = [delayed(make, pure=True)(size, seed) for seed in range(N_CHUNKS)]
    X = da.concatenate([da.from_delayed(chunk, (size, N_FEATURES), dtype=np.float64) for chunk in chunks])
    model.set_params(max_iter=N_ITER, tol=0, callbacks=[tick]).fit(X)
    return {"fit": type(model).__name__, "chunk_MB": size * N_FEATURES * 8 / 1e6}


def _crowd(n: int, tick: Callback) -> dict[str, Any]:
    with _answers(n) as (folder, size):
        DawidSkene("majority", model="full", max_iter=N_ITER, tol=0, callbacks=[tick]).fit(folder)
    return {"fit": "DawidSkene", "chunk_MB": size}


@contextmanager
def _answers(n: int) -> Iterator[tuple[str, float]]:
    """A folder of Parquet files with ``n`` answers in total, and the megabytes that one file takes in memory."""
    answers = make_crowd(n // 5, 1000, 4).answers
    with TemporaryDirectory() as folder:
        parts = np.array_split(np.arange(len(answers)), N_CHUNKS)
        for i, part in enumerate(parts):
            answers.iloc[part].to_parquet(Path(folder) / f"{i:03}.parquet")
        yield folder, float(answers.iloc[parts[0]].memory_usage(deep=True).sum()) / 1e6
