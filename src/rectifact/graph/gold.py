"""Known classes of some nodes, for SymNMF-Net."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment

from rectifact.core.arrays import Array, to_host, to_like
from rectifact.core.errors import InputError


def checked_gold(gold: ArrayLike | None, n: int, n_clusters: int) -> NDArray[Any] | None:
    """Known classes as integers, -1 where the class is unknown; None if none is known."""
    if gold is None:
        return None
    known = np.asarray(gold)
    if known.shape != (n,) or known.dtype.kind not in "iu" or known.min() < -1 or known.max() >= n_clusters:
        raise InputError(
            f"gold must hold one whole number for each of the {n} samples: a class from 0 to {n_clusters - 1}, or -1.",
            "Give -1 where the class is unknown.",
        )
    return known.astype(np.int64) if (known >= 0).any() else None


def aligned(U: Array, known: NDArray[Any]) -> Array:
    """Columns in the order of the classes that they fit best."""
    nodes, start = known >= 0, to_host(U)
    fit = np.zeros((U.shape[1], U.shape[1]))
    np.add.at(fit, known[nodes], start[nodes])
    return to_like(start[:, linear_sum_assignment(-fit)[1]], U)
