"""Judges who grade one version higher than others: found, named where it matters, and not invented."""

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from rectifact import evaluate, write_report
from rectifact.cli.evaluate import _facts
from rectifact.crowd import read_answers
from rectifact.crowd.panel_bias import biases_of
from rectifact.crowd.panel_choice import flaws
from rectifact.crowd.panel_shift import shifts_of

VERSIONS = np.array(["a", "b", "c"])


def graded(seed, *, bias, apart=0.2, n=600, n_people=200):
    """Grades from 1 to 5 of three judges and three people; ``fan`` grades version b too high by ``bias``."""
    rng = np.random.default_rng(seed)
    version = np.arange(n) % 3
    truth = np.clip(np.round(2.7 + apart * version + rng.normal(0, 1.1, n)), 1, 5)

    def grade(spread, shift=0.0, slope=1.0):
        return np.clip(np.round(3 + slope * (truth - 3) + shift + rng.normal(0, spread, n)), 1, 5).astype(int)

    said = {"fair": grade(0.5), "squeeze": grade(0.5, slope=0.5), "fan": grade(0.7, np.where(version == 1, bias, 0))}
    judges = pd.DataFrame(said).assign(task=np.arange(n), version=VERSIONS[version])
    judges = judges.melt(["task", "version"], var_name="worker", value_name="label")
    some = rng.choice(n, n_people, replace=False)
    people = [pd.DataFrame({"task": some, "worker": name, "label": grade(0.4)[some]}) for name in ("ann", "bob", "cai")]
    return judges, pd.concat(people), truth, version


def measured(judges, truth, version, labelled, form):
    answers = read_answers(judges[["task", "worker", "label"]])
    number = answers.tasks.astype(int)
    known = np.where(labelled[number], np.searchsorted(answers.classes, truth[number]), -1)
    options = {"against": "people", "groups": (version[number], VERSIONS)}
    return form(answers, answers.shares(), known, options)


def shift_changes(answers, posteriors, known, options):
    return shifts_of(answers, posteriors, known, answers.classes.astype(float), **options)[1]


def class_changes(answers, posteriors, known, options):
    return biases_of(answers, posteriors, known, **options).changes


@pytest.mark.parametrize("form", [shift_changes, class_changes])
def test_versions_of_different_quality_make_no_leaning(form):
    alarms = 0
    for seed in range(20):
        judges, _, truth, version = graded(seed, bias=0, apart=1.0)
        labelled = np.random.default_rng(seed).random(len(truth)) < 0.4
        alarms += measured(judges, truth, version, labelled, form)["certain"].any()
    assert alarms <= 3  # 0.95 of them should have none


def test_a_judge_who_grades_a_version_too_high_is_found():
    for seed in range(10):
        judges, _, truth, version = graded(seed, bias=0.8)
        labelled = np.random.default_rng(seed).random(len(truth)) < 0.4
        found = measured(judges, truth, version, labelled, shift_changes)
        sure = found[found["certain"] & (found["worker"] == "fan")]
        assert {(row["first"], row["second"]): row["change"] > 0 for row in sure.to_dict("records")} == {
            ("a", "b"): True,
            ("b", "c"): False,
        }


def test_with_all_labels_known_a_shift_of_a_version_is_a_difference_of_means():
    judges, _, truth, version = graded(0, bias=0.8)
    answers = read_answers(judges[["task", "worker", "label"]])
    number = answers.tasks.astype(int)
    known = np.searchsorted(answers.classes, truth[number])
    options = {"against": "gold labels", "groups": (version[number], VERSIONS)}
    found, _ = shifts_of(answers, answers.shares(), known, answers.classes.astype(float), **options)
    for row in found[found["group"] != "all tasks"].to_dict("records"):
        own = judges[(judges["worker"] == row["worker"]) & (judges["version"] == row["group"])]
        assert_allclose(row["shift"], (own["label"] - truth[own["task"]]).mean(), atol=1e-9)


@pytest.mark.parametrize("positive", [None, [4, 5]])
def test_an_evaluation_names_a_judge_who_grades_a_version_too_high(positive, tmp_path):
    judges, people, truth, _ = graded(1, bias=0.8)
    gold = dict(enumerate(truth[:60].astype(int)))
    with warnings.catch_warnings(action="ignore"):
        found = evaluate(judges, people, gold=gold, ordinal=True, by="version", positive=positive)
        plain = evaluate(judges, people, gold=gold, ordinal=True, positive=positive)
    decision = found.decision()[-2]
    assert "; fan leans to higher grades in b than in " in decision
    assert decision.count("leans") == 1
    assert "fan leans to higher grades in b than in " in " ".join(found.words())
    assert "leans to higher grades in b than in " in flaws(found, ["fan", "fair"])["fan"]
    assert "leans" not in flaws(found, ["fair"]).get("fair", "")
    shifts = found.biases_by_people.shifts.query("worker == 'fan'").set_index("group")["shift"]
    assert list(shifts.index) == ["all tasks", "a", "b", "c"]
    assert shifts["b"] > shifts["all tasks"] > shifts["a"]
    facts = _facts(found)["biases_by_people"]
    assert {row["group"] for row in facts["shifts"]} == {"all tasks", "a", "b", "c"}
    assert any(row["certain"] and row["worker"] == "fan" for row in facts["shift_changes"])
    write_report(found, tmp_path / "report.html")
    assert "leans to higher grades in b" in (tmp_path / "report.html").read_text("utf-8")
    assert "How much too high grades are by group" in (tmp_path / "report.html").read_text("utf-8")
    assert "small if there is a shift" in (tmp_path / "report.html").read_text("utf-8")
    assert "leans" not in " ".join(plain.decision())
    assert len(plain.biases.shift_changes) == 0
