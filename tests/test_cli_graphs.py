"""rectifact cluster on graphs as people have them: which column holds the weights, and what is said about the others."""

import numpy as np
import pandas as pd
import pytest

from rectifact import SymNMF


def edges_of_cliques(n: int = 3, size: int = 6) -> pd.DataFrame:
    """Cliques in a ring, by names with commas in them."""
    pairs = [(f"n, {c}{i}", f"n, {c}{j}") for c in range(n) for i in range(size) for j in range(i)]
    pairs += [(f"n, {c}0", f"n, {(c + 1) % n}1") for c in range(n)]
    return pd.DataFrame(pairs, columns=["who", "whom"])


RNG = np.random.default_rng(0)
NO_WEIGHTS = {
    "year": RNG.integers(2019, 2025, 48),
    "ts": RNG.integers(1_600_000_000, 1_700_000_000, 48),
    "founded": RNG.integers(1950, 2025, 48),
    "when": RNG.integers(1_600_000_000_000, 1_700_000_000_000, 48),
    "edge_id": np.arange(1, 49),
    "row": np.arange(48),
}


@pytest.mark.parametrize("name", list(NO_WEIGHTS))
def test_years_times_and_numbers_of_rows_are_no_weights(run, tmp_path, name):
    table = edges_of_cliques().assign(**{name: NO_WEIGHTS[name]})
    table.to_csv(tmp_path / "edges.csv", index=False)
    given = ("cluster", "--graph", tmp_path / "edges.csv", "-k", 3, "-o", tmp_path / "c.csv")
    said = run(*given).err
    assert f"no weights; not used: {name!r}; as weights: --triples who,whom,{name}." in said
    assert f"weights from {name!r}" in run(*given, "--triples", f"who,whom,{name}").err
    assert SymNMF(3).fit(table).degrees_.sum() == 2 * len(table)  # the same in Python


@pytest.mark.parametrize("name", ["mails", "weight", "km"])
def test_other_numbers_are_weights(run, tmp_path, name):
    table = edges_of_cliques().assign(**{name: RNG.integers(1, 2030, 48)})
    table.to_csv(tmp_path / "edges.csv", index=False)
    said = run("cluster", "--graph", tmp_path / "edges.csv", "-k", 3, "-o", tmp_path / "c.csv").err
    assert f"weights from {name!r}" in said


def test_a_table_of_edges_and_more_is_told_how_to_be_read(run, tmp_path):
    table = edges_of_cliques().assign(mails=RNG.integers(1, 9, 48), day="2024-01-02")
    table.insert(0, "msg_id", np.arange(9000, 9048))
    table.to_csv(tmp_path / "edges.csv", index=False)
    said = run("cluster", tmp_path / "edges.csv", "-o", tmp_path / "c.csv", expect=2).err
    assert "looks like edges between 'who' and 'whom'" in said
    assert "--triples who,whom,mails" in said
    said = run("cluster", "--graph", tmp_path / "edges.csv", "-o", tmp_path / "c.csv", expect=2).err
    assert "such as --triples who,whom,mails" in said
    run("cluster", "--graph", tmp_path / "edges.csv", "--triples", "who,whom,mails", "-o", tmp_path / "c.csv", "-k", 3)
