"""Communities of two divisions, matched by the nodes that they have in common."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment


def matched_overlaps(one: NDArray[Any], other: NDArray[Any], k: int) -> NDArray[Any]:
    """Common nodes of each community and its partner, over all nodes of both.

    Examples
    --------
    >>> matched_overlaps(np.array([0, 0, 1, 1]), np.array([1, 1, 0, 1]), 2).round(2)
    array([0.67, 0.5 ])
    """
    return np.asarray(_overlaps(one, other, k)[np.arange(k), partners(one, other, k)])


def partners(one: NDArray[Any], other: NDArray[Any], k: int) -> NDArray[Any]:
    """For each community of ``one`` the community of ``other`` that it is matched with."""
    return np.asarray(linear_sum_assignment(-_overlaps(one, other, k))[1])


def _overlaps(one: NDArray[Any], other: NDArray[Any], k: int) -> NDArray[Any]:
    inside, also = (labels[:, None] == np.arange(k) for labels in (one, other))
    common = inside.T.astype(float) @ also
    return np.asarray(common / np.maximum(inside.sum(axis=0)[:, None] + also.sum(axis=0) - common, 1))
