"""Copies in a small panel: EM with copied answers against a slow form, planted twins, and panels without any."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from rectifact.core.operand import operand
from rectifact.crowd import DawidSkene, MajorityVote, copying, read_answers
from rectifact.crowd.copying import copying_em, find_copies, patterns_of


def panel(seed, n_workers, n_classes, n_tasks, *, twin_accuracy=0.7, copied=0.92, twins=True):
    """Answers of judges, of whom the second repeats most of what the first says, and the truth."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(n_classes, size=n_tasks)
    accuracy = np.r_[twin_accuracy, twin_accuracy, rng.uniform(0.7, 0.85, n_workers - 2)]
    wrong = (truth[:, None] + rng.integers(1, n_classes, (n_tasks, n_workers))) % n_classes
    said = np.where(rng.random((n_tasks, n_workers)) < accuracy, truth[:, None], wrong)
    if twins:
        said[:, 1] = np.where(rng.random(n_tasks) < copied, said[:, 0], said[:, 1])
    return said, truth


def slow_em(said, sources, posteriors, n_iter):
    """The same EM, task by task and answer by answer."""
    (n, m), k = said.shape, posteriors.shape[1]
    copied = np.zeros((n, m, k))
    for i in range(n):
        for w in range(m):
            if sources[w] >= 0 and said[i, w] >= 0 and said[i, w] == said[i, sources[w]]:
                copied[i, w] = 0.5
    for _ in range(n_iter):
        counts, both, taken = np.zeros((m, k, k)), np.zeros(m), np.zeros(m)
        for i in range(n):
            for w in range(m):
                if said[i, w] >= 0:
                    counts[w, said[i, w]] += posteriors[i] * (1 - copied[i, w])
                    if sources[w] >= 0 and said[i, sources[w]] >= 0:
                        both[w] += 1
                        taken[w] += posteriors[i] @ copied[i, w]
        classes = (posteriors.sum(axis=0) + 1) / (n + k)
        shares = (taken + 1) / (both + 2)
        objective, matrices = np.log(classes).sum(), np.zeros((m, k, k))
        for w in range(m):
            right = (np.trace(counts[w]) + 2) / (counts[w].sum() + 3)
            prior = k * np.where(np.eye(k) > 0, right, (1 - right) / (k - 1))
            matrices[w] = (counts[w] + prior) / (counts[w] + prior).sum(axis=0)
            objective += (prior * np.log(matrices[w])).sum()
            if sources[w] >= 0:
                objective += np.log(shares[w]) + np.log(1 - shares[w])
        posteriors = np.empty_like(posteriors)
        for i in range(n):
            likely = classes.copy()
            for w in range(m):
                if said[i, w] < 0:
                    continue
                own = matrices[w, said[i, w]]
                if sources[w] >= 0 and said[i, sources[w]] >= 0:
                    same = float(said[i, w] == said[i, sources[w]])
                    mixed = shares[w] * same + (1 - shares[w]) * own
                    copied[i, w], own = shares[w] * same / mixed, mixed
                likely = likely * own
            objective += np.log(likely.sum())
            posteriors[i] = likely / likely.sum()
    return objective, shares


@pytest.mark.parametrize("sources", [[-1, -1, -1, -1], [-1, 0, -1, -1], [-1, 0, 0, 2]])
def test_em_is_that_of_the_slow_form(sources, monkeypatch):
    monkeypatch.setattr(copying, "MAX_ITER", 4)
    monkeypatch.setattr(copying, "TOL", 0.0)
    said, _ = panel(0, 4, 3, 40)
    said[np.random.default_rng(1).random(said.shape) < 0.2] = -1
    sources = np.array(sources)
    patterns = patterns_of(operand(read_answers(said, missing=-1).one_hot()), None, 4)
    objective, shares = copying_em(patterns, sources, patterns.shares(np.ones(4)))
    whole = np.repeat(np.arange(len(patterns.said)), patterns.tasks.astype(int))
    slow, taken = slow_em(patterns.said[whole], sources, patterns.shares(np.ones(4))[whole], 4)
    assert_allclose(objective, slow, rtol=1e-10)
    assert_allclose(shares[sources >= 0], taken[sources >= 0], rtol=1e-8)


def test_patterns_are_the_distinct_rows():
    said, truth = panel(1, 5, 2, 300)
    known = np.where(np.arange(300) < 50, truth, -1)
    B = operand(read_answers(said).one_hot())
    patterns = patterns_of(B, known, 5)
    rows, counts = np.unique(np.c_[known, said], axis=0, return_counts=True)
    found = np.c_[patterns.known, patterns.said]
    order = np.lexsort(found.T[::-1])
    assert_array_equal(found[order], rows)
    assert_array_equal(patterns.tasks[order], counts)


@pytest.mark.parametrize(("n_workers", "n_classes"), [(4, 3), (4, 5), (5, 2), (6, 2)])
def test_twins_count_once_and_the_labels_are_as_good_as_without_one(n_workers, n_classes):
    errors = {"vote": [], "one left out": [], "default": []}
    for seed in range(3):
        said, truth = panel(seed, n_workers, n_classes, 400)
        errors["vote"].append((MajorityVote().fit(said).labels_ != truth).mean())
        errors["one left out"].append((DawidSkene().fit(np.delete(said, 1, axis=1)).labels_ != truth).mean())
        model = DawidSkene().fit(said)
        errors["default"].append((model.labels_ != truth).mean())
        assert model.resolved_["families"] == [[0, 1]]
    vote, one_left_out, default = (np.mean(values) for values in errors.values())
    assert default <= vote
    assert default <= one_left_out + 0.01


@pytest.mark.parametrize("n_workers", [4, 6])
def test_judges_who_agree_because_they_are_right_are_no_copies(n_workers):
    for seed in range(4):
        said, _ = panel(seed, n_workers, 3, 300, twin_accuracy=0.95, twins=False)
        assert find_copies(operand(read_answers(said).one_hot()), None, n_workers) == []


def uneven(seed, n_workers, n_tasks):
    """Binary answers of independent judges to tasks that are easy for all, or hard for all."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(2, size=n_tasks)
    ability, ease = rng.uniform(1, 3, n_workers), rng.normal(size=(n_tasks, 1))
    right = rng.random((n_tasks, n_workers)) < 1 / (1 + np.exp(-ability - ease))
    return np.where(right, truth[:, None], 1 - truth[:, None])


@pytest.mark.parametrize("seed", [151, 156])  # of 223, the two panels where one seems to repeat 50 to 60 % of another
def test_judges_who_err_on_the_same_hard_tasks_are_no_copies(seed):
    said = uneven(seed, 6, 100)
    assert find_copies(operand(read_answers(said).one_hot()), None, 6) == []


def test_copies_are_named_in_the_findings_and_not_called_unexplained():
    said, _ = panel(0, 5, 3, 400)
    table = pd.DataFrame(said, columns=list("abcde")).reset_index(names="task").melt("task", None, "worker", "label")
    found = DawidSkene().fit(table).diagnose().set_index("finding")
    assert found.loc["copies that count as one worker", "detail"].endswith("counts as one: a and b.")
    assert "workers who err alike" not in found.index
    assert "two workers decide the labels" not in found.index


def test_partitioned_answers_have_the_same_copies(tmp_path):
    pytest.importorskip("dask")
    import dask.dataframe as dd

    said, _ = panel(2, 5, 2, 300)
    table = pd.DataFrame(said).reset_index(names="task").melt("task", None, "worker", "label")
    lazy = DawidSkene().fit(dd.from_pandas(table.astype({"worker": int}), npartitions=3))
    assert lazy.resolved_["families"] == [[0, 1]]


@pytest.mark.parametrize(("limit", "undecided"), [(0.9, True), (0.99, False)])
def test_the_fit_and_the_advice_ask_by_the_same_limits_whether_two_may_be_copies(monkeypatch, limit, undecided):
    rng = np.random.default_rng(0)
    truth = rng.integers(2, size=200)
    said = np.where(rng.random((200, 3)) < [1.0, 0.95, 0.7], truth[:, None], 1 - truth[:, None])
    monkeypatch.setattr(copying, "UNDECIDED", limit)
    model = DawidSkene().fit(said)
    assert copying.may_be_copies(operand(read_answers(said).one_hot()), 3) == undecided
    assert ("two workers decide the labels" in model.diagnose()["finding"].tolist()) == undecided
