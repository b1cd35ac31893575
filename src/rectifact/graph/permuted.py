"""Whether the weights of a graph show communities that its edges do not.

Where nearly all nodes are joined, only weights tell which belong together, and a hidden edge, which then looks like a
pair that is not joined, misleads a fit more than the others help it. So the graph is compared with others that have the
same edges, and the same weights in another order: its leading eigenvalues are, together, higher than theirs where
weights are larger inside groups. Those that exceed what permuted weights have are counted, as in parallel analysis [1].

References
----------
[1] J. L. Horn, "A rationale and test for the number of factors in factor analysis", Psychometrika 30, 1965.
"""

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from rectifact.graph.canonical import canonical_order
from rectifact.graph.chance import SHIFT, communities_beyond_chance, divides_beyond_chance
from rectifact.graph.similarities import Similarities
from rectifact.graph.spectral import leading_eigenvectors

DRAWS, MOST_EDGES = 100, 50_000
"""Graphs with permuted weights, half of each kind, all of which the graph must exceed, and the most edges."""

SUMS = (1, 3, 7)
"""How many eigenvalues after the first are added up: two groups raise one of them, and many groups raise several."""

MOST = 32
"""Communities that are counted at most."""

QUICK = 5000
"""Edges up to which a number of communities that was given is checked."""

ROUNDS = 30
"""Steps towards the scales of the nodes."""


def communities_by_weights(graph: sp.csr_array) -> int:
    """How many communities the weights of a connected graph show beyond its edges; 1 if they show none.

    Parameters
    ----------
    graph : csr_array of shape (n_nodes, n_nodes)
        Symmetric, without loops.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> noise = np.triu(rng.uniform(1, 2, (40, 40)), 1)  # everybody is joined to everybody
    >>> groups = np.triu(np.kron(np.eye(2), np.ones((20, 20))), 1)
    >>> weights = [sp.csr_array(half + half.T) for half in (noise, noise + groups)]
    >>> [communities_by_weights(graph) for graph in weights]
    [1, 2]
    """
    edges, n = sp.coo_array(sp.triu(graph, 1)), graph.shape[0]
    size = min(MOST, n // 4)
    if size < 2 or not 0 < edges.nnz <= MOST_EDGES or np.ptp(edges.data) <= 1e-9 * edges.data.max():
        return 1
    own, rank = _eigenvalues(graph, size), min(size, 1 + max(SUMS))
    i, j = edges.coords
    scales = _scales(graph)
    expected = scales[i] * scales[j]
    rng, ahead, second = np.random.default_rng(0), np.ones(len(SUMS), dtype=bool), []
    for draw in range(DRAWS):
        # the order of the weights alone; and that of what is left of them where some nodes have larger ones than others
        unit = expected if draw % 2 else np.ones(len(expected))
        half = sp.coo_array((unit * rng.permutation(edges.data / unit), (i, j)), shape=graph.shape)
        found = _eigenvalues(sp.csr_array(half + half.T), rank)
        ahead &= _sums(own) > _sums(found) + 1e-9
        if not ahead.any():
            return 1
        second.append(found[1])
    return max(2, int((own > np.median(second)).sum()))


def shows_communities(graph: sp.csr_array) -> bool | None:
    """Whether edges or weights show communities clearly beyond chance; None for a graph where that takes long.

    Examples
    --------
    >>> cliques = np.kron(np.eye(4), np.ones((8, 8))) - np.eye(32)
    >>> cliques[np.arange(31), np.arange(1, 32)] = cliques[np.arange(1, 32), np.arange(31)] = 1
    >>> shows_communities(sp.csr_array(cliques)), shows_communities(sp.csr_array(1 - np.eye(16)))
    (True, False)
    """
    S = sp.csr_array(graph - sp.diags_array(graph.diagonal()))
    S.eliminate_zeros()
    if not 0 < S.nnz <= 2 * QUICK:
        return None
    order = canonical_order(S)  # as where the number is chosen, or one would see what the other does not
    S = sp.csr_array(S[order][:, order])
    S.sort_indices()
    return divides_beyond_chance(S) or communities_beyond_chance(S) > 1 or communities_by_weights(S) > 1


def _sums(values: NDArray[Any]) -> NDArray[Any]:
    return np.array([values[1 : 1 + n].sum() for n in SUMS])


def _scales(graph: sp.csr_array) -> NDArray[Any]:
    """A scale for each node: the roots of the weights of its edges add up to what products of two scales do, squared.

    Roots, as single large weights would otherwise decide on the scale, and with logarithms those near zero would.
    """
    ones = sp.csr_array((np.ones(graph.nnz), graph.indices, graph.indptr), shape=graph.shape)
    roots = np.asarray(sp.csr_array((np.sqrt(graph.data), graph.indices, graph.indptr), shape=graph.shape).sum(axis=1))
    found = np.sqrt(roots / np.maximum(np.diff(graph.indptr), 1))
    for _ in range(ROUNDS):
        found = np.sqrt(found * roots / np.maximum(ones @ found, 1e-300))
    return np.asarray(np.maximum(found, 1e-150) ** 2)


def _eigenvalues(graph: sp.csr_array, rank: int) -> NDArray[Any]:
    """The largest of the graph divided by the roots of its degrees, each raised by a share of their mean."""
    degrees = np.asarray(graph.sum(axis=1)).ravel()
    roots = 1 / np.sqrt(degrees + SHIFT * degrees.mean())
    return np.asarray(leading_eigenvectors(Similarities(sp.csr_array(graph * roots[:, None] * roots)), rank)[0])
