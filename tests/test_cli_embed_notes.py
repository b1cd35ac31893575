"""Notes of rectifact embed about data that is not as it should be."""

import json
import shlex

import numpy as np
import pandas as pd
import pytest

from rectifact import NMD
from rectifact.latent.codes import missing_codes
from rectifact.latent.how_many import LatentTrial
from rectifact.latent.scales import stray_values


def words(said):
    return " ".join(said.err.split())


@pytest.fixture
def stars():
    """Stars of 80 users for 15 films, a third of them missing."""
    rng = np.random.default_rng(0)
    full = np.clip(np.rint(3.3 + rng.standard_normal((80, 2)) @ rng.standard_normal((2, 15))), 1, 5)
    table = pd.DataFrame(full, index=[f"u{i:02d}" for i in range(80)], columns=[f"f{j:02d}" for j in range(15)])
    return table.mask(rng.random(full.shape) < 0.3).rename_axis("user")


def test_a_mistyped_rating_is_named(stars, run, tmp_path):
    stars.to_csv(tmp_path / "x.csv")
    common = ("embed", tmp_path / "x.csv", "-k", 2, "--missing", "-o", tmp_path / "e.csv")
    assert "outside the scale" not in words(run(*common))
    stars.iloc[3, 4] = stars.iloc[30, 7] = 55
    stars.to_csv(tmp_path / "x.csv")
    assert "known values, 55, lie far outside the scale of the others, 1 to 5. Check whether" in words(run(*common))


@pytest.mark.parametrize("kind", ["poisson", "gamma", "geometric", "grades"])
def test_counts_and_amounts_have_no_stray_values(kind, rng):
    X = {
        "poisson": rng.poisson(0.4, 4000),
        "gamma": rng.gamma(0.5, size=4000),
        "geometric": rng.geometric(0.3, 4000),
        "grades": rng.choice(np.arange(1, 11), 4000, p=[0.004, 0.006, 0.02, 0.05, 0.1, 0.15, 0.22, 0.25, 0.12, 0.08]),
    }[kind]
    assert stray_values(X.astype(float)) == ""


def test_new_values_in_another_unit_are_noted(stars, run, tmp_path):
    stars[:60].to_csv(tmp_path / "x.csv")
    run("embed", tmp_path / "x.csv", "-k", 2, "--missing", "-o", tmp_path / "e.csv", "--save", tmp_path / "m.rfx")
    common = ("embed", tmp_path / "new.csv", "--model", tmp_path / "m.rfx", "-o", tmp_path / "n.csv")
    stars[60:].to_csv(tmp_path / "new.csv")
    assert "outside the range" not in words(run(*common))
    (20 * stars[60:]).to_csv(tmp_path / "new.csv")
    n = stars[60:].count().sum()
    said = words(run(*common))
    assert f"{n} of {n} values lie outside the range of the values of the fit, most in 'f" in said
    assert "to 100 here and 1 to 5 in the fit. Check that they are in the same unit." in said


def test_a_sample_without_values_is_noted_in_a_fit(stars, run, tmp_path):
    stars.loc["u07"] = np.nan
    stars.to_csv(tmp_path / "x.csv")
    said = words(run("embed", tmp_path / "x.csv", "-k", 2, "--missing", "-o", tmp_path / "e.csv"))
    assert "1 sample has no known value: 'u07'. It is placed at the mean, and its neighbours" in said


@pytest.mark.parametrize("long", [False, True])
def test_samples_of_zeros_are_noted_in_a_fit(long, run, tmp_path):
    counts = pd.DataFrame(
        np.random.default_rng(0).poisson(1.0, (40, 8)) + np.eye(40, 8), index=[f"s{i}" for i in range(40)]
    )
    counts.columns = [f"sp. {j}" for j in range(8)]
    common = "embed", tmp_path / "x.csv", "-k", 2, "-o", tmp_path / "e.csv"
    for zeros, said in ((0, ""), (1, "1 sample has no value above 0: 's7'."), (2, "2 samples have no value above 0:")):
        counts.iloc[7 : 7 + zeros] = 0.0
        table = counts.rename_axis("site")
        if long:
            table = table.reset_index().melt("site", var_name="species", value_name="count").set_index("site")
        table.to_csv(tmp_path / "x.csv")
        found = words(run(*common))
        assert said in found
        assert ("no value above 0" in found) == bool(zeros)


def test_the_column_in_another_unit_is_named(run, tmp_path):
    rng = np.random.default_rng(1)
    X = rng.gamma(1.5, size=(120, 2)) @ rng.gamma(1.5, size=(2, 80)) + rng.random((120, 80))
    X[:, 2] *= 1000
    pd.DataFrame(X, columns=[f"m{j:02d}" for j in range(80)]).to_csv(tmp_path / "x.csv", index=False)
    said = words(run("embed", tmp_path / "x.csv", "-k", 2, "-o", tmp_path / "e.csv"))
    assert (
        "The column 'm02' holds 100% of the squares of the data, and decides the result. Use --scale standard" in said
    )
    assert "--values log" not in said
    run("embed", tmp_path / "x.csv", "-k", 2, "-o", tmp_path / "e.csv", "--scale", "standard")


def test_negative_counts_of_a_wide_table_may_be_returns(run, tmp_path):
    bought = np.random.default_rng(0).poisson(0.6, size=(40, 8)).astype(float)
    bought[3, 2], bought[5, 1] = -2, -1
    path, out = tmp_path / "bought.csv", tmp_path / "out.csv"
    pd.DataFrame(bought, columns=[f"p{j}" for j in range(8)]).to_csv(path, index=False)
    said = run("embed", path, "-k", 1, "-o", out, expect=2).err
    assert "Negative counts may be returns: --returns drop sets them to 0." in " ".join(said.split())
    assert "shift" not in said
    said = run("embed", path, "-k", 1, "-o", out, "--returns", "net", expect=2).err
    assert "Use --returns drop to set its negative values to 0." in " ".join(said.split())
    said = run("embed", path, "-k", 1, "-o", out, "--returns", "drop").err
    assert "a table of numbers, with 2 negative values set to 0: 40 rows by 8 columns" in " ".join(said.split())
    first = out.read_text()
    pd.DataFrame(bought.clip(0), columns=[f"p{j}" for j in range(8)]).to_csv(path, index=False)
    run("embed", path, "-k", 1, "-o", out)
    assert out.read_text() == first


def test_negative_values_are_refused_by_name(stars, run, tmp_path):
    stars.loc["u05", "f03"] = stars.loc["u09", "f01"] = -2
    stars.to_csv(tmp_path / "x.csv")
    said = words(run("embed", tmp_path / "x.csv", "-k", 2, "--missing", "-o", tmp_path / "e.csv", expect=2))
    assert "2 values of the data are negative, the first in row 'u05', column 'f03'." in said


def test_scores_of_a_tiny_table_are_finite():
    X = np.array([[1.0, 2.0, 3.0], [2.0, np.nan, 6.5], [3.0, 6.0, 9.1]])
    for seed in range(5):
        trial = LatentTrial(NMD(1, missing=np.nan, random_state=0), X, np.random.default_rng(seed))
        assert np.abs(trial.scores(1)).max(initial=0.0) < 1e6


def test_too_little_data_to_choose_from_is_one_sentence(run, tmp_path):
    (tmp_path / "tiny.csv").write_text("user,item,stars\nu1,a,5\nu1,b,3\nu2,a,4\n")
    said = run("embed", tmp_path / "tiny.csv", "--missing", "-o", tmp_path / "o.csv", expect=2).err
    assert "too little data to choose the number" in said


@pytest.mark.parametrize("codes", [[99], [-1], [9], [98, 99]])
def test_codes_of_missing_answers_are_named_and_read_as_missing(codes, stars, run, tmp_path):
    coded = stars.where(stars.notna(), np.resize(codes, stars.shape)).astype(int)
    coded.to_csv(tmp_path / "x.csv")
    common = "embed", tmp_path / "x.csv", "-k", 2, "-o", tmp_path / "e.csv"
    option = f"--missing-values={','.join(map(str, codes))}"
    n = int(stars.isna().sum().sum())
    for more in ((), ("--missing",)):
        said = words(run(*common, *more, expect=2))
        assert f"{n} of 1,200 cells, far outside the others, 1 to 5:" in said
        assert f"Add {option} to read" in said
    said = words(run(*common, option, "--fill", tmp_path / "f.csv"))
    assert f"{n} cells with" in said
    assert pd.read_csv(tmp_path / "f.csv", index_col=0).isin(codes).sum().sum() == 0


def test_numbers_beyond_a_scale_may_be_what_was_measured(stars, run, tmp_path):
    stars.fillna(99).to_csv(tmp_path / "x.csv")
    common = "embed", tmp_path / "x.csv", "-k", 2, "-o", tmp_path / "e.csv"
    assert "seems to stand for" not in run(*common, "--missing-values=none").err
    assert "0 cells with 'unsure' read as missing" in words(run(*common, "--missing-values=99,unsure"))


@pytest.mark.parametrize(
    "values", [[1, 2, 3, 4, 5, 6, 7, 8, 9, 10], [0, 1, 2, 9.5], [1, 5, 9], [5, 7, 8, 9], [1, 2, 3, 4, 5]]
)
def test_scales_that_reach_nine_have_no_codes(values):
    assert missing_codes(np.resize(np.array(values, dtype=float), (60, 7))) == ("", [])


@pytest.mark.parametrize(("text", "noun"), [("user,item,rating\na,x,5\n", "row"), ("a,b,c\n1,0,2\n", "row")])
@pytest.mark.parametrize("more", [(), ("--missing",), ("-k", 1, "--missing")])
def test_a_single_row_is_one_true_sentence(text, noun, more, run, tmp_path):
    (tmp_path / "x.csv").write_text(text)
    said = words(run("embed", tmp_path / "x.csv", "-o", tmp_path / "e.csv", *more, expect=2))
    assert f"The data has only 1 {noun}, and dimensions are what several {noun}s have in common." in said


def test_pairs_without_values_are_not_for_missing(run, tmp_path):
    rng = np.random.default_rng(0)
    pairs = pd.DataFrame({"user": rng.integers(30, size=300), "film": rng.integers(20, size=300)}).astype(str)
    ("u" + pairs.drop_duplicates()).to_csv(tmp_path / "x.csv", index=False)
    options = "-k", 2, "--triples", "user,film", "--missing"
    said = words(run("embed", tmp_path / "x.csv", "-o", tmp_path / "e.csv", *options, expect=2))
    assert "All known entries of X are one" in said
    assert "leave out --missing" in said


def test_a_table_without_gaps_is_not_filled_by_the_mean(run, tmp_path):
    X = pd.DataFrame(np.random.default_rng(0).poisson(3.0, (60, 8)) + 1, columns=[f"f{j}" for j in range(8)])
    X.to_csv(tmp_path / "x.csv", index=False)
    files = "-o", tmp_path / "e.csv", "--fill", tmp_path / "f.csv"
    said = words(run("embed", tmp_path / "x.csv", "-k", 1, "--missing", *files))
    assert "No cell is missing" in said
    assert "cells are filled in by" not in said


def test_columns_that_are_filled_in_no_better_than_by_their_means_are_named(run, tmp_path):
    rng = np.random.default_rng(5)
    known = np.exp(rng.standard_normal((300, 2))) @ rng.random((2, 12)) + 0.1 * rng.random((300, 12))
    table = pd.DataFrame(known, columns=[f"x{j}" for j in range(12)])
    table["noise"] = rng.permutation(table["x0"])
    table.mask(rng.random(table.shape) < 0.1).to_csv(tmp_path / "x.csv", index=False)
    common = ("embed", tmp_path / "x.csv", "-k", 2, "--missing", "-o", tmp_path / "e.csv")
    of = "1 of 13 columns that could be checked,"
    named = f"For {of} hidden entries do not show that the model predicts better than the mean of the column: 'noise'."
    named = f"{named} What is filled in there may be no better."
    report = tmp_path / "r.html"
    said = run(*common, "--fill", tmp_path / "f.csv", "--report", report, "--json")
    assert f"Note: {named} Use --scale standard if" in words(said)
    assert json.loads(said.out)["hidden"]["no_better_columns"] == ["noise"]
    told = f"In {of} hidden entries do not show that the model is better than the mean of the column: "
    assert told in report.read_text("utf-8")
    run(*common, "--save", tmp_path / "m.rfx")
    said = run(*common[:2], "--model", tmp_path / "m.rfx", *common[-2:], "--fill", tmp_path / "f.csv")
    assert f"Note: {named}" in words(said)
    assert "--scale standard" not in words(said)
    assert "the mean of the column" not in words(run(*common))  # one in thirteen may be chance


@pytest.mark.parametrize("title", ["cell", "sample id"])
def test_groups_of_samples_are_one_command_away(run, tmp_path, title):
    """The command that embed names works as it stands, keeps names and finds planted groups."""
    rng = np.random.default_rng(1)
    kind = np.repeat([0, 1, 2], 30)
    counts = np.log1p(rng.poisson(rng.gamma(0.5, 4, (3, 20))[kind]))
    table = pd.DataFrame(counts, columns=[f"g{j}" for j in range(20)])
    table.insert(0, title, 2000 + np.arange(90))  # numbers at equal distances, which must not become a coordinate
    table.to_csv(tmp_path / "x.csv", index=False)
    said = run("embed", tmp_path / "x.csv", "--id-column", title, "-k", 3, "-o", tmp_path / "my positions.csv").err
    command = shlex.split(said.partition("For groups of samples as a column: rectifact ")[2])
    run(*command)
    found = pd.read_csv(tmp_path / "my positions.groups.csv")
    assert found[title].tolist() == table[title].tolist()
    assert pd.crosstab(found["cluster"], kind).max(axis=1).sum() >= 85
    assert (
        "o.csv: embed then says how"
        in run("embed", tmp_path / "x.csv", "--id-column", title, "-k", 2, "-o", tmp_path / "o.npz").err
    )


@pytest.mark.parametrize("long", [False, True])
def test_a_few_texts_among_numbers_are_quoted_and_read_as_missing(long, stars, run, tmp_path):
    table = stars.rename_axis("who").astype(object)
    table.iloc[3, 2] = "do not know"
    if long:
        table = table.reset_index().melt("who", var_name="what", value_name="rating").dropna().set_index("who")
    table.to_csv(tmp_path / "x.csv")
    common = "embed", tmp_path / "x.csv", "-o", tmp_path / "e.csv", *(["--triples", "who,what,rating"] * long)
    said = words(run(*common, "--missing", expect=2))
    assert "holds 'do not know' in row" in said
    assert "Add --missing-values='do not know' to read it as missing, or correct the file." in said
    for more in (("-k", 2, "--save", tmp_path / "m.rfx"), ("--model", tmp_path / "m.rfx")):
        said = words(run(*common, "--missing-values=Do not know", *more))
        assert "1 cell with 'Do not know' read as missing" in said
        assert ("1 row without a value left out" in said) == long


def test_different_units_are_suggested_for_different_ranges_only_and_the_report_names_the_file(stars, run, tmp_path):
    rng = np.random.default_rng(3)
    noise = pd.DataFrame(rng.integers(1, 6, (len(stars), 4)), index=stars.index, columns=list("wxyz")).astype(float)
    table = pd.concat([stars, noise], axis=1)
    for file, unit in (("one.csv", 1), ("two.csv", 100)):
        table.assign(z=table["z"] * unit).to_csv(tmp_path / file)
        outputs = "-o", tmp_path / "e.csv", "--fill", tmp_path / "f.csv", "--report", tmp_path / "r.html"
        said = words(run("embed", tmp_path / file, "--missing", "-k", 2, *outputs))
        assert ("--scale standard" in said) == (unit > 1)
    report = (tmp_path / "r.html").read_text()
    assert "e.csv" in report
    assert "cluster positions.csv" not in report


def counts_beside(**others):
    """What 60 shops have sold of 12 goods, and columns of another kind."""
    rng = np.random.default_rng(0)
    sold = rng.poisson(3 * rng.gamma(0.5, 1, (60, 3)) @ rng.gamma(0.5, 1, (3, 12)))
    return pd.DataFrame(sold, columns=[f"good {j}" for j in range(12)]).assign(**others)


@pytest.mark.parametrize("command", ["embed", "parts"])
def test_columns_of_another_kind_are_named_among_counts(run, tmp_path, command):
    rng = np.random.default_rng(1)
    table = counts_beside(lat=rng.uniform(47, 55, 60).round(4), price=rng.lognormal(2, 1, 60).round(2))
    table.to_csv(tmp_path / "X.csv", index=False)
    counts_beside().to_csv(tmp_path / "counts.csv", index=False)
    said = {}
    for name in ("X", "counts"):
        found = run(command, tmp_path / f"{name}.csv", "-k", 2, "-o", tmp_path / "o.npz")
        said[name] = " ".join((found.out + found.err).split())
    what = "'lat', 'price' are not of the kind of the other 12 columns, which hold whole numbers from 0 to"
    assert what in said["X"]
    assert "--drop lat,price, unless they belong there." in said["X"]
    assert "not of the kind" not in said["counts"]


def test_a_longitude_does_not_hide_large_values_and_is_named_where_it_is_negative(run, tmp_path):
    rng = np.random.default_rng(1)
    large = counts_beside(age=rng.integers(18, 80, 60))
    for i in range(3):
        large.iloc[i, 3 * i] = 90_000
    large.to_csv(tmp_path / "X.csv", index=False)
    said = " ".join(run("embed", tmp_path / "X.csv", "-k", 2, "-o", tmp_path / "o.npz").err.split())
    assert "'age' is not of the kind" in said
    assert "The largest 1% of the positive values hold" in said
    counts_beside(lon=rng.uniform(-9, 15, 60)).to_csv(tmp_path / "X.csv", index=False)
    said = run("embed", tmp_path / "X.csv", "-k", 2, "-o", tmp_path / "o.npz", expect=2).err
    assert "Leave it out with --drop lon, unless it belongs there." in said


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("lowest", [0, 1])
def test_amounts_among_grades_are_named_together_unless_columns_are_divided_by_their_spreads(
    lowest, seed, run, tmp_path
):
    rng = np.random.default_rng(seed)
    taste = rng.normal(size=(200, 1))
    grades = np.clip(np.round(3 + taste + rng.normal(size=(200, 14))), lowest, 5)
    table = pd.DataFrame(grades, columns=[f"q{j}" for j in range(14)]).mask(rng.random(grades.shape) < 0.1)
    table["age"] = rng.integers(18, 90, 200)
    common = "embed", tmp_path / "x.csv", "-k", 2, "--missing", "-o", tmp_path / "e.csv"
    for more in (False, True):
        if more:
            table["income"] = np.round(rng.lognormal(10, 0.5, 200)) * (rng.random(200) < 0.8)
        table.to_csv(tmp_path / "x.csv", index=False)
        what = "'age', 'income' are" if more else "'age' is"
        others = f"{what} not of the kind of the other 14 columns, which hold whole numbers from {lowest} to 5."
        assert others in words(run(*common))
        assert "not of the kind" not in words(run(*common, "--scale", "standard"))


@pytest.mark.parametrize("seed", range(3))
def test_a_popular_column_is_of_the_kind_of_counts_beside_an_age(seed, run, tmp_path):
    rng = np.random.default_rng(seed)
    sold = rng.poisson(rng.gamma(0.5, 2, (200, 1)) * rng.gamma(0.5, 1, 14))
    table = pd.DataFrame(sold, columns=[f"good {j}" for j in range(14)])
    table = table.assign(popular=rng.poisson(90, 200), age=rng.integers(18, 90, 200))
    table["popular"] *= rng.random(200) < 0.9
    table.to_csv(tmp_path / "x.csv", index=False)
    said = words(run("embed", tmp_path / "x.csv", "-k", 2, "-o", tmp_path / "e.csv"))
    assert "'age' is not of the kind of the other 15 columns" in said


def test_options_in_use_are_not_advised(run, tmp_path):
    rng = np.random.default_rng(0)
    sold = rng.poisson(0.4, (200, 20))
    sold[:, 3] = np.round(rng.lognormal(5, 2, 200)) + 20
    rows, columns = np.nonzero(sold)
    table = pd.DataFrame({"user": rows, "item": columns, "count": sold[rows, columns]})
    table.assign(user="u" + table["user"].astype(str), item="i" + table["item"].astype(str)).to_csv(
        tmp_path / "x.csv", index=False
    )
    common = "embed", tmp_path / "x.csv", "-k", 2, "--link", "relu", "-o", tmp_path / "e.csv"
    assert "Use --values log, or --values binary to count only what is present." in words(run(*common))
    said = words(run(*common, "--values", "log"))
    assert "of the squares of the data, and decides the result. Use --values binary to count only" in said
    assert "--values" not in words(run(*common, "--values", "binary"))


@pytest.mark.parametrize("kind", ["triples", "grades", "yes and no"])
def test_a_0_that_may_say_that_there_is_no_answer_is_named_with_the_option_that_reads_it_so(kind, run, tmp_path):
    rng = np.random.default_rng(0)
    grades = np.clip(np.round(3 + rng.normal(size=(120, 1)) + rng.normal(size=(120, 8))), 1, 5)
    grades[rng.random(grades.shape) < 0.15] = 0
    table = pd.DataFrame(grades, columns=[*"abcdefgh"]).mask(rng.random(grades.shape) < 0.1)
    if kind == "yes and no":
        table["car"] = rng.integers(0, 2, 120)
    if kind == "triples":
        table.insert(0, "user", [f"u{i}" for i in range(120)])
        table = table.melt("user", var_name="item", value_name="rating").dropna()
    table.to_csv(tmp_path / "x.csv", index=False)
    common = "embed", tmp_path / "x.csv", "-k", 2, "--missing", "-o", tmp_path / "e.csv"
    said = words(run(*common))
    assert "0 is read as an answer on a scale" in said
    assert ("If 0 stands for no answer, add --missing-values=0." in said) == (kind != "yes and no")
    said = words(run(*common, "--missing-values=0"))
    assert "cells with 0 read as missing." in said
    assert "is added for the fit" not in said
