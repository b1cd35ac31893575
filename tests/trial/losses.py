"""Fits on a Dask cluster whose workers are killed: ``python losses.py ANDNMF 6 0`` kills 6 and prints a line for each.

It runs as a process of its own, because Dask has threads, and other trials fork.
"""

import json
import os
import signal
import sys
import warnings
from collections.abc import Callable
from threading import Timer
from time import perf_counter
from typing import Any

import numpy as np
import scipy.sparse as sp

from rectifact import ANDNMF, NMD, DawidSkene, PurificationNMF, SymNMF
from rectifact.cli.dask_options import RESTART
from rectifact.datasets import make_block_model, make_crowd

Results = dict[str, Any]
Callback = Callable[[dict[str, float]], None]
N_CHUNKS = 5


def chunks(X: Any) -> Any:
    """Rows in chunks, each of which is made again when it is lost."""
    import dask.array as da

    return da.from_array(X, chunks=(-(-X.shape[0] // N_CHUNKS), -1))


def mixtures(n: int, seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    weights = rng.random((n, 4)) * (rng.random((n, 4)) < 0.3)
    return weights @ rng.random((4, 20)) + 1e-3 * rng.random((n, 20))


def parts(tick: Callback) -> Results:
    model = ANDNMF(4, init="spa", max_iter=15, tol=0, callbacks=[tick]).fit(chunks(mixtures(4000)))
    return {"components": model.components_, "error": model.reconstruction_err_}


def purification(tick: Callback) -> Results:
    model = PurificationNMF(4, init="spa", max_iter=15, tol=0, callbacks=[tick]).fit(chunks(mixtures(4000)))
    return {"components": model.components_, "error": model.reconstruction_err_}


def latent(tick: Callback) -> Results:
    rng = np.random.default_rng(0)
    X = np.maximum(rng.standard_normal((1200, 4)) @ rng.standard_normal((4, 30)) - 1, 0)
    model = NMD(4, max_iter=15, tol=0, callbacks=[tick]).fit(chunks(X))
    return {"components": model.components_, "embedding": model.embedding_.compute()}


def crowd(tick: Callback) -> Results:
    import dask.dataframe as dd

    answers = make_crowd(3000, 20, 3).answers.sample(frac=1, random_state=0, ignore_index=True)
    options: dict[str, Any] = {"identify": "majority", "model": "full", "max_iter": 15, "tol": 0, "callbacks": [tick]}
    model = DawidSkene(**options).fit(dd.from_pandas(answers, npartitions=N_CHUNKS))
    table = model.result().compute().sort_values("task")
    return {"confusions": model.confusions_, "confidence": table["confidence"], "label": table["label"]}


def graph(tick: Callback) -> Results:
    S = make_block_model(1200, 3, degree=20, mixing=0.1).adjacency
    options: dict[str, Any] = {"solver": "hals", "affinity": "precomputed", "init": "random", "n_init": 1}
    X = chunks(S.toarray()).map_blocks(sp.csr_array)
    model = SymNMF(3, **options, random_state=0, max_iter=15, tol=0, callbacks=[tick]).fit(X)
    return {"components": model.components_, "labels": model.labels_}


FITS = {"ANDNMF": parts, "PurificationNMF": purification, "NMD": latent, "DawidSkene": crowd, "SymNMF": graph}


class Killer:
    """A callback that kills a worker a little after each of the given iterations; 0 is the start of the fit."""

    def __init__(self, cluster: Any, moments: dict[int, float], rng: Any) -> None:
        self.cluster, self.moments, self.rng = cluster, dict(moments), rng
        self.times: list[float] = []
        self.iterations = [0]
        self.killed: list[int] = []
        self.timers: list[Timer] = []

    def __call__(self, row: dict[str, float]) -> None:
        self.times.append(perf_counter())
        self.iterations.append(int(row["iter"]))
        self.after(self.iterations[-1])

    def after(self, iteration: int) -> None:
        if iteration in self.moments:
            self.timers.append(Timer(self.moments.pop(iteration), self.kill, [iteration]))
            self.timers[-1].start()

    def kill(self, iteration: int) -> None:
        # One that is starting is spared: Dask does not start it a third time.
        known = self.cluster.scheduler.workers
        alive = [nanny.pid for nanny in self.cluster.workers.values() if nanny.pid and nanny.worker_address in known]
        if alive:
            os.kill(alive[self.rng.integers(len(alive))], signal.SIGKILL)
            self.killed.append(iteration)


def disturbed(cluster: Any, name: str, moments: dict[int, float], rng: Any) -> tuple[Results, Killer]:
    """A fit during which workers are killed, or none."""
    killer = Killer(cluster, moments, rng)
    killer.after(0)
    try:
        return FITS[name](killer), killer
    finally:
        for timer in killer.timers:
            timer.cancel()
            timer.join()


def furthest(one: Results, other: Results) -> float:
    """The largest difference of two results, relative to the largest entry; labels must be the same."""
    gaps = [0.0]
    for name, value in one.items():
        a, b = np.asarray(value), np.asarray(other[name])
        if a.dtype.kind == "f" and a.shape == b.shape:
            gaps.append(float(np.abs(a - b).max() / np.abs(a).max()))
        elif not np.array_equal(a, b):
            gaps.append(np.inf)
    return max(gaps)


def trial(name: str, n_kills: int, seed: int) -> None:
    import dask
    from distributed import Client, LocalCluster

    rng, killed = np.random.default_rng([seed, list(FITS).index(name)]), 0
    options: dict[str, Any] = {"host": "127.0.0.1", "dashboard_address": "127.0.0.1:0", "silence_logs": 50}
    options |= {"n_workers": 2, "threads_per_worker": 1, "processes": True}
    options |= {"death_timeout": 600}  # on a busy machine a worker takes its time to start
    patience = dask.config.set({"distributed.deploy.lost-worker-timeout": RESTART})
    with patience, LocalCluster(**options) as cluster, Client(cluster) as client:
        expected, calm = disturbed(cluster, name, {}, rng)
        pause = float(np.median(np.diff(calm.times)))
        while killed < n_kills:
            early = calm.iterations[:-2] or [0]  # a kill after the last iterations may come too late
            n = min(rng.integers(1, 3), n_kills - killed, len(early))
            moments = {int(i): float(rng.random() * pause) for i in rng.choice(early, size=n, replace=False)}
            found, killer = disturbed(cluster, name, moments, rng)
            killed += len(killer.killed)
            row = {"name": name, "kills": len(killer.killed), "moments": moments, "of": len(calm.times)}
            sys.stdout.write(json.dumps(row | {"difference": furthest(expected, found)}) + "\n")
            sys.stdout.flush()
            client.wait_for_workers(2, timeout=600)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    trial(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
