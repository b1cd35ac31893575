"""The Dawid-Skene model, on which the family is built: parameters, E-step and M-step, vote shares, and plain EM.

A worker has a confusion matrix, or one coin: the probability of being right.

[1] A. P. Dawid and A. M. Skene, "Maximum likelihood estimation of observer error-rates using the EM
algorithm", Applied Statistics 28(1), 1979. Their equations 2.3 and 2.4 are the M-step here, 2.5 the E-step.

The answers are an operand B of shape (n_tasks, n_workers * n_classes): how often worker m answered k. What has one row
per task is a tall array beside it; a run needs only its sums over all tasks.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
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
    log_priors : array of shape (n_states,)
        Of the states that a task may be in: the classes, or the subtypes of each class, side by side.
    log_confusions : array of shape (n_workers, n_classes, n_states)
        What an answer adds to the log-odds of the states, to judge new tasks.
    log_likelihood : float
        Of all answers, in nats.
    objective : float
        What the algorithm maximised, to compare runs from different starts.
    vote_weights : array of shape (n_workers,) or None
        What an answer counts in the vote; None if all count the same.
    retreat : float
        The share of the vote in the posteriors, see :func:`retreated`.
    ordinal : bool
        Whether classes are grades in order.
    """

    priors: Floats
    confusions: Floats
    posteriors: Any
    counts: Floats
    log_priors: Floats
    log_confusions: Floats
    log_likelihood: float
    objective: float
    vote_weights: Floats | None = None
    retreat: float = 0.0
    ordinal: bool = field(default=False, metadata={"since": "0.2"})

    @property
    def judging(self) -> tuple[Any, ...]:
        """What :func:`judged` needs to know to judge tasks."""
        return self.log_priors, self.log_confusions, self.vote_weights, self.retreat, self.ordinal

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
    form: "Form | None" = None,
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
        Pseudo-answers for each parameter: in each cell of a full matrix; right and wrong for one coin.
    monitor : Monitor
        Its loss is minus the penalised objective, the log-likelihood plus ``smoothing`` times the log-probability of
        one pseudo-answer each, which cannot rise; the bare likelihood can, with smoothing.
    known : array of shape (n_tasks,), default None
        The class of a task where it is certain, -1 elsewhere.
    form : Form, default FULL
        How many parameters a worker has: a confusion matrix, or one coin (``ONE_COIN``).
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
    form = form or FULL
    sums = monitor.resume(start)
    for _ in monitor:
        counts, classes = background.counts + sums.counts, background.classes + sums.classes
        priors, confusions = classes / classes.sum(), form.confusions_of(counts, smoothing)
        posteriors, sums, likelihood = e_step(B, priors, confusions, known)
        penalty = smoothing * form.log_pseudo_answers(confusions) if smoothing else 0.0
        monitor.record(lambda: -(likelihood + penalty), state=lambda: sums)
    return model_from(priors, confusions, posteriors, counts + smoothing, likelihood, likelihood + penalty)


def e_step(B: Operand, priors: Floats, confusions: Floats, known: Any = None) -> tuple[Any, Sums, Any]:
    """Posteriors, their sums, and the log-likelihood of all answers and known classes: one pass over the tasks."""
    return log_e_step(B, *_logs(priors, confusions), known)


def log_e_step(B: Operand, log_priors: Floats, log_confusions: Floats, known: Any = None) -> tuple[Any, Sums, Any]:
    """:func:`e_step` by state, on logarithms, which need not be those of normalised probabilities."""
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
    """Posterior of the state of each task in some rows of the answers."""
    return _evidence_of(rows, known, log_priors, log_confusions)[0]


def judged(
    rows: Any,
    known: Any,
    log_priors: Any,
    log_confusions: Any,
    vote_weights: Floats | None,
    retreat: float,
    ordinal: bool = False,
) -> Any:
    """Posterior of the class of each task in some rows of the answers, as far as they are trusted."""
    n_classes = log_confusions.shape[1]
    posteriors = by_class(posteriors_of(rows, known, log_priors, log_confusions), n_classes)
    if not retreat:
        return posteriors
    weights = np.ones(len(log_confusions)) if vote_weights is None else vote_weights
    return retreated(posteriors, rows @ np.kron(weights[:, None], np.eye(n_classes)), known, retreat, ordinal)


def retreated(posteriors: Floats, votes: Floats, known: Any, retreat: float, ordinal: bool = False) -> Floats:
    """Posteriors mixed with the shares of the votes, one vote for all classes together added; known classes stay.

    For ordered grades the added vote is that of the posteriors: one for all grades would draw to the middle.

    Examples
    --------
    >>> import numpy as np
    >>> retreated(np.array([[0.9, 0.1]]), np.array([[1.5, 1.5]]), None, 0.5)
    array([[0.7, 0.3]])
    """
    added = posteriors if ordinal else 1 / votes.shape[1]
    shares = (votes + added) / (votes.sum(axis=1, keepdims=True) + 1)
    mixed = (1 - retreat) * posteriors + retreat * shares
    return mixed if known is None else np.where((known >= 0)[:, None], posteriors, mixed)


def by_class(states: Any, n_classes: int) -> Any:
    """Sums over the subtypes of each class, in the last axis."""
    if states.shape[-1] == n_classes:
        return states
    return states.reshape(*states.shape[:-1], n_classes, -1).sum(axis=-1)


def _evidence(rows: Any, known: Any, log_priors: Any, log_confusions: Any) -> Any:
    return _evidence_of(rows, known, log_priors, log_confusions)[1]


def _judge(rows: Any, known: Any, log_priors: Any, log_confusions: Any) -> tuple[Any, ...]:
    given = _as_cells(log_priors, log_confusions, known)
    posteriors, counts, classes, likelihood = kernels.crowd_sweep(rows.indptr, rows.indices, rows.data, *given)
    return posteriors, counts.reshape(-1, log_confusions.shape[1], len(log_priors)), classes, likelihood


def _evidence_of(rows: Any, known: Any, log_priors: Any, log_confusions: Any) -> tuple[Any, Any]:
    given = _as_cells(log_priors, log_confusions, known)
    return kernels.crowd_posteriors(rows.indptr, rows.indices, rows.data, *given)


def _as_cells(log_priors: Any, log_confusions: Any, known: Any) -> tuple[Any, ...]:
    """Parameters as the kernels take them: a row for each worker and answer, and the number of subtypes last."""
    n_states = len(log_priors)
    return log_priors, log_confusions.reshape(-1, n_states), known, n_states // log_confusions.shape[1]


def expected_sums(rows: Any, posteriors: Any, n_classes: int | None = None) -> Sums:
    """Expected answers and tasks in some rows of the answers; posteriors of states need the number of classes."""
    counts = kernels.crowd_counts(rows.indptr, rows.indices, rows.data, posteriors, rows.shape[1])
    n_states = posteriors.shape[1]
    return Sums(counts.reshape(-1, n_classes or n_states, n_states), kernels.column_sums(posteriors))


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
    """Confusion matrices with one parameter per worker: right with probability p, else any wrong class alike.

    Examples
    --------
    >>> import numpy as np
    >>> one_coin_of(np.array([[[7.0, 1.0], [1.0, 1.0]]]), 1)  # (8 + 1) of (10 + 2) are right
    array([[[0.75, 0.25],
            [0.25, 0.75]]])
    """
    xp = namespace(counts)
    n_classes = counts.shape[1]
    total = xp.sum(counts, axis=(1, 2)) + 2 * smoothing
    one = xp.ones_like(total)
    right = (xp.linalg.trace(counts) + smoothing) / xp.where(total > 0, total, one)
    return coins(xp.where(total > 0, right, one / n_classes), n_classes)


def coins(right: Any, n_classes: int) -> Any:
    """Confusion matrices of workers who are right with some probability, and else choose any wrong class alike."""
    xp = namespace(right)
    diagonal = xp.eye(n_classes, dtype=right.dtype, device=device(right)) > 0
    return xp.where(diagonal, right[:, None, None], ((1 - right) / (n_classes - 1))[:, None, None])


def _log_cells(confusions: Any) -> Any:
    return namespace(confusions).log(confusions).sum()


def _log_sides(confusions: Any) -> Any:
    """One answer that is right and one that is wrong, whichever."""
    xp = namespace(confusions)
    right = confusions[:, 0, 0]
    return (xp.log(right) + xp.log(1 - right)).sum()


class Form(NamedTuple):
    """An M-step of the confusion matrices, and the log-probability of the pseudo-answers that it adds."""

    confusions_of: Callable[[Any, float], Any]
    log_pseudo_answers: Callable[[Any], Any]


FULL = Form(confusions_of, _log_cells)
ONE_COIN = Form(one_coin_of, _log_sides)
