"""Nodes that are moved by their edges."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import adjusted_rand_score

from rectifact import SymNMF
from rectifact.datasets import make_block_model
from rectifact.graph.placing import better_places, placed
from rectifact.models import load_model, save_model


def noisy(seed: int = 1) -> sp.csr_array:
    """Half of the edges are noise, so that several nodes are better placed elsewhere."""
    return make_block_model(400, 8, degree=12, mixing=0.5, random_state=seed).adjacency


def inside(graph, labels) -> float:
    return float((graph * (labels[:, None] == labels)).sum())


def fit(graph, **options) -> SymNMF:
    return SymNMF(8, affinity="precomputed", random_state=0, **options).fit(graph)


def test_no_node_has_a_better_place_in_the_end():
    graph = noisy()
    before = fit(graph, reassign=False).labels_
    after = placed(graph, before, 8)
    assert (after != before).any()
    assert inside(graph.toarray(), after) > inside(graph.toarray(), before)
    dense, degrees = graph.toarray(), graph.toarray().sum(axis=1)
    for i, own in enumerate(after):  # an independent form, node by node
        others = np.arange(400) != i
        weights = np.array([dense[i, others & (after == k)].sum() for k in range(8)])
        volumes = np.array([degrees[others & (after == k)].sum() for k in range(8)])
        assert not ((weights > weights[own]) & (weights * volumes[own] > weights[own] * volumes * (1 + 1e-6))).any()


def test_the_order_of_the_nodes_does_not_matter():
    graph = noisy()
    rng = np.random.default_rng(0)
    graph.data = rng.random(graph.nnz)  # no ties
    graph = sp.csr_array(graph + graph.T)
    labels, order = rng.integers(8, size=400), rng.permutation(400)
    moved = placed(sp.csr_array(graph[order][:, order]), labels[order], 8)
    assert np.array_equal(placed(graph, labels, 8)[order], moved)


def test_a_large_community_does_not_draw_nodes_by_its_size():
    # 3 edges into 40 of 41 nodes that are all joined, 2 edges into 2 of a triangle: the share of the triangle is larger
    large, small = np.ones((41, 41)) - np.eye(41), np.ones((3, 3)) - np.eye(3)
    graph = np.zeros((45, 45))
    graph[:41, :41], graph[41:44, 41:44] = large, small
    graph[44, [0, 1, 2, 41, 42]] = graph[[0, 1, 2, 41, 42], 44] = 1
    labels = np.repeat([0, 1], [41, 4])
    assert placed(sp.csr_array(graph), labels, 2)[44] == 1


def test_one_heavy_edge_does_not_decide():
    rows = sp.csr_array(np.array([[1.0, 1.0, 1.0, 5.0], [1.0, 1.0, 2.0, 5.0]]))
    known, volumes = np.array([0, 0, 0, 1]), np.array([10.0, 10.0])
    assert better_places(rows, np.array([0, 0]), known, volumes)[0].tolist() == [0, 0]
    few = sp.csr_array(np.array([[1.0, 0.0, 0.0, 5.0]]))
    new, gains = better_places(few, np.array([0]), known, volumes)
    assert new.tolist() == [1]
    assert gains.tolist() == [4.0]


def test_two_nodes_do_not_change_places():
    graph = np.zeros((10, 10))
    graph[:4, :4] = graph[4:8, 4:8] = np.ones((4, 4)) - np.eye(4)
    for i, j, weight in ((8, 0, 1), (9, 4, 1), (8, 9, 5)):  # each of the last two has most of its weight at the other
        graph[i, j] = graph[j, i] = weight
    found = placed(sp.csr_array(graph), np.array([0, 0, 0, 0, 1, 1, 1, 1, 0, 1]), 2)
    assert found[8] == found[9]


def test_no_community_becomes_empty_and_nodes_outside_stay():
    star = np.zeros((5, 5))
    star[0, 1:4] = star[1:4, 0] = 1
    assert placed(sp.csr_array(star), np.array([0, 0, 0, 1, -1]), 2).tolist() == [0, 0, 0, 1, -1]


def test_labels_follow_edges_and_memberships_do_not():
    graph = noisy()
    plain, model = fit(graph, reassign=False), fit(graph)
    changed = model.labels_ != model.membership_.argmax(axis=1)
    assert 0 < model.resolved_["moved"] == changed.sum()
    assert "moved" not in plain.resolved_
    assert np.array_equal(plain.labels_, plain.membership_.argmax(axis=1))
    assert model.modularity_ > plain.modularity_
    assert (np.diff(np.bincount(model.labels_)) <= 0).all()  # the largest is still the first
    columns = sorted(map(tuple, model.membership_.T.round(9)))
    assert columns == sorted(map(tuple, plain.membership_.T.round(9)))


def test_moved_nodes_are_nearer_to_the_planted_communities():
    rises = []
    for seed in range(5):
        truth = make_block_model(400, 8, degree=12, mixing=0.5, random_state=seed).labels
        rises.append([adjusted_rand_score(truth, fit(noisy(seed), reassign=way).labels_) for way in (False, True)])
    before, after = np.mean(rises, axis=0)
    assert after > before + 0.005


def test_new_nodes_are_placed_alike_and_saved_models_too(tmp_path):
    graph = noisy()
    model = fit(graph)
    found = model.predict(graph)  # as if the nodes of the fit were new
    assert (found == model.labels_).mean() > (model.predict_membership(graph).argmax(axis=1) == model.labels_).mean()
    assert np.array_equal(model.result(graph)["cluster"], found)
    save_model(model, tmp_path / "model.rfx")
    again = load_model(tmp_path / "model.rfx")
    assert np.array_equal(again.labels_, model.labels_)
    assert np.array_equal(again.predict(graph), found)


@pytest.mark.parametrize("points", [True, False])
def test_points_and_graphs_made_of_points_stay(points):
    from rectifact import similarity_graph

    X = np.random.default_rng(0).normal(size=(200, 2))
    model = SymNMF(6).fit(X) if points else SymNMF(6, affinity="precomputed").fit(similarity_graph(X))
    assert "moved" not in model.resolved_
    assert np.array_equal(model.labels_, model.membership_.argmax(axis=1))
