"""Intervals of filled entries hold what they promise, and are wider where predictions are worse."""

import numpy as np
import pandas as pd
import pytest

from rectifact import NMD
from rectifact.latent.filling import compare_with_means
from rectifact.latent.intervals import COVERAGE, cells_of, measured_coverage


def stars(rng):
    full = 3.3 + rng.normal(size=(250, 3)) @ rng.normal(size=(3, 60)) * 0.5 + 0.5 * rng.normal(size=(250, 60))
    return np.clip(np.rint(full), 1, 5)


def counts(rng):
    return rng.poisson(rng.gamma(1.0, size=(250, 3)) @ rng.gamma(1.0, 2.0, size=(3, 40))).astype(float)


def measurements(rng):
    """Columns of which every other one is four times as noisy."""
    full = 20 + rng.normal(size=(250, 3)) @ rng.normal(size=(3, 20))
    return full + rng.normal(size=full.shape) * np.where(np.arange(20) % 2, 2.0, 0.5)


@pytest.mark.parametrize("make", [stars, counts, measurements])
def test_intervals_hold_nine_of_ten_gaps(make):
    """The gaps are not those that the command hides itself, and rows and columns have different shares of them."""
    rng = np.random.default_rng(3)
    full = make(rng)
    gaps = rng.random(full.shape) < np.outer(np.linspace(0.1, 0.8, len(full)), np.linspace(1.0, 0.4, full.shape[1]))
    X = np.where(gaps, np.nan, full)
    model = NMD(3, missing=np.nan, random_state=0).fit(X)
    compared = compare_with_means(model, X)
    assert compared.better
    low, high = compared.intervals.around(cells_of(X, gaps, model.fill(X)))
    assert np.mean((low <= full[gaps]) & (full[gaps] <= high)) == pytest.approx(COVERAGE, abs=0.04)
    assert measured_coverage(*compared.hidden) == pytest.approx(COVERAGE, abs=0.03)
    if make is measurements:
        column = np.nonzero(gaps)[1] % 2
        assert (high - low)[column == 1].mean() > 1.4 * (high - low)[column == 0].mean()
    if make is counts:
        few = model.fill(X)[gaps] < 2
        assert (high - low)[~few].mean() > 1.5 * (high - low)[few].mean()


def test_a_file_says_how_sure_each_filled_cell_is(run, tmp_path):
    rng = np.random.default_rng(5)
    full = stars(rng)
    gaps = rng.random(full.shape) < 0.4
    names = [f"film{j}" for j in range(60)]
    table = pd.DataFrame(np.where(gaps, np.nan, full), [f"u{i}" for i in range(250)], names).rename_axis("viewer")
    table.to_csv(tmp_path / "X.csv")
    files = "-o", tmp_path / "e.csv", "--fill", tmp_path / "full.csv", "--save", tmp_path / "m.rfx"
    said = run("embed", tmp_path / "X.csv", "-k", 3, "--missing", *files).err
    assert "designed to hold 90% of the true values, and held 9" in " ".join(said.split())
    sure = pd.read_csv(tmp_path / "full.intervals.csv")
    assert sure.columns.tolist() == ["viewer", "feature", "value", "low", "high"]
    assert len(sure) == gaps.sum()
    assert ((sure["low"] <= sure["value"]) & (sure["value"] <= sure["high"])).all()
    assert sure["low"].min() >= 1
    assert sure["high"].max() <= 5
    filled = pd.read_csv(tmp_path / "full.csv").set_index("viewer").stack()
    np.testing.assert_allclose(filled.loc[list(zip(sure["viewer"], sure["feature"], strict=True))], sure["value"])
    truth = full[gaps]  # in the order of rows and columns
    assert np.mean((sure["low"] <= truth) & (truth <= sure["high"])) == pytest.approx(COVERAGE, abs=0.04)
    table.iloc[:1].to_csv(tmp_path / "new.csv")
    run("embed", tmp_path / "new.csv", "--model", tmp_path / "m.rfx", *files[:4])
    again = pd.read_csv(tmp_path / "full.intervals.csv")
    first = sure[sure["viewer"] == "u0"]
    np.testing.assert_allclose(again["high"], first["high"], atol=0.05)  # shares of known cells are those of the fit


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda rng: rng.gamma(2.0, size=(20, 16)), "could be hidden to check them, and 50 are needed"),
        (lambda rng: (rng.random((80, 20)) < 0.5).astype(float), "Filled cells hold probabilities"),
    ],
)
def test_without_intervals_a_sentence_says_why(make, said, run, tmp_path):
    rng = np.random.default_rng(0)
    X = make(rng)
    X[rng.random(X.shape) < 0.1] = np.nan
    pd.DataFrame(X).add_prefix("c").to_csv(tmp_path / "X.csv", index=False)
    files = "-o", tmp_path / "e.csv", "--fill", tmp_path / "full.csv"
    assert said in " ".join(run("embed", tmp_path / "X.csv", "-k", 1, "--missing", *files).err.split())
    assert not (tmp_path / "full.intervals.csv").exists()
