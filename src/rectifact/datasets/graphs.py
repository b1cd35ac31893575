"""Graphs with planted communities."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from rectifact.core.errors import InputError
from rectifact.core.reprs import short_repr
from rectifact.core.validation import check_at_least, check_generator
from rectifact.datasets.seeds import RandomState, takes_seed


@short_repr
@dataclass(frozen=True)
class Graph:
    """A graph with planted communities.

    Attributes
    ----------
    adjacency : csr_array of shape (n_nodes, n_nodes)
        Symmetric.
    labels : array of shape (n_nodes,)
        Community of each node.
    """

    adjacency: sp.csr_array
    labels: NDArray[np.int64]


@takes_seed
def make_block_model(
    n_nodes: int = 1000, n_blocks: int = 4, *, degree: float = 16, mixing: float = 0.1, random_state: RandomState = 0
) -> Graph:
    """Sparse random graph with planted communities, in time and memory linear in its edges.

    Parameters
    ----------
    n_nodes : int, default 1000
    n_blocks : int, default 4
        Number of communities, which are as equal in size as possible; their nodes come in random order.
    degree : float, default 16
        Mean number of neighbours; slightly less, as some edges coincide.
    mixing : float, default 0.1
        Share of edges whose end is drawn from all nodes and not from the same community.
    random_state : int, Generator, RandomState or None, default 0
        Random seed or generator.

    Returns
    -------
    Graph

    Examples
    --------
    >>> graph = make_block_model(200, 2)
    >>> graph.adjacency.shape, graph.adjacency.nnz > 14 * 200
    ((200, 200), True)
    """
    check_at_least(1, n_nodes=n_nodes, n_blocks=n_blocks)
    if n_blocks > n_nodes or not 0 <= mixing <= 1 or degree < 0:
        raise InputError(
            f"n_blocks={n_blocks} must not exceed n_nodes={n_nodes}, mixing={mixing} must be between 0 and 1, and "
            f"degree={degree} must not be negative."
        )
    rng = check_generator(random_state)
    labels = rng.permutation(np.arange(n_nodes) % n_blocks)
    by_block = np.argsort(labels, kind="stable")
    first = np.searchsorted(labels[by_block], np.arange(n_blocks + 1))
    source = rng.integers(n_nodes, size=round(n_nodes * degree / 2))
    block = labels[source]
    inside = by_block[first[block] + rng.integers(np.diff(first)[block])]
    target = np.where(rng.random(len(source)) < mixing, rng.integers(n_nodes, size=len(source)), inside)
    edge = source != target
    half = sp.coo_array((np.ones(edge.sum()), (source[edge], target[edge])), shape=(n_nodes, n_nodes))
    adjacency = (half + half.T).tocsr()
    adjacency.data[:] = 1.0  # edges drawn twice count once
    return Graph(adjacency, labels)
