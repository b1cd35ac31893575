"""Time and memory of NMD on large sparse data; each case runs in a process of its own.

``python -m rectifact.bench.latent_scaling '{"n_samples": 1000, ...}'`` runs one case and prints its row as JSON.
"""

import json
import sys
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from rectifact.bench import Extent, Rows
from rectifact.bench.measure import alone, peak_memory, timed
from rectifact.bench.results import bundled
from rectifact.core.operand import operand
from rectifact.core.threads import one_blas_thread
from rectifact.kernels import tiled_nmd
from rectifact.latent.nmd import Expectation, sweep
from rectifact.latent.starts import svd_start

CASES = bundled("scaling", "latent")


def run_scaling(extent: Extent) -> Rows:
    """Seconds of a sweep and peak memory above the data, by case; *dense* holds the whole latent matrix.

    A quick run takes the first case only.
    """
    cases = CASES["small"][:1] if extent.quick else CASES["small"] + (CASES["large"] if extent.large else [])
    return [alone("latent_scaling", json.dumps(case)) for case in cases]


def run_case(case: dict[str, Any], rank: int = 16) -> dict[str, Any]:
    """One row, measured in this process."""
    if case["form"] == "dense":
        tiled_nmd.TILE_BYTES = 1 << 62
    small = operand(sp.csr_array(np.eye(20, dtype=case["dtype"])))
    sweep(small, svd_start(small, 2, "relu"), Expectation("relu"))  # compiles
    X = operand(_sparse(case["n_samples"], case["n_features"], case["density"], case["dtype"]))
    data = peak_memory()
    with one_blas_thread():
        model, seconds = svd_start(X, rank, "relu"), []
        one_sweep = partial(sweep, n_jobs=case["threads"])
        for _ in range(3):
            (model, _), time = timed(one_sweep, X, model, Expectation("relu"))
            seconds.append(time)
    figures = {"seconds_per_sweep": min(seconds), "above_data_MB": round(1000 * (peak_memory() - data))}
    return case | {"nonzeros": X.data.nnz, **figures}


def _sparse(n_samples: int, n_features: int, density: float, dtype: str) -> sp.csr_array:
    """Random sparse matrix, made in hardly more memory than it takes itself."""
    rng = np.random.default_rng(0)
    per_row = round(density * n_features)
    indices = np.empty(n_samples * per_row, dtype=np.int32)
    for i in range(n_samples):  # one column out of each of per_row equal ranges: sorted, and never twice
        start = np.arange(per_row) * n_features // per_row
        indices[i * per_row : (i + 1) * per_row] = start + rng.integers(n_features // per_row, size=per_row)
    indptr = np.arange(0, len(indices) + 1, per_row, dtype=np.int32)
    return sp.csr_array(
        (rng.random(len(indices), dtype=np.float32).astype(dtype), indices, indptr), (n_samples, n_features)
    )


if __name__ == "__main__":
    print(json.dumps(run_case(json.loads(sys.argv[1]))))  # noqa: T201
