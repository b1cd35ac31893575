"""Codes and texts of missing answers, and numbers of the rows beside them."""

import re
import shlex

import numpy as np
import pandas as pd
import pytest

from rectifact.latent.scales import missing_codes


def words(said):
    return " ".join(said.err.split())


def coded(codes, seed=0, n=200, m=10):
    """Answers from 1 to 5, a quarter of them one of these codes."""
    rng = np.random.default_rng(seed)
    full = np.clip(np.round(rng.normal(3, 1, (1, m)) + rng.normal(0, 1, (n, m))), 1, 5).astype(int)
    table = pd.DataFrame(full, columns=[f"q{j}" for j in range(m)]).astype(object)
    return table.mask(rng.random(full.shape) < 0.25, rng.choice(np.array(codes, dtype=object), full.shape)), rng


@pytest.mark.parametrize("code", [9, -9])
@pytest.mark.parametrize("start", [1, 50_000, 7_300_000])
def test_numbers_of_the_rows_are_asked_about_and_do_not_hide_codes(code, start, run, tmp_path):
    table, rng = coded([code])
    table.insert(0, "Teilnehmer", start + rng.permutation(len(table)))
    table.to_csv(tmp_path / "x.csv", index=False)
    common = "embed", tmp_path / "x.csv", "-k", 2, "--missing", "-o", tmp_path / "e.csv"
    said = words(run(*common, expect=2))
    assert "The column 'Teilnehmer' of" in said
    assert "Use --id-column Teilnehmer if it names them, --drop Teilnehmer to leave it out, or --table" in said
    for more in (("--id-column", "Teilnehmer"), ("--drop", "Teilnehmer"), ("--table",)):
        said = words(run(*common, *more, expect=2))
        assert f"{code} is the value of" in said
        assert "far outside the others, 1 to 5" in said
        assert f"Add --missing-values={code} to read it as missing" in said


def test_remedies_for_a_column_in_other_units_would_help(run, tmp_path):
    table, rng = coded([3])
    table.insert(0, "Teilnehmer", 50_000 + rng.permutation(len(table)))
    table.to_csv(tmp_path / "x.csv", index=False)
    common = "embed", tmp_path / "x.csv", "-k", 2, "--missing", "-o", tmp_path / "e.csv", "--table"
    for more in ((), ("--scale", "standard")):
        said = words(run(*common, *more))
        assert "Use --id-column Teilnehmer if it names the rows, or leave it out with --drop Teilnehmer." in said
        assert "Use --scale standard, which" not in said  # it does not help: the numbers are far from 0


@pytest.mark.parametrize("first", ["income", "sold", "age"])
def test_a_first_column_of_measurements_is_read(first, run, tmp_path):
    table, rng = coded([3])
    values = {
        "income": np.round(rng.lognormal(10, 0.8, len(table))),
        "sold": rng.poisson(300, len(table)),
        "age": rng.integers(18, 80, len(table)),
    }[first]
    table.insert(0, first, values.astype(int))
    table.to_csv(tmp_path / "x.csv", index=False)
    assert "11 columns" in words(run("embed", tmp_path / "x.csv", "-k", 1, "-o", tmp_path / "e.csv"))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("codes", "highest", "found"), [([8, 9], 5, True), ([7, 8, 9], 4, True), ([7, 8, 9], 5, False)]
)
def test_two_or_three_codes_after_a_gap_are_found(codes, highest, found, seed):
    answers = coded(codes, seed)[0].to_numpy().astype(float)
    answers = np.where(answers <= 5, answers.clip(max=highest), answers)
    assert missing_codes(answers)[1] == (codes if found else [])


@pytest.mark.parametrize("seed", range(3))
def test_counts_and_grades_that_end_at_nine_have_no_codes(seed):
    rng = np.random.default_rng(seed)
    assert missing_codes(rng.poisson(1.5, (400, 10)).clip(max=9).astype(float))[1] == []
    assert missing_codes(rng.integers(1, 10, (400, 10)).astype(float))[1] == []


@pytest.mark.parametrize("texts", [["DK"], ["not rated"], ["don't know", "refused"]])
@pytest.mark.parametrize("long", [False, True])
def test_texts_that_stand_for_missing_answers_again_and_again_have_a_remedy_that_works(texts, long, run, tmp_path):
    table = coded(texts)[0]
    table.insert(0, "who", [f"p{i}" for i in range(len(table))])
    table = table.melt("who", var_name="wine", value_name="score") if long else table.assign(city="Wien")
    table.sample(frac=1, random_state=1).to_csv(tmp_path / "x.csv", index=False)
    how = ["--triples", "who,wine,score"] if long else ["--drop", "city"]
    common = "embed", tmp_path / "x.csv", "-k", 2, "--missing", "-o", tmp_path / "e.csv"
    said = words(run(*common, *how, expect=2))
    option = shlex.split(re.search(r"Add (--missing-values=.*?) to read", said)[1])
    assert sorted(option[0].partition("=")[2].split(",")) == sorted(texts)
    assert "read as missing" in words(run(*common, *how, *option))
    if not long:  # a column of other texts beside them does not hide the remedy
        assert "Add --missing-values=" in words(run(*common, expect=2))
        assert "--drop city" in words(run(*common, *option, expect=2))


def test_many_different_texts_are_not_missing_answers(run, tmp_path):
    table, rng = coded([3])
    table["kind"] = rng.choice(np.array(["1", "2", "3", "A", "B", "C", "D"]), len(table))
    table.to_csv(tmp_path / "x.csv", index=False)
    said = words(run("embed", tmp_path / "x.csv", "-k", 2, "--missing", "-o", tmp_path / "e.csv", expect=2))
    assert "Leave it out with --drop kind" in said
