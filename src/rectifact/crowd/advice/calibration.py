"""Calibrates posteriors without any truth: finds the power that best predicts each answer from the others."""

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import softmax

from rectifact.crowd.advice.held_out import HeldOut
from rectifact.crowd.em import Floats


def tempered(posteriors: Floats, power: float) -> Floats:
    """Posteriors raised to ``power`` and normalised: below 1 they become less sure.

    Examples
    --------
    >>> import numpy as np
    >>> tempered(np.array([[0.8, 0.2]]), 0.5).round(2)
    array([[0.67, 0.33]])
    """
    return softmax(power * np.log(np.maximum(posteriors, 1e-300)), axis=1)


def temperature(held_out: HeldOut) -> float:
    """Power of the posteriors that best predicts each answer from the other answers to its task."""
    if not len(held_out.label):  # no task has two answers
        return 1.0
    found = minimize_scalar(
        lambda log_power: -held_out_score(held_out, float(np.exp(log_power))),
        bounds=(np.log(0.02), np.log(2.0)),
        method="bounded",
    )
    return float(np.exp(found.x))


def held_out_score(held_out: HeldOut, power: float) -> float:
    """Mean log-probability of left-out answers when the posteriors from the others are raised to ``power``."""
    likely = (tempered(held_out.posteriors, power) * held_out.likelihoods).sum(axis=1)
    return float(np.average(np.log(np.maximum(likely, 1e-300)), weights=held_out.weight))
