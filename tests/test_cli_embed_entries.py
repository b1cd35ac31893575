"""rectifact embed: values that are infinite, empty columns, and a few values that decide the result."""

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from rectifact.io.other_columns import other_columns


def words(said):
    return " ".join(said.err.split())


@pytest.mark.parametrize("missing", [(), ("--missing",)])
def test_infinite_values_are_refused_by_their_place(run, tmp_path, missing):
    X = np.random.default_rng(0).poisson(2.0, (30, 8)).astype(float)
    X[3, 4] = np.inf
    np.save(tmp_path / "x.npy", X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        said = words(run("embed", tmp_path / "x.npy", "-o", tmp_path / "o.csv", "-k", 2, *missing, expect=2))
    assert "1 value of the data is infinite, the first in row 4, column 5. Correct it, or leave its cell empty" in said


def test_infinite_values_are_none_of_another_kind():
    X = np.random.default_rng(0).poisson(2.0, (30, 8)).astype(float)
    X[3, 4] = np.inf
    X[:, 5] += 0.3
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert other_columns(X, [*"abcdefgh"]) == []


def test_an_empty_column_raises_no_warning():
    X = np.random.default_rng(0).poisson(2.0, (30, 8)).astype(float)
    X[:, 2] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert other_columns(X, [*"abcdefgh"]) == []
        assert other_columns(np.c_[X, np.linspace(47.1, 55.2, 30)], [*"abcdefghi"]) == [8]


def test_a_few_large_values_are_said_before_the_fit(run, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.poisson(np.exp(rng.normal(-1, 2.5, (80, 60)))).astype(float)
    sp.save_npz(tmp_path / "x.npz", sp.csr_array(X))
    given = "embed", tmp_path / "x.npz", "-k", 2, "-o", tmp_path / "o.csv"
    said = words(run(*given))
    assert "With --values log, all values count." in said
    assert said.index("all values count") < said.index("RMSE")
    assert "all values count" not in words(run(*given, "--values", "log"))
    assert len(pd.read_csv(tmp_path / "o.csv")) == 80
