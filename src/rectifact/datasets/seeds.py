"""The random seed of generators: ``random_state``, as in scikit-learn."""

import warnings
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

import numpy as np

P = ParamSpec("P")
R = TypeVar("R")
RandomState = int | np.random.Generator | np.random.RandomState | None


def takes_seed(make: Callable[P, R]) -> Callable[P, R]:
    """Let a generator accept ``seed``, the old name of ``random_state``, with a warning.

    .. deprecated:: 0.2.0
       ``seed`` will be removed; use ``random_state``.
    """

    @wraps(make)
    def made(*args: P.args, **options: P.kwargs) -> R:
        if "seed" in options:
            if "random_state" in options:
                raise TypeError(f"{make.__name__}() got both random_state and its old name, seed.")
            warnings.warn(f"{make.__name__}: seed is now called random_state.", DeprecationWarning, stacklevel=2)
            options["random_state"] = options.pop("seed")
        return make(*args, **options)

    return made
