"""Recommendations and similar rows and columns, against dense forms."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

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


@pytest.mark.parametrize("axis", ["rows", "columns"])
def test_similar_is_the_cosine(frame, axis, tmp_path):
    model = NMD(2, prior="factors").fit(frame)
    A = model.embedding_ - model.embedding_.mean(axis=0)
    vectors = A if axis == "rows" else (A @ model.components_).T
    units = vectors / np.linalg.norm(vectors, axis=1)[:, None]
    names = frame.index if axis == "rows" else frame.columns
    wanted = pd.Series(units @ units[3], names).drop(names[3]).sort_values(ascending=False)[:5]
    save_model(model, tmp_path / "model.rfx")
    for each in (model, load_model(tmp_path / "model.rfx")):
        found = each.similar(names[3], 5, axis=axis)
        assert found["neighbour"].tolist() == wanted.index.tolist()
        assert_allclose(found["similarity"], wanted, atol=1e-9)
    assert len(model.similar(list(names[:2]), 1000, axis=axis)) == 2 * (len(names) - 1)


def test_mistakes_get_a_sentence(frame):
    model = NMD(2).fit(frame)
    with pytest.raises(InputError, match=r"'nobody' is not the name of a row. Give names such as 'user 0'"):
        model.similar("nobody", axis="rows")
    with pytest.raises(InputError, match="n=0 must be a whole number"):
        model.recommend(frame, 0)
    with pytest.raises(InputError, match="axis='rowz' is unknown"):
        model.similar("item 1", axis="rowz")
