"""rectifact evaluate: from files as teams have them to a decision that is true of how the files were made."""

import json
import signal
import subprocess
import sys
import time
import warnings
from dataclasses import replace
from html import unescape
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from rectifact import evaluate
from rectifact.crowd.panel_accuracy import judges_compared
from rectifact.crowd.panel_replacement import TOGETHER
from rectifact.crowd.panel_words import decision_words
from rectifact.crowd.replacement import MAY, RESERVED
from rectifact.report import render
from rectifact.report.evaluation import evaluation_reports

TWINS = {"llama-a", "llama-b"}
PEOPLE = {"ann": 0.95, "bob": 0.92, "cai": 0.9}


def planted(seed, n=400, n_gold=60):
    """Five judges, two of them twins and one lenient, three people with gaps, and gold labels of random items."""
    rng = np.random.default_rng(seed)
    version = np.where(np.arange(n) % 2, "v2", "v1")
    passed = rng.random(n) < np.where(version == "v1", 0.4, 0.7)

    def said(accuracy, lenient=0.0):
        flipped = rng.random(n) > accuracy
        return (passed ^ flipped) | (rng.random(n) < lenient)

    twin = said(0.8)
    verdicts = {"gpt": said(0.9), "llama-a": twin, "llama-b": np.where(rng.random(n) < 0.98, twin, ~twin)}
    verdicts |= {"qwen": said(0.85), "lax": said(0.9, lenient=0.6)}
    items = np.array([f"item{i:03d}" for i in range(n)])
    words = np.array(["fail", "pass"])
    beside = {"version": version, "prompt": [f"Question {i}?" for i in range(n)]}
    judges = [
        pd.DataFrame({"item": items, "judge": name, "verdict": words[answer.astype(int)], **beside})
        for name, answer in verdicts.items()
    ]
    people = []
    for name, accuracy in PEOPLE.items():
        answered = rng.random(n) < 0.5
        answer = words[said(accuracy).astype(int)]
        people.append(pd.DataFrame({"item": items, "person": name, "verdict": answer})[answered])
    known = rng.permutation(n)[:n_gold]
    gold = pd.DataFrame({"item": items, "verdict": words[passed.astype(int)]}).iloc[known]
    return pd.concat(judges, ignore_index=True), pd.concat(people, ignore_index=True), gold, passed


@pytest.fixture(scope="module")
def made():
    return planted(0)


@pytest.fixture
def files(made, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, table in zip(("verdicts", "people", "gold"), made, strict=False):
        table.to_csv(tmp_path / f"{name}.csv", index=False)
    return tmp_path


@pytest.fixture(scope="module")
def found(made):
    judges, people, gold, _ = made
    return evaluate(judges, people, gold=gold, positive="pass", by="version", text_column="prompt")


def test_one_command_from_files_to_a_decision(run, files, found):
    given = ("verdicts.csv", "--humans", "people.csv", "--gold", "gold.csv", "--positive", "pass", "--by", "version")
    wanted = ("-o", "labels.csv", "--workers", "workers.csv", "--plan", "plan.csv", "--report", "report.html")
    said = run("evaluate", *given, *wanted, "--text-column", "prompt", "--probabilities")
    lines = [line.strip() for line in said.out.splitlines()]
    assert lines[0] == "Decision"
    assert lines[1 : 1 + len(decision_words(found))] == decision_words(found)
    assert all(sentence in lines for sentence in found.words()[1:])
    labels = pd.read_csv(files / "labels.csv")
    assert labels.columns[-2:].tolist() == ["probability_fail", "probability_pass"]
    np.testing.assert_allclose(labels["probability_pass"], found.model.probas_[:, 1])
    assert pd.read_csv(files / "workers.csv").query("kind == 'person'")["worker"].tolist() == list(PEOPLE)
    assert set(pd.read_csv(files / "plan.csv")["worker"]) <= set(PEOPLE)  # people are asked
    page = (files / "report.html").read_text()
    assert all(title in page for title in ("Whom to trust", "Gold audit", "Tasks in doubt", "What to do next"))
    assert "Question 7?" in page


def test_everything_said_is_true_of_how_the_files_were_made():
    covered, claims = [], []
    for seed in range(1, 5):
        judges, people, gold, passed = planted(seed)
        found = evaluate(judges, people, gold=gold, positive="pass", by="version")
        assert [{pair.one, pair.other} for pair in found.pairs if pair.twins] == [TWINS]
        truth = [0.55, 0.4, 0.7]
        rates = found.rates.rates
        covered += ((rates["low"] <= truth) & (truth <= rates["high"])).tolist()
        difference = found.rates.differences.iloc[0]
        covered.append(difference["low"] <= 0.3 <= difference["high"])
        sure = found.biases.table.query("certain and group == 'all tasks'")
        claims += [(row.worker, bool(row.bias > 0)) for row in sure.itertuples()]
        right = (found.model.labels_ == np.where(passed, "pass", "fail")).mean()
        assert right > 0.93
        assert abs(found.model.probas_.max(axis=1).mean() - right) < 0.04
        assert found.audit.low <= right <= 1
        decisions = found.replacement.judges.set_index("judge")["decision"]
        assert decisions["gpt"] == "may replace"
    assert np.mean(covered) > 0.85
    assert ("lax", True) in claims
    assert all(lenient for worker, lenient in claims if worker == "lax")


def test_a_lenient_judge_is_named_with_an_interval(found):
    (sentence,) = [words for words in found.biases.words() if words.startswith("lax says pass")]
    row = found.biases.table.query("worker == 'lax' and group == 'all tasks'").iloc[0]
    assert f"{100 * row['bias']:.1f} points too often (95% interval {100 * row['low']:.1f} to " in sentence
    passed = 0.55
    says = 1 - (1 - (0.9 * passed + 0.1 * (1 - passed))) * 0.4  # right nine times in ten, and lenient beyond that
    assert row["low"] <= says - passed <= row["high"]


def test_the_report_begins_with_the_decision(found):
    report = evaluation_reports(found)[0]
    first = report.sections[0]
    assert first.title == "Decision"
    assert report.main == decision_words(found)
    titles = [block.title for section in report.sections for block in section.blocks if hasattr(block, "title")]
    for title in (
        "Share of pass",
        "Accuracy",
        "Agreement beyond what the model expects, in points",
        "How much too often pass is said",
        "Next labels",
    ):
        assert title in titles
    assert "llama-a" in render(evaluation_reports(found), "page")


def test_people_in_the_same_file_and_column_by_column(run, files, made, found):
    judges, people, gold, _ = made
    people = people.rename(columns={"person": "judge"})
    both = pd.concat([judges.assign(kind="llm"), people.assign(kind="human")], ignore_index=True)
    both.to_json(files / "all.jsonl", orient="records", lines=True)
    both = both.drop(columns=["version", "prompt"]).merge(judges[["item", "version"]].drop_duplicates(), on="item")
    truth = gold.set_index("item")["verdict"]
    both.assign(truth=both["item"].map(truth)).to_csv(files / "all.csv", index=False)
    options = ("--positive", "pass", "--by", "version", "--json")
    by_column = run("evaluate", "all.csv", "--people", "kind", "--gold", "truth", *options)
    assert json.loads(by_column.out)["decision"] == decision_words(found)
    by_name = run("evaluate", "all.csv", "--people", "ann,bob, cai", "--gold", "gold.csv", *options)
    assert json.loads(by_name.out)["decision"] == decision_words(found)
    wide = both.pivot(index="item", columns="judge", values="verdict").reset_index()
    wide = wide.merge(judges[["item", "version"]].drop_duplicates(), on="item")
    wide.assign(truth=wide["item"].map(truth)).to_csv(files / "wide.csv", index=False)
    facts = json.loads(
        run("evaluate", "wide.csv", "--wide", "--people", "ann,bob,cai", "--gold", "truth", *options).out
    )
    assert facts["rates"][0]["rate"] == pytest.approx(found.rates.rates["rate"][0], abs=1e-3)
    assert facts["pairs"][0] | {"shared": 0} == {"one": "llama-a", "other": "llama-b", "shared": 0, "twins": True}
    as_records = run("evaluate", "all.jsonl", "--people", "kind", "--gold", "gold.csv", "--json", "--positive", "pass")
    assert json.loads(as_records.out)["people"] == 3


def test_what_is_not_given_is_said_to_be_unknown(run, files):
    said = run("evaluate", "verdicts.csv", "--positive", "pass", "--report", "report.html")
    assert "nobody knows how far they are right" in said.out
    assert "Let a person label 50 tasks drawn at random, and give the labels as --gold." in said.out
    assert "llama-a and llama-b" in said.out
    assert (files / "report.html").exists()
    assert not list(files.glob("*.rfx"))
    people = run("evaluate", "verdicts.csv", "--humans", "people.csv", "--positive", "pass", "--confidence", "0.9").out
    assert "As people label, the share of pass is" in people
    assert "90% interval" in people
    no_class = run("evaluate", "verdicts.csv", "--gold", "gold.csv", "--json").out
    assert json.loads(no_class)["rates"][0]["group"] == "all tasks"  # pass, of pass and fail, is meant


def test_one_person_is_not_enough_to_test_judges(run, files, made):
    made[1].query("person == 'ann'").to_csv(files / "people.csv", index=False)
    said = run("evaluate", "verdicts.csv", "--humans", "people.csv").out
    assert "two people or more" in said
    assert "Let two or three people answer the same 50 tasks" in said


def test_grades_in_order(run, files):
    rng = np.random.default_rng(0)
    grade = rng.integers(1, 6, 200)
    table = {f"judge{j}": np.clip(grade + rng.integers(-1, 2, 200) * (rng.random(200) < 0.4), 1, 5) for j in range(4)}
    pd.DataFrame({"task": np.arange(200), **table}).to_csv("grades.csv", index=False)
    options = ("--wide", "--ordinal", "--positive", "4", "--positive", "5")
    pd.DataFrame({"task": np.arange(60), "label": grade[:60]}).to_csv("gold.csv", index=False)
    facts = json.loads(run("evaluate", "grades.csv", *options, "--gold", "gold.csv", "-o", "out.csv", "--json").out)
    assert facts["rates"][0]["low"] <= 0.4 <= facts["rates"][0]["high"]
    assert "expected" in pd.read_csv("out.csv").columns


MISTAKES = {
    "misspelt class": (["--gold", "gold.csv", "--positive", "pas"], "--positive pas is not among the classes"),
    "no such group": (["--by", "vesrion"], "--by vesrion is neither a column of the answers nor a file."),
    "no such gold": (["--gold", "nothing.csv"], "--gold nothing.csv is neither a column of the answers nor a file."),
    "unknown tasks": (["--gold", "other.csv"], "No task with a gold label was answered."),
    "judges among people": (["--humans", "mixed.csv"], "'gpt' is among the judges and among the people."),
    "one file twice": (["--humans", "verdicts.csv"], "ANSWERS and --humans are the same file."),
    "unknown people": (["--people", "anna"], "--people names 'anna', who gave no answer"),
    "people twice": (["--people", "gpt", "--humans", "people.csv"], "People are given twice"),
    "all people": (["--people", "gpt,llama-a,llama-b,qwen,lax"], "Leave out --people; rectifact agree"),
    "no such text": (["--text-column", "promt"], "--text-column promt is not a column of the answers."),
    "no such column": (["--label", "verdct"], "'verdct'"),
    "a wrong share": (["--half-width", "5"], "--half-width 5.0 must lie between 0 and 1."),
    "a wrong epsilon without people": (["--epsilon", "-1"], "--epsilon -1.0 must be at least 0 and below 1."),
    "a wrong epsilon": (["--humans", "people.csv", "--epsilon", "3"], "--epsilon 3.0 must be at least 0 and below 1."),
    "an unknown format": (["--format", "excel"], "excel"),
    "budget without plan": (["--budget", "3"], "--budget is for a plan."),
    "ask without plan": (["--ask", "ann"], "--ask is for a plan."),
    "a table name": (["-o", "labels.txt"], "should end in .csv"),
    "overwriting": (["--gold", "gold.csv", "-o", "gold.csv"], "One file is named twice"),
    "order unknown": (["--ordinal"], "The order of labels such as 'fail' is not known. List all classes in order"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_are_one_sentence_and_nothing_is_written(run, files, name):
    pd.DataFrame({"item": ["x"], "verdict": ["pass"]}).to_csv("other.csv", index=False)
    pd.DataFrame({"item": ["item001"] * 2, "person": ["gpt", "eve"], "verdict": "pass"}).to_csv(
        "mixed.csv", index=False
    )
    options, message = MISTAKES[name]
    written = ["-o", "labels.csv", "--report", "report.html", *options]
    before = {path.name for path in files.iterdir()}
    said = run("evaluate", "verdicts.csv", *written, expect=2)
    assert message in said.err
    assert len(said.err.strip().splitlines()) == 1
    assert said.out == ""
    assert {path.name for path in files.iterdir()} == before


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "is empty. Write a table into it"),
        ("task,worker,label\n", "There are no answers"),
        ("task,worker,label\n1,gpt,pass\n2,gpt,fail\n", "All verdicts come from 'gpt', and it takes two"),
        ("task,worker,label\n1,gpt,pass\n1,qwen,pass\n", "Every answer is 'pass'"),
        ("a,b\n1,2\n", "No columns for the task, the worker and the label"),
    ],
)
def test_files_that_cannot_be_evaluated(run, tmp_path, monkeypatch, content, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "verdicts.csv").write_text(content)
    said = run("evaluate", "verdicts.csv", "-o", "labels.csv", expect=2).err
    assert message in said
    assert len(said.strip().splitlines()) == 1
    assert not (tmp_path / "labels.csv").exists()


def test_an_interrupt_ends_it_with_one_sentence(files):
    command = [sys.executable, "-m", "rectifact.cli", "evaluate", "verdicts.csv", "-o", "labels.csv"]
    run = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    time.sleep(1)
    run.send_signal(signal.SIGINT)
    assert "interrupted; no file was left half-written" in run.communicate(timeout=60)[1]
    assert run.returncode == 130
    assert not (files / "labels.csv").exists()


def test_labels_with_another_model_texts_and_probabilities(run, files, made):
    said = run("labels", "verdicts.csv", "--model", "majority", "-o", "vote.csv")
    vote = made[0].groupby(["item", "verdict"]).size().unstack(fill_value=0).idxmax(axis=1)
    assert (pd.read_csv("vote.csv").set_index("item")["verdict"] == vote).mean() > 0.99  # of five, no ties
    assert "2000 answers from 5 workers" in said.err
    options = ("--model", "one-coin", "--probabilities", "--text-column", "prompt", "--report", "page.html")
    said = run("labels", "verdicts.csv", "--gold", "gold.csv", *options, "-o", "labels.csv").err
    assert "labels with a gold label were right" in said
    table = pd.read_csv("labels.csv")
    np.testing.assert_allclose(table[["probability_fail", "probability_pass"]].max(axis=1), table["confidence"])
    page = (files / "page.html").read_text()
    assert "Question 9?" in page
    assert "Gold audit" in page
    wide = made[0].pivot(index="item", columns="judge", values="verdict").reset_index()
    wide.assign(prompt=[f"Question {i}?" for i in range(400)]).to_csv("wide.csv", index=False)
    run("labels", "wide.csv", "--wide", "--text-column", "prompt", "--report", "page.html", "-o", "labels.csv")
    assert "Question 9?" in (files / "page.html").read_text()


def test_a_plan_for_some_workers(run, files, made):
    some = made[0].sample(frac=0.5, random_state=0)
    some.to_csv("verdicts.csv", index=False)
    run("labels", "verdicts.csv", "--plan", "plan.csv", "--ask", "gpt,qwen", "-o", "labels.csv")
    assert set(pd.read_csv("plan.csv")["worker"]) == {"gpt", "qwen"}
    said = run("labels", "verdicts.csv", "--plan", "plan.csv", "--ask", "gtp", "-o", "labels.csv", expect=2).err
    assert "'gtp'" in said


def test_the_majority_vote_takes_no_gold(run, files):
    said = run("labels", "verdicts.csv", "--model", "majority", "--gold", "gold.csv", expect=2).err
    assert "--gold is not available for the majority vote." in said


def test_agree_and_rate_read_exports(run, files, made):
    judges = made[0].rename(columns={"item": "id", "judge": "name", "verdict": "value"})
    (files / "verdicts.json").write_text(judges.to_json(orient="records"))
    columns = ("--format", "records", "--task", "id", "--worker", "name", "--label", "value")
    expected = json.loads(run("agree", "verdicts.csv", "--json").out)
    assert json.loads(run("agree", "verdicts.json", *columns, "--json").out)["agreement"] == expected["agreement"]
    rate = ("--gold", "gold.csv", "--positive", "pass", "--json")
    expected = json.loads(run("rate", "verdicts.csv", *rate).out)
    made[2].rename(columns={"item": "id", "verdict": "value"}).to_csv(files / "gold.csv", index=False)
    assert json.loads(run("rate", "verdicts.json", *columns, *rate).out)["rates"] == expected["rates"]


def test_annotators_of_label_studio_are_people(run):
    export = Path(__file__).parent / "crowd" / "exports" / "label_studio.json"
    said = run("evaluate", export)
    assert "from 2 judges and 3 people on 24 tasks" in said.out
    assert "people answered too few tasks to say whether judges may replace them" in said.out


def test_people_with_a_shorter_interval_are_shown_beside_gold_labels(run, files, made):
    judges, people, gold, _ = made
    few = gold.head(32)
    found = evaluate(judges, people, gold=few, positive="pass", by="version")
    gold_row, people_row = found.rates.rates.iloc[0], found.by_people.rates.iloc[0]
    assert people_row["high"] - people_row["low"] < gold_row["high"] - gold_row["low"]
    with pytest.warns(UserWarning, match="on which people tie were left out"):
        alone = evaluate(judges, people, positive="pass", by="version")
    pd.testing.assert_frame_equal(found.by_people.rates, alone.rates.rates)
    by_gold, by_people = found.decision()[:2]
    assert by_people.startswith("As people label, ")
    assert f"the share of pass is {people_row['rate']:.1%}" in by_people
    both = people.groupby("item")["verdict"].agg(lambda said: said.mode().iloc[0] if len(said.mode()) == 1 else None)
    compared = both.reindex(few["item"]).dropna()
    wrong = (compared != few.set_index("item")["verdict"].reindex(compared.index)).sum()
    assert found.people_on_gold == (wrong, len(compared))
    assert any(words.startswith("Use the interval by gold labels for the true share") for words in found.words())
    for rates, words in ((found.rates, by_gold), (found.by_people, by_people)):
        assert f"n v2 it is {100 * rates.differences['difference'].iloc[0]:.1f} points higher" in words
    few.to_csv("few.csv", index=False)
    options = ("--humans", "people.csv", "--gold", "few.csv", "--by", "version", "--json")
    facts = json.loads(run("evaluate", "verdicts.csv", *options).out)
    assert facts["as_people_label"]["rates"][0]["rate"] == pytest.approx(people_row["rate"])


def test_the_same_warnings_everywhere(run, files, made):
    judges = made[0].copy()
    judges.loc[judges.index[:30], "verdict"] = judges["verdict"].str.capitalize()
    judges.to_csv("verdicts.csv", index=False)
    said = run("evaluate", "verdicts.csv", "--gold", "gold.csv", "--positive", "pass", "--report", "report.html")
    title = "spaces or a final .0 count as one: 'Fail' as 'fail'; 'Pass' as 'pass' (30 answers)."
    assert title in said.err
    assert title in unescape((files / "report.html").read_text())
    for options in (["evaluate", "verdicts.csv", "--gold", "gold.csv"], ["labels", "verdicts.csv", "-o", "labels.csv"]):
        assert any(title in note for note in json.loads(run(*options, "--json").out)["warnings"])
    noted = json.loads(run("evaluate", "verdicts.csv", "--humans", "people.csv", "--json").out)["warnings"]
    assert noted == [
        line.removeprefix("Note: ") for line in _notes(run("evaluate", "verdicts.csv", "--humans", "people.csv"))
    ]


def _notes(said):
    return [line for line in said.err.splitlines() if line.startswith("Note: ")]


def test_people_who_are_not_named_and_groups_that_are_not_used(run, files, made):
    both = pd.concat([made[0], made[1].rename(columns={"person": "judge"})], ignore_index=True)
    both = both.drop(columns=["version", "prompt"]).merge(made[0][["item", "version"]].drop_duplicates(), on="item")
    both.to_csv("all.csv", index=False)
    said = run("evaluate", "all.csv", "--by", "version").out
    assert "Next: if ann, bob and cai are people, say so: --people ann,bob,cai." in said
    assert "groups were not compared" in said
    assert "The share that is estimated" not in said
    named = run("evaluate", "all.csv", "--by", "version", "--people", "ann,bob,cai").out  # as it says
    assert "As people label, the share of pass is" in named
    assert "groups were not compared" not in named
    both.assign(kind=both["judge"].isin(PEOPLE).map({True: "human", False: "llm"})).to_csv("kinds.csv", index=False)
    assert "Next: name that column: --people kind." in run("evaluate", "kinds.csv").out
    one = run("evaluate", "verdicts.csv", "--gold", "gold.csv", "--by", "one.csv", expect=2)
    assert "--by one.csv is neither a column" in one.err
    made[0].assign(version="v1").to_csv("one.csv", index=False)
    assert (
        "All tasks that have a group are in 'v1'."
        in run("evaluate", "one.csv", "--gold", "gold.csv", "--by", "version").out
    )


def test_no_more_tasks_are_asked_for_than_there_are(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("few.csv").write_text("sample_id,judge_model,judgment\n1,gpt,yes\n1,qwen,no\n2,gpt,no\n2,qwen,no\n")
    said = run("evaluate", "few.csv").out
    assert "Next: let a person label all 2 tasks, and give the labels as --gold." in said
    assert "answer the same 2 tasks" in said
    assert "ANSWERS and --humans are the same file." in run("agree", "few.csv", "--humans", "few.csv", expect=2).err


def test_judges_are_compared_task_by_task(found, made):
    best, leads, by = judges_compared(found)
    assert by == "people"  # whose labels are many more than the gold labels
    assert best in {"gpt", "qwen"}  # right on 88 and 87 % of these tasks
    judges, passed = made[0], made[3]
    right = {
        name: (rows.set_index("item")["verdict"].to_numpy() == np.where(passed, "pass", "fail")).mean()
        for name, rows in judges.groupby("judge")
    }
    for lead in leads:
        assert lead.low <= right[best] - right[lead.other] <= lead.high
    assert {lead.other for lead in leads if lead.certain} >= TWINS


def test_a_target_beyond_all_tasks_is_out_of_reach(run, files):
    options = ("--gold", "gold.csv", "--positive", "pass", "--half-width", "0.01")
    said = run("evaluate", "verdicts.csv", *options).out
    assert "the 400 tasks that there are cannot give it" in said
    assert (
        "an interval of 1 point on either side is out of reach: labels for all 400 tasks"
        in run("rate", "verdicts.csv", *options).out
    )


NAMED = ("--positive", "pass", "--by", "version")


def test_people_who_answer_a_plan_raise_no_alarm_about_gold_labels(run, files, made):
    """People answer all tasks on which judges differ, but for those with gold labels, which were drawn at random."""
    judges, people, gold, passed = made
    asked = judges.groupby("item")["verdict"].agg(lambda said: abs((said == "pass").mean() - 0.5) < 0.35)
    doubtful = [item for item in asked.index[asked] if item not in set(gold["item"])]
    right = dict(zip(sorted(judges["item"].unique()), np.where(passed, "pass", "fail"), strict=True))
    more = [
        pd.DataFrame({"item": doubtful, "person": name, "verdict": [right[item] for item in doubtful]})
        for name in PEOPLE
    ]
    pd.concat([people, *more]).drop_duplicates(["item", "person"]).to_csv("after.csv", index=False)
    said = run("evaluate", "verdicts.csv", "--humans", "after.csv", "--gold", "gold.csv", "--positive", "pass")
    assert "random sample" not in said.err
    assert "look selected" not in said.err
    alone = pd.concat(more).query("person != 'cai'")
    alone.to_csv("plan.csv", index=False)
    said = run("evaluate", "verdicts.csv", "--humans", "plan.csv", "--positive", "pass")
    assert "The tasks that people labelled are more often in doubt than others, as those of a plan are" in said.err
    assert "gold-weights" not in said.err
    assert "tasks with gold labels" not in said.err


def test_one_number_of_answers_for_a_target(run, files):
    given = ("evaluate", "verdicts.csv", "--humans", "people.csv", "--gold", "gold.csv", *NAMED, "--target", "0.005")
    said = run(*given, "--plan", "plan.csv")
    assert "The plan asks for" in said.err
    assert "needed to bring" not in said.err
    assert "cannot reach" not in said.err
    said = run(*given)
    assert "The plan" not in said.err
    assert "expected error" in said.err
    assert "--target 5 must be below 1" in run(*given[:-1], "5", expect=2).err


def test_a_sample_says_why_it_has_so_many_tasks(run, files):
    given = ("evaluate", "verdicts.csv", "--humans", "people.csv", "--gold", "gold.csv", *NAMED, "--sample", "s.csv")
    said = run(*given, "--half-width", "0.01")
    assert (
        "The sample has 50 tasks drawn at random, a next batch: an interval of 1 point on either side is out"
        in said.err
    )


def test_what_is_spelt_or_named_otherwise(run, files, made):
    judges, people, gold, _ = made
    people.assign(verdict=people["verdict"].str.upper()).to_csv("upper.csv", index=False)
    given = ("evaluate", "verdicts.csv", "--humans")
    said = run(*given, "upper.csv", "--positive", "pass").err
    assert "count as one: 'FAIL' as 'fail'; 'PASS' as 'pass'" in said
    other = gold.head(2).assign(verdict=gold["verdict"].head(2).map({"pass": "fail", "fail": "pass"}))
    pd.concat([gold, other]).set_axis(["item", "true_outcome"], axis=1).to_csv("twice.csv", index=False)
    said = run(*given, "people.csv", "--gold", "twice.csv", "--positive", "pass").err
    names = ", ".join(repr(item) for item in other["item"])
    assert f"2 tasks have gold labels that contradict each other, and were left out: {names}." in said
    judges.set_axis(["thing", "by whom", "what", "version", "prompt"], axis=1).to_csv("odd.csv", index=False)
    said = run("evaluate", "odd.csv", expect=2).err
    assert "No columns for the task, the worker and the label among" in said
    assert "--task COLUMN --worker COLUMN --label COLUMN" in said
    pd.DataFrame({"who": ["ann"], "price": [1], "cur": ["usd"]}).to_csv("prices.csv", index=False)
    said = run(*given, "people.csv", "--costs", "prices.csv", "--plan", "plan.csv", expect=2).err
    assert "No column for the worker among the costs in 'prices.csv': ['who', 'price', 'cur']" in said
    assert "--worker" not in said
    Path("v.xlsx").write_bytes(b"PK")
    assert "Cannot read 'v.xlsx' as an Excel workbook" in run("evaluate", "v.xlsx", expect=2).err


def test_grades_that_are_not_named_as_such(run, files):
    rng = np.random.default_rng(0)
    truth = rng.integers(1, 6, size=200)
    said = np.clip(truth[:, None] + rng.integers(-1, 2, size=(200, 5)), 1, 5).astype(object)
    said[3, 2] = "n/a"
    table = pd.DataFrame(said, columns=list("abcde")).rename_axis("task").reset_index()
    table.melt("task", var_name="worker", value_name="label").to_csv("grades.csv", index=False)
    given = ("evaluate", "grades.csv", "--people", "d,e", "--positive", "4,5")
    assert "--missing n/a" in run(*given, "--ordinal", "--missing", "nan", expect=2).err
    assert "1 answer that says there is none was left out: 'n/a'." in run(*given, "--ordinal").err
    out = run(*given, "--missing", "n/a").out
    assert "share of 4 or 5 is" in out
    assert "labels that may be grades. 1, 2, 3, 4 and 5 count as names without an order" in out
    assert "'n/a'. To count such labels as classes" in " ".join(run("labels", "grades.csv", "-o", "l.csv").err.split())


@pytest.fixture(scope="module")
def chosen(made):
    """Gold labels of 40 tasks on which judges split, those of version 1 that pass and those of version 2 that fail."""
    judges, people, _, passed = made
    share = (judges.assign(ok=judges["verdict"] == "pass").groupby("item")["ok"].mean() - 0.5).abs()
    items, second = share.index.to_numpy(), np.arange(len(share)) % 2 == 1
    wanted = np.flatnonzero(passed != second)
    some = wanted[np.argsort(share.to_numpy()[wanted], kind="stable")[:40]]
    words = np.where(passed[some], "pass", "fail")
    return judges, people, pd.DataFrame({"item": items[some], "verdict": words})


@pytest.mark.filterwarnings("ignore::rectifact.core.errors.FitWarning")
def test_gold_labels_that_look_selected_come_before_all_else(chosen, found):
    judges, people, gold = chosen
    other = evaluate(judges, people, gold=gold, positive="pass", by="version")
    first, text, step = other.decision()[0], " ".join(other.words()), other.next_steps()[0]
    assert first.startswith("Do not rely on the share below yet. The tasks with gold labels do not look like a random")
    assert step.finding == "gold labels that look selected"
    assert step.severity == "warning"
    assert other.decision()[-1].startswith("Next: label tasks drawn at random, and give these labels alone as gold")
    assert "Use the interval by gold labels" not in text
    assert "Use neither interval for the true share yet" in text
    assert "another share may be right" in text
    assert not any("the rate could be more precise" in step.finding for step in other.next_steps())
    assert not found.decision()[0].startswith("Do not rely")
    assert "Use the interval by gold labels" in " ".join(found.words())


@pytest.mark.filterwarnings("ignore::rectifact.core.errors.FitWarning")
def test_significant_results_of_opposite_sign_contradict(chosen, found):
    judges, people, gold = chosen
    other = evaluate(judges, people, gold=gold, positive="pass", by="version")
    by_gold, by_people = (rates.differences.iloc[0] for rates in (other.rates, other.by_people))
    assert by_gold["high"] < 0 < by_people["low"]
    text = " ".join(other.words())
    figures = (
        f"{100 * by_gold['difference']:+.1f} points by gold labels and {100 * by_people['difference']:+.1f} as people"
    )
    assert f"v2 minus v1 is {figures} label, each more than chance explains: a contradiction" in text
    assert "Compare groups as people label" not in text
    assert other.decision()[1].startswith("Gold labels and people contradict each other. v2 minus v1 is ")
    assert other.next_steps()[1].finding == "results that contradict"
    assert "contradict" not in " ".join([*found.words(), *found.decision()])
    rows = other.rates.differences.assign(p_value=0.4)
    unsure = replace(other, rates=replace(other.rates, differences=rows))
    said = f"not agree on which is better: v2 minus v1 is {figures} label; only that by people is more than chance"
    assert said in unsure.decision()[1]


def test_a_sample_is_drawn_from_all_tasks_where_gold_labels_were_chosen(run, files, chosen):
    chosen[2].to_csv("chosen.csv", index=False)
    said = run("evaluate", "verdicts.csv", "--gold", "chosen.csv", *NAMED, "--sample", "s.csv")
    assert "The sample has 50 tasks drawn at random from all, to begin with" in said.err
    assert set(pd.read_csv("s.csv")["item"]) & set(chosen[2]["item"])


def test_labels_in_doubt_are_not_gold_for_a_rate(found):
    doubt = next(step for step in found.next_steps() if "in doubt" in step.finding)
    assert "do not give these labels as gold, as their tasks are not drawn at random" in doubt.remedy
    assert "as --gold, as their tasks" in doubt.command


def _section(found, title):
    return next(section for section in evaluation_reports(found)[0].sections if section.title == title)


def test_the_first_screen_has_the_share_of_each_group_by_gold_labels(found):
    rates = found.rates.rates.iloc[1:]
    said = " and ".join(f"{r.rate:.1%} ({r.low:.1%} to {r.high:.1%}) in {r.group}" for r in rates.itertuples())
    assert f"; it is {said}" in found.decision()[0]
    chart = _section(found, "Decision").blocks[0]
    assert {"v1", "v2"} <= set(chart.x.names)
    points = chart.marks[0]
    shown = dict(zip(chart.x.names, zip(points.y, points.low, points.high, strict=True), strict=True))
    for row in rates.itertuples():
        np.testing.assert_allclose(shown[row.group], 100 * np.array([row.rate, row.low, row.high]))


def test_a_tile_counts_the_judges_that_pass_without_reservation(found):
    tiles = {name: (value, meaning) for name, value, meaning in _section(found, "Decision").blocks[1].items}
    value, meaning = tiles["judges that may replace people"]
    judges = found.replacement.judges.head(found.panel.n_judges)
    passed, reserved = ((judges["decision"] == name).sum() for name in (MAY, RESERVED))
    assert reserved > 1
    assert value == f"{passed} of 5"
    assert f"{reserved} more pass the test with a reservation" in meaning


def test_one_answer_to_who_may_replace_people(found):
    """The decision, its reasons, the tables and the details of the page name the same judges."""
    judges = found.replacement.judges.set_index("judge")
    may = judges.index[(judges["decision"] == MAY) & (judges.index != TOGETHER)].tolist()
    reserved = judges.index[judges["decision"] == RESERVED].tolist()
    assert may
    assert reserved
    clauses = [part for part in found.decision()[-2].split("; ") if "may replace people" in part]
    assert len(clauses) == 1
    assert all(name in clauses[0] for name in may)
    assert not any(name in clauses[0].split(" ") for name in reserved)
    assert not any("may replace" in words for words in found.words())
    for name, reservation in judges.loc[reserved, "reservation"].items():
        assert any(f"{name} {reservation}" in words for words in found.words())
    table = _section(found, "Whom to trust").blocks[-1]
    place = [column.name for column in table.columns].index("replaces people")
    shown = {row[0]: row[place] for row in table.rows if row[0] in judges.index}
    assert shown == judges["decision"].drop(TOGETHER).to_dict()
    said = [words for words in found.replacement.words() if "may replace people:" in words]
    assert {words.split(" may replace")[0] for words in said} - {TOGETHER} == set(may)


def test_colours_of_agreement_have_one_scale_and_a_legend(found):
    chart = next(block for block in _section(found, "Agreement").blocks if "beyond" in block.title)
    cells = chart.marks[0]
    most = np.abs(cells.values).max()
    assert -cells.low == cells.high == np.ceil(most)
    assert cells.legend == (f"more often: +{cells.high:.0f}", f"less often: -{cells.high:.0f}")
    assert all(text in chart.svg() for text in cells.legend)


def test_scripts_get_the_sentences_of_the_terminal(run, files):
    given = ("evaluate", "verdicts.csv", "--humans", "people.csv", "--gold", "gold.csv", *NAMED)
    said = run(*given).out.partition("Results\n")[2].partition("What to do next")[0]
    lines = [line.strip() for line in said.partition("About the data")[0].strip().splitlines()]
    facts = json.loads(run(*given, "--json").out)
    assert facts["results"] == lines[1:]
    assert len(facts["results"]) > 8
    assert any(line.startswith(("Of the judges, gpt has", "Of the judges, qwen has")) for line in lines)
    workers = {row["worker"]: row for row in facts["workers"]}
    assert {name for name, row in workers.items() if row["kind"] == "person"} == set(PEOPLE)
    assert all(row["accuracy_low"] <= row["accuracy"] <= row["accuracy_high"] for row in workers.values())


def test_people_who_are_misspelt_are_offered_first(run, files, made):
    judges, people, _, _ = made
    both = pd.concat([judges, people.rename(columns={"person": "judge"})])
    both.to_csv("all.csv", index=False)
    said = run("evaluate", "all.csv", "--people", "anne,bob", expect=2).err
    assert "--people names 'anne', who gave no answer; the workers are 'ann', " in said


def test_people_are_compared_with_gold_on_the_question_that_is_asked():
    rng = np.random.default_rng(2)
    quality = rng.normal(3.2, 1.1, 240)
    grade = np.clip(np.round(quality), 1, 5).astype(int)

    def said(names, spread, share):
        rows = []
        for name in names:
            answered = np.flatnonzero(rng.random(240) < share)
            given = np.clip(np.round(quality + rng.normal(0, spread, 240)), 1, 5).astype(int)[answered]
            rows.append(pd.DataFrame({"task": answered, "worker": name, "label": given}))
        return pd.concat(rows)

    judges, people = said(["gpt", "mini", "qwen"], 0.6, 1.0), said(["ann", "bob", "cai"], 0.5, 0.6)
    gold = pd.Series(grade).sample(40, random_state=0)
    with warnings.catch_warnings(action="ignore"):
        found = evaluate(judges, people, gold=gold, positive=[4, 5], ordinal=True)
    agreed = people.groupby("task")["label"].agg(lambda all_: all_.mode().iloc[0] if len(all_.mode()) == 1 else -1)
    agreed = agreed[agreed > 0].reindex(gold.index).dropna()
    truth = gold[agreed.index]
    asked, exact = int(((agreed >= 4) != (truth >= 4)).sum()), int((agreed != truth).sum())
    assert 0 < asked < exact
    words = (
        f"differs from {asked} of {len(truth)} gold labels on whether they are 4 or 5, and from {exact} in the exact"
    )
    assert words in " ".join(found.words())


def test_few_gold_labels_beside_people_are_said_not_to_decide(run, files, made):
    made[2].head(5).to_csv("few.csv", index=False)
    said = run("evaluate", "verdicts.csv", "--humans", "people.csv", "--gold", "few.csv", *NAMED)
    assert "5 gold labels are too few to measure by, so people decide. Give at least 10" in " ".join(said.err.split())
    assert "As people label" in said.out


def test_wide_tables_have_groups_and_people_need_not_be_wide(run, files, made):
    judges, people, _, _ = made
    keys = ["item", "version"]
    wide = judges.pivot_table(index=keys, columns="judge", values="verdict", aggfunc="first").reset_index()
    wide.to_csv("wide.csv", index=False)
    for command, given in (("rate", ("--gold", "gold.csv")), ("evaluate", ("--humans", "people.csv"))):
        by_row = json.loads(run(command, "verdicts.csv", *given, *NAMED, "--json").out)
        by_column = json.loads(run(command, "wide.csv", "--wide", *given, *NAMED, "--json").out)
        assert [row["group"] for row in by_column["rates"]] == ["all tasks", "v1", "v2"]
        values = [[row["rate"] for row in one["rates"]] for one in (by_row, by_column)]
        np.testing.assert_allclose(*values, atol=1e-6)
    columns = people.pivot(index="item", columns="person", values="verdict").reset_index()
    pd.concat([columns, columns.iloc[[3]]]).to_csv("twice.csv", index=False)
    error = " ".join(run("evaluate", "wide.csv", "--wide", "--humans", "twice.csv", *NAMED, expect=2).err.split())
    assert "'twice.csv'" in error
    assert repr(columns["item"].iloc[3]) in error
    assert "merge the rows of each task" in error
    others = people.set_axis(["item", "Who", "Said"], axis=1)
    others.to_csv("rows.csv", index=False)
    error = " ".join(run("evaluate", "wide.csv", "--wide", "--humans", "rows.csv", *NAMED, expect=2).err.split())
    assert "--worker COLUMN --label COLUMN" in error
    given = ("--worker", "Who", "--label", "Said")
    by_name = json.loads(run("evaluate", "wide.csv", "--wide", "--humans", "rows.csv", *given, *NAMED, "--json").out)
    assert by_name["rates"] == by_column["rates"]
    run(
        "evaluate", "wide.csv", "--wide", *given, *NAMED, "--humans", "rows.csv", "--plan", "p.csv", "--sample", "s.csv"
    )
    assert [pd.read_csv(name).columns[0] for name in ("p.csv", "s.csv")] == ["item", "item"]


@pytest.mark.parametrize("command", [("evaluate",), ("rate", "--gold", "gold.csv")])
def test_tasks_of_the_same_name_in_two_groups_are_to_be_told_apart(run, files, made, command):
    made[0].assign(item=made[0]["item"].str[:-1]).to_csv("same.csv", index=False)
    name, *given = command
    error = " ".join(run(name, "same.csv", *given, *NAMED, expect=2).err.split())
    assert "If these are different tasks, name both columns: --task item,version" in error


@pytest.mark.parametrize("command", ["evaluate", "agree", "rate"])
def test_commands_say_which_columns_were_read(run, files, command):
    options = {"evaluate": [], "agree": [], "rate": ["--gold", "gold.csv", "--positive", "pass"]}[command]
    said = run(command, "verdicts.csv", *options).err
    assert "Columns read: task from 'item', worker from 'judge', label from 'verdict'." in said
