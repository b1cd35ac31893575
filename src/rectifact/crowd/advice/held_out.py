"""Answers left out in turn, each judged by a model that has not seen it: what calibration and the report compare.

Answers are dealt into folds, so that a task loses about a fifth of its answers in each. For each fold the model is
fitted again to the answers of the others, from where it had ended, with all that was decided before.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from rectifact.core.monitor import Monitor
from rectifact.core.operand import operand
from rectifact.crowd.em import CrowdModel, Floats, judged, posteriors_of
from rectifact.crowd.fitting import Fitting, Problem

FOLDS = 5
MOST_CELLS = 4_000_000
"""Left-out answers times classes: a sample of the answers is enough above that."""

REFIT_ITERATIONS, REFIT_TOL = 50, 1e-5


@dataclass(frozen=True)
class HeldOut:
    """Answers, and what a model without them says.

    Attributes
    ----------
    label : array of shape (n,)
        Numbers of the classes that were answered.
    weight : array of shape (n,)
    posteriors : array of shape (n, n_classes)
        Of the class of the answer's task, from the other answers.
    likelihoods : array of shape (n, n_classes)
        Probability that the worker gives this answer, by true class.
    expected : array of shape (n, n_classes)
        Probability of each answer that the worker could have given.
    """

    label: NDArray[np.int64]
    weight: Floats
    posteriors: Floats
    likelihoods: Floats
    expected: Floats


def held_out_answers(problem: Problem, fitting: Fitting, model: CrowdModel) -> HeldOut:
    """Leave out the answers to tasks that have several, fold by fold."""
    rows, n_classes = problem.B.data, problem.votes.shape[1]
    per_task = np.diff(rows.indptr)
    task = np.repeat(np.arange(rows.shape[0]), per_task)
    fold = _folds(per_task)
    fold[per_task[task] < 2] = -1
    chosen = np.zeros(rows.nnz, dtype=bool)
    chosen[:: max(1, rows.nnz * n_classes // MOST_CELLS)] = True
    parts = []
    for number in range(FOLDS):
        left_out = fold == number
        if (left_out & chosen).any():
            fitted = _refitted(problem, fitting, model, left_out)
            parts.append(_compared(fitted, rows, task, np.flatnonzero(left_out & chosen), n_classes))
    if not parts:
        none = np.empty((0, n_classes))
        return HeldOut(np.empty(0, dtype=np.int64), np.empty(0), none, none, none)
    return HeldOut(*(np.concatenate(part) for part in zip(*parts, strict=True)))


def judged_unseen(problem: Problem, fitting: Fitting, model: CrowdModel) -> Floats:
    """Posteriors of all tasks from their answers alone, by models that do not know the class of the task itself.

    Where the fit was told classes, it learnt how the workers answer these very tasks, so that it would look better
    there than on others. These tasks are therefore dealt into folds, and judged by a fit that is told the other folds.
    """
    known, rows = problem.known, problem.B.data
    posteriors = judged(rows, None, *model.judging)
    if known is None:
        return posteriors
    told = np.random.default_rng(0).permutation(np.flatnonzero(known >= 0))
    for fold in np.array_split(told, min(FOLDS, len(told))):
        others = known.copy()
        others[fold] = -1
        part = Problem(problem.B, problem.votes, others)
        start = part.sums(posteriors_of(rows, others, model.log_priors, model.log_confusions))
        fitted = fitting.run(part, start, monitor=Monitor(max_iter=REFIT_ITERATIONS, tol=REFIT_TOL))
        posteriors[fold] = judged(rows[fold], None, *fitted.judging)
    return posteriors


def _folds(per_task: NDArray[Any]) -> NDArray[np.int64]:
    """A fold for each answer: those of one task are dealt in turn, from a fold drawn at random."""
    first = np.random.default_rng(0).integers(FOLDS, size=len(per_task))
    place = np.arange(per_task.sum()) - np.repeat(np.cumsum(per_task) - per_task, per_task)
    return (np.repeat(first, per_task) + place) % FOLDS


def _refitted(problem: Problem, fitting: Fitting, model: CrowdModel, left_out: NDArray[np.bool_]) -> CrowdModel:
    """The same model without some of the answers."""
    rows = problem.B.data
    kept = np.r_[0, np.cumsum(~left_out)][rows.indptr]
    others = sp.csr_array((rows.data[~left_out], rows.indices[~left_out], kept), shape=rows.shape)
    part = Problem(operand(others), problem.votes, problem.known)  # no run looks at the votes themselves
    start = part.sums(posteriors_of(others, problem.known, model.log_priors, model.log_confusions))
    monitor = Monitor(max_iter=REFIT_ITERATIONS, tol=REFIT_TOL)
    return fitting.run(part, start, monitor=monitor)


def _compared(fitted: CrowdModel, rows: Any, task: NDArray[Any], which: NDArray[Any], n_classes: int) -> Any:
    worker, label = np.divmod(rows.indices[which].astype(np.int64), n_classes)
    posteriors = fitted.posteriors[task[which]]
    likelihoods = fitted.confusions[worker, label]
    # class by class: a matrix for each answer would not fit where there are many classes
    expected = sum(fitted.confusions[worker, :, c] * posteriors[:, c, None] for c in range(n_classes))
    return label, rows.data[which].astype(np.float64), posteriors, likelihoods, expected
