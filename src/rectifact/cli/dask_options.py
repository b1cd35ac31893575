"""Where work on data in parts runs: threads of this process, a cluster that is there, or processes of this machine."""

import logging
import signal
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from importlib.util import find_spec
from multiprocessing import resource_tracker
from typing import Annotated, Any

import typer

from rectifact.core.errors import InputError

__all__ = ["LocalClusterOption", "SchedulerOption", "check_cluster", "cluster_of"]

PATIENCE = "5s"
"""How long a scheduler may take to answer."""

SchedulerOption = Annotated[
    str | None,
    typer.Option("--scheduler", help="Address of a running dask scheduler for data in parts, tcp://127.0.0.1:8786."),
]
LocalClusterOption = Annotated[
    int | None,
    typer.Option("--local-cluster", help="Number of worker processes to start here for data in parts."),
]


def check_cluster(scheduler: str | None, n_workers: int | None, *, in_parts: bool, parts: str) -> None:
    """Refuse what cannot be done, before the work; ``parts`` says what data in parts would be."""
    if scheduler is None and n_workers is None:
        return
    if scheduler is not None and n_workers is not None:
        raise InputError("--scheduler and --local-cluster are two places for the same work. Choose one.")
    if n_workers is not None and n_workers < 1:
        raise InputError(f"--local-cluster {n_workers} is no number of processes. Give 1 or more.")
    if not in_parts:
        raise InputError(f"--scheduler and --local-cluster are for data in parts: {parts}. Leave them out.")
    if find_spec("distributed") is None:
        raise InputError("A cluster needs dask, which is not there: pip install 'rectifact[dask]'.")


@contextmanager
def cluster_of(scheduler: str | None, n_workers: int | None) -> Iterator[None]:
    """Let dask compute on the scheduler or on processes started for it; with threads if neither is given."""
    if scheduler is None and n_workers is None:
        with _threads():
            yield
        return
    from distributed import LocalCluster

    logging.getLogger("asyncio").setLevel(logging.CRITICAL)  # what is left undone after Ctrl-C is of no interest
    with ExitStack() as stack:
        place: Any = scheduler
        if scheduler is None:
            quiet = {"dashboard_address": "127.0.0.1:0", "silence_logs": "CRITICAL"}
            with _interrupted_later():
                cluster = LocalCluster(n_workers=n_workers, threads_per_worker=1, host="127.0.0.1", **quiet)
                place = stack.enter_context(cluster)
        try:
            client = stack.enter_context(_connected(place))
        except (OSError, ValueError, TypeError, MemoryError) as error:  # the last: a web server's answer as a size
            raise InputError(
                f"There is no dask scheduler at {scheduler!r}. Start one with 'dask scheduler', or check the address."
            ) from error
        if not client.scheduler_info()["workers"]:
            raise InputError(
                f"The scheduler at {scheduler!r} has no workers. Start some with 'dask worker {scheduler}'."
            )
        yield


def _threads() -> AbstractContextManager[Any]:
    """Compute with threads of this process, whatever client another part of the program may have left behind."""
    if find_spec("dask") is None:
        return nullcontext()
    import dask

    return dask.config.set(scheduler="threads")


def _connected(place: Any) -> Any:
    """A client of the scheduler at ``place``; one that cannot connect is closed.

    A constructor that fails leaves its client behind, still connecting and dask's default, and the next computation
    would wait for it forever. Made in two steps, the client is there to be closed.
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
    """Let Ctrl-C wait for the end of the block: dask cannot stop a cluster that is half there.

    Processes started in it never see Ctrl-C, and would have nothing to say about it: this one stops them.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # which would let signals through again where it is started later
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
