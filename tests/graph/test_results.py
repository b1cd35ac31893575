"""What is asked of a fitted model: new nodes and points, overlapping sets, and how good the communities are."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import nnls

from rectifact import InputError, SymNMF, SymNMFNet, load_model, save_model
from rectifact.core.arrays import to_host
from rectifact.core.errors import FitWarning
from rectifact.datasets import load_images, make_block_model
from rectifact.graph.diagnosis import diagnose
from rectifact.graph.knn import connect, similarities_to
from rectifact.graph.louvain import Division
from rectifact.metrics import cluster_accuracy
from rectifact.selection import select

networkx = pytest.importorskip("networkx")


@pytest.fixture(scope="module")
def blocks():
    return make_block_model(300, 4, degree=24, mixing=0.15)


@pytest.mark.parametrize("normalize", [True, False])
def test_new_nodes(blocks, normalize):
    old, new = np.arange(260), np.arange(260, 300)
    A = blocks.adjacency
    model = SymNMF(4, affinity="precomputed", normalize=normalize).fit(A[old][:, old])
    assert_array_equal(blocks.labels[new], translate(model, blocks.labels[old])[model.predict(A[new][:, old])])
    rows = A[new][:, old].toarray()
    if normalize:
        rows = rows / np.sqrt(model.degrees_)
    slow = np.array([nnls(model.components_, row)[0] for row in rows])
    found = model.predict_membership(A[new][:, old])
    assert_allclose(found, slow / slow.sum(axis=1, keepdims=True), atol=1e-8)
    assert_array_equal(model.predict(np.zeros((1, 260))), -1)
    with pytest.raises(InputError, match="expecting 260 features"):
        model.predict(A[new])


def translate(model, labels):
    """The commonest true label in each community."""
    return np.array([np.bincount(labels[model.labels_ == k]).argmax() for k in range(model.n_clusters)])


def test_nodes_of_the_fit_are_predicted_as_they_were_labelled(blocks):
    model = SymNMF(4, affinity="precomputed").fit(blocks.adjacency)
    assert (model.predict(blocks.adjacency) == model.labels_).mean() > 0.99


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_similarities_to_the_points_of_the_fit(rng, metric):
    """Against dense loops: a point that is added last sees the neighbours that the graph of all would give it."""
    points = rng.random((60, 4))
    near, new = connect(points[:50], 6, metric=metric), points[50:]
    found = similarities_to(near, new).toarray()
    if metric == "cosine":
        points = points / np.linalg.norm(points, axis=1, keepdims=True)
    apart = np.linalg.norm(points[50:, None] - points[None, :50], axis=2)
    for row, distances in zip(found, apart, strict=True):
        order = np.argsort(distances)
        expected = np.zeros(50)
        for j in order[:6]:
            scaled = distances[j] ** 2 / (distances[order[6]] * near.scales[j])
            expected[j] = (
                np.exp(-scaled)
                if metric == "euclidean"
                else points[50:][apart.tolist().index(distances.tolist())] @ points[j]
            )
        assert_allclose(row, expected, atol=1e-10)


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_new_points(to_form, assert_at_home, rng, metric):
    centres = np.array([[9.0, 0, 0], [0, 9, 0], [0, 0, 9]])
    draw = lambda n: np.vstack([rng.normal(centre, 1, (n, 3)) for centre in centres]).clip(0)  # noqa: E731
    old, new = draw(40), draw(15)
    model = SymNMF(3, metric=metric).fit(to_form(old))
    found = model.predict(to_form(new))
    assert_at_home(found)
    truth = translate(SymNMF(3, metric=metric).fit(old), np.repeat([0, 1, 2], 40))
    host = SymNMF(3, metric=metric).fit(old)
    assert_array_equal(truth[host.predict(new)], np.repeat([0, 1, 2], 15))
    names = np.array([np.bincount(np.repeat([0, 1, 2], 40)[to_host(model.labels_) == k]).argmax() for k in range(3)])
    assert_array_equal(names[to_host(found)], np.repeat([0, 1, 2], 15))


def test_new_digits():
    digits = load_images("digits")
    X, y = digits.X[:1500], digits.y[:1500]
    model = SymNMF(10).fit(X[:1000])
    found = cluster_accuracy(y[1000:], model.predict(X[1000:]))
    assert found > cluster_accuracy(y[:1000], model.labels_) - 0.03


def test_a_saved_model_predicts(tmp_path, rng, blocks):
    points = rng.random((60, 3))
    model = SymNMF(3).fit(points)
    save_model(model, tmp_path / "model.rfx")
    assert_array_equal(load_model(tmp_path / "model.rfx").predict(points), model.predict(points))
    model.fit(points[:30])
    model.set_params(affinity="precomputed").fit(blocks.adjacency)
    assert model.predict(blocks.adjacency[:2]).shape == (2,)  # not as points of the earlier fit


def test_the_net_predicts(blocks):
    pytest.importorskip("torch")
    model = SymNMFNet(4, affinity="precomputed", device="cpu").fit(blocks.adjacency)
    assert (model.predict(blocks.adjacency) == model.labels_).mean() > 0.99


def test_communities_overlap_and_have_names():
    graph = networkx.Graph(["ab", "ac", "bc", "cd", "ce", "de"])
    graph.add_node("z")
    with pytest.warns(FitWarning, match="label -1"):
        model = SymNMF(2).fit(graph)
    assert sorted(map(sorted, model.communities())) == [["a", "b", "c"], ["c", "d", "e"]]
    assert sum(map(len, model.communities(0.9))) == 5  # at least the community of the label
    assert all(isinstance(node, str) for nodes in model.communities() for node in nodes)
    numbered = SymNMF(2, affinity="precomputed").fit(
        pd.DataFrame({"source": [1, 1, 5, 8, 8], "target": [3, 5, 3, 9, 1]})
    )
    assert {type(node) for nodes in numbered.communities() for node in nodes} == {int}
    with pytest.raises(InputError, match="threshold=0 must be above 0"):
        model.communities(0)


@pytest.mark.parametrize("normalize", [True, False])
def test_quality_is_that_of_networkx(blocks, normalize, rng):
    weights = sp.triu(blocks.adjacency, 1).tocoo()
    weights.data = rng.random(len(weights.data)) + 0.1
    A = sp.csr_array(weights + weights.T)
    model = SymNMF(4, affinity="precomputed", normalize=normalize).fit(A)
    graph = networkx.from_scipy_sparse_array(A)
    sets = [set(np.flatnonzero(model.labels_ == k)) for k in range(4)]
    assert_allclose(model.modularity_, networkx.community.modularity(graph, sets))
    report = model.cluster_report()
    assert_allclose(report["conductance"], [networkx.conductance(graph, nodes, weight="weight") for nodes in sets])
    inside = [graph.subgraph(nodes).size("weight") / graph.size("weight") for nodes in sets]
    assert_allclose(report["coverage"], inside)
    assert_allclose([report["modularity"].sum(), report["coverage"].sum()], [model.modularity_, model.coverage_])
    assert_array_equal(report["size"], [len(nodes) for nodes in sets])


def test_quality_on_a_device_and_in_chunks(to_form, blocks):
    dense = blocks.adjacency.toarray()
    host, there = (SymNMF(4, affinity="precomputed").fit(X) for X in (dense, to_form(dense)))
    assert_allclose(there.modularity_, host.modularity_, rtol=1e-6)
    chunks = pytest.importorskip("dask.array").from_array(dense, chunks=(100, -1))
    lazy = SymNMF(4, affinity="precomputed").fit(chunks)
    assert_allclose(lazy.modularity_, host.modularity_)
    assert_allclose(lazy.predict_membership(chunks), lazy.predict_membership(dense), atol=1e-12)


def test_findings_say_what_is_wrong() -> None:
    graph = networkx.ring_of_cliques(4, 6)
    graph.add_nodes_from(["alone", "apart"])
    with pytest.warns(FitWarning, match="in no cluster"):
        model = SymNMF(4, random_state=0).fit(graph)
    model.stability_ = np.array([1.0, 0.2, 0.9, 0.0])
    found = {row.finding: row for row in model.diagnose().itertuples()}
    assert set(found) == {"2 nodes in no cluster", "2 clusters that are not found again"}
    unstable = found["2 clusters that are not found again"]
    assert "clusters 1 and 3 of 4 come out differently (stability 0.00 to 0.20)" in unstable.detail
    assert unstable.remedy.endswith("smaller n_clusters.")
    assert found["2 nodes in no cluster"].detail == "They are without edges to others."
    (first,) = (each for each in model.findings(first=1) if "again" in each.finding)
    assert "clusters 2 and 4 of 4" in first.detail
    assert first.command.endswith("smaller -k.")


@pytest.mark.parametrize(("beyond_chance", "n_other"), [(True, 14), (None, 14), (False, 14), (True, 3)])
def test_clusters_that_are_not_found_again_may_be_too_few(beyond_chance, n_other) -> None:
    """Four clusters that divide fourteen communities come out differently each time; so do those of a random graph."""
    other = Division(n_other, 0.448, 4, 0.351, 0.3)
    sizes, stability = np.full(4, 125), np.array([0.56, 0.5, 0.45, 0.2])
    found = diagnose(sizes, None, stability, 0.351, other, 1, "node", beyond_chance=beyond_chance)
    named = beyond_chance is True and n_other == 14
    assert ("another division has a higher modularity" in [each.finding for each in found]) == named
    words = "compare with 14 clusters and with fewer." if named else "compare with a smaller -k."
    assert found[0].command == f"Do not rely on them, and {words}"


def test_small_clusters_and_empty_ones_are_named() -> None:
    found = diagnose(np.array([5, 1, 1, 0]), None, None, 0.4, None, 1, "node")
    assert [each.finding for each in found] == ["2 clusters of a single node", "1 cluster without nodes"]
    assert found[0].detail == "Clusters 2 and 3 have a single node."


def test_a_division_of_higher_modularity_is_named() -> None:
    ring = networkx.ring_of_cliques(8, 6)
    (row,) = SymNMF(3, random_state=0).fit(ring).diagnose().itertuples()
    assert row.finding == "another division has a higher modularity"
    assert row.detail.startswith("Louvain's 8 communities have a modularity of 0.8")
    assert row.remedy.startswith("Compare with n_clusters=8, and see with rectifact.selection.assess")
    best = SymNMF(8, random_state=0).fit(ring)
    assert len(best.diagnose()) == 0
    labels = [set(np.flatnonzero(best.labels_ == k)) for k in range(8)]
    assert best.modularity_ == pytest.approx(networkx.community.modularity(ring, labels))


def test_another_division_is_of_the_same_nodes_and_has_no_remedy_where_the_number_is_the_same() -> None:
    graph = networkx.ring_of_cliques(3, 6)
    networkx.add_path(graph, ["x", "y"])  # too small for a cluster, and a community of Louvain's
    with pytest.warns(FitWarning, match="in no cluster"):
        model = SymNMF(3, random_state=0).fit(graph)
    assert model.diagnose()["finding"].tolist() == ["2 nodes in no cluster"]
    with pytest.warns(FitWarning, match="in no cluster"):
        row = SymNMF(2, random_state=0).fit(graph).findings(first=1)[-1]
    assert row.detail.startswith("Among the 18 nodes in a cluster, Louvain's 3 communities")
    (same,) = diagnose(np.array([5, 5]), None, None, 0.2, Division(2, 0.3, 2, 0.2, 0.5), 1, "node")
    assert "Compare" not in same.remedy
    assert same.command is None


def test_louvain_is_compared_whether_it_is_better_equal_or_worse() -> None:
    ring = networkx.ring_of_cliques(8, 6)
    same = SymNMF(8, random_state=0).fit(ring).compared_with_louvain()
    assert same.sentence().startswith("Louvain's method finds the same 8 communities (modularity 0.8")
    fewer = SymNMF(4, random_state=0).fit(ring).compared_with_louvain()
    assert fewer.is_better
    assert (fewer.n, fewer.own_n) == (8, 4)
    assert 0 < fewer.agreement < 1
    assert "these 4 have 0.7" in fewer.sentence()
    assert "which is lower, and both agree" in fewer.sentence()
    assert "which is higher" in Division(3, 0.2, 2, 0.4, 0.5).sentence()
    assert "which is about equal" in Division(3, 0.4, 2, 0.4, 0.5).sentence()
    assert "either" in Division(1, 0.0, 1, 0.0, 1.0).sentence()
    assert SymNMF(2).fit(np.random.default_rng(0).normal(size=(50, 2))).compared_with_louvain() is None


def test_all_weak_clusters_are_named() -> None:
    (found,) = diagnose(np.array([5, 5, 5]), None, np.array([0.5, 0.55, 0.8]), 0.4, None, 1, "node")
    assert "clusters 1 and 2 of 3" in found.detail


def test_points_that_are_one_group_are_said_to_be() -> None:
    rng = np.random.default_rng(4)
    model = SymNMF(4, random_state=0).fit(rng.normal(size=(300, 2)))
    assert "no group of points stands apart" in model.diagnose()["finding"].tolist()
    apart = np.concatenate([rng.normal(size=(100, 2)), rng.normal(size=(100, 2)) + 8])
    assert len(SymNMF(2, random_state=0).fit(apart).diagnose()) == 0


def test_the_result_is_a_table_with_names() -> None:
    edges = pd.DataFrame({"source": [*"aabddec"], "target": [*"bccefff"], "weight": 1.0})
    model = SymNMF(2, random_state=0).fit(edges)
    table = model.result()
    assert table["node"].tolist() == list("abcdef")
    assert (table["cluster"] == model.labels_).all()
    np.testing.assert_allclose(table["membership"], model.membership_.max(axis=1))
    np.testing.assert_allclose(table["next_membership"], model.membership_.min(axis=1))
    assert ((table["next_cluster"] == 1 - table["cluster"]) | (table["next_membership"] == 0)).all()


def test_points_keep_the_index_of_their_table(tmp_path) -> None:
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(20, 2)), rng.normal(size=(20, 2)) + 9])
    table = pd.DataFrame(X, columns=["x", "y"], index=[f"C-{i}" for i in range(40)])
    model = SymNMF(2, random_state=0).fit(table)
    assert model.result()["node"].tolist() == table.index.tolist()
    save_model(model, tmp_path / "m.rfx")
    assert list(load_model(tmp_path / "m.rfx").nodes_) == table.index.tolist()
    assert SymNMF(2).fit(X).result()["node"].tolist() == list(range(40))


def test_tables_of_edges_as_people_have_them() -> None:
    ends = {"From": [*"aabddec"], "To": [*"bccefff"]}
    mail = pd.DataFrame(ends | {"Date": ["2024-01-01"] * 7})
    assert SymNMF(2, random_state=0).fit(mail).degrees_.sum() == 14  # a date is not a weight
    wide = pd.DataFrame({"id": [f"<{i}>" for i in range(7)], **ends, "size": [3.0] * 7})
    found = select(SymNMF(1), wide, [1, 2], source="From", target="To", weight="size", random_state=0)
    assert sorted(found.estimator.nodes_) == list("abcdef")
    assert found.estimator.degrees_.sum() == 42
    with pytest.raises(InputError, match="no column 'Form' for the source"):
        select(SymNMF(1), wide, source="Form", target="To")
    with pytest.raises(InputError, match=r"name of a file, 'play.csv'.*pandas.read_csv\('play.csv'\)"):
        SymNMF(2).fit("play.csv")


def test_clusters_far_smaller_than_the_others_are_named() -> None:
    found = diagnose(np.array([25, 25, 24, 5, 4]), None, None, 0.8, None, 1, "node")
    assert [each.finding for each in found] == ["2 clusters are far smaller than the others"]
    assert found[0].detail.startswith("Clusters 4 and 5 have 4 to 5 nodes, where the median is 24.")
    assert found[0].remedy.endswith("count 3.")
    assert diagnose(np.array([12, 10, 9, 8]), None, None, 0.8, None, 1, "node") == []
