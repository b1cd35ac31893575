"""EBCC and BWA against slow forms in loops, on planted crowds and on a real set; the comparison with the field."""

from math import lgamma, log

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.special import digamma

from rectifact.bench import Extent
from rectifact.bench import crowd_field as field
from rectifact.bench import crowd_peers as peers
from rectifact.bench.measure import Case
from rectifact.core.errors import InputError
from rectifact.core.monitor import Monitor
from rectifact.crowd import MajorityVote, read_answers
from rectifact.datasets import CrowdSet, MissingDataset, load_crowd, make_crowd


@pytest.fixture
def few():
    """Twelve tasks, three classes, workers with 1 to 12 answers, a repeated pair, a task with one answer."""
    answers = make_crowd(12, 6, 3, labels_per_task=3, accuracy=(0.4, 0.9), random_state=3).answers
    again = pd.DataFrame({"task": [0, 0, 12], "worker": [answers["worker"][0]] * 3, "label": [0, 1, 2]})
    return read_answers(pd.concat([answers, again], ignore_index=True))


def bwa_in_loops(answers, n_iter):
    """For each class: workers' answers in a dictionary by (task, worker), weights and averages one at a time."""
    n_tasks, n_workers, n_classes = len(answers.tasks), len(answers.workers), len(answers.classes)
    given = {}
    for i, j, label in zip(answers.task, answers.worker, answers.label, strict=True):
        given.setdefault((i, j), []).append(label)
    found = np.zeros((n_tasks, n_classes))
    for k in range(n_classes):
        y = {pair: sum(label == k for label in labels) / len(labels) for pair, labels in given.items()}
        z = []
        for i in range(n_tasks):
            mine = [value for (task, _), value in y.items() if task == i]
            z.append(sum(mine) / len(mine))
        b = 15 * 4 * (1 - 1 / n_classes) * sum(z[i] * (1 - z[i]) for i, _ in y) / len(y)
        for _ in range(n_iter):
            v = []
            for j in range(n_workers):
                misses = [(value - z[i]) ** 2 for (i, worker), value in y.items() if worker == j]
                v.append((15 + len(misses)) / (b + sum(misses)))
            mean = sum(z) / n_tasks
            new = []
            for i in range(n_tasks):
                mine = [(v[j], value) for (task, j), value in y.items() if task == i]
                new.append((mean + sum(w * value for w, value in mine)) / (1 + sum(w for w, _ in mine)))
            z = new
        found[:, k] = z
    return found / found.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("n_iter", [1, 2, 7])
def test_bwa_against_loops(few, n_iter):
    assert_allclose(peers.bwa(few, max_iter=n_iter, tol=0), bwa_in_loops(few, n_iter), rtol=1e-12)


def log_dirichlet_normaliser(parameters):
    return sum(lgamma(p) for p in parameters) - lgamma(sum(parameters))


def ebcc_in_loops(answers, r, n_iter):
    """Posteriors and the evidence bound of EBCC, from expectations of each term of the joint density."""
    n_tasks, n_workers, K = len(answers.tasks), len(answers.workers), len(answers.classes)
    M, given = r.shape[2], list(zip(answers.task, answers.worker, answers.label, strict=True))
    prior_class = [float(sum(label == k for *_, label in given)) for k in range(K)]
    prior_row = [[4.0 if k == c else 1.0 for k in range(K)] for c in range(K)]
    for _ in range(n_iter):
        nu = [prior_class[c] + sum(r[i, c, g] for i in range(n_tasks) for g in range(M)) for c in range(K)]
        eta = [[0.1 / M + sum(r[i, c, g] for i in range(n_tasks)) for g in range(M)] for c in range(K)]
        mu = {(j, c, g): list(prior_row[c]) for j in range(n_workers) for c in range(K) for g in range(M)}
        for i, j, label in given:
            for c in range(K):
                for g in range(M):
                    mu[j, c, g][label] += r[i, c, g]
        e_nu = [digamma(a) - digamma(sum(nu)) for a in nu]
        e_eta = [[digamma(a) - digamma(sum(row)) for a in row] for row in eta]
        e_mu = {key: [digamma(a) - digamma(sum(row)) for a in row] for key, row in mu.items()}
        new = np.zeros_like(r)
        for i in range(n_tasks):
            for c in range(K):
                for g in range(M):
                    seen = sum(e_mu[j, c, g][label] for task, j, label in given if task == i)
                    new[i, c, g] = np.exp(e_nu[c] + e_eta[c][g] + seen)
            new[i] /= new[i].sum()
        r = new
    # E[log p(answers, classes, subtypes)] + entropy, and for every Dirichlet E[log p] - E[log q]
    bound = -sum(x * log(x) for x in r.ravel() if x > 0)
    for i in range(n_tasks):
        for c in range(K):
            for g in range(M):
                seen = sum(e_mu[j, c, g][label] for task, j, label in given if task == i)
                bound += r[i, c, g] * (e_nu[c] + e_eta[c][g] + seen)
    families = [(prior_class, nu, e_nu)] + [([0.1 / M] * M, eta[c], e_eta[c]) for c in range(K)]
    families += [(prior_row[c], mu[j, c, g], e_mu[j, c, g]) for j, c, g in mu]
    for before, after, expected in families:
        bound += log_dirichlet_normaliser(after) - log_dirichlet_normaliser(before)
        bound += sum((p - q) * e for p, q, e in zip(before, after, expected, strict=True))
    return r, bound


def matrix(answers):
    B = np.zeros((len(answers.tasks), len(answers.workers) * len(answers.classes)))
    np.add.at(B, (answers.task, answers.worker * len(answers.classes) + answers.label), 1)
    return B


@pytest.mark.parametrize("n_iter", [1, 2, 5])
def test_ebcc_against_loops(few, rng, n_iter):
    start = rng.dirichlet(np.ones(6), size=len(few.tasks)).reshape(-1, 3, 2)
    votes = peers.vote_counts(few).sum(axis=0)
    monitor = Monitor(max_iter=n_iter, tol=0)
    found = peers.variational_subtypes(matrix(few), start, votes, monitor=monitor)
    expected, bound = ebcc_in_loops(few, start, n_iter)
    assert_allclose(found, expected, rtol=1e-9)
    assert_allclose(-monitor.history[-1]["loss"], bound, rtol=1e-10)


def test_the_bound_of_ebcc_never_falls(few, rng):
    start = rng.dirichlet(np.ones(12), size=len(few.tasks)).reshape(-1, 3, 4)
    monitor = Monitor(max_iter=60, tol=0)
    peers.variational_subtypes(matrix(few), start, np.ones(3), monitor=monitor)
    assert np.diff([row["loss"] for row in monitor.history]).max() < 1e-10


def test_of_several_starts_the_best_bound_counts(few, monkeypatch):
    losses = iter([3.0, 1.0, 2.0])

    def run(B, start, prior, *, monitor):
        monitor.history.append({"loss": next(losses)})
        return np.full_like(start, monitor.history[0]["loss"])

    monkeypatch.setattr(peers, "variational_subtypes", run)
    assert (peers.ebcc(few, n_subtypes=1, n_starts=3) == 1.0).all()


def error(rule, crowd):
    return field.error_percent(crowd, peers.written_here(rule, crowd.answers))


def vote_error(crowd):
    fitted = MajorityVote().fit(crowd.answers)
    return field.error_percent(crowd, pd.DataFrame(fitted.probas_, fitted.tasks_, fitted.classes_))


def test_both_pass_the_vote_where_workers_differ():
    crowd = make_crowd(600, 40, 3, n_spammers=15, accuracy=(0.6, 0.95), random_state=1)
    assert error(peers.bwa, crowd) < vote_error(crowd) - 5
    assert error(peers.ebcc, crowd) < vote_error(crowd) - 5


def test_ebcc_sees_that_workers_err_together(rng):
    """A third of the tasks are too hard for six of nine workers; confusion matrices alone do not see it."""
    truth, hard = rng.integers(2, size=900), rng.random(900) < 1 / 3
    right = np.where(np.arange(9) < 6, np.where(hard[:, None], 0.4, 0.95), 0.9)
    labels = np.where(rng.random((900, 9)) < right, truth[:, None], 1 - truth[:, None])
    frame = pd.DataFrame(labels).melt(ignore_index=False, var_name="worker", value_name="label")
    crowd = CrowdSet(frame.rename_axis("task").reset_index(), pd.Series(truth))
    without = error(lambda answers: peers.ebcc(answers, n_subtypes=1), crowd)
    assert error(lambda answers: peers.ebcc(answers, n_starts=3), crowd) < without - 5


def test_on_a_real_crowd(load_or_skip):
    rte = load_or_skip(load_crowd, "rte")
    assert 6 < error(peers.ebcc, rte) < 7.5 < vote_error(rte)
    assert 6.5 < error(peers.bwa, rte) < 8 < vote_error(rte)


@pytest.mark.parametrize("rule", [peers.bwa, peers.ebcc, peers.smoothed_vote])
def test_probabilities_whatever_the_crowd(rule):
    one_mind = pd.DataFrame({"task": [1, 1, 2, 2], "worker": [1, 2, 1, 2], "label": ["a", "a", "b", "b"]})
    for answers in (read_answers(one_mind), read_answers(load_crowd("anaesthetists").answers)):
        P = rule(answers)
        assert_allclose(P.sum(axis=1), 1)
        assert (P >= 0).all()
    assert (rule(read_answers(one_mind)).argmax(axis=1) == [0, 1]).all()


def test_a_class_that_nobody_answers_is_an_error_without_a_log_loss():
    crowd = CrowdSet(pd.DataFrame(), pd.Series({"a": 0, "b": 9, "gone": 1}))
    P = pd.DataFrame([[0.5, 0.5], [0.75, 0.25]], index=["a", "b"])
    expected = {"error_%": 75.0, "log_loss": round(log(2), 4), "calibration_error": 0.375}
    assert field.scores(crowd, P) == expected


def test_summaries_of_the_field(monkeypatch):
    """Two crowds and a panel; a slow rule is left out where there are many answers, and then has no mean."""
    crowds = {name: make_crowd(50, 10, 2, random_state=seed) for seed, name in enumerate("ab")}
    monkeypatch.setattr(field, "CROWDS", {name: lambda crowd=crowd: crowd for name, crowd in crowds.items()})
    monkeypatch.setattr(field, "JUDGES", {"c": lambda: make_crowd(100, 10, 2)})
    monkeypatch.setattr(field, "MOST_ANSWERS", 300)
    given = {"auto": 0.9, "crowd-kit GLAD": 0.7, field.SMOOTHED: 0.6}

    def score(crowd, probability):
        error = 100 * (1 - probability) + (crowd is crowds["b"])
        return {"error_%": error, "log_loss": 2.0, "calibration_error": 0.5}

    cases = [Case(name, lambda crowd, p=p: p, score) for name, p in given.items()]
    rows = field.run_field(cases, Extent(peers=True, large=False, quick=False))
    assert [(row["set"], row["method"]) for row in rows if row["set"] == "c"] == [("c", "auto"), ("c", field.SMOOTHED)]
    assert field.field_errors(rows)[1:] == [
        {"set": "b", "auto": pytest.approx(11.0), "crowd-kit GLAD": pytest.approx(31.0)},
        {"set": "c", "auto": pytest.approx(10.0)},
    ]
    means = {(row["sets"], row["method"]): row for row in field.field_means(rows)}
    assert ("judges", "crowd-kit GLAD") not in means
    glad = means["crowds", "crowd-kit GLAD"]
    assert (glad["error_%"], glad["worst_loss_%"], glad["log_loss"]) == (30.5, 20.0, 2.0)
    large = field.run_field(cases, Extent(peers=True, large=True, quick=False))
    assert len(large) == len(rows) + 1
    assert field.field_means([row for row in rows if row["set"] == "a"]) == []


def test_sets_that_are_not_here_are_left_out(monkeypatch):
    def absent():
        raise MissingDataset("This set is not on this machine.", "Put it there.")

    monkeypatch.setattr(field, "CROWDS", {"a": absent})
    monkeypatch.setattr(field, "JUDGES", {"b": absent})
    assert field.run_field([], Extent(peers=False, large=False, quick=False)) == []
    assert field.field_errors([]) == field.field_means([]) == []


def test_peers_that_are_not_installed(monkeypatch):
    monkeypatch.setattr(peers, "find_spec", lambda name: None if name == "crowdkit" else object())
    with pytest.raises(
        InputError, match=r"needs crowd-kit\. Install it from a clone of rectifact: pip install '\.\[bench\]'"
    ):
        peers.check_installed()
