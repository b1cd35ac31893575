"""What posteriors say about ordered grades: the median, the expected grade and an interval."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rectifact.crowd.em import Floats

ROUNDING = 1e-9
"""Differences of probabilities that say nothing: other machines and other orders of the answers have others."""

COVERED = 0.9
"""Probability that the interval of a grade holds at least."""


def quantile_grades(posteriors: Floats, share: float) -> NDArray[np.int64]:
    """Number of the first grade that has, with those before it, at least this share of the probability.

    For a half it is the median, which has the least expected distance from the true grade.

    Examples
    --------
    >>> import numpy as np
    >>> quantile_grades(np.array([[0.4, 0.3, 0.3], [0.5, 0.5, 0.0]]), 0.5)
    array([1, 0])
    """
    return (np.cumsum(posteriors, axis=1)[:, :-1] < share - ROUNDING).sum(axis=1)


def chosen(posteriors: Floats, ordinal: bool) -> NDArray[np.int64]:
    """Number of the class that is the label: the median of ordered grades, else the likeliest class.

    Of classes that are equally likely, but for rounding, it is the first.

    Examples
    --------
    >>> import numpy as np
    >>> chosen(np.array([[0.1, 0.45, 0.45 + 1e-15], [0.2, 0.3, 0.5]]), ordinal=False)
    array([1, 2])
    """
    if ordinal:
        return quantile_grades(posteriors, 0.5)
    largest = posteriors.max(axis=1, keepdims=True)
    return np.asarray((posteriors >= largest - ROUNDING).argmax(axis=1))


def grade_values(classes: NDArray[Any]) -> Floats:
    """The grades as numbers: the classes themselves if they are numbers in order, else 1, 2, 3 and so on.

    Examples
    --------
    >>> import numpy as np
    >>> grade_values(np.array(["0", "2", "4"])), grade_values(np.array(["poor", "fair", "good"]))
    (array([0., 2., 4.]), array([1., 2., 3.]))
    """
    places, values = np.arange(1.0, len(classes) + 1), numbers_of(classes.tolist())
    if values is None:
        return places
    steps = np.diff(values)
    return values if (steps > 0).all() or (steps < 0).all() else places


def numbers_of(classes: Iterable[Any]) -> Floats | None:
    """Classes as numbers, None if one of them is not a finite number.

    Examples
    --------
    >>> numbers_of(["1", 2.5]), numbers_of(["1", "poor"])
    (array([1. , 2.5]), None)
    """
    try:
        values = np.array([float(value) for value in classes])
    except (TypeError, ValueError):
        return None
    return values if np.isfinite(values).all() else None


def expected_grades(posteriors: Floats, classes: NDArray[Any]) -> Floats:
    """Expected grade of each task, in the numbers of :func:`grade_values`."""
    return posteriors @ grade_values(classes)


def grade_intervals(posteriors: Floats, classes: NDArray[Any]) -> NDArray[Any]:
    """Lowest and highest grade of each task between which the true one lies, of shape (n_tasks, 2).

    At most 5 % of the probability is below and at most 5 % is above.

    Examples
    --------
    >>> import numpy as np
    >>> grade_intervals(np.array([[0.02, 0.58, 0.4], [0.97, 0.02, 0.01]]), np.array([1, 2, 3]))
    array([[2, 3],
           [1, 1]])
    """
    outside = (1 - COVERED) / 2
    ends = [quantile_grades(posteriors, share) for share in (outside, 1 - outside)]
    return classes[np.stack(ends, axis=1)]
