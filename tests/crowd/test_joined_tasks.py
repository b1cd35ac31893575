"""Tasks that a prompt and a version name together: refused where they are mixed up, read where both are named."""

import json
import shlex

import numpy as np
import pandas as pd
import pytest

from rectifact import DawidSkene, InputError, evaluate
from rectifact.crowd import read_answers

JUDGES = ["gpt", "claude", "gemini", "llama"]


def verdicts(n=60, seed=0):
    """Four judges answer each prompt once per version; version B passes more often."""
    rng = np.random.default_rng(seed)
    rows = []
    for version, rate in (("A", 0.4), ("B", 0.7)):
        passed = rng.random(n) < rate
        for name in JUDGES:
            said = np.where(passed == (rng.random(n) < 0.9), "pass", "fail")
            rows += [(i, version, name, said[i]) for i in range(n)]
    return pd.DataFrame(rows, columns=["prompt_id", "version", "judge", "verdict"])


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = verdicts()
    table.to_csv("v.csv", index=False)
    table.to_json("v.jsonl", orient="records", lines=True)
    people = verdicts(seed=1).query("judge in ['gpt', 'claude']").replace({"gpt": "ann", "claude": "bob"})
    people.rename(columns={"judge": "annotator"}).to_csv("people.csv", index=False)
    gold = table[table["judge"] == "gpt"][::2].rename(columns={"verdict": "truth"})
    gold[["prompt_id", "version", "truth"]].to_csv("gold.csv", index=False)
    return tmp_path


def _remedy(error):
    return shlex.split(" ".join(error.split()).split("name both columns: ")[1].split(";")[0])


ASKED = {
    "labels": ["--gold", "gold.csv", "-o", "labels.csv"],
    "evaluate": ["--humans", "people.csv", "--gold", "gold.csv", "--positive", "pass"],
    "agree": ["--humans", "people.csv"],
    "rate": ["--gold", "gold.csv", "--positive", "pass"],
}


@pytest.mark.parametrize("command", ASKED)
@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
def test_versions_of_a_task_are_refused_with_an_option_that_works(run, folder, command, suffix):
    given = [command, f"v.{suffix}", "--task", "prompt_id", *ASKED[command]]
    error = run(*given, expect=2).err
    assert "the column 'version' tells these answers apart" in " ".join(error.split())
    remedy = _remedy(error)
    assert remedy == ["--task", "prompt_id,version"]
    said = run(command, f"v.{suffix}", *remedy, *ASKED[command])
    assert "on 120 tasks" in " ".join((said.out + said.err).split())


@pytest.mark.parametrize("command", ASKED)
def test_rows_of_a_wide_table_that_are_versions_are_refused_with_an_option_that_works(run, folder, command):
    wide = verdicts().pivot(index=["prompt_id", "version"], columns="judge", values="verdict").reset_index()
    wide.to_csv("wide.csv", index=False)
    gold = ["--gold", "gold.csv", "--positive", "pass"] if command == "rate" else []
    error = run(command, "wide.csv", "--wide", *gold, expect=2).err
    assert "which the column 'version' tells apart" in " ".join(error.split())
    said = run(command, "wide.csv", "--wide", *_remedy(error), *gold)
    assert "on 120 tasks" in " ".join((said.out + said.err).split())


@pytest.mark.parametrize("workers", [["gpt"], ["gpt", "llama"]])
def test_a_worker_who_answered_two_rows_of_a_task_differently_is_no_version(workers):
    table = pd.DataFrame({"id": [1, 1, 2, 3]} | {name: ["pass", "fail", "pass", "fail"] for name in workers})
    with pytest.raises(InputError, match=r"has several\. Merge the rows"):
        read_answers(table, wide=True)


def test_groups_are_compared_beside_joined_tasks(run, folder):
    error = run("rate", "v.csv", "--task", "prompt_id", "--by", "version", *ASKED["rate"], expect=2).err
    said = run("rate", "v.csv", *_remedy(error), "--by", "version", *ASKED["rate"], "--json")
    facts = json.loads(said.out)
    assert facts["tasks"] == 120
    assert [row["group"] for row in facts["rates"]][1:] == ["A", "B"]
    said = run("evaluate", "v.csv", "--task", "prompt_id,version", "--by", "version", *ASKED["evaluate"], "--json")
    assert json.loads(said.out)["tasks"] == 120


def test_labels_keep_the_names_of_tasks_and_serve_as_gold(run, folder):
    run("labels", "v.csv", "--task", "prompt_id,version", "-o", "labels.csv")
    labels = pd.read_csv("labels.csv")
    assert labels.iloc[0][["prompt_id", "version"]].tolist() == [0, "A"]
    labels.head(40).to_csv("gold2.csv", index=False)
    said = run("labels", "v.csv", "--task", "prompt_id,version", "--gold", "gold2.csv", "-o", "again.csv")
    assert "left out" not in said.err


def test_wide_tables_leave_out_the_joined_columns(run, folder):
    wide = verdicts().pivot(index=["prompt_id", "version"], columns="judge", values="verdict").reset_index()
    wide.to_csv("wide.csv", index=False)
    options = ["--wide", "--task", "prompt_id,version", "--by", "version", "--gold", "gold.csv", "--positive", "pass"]
    for command in ("evaluate", "rate"):
        facts = json.loads(run(command, "wide.csv", *options, "--json").out)
        assert (facts["tasks"], facts["judges"]) == (120, 4)


@pytest.mark.parametrize("options", [(), ("--by", "version")])
def test_wide_tables_with_several_rows_for_a_task_get_an_option_that_works(run, tmp_path, options):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"prompt_id": np.repeat(range(30), 2), "version": ["A", "B"] * 30})
    table = table.assign(**{name: rng.integers(1, 4, 60) for name in ("gpt", "claude", "gemini")})
    table.to_csv(tmp_path / "wide.csv", index=False)
    said = run("evaluate", tmp_path / "wide.csv", "--wide", *options, expect=2).err
    assert "name both columns: --task prompt_id,version;" in said
    run("evaluate", tmp_path / "wide.csv", "--wide", *options, "--task", "prompt_id,version")


def test_python_takes_a_list_of_columns():
    table = verdicts()
    with pytest.raises(InputError, match=r"task=\['prompt_id', 'version'\]"):
        DawidSkene().fit(table, task="prompt_id")
    fitted = DawidSkene().fit(table, task=["prompt_id", "version"])
    assert fitted.tasks_[0] == "0, A"
    assert len(fitted.tasks_) == 120
    assert len(fitted.predict(table[table["version"] == "A"])) == 60
    found = evaluate(table, task=["prompt_id", "version"], by="version", positive="pass")
    assert len(found.panel.answers.tasks) == 120


def test_repeated_runs_of_one_task_are_read():
    table = verdicts().rename(columns={"version": "run"})
    assert len(read_answers(table, task="prompt_id")) == len(table)
    times = verdicts().drop(columns="version").assign(time=np.arange(480))
    assert len(read_answers(times, task="prompt_id")) == 480


def test_a_single_column_with_a_comma_in_its_name_is_one_column():
    table = verdicts().query("version == 'A'").rename(columns={"prompt_id": "id, text"})
    assert len(read_answers(table, task="id, text").tasks) == 60


@pytest.mark.parametrize(
    "names", [{"prompt_id": "Prompt ID", "version": "Version"}, {"prompt_id": "q", "version": "system"}]
)
@pytest.mark.parametrize("command", ["evaluate", "agree", "rate", "labels"])
def test_columns_of_tasks_with_other_names_are_found(run, folder, command, names):
    expected = run(command, "v.csv", "--task", "prompt_id,version", *ASKED[command]).out
    pd.read_csv("v.csv").rename(columns=names).to_csv("other.csv", index=False)
    found = run(command, "other.csv", "--task", ",".join(names.values()), *ASKED[command])
    assert found.out.replace(",".join(names.values()), "prompt_id,version") == expected
    said = " ".join(found.err.split())
    assert "has other names for the columns of the tasks: 'prompt_id' is read as" in said


def test_a_file_without_one_of_the_columns_is_named(run, folder):
    pd.read_csv("people.csv").drop(columns="version").to_csv("people.csv", index=False)
    error = " ".join(run("evaluate", "v.csv", "--task", "prompt_id,version", *ASKED["agree"], expect=2).err.split())
    assert "The people's file 'people.csv' has no column 'version' among" in error
    assert "Rename what has it there, or add it." in error


def test_judges_without_the_version_of_people_are_told_so(run, folder):
    table = pd.read_csv("v.csv")
    table[table["version"] == "A"].drop(columns="version").to_csv("v.csv", index=False)
    error = " ".join(run("evaluate", "v.csv", "--humans", "people.csv", expect=2).err.split())
    assert "The people's file 'people.csv' repeats tasks" in error
    assert "the answers of judges must have that column too: add it, and name both columns: --task" in error


def test_columns_that_are_not_there_are_suggested(run, folder):
    pd.read_csv("v.csv").rename(columns={"prompt_id": "Prompt ID", "version": "Version"}).to_csv("v.csv", index=False)
    error = " ".join(run("evaluate", "v.csv", "--task", "prompt_id,version", expect=2).err.split())
    assert "Did you mean --task 'Prompt ID,Version'?" in error
    run("evaluate", "v.csv", "--task", "Prompt ID,Version")
    error = " ".join(run("evaluate", "v.csv", "--task", "xyz,uvw", expect=2).err.split())
    assert "Name the columns of this file that name a task together." in error


def test_repeats_that_contradict_each_other_raise_a_question(run, folder):
    table = pd.read_csv("v.csv").drop(columns="version")
    table.to_csv("mixed.csv", index=False)
    question = "Is a column missing that tells them apart, such as a version?"
    said = " ".join(run("evaluate", "mixed.csv").err.split())
    assert f"{question} If so, add it, and name both columns: --task prompt_id,version." in said
    pd.concat([table[:240], table[:240]]).to_csv("twice.csv", index=False)
    said = " ".join(run("evaluate", "twice.csv").err.split())
    assert "240 repeated answers" in said
    assert question not in said
