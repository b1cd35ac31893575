"""How many threads linear algebra and compiled kernels use.

Threads of BLAS pay off in large products only. In a loop over small ones they cost more than they bring: three times
the run time on quiet cores and fifty times on busy ones were measured for a graph of 2,000 nodes.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache, partial

from threadpoolctl import ThreadpoolController

LARGE_PRODUCT = 1e8
"""Multiplications of a product that is worth several threads."""


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
