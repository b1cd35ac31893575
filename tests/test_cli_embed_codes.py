"""Codes and texts of missing answers, and numbers of the rows beside them."""

import re
import shlex

import numpy as np
import pandas as pd
import pytest

from rectifact.latent.codes import column_codes, missing_codes


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


SPREAD = {
    "age": lambda rng, n: rng.integers(18, 90, n),
    "bmi": lambda rng, n: np.round(rng.normal(25, 4, n).clip(15, 45), 1),
    "q": lambda rng, n: rng.integers(1, 6, n),
    "income": lambda rng, n: np.round(rng.lognormal(7, 0.4, n)),
}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("kind", "code"),
    [
        *(("age", code) for code in (999, -9, -1)),
        *(("bmi", code) for code in (99, -99)),
        *(("q", code) for code in (99, 88, 9, -1)),
        *(("income", code) for code in (99999, -9, -999)),
    ],
)
def test_a_code_in_a_single_column_is_found(kind, code, seed):
    rng = np.random.default_rng(seed)
    column = SPREAD[kind](rng, 300).astype(float)
    beside = rng.integers(0, 5, (300, 6)).astype(float)
    assert column_codes(np.c_[beside, column]) == {}
    column[rng.permutation(300)[:18]] = code
    assert column_codes(np.c_[beside, column]) == {6: [float(code)]}


def test_several_codes_of_a_column_are_found_beside_values_that_are_like_codes():
    ages = np.r_[np.arange(18.0, 89), 88, [998] * 4, [999] * 5, [-9] * 6]
    assert column_codes(ages[:, None]) == {0: [-9.0, 998.0, 999.0]}


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(
    "draw",
    [
        lambda rng, shape: rng.poisson(rng.gamma(1, 3, shape[1]), shape),
        lambda rng, shape: rng.negative_binomial(0.3, 0.02, shape),
        lambda rng, shape: rng.zipf(1.6, shape),
        lambda rng, shape: 10 * np.round(rng.lognormal(2, 1.2, shape)),
        lambda rng, shape: rng.choice([9, 19, 29, 99, 199, 999], shape, p=[0.2, 0.2, 0.2, 0.2, 0.16, 0.04]),
        lambda rng, shape: rng.choice([0, 1, 2, 6, 12, 24, 48, 96], shape),
        lambda rng, shape: np.where(rng.random(shape) < 0.05, rng.poisson(90, shape), rng.poisson(1, shape)),
        lambda rng, shape: rng.integers(-1, 4, shape),
        lambda rng, shape: np.round(rng.normal(3, 5, shape)),
    ],
)
def test_counts_amounts_prices_and_temperatures_have_no_codes_of_columns(draw, seed):
    assert column_codes(draw(np.random.default_rng(seed), (400, 20)).astype(float)) == {}


def test_codes_of_one_column_are_asked_about_together_with_those_of_many(run, tmp_path):
    table, rng = coded([99])
    table["age"] = np.where(rng.random(len(table)) < 0.1, 999, rng.integers(18, 90, len(table)))
    table.to_csv(tmp_path / "x.csv", index=False)
    common = "embed", tmp_path / "x.csv", "-k", 2, "--missing", "--scale", "standard", "-o", tmp_path / "e.csv"
    said = words(run(*common, expect=2))
    assert f"999 is the value of {(table['age'] == 999).sum()} of 200 cells of 'age', far outside the others, " in said
    assert said.count("99 is the value") == 2
    assert "Add --missing-values=99,999 to read them as missing, or --missing-values=none if" in said
    run(*common, "--missing-values=99,999", "--fill", tmp_path / "full.csv")
    assert pd.read_csv(tmp_path / "full.csv")["age"].max() < 110
    run(*common, "--missing-values=none")
