"""Time of a stage as nonzeros grow, and memory of a stream, which runs in a process of its own.

``python -m rectifact.bench.parts_scaling ROWS`` streams one memory-mapped file and prints its row as JSON.
"""

import json
import sys
import tempfile
from pathlib import Path
from time import perf_counter
from timeit import repeat
from typing import Any

import numpy as np
import scipy.sparse as sp

from rectifact.bench import Extent, Rows
from rectifact.bench.measure import alone, peak_memory
from rectifact.core.monitor import Monitor
from rectifact.core.rectify import Geometric
from rectifact.datasets import make_topics
from rectifact.metrics import part_errors
from rectifact.parts import ANDNMF
from rectifact.parts.and_nmf import Threshold, and_nmf


def run_scaling(extent: Extent) -> Rows:
    """Rows of one table: stages on sparse data of growing size, then streams of growing length.

    A quick run takes the first of each.
    """
    sizes = (20_000,) if extent.quick else (20_000, 40_000, 80_000, 160_000)
    lengths = (100_000, 1_000_000) if extent.large else (100_000,)
    return [*map(_stage, sizes), *(alone("parts_scaling", str(n_samples)) for n_samples in lengths)]


def _stage(n_samples: int, n_features: int = 5000, n_parts: int = 20, n_stages: int = 3) -> dict[str, Any]:
    """Seconds of one stage in all features, 1 % of them nonzero."""
    rng = np.random.default_rng(0)
    X = sp.random_array((n_samples, n_features), density=0.01, rng=rng, format="csr")
    H = rng.random((n_parts, n_features))

    def run() -> None:
        monitor = Monitor(n_stages, tol=0, check_every=n_stages)
        and_nmf(X, H, threshold=Threshold(Geometric(0.1, 1.3)), monitor=monitor)

    seconds = min(repeat(run, number=1, repeat=3)) / n_stages
    return _row("one stage, sparse", n_samples, X.nnz, seconds)


def _row(what: str, n_samples: int, nonzeros: int, seconds: float, **measured: float) -> dict[str, Any]:
    size = {"what": what, "samples": n_samples, "nonzeros": nonzeros}
    times = {"seconds": seconds, "ns_per_nonzero": 1e9 * seconds / nonzeros}
    return {**size, **times, "peak_GB": None, "error": None, **measured}


def stream(n_samples: int, n_features: int = 1000, n_parts: int = 20, batch: int = 10_000) -> dict[str, Any]:
    """Write a float32 matrix piece by piece, map it into memory, and stream it through ``partial_fit``."""
    parts = make_topics(n_samples=1, n_features=n_features, n_topics=n_parts).components
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "samples.npy"
        with path.open("wb") as file:
            header = {"descr": "<f4", "fortran_order": False, "shape": (n_samples, n_features)}
            np.lib.format.write_array_header_1_0(file, header)
            for _ in range(0, n_samples, batch):
                (rng.dirichlet(np.full(n_parts, 0.05), size=batch) @ parts).astype(np.float32).tofile(file)
        model, begin = ANDNMF(n_parts, random_state=0), perf_counter()
        for i in range(0, n_samples, batch):
            X = np.load(path, mmap_mode="r")  # mapped again, so that pages already read do not count as memory
            model.partial_fit(X[i : i + batch])
        seconds = perf_counter() - begin
    measured = {"peak_GB": round(peak_memory(), 2), "error": float(part_errors(model.components_, parts).max())}
    return _row("stream, float32", n_samples, n_samples * n_features, seconds, **measured)


if __name__ == "__main__":
    print(json.dumps(stream(int(sys.argv[1]))))  # noqa: T201
