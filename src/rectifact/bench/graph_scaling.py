"""Time and memory of SymNMF on block models. Each case runs in a process of its own.

``python -m rectifact.bench.graph_scaling fit 10000`` runs one case and prints its rows as JSON.
"""

import json
import sys
from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import numpy as np

from rectifact.bench import Extent, Rows, Tables
from rectifact.bench.measure import alone, one_thread, peak_memory, timed
from rectifact.core.monitor import Monitor
from rectifact.datasets import make_block_model
from rectifact.graph import SymNMF, normalized, solvers
from rectifact.graph.similarities import Similarities
from rectifact.graph.spectral import random_start
from rectifact.kernels import reference
from rectifact.metrics import cluster_accuracy

SIZES, LARGE = (10_000, 100_000), 1_000_000
RANK, DEGREE, N_ITER = 20, 16, 5


def run_scaling(extent: Extent) -> Tables:
    """Tables by size: ``"iterations"``, seconds and nanoseconds per edge; ``"fit"``, a whole fit and its memory.

    A quick run takes the smallest size only, a large one a million nodes too.
    """
    sizes = SIZES[:1] if extent.quick else (*SIZES, LARGE) if extent.large else SIZES
    tables = ("iterations", "fit")
    return {table: [row for size in sizes for row in alone("graph_scaling", table, str(size))] for table in tables}


def _graph(n: int) -> tuple[Any, Any]:
    graph = make_block_model(n, RANK, degree=DEGREE)
    return normalized(graph.adjacency), graph.labels


def fit(n: int) -> Rows:
    """A whole fit from the spectral start, on all cores."""
    X, labels = _graph(n)
    data = peak_memory()
    model, seconds = timed(SymNMF(RANK, affinity="precomputed", init="spectral").fit, X)
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
    return timed(run, Monitor(n_iter, tol=0, check_every=n_iter))[1]


def _net_epochs(X: Similarities, start: Any) -> Callable[[Monitor], object]:
    import torch

    from rectifact.graph import net, tensors

    torch.set_num_threads(1)
    S = tensors.to_torch(X.local, "cpu")
    made = net.start(S, tensors.to_tensor(start, S), X.squared**0.5, 1)
    return lambda m: net.train(S, X.squared, made, net.SETTINGS["repaired"], 1e-3, terms=[], monitor=m)


if __name__ == "__main__":
    print(json.dumps({"fit": fit, "iterations": iterations}[sys.argv[1]](int(sys.argv[2]))))  # noqa: T201
