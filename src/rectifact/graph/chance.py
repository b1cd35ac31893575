"""Whether a graph divides more clearly than random graphs with the same degrees.

Hidden edges tell little about a graph of a hundred edges. Graphs that are rewired at random, so that each node keeps
its number of neighbours, say what chance alone would show [1].

References
----------
[1] S. Maslov and K. Sneppen, "Specificity and stability in topology of protein networks", Science 296, 2002.
"""

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import breadth_first_order, connected_components

from rectifact.graph.similarities import Similarities
from rectifact.graph.spectral import leading_eigenvectors

DRAWS, MOST_EDGES = 199, 600
"""Random graphs, all of which the graph must exceed (p = 0.005), and the most edges for which they are drawn."""

FEW_DRAWS, LARGE = 19, 20_000
"""Random graphs that a larger graph is compared with, and the most edges for which these are drawn."""

CLEARLY = 5.0
"""Standard deviations by which it must exceed their mean, as few graphs do not show how far chance reaches."""

SUMS, MOST_COUNTED = (1, 3, 7), 32
"""How many eigenvalues after the first are added up: two groups raise one of them, and many groups raise several; and
the most that are counted."""

FIRST, BETWEEN = 10, 2
"""Swaps for each edge before the first random graph, and between two of them."""

SHIFT = 0.25
"""Mean degrees added to all degrees, so that nodes with few edges have no eigenvalues of their own."""


def divides_beyond_chance(graph: sp.csr_array) -> bool:
    """Whether the second eigenvalue of a graph, without weights, exceeds those of random graphs with the same degrees.

    Graphs of two kinds of nodes, where all edges are between them, are compared with random ones of that kind.

    Examples
    --------
    >>> cliques = np.kron(np.eye(2), np.ones((8, 8))) - np.eye(16)
    >>> cliques[0, 8] = cliques[8, 0] = 1
    >>> divides_beyond_chance(sp.csr_array(cliques)), divides_beyond_chance(sp.csr_array(1 - np.eye(16)))
    (True, False)
    """
    (edges, sides), n = edges_of(graph), graph.shape[0]
    if not 0 < len(edges) <= MOST_EDGES:
        return False
    found, rng = _second_eigenvalue(edges, n), np.random.default_rng(0)
    swap = FIRST * len(edges)
    for _ in range(DRAWS):
        edges = rewired(edges, swap, rng, keep_sides=sides)
        if _second_eigenvalue(edges, n) >= found - 1e-9:
            return False
        swap = BETWEEN * len(edges)
    return True


def communities_beyond_chance(graph: sp.csr_array) -> int:
    """How many communities the edges of a graph, without weights, show clearly beyond chance; 1 if they show none.

    The sums of its leading eigenvalues are compared with those of a few random graphs with the same degrees, and those
    above the median of what the others have as their second are counted. Larger graphs than are compared show none.

    Examples
    --------
    >>> cliques = np.kron(np.eye(4), np.ones((8, 8))) - np.eye(32)
    >>> cliques[np.arange(31), np.arange(1, 32)] = cliques[np.arange(1, 32), np.arange(31)] = 1
    >>> communities_beyond_chance(sp.csr_array(cliques)), communities_beyond_chance(sp.csr_array(1 - np.eye(16)))
    (4, 1)
    """
    (edges, sides), n = edges_of(graph), graph.shape[0]
    rank = min(MOST_COUNTED, n // 4)
    if rank < 2 or not 0 < len(edges) <= LARGE:
        return 1
    rng, swap = np.random.default_rng(0), FIRST * len(edges)
    own, second = _leading_eigenvalues(edges, n, rank), []
    ours, theirs = _sums(own), np.empty((0, len(SUMS)))
    for _ in range(FEW_DRAWS):
        edges = rewired(edges, swap, rng, keep_sides=sides)
        other = _leading_eigenvalues(edges, n, min(rank, 1 + max(SUMS)))
        second.append(other[1])
        theirs = np.vstack([theirs, _sums(other)])
        if not (ours > theirs.max(axis=0) + 1e-9).any():
            return 1
        swap = BETWEEN * len(edges)
    ahead = (ours > theirs.max(axis=0) + 1e-9) & (ours > theirs.mean(axis=0) + CLEARLY * theirs.std(axis=0, ddof=1))
    return max(2, int((own > np.median(second)).sum())) if ahead.any() else 1


def _sums(values: NDArray[Any]) -> NDArray[Any]:
    return np.array([values[1 : 1 + n].sum() for n in SUMS])


def edges_of(graph: sp.csr_array) -> tuple[list[Any], bool]:
    """Both ends of each edge, and whether all edges are between two sides; that of the same side is first then."""
    edges, sides = np.stack(sp.coo_array(sp.triu(graph, 1)).coords, axis=1).tolist(), _two_kinds(graph)
    return (edges, False) if sides is None else ([(a, b) if sides[a] else (b, a) for a, b in edges], True)


def rewired(edges: list[Any], n_swaps: int, rng: np.random.Generator, *, keep_sides: bool) -> list[tuple[int, int]]:
    """Edges after swaps of ends between two of them, which make neither loops nor an edge twice.

    Examples
    --------
    >>> edges = rewired([(0, 1), (2, 3), (4, 5)], 9, np.random.default_rng(0), keep_sides=False)
    >>> sorted(end for edge in edges for end in edge)
    [0, 1, 2, 3, 4, 5]
    """
    edges = [(int(a), int(b)) for a, b in edges]
    there = {frozenset(edge) for edge in edges}
    places, turns = rng.integers(len(edges), size=(n_swaps, 2)).tolist(), rng.random(n_swaps) < 0.5
    for (i, j), turn in zip(places, turns.tolist(), strict=True):
        (a, b), (c, d) = edges[i], edges[j][::-1] if turn and not keep_sides else edges[j]
        one, other = frozenset((a, d)), frozenset((c, b))
        if len({a, b, c, d}) < 4 or one in there or other in there:
            continue
        there -= {frozenset((a, b)), frozenset((c, d))}
        there |= {one, other}
        edges[i], edges[j] = (a, d), (c, b)
    return edges


def _second_eigenvalue(edges: list[Any], n: int) -> float:
    """That of the graph divided by the roots of its degrees, each raised by a share of their mean."""
    A = np.zeros((n, n))
    a, b = np.asarray(edges).T
    A[a, b] = A[b, a] = 1
    degrees = A.sum(axis=0)
    roots = 1 / np.sqrt(degrees + SHIFT * degrees.mean())
    A *= roots[:, None]
    A *= roots
    return float(np.linalg.eigvalsh(A)[-2])


def _leading_eigenvalues(edges: list[Any], n: int, rank: int) -> NDArray[Any]:
    """Those of the same matrix, by a method for larger graphs."""
    a, b = np.asarray(edges).T
    half = sp.csr_array((np.ones(len(edges)), (a, b)), shape=(n, n))
    A = sp.csr_array(half + half.T)
    degrees = np.asarray(A.sum(axis=1)).ravel()
    roots = 1 / np.sqrt(degrees + SHIFT * degrees.mean())
    return np.asarray(leading_eigenvectors(Similarities(sp.csr_array(A * roots[:, None] * roots)), rank)[0])


def _two_kinds(graph: sp.csr_array) -> NDArray[Any] | None:
    """Which side each node is on where all edges are between two sides; None for other graphs.

    Examples
    --------
    >>> square = sp.csr_array(np.roll(np.eye(4), 1, axis=1) + np.roll(np.eye(4), -1, axis=1))
    >>> _two_kinds(square).tolist()
    [True, False, True, False]
    """
    depth = np.zeros(graph.shape[0], dtype=int)
    of_node = connected_components(graph, directed=False)[1]
    for first in np.unique(of_node, return_index=True)[1].tolist():
        order, before = breadth_first_order(graph, first, directed=False)
        for node in order[1:].tolist():
            depth[node] = depth[before[node]] + 1
    sides = depth % 2 == 0
    i, j = sp.coo_array(graph).coords
    return sides if (sides[i] != sides[j]).all() else None
