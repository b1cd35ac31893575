"""New nodes by name: frames in any order of columns, tables of edges, and models that the command line saved."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from rectifact import InputError, SymNMF, load_model, save_model
from rectifact.core.errors import FitWarning
from rectifact.datasets import make_block_model
from rectifact.graph.new_nodes import find_new_nodes

N_OLD = 140


@pytest.fixture(scope="module")
def people():
    """Edges among people, as a table, and those of the last twenty to the others."""
    blocks = make_block_model(160, 3, degree=16, mixing=0.1, random_state=3)
    upper = np.triu(blocks.adjacency.toarray(), 1)
    source, target = np.nonzero(upper)
    edges = pd.DataFrame({"a": [f"p{i:03d}" for i in source], "b": [f"p{i:03d}" for i in target]})
    edges["n"] = 1.0 + np.arange(len(edges)) % 4
    edges = edges.sample(frac=1, random_state=1).reset_index(drop=True)
    new = (edges["b"].str[1:].astype(int) >= N_OLD).to_numpy() | (edges["a"].str[1:].astype(int) >= N_OLD).to_numpy()
    return edges[~new], edges[new], blocks.labels


@pytest.fixture(scope="module")
def model(people):
    return SymNMF(3, random_state=0).fit(people[0])


def rows_of(edges, names):
    """An independent slow form: the matrix of weights between new and old nodes, cell by cell."""
    new = [f"p{i:03d}" for i in range(N_OLD, 160)]
    table = pd.DataFrame(0.0, index=new, columns=list(names))
    for a, b, n in edges.itertuples(index=False):
        for one, other in ((a, b), (b, a)):
            if one in table.index and other in table.columns:
                table.loc[one, other] += n
    return table


def test_columns_of_a_frame_are_aligned_by_name(people, model):
    rows = rows_of(people[1], model.nodes_)
    expected = model.predict(rows.to_numpy())
    assert_array_equal(model.predict(rows), expected)
    assert_array_equal(model.predict(rows[rows.columns[::-1]]), expected)
    assert_array_equal(model.predict(rows.set_axis(range(N_OLD), axis=1)), expected)
    with pytest.raises(InputError, match=r"'p\d+' is not among them"):
        model.predict(rows.rename(columns={model.nodes_[0]: "somebody"}))


def test_a_model_of_a_frame_of_weights_takes_columns_in_any_order(people, model, recwarn):
    square = pd.DataFrame(0.0, index=list(model.nodes_), columns=list(model.nodes_))
    for a, b, n in people[0].itertuples(index=False):
        square.loc[a, b] += n
        square.loc[b, a] += n
    fitted = SymNMF(3, affinity="precomputed", random_state=0).fit(square)
    new = rows_of(people[1], model.nodes_)
    assert_array_equal(fitted.predict(new[new.columns[::-1]]), fitted.predict(new))
    assert_array_equal(fitted.predict(people[1])[np.argsort(fitted.result(people[1])["node"])], fitted.predict(new))
    assert not [w for w in recwarn if "feature names" in str(w.message)]


def test_new_nodes_from_a_table_of_edges(people, model):
    with pytest.warns(FitWarning, match="join two nodes that the fit does not know"):
        found = model.result(people[1])
    rows = rows_of(people[1], model.nodes_)
    found = found.set_index("node").loc[rows.index]
    assert_array_equal(found["cluster"], model.predict(rows.to_numpy()))
    assert_allclose(found["membership"], model.predict_membership(rows.to_numpy()).max(axis=1))
    assert_array_equal(found["neighbours"], (rows.to_numpy() > 0).sum(axis=1))
    true = people[2]
    own = [np.bincount(true[[int(name[1:]) for name in group]]).argmax() for group in model.communities(1.0)]
    assert np.mean(np.array(own)[found["cluster"]] == true[N_OLD:]) > 0.9


def test_three_edges_in_three_columns_are_no_matrix(people, model):
    few = people[1].iloc[:3]
    assert len(model.predict(few)) >= 1


def test_nothing_new_and_nothing_known(people, model):
    with pytest.raises(InputError, match="there is none to place"):
        model.predict(people[0])
    with pytest.raises(InputError, match="is a node of the fit, such as 'x'"):
        model.predict(pd.DataFrame({"source": ["x"], "target": ["y"]}))


def test_numbers_are_found_as_text():
    found = find_new_nodes(np.array([[0.0, 2.0], [2.0, 0.0]]), ["7", "x"], [7, 8])
    assert found.names == ["x"]
    assert found.rows.toarray().tolist() == [[2.0, 0.0]]


def test_nodes_have_one_order(people, model):
    """Tables of edges give nodes in the order in which they are named, in Python as on the command line."""
    order = list(dict.fromkeys(people[0][["a", "b"]].to_numpy().ravel()))
    assert list(model.nodes_) == order


def test_names_that_were_saved_with_a_model_are_its_nodes(people, tmp_path):
    edges = people[0]
    names = list(dict.fromkeys(edges[["a", "b"]].to_numpy().ravel()))
    square = np.zeros((len(names), len(names)))
    place = {name: i for i, name in enumerate(names)}
    for a, b, n in edges.itertuples(index=False):
        square[place[a], place[b]] += n
        square[place[b], place[a]] += n
    fitted = SymNMF(3, affinity="precomputed", random_state=0).fit(square)
    save_model(fitted, tmp_path / "m.rfx", samples=np.asarray(names))
    again = load_model(tmp_path / "m.rfx")
    assert list(again.nodes_) == names == again.result()["node"].tolist()
    assert {name for group in again.communities() for name in group} == set(names)
    save_model(fitted, tmp_path / "m.rfx", samples=[str(i + 1) for i in range(len(names))])
    assert_array_equal(load_model(tmp_path / "m.rfx").nodes_, np.arange(len(names)))  # they only count


def test_columns_that_were_saved_with_points(tmp_path, rng):
    points = np.vstack([rng.normal(c, 0.3, (40, 3)) for c in ([0, 0, 9], [9, 0, 0], [0, 9, 0])])
    fitted = SymNMF(3, random_state=0).fit(points)
    ids = [f"c{i}" for i in range(120)]
    save_model(fitted, tmp_path / "p.rfx", samples=ids, features=np.array(["x", "y", "z"]))
    again = load_model(tmp_path / "p.rfx")
    assert list(again.nodes_) == ids
    frame = pd.DataFrame(points, columns=["x", "y", "z"])
    assert_array_equal(again.predict(frame[["z", "x", "y"]]), again.predict(points))


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_distances_of_new_points_are_those_to_the_seventh_neighbour(metric):
    rng = np.random.default_rng(0)
    points = np.vstack([rng.normal(centre, 1, (40, 3)) for centre in ([9, 0, 1], [0, 9, 1])])
    old, new = points[::2], np.vstack([points[1:8:2], [[90.0, 90, -400]]])
    model = SymNMF(2, metric=metric, scale="none").fit(old)
    found = model.result(new)
    unit = (lambda X: X / np.linalg.norm(X, axis=1, keepdims=True)) if metric == "cosine" else (lambda X: X)
    within = np.linalg.norm(unit(old)[:, None] - unit(old), axis=2)
    usual = [np.quantile(np.sort(within, axis=1)[model.labels_ == k, 7], 0.95) for k in (0, 1)]
    usual.append(np.quantile(np.sort(within, axis=1)[:, 7], 0.95))  # for a point in no cluster
    there = np.sort(np.linalg.norm(unit(new)[:, None] - unit(old), axis=2), axis=1)[:, 6]
    assert_allclose(found["distance"], there / np.array(usual)[found["cluster"]])
    assert (found["distance"] > 2).tolist() == [False] * 4 + [True]
