"""How many labels make the interval of a rate, or of a difference, as short as it is asked to be."""

from collections.abc import Callable

import numpy as np

from rectifact.crowd.prediction_powered import Estimate, difference


def labels_for(found: Estimate, half_width: float, z: float) -> float:
    """Labels with which the interval has this half-width; infinite where all tasks are not enough."""
    return _fewest(found.n_tasks, lambda n: found.with_labels(n).half_width(z) <= half_width)


def labels_for_difference(
    first: Estimate, second: Estimate, half_width: float, z: float, correlation: float = 0.0
) -> float:
    """Labels in both groups together, in the ratio that there is, for a half-width of the difference."""
    labelled = first.n_labels + second.n_labels
    most = int(min(one.n_tasks * labelled / max(one.n_labels, 1) for one in (first, second)))

    def reached(n: int) -> bool:
        one, other = (part.with_labels(max(1, round(n * part.n_labels / labelled))) for part in (first, second))
        found = difference(one, other, z, correlation)
        return (found.high - found.low) / 2 <= half_width

    return _fewest(most, reached)


def _fewest(most: int, reached: Callable[[int], bool]) -> float:
    """Smallest number of labels, up to ``most``, with which something is ``reached``."""
    if most < 1 or not reached(most):
        return np.inf
    low, high = 0, most
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if reached(middle) else (middle, high)
    return float(high)
