"""How a benchmark is taken: a score with every time, the environment with every run."""

import os
import platform
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from statistics import median
from time import perf_counter
from typing import Any

import numba
from threadpoolctl import threadpool_info, threadpool_limits

from rectifact.kernels import single_thread

__all__ = ["Case", "environment", "measure", "one_thread"]


@dataclass(frozen=True)
class Case:
    """One thing to measure: what runs on the data, and how good its result is."""

    name: str
    run: Callable[[Any], Any]
    score: Callable[[Any, Any], float]


def measure(case: Case, data: Any, *, warmup: int = 1, repeats: int = 3) -> dict[str, Any]:
    """Run ``case`` on ``data``; the first runs, which compile and fill caches, do not count.

    Examples
    --------
    >>> row = measure(Case("sum", sum, lambda data, result: result), [1, 2, 3])
    >>> row["case"], row["score"], row["min_s"] <= row["median_s"]
    ('sum', 6, True)
    """
    seconds = []
    for _ in range(warmup + repeats):
        start = perf_counter()
        result = case.run(data)
        seconds.append(perf_counter() - start)
    counted = seconds[warmup:]
    return {
        "case": case.name,
        "score": case.score(data, result),
        "min_s": min(counted),
        "median_s": median(counted),
    }


@contextmanager
def one_thread() -> Iterator[None]:
    """Keep linear algebra and compiled kernels to one thread, so that times compare."""
    with threadpool_limits(1), single_thread():
        yield


def environment() -> dict[str, Any]:
    """Versions, machine and threads, so that a result can be judged later."""
    versions = {}
    for package in ("rectifact", "numpy", "scipy", "scikit-learn", "numba", "pandas", "crowd-kit", "snorkel", "torch"):
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    return {
        "python": platform.python_version(),
        "machine": platform.machine(),
        "system": platform.system(),
        "cpus": os.cpu_count(),
        "blas_threads": sorted({pool["num_threads"] for pool in threadpool_info()}),
        "numba_threads": numba.get_num_threads(),
        "versions": versions,
    }
