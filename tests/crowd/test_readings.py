"""A block of workers who all say the same: copies, or right where the others err alike."""

import numpy as np
import pandas as pd
import pytest

from rectifact import DawidSkene, evaluate
from rectifact.crowd.advice.readings import SILENT, TWO_READINGS, block_of
from rectifact.crowd.data.read import read_answers


def panel(accuracies, n_copies=0, seed=0, n_tasks=400):
    """Judges of these accuracies; the first ones repeat the first of all, but for one answer in 25."""
    rng = np.random.default_rng(seed)
    truth = rng.random(n_tasks) < 0.65
    said = np.column_stack([np.where(rng.random(n_tasks) < accuracy, truth, ~truth) for accuracy in accuracies])
    for copy in range(1, n_copies):
        said[:, copy] = said[:, 0] ^ (rng.random(n_tasks) < 0.04)
    task, worker = np.divmod(np.arange(said.size), said.shape[1])
    label = np.where(said.ravel(), "pass", "fail")
    return pd.DataFrame({"task": task, "worker": [f"w{w}" for w in worker], "label": label})


@pytest.mark.parametrize("seed", range(3))
def test_those_whom_copies_outvote_are_not_accused(seed):
    table = panel([0.7, 0.7, 0.7, 0.92, 0.9], n_copies=3, seed=seed)
    found = DawidSkene().fit(table).diagnose().set_index("finding")
    assert "w0, w1 and w2 give nearly the same answers" in found.loc[TWO_READINGS, "detail"]
    assert "w3 and w4 err alike, as the labels assume" in found.loc[TWO_READINGS, "detail"]
    assert "workers who err alike" not in found.index
    assert "Do not leave them out" in found.loc[SILENT, "remedy"]
    whole = evaluate(table, positive="pass")
    assert not whole.pairs
    assert TWO_READINGS in [finding.finding for finding in whole.findings]


@pytest.mark.parametrize("accuracies", [[0.97, 0.97, 0.97, 0.75, 0.72], [0.96] * 5, [0.92, 0.85, 0.8, 0.75, 0.65]])
def test_the_best_of_a_panel_are_not_called_copies(accuracies):
    assert TWO_READINGS not in set(DawidSkene().fit(panel(accuracies)).diagnose()["finding"])


def test_spammers_beside_good_workers_are_named_without_a_reservation():
    found = DawidSkene().fit(panel([0.97, 0.97, 0.97, 0.5, 0.5])).diagnose().set_index("finding")
    assert TWO_READINGS not in found.index
    assert found.loc[SILENT, "remedy"].startswith("Leave them out")


def test_a_block_is_three_workers_or_more_and_leaves_somebody_out():
    copies = read_answers(panel([0.7, 0.7, 0.7, 0.9], n_copies=3))
    assert block_of(copies).tolist() == [True, True, True, False]
    assert block_of(copies, np.array([0, 0, 0, 1])) is None
    assert block_of(read_answers(panel([0.7, 0.7, 0.9, 0.9], n_copies=2))) is None
    assert block_of(read_answers(panel([0.97] * 4))) is None
