"""Judges whose bias is about as large as the test of replacement allows, and larger."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from rectifact import evaluate
from rectifact.crowd.evaluation import Evaluation
from rectifact.crowd.panel_allowance import beyond_allowance, near_allowance
from rectifact.crowd.panel_choice import with_reservations
from rectifact.crowd.replacement import PASSES, RESERVED, RULED_OUT, TOO_FEW


def found_by(bias: float, n_gold: int = 100, n_tasks: int = 400) -> Evaluation:
    """Three good judges, and one who says pass too often by ``bias`` of the tasks with gold labels and of all."""
    rng = np.random.default_rng(2)
    truth = np.arange(n_tasks) % 5 < 3
    table = pd.DataFrame({"task": np.arange(n_tasks)})
    for name in ("one", "two", "three", "ann", "bob", "cy"):
        table[name] = np.where(rng.random(n_tasks) < 0.9, truth, ~truth).astype(int)
    fails = np.flatnonzero(~truth)
    wrong = fails[np.arange(len(fails)) * bias / 0.4 % 1 < bias / 0.4]  # spread evenly
    table["lax"] = np.isin(np.arange(n_tasks), [*np.flatnonzero(truth), *wrong]).astype(int)
    gold = {task: int(truth[task]) for task in range(n_gold)}
    return evaluate(table, people=["ann", "bob", "cy"], gold=gold, positive=1, wide=True)


@pytest.fixture(scope="module")
def near() -> Evaluation:
    return found_by(0.22)


def decided(found: Evaluation, decision: str) -> pd.Series:
    """The row of the biased judge if the test alone had said so."""
    judges = found.replacement.judges.assign(decision=decision, reservation="")
    test = with_reservations(replace(found, replacement=replace(found.replacement, judges=judges)))
    return test.judges.set_index("judge").loc["lax"]


def test_a_bias_near_what_is_allowed_rules_nobody_out(near: Evaluation) -> None:
    row = near.biases.table.set_index("worker").loc["lax"]
    assert row["bias"] > 0.2 > row["low"]
    assert decided(near, PASSES)["decision"] == RESERVED
    assert decided(near, TOO_FEW)["decision"] == TOO_FEW
    assert "says '1' 2" in decided(near, TOO_FEW)["reservation"]


def test_it_says_how_many_labels_would_tell(near: Evaluation) -> None:
    assert near_allowance(near, "lax", 1) == " (too near to the 20 points that are allowed to tell with these tasks)"
    test = replace(near.replacement, epsilon=0.17)
    said = near_allowance(replace(near, replacement=test, biases_by_people=None), "lax", 1)
    assert said == " (about 160 gold labels would tell whether that is more than the 17 points that are allowed)"


def test_a_bias_far_beyond_what_is_allowed_rules_out() -> None:
    found = found_by(0.36)
    assert beyond_allowance(found, "lax")
    assert not near_allowance(found, "lax", 1)
    for decision in (PASSES, TOO_FEW):
        assert decided(found, decision)["decision"] == RULED_OUT
