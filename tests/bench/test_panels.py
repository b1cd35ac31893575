"""Replays of plans and errors of grades, on planted crowds."""

import pandas as pd
import pytest

from rectifact.bench import Extent, crowd_budget, crowd_grades, panels
from rectifact.datasets import CrowdSet, make_crowd


@pytest.fixture
def crowd():
    made = make_crowd(130, 8, 3, labels_per_task=8, accuracy=(0.5, 0.8), random_state=0)
    return CrowdSet(made.answers, made.truth)


def test_a_replay_buys_what_it_may(crowd):
    answers = crowd.answers.reset_index(drop=True)
    started = (answers.groupby("task").cumcount() < 2).to_numpy()
    bought = crowd_budget.buy_in_rounds(answers, started, None)
    assert bought[started].all()
    assert bought.sum() == int(0.4 * len(answers))
    found = crowd_budget.replay(crowd, 0)
    assert found["full"] <= found["planned"] < found["random"]
    assert found["share"] == pytest.approx(40, abs=0.1)


def test_tables(crowd, monkeypatch):
    grades = pd.Series(crowd.truth.astype(float))
    monkeypatch.setattr(crowd_budget, "SETS", {"planted": lambda: crowd})
    monkeypatch.setattr(crowd_budget, "QUICK_REPLAYS", 2)
    monkeypatch.setattr(crowd_grades, "PANELS", {"planted": lambda: (crowd, grades)})
    tables = panels.run(Extent(peers=False, large=False, quick=True))
    assert [row["set"] for row in tables["budget"]] == ["planted"]
    assert {"median and mean", "ordinal"} <= {row["method"] for row in tables["grades"]}
