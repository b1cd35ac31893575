"""Nodes between communities, and communities next to known groups."""

from math import comb

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from scipy.stats import false_discovery_control

from rectifact import InputError, SymNMF
from rectifact.graph.bridges import _p_values, clear_bridges, edge_shares, hub_ranks
from rectifact.graph.comparison import compare_with_groups
from rectifact.graph.diagnosis import diagnose
from rectifact.graph.louvain import Division


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
        assert table["p_value"][table["clear"]].is_monotonic_increasing
    assert right / named > 0.9
    assert right / all_ > 0.5


def test_blocks_without_bridges_have_none():
    named = 0
    for seed in range(6):
        graph, _ = planted(seed, n_bridges=0)
        named += int(SymNMF(3, affinity="precomputed").fit(graph).bridges()["clear"].sum())
    assert named <= 1  # 5 % of graphs may have one by chance


def heavy_tailed(seed, sizes=(90, 60, 40, 30, 20)):
    """Blocks without bridges whose edges have lognormal weights; a node of few edges is placed by its heaviest."""
    rng = np.random.default_rng(seed)
    own = np.repeat(range(len(sizes)), sizes)
    chance = np.where(own[:, None] == own, 8 / np.array(sizes)[own], 3 / len(own))
    A = np.triu(rng.random(chance.shape) < chance, 1) * np.exp(rng.normal(8, 1.8, chance.shape))
    return sp.csr_array(A + A.T)


def test_a_node_placed_by_one_heavy_edge_is_no_clear_bridge():
    named = 0
    for seed in range(6):
        model = SymNMF(5, affinity="precomputed", values="log", random_state=0).fit(heavy_tailed(seed))
        named += int(model.bridges()["clear"].sum())
    assert named <= 1


def test_a_clear_bridge_has_edges_to_both_sides():
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1], 30)
    A = np.triu(rng.random((60, 60)) < np.where(labels[:, None] == labels, 0.3, 0.01), 1) * 1.0
    A[0] = 0
    A[0, 30:38] = 1
    A[0, 1] = 5  # one heavy edge into its own community
    one = edge_shares(sp.csr_array(A + A.T), labels, 2)
    assert (one.own[0] > 0.2, one.own_neighbours[0], one.other_neighbours[0]) == (True, 1, 8)
    assert not clear_bridges(one)[0]
    A[0, 1:9] = 1  # as many on both sides
    assert clear_bridges(edge_shares(sp.csr_array(A + A.T), labels, 2))[0]


def test_a_clear_bridge_need_not_have_a_large_membership():
    rng = np.random.default_rng(3)
    labels = np.repeat([0, 1], [80, 20])
    A = np.triu(rng.random((100, 100)) < np.where(labels[:, None] == labels, 0.5, 0.01), 1)
    A[:40, 99] = False
    A[:7, 99] = True  # 7 of its edges go to the large cluster, where that is a small membership
    graph = sp.csr_array((A + A.T).astype(float))
    found = SymNMF(2, affinity="precomputed").fit(graph).bridges().set_index("node")
    assert found.loc[99, "next_membership"] < 0.25
    assert found.loc[99, "clear"]


def tail(d, x, q):
    """Probability of x or more of d draws, by the sum."""
    return sum(comb(d, m) * q**m * (1 - q) ** (d - m) for m in range(x, d + 1))


def test_p_values_equal_sums_over_draws_that_leave_the_node_out():
    rng = np.random.default_rng(0)
    A = np.triu(rng.random((24, 24)) < 0.4, 1)
    A, labels = (A + A.T) * 0.5, rng.integers(-1, 3, 24)  # weights that count nothing
    found = edge_shares(sp.csr_array(A), labels, 3)
    edges, p = A > 0, []
    inside = np.flatnonzero(labels >= 0)
    for i in inside:
        others = [j for j in inside if labels[j] == labels[i] and j != i]
        there = sum(int(edges[j, labels == found.other[i]].sum()) for j in others)
        total = sum(int(edges[j, labels >= 0].sum()) for j in others)
        d, x, y = (int(edges[i, to].sum()) for to in (labels >= 0, labels == found.other[i], labels == labels[i]))
        next_to = edges[labels == found.other[i]] & (np.arange(24) != i)
        back = (next_to[:, labels == labels[i]].sum() + 1) / (next_to[:, labels >= 0].sum() + 3)
        both = 2 * tail(d, x, (there + 1) / (total + 3)), tail(d, y, back)
        p.append(max(both) if found.other[i] >= 0 else 2)
    assert_allclose(found.p_value[inside], false_discovery_control(np.minimum(p, 1)), atol=1e-12)
    assert (found.p_value[labels < 0] == 1).all()


def test_the_side_that_is_easier_to_explain_decides():
    events = np.array([[6, 0, 0], [5, 1, 0], [5, 7, 1], [6, 8, 0], [4, 4, 0], [1, 7, 0]])
    labels, other = np.array([0, 0, 1, 1, 0, 0]), np.array([1, 1, 2, 0, 1, 1])  # one between both, one misplaced
    alone = np.ones(6, dtype=bool)
    found = _p_values(events.astype(float), events.astype(float), labels, other, alone)
    # Of the edges of the rest of community 0, 8 or 5 of 20 go to 1; of those of 1, 11 of 27 with those to the node.
    assert_allclose(found[4], max(2 * tail(8, 4, (8 + 1) / (20 + 3)), tail(8, 4, (7 + 1) / (23 + 3))))
    assert_allclose(found[5], max(2 * tail(8, 7, (5 + 1) / (20 + 3)), tail(8, 1, (4 + 1) / (20 + 3))))
    assert tail(8, 1, 5 / 23) > 2 * tail(8, 7, 6 / 23)


def test_nodes_between_two_do_not_tell_what_nodes_of_one_do():
    events = np.array([[6, 0], [5, 1], [1, 5], [3, 6], [4, 5], [5, 5]]).astype(float)
    labels, alone = np.array([0, 0, 1, 1, 0, 1]), np.array([True] * 4 + [False] * 2)
    to_alone = np.array([[2, 0], [3, 1], [1, 3], [0, 3], [2, 3], [3, 2]]).astype(float)
    found = _p_values(events, to_alone, labels, 1 - labels, alone)
    # Of the edges of the first two, 1 of 12 goes to community 1; of those of the next two, 4 of 15 go back, 3 of them
    # to node 4, which do not count for it.
    assert_allclose(found[4], max(tail(9, 5, (1 + 1) / (12 + 2)), tail(9, 4, (1 + 1) / (12 + 2))))
    assert_allclose(found[1], max(tail(6, 1, (0 + 1) / (6 + 2)), tail(6, 5, (3 + 1) / (14 + 2))))


def overlapping(seed, share, n=300, k=5):
    """Groups of which some nodes belong to two."""
    rng = np.random.default_rng(seed)
    member = np.zeros((n, k))
    for row in member:
        row[rng.choice(k, 2 if rng.random() < share else 1, replace=False)] = 1
    common = member @ member.T
    A = np.triu(rng.random((n, n)) < np.where(common > 0, 1 - 0.78**common, 0.008), 1) * 1.0
    return sp.csr_array(A + A.T), np.flatnonzero(member.sum(axis=1) == 2)


@pytest.mark.parametrize("share", [0.02, 0.1, 0.3])
def test_bridges_are_found_however_many_there_are(share):
    graph, both = overlapping(0, share)
    table = SymNMF(5, affinity="precomputed", random_state=0).fit(graph).bridges()
    clear = set(table["node"][table["clear"]])
    assert len(clear & set(both.tolist())) > 0.9 * len(both)
    assert len(clear - set(both.tolist())) <= 0.1 * len(clear)


def test_a_hub_keeps_most_of_its_weight_in_its_community():
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1], 30)
    A = np.triu(rng.random((60, 60)) < np.where(labels[:, None] == labels, 0.3, 0.02), 1)
    A[0, 1:20], A[0, 30:60] = True, True  # the largest weight inside, and more outside
    shares = edge_shares(sp.csr_array((A | A.T).astype(float)), labels, 2)
    ranks = hub_ranks(shares, labels)
    assert shares.inside[:30].argmax() == 0
    assert ranks[0] == 0
    assert sorted(ranks[1:30]) == list(range(1, 30))


def test_groups_are_compared_where_both_are_known():
    labels = np.array([0, 0, 0, 1, 1, -1, 1])
    found = compare_with_groups(labels, ["x", "x", "y", "y", "y", "y", ""], "side")
    assert found.table.loc[1].to_dict() == {"x": 2, "y": 1}
    assert found.n_left_out == 2
    assert found.accuracy == pytest.approx(4 / 5)
    assert "(5 nodes; 2 nodes without a cluster or a group left out)" in found.sentence("node")
    assert found.disagree.tolist() == [2]
    assert "1 of 5 nodes disagrees with its known group: c ('y' among 'x')." in found.disagreement([*"abcdefg"], "node")
    assert compare_with_groups(labels[:3], [*"xyz"], "side").disagree.tolist() == []  # one cluster
    nearly = compare_with_groups(np.repeat([0, 1], 100), ["x"] * 101 + ["y"] * 99, "side").sentence("node")
    assert "an accuracy of 99.5% if" in nearly
    nearly = compare_with_groups(np.repeat([0, 1], 50_000), ["x"] * 50_001 + ["y"] * 49_999, "side").sentence("node")
    assert "Rand index of 0.99996 (1 if they are the same, about 0 by chance), and an accuracy of 99.999% if" in nearly
    same = compare_with_groups(np.repeat([0, 1], 100), np.repeat([*"xy"], 100), "side").sentence("node")
    assert "an NMI of 1.00 and an adjusted Rand index of 1.00 (" in same
    assert "an accuracy of 100% if" in same
    most = compare_with_groups(labels[:5], [*"vwxyz"], "side").disagreement([*"abcde"], "node")
    assert most.endswith("3 of 5 nodes disagree with their known group: clusters are something else.")
    none = compare_with_groups(labels[:6], [*"xxxyyy"], "side").disagreement([*"abcdef"], "node")
    assert none == "If each cluster stands for the group of most of its nodes, no node disagrees with its known group."
    assert list(compare_with_groups(labels[:2], np.array([1.0, np.nan]), "n").table.columns) == ["1"]
    with pytest.raises(InputError, match="No node in a cluster has a value"):
        compare_with_groups(labels, [np.nan] * 7, "side")


def test_where_nothing_is_found_again_no_other_number_is_advised():
    sizes, weak = np.array([9, 9]), np.array([0.2, 0.3])
    more, fewer = Division(9, 0.3, 2, 0.2, 0.5), Division(1, 0.3, 2, 0.2, 0.5)
    for other, beyond_chance in ((more, None), (fewer, None), (fewer, True)):
        found = diagnose(sizes, None, weak, 0.2, other, 1, "node", beyond_chance=beyond_chance)
        assert [each.finding for each in found] == ["2 clusters that are not found again"]


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
    for _, rows in roles.groupby("cluster"):
        kept = rows["share_inside"] > 0.5
        assert sorted(rows["hub_rank"][kept]) == [*range(1, kept.sum() + 1)]
        assert (rows["hub_rank"][~kept] == 0).all()
