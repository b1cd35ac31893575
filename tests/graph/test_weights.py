"""Weights of which a few hold most: it is said, nothing is sure then, and logarithms find the communities."""

import warnings

import networkx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.pairwise import rbf_kernel

from rectifact import InputError, SymNMF, load_model, save_model, similarity_graph
from rectifact.datasets import make_block_model
from rectifact.graph.weights import edges_of_half, few_hold_most, reweighted
from rectifact.selection import select

FINDING = "a few edges hold most of the weight"


def planted(draw, seed=5):
    """Five communities whose edges have weights that say nothing about them."""
    graph, rng = make_block_model(200, 5, degree=12, mixing=0.2, random_state=seed), np.random.default_rng(seed)
    edges = sp.coo_array(sp.triu(graph.adjacency, 1))
    half = sp.coo_array((draw(rng, len(edges.data)), edges.coords), shape=edges.shape)
    return sp.csr_array(half + half.T), graph.labels


def amounts(rng, n):
    return 1000 * rng.lognormal(0, 2.5, n)


def two_huge(rng, n):
    weights = 1.0 + rng.poisson(3, n)
    weights[:2] = 50_000
    return weights


@pytest.mark.parametrize("draw", [amounts, two_huge])
def test_a_few_heavy_edges_are_said_and_logarithms_see_past_them(draw):
    X, labels = planted(draw)
    with warnings.catch_warnings(action="ignore"):
        raw = select(SymNMF(1, affinity="precomputed"), X, random_state=0)
        log = select(SymNMF(1, affinity="precomputed", values="log"), X, random_state=0)
    assert not raw.sure
    assert "A few edges hold half of the weight" in raw.reason
    row = raw.estimator.diagnose().iloc[0]
    assert (row["severity"], row["finding"]) == ("warning", FINDING)
    assert row["remedy"] == (
        "Compare with logarithms of the weights: values='log', and with edges without weights: values='binary'."
    )
    assert log.best == 5
    assert adjusted_rand_score(labels, log.estimator.labels_) > 0.85
    assert "weight" not in log.reason
    assert FINDING not in log.estimator.diagnose()["finding"].tolist()


def test_the_measure_by_hand():
    X, _ = planted(amounts)
    weights = np.sort(sp.triu(X).tocoo().data)[::-1]
    few = next(i for i in range(1, len(weights)) if weights[:i].sum() >= weights.sum() / 2)
    row = SymNMF(5, affinity="precomputed").fit(X).diagnose().iloc[0]
    assert row["detail"].startswith(f"{few} of {len(weights)} edges ({few / len(weights):.1%}) hold half of the weight")


@pytest.mark.parametrize(
    "graph",
    [
        networkx.to_scipy_sparse_array(networkx.les_miserables_graph()),
        networkx.to_scipy_sparse_array(networkx.karate_club_graph()),
        planted(lambda rng, n: 1 + rng.poisson(3, n))[0],
        planted(lambda rng, n: rng.lognormal(0, 0.5, n))[0],
        similarity_graph(np.random.default_rng(0).standard_normal((300, 4))),
        rbf_kernel(np.random.default_rng(0).standard_normal((100, 2)), gamma=3.0),  # similarities of all pairs
    ],
)
def test_usual_weights_are_left_alone(graph):
    assert not few_hold_most(sp.csr_array(graph))


def dense(sigma, seed=0, n=60):
    """Amounts between most of all pairs, in four blocks of larger ones."""
    rng, groups = np.random.default_rng(seed), np.arange(n) % 4
    larger = np.where(groups[:, None] == groups, np.e**2, 1.0)
    half = np.triu(rng.lognormal(8, sigma, (n, n)) * larger, 1) * (rng.random((n, n)) < 0.8)
    return sp.csr_array(half + half.T), groups


@pytest.mark.filterwarnings("ignore")
def test_a_few_heavy_edges_are_said_where_most_nodes_are_joined():
    X, groups = dense(1.5, n=100)
    raw, log = (
        select(SymNMF(1, affinity="precomputed", values=values), X, random_state=0) for values in ("raw", "log")
    )
    assert not raw.sure
    assert "A few edges hold half of the weight" in raw.reason
    assert raw.estimator.diagnose()["finding"][0] == FINDING
    remedy = raw.estimator.diagnose()["remedy"][0]  # edges without weights say nothing here
    assert remedy == "Compare with logarithms of the weights: values='log'."
    truth = adjusted_rand_score(groups, log.estimator.labels_)
    assert truth > adjusted_rand_score(groups, raw.estimator.labels_) + 0.2


@pytest.mark.parametrize("seed", range(3))
def test_dense_graphs_bear_more_heavy_edges(seed):
    X, groups = dense(0.8, seed)
    few, m = edges_of_half(X)
    assert 1 / 16 < few / m < 1 / 8
    assert not few_hold_most(X)
    labels = SymNMF(4, affinity="precomputed", random_state=0).fit(X).labels_
    assert adjusted_rand_score(groups, labels) > 0.85


def test_new_nodes_and_saved_models_take_the_same_logarithms(tmp_path):
    X, labels = planted(amounts)
    model = SymNMF(5, affinity="precomputed", values="log", random_state=0).fit(X)
    again = SymNMF(5, affinity="precomputed", random_state=0).fit(reweighted(X, "log")[0])
    assert_array_equal(model.labels_, again.labels_)
    assert_allclose(model.predict_membership(X[:9]), again.predict_membership(reweighted(X, "log")[0][:9]))
    cents = SymNMF(5, affinity="precomputed", values="log", random_state=0).fit(100 * X)
    assert_allclose(cents.membership_, model.membership_, atol=1e-6)
    save_model(model, tmp_path / "m.rfx")
    assert_allclose(load_model(tmp_path / "m.rfx").predict_membership(X[:9]), model.predict_membership(X[:9]))
    bare = SymNMF(5, affinity="precomputed", values="binary", random_state=0).fit(X)
    assert adjusted_rand_score(labels, bare.labels_) > 0.9


def test_points_have_no_weights_to_transform():
    with pytest.raises(InputError, match="values='log' is for weights of edges, and X holds points"):
        SymNMF(2, values="log").fit(np.random.default_rng(0).random((30, 2)))


def test_the_command_line_says_it_and_takes_logarithms(run, tmp_path):
    X, labels = planted(amounts)
    edges = sp.coo_array(sp.triu(X, 1))
    names = [[f"n{i}" for i in end] for end in edges.coords]
    table = pd.DataFrame({"payer": names[0], "payee": names[1], "EUR": edges.data})
    table.to_csv(tmp_path / "eur.csv", index=False)

    given = ("cluster", "--graph", tmp_path / "eur.csv", "-o", tmp_path / "c.csv")
    said = run(*given, "-k", 5, "--json")
    assert f"warning: {FINDING}. " in said.err
    assert "logarithms of the weights: --values log, and with edges without weights: --values binary." in said.err
    assert FINDING in said.out
    assert FINDING not in run(*given, "--values", "log").err
    found = pd.read_csv(tmp_path / "c.csv").set_index("node")["cluster"]
    assert found.nunique() == 5
    assert adjusted_rand_score(labels[[int(name[1:]) for name in found.index]], found) > 0.85


def test_the_command_names_the_unit_of_logarithms(tmp_path, run):
    pairs = [(f"n{i}", f"n{j}") for i in range(12) for j in range(i) if i // 6 == j // 6 or (i, j) == (6, 5)]
    table = pd.DataFrame(pairs, columns=["from", "to"]).assign(amount=np.geomspace(2, 2e6, len(pairs)))
    table.to_csv(tmp_path / "edges.csv", index=False)
    given = ("cluster", "--graph", tmp_path / "edges.csv", "-k", 2, "-o", tmp_path / "o.csv")
    unit = f"{np.percentile(table['amount'], 10):.4g}"
    assert f"log(1 + weight / {unit})" in run(*given, "--values", "log").err
    assert "log(1 +" not in run(*given, "--values", "binary").err
