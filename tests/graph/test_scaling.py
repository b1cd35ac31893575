"""Columns of points in different units are made comparable, and columns of one kind are left alone."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_digits, load_wine
from sklearn.decomposition import PCA
from sklearn.metrics import adjusted_rand_score

from rectifact import InputError, SymNMF, load_model, save_model
from rectifact.core.errors import FitWarning
from rectifact.graph.scaling import find_spreads, scaled_note
from rectifact.selection import select


@pytest.fixture
def customers() -> tuple[pd.DataFrame, np.ndarray]:
    """Three segments that are apart in small columns, and an income that tells two of them at most."""
    rng = np.random.default_rng(0)
    segment = rng.choice(3, 300)
    table = pd.DataFrame(
        {
            "age": np.array([30, 55, 42])[segment] + rng.normal(0, 3, 300),
            "income": np.array([30_000, 31_000, 90_000])[segment] + rng.normal(0, 5000, 300),
            "visits": np.array([12, 3, 6])[segment] + rng.normal(0, 1, 300),
        }
    )
    return table, segment


def test_a_column_of_large_numbers_does_not_decide_alone(customers):
    table, segment = customers
    with pytest.warns(FitWarning, match=r"'income' would decide alone: .* times that of 'visits'.*scale='none'"):
        model = SymNMF(3, random_state=0).fit(table)
    assert adjusted_rand_score(segment, model.labels_) > 0.95
    np.testing.assert_allclose(model.spreads_, table.std(ddof=0))
    by_hand = SymNMF(3, scale="none", random_state=0).fit(table / table.std(ddof=0))
    assert (by_hand.labels_ == model.labels_).all()
    raw = SymNMF(3, scale="none", random_state=0).fit(table)
    assert adjusted_rand_score(segment, raw.labels_) < 0.8
    assert not hasattr(raw, "spreads_")
    with pytest.warns(FitWarning, match="decide alone"):
        assert select(SymNMF(1), table, random_state=0).best == 3


def test_new_points_are_divided_too(customers, tmp_path):
    table, _ = customers
    with warnings.catch_warnings(action="error"):  # nothing to say where it was asked for
        model = SymNMF(3, scale="standard", random_state=0).fit(table)
    assert (model.predict(table) == model.labels_).mean() > 0.98
    save_model(model, tmp_path / "m.rfx")
    assert (load_model(tmp_path / "m.rfx").predict(table) == model.predict(table)).all()
    model.set_params(scale="none").fit(table)
    assert not hasattr(model, "spreads_")


def test_wine_is_told_apart_by_all_of_its_columns():
    X, y = load_wine(return_X_y=True)
    with pytest.warns(FitWarning, match="column 13 would decide alone"):
        found = adjusted_rand_score(y, SymNMF(3, random_state=0).fit(X).labels_)
    assert found > 0.8 > 0.5 > adjusted_rand_score(y, SymNMF(3, scale="none", random_state=0).fit(X).labels_)


def test_columns_of_one_kind_are_left_alone():
    rng = np.random.default_rng(0)
    X = load_digits().data
    alike = rng.normal(5, [1, 2, 9], size=(50, 3))
    indicators = (rng.random((500, 3)) < [0.5, 0.02, 0.001]).astype(float)
    constant = np.column_stack([alike, np.full(50, 3.3)])
    for points in (X, PCA(30).fit_transform(X * np.geomspace(1, 40, 64)), alike, indicators, constant, alike[:, :1]):
        assert find_spreads(points, "auto", "euclidean") is None
    assert find_spreads(alike * [1, 1, 100], "auto", "cosine") is None
    assert find_spreads(constant, "standard", "euclidean")[3] == 1.0
    assert "times that of column 1" in scaled_note(np.array([2.0, 50.0, 1.0]), None).what
    with pytest.raises(InputError, match="scale='standard' is for dense points"):
        SymNMF(2, scale="standard", metric="cosine").fit(alike)


def test_points_of_torch_are_divided_there(customers):
    torch = pytest.importorskip("torch")
    table, _ = customers
    model = SymNMF(3, scale="standard", random_state=0).fit(torch.asarray(np.array(table)))
    host = SymNMF(3, scale="standard", random_state=0).fit(table.to_numpy())
    assert adjusted_rand_score(np.asarray(model.labels_), host.labels_) == 1.0
    assert (np.asarray(model.predict(model.points_ * torch.asarray(model.spreads_))) == host.labels_).mean() > 0.98


def test_the_command_says_it_and_undoes_it(run, customers, tmp_path):
    table, segment = customers
    table.to_csv(tmp_path / "t.csv", index=False)
    said = run("cluster", tmp_path / "t.csv", "-o", tmp_path / "o.csv").err
    assert said.count("decide alone") == 1
    assert "'income' would decide alone" in said
    assert "to keep them as they are: --scale none." in said
    assert adjusted_rand_score(segment, pd.read_csv(tmp_path / "o.csv")["cluster"]) > 0.95
    assert "alone" not in run("cluster", tmp_path / "t.csv", "-k", 3, "--scale", "none", "-o", tmp_path / "o.csv").err
    edges = tmp_path / "e.csv"
    edges.write_text("source,target\na,b\nb,c\n")
    assert "--scale are for points" in run("cluster", edges, "--scale", "standard", expect=2).err
