"""Names of workers as files have them: several spellings of one judge or person."""

import html
import json
import time
import warnings

import numpy as np
import pandas as pd
import pytest

from rectifact import DawidSkene, agreement, rate
from rectifact.core.errors import FitWarning
from rectifact.crowd import read_answers
from rectifact.crowd.data.workers import one_name_each
from rectifact.datasets import make_crowd

JUDGES = ["gpt-4o", "claude-sonnet", "gemini", "llama"]


def panel(n=120, seed=0):
    """Four judges and two people who are right in 85 % of the tasks, one row per answer."""
    rng = np.random.default_rng(seed)
    truth = rng.random(n) < 0.6
    rows = []
    for name in [*JUDGES, "Ann Lee", "bob"]:
        said = np.where(truth == (rng.random(n) < 0.85), "pass", "fail")
        rows += [(f"t{i}", name, said[i]) for i in range(n)]
    return pd.DataFrame(rows, columns=["task", "worker", "label"])


@pytest.fixture(scope="module")
def tidy():
    return panel()


@pytest.fixture(scope="module")
def untidy(tidy):
    """The same, with a second spelling of two judges and of a person in 30 % of their rows."""
    table = tidy.copy()
    rare = np.random.default_rng(1).random(len(table)) < 0.3
    for name, other in {"gpt-4o": "GPT-4o", "claude-sonnet": "claude-sonnet ", "Ann Lee": "ann  lee"}.items():
        table.loc[rare & (table["worker"] == name), "worker"] = other
    return table


def test_spellings_of_a_name_are_one_worker(tidy, untidy):
    with pytest.warns(FitWarning, match=r"count as one: 'GPT-4o' as 'gpt-4o'; 'claude-sonnet ' as") as caught:
        found = DawidSkene().fit(untidy)
    assert found.workers_.tolist() == tidy["worker"].unique().tolist()
    np.testing.assert_allclose(found.probas_, DawidSkene().fit(tidy).probas_)
    said = next(str(w.message) for w in caught if "count as one" in str(w.message))
    assert f"({(untidy['worker'] != tidy['worker']).sum()} answers)" in said


def test_workers_who_answered_the_same_task_are_different(tidy):
    table = tidy.copy()
    table["worker"] = table["worker"].replace({"gemini": "GPT-4o"})
    with pytest.warns(FitWarning, match=r"'gpt-4o' and 'GPT-4o'\. They count as different workers, as 120 tasks were"):
        found = read_answers(table)
    assert {"GPT-4o", "gpt-4o"} <= set(found.workers)


def test_names_that_differ_in_spaces_alone_are_one_worker_who_answered_again(tidy):
    """Also where they share tasks; another case, which shares tasks too, stays another worker."""
    again = tidy[tidy["worker"] == "gpt-4o"].head(12).assign(worker="gpt-4o ")
    with pytest.warns(FitWarning, match=r"count as one: 'gpt-4o ' as 'gpt-4o' \(12 answers\)"):
        found = read_answers(pd.concat([tidy, again]))
    assert found.workers.tolist() == tidy["worker"].unique().tolist()
    assert len(found) == len(tidy) + 12
    assert "repeated answers" in DawidSkene().fit(found).diagnose()["finding"].tolist()
    with pytest.warns(FitWarning) as caught:
        panel = agreement(pd.concat([tidy, again]), n_resamples=20)
    assert any("12 repeated answers of a worker to the same task were left out" in str(each.message) for each in caught)
    pd.testing.assert_frame_equal(panel.table(), agreement(tidy, n_resamples=20).table())
    other = tidy[tidy["worker"] == "gpt-4o"].head(30).assign(worker="GPT-4o")
    with pytest.warns(FitWarning) as caught:
        found = read_answers(pd.concat([tidy, again, other]))
    said = " ".join(str(each.message) for each in caught)
    assert "count as one: 'gpt-4o ' as 'gpt-4o' (12 answers)" in said
    assert "'gpt-4o' and 'GPT-4o'. They count as different workers, as 30 tasks were" in said
    assert set(found.workers) == {*tidy["worker"], "GPT-4o"}


def test_columns_of_a_wide_table_are_different_workers_if_they_share_tasks():
    table = pd.DataFrame({"task": list("abcd"), "gpt": list("yyny"), "GPT": list("ynny"), "ann": list("yyyn")})
    with pytest.warns(FitWarning, match="4 tasks were"):
        assert len(read_answers(table, wide=True).workers) == 3


def test_numbers_are_never_spellings_of_each_other():
    table = pd.DataFrame({"task": [1, 1, 2, 2], "worker": [1, 2, 1, 3], "label": [0, 1, 1, 0]})
    with warnings.catch_warnings(action="error"):
        assert len(read_answers(table).workers) == 3
        assert len(read_answers(table.astype(str).replace({"worker": {"3": "03"}})).workers) == 3


def test_many_names_cost_little():
    workers = np.array([str(i) for i in range(1_000_000)], dtype=object)
    answers = read_answers(np.array([[1, 2], [2, 1]]))
    answers = type(answers)(answers.task, answers.worker, answers.label, answers.tasks, workers, answers.classes)
    started = time.perf_counter()
    assert one_name_each(answers) is answers
    assert time.perf_counter() - started < 1.0


def test_it_holds_for_agreement_rates_and_new_answers(tidy, untidy):
    with pytest.warns(FitWarning, match="count as one"):
        found = agreement(untidy, people=["ann LEE", "bob"], n_resamples=20)
    assert set(found.workers["worker"]) == set(tidy["worker"])
    gold = tidy[tidy["worker"] == "bob"].set_index("task")["label"][:30]
    with pytest.warns(FitWarning, match="count as one"):
        rates = rate(untidy, gold, positive="pass")
    assert rates.rates["rate"].tolist() == rate(tidy, gold, positive="pass").rates["rate"].tolist()
    fitted = DawidSkene().fit(tidy)
    more = pd.DataFrame({"task": ["new", "new"], "worker": ["GPT-4o", "BOB"], "label": ["pass", "pass"]})
    assert fitted.predict(more).tolist() == ["pass"]
    with pytest.warns(FitWarning, match="'GPT-4o' as 'gpt-4o'"):
        assert fitted.partial_fit(more).workers_.tolist() == tidy["worker"].unique().tolist()


def test_the_commands_say_so_and_people_are_found_under_any_spelling(untidy, tmp_path, run):
    untidy.to_csv(tmp_path / "v.csv", index=False)
    said = run("evaluate", tmp_path / "v.csv", "--people", "ANN LEE,bob", "--positive", "pass", "--json")
    facts = json.loads(said.out)
    assert (facts["judges"], facts["people"]) == (4, 2)
    assert "'ann  lee' as 'Ann Lee'" in said.err
    (tmp_path / "costs.csv").write_text("worker,cost\nGPT-4O,1\nbob,2\n")
    said = run("labels", tmp_path / "v.csv", "-o", tmp_path / "l.csv", "--costs", tmp_path / "costs.csv")
    assert "from 6 workers" in said.err


def test_a_column_of_kinds_or_groups_may_have_any_spelling(untidy, tmp_path, run):
    table = untidy.assign(kind=np.where(untidy["worker"].isin(["Ann Lee", "ann  lee", "bob"]), "human", "model"))
    table.to_csv(tmp_path / "v.csv", index=False)
    said = run("evaluate", tmp_path / "v.csv", "--people", "kind", "--positive", "pass", "--json")
    assert json.loads(said.out)["people"] == 2
    assert "gave no answer" not in run("labels", tmp_path / "v.csv", "-o", tmp_path / "l.csv", "--groups", "kind").err


def test_the_report_of_labels_says_which_spellings_were_merged(run, tmp_path):
    answers = make_crowd(40, 4, 2, labels_per_task=4).answers
    late = (answers["worker"] == 1) & (answers["task"] >= 20)
    answers.assign(worker="w" + answers["worker"].astype(str)).assign(
        worker=lambda table: table["worker"].mask(late, "W1 ")
    ).to_csv(tmp_path / "answers.csv", index=False)
    run("labels", tmp_path / "answers.csv", "-o", tmp_path / "l.csv", "--report", tmp_path / "r.html")
    page = html.unescape((tmp_path / "r.html").read_text())
    assert "count as one: 'W1 ' as 'w1' (20 answers)" in page
