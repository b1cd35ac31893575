import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from rectifact.core.monitor import Monitor
from rectifact.crowd import read_answers
from rectifact.crowd.em import e_step, em, m_step, penalised_objective, vote_shares
from rectifact.datasets import make_crowd


def slow_em(answers, start, smoothing, n_iter):
    """Dawid and Skene's equations 2.3 to 2.5, answer by answer, with products of probabilities."""
    n_tasks, n_classes = start.shape
    T = start.copy()
    for _ in range(n_iter):
        prior = [sum(T[i, c] for i in range(n_tasks)) / n_tasks for c in range(n_classes)]
        counts = np.full((len(answers.workers), n_classes, n_classes), float(smoothing))
        for i, m, k in zip(answers.task, answers.worker, answers.label, strict=True):
            for c in range(n_classes):
                counts[m, k, c] += T[i, c]
        A = counts / counts.sum(axis=1, keepdims=True)
        joint = np.tile(prior, (n_tasks, 1))
        for i, m, k in zip(answers.task, answers.worker, answers.label, strict=True):
            joint[i] *= A[m, k]
        T = joint / joint.sum(axis=1, keepdims=True)
    objective = np.log(joint.sum(axis=1)).sum() + smoothing * np.log(A).sum()
    return np.array(prior), A, T, objective


@given(seed=st.integers(0, 10_000), smoothing=st.sampled_from([0.1, 1.0]))
@settings(deadline=None, max_examples=20)
def test_em_equals_the_slow_form(seed, smoothing):
    answers = read_answers(make_crowd(30, 6, 3, labels_per_task=4, seed=seed).answers)
    start = vote_shares(answers.votes())
    monitor = Monitor(max_iter=5, tol=0)
    model = em(answers.one_hot(), start, smoothing=smoothing, monitor=monitor)
    prior, A, T, objective = slow_em(answers, start, smoothing, 5)
    assert_allclose(model.priors, prior, atol=1e-12)
    assert_allclose(model.confusions, A, atol=1e-12)
    assert_allclose(model.posteriors, T, atol=1e-12)
    assert_allclose(-monitor.history[-1]["loss"], objective, rtol=1e-12)


@given(seed=st.integers(0, 10_000), smoothing=st.sampled_from([0, 0.1, 2.0]))
@settings(deadline=None, max_examples=20)
def test_the_penalised_objective_never_falls(seed, smoothing):
    answers = read_answers(make_crowd(40, 6, 3, labels_per_task=3, seed=seed).answers)
    monitor = Monitor(max_iter=30, tol=0)
    em(answers.one_hot(), vote_shares(answers.votes()), smoothing=smoothing, monitor=monitor)
    losses = [row["loss"] for row in monitor.history]
    assert (np.diff(losses) <= 1e-9 * abs(losses[0])).all()


def test_zeros_without_smoothing_stay_finite():
    answers = read_answers(np.array([[0, 0, 0], [1, 1, 1], [0, 0, 1], [2, 2, -1]]))
    monitor = Monitor(max_iter=50)
    model = em(answers.one_hot(), vote_shares(answers.votes()), smoothing=0, monitor=monitor)
    assert monitor.stop_reason == "converged"
    assert np.isfinite(model.posteriors).all()
    assert_allclose(model.confusions.sum(axis=1), 1)  # also worker 2, who never met class 2


def test_the_bare_likelihood_is_the_objective_without_smoothing(rng):
    answers = read_answers(make_crowd(20, 4, 2, labels_per_task=3).answers)
    priors, confusions = m_step(answers.one_hot(), vote_shares(answers.votes()), 0.0)
    _, evidence = e_step(answers.one_hot(), priors, confusions)
    assert penalised_objective(evidence, confusions, 0.0) == evidence.sum()


@pytest.mark.parametrize("labels_per_task", [4, 16])
def test_confusions_are_recovered(labels_per_task):
    errors = []
    for n_tasks in (500, 8000):
        crowd = make_crowd(n_tasks, 20, 3, labels_per_task=labels_per_task, seed=1)
        answers = read_answers(crowd.answers)
        model = em(answers.one_hot(), vote_shares(answers.votes()), smoothing=0.1, monitor=Monitor(tol=1e-6))
        order = np.argsort(answers.workers)
        errors.append(np.mean((model.confusions[order] - crowd.confusions) ** 2))
    assert errors[1] < errors[0] / 6  # sixteen times the labels, one over the number of labels
