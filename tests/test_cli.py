import json
import os
import re
import signal
import subprocess
import sys
import time
from importlib.util import find_spec
from io import StringIO

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from rectifact import InputError, SymNMF, __version__
from rectifact.bench.crowd import METHODS
from rectifact.cli import bench, demo, terminal
from rectifact.datasets import load_crowd, make_crowd, make_dots, make_neurons, make_topics
from rectifact.metrics import part_errors


@pytest.fixture
def answers(tmp_path):
    path = tmp_path / "answers.csv"
    load_crowd("anaesthetists").answers.to_csv(path, index=False)
    return path


def test_labels_to_files(run, answers, tmp_path):
    truth, workers = tmp_path / "truth.csv", tmp_path / "workers.csv"
    said = run("labels", answers, "-o", truth, "--workers", workers)
    assert said.out == ""
    assert "315 answers from 5 workers on 45 tasks, 4 classes: converged" in said.err
    assert "Confidence assumes that workers err independently; only labels known to be right (--gold)" in said.err
    frame = pd.read_csv(truth)
    assert list(frame.columns) == ["task", "label", "confidence", "entropy", "answers"]
    assert len(frame) == 45
    assert frame.set_index("task")["label"][5] == 2
    columns = ["worker", "answers", "accuracy", "accuracy_low", "accuracy_high", "information", "spammer"]
    assert list(pd.read_csv(workers).columns) == [
        *(*columns, "bias_1", "bias_2", "bias_3", "bias_4", "independence", "family")
    ]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["answers.csv", "truth.csv", "workers.csv"]


def test_labels_to_stdout_are_nothing_but_data(run, answers):
    said = run("labels", answers)
    assert said.out.splitlines()[0] == "task,label,confidence,entropy,answers"
    assert len(said.out.splitlines()) == 46


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet"])
def test_odd_names_survive_the_round_trip(run, tmp_path, suffix):
    odd = ['a,"b"', "<script>alert(1)</script>", "007", "NA", "=cmd()", "new\nline", "שלום"]
    rows = [(task, worker, label) for task in odd for worker in odd[:3] for label in (task,)]
    frame = pd.DataFrame(rows, columns=["task", "worker", "label"])
    source, target = tmp_path / "in.csv", tmp_path / f"out{suffix}"
    frame.to_csv(source, index=False)
    run("labels", source, "-o", target)
    text = {"dtype": str, "keep_default_na": False}
    out = pd.read_parquet(target) if suffix == ".parquet" else pd.read_csv(target, sep=None, engine="python", **text)
    assert out["task"].tolist() == odd
    assert out["label"].tolist() == odd


def test_other_peoples_columns_and_shapes(run, answers, tmp_path):
    plain = run("labels", answers).out
    frame = pd.read_csv(answers)
    mturk = tmp_path / "mturk.csv"
    frame.set_axis(["HITId", "WorkerId", "Answer.grade"], axis="columns").to_csv(mturk, index=False)
    said = run("labels", mturk)
    assert said.out == plain.replace("task,label", "HITId,Answer.grade")
    assert "task from 'HITId', worker from 'WorkerId', label from 'Answer.grade'" in said.err
    own = tmp_path / "own.csv"
    frame.set_axis(["p", "d", "g"], axis="columns").to_csv(own, index=False)
    assert run("labels", own, "--task", "p", "--worker", "d", "--label", "g").out == plain.replace("task,label", "p,g")
    wide = tmp_path / "wide.csv"
    crowd = make_crowd(30, 5, 2, labels_per_task=4).answers.assign(label=lambda a: a["label"].map({0: "no", 1: "yes"}))
    crowd.pivot(index="task", columns="worker", values="label").fillna("?").to_csv(wide)
    assert run("labels", wide, "--wide", "--missing", "?").out.count("\n") == 31


def test_gold_plan_and_calibration(run, answers, tmp_path):
    gold, plan = tmp_path / "gold.csv", tmp_path / "plan.csv"
    gold.write_text("task,label\n12,2\n38,2\n")
    frame = pd.read_csv(answers)
    frame[(frame["task"] != 3) | (frame["worker"] < 3)].to_csv(answers, index=False)
    said = run("labels", answers, "--gold", gold, "--plan", plan, "--calibrate", "-o", tmp_path / "truth.csv")
    truth = pd.read_csv(tmp_path / "truth.csv").set_index("task")
    assert truth.loc[[12, 38], "label"].tolist() == [2, 2]
    table = pd.read_csv(plan)
    assert list(table.columns) == ["task", "gain", "entropy", "workers"]
    assert 0 < len(table) < 45
    assert table["gain"].min() >= 0.001
    assert f"The plan has {len(table)} of 45 tasks" in said.err
    assert set(table.set_index("task")["workers"][3].split("; ")) == {"3", "4", "5"}
    for other in (answers, gold):
        assert "named twice" in run("labels", answers, "--gold", gold, "-o", other, expect=2).err
    assert "named twice" in run("labels", answers, "-o", plan, "--workers", plan, expect=2).err
    assert "Only the labels" in run("labels", answers, "--workers", "-", expect=2).err


def test_a_plan_in_money(run, tmp_path):
    path, plan, costs, page = (tmp_path / name for name in ("a.csv", "plan.csv", "costs.csv", "report.html"))
    make_crowd(120, 8, 2, labels_per_task=3, random_state=2).answers.to_csv(path, index=False)
    costs.write_text("worker,cost\n0,2\n1,0.5\n2,0.5\n3,1\n")
    out = "-o", tmp_path / "truth.csv"
    said = run("labels", path, "--plan", plan, "--costs", costs, "--budget", "10", "--report", page, *out)
    table = pd.read_csv(plan)
    assert list(table.columns) == ["task", "worker", "cost", "gain", "spent", "error"]
    assert 9 < table["spent"].iloc[-1] <= 10
    assert set(table["worker"]) <= {0, 1, 2, 3}
    assert f"The plan buys {len(table)} answers for {table['spent'].iloc[-1]:.2f}" in said.err
    assert "Expected error against answers bought" in page.read_text()
    said = run("labels", path, "--target", "0.5", "--json", *out)
    assert json.loads(said.out)["needed"] == {"target": 0.5, "answers": 0, "cost": 0.0}
    assert "already" in said.err
    assert "--budget is for a plan" in run("labels", path, "--budget", "10", *out, expect=2).err
    assert "must be a positive number" in run("labels", path, "--target", "-1", *out, expect=2).err
    costs.write_text("worker,cost\nnobody,2\n")
    (tmp_path / "truth.csv").unlink()
    assert "who gave no answer" in run("labels", path, "--plan", plan, "--costs", costs, *out, expect=2).err
    costs.write_text("worker,cost\n1,none\n")
    assert "not a positive number" in run("labels", path, "--plan", plan, "--costs", costs, *out, expect=2).err
    assert not (tmp_path / "truth.csv").exists()


def test_a_plan_of_no_task(run, tmp_path):
    path, plan = tmp_path / "a.csv", tmp_path / "plan.csv"
    crowd = make_crowd(40, 12, 2, labels_per_task=12, accuracy=(0.98, 0.99)).answers
    crowd.to_csv(path, index=False)
    assert "The plan has 0 of 40 tasks" in run("labels", path, "--plan", plan, "-o", tmp_path / "truth.csv").err
    assert plan.read_text() == "task,gain,entropy,workers\n"


def test_workers_who_tell_nothing_are_named(run, answers, tmp_path):
    assert "almost no information" not in run("labels", answers).err
    path = tmp_path / "spam.csv"
    crowd = make_crowd(400, 20, 2, labels_per_task=8, n_spammers=7, accuracy=(0.85, 0.95)).answers
    crowd.assign(worker=crowd["worker"].map(lambda w: f"\x1b[31m{w}")).to_csv(path, index=False)
    said = run("labels", path).err
    spammer = r"'\\x1b\[31m[0-6]'"
    assert "warning: workers whose answers carry almost no information." in said
    named = rf"\(({spammer}, ){{4}}{spammer} and 2 more\)"
    assert re.search(rf"7 of 20 workers {named} hardly depend on the class\. Leave them out or ask", said)
    assert "see the --workers table." in said
    assert "\x1b" not in said
    rare = make_crowd(4000, 10, 2, labels_per_task=5, prior=[0.995, 0.005], accuracy=(0.97, 0.99)).answers
    rare.to_csv(path, index=False)
    assert "almost no information" not in run("labels", path).err  # little is open, and they tell most of it


def test_answers_without_a_label_are_counted(run, answers):
    plain = run("labels", answers).out
    with answers.open("a") as file:
        file.write("1,1,\n" * 15)
    said = run("labels", answers)
    assert said.out == plain
    assert "15 answers without a label were skipped." in said.err


def test_gold_names_its_columns_as_it_likes(run, tmp_path):
    crowd = make_crowd(30, 5, 2, labels_per_task=4)
    path, gold = tmp_path / "a.csv", tmp_path / "gold.csv"
    crowd.answers.set_axis(["q", "who", "says"], axis="columns").to_csv(path, index=False)
    named = "--task", "q", "--worker", "who", "--label", "says", "--gold", gold
    gold.write_text("q,truth\n0,1\n")
    assert re.search("^0,1,1.0,", run("labels", path, *named).out, re.M)
    gold.write_text("q,true_outcome\n0,1\n")  # the one that is left
    assert re.search("^0,1,1.0,", run("labels", path, *named).out, re.M)
    gold.write_text("q,colour,size\n0,1,2\n")
    assert "No column for the label of the gold labels" in run("labels", path, *named, expect=2).err


def test_a_gold_class_that_no_worker_uses_is_reported_once(run, tmp_path):
    crowd = make_crowd(300, 6, 2, labels_per_task=5)
    path, gold = tmp_path / "a.csv", tmp_path / "gold.csv"
    crowd.answers.to_csv(path, index=False)
    truth = crowd.truth.head(40).astype(str)
    truth.iloc[:2] = "none"
    truth.rename("label").rename_axis("task").to_csv(gold)
    options = "--gold", gold, "--calibrate", "--report", tmp_path / "r.html", "-o", tmp_path / "out.csv"
    assert run("labels", path, *options).err.count("no worker gave such an answer") == 1


def test_groups_are_a_column_or_a_file(run, tmp_path):
    table = make_crowd(200, 6, 2, labels_per_task=6, accuracy=(0.6, 0.8)).answers
    table["vendor"] = np.where(table["worker"] < 2, "a", "")
    path, file, workers = tmp_path / "a.csv", tmp_path / "groups.csv", tmp_path / "workers.csv"
    table.to_csv(path, index=False)
    file.write_text("worker,group\n0,a\n1,a\n")
    reports = []
    for groups in ("vendor", file):
        run("labels", path, "--groups", groups, "--workers", workers, "-o", tmp_path / "out.csv")
        reports.append(pd.read_csv(workers, dtype={"family": str}).set_index("worker"))
    pd.testing.assert_frame_equal(*reports)
    family = reports[0]["family"].dropna()
    assert sorted(family.index) == [0, 1]
    assert family.nunique() == 1
    assert (
        "'vender' is neither a column of the answers nor a file"
        in run("labels", path, "--groups", "vender", expect=2).err
    )


def test_a_folder_is_not_a_file_and_a_long_table_is_not_wide(run, answers, tmp_path):
    assert "is a folder" in run("labels", tmp_path, expect=2).err
    assert "leave out --wide" in run("labels", answers, "--wide", expect=2).err


MISTAKES = {
    "empty.csv": ("", "is empty. Write a table"),
    "column.csv": ("task,label\n1,x\n", "No column for the worker"),
    "worker.csv": ("task,worker,label\n1,a,x\n2,a,y\n", "come from one worker, 'a'"),
    "class.csv": ("task,worker,label\n1,a,x\n1,b,x\n", "Every answer is 'x'"),
    "gap.csv": ("task,worker,label\n1,a,x\n1,,x\n", "1 answer has no worker"),
    "classes.csv": ("task,worker,label\n1,a,x\n1,b,y\n2,a,z\n", "3 classes for 3 answers"),
    "fake.parquet": ("task,worker,label\n1,a,x\n", "as Parquet"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_bad_input_is_one_sentence_and_exit_2(run, tmp_path, name):
    content, sentence = MISTAKES[name]
    (tmp_path / name).write_text(content)
    said = run("labels", tmp_path / name, "-o", tmp_path / "truth.csv", expect=2)
    assert sentence in said.err
    assert said.err.startswith("rectifact: ")
    assert said.err.count("\n") == 1
    assert said.out == ""
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_wrong_place_is_said_before_the_work(run, answers, tmp_path):
    assert "no folder" in run("labels", answers, "-o", tmp_path / "no" / "truth.csv", expect=2).err
    assert "should end in" in run("labels", answers, "-o", tmp_path / "truth.xlsx", expect=2).err
    assert "There is no file" in run("labels", tmp_path / "nowhere.csv", expect=2).err


def test_demo_shows_all_families_and_writes_a_report(run, tmp_path):
    said = run("demo", "-o", tmp_path / "report.html")
    for family in ("labels", "parts", "embed", "cluster"):
        assert f"rectifact {family}" in said.out
    assert re.search(r"4\d of 45 with more than 99 %", said.out)
    page = (tmp_path / "report.html").read_text()
    assert all(f"<h2>{title}</h2>" in page for title in ("Labels", "Parts", "Embedding", "Clusters"))
    assert "5 anaesthetists graded 45 patients before an operation, real data from 1979" in page
    assert page.count("Found: ") == 4


def test_a_saved_model_and_its_report(run, answers, tmp_path):
    saved, first, second = tmp_path / "model.rfx", tmp_path / "first.html", tmp_path / "second.html"
    said = run("labels", answers, "-o", tmp_path / "truth.csv", "--save", saved, "--report", first, "--json")
    summary = json.loads(said.out)
    assert (summary["tasks"], summary["workers"], summary["classes"]) == (45, 5, ["1", "2", "3", "4"])
    assert summary["findings"][0]["severity"] == "note"
    run("report", saved, "-o", second)
    date = re.compile(r"Made .*? UTC| of answers\.csv")  # which a model does not know
    assert date.sub("", first.read_text()) == date.sub("", second.read_text())
    assert "--json the standard output holds" in run("labels", answers, "--json", expect=2).err
    assert "should end in .html" in run("labels", answers, "--report", tmp_path / "x.pdf", expect=2).err
    assert "as a model saved by rectifact" in run("report", answers, expect=2).err


def test_a_model_has_its_ending_and_its_place(run, answers, tmp_path):
    for name, sentence in (
        ("-", "A model cannot go to the standard output"),
        (tmp_path / "model.pkl", "should end in .rfx"),
        (tmp_path / "no" / "model.rfx", "no folder"),
    ):
        assert sentence in run("labels", answers, "-o", tmp_path / "truth.csv", "--save", name, expect=2).err
    assert [path.name for path in tmp_path.iterdir()] == ["answers.csv"]


@pytest.mark.parametrize("broken", ["rectifact.report.write_report", "rectifact.cli.outcome.save_model"])
def test_a_report_that_fails_keeps_the_model_and_the_other_way_round(run, answers, tmp_path, monkeypatch, broken):
    def fail(*_, **__):
        raise InputError("It failed.")

    monkeypatch.setattr(broken, fail)
    files = {"--save": tmp_path / "model.rfx", "--report": tmp_path / "report.html"}
    options = [part for option in files.items() for part in option]
    said = run("labels", answers, "-o", tmp_path / "truth.csv", *options, expect=2)
    assert said.err.endswith("rectifact: It failed.\n")
    written = [option for option, path in files.items() if path.exists()]
    assert written == (["--save"] if "report" in broken else ["--report"])


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_names_of_any_script_in_any_locale(tmp_path, encoding):
    table = pd.DataFrame({"task": ["ß", "水"] * 2, "worker": ["a", "a", "b", "b"], "label": ["да", "ні"] * 2})
    source = tmp_path / "answers.csv"
    table.to_csv(source, index=False)
    command = [sys.executable, "-m", "rectifact.cli", "labels", source]
    around = os.environ | {"PYTHONIOENCODING": encoding}
    done = subprocess.run(command, capture_output=True, env=around, check=True)
    assert done.stdout.decode("utf-8").splitlines()[2].startswith("水,ні,")
    options = ["-o", tmp_path / "truth.csv", "--json"]
    done = subprocess.run([*command, *options], capture_output=True, env=around, check=True)
    assert json.loads(done.stdout.decode("ascii"))["classes"] == ["да", "ні"]


def test_a_closed_output_is_one_sentence_or_none(answers, tmp_path):
    for options, code, sentence in (
        (f"-o {tmp_path / 'truth.csv'}", 0, "45 rows -> "),
        ("", 2, "rectifact: Cannot write to the standard output: it is closed.\n"),
    ):
        command = f"{sys.executable} -m rectifact.cli labels {answers} {options} >&-"
        done = subprocess.run(command, shell=True, stderr=subprocess.PIPE, text=True, check=False)
        assert done.returncode == code, done.stderr
        assert sentence in done.stderr
        assert "Traceback" not in done.stderr
    assert (tmp_path / "truth.csv").exists()


def test_brackets_are_shown_as_they_are(run, tmp_path, monkeypatch):
    terminal.show(bench.rows_table("a [red]title[/red]", [{"[bold]column": "[/] cell \\"}]))
    for name in ("_labels", "_parts", "_embed", "_cluster"):
        monkeypatch.setattr(demo, name, lambda: ("labels", "given", "found", None))
    monkeypatch.setattr(demo, "_write_report", lambda *_: True)
    folder = tmp_path / "d[red]"
    folder.mkdir()
    said = run("demo", "-o", folder / "r[x].html").out
    assert "a [red]title[/red]" in said
    assert "[bold]column" in said
    assert "[/] cell \\ " in said
    assert "d[red]/r[x].html" in said


def test_all_commands_report_save_and_summarise(run, tmp_path):
    mixtures = make_topics("dir", n_samples=100, n_features=12, n_topics=3).X
    np.save(tmp_path / "X.npy", mixtures)
    common = "--save", tmp_path / "model.rfx", "--report", tmp_path / "report.html", "--json"
    for command, wanted in (
        (("parts", tmp_path / "X.npy", "-k", 3, "--image", "3x4"), {"samples": 100, "parts": 3}),
        (("embed", tmp_path / "X.npy", "-k", 2, "-o", tmp_path / "E.npz", "--image", "3x4"), {"dimensions": 2}),
        (("cluster", tmp_path / "X.npy", "-k", 3, "-o", tmp_path / "C.csv"), {"points": 100, "clusters": 3}),
    ):
        summary = json.loads(run(*command, *common).out)
        assert wanted.items() <= summary.items()
        assert {"iterations", "stop_reason"} <= summary.keys()
        run("report", tmp_path / "model.rfx", "-o", tmp_path / "again.html")
        assert 20_000 < (tmp_path / "again.html").stat().st_size < 2_000_000
    said = run("parts", tmp_path / "X.npy", "-k", 3, "--image", "5x5", expect=2)
    assert "--image 5x5 has 25 pixels, but a sample has 12 features" in said.err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("id,source,target\n1,10,20\n2,20,30\n3,30,10\n", None),
        ("a,b\n1,2\n2,3\n3,1\n", None),
        ("1,2\n2,3\n3,1\n", None),
        ("x,y\ny,z\nz,x\n", None),
        ("a,b,c,d\n1,2,3,4\n", "has 4 columns"),
        ("a,b,c\n1,2,much\n", "holds text, first 'much' in row 1, where numbers are expected"),
    ],
)
def test_edges_are_read_by_name_or_by_place(run, tmp_path, text, message):
    (tmp_path / "edges.csv").write_text(text)
    said = run("cluster", "--graph", tmp_path / "edges.csv", "-k", 1, expect=2 if message else 0)
    if message:
        assert message in said.err
    else:
        assert "3 nodes, 3 edges" in said.err
        assert "Edges read from the columns" in said.err


def test_version_help_and_datasets(run):
    assert run("--version").out == f"rectifact {__version__}\n"
    assert "labels" in run("--help").out
    assert "anaesthetists" in run("datasets").out


def test_bench_says_what_it_measured_and_where(run, tmp_path, monkeypatch):
    monkeypatch.setenv("RECTIFACT_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    said = run("bench", "crowd", "--quick", "-o", tmp_path / "results.json")
    assert "MV-EM" in said.out
    results = json.loads((tmp_path / "results.json").read_text())
    tables = results["tables"]["crowd"]
    errors = {row["method"]: row["error_%"] for row in tables["methods"]}
    assert 0 < errors["MV-EM"] < errors["majority vote"] < 50
    assert errors.keys() == set(METHODS)
    assert tables["auto"] == tables["field"] == tables["means"] == []  # no published set is here
    assert [row["answers"] for row in tables["scaling"]] == [500_000]
    assert results["environment"]["numba_threads"] == 1
    assert results["environment"]["versions"]["numpy"]
    if find_spec("triton") is None:
        needed = "needs torch" if find_spec("torch") is None else "needs a CUDA device and Triton"
        assert needed in run("bench", "cuda", expect=2).err
    said = run("bench", "nothing", expect=2).err
    assert "'crowd', 'parts', 'latent', 'graph', 'panels', 'selection', 'sca" in said
    assert "'cuda', 'dask', 'all', 'paper'" in said


@pytest.fixture
def measured(monkeypatch):
    """Families that measure nothing: what each would have measured, to be changed, and how it was asked."""
    pytest.importorskip("torch")  # which the command asks for before it measures graphs
    rows = {family: [{"method": "a", "rank": 4, "error": 0.5, "seconds": 1.0}] for family in bench.FAMILIES}
    asked = []

    def measure(family):
        def run(extent):
            asked.append((family, extent.peers, extent.large, extent.quick))
            return {"first": rows[family], "empty": []}

        return run

    for family in rows:
        monkeypatch.setitem(bench.FAMILIES, family, measure(family))
    return rows, asked


def test_bench_all_in_one_run(run, measured, tmp_path):
    _, asked = measured
    said = run("bench", "all", "--peers", "--quick", "-o", tmp_path / "r.json", "-o", tmp_path / "r.md")
    families = ["crowd", "parts", "latent", "graph"]
    assert asked == [(family, True, False, True) for family in families]
    result = json.loads((tmp_path / "r.json").read_text())
    assert list(result) == ["environment", "tables"]
    assert {"date", "cpu", "numba_threads", "versions"} <= result["environment"].keys()
    assert list(result["tables"]) == families
    assert result["tables"]["graph"]["first"][0]["error"] == 0.5
    markdown = (tmp_path / "r.md").read_text()
    for family in families:
        assert f"{family}: first" in said.out
        assert f"## {family}: first\n\n| method | rank | error | seconds |\n|---|---|---|---|\n" in markdown
    assert said.err == ""  # no terminal, no progress


def test_bench_says_which_family_is_running(run, measured, monkeypatch):
    running = []

    def note(what):
        running.append(what)
        return terminal.progress(what)

    monkeypatch.setattr(bench, "progress", note)
    run("bench", "all")
    assert running == ["measuring crowd", "measuring parts", "measuring latent", "measuring graph"]


def test_bench_checks_a_stored_result(run, measured, tmp_path):
    rows, _ = measured
    stored = tmp_path / "stored.json"
    run("bench", "all", "-o", stored)
    assert "8 figures compared" in run("bench", "all", "--check", stored).err
    said = run("bench", "crowd", "--check", stored)  # one family against a result of all
    assert "2 figures compared" in said.err
    assert "0 got worse" in said.err
    rows["crowd"] = [{"method": "a", "rank": 4, "error": 0.5}]
    said = run("bench", "crowd", "--check", stored)
    assert "crowd, first: 'seconds' is no longer measured in 1 row." in said.err
    assert "1 figure compared" in said.err
    rows["crowd"] = [{"method": "a", "rank": 4, "error": 0.6, "seconds": 2.0}, {"method": "b", "rank": 4, "error": 9.0}]
    new = tmp_path / "new.json"
    said = run("bench", "all", "--check", stored, "-o", new, expect=1)
    assert re.search(r"│ crowd +│ first +│ a, rank 4 +│ error +│ 0\.5 +│ 0\.6 +│ 0\.51 ", said.out)
    assert "crowd, first: 1 row only measured, 0 only in" in said.err
    assert "8 figures compared" in said.err
    assert "1 got worse" in said.err
    assert len(json.loads(new.read_text())["tables"]["crowd"]["first"]) == 2  # saved all the same


def test_mistakes_with_bench_are_said_before_anything_is_measured(run, measured, tmp_path):
    _, asked = measured
    other = tmp_path / "other.json"
    other.write_text('{"methods": []}')
    cells = tmp_path / "cells.json"
    cells.write_text('{"environment": {}, "tables": {"crowd": {"first": [{"method": "a", "rank": [4]}]}}}')
    for sentence, *arguments in [
        ("should end in .json or .md", "-o", tmp_path / "r.txt"),
        ("named twice", "-o", tmp_path / "r.md", "-o", tmp_path / "r.md"),
        ("named twice", "-o", other, "--check", other),
        ("There is no file", "--check", tmp_path / "none.json"),
        ("no environment and tables", "--check", other),
        ("no environment and tables", "--check", cells),
        ("mutually exclusive", "--quick", "--large"),
        ("--plot is for parts and latent", "--plot", tmp_path / "p.png"),
    ]:
        said = run("bench", "all", *arguments, expect=2)
        assert sentence in said.err
        assert said.err.count("\n") == 1
    assert asked == []
    run("bench", "crowd", "-o", tmp_path / "crowd.json")
    assert "none of the figures" in run("bench", "parts", "--check", tmp_path / "crowd.json", expect=2).err


def test_a_reader_that_has_seen_enough(tmp_path):
    source = tmp_path / "answers.parquet"
    make_crowd(20_000, 20, 2).answers.to_parquet(source)
    command = f"{sys.executable} -m rectifact.cli labels {source} | head -n 1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=True)
    assert done.stdout == "task,label,confidence,entropy,answers\n"
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_full_disk_is_one_sentence(answers, unbuffered, monkeypatch):
    monkeypatch.setenv("PYTHONUNBUFFERED", unbuffered)
    for arguments in (f"labels {answers}", "datasets"):
        command = f"{sys.executable} -m rectifact.cli {arguments} > /dev/full"
        done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
        assert done.returncode == 2
        assert done.stderr == "rectifact: Cannot write to the standard output: No space left on device.\n"


def test_an_interrupt_leaves_nothing_half_written(tmp_path):
    source, pipe, workers = (tmp_path / name for name in ("answers.parquet", "truth.csv", "workers.csv"))
    make_crowd(20_000, 20, 2).answers.to_parquet(source)
    os.mkfifo(pipe)
    command = [sys.executable, "-m", "rectifact", "labels", source, "-o", pipe, "--workers", workers]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    with pipe.open() as reader:  # opens when the command begins to write, more than the pipe takes in at once
        assert reader.readline() == "task,label,confidence,entropy,answers\n"
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert err.endswith("rectifact: interrupted; no file was left half-written.\n")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["answers.parquet", "truth.csv"]


def test_a_killed_command_goes_on_from_its_checkpoint(run, tmp_path):
    source, state = tmp_path / "dots.npz", tmp_path / "state"
    sp.save_npz(source, sp.csr_matrix(make_dots(size=28, grid=30).X))
    command = ["embed", source, "-k", "6", "--checkpoint", state]
    process = subprocess.Popen([sys.executable, "-m", "rectifact.cli", *command, "-o", tmp_path / "killed.npz"])
    while not (state / "run.state.zip").exists():
        assert process.poll() is None
        time.sleep(0.01)
    process.kill()
    assert process.wait() == -signal.SIGKILL
    said = run(*command, "-o", tmp_path / "anew.npz", expect=2)
    assert "Give --resume to continue it, or delete the folder." in said.err
    run(*command, "--resume", "-o", tmp_path / "resumed.npz")
    run(*command[:4], "-o", tmp_path / "whole.npz")
    with np.load(tmp_path / "resumed.npz") as resumed, np.load(tmp_path / "whole.npz") as whole:
        np.testing.assert_array_equal(resumed["embedding"], whole["embedding"])
    assert "Give --checkpoint folder too" in run(*command[:4], "--resume", "-o", tmp_path / "x.npz", expect=2).err


@pytest.mark.parametrize("command", ["labels", "parts", "cluster"])
def test_all_commands_resume(run, answers, tmp_path, command):
    np.save(tmp_path / "X.npy", make_topics(n_samples=60, n_features=20, n_topics=3).X)
    source = answers if command == "labels" else tmp_path / "X.npy"
    more = [] if command == "labels" else ["-k", "3"]
    for name in ("first.parquet", "second.parquet"):
        out = "--weights" if command == "parts" else "-o"
        run(command, source, *more, "--checkpoint", tmp_path / "state", "--resume", out, tmp_path / name)
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "first.parquet"), pd.read_parquet(tmp_path / name))
    assert json.loads((tmp_path / "state" / "fit.json").read_text())["finished"]


@pytest.fixture
def news(tmp_path):
    path = tmp_path / "news.txt"
    topics = ["bank money loan credit", "ball goal team match", "star planet orbit moon"]
    rng = np.random.default_rng(0)
    lines = [" ".join(rng.choice((topics[i % 3] + " [red] day").split(), size=12)) for i in range(300)]
    path.write_text("\n".join(lines) + "\n")
    return path


def test_topics_of_a_text_file(run, news):
    said = run("parts", news, "-k", "3", "--top", "4")
    rows = [line for line in said.out.splitlines() if "%" in line]
    found = {frozenset(re.findall("[a-z]+", row)) & {"bank", "ball", "star", "money", "goal", "moon"} for row in rows}
    assert found == {frozenset({"bank", "money"}), frozenset({"ball", "goal"}), frozenset({"star", "moon"})}
    assert "300 documents" in said.err


def test_parts_to_files(run, news, tmp_path):
    saved, features, weights = tmp_path / "parts.npz", tmp_path / "features.csv", tmp_path / "weights.parquet"
    run("parts", news, "-k", "3", "-o", saved, "--features", features, "--weights", weights, "--top", "4")
    with np.load(saved, allow_pickle=False) as arrays:
        assert arrays["components"].shape == (3, len(arrays["features"]))
        assert arrays["weights"].shape == (300, 3)
        names, components = arrays["features"], arrays["components"]
    table = pd.read_csv(features)
    assert list(table.columns) == ["topic", "rank", "word", "weight", "stability"]
    assert table.query("topic == 1")["word"].tolist() == names[np.argsort(-components[0], kind="stable")[:4]].tolist()
    columns = ["document", "largest_topic", "largest_share", "topic1", "topic2", "topic3", "words", "residual", "clear"]
    assert pd.read_parquet(weights).columns.tolist() == columns


@pytest.mark.parametrize("suffix", [".npz", ".npy", ".csv", ".parquet"])
@pytest.mark.parametrize("method", ["and", "purification"])
def test_parts_of_matrices(run, tmp_path, suffix, method):
    topics = make_topics(n_samples=3000, n_features=12, n_topics=3)
    path, saved = tmp_path / f"X{suffix}", tmp_path / "parts.npz"
    frame = pd.DataFrame(topics.X, columns=[f"word{i}" for i in range(12)])
    {
        ".npz": lambda: sp.save_npz(path, sp.csr_array(topics.X)),
        ".npy": lambda: np.save(path, topics.X),
        ".csv": lambda: frame.to_csv(path, index=False),
        ".parquet": lambda: frame.to_parquet(path),
    }[suffix]()
    run("parts", path, "-k", "3", "-o", saved, "--method", method)
    with np.load(saved, allow_pickle=False) as arrays:
        if method == "and":
            assert part_errors(arrays["components"], topics.components).max() < 1e-3
        assert arrays["features"][0] == ("word0" if suffix in (".csv", ".parquet") else "1")


def test_parts_are_written_as_a_table_with_one_row_per_feature(run, tmp_path):
    topics = make_topics(n_samples=60, n_features=8, n_topics=3)
    pd.DataFrame(topics.X, columns=list("abcdefgh")).to_csv(tmp_path / "X.csv", index=False)
    run("parts", tmp_path / "X.csv", "-k", 3, "-o", tmp_path / "parts.npz", "--save", tmp_path / "model.rfx")
    run("parts", tmp_path / "X.csv", "-k", 3, "-o", tmp_path / "parts.csv")
    table = pd.read_csv(tmp_path / "parts.csv").set_index("feature")
    with np.load(tmp_path / "parts.npz") as arrays:
        assert table.index.tolist() == arrays["features"].tolist() == list("abcdefgh")
        assert np.allclose(table[["part1", "part2", "part3"]].T, arrays["components"])
        weights = arrays["weights"]
    run("parts", tmp_path / "X.csv", "--model", tmp_path / "model.rfx", "-o", tmp_path / "weights.csv")
    assert np.allclose(pd.read_csv(tmp_path / "weights.csv").set_index("sample"), weights)


def test_mistakes_with_parts_are_one_sentence(run, news, tmp_path):
    assert "or in .npz for all arrays" in run("parts", news, "-k", "3", "-o", tmp_path / "parts.txt", expect=2).err
    assert "There is no file" in run("parts", tmp_path / "none.npz", "-k", "2", expect=2).err
    assert (
        "One file is named twice"
        in run(
            "parts", news, "-k", "2", "--weights", tmp_path / "a.csv", "--features", tmp_path / "a.csv", expect=2
        ).err
    )
    empty = tmp_path / "empty.txt"
    empty.write_text("")
    assert run("parts", empty, "-k", "2", expect=2).err.count("\n") == 1
    hole = tmp_path / "hole.csv"
    hole.write_text("a,b\n1,2\n3,\n")
    assert "1 value of the data is missing, the first in row 2, column 'b'" in run("parts", hole, "-k", 1, expect=2).err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty.txt", "hole.csv", "news.txt"]


@pytest.fixture
def mistakes(tmp_path):
    (tmp_path / "small.csv").write_text("a,b\n1,2\n3,4\n5,6\n")
    (tmp_path / "hole.csv").write_text("a,b\n1,2\n3,\n")
    (tmp_path / "minus.csv").write_text("a,b\n1,2\n3,-1\n")
    (tmp_path / "same.txt").write_text("red\nred\n")
    (tmp_path / "signs.csv").write_text("task,a,b\n1,1,-1\n2,-1,1\n")
    (tmp_path / "folder").mkdir()
    np.save(tmp_path / "folder" / "rows.npy", np.ones((4, 3)))
    return tmp_path


@pytest.mark.parametrize(
    ("sentence", "command"),
    [
        ("-k 9 dimensions need as many samples and features", "embed small.csv -k 9 -o e.csv"),
        ("Lower -k.", "embed small.csv -k 9 -o e.csv"),
        ("Lower -k.", "cluster small.csv --table -k 9 -o e.csv"),
        ("Relax one option: --max-df 1.", "parts same.txt -k 1"),
        ("--max-df 1.5 must be a share", "parts news.txt -k 1 --max-share 1.5"),
        ("; --missing takes it as missing", "embed hole.csv -k 1 -o e.csv"),
        ("; --missing takes it as missing", "parts hole.csv -k 1"),
        ("rectifact: --missing is for dense samples", "parts folder -k 1 --missing"),
        ("Save them as one .npy file, or fill the gaps first.", "parts folder -k 1 --missing"),
        ("--background and --normalize l1 are mutually exclusive", "parts small.csv -k 1 --background --normalize l1"),
        ("Set them to 0 if they are noise", "embed minus.csv -k 1 -o e.csv"),
        ("Say which: --missing nan if -1 is a label, --missing -1 if it", "labels signs.csv --wide"),
        ("Name them: --task COLUMN --worker COLUMN --label COLUMN.", "labels small.csv"),
        (
            "--graph needs a value, and the option -k follows it. Write the value right",
            "cluster small.csv --graph -k 2",
        ),
    ],
)
def test_remedies_name_options(run, news, mistakes, monkeypatch, sentence, command):
    monkeypatch.chdir(mistakes)
    assert sentence in run(*command.split(), expect=2).err


def test_a_background_is_saved_with_the_parts(run, tmp_path):
    frames = make_neurons(200, 3, side=8)
    np.save(tmp_path / "frames.npy", frames.X)
    run("parts", tmp_path / "frames.npy", "-k", 3, "--background", "-o", tmp_path / "parts.npz")
    with np.load(tmp_path / "parts.npz") as saved:
        truth = (frames.X - frames.weights @ frames.components).mean(axis=0)
        assert np.corrcoef(saved["background"], truth)[0, 1] > 0.9
    assert "a constant background is likely" in run("parts", tmp_path / "frames.npy", "-k", 3).err


def test_a_warning_names_an_option(run, mistakes):
    (mistakes / "same.csv").write_text("a,b,c\n1,2,3\n2,4,6\n3,6,9\n")
    assert "lower -k, or give" in run("parts", mistakes / "same.csv", "-k", 2).err


def test_warnings_name_options(run, tmp_path):
    rng = np.random.default_rng(0)
    np.save(tmp_path / "X.npy", np.maximum(rng.standard_normal((30, 2)) @ rng.standard_normal((2, 10)), 0))
    said = run("embed", tmp_path / "X.npy", "-k", 2, "--max-iter", 1, "-o", tmp_path / "e.csv").err
    remedy = "Raise --max-iter, or tol in Python."
    assert f"Note: NMD stopped at the limit of 1 iteration without converging. {remedy}\n" in said
    assert "2 dimensions, stopped at the limit of 1 sweep without converging.\n" in said


@pytest.mark.parametrize("suffix", [".npz", ".csv"])
def test_embedding_of_a_matrix(run, tmp_path, suffix):
    rng = np.random.default_rng(0)
    X = np.maximum(rng.standard_normal((60, 2)) @ rng.standard_normal((2, 10)), 0)
    path, saved = tmp_path / "X.csv", tmp_path / f"embedding{suffix}"
    pd.DataFrame(X, columns=[f"f{i}" for i in range(10)]).to_csv(path, index=False)
    said = run("embed", path, "-k", "2", "-o", saved)
    assert "60 samples, 10 features, link relu: 2 dimensions" in said.err
    if suffix == ".npz":
        with np.load(saved, allow_pickle=False) as arrays:
            theta = arrays["embedding"] @ arrays["components"]
            assert arrays["features"][3] == "f3"
        assert np.abs(np.maximum(theta, 0) - X).max() < 0.05
    else:
        assert pd.read_csv(saved).columns.tolist() == ["sample", "position1", "position2"]
        run("embed", path, "-k", "2", "-o", saved, "--coordinates", "embedding")
        assert pd.read_csv(saved).columns.tolist() == ["sample", "dimension1", "dimension2"]


def test_embedding_with_holes(run, tmp_path):
    path = tmp_path / "X.csv"
    path.write_text("a,b,c\n1,2,0\n3,,1\n0,1,2\n2,2,2\n")
    assert (
        "1 value of the data is missing, the first in row 2, column 'b'"
        in run("embed", path, "-k", "1", "-o", tmp_path / "e.csv", expect=2).err
    )
    run("embed", path, "-k", "1", "-o", tmp_path / "e.csv", "--missing")
    assert len(pd.read_csv(tmp_path / "e.csv")) == 4
    assert "should end in" in run("embed", path, "-k", "1", "-o", tmp_path / "e.txt", expect=2).err


def test_nodes_in_no_cluster_are_said(run, tmp_path):
    block = [(f"{name}{i}", f"{name}{j}") for name in "ab" for i in range(6) for j in range(i)]
    pd.DataFrame([*block, ("a0", "b0"), ("y", "z"), ("x", "x")], columns=["source", "target"]).to_csv(
        tmp_path / "edges.csv", index=False
    )
    out = tmp_path / "clusters.csv"
    said = run("cluster", "--graph", tmp_path / "edges.csv", "-k", 2, "-o", out, "--json")
    found = "3 nodes in no cluster. 1 without edges to others, and 2 in 1 connected component of 2 nodes."
    assert (
        f"note: {found} Nothing has to be done. To give the component a cluster of its own: --min-component 2 -k 3."
        in (said.err)
    )
    assert said.err.count("in no cluster") == 1
    assert json.loads(said.out)["findings"][0]["severity"] == "note"  # the same on the terminal and in the report
    table = pd.read_csv(out).set_index("node")
    assert table.index.tolist()[:3] == ["a1", "a0", "a2"]  # in the order of the file
    labels = table["cluster"].to_dict()
    assert [labels[name] for name in "xyz"] == [-1] * 3
    assert sorted({labels[f"a{i}"] for i in range(6)} | {labels[f"b{i}"] for i in range(6)}) == [1, 2]
    summary = json.loads(said.out)
    assert summary["in_no_cluster"] == 3
    assert summary["sizes"] == [6, 6]
    assert summary["normalized"]
    python = SymNMF(2, affinity="precomputed")
    with pytest.warns(UserWarning, match="label -1"):
        python.fit(pd.read_csv(tmp_path / "edges.csv"))  # the same rule as on the command line
    assert summary["relative_error"] == pytest.approx(python.relative_error_, abs=1e-6)
    run(
        "cluster",
        "--graph",
        tmp_path / "edges.csv",
        "-k",
        3,
        "--min-component",
        2,
        "--no-normalize",
        "--init",
        "pool",
        "-o",
        out,
    )
    labels = pd.read_csv(out).set_index("node")["cluster"]
    assert labels["x"] == -1
    assert labels["y"] == labels["z"] > 0


def test_recommendations_with_names(run, tmp_path):
    rng = np.random.default_rng(0)
    X = 1.0 * (rng.standard_normal((60, 2)) @ rng.standard_normal((2, 10)) > 0)
    path, names, out = tmp_path / "X.npz", tmp_path / "names.txt", tmp_path / "e.npz"
    sp.save_npz(path, sp.csr_array(X))
    names.write_text("\n".join(f"song {j}" for j in range(10)))
    said = run("embed", path, "-k", "2", "-o", out, "--names", names, "--recommend", "3", "--prior", "none")
    assert said.err.count("e.recommend.csv") == 1
    table = pd.read_csv(tmp_path / "e.recommend.csv")
    assert list(table.columns) == ["sample", "rank", "feature", "score"]
    places = table["feature"].str.removeprefix("song ").astype(int)
    assert X[table["sample"] - 1, places].sum() == 0
    with np.load(out, allow_pickle=False) as arrays:
        assert arrays["features"][3] == "song 3"
    names.write_text("one\n")
    said = run("embed", path, "-k", "2", "-o", out, "--names", names, expect=2)
    assert "has 1 lines, and the matrix has 10 columns" in said.err


def test_clusters_of_points_and_of_edges(run, tmp_path):
    rng = np.random.default_rng(0)
    points = np.vstack([rng.normal(size=(40, 2)), rng.normal(size=(40, 2)) + 12])
    path, out = tmp_path / "points.csv", tmp_path / "clusters.csv"
    pd.DataFrame(points, columns=["x", "y"]).to_csv(path, index=False)
    run("cluster", path, "-k", "2", "-o", out)
    table = pd.read_csv(out)
    leading = ["sample", "cluster", "membership", "next_cluster", "next_membership"]
    assert list(table.columns) == [*leading, "membership1", "membership2"]
    assert table["cluster"].iloc[:40].nunique() == table["cluster"].iloc[40:].nunique() == 1
    edges = tmp_path / "edges.csv"
    edges.write_text("from,to,weight\na,b,2\nb,c,2\na,c,2\nc,x,0.1\nx,y,2\ny,z,2\nx,z,2\n")
    said = run("cluster", "--graph", edges, "-k", "2")
    rows = [line.split(",")[:2] for line in said.out.splitlines()[1:]]
    groups = dict(rows)
    assert groups["a"] == groups["b"] == groups["c"] != groups["x"] == groups["y"] == groups["z"]
    assert "Give either a file of points, or a file of edges" in run("cluster", "-k", "2", expect=2).err
    edges.write_text("from,to,weight\na,b,much\n")
    assert "holds text, first 'much'" in run("cluster", "--graph", edges, expect=2).err


def test_options_of_parts_reach_the_model_and_findings_the_summary(tmp_path, run):
    X = make_neurons(200, 3, side=8).X
    X[3, 4] = np.nan
    np.save(tmp_path / "frames.npy", X)
    options = ["--background", "--missing", "--refine", "nonnegative", "--decode", "nnls", "--init", "ica", "--json"]
    summary = json.loads(run("parts", tmp_path / "frames.npy", "-k", "3", *options).out)
    assert summary["refine"] == "nonnegative"
    assert summary["init"] == "ica"
    assert set(summary["findings"][0]) == {"severity", "finding", "detail", "remedy"}
    purification = ["-k", "3", "--method", "purification"]
    said = run("parts", tmp_path / "frames.npy", *purification, "--background", expect=2)
    assert "--background is for --method and" in said.err
    said = run("parts", tmp_path / "frames.npy", *purification, "--decode", "nnls", expect=2)
    assert "Choose one of shifted, linear" in said.err
    said = run("parts", tmp_path / "frames.npy", "-k", "3", "--init", "nowhere", expect=2)
    assert "choose one of auto" in said.err


def test_ordered_grades(run, tmp_path):
    path = tmp_path / "grades.csv"
    rows = [
        f"{task},{worker},{['poor', 'fair', 'good'][(task + (worker == task % 4)) % 3]}"
        for task in range(12)
        for worker in range(4)
    ]
    path.write_text("\n".join(["task,worker,label", *rows]))
    table = pd.read_csv(StringIO(run("labels", path, "--ordinal", "--classes", "poor,fair,good,best").out))
    assert list(table)[-3:] == ["expected", "low", "high"]
    assert table["expected"].between(1, 4).all()
    assert "not among the classes" in run("labels", path, "--classes", "poor,fair", expect=2).err
    assert "listed twice" in run("labels", path, "--classes", "poor,poor", expect=2).err
