"""The rotation that makes a root of the co-occurrences non-negative, and the model read off it.

Equation numbers are those of Ibrahim and Fu (2021).
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.optimize import linear_sum_assignment

from rectifact.core.linalg import procrustes
from rectifact.core.monitor import Monitor
from rectifact.core.rectify import Schedule, relu
from rectifact.crowd.em import Floats

FLOOR = 1e-3
"""Least probability of any answer in a model that was read off a factor."""


@dataclass(frozen=True)
class Rotation:
    """Where the rotation starts, and how its thresholds fall.

    Parameters
    ----------
    start : {"vote", "identity"}, default "vote"
        The rotation that brings the root closest to the majority vote's, or none, as published.
    threshold : float, default 0.5
        The first threshold, relative to the root mean squared norm of the root's rows; 0 is the algorithm of Huang,
        Sidiropoulos and Swami (2014), without a shift.
    decay : float, default 0.9
        By which the threshold is multiplied at each iteration.
    max_iter : int, default 200
    """

    start: Literal["vote", "identity"] = "vote"
    threshold: float = 0.5
    decay: float = 0.9
    max_iter: int = 200


def rotate(U: Floats, Q: Floats, weights: Floats, *, schedule: Schedule, monitor: Monitor) -> Floats:
    """Non-negative ``H`` close to ``U Q`` for an orthogonal ``Q``: symmetric NMF of ``U U'`` (eq. 13).

    What the paper calls shifted ReLU is our ``relu``, which keeps what reaches the threshold.

    Parameters
    ----------
    U : array of shape (n_workers * K, K)
        A root of the co-occurrences.
    Q : array of shape (K, K)
        The rotation to start from.
    weights : array of shape (n_workers * K,)
        Of the rows in the Procrustes step.
    schedule : Schedule
        Thresholds that decay.
    monitor : Monitor
        Of ``||H - U Q||_F``.
    """
    for t in monitor:
        H = relu(U @ Q, schedule(t))
        Q = procrustes(H, U, weights)
        monitor.record(lambda: np.linalg.norm(H - U @ Q), settled=schedule.settled(t))
    return H


def factor_of(priors: Floats, confusions: Floats) -> Floats:
    """Blocks ``A_m D^(1/2)`` of a model (eq. 6), of shape (n_workers, K, K)."""
    return confusions * np.sqrt(priors)


def model_of(H: Floats, answers_given: Floats) -> tuple[Floats, Floats]:
    """Priors and confusion matrices behind the blocks ``A_m D^(1/2)`` (Proposition 1).

    Columns of a block sum to the root of the prior; they are averaged by the number of answers given.

    Parameters
    ----------
    H : array of shape (n_workers, K, K)
        Non-negative.
    answers_given : array of shape (n_workers,)
    """
    sums = H.sum(axis=1)
    roots = answers_given @ sums
    priors = np.maximum(roots**2, 1e-12)
    confusions = np.maximum(H / np.where(sums > 0, sums, 1)[:, None, :], FLOOR)
    return priors / priors.sum(), confusions / confusions.sum(axis=1, keepdims=True)


def match_classes(priors: Floats, confusions: Floats, answers_given: Floats) -> tuple[Floats, Floats]:
    """Name the hidden classes: the order in which workers are right most often on the whole.

    Co-occurrences leave the order of the classes open. It is settled by the assumption that the crowd, each
    worker weighing by the answers given, is better than chance.
    """
    mean = np.einsum("m,mkc->kc", answers_given, confusions)
    _, order = linear_sum_assignment(mean, maximize=True)
    return priors[order], confusions[:, :, order]
