import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.special import digamma
from scipy.stats import dirichlet

from rectifact.core.monitor import Monitor
from rectifact.core.operand import operand
from rectifact.crowd import read_answers
from rectifact.crowd.em import expected_sums, vote_shares
from rectifact.crowd.variational import PRIOR_ANSWERS, PRIOR_CLASSES, dispersion, trust_in_answers, variational
from rectifact.datasets import make_crowd


def fitted(answers, trust=1.0, max_iter=100, tol=1e-8):
    answers = read_answers(answers)
    B = operand(answers.one_hot())
    votes = B.total(expected_sums, along=(vote_shares(answers.votes()),))
    monitor = Monitor(max_iter=max_iter, tol=tol, monotone=True)
    return B, variational(B, votes, votes, trust=trust, monitor=monitor), monitor


def slow(answers, votes, trust, n_iter):
    """The updates of the docstring, answer by answer."""
    n, k = votes.shape
    prior = PRIOR_ANSWERS[0] + PRIOR_ANSWERS[1] * np.eye(k)
    Q = votes
    for _ in range(n_iter):
        counts, classes = np.tile(prior, (len(answers.workers), 1, 1)), 1 + PRIOR_CLASSES * votes.sum(axis=0)
        for i, m, x in zip(answers.task, answers.worker, answers.label, strict=True):
            counts[m, x] += trust * (trust * Q[i] + (1 - trust) * votes[i])
        for i in range(n):
            classes += trust * Q[i] + (1 - trust) * votes[i]
        log_odds = np.tile(digamma(classes) - digamma(classes.sum()), (n, 1))
        for i, m, x in zip(answers.task, answers.worker, answers.label, strict=True):
            log_odds[i] += trust * (digamma(counts[m, x]) - digamma(counts[m].sum(axis=0)))
        Q = np.exp(log_odds - log_odds.max(axis=1, keepdims=True))
        Q = Q / Q.sum(axis=1, keepdims=True)
    return counts, Q


@pytest.mark.parametrize("trust", [1.0, 0.8])
def test_it_equals_the_slow_form(trust):
    table = make_crowd(40, 6, 3, labels_per_task=4).answers
    answers = read_answers(table)
    _, model, _ = fitted(table, trust=trust, max_iter=4, tol=0)
    counts, Q = slow(answers, vote_shares(answers.votes()), trust, 4)
    assert_allclose(model.counts, counts, rtol=1e-10)
    assert_allclose(model.posteriors, Q, atol=1e-10)
    assert_allclose(model.confusions[2, :, 1], dirichlet(counts[2, :, 1]).mean())


@given(seed=st.integers(0, 1000), trust=st.floats(0.5, 1))
@settings(deadline=None, max_examples=20)
def test_the_bound_never_falls(seed, trust):
    _, _, monitor = fitted(
        make_crowd(50, 8, 3, labels_per_task=4, random_state=seed).answers, trust=trust, max_iter=40, tol=0
    )
    losses = np.array([row["loss"] for row in monitor.history])
    assert (np.diff(losses) <= 1e-9 * abs(losses[0])).all()


def test_the_bound_is_below_the_evidence():
    """With one task and no freedom left the evidence is known in closed form."""
    table = make_crowd(60, 5, 2, labels_per_task=5).answers
    _, model, _ = fitted(table)
    assert model.objective < model.log_likelihood


def copies(table, share, rng):
    first = table.groupby("task")["label"].transform("first")
    return table.assign(label=np.where(rng.random(len(table)) < share, first, table["label"]))


@pytest.mark.parametrize(
    "options",
    [{}, {"n_spammers": 8}, {"n_adversaries": 5}, {"prior": [0.9, 0.06, 0.04]}, {"assignment": "skewed"}],
)
def test_independent_answers_have_dispersion_one(options):
    effects = [
        dispersion(*fitted(make_crowd(1500, 25, 3, random_state=seed, **options).answers)[:2]) for seed in range(3)
    ]
    assert 0.9 < np.mean(effects) < 1.06


def test_dependence_shows_in_the_dispersion(rng):
    table = make_crowd(1500, 25, 3, random_state=1).answers
    effects = [dispersion(*fitted(copies(table, share, rng))[:2]) for share in (0, 0.2, 0.4)]
    assert effects[0] < 1.06 < 1.1 < effects[1] < effects[2]


def test_dispersion_is_the_sum_over_pairs():
    """Independent form: covariances of every pair of answers to one task, over the variances."""
    table = make_crowd(30, 6, 3, labels_per_task=4).answers
    answers = read_answers(table)
    B, model, _ = fitted(table)
    A, Q = model.confusions, model.posteriors
    covariance, variance = 0.0, 0.0
    for i in range(len(answers.tasks)):
        given = [(answers.worker[a], answers.label[a]) for a in np.flatnonzero(answers.task == i)]
        for c in range(3):
            residuals = [np.eye(3)[x] - A[m, :, c] for m, x in given]
            pairs = sum(r @ s for p, r in enumerate(residuals) for q, s in enumerate(residuals) if p != q)
            covariance += Q[i, c] * pairs
            variance += Q[i, c] * sum((A[m, :, c] * (1 - A[m, :, c])).sum() for m, _ in given)
    assert_allclose(dispersion(B, model), 1 + covariance / variance, rtol=1e-6)


def test_a_repeated_reading_counts_as_its_own():
    table = make_crowd(30, 6, 3, labels_per_task=4).answers
    doubled = table.loc[table.index.repeat(2)]
    assert dispersion(*fitted(doubled)[:2]) > 1.5


def test_trust():
    assert trust_in_answers(0.7) == 1.0
    assert trust_in_answers(1.1) == pytest.approx(1 / 1.1)
    assert trust_in_answers(3.0) == 0.8
