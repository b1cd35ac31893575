"""Wide tables as teams have them: counts and measurements stand beside the columns of workers."""

import shlex

import numpy as np
import pandas as pd
import pytest

from rectifact import InputError, agreement
from rectifact.core.errors import FitWarning
from rectifact.crowd import read_answers
from rectifact.crowd.data.worker_columns import is_measure, workers_sentence

JUDGES = ["gpt", "claude", "Qwen, 72B", "ann", "bob"]


@pytest.fixture
def table():
    """Grades from 1 to 5, and columns that are not workers."""
    rng = np.random.default_rng(0)
    grade = rng.integers(1, 6, 150)
    said = {name: np.clip(grade + rng.integers(-1, 2, 150), 1, 5) for name in JUDGES}
    beside = {"num_turns": rng.integers(1, 6, 150), "latency_s": rng.normal(3, 1, 150).round(2)}
    return pd.DataFrame({"task": [f"t{i}" for i in range(150)], **said, **beside})


def test_counts_and_measurements_are_not_workers(table):
    with pytest.warns(FitWarning, match=r"'num_turns', 'latency_s' hold counts or measurements, not labels"):
        found = read_answers(table, wide=True)
    assert found.workers.tolist() == JUDGES
    assert found.classes.tolist() == [1, 2, 3, 4, 5]


def test_numbers_unlike_those_of_the_others_are_left_out_whatever_their_name(table):
    table = table.drop(columns=["num_turns", "latency_s"])
    decimals, many = np.linspace(1, 5, 150).round(2), np.arange(150) % 40 + 1
    with pytest.warns(FitWarning, match=r"'x' holds a count or measurement"):
        assert read_answers(table.assign(x=decimals), wide=True).workers.tolist() == JUDGES
    with pytest.warns(FitWarning, match=r"'x' holds a count or measurement"):
        assert read_answers(table.assign(x=many), wide=True).workers.tolist() == JUDGES


@pytest.mark.parametrize("nothing", [None, "", np.nan])
def test_an_empty_column_is_not_a_worker(table, nothing):
    table = table.drop(columns=["num_turns", "latency_s"])
    with pytest.warns(FitWarning, match=r"'notes' is empty, so it is not read as a worker"):
        assert read_answers(table.assign(notes=nothing), wide=True).workers.tolist() == JUDGES


def test_workers_with_half_points_or_a_finer_scale_stay(table):
    table = table.drop(columns=["num_turns", "latency_s"])
    half = np.clip(table["gpt"] + 0.5 * (np.arange(150) % 2), 1, 5)
    found = read_answers(table.assign(half=half, ten=np.arange(150) % 10 + 1), wide=True)
    assert found.workers.tolist() == [*JUDGES, "half", "ten"]


def test_columns_that_are_all_named_so_are_workers():
    table = pd.DataFrame({"task": list("abc"), "time_a": [1, 2, 1], "time_b": [1, 2, 2], "time_c": [2, 2, 1]})
    assert len(read_answers(table, wide=True).workers) == 3


def test_numbers_of_rows_are_to_be_named_as_the_task(table):
    table = table.drop(columns=["task", "num_turns", "latency_s"]).assign(row=np.arange(1, 151))
    with pytest.raises(InputError, match=r"'row' has another value in each row.*task='row'"):
        read_answers(table, wide=True)


@pytest.mark.parametrize("name", ["prompt_tokens", "Latency (ms)", "responseLength", "n_words", "cost_usd"])
def test_names_of_measurements(name):
    assert is_measure(name)


@pytest.mark.parametrize("name", ["gpt-4o-mini", "n", "Num", "Tim", "claude-3.5", "priceless"])
def test_names_of_workers(name):
    assert not is_measure(name)


def test_long_lists_of_workers_are_shortened():
    assert workers_sentence([f"w{i}" for i in range(40)]).endswith("'w11' and 28 more.")


def test_commands_name_the_workers_and_drop_columns(table, tmp_path, run):
    table.to_csv(tmp_path / "wide.csv", index=False)
    people = table.melt("task", ["ann", "bob"], "worker", "label")
    people.assign(worker=people["worker"] + "2").to_csv(tmp_path / "people.csv", index=False)
    people[:60].to_csv(tmp_path / "gold.csv", index=False)
    named = "one column per worker: 'gpt', 'claude', 'ann', 'bob'."
    options = ["--wide", "--drop", '"Qwen, 72B",num_turns']
    asked = {
        "labels": ["-o", tmp_path / "labels.csv"],
        "evaluate": ["--ordinal", "--humans", tmp_path / "people.csv"],
        "agree": ["--level", "ordinal"],
        "rate": ["--gold", tmp_path / "gold.csv", "--mean"],
    }
    for command, more in asked.items():
        said = run(command, tmp_path / "wide.csv", *options, *more)
        assert named in " ".join((said.out + said.err).split()), command
        assert "num_turns" not in said.out + said.err
    said = run("labels", tmp_path / "wide.csv", "--wide", "--drop", "num_turn", "-o", tmp_path / "l.csv", expect=2)
    assert "Did you mean 'num_turns'?" in said.err
    said = run("agree", tmp_path / "people.csv", "--drop", "x", expect=2)
    assert "add --wide" in said.err


def test_too_many_classes_name_the_column_and_an_option_that_helps(table, tmp_path, run):
    table = table.drop(columns=["num_turns", "latency_s"])
    many = table.assign(**{name: np.arange(150) + i for i, name in enumerate(JUDGES[1:])})
    many.to_csv(tmp_path / "wide.csv", index=False)
    said = run("evaluate", tmp_path / "wide.csv", "--wide", "--ordinal", expect=2)
    assert "classes, and ordered grades can be at most 100" in said.err
    assert "--level" not in said.err
    remedy = " ".join(said.err.split()).split("not a worker: ")[1].rstrip(".")
    assert shlex.split(remedy)[0] == "--drop"
    assert "--level interval" in run("agree", tmp_path / "wide.csv", "--wide", "--level", "ordinal", expect=2).err
    long = many.melt("task", JUDGES[1:], "worker", "label")
    long.to_csv(tmp_path / "long.csv", index=False)
    said = run("evaluate", tmp_path / "long.csv", "--ordinal", expect=2).err
    assert "come from the column 'label'. Name the column with the labels: --label COLUMN." in " ".join(said.split())
    with pytest.raises(InputError, match="level='interval'"):
        agreement(long, level="ordinal")
