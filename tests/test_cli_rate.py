"""rectifact rate: tables on the terminal, files, a report, and one sentence for each mistake."""

import json

import numpy as np
import pandas as pd
import pytest

from rectifact import rate
from rectifact.report import render
from rectifact.report.blocks import Table
from rectifact.report.marks import Points
from rectifact.report.rates import rates_report


@pytest.fixture(scope="module")
def panel():
    rng = np.random.default_rng(0)
    version = np.arange(300) % 2
    truth = rng.random(300) < np.where(version, 0.8, 0.5)
    parts = []
    for name, wrong in (("gpt", 0.3), ("llama", 0.2), ("qwen", 0.4)):
        passed = rng.random(300) < np.where(truth, 0.9, wrong)
        columns = {"task": np.arange(300), "worker": name, "label": np.where(passed, "pass", "fail")}
        parts.append(pd.DataFrame(columns | {"version": np.where(version, "v2", "v1")}))
    some = rng.permutation(300)[:120]
    people = pd.DataFrame({"task": some, "label": np.where(truth[some], "pass", "fail"), "weight": 1.0})
    return pd.concat(parts, ignore_index=True), people


@pytest.fixture
def files(panel, tmp_path):
    paths = tmp_path / "answers.csv", tmp_path / "humans.csv"
    for table, path in zip(panel, paths, strict=True):
        table.to_csv(path, index=False)
    return paths


def test_rates_and_differences_go_to_the_terminal(run, files, panel, tmp_path):
    out, page = tmp_path / "out.csv", tmp_path / "page.html"
    options = ("--by", "version", "--half-width", 0.05, "-o", out, "--report", page)
    said = run("rate", files[0], "--gold", files[1], "--positive", "pass", *options)
    expected = rate(*panel, positive="pass", by="version", half_width=0.05)
    assert "900 answers from 3 judges on 300 tasks, and 120 tasks labelled by people." in said.out
    assert all(sentence in said.out for sentence in expected.words())
    for words in ("Share of pass", "v2 minus v1", "people alone", "more labels for ±5 points"):
        assert words in said.out
    written = pd.read_csv(out)
    np.testing.assert_allclose(written["value"], expected.table()["value"])
    np.testing.assert_allclose(written["p_value"], expected.table()["p_value"])
    html = page.read_text()
    assert "v2 minus v1" in html
    assert "Differences" in html


def test_a_summary_for_scripts(run, files):
    options = ("--positive", "pass", "--by", "version", "--gold-weights", "weight", "--json")
    facts = json.loads(run("rate", files[0], "--gold", files[1], *options).out)
    assert [row["group"] for row in facts["rates"]] == ["all tasks", "v1", "v2"]
    assert facts["differences"][0]["p_value"] < 0.05
    assert facts["rates"][0]["labels_needed"] is None
    assert facts["positive"] == ["pass"]


def test_several_classes_count_together(run, files, panel):
    answers = panel[0].assign(label=panel[0]["label"].where(panel[0]["worker"] != "gpt", panel[0]["label"] + "ed"))
    answers.to_csv(files[0], index=False)
    options = ("--positive", "pass", "--positive", "passed", "-o", "-")
    said = run("rate", files[0], "--gold", files[1], *options)
    assert said.out.startswith("kind,first,second,value,low,high,p_value")
    assert float(said.out.splitlines()[1].split(",")[3]) == pytest.approx(
        rate(answers, panel[1], ["pass", "passed"]).rates["rate"].iloc[0]
    )


def test_groups_and_weights_in_files(run, files, panel, tmp_path):
    groups, weights = tmp_path / "groups.csv", tmp_path / "weights.csv"
    panel[0][["task", "version"]].drop_duplicates().to_csv(groups, index=False)
    panel[1][["task", "weight"]].to_csv(weights, index=False)
    table = panel[0].pivot(index="task", columns="worker", values="label").reset_index()
    table.to_csv(files[0], index=False)
    options = ("--wide", "--positive", "pass", "--by", groups, "--gold-weights", weights, "--json")
    facts = json.loads(run("rate", files[0], "--gold", files[1], *options).out)
    assert [row["tasks"] for row in facts["rates"]] == [300, 150, 150]
    said = run("rate", files[0], "--gold", files[1], *options[:-1], "-o", groups, expect=2).err
    assert "One file is named twice" in said


def test_people_who_tie_are_mentioned(run, files, panel):
    other = panel[1].head(2).assign(label=lambda rows: rows["label"].map({"pass": "fail", "fail": "pass"}))
    pd.concat([panel[1], other]).to_csv(files[1], index=False)
    said = run("rate", files[0], "--gold", files[1], "--positive", "pass")
    assert "Note: 2 tasks have gold labels that contradict each other, and were left out: " in said.err
    assert "118 tasks labelled by people" in said.out


def _swapped(people):
    return people.assign(label=people["label"].map({"pass": "fail", "fail": "pass"}))


def _graded(table):
    return table.assign(label=table["label"].map({"pass": 3, "fail": 1}))


@pytest.mark.parametrize("asked", [("--positive", "pass"), ("--mean",)])
def test_gold_labels_that_contradict_the_judges_come_first(run, files, panel, tmp_path, asked):
    form, page = _graded if asked == ("--mean",) else (lambda table: table), tmp_path / "page.html"
    form(panel[0]).to_csv(files[0], index=False)
    opening = "Do not rely on anything below yet. Gold labels do not fit the answers: "
    for people, doubted in ((panel[1], False), (_swapped(panel[1]), True)):
        form(people).to_csv(files[1], index=False)
        said = run("rate", files[0], "--gold", files[1], *asked, "--report", page)
        assert said.out.splitlines()[1].startswith(f"warning: {opening}") == doubted
        assert (opening in page.read_text()) == doubted
        written = run("rate", files[0], "--gold", files[1], *asked, "--json")
        assert json.loads(written.out)["contradicted"].startswith(opening) == doubted
        assert (opening in run("rate", files[0], "--gold", files[1], *asked, "-o", "-").err) == doubted


def test_gold_labels_that_contradict_the_judges_in_python(panel):
    with pytest.warns(UserWarning, match="Do not rely on anything below yet"):
        found = rate(panel[0], _swapped(panel[1]), "pass")
    assert found.words()[0] == found.contradicted
    assert rates_report(found).main[0] == found.contradicted


def test_labels_from_gold_labels_that_contradict_the_workers(run, files, panel, tmp_path):
    """The warning comes first, and does not advise what the user has just done."""
    page, out = tmp_path / "page.html", tmp_path / "labels.csv"
    for people, doubted in ((panel[1], False), (_swapped(panel[1]), True)):
        people.to_csv(files[1], index=False)
        said = run("labels", files[0], "--gold", files[1], "-o", out, "--json", "--report", page)
        assert said.err.startswith("warning: gold labels that do not fit the answers. ") == doubted
        assert ("or leave --gold out" in said.err) == doubted
        assert "give some certain labels with --gold" not in said.err
        named = [finding["finding"] for finding in json.loads(said.out)["findings"]]
        assert ("gold labels that do not fit the answers" in named) == doubted
        assert ("Gold labels do not fit the answers" in page.read_text()) == doubted


def test_selected_labels_are_mentioned(run, files, panel):
    panel[1][panel[1]["label"] == "fail"].to_csv(files[1], index=False)
    said = run("rate", files[0], "--gold", files[1], "--positive", "pass").err
    assert "do not look like a random sample" in said
    assert "or give --gold-weights." in said


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--positive", "pas"], "--positive pas is not among the classes 'fail', 'pass'."),
        (["--positive", "pass", "--by", "nothing"], "--by nothing is neither a column of the answers nor a file."),
        (["--positive", "pass", "--by", "worker"], "The task '0' is in several groups"),
        (["--positive", "pass", "--gold-weights", "no"], "--gold-weights no is neither a column of the gold labels"),
        (["--positive", "pass", "--half-width", "2"], "--half-width 2.0 must lie between 0 and 1."),
        (["--positive", "pass", "--confidence", "95"], "--confidence 95.0 must lie between 0 and 1."),
        (["--positive", "pass", "-o", "out.txt"], "should end in .csv, .tsv, .parquet or .jsonl"),
        (["--positive", "pass", "-o", "answers.csv"], "One file is named twice"),
        (["--positive", "pass", "--report", "page.pdf"], "should end in .html"),
        (["--positive", "pass", "-o", "-", "--json"], "standard output holds the summary"),
        (["--positive", "pass", "--gold", "none.csv"], "none.csv"),
        (["--positive", "pass", "--label", "verdict"], "verdict"),
    ],
)
def test_mistakes_are_one_sentence(run, files, monkeypatch, options, message):
    monkeypatch.chdir(files[0].parent)
    before = sorted(files[0].parent.iterdir())
    said = run("rate", "answers.csv", "--gold", "humans.csv", *options, expect=2).err
    assert message in said
    assert said.count("\n") == 1
    assert sorted(files[0].parent.iterdir()) == before


def test_the_report_begins_with_a_chart_of_the_rates(panel):
    odd = panel[0].assign(version=panel[0]["version"].replace("v1", "<script>alert(1)</script>"))
    found = rate(odd, panel[1], "pass", by="version", half_width=0.01)
    report = rates_report(found)
    assert [section.title for section in report.sections] == ["Share of pass", "Differences"]
    chart = report.sections[0].blocks[1]
    (points,) = [mark for mark in chart.marks if isinstance(mark, Points)]
    assert len(points.y) == 9
    assert points.y[0] == pytest.approx(found.rates["rate"].iloc[0], abs=1e-4)
    assert "<script>alert" not in render([report], "rectifact")


def test_the_first_screen_says_how_many_labels_are_needed(panel):
    found = rate(*panel, positive="pass", by="version", half_width=0.06)
    said = " ".join(rates_report(found).main)
    whole = found.rates.iloc[0]
    more = int(whole["labels_needed"] - whole["labels"])
    assert f"All tasks: an interval of 6 points on either side takes about {more} more labels." in said
    assert "v2 minus v1: an interval of 6 points on either side" in said
    without = rates_report(rate(*panel, positive="pass", by="version"))
    assert "on either side" not in " ".join(without.main)


def test_tables_show_differences_of_shares_in_points(panel):
    found = rate(*panel, positive="pass", by="version")
    (table,) = [block for block in rates_report(found).sections[1].blocks if isinstance(block, Table)]
    page = render([rates_report(found)], "rectifact")
    assert table.title == "Differences in points"
    assert table.columns[2].help == "second minus first in points"
    row = found.differences.iloc[0]
    for value in (row["difference"], row["low"], row["high"], row["human_difference"], row["judge_difference"]):
        assert f">{found.quantity.change(value)}</td>" in page
    grades = panel[0].assign(label=panel[0]["label"].map({"pass": 2, "fail": 1}))
    gold = panel[1].assign(label=panel[1]["label"].map({"pass": 2, "fail": 1}))
    blocks = rates_report(rate(grades, gold, mean=True, by="version")).sections[1].blocks
    assert [block.columns[2].form for block in blocks if isinstance(block, Table)] == ["number"]


def test_the_report_has_groups_without_labels(panel):
    groups = {task: "old" if task in set(panel[1]["task"]) else "new" for task in range(300)}
    nothing, unequal = "There are no gold labels in 'new'", "100% of the tasks in 'old' and 0% of those in 'new'"
    with pytest.warns(UserWarning, match=nothing), pytest.warns(UserWarning, match=unequal):
        report = rates_report(rate(*panel, positive="pass", by=groups))
    assert "nobody has labelled any of these tasks" in render([report], "rectifact")
