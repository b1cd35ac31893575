"""How far a bias differs between two groups of tasks, beyond what usual errors explain."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from rectifact.crowd.prediction_powered import Difference, Floats


def usual_change(
    values: Floats, right: Floats, true: Floats, task: NDArray[Any], members: Sequence[NDArray[np.bool_]]
) -> float:
    """How much the bias of a worker who errs alike in two groups changes because their true classes differ.

    Errors draw every figure towards the middle: whoever is wrong in one case of ten gives a rare class too often, and a
    common one too rarely, and nobody can grade the best tasks too high.

    Parameters
    ----------
    values : array of shape (n_answers,)
        What the worker's answers count: whether they are the class, or their grades.
    right : array of shape (n_classes,)
        What right answers count, by true class.
    true : array of shape (n_tasks, n_classes)
        Probabilities of the true classes.
    task : array of shape (n_answers,)
    members : sequence of array of bool of shape (n_tasks,)
        Which tasks are in the first group, and which in the second.

    Examples
    --------
    >>> import numpy as np
    >>> rare, common = (np.arange(100) % 10 < share for share in (2, 7))
    >>> truth = np.concatenate([rare, common])
    >>> says = np.where(np.arange(200) % 100 < 50, truth, 0.5)  # half of the answers are right, the others guess
    >>> true, first = np.column_stack([1 - truth, truth]), np.arange(200) < 100
    >>> round(usual_change(says, np.array([0.0, 1.0]), true, np.arange(200), [first, ~first]), 2)
    -0.25
    """
    of_answers = true[task]
    weights = of_answers.sum(axis=0)
    wrong = (of_answers.T @ values - weights * right) / np.maximum(weights, 1e-12)
    first, second = (of_answers[some[task]].mean(axis=0) for some in members)
    return float((second - first) @ wrong)


def true_classes(posteriors: Floats, truth: NDArray[np.int64], chosen: Floats, predicted: Floats) -> Floats:
    """Probabilities of the true classes by labels and, elsewhere, by the model, with those ``predicted`` of one set."""
    inside = posteriors @ chosen
    factors = np.column_stack([(1 - predicted) / np.maximum(1 - inside, 1e-12), predicted / np.maximum(inside, 1e-12)])
    scaled = posteriors * factors[:, chosen.astype(int)]
    return np.where((truth >= 0)[:, None], np.eye(posteriors.shape[1])[truth], scaled)


def apart(value: float, first: Any, second: Any, z: float) -> Difference:
    """An interval for the second minus the first, from their own intervals of ``z`` standard deviations.

    Both have ``value``, ``low`` and ``high``. The ends combine as in :func:`prediction_powered.difference`; for figures
    from the same tasks, which rise and fall together, the interval is rather too long.

    Examples
    --------
    >>> one, other = Difference(0.5, 0.4, 0.6, 0), Difference(0.7, 0.6, 0.8, 0)
    >>> found = apart(0.2, one, other, 1.96)
    >>> round(found.low, 2), round(found.high, 2), round(found.p_value, 3)
    (0.06, 0.34, 0.006)
    """
    down = float(np.hypot(second.value - second.low, first.high - first.value))
    up = float(np.hypot(second.high - second.value, first.value - first.low))
    reach = down if value > 0 else up
    p_value = float(2 * ndtr(-z * abs(value) / reach)) if reach > 0 else float(value == 0)
    return Difference(value, value - down, value + up, p_value)
