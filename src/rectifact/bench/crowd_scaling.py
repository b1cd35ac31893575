"""Time and memory of label aggregation as the answers grow. Each case runs in a process of its own.

``python -m rectifact.bench.crowd_scaling '{"n_tasks": 1000, ...}'`` runs one case and prints its row as JSON.
"""

import json
import resource
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from time import perf_counter
from typing import Any

import numba
import numpy as np
import pyarrow as pa
from pyarrow import parquet

from rectifact.crowd import DawidSkene
from rectifact.datasets import make_crowd

Rows = list[dict[str, Any]]
EM = {"identify": "majority", "model": "full", "max_iter": 20, "tol": 0.0}
SMALL: Rows = [
    {"method": "MV-EM, 20 iterations", "n_tasks": 100_000, "n_workers": 1_000, "options": EM, "threads": 1},
    {"method": "crowd-kit, 20 iterations", "n_tasks": 100_000, "n_workers": 1_000, "threads": 1},
    {"method": "auto", "n_tasks": 200_000, "n_workers": 20_000, "options": {}, "threads": 1},
]
LARGE: Rows = [
    {"method": "auto", "n_tasks": 2_000_000, "n_workers": 20_000, "options": {}, "threads": 1},
    {"method": "MV-EM, 20 iterations", "n_tasks": 2_000_000, "n_workers": 20_000, "options": EM, "threads": 1},
    {"method": "MV-EM, 20 iterations", "n_tasks": 2_000_000, "n_workers": 20_000, "options": EM, "threads": 2},
    {
        "method": "MV-EM, Parquet",
        "n_tasks": 20_000_000,
        "n_workers": 100_000,
        "options": EM,
        "threads": 2,
        "file": True,
    },
]


def run_scaling(*, peers: bool = False, large: bool = False, quick: bool = False) -> Rows:
    """Rows by case: answers, threads, seconds of the fit, seconds of its iterations, peak memory, error.

    ``quick`` takes the cases of half a million answers only.
    """
    chosen = SMALL[:2] if quick else SMALL + (LARGE if large else [])
    cases = [case for case in chosen if peers or not case["method"].startswith("crowd-kit")]
    rows = []
    for case in cases:
        command = [sys.executable, "-m", "rectifact.bench.crowd_scaling", json.dumps(case)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603
        rows.append(json.loads(done.stdout.splitlines()[-1]))
    return rows


def run_case(case: dict[str, Any]) -> dict[str, Any]:
    """One row, measured in this process."""
    numba.set_num_threads(min(case["threads"], numba.config.NUMBA_NUM_THREADS))
    DawidSkene().fit(make_crowd(100, 10, 3).answers)  # compiles
    with tempfile.TemporaryDirectory() as folder:
        data, truth = _data(case, Path(folder))
        before, seconds, loops = peak_memory(), [], []
        for _ in range(1 if case.get("file") else 3):  # the least of three: the machine has other work at times
            start = perf_counter()
            loop, labels, tasks = _crowdkit(data) if "options" not in case else _ours(data, case["options"])
            seconds.append(perf_counter() - start)
            loops.append(loop)
    return {
        "method": case["method"],
        "answers": 5 * case["n_tasks"],
        "workers": case["n_workers"],
        "threads": case["threads"],
        "seconds": round(min(seconds), 3),
        "iterations_s": None if loops[0] is None else round(min(loops), 3),
        "peak_GB": round(peak_memory(), 2),
        "data_GB": round(before, 2),
        "error_%": round(100 * float(np.mean(labels != truth[tasks])), 2),
    }


def _data(case: dict[str, Any], folder: Path) -> tuple[Any, np.ndarray[Any, Any]]:
    """A planted crowd in memory, or in a Parquet file that is written piece by piece."""
    n_tasks, n_workers = case["n_tasks"], case["n_workers"]
    if not case.get("file"):
        crowd = make_crowd(n_tasks, n_workers, 3)
        return crowd.answers, crowd.truth.to_numpy()
    path, pieces, truths = folder / "answers.parquet", 20, []
    schema = pa.schema({"task": pa.int32(), "worker": pa.int32(), "label": pa.int8()})
    with parquet.ParquetWriter(path, schema) as writer:
        for piece in range(pieces):
            crowd = make_crowd(n_tasks // pieces, n_workers, 3, accuracy=(0.7, 0.7), random_state=piece)
            frame = crowd.answers.assign(task=crowd.answers["task"] + piece * (n_tasks // pieces))
            writer.write_table(pa.Table.from_pandas(frame, schema=schema, preserve_index=False))
            truths.append(crowd.truth.to_numpy().astype(np.int8))
    return path, np.concatenate(truths)


def _ours(data: Any, options: dict[str, Any]) -> tuple[Any, Any, Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # twenty iterations are asked for, converged or not
        model = DawidSkene(**options).fit(data)
    return model.history_[-1]["seconds"], model.labels_, model.tasks_


def _crowdkit(data: Any) -> tuple[Any, Any, Any]:
    from crowdkit.aggregation import DawidSkene as Peer

    labels = Peer(n_iter=20, tol=0.0).fit_predict(data)
    return None, labels.to_numpy(), labels.index.to_numpy()


def peak_memory() -> float:
    """Most memory this process has held, in GB."""
    status = Path("/proc/self/status")
    if status.exists():  # getrusage would also count what the parent held when it started this process
        return int(status.read_text().split("VmHWM:")[1].split()[0]) * 1024 / 1e9
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e9


if __name__ == "__main__":
    print(json.dumps(run_case(json.loads(sys.argv[1]))))  # noqa: T201
