"""rectifact cluster: advice about columns of points runs as it is printed."""

import re
import shlex

import numpy as np
import pandas as pd
import pytest


@pytest.mark.parametrize("names", [["body height", "income, net"], ['"own" words, count', "it's"]])
def test_columns_to_keep_alone_are_named_as_the_option_takes_them(tmp_path, run, names):
    """Two columns show four groups, which forty columns of noise hide."""
    rng = np.random.default_rng(0)
    points = rng.normal(size=(300, 42))
    points[:, [3, 20]] += rng.choice([0.0, 5.0], (300, 2))
    table = pd.DataFrame(points, columns=[f"noise {j}" for j in range(42)])
    table = table.rename(columns={"noise 3": names[0], "noise 20": names[1]})
    table.to_csv(tmp_path / "p.csv", index=False)
    given = ("cluster", tmp_path / "p.csv", "-o", tmp_path / "c.csv", "--save", tmp_path / "m.rfx")
    said = run(*given).err
    assert f"in columns {names[0]!r} and {names[1]!r} alone, 4 groups stand apart" in said
    advice = re.search(r"Keep these alone with (--columns .*?), or compare with -k 4", said).group(1)
    again = run(*given, *shlex.split(advice)).err
    assert "4 groups of points stand apart" in again
    assert "There may be more" not in again
