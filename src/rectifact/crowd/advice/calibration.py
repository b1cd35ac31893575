"""Calibrates posteriors without any truth: finds the power that best predicts each answer from the others."""

import numpy as np
import scipy.sparse as sp
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp, softmax

from rectifact.crowd.em import CrowdModel, Floats

MOST_ANSWERS = 200_000
"""Answers that are held out, one after another; more would not change the temperature."""


def tempered(posteriors: Floats, power: float) -> Floats:
    """Posteriors raised to ``power`` and normalised: below 1 they become less sure.

    Examples
    --------
    >>> import numpy as np
    >>> tempered(np.array([[0.8, 0.2]]), 0.5).round(2)
    array([[0.67, 0.33]])
    """
    return softmax(power * np.log(np.maximum(posteriors, 1e-300)), axis=1)


def temperature(B: sp.csr_array, model: CrowdModel) -> float:
    """Power of the posteriors that best predicts each answer from the other answers to its task."""
    joint, own, predictive = _left_out(B, model)
    if not len(joint):  # no task has two answers
        return 1.0
    found = minimize_scalar(
        lambda log_power: -held_out_score(joint, own, predictive, float(np.exp(log_power))),
        bounds=(np.log(0.02), np.log(2.0)),
        method="bounded",
    )
    return float(np.exp(found.x))


def held_out_score(joint: Floats, own: Floats, predictive: Floats, power: float) -> float:
    """Mean log-probability of left-out answers when the others' evidence is raised to ``power``.

    Parameters
    ----------
    joint : array of shape (n, n_classes)
        Log-odds of the task's classes from all its answers.
    own : array of shape (n, n_classes)
        What the left-out answer added.
    predictive : array of shape (n, n_classes)
        Log-probability of the left-out answer under each class.
    power : float
    """
    rest = power * (joint - own)
    return float((logsumexp(rest + predictive, axis=1) - logsumexp(rest, axis=1)).mean())


def _left_out(B: sp.csr_array, model: CrowdModel) -> tuple[Floats, Floats, Floats]:
    n_classes = len(model.priors)
    tiny = -1e3  # instead of log 0, so that differences stay finite
    cells = np.maximum(model.log_confusions, tiny).reshape(-1, n_classes)
    per_task = np.diff(B.indptr)
    step = max(1, int(per_task.sum()) // MOST_ANSWERS)
    task = np.repeat(np.arange(B.shape[0]), per_task)
    chosen = np.flatnonzero(per_task[task] > 1)[::step]
    joint = model.log_priors + B @ cells
    own = B.data[chosen, None] * cells[B.indices[chosen]]
    with np.errstate(divide="ignore"):
        predictive = np.maximum(np.log(model.confusions).reshape(-1, n_classes)[B.indices[chosen]], tiny)
    return joint[task[chosen]], own, predictive
