"""Other rules for label aggregation, written from the papers in numpy, and those of crowd-kit and snorkel.

All give probabilities with tasks in rows and classes in columns. crowd-kit and snorkel are optional.

References
----------
[1] Y. Li, B. Rubinstein and T. Cohn, "Exploiting worker correlation for label aggregation in crowdsourcing", ICML 2019:
EBCC, enhanced Bayesian classifier combination.
[2] Y. Li, B. Rubinstein and T. Cohn, "Truth inference at scale: a Bayesian model for adjudicating highly redundant
crowd annotations", WWW 2019: BWA, Bayesian weighted average.
"""

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import digamma, gammaln, logsumexp

from rectifact.core.errors import missing_extra
from rectifact.core.monitor import Monitor
from rectifact.crowd import Answers, read_answers

Floats = NDArray[np.float64]

DIAGONAL, OFF_DIAGONAL = 4.0, 1.0
"""EBCC: pseudo-answers of a worker, right ones and wrong ones, for each class and subtype."""

SUBTYPE_CONCENTRATION = 0.1
"""EBCC: pseudo-tasks of a class, shared by its subtypes; so few that most subtypes stay empty."""

WEIGHT_ANSWERS = 15.0
"""BWA: answers it takes to overrule the prior of a worker's weight."""


def vote_counts(answers: Answers) -> Floats:
    """How often each class was answered, by task.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"task": [1, 1, 1, 2], "worker": [1, 2, 3, 1], "label": ["a", "b", "b", "a"]})
    >>> vote_counts(read_answers(table))
    array([[1., 2.],
           [1., 0.]])
    """
    counts = np.zeros((len(answers.tasks), len(answers.classes)))
    np.add.at(counts, (answers.task, answers.label), 1)
    return counts


def smoothed_vote(answers: Answers) -> Floats:
    """Shares of the vote after 1/K has been added to the count of each of K classes.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"task": [1, 1, 1, 2], "worker": [1, 2, 3, 1], "label": ["a", "b", "b", "a"]})
    >>> smoothed_vote(read_answers(table))
    array([[0.375, 0.625],
           [0.75 , 0.25 ]])
    """
    counts = vote_counts(answers) + 1 / len(answers.classes)
    return counts / counts.sum(axis=1, keepdims=True)


def bwa(answers: Answers, *, max_iter: int = 500, tol: float = 1e-6) -> Floats:
    r"""Bayesian weighted average [2]: for each class, an average of zeros and ones, weighted by worker.

    For class k let :math:`y_{ij}` be 1 where worker j answered k to task i, and 0 where they gave another answer;
    repeated answers count as one, with their mean. From the shares of the vote z, weights and averages alternate
    until z settles:

    .. math:: v_j = \frac{a + N_j}{b + \sum_i (y_{ij} - z_i)^2}, \qquad
       z_i = \frac{\bar z + \sum_j v_j y_{ij}}{1 + \sum_j v_j}

    with the mean :math:`\bar z` over tasks, a = 15 and b = 60 (1 - 1/K) times the mean of z (1 - z) over the answers at
    the start. A task's averages are divided by their sum to give probabilities.

    Examples
    --------
    >>> from rectifact.datasets import make_crowd
    >>> crowd = make_crowd(300, 20, 3, n_spammers=5)
    >>> answers = read_answers(crowd.answers)
    >>> bool((bwa(answers).argmax(axis=1) == crowd.truth.loc[answers.tasks]).mean() > 0.8)
    True
    """
    n_tasks, n_workers, n_classes = len(answers.tasks), len(answers.workers), len(answers.classes)
    pairs, pair, repeats = np.unique(answers.task * n_workers + answers.worker, return_inverse=True, return_counts=True)
    task, worker = np.divmod(pairs, n_workers)
    n_workers_of_task, n_tasks_of_worker = np.bincount(task), np.bincount(worker)
    averages = np.empty((n_tasks, n_classes))
    for k in range(n_classes):
        y = np.bincount(pair, answers.label == k) / repeats
        z = np.bincount(task, y) / n_workers_of_task
        spread = WEIGHT_ANSWERS * 4 * (1 - 1 / n_classes) * np.mean((z * (1 - z))[task])
        for _ in range(max_iter):
            errors = np.bincount(worker, (y - z[task]) ** 2)
            v = (WEIGHT_ANSWERS + n_tasks_of_worker) / np.maximum(spread + errors, np.finfo(float).eps)
            before, z = z, (z.mean() + np.bincount(task, v[worker] * y)) / (1 + np.bincount(task, v[worker]))
            if np.abs(z - before).max() < tol:
                break
        averages[:, k] = z
    return averages / averages.sum(axis=1, keepdims=True)


def ebcc(
    answers: Answers,
    *,
    n_subtypes: int = 10,
    n_starts: int = 10,
    max_iter: int = 500,
    tol: float = 1e-6,
    random_state: int = 0,
) -> Floats:
    """Enhanced Bayesian classifier combination [1]: a class is a mixture of subtypes, so that answers may correlate.

    Each worker has a distribution of answers for every subtype of every class, with more pseudo-answers for the class
    itself than for others. Mean-field variational Bayes starts from the shares of the vote, divided among the subtypes
    at random; of ``n_starts`` runs, the one with the largest evidence bound counts.

    Examples
    --------
    >>> from rectifact.datasets import make_crowd
    >>> crowd = make_crowd(300, 30, 2, n_spammers=10)
    >>> answers = read_answers(crowd.answers)
    >>> bool((ebcc(answers, n_starts=2).argmax(axis=1) == crowd.truth.loc[answers.tasks]).mean() > 0.8)
    True
    """
    n_tasks, n_workers, n_classes = len(answers.tasks), len(answers.workers), len(answers.classes)
    votes = vote_counts(answers)
    shares = votes / votes.sum(axis=1, keepdims=True)
    places = answers.task, answers.worker * n_classes + answers.label
    B = sp.csr_array((np.ones(len(answers.task)), places), shape=(n_tasks, n_workers * n_classes))
    rng = np.random.default_rng(random_state)
    runs = []
    for _ in range(n_starts):
        start = shares[:, :, None] * rng.dirichlet(np.ones(n_subtypes), size=(n_tasks, n_classes))
        monitor = Monitor(max_iter=max_iter, tol=tol)
        memberships = variational_subtypes(B, start, votes.sum(axis=0), monitor=monitor)
        runs.append((monitor.history[-1]["loss"], memberships.sum(axis=2)))
    return min(runs, key=lambda run: run[0])[1]


def variational_subtypes(B: Any, memberships: Floats, prior: Floats, *, monitor: Monitor) -> Floats:
    """Posterior of class and subtype of each task by mean-field variational Bayes: the loop of EBCC.

    Parameters
    ----------
    B : sparse array of shape (n_tasks, n_workers * n_classes)
        How often worker m answered k.
    memberships : array of shape (n_tasks, n_classes, n_subtypes)
        To start from.
    prior : array of shape (n_classes,)
        Pseudo-tasks of each class.
    monitor : Monitor
        Its loss is minus the evidence bound, which cannot rise.

    Returns
    -------
    array of shape (n_tasks, n_classes, n_subtypes)
    """
    n_tasks, n_classes, n_subtypes = memberships.shape
    right = np.where(np.eye(n_classes, dtype=bool), DIAGONAL, OFF_DIAGONAL)[None, :, :, None]
    few = np.full((n_classes, n_subtypes), SUBTYPE_CONCENTRATION / n_subtypes)
    for _ in monitor:
        counts = (B.T @ memberships.reshape(n_tasks, -1)).reshape(-1, n_classes, n_classes, n_subtypes)
        log_answer, apart_answers = _dirichlet(counts + right, right, axis=1)
        log_subtype, apart_subtypes = _dirichlet(memberships.sum(axis=0) + few, few, axis=1)
        log_class, apart_classes = _dirichlet(memberships.sum(axis=(0, 2)) + prior, prior, axis=0)
        log_joint = B @ log_answer.reshape(-1, n_classes * n_subtypes) + (log_class[:, None] + log_subtype).ravel()
        log_evidence = logsumexp(log_joint, axis=1, keepdims=True)
        memberships = np.exp(log_joint - log_evidence).reshape(memberships.shape)
        monitor.record(lambda: apart_answers + apart_subtypes + apart_classes - log_evidence.sum())
    return memberships


def _dirichlet(posterior: Floats, prior: Floats, *, axis: int) -> tuple[Floats, float]:
    """Expected logarithms under Dirichlet distributions along an axis, and their divergence from the prior."""
    expected = digamma(posterior) - digamma(posterior.sum(axis=axis, keepdims=True))
    prior = np.broadcast_to(prior, posterior.shape)
    normaliser = gammaln(posterior.sum(axis=axis)).sum() - gammaln(posterior).sum()
    normaliser -= gammaln(prior.sum(axis=axis)).sum() - gammaln(prior).sum()
    return expected, float(normaliser + ((posterior - prior) * expected).sum())


def written_here(rule: Callable[[Answers], Floats], table: pd.DataFrame) -> pd.DataFrame:
    """A rule of this module applied to a table of answers."""
    answers = read_answers(table)
    return pd.DataFrame(rule(answers), index=answers.tasks, columns=answers.classes)


def crowdkit(name: str, table: pd.DataFrame, **options: Any) -> pd.DataFrame:
    """A rule of crowd-kit, by the name of its class."""
    import crowdkit.aggregation

    return getattr(crowdkit.aggregation, name)(**options).fit_predict_proba(table)


def snorkel(table: pd.DataFrame) -> pd.DataFrame:
    """The label model of snorkel, which takes a matrix of tasks and workers."""
    from snorkel.labeling.model import LabelModel

    answers = read_answers(table)
    L = np.full((len(answers.tasks), len(answers.workers)), -1)
    L[answers.task, answers.worker] = answers.label
    model = LabelModel(cardinality=len(answers.classes), verbose=False)
    model.fit(L, n_epochs=100, seed=0, progress_bar=False)
    return pd.DataFrame(model.predict_proba(L), index=answers.tasks, columns=answers.classes)


def check_installed() -> None:
    """Refuse to compare with packages that are missing; they come with the extra ``bench``."""
    packages = {"crowd-kit": "crowdkit", "snorkel": "snorkel"}
    missing = [name for name, module in packages.items() if find_spec(module) is None]
    if missing:
        raise missing_extra("Comparing with the peers", " and ".join(missing), "bench")
