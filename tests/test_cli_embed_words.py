"""What rectifact embed says about its figures: which is better, of what, and in which unit."""

import re

import numpy as np
import pandas as pd
import pytest

from rectifact.latent.filling import Comparison


@pytest.fixture
def orders(tmp_path):
    """Counts of three kinds of customers, mostly zeros."""
    rng = np.random.default_rng(0)
    kinds = np.arange(90) % 3
    X = rng.poisson(np.where(np.arange(15)[None, :] % 3 == kinds[:, None], 4.0, 0.1))
    path = tmp_path / "orders.csv"
    pd.DataFrame(X, columns=[f"p{j:02d}" for j in range(15)]).to_csv(path, index=False)
    return path


def test_errors_and_scores_say_which_is_better_and_of_what(run, orders, tmp_path):
    said = " ".join(run("embed", orders, "-k", "2-4", "-o", tmp_path / "e.csv").err.split())
    assert "log-likelihood of a hidden entry, higher is better" in said
    assert "RMSE (lower is better) of" in said
    assert "known entries that were hidden from a second fit, 6" in said
    assert "% of them zeros: " in said


@pytest.mark.parametrize(("zeros", "said"), [(0.997, ", over 99% of them zeros"), (0.5, ", 50% of"), (0.05, "fit: ")])
def test_the_share_of_zeros_is_not_rounded_to_all(zeros, said):
    assert said in Comparison(0.1, 0.3, 0.2, 100, zeros=zeros).sentence


def test_errors_have_the_unit_of_logarithms_that_were_scaled(run, orders, tmp_path):
    options = ("--values", "log", "--scale", "standard", "-k", 2, "-o", tmp_path / "e.csv")
    said = " ".join(run("embed", orders, *options).err.split())
    assert "These are errors of log(1 + value) divided by the spread of the column." in said


def test_rare_kinds_are_mentioned_where_samples_are_compared(run, orders, tmp_path):
    common = ("embed", orders, "-k", "2-4", "-o", tmp_path / "e.csv", "--recommend", 2)
    assert "Rare kinds of samples may need" not in run(*common).err
    assert "Rare kinds of samples may need" in run(*common, "--similar", 2).err


def test_filled_cells_that_are_cut_are_counted_and_the_error_is_that_of_the_file(run, tmp_path):
    rng = np.random.default_rng(3)
    full = np.rint(np.clip(3 + 2 * rng.standard_normal((150, 2)) @ rng.standard_normal((2, 20)), 1, 5))
    gaps = rng.random(full.shape) < 0.3
    table = pd.DataFrame(np.where(gaps, np.nan, full), index=[f"u{i}" for i in range(150)]).add_prefix("f")
    table.to_csv(tmp_path / "stars.csv", index_label="user")
    said = run(
        "embed", tmp_path / "stars.csv", "-k", 2, "--missing", "-o", tmp_path / "e.csv", "--fill", tmp_path / "f.csv"
    )
    found = pd.read_csv(tmp_path / "f.csv").to_numpy()[:, 1:].astype(float)
    cut = np.isin(found[gaps], [1.0, 5.0]).sum()
    assert f"{cut} of the {gaps.sum()} filled cells would lie outside the scale of the known values" in said.err
    error = float(re.search(r"([\d.]+) by the model", said.err)[1])
    assert error == pytest.approx(np.sqrt(np.mean((found[gaps] - full[gaps]) ** 2)), rel=0.15)


def test_filled_amounts_are_not_cut(run, tmp_path):
    rng = np.random.default_rng(5)
    full = rng.gamma(1.2, size=(120, 2)) @ rng.gamma(2.0, size=(2, 12))
    gaps = rng.random(full.shape) < 0.3
    table = pd.DataFrame(np.where(gaps, np.nan, full), index=[f"c{i}" for i in range(120)]).add_prefix("p")
    table.to_csv(tmp_path / "spend.csv", index_label="customer")
    said = run(
        "embed", tmp_path / "spend.csv", "-k", 2, "--missing", "-o", tmp_path / "e.csv", "--fill", tmp_path / "f.csv"
    )
    found = pd.read_csv(tmp_path / "f.csv").to_numpy()[:, 1:].astype(float)
    above = gaps & (full > table.max().to_numpy())
    assert above.sum() >= 2
    np.testing.assert_allclose(found[above], full[above], rtol=0.1)
    assert "outside the scale" not in said.err
