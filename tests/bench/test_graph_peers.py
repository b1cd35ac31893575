"""The graphs that communities are measured on, and what is said where a peer is missing."""

import numpy as np
import pytest
import scipy.sparse as sp

from rectifact import InputError
from rectifact.bench import Extent, graph_peers
from rectifact.datasets import make_block_model


def test_lfr_graphs_have_what_was_asked():
    pytest.importorskip("networkx")
    graph = graph_peers.lfr(0.3, 1)
    X, sizes = graph.adjacency, np.bincount(graph.labels)
    assert X.shape == (1000, 1000)
    assert X.diagonal().sum() == 0
    assert abs(X - X.T).max() == 0
    assert 20 <= sizes.min() <= sizes.max() <= 100
    assert 17 < X.sum() / 1000 < 30  # networkx adds edges to reach the mixing
    edges = X.tocoo()
    outside = (graph.labels[edges.row] != graph.labels[edges.col]).mean()
    assert 0.25 < outside < 0.5


def test_messy_graphs_keep_their_blocks_and_say_what_is_left_out():
    rows = graph_peers.messy_graphs()
    assert [row["nmi"] for row in rows] == [1.0] * 3
    assert [row["in_no_cluster"] for row in rows] == [12, 20, 160]
    assert all(row["warned"] for row in rows)


def test_all_methods_find_planted_blocks():
    pytest.importorskip("networkx")
    graph = make_block_model(200, 3, degree=24)
    rows = graph_peers._measured("blocks", [graph], ("SymNMF", "scikit-learn spectral, cluster_qr", "networkx Louvain"))
    assert [row["nmi"] > 0.95 for row in rows] == [True] * 3
    assert [row["clusters"] for row in rows] == [3.0] * 3
    if graph_peers.find_spec("leidenalg"):
        assert graph_peers._measured("blocks", [graph], ("leidenalg Leiden",))[0]["nmi"] > 0.95


def test_a_missing_peer_gets_a_sentence(monkeypatch):
    monkeypatch.setattr(graph_peers, "find_spec", lambda name: None if name == "leidenalg" else name)
    with pytest.raises(InputError, match=r"needs leidenalg\. Install it from a clone"):
        graph_peers.check_peers()


def test_a_quick_run_is_short(monkeypatch):
    pytest.importorskip("networkx")
    monkeypatch.delitem(graph_peers.METHODS, "leidenalg Leiden")
    monkeypatch.setattr(graph_peers._measured, "__defaults__", (tuple(graph_peers.METHODS),))
    block = sp.csr_array(np.ones((30, 30)) - np.eye(30))
    X = sp.csr_array(sp.block_diag([block, block]))
    rows = graph_peers.communities(Extent(peers=True, large=False, quick=True), {"two": (X, np.repeat([0, 1], 30))})
    assert {row["data"] for row in rows} == {"two", "LFR, mixing 0.3"}
