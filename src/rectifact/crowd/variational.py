"""Dawid-Skene by variational Bayes, the default fit; it may lean on the vote where answers are not independent.

The posterior of the parameters is kept, not only their best value: a worker about whom little is known counts
for little. This is Bayesian classifier combination [1] with two additions of ours, see :func:`dispersion`
and :func:`variational`.

[1] H.-C. Kim and Z. Ghahramani, "Bayesian classifier combination", AISTATS 2012.
"""

from typing import Any

import numpy as np

from rectifact.core.arrays import digamma, gammaln, namespace, to_like
from rectifact.core.monitor import Monitor
from rectifact.core.operand import Operand
from rectifact.core.sparse import with_columns, with_entries
from rectifact.crowd.em import (
    NOTHING,
    CrowdModel,
    Floats,
    Sums,
    expected_counts,
    log_e_step,
    log_likelihood,
    posteriors_of,
)

PRIOR_ANSWERS = (0.3, 2.0)
"""Pseudo-answers before any data: in every cell of a confusion matrix, and more on its diagonal."""

PRIOR_CLASSES = 0.2
"""Pseudo-tasks of each class before any data, as a share of its votes: mean-field bounds favour few big classes."""

LEAST_TRUST = 0.8


def variational(
    B: Operand,
    start: Sums,
    votes: Sums,
    *,
    trust: float = 1.0,
    monitor: Monitor,
    known: Any = None,
    background: Sums = NOTHING,
) -> CrowdModel:
    r"""Posterior of tasks, priors and confusion matrices, by coordinate ascent on one bound.

    With ``trust`` :math:`\tau = 1` this is variational Bayes for Dawid-Skene with Dirichlet priors. Below 1,
    answers count for :math:`\tau` each, as in a quasi-likelihood for overdispersed data, and the parameters
    see the shares of the votes for a part :math:`1-\tau` of the tasks' posteriors. Both come from one
    objective, which therefore still rises at every iteration:

    .. math:: \tau \sum_n \mathrm{E}_{q_n}[\ell_n + H(q_n)] + (1-\tau) \sum_n \mathrm{E}_{v_n}[\ell_n]
       - \mathrm{KL}(q(A, \lambda) \| p(A, \lambda)), \qquad
       \ell_n(c) = \log\lambda_c + \tau \sum_{(m,k)} \log A_m(k, c)

    Parameters
    ----------
    B : Operand of shape (n_tasks, n_workers * n_classes)
        How often worker m answered k.
    start : Sums
        Expected answers and tasks to start from.
    votes : Sums
        The same under the shares of the votes v.
    trust : float, default 1
        Between 0 and 1.
    monitor : Monitor
        Its loss is minus the bound, which cannot rise.
    known : array of shape (n_tasks,), default None
        The class of a task where it is certain, -1 elsewhere.
    background : Sums, default nothing
        Of other tasks, which stay as they are.
    """
    everywhere, diagonal = PRIOR_ANSWERS
    prior_counts = to_like(everywhere + diagonal * np.eye(len(votes.classes)), votes.counts)
    class_prior = 1 + PRIOR_CLASSES * votes.classes
    xp = namespace(votes.counts)
    sums = monitor.resume(start)
    for _ in monitor:
        seen = trust * sums.counts + (1 - trust) * votes.counts
        counts = prior_counts + background.counts + trust * seen
        classes = class_prior + background.classes + trust * sums.classes + (1 - trust) * votes.classes
        log_confusions = digamma(counts) - digamma(xp.sum(counts, axis=1, keepdims=True))
        log_priors = digamma(classes) - digamma(classes.sum())
        posteriors, sums, evidence = log_e_step(B, log_priors, trust * log_confusions, known)
        anchored = (votes.classes * log_priors).sum() + trust * (votes.counts * log_confusions).sum()
        divergence = _divergence(counts, prior_counts) + _divergence(classes[:, None], class_prior[:, None])
        bound = trust * evidence + (1 - trust) * anchored - divergence
        monitor.record(lambda: -bound, state=lambda: sums)
    priors, confusions = classes / classes.sum(), counts / xp.sum(counts, axis=1, keepdims=True)
    likelihood = log_likelihood(B, priors, confusions, known)
    logs = log_priors, trust * log_confusions
    return CrowdModel(priors, confusions, posteriors, counts, *logs, likelihood, float(bound))


def _divergence(counts: Floats, prior: Floats) -> Floats:
    """Kullback-Leibler divergence between Dirichlet distributions over axis -2, summed over the others."""
    total, prior_total = counts.sum(axis=-2), prior.sum(axis=-2)
    slope = digamma(counts) - digamma(total)[..., None, :]
    terms = gammaln(prior) - gammaln(counts) + (counts - prior) * slope
    return (gammaln(total) - gammaln(prior_total) + terms.sum(axis=-2)).sum()


def dispersion(B: Operand, model: CrowdModel) -> float:
    r"""How much more the answers to one task vary together than independent answers would; 1 is independent.

    Where Dawid-Skene holds and c is the class of task n, its votes :math:`V_{nk}` scatter around
    :math:`\sum_m A_m(k, c)` with variance :math:`\sum_m A_m(k, c) (1 - A_m(k, c))`. By the tower rule the same
    holds on average over the posterior of c, so that what to expect is known without simulation. The result
    is 1 plus the summed covariance of *pairs* of answers over that variance, the design effect of survey
    statistics. Squares of single answers are left out, because each answer helped to fit its own matrix.

    Parameters
    ----------
    B : Operand of shape (n_tasks, n_workers * n_classes)
        How often worker m answered k.
    model : CrowdModel
        Of these answers, fitted with full trust.

    Examples
    --------
    >>> import numpy as np
    >>> from rectifact.core.operand import operand
    >>> from rectifact.crowd import read_answers
    >>> from rectifact.crowd.em import expected_sums, vote_shares
    >>> from rectifact.datasets import make_crowd
    >>> def effect(answers):
    ...     answers = read_answers(answers)
    ...     B = operand(answers.one_hot())
    ...     votes = B.total(expected_sums, along=(vote_shares(answers.votes()),))
    ...     return dispersion(B, variational(B, votes, votes, monitor=Monitor()))
    >>> independent = make_crowd(1000, 20, 3).answers
    >>> first = independent.groupby("task")["label"].transform("first")
    >>> copied = independent.assign(label=first.where(independent.index % 5 < 2, independent["label"]))
    >>> round(effect(independent), 1), round(effect(copied), 1)
    (1.0, 1.2)
    """
    A = model.confusions
    counts, scatter = B.total(_scatter, model.priors, A, along=(model.posteriors,))
    squares = (A**2).sum(axis=1)  # (n_workers, n_classes): sum over k of A(k, c)^2
    variance = (counts.sum(axis=1) * (1 - squares)).sum()
    single = (counts * (1 - 2 * A + squares[:, None, :])).sum()
    return float(1 + (scatter - single) / variance) if variance > 0 else 1.0


def _scatter(rows: Any, posteriors: Floats, priors: Floats, confusions: Floats) -> tuple[Floats, float]:
    """Expected answers, and the squared distance of the votes from what the classes of the tasks let expect."""
    n_workers, n_classes, _ = confusions.shape
    ones = with_entries(rows, np.ones(rows.nnz))
    if (rows.data != 1).any():  # weights change what is believed, not how answers scatter
        with np.errstate(divide="ignore"):
            posteriors = posteriors_of(ones, None, np.log(priors), np.log(confusions))
    votes = ones @ np.tile(np.eye(n_classes), (n_workers, 1))
    by_worker = with_columns(ones, ones.indices // n_classes, n_workers)
    far = (((votes - by_worker @ confusions[:, :, c]) ** 2).sum(axis=1) for c in range(n_classes))
    scatter = sum((posteriors[:, c] * distance).sum() for c, distance in enumerate(far))
    return expected_counts(ones, posteriors), float(scatter)


def trust_in_answers(effect: float) -> float:
    """What one answer is worth given the design effect; see :func:`dispersion`."""
    return float(np.clip(1 / effect, LEAST_TRUST, 1.0))
