"""What rectifact embed --fill writes where columns are in different units, and what it says of it."""

import numpy as np
import pandas as pd
import pytest

from rectifact.latent.filling import Comparison
from rectifact.latent.means import chances_of_losses, means_of
from rectifact.latent.scales import ranges_of


def words(said):
    return " ".join(said.err.split())


def survey(seed, n=300, m=12):
    """Answers from 1 to 5 by people of four kinds, a quarter of them missing, and the generator."""
    rng = np.random.default_rng(seed)
    kind, typical = rng.integers(0, 4, n), rng.normal(3, 1, (4, m))
    full = np.clip(np.round(typical[kind] + rng.normal(0, 0.7, (n, m))), 1, 5)
    table = pd.DataFrame(full, columns=[f"q{j}" for j in range(m)], index=pd.Index(rng.permutation(n), name="case id"))
    return table.mask(rng.random(full.shape) < 0.25), rng


@pytest.mark.parametrize("seed", range(3))
def test_means_of_columns_are_those_of_columns_in_other_units(seed):
    table, rng = survey(seed)
    mixed = np.column_stack([rng.integers(18_000, 90_000, len(table)), table])
    _, added, columns = means_of(mixed)
    np.testing.assert_allclose(columns[:, 1:], np.tile(table.mean(), (len(table), 1)), atol=0.01)
    assert np.abs(added[:, 1:] - columns[:, 1:]).max() < 2  # incomes do not say what is typical of a row
    alone = means_of(table.to_numpy())
    assert np.abs(alone[2] - np.nanmean(table)).max() > 0.3  # where units are the same, columns differ all the same


def test_filled_cells_are_the_means_that_are_named(run, tmp_path):
    table, rng = survey(0)
    table.insert(0, "income", rng.integers(18_000, 90_000, len(table)))
    table.to_csv(tmp_path / "x.csv")
    files = "-o", tmp_path / "e.csv", "--fill", tmp_path / "f.csv"
    said = words(run("embed", tmp_path / "x.csv", "-k", 3, "--missing", *files))
    assert "The cells are filled in by the means of the columns." in said
    assert "lie far above" not in said
    answers, found = table.drop(columns="income"), pd.read_csv(tmp_path / "f.csv", index_col=0).drop(columns="income")
    gaps = answers.isna().to_numpy()
    means = np.tile(answers.mean(), (len(table), 1))
    np.testing.assert_allclose(found.to_numpy()[gaps], means[gaps], atol=0.05)


@pytest.mark.parametrize("scaled", [(), ("--scale", "standard")])
def test_nothing_outside_the_scale_of_answers_is_filled_in_beside_an_age(scaled, run, tmp_path):
    table, rng = survey(1)
    table.loc[table.index[5:], "q0"] = table["q0"].clip(upper=4)  # a 5 is rare: the column alone does not tell a scale
    table.insert(0, "age", rng.integers(18, 80, len(table)))
    table.to_csv(tmp_path / "x.csv")
    files = "-o", tmp_path / "e.csv", "--fill", tmp_path / "f.csv"
    run("embed", tmp_path / "x.csv", "-k", 4, "--missing", *files, *scaled)
    found, known = pd.read_csv(tmp_path / "f.csv", index_col=0), table.notna().to_numpy()
    np.testing.assert_array_equal(found.to_numpy()[known], table.to_numpy()[known])  # to the last digit
    answers, sure = found.drop(columns="age"), pd.read_csv(tmp_path / "f.intervals.csv")
    assert answers.min().min() >= 1
    assert answers.max().max() <= 5
    assert sure["low"].min() >= 1
    assert sure["high"].max() <= 5


def test_columns_of_many_values_have_no_scale_and_do_not_hide_that_of_others():
    table, rng = survey(2)
    table["q0"] = table["q0"].clip(upper=4).where(np.arange(len(table)) > 4, 5)
    sold = rng.poisson(8.0, len(table)).astype(float)
    ranges = ranges_of(np.column_stack([sold, table]))
    assert ranges[:, 0].tolist() == [0, np.inf]
    assert ranges[:, 1].tolist() == [1, 5]


def test_columns_are_called_worse_than_their_means_by_chance_hardly_ever():
    """Forty columns of 30 hidden entries each, which model and mean predict alike: errors differ by chance."""
    rng, mask, alarms, some = np.random.default_rng(0), np.ones((30, 40), dtype=bool), 0, 0
    for _ in range(300):
        known, found, means = (rng.normal(size=mask.shape) for _ in range(3))
        judged = compared(found, 1.0 * means, known, mask)
        alarms += bool(judged.worse_columns)
        some += len(judged.no_better_columns)
    assert alarms <= 0.03 * 300
    assert some > 15 * 300  # that many look no better
    found[:, 7] += 4.0
    assert compared(found, means, known, mask).worse_columns == [7]


def compared(found, means, known, mask):
    """As Hidden.beside_means compares them."""
    ours, simple = (np.sqrt(np.mean((each - known) ** 2, axis=0)).tolist() for each in (found, means))
    each = tuple((len(known), one, other) for one, other in zip(ours, simple, strict=True))
    return Comparison(1.0, 2.0, 2.0, mask.sum(), 2.0, each, 0.0, tuple(chances_of_losses(found, means, known, mask)))


def test_yes_and_no_that_are_predicted_well_are_not_to_be_distrusted(run, tmp_path):
    rng = np.random.default_rng(1)
    kind, likely = rng.integers(0, 4, 300), 1 / (1 + np.exp(-rng.normal(0, 1.8, (4, 30))))
    answers = pd.DataFrame(rng.random((300, 30)) < likely[kind], columns=[f"owns {j}" for j in range(30)])
    answers = answers.replace({True: "yes", False: "no"}).mask(rng.random(answers.shape) < 0.2, "")
    answers.rename_axis("household").to_csv(tmp_path / "x.csv")
    files = "-o", tmp_path / "e.csv", "--fill", tmp_path / "f.csv"
    said = words(run("embed", tmp_path / "x.csv", "--id-column", "household", "-k", 4, "--missing", *files))
    assert "hidden entries do not show that the model predicts better than the mean of the column" in said
    assert "Do not rely" not in said
