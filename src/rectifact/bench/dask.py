"""Fits on a Dask cluster of one machine: time and memory by workers and rows, and what travels in an iteration."""

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from rectifact.core.monitor import Callback
from rectifact.crowd import DawidSkene
from rectifact.datasets import make_crowd
from rectifact.latent import NMD
from rectifact.parts import ANDNMF

__all__ = ["run_clusters"]

Rows = list[dict[str, Any]]
N_FEATURES, N_PARTS, N_CHUNKS, N_ITER = 200, 10, 20, 6


def run_clusters(*, quick: bool = False) -> Rows:
    """A row for each fit, number of workers and of rows; each worker is a process with one thread."""
    rows = (50_000,) if quick else (250_000, 1_000_000)
    answers = (200_000,) if quick else (1_000_000, 4_000_000)
    found = []
    for n_workers in (1, 2):
        for fit, sizes in ((_parts, rows), (_latent, tuple(n // 4 for n in rows)), (_crowd, answers)):
            found += [_measured(fit, n, n_workers) for n in sizes]
    return found


def _measured(fit: Callable[[int, Callback], dict[str, Any]], n: int, n_workers: int) -> dict[str, Any]:
    """One fit on a cluster of its own, such that peaks of memory are those of this fit."""
    from distributed import Client, LocalCluster

    workers = LocalCluster(
        n_workers=n_workers, threads_per_worker=1, processes=True, host="127.0.0.1", dashboard_address="127.0.0.1:0"
    )
    with workers, Client(workers) as client:
        client.run(_warm)
        before = max(client.run(_peak_memory).values())
        ticks: list[tuple[float, float]] = []
        begin = perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            row = fit(n, lambda row: ticks.append((row["seconds"], _loopback_bytes())))
        seconds = perf_counter() - begin
        peak = max(client.run(_peak_memory).values())
    return row | {
        "workers": n_workers,
        "rows": n,
        "s_per_iteration": float(np.median(np.diff([time for time, _ in ticks]))),
        "seconds": seconds,
        "MB_travelled_per_iteration": float(np.median(np.diff([sent for _, sent in ticks]))) / 1e6,
        "worker_MB_before": before,
        "worker_MB_peak": peak,
    }


def _warm() -> None:
    """Load what a fit needs, so that libraries do not count as its memory."""
    import rectifact.crowd
    import rectifact.kernels.compiled
    import rectifact.latent
    import rectifact.parts  # noqa: F401


def _peak_memory() -> float:
    """Largest resident memory of this process in megabytes; ``ru_maxrss`` would begin with that of the parent."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    peaks = [line.split()[1] for line in lines if line.startswith("VmHWM:")]
    return float(peaks[0]) / 1e3 if peaks else float("nan")


def _loopback_bytes() -> float:
    """Bytes over the loopback interface since the machine started: all that scheduler, workers and client say."""
    lines = Path("/proc/net/dev").read_text(encoding="utf-8").splitlines()
    sent = [line.split()[9] for line in lines if line.strip().startswith("lo:")]
    return float(sent[0]) if sent else float("nan")


def _chunks(n: int, make: Callable[[int, int], Any]) -> Any:
    """A lazy matrix whose chunks are made on the workers, each from a seed of its own."""
    import dask.array as da
    from dask import delayed

    size = n // N_CHUNKS
    parts = [delayed(make, pure=True)(size, seed) for seed in range(N_CHUNKS)]
    return da.concatenate([da.from_delayed(part, (size, N_FEATURES), dtype=np.float64) for part in parts])


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
    X = _chunks(n, _mixtures)
    ANDNMF(N_PARTS, random_state=0, max_iter=N_ITER, tol=0, callbacks=[tick]).fit(X)
    return {"fit": "ANDNMF", "chunk_MB": n // N_CHUNKS * N_FEATURES * 8 / 1e6}


def _latent(n: int, tick: Callback) -> dict[str, Any]:
    X = _chunks(n, _rectified)
    NMD(N_PARTS, max_iter=N_ITER, tol=0, callbacks=[tick]).fit(X)
    return {"fit": "NMD", "chunk_MB": n // N_CHUNKS * N_FEATURES * 8 / 1e6}


def _crowd(n: int, tick: Callback) -> dict[str, Any]:
    with _answers(n) as (folder, size):
        model = DawidSkene("majority", model="full", max_iter=N_ITER, tol=0, callbacks=[tick])
        model.fit(folder)
    return {"fit": "DawidSkene", "chunk_MB": size}


@contextmanager
def _answers(n: int) -> Iterator[tuple[str, float]]:
    """A folder of Parquet files with ``n`` answers in all, and the megabytes of one of them in memory."""
    answers = make_crowd(n // 5, 1000, 4).answers
    with TemporaryDirectory() as folder:
        parts = np.array_split(np.arange(len(answers)), N_CHUNKS)
        for i, part in enumerate(parts):
            answers.iloc[part].to_parquet(Path(folder) / f"{i:03}.parquet")
        yield folder, float(answers.iloc[parts[0]].memory_usage(deep=True).sum()) / 1e6
