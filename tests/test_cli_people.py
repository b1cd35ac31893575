"""Answers of people in a file of their own: read as those of the judges are, or refused in a sentence to act on."""

import json

import numpy as np
import pandas as pd
import pytest

from rectifact import agreement, alternative_annotator_test, evaluate
from rectifact.core.errors import InputError

NAMED = ("--task", "conversation", "--worker", "judge_model", "--label", "outcome")


def made(seed=0, n=120):
    """Three judges, two people, whose columns have names of their own, and gold labels."""
    rng = np.random.default_rng(seed)
    passed = rng.random(n) < 0.6
    ids, words = np.array([f"c{i:03d}" for i in range(n)]), np.array(["fail", "pass"])

    def said(name, column, accuracy):
        answer = words[(passed ^ (rng.random(n) > accuracy)).astype(int)]
        return pd.DataFrame({"conversation": ids, column: name, "outcome": answer})

    judges = pd.concat([said(name, "judge_model", 0.85) for name in ("gpt", "claude", "llama")])
    people = pd.concat([said(name, "reviewer", 0.95) for name in ("ann", "bob")])
    gold = pd.DataFrame({"conversation": ids, "label": words[passed.astype(int)]}).sample(40, random_state=seed)
    return judges, people, gold


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, table in zip(("judges", "people", "gold"), made(), strict=True):
        table.to_csv(f"{name}.csv", index=False)
        table.to_json(f"{name}.jsonl", orient="records", lines=True)
    return tmp_path


def test_records_of_people_are_read_as_their_table_is(run, files):
    def facts(suffix):
        given = (f"judges.{suffix}", "--humans", f"people.{suffix}", *NAMED, "--json")
        gold = ("--gold", f"gold.{suffix}", "--positive", "pass")
        return json.loads(run("evaluate", *given, *gold).out), json.loads(run("agree", *given).out)

    assert facts("jsonl") == facts("csv")
    named = {"task": "conversation", "worker": "judge_model", "label": "outcome"}
    found = evaluate("judges.jsonl", "people.jsonl", gold="gold.jsonl", positive="pass", **named)
    assert found.people == ["ann", "bob"]


def test_people_of_an_export_need_no_names_of_columns(run, files):
    tasks = []
    for conversation, theirs in made()[1].groupby("conversation"):
        chosen = [
            {"completed_by": who, "result": [{"from_name": "ok", "type": "choices", "value": {"choices": [label]}}]}
            for who, label in zip(theirs["reviewer"], theirs["outcome"], strict=True)
        ]
        tasks.append({"id": 1, "data": {"conversation": conversation}, "annotations": chosen})
    (files / "export.json").write_text(json.dumps(tasks))
    said = json.loads(run("agree", "judges.csv", "--humans", "export.json", *NAMED, "--json").out)
    assert {row["person"] for row in said["tests"]} == {"ann", "bob"}


@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
@pytest.mark.parametrize("command", ["evaluate", "agree"])
def test_columns_of_people_without_usual_names_are_to_be_renamed(run, files, command, suffix):
    other = made()[1].rename(columns={"reviewer": "rater_x"})
    other.to_csv("x.csv", index=False)
    other.to_json("x.jsonl", orient="records", lines=True)
    said = run(command, "judges.csv", "--humans", f"x.{suffix}", *NAMED, expect=2).err
    assert f"The people's file 'x.{suffix}' has no column for the worker among ['conversation', 'rater_x'" in said
    assert "to 'judge_model' there" in said
    assert "--worker" not in said


@pytest.mark.parametrize("command", ["evaluate", "agree"])
@pytest.mark.parametrize(
    ("columns", "given", "message"),
    [
        (["task", "worker", "label"], ("--worker", "wrker"), "no column 'wrker' for the worker among"),
        (["task", "worker", "label"], ("--label", "lable"), "no column 'lable' for the label among"),
        (["task", "worker", "label"], ("--worker", "who"), "Did you mean 'worker'?"),
        (["task", "rater_x", "said"], ("--worker", "rater", "--label", "said"), "Did you mean 'rater_x'?"),
        (["task", "rater_x", "said"], ("--worker", "rater_x"), "Name it: --label COLUMN; if each person has a column,"),
        (["task", "rater_x", "said"], ("--label", "zzz"), "Check the spelling, or leave out --label."),
    ],
)
def test_columns_of_people_beside_a_wide_table_must_be_there(run, files, command, columns, given, message):
    judges, people, _ = made()
    wide = judges.pivot(index="conversation", columns="judge_model", values="outcome").rename_axis("task")
    wide.reset_index().to_csv("wide.csv", index=False)
    people.set_axis(columns, axis=1).to_csv("x.csv", index=False)
    said = run(command, "wide.csv", "--wide", "--humans", "x.csv", *given, expect=2).err
    assert message in said
    assert "The people's file 'x.csv' has no column" in said
    assert str(columns) in said
    assert len(said.strip().splitlines()) == 1


@pytest.mark.parametrize("kind", ["RepeatedTask", "InputError"])
def test_a_repeated_task_of_people_is_told_by_its_kind_and_not_by_its_words(files, monkeypatch, kind):
    from rectifact.crowd.data import joined, people

    def refuse(*_):
        raise getattr(joined, kind)("In other words, which may end alike: it has several.", "Own remedy.")

    monkeypatch.setattr(people, "coded", refuse)
    with pytest.raises(InputError, match="In other words") as caught:
        people.read_people("gold.csv", dict.fromkeys(["task", "worker", "label"]), True, "auto", None)
    assert ("name its columns" in caught.value.remedy) == (kind == "RepeatedTask")
    assert ("Own remedy" in caught.value.remedy) == (kind == "InputError")


def test_an_export_of_people_beside_a_wide_table_takes_no_name_of_a_worker(run, files):
    judges, _, _ = made()
    wide = judges.pivot(index="conversation", columns="judge_model", values="outcome").rename_axis("task")
    wide.reset_index().to_csv("wide.csv", index=False)
    chosen = [{"from_name": "ok", "type": "choices", "value": {"choices": ["pass"]}}]
    task = {"id": "c001", "data": {"text": "?"}, "annotations": [{"completed_by": "ann", "result": chosen}]}
    (files / "export.json").write_text(json.dumps([task]))
    said = run("agree", "wide.csv", "--wide", "--humans", "export.json", "--worker", "who", expect=2).err
    assert "A Label Studio export says by itself what is the worker. Leave out --worker." in said


def test_a_column_that_is_not_there_is_told_the_likely_one(run, files):
    named = ("--task", "conversation", "--worker", "judge_modl", "--label", "outcome")
    said = run("labels", "judges.csv", *named, "-o", "labels.csv", expect=2).err
    assert "no column 'judge_modl' for the worker among" in said
    assert "Did you mean 'judge_model'?" in said


@pytest.mark.parametrize("command", ["evaluate", "agree"])
@pytest.mark.parametrize("words", [{"pass": 1, "fail": 0}, {"pass": "true", "fail": "false"}])
def test_people_without_a_label_in_common_are_refused(run, files, command, words):
    judges, people, _ = made()
    people["outcome"] = people["outcome"].map(words)
    people.to_csv("others.csv", index=False)
    said = run(command, "judges.csv", "--humans", "others.csv", *NAMED, expect=2).err
    assert "so that they have no label in common. Write the labels alike in both." in said
    assert len(said.strip().splitlines()) == 1
    with pytest.raises(InputError, match="no label in common"):
        alternative_annotator_test(judges, people, worker="judge_model", task="conversation", label="outcome")


def test_numbers_and_single_labels_need_not_be_the_same():
    rng = np.random.default_rng(0)
    judges = pd.DataFrame({"task": np.arange(20), "worker": "gpt", "label": rng.integers(1, 4, 20) + 0.5})
    people = pd.DataFrame({"task": np.arange(20), "worker": "ann", "label": rng.integers(1, 4, 20)})
    assert len(agreement(judges, humans=people, level="interval", n_resamples=10).overall)
    assert len(agreement(judges.assign(label="a"), humans=people.assign(label="b"), n_resamples=10).overall)


@pytest.mark.parametrize("command", ["evaluate", "agree"])
def test_people_on_other_tasks_are_said_to_be(run, files, command):
    people = made()[1]
    people.assign(conversation=people["conversation"].radd("other ")).to_csv("upper.csv", index=False)
    gold = ("--gold", "gold.csv", "--positive", "pass") if command == "evaluate" else ()
    said = run(command, "judges.csv", "--humans", "upper.csv", *NAMED, *gold, expect=2).err
    assert "No task was answered by a judge and by a person. Check that both name the tasks alike." in said


@pytest.mark.parametrize("command", ["evaluate", "agree"])
@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize(
    ("given", "remedy"),
    [
        ("an,bob", "Did you mean 'ann'?"),
        ("Anne,bobb", "Did you mean 'ann' and 'bob'?"),
        ("ann,anna", "Check the spelling, or name a column that says who is a person."),
        ("zoe", "Check the spelling, or name a column that says who is a person."),
    ],
)
def test_misspelt_people_are_told_the_likely_names(run, files, command, wide, given, remedy):
    judges, people, _ = made()
    everyone = pd.concat([judges, people.rename(columns={"reviewer": "judge_model"})])
    columns = NAMED
    if wide:
        everyone = everyone.pivot(index="conversation", columns="judge_model", values="outcome").reset_index()
        columns = ("--wide", "--task", "conversation")
    everyone.to_csv("all.csv", index=False)
    said = run(command, "all.csv", *columns, "--people", given, expect=2).err
    assert "who gave no answer; the workers are" in said
    assert said.strip().endswith(remedy)


def test_a_name_with_a_comma_stands_in_quotes(run, files):
    judges, people, _ = made()
    people = people.rename(columns={"reviewer": "judge_model"}).replace({"ann": "Smith, Ann"})
    pd.concat([judges, people[people["conversation"] < "c060"]]).to_csv("all.csv", index=False)
    given = ("evaluate", "all.csv", *NAMED, "--positive", "pass")
    advice = run(*given).out
    assert """--people '"Smith, Ann",bob'.""" in advice  # which works as it is written
    for said in ('"Smith, Ann",bob', 'bob, "Smith, Ann"'):
        facts = json.loads(run(*given, "--people", said, "--json").out)
        assert (facts["judges"], facts["people"]) == (3, 2)
    assert json.loads(run(*given, "--people", "Smith, Ann", "--json").out)["people"] == 1
    plan = ("--plan", "plan.csv", "--ask", '"Smith, Ann",gpt')
    run("labels", "all.csv", *NAMED, "-o", "labels.csv", *plan)
    assert set(pd.read_csv("plan.csv")["worker"]) <= {"Smith, Ann", "gpt"}


def test_gold_labels_that_differ_are_named(run, files):
    judges, _, gold = made()
    first = gold["conversation"].iloc[0]
    odd = gold[:1].assign(label="fail" if gold["label"].iloc[0] == "pass" else "pass")
    pd.concat([gold, gold[:1], odd]).to_csv("three.csv", index=False)
    given = ("judges.csv", *NAMED)
    said = run("evaluate", *given, "--positive", "pass", "--gold", "three.csv")
    assert f"1 task has several gold labels that differ, first '{first}' with 'pass', 'fail'" in said.err.replace(
        "'fail', 'pass'", "'pass', 'fail'"
    )
    said = run("labels", *given, "-o", "labels.csv", "--gold", "three.csv", expect=2)
    assert f"Task '{first}' has two gold labels" in said.err
    known = dict(gold[["conversation", "label"]].to_numpy())
    column = judges.assign(known=judges["conversation"].map(known))
    column.loc[(column["conversation"] == first) & (column["judge_model"] == "gpt"), "known"] = odd["label"].iloc[0]
    column.to_csv("column.csv", index=False)
    said = run("evaluate", "column.csv", *NAMED, "--positive", "pass", "--gold", "known", expect=2)
    assert f"The task '{first}' has several gold labels, " in said.err


def write_grades(ids, wide, rng):
    """Grades that three judges gave to these conversations, written to judges.csv."""
    grades = pd.DataFrame({name: rng.integers(1, 6, len(ids)) for name in ["gpt", "claude", "gemini"]})
    table = pd.concat([pd.Series(ids, name="conversation_id"), grades], axis=1)
    if not wide:
        table = table.melt("conversation_id", var_name="judge", value_name="score")
    table.to_csv("judges.csv", index=False)
    return grades


@pytest.mark.parametrize("command", ["evaluate", "agree"])
@pytest.mark.parametrize("wide", [False, True])
def test_tasks_of_people_are_found_by_their_values(run, tmp_path, monkeypatch, command, wide):
    monkeypatch.chdir(tmp_path)
    rng, ids = np.random.default_rng(0), np.arange(1, 101)
    write_grades(ids, wide, rng)
    who = np.repeat(["Zoë Müller", "Smith, Ann"], 40)
    people = pd.DataFrame({"which": np.tile(ids[:40], 2), "rater_name": who, "stars": rng.integers(1, 6, 80)})
    people.to_json("people.jsonl", orient="records", lines=True)
    given = [command, "judges.csv", *(["--wide"] if wide else []), "--humans"]
    said = run(*given, "people.jsonl", "--json")
    assert "has the tasks in the column 'which': its values are those of 'conversation_id'" in said.err
    facts = json.loads(said.out)
    assert facts["tasks"] == 100
    people.assign(which=people["which"] + 5000).to_csv("others.csv", index=False)
    error = run(*given, "others.csv", expect=2).err
    assert "Rename what has it to 'conversation_id' there." in error


@pytest.mark.parametrize("command", ["evaluate", "labels", "rate"])
@pytest.mark.parametrize("wide", [False, True])
def test_tasks_of_gold_labels_are_found_by_their_values(run, tmp_path, monkeypatch, command, wide):
    monkeypatch.chdir(tmp_path)
    rng, ids = np.random.default_rng(0), np.arange(2001, 2101)
    grades = write_grades(ids, wide, rng)
    gold = pd.DataFrame({"which": ids[:40], "final": grades["gpt"][:40], "drawn": 0.5})
    gold[["which", "final"]].to_csv("gold.csv", index=False)
    asked = {"evaluate": ["--ordinal"], "labels": ["-o", "out.csv"], "rate": ["--mean"]}[command]
    given = [command, "judges.csv", *(["--wide"] if wide else []), *asked, "--json", "--gold"]
    note = "has the tasks in the column 'which': its values are those of 'conversation_id'"
    said = run(*given, "gold.csv")
    assert said.err.count(note) == 1
    assert "gold.csv" in said.err
    gold.rename(columns={"which": "conversation_id"})[["conversation_id", "final"]].to_csv("named.csv", index=False)
    named = run(*given, "named.csv")
    assert note not in named.err
    assert {**json.loads(said.out), "warnings": 0} == {**json.loads(named.out), "warnings": 0}
    if command == "rate":
        gold.rename(columns={"final": "label"}).to_csv("drawn.csv", index=False)
        weighed = run(*given, "drawn.csv", "--gold-weights", "drawn")
        assert weighed.err.count(note) == 1
    gold.assign(other=gold["which"] + 1).rename(columns={"final": "label"}).to_csv("two.csv", index=False)
    assert "No column for the task of the gold labels among" in run(*given, "two.csv", expect=2).err


def test_tasks_of_people_and_gold_are_those_of_the_judges_rather_than_other_numbers(run, tmp_path, monkeypatch):
    """Another column is called like one of tasks: values decide, and a column with the judges' name needs no note."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    judges = pd.DataFrame({"Output ID": np.arange(3001, 3101), **{name: rng.integers(1, 6, 100) for name in "abc"}})
    judges.melt("Output ID", var_name="judge", value_name="score").to_csv("judges.csv", index=False)
    gold = pd.DataFrame({"ref": judges["Output ID"], "ticket_id": np.arange(100), "label": judges["a"]})[:40]
    gold.to_csv("gold.csv", index=False)
    people = gold.rename(columns={"ref": "Output ID", "label": "stars"}).assign(rater="Ann")
    pd.concat([people, people.assign(rater="Bo")]).to_csv("people.csv", index=False)
    said = run("evaluate", "judges.csv", "--gold", "gold.csv", "--humans", "people.csv", "--ordinal", "--json")
    facts = json.loads(said.out)
    assert facts["tasks"] == 100
    assert facts["audit"]["n_gold"] == 40
    assert said.err.count("its values are those of 'Output ID'") == 1
    assert "The file of gold labels 'gold.csv' has the tasks in the column 'ref'" in said.err
