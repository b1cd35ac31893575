import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.stats import betabinom, dirichlet_multinomial

from rectifact.core.monitor import Monitor
from rectifact.core.operand import operand
from rectifact.crowd import DawidSkene, read_answers
from rectifact.crowd.em import expected_sums, vote_shares
from rectifact.crowd.pooled import Strength, learn_strength, pooled_em, pooled_prior, subtypes_of
from rectifact.datasets import make_crowd


def started(answers, n_subtypes):
    shares = vote_shares(answers.votes())
    return subtypes_of(shares, shares, n_subtypes)


def fitted(table, *, n_subtypes=1, weights=None, max_iter=100, tol=1e-8, **options):
    answers = read_answers(table)
    B = operand(answers.one_hot())
    start = B.total(expected_sums, len(answers.classes), along=(started(answers, n_subtypes),))
    monitor = Monitor(max_iter=max_iter, tol=tol)
    weights = np.ones(len(answers.workers)) if weights is None else weights
    return pooled_em(B, start, monitor=monitor, weights=weights, **options), monitor


def slow(answers, n_subtypes, weights, strength, n_iter):
    """The updates of the docstring, answer by answer and class by class."""
    n_workers, k = len(answers.workers), len(answers.classes)
    states = [(c, j) for c in range(k) for j in range(n_subtypes)]
    Q, prior = started(answers, n_subtypes), None
    for _ in range(n_iter):
        counts, classes = np.zeros((n_workers, k, len(states))), np.full(len(states), 1 / len(states))
        for i, m, x in zip(answers.task, answers.worker, answers.label, strict=True):
            counts[m, x] += weights[m] * Q[i]
        for q in Q:
            classes += q
        if prior is None:
            right = [sum(counts[m, c, s] for s, (c, _) in enumerate(states)) for m in range(n_workers)]
            crowd = (sum(right) + 1) / (counts.sum() + 2)
            prior = np.zeros_like(counts)
            for m in range(n_workers):
                p = (right[m] + strength.accuracy * crowd) / (counts[m].sum() + strength.accuracy)
                for s, (c, _) in enumerate(states):
                    prior[m, :, s] = strength.matrix * (1 - p) / (k - 1)
                    prior[m, c, s] = strength.matrix * p
        A = (counts + prior) / (counts + prior).sum(axis=1, keepdims=True)
        odds = np.tile(np.log(classes / classes.sum()), (len(Q), 1))
        for i, m, x in zip(answers.task, answers.worker, answers.label, strict=True):
            odds[i] += weights[m] * np.log(A[m, x])
        Q = np.exp(odds - odds.max(axis=1, keepdims=True))
        Q = Q / Q.sum(axis=1, keepdims=True)
    return counts + prior, Q


@pytest.mark.parametrize("n_subtypes", [1, 2])
def test_it_equals_the_slow_form(n_subtypes):
    table = make_crowd(40, 6, 3, labels_per_task=4).answers
    answers, weights, strength = read_answers(table), np.linspace(0.3, 1, 6), Strength(7.0, 3.0)
    fit, _ = fitted(table, n_subtypes=n_subtypes, weights=weights, max_iter=4, tol=0, strength=strength, learn=False)
    total, Q = slow(answers, n_subtypes, weights, strength, 4)
    assert_allclose(fit.posteriors, Q, atol=1e-10)
    by_class = total.reshape(6, 3, 3, n_subtypes).sum(axis=3)
    assert_allclose(fit.model.counts, by_class, rtol=1e-10)
    assert_allclose(fit.model.posteriors, Q.reshape(40, 3, n_subtypes).sum(axis=2), atol=1e-10)


@given(seed=st.integers(0, 1000), n_subtypes=st.sampled_from([1, 2]))
@settings(deadline=None, max_examples=20)
def test_the_objective_never_falls_under_one_prior(seed, n_subtypes):
    table = make_crowd(50, 8, 3, labels_per_task=4, random_state=seed).answers
    weights = np.random.default_rng(seed).uniform(0.2, 1, size=8)
    _, monitor = fitted(table, n_subtypes=n_subtypes, weights=weights, max_iter=40, tol=0, learn=False)
    losses = np.array([row["loss"] for row in monitor.history])
    assert (np.diff(losses) <= 1e-9 * abs(losses[0])).all()


def test_the_strength_has_the_highest_evidence(rng):
    """Whole answers, so that scipy's distributions know their probability."""
    n_workers, k = 60, 3
    right = rng.beta(6, 2, size=n_workers)
    counts = np.zeros((n_workers, k, k))
    for m in range(n_workers):
        for c in range(k):
            p = np.where(np.arange(k) == c, right[m], (1 - right[m]) / (k - 1))
            counts[m, :, c] = rng.multinomial(12, rng.dirichlet(20 * p))
    found = learn_strength(counts)
    hits, n = np.einsum("mkk->m", counts), counts.sum(axis=(1, 2))
    crowd = (hits.sum() + 1) / (n.sum() + 2)

    def accuracy_evidence(s):
        return betabinom(n.astype(int), s * crowd, s * (1 - crowd)).logpmf(hits.astype(int)).sum()

    def matrix_evidence(a):
        prior = pooled_prior(counts, Strength(a, found.accuracy))
        return sum(
            dirichlet_multinomial(prior[m, :, c], 12).logpmf(counts[m, :, c].astype(int))
            for m in range(n_workers)
            for c in range(k)
        )

    assert found.accuracy == max(2.0 ** np.arange(6), key=accuracy_evidence)
    assert found.matrix == max([8.0, 16.0, 32.0, 64.0], key=matrix_evidence)


def test_a_newcomer_counts_for_less_than_an_expert():
    """One who is right in 85 % of 3,000 answers contradicts somebody with a single answer."""
    crowd = make_crowd(3000, 5, 2, labels_per_task=5, accuracy=(0.85, 0.85), random_state=0)
    extra = pd.DataFrame({"task": ["new", "new"], "worker": [0, "newcomer"], "label": [0, 1]})
    model = DawidSkene().fit(pd.concat([crowd.answers, extra]))
    expert_right = model.probas_[list(model.tasks_).index("new")][0]
    assert expert_right + 0.02 >= 0.5
    assert expert_right < 0.9  # the newcomer is expected to be as good as the crowd


def test_many_classes_and_few_answers():
    crowd = make_crowd(2000, 300, 40, labels_per_task=3, accuracy=(0.5, 0.9))
    errors = {}
    for name in ("auto", "one-coin"):
        model = DawidSkene(model=name).fit(crowd.answers)
        errors[name] = np.mean(model.labels_ != crowd.truth.loc[model.tasks_].to_numpy())
    assert errors["one-coin"] < 0.14
    assert errors["auto"] < errors["one-coin"] + 0.01


PLANTED = {
    "a rare class": {"n_classes": 2, "prior": [0.99, 0.01], "labels_per_task": 5, "n_workers": 40},
    "many spammers": {"n_classes": 20, "n_spammers": 120, "labels_per_task": 5, "n_workers": 300},
    "few answers each": {"n_classes": 2, "labels_per_task": 3, "n_workers": 200},
    "adversaries": {"n_classes": 3, "n_adversaries": 6, "labels_per_task": 7, "n_workers": 30},
}


@pytest.mark.parametrize("name", PLANTED)
def test_the_default_is_as_good_as_the_better_of_full_and_one_coin(name):
    errors = []
    for seed in range(3):
        crowd = make_crowd(1200, **PLANTED[name], random_state=seed)
        models = [DawidSkene(model=kind).fit(crowd.answers) for kind in ("auto", "full", "one-coin")]
        errors.append([np.mean(m.labels_ != crowd.truth.loc[m.tasks_].to_numpy()) for m in models])
    auto, full, one_coin = np.mean(errors, axis=0)
    # a rare class looks the same as workers who say it at random, or as a frequent one that few workers can tell
    assert auto < min(full, one_coin) + (0.015 if name == "a rare class" else 0.006)


def test_probabilities_of_independent_answers_are_calibrated():
    for seed, n_classes in enumerate((2, 5, 20)):
        crowd = make_crowd(3000, 60, n_classes, labels_per_task=4, random_state=seed)
        model = DawidSkene().fit(crowd.answers)
        right = model.labels_ == crowd.truth.loc[model.tasks_].to_numpy()
        assert model.resolved_["retreat"] == 0
        assert abs(model.probas_.max(axis=1).mean() - right.mean()) < 0.02


@pytest.mark.parametrize(("n_classes", "labels_per_task"), [(2, 5), (3, 3), (10, 3), (20, 3), (50, 5)])
def test_on_independent_answers_the_default_is_as_good_as_the_better_model_and_its_intervals_hold(
    n_classes, labels_per_task
):
    errors, dispersions, covered = [], [], []
    for seed in range(3):
        crowd = make_crowd(1500, 40, n_classes, labels_per_task=labels_per_task, random_state=seed)
        models = [DawidSkene(model=kind).fit(crowd.answers) for kind in ("auto", "full", "one-coin")]
        errors.append([np.mean(model.labels_ != crowd.truth.loc[model.tasks_].to_numpy()) for model in models])
        dispersions.append(models[0].resolved_["dispersion"])
        assert not models[0].diagnose()["finding"].str.contains("independent|err alike").any()
        report = models[0].worker_report()
        accuracy = np.einsum("mkk,k->m", crowd.confusions, crowd.prior)[report["worker"].to_numpy().astype(int)]
        covered.append((report["accuracy_low"] <= accuracy) & (accuracy <= report["accuracy_high"]))
    auto, *others = np.mean(errors, axis=0)
    assert auto < min(others) + 0.004
    assert_allclose(np.mean(dispersions), 1, atol=0.05)
    assert 0.82 < np.mean(covered) < 0.97


@pytest.mark.parametrize("ordinal", [False, True])
def test_a_handful_of_answers_overrules_nobody(ordinal):
    """Of fewer than twenty answers, those that agree are the label, and a single one is not believed blindly."""
    rng = np.random.default_rng(0)
    for _ in range(25):
        size = rng.integers(5, 20)
        table = pd.DataFrame({name: rng.integers(most, size=size) for name, most in (("task", 6), ("worker", 4))})
        table = table.assign(label=rng.integers(2, size=size)).drop_duplicates(["task", "worker"])
        if table["label"].nunique() < 2 or table["worker"].nunique() < 2:
            continue
        model = DawidSkene(ordinal=ordinal).fit(table)
        said = table.groupby("task")["label"].agg(["nunique", "first"])
        agreed = said.loc[said["nunique"] == 1, "first"]
        assert (model.result().set_index("task").loc[agreed.index, "label"] == agreed).all()
    table = pd.DataFrame({"task": list("aabbc"), "worker": list("uvuvw"), "label": list("xxxxy")})
    row = DawidSkene().fit(table).result().set_index("task").loc["c"]
    assert row["label"] == "y"
    assert row["confidence"] < 0.75


def test_answers_that_come_in_end_the_caution_of_a_small_crowd():
    crowd = make_crowd(100, 6, 2, labels_per_task=5, random_state=0).answers
    model = DawidSkene().fit(crowd[:15])
    assert model.resolved_["retreat"] >= 0.7
    model.partial_fit(crowd[15:])
    assert model._model.retreat == 0
