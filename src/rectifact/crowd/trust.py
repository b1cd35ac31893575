"""How far posteriors lean on the vote, and when: answers depend on each other, are few, or leave workers unknown.

With few answers per worker, EM may explain all tasks by one class, or take a single worker for the truth, and be nearly
certain of it: nothing contradicts it. Such a fit shows in what the workers say about each other. Where the workers are
known, the answers of a worker follow from the other answers to the same tasks better than from how often the worker
gives each answer. This is measured in nats, as the model expects it.
"""

from typing import Any

import numpy as np
from scipy.special import softmax

from rectifact.core.operand import Operand
from rectifact.crowd.em import CrowdModel, Floats

EARLY_RETREAT = 2.5, 0.65
"""The weight of the vote is the share of the variance that independent answers would not have. Up to the second number,
it is as many times as large."""

ORDINAL_RETREAT = 5.0, 1.0
"""The same for ordered grades: a task that lies between two grades is answered with both, which only the vote shows."""

FEW_ANSWERS, ENOUGH_ANSWERS = 20, 40
"""Up to the first number of answers in all, no model overrules answers that agree; from the second on, it may."""

UNANIMOUS = 0.7
"""Weight of the vote at which a single answer decides, whatever the model says: above two thirds."""

FORETOLD = 1.0
"""Nats by which other answers must foretell those of a worker, on average over all answers, for a model that counts."""

LEAST_MODEL = 0.05
"""Weight that is left to a model that foretells nothing: it still decides where votes are tied."""

ANCHORS = 30
"""True labels with which a fit cannot mistake its classes, so that it counts whatever it foretells."""

ENOUGH_SOURCES = 2.5
"""Workers, copies counted as one, above which answers can tell who is right where they differ: three views of a task
identify the model of Dawid and Skene, two do not."""

MOST_CLASSES = 64
"""Up to which answers are foretold: the cost for an answer grows with their square."""

TILE = 1 << 22
"""Numbers worked on at once."""


def dependence_retreat(effect: float, ordinal: bool = False) -> float:
    """Weight of the vote, given the design effect of the answers.

    Examples
    --------
    >>> dependence_retreat(1.0), round(dependence_retreat(1.2), 3), dependence_retreat(4.0)
    (0.0, 0.417, 0.75)
    """
    (times, most), share = ORDINAL_RETREAT if ordinal else EARLY_RETREAT, 1 - 1 / effect
    return max(min(times * share, most), share)


def small_crowd_retreat(n_answers: float, ordinal: bool = False) -> float:
    """Weight of the vote, given the number of all answers: a handful cannot show that a worker errs.

    Of ordered grades, whose vote already contains the posteriors, it is all of it.

    Examples
    --------
    >>> small_crowd_retreat(5), small_crowd_retreat(30), small_crowd_retreat(1000)
    (0.7, 0.35, 0.0)
    """
    left = (ENOUGH_ANSWERS - n_answers) / (ENOUGH_ANSWERS - FEW_ANSWERS)
    return (1.0 if ordinal else UNANIMOUS) * min(1.0, max(0.0, left))


def unknown_workers_retreat(nats: float) -> float:
    """Weight of the vote, given by how much other answers foretell those of a worker.

    Examples
    --------
    >>> unknown_workers_retreat(0.0), unknown_workers_retreat(0.5), unknown_workers_retreat(20.0)
    (0.95, 0.5, 0.0)
    """
    return min(1 - LEAST_MODEL, max(0.0, 1 - nats / FORETOLD))


def foretold(B: Operand, model: CrowdModel, weights: Floats, known: Any = None) -> float:
    """Nats by which the other answers to the same tasks are expected to foretell all answers of a worker.

    The mean over workers, each as often as they answered. It is infinite with more than 64 classes, where it would cost
    too much, and with 30 true labels, which hold the classes where they belong.

    Parameters
    ----------
    B : Operand of shape (n_tasks, n_workers * n_classes)
        How often worker m answered k.
    model : CrowdModel
        Fitted to them.
    weights : array of shape (n_workers,)
        What an answer counts as evidence.
    known : array of shape (n_tasks,), default None
        The class of a task where it is certain, -1 elsewhere.

    Examples
    --------
    >>> import numpy as np
    >>> from rectifact import DawidSkene
    >>> from rectifact.core.operand import operand
    >>> from rectifact.datasets import make_crowd
    >>> def nats(answers):
    ...     model = DawidSkene().fit(answers)
    ...     return foretold(operand(model._answers.one_hot()), model._model, np.ones(15))
    >>> crowd = make_crowd(300, 15, 2, labels_per_task=15, accuracy=(0.5, 0.8), random_state=2).answers
    >>> nats(crowd[crowd.groupby("task").cumcount() < 2]) < nats(crowd)
    True
    """
    if len(model.priors) > MOST_CLASSES:
        return np.inf
    matrices = np.maximum(model.confusions, 1e-300)
    priors = np.maximum(model.priors, 1e-300)
    nats, given, n_known = B.total(_foretold, matrices, priors, weights, along=(known,))
    if n_known >= ANCHORS:
        return np.inf
    return float(nats @ given / given.sum()) if given.sum() > 0 else 0.0


def _foretold(rows: Any, known: Any, matrices: Floats, priors: Floats, weights: Floats) -> tuple[Floats, Floats, float]:
    """By worker: nats, and answers. The number of tasks whose class is known."""
    n_classes, n_workers = len(priors), len(matrices)
    logs = (weights[:, None, None] * np.log(matrices)).reshape(-1, n_classes)
    together, usual = np.log(priors) + rows @ logs, matrices @ priors
    task, worker = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr)), rows.indices // n_classes
    nats = np.zeros(n_workers)
    step = max(1, TILE // n_classes**2)
    for i in range(0, rows.nnz, step):
        some = slice(i, i + step)
        others = softmax(together[task[some]] - rows.data[some, None] * logs[rows.indices[some]], axis=1)
        if known is not None:
            certain = known[task[some]] >= 0
            others[certain] = np.eye(n_classes)[known[task[some]][certain]]
        expected = np.einsum("nkc,nc->nk", matrices[worker[some]], others)
        gain = (expected * np.log(expected / usual[worker[some]])).sum(axis=1)
        nats += np.bincount(worker[some], gain * (rows.data[some] != 0), minlength=n_workers)
    n_known = 0.0 if known is None else float((known >= 0).sum())
    return nats, np.bincount(worker, rows.data, minlength=n_workers).astype(np.float64), n_known
