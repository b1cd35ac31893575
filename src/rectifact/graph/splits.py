"""Samples of the edges of a graph: without some of them, or drawn again."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

SHARE, MOST_HIDDEN = 0.1, 100_000
"""Share of the edges that are hidden, and the most."""

ENOUGH, MOST_SPLITS = 12_000, 50
"""Edges of a graph that is judged by one such share. In smaller ones, further shares are hidden, and where there are
few edges, all of them several times: seven edges of a network of thirty people say little."""


@dataclass(frozen=True)
class Split:
    """A graph without some of its edges, these edges, each once, and their places among all edges."""

    rest: sp.csr_array
    hidden: sp.coo_array
    places: NDArray[Any]


def n_splits(n_edges: int) -> int:
    """How many times edges are hidden, so that scores of small graphs do not depend on which.

    Examples
    --------
    >>> n_splits(70), n_splits(600), n_splits(5000)
    (50, 20, 2)
    """
    return max(1, min(MOST_SPLITS, ENOUGH // max(n_edges, 1)))


def hold_out(graph: sp.csr_array, rng: np.random.Generator, times: int, share: float = SHARE) -> list[Split]:
    """Hide a share of the edges ``times`` times; no edge twice before all were hidden.

    Examples
    --------
    >>> ring = sp.csr_array(np.roll(np.eye(20), 1, axis=1) + np.roll(np.eye(20), -1, axis=1))
    >>> splits = hold_out(ring, np.random.default_rng(0), 10)
    >>> [int(split.rest.sum() / 2 + split.hidden.sum()) for split in splits[:2]]
    [20, 20]
    >>> len(set(np.concatenate([split.places for split in splits])))
    20
    """
    edges = sp.coo_array(sp.triu(graph, 1))
    count = len(edges.data)
    size = max(1, round(min(share, MOST_HIDDEN / max(count, 1)) * count))
    each = max(1, count // size)
    orders = [rng.permutation(count) for _ in range(-(-times // each))]
    return [_split(edges, orders[i // each][i % each * size :][:size]) for i in range(times)]


def _split(edges: sp.coo_array, places: NDArray[Any]) -> Split:
    i, j = edges.coords
    kept = np.ones(len(edges.data), dtype=bool)
    kept[places] = False
    hidden = sp.coo_array((edges.data[places], (i[places], j[places])), shape=edges.shape)
    rest = sp.csr_array((edges.data[kept], (i[kept], j[kept])), shape=edges.shape)
    return Split(sp.csr_array(rest + rest.T), hidden, places)


def drawn_edges(graph: sp.csr_array, rng: np.random.Generator) -> sp.csr_array:
    """As many edges drawn from those of the graph, each as often as chance has it."""
    edges = sp.coo_array(sp.triu(graph, 1))
    times = np.bincount(rng.integers(len(edges.data), size=len(edges.data)), minlength=len(edges.data))
    drawn = sp.csr_array((edges.data * times, edges.coords), shape=graph.shape)
    drawn.eliminate_zeros()
    return sp.csr_array(drawn + drawn.T)
