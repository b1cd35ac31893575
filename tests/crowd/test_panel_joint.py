"""The joint label of all judges has the flaws that they share."""

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from rectifact import evaluate
from rectifact.crowd.panel_choice import with_reservations
from rectifact.crowd.panel_misses import missed_together
from rectifact.crowd.panel_replacement import TOGETHER
from rectifact.crowd.replacement import FAILS, MAY, PASSES, RESERVED, RULED_OUT, TOO_FEW

JUDGES = {"a": 0.12, "b": 0.12, "c": 0.14, "d": 0.14, "e": 0.16}
PEOPLE = {"ann": 0.06, "bob": 0.08, "cai": 0.1}


def verdicts(seed: int, lean: float = 0.0, lenient: float = 0.0, n: int = 500):
    """Judges who pass wrong answers more often in v2, or everywhere; people who do not; and gold labels."""
    rng = np.random.default_rng(seed)
    truth, version = rng.random(n) < 0.55, np.where(np.arange(n) % 2, "v2", "v1")
    tasks = np.arange(n)

    def table(errors, some, worse):
        said = {who: truth ^ (rng.random(n) < error + worse * ~truth) for who, error in errors.items()}
        parts = [pd.DataFrame({"task": tasks, "judge": who, "passed": np.where(x, "pass", "fail")})[some]
                 for who, x in said.items()]  # fmt: skip
        return pd.concat(parts, ignore_index=True)

    judges = table(JUDGES, tasks >= 0, lenient + lean * (version == "v2")).assign(version=lambda x: version[x["task"]])
    people = table(PEOPLE, rng.permutation(n) < 220, np.zeros(n))
    gold = pd.Series(np.where(truth, "pass", "fail")).sample(100, random_state=seed)
    return judges, people, gold


def decided(judges, people, gold):
    with warnings.catch_warnings(action="ignore"):
        found = evaluate(judges, people, gold=gold, by="version", positive="pass")
    return found, found.replacement.judges.set_index("judge").loc[TOGETHER]


@pytest.mark.parametrize("with_gold", [True, False])
def test_a_joint_label_that_leans_as_all_judges_do_has_a_reservation(with_gold):
    judges, people, gold = verdicts(0, lean=0.3)
    found, joint = decided(judges, people, gold if with_gold else None)
    assert joint["decision"] == RESERVED
    assert "leans to pass more in v2 than in v1" in joint["reservation"]
    assert not any("the joint label of all judges may replace" in words for words in found.decision())
    assert any("the joint label of all judges leans" in words or "the joint label of all judges says" in words
               for words in found.words())  # fmt: skip


def test_a_joint_label_of_fair_judges_has_none():
    _, joint = decided(*verdicts(0))
    assert (joint["decision"], joint["reservation"]) == (MAY, "")


@pytest.mark.parametrize(("decision", "expected"), [(PASSES, RULED_OUT), (TOO_FEW, RULED_OUT), (FAILS, FAILS)])
def test_a_joint_label_with_a_bias_beyond_epsilon_is_ruled_out(decision, expected):
    found, _ = decided(*verdicts(1, lenient=0.6))
    judges = found.replacement.judges.assign(decision=FAILS)
    judges.loc[judges["judge"] == TOGETHER, "decision"] = decision
    one = replace(found, replacement=replace(found.replacement, judges=judges))
    one = replace(one, replacement=with_reservations(one))
    joint = one.replacement.judges.set_index("judge").loc[TOGETHER]
    assert joint["decision"] == expected
    assert ("says pass" in joint["reservation"]) == (expected == RULED_OUT)
    said = " ".join(one.decision())
    assert "the joint label of all judges may replace" not in said
    assert ("the joint label of all judges is ruled out by certain flaws" in said) == (expected == RULED_OUT)


def test_classes_that_the_joint_label_misses_are_told_by_gold_labels():
    judges, people, gold = verdicts(2, lenient=0.5)
    found, _ = decided(judges, people, gold)
    share = (found.replacement.together[found.truth == 0] == 1).mean()  # of the answers that fail
    assert f"misses {share:.0%} of the tasks that are fail" in missed_together(found)
    assert missed_together(replace(found, reference="people")) == ""


@pytest.mark.parametrize("with_gold", [True, False])
@pytest.mark.parametrize("planned", [True, False])
def test_people_who_answered_tasks_in_doubt_tell_little_about_agreement(with_gold, planned):
    judges, _, gold = verdicts(3)
    truth = pd.Series(evaluate(judges).model.labels_).to_numpy()
    votes = judges.assign(passed=judges["passed"] == "pass").groupby("task")["passed"].mean()
    rng = np.random.default_rng(0)
    doubt = (votes - 0.5).abs().sort_values(kind="stable").index[:150].to_numpy()
    some = doubt if planned else rng.permutation(len(votes))[:150]
    said = {who: np.where(rng.random(150) < error, "fail", truth[some]) for who, error in PEOPLE.items()}
    people = pd.concat([pd.DataFrame({"task": some, "judge": who, "passed": x}) for who, x in said.items()])
    found, _ = decided(judges, people, gold if with_gold else None)
    first = " ".join(found.decision()[:2])
    cautious = "agreement with people, or on who may replace them" in first
    assert cautious == planned
    assert ("more often in doubt than others" in first) == planned
    if with_gold:
        assert any("tasks of people that look selected" in step.finding for step in found.next_steps()) == planned
        assert "so that the rate leans" not in first
