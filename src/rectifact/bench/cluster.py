"""What fits would take on a cluster of 100 machines, computed from what they cost on one Dask worker.

Three small fits give the cost of a chunk and of a unit of data, a larger one with more features shows how well they
predict. Time is that of the processors, on which other work on the machine has little influence.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import ceil, log
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time
from typing import Any
from unittest.mock import patch

import numpy as np
import scipy.sparse as sp

from rectifact.bench import Extent, Rows, Tables
from rectifact.bench.dask import peak_megabytes, warm
from rectifact.bench.measure import reset_peak
from rectifact.core.chunks import SPLIT_EVERY
from rectifact.core.monitor import Callback
from rectifact.crowd import DawidSkene
from rectifact.datasets import make_crowd
from rectifact.latent import NMD
from rectifact.parts import ANDNMF

RANK, PER_ROW, CLASSES = 10, 100, 3
N_ITER, FIRST, LAST = 8, 2, 7
REPEATS = 3
HOPS = 4
"""How often a state crosses the network for one worker: to the scheduler and the worker, and back the same way."""

STAGE = 32
"""Pieces into which Dask splits a partition at once when it moves rows."""


@dataclass(frozen=True)
class Size:
    """Size of a fit: answers and annotators, or rows and columns, and the number of chunks."""

    n: int
    columns: int
    chunks: int


@dataclass(frozen=True)
class Cluster:
    """Machines with a Dask worker for each core; ``network`` is in bytes per second."""

    machines: int = 100
    cores: int = 8
    network: float = 1.25e9

    @property
    def workers(self) -> int:
        """Number of Dask workers."""
        return self.machines * self.cores


@dataclass(frozen=True)
class Kind:
    """A fit and what its cost depends on.

    Attributes
    ----------
    prepared : callable
        ``prepared(size, folder)`` makes the data and returns the fit, which takes a callback.
    units : callable
        What an iteration works on; all else grows with ``n``.
    state : callable
        Bytes of the parameters that each worker gets in an iteration; the sums of a chunk are as large.
    wide : callable
        The same for a pass before or after the iterations.
    iterations : int
        How many a fit takes.
    planned : Size
        The size for which the cluster is planned.
    pieces : callable
        Pieces of rows that move between partitions before the iterations.
    """

    prepared: Callable[[Size, Path], Callable[[Callback], Any]]
    units: Callable[[Size], float]
    state: Callable[[Size], float]
    wide: Callable[[Size], float]
    iterations: int
    planned: Size
    pieces: Callable[[Size], float] = lambda size: 0.0


def run(extent: Extent) -> Tables:
    """Tables ``constants``, ``check`` and ``plan``; in a quick run the sizes that are measured are a quarter."""
    constants, check, plan = [], [], []
    for name, (kind, sizes) in KINDS.items():
        less = 4 if extent.quick else 1
        found = _measured(kind, [Size(size.n // less, size.columns, size.chunks) for size in sizes])
        known = constants_of(kind, found[:3])
        constants.append({"fit": name} | known)
        check += [{"fit": name} | row for row in checked(kind, known, *found[3])]
        plan.append({"fit": name} | planned(kind, known, Cluster()))
    return {"constants": constants, "check": check, "plan": plan}


Measured = tuple[Size, dict[str, float]]


def _measured(kind: Kind, sizes: list[Size]) -> list[Measured]:
    """Each size on one Dask worker with one thread, after a small fit that compiles."""
    from distributed import Client, LocalCluster

    place: dict[str, Any] = {"host": "127.0.0.1", "dashboard_address": "127.0.0.1:0", "silence_logs": 50}
    ready = LocalCluster(n_workers=1, threads_per_worker=1, processes=True, **place)
    with ready, Client(ready) as client, warnings.catch_warnings(action="ignore"):
        count_sent()
        client.run(warm)
        client.run(count_sent)
        _one(kind, sizes[0], client)
        runs = [(size, [_one(kind, size, client) for _ in range(REPEATS)]) for size in sizes]
    # the least of each cost: other work on the machine only adds to it
    return [(size, {name: min(one[name] for one in found) for name in found[0]}) for size, found in runs]


def _one(kind: Kind, size: Size, client: Any) -> dict[str, float]:
    """Costs of an iteration and of everything else, and the memory of the worker."""
    import dask

    client.run(reset_peak)
    ticks: dict[int, Any] = {}
    passes = 0

    def note() -> Any:
        worker = next(iter(client.run(_spent).values()))
        return np.array([worker[0], process_time(), worker[1] + sent(), passes])

    def tick(row: dict[str, float]) -> None:
        if row["iter"] in (FIRST, LAST):
            ticks[int(row["iter"])] = note()

    def counted(compute: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        nonlocal passes
        passes += 1
        return compute(*arguments, **options)

    with TemporaryDirectory() as folder, patch.object(dask, "compute", partial(counted, dask.compute)):
        work = kind.prepared(size, Path(folder))
        start = note()
        work(tick)
    whole, step = note() - start, (ticks[LAST] - ticks[FIRST]) / (LAST - FIRST)
    worker, coordinator, moved, _ = step
    once = whole - N_ITER * step
    return {
        "worker_s": float(worker),
        "coordinator_s": float(coordinator),
        "bytes": float(moved),
        "once_s": float(once[0]),
        "once_coordinator_s": float(once[1]),
        "passes": float(once[3]),
        "MB": max(client.run(peak_megabytes).values()),
    }


_sent = 0


def count_sent() -> None:
    """Count what this process sends to others over the network, from the first call on."""
    from distributed.comm.tcp import TCP

    write = TCP.write
    if write.__name__ == "counted":
        return

    async def counted(self: Any, *arguments: Any, **options: Any) -> Any:
        global _sent
        size = await write(self, *arguments, **options)
        _sent += size
        return size

    TCP.write = counted


def sent() -> int:
    """Bytes sent since :func:`count_sent`."""
    return _sent


def _spent() -> tuple[float, int]:
    return process_time(), sent()


def constants_of(kind: Kind, found: list[Measured]) -> dict[str, float]:
    """Costs of a chunk, from the first two fits, and of a unit, from the first and the third."""
    (one, a), (many, b), (large, c) = found
    chunks, units, n = many.chunks - one.chunks, kind.units(large) - kind.units(one), large.n - one.n

    pieces = kind.pieces(many) - kind.pieces(one)

    def per_chunk(name: str) -> float:
        return max(b[name] - a[name], 0.0) / chunks

    unit, held = max(c["worker_s"] - a["worker_s"], 0.0) / units, max(c["MB"] - a["MB"], 0.0) / n
    moved = per_chunk("bytes")
    return {
        "ns_per_unit": 1e9 * unit,
        "worker_ms_per_chunk": 1e3 * per_chunk("worker_s"),
        "coordinator_ms": 1e3 * (a["coordinator_s"] - one.chunks * per_chunk("coordinator_s")),
        "coordinator_ms_per_chunk": 1e3 * per_chunk("coordinator_s"),
        "kB_moved": (a["bytes"] - one.chunks * moved - HOPS * kind.state(one)) / 1e3,
        "kB_moved_per_chunk": moved / 1e3,
        "once_us_per_row": 1e6 * max(c["once_s"] - a["once_s"], 0.0) / n,
        "coordinator_us_per_piece": 1e6 * (b["once_coordinator_s"] - a["once_coordinator_s"]) / pieces
        if pieces
        else 0.0,
        "worker_us_per_piece": 1e6 * (b["once_s"] - a["once_s"]) / pieces if pieces else 0.0,
        "passes": c["passes"],
        "worker_MB": a["MB"] - one.n * held,
        "bytes_held_per_row": 1e6 * held,
    }


def predicted(kind: Kind, known: dict[str, float], size: Size) -> dict[str, float]:
    """What a fit of this size should cost on one worker."""
    return {
        "worker_s": known["ns_per_unit"] * kind.units(size) / 1e9 + known["worker_ms_per_chunk"] * size.chunks / 1e3,
        "coordinator_s": (known["coordinator_ms"] + known["coordinator_ms_per_chunk"] * size.chunks) / 1e3,
        "bytes": 1e3 * (known["kB_moved"] + known["kB_moved_per_chunk"] * size.chunks) + HOPS * kind.state(size),
        "MB": known["worker_MB"] + known["bytes_held_per_row"] * size.n / 1e6,
    }


def checked(kind: Kind, known: dict[str, float], size: Size, found: dict[str, float]) -> Rows:
    """Predicted and measured costs of the larger fit."""
    rows = []
    for name, value in predicted(kind, known, size).items():
        rows.append({"n": size.n, "columns": size.columns, "chunks": size.chunks, "what": name})
        rows[-1] |= {"predicted": value, "measured": found[name], "ratio": value / found[name]}
    return rows


def planned(kind: Kind, known: dict[str, float], cluster: Cluster) -> dict[str, float]:
    """Costs with a chunk for each worker; parameters travel from worker to worker, sums along a tree."""
    size, workers = kind.planned, cluster.workers
    steps = ceil(log(workers, 2)) + (SPLIT_EVERY - 1) * ceil(log(size.chunks, SPLIT_EVERY))
    scheduling = predicted(kind, known, size)["coordinator_s"]
    computing = predicted(kind, known, size)["worker_s"] / workers
    iteration = computing + scheduling + steps * kind.state(size) / cluster.network
    once = (known["once_us_per_row"] * size.n + known["worker_us_per_piece"] * kind.pieces(size)) / 1e6 / workers
    once += known["coordinator_us_per_piece"] * kind.pieces(size) / 1e6
    once += known["passes"] * (scheduling + steps * kind.wide(size) / cluster.network)
    moved = (workers + size.chunks * SPLIT_EVERY / (SPLIT_EVERY - 1)) * kind.state(size)
    moved += 1e3 * (known["kB_moved"] + known["kB_moved_per_chunk"] * size.chunks)
    held = known["worker_MB"] + known["bytes_held_per_row"] * size.n / workers / 1e6
    held += (1 + SPLIT_EVERY) * max(kind.state(size), kind.wide(size)) / 1e6
    return {
        "n": size.n,
        "columns": size.columns,
        "workers": workers,
        "GB_moved_per_iteration": moved / 1e9,
        "worker_GB": held / 1e3,
        "computing_s": computing,
        "scheduling_s": scheduling,
        "network_s": steps * kind.state(size) / cluster.network,
        "iterations": kind.iterations,
        "once_min": once / 60,
        "fit_min": (once + kind.iterations * iteration) / 60,
    }


def _crowd(size: Size, folder: Path) -> Callable[[Callback], Any]:
    answers = make_crowd(size.n // 5, size.columns, CLASSES).answers
    for i, part in enumerate(np.array_split(np.arange(len(answers)), size.chunks)):
        answers.iloc[part].to_parquet(folder / f"{i:04}.parquet")

    def fit(tick: Callback) -> None:
        with patch("rectifact.crowd.data.repartition.LEAST_PARTITIONS", size.chunks):
            DawidSkene("majority", model="full", max_iter=N_ITER, tol=0, callbacks=[tick]).fit(str(folder))

    return fit


def _sparse(size: Size) -> Any:
    """Rows of mixtures with ``PER_ROW`` nonzeros each, made where they are needed."""
    import dask.array as da
    from dask import delayed

    rows, make = size.n // size.chunks, delayed(_rows, pure=True)
    meta = sp.csr_array((0, size.columns))
    return da.concatenate(
        [
            da.from_delayed(make(rows, size.columns, seed), (rows, size.columns), meta=meta)
            for seed in range(size.chunks)
        ]
    )


def _rows(n: int, columns: int, seed: int) -> sp.csr_array:
    rng, width = np.random.default_rng(seed), columns // RANK
    part = rng.integers(RANK, size=(n, 1))
    parts = np.where(rng.random((n, PER_ROW)) < 0.8, part, rng.integers(RANK, size=(n, PER_ROW)))
    place = np.sort(parts * width + rng.integers(width, size=(n, PER_ROW)), axis=1)
    found = sp.csr_array((rng.random(n * PER_ROW), place.ravel(), np.arange(0, n * PER_ROW + 1, PER_ROW)), (n, columns))
    found.sum_duplicates()
    return found


def _parts(size: Size, folder: Path) -> Callable[[Callback], Any]:
    model = ANDNMF(RANK, init="spa", refine=None, random_state=0, max_iter=N_ITER, tol=0)
    return lambda tick: model.set_params(callbacks=[tick]).fit(_sparse(size))


def _latent(size: Size, folder: Path) -> Callable[[Callback], Any]:
    model = NMD(RANK, max_iter=N_ITER, tol=0)
    return lambda tick: model.set_params(callbacks=[tick]).fit(_sparse(size))


def _confusions(size: Size) -> float:
    return 8.0 * size.columns * CLASSES**2


def _factor(size: Size) -> float:
    return 8.0 * RANK * size.columns


def _moved(size: Size) -> float:
    return float(size.chunks * min(size.chunks, STAGE) * ceil(log(size.chunks, STAGE)))


ALL = Cluster().workers
MATRIX = Size(10**7, 10**6, ALL)
KINDS: dict[str, tuple[Kind, list[Size]]] = {
    "DawidSkene": (
        Kind(_crowd, lambda size: size.n, _confusions, _confusions, 20, Size(10**9, 100_000, ALL), _moved),
        [Size(100_000, 1000, 4), Size(100_000, 1000, 16), Size(1_000_000, 1000, 4), Size(2_000_000, 2000, 8)],
    ),
    "ANDNMF, refine=None": (
        Kind(_parts, lambda size: size.n, lambda size: 8.0 * RANK**2, _factor, 60, MATRIX),
        [Size(8_000, 1000, 4), Size(8_000, 1000, 16), Size(80_000, 1000, 4), Size(120_000, 2000, 8)],
    ),
    "NMD": (
        Kind(_latent, lambda size: float(size.n) * size.columns, _factor, _factor, 100, MATRIX),
        [Size(1_000, 1000, 4), Size(1_000, 1000, 16), Size(6_000, 1000, 4), Size(8_000, 2000, 8)],
    ),
}
"""The fits, with three sizes that give the constants and a larger one that checks them."""
