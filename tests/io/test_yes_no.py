"""Answers such as yes and no are read as 1 and 0, with a note, and other texts are refused by name."""

import re

import numpy as np
import pandas as pd
import pytest

from rectifact import NMD
from rectifact.core.errors import InputError
from rectifact.io.columns import Options
from rectifact.io.inputs import Request, read_input

SURVEY = pd.DataFrame(
    {"id": ["a", "b", "c", "d"], "smokes": ["yes", "No", "", "Y"], "drives": ["ja", "nein", "ja ", "NA"], "age": 7.5}
)


@pytest.fixture
def read(tmp_path):
    def read(rows, purpose="embed", missing=False, **options):
        rows.to_csv(tmp_path / "t.csv", index=False)
        return read_input(tmp_path / "t.csv", purpose, Request(Options(**options), missing=missing))

    return read


def test_answers_in_a_table_are_1_and_0(read):
    found = read(SURVEY, missing=True)
    assert np.array_equal(found.matrix.X[:, :2], [[1, 1], [0, 0], [np.nan, 1], [1, np.nan]], equal_nan=True)
    assert "'ja', 'y', 'yes' read as 1 and 'nein', 'no' read as 0 in 2 columns, 'smokes' the first" in found.said
    said = read(SURVEY, drop=("smokes",)).said
    assert "'ja' read as 1 and 'nein' read as 0 in 'drives'" in said


def test_answers_as_values_of_triples_are_1_and_0(read):
    rows = [("ann", "tea", "Yes"), ("ann", "ham", "no"), ("bob", "tea", "TRUE"), ("bob", "ham", "")]
    table = pd.DataFrame(rows, columns=["user", "item", "rating"])
    with pytest.raises(InputError, match=r"1 row .* no value in the column 'rating'"):
        read(table)
    found = read(table, missing=True)
    assert np.array_equal(found.matrix.X, [[1, 0], [1, np.nan]], equal_nan=True)
    assert "'true', 'yes' read as 1 and 'no' read as 0 in 'rating'" in found.said
    with pytest.raises(InputError, match="--triples user,item,answer"):  # answers are not left out in silence
        read(table.rename(columns={"rating": "answer"}))


def test_another_answer_is_refused_and_the_remedy_works(read):
    odd = SURVEY.assign(smokes=["yes", "No", "perhaps", "Y"])
    with pytest.raises(InputError, match=r"'smokes' .* but 'perhaps' in row 3.*empty and add --missing"):
        read(odd)
    rows = [("ann", "tea", "Yes"), ("ann", "ham", "no"), ("bob", "tea", "it depends")]
    with pytest.raises(InputError, match=r"'rating' .* but 'it depends' in row 3.*empty and add --missing"):
        read(pd.DataFrame(rows, columns=["user", "item", "rating"]))
    assert np.isnan(read(odd.replace("perhaps", ""), missing=True).matrix.X[2, 0])


@pytest.mark.parametrize("cells", [["N", "S", "E", "N"], ["N", "N", "N", "N"], ["yellow", "no", "red", "red"]])
def test_other_letters_and_words_are_not_answers(read, cells):
    with pytest.raises(InputError, match="where numbers are expected"):
        read(SURVEY[["id", "age"]].assign(where=cells))


def test_only_embed_reads_answers(read):
    table = SURVEY.assign(smokes=["yes", "no", "yes", "yes"])
    with pytest.raises(InputError, match=r"'smokes' .* holds yes and no"):
        read(table[["id", "age", "smokes"]], purpose="cluster", table=True)


def test_python_users_are_told_how_yes_and_no_become_numbers():
    rng = np.random.default_rng(0)
    answers = pd.DataFrame(np.where(rng.random((60, 5)) < 0.5, "yes", "no"), columns=[f"owns {j}" for j in range(5)])
    answers = answers.mask(rng.random(answers.shape) < 0.1, "")
    with pytest.raises(InputError, match="'owns 0' holds yes and no") as caught:
        NMD(2, missing=np.nan).fit(answers)
    assert "set_index" not in str(caught.value)
    call = re.search(r"use (X\.replace.*)\.$", str(caught.value))[1]
    NMD(2, missing=np.nan).fit(eval(call, {"X": answers, "float": float}))
