"""Time and memory of label aggregation as the answers grow. Each case runs in a process of its own.

``python -m rectifact.bench.crowd_scaling '{"n_tasks": 1000, ...}'`` runs one case and prints its row as JSON.
"""

import json
import sys
import tempfile
import warnings
from functools import partial
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pyarrow as pa
from pyarrow import parquet

from rectifact.bench import Extent, Rows
from rectifact.bench.measure import alone, peak_memory, timed
from rectifact.bench.results import bundled
from rectifact.crowd import DawidSkene
from rectifact.datasets import make_crowd

CASES = bundled("scaling", "crowd")


def run_scaling(extent: Extent) -> Rows:
    """Rows by case: answers, threads, seconds of the fit, seconds of its iterations, peak memory, error.

    A quick run takes the cases of half a million answers only.
    """
    cases = CASES["small"][:2] if extent.quick else CASES["small"] + (CASES["large"] if extent.large else [])
    cases = [case for case in cases if extent.peers or "options" in case]
    return [alone("crowd_scaling", json.dumps(case)) for case in cases]


def run_case(case: dict[str, Any]) -> dict[str, Any]:
    """One row, measured in this process."""
    numba.set_num_threads(min(case["threads"], numba.config.NUMBA_NUM_THREADS))
    DawidSkene().fit(make_crowd(100, 10, 3).answers)  # compiles
    with tempfile.TemporaryDirectory() as folder:
        data, truth = _data(case, Path(folder))
        before, seconds, loops = peak_memory(), [], []
        for _ in range(1 if case.get("file") else 3):  # the least of three: the machine has other work at times
            run = partial(_ours, case["options"]) if "options" in case else _crowdkit
            (loop, labels, tasks), time = timed(run, data)
            seconds.append(time)
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


def _ours(options: dict[str, Any], data: Any) -> tuple[Any, Any, Any]:
    with warnings.catch_warnings(action="ignore"):  # twenty iterations are asked for, converged or not
        model = DawidSkene(**options).fit(data)
    return model.history_[-1]["seconds"], model.labels_, model.tasks_


def _crowdkit(data: Any) -> tuple[Any, Any, Any]:
    from crowdkit.aggregation import DawidSkene as Peer

    labels = Peer(n_iter=20, tol=0.0).fit_predict(data)
    return None, labels.to_numpy(), labels.index.to_numpy()


if __name__ == "__main__":
    print(json.dumps(run_case(json.loads(sys.argv[1]))))  # noqa: T201
