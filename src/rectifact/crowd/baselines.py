"""Older ways to weigh a crowd, to compare with: three spectral ones and minimax conditional entropy.

[1] D. R. Karger, S. Oh and D. Shah, "Efficient crowdsourcing for multi-class labeling", SIGMETRICS 2013.

[2] A. Ghosh, S. Kale and P. McAfee, "Who moderates the moderators? Crowdsourcing abuse detection in
user-generated content", EC 2011.

[3] N. Dalvi, A. Dasgupta, R. Kumar and V. Rastogi, "Aggregating crowdsourced binary ratings", WWW 2013.

[4] D. Zhou, Q. Liu, J. C. Platt and C. Meek, "Aggregating ordinal labels from crowds by minimax
conditional entropy", ICML 2014.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import LinearOperator, eigsh, svds
from scipy.special import log_softmax, logsumexp, softmax

from rectifact.core.errors import InputError
from rectifact.core.monitor import Monitor
from rectifact.core.sparse import from_coordinates
from rectifact.crowd.data.answers import Answers
from rectifact.crowd.em import Floats

_NOISE = 1e-12
"""What is smaller than this, next to the largest, is rounding, whose sign decides nothing."""


@dataclass(frozen=True)
class WeighedVotes:
    """Labels that follow the sign of a weighed vote.

    Attributes
    ----------
    posteriors : array of shape (n_tasks, n_classes)
        The methods give no probabilities, so that these are 0 or 1, except for tasks that the weights leave
        undecided, which keep their vote shares.
    scores : array of shape (n_tasks, n_classes - 1)
        Positive where the class is above the first, second, ... class; the scale means nothing.
    weights : array of shape (n_workers, n_classes - 1)
        Of each worker in these scores, negative for one to be read the other way round; the scale means nothing.
    """

    posteriors: Floats
    scores: Floats
    weights: Floats


@dataclass(frozen=True)
class MinimaxModel:
    """A fitted minimax conditional entropy model.

    Attributes
    ----------
    posteriors : array of shape (n_tasks, n_classes)
    confusions : array of shape (n_workers, n_classes observed, n_classes true)
        Of each worker on a task without peculiarities; columns sum to 1.
    worker_terms : array of shape (n_workers, n_classes observed, n_classes true)
        Sigma in the paper, transposed.
    task_terms : array of shape (n_tasks, n_classes observed, n_classes true)
        Tau in the paper, transposed.
    """

    posteriors: Floats
    confusions: Floats
    worker_terms: Floats
    task_terms: Floats


def kos(answers: Answers) -> WeighedVotes:
    """Karger, Oh and Shah's low-rank method for any number of classes (2013, [1]).

    For every class but the last, answers become +1 above it and -1 otherwise (0 where there is none), each worker's
    column loses its mean, and the first left singular vector splits the tasks; most of the weight of the right
    one, in squares, is taken to be positive. A task gets the first class it is not above. Their message
    passing of 2011 is close to a power iteration for such a vector; here nothing depends on random messages.

    The thresholds follow the order of ``answers.classes``: with three classes or more, another order may give
    another result.

    Examples
    --------
    >>> import numpy as np
    >>> from rectifact.crowd import read_answers
    >>> answers = read_answers(np.array([[0, 0, 1], [1, 1, 1], [0, 0, 0], [1, 1, 0]]))
    >>> kos(answers).posteriors.argmax(axis=1)
    array([0, 1, 0, 1])
    """
    n_tasks, n_thresholds = len(answers.tasks), len(answers.classes) - 1
    scores, weights = np.zeros((n_tasks, n_thresholds)), np.ones((len(answers.workers), n_thresholds))
    for level in range(n_thresholds):
        A = _signed(answers, level)
        if (answers.label > level).all() or (answers.label <= level).all():
            scores[:, level] = A.sum(axis=1)  # nobody disagrees, and what the centring leaves is who answered what
            continue
        means = A.sum(axis=0) / n_tasks
        centred = LinearOperator(
            A.shape,
            matvec=lambda x: A @ x.ravel() - means @ x.ravel(),
            rmatvec=lambda y: A.T @ y.ravel() - means * y.sum(),
            dtype=np.float64,
        )
        v = _top_right_vector(centred)
        weights[:, level] = v if v @ np.abs(v) >= 0 else -v
        scores[:, level] = _without_noise(centred @ weights[:, level])
    return WeighedVotes(_posteriors(answers, scores), scores, weights)


def ghosh_svd(answers: Answers) -> WeighedVotes:
    """Ghosh, Kale and McAfee's split of the tasks by the first left singular vector (2011, [2]).

    Answers are +1, -1 and 0 for none; the sign of the vector is the one that agrees with most answers. Groups
    of workers that share no task are split one by one, since the vector would reach only one of them.

    Examples
    --------
    >>> import numpy as np
    >>> from rectifact.crowd import read_answers
    >>> answers = read_answers(np.array([[0, 0, 1], [1, 1, 1], [0, 0, 0], [1, 1, 0]]))
    >>> ghosh_svd(answers).posteriors.argmax(axis=1)
    array([0, 1, 0, 1])
    """
    return _weighed_by_group(answers, "ghosh_svd", lambda A, counts: _top_right_vector(A))


def eigen_ratio(answers: Answers) -> WeighedVotes:
    """Dalvi, Dasgupta, Kumar and Rastogi's ratio of eigenvectors (2013, [3]).

    Two matrices of workers by workers: the mean agreement, from -1 to 1, over the tasks that two share, and
    whether they share any. A worker's weight is the ratio of their first eigenvectors, and the weighed vote decides.
    The sign is the one that agrees with most answers, or makes the first worker's weight positive where both do. Groups
    of workers that share no task are treated one by one: in the whole graph the ratio is 0/0 for all groups but one.

    Examples
    --------
    >>> import numpy as np
    >>> from rectifact.crowd import read_answers
    >>> answers = read_answers(np.array([[0, 0, 1], [1, 1, 1], [0, 0, 0], [1, 1, 0]]))
    >>> weights = eigen_ratio(answers).weights[:, 0]  # the third worker agrees as often as not
    >>> np.abs(weights / weights.max()).round(2)
    array([1., 1., 0.])
    """
    return _weighed_by_group(answers, "eigen_ratio", _ratio_of_eigenvectors)


def minimax_entropy(
    answers: Answers,
    *,
    monitor: Monitor,
    worker_penalty: float | None = None,
    task_penalty: float | None = None,
    n_inner: int = 5,
) -> MinimaxModel:
    r"""Zhou, Liu, Platt and Meek's minimax conditional entropy for categories, regularised (2014, [4]).

    Worker j answers k on task i of class c with a probability in proportion to
    :math:`\exp(\sigma_j[k, c] + \tau_i[k, c])`: a worker's habits, and the task's peculiarities. Maximised is the
    log-likelihood of the answers, all classes equally probable, less :math:`\alpha/2 \sum_j \|\sigma_j\|^2` and
    :math:`\beta/2 \sum_i \|\tau_i\|^2`; from the vote shares, in turns: the worker terms, the task terms, the
    posteriors.

    Each ascent step divides the gradient of a column by a bound on its curvature (Böhning 1992: half its
    posterior mass, plus the penalty), so that the objective cannot fall and no step size is searched.

    Parameters
    ----------
    answers : Answers
    monitor : Monitor
        Its loss is minus the objective, which cannot rise.
    worker_penalty : float, default None
        Alpha; None is a quarter of the squared number of classes, as in the authors' programs.
    task_penalty : float, default None
        Beta; None is alpha times the mean number of answers by a worker over that to a task, as there.
    n_inner : int, default 5
        Ascent steps for the worker terms, and as many for the task terms, in each iteration.

    Examples
    --------
    >>> import numpy as np
    >>> from rectifact.crowd import read_answers
    >>> answers = read_answers(np.array([[0, 0, 1], [1, 1, 1], [0, 0, 0], [1, 1, 0]]))
    >>> model = minimax_entropy(answers, monitor=Monitor(max_iter=50))
    >>> model.posteriors.argmax(axis=1), model.confusions.shape
    (array([0, 1, 0, 1]), (3, 2, 2))
    """
    n_answers, n_classes = len(answers), len(answers.classes)
    n_tasks, n_workers = len(answers.tasks), len(answers.workers)
    alpha = n_classes**2 / 4 if worker_penalty is None else worker_penalty
    beta = alpha * n_tasks / n_workers if task_penalty is None else task_penalty
    each = np.arange(n_answers)
    by_worker = from_coordinates(np.ones(n_answers), answers.worker, each, (n_workers, n_answers))
    by_task = from_coordinates(np.ones(n_answers), answers.task, each, (n_tasks, n_answers))
    sigma, tau = np.zeros((n_workers, n_classes, n_classes)), np.zeros((n_tasks, n_classes, n_classes))
    posteriors = answers.shares()
    sigma, tau, posteriors = monitor.resume((sigma, tau, posteriors))
    for _ in monitor:
        shares = posteriors[answers.task]
        sigma = _ascend(sigma, by_worker, tau[answers.task], answers, shares, alpha, n_inner)
        tau = _ascend(tau, by_task, sigma[answers.worker], answers, shares, beta, n_inner)
        chosen = log_softmax(sigma[answers.worker] + tau[answers.task], axis=1)[each, answers.label]
        joint = by_task @ chosen - np.log(n_classes)
        posteriors = softmax(joint, axis=1)
        penalty = alpha / 2 * np.sum(sigma**2) + beta / 2 * np.sum(tau**2)
        monitor.record(lambda: penalty - logsumexp(joint, axis=1).sum(), state=lambda: (sigma, tau, posteriors))
    return MinimaxModel(posteriors, softmax(sigma, axis=1), sigma, tau)


def _ascend(
    terms: Floats, gather: Any, others: Floats, answers: Answers, shares: Floats, penalty: float, n_steps: int
) -> Floats:
    """Climb the penalised expected log-likelihood in the terms of the workers, or of the tasks; the others stay.

    ``gather`` adds up over the answers of each worker or task; ``others`` (n_answers, observed, true) are the terms
    of the other side and ``shares`` (n_answers, true) the posteriors, both at each answer.
    """
    owner = gather.tocsc().indices  # one entry in each column
    mass = gather @ shares
    curvature = np.maximum(mass / 2 + penalty, np.finfo(np.float64).tiny)[:, None, :]
    n_classes = shares.shape[1]
    observed = gather @ (np.eye(n_classes)[answers.label][:, :, None] * shares[:, None, :]).reshape(-1, n_classes**2)
    for _ in range(n_steps):
        expected = gather @ (softmax(terms[owner] + others, axis=1) * shares[:, None, :]).reshape(-1, n_classes**2)
        terms = terms + ((observed - expected).reshape(terms.shape) - penalty * terms) / curvature
    return terms


def _signed(answers: Answers, level: int) -> Any:
    """Tasks by workers: +1 for an answer above ``level``, -1 for another, 0 for none."""
    signs = np.where(answers.label > level, 1.0, -1.0)
    return from_coordinates(signs, answers.task, answers.worker, (len(answers.tasks), len(answers.workers)))


def _weighed_by_group(answers: Answers, name: str, weigh: Callable[[Any, Any], Floats]) -> WeighedVotes:
    """Weigh the workers of each connected group, and decide its tasks by the sign of the weighed vote."""
    if len(answers.classes) != 2:
        raise InputError(
            f"{name} takes answers of two classes; found {len(answers.classes)}: {answers.classes.tolist()}.",
            "Merge them into two, or call kos or minimax_entropy.",
        )
    A, counts, n_tasks = _signed(answers, 0), answers.answered(), len(answers.tasks)
    graph = from_coordinates(np.ones(len(answers)), answers.task, n_tasks + answers.worker, 2 * (sum(A.shape),))
    _, group = connected_components(graph, directed=False)
    scores, weights = np.zeros((n_tasks, 1)), np.zeros((len(answers.workers), 1))
    for members in np.split(np.argsort(group, kind="stable"), np.cumsum(np.bincount(group))[:-1]):
        tasks, workers = members[members < n_tasks], members[members >= n_tasks] - n_tasks
        if not (tasks.size and workers.size):
            continue  # one who answered nothing, or a task without answers
        part = A[tasks][:, workers]
        found = weigh(part, counts[tasks][:, workers])
        found = _oriented(found, part)
        weights[workers, 0], scores[tasks, 0] = found, _without_noise(part @ found)
    return WeighedVotes(_posteriors(answers, scores), scores, weights)


def _oriented(weights: Floats, A: Any) -> Floats:
    """Weights with the sign that agrees with most answers, or, where both do, a positive first weight."""
    scores, votes = A @ weights, A.sum(axis=1)
    agrees = scores @ votes
    if abs(agrees) <= _NOISE * np.linalg.norm(scores) * np.linalg.norm(votes):
        agrees = weights[np.argmax(np.abs(weights) > _NOISE * np.abs(weights).max())]
    return -weights if agrees < 0 else weights


def _ratio_of_eigenvectors(A: Any, counts: Any) -> Floats:
    shared = counts.T @ counts
    agreement = (A.T @ A).multiply(shared.power(-1))
    # Perron and Frobenius: in a connected group the second vector has no zero and one sign.
    return _top_eigenvector(agreement) / np.abs(_top_eigenvector(shared.sign()))


def _top_right_vector(A: Any) -> Floats:
    """First right singular vector of a matrix or an operator; zero if there is none."""
    n_rows, n_columns = A.shape
    if min(A.shape) < 3:  # too small for Lanczos
        dense = A @ np.eye(n_columns) if n_columns < 3 else (A.T @ np.eye(n_rows)).T
        _, values, rows = np.linalg.svd(dense, full_matrices=False)
        return rows[0] * (values[0] > _NOISE)
    start = np.random.default_rng(0).normal(size=min(A.shape))  # fixed: the same result every time
    image = A.T @ start if n_rows <= n_columns else A @ start
    if np.linalg.norm(image) <= _NOISE * np.linalg.norm(start):
        return np.zeros(n_columns)  # Lanczos fails on zero: every worker gave one answer to all tasks
    return svds(A, k=1, v0=start, return_singular_vectors="vh")[2][0]


def _top_eigenvector(A: Any) -> Floats:
    if A.shape[0] < 3:
        return np.linalg.eigh(A.toarray())[1][:, -1]
    return eigsh(A, k=1, which="LA", v0=np.random.default_rng(0).normal(size=A.shape[0]))[1][:, 0]


def _without_noise(scores: Floats) -> Floats:
    return np.where(np.abs(scores) > _NOISE * np.abs(scores).max(), scores, 0.0)


def _posteriors(answers: Answers, scores: Floats) -> Floats:
    """First class that a task is not above; where the score is 0, the votes say with which probability."""
    votes = answers.votes()
    rest = answers.shares()[:, ::-1].cumsum(axis=1)[:, ::-1]  # share of the answers from each class upwards
    above = np.divide(rest[:, 1:], rest[:, :-1], out=np.zeros_like(scores), where=rest[:, :-1] > 0)
    decided = (scores != 0) & (votes.sum(axis=1, keepdims=True) > 0)
    above = np.where(decided, np.heaviside(scores, 0), above)
    end = np.ones((len(votes), 1))
    return np.hstack([end, above]).cumprod(axis=1) * np.hstack([1 - above, end])
