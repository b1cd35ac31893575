"""How many threads linear algebra and compiled kernels use.

Threads of BLAS pay off in large products only. In a loop over small ones they cost more than they bring: three times
the run time on quiet cores and fifty times on busy ones were measured for a graph of 2,000 nodes.

A process that was forked, as those of ``multiprocessing`` with its start method "fork", has one thread: the threads of
GNU OpenMP, which numba and scikit-learn use on Linux, do not survive a fork, and a loop that counts on them ends the
process or waits for ever.
"""

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache, partial

from threadpoolctl import ThreadpoolController

LARGE_PRODUCT = 1e8
"""Multiplications of a product that is worth several threads."""


_forked = False
"""Whether this process was forked from one that had imported this module."""


def is_forked() -> bool:
    """Whether compiled loops must do with one thread, as this process was forked."""
    return _forked


def _note_fork() -> None:
    global _forked
    _forked = True


if hasattr(os, "register_at_fork"):  # there is no fork on Windows
    os.register_at_fork(after_in_child=_note_fork)


def surviving_threads() -> AbstractContextManager[object]:
    """Keep OpenMP of other libraries to one thread where this process was forked."""
    return ThreadpoolController().limit(limits=1, user_api="openmp") if _forked else nullcontext()


def one_blas_thread() -> AbstractContextManager[object]:
    """Keep BLAS to one thread, in the whole process: enter it in the main thread, around the work of others."""
    return _libraries().limit(limits=1, user_api="blas")


@cache
def _libraries() -> ThreadpoolController:
    """BLAS libraries of this process; the search takes milliseconds, as long as a small fit."""
    return ThreadpoolController()


def small_products(multiplications: float) -> AbstractContextManager[object]:
    """Keep BLAS to one thread where the products of a loop are small, ``multiplications`` each."""
    return one_blas_thread() if multiplications < LARGE_PRODUCT else nullcontext()


@contextmanager
def kernel_threads(most: int) -> Iterator[None]:
    """Threads of compiled kernels that this Python thread calls, at least 1; other Python threads are not affected."""
    import numba

    before = numba.get_num_threads()
    numba.set_num_threads(max(1, min(most, numba.config.NUMBA_NUM_THREADS)))
    try:
        yield
    finally:
        numba.set_num_threads(before)


single_thread = partial(kernel_threads, 1)
"""Keep compiled kernels that this Python thread calls to one thread."""


ENTRIES_PER_THREAD = 2_000_000
"""Entries of a sparse matrix times columns of a product that make another thread of a compiled kernel worth it."""


@contextmanager
def small_loop(work: float) -> Iterator[None]:
    """One thread of BLAS, and as many of compiled kernels as the ``work`` of a pass is worth: entries times columns."""
    with one_blas_thread(), kernel_threads(int(work // ENTRIES_PER_THREAD)):
        yield
