"""rectifact embed --model: new samples in the dimensions of a saved model."""

import json

import numpy as np
import pandas as pd
import pytest

from rectifact import NMD, LogisticPCA, load_model


@pytest.fixture(scope="module")
def tastes():
    """Ratings of two kinds of users, who like every other film and dislike the rest; users of the fit and new ones."""
    rng = np.random.default_rng(0)
    kinds = np.arange(70) % 2
    liked = (np.arange(20) % 2)[None, :] == kinds[:, None]
    stars = np.where(liked, 4, 1) + rng.integers(2, size=liked.shape)
    rows = [(f"u{i:02d}", f"f{j:02d}", stars[i, j]) for i in range(70) for j in np.flatnonzero(rng.random(20) < 0.6)]
    table = pd.DataFrame(rows, columns=["user", "item", "stars"])
    return table[table["user"] < "u60"], table[table["user"] >= "u60"]


@pytest.fixture
def saved(tastes, run, tmp_path):
    tastes[0].to_csv(tmp_path / "old.csv", index=False)
    path = tmp_path / "m.rfx"
    run("embed", tmp_path / "old.csv", "-k", 2, "--missing", "-o", tmp_path / "old_users.csv", "--save", path)
    return path


def test_new_users_are_placed_filled_in_and_recommended_to(tastes, saved, run, tmp_path):
    new = pd.concat([tastes[1], pd.DataFrame({"user": ["u98", "u99"], "item": ["nothing", "f01"], "stars": [3, 5]})])
    new = new[new["item"] != "f07"]
    new.to_csv(tmp_path / "new.csv", index=False)
    out, full = tmp_path / "new_users.csv", tmp_path / "full.csv"
    options = ("--recommend", 3, "--similar", 4, "--fill", full, "--json")
    said = run("embed", tmp_path / "new.csv", "--model", saved, "-o", out, *options)
    assert "1 column that the model does not know left out: 'nothing'." in said.err
    assert "1 of the 20 columns of the model is not in the data, and taken as missing." in said.err
    assert "12 samples placed in the 2 dimensions of" in said.err
    nothing = (
        "1 sample has nothing in the columns of the model: 'u98'. It is placed at the mean and gets what is popular."
    )
    assert nothing in said.err
    assert "filled cells are in rows with fewer known cells than nearly all that were checked" in said.err
    assert json.loads(said.out)["samples_without_columns"] == 1
    model, known = load_model(saved), tastes[0].pivot_table("stars", "user", "item")
    matrix = new[new["item"] != "nothing"].pivot_table("stars", "user", "item")
    matrix = matrix.reindex(columns=known.columns)
    found = pd.read_csv(out).set_index("user").loc[matrix.index]
    order = [str(name) for name in pd.read_csv(full).columns[1:]]
    np.testing.assert_allclose(found.to_numpy(), model.positions(matrix[order].to_numpy()), atol=1e-8)
    filled = pd.read_csv(full).set_index("user").loc[matrix.index, order]
    np.testing.assert_allclose(filled.to_numpy(), model.fill(matrix[order].to_numpy()), atol=1e-8)
    odd = np.array([int(name[1:]) % 2 for name in order], dtype=bool)
    wrong = (filled.to_numpy() > 3) != (
        odd[None, :] == (np.array([int(u[1:]) % 2 for u in matrix.index]) == 1)[:, None]
    )
    assert wrong.mean() < 0.02
    like = pd.read_csv(tmp_path / "new_users.similar-rows.csv")
    assert not (tmp_path / "new_users.similar-columns.csv").exists()
    assert set(like["neighbour"]) <= set(known.index)
    same = like["user"].str[1:].astype(int) % 2 == like["neighbour"].str[1:].astype(int) % 2
    assert same[like["user"] != "u98"].all()
    best = pd.read_csv(tmp_path / "new_users.recommend.csv")
    liked = best["user"].str[1:].astype(int) % 2 == best["item"].str[1:].astype(int) % 2
    assert liked[(best["rank"] == 1) & (best["user"] != "u98")].all()


def test_a_model_of_triples_reads_a_few_new_rows_as_triples_too(tastes, run, tmp_path):
    odd = {"user": "Kunden-Nr.", "item": "Artikel", "stars": "Sterne (1-5)"}
    old, new = (table.rename(columns=odd).assign(**{"Bewertet am": "2024-05-06"}) for table in tastes)
    named = "Kunden-Nr.,Artikel,Sterne (1-5)"
    old.to_csv(tmp_path / "old.csv", index=False)
    new.head(5).to_csv(tmp_path / "new.csv", index=False)
    fit = ("-k", 2, "--missing", "-o", tmp_path / "old_users.csv", "--save", tmp_path / "m.rfx")
    run("embed", tmp_path / "old.csv", "--triples", named, *fit)
    options = ("--model", tmp_path / "m.rfx", "-o", tmp_path / "users.csv")
    said = run("embed", tmp_path / "new.csv", *options).err
    assert "Read as triples, 'Kunden-Nr.' in rows, 'Artikel' in columns, 'Sterne (1-5)' as value" in said
    assert pd.read_csv(tmp_path / "users.csv")["Kunden-Nr."].tolist() == new.head(5)["Kunden-Nr."].unique().tolist()
    first = (tmp_path / "users.csv").read_text()
    run("embed", tmp_path / "new.csv", *options, "--triples", named)
    assert (tmp_path / "users.csv").read_text() == first
    other = "Kunden-Nr.,Artikel,Bewertet am"  # what is said counts more than what is remembered
    assert "'Bewertet am'" in run("embed", tmp_path / "new.csv", *options, "--triples", other, expect=2).err


def test_a_new_user_who_likes_all_they_rated_may_dislike_the_rest(saved):
    """Values that are filled in have the range of the fit, and not that of a few new rows."""
    model = load_model(saved)
    one = np.full((1, 20), np.nan)
    odd = np.array([int(name[1:]) % 2 for name in model._features], dtype=bool)
    one[0, np.flatnonzero(odd)[:5]] = 5.0
    full = model.fill(one)[0]
    assert full[~odd].max() < 3 < full[odd].min()


@pytest.mark.parametrize("estimator", [NMD(2, missing=np.nan), LogisticPCA(2, missing=np.nan)], ids=repr)
def test_as_many_new_rows_as_the_fit_had_are_filled_by_themselves(estimator, rng):
    kind = np.arange(40) % 2
    X = 1.0 * (np.arange(12)[None, :] % 2 == kind[:, None])
    X[rng.random(X.shape) < 0.1] = np.nan
    model = estimator.fit(X)
    turned = X[::-1]
    np.testing.assert_allclose(model.fill(turned), model.fill(X)[::-1], atol=1e-8)


def test_scales_and_logarithms_of_the_fit_hold_for_new_rows(run, tmp_path):
    rng = np.random.default_rng(1)
    X = rng.gamma(2.0, size=(80, 2)) @ rng.gamma(2.0, size=(2, 6)) * np.array([1, 10, 100, 1, 10, 1000])
    frame = pd.DataFrame(X, index=[f"r{i}" for i in range(80)], columns=[*"abcdef"]).rename_axis("id")
    frame[:60].to_csv(tmp_path / "old.csv")
    options = ("-k", 2, "--missing", "--values", "log", "--scale", "standard")
    run("embed", tmp_path / "old.csv", "-o", tmp_path / "a.csv", "--save", tmp_path / "m.rfx", *options)
    holes = frame[60:].copy()
    holes.loc["r61", "f"] = holes.loc["r70", "c"] = np.nan
    holes[[*"fedcba"]].to_csv(tmp_path / "new.csv")
    full = tmp_path / "full.csv"
    said = run("embed", tmp_path / "new.csv", "--model", tmp_path / "m.rfx", "-o", tmp_path / "b.csv", "--fill", full)
    assert "20 samples placed" in said.err
    found = pd.read_csv(full).set_index("id")
    for row, column in (("r61", "f"), ("r70", "c")):
        assert abs(np.log(found.loc[row, column] / frame.loc[row, column])) < 0.3
    run("embed", tmp_path / "old.csv", "--model", tmp_path / "m.rfx", "-o", tmp_path / "c.csv")
    pd.testing.assert_frame_equal(pd.read_csv(tmp_path / "a.csv"), pd.read_csv(tmp_path / "c.csv"), atol=1e-6)


@pytest.mark.parametrize(
    ("table", "options", "message"),
    [
        ("user,item,stars\na,x,1\na,y,2\nb,x,3\n", (), "none of the 20 columns of"),
        ("user,item,stars\na,f01,1\n", ("--report", "x.html"), "rectifact report model.rfx writes the report"),
    ],
)
def test_mistakes_get_a_sentence(saved, run, tmp_path, table, options, message):
    (tmp_path / "new.csv").write_text(table)
    said = run("embed", tmp_path / "new.csv", "--model", saved, "-o", tmp_path / "o.csv", *options, expect=2)
    assert message in said.err


@pytest.fixture
def spending(run, tmp_path):
    """Spending of 60 customers, in a table with gaps, and a model of it."""
    rng = np.random.default_rng(2)
    full = pd.DataFrame(rng.gamma(1.5, size=(70, 2)) @ rng.gamma(1.5, size=(2, 8)), columns=[*"abcdefgh"])
    full.index = pd.Index([f"c{i:02d}" for i in range(70)], name="customer")
    full[:60].mask(rng.random((60, 8)) < 0.2).to_csv(tmp_path / "old.csv")
    run("embed", tmp_path / "old.csv", "-k", 2, "--missing", "-o", tmp_path / "e.csv", "--save", tmp_path / "m.rfx")
    return full


def test_one_new_customer_may_have_gaps(spending, run, tmp_path):
    one = spending[60:61].copy()
    one[["b", "e", "h"]] = np.nan
    one.to_csv(tmp_path / "new.csv")
    out, full = tmp_path / "n.csv", tmp_path / "f.csv"
    said = run("embed", tmp_path / "new.csv", "--model", tmp_path / "m.rfx", "-o", out, "--fill", full)
    assert "3 columns of the data have no value, and are taken as missing: 'b', 'e', 'h'." in said.err
    found = pd.read_csv(full, index_col=0)
    np.testing.assert_allclose(found.to_numpy(), spending[60:61].to_numpy(), rtol=0.05)


def test_all_empty_columns_are_named_at_once(spending, run, tmp_path):
    table = spending.assign(b=np.nan, e=np.nan, h=np.nan)
    table.to_csv(tmp_path / "x.csv")
    common = ("embed", tmp_path / "x.csv", "-k", 2, "--missing", "-o", tmp_path / "n.csv")
    said = run(*common, "--drop", "a", expect=2).err
    assert "The column 'b' of" in said
    assert "is empty, and so are 2 other columns. Leave them out with --drop a,b,e,h." in " ".join(said.split())
    run(*common, "--drop", "a,b,e,h")


def test_a_table_without_a_column_of_the_model_is_refused_where_nothing_is_missing(run, tmp_path):
    X = pd.DataFrame(np.eye(6).repeat(4, axis=0), columns=[*"abcdef"])
    X.to_csv(tmp_path / "x.csv", index=False)
    X.drop(columns="c").to_csv(tmp_path / "less.csv", index=False)
    run("embed", tmp_path / "x.csv", "-k", 2, "-o", tmp_path / "o.csv", "--save", tmp_path / "m.rfx")
    options = ("--model", tmp_path / "m.rfx", "-o", tmp_path / "n.csv")
    assert (
        "1 column of the model is not in the data: 'c'." in run("embed", tmp_path / "less.csv", *options, expect=2).err
    )
    said = run("embed", tmp_path / "x.csv", *options, "--fill", tmp_path / "f.csv", expect=2)
    assert "was fitted without --missing" in said.err


def test_triples_that_are_not_listed_count_as_zero_in_new_rows_too(run, tmp_path):
    rng = np.random.default_rng(3)
    X = 1.0 * rng.poisson(np.where(np.arange(12)[None, :] % 2 == np.arange(60)[:, None] % 2, 2.0, 0.1))
    rows = [(f"u{i:02d}", f"f{j:02d}", X[i, j]) for i in range(60) for j in range(12) if X[i, j]]
    table = pd.DataFrame(rows, columns=["user", "item", "plays"])
    new = (table["user"] >= "u50") & (table["item"] != "f03")
    table[table["user"] < "u50"].to_csv(tmp_path / "old.csv", index=False)
    table[new].to_csv(tmp_path / "new.csv", index=False)
    model, out = tmp_path / "m.rfx", tmp_path / "n.csv"
    run("embed", tmp_path / "old.csv", "-k", 2, "-o", tmp_path / "o.csv", "--save", model)
    said = run("embed", tmp_path / "new.csv", "--model", model, "-o", out, "--similar", 3)
    assert "1 of the 12 columns of the model is not in the data, and taken as 0." in said.err
    loaded = load_model(model)
    matrix = table[new].pivot_table("plays", "user", "item").reindex(columns=loaded._features).fillna(0)
    found = pd.read_csv(out).set_index("user").loc[matrix.index]
    np.testing.assert_allclose(found.to_numpy(), loaded.positions(matrix.to_numpy()), atol=1e-8)
    like = pd.read_csv(tmp_path / "n.similar-rows.csv")
    assert (like["user"].str[1:].astype(int) % 2 == like["neighbour"].str[1:].astype(int) % 2).mean() > 0.9


@pytest.mark.parametrize(
    ("option", "spelled"), [(("-k", 3), "-k"), (("--values", "log"), "--values"), (("--prior", "none"), "--prior")]
)
def test_options_of_a_fit_are_not_ignored_with_a_model(option, spelled, tastes, saved, run, tmp_path):
    said = run("embed", tmp_path / "old.csv", "--model", saved, "-o", tmp_path / "u.csv", *option, expect=2).err
    assert f"{spelled} is for finding dimensions, and --model has them. Leave one of them out." in " ".join(
        said.split()
    )
