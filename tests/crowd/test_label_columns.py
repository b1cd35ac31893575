"""Which columns are worker and label, where several have usual names."""

import numpy as np
import pandas as pd
import pytest

from rectifact import agreement, evaluate
from rectifact.core.errors import InputError
from rectifact.crowd import read_answers
from rectifact.crowd.data.people import read_panel
from rectifact.crowd.data.read import read_gold
from rectifact.crowd.data.verdicts import read_verdicts


def verdicts(n: int = 40, seed: int = 0, workers: tuple[str, ...] = ("gpt", "claude", "llama")) -> pd.DataFrame:
    """Three judges who are right four times in five, and the kind of each task."""
    rng = np.random.default_rng(seed)
    truth = rng.random(n) < 0.6
    rows = [
        (f"p{i}", ["billing", "tech", "refunds"][i % 3], who, "pass" if truth[i] ^ (rng.random() < 0.2) else "fail")
        for i in range(n)
        for who in workers
    ]
    return pd.DataFrame(rows, columns=["sample_id", "kind", "grader", "said"])


def label_of(**renamed: str) -> str:
    return read_answers(verdicts().rename(columns=renamed)).columns["label"]


@pytest.mark.parametrize("kind", ["category", "class", "response", "label"])
@pytest.mark.parametrize("said", ["outcome", "verdict", "grade", "score", "passed", "is_pass", "result", "pass_fail"])
def test_a_column_with_the_kind_of_a_task_does_not_have_the_labels(kind: str, said: str) -> None:
    assert label_of(kind=kind, said=said) == said


@pytest.mark.parametrize("said", ["outcome", "verdict", "passed", "stars"])
def test_a_name_of_verdicts_comes_before_category_where_each_task_has_one_answer(said: str) -> None:
    table = verdicts().iloc[::4].rename(columns={"kind": "category", "said": said})
    assert read_answers(table).columns["label"] == said


def test_a_category_that_workers_choose_is_the_label_beside_a_score() -> None:
    table = verdicts().rename(columns={"said": "category", "kind": "topic"})
    table["score"] = np.random.default_rng(1).random(len(table)).round(2)
    assert read_answers(table).columns["label"] == "category"


def test_labels_on_which_all_agree_do_not_give_way_to_measurements() -> None:
    table = verdicts().rename(columns={"kind": "label"}).drop(columns="said")
    table["score"] = np.random.default_rng(1).random(len(table))
    assert read_answers(table).columns["label"] == "label"


def test_people_are_read_from_the_column_of_verdicts_as_well() -> None:
    judges, people = (verdicts(seed=0, workers=who).rename(columns={"kind": "category", "said": "outcome"}) for who in
                      (("gpt", "claude"), ("ann", "bob")))  # fmt: skip
    panel = read_panel(judges, people)
    assert sorted(panel.answers.classes.tolist()) == ["fail", "pass"]


def test_the_refusal_of_other_labels_names_the_column_that_has_them() -> None:
    judges = verdicts().rename(columns={"kind": "label", "said": "opinion"})
    people = verdicts(workers=("ann", "bob")).rename(columns={"said": "label"})
    with pytest.raises(InputError, match="label='opinion'") as error:
        evaluate(judges, people)
    assert "--label opinion" in str(error.value.command)
    assert agreement(judges, humans=people, label="opinion").overall is not None


@pytest.mark.parametrize("column", ["expert", "human", "judge"])
def test_a_column_of_gold_labels_is_not_the_worker(column: str) -> None:
    table = verdicts().rename(columns={"said": "outcome"})
    table[column] = table.groupby("sample_id")["outcome"].transform("first")
    read = read_verdicts(table, gold=column)
    assert read.judges.columns == {"task": "sample_id", "worker": "grader", "label": "outcome"}


def test_a_column_of_gold_labels_or_of_groups_is_not_the_label() -> None:
    table = verdicts().rename(columns={"said": "outcome", "kind": "answer"}).head(9)
    table["label"] = table.groupby("sample_id")["outcome"].transform("first")
    assert read_verdicts(table, gold="label", by="answer").judges.columns["label"] == "outcome"


def test_a_worker_named_for_the_task_is_asked_for() -> None:
    with pytest.raises(InputError, match=r"No column for the worker is left among .*: 'grader' is named") as error:
        read_verdicts(verdicts().rename(columns={"said": "outcome"}), columns={"task": "sample_id,grader"})
    assert "sample_id,grader" not in str(error.value)


@pytest.mark.parametrize("name", ["expert_verdict", "expert_stars"])
def test_the_label_of_gold_is_the_only_column_left_beside_a_task_of_two(name: str) -> None:
    table = pd.DataFrame({"sample_id": ["p0", "p0"], "system": ["v1", "v2"], name: ["pass", "fail"]})
    judges = verdicts(20).assign(system="v1")
    answers = read_answers(judges.rename(columns={"said": "outcome"}), task=["sample_id", "system"])
    assert read_gold(table, answers)[1].tolist() == ["pass", "fail"]
