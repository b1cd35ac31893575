"""Small graphs next to random ones with the same degrees."""

import warnings

import networkx
import numpy as np
import pytest
import scipy.sparse as sp

from rectifact import SymNMF
from rectifact.graph.chance import communities_beyond_chance, divides_beyond_chance, rewired
from rectifact.selection import select


def matrix(graph: networkx.Graph) -> sp.csr_array:
    return sp.csr_array(networkx.to_scipy_sparse_array(graph, weight=None, dtype=float))


def test_rewiring_keeps_degrees_sides_and_the_number_of_edges() -> None:
    graph = networkx.convert_node_labels_to_integers(networkx.davis_southern_women_graph())
    edges = rewired(list(graph.edges()), 2000, np.random.default_rng(0), keep_sides=True)
    other = networkx.Graph(edges)
    assert dict(other.degree()) == dict(graph.degree())
    assert other.number_of_edges() == graph.number_of_edges()
    assert networkx.is_bipartite(other)
    assert len(set(other.edges()) - set(graph.edges())) > 20
    free = rewired(list(graph.edges()), 2000, np.random.default_rng(0), keep_sides=False)
    assert not networkx.is_bipartite(networkx.Graph(free))


def test_random_graphs_rarely_divide_beyond_chance() -> None:
    found = [divides_beyond_chance(matrix(networkx.gnm_random_graph(32, 89, seed=seed))) for seed in range(20)]
    assert sum(found) <= 1
    found = [divides_beyond_chance(matrix(networkx.bipartite.gnmk_random_graph(18, 14, 89, seed=s))) for s in range(20)]
    assert sum(found) <= 1
    assert divides_beyond_chance(matrix(networkx.karate_club_graph()))
    assert not divides_beyond_chance(matrix(networkx.florentine_families_graph()))


def test_women_and_events_divide_in_two() -> None:
    graph = networkx.davis_southern_women_graph()
    found = select(SymNMF(1), graph)
    assert found.best == 2
    assert "more clearly than each of 199 random graphs with the same degrees" in found.reason
    assert not found.sure  # hidden edges leave it open
    women = dict(zip(found.estimator.nodes_, found.estimator.labels_, strict=True))
    first, second = ({women[name] for name in graph.graph["top"][part]} for part in (slice(9), slice(9, 18)))
    assert len(first) == len(second) == 1
    assert first != second


@pytest.mark.parametrize("seed", [1, 2])
def test_small_random_graphs_are_one_community(seed: int) -> None:
    with warnings.catch_warnings(action="ignore"):  # that there is no structure
        assert select(SymNMF(1), networkx.bipartite.gnmk_random_graph(18, 14, 89, seed=seed)).best == 1


def configuration(seed: int) -> networkx.Graph:
    """The largest component of a random graph whose degrees have a heavy tail."""
    degrees = np.random.default_rng(seed).zipf(2.2, 300).clip(1, 60)
    degrees[0] += degrees.sum() % 2
    graph = networkx.Graph(networkx.configuration_model(degrees.tolist(), seed=seed))
    graph.remove_edges_from(list(networkx.selfloop_edges(graph)))
    return graph.subgraph(max(networkx.connected_components(graph), key=len))


def test_larger_random_graphs_are_not_beyond_chance() -> None:
    graphs = [networkx.gnm_random_graph(150, 900, seed=seed) for seed in range(20)]
    graphs += [configuration(seed) for seed in range(20)]
    graphs += [networkx.bipartite.gnmk_random_graph(60, 50, 700, seed=seed) for seed in range(5)]
    assert [communities_beyond_chance(matrix(graph)) for graph in graphs] == [1] * len(graphs)


@pytest.mark.parametrize("seed", [11, 12])
def test_structure_that_is_too_weak_to_divide_is_not_surely_one_community(seed: int) -> None:
    graph = networkx.LFR_benchmark_graph(
        400, 2.5, 1.5, 0.5, average_degree=12, max_degree=50, min_community=20, seed=seed
    )
    graph.remove_edges_from(list(networkx.selfloop_edges(graph)))
    found = select(SymNMF(1), networkx.Graph(graph.edges))
    assert found.best == 1
    assert not found.sure
    assert "more clearly than each of 19 random graphs with the same degrees, but too weakly" in found.reason
    assert "Compare the division with -k " in found.reason
    [note] = [one for one in found.estimator.findings(first=1) if "higher modularity" in one.finding]
    assert "Those of a random graph with the same degrees have 0.2" in note.detail


def test_a_random_graph_is_surely_one_community() -> None:
    with pytest.warns(UserWarning, match="The graph looks like one community"):
        found = select(SymNMF(1), networkx.gnm_random_graph(150, 750, seed=5))
    assert (found.best, found.sure) == (1, True)
