"""Dawid-Skene by variational Bayes, which may lean on the vote where answers are not independent.

The posterior of the parameters is kept, not only their best value: a worker of whom little is known counts
for little. This is Bayesian classifier combination [1] with two additions of ours, see :func:`dispersion`
and :func:`variational`.

[1] H.-C. Kim and Z. Ghahramani, "Bayesian classifier combination", AISTATS 2012.
"""

from functools import singledispatch
from typing import Any

import numpy as np
import scipy.sparse as sp

from rectifact.core.arrays import digamma, gammaln, namespace, to_like
from rectifact.core.monitor import Monitor
from rectifact.crowd.em import (
    NOTHING,
    Background,
    CrowdModel,
    Floats,
    Gold,
    class_totals,
    e_step,
    expected_counts,
    own_copy,
    unweighted,
    update_posteriors,
)

__all__ = ["PRIOR_ANSWERS", "PRIOR_CLASSES", "dispersion", "trust_in_answers", "variational", "vote_scatter"]

PRIOR_ANSWERS = (0.3, 2.0)
"""Pseudo-answers before any data: in every cell of a confusion matrix, and more on its diagonal."""

PRIOR_CLASSES = 0.2
"""Pseudo-tasks of each class before any data, as a share of its votes: mean-field bounds favour few big classes."""

LEAST_TRUST = 0.8


def variational(
    B: sp.csr_array,
    start: Floats,
    votes: Floats,
    *,
    trust: float = 1.0,
    monitor: Monitor,
    gold: Gold | None = None,
    background: Background = NOTHING,
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
    B : sparse array (n_tasks, n_workers * n_classes), how often worker m answered k
    start : array (n_tasks, n_classes), posteriors to start from
    votes : array (n_tasks, n_classes), the shares of the votes v
    trust : between 0 and 1
    monitor : Monitor
        Its loss is minus the bound, which cannot rise.
    gold : tasks of known class
    background : statistics of other tasks, which stay as they are
    """
    n_classes = start.shape[1]
    everywhere, diagonal = PRIOR_ANSWERS
    vote_counts, vote_classes = expected_counts(B, votes), class_totals(votes)
    prior_counts = to_like(everywhere + diagonal * np.eye(n_classes), vote_counts)
    class_prior = 1 + PRIOR_CLASSES * vote_classes
    xp = namespace(vote_counts)
    posteriors = monitor.resume(own_copy(start))  # one array for all iterations
    for _ in monitor:
        seen = trust * expected_counts(B, posteriors) + (1 - trust) * vote_counts
        counts = prior_counts + background.counts + trust * seen
        classes = class_prior + background.classes + trust * class_totals(posteriors) + (1 - trust) * vote_classes
        log_confusions = digamma(counts) - digamma(xp.sum(counts, axis=1, keepdims=True))
        log_priors = digamma(classes) - digamma(classes.sum())
        evidence = update_posteriors(B, log_priors, trust * log_confusions, posteriors, gold)
        anchored = (vote_classes * log_priors).sum() + trust * (vote_counts * log_confusions).sum()
        divergence = _divergence(counts, prior_counts) + _divergence(classes[:, None], class_prior[:, None])
        bound = trust * evidence + (1 - trust) * anchored - divergence
        monitor.record(lambda: -bound, state=lambda: posteriors)
    priors, confusions = classes / classes.sum(), counts / xp.sum(counts, axis=1, keepdims=True)
    _, likelihood = e_step(B, priors, confusions, gold)
    logs = log_priors, trust * log_confusions
    return CrowdModel(priors, confusions, posteriors, counts, *logs, float(likelihood), float(bound))


def _divergence(counts: Floats, prior: Floats) -> Floats:
    """Kullback-Leibler divergence between Dirichlet distributions over axis -2, summed over the others."""
    total, prior_total = counts.sum(axis=-2), prior.sum(axis=-2)
    slope = digamma(counts) - digamma(total)[..., None, :]
    terms = gammaln(prior) - gammaln(counts) + (counts - prior) * slope
    return (gammaln(total) - gammaln(prior_total) + terms.sum(axis=-2)).sum()


def dispersion(B: sp.csr_array, model: CrowdModel) -> float:
    r"""How much more the answers to one task stray together than independent answers would; 1 is independent.

    Where Dawid-Skene holds and c is the class of task n, its votes :math:`V_{nk}` scatter around
    :math:`\sum_m A_m(k, c)` with variance :math:`\sum_m A_m(k, c) (1 - A_m(k, c))`. By the tower rule the same
    holds on average over the posterior of c, so that what to expect is known without simulation. The result
    is 1 plus the summed covariance of *pairs* of answers over that variance, the design effect of survey
    statistics. Squares of single answers are left out, because each answer helped to fit its own matrix.

    Parameters
    ----------
    B : sparse array (n_tasks, n_workers * n_classes), how often worker m answered k
    model : of these answers, fitted with full trust

    Examples
    --------
    >>> import numpy as np
    >>> from rectifact.crowd import read_answers
    >>> from rectifact.crowd.em import vote_shares
    >>> from rectifact.datasets import make_crowd
    >>> def effect(answers):
    ...     answers = read_answers(answers)
    ...     B, votes = answers.one_hot(), vote_shares(answers.votes())
    ...     return dispersion(B, variational(B, votes, votes, monitor=Monitor()))
    >>> independent = make_crowd(1000, 20, 3).answers
    >>> first = independent.groupby("task")["label"].transform("first")
    >>> copied = independent.assign(label=first.where(independent.index % 5 < 2, independent["label"]))
    >>> round(effect(independent), 1), round(effect(copied), 1)
    (1.0, 1.2)
    """
    A, Q = model.confusions, model.posteriors
    ones = unweighted(B)
    if ones is not B and not np.array_equal(
        ones.data, B.data
    ):  # weights change what is believed, not how answers scatter
        Q, _ = e_step(ones, model.priors, A)
    counts = expected_counts(ones, Q)
    squares = (A**2).sum(axis=1)  # (n_workers, n_classes): sum over k of A(k, c)^2
    variance = (counts.sum(axis=1) * (1 - squares)).sum()
    single = (counts * (1 - 2 * A + squares[:, None, :])).sum()
    scatter = vote_scatter(ones, Q, A)
    return float(1 + (scatter - single) / variance) if variance > 0 else 1.0


@singledispatch
def vote_scatter(B: Any, posteriors: Floats, confusions: Floats) -> float:
    """Squared distance of the votes from what each class lets expect, weighted by the classes' probabilities."""
    n_workers, n_classes, _ = confusions.shape
    W = sp.csr_array((B.data, B.indices // n_classes, B.indptr), shape=(B.shape[0], n_workers))
    votes = B @ np.tile(np.eye(n_classes), (n_workers, 1))
    far = (((votes - W @ confusions[:, :, c]) ** 2).sum(axis=1) for c in range(n_classes))
    return float(sum((posteriors[:, c] * distance).sum() for c, distance in enumerate(far)))


def trust_in_answers(effect: float) -> float:
    """What one answer is worth given the design effect; see :func:`dispersion`."""
    return float(np.clip(1 / effect, LEAST_TRUST, 1.0))
