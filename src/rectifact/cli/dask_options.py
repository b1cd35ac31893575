"""Where Dask computes: in threads of this process, on a running scheduler, or in processes started here."""

import logging
import signal
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from importlib.util import find_spec
from multiprocessing import resource_tracker
from pathlib import Path
from typing import Any

from rectifact.core.errors import InputError, missing_extra

PATIENCE = "5s"
"""How long a scheduler may take to answer."""

RESTART = "1h"
"""How long a worker that died may take to start again; Dask gives it up after 15 seconds, too few on a busy machine."""


def check_cluster(scheduler: str | None, n_processes: int | None, *, in_parts: bool, parts: str) -> None:
    """Refuse what cannot be done, before the work; ``parts`` says which data is partitioned."""
    if scheduler is None and n_processes is None:
        return
    if scheduler is not None and n_processes is not None:
        raise InputError("--scheduler and --local-cluster are mutually exclusive.", "Choose one.")
    if n_processes is not None and n_processes < 1:
        raise InputError(f"--local-cluster {n_processes} is not a number of processes.", "Give 1 or more.")
    if not in_parts:
        raise InputError(
            f"--scheduler and --local-cluster are for partitioned or chunked data: {parts}.", "Leave them out."
        )
    if find_spec("distributed") is None:
        raise missing_extra("--scheduler and --local-cluster need", "Dask", "dask")


def check_matrix_source(
    scheduler: str | None, n_processes: int | None, *, in_chunks: bool, report: Path | None
) -> None:
    """Refuse options that do not fit a matrix in one file, or one in chunks."""
    folder = "a folder of .npy, .npz or .parquet files"
    check_cluster(scheduler, n_processes, in_parts=in_chunks, parts=folder)
    if in_chunks and report is not None:
        raise InputError(
            "--report is not available for a matrix in chunks.", "Leave it out, or give the matrix in one file."
        )


@contextmanager
def cluster_of(scheduler: str | None, n_processes: int | None) -> Iterator[None]:
    """Let Dask compute on the scheduler, or in processes started for it; in threads if neither is given."""
    if scheduler is None and n_processes is None:
        with _threads():
            yield
        return
    import dask
    from distributed import LocalCluster

    from rectifact.core.chunks import naming_failures

    for (
        name
    ) in logging.root.manager.loggerDict:  # do not report what Ctrl-C leaves undone, nor attempts to connect again
        if name.partition(".")[0] in ("asyncio", "distributed"):
            logging.getLogger(name).setLevel(logging.CRITICAL)
    with ExitStack() as stack:
        place: Any = scheduler
        if scheduler is None:
            stack.enter_context(dask.config.set({"distributed.deploy.lost-worker-timeout": RESTART}))
            quiet = {"dashboard_address": "127.0.0.1:0", "silence_logs": "CRITICAL"}
            with _interrupted_later():
                cluster = LocalCluster(n_workers=n_processes, threads_per_worker=1, host="127.0.0.1", **quiet)
                place = stack.enter_context(cluster)
        try:
            client = stack.enter_context(_connected(place))
        except (OSError, ValueError, TypeError, MemoryError) as error:  # the last: a web server's answer as a size
            raise InputError(
                f"There is no Dask scheduler at {scheduler!r}.",
                "Start one with 'dask scheduler', or check the address.",
            ) from error
        if not client.scheduler_info()["workers"]:
            raise InputError(
                f"The Dask scheduler at {scheduler!r} has no workers.", f"Start some with 'dask worker {scheduler}'."
            )
        with naming_failures():
            yield


def _threads() -> AbstractContextManager[Any]:
    """Compute in threads of this process, even if another part of the program has left a client behind."""
    if find_spec("dask") is None:
        return nullcontext()
    import dask

    return dask.config.set(scheduler="threads")


def _connected(place: Any) -> Any:
    """A client of the scheduler at ``place``; one that cannot connect is closed.

    A constructor that fails leaves its client behind, still connecting and the default of Dask, and the next
    computation would wait for it forever. Made in two steps, the client can be closed.
    """
    from distributed import Client

    client = Client.__new__(Client)
    try:
        client.__init__(place, timeout=PATIENCE)
    except BaseException:
        client.close(timeout=PATIENCE)
        raise
    return client


@contextmanager
def _interrupted_later() -> Iterator[None]:
    """Let Ctrl-C wait for the end of the block: Dask cannot stop processes that are still starting.

    Processes started in the block never see Ctrl-C; this one stops them.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # if started later, it would let signals through again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
