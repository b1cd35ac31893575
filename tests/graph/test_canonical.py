"""What is drawn at random does not depend on the order of the nodes, on their names or on the seed."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from rectifact import SymNMF
from rectifact.graph.canonical import canonical_order
from rectifact.selection import select


def symmetric(i, j, weights, n):
    half = sp.coo_array((weights, (i, j)), shape=(n, n))
    return sp.csr_array(half + half.T)


def weighted(rng):
    i, j = np.triu_indices(40, 1)
    kept = rng.random(len(i)) < 0.15
    return symmetric(i[kept], j[kept], rng.random(kept.sum()), 40)


def star_with_twins(rng):
    return symmetric(np.repeat([0, 1], 8), np.arange(2, 18), np.ones(16), 20)  # and two nodes without edges


def ring(rng):
    return symmetric(np.arange(30), (np.arange(30) + 1) % 30, np.ones(30), 30)


@pytest.mark.parametrize("draw", [weighted, star_with_twins, ring])
def test_the_order_is_that_of_the_graph_alone(draw, rng):
    graph = draw(rng)
    order = canonical_order(graph)
    assert sorted(order) == list(range(graph.shape[0]))
    for _ in range(5):
        shuffled = rng.permutation(graph.shape[0])
        other = graph[shuffled][:, shuffled]
        other = sp.csr_array(other * (1 + 1e-15 * rng.standard_normal()))  # the last digits are those of sums
        found = canonical_order(other)
        np.testing.assert_allclose(
            other[found][:, found].toarray(), graph[order][:, order].toarray(), rtol=1e-12, atol=0
        )


def test_number_and_communities_do_not_depend_on_the_order_of_the_rows_or_on_the_seed(rng):
    networkx = pytest.importorskip("networkx")
    edges = networkx.to_pandas_edgelist(networkx.karate_club_graph())
    found = []
    for seed in range(3):
        rows = edges.sample(frac=1, random_state=seed).reset_index(drop=True)
        if seed % 2:
            rows = rows.rename(columns={"source": "target", "target": "source"})
        chosen = select(SymNMF(1, random_state=seed), rows, random_state=seed)
        model = chosen.estimator
        groups = pd.Series(model.labels_, index=[int(node) for node in model.nodes_]).sort_index()
        found.append((chosen.best, chosen.reason, groups.tolist(), model.stability_.round(9).tolist()))
    assert found[0] == found[1] == found[2]
