"""The Dawid-Skene model, on which the family is built: parameters, E-step and M-step, vote shares, and plain EM.

A worker has a confusion matrix, or one coin: the probability of being right.

[1] A. P. Dawid and A. M. Skene, "Maximum likelihood estimation of observer error-rates using the EM
algorithm", Applied Statistics 28(1), 1979. Their equations 2.3 and 2.4 are the M-step here, 2.5 the E-step.

The answers are an operand B of shape (n_tasks, n_workers * n_classes): how often worker m answered k. What has one row
per task is a tall array beside it; a run needs only its sums over all tasks.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rectifact import kernels
from rectifact.core.arrays import device, namespace, to_host
from rectifact.core.monitor import Monitor
from rectifact.core.operand import Operand

Floats = NDArray[np.float64]


class Sums(NamedTuple):
    """All that an M-step has to know of the tasks.

    Attributes
    ----------
    counts : array of shape (n_workers, n_classes observed, n_classes true)
        Expected answers.
    classes : array of shape (n_classes,)
        Expected tasks.
    """

    counts: Any
    classes: Any


NOTHING = Sums(0.0, 0.0)


@dataclass(frozen=True)
class CrowdModel:
    """A fitted Dawid-Skene model.

    Attributes
    ----------
    priors : array of shape (n_classes,)
        Lambda in the papers.
    confusions : array of shape (n_workers, n_classes observed, n_classes true)
        A_m in the papers; columns sum to 1.
    posteriors : array of shape (n_tasks, n_classes)
        Under these parameters.
    counts : array of shape (n_workers, n_classes observed, n_classes true)
        Expected answers and pseudo-counts from which ``confusions`` was made.
    log_priors, log_confusions : array
        What an answer adds to the log-odds of the classes, to judge new tasks.
    log_likelihood : float
        Of all answers, in nats.
    objective : float
        What the algorithm maximised, to compare runs from different starts.
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
        names = ("priors", "confusions", "posteriors", "counts", "log_priors", "log_confusions")
        arrays: dict[str, Any] = {name: to_host(getattr(self, name)).astype(np.float64) for name in names}
        return replace(self, **arrays)


def vote_shares(votes: Floats, known: NDArray[np.int64] | None = None) -> Floats:
    """Share of each class among a task's answers; a task without answers gets the shares of all answers.

    A tie is shared, never broken at random. A task of known class, which is not -1 in ``known``, has that class alone.

    Examples
    --------
    >>> import numpy as np
    >>> vote_shares(np.array([[2.0, 0.0], [1.0, 1.0], [0.0, 0.0]]))
    array([[1.  , 0.  ],
           [0.5 , 0.5 ],
           [0.75, 0.25]])
    """
    total = votes.sum(axis=1, keepdims=True)
    shares = np.where(total > 0, votes / np.where(total > 0, total, 1), votes.sum(axis=0) / (votes.sum() or 1))
    if known is not None:
        certain = known >= 0
        shares[certain] = np.eye(votes.shape[1])[known[certain]]
    return shares


def em(
    B: Operand,
    start: Sums,
    *,
    smoothing: float,
    monitor: Monitor,
    known: Any = None,
    confusions_from: Callable[[Any, float], Any] | None = None,
    background: Sums = NOTHING,
) -> CrowdModel:
    """EM for the Dawid-Skene model.

    Parameters
    ----------
    B : Operand of shape (n_tasks, n_workers * n_classes)
        How often worker m answered k.
    start : Sums
        Expected answers and tasks to start from, such as :func:`expected_sums` of the vote shares.
    smoothing : float
        Pseudo-count added to each cell of each confusion matrix.
    monitor : Monitor
        Its loss is minus the penalised objective, log-likelihood + smoothing * sum of log confusions, which
        cannot rise; the bare likelihood can, with smoothing.
    known : array of shape (n_tasks,), default None
        The class of a task where it is certain, -1 elsewhere.
    confusions_from : callable, default :func:`confusions_of`
        The M-step of the confusion matrices; the other one is :func:`one_coin_of`.
    background : Sums, default nothing
        Of other tasks, which stay as they are.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> from rectifact.core.operand import operand
    >>> B = operand(sp.csr_array(np.array([[1.0, 0, 1, 0], [1, 0, 1, 0], [0, 1, 0, 1]])))  # two workers who agree
    >>> start = B.total(expected_sums, along=(np.array([[0.9, 0.1], [0.9, 0.1], [0.1, 0.9]]),))
    >>> em(B, start, smoothing=0.1, monitor=Monitor()).posteriors.round(1)
    array([[1., 0.],
           [1., 0.],
           [0., 1.]])
    """
    confusions_from = confusions_from or confusions_of
    sums = monitor.resume(start)
    for _ in monitor:
        counts, classes = background.counts + sums.counts, background.classes + sums.classes
        priors, confusions = classes / classes.sum(), confusions_from(counts, smoothing)
        posteriors, sums, likelihood = e_step(B, priors, confusions, known)
        penalty = smoothing * namespace(confusions).log(confusions).sum() if smoothing else 0.0
        monitor.record(lambda: -(likelihood + penalty), state=lambda: sums)
    return model_from(priors, confusions, posteriors, counts + smoothing, likelihood, likelihood + penalty)


def e_step(B: Operand, priors: Floats, confusions: Floats, known: Any = None) -> tuple[Any, Sums, Any]:
    """Posteriors, their sums, and the log-likelihood of all answers and known classes: one pass over the tasks."""
    return log_e_step(B, *_logs(priors, confusions), known)


def log_e_step(B: Operand, log_priors: Floats, log_confusions: Floats, known: Any = None) -> tuple[Any, Sums, Any]:
    """:func:`e_step` on logarithms, which need not be those of normalised probabilities."""
    posteriors, (counts, classes, likelihood) = B.sweep(
        _judge, log_priors, log_confusions, along=(known,), columns=len(log_priors), dtype=np.float64, keep=False
    )
    return posteriors, Sums(counts, classes), likelihood


def log_likelihood(B: Operand, priors: Floats, confusions: Floats, known: Any = None) -> float:
    """Log-likelihood of all answers and known classes, in nats."""
    return float(B.total(_evidence, *_logs(priors, confusions), along=(known,)))


def _logs(priors: Floats, confusions: Floats) -> tuple[Any, Any]:
    xp = namespace(priors)
    with np.errstate(divide="ignore"):  # log 0 = -inf: impossible, as it should be
        return xp.log(priors), xp.log(confusions)


def posteriors_of(rows: Any, known: Any, log_priors: Any, log_confusions: Any) -> Any:
    """Posterior of the class of each task in some rows of the answers."""
    return _judged(rows, known, log_priors, log_confusions)[0]


def _evidence(rows: Any, known: Any, log_priors: Any, log_confusions: Any) -> Any:
    return _judged(rows, known, log_priors, log_confusions)[1]


def _judge(rows: Any, known: Any, log_priors: Any, log_confusions: Any) -> tuple[Any, ...]:
    posteriors, likelihood = _judged(rows, known, log_priors, log_confusions)
    return posteriors, *expected_sums(rows, posteriors), likelihood


def _judged(rows: Any, known: Any, log_priors: Any, log_confusions: Any) -> tuple[Any, Any]:
    cells = log_confusions.reshape(-1, len(log_priors))
    return kernels.crowd_posteriors(rows.indptr, rows.indices, rows.data, log_priors, cells, known)


def expected_sums(rows: Any, posteriors: Any) -> Sums:
    """Expected answers and tasks in some rows of the answers."""
    return Sums(expected_counts(rows, posteriors), kernels.column_sums(posteriors))


def expected_counts(rows: Any, posteriors: Any) -> Any:
    """Expected answers k of worker m where c is true, of shape (n_workers, n_classes, n_classes)."""
    n_classes = posteriors.shape[1]
    counts = kernels.crowd_counts(rows.indptr, rows.indices, rows.data, posteriors, rows.shape[1])
    return counts.reshape(-1, n_classes, n_classes)


def model_from(
    priors: Floats, confusions: Floats, posteriors: Any, counts: Floats, likelihood: float, objective: float
) -> CrowdModel:
    """Model whose answers weigh by their plain probabilities."""
    logs = _logs(priors, confusions)
    return CrowdModel(priors, confusions, posteriors, counts, *logs, float(likelihood), float(objective))


def confusions_of(counts: Floats, smoothing: float) -> Floats:
    """Confusion matrices that best explain the counts; a class that a worker never met gets a uniform column."""
    xp = namespace(counts)
    smoothed = counts + smoothing
    met = xp.sum(smoothed, axis=1, keepdims=True)
    one = xp.ones_like(met)
    return xp.where(met > 0, smoothed / xp.where(met > 0, met, one), one / counts.shape[1])


def one_coin_of(counts: Floats, smoothing: float) -> Floats:
    """Confusion matrices with one parameter per worker: right with probability p, else any wrong class alike."""
    xp = namespace(counts)
    n_classes = counts.shape[1]
    smoothed = counts + smoothing
    total = xp.sum(smoothed, axis=(1, 2))
    one = xp.ones_like(total)
    right = xp.where(total > 0, xp.linalg.trace(smoothed) / xp.where(total > 0, total, one), one / n_classes)
    wrong = (1 - right) / (n_classes - 1)
    diagonal = xp.eye(n_classes, dtype=counts.dtype, device=device(counts)) > 0
    return xp.where(diagonal, right[:, None, None], wrong[:, None, None])
