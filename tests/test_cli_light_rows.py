"""Rows with few values, which hide the gaps between groups: counted by embed, set aside and placed by cluster."""

import shlex

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import adjusted_rand_score

KINDS, ARTICLES = 3, 60


def purchases(seed: int, planted: bool = True) -> tuple[pd.DataFrame, pd.Series]:
    """Customers of some kinds, half of them with a few purchases only, as triples, and the kind of each."""
    rng = np.random.default_rng(seed)
    kinds = rng.integers(KINDS, size=500)
    likes = np.full((KINDS, ARTICLES), 0.3)
    for k in range(KINDS):
        likes[k, 20 * k : 20 * k + 20] = 4.0
    likes = likes if planted else np.tile(likes.mean(axis=0), (KINDS, 1))
    likes *= rng.lognormal(0, 0.8, ARTICLES)
    n_bought = 1 + rng.poisson(rng.gamma(1.5, 8, len(kinds)))
    triples = [
        (f"c{i}", f"a{j}")
        for i, (k, n) in enumerate(zip(kinds, n_bought, strict=True))
        for j in rng.choice(ARTICLES, n, p=likes[k] / likes[k].sum())
    ]
    table = pd.DataFrame(triples, columns=["customer", "article"]).assign(sold=1)
    return table, pd.Series(kinds, index=[f"c{i}" for i in range(len(kinds))])


@pytest.fixture
def embedded(run, tmp_path):
    """Embeds purchases, and runs the command that embed prints; returns both outputs, the positions and clusters."""

    def embed(table, *more):
        table.to_csv(tmp_path / "sales.csv", index=False)
        named = ["--triples", "customer,article,sold", "--repeats", "sum", "--values", "binary", "-k", 3]
        said = run("embed", tmp_path / "sales.csv", *named, "-o", tmp_path / "p.csv").err
        command = shlex.split(said.partition("as a column: rectifact ")[2].partition("\n")[0])
        told = run(*command, *more).err
        return said, told, pd.read_csv(tmp_path / "p.csv"), pd.read_csv(tmp_path / "p.groups.csv")

    return embed


def test_the_printed_command_finds_the_kinds_that_light_rows_hide(embedded):
    table, kinds = purchases(0)
    said, told, positions, found = embedded(table)
    assert (
        positions["n_values"].tolist()
        == table.drop_duplicates().value_counts("customer")[positions["customer"]].tolist()
    )
    assert found["customer"].tolist() == positions["customer"].tolist()
    assert found["cluster"].nunique() == KINDS
    known = (positions["n_values"] >= min(10, positions["n_values"].median())).to_numpy()
    truth = kinds[found["customer"]].to_numpy()
    assert adjusted_rand_score(truth[known], found["cluster"][known]) > 0.9
    assert adjusted_rand_score(truth[~known], found["cluster"][~known]) > 0.3
    assert found["membership"][~known].mean() < found["membership"][known].mean()
    n = int((~known).sum())
    assert f"{n} samples have fewer than" in said
    assert f"{n} points have fewer than" in told
    assert "To treat all alike, add --drop n_values." in told


def test_without_the_column_the_light_rows_hide_the_kinds(embedded):
    _, told, _, found = embedded(purchases(0)[0], "--drop", "n_values")
    assert found["cluster"].nunique() < KINDS
    assert "points have fewer than" not in told


def test_customers_of_one_kind_stay_one_group(embedded):
    *_, found = embedded(purchases(1, planted=False)[0])
    assert found["cluster"].nunique() == 1


def test_known_groups_resamples_and_reports_go_with_light_rows(embedded, tmp_path):
    table, kinds = purchases(0)
    kinds.rename_axis("customer").rename("kind").to_csv(tmp_path / "kinds.csv")
    *_, found = embedded(
        table, "--truth", f"{tmp_path / 'kinds.csv'}:kind", "--bootstrap", 2, "--report", tmp_path / "r.html"
    )
    assert found["known_group"].tolist() == kinds[found["customer"]].tolist()
    assert 0 < found["share1"].isna().sum() < len(found)
    assert (tmp_path / "r.html").exists()


def test_rows_with_enough_values_are_not_counted(embedded):
    table, _ = purchases(0)
    many = table.groupby("customer").filter(lambda rows: rows["article"].nunique() >= 10)
    said, _, positions, _ = embedded(many)
    assert "n_values" not in positions
    assert "fewer than" not in said
