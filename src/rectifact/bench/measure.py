"""Measuring: a score with every time, the environment with every result."""

import json
import os
import platform
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import numba
from threadpoolctl import threadpool_info, threadpool_limits

from rectifact.core.threads import single_thread
from rectifact.datasets import MissingDataset


@dataclass(frozen=True)
class Case:
    """Something to measure: what runs on the data, and how good its result is.

    Parameters
    ----------
    name : str
    run : callable
        ``run(data)`` gives a result.
    score : callable
        ``score(data, result)`` gives a number, or several by name.
    """

    name: str
    run: Callable[[Any], Any]
    score: Callable[[Any, Any], Any]


def measure(case: Case, data: Any, *, warmup: int = 1, repeats: int = 3) -> dict[str, Any]:
    """Score and times of ``case`` on ``data``.

    Parameters
    ----------
    case : Case
    data : object
    warmup : int, default 1
        First runs, which compile and fill caches and do not count.
    repeats : int, default 3
        Runs that count.

    Returns
    -------
    dict
        ``case``, ``score``, ``min_s`` and ``median_s``.

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
    score = case.score(data, result)
    return {"case": case.name, "score": score, "min_s": min(counted), "median_s": median(counted)}


def timed(run: Callable[..., Any], *arguments: Any) -> tuple[Any, float]:
    """The result of a call, and the seconds that it took."""
    begin = perf_counter()
    found = run(*arguments)
    return found, perf_counter() - begin


def at_hand(sets: Mapping[str, Callable[[], Any]]) -> Iterator[tuple[str, Any]]:
    """Name and data of each set whose files are on this machine; ``sets`` has a loader for each name."""
    for name, load in sets.items():
        with suppress(MissingDataset):
            yield name, load()


def alone(module: str, *arguments: str) -> Any:
    """What ``python -m rectifact.bench.<module>`` prints as JSON: measured in a process of its own, for its memory."""
    command = [sys.executable, "-m", f"rectifact.bench.{module}", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603
    return json.loads(done.stdout.splitlines()[-1])


def peak_memory() -> float:
    """Most memory this process has held, in GB."""
    status = Path("/proc/self/status")
    if status.exists():  # getrusage would also count what the parent held when it started this process
        return int(status.read_text().split("VmHWM:")[1].split()[0]) * 1024 / 1e9
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e9


def memory_now() -> float:
    """Memory this process holds, in GB; most of what it has held, where the system does not say."""
    status = Path("/proc/self/status")
    if status.exists():
        return int(status.read_text().split("VmRSS:")[1].split()[0]) * 1024 / 1e9
    return peak_memory()


def reset_peak() -> None:
    """Let :func:`peak_memory` start again from what this process holds, where the system allows it."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


@contextmanager
def one_thread() -> Iterator[None]:
    """Limit linear algebra and compiled kernels to one thread, so that times can be compared."""
    with single_thread(), threadpool_limits(1):  # in this order: single_thread makes numba load its pool
        yield


PACKAGES = (
    *("rectifact", "numpy", "scipy", "scikit-learn", "numba", "pandas", "torch"),
    *("crowd-kit", "snorkel", "implicit", "networkx", "igraph", "leidenalg"),
)
"""Those whose versions a result tells."""


def environment() -> dict[str, Any]:
    """Date, revision, versions, machine and threads, by which a result can be judged later.

    Examples
    --------
    >>> {"date", "cpu", "cpus", "numba_threads", "versions"} <= environment().keys()
    True
    """
    commit = revision(Path(__file__).parent)
    versions = {}
    for package in PACKAGES:
        with suppress(PackageNotFoundError):
            versions[package] = version(package)
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        **({"revision": commit} if commit else {}),
        "python": platform.python_version(),
        "cpu": cpu_name(),
        "machine": platform.machine(),
        "system": platform.system(),
        "cpus": os.cpu_count(),
        "blas_threads": sorted({pool["num_threads"] for pool in threadpool_info()}),
        "numba_threads": numba.get_num_threads(),
        "versions": versions,
    }


def cpu_name(listing: Path = Path("/proc/cpuinfo")) -> str:
    """Model of the processor, from the system's listing if it has one."""
    lines = listing.read_text(encoding="utf-8").splitlines() if listing.exists() else []
    models = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(models, platform.processor() or platform.machine())


def revision(folder: Path) -> str | None:
    """Git revision of the sources in ``folder``, with a + if they have changed since; None if they are not in git."""
    try:
        _git(folder, "ls-files", "--error-unmatch", "__init__.py")  # a .venv inside some other checkout is not ours
        commit = _git(folder, "rev-parse", "--short", "HEAD")
        changed = _git(folder, "status", "--porcelain", "--untracked-files=no")
    except (OSError, subprocess.CalledProcessError):
        return None
    return f"{commit}+" if changed else commit


def _git(folder: Path, *arguments: str) -> str:
    command = ["git", "-C", str(folder), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()  # noqa: S603
