"""Nodes between communities, and communities next to known groups."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

from rectifact import InputError, SymNMF
from rectifact.graph.bridges import edge_shares
from rectifact.graph.comparison import compare_with_groups
from rectifact.graph.diagnosis import diagnose


def planted(seed, sizes=(50, 40, 30), n_bridges=8):
    """Blocks, with some nodes that have as many edges into a second one as into their own."""
    rng = np.random.default_rng(seed)
    own = np.repeat(range(len(sizes)), sizes)
    member = own[:, None] == np.arange(len(sizes))
    both = rng.choice(len(own), n_bridges, replace=False)
    member[both, (own[both] + 1) % len(sizes)] = True
    shared = member.astype(int) @ member.T > 0
    A = np.triu(rng.random(shared.shape) < np.where(shared, 0.25, 0.015), 1) * 1.0
    return sp.csr_array(A + A.T), both


def test_shares_equal_loops_over_edges():
    rng = np.random.default_rng(0)
    A = np.triu(rng.integers(0, 3, (20, 20)) * (rng.random((20, 20)) < 0.4), 0).astype(float)
    A = A + A.T
    labels = rng.integers(-1, 3, 20)
    found = edge_shares(sp.csr_array(A), labels, 3)
    np.fill_diagonal(A, 0)
    for i in range(20):
        into = [sum(A[i, j] for j in range(20) if labels[j] == k) / (A[i].sum() or 1) for k in range(3)]
        assert_allclose(found.own[i], into[labels[i]] if labels[i] >= 0 else 0)
        others = [0 if k == labels[i] else into[k] for k in range(3)]
        assert_allclose(found.other_share[i], max(others))
        assert found.neighbours[i] == (A[i] > 0).sum()


def test_clear_bridges_are_mostly_those_that_were_planted():
    right, named, all_ = 0, 0, 0
    for seed in range(3):
        graph, both = planted(seed)
        table = SymNMF(3, affinity="precomputed", random_state=0).fit(graph).bridges()
        clear = set(table["node"][table["clear"]])
        right, named, all_ = right + len(clear & set(both.tolist())), named + len(clear), all_ + len(both)
        assert table["excess"][table["clear"]].is_monotonic_decreasing
    assert right / named > 0.8
    assert right / all_ > 0.7


def test_groups_are_compared_where_both_are_known():
    labels = np.array([0, 0, 0, 1, 1, -1, 1])
    found = compare_with_groups(labels, ["x", "x", "y", "y", "y", "y", ""], "side")
    assert found.table.loc[1].to_dict() == {"x": 2, "y": 1}
    assert found.n_left_out == 2
    assert found.accuracy == pytest.approx(4 / 5)
    assert "(5 nodes; 2 nodes without a cluster or a group left out)" in found.sentence("node")
    assert list(compare_with_groups(labels[:2], np.array([1.0, np.nan]), "n").table.columns) == ["1"]
    with pytest.raises(InputError, match="No node in a cluster has a value"):
        compare_with_groups(labels, [np.nan] * 7, "side")


def test_where_nothing_is_found_again_no_other_number_is_advised():
    sizes, weak = np.array([9, 9]), np.array([0.2, 0.3])
    found = [each.finding for each in diagnose(sizes, None, weak, 0.2, (9, 0.3), 1, "node")]
    assert found == ["2 clusters that are not found again"]


def test_an_empty_table_of_edges_is_refused():
    with pytest.raises(InputError, match="There are no edges"):
        SymNMF(2).fit(pd.DataFrame({"source": pd.Series([], dtype=str), "target": pd.Series([], dtype=str)}))


def test_roles_name_the_hub_of_each_community_and_planted_bridges():
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1], 30)
    inside = labels[:, None] == labels
    A = np.triu(rng.random((60, 60)) < np.where(inside, 0.3, 0.02), 1)
    A[0, :30], A[30, 31:] = True, True  # two hubs
    A[5, 30:45], A[0, 0] = True, False  # a bridge
    model = SymNMF(2, affinity="precomputed").fit(sp.csr_array((A + A.T).astype(float)))
    roles = model.roles()
    assert sorted(roles.query("hub_rank == 1")["node"]) == [0, 30]
    assert roles.query("bridge_to >= 0")["node"].tolist() == [5]
    here = (A + A.T)[5]
    own = model.labels_ == model.labels_[5]
    assert roles["share_inside"][5] == pytest.approx(here[own].sum() / here.sum())
    assert roles["bridge_to"][5] == 1 - model.labels_[5]
    for _, ranks in roles.groupby("cluster")["hub_rank"]:
        assert sorted(ranks) == [*range(1, len(ranks) + 1)]
