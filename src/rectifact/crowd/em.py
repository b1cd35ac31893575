"""Majority vote and the EM algorithm of Dawid and Skene (1979).

.. [1] A. P. Dawid and A. M. Skene, "Maximum likelihood estimation of observer error-rates using the EM
   algorithm", Applied Statistics 28(1), 1979. Their equations 2.3 and 2.4 are the M-step here, 2.5 the E-step.
"""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from rectifact.core.monitor import Monitor

__all__ = ["CrowdModel", "e_step", "em", "m_step", "penalised_objective", "vote_shares"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class CrowdModel:
    """A fitted Dawid-Skene model.

    Attributes
    ----------
    priors : array (n_classes,), lambda in the papers
    confusions : array (n_workers, n_classes observed, n_classes true), A_m in the papers; columns sum to 1
    posteriors : array (n_tasks, n_classes) under these parameters
    log_likelihood : of all answers, in nats
    """

    priors: Floats
    confusions: Floats
    posteriors: Floats
    log_likelihood: float


def vote_shares(votes: Floats) -> Floats:
    """Share of each class among a task's answers; a task without answers gets the shares of all answers.

    A tie is shared, never broken at random.

    Examples
    --------
    >>> import numpy as np
    >>> vote_shares(np.array([[2.0, 0.0], [1.0, 1.0], [0.0, 0.0]]))
    array([[1.  , 0.  ],
           [0.5 , 0.5 ],
           [0.75, 0.25]])
    """
    total = votes.sum(axis=1, keepdims=True)
    return np.where(total > 0, votes / np.where(total > 0, total, 1), votes.sum(axis=0) / votes.sum())


def em(B: sp.csr_array, posteriors: Floats, *, smoothing: float, monitor: Monitor) -> CrowdModel:
    """EM for the Dawid-Skene model from given posteriors.

    Parameters
    ----------
    B : sparse array (n_tasks, n_workers * n_classes), how often worker m answered k
    posteriors : array (n_tasks, n_classes) to start from
    smoothing : pseudo-count added to each cell of each confusion matrix
    monitor : Monitor
        Its loss is minus the penalised objective, which cannot rise; the bare likelihood can, with smoothing.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> B = sp.csr_array(np.array([[1.0, 0, 1, 0], [1, 0, 1, 0], [0, 1, 0, 1]]))  # two workers who agree
    >>> em(B, np.array([[0.9, 0.1], [0.9, 0.1], [0.1, 0.9]]), smoothing=0.1, monitor=Monitor()).posteriors.round(1)
    array([[1., 0.],
           [1., 0.],
           [0., 1.]])
    """
    for _ in monitor:
        priors, confusions = m_step(B, posteriors, smoothing)
        posteriors, evidence = e_step(B, priors, confusions)
        monitor.record(lambda: -penalised_objective(evidence, confusions, smoothing))
    return CrowdModel(priors, confusions, posteriors, float(evidence.sum()))


def m_step(B: sp.csr_array, posteriors: Floats, smoothing: float) -> tuple[Floats, Floats]:
    """Class priors and confusion matrices that best explain the answers, given the posteriors.

    A class that a worker never met gets a uniform column.
    """
    n_classes = posteriors.shape[1]
    counts = (B.T @ posteriors).reshape(-1, n_classes, n_classes) + smoothing
    met = counts.sum(axis=1, keepdims=True)
    confusions = np.where(met > 0, counts / np.where(met > 0, met, 1), 1 / n_classes)
    return posteriors.mean(axis=0), confusions


def e_step(B: sp.csr_array, priors: Floats, confusions: Floats) -> tuple[Floats, Floats]:
    """Posterior of each task's class, and the log-evidence of its answers."""
    n_classes = len(priors)
    with np.errstate(divide="ignore"):  # log 0 = -inf: impossible, as it should be
        joint = np.log(priors) + B @ np.log(confusions).reshape(-1, n_classes)
    top = joint.max(axis=1, keepdims=True)
    odds = np.exp(joint - top)
    total = odds.sum(axis=1, keepdims=True)
    return odds / total, (top + np.log(total))[:, 0]


def penalised_objective(evidence: Floats, confusions: Floats, smoothing: float) -> float:
    """Log-likelihood plus the log-prior that the pseudo-counts stand for: what EM with smoothing climbs."""
    penalty = smoothing * np.log(confusions).sum() if smoothing else 0.0
    return float(evidence.sum() + penalty)
