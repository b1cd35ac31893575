"""Punctuation around labels, and texts behind them, do not make other classes; real classes stay apart."""

import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from rectifact import DawidSkene, evaluate
from rectifact.core.errors import FitWarning
from rectifact.crowd import read_answers
from rectifact.crowd.advice.diagnosis import _chance
from rectifact.crowd.data.people import read_panel
from rectifact.crowd.data.wide import grouped_answers


def crowd(seed: int, classes: list[str], workers: str = "abcd", accuracy: float = 0.8, n: int = 300) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    truth = np.random.default_rng(5).integers(len(classes), size=n)
    rows = []
    for worker in workers:
        said = np.where(rng.random(n) < accuracy, truth, rng.integers(len(classes), size=n))
        seen = rng.random(n) < 0.7
        rows += [(t, worker, classes[c]) for t, c in zip(np.flatnonzero(seen), said[seen], strict=True)]
    return pd.DataFrame(rows, columns=["task", "worker", "label"])


def with_tails(table: pd.DataFrame, share: float, tails: list[str], seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    chosen = rng.random(len(table)) < share
    return table.assign(label=table["label"] + np.where(chosen, rng.choice(tails, len(table)), ""))


def read(table: pd.DataFrame, people: pd.DataFrame | None = None, **options: Any) -> tuple[list[Any], list[str]]:
    with warnings.catch_warnings(record=True, action="always") as caught:
        answers = read_answers(table, **options) if people is None else read_panel(table, people, **options).answers
    used = answers.classes[np.unique(answers.label)].tolist()
    return used, [str(warning.message) for warning in caught if issubclass(warning.category, FitWarning)]


@pytest.mark.parametrize(
    "marked",
    ["Pass.", "**pass**", "[[pass]]", "'pass'", "“pass”", "`pass`", "Verdict: pass", "**Verdict:** pass.", "pass!"],
)
def test_marks_around_a_label_make_no_class(marked: str) -> None:
    table = crowd(0, ["fail", "pass"])
    table.loc[table.index % 7 == 0, "label"] = marked
    classes, said = read(table)
    assert classes == ["fail", "pass"]
    assert len(said) == 1
    assert "case, spaces, punctuation or a final .0" in said[0]
    assert repr(marked) in said[0]
    assert read(table, classes=["fail", "pass", marked])[0] == ["fail", "pass", marked]  # listed apart


@pytest.mark.parametrize(
    "classes",
    [
        ["A", "A-", "A+", "B"],
        ["C", "C++", "C#"],
        ["+", "++", "+-", "--+"],
        ["-1", "0", "1"],
        ["4", "4.5", "5"],
        ["relevant", "not relevant"],
        ["pass", "pass with reservations", "fail"],
        ["1", "(1)", "2"],
        ["*", "**", "***"],
        ["**pass**", "**fail**"],
        ["a", "a."],
        ["A", "B", "A, B"],
        ["A", "B", "A: B"],
        ["1 - bad", "2 - poor", "3 - good"],
        ["animal: cat", "animal: dog", "plant: oak"],
        ["24/7", "24"],
    ],
)
def test_real_classes_stay_apart(classes: list[str]) -> None:
    for seed in range(3):
        found, said = read(crowd(seed, classes))
        assert sorted(found) == sorted(classes)
        assert said == []


def test_marks_around_all_labels_are_no_reason_to_keep_them_apart() -> None:
    table = crowd(1, ["fail.", "pass.", "**fail**", "**pass**"])
    assert len(read(table)[0]) == 2
    assert read(crowd(1, ["Score: 1", "Score: 2", "**1**"]))[0] == ["1", "2"]


@pytest.mark.parametrize(
    "tails", [[" - meets the criteria"], [". It is fine.", ": see above", " (sure)", "\nGood work"]]
)
@pytest.mark.parametrize("share", [0.03, 0.12, 0.3])
def test_texts_behind_a_class_that_people_use_are_that_class(share: float, tails: list[str]) -> None:
    people = crowd(9, ["fail", "pass"], "xyz", 0.9)
    for seed in range(3):
        table = crowd(seed, ["fail", "pass"])
        classes, said = read(with_tails(table, share, tails, seed), people)
        assert classes == ["fail", "pass"]
        assert len(said) == 1
        assert "go on as text are read as that class" in said[0]
        assert read(table, people)[1] == []


def test_without_people_seldom_texts_are_read_and_others_asked_about() -> None:
    for seed in range(6):
        table = crowd(seed, ["fail", "pass"])
        assert read(with_tails(table, 0.1, [" - fine"], seed))[0] == ["fail", "pass"]
        often = with_tails(table, 0.4, [" - fine"], seed)
        classes, said = read(often)
        assert len(classes) == 4
        assert "If they are that class, list all classes without them: classes=['fail', 'pass']." in said[0]
        assert read(often, classes=["fail", "pass"])[0] == ["fail", "pass"]


def test_a_class_of_its_own_is_given_to_the_same_tasks() -> None:
    names = ["fail", "pass", "pass - minor issues", "pass, but late"]
    for seed in range(4):
        found, said = read(crowd(seed, names))
        assert sorted(found) == sorted(names)
        assert said == []


def test_what_people_use_is_a_class() -> None:
    names = ["fail", "pass", "pass - minor issues"]
    people = pd.concat([crowd(9, ["fail", "pass"], "xy", 0.9), crowd(9, names, "z", 0.9)])
    judges = with_tails(crowd(0, ["fail", "pass"]), 0.1, [" - minor issues"])
    assert "pass - minor issues" in read(judges, people)[0]


def test_a_class_that_is_never_written_alone() -> None:
    table = crowd(2, ["fail", "pass"])
    table["label"] += [f" - because of {i}" for i in range(len(table))]
    assert read(table)[0] == ["fail", "pass"]
    assert read(table, crowd(9, ["Fail", "Pass"], "xyz", 0.9))[0] == ["Fail", "Pass"]


def test_gold_labels_tell_classes_too() -> None:
    table = with_tails(crowd(3, ["fail", "pass"], "a"), 0.4, [" - fine"])
    gold = {task: ["fail", "pass"][i] for task, i in enumerate(np.random.default_rng(5).integers(2, size=80))}
    with warnings.catch_warnings(action="ignore"):
        names = dict.fromkeys(["task", "worker", "label"])
        answers, _ = grouped_answers(table, None, names, False, "auto", gold=gold, asked="pass")
        assert answers.classes.tolist() == ["fail", "pass"]
    with pytest.warns(FitWarning, match=r"read as .*: only case, spaces or punctuation differ"):
        DawidSkene().fit(crowd(3, ["fail", "pass"]), gold={t: f"**{label}**" for t, label in gold.items()})


def test_untidy_verdicts_do_not_change_the_decision() -> None:
    table, people = crowd(4, ["fail", "pass"]), crowd(9, ["fail", "pass"], "xyz", 0.9)
    gold = {task: ["fail", "pass"][i] for task, i in enumerate(np.random.default_rng(5).integers(2, size=60))}
    options: dict[str, Any] = {"humans": people, "gold": gold, "positive": "pass"}
    tidy = evaluate(table, **options)
    with warnings.catch_warnings(action="ignore"):
        untidy = evaluate(with_tails(table, 0.11, [" - meets the criteria", ".", ": good"]), **options)
    assert untidy.decision() == tidy.decision()


@pytest.mark.parametrize(
    ("has_gold", "said", "names", "advice"),
    [
        (False, [1, 0, 2], "'a', 'b'", "may be swapped; give some certain labels with --gold."),
        (True, [1, 0, 2], "'a', 'b'", "may be swapped, in the answers or among the gold labels: check both."),
        (
            False,
            [0, 0, 2],
            "'b'",
            "write the labels alike; else give some certain labels with --gold.",
        ),
        (True, [0, 0, 2], "'b'", "mean the same as 'a', write the labels alike; else check the gold labels."),
    ],
)
def test_labels_that_are_given_are_not_asked_for(has_gold: bool, said: list[int], names: str, advice: str) -> None:
    model = SimpleNamespace(confusions=np.eye(3)[said].T[None])
    [finding] = _chance(np.ones(1), np.array(["a", "b", "c"]), model, has_gold)  # type: ignore[arg-type]
    assert finding.detail.startswith(f"Where the class is {names},")
    assert finding.on_command_line().endswith(advice)


def test_an_evaluation_with_gold_labels_asks_for_none(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(DawidSkene, "_findings", lambda self, has_gold=False: asked.append(has_gold) or [])
    gold = {task: ["fail", "pass"][i] for task, i in enumerate(np.random.default_rng(5).integers(2, size=60))}
    evaluate(crowd(0, ["fail", "pass"]), gold=gold, positive="pass")
    evaluate(crowd(0, ["fail", "pass"]), positive="pass")
    assert asked == [True, False]


@pytest.mark.filterwarnings("ignore::rectifact.core.errors.FitWarning")
def test_grades_are_asked_about_first() -> None:
    people = crowd(9, ["1", "2", "3", "4", "5"], "xyz", 0.7)
    found = evaluate(crowd(0, ["1", "2", "3", "4", "5"]), people)
    assert found.next_steps()[0].finding == "labels that may be grades"
    assert found.next_steps()[1].remedy.startswith("Otherwise name the class")
    assert found.decision()[-1].startswith("Next: if they are grades, say ordinal=True")


def test_what_people_would_have_used_by_now_is_named() -> None:
    people, table = crowd(9, ["fail", "pass"], "xyz", 0.9), crowd(0, ["fail", "pass"])
    table.loc[table.index % 15 == 0, "label"] = "see above"
    said = read(table, people)[1]
    assert [words for words in said if words.endswith("leave them out: missing=['see above'].")]
    assert read(table, people[people["task"] < 10])[1] == []  # too few to tell


@pytest.mark.parametrize("command", [["labels", "-o", "out.csv"], ["evaluate"], ["agree"]])
def test_the_classes_that_a_note_names_work(run: Any, tmp_path: Path, monkeypatch: Any, command: list[str]) -> None:
    monkeypatch.chdir(tmp_path)
    with_tails(crowd(1, ["fail", "pass"]), 0.4, [" - fine"]).to_csv("v.csv", index=False)
    given = [command[0], "v.csv", *command[1:]]
    said = " ".join(run(*given).err.split())
    option = said.split("list all classes without them: ")[1].split(". ")[0].rstrip(".")
    assert option == "--classes fail,pass"
    assert "begin with another one" not in run(*given, *option.split()).err
    apart = ["--classes", "fail,fail - fine,pass,pass - fine"]
    assert "are read as that class" not in " ".join(run(*given, *apart).err.split())


def test_people_may_write_free_texts_too() -> None:
    people = crowd(9, ["fail", "pass"], "xyz", 0.9)
    people["label"] += [f": see {i}" if i % 3 else "" for i in range(len(people))]
    assert read(crowd(0, ["fail", "pass"]), people)[0] == ["fail", "pass"]
    assert read(with_tails(crowd(0, ["fail", "pass"]), 0.1, [" - fine"]), people)[0] == ["fail", "pass"]
