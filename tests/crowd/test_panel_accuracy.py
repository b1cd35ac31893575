"""Accuracies by gold labels: those of several workers hang together, and luck with the labels is taken out."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from rectifact import DawidSkene
from rectifact.crowd import read_answers
from rectifact.crowd.panel_accuracy import common_tuning, leads_of, measured_accuracies

ACCURACIES = (0.95, 0.94, 0.92, 0.9, 0.9, 0.9, 0.9)


def panel(seed, n=500, n_gold=40):
    """Answers of seven workers to all tasks, posteriors without labels, labels of some tasks, and true accuracies."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, n)
    said = np.column_stack([truth ^ (rng.random(n) > accuracy) for accuracy in ACCURACIES])
    table = pd.DataFrame(said).rename_axis("task").reset_index().melt("task", var_name="worker", value_name="label")
    model = DawidSkene().fit(read_answers(table))
    by_task = pd.DataFrame(model._model.posteriors, index=model.tasks_.astype(int)).sort_index().to_numpy()
    known = np.where(np.isin(np.arange(n), rng.choice(n, n_gold, replace=False)), truth, -1)
    return said, by_task, known, (said == truth[:, None]).mean(axis=0)


def test_the_best_worker_is_not_best_by_luck_with_the_labels():
    excess, errors = [], []
    for seed in range(25):
        said, posteriors, known, true = panel(seed)
        found = measured_accuracies(said, posteriors, known)
        best = max(found, key=lambda worker: found[worker].value)
        excess.append(found[best].value - true[best])
        errors += [one.value - true[worker] for worker, one in found.items()]
    assert np.mean(excess) < 0.004  # 0.009, and errors of 0.011, if each worker had a tuning of its own
    assert np.sqrt(np.mean(np.square(errors))) < 0.005


def test_the_intervals_hold_the_accuracies():
    inside = []
    for seed in range(25):
        said, posteriors, known, true = panel(seed, n_gold=25)
        for worker, one in measured_accuracies(said, posteriors, known).items():
            low, high = one.interval(1.645)
            inside.append(low <= true[worker] <= high)
    assert np.mean(inside) > 0.9


@pytest.mark.parametrize("seed", range(5))
def test_leads_are_differences_of_accuracies_where_all_answer_all_tasks(seed):
    said, posteriors, known, _ = panel(seed)
    found = measured_accuracies(said, posteriors, known)
    for lead in leads_of(said, posteriors, list("abcdefg"), 0, [1, 2, 3, 4, 5, 6], truth=known):
        other = "abcdefg".index(lead.other)
        assert_allclose(lead.value, found[0].value - found[other].value, atol=1e-9)


def test_posteriors_that_do_not_help_are_not_used():
    said, posteriors, known, _ = panel(0)
    shuffled = posteriors[np.random.default_rng(0).permutation(len(posteriors))]
    flat = np.full_like(posteriors, 0.5)
    assert common_tuning(said, posteriors, known) > 0.8
    assert common_tuning(said, shuffled, known) < 0.35
    labelled = known >= 0
    for worker, one in measured_accuracies(said, flat, known).items():
        assert_allclose(one.value, (said[labelled, worker] == known[labelled]).mean())
