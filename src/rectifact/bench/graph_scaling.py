"""Time and memory of SymNMF on block models. Each case runs in a process of its own.

``python -m rectifact.bench.graph_scaling fit 10000`` runs one case and prints its rows as JSON.
"""

import json
import subprocess
import sys
from collections.abc import Callable
from time import perf_counter
from typing import Any
from unittest.mock import patch

import numpy as np

from rectifact.bench.crowd_scaling import peak_memory
from rectifact.bench.measure import one_thread
from rectifact.core.monitor import Monitor
from rectifact.datasets import make_block_model
from rectifact.graph import SymNMF, normalized, solvers
from rectifact.graph.similarities import Similarities
from rectifact.graph.spectral import random_start
from rectifact.kernels import reference
from rectifact.metrics import cluster_accuracy

Rows = list[dict[str, Any]]
SIZES, LARGE = (10_000, 100_000), 1_000_000
RANK, DEGREE, N_ITER = 20, 16, 5


def run_graph_scaling(*, large: bool = False, quick: bool = False) -> dict[str, Rows]:
    """Tables by size: ``"iterations"``, seconds and nanoseconds per edge; ``"fit"``, a whole fit and its memory.

    Parameters
    ----------
    large : bool, default False
        A million nodes too.
    quick : bool, default False
        The smallest size only.
    """
    sizes = SIZES[:1] if quick else (*SIZES, LARGE) if large else SIZES
    return {table: [row for size in sizes for row in _alone(table, size)] for table in ("iterations", "fit")}


def _alone(table: str, size: int) -> Rows:
    command = [sys.executable, "-m", "rectifact.bench.graph_scaling", table, str(size)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603
    return json.loads(done.stdout.splitlines()[-1])


def _graph(n: int) -> tuple[Any, Any]:
    graph = make_block_model(n, RANK, degree=DEGREE)
    return normalized(graph.adjacency), graph.labels


def fit(n: int) -> Rows:
    """A whole fit from the spectral start, on all cores."""
    X, labels = _graph(n)
    data = peak_memory()
    begin = perf_counter()
    model = SymNMF(RANK, affinity="precomputed", init="spectral").fit(X)
    seconds = perf_counter() - begin
    row = {"nodes": n, "edges": X.nnz // 2, "solver": model.resolved_["solver"], "n_iter": model.n_iter_}
    row |= {"accuracy": cluster_accuracy(labels, model.labels_), "seconds": seconds}
    return [row | {"data_peak_GB": data, "peak_GB": peak_memory()}]


def iterations(n: int) -> Rows:
    """One iteration of each method, on one thread, without checks."""
    graph, _ = _graph(n)
    X = Similarities(graph)
    start = random_start(X, RANK, np.random.default_rng(0))
    with one_thread():
        seconds = {
            "net, one block, epoch": _time_per_iteration(_net_epochs(X, start)),
            "HALS, compiled": _time_per_iteration(lambda m: solvers.hals(X, start, X.squared, monitor=m)),
            "Newton": _time_per_iteration(lambda m: solvers.newton(X, start, X.squared, monitor=m)),
        }
        # ``graph @ U`` is scipy's product, not the compiled one.
        with patch.object(solvers, "hals_sweep", reference.hals_sweep):
            seconds["HALS, numpy"] = _time_per_iteration(lambda m: solvers.hals(graph, start, X.squared, monitor=m))
    common = {"nodes": n, "edges": graph.nnz // 2}
    return [
        common | {"method": method, "s_per_iteration": s, "ns_per_edge": s / common["edges"] * 1e9}
        for method, s in seconds.items()
    ]


def _time_per_iteration(run: Callable[[Monitor], object]) -> float:
    """Best of three; the difference of a long and a short run leaves out the start and the check at the end."""
    _seconds(run, 1)  # compiles
    long, short = (min(_seconds(run, n) for _ in range(3)) for n in (1 + N_ITER, 1))
    return (long - short) / N_ITER


def _seconds(run: Callable[[Monitor], object], n_iter: int) -> float:
    begin = perf_counter()
    run(Monitor(n_iter, tol=0, check_every=n_iter))
    return perf_counter() - begin


def _net_epochs(X: Similarities, start: Any) -> Callable[[Monitor], object]:
    import torch

    from rectifact.graph import net, tensors

    torch.set_num_threads(1)
    S = tensors.to_torch(X.local, "cpu")
    made = net.start(S, tensors.to_tensor(start, S), X.squared**0.5, 1)
    return lambda m: net.train(S, X.squared, made, net.SETTINGS["repaired"], 1e-3, terms=[], monitor=m)


if __name__ == "__main__":
    print(json.dumps({"fit": fit, "iterations": iterations}[sys.argv[1]](int(sys.argv[2]))))  # noqa: T201
