"""Models to start a fit from: one for each method of ``identify``, with the sums over all tasks that follow from it.

The vote needs ``em`` alone. Co-occurrences go through ``cooccurrence``, ``imputation`` and ``rotation``. Of these
methods, ``"pair-free"`` needs no table of pairs; ``identify="auto"`` tries it beside the vote. The others are in
``moments``.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rectifact.core.errors import InputError
from rectifact.core.linalg import procrustes
from rectifact.core.monitor import Monitor
from rectifact.core.operand import Operand
from rectifact.core.rectify import Constant, Geometric, Schedule
from rectifact.crowd import imputation, moments
from rectifact.crowd.cooccurrence import answers_per_cell, cooccurrences, n_paired_answers, n_tasks_shared
from rectifact.crowd.em import CrowdModel, Floats, Sums, confusions_of, e_step, model_from
from rectifact.crowd.rotation import Rotation, factor_of, match_classes, model_of, rotate

METHODS = ("majority", "pair-free", "robust", "designated", "none-imputed", "multispa", "cnmf", "spectral")
MOST_PAIRS = 20_000_000
"""Pairs of answers to the same task whose co-occurrences still fit: about 1 GB."""

MOST_CLASSES = 64
"""Classes up to which ``identify="auto"`` tries a start from pairs of answers: its cost for an answer grows with their
square, and with so many classes a pair of workers says next to nothing about most pairs of them."""

MOST_PRODUCTS = 2**28
"""Numbers that the start without pairs may hold for all tasks together: 2 GB."""

NEEDS_PAIRS = ("robust", "designated", "none-imputed", "multispa", "cnmf")

SMOOTHING = 0.1
DEFAULT_ROTATION = Rotation()


@dataclass(frozen=True)
class Start:
    """A first model and the sums to fit from; ``method`` is what was used, which may not be what was asked for."""

    method: str
    priors: Floats
    confusions: Floats
    sums: Sums


def identify(
    method: str,
    B: Operand,
    votes: Sums,
    *,
    known: Any = None,
    weigh_by_count: bool = True,
    reweigh: bool = True,
    least_shared: int = 1,
    designated: NDArray[np.int64] | None = None,
    rotation: Rotation = DEFAULT_ROTATION,
    rng: np.random.Generator,
) -> Start:
    """A model to start from.

    Where no task has answers from two workers there are no co-occurrences, and the majority vote is all there is; so it
    is for ``"spectral"`` where too few tasks have answers from all its three groups of workers.

    Parameters
    ----------
    method : str
        One of ``METHODS``.
    B : Operand of shape (n_tasks, n_workers * n_classes)
        How often worker m answered k.
    votes : Sums
        Under the shares of the votes.
    known : array of shape (n_tasks,), default None
        The class of a task where it is certain, -1 elsewhere.
    weigh_by_count : bool, default True
        Whether robust imputation weighs a pair of workers by what they share.
    reweigh : bool, default True
        Whether robust imputation weighs outlying pairs less.
    least_shared : int, default 1
        How many answers a pair of workers must share for its co-occurrences to count as observed.
    designated : array of int, default None
        For ``"designated"``, numbers of the workers through whom missing co-occurrences are imputed; anybody by
        default.
    rotation : Rotation, default Rotation()
        Start and thresholds of the rotation.
    rng : numpy.random.Generator
        For ``"spectral"``.
    """
    n_classes = len(votes.classes)
    majority = votes.classes / B.shape[0], confusions_of(votes.counts, SMOOTHING)
    if method == "majority" or not B.total(n_tasks_shared, n_classes):
        return Start("majority", *majority, votes)
    if method in NEEDS_PAIRS:
        check_pairs(f"identify={method!r}", B)
    given = B.total(answers_per_cell).reshape(-1, n_classes).sum(axis=1)
    start = factor_of(*majority)
    if method == "spectral":
        found = moments.spectral(B, votes, rng=rng)
        if found is None:
            return Start("majority", *majority, votes)
        model = found
    elif method == "pair-free":
        _check_products(B.shape[0], n_classes)
        U = imputation.pair_free(B, start, monitor=Monitor(max_iter=50, tol=1e-3))
        model = _rotated(U, start, given, rotation)
    else:
        pairs = cooccurrences(B, n_classes).at_least(least_shared)
        if method == "multispa":
            model = moments.multispa(pairs, given)
        elif method == "cnmf":
            model = moments.cnmf(pairs, *moments.multispa(pairs, given), monitor=Monitor(max_iter=20, tol=0))
        elif method == "designated":
            model = _rotated(imputation.designated(pairs, designated), start, given, rotation)
        elif method == "none-imputed":
            model = _rotated(imputation.not_imputed(pairs), start, given, rotation)
        else:
            monitor = Monitor(max_iter=50, tol=1e-4)
            U = imputation.robust(pairs, start, monitor=monitor, weigh_by_count=weigh_by_count, reweigh=reweigh)
            model = _rotated(U, start, given, rotation)
    _, sums, _ = e_step(B, *model, known)
    return Start(method, *model, sums)


def tried(method: str, n_classes: int) -> tuple[str, ...]:
    """The methods that ``identify`` stands for.

    Examples
    --------
    >>> tried("auto", 3), tried("auto", 500), tried("robust", 500)
    (('majority', 'pair-free'), ('majority',), ('robust',))
    """
    if method != "auto":
        return (method,)
    return ("majority", "pair-free") if n_classes <= MOST_CLASSES else ("majority",)


def unrefined(B: Operand, known: Any, start: Start, smoothing: float) -> CrowdModel:
    """The model of a start as it is, and the posteriors under it."""
    posteriors, sums, likelihood = e_step(B, start.priors, start.confusions, known)
    return model_from(start.priors, start.confusions, posteriors, sums.counts + smoothing, likelihood, likelihood)


def _check_products(n_tasks: int, n_classes: int) -> None:
    if n_tasks * n_classes**2 > MOST_PRODUCTS:
        raise InputError(
            f"identify='pair-free' needs {n_classes} times {n_classes} numbers for each of {n_tasks} tasks: too many.",
            "Use identify='auto', which starts from the majority vote where there are many classes.",
        )


def check_pairs(what: str, B: Operand) -> None:
    """Refuse a table of all pairs of answers, which ``what`` needs, where it would not fit in memory."""
    n_pairs = B.total(n_paired_answers)
    if n_pairs > MOST_PAIRS:
        raise InputError(
            f"{what} needs a table of the {n_pairs:,} pairs of answers to the same task: too many.",
            "Use identify='auto' or 'pair-free', which do without one.",
        )


def _rotated(U: Floats, guess: Floats, given: Floats, rotation: Rotation) -> tuple[Floats, Floats]:
    """Model behind a root of the co-occurrences: rotate it to the non-negative orthant and name the classes.

    Unless asked otherwise, the rotation starts where the root comes closest to the majority vote's.
    """
    k = U.shape[1]
    stacked, weights = U.reshape(-1, k), np.repeat(given, k)
    scale = float(np.sqrt((stacked**2).sum(axis=1).mean()))
    Q = np.eye(k) if rotation.start == "identity" else procrustes(guess.reshape(-1, k), stacked, weights)
    schedule: Schedule = Constant(0.0)
    if rotation.threshold:
        schedule = Geometric(start=rotation.threshold * scale, decay=1 / rotation.decay)
    H = rotate(stacked, Q, weights, schedule=schedule, monitor=Monitor(max_iter=rotation.max_iter, tol=0))
    return match_classes(*model_of(H.reshape(U.shape), given), given)
