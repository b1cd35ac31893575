"""Recommendations and similar rows and columns, against dense forms."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.datasets import load_digits
from sklearn.decomposition import TruncatedSVD
from sklearn.neighbors import NearestNeighbors

from rectifact import NMD, InputError, LogisticPCA, load_model, save_model

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    theta = rng.standard_normal((60, 2)) @ rng.standard_normal((2, 12)) - 0.5
    index, columns = [f"user {i}" for i in range(60)], [f"item {j}" for j in range(12)]
    return pd.DataFrame(1.0 * (theta + 0.5 * rng.standard_normal(theta.shape) > 0), index=index, columns=columns)


@pytest.mark.parametrize("model", [NMD(2, prior="factors"), LogisticPCA(2)])
def test_recommendations_are_the_best_unseen(frame, model, monkeypatch):
    monkeypatch.setattr("rectifact.latent.neighbours.TILE", 12 * 7)  # seven rows at a time
    model.fit(frame)
    found = model.recommend(frame, 3)
    P = pd.DataFrame(model.inverse_transform(model.transform(frame)), frame.index, frame.columns)
    for user in frame.index:
        unseen = P.loc[user][frame.loc[user] == 0].sort_values(ascending=False)[:3]
        mine = found[found["sample"] == user]
        assert mine["feature"].tolist() == unseen.index.tolist()
        assert mine["rank"].tolist() == list(range(1, len(unseen) + 1))
        assert_allclose(mine["score"], unseen)


def test_names_are_numbers_where_there_are_none(frame):
    X = sp.csr_array(frame.to_numpy())
    model = NMD(2).fit(X)
    found = model.recommend(X[:2], 2)
    assert found["sample"].tolist() == [0, 0, 1, 1]
    assert X[[0, 0, 1, 1], found["feature"].to_numpy(dtype=int)].sum() == 0
    named = model.recommend(X[:1], 1, samples=["me"], features=frame.columns)
    assert named.iloc[0, [0, 2]].tolist() == ["me", frame.columns[found["feature"][0]]]


def test_a_full_row_gets_nothing(frame):
    model = NMD(2).fit(frame)
    full = frame.iloc[:2].copy()
    full.iloc[0] = 1.0
    assert set(model.recommend(full, 50)["sample"]) == {"user 1"}


@pytest.mark.parametrize("given", [False, True])
@pytest.mark.parametrize("axis", ["rows", "columns"])
def test_similar_is_the_cosine(frame, axis, given, tmp_path):
    model = NMD(2, prior="factors").fit(frame)
    P = model.inverse_transform(model.embedding_)
    vectors = ((P + frame.to_numpy()) / 2 if given and axis == "rows" else P) - P.mean(axis=0)
    vectors = vectors if axis == "rows" else vectors.T
    units = vectors / np.linalg.norm(vectors, axis=1)[:, None]
    if axis == "columns":
        share = P.var(axis=0) / (P.var(axis=0) + (P * (1 - P)).mean(axis=0))
        units *= np.sqrt(share / (share + 10 * 2 / 60))[:, None]
    names = frame.index if axis == "rows" else frame.columns
    cosines = pd.Series(units @ units[3], names)
    wanted = cosines.drop(names[3]).sort_values(ascending=False)[:5]
    save_model(model, tmp_path / "model.rfx")
    for each in (model, load_model(tmp_path / "model.rfx")):
        found = each.similar(names[3], 5, axis=axis, X=frame if given else None)
        assert_allclose(found["similarity"], wanted, atol=1e-9)
        assert_allclose(cosines[found["neighbour"]], wanted, atol=1e-9)  # rows that are equal come in any order
    assert len(model.similar(list(names[:2]), 1000, axis=axis)) == 2 * (len(names) - 1)


@pytest.mark.parametrize("estimator", [NMD(3, missing=np.nan), LogisticPCA(3, missing=np.nan)], ids=repr)
def test_positions_lie_halfway_to_the_prediction(frame, estimator, tmp_path, monkeypatch):
    holes = frame.where(np.random.default_rng(1).random(frame.shape) > 0.1)
    model = estimator.fit(holes)
    P = model.inverse_transform(model.embedding_)
    M = (P + holes.fillna(pd.DataFrame(P, frame.index, frame.columns)).to_numpy()) / 2 - P.mean(axis=0)
    axes = np.linalg.svd(P - P.mean(axis=0), full_matrices=False)[2]
    found = model.positions(holes)
    assert_allclose(np.abs(found), np.abs(M @ axes[:3].T), atol=1e-4)
    assert_allclose(model.positions(holes.iloc[4:7]), found[4:7], atol=1e-4)
    distances = [np.linalg.norm(A[:, None] - A, axis=2) for A in (M, model.positions(holes, 1000))]
    assert_allclose(*distances, atol=1e-4)
    save_model(model, tmp_path / "model.rfx")
    assert_allclose(load_model(tmp_path / "model.rfx").positions(holes), found, atol=1e-4)
    whole = model.positions(holes, 1000)
    monkeypatch.setattr("rectifact.latent.neighbours.TILE", 12 * 7)  # seven rows at a time
    assert_allclose(model.positions(holes, 1000), whole, atol=1e-9)


def test_positions_have_the_units_of_the_data(frame):
    X = frame.to_numpy() * np.random.default_rng(0).random(frame.shape)
    small, large = (NMD(3, random_state=0).fit(scale * X).positions(scale * X) for scale in (1.0, 100.0))
    assert_allclose(large, 100 * small, rtol=1e-4, atol=1e-3)


def test_neighbours_of_digits_are_as_good_as_those_of_truncated_svd():
    X, y = load_digits(return_X_y=True)
    X, y = X[:600], y[:600]
    model = NMD(10, max_iter=100, random_state=0).fit(X)
    svd = TruncatedSVD(10, random_state=0).fit_transform(X)

    def alike(A):
        near = NearestNeighbors(n_neighbors=10).fit(A).kneighbors(return_distance=False)
        return (y[near] == y[:, None]).mean()

    found = model.similar(np.arange(600), 10, axis="rows", X=X)
    assert (y[found["item"]] == y[found["neighbour"]]).mean() > alike(svd)
    assert alike(model.positions(X)) > alike(svd) - 0.005
    assert alike(model.embedding_) < alike(svd) - 0.05


def test_the_noise_of_a_relu_has_its_variance(rng):
    X = np.maximum(rng.standard_normal((80, 2)) @ rng.standard_normal((2, 9)) + 0.5 * rng.standard_normal((80, 9)), 0)
    model = NMD(2, random_state=0, max_iter=50).fit(X)
    theta = (model.embedding_ @ model.components_)[:5]
    drawn = np.maximum(theta + model.scale_ * rng.standard_normal((200_000, *theta.shape)), 0)
    assert_allclose(model._noise(model.embedding_[:5]), drawn.var(axis=0), atol=0.02 * model.scale_**2)


@pytest.mark.parametrize("estimator", [NMD(4, random_state=0), LogisticPCA(4, max_iter=60)], ids=repr)
def test_columns_of_noise_are_like_no_other(estimator):
    """Four kinds of samples with twelve columns each, and fifteen columns of noise: partners stay on top."""
    rng = np.random.default_rng(2)
    kind, of = rng.choice(4, 450, p=[0.35, 0.3, 0.25, 0.1]), np.r_[np.repeat(np.arange(4), 12), np.full(15, -1)]
    share = np.where(of == kind[:, None], 0.45, np.where(of < 0, 0.15, 0.05)) * rng.uniform(0.5, 1.4, 63)
    model = estimator.fit(1.0 * (rng.random(share.shape) < share))
    found = model.similar(np.arange(63), 3)
    noise = of[found["item"]] < 0
    assert (of[found["item"]] == of[found["neighbour"]])[~noise].mean() > 0.95
    assert found["similarity"][noise].median() < 0.3 < 0.5 < found["similarity"][~noise].median()


def test_mistakes_get_a_sentence(frame):
    model = NMD(2).fit(frame)
    with pytest.raises(InputError, match=r"'user 3' is not the name of a column. .* name of a row: add axis='rows'"):
        model.similar("user 3")
    with pytest.raises(InputError, match=r"Did you mean 'item 1' or .*\?"):
        model.similar("itm 1")
    with pytest.raises(InputError, match=r"'nobody' is not the name of a row. Give names such as 'user 0'"):
        model.similar("nobody", axis="rows")
    with pytest.raises(InputError, match="n=0 must be a whole number"):
        model.recommend(frame, 0)
    with pytest.raises(InputError, match="axis='rowz' is unknown"):
        model.similar("item 1", axis="rowz")
    with pytest.raises(InputError, match="X has 2 rows, but the model was fitted to"):
        model.similar("user 1", axis="rows", X=frame.iloc[:2])
    with pytest.raises(InputError, match="n_axes=0 must be a whole number"):
        model.positions(frame, 0)


@pytest.mark.parametrize("estimator", [NMD(1), LogisticPCA(1)], ids=repr)
def test_triples_are_refused_with_a_remedy_that_works(estimator):
    X = pd.DataFrame({"user": ["a", "a", "b", "c"], "item": ["x", "y", "y", "z"], "rating": [1, 1, 1, 1]})
    for table in (X, X[["user", "item"]], X.assign(user=[1, 1, 2, 3], item=[4, 5, 5, 6])):
        with pytest.raises(InputError, match="one row for each pair") as error:
            estimator.fit(table)
        advice = error.value.remedy.removeprefix("Use ").removesuffix(".")
        matrix = eval(advice, {"X": table, "pandas": pd})
        assert matrix.shape == (3, 3)
        estimator.fit(matrix)
    with pytest.raises(InputError, match=r"with missing=np\.nan: a rating that is not listed is unknown"):
        estimator.fit(X.assign(rating=[2, 5, 4, 4]))
    orders = pd.DataFrame({"who": list("aabbcc") * 2, "what": list("xyyzzx") * 2, "order date": list("dfghjk") * 2})
    orders = orders.assign(qty=1, shop=list("NS") * 6)
    with pytest.raises(InputError, match=r"X.pivot_table\('qty', 'who', 'what', 'sum'\)"):
        estimator.fit(orders)
    estimator.fit(X.assign(user=[1, 0, 0, 1], item=[1, 1, 0, 1]).set_axis(["a", "b", "c"], axis=1))


def test_a_day_is_not_what_was_bought(rng):
    """Triples are found as on the command line: not by the column with most different values."""
    n = 200
    days = pd.to_datetime("2024-01-01") + pd.to_timedelta(rng.integers(40, size=n), unit="D")
    bought = pd.DataFrame({"Kunde": [f"k{i:02d}" for i in rng.integers(30, size=n)], "Kauf": days})
    bought = bought.assign(Ware=[f"w{j}" for j in rng.integers(8, size=n)], Menge=rng.poisson(0.6, size=n) + 1)
    for table in (
        bought,
        bought.assign(Kauf=days.strftime("%d.%m.%Y")),
        bought.assign(Kauf=(days - pd.Timestamp(0)) // pd.Timedelta("1s")),
    ):
        with pytest.raises(InputError, match=r"X.pivot_table\('Menge', 'Kunde', 'Ware', 'sum'\).fillna\(0\)"):
            NMD(1).fit(table)


def test_numbers_that_may_be_pairs_are_asked_about(rng):
    rated = pd.DataFrame(
        [(i, j, 1 + (i * j) % 5) for i in range(20) for j in range(12) if (i + j) % 3], columns=[*"abr"]
    )
    with pytest.raises(InputError, match=r"may have one row for each pair.*use X\.to_numpy\(\)"):
        NMD(1).fit(rated)
    NMD(1, max_iter=2).fit(rated.to_numpy())
    NMD(1, max_iter=2).fit(rated.pivot_table("r", "a", "b").fillna(0))


def test_polars_is_sent_to_pandas():
    polars = pytest.importorskip("polars")
    table = polars.DataFrame({"user": list("aabc"), "item": list("xyyz"), "plays": [1, 2, 3, 4]})
    with pytest.raises(InputError, match=r"X.to_pandas\(\).pivot_table\('plays', 'user', 'item', 'sum'\)"):
        NMD(1).fit(table)


def test_paths_and_columns_of_names_are_refused_with_a_remedy():
    with pytest.raises(InputError, match=r"'plays.csv' of a file.*pandas.read_csv"):
        NMD(1).fit("plays.csv")
    with pytest.raises(InputError, match=r"X.set_index\('cell'\)"):
        NMD(1).fit(pd.DataFrame({"cell": ["a", "b"], "gene 1": [1.0, 0.0], "gene 2": 1.0, "gene 3": 0.0}))
    model = NMD(1, max_iter=2).fit(np.eye(4))
    with pytest.raises(InputError, match="numbers from 0 to 3"):
        model.similar("x", axis="rows")
