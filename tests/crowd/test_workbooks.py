"""Answers in Excel workbooks, for the commands about crowds."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from rectifact import InputError
from rectifact.crowd import read_answers
from rectifact.io import frames

pytest.importorskip("openpyxl")


@pytest.fixture
def answers() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    truth = rng.random(40) < 0.5
    said = {name: np.where(rng.random(40) < 0.8, truth, ~truth).astype(int) for name in ("a", "b", "c")}
    table = pd.DataFrame({"task": [f"{i:03}" for i in range(40)], **said})
    return table.melt("task", var_name="worker", value_name="label")


def test_a_workbook_is_read_like_csv(answers: pd.DataFrame, tmp_path: Path) -> None:
    answers.to_excel(tmp_path / "answers.xlsx", index=False)
    answers.to_csv(tmp_path / "answers.csv", index=False)
    found, known = (read_answers(tmp_path / f"answers.{suffix}") for suffix in ("xlsx", "csv"))
    assert found.tasks.tolist() == known.tasks.tolist()
    assert found.classes.tolist() == known.classes.tolist()
    assert (found.label == known.label).all()


def test_commands_read_the_sheet_that_is_named(answers: pd.DataFrame, tmp_path: Path, run: Callable[..., Any]) -> None:
    book, gold, csv = tmp_path / "book.xlsx", tmp_path / "gold.xlsx", tmp_path / "answers.csv"
    with pd.ExcelWriter(book) as file:
        answers.to_excel(file, sheet_name="verdicts", index=False)
        answers.pivot(index="task", columns="worker", values="label").to_excel(file, sheet_name="by judge")
    answers.to_csv(csv, index=False)
    answers.drop_duplicates("task")[["task", "label"]].head(20).to_excel(gold, index=False)
    asked = ["--gold", str(gold), "--positive", "1", "--json"]
    shown = [
        run("rate", *source, *asked)
        for source in ([csv], [book, "--sheet", "verdicts"], [book, "--sheet", "by judge", "--wide"])
    ]
    assert shown[0].out == shown[1].out == shown[2].out
    for command in (["labels"], ["agree"], ["evaluate", "--gold", str(gold)]):
        run(command[0], str(book), "--sheet", "verdicts", *command[1:])
        refused = run(command[0], str(book), *command[1:], expect=2)
        assert "has sheets 'verdicts', 'by judge'. Say which has the answers with --sheet" in refused.err
    assert "not an .xlsx file" in run("agree", str(csv), "--sheet", "x", expect=2).err


def test_without_the_extra_the_error_says_what_to_install(
    answers: pd.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers.to_excel(tmp_path / "answers.xlsx", index=False)
    monkeypatch.setattr(frames, "find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"pip install '\.\[excel\]'"):
        read_answers(tmp_path / "answers.xlsx")
    with pytest.raises(InputError, match=r"Save it as \.xlsx or CSV"):
        read_answers((tmp_path / "answers.xlsx").rename(tmp_path / "answers.ods"))


def test_a_damaged_workbook_is_said_to_be(tmp_path):
    path = tmp_path / "broken.xlsx"
    path.write_bytes(b"this was a workbook once")
    with pytest.raises(InputError, match=r"it is damaged, or not such a file\. Check that it is the right file"):
        read_answers(path)
