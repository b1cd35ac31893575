"""rectifact agree: tables on the terminal, files, a report, and one sentence for each mistake."""

import json

import numpy as np
import pandas as pd
import pytest

from rectifact import agreement, alternative_annotator_test
from rectifact.datasets import make_crowd
from rectifact.report import render
from rectifact.report.agreement import agreement_report
from rectifact.report.marks import Cells, Points


@pytest.fixture(scope="module")
def panel():
    answers = make_crowd(120, 6, 3, labels_per_task=6, accuracy=(0.7, 0.9)).answers
    answers["worker"] = answers["worker"].map({0: "gpt", 1: "llama", 2: "twin", 3: "ann", 4: "bob", 5: "eve"})
    person = answers["worker"].isin(["ann", "bob", "eve"])
    return answers[~person], answers[person & (answers["task"] < 80)]


@pytest.fixture
def files(panel, tmp_path):
    paths = tmp_path / "answers.csv", tmp_path / "humans.csv"
    for table, path in zip(panel, paths, strict=True):
        table.to_csv(path, index=False)
    return paths


def test_tables_of_workers_go_to_the_terminal(run, files):
    said = run("agree", files[0])
    assert "120 tasks" in said.out
    for words in ("Krippendorff's alpha", "Gwet's AC1", "By class", "By pair", "gpt"):
        assert words in said.out
    assert "May judges replace people?" not in said.out


def test_judges_are_tested_against_people(run, files, panel, tmp_path):
    out, tests, page = tmp_path / "out.csv", tmp_path / "tests.csv", tmp_path / "page.html"
    said = run("agree", files[0], "--humans", files[1], "-o", out, "--tests", tests, "--report", page, "--epsilon", 0.1)
    assert "judges with people" in said.out
    assert "May judges replace people?" in said.out
    expected = alternative_annotator_test(*panel, epsilon=0.1)
    assert all(sentence in said.out for sentence in expected.words())
    table = pd.read_csv(out)
    np.testing.assert_allclose(table["value"], agreement(panel[0], humans=panel[1]).table()["value"])
    np.testing.assert_allclose(pd.read_csv(tests)["p_value"], expected.people["p_value"])
    html = page.read_text()
    assert "May judges replace people?" in html
    assert "Cohen&#39;s kappa by pair" in html


@pytest.mark.parametrize("people", ["ann,bob,eve", "kind"])
def test_people_in_the_same_file(run, panel, files, tmp_path, people):
    mixed = pd.concat(panel).assign(kind=lambda table: table["worker"].isin(panel[1]["worker"]).map({True: "human"}))
    mixed.fillna({"kind": "model"}).to_csv(tmp_path / "mixed.csv", index=False)
    facts = json.loads(run("agree", tmp_path / "mixed.csv", "--people", people, "--json").out)
    assert facts == json.loads(run("agree", files[0], "--humans", files[1], "--json").out)
    table = agreement(mixed, people=["ann", "bob", "eve"]).table()
    pd.testing.assert_frame_equal(table, agreement(panel[0], humans=panel[1]).table())


def test_a_summary_for_scripts(run, files):
    facts = json.loads(run("agree", files[0], "--humans", files[1], "--json").out)
    assert facts["workers"] == 6
    assert {row["among"] for row in facts["agreement"]} == {"people", "judges", "judges with people"}
    assert {row["judge"] for row in facts["judges"]} == {"gpt", "llama", "twin", "panel (all judges)"}
    assert len(facts["tests"]) == 12


def test_figures_go_to_a_pipe(run, files):
    said = run("agree", files[0], "-o", "-").out.splitlines()
    assert said[0] == "table,first,second,coefficient,value,low,high,tasks,note"


def test_levels_and_classes(run, panel, tmp_path):
    words = {0: "poor", 1: "fair", 2: "good"}
    path = tmp_path / "grades.csv"
    panel[0].assign(label=panel[0]["label"].map(words)).to_csv(path, index=False)
    said = run("agree", path, "--level", "ordinal", expect=2).err
    assert said == (
        "rectifact: The order of labels such as 'fair' is not known. "
        "List all classes in order: --classes poor,fair,good.\n"
    )
    said = run("agree", path, "--level", "ordinal", "--classes", "poor, fair, good", "--json")
    rows = {row["coefficient"]: row["value"] for row in json.loads(said.out)["agreement"]}
    expected = agreement(panel[0], "ordinal").overall.set_index("coefficient")["value"].to_dict()
    assert rows == pytest.approx(expected)
    assert "--level interval needs numbers" in run("agree", path, "--level", "interval", expect=2).err


def test_one_person_is_compared_but_not_tested(run, files, panel):
    panel[1][panel[1]["worker"] == "ann"].to_csv(files[1], index=False)
    said = run("agree", files[0], "--humans", files[1])
    assert "There is one person, and the test of the judges takes two." in said.err
    assert "3 judges and 1 person" in said.out
    assert "judges with people" in said.out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--tests", "t.csv"], "--tests needs people to test judges against."),
        (["--humans", "humans.csv", "--tests", "-"], "Name a file for --tests."),
        (["--humans", "none.csv"], "none.csv"),
        (["--humans", "answers.csv"], "Say which of the workers are people: --people."),
        (["--people", "anne"], "--people names 'anne', who gave no answer"),
        (["-o", "out.txt"], "should end in .csv, .tsv, .parquet or .jsonl"),
        (["-o", "answers.csv"], "One file is named twice"),
        (["--report", "page.pdf"], "should end in .html"),
        (["-o", "-", "--json"], "standard output holds the summary"),
        (["--confidence", "95"], "--confidence 95.0 must lie between 0 and 1."),
        (["--humans", "humans.csv", "--epsilon", "2"], "--epsilon 2.0 must be at least 0 and below 1."),
        (["--label", "verdict"], "verdict"),
    ],
)
def test_mistakes_are_one_sentence(run, files, monkeypatch, options, message):
    monkeypatch.chdir(files[0].parent)
    before = sorted(files[0].parent.iterdir())
    said = run("agree", "answers.csv", *options, expect=2).err
    assert message in said
    assert said.count("\n") == 1
    assert sorted(files[0].parent.iterdir()) == before


def test_no_common_task(run, files, panel):
    panel[1].assign(task=panel[1]["task"] + 1000).to_csv(files[1], index=False)
    said = run("agree", files[0], "--humans", files[1], expect=2).err
    assert said == (
        "rectifact: No task was answered by a judge and by a person. Check that both name the tasks alike.\n"
    )


def test_the_report_has_a_heat_map_and_decisions(panel):
    report = agreement_report(agreement(panel[0], humans=panel[1]), alternative_annotator_test(*panel))
    titles = [section.title for section in report.sections]
    assert titles == ["May judges replace people?", "Overview", "Classes", "Workers", "Pairs"]
    pairs = report.sections[-1].blocks[0]
    (cells,) = [mark for mark in pairs.marks if isinstance(mark, Cells)]
    assert cells.values.shape == (6, 6)
    assert np.isnan(cells.values[0, 0])
    (points,) = [mark for mark in report.sections[-2].blocks[0].marks if isinstance(mark, Points)]
    assert len(points.low) == len(points.high) == 6
    assert "<script>alert" not in render([report], "rectifact")


def test_the_report_opens_with_one_sentence_per_decision(panel):
    found, test = agreement(panel[0], humans=panel[1]), alternative_annotator_test(*panel)
    report = agreement_report(found, test)
    decisions = test.judges.groupby("decision")["judge"].agg(list)
    assert len(report.main) == len(decisions) + 2  # and what the test leaves open, and how often they agree
    for judges in decisions:
        shown = [str(judge).replace("panel (all judges)", "joint label of all judges") for judge in judges]
        assert sum(all(name in words for name in shown) for words in report.main) == 1
    shares = found.overall.query("coefficient == 'observed agreement'").set_index("among")["value"]
    assert report.main[-1].endswith(f"two people {shares['people']:.1%}.")


def test_names_in_the_report_are_escaped(panel):
    odd = panel[0].assign(worker=panel[0]["worker"].replace("gpt", "<script>alert(1)</script>"))
    page = render(
        [agreement_report(agreement(odd, humans=panel[1]), alternative_annotator_test(odd, panel[1]))], "rectifact"
    )
    assert "<script>alert" not in page


def test_numbers_that_may_be_grades_are_mentioned_unless_the_level_is_given(run, tmp_path):
    answers = make_crowd(60, 4, 5, labels_per_task=4).answers
    answers.assign(label=answers["label"] + 1).to_csv(tmp_path / "grades.csv", index=False)
    answers.assign(label=answers["label"] % 2).to_csv(tmp_path / "two.csv", index=False)
    said = " ".join(run("agree", tmp_path / "grades.csv").err.split())
    assert "1 differs from 2 as much as from 5. If they are grades, use --level ordinal" in said
    for level in ("nominal", "ordinal"):
        assert "grades" not in run("agree", tmp_path / "grades.csv", "--level", level).err
    assert "grades" not in run("agree", tmp_path / "two.csv").err


ASKED = {
    "agree": ["--humans", "humans.csv"],
    "evaluate": ["--humans", "humans.csv", "--gold", "gold.csv", "--positive", "1"],
    "labels": ["-o", "labels.csv"],
    "rate": ["--gold", "gold.csv", "--positive", "1"],
}


@pytest.mark.parametrize("command", ASKED)
def test_quiet_is_results_alone_and_verbose_tells_what_is_done(run, files, panel, monkeypatch, command):
    monkeypatch.chdir(files[0].parent)
    panel[1].drop_duplicates("task")[["task", "label"]].to_csv("gold.csv", index=False)
    said = run("-q", command, "answers.csv", *ASKED[command])
    assert said.err == ""
    assert "on 120 tasks" not in said.out
    told = run("-v", command, "answers.csv", *ASKED[command])
    assert "done after" in told.err
    assert "on 120 tasks" in told.out + told.err
