"""What rectifact embed writes and says of values to which it has added a constant: all in the units of the file."""

import numpy as np
import pandas as pd
import pytest


def words(said):
    return " ".join(said.err.split())


def answers(lowest, seed=0, n=200):
    """Grades from the lowest to 5 above it, one yes or no, and hours that are never negative, with gaps."""
    rng = np.random.default_rng(seed)
    taste = rng.normal(size=(n, 1))
    grades = np.clip(np.round(2.5 + taste + rng.normal(size=(n, 8))), 0, 5) + lowest
    hours = np.round(rng.exponential(2.0, n) + 0.1, 1)
    table = pd.DataFrame(np.c_[grades, rng.random(n) < 0.4, hours], columns=[*"abcdefgh", "car", "hours"])
    return table.mask(rng.random(table.shape) < 0.12)


@pytest.mark.parametrize("scale", [(), ("--scale", "standard")])
@pytest.mark.parametrize("lowest", [0, -4])
@pytest.mark.parametrize("seed", range(2))
def test_amounts_that_are_never_negative_are_not_filled_in_below_0(lowest, scale, seed, run, tmp_path):
    answers(lowest, seed).to_csv(tmp_path / "x.csv", index=False)
    out = tmp_path / "full.csv"
    said = words(
        run("embed", tmp_path / "x.csv", "-k", 2, "--missing", *scale, "--fill", out, "-o", tmp_path / "e.csv")
    )
    assert "is added for the fit" in said
    table = pd.read_csv(tmp_path / "full.intervals.csv")
    hours = table[table["feature"] == "hours"]
    assert (hours["low"] == 0).any()
    assert hours["low"].min() == hours["value"].clip(upper=0).min() == 0
    assert pd.read_csv(out)["hours"].min() >= 0
    assert "-0.0," not in (tmp_path / "full.intervals.csv").read_text()


@pytest.mark.parametrize("values", ["raw", "log"])
def test_stray_values_are_named_as_they_are_in_the_file(values, run, tmp_path):
    table = answers(0)[[*"abcdefgh"]] + (values == "log")
    table.iloc[5:17, 4] = 55
    table.to_csv(tmp_path / "x.csv", index=False)
    said = words(run("embed", tmp_path / "x.csv", "-k", 2, "--missing", "--values", values, "-o", tmp_path / "e.csv"))
    assert ("is added for the fit" in said) == (values == "raw")
    low = int(values == "log")
    assert f"known values, 55, lie far outside the scale of the others, {low} to {low + 5}. Check whether" in said
