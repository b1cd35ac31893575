"""What rectifact embed says about its figures: which is better, of what, and in which unit."""

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
