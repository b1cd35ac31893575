"""Time and memory of each command and estimator as the input grows tenfold, and time with default threads and with one.

Each size runs in a process of its own.

``python -m rectifact.bench.scaling 1`` measures all cases and prints their rows as JSON, ``10`` those of a tenth of the
size; names of cases may follow. Time is that of the processor, on which other work on the machine has little influence.
"""

import json
import os
import subprocess
import sys
import warnings
from collections.abc import Callable
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path
from runpy import run_module
from tempfile import TemporaryDirectory
from time import perf_counter, process_time
from typing import Any

import numpy as np
import scipy.sparse as sp

from rectifact.bench import Extent, Tables
from rectifact.bench.measure import alone, memory_now, one_thread, peak_memory, reset_peak
from rectifact.datasets import make_block_model, make_crowd

Run = Callable[[], Any]
TIMES = 10
AT_ONCE = 4
LEAST_MB = 2
"""Below, the memory of the smaller size is not told from that of the allocator."""

RUNS = 3
"""Runs of each case, of which the fastest counts: others were disturbed by what else the machine did."""

LIMITS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
THREADS: dict[str, dict[str, str]] = {"default_s": {}, "one_thread_s": dict.fromkeys(LIMITS, "1")}
WORKERS, FEATURES, PARTS = 200, 100, 5


def run(extent: Extent) -> Tables:
    """Time and memory of each case at two sizes, and time of each command by threads; quick: a tenth of the sizes."""
    less = 10 if extent.quick else 1
    return {"growth": alone("scaling", str(less)), "threads": [threaded(name, less) for name in COMMANDS]}


def threaded(name: str, less: int) -> dict[str, Any]:
    """Seconds that a command takes with the threads it takes by itself, and with one; the shorter of two runs each."""
    size, unit, write = COMMANDS[name]
    with TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "rectifact", "-q", *write(size // less * TIMES, Path(folder))]
        seconds = {label: min(_seconds(command, limits) for _ in range(2)) for label, limits in THREADS.items()}
    row = {"what": name, "unit": unit, "n": size // less * TIMES, **seconds}
    return row | {"ratio": seconds["default_s"] / seconds["one_thread_s"]}


def _seconds(command: list[str], limits: dict[str, str]) -> float:
    around = {name: value for name, value in os.environ.items() if name not in LIMITS} | limits
    begin = perf_counter()
    subprocess.run(command, env=around, check=True, capture_output=True)  # noqa: S603
    return perf_counter() - begin


def grown(names: list[str], less: int) -> list[dict[str, Any]]:
    """The rows of these cases; each size is measured in a forked process, which has all imports already."""
    todo = [(name, size // less * times) for name in names for size in (CASES[name][0],) for times in (1, TIMES)]
    with get_context("fork").Pool(AT_ONCE, _be_quiet, maxtasksperchild=1) as pool:
        found = pool.starmap(run_case, todo, chunksize=1)
    return [_row(name, n, *found[2 * i : 2 * i + 2]) for i, (name, n) in enumerate(todo[::2])]


def _row(name: str, n: int, one: dict[str, Any], ten: dict[str, Any]) -> dict[str, Any]:
    return {
        "what": name,
        "unit": CASES[name][1],
        "n": n,
        "cpu_s": one["cpu_s"],
        "cpu_s_tenfold": ten["cpu_s"],
        "time_ratio": ten["cpu_s"] / one["cpu_s"],
        "MB": one["MB"],
        "MB_tenfold": ten["MB"],
        "memory_ratio": ten["MB"] / one["MB"] if one["MB"] > LEAST_MB else None,
        "iterations": one["iterations"],
        "iterations_tenfold": ten["iterations"],
    }


def _be_quiet() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # commands print tables


def run_case(name: str, size: int) -> dict[str, Any]:
    """One size in this process, after a small one that compiles: the least time of several runs."""
    _, _, make = CASES[name]
    seconds = []
    with TemporaryDirectory() as folder, warnings.catch_warnings(action="ignore"), one_thread():
        make(300, Path(folder))()
        reset_peak()
        before = memory_now()
        work = make(size, Path(folder))
        for _ in range(RUNS):
            begin = process_time()
            model = work()
            seconds.append(process_time() - begin)
    megabytes = 1e3 * (peak_memory() - before)
    return {"cpu_s": min(seconds), "MB": megabytes, "iterations": getattr(model, "n_iter_", None)}


def _answers(n: int, n_classes: int) -> Any:
    return make_crowd(max(n // 5, 20), min(WORKERS, max(n // 50, 10)), n_classes).answers


def _mixtures(n: int) -> Any:
    rng = np.random.default_rng(0)
    parts = rng.random((PARTS, FEATURES))
    weights = rng.random((n, PARTS)) * (rng.random((n, PARTS)) < 0.3)
    return weights @ parts + 1e-3 * rng.random((n, FEATURES))


def _rectified(n: int) -> Any:
    rng = np.random.default_rng(0)
    B = rng.standard_normal((PARTS, FEATURES))
    return np.maximum(rng.standard_normal((n, PARTS)) @ B - 2, 0)


def _blocks(n: int) -> Any:
    return make_block_model(n, PARTS, degree=16, mixing=0.2).adjacency


def _points(n: int) -> Any:
    rng = np.random.default_rng(0)
    centres = 6 * rng.standard_normal((PARTS, 8))
    return rng.standard_normal((n, 8)) + centres[rng.integers(PARTS, size=n)]


def _fit(name: str, data: Callable[[int], Any], *arguments: Any, **options: Any) -> Callable[[int, Path], Run]:
    def make(n: int, folder: Path) -> Run:
        import rectifact

        model, X = getattr(rectifact, name)(*arguments, **options), data(n)
        return lambda: model.fit(X)

    return make


def _command(write: Callable[[int, Path], list[str]]) -> Callable[[int, Path], Run]:
    def make(n: int, folder: Path) -> Run:
        arguments = write(n, folder)

        def work() -> None:
            sys.argv = ["rectifact", "-q", *arguments]
            try:
                run_module("rectifact", run_name="__main__")
            except SystemExit as end:
                if end.code:
                    raise

        return work

    return make


def _crowd_file(command: str) -> Callable[[int, Path], list[str]]:
    def write(n: int, folder: Path) -> list[str]:
        _answers(n, 3).to_csv(folder / "answers.csv", index=False)
        return [command, str(folder / "answers.csv"), "-o", str(folder / "out.csv")]

    return write


def _matrix_file(command: str, data: Callable[[int], Any], out: str) -> Callable[[int, Path], list[str]]:
    def write(n: int, folder: Path) -> list[str]:
        sp.save_npz(folder / "X.npz", sp.csr_array(data(n)))
        graph = ["--graph"] if command == "cluster" else []
        return [command, *graph, str(folder / "X.npz"), "-k", str(PARTS), "-o", str(folder / out)]

    return write


COMMANDS: dict[str, tuple[int, str, Callable[[int, Path], list[str]]]] = {
    "rectifact labels": (20_000, "answers", _crowd_file("labels")),
    "rectifact agree": (10_000, "answers", _crowd_file("agree")),
    "rectifact parts": (2_000, "samples", _matrix_file("parts", _rectified, "out.npz")),
    "rectifact embed": (500, "samples", _matrix_file("embed", _rectified, "out.csv")),
    "rectifact cluster": (1_000, "nodes", _matrix_file("cluster", _blocks, "out.csv")),
}
"""The smaller size of the input of a command, its unit, and what writes it and returns the arguments."""

CASES: dict[str, tuple[int, str, Callable[[int, Path], Run]]] = {
    **{name: (size, unit, _command(write)) for name, (size, unit, write) in COMMANDS.items()},
    "MajorityVote": (100_000, "answers", _fit("MajorityVote", lambda n: _answers(n, 3))),
    "DawidSkene": (50_000, "answers", _fit("DawidSkene", lambda n: _answers(n, 3))),
    "MinimaxEntropy": (2_000, "answers", _fit("MinimaxEntropy", lambda n: _answers(n, 3))),
    "KOS": (50_000, "answers", _fit("KOS", lambda n: _answers(n, 2))),
    "GhoshSVD": (50_000, "answers", _fit("GhoshSVD", lambda n: _answers(n, 2))),
    "EigenRatio": (50_000, "answers", _fit("EigenRatio", lambda n: _answers(n, 2))),
    "ANDNMF": (2_000, "samples", _fit("ANDNMF", _mixtures, PARTS, random_state=0)),
    "ANDNMF, sparse": (2_000, "samples", _fit("ANDNMF", lambda n: sp.csr_array(_rectified(n)), PARTS, random_state=0)),
    "PurificationNMF": (5_000, "samples", _fit("PurificationNMF", _mixtures, PARTS, random_state=0)),
    "NMD": (500, "samples", _fit("NMD", _rectified, PARTS)),
    "NMD, sparse": (500, "samples", _fit("NMD", lambda n: sp.csr_array(_rectified(n)), PARTS)),
    "LogisticPCA": (200, "samples", _fit("LogisticPCA", lambda n: (_rectified(n) > 0) * 1.0, PARTS)),
    "SymNMF": (1_000, "nodes", _fit("SymNMF", _blocks, PARTS, affinity="precomputed")),
    "SymNMF, points": (1_000, "points", _fit("SymNMF", _points, PARTS)),
    "SymNMFNet": (1_000, "nodes", _fit("SymNMFNet", _blocks, PARTS, affinity="precomputed")),
}
"""The smaller size, its unit, and what makes the input and returns the work to measure."""


if __name__ == "__main__":
    for module in ("cli.agree", "cli.cluster", "cli.embed", "cli.labels", "cli.parts", "kernels.compiled"):
        import_module(f"rectifact.{module}")  # once, for all forks
    chosen = sys.argv[2:] or list(CASES)
    print(json.dumps(grown(chosen, int(sys.argv[1]))))  # noqa: T201
