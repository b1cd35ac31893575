"""Graphs in which weights alone show the groups, next to the same weights in another order."""

import networkx
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import adjusted_rand_score

from rectifact import SymNMF
from rectifact.graph.chance import communities_beyond_chance, divides_beyond_chance
from rectifact.graph.how_many import GraphTrial
from rectifact.graph.permuted import communities_by_weights, shows_communities
from rectifact.selection import select


def counts_of(n: int, k: int, mean: float, ratio: float, seed: int) -> tuple[sp.csr_array, np.ndarray]:
    """Poisson weights between all nodes, their mean larger inside groups by a factor."""
    rng = np.random.default_rng(seed)
    groups = rng.permutation(np.arange(n) % k)
    half = np.triu(rng.poisson(mean * np.where(groups[:, None] == groups, ratio, 1.0)), 1).astype(float)
    return sp.csr_array(half + half.T), groups


def weighted(graph: networkx.Graph, scale: float, seed: int) -> sp.csr_array:
    """Random weights on the edges, larger for nodes with larger scales."""
    rng = np.random.default_rng(seed)
    half = sp.coo_array(sp.triu(networkx.to_scipy_sparse_array(graph, dtype=float), 1))
    scales, (i, j) = rng.lognormal(0, scale, half.shape[0]), half.coords
    half = sp.coo_array((rng.exponential(1, half.nnz) * scales[i] * scales[j], (i, j)), shape=half.shape)
    return sp.csr_array(half + half.T)


def test_weights_alone_show_the_groups() -> None:
    graph, groups = counts_of(60, 3, 3.0, 1.5, seed=301)
    found = select(SymNMF(1, affinity="precomputed"), graph)
    assert found.best == 3
    assert not found.sure
    assert "weights divide the graph" in found.reason
    assert adjusted_rand_score(groups, found.estimator.labels_) > 0.8


def test_the_number_is_one_that_was_asked_for() -> None:
    graph, _ = counts_of(60, 3, 3.0, 1.5, seed=301)
    found = select(SymNMF(1, affinity="precomputed"), graph, [1, 2])
    assert found.best == 2
    assert (
        "as 3 communities; hidden edges alone would give 1. 2 is the nearest number that was asked for." in found.reason
    )


@pytest.mark.filterwarnings("ignore:The graph looks like one community")
def test_a_range_without_1_does_not_make_weights_say_anything() -> None:
    for seed in range(2):
        found = select(SymNMF(1, affinity="precomputed"), networkx.gnm_random_graph(120, 720, seed=seed), range(2, 8))
        assert (found.best, found.sure) == (2, False)
        assert "weights" not in found.reason
        assert found.reason.endswith("2 is the smallest number that was asked for.")


@pytest.mark.filterwarnings("ignore:The graph looks like one community")
@pytest.mark.parametrize("scale", [0.0, 0.7])
def test_random_weights_on_a_complete_graph_are_one_community(scale: float) -> None:
    found = select(SymNMF(1, affinity="precomputed"), weighted(networkx.complete_graph(60), scale, seed=1))
    assert found.best == 1


def test_random_weights_show_nothing_beyond_the_edges() -> None:
    graphs = [networkx.gnm_random_graph(100, 400, seed=7), networkx.planted_partition_graph(3, 30, 0.4, 0.03, seed=7)]
    found = [communities_by_weights(weighted(graph, 0.5, seed)) for graph in graphs for seed in range(5)]
    assert found.count(1) >= 9
    assert communities_by_weights(sp.csr_array(networkx.to_scipy_sparse_array(graphs[1], dtype=float))) == 1


def said_of(graph: networkx.Graph, k: int, weight: str | None = None) -> list[str]:
    graph = graph.subgraph(max(networkx.connected_components(graph), key=len))
    X = sp.csr_array(networkx.to_scipy_sparse_array(graph, weight=weight, dtype=float))
    return SymNMF(k, affinity="precomputed").fit(X).diagnose()["finding"].tolist()


NOTHING = "no more structure than by chance"


@pytest.mark.parametrize("seed", range(2))
def test_a_number_that_is_given_for_a_random_graph_draws_a_warning(seed):
    assert NOTHING in said_of(networkx.gnm_random_graph(150, 450, seed=seed), 5)
    assert NOTHING in said_of(networkx.barabasi_albert_graph(150, 3, seed=seed), 5)
    noise = networkx.gnm_random_graph(60, 240, seed=seed)
    for *_, data in noise.edges(data=True):
        data["weight"] = float(np.random.default_rng(len(data)).lognormal())
    assert NOTHING in said_of(noise, 3, "weight")


def test_graphs_with_structure_draw_none():
    for graph, k in ((networkx.karate_club_graph(), 2), (networkx.les_miserables_graph(), 6)):
        assert NOTHING not in said_of(graph, k)
    assert NOTHING not in said_of(networkx.planted_partition_graph(4, 25, 0.3, 0.02, seed=1), 4)
    X, _ = counts_of(40, 2, 5.0, 1.8, 0)  # in weights alone
    assert NOTHING not in SymNMF(2, affinity="precomputed").fit(X).diagnose()["finding"].tolist()


def test_a_given_number_is_tested_on_the_order_of_nodes_that_the_choice_has() -> None:
    graph, _ = counts_of(60, 3, 3.0, 1.5, seed=301)
    order = np.random.default_rng(0).permutation(60)
    near = [sp.csr_array(counts_of(40, 2, 3.0, ratio, seed=seed)[0]) for ratio in (1.2, 1.25) for seed in range(4)]
    for each in [graph, graph[order][:, order], *near]:
        trial = GraphTrial(SymNMF(1, affinity="precomputed"), each, np.random.default_rng(0))
        chosen = divides_beyond_chance(trial.ordered) or communities_beyond_chance(trial.ordered) > 1
        assert shows_communities(each) == (chosen or communities_by_weights(trial.ordered) > 1)
