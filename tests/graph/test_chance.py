"""Small graphs next to random ones with the same degrees."""

import warnings

import networkx
import numpy as np
import pytest
import scipy.sparse as sp

from rectifact import SymNMF
from rectifact.graph.chance import divides_beyond_chance, rewired
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
