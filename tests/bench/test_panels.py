"""Replays of plans, errors of grades, and coverage of intervals, on planted crowds."""

import json

import pandas as pd
import pytest

from rectifact.bench import Extent, crowd_budget, crowd_grades, panels, panels_agreement, panels_rates
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
    monkeypatch.setattr(panels_rates, "PANELS", {})
    monkeypatch.setattr(panels_agreement, "PANELS", [])
    tables = panels.run(Extent(peers=False, large=False, quick=True))
    assert list(tables) == ["grades", "rates", "differences", "agreement", "budget"]
    assert [row["set"] for row in tables["budget"]] == ["planted"]
    assert {"median and mean", "ordinal"} <= {row["method"] for row in tables["grades"]}


@pytest.fixture
def judged():
    made = make_crowd(600, 5, 2, labels_per_task=5, accuracy=(0.8, 0.95), random_state=1)
    return panels_rates.panel_of(CrowdSet(made.answers, made.truth), positive=(1,))


def test_intervals_of_rates_hold_the_truth_and_are_shorter_with_good_judges(judged):
    found = panels_rates.coverage(judged, n_labels=60, draws=20)
    assert found["covered"] >= 85
    assert found["shorter"] > 20


def test_a_difference_is_found_more_often_with_judges_and_none_where_there_is_none(judged):
    planted, none = (panels_rates.power(judged, n_labels=150, gap=gap, draws=15) for gap in (0.2, 0.0))
    assert planted["found"] > max(planted["people_found"], 60)
    assert none["found"] <= 20


@pytest.mark.parametrize("planted", [panels_agreement.NAMED, panels_agreement.COMPLETE], ids=lambda kind: kind.name)
def test_intervals_of_agreement_hold_what_many_tasks_give(planted, monkeypatch):
    monkeypatch.setattr(panels_agreement, "MANY_TASKS", 20_000)
    found = panels_agreement.coverage(planted, 50, draws=10)
    assert found["least"] >= 60
    monkeypatch.setattr(panels_agreement, "CONFIDENCE", 0.05)
    assert panels_agreement.coverage(planted, 50, draws=10)["most"] <= 60


def test_one_table_of_panels_by_name(run, monkeypatch, tmp_path):
    for name in panels.TABLES:
        monkeypatch.setitem(panels.TABLES, name, lambda extent, name=name: [{"set": name, "covered": 95.0}])
    stored = tmp_path / "panels.json"
    for name in ("rates", "agreement"):
        run("bench", "panels", name, "-o", stored)
    tables = json.loads(stored.read_text())["tables"]["panels"]
    assert {name: rows[0]["set"] for name, rows in tables.items()} == {"rates": "rates", "agreement": "agreement"}
    assert "choose one of 'grades', 'rates'" in run("bench", "panels", "rate", expect=2).err
