"""A loop in two compiled forms: one in several threads, and a plain one."""

from collections.abc import Callable
from types import FunctionType
from typing import Any

from numba import njit


def two_forms(function: Any, **options: Any) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """The loops of ``function`` in several threads, and the same in one, which may run in several Python threads.

    Numba keeps compiled code in files by the names of functions, whatever their options: under one name each form would
    be read in place of the other. So the plain one has a name of its own.
    """
    name = f"{function.__name__}_plain"
    plain = FunctionType(function.__code__, function.__globals__, name, function.__defaults__)
    plain.__qualname__ = name
    return njit(parallel=True, cache=True, **options)(function), njit(nogil=True, cache=True, **options)(plain)
