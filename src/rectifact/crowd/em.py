"""Majority vote and the EM algorithm of Dawid and Skene (1979), with one confusion matrix or one coin per worker.

[1] A. P. Dawid and A. M. Skene, "Maximum likelihood estimation of observer error-rates using the EM
algorithm", Applied Statistics 28(1), 1979. Their equations 2.3 and 2.4 are the M-step here, 2.5 the E-step.

What sees every task is a generic function of the answers: here in its form for arrays, on the host or on a device; in
``blocks`` in its form for answers that lie in blocks on the machines of a cluster.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import singledispatch
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from rectifact import kernels
from rectifact.core.arrays import device, is_host, namespace, to_host
from rectifact.core.monitor import Monitor

__all__ = [
    "NOTHING",
    "Background",
    "CrowdModel",
    "Floats",
    "Gold",
    "blank_posteriors",
    "class_totals",
    "confusions_of",
    "e_step",
    "em",
    "expected_counts",
    "gold_of_tasks",
    "log_e_step",
    "model_from",
    "one_coin_of",
    "own_copy",
    "unweighted",
    "update_posteriors",
    "vote_shares",
]

Floats = NDArray[np.float64]
Gold = tuple[NDArray[np.int64], NDArray[np.int64]]  # tasks whose class is known, and their classes


class Background(NamedTuple):
    """What tasks outside of this run have contributed: expected counts of cells and of classes."""

    counts: Floats | float = 0.0
    classes: Floats | float = 0.0


NOTHING = Background()


@dataclass(frozen=True)
class CrowdModel:
    """A fitted Dawid-Skene model.

    Attributes
    ----------
    priors : array (n_classes,), lambda in the papers
    confusions : array (n_workers, n_classes observed, n_classes true), A_m in the papers; columns sum to 1
    posteriors : array (n_tasks, n_classes) under these parameters
    counts : array like ``confusions``, the expected answers and pseudo-counts it was made of
    log_priors, log_confusions : what an answer adds to the log-odds of the classes, to judge new tasks
    log_likelihood : of all answers, in nats
    objective : what the algorithm maximised, to compare runs from different starts
    """

    priors: Floats
    confusions: Floats
    posteriors: Any
    counts: Floats
    log_priors: Floats
    log_confusions: Floats
    log_likelihood: float
    objective: float

    def on_host(self) -> "CrowdModel":
        """The same model in numpy arrays of double precision."""
        if is_host(self.priors):
            return self
        names = ("priors", "confusions", "posteriors", "counts", "log_priors", "log_confusions")
        arrays: dict[str, Any] = {name: to_host(getattr(self, name)).astype(np.float64) for name in names}
        return replace(self, **arrays)


def vote_shares(votes: Floats, gold: Gold | None = None) -> Floats:
    """Share of each class among a task's answers; a task without answers gets the shares of all answers.

    A tie is shared, never broken at random. A task of known class has that class alone.

    Examples
    --------
    >>> import numpy as np
    >>> vote_shares(np.array([[2.0, 0.0], [1.0, 1.0], [0.0, 0.0]]))
    array([[1.  , 0.  ],
           [0.5 , 0.5 ],
           [0.75, 0.25]])
    """
    total = votes.sum(axis=1, keepdims=True)
    shares = np.where(total > 0, votes / np.where(total > 0, total, 1), votes.sum(axis=0) / votes.sum())
    if gold is not None:
        shares[gold[0]] = np.eye(votes.shape[1])[gold[1]]
    return shares


def em(
    B: sp.csr_array,
    posteriors: Floats,
    *,
    smoothing: float,
    monitor: Monitor,
    gold: Gold | None = None,
    confusions_from: Callable[[Floats, float], Floats] | None = None,
    background: Background = NOTHING,
) -> CrowdModel:
    """EM for the Dawid-Skene model from given posteriors.

    Parameters
    ----------
    B : sparse array (n_tasks, n_workers * n_classes), how often worker m answered k
    posteriors : array (n_tasks, n_classes) to start from
    smoothing : pseudo-count added to each cell of each confusion matrix
    monitor : Monitor
        Its loss is minus the penalised objective, log-likelihood + smoothing * sum of log confusions, which
        cannot rise; the bare likelihood can, with smoothing.
    gold : tasks of known class
    confusions_from : :func:`confusions_of` (the default) or :func:`one_coin_of`
    background : statistics of other tasks, which stay as they are

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> B = sp.csr_array(np.array([[1.0, 0, 1, 0], [1, 0, 1, 0], [0, 1, 0, 1]]))  # two workers who agree
    >>> em(B, np.array([[0.9, 0.1], [0.9, 0.1], [0.1, 0.9]]), smoothing=0.1, monitor=Monitor()).posteriors.round(1)
    array([[1., 0.],
           [1., 0.],
           [0., 1.]])
    """
    confusions_from = confusions_from or confusions_of
    posteriors = monitor.resume(own_copy(posteriors))  # one array for all iterations
    for _ in monitor:
        counts = background.counts + expected_counts(B, posteriors)
        classes = background.classes + class_totals(posteriors)
        xp = namespace(classes)
        priors, confusions = classes / classes.sum(), confusions_from(counts, smoothing)
        with np.errstate(divide="ignore"):  # log 0 = -inf: impossible, as it should be
            likelihood = update_posteriors(B, xp.log(priors), xp.log(confusions), posteriors, gold)
        penalty = smoothing * xp.log(confusions).sum() if smoothing else 0.0
        monitor.record(lambda: -(likelihood + penalty), state=lambda: posteriors)
    return model_from(priors, confusions, posteriors, counts + smoothing, likelihood, likelihood + penalty)


@singledispatch
def own_copy(posteriors: Any) -> Any:
    """Posteriors that a run may change."""
    return namespace(posteriors).asarray(posteriors, copy=True)


@singledispatch
def blank_posteriors(B: Any, log_priors: Floats) -> Any:
    """Posteriors of all tasks yet to be written, in the library and precision of ``log_priors``."""
    shape, xp = (B.shape[0], len(log_priors)), namespace(log_priors)
    return xp.empty(shape, dtype=log_priors.dtype, device=device(log_priors))


@singledispatch
def update_posteriors(
    B: Any, log_priors: Floats, log_confusions: Floats, posteriors: Floats, gold: Gold | None
) -> float:
    """E-step into ``posteriors``; returns the log-likelihood of all answers and known classes.

    The logarithms need not be those of normalised probabilities.
    """
    xp = namespace(posteriors)
    known = xp.empty(0, dtype=xp.int64, device=device(posteriors))
    if gold is not None:
        known = xp.full(B.shape[0], -1, dtype=xp.int64, device=device(posteriors))
        known[gold[0]] = gold[1]
    cells: Any = log_confusions.reshape(-1, len(log_priors))
    cells = np.ascontiguousarray(cells) if is_host(cells) else cells.contiguous()
    return kernels.crowd_posteriors(B.indptr, B.indices, B.data, log_priors, cells, known, posteriors)


def model_from(
    priors: Floats, confusions: Floats, posteriors: Floats, counts: Floats, likelihood: float, objective: float
) -> CrowdModel:
    """Model whose answers weigh by their plain probabilities."""
    xp = namespace(priors)
    with np.errstate(divide="ignore"):
        logs = xp.log(priors), xp.log(confusions)
    return CrowdModel(priors, confusions, posteriors, counts, *logs, float(likelihood), float(objective))


def gold_of_tasks(gold: Gold | None, tasks: NDArray[np.int64]) -> Gold | None:
    """What is known of ``tasks`` alone, which are sorted, numbered by their places there."""
    if gold is None:
        return None
    known = np.isin(gold[0], tasks)
    return np.searchsorted(tasks, gold[0][known]), gold[1][known]


@singledispatch
def unweighted(B: Any) -> Any:
    """The same answers, each counting for one."""
    return sp.csr_array((np.ones(len(B.data)), B.indices, B.indptr), shape=B.shape)


@singledispatch
def expected_counts(B: Any, posteriors: Floats) -> Floats:
    """Expected answers k of worker m where c is true, of shape (n_workers, n_classes, n_classes)."""
    n_classes = posteriors.shape[1]
    counts = kernels.crowd_counts(B.indptr, B.indices, B.data, posteriors, B.shape[1])
    return counts.reshape(-1, n_classes, n_classes)


@singledispatch
def class_totals(posteriors: Any) -> Floats:
    """Expected number of tasks of each class, column by column, because numpy sums long thin arrays slowly.

    Not as a product either: the threads of BLAS would then wait on the cores that the kernels need.
    """
    if not is_host(posteriors):
        return posteriors.sum(axis=0)
    return np.array([posteriors[:, c].sum() for c in range(posteriors.shape[1])])


def confusions_of(counts: Floats, smoothing: float) -> Floats:
    """Confusion matrices that best explain the counts; a class that a worker never met gets a uniform column."""
    xp = namespace(counts)
    smoothed = counts + smoothing
    met = xp.sum(smoothed, axis=1, keepdims=True)
    one = xp.ones_like(met)
    return xp.where(met > 0, smoothed / xp.where(met > 0, met, one), one / counts.shape[1])


def one_coin_of(counts: Floats, smoothing: float) -> Floats:
    """Confusion matrices with one parameter per worker: right with p, else any wrong class alike."""
    xp = namespace(counts)
    n_classes = counts.shape[1]
    smoothed = counts + smoothing
    total = xp.sum(smoothed, axis=(1, 2))
    one = xp.ones_like(total)
    right = xp.where(total > 0, xp.linalg.trace(smoothed) / xp.where(total > 0, total, one), one / n_classes)
    wrong = (1 - right) / (n_classes - 1)
    diagonal = xp.eye(n_classes, dtype=counts.dtype, device=device(counts)) > 0
    return xp.where(diagonal, right[:, None, None], wrong[:, None, None])


def e_step(B: sp.csr_array, priors: Floats, confusions: Floats, gold: Gold | None = None) -> tuple[Floats, float]:
    """Posterior of each task's class, and the log-likelihood of all answers and known classes."""
    xp = namespace(priors)
    with np.errstate(divide="ignore"):
        return log_e_step(B, xp.log(priors), xp.log(confusions), gold)


def log_e_step(
    B: sp.csr_array, log_priors: Floats, log_confusions: Floats, gold: Gold | None = None
) -> tuple[Floats, float]:
    """:func:`e_step` on logarithms."""
    posteriors = blank_posteriors(B, log_priors)
    return posteriors, update_posteriors(B, log_priors, log_confusions, posteriors, gold)
