"""Plans in reports: the page shows the plan that was written, with its prices and within its budget."""

import re

import numpy as np
import pandas as pd
import pytest

from rectifact import DawidSkene
from rectifact.cli.plans import Planning
from rectifact.core.errors import FitWarning, InputError
from rectifact.datasets import make_crowd
from rectifact.report import report_of
from rectifact.report.labels import MOST_PLANNED, plan_blocks

PRICES = {"ann": 4.0, "bob": 2.0, "gpt": 0.02}


@pytest.fixture(scope="module")
def answers():
    crowd = make_crowd(150, 5, 2, labels_per_task=3, accuracy=(0.65, 0.85), random_state=0)
    names, labels = ["ann", "bob", "gpt", "llama", "qwen"], ["fail", "pass"]
    return crowd.answers.assign(
        worker=[names[worker] for worker in crowd.answers["worker"]],
        label=[labels[label] for label in crowd.answers["label"]],
    )


@pytest.fixture
def files(answers, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    answers.to_csv("answers.csv", index=False)
    pd.Series(PRICES).rename_axis("worker").rename("cost").reset_index().to_csv("costs.csv", index=False)
    return tmp_path


def shown(monkeypatch, module):
    """The tables of next labels that are put into pages."""
    tables, drawn = [], module.plan_blocks

    def spied(*given, **more):
        blocks = drawn(*given, **more)
        tables.append(blocks[0])
        return blocks

    monkeypatch.setattr(module, "plan_blocks", spied)
    return tables


@pytest.mark.parametrize("command", ["labels", "evaluate"])
def test_a_report_shows_the_plan_that_was_written(run, files, monkeypatch, command):
    from rectifact.report import evaluation, labels

    tables = shown(monkeypatch, labels if command == "labels" else evaluation)
    people = ("--people", "ann,bob") if command == "evaluate" else ("-o", "labels.csv")
    given = (command, "answers.csv", *people, "--costs", "costs.csv", "--report", "report.html")
    run(*given, "--budget", "20", "--plan", "plan.csv")
    plan, table = pd.read_csv("plan.csv"), tables[-1]
    assert plan["spent"].iloc[-1] <= 20
    names = [column.name for column in table.columns]
    assert names == ["task", "ask", "cost", "spent", "gain", "error"]
    assert [row[:2] for row in table.rows] == plan[["task", "worker"]].astype(str).to_numpy().tolist()
    np.testing.assert_allclose([row[2:4] for row in table.rows], plan[["cost", "spent"]], atol=1e-4)
    run(*given)
    assert {row[1] for row in tables[-1].rows} <= set(PRICES)
    assert len(tables[-1].rows) > len(plan)


def test_without_prices_a_plan_has_no_columns_of_money(answers):
    model = DawidSkene().fit(answers)
    table = plan_blocks(model, None, ["ann"])[0]
    assert [column.name for column in table.columns] == ["task", "ask", "gain", "error"]
    plan = pd.concat([model.next_labels(50, workers=["ann"])] * 40).head(MOST_PLANNED + 5)
    section = report_of(model, plan=plan).sections[-1]
    assert len(section.blocks[0].rows) == MOST_PLANNED
    assert section.blocks[0].note == f"The first {MOST_PLANNED} of {len(plan):,} answers of the plan."
    assert Planning(None).table(model) is None


@pytest.fixture
def all_answered(files):
    """Three workers, each of whom has answered every task."""
    answers = make_crowd(80, 3, 2, labels_per_task=3, accuracy=(0.7, 0.8), random_state=1).answers
    answers.assign(worker=answers["worker"].map({0: "ann", 1: "bob", 2: "gpt"})).to_csv("all.csv", index=False)


@pytest.mark.parametrize(
    ("command", "remedy"),
    [
        ("labels all.csv -o l.csv --plan p.csv", "let somebody new answer these tasks"),
        ("labels all.csv -o l.csv --plan p.csv --ask ann", "Let others answer the tasks with the lowest confidence"),
        ("evaluate all.csv --people ann,bob --plan p.csv", "Let others answer the tasks with the lowest confidence"),
    ],
)
def test_a_plan_with_nobody_to_ask_says_what_to_do(run, all_answered, command, remedy):
    said = " ".join(run(*command.split()).err.split())
    assert said.count(remedy) == 1
    assert "hardly expected to change" not in said
    assert "FitWarning" not in run(*command.split(), "--report", "r.html").err
    assert run("-q", *command.split()).err == ""


def test_nobody_who_may_be_asked_has_a_price(run, files):
    error = run("labels", "answers.csv", "--plan", "p.csv", "--ask", "qwen", "--costs", "costs.csv", expect=2).err
    assert "None of those who may be asked has a price. Add one of them to the --costs file." in " ".join(error.split())


def test_in_python_an_empty_plan_warns(answers):
    model = DawidSkene().fit(answers)
    with pytest.raises(InputError, match="nobody who could be asked"):
        model.next_labels(5, workers=[])
    full = DawidSkene().fit(make_crowd(80, 3, 2, labels_per_task=3, random_state=1).answers)
    with pytest.warns(FitWarning, match="fit again with their answers"):
        assert not len(full.next_labels(5, workers=[0]))


def test_a_plan_goes_by_gold_labels_that_dispute_the_confidence(run, files):
    """What is planned is then what it is with --calibrate, which changes the confidence of the labels as well."""
    rng = np.random.default_rng(0)
    crowd = make_crowd(300, 6, 3, labels_per_task=3, accuracy=(0.7, 0.9), random_state=2)
    crowd.answers.to_csv("answers.csv", index=False)
    truth = crowd.truth.copy()
    odd = rng.random(len(truth)) < 0.3  # on which all workers err alike
    truth[odd] = (truth[odd] + 1) % 3
    given = ("labels", "answers.csv", "-o", "labels.csv", "--gold", "gold.csv", "--target", "0.05")
    note, promise = "do not bear out the confidence of the labels, so planning goes by", "now, by the gold labels)"
    sizes = {}
    for name, gold in (("right", crowd.truth), ("disputed", truth)):
        gold.rename("label").rename_axis("task")[:80].to_csv("gold.csv")
        said = run(*given, "--plan", "plan.csv").err
        assert (note in said) == (promise in said) == (name == "disputed")
        sizes[name] = len(pd.read_csv("plan.csv"))
        needed = run(*given).err
        assert (note in needed) == (name == "disputed")
    confidence = pd.read_csv("labels.csv")["confidence"]
    calibrated = run(*given, "--plan", "calibrated.csv", "--calibrate").err
    assert note not in calibrated
    assert promise in calibrated
    assert pd.read_csv("labels.csv")["confidence"].mean() < confidence.mean() - 0.05  # which the plan has left alone
    pd.testing.assert_frame_equal(pd.read_csv("plan.csv"), pd.read_csv("calibrated.csv"))
    assert sizes["disputed"] > sizes["right"] + 20
    truth[odd].rename("label").rename_axis("task")[:5].to_csv("gold.csv")
    said = run(*given, "--plan", "plan.csv").err
    assert "so that the plan promises too much. Give at least 10 gold labels, better 100, with --calibrate." in said


def test_a_plan_beside_gold_labels_says_by_what_it_expects_errors(run, files):
    """The model alone, where they do not dispute it, with the option that goes by them; few are not enough for it."""
    crowd = make_crowd(300, 6, 3, labels_per_task=3, accuracy=(0.7, 0.9), random_state=2)
    crowd.answers.to_csv("answers.csv", index=False)
    plan = ("labels", "answers.csv", "-o", "labels.csv", "--target", "0.05", "--plan", "plan.csv")
    said = {0: run(*plan).err}
    for n in (5, 80):
        crowd.truth.rename("label").rename_axis("task")[:n].to_csv("gold.csv")
        said[n] = run(*plan, "--gold", "gold.csv").err
    said["calibrated"] = run(*plan, "--gold", "gold.csv", "--calibrate").err
    ends = {n: re.search(r"% now(.*?)\)", " ".join(words.split())).group(1) for n, words in said.items()}
    model = ", by the model"
    assert ends == {
        0: "",
        5: model,
        80: f"{model}; add --calibrate to go by the gold labels",
        "calibrated": ", by the gold labels",
    }
