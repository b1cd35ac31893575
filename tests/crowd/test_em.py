import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from rectifact.core.monitor import Monitor
from rectifact.core.operand import operand
from rectifact.crowd import read_answers
from rectifact.crowd.em import ONE_COIN, Sums, em, expected_sums, vote_shares
from rectifact.datasets import make_crowd


def fitted(B, start, **options):
    """EM from posteriors."""
    B = operand(B)
    return em(B, B.total(expected_sums, along=(start,)), **options)


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
    answers = read_answers(make_crowd(30, 6, 3, labels_per_task=4, random_state=seed).answers)
    start = vote_shares(answers.votes())
    monitor = Monitor(max_iter=5, tol=0)
    model = fitted(answers.one_hot(), start, smoothing=smoothing, monitor=monitor)
    prior, A, T, objective = slow_em(answers, start, smoothing, 5)
    assert_allclose(model.priors, prior, atol=1e-12)
    assert_allclose(model.confusions, A, atol=1e-12)
    assert_allclose(model.posteriors, T, atol=1e-12)
    assert_allclose(-monitor.history[-1]["loss"], objective, rtol=1e-12)
    assert_allclose(model.objective, objective, rtol=1e-12)
    assert_allclose(model.log_likelihood, objective - smoothing * np.log(A).sum(), rtol=1e-12)


@given(seed=st.integers(0, 10_000), smoothing=st.sampled_from([0, 0.1, 2.0]))
@settings(deadline=None, max_examples=20)
def test_the_penalised_objective_never_falls(seed, smoothing):
    answers = read_answers(make_crowd(40, 6, 3, labels_per_task=3, random_state=seed).answers)
    monitor = Monitor(max_iter=30, tol=0)
    fitted(answers.one_hot(), vote_shares(answers.votes()), smoothing=smoothing, monitor=monitor)
    losses = [row["loss"] for row in monitor.history]
    assert (np.diff(losses) <= 1e-9 * abs(losses[0])).all()


def test_zeros_without_smoothing_stay_finite():
    answers = read_answers(np.array([[0, 0, 0], [1, 1, 1], [0, 0, 1], [2, 2, -1]]))
    monitor = Monitor(max_iter=50)
    model = fitted(answers.one_hot(), vote_shares(answers.votes()), smoothing=0, monitor=monitor)
    assert monitor.stop_reason == "converged"
    assert np.isfinite(model.posteriors).all()
    assert_allclose(model.confusions.sum(axis=1), 1)  # also worker 2, who never met class 2


def test_one_coin_has_one_parameter_per_worker():
    answers = read_answers(make_crowd(300, 8, 3, labels_per_task=4).answers)
    B, start = answers.one_hot(), vote_shares(answers.votes())
    monitor = Monitor(max_iter=50, tol=1e-8, monotone=True)
    model = fitted(B, start, smoothing=0.1, monitor=monitor, form=ONE_COIN)
    diagonal = np.einsum("mkk->mk", model.confusions)
    assert_allclose(diagonal, diagonal[:, :1].repeat(3, axis=1))
    assert_allclose(model.confusions.sum(axis=1), 1)
    assert monitor.converged  # a one-parameter M-step that were not the best one would let the objective fall


def test_known_classes_stay_and_teach():
    crowd = make_crowd(400, 10, 2, accuracy=(0.55, 0.7), random_state=3)
    answers = read_answers(crowd.answers)
    known = np.where(np.arange(400) < 200, crowd.truth.to_numpy()[answers.tasks], -1)
    start = vote_shares(answers.votes(), known)
    model = fitted(answers.one_hot(), start, smoothing=0.1, monitor=Monitor(monotone=True), known=known)
    assert_allclose(model.posteriors[np.arange(200), known[:200]], 1)
    alone = fitted(answers.one_hot(), vote_shares(answers.votes()), smoothing=0.1, monitor=Monitor())
    rest = crowd.truth.to_numpy()[answers.tasks[200:]]
    errors = [(m.posteriors[200:].argmax(axis=1) != rest).mean() for m in (model, alone)]
    assert errors[0] <= errors[1]


def test_a_background_stands_for_the_tasks_that_made_it():
    answers = read_answers(make_crowd(100, 8, 3, labels_per_task=4).answers)
    B, start = answers.one_hot(), vote_shares(answers.votes())
    whole = fitted(B, start, smoothing=0.1, monitor=Monitor(max_iter=1, tol=0))
    rest = Sums(expected_sums(B[50:], start[50:]).counts, start[50:].sum(axis=0))
    part = fitted(B[:50], start[:50], smoothing=0.1, monitor=Monitor(max_iter=1, tol=0), background=rest)
    assert_allclose(part.confusions, whole.confusions)
    assert_allclose(part.posteriors, whole.posteriors[:50])


@pytest.mark.parametrize("labels_per_task", [4, 16])
def test_confusions_are_recovered(labels_per_task):
    errors = []
    for n_tasks in (500, 8000):
        crowd = make_crowd(n_tasks, 20, 3, labels_per_task=labels_per_task, random_state=1)
        answers = read_answers(crowd.answers)
        model = fitted(answers.one_hot(), vote_shares(answers.votes()), smoothing=0.1, monitor=Monitor(tol=1e-6))
        order = np.argsort(answers.workers)
        errors.append(np.mean((model.confusions[order] - crowd.confusions) ** 2))
    assert errors[1] < errors[0] / 6  # sixteen times the labels, one over the number of labels
