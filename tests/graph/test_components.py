"""Graphs in several pieces, normalised or not: nodes get a cluster, or it is said that they do not."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse.csgraph import connected_components
from sklearn.metrics import adjusted_rand_score

from rectifact import SymNMF, SymNMFNet, similarity_graph
from rectifact.core.errors import FitWarning
from rectifact.datasets import make_block_model
from rectifact.graph import from_edges, normalized
from rectifact.graph.components import find_components
from rectifact.graph.normalisation import is_normalized, normalize
from rectifact.graph.similarities import Similarities
from rectifact.graph.spectral import filtered_eigenvectors, spectral_start
from rectifact.metrics import cluster_accuracy, nmi
from rectifact.selection import select

CLIQUE = np.ones((6, 6)) - np.eye(6)
PATH = np.diag(np.ones(3), 1) + np.diag(np.ones(3), -1)


def union(*graphs):
    return sp.csr_array(sp.block_diag([sp.csr_array(graph) for graph in graphs]))


@pytest.fixture(scope="module")
def blocks():
    return make_block_model(180, 3, degree=20, mixing=0.1)


def fitted(X, n_clusters, message, **options):
    with pytest.warns(FitWarning, match=message):
        return SymNMF(n_clusters, affinity="precomputed", **options).fit(X)


@pytest.mark.parametrize("solver", ["newton", "hals", "anls", "pgd", "admm"])
@pytest.mark.parametrize("normalize", [True, False])
def test_more_components_than_clusters(solver, normalize):
    message = "12 of 30 nodes have the label -1, in no cluster: 12 in 2 connected components of 6 nodes. "
    message += "Raise n_clusters to 5"
    model = fitted(union(*[CLIQUE] * 5), 3, message, solver=solver, normalize=normalize)
    assert_array_equal(model.labels_, np.repeat([0, 1, 2, -1, -1], 6))
    assert_array_equal(model.membership_.sum(axis=1), np.repeat([1, 1, 1, 0, 0], 6))
    assert_array_equal(np.bincount(model.component_labels_), [6] * 5)


@pytest.mark.parametrize("init", ["auto", "random", "pool"])
@pytest.mark.parametrize("connected", [True, False])
def test_small_components_are_left_out_and_said(blocks, connected, init):
    dense = blocks.adjacency.toarray() * (connected | (blocks.labels[:, None] == blocks.labels))
    options = {"init": init, "n_init": 3, "random_state": 0}
    model = fitted(
        union(dense, *[PATH] * 40), 3, "160 in 40 connected components of 4 nodes. Nothing has to be done", **options
    )
    assert cluster_accuracy(blocks.labels, model.labels_[:180]) > 0.99
    assert_array_equal(model.labels_[180:], -1)
    assert model.resolved_["n_components"] == (1 if connected else 3)
    model = fitted(union(dense, np.zeros((7, 7))), 3, "7 without edges to others")
    assert cluster_accuracy(blocks.labels, model.labels_[:180]) > 0.99
    assert_array_equal(model.labels_[180:], -1)


def test_a_component_may_be_small_if_you_say_so(blocks):
    model = SymNMF(4, affinity="precomputed", min_component=4).fit(union(blocks.adjacency, PATH))
    assert_array_equal(model.labels_[180:], model.labels_[180])
    assert cluster_accuracy(np.append(blocks.labels, [3] * 4), model.labels_) > 0.99


def test_the_remedy_for_small_components_gives_each_a_cluster_and_leaves_the_others(blocks):
    X = union(blocks.adjacency, PATH, np.ones((2, 2)), np.eye(3))
    own = fitted(X, 3, r"3 without edges to others, and 6 in 2 connected components of at most 4 nodes\. Nothing has")
    (row,) = own.diagnose().itertuples()
    assert (row.severity, row.finding) == ("note", "9 nodes in no cluster")
    assert row.remedy.endswith("To give each of the components a cluster of its own: min_component=2, n_clusters=5.")
    model = fitted(X, 5, "3 without edges to others", min_component=2)
    assert_array_equal(model.labels_[:180], own.labels_[:180])
    assert_array_equal(model.labels_[180:], [3] * 4 + [4] * 2 + [-1] * 3)
    remedy = model.diagnose()["remedy"].tolist()
    assert remedy[0] == "Nothing has to be done: a node without edges belongs to no community."
    assert remedy[1:] == ["If they are not worth a cluster, count 3."]  # the small ones, which were asked for


def test_nodes_without_edges_never_take_a_cluster(blocks):
    model = fitted(union(blocks.adjacency, PATH, np.eye(3)), 4, "3 without edges to others", min_component=1)
    assert_array_equal(model.labels_[180:], [3] * 4 + [-1] * 3)
    assert cluster_accuracy(np.append(blocks.labels, [3] * 4), model.labels_[:184]) > 0.99


def test_clusters_are_shared_out_by_size(blocks):
    """A large component is not given up for many small ones, each of which would be large enough."""
    X = union(blocks.adjacency, *[np.ones((12, 12))] * 6)
    model = fitted(X, 3, "72 in 6 connected components of 12 nodes. Raise n_clusters to 7")
    assert cluster_accuracy(blocks.labels, model.labels_[:180]) > 0.99
    model = SymNMF(9, affinity="precomputed").fit(X)
    assert nmi(np.append(blocks.labels, np.repeat(np.arange(3, 9), 12)), model.labels_) > 0.98


def test_the_net_leaves_out_the_same_nodes(blocks):
    pytest.importorskip("torch")
    with pytest.warns(FitWarning, match="160 in 40 connected components"):
        model = SymNMFNet(3, affinity="precomputed", device="cpu").fit(union(blocks.adjacency, *[PATH] * 40))
    assert cluster_accuracy(blocks.labels, model.labels_[:180]) > 0.99
    assert_array_equal(model.labels_[180:], -1)


@pytest.mark.parametrize("form", ["dask", "torch", "sparse torch"])
def test_components_of_graphs_that_are_elsewhere(blocks, form):
    X = union(blocks.adjacency, *[PATH] * 40).toarray()
    if form == "dask":
        given = pytest.importorskip("dask.array").from_array(X, chunks=(70, -1))
    else:
        given = pytest.importorskip("torch").asarray(X)
        given = given.to_sparse_csr() if form.startswith("sparse") else given
    model = fitted(given, 3, "160 in 40 connected components")
    labels = np.asarray(model.labels_)
    assert cluster_accuracy(blocks.labels, labels[:180]) > 0.99
    assert_array_equal(labels[180:], -1)
    _, parts = connected_components(sp.csr_array(X), directed=False)
    assert len(np.unique(np.stack([parts, model.component_labels_]), axis=1).T) == 41
    expected = normalized(sp.csr_array(X)).toarray()
    found = model.affinity_matrix_
    found = found.compute() if form == "dask" else found.to_dense().numpy()
    assert_allclose(found, expected, atol=1e-12)


def test_is_normalized_is_the_eigenvalue(blocks, rng):
    points = similarity_graph(rng.random((300, 3)))
    for X in (
        blocks.adjacency,
        0.01 * blocks.adjacency,
        points,
        1.1 * points,
        0.9 * points,
        union(points, points),
        union(CLIQUE / 5),
    ):
        assert is_normalized(Similarities(X)) == (abs(np.linalg.eigvalsh(X.toarray()).max() - 1) < 1e-9)


def test_one_rule_of_normalisation(blocks):
    raw, divided = Similarities(blocks.adjacency), normalized(blocks.adjacency)
    for X, rule, expected, done in (
        (blocks.adjacency, "auto", divided, True),
        (divided, "auto", divided, False),
        (blocks.adjacency, False, blocks.adjacency, False),
    ):
        model = SymNMF(3, affinity="precomputed", normalize=rule).fit(X)
        assert model.resolved_["normalize"] is done
        assert_allclose(model.affinity_matrix_.toarray(), expected.toarray(), atol=1e-12)
        assert_allclose(model.degrees_, X.sum(axis=1))
    assert normalize(raw, True)[1]


def test_loops_directions_and_weights():
    """Edges both ways count twice, loops once, weights add up; a node with a loop only is alone."""
    edges = pd.DataFrame(
        {"source": list("abbbcdeef"), "target": list("bacccefdf"), "weight": [1, 2, 3, 4, 5, 6, 7, 8, 9]}
    )
    matrix, _ = from_edges(edges["source"], edges["target"], edges["weight"])
    expected = np.zeros((6, 6))
    expected[0, 1] = expected[1, 0] = 3
    expected[1, 2] = expected[2, 1] = 7
    expected[2, 2], expected[5, 5] = 5, 9
    expected[3, 4] = expected[4, 3] = 14
    expected[4, 5] = expected[5, 4] = 7
    assert_array_equal(matrix.toarray(), expected)
    assert matrix.indices.dtype == matrix.indptr.dtype == np.int32
    model = SymNMF(2, affinity="precomputed").fit(edges)
    assert_array_equal(model.labels_, [0, 0, 0, 1, 1, 1])
    alone = pd.DataFrame({"source": [*"abcdefg"], "target": [*"bcadefg"]})
    with pytest.warns(FitWarning, match="4 of 7 nodes have the label -1, in no cluster: 4 without edges to others"):
        model = SymNMF(1, affinity="precomputed").fit(alone)
    assert_array_equal(model.labels_, [0, 0, 0, -1, -1, -1, -1])


def test_directed_graphs_lose_their_direction():
    networkx = pytest.importorskip("networkx")
    graph = networkx.DiGraph([("a", "b"), ("b", "a"), ("b", "c")])
    with pytest.warns(FitWarning, match=r"The graph is directed, and directions are ignored\. Weights of both"):
        model = SymNMF(1).fit(graph)  # it is a graph whatever affinity says
    assert_array_equal(model.degrees_, [2, 3, 1])


def test_graphs_of_igraph():
    class Sequence(dict):
        def attributes(self):
            return list(self)

    class Lookalike:
        """The part of igraph.Graph that is used."""

        vs, es = Sequence(name=["x", "y", "z"]), Sequence(weight=[3.0, 1.0])

        def get_edgelist(self):
            return [(0, 1), (1, 2)]

        def vcount(self):
            return 3

    model = SymNMF(1).fit(Lookalike())
    assert model.nodes_ == ["x", "y", "z"]
    assert_array_equal(model.degrees_, [3, 4, 1])
    igraph = pytest.importorskip("igraph")
    graph = igraph.Graph.Full(4)
    assert_array_equal(SymNMF(1).fit(graph).nodes_, np.arange(4))


def test_filtered_eigenvectors():
    X = normalized(make_block_model(2000, 20, degree=24, mixing=0.2).adjacency)
    values, vectors = filtered_eigenvectors(Similarities(X), 20, np.random.default_rng(0))
    assert_allclose(values, np.linalg.eigvalsh(X.toarray())[::-1][:20], atol=1e-6)
    assert_allclose(vectors.T @ vectors, np.eye(20), atol=1e-10)
    assert np.linalg.norm(X @ vectors - vectors * values, axis=0).max() < 1e-3
    noise = normalized(make_block_model(2000, 1, degree=12).adjacency)  # no gap after the twentieth
    found = filtered_eigenvectors(Similarities(noise), 20, np.random.default_rng(0))
    assert found is None or abs(found[0] - np.linalg.eigvalsh(noise.toarray())[::-1][:20]).max() < 1e-4


def test_the_start_gives_each_component_its_share(blocks):
    X = Similarities(normalized(union(blocks.adjacency, CLIQUE, CLIQUE, np.ones((2, 2)))))
    parts = find_components(X, 5, 6)
    U, values = spectral_start(X, 5, parts)
    assert_array_equal(parts.sizes, [180, 6, 6, 2])
    assert [int((U[parts.of_node == i].max(axis=0) > 0).sum()) for i in range(4)] == [3, 1, 1, 0]
    assert_allclose(np.sort(values)[-3:], 1)


def test_random_starts_only_where_there_is_something_to_gain(blocks):
    easy = SymNMF(3, affinity="precomputed", random_state=0, n_init=2).fit(union(*[np.ones((9, 9))] * 3))
    assert list(easy.resolved_["errors"]) == ["spectral"]
    hard = make_block_model(300, 20, degree=8, mixing=0.7).adjacency
    model = SymNMF(20, affinity="precomputed", random_state=0, n_init=2).fit(hard)
    assert list(model.resolved_["errors"]) == ["spectral", "random 1", "random 2"]
    assert 1 - (1 - model.resolved_["errors"]["spectral"]) / (1 - model.eigenvalue_bound()) > 0.1


def cliques(*sizes):
    return union(*[np.ones((n, n)) - np.eye(n) for n in sizes])


def test_communities_beside_small_components_are_found():
    """The threshold for components is the same for all numbers: it had changed with them, and cut blocks to pieces."""
    big = make_block_model(90, 3, degree=9, mixing=0.1, random_state=0)
    graph = union(big.adjacency, cliques(2, 2, 2, 3, 3, 4, 4, 5, 6, 8, 9, 12))
    with pytest.warns(FitWarning, match="48 in 11 connected components of at most 9 nodes"):
        found = select(SymNMF(1, affinity="precomputed", random_state=0), graph)
    model = found.estimator
    assert found.best == 4
    assert adjusted_rand_score(big.labels, model.labels_[:90]) > 0.9
    assert_array_equal(model.labels_[-12:], 3)
    assert_array_equal(model.labels_[90:-12], -1)
    assert model.stability_[3] == 1
    assert (
        "1 of the 2 connected components of at least 12 nodes counts as one community. In the component of 90"
        in found.reason
    )


def test_each_of_many_small_components_is_a_community():
    found = select(SymNMF(1, affinity="precomputed"), cliques(*[6] * 12))
    assert (found.best, found.sure) == (12, True)
    assert_array_equal(np.bincount(found.estimator.labels_), [6] * 12)
    assert found.reason == "Each of the 12 connected components of at least 6 nodes counts as one community."


def joined(n, size):
    """Cliques in a row, each with one edge to the next."""
    graph = cliques(*[size] * n).toarray()
    for i in range(1, n):
        graph[i * size - 1, i * size] = graph[i * size, i * size - 1] = 1
    return graph


@pytest.mark.parametrize("rows", [(2, 2, 1, 1), (3, 1, 1, 1), (4, 1, 1), (5, 1), (4, 2, 1)])
def test_cliques_are_communities_however_they_are_joined(rows):
    """Two that were joined counted as one, and one on its own was left out beside many that were joined."""
    graph = union(*[joined(n, 6) for n in rows])
    found = select(SymNMF(1, affinity="precomputed", random_state=0), graph)
    assert found.best == sum(rows)
    assert_array_equal(np.bincount(found.estimator.labels_), [6] * sum(rows))


def test_small_components_that_do_not_divide_beyond_chance_stay_whole(monkeypatch):
    monkeypatch.setattr("rectifact.selection.components.MOST_DIVIDED", 1)  # no number has to be tried
    rng = np.random.default_rng(0)
    path = np.diag(np.ones(11), 1) + np.diag(np.ones(11), -1)
    random = np.triu(rng.random((12, 12)) < 0.5, 1).astype(float)
    graph = union(path, path, random + random.T, cliques(12), cliques(8))
    found = select(SymNMF(1, affinity="precomputed", random_state=0), graph)
    assert (found.best, found.sure) == (5, True)


def test_components_in_which_no_number_was_tried_are_said(monkeypatch):
    monkeypatch.setattr("rectifact.selection.components.MOST_DIVIDED", 1)
    found = select(SymNMF(1, affinity="precomputed", random_state=0), union(joined(2, 6), joined(2, 6), joined(2, 6)))
    assert (found.best, found.sure) == (4, False)
    assert found.reason.endswith("2 further components may have several communities: no number was tried.")


def test_a_component_keeps_the_number_that_was_chosen_for_it():
    """A long path has larger eigenvalues than the communities of a graph beside it, which took its clusters."""
    big = make_block_model(90, 3, degree=9, mixing=0.2, random_state=0)
    path = np.diag(np.ones(39), 1) + np.diag(np.ones(39), -1)
    found = select(SymNMF(1, affinity="precomputed", random_state=0), union(big.adjacency, path), range(4, 6))
    assert adjusted_rand_score(big.labels, found.estimator.labels_[:90]) > 0.9
    again = found.estimator.set_params(n_clusters=7).fit(big.adjacency)  # another number, and another graph
    assert len(np.unique(again.labels_)) == 7


def test_modularity_is_that_of_the_nodes_in_a_cluster():
    graph = cliques(6, 6, 6, 2, 2)
    model = fitted(graph, 3, "4 in 2 connected components of 2 nodes")
    assert model.modularity_ == pytest.approx(2 / 3)
    assert model.cluster_report()["modularity"].sum() == pytest.approx(2 / 3)
    other = model.compared_with_louvain()
    assert other.modularity == other.own_modularity == pytest.approx(2 / 3)
    assert other.sentence().startswith("Among the 18 nodes in a cluster, Louvain's method finds the same 3 communities")
