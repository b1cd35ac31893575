"""Names of tasks as files have them: several spellings of one task."""

import warnings

import numpy as np
import pandas as pd
import pytest

from rectifact import DawidSkene, agreement, evaluate, rate
from rectifact.core.errors import FitWarning
from rectifact.crowd import read_answers

N_TASKS = 120


@pytest.fixture(scope="module")
def tidy():
    """Four judges and two people who are right in 85 % of the tasks, one row per answer."""
    rng = np.random.default_rng(0)
    truth = rng.random(N_TASKS) < 0.6
    rows = []
    for name in ["gpt", "claude", "gemini", "llama", "ann", "bob"]:
        said = np.where(truth == (rng.random(N_TASKS) < 0.85), "pass", "fail")
        rows += [(f"out-{i:04}", name, said[i]) for i in range(N_TASKS)]
    return pd.DataFrame(rows, columns=["task", "worker", "label"])


def halves(table):
    """Answers of judges and of people."""
    is_person = table["worker"].isin(["ann", "bob"])
    return table[~is_person], table[is_person].reset_index(drop=True)


def noted(ask):
    """What a call returns, and its warnings in one text."""
    with warnings.catch_warnings(record=True, action="always") as caught:
        found = ask()
    return found, " ".join(str(warning.message) for warning in caught)


def respelt(table, how, share=0.3, seed=1):
    rare = np.random.default_rng(seed).random(len(table)) < share
    return table.assign(task=table["task"].where(~rare, table["task"].map(how)))


SPELLINGS = [lambda name: f"{name} ", str.upper, lambda name: name.replace("-", "_"), lambda name: f" {name.title()}"]


@pytest.mark.parametrize("how", SPELLINGS)
def test_spellings_of_a_task_are_one_task(tidy, how):
    with pytest.warns(FitWarning, match="names of tasks differ from another only in spaces, case, hyphens or"):
        found = DawidSkene().fit(respelt(tidy, how))
    clean = DawidSkene().fit(tidy)
    assert len(found.result()) == N_TASKS
    assert sorted(found.probas_[:, 0]) == pytest.approx(sorted(clean.probas_[:, 0]), abs=1e-6)


@pytest.mark.parametrize("how", SPELLINGS)
@pytest.mark.parametrize("share", [0.3, 1.0])
def test_people_who_spell_tasks_in_another_way_answer_the_same_tasks(tidy, how, share):
    judges, people = halves(tidy)
    found, said = noted(lambda: agreement(judges, humans=respelt(people, how, share), random_state=0))
    assert "count as the same task" in said
    assert len(found.overall) > 2
    pd.testing.assert_frame_equal(found.overall, agreement(judges, humans=people, random_state=0).overall)


def test_a_judge_in_capitals_is_compared_with_the_others(tidy):
    loud = tidy.assign(task=tidy["task"].where(tidy["worker"] != "gpt", tidy["task"].str.upper()))
    with pytest.warns(FitWarning, match="120 names of tasks differ.*: 'OUT-0000', for instance, as 'out-0000'"):
        assert len(read_answers(loud).tasks) == N_TASKS


def test_gold_labels_and_groups_are_found_under_other_spellings(tidy):
    gold = tidy[tidy["worker"] == "ann"][["task", "label"]].iloc[:60]
    judges, groups = halves(tidy)[0], {f"OUT-{i:04}": "AB"[i % 2] for i in range(N_TASKS)}
    strange = respelt(gold, str.upper)
    found, said = noted(lambda: evaluate(judges, gold=strange, positive="pass", by=groups))
    assert "count as the same task" in said
    assert "left out" not in said
    assert found.audit.n_gold == 60
    assert found.rates.rates["tasks"].tolist() == [120, 60, 60]
    assert noted(lambda: rate(judges, strange, "pass"))[0].rates["labels"].iloc[0] == 60
    fitted, said = noted(lambda: DawidSkene().fit(judges, gold=strange))
    assert "count as the same task" in said
    np.testing.assert_allclose(fitted.probas_, DawidSkene().fit(judges, gold=gold).probas_)


@pytest.mark.parametrize("other", [str.upper, lambda name: name.replace("-", "_")])
def test_tasks_that_a_worker_tells_apart_stay_apart(tidy, other):
    """Even where one judge alone has answered both, case or hyphens have a meaning in all names."""
    twice = tidy[(tidy["worker"] == "gpt") & (tidy["task"] < "out-0003")]
    strange = respelt(tidy[tidy["worker"] != "gpt"], other)
    table = pd.concat([tidy[tidy["worker"] == "gpt"], twice.assign(task=twice["task"].map(other)), strange])
    with warnings.catch_warnings(action="ignore"):
        assert len(read_answers(table).tasks) == table["task"].nunique() > N_TASKS


@pytest.mark.parametrize(
    "names",
    [
        [f"out-{i}" for i in range(40)],
        [-1, 1, 2, 12, 102],
        ["-1", "1", "1-2", "12", "1 0", "10"],
        ["aBcD", "AbCd", "abcE", "q"],
        ["a--b", "a-b", "ab"],
    ],
)
def test_names_of_different_tasks_stay_as_they_are(names):
    rows = [(name, f"w{i % 7}{j}", (i + j) % 2) for i, name in enumerate(names) for j in range(3)]
    with warnings.catch_warnings(action="error", category=FitWarning):
        found = read_answers(pd.DataFrame(rows, columns=["task", "worker", "label"]))
    assert found.tasks.tolist() == names


def test_tasks_that_nobody_judged_are_counted(tidy):
    judges, people = halves(tidy)
    strange = respelt(people, lambda name: f"zz{name}")
    n_lost = strange.loc[strange["task"].str.startswith("zz"), "task"].nunique()
    expected = f"No judge answered {n_lost} of the {strange['task'].nunique()} tasks that people answered; one is "
    assert expected in noted(lambda: evaluate(judges, strange, positive="pass"))[1]
    gold = respelt(people[people["worker"] == "ann"][["task", "label"]], lambda name: f"zz{name}")
    for ask in (
        lambda: evaluate(judges, gold=gold, positive="pass"),
        lambda: rate(judges, gold, "pass"),
        lambda: DawidSkene().fit(judges, gold=gold),
    ):
        assert "gold labels of tasks that nobody answered were left out, of 120; one is of task 'zz" in noted(ask)[1]
