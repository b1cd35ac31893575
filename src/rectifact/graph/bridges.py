"""Nodes between communities: how much of the weight of their edges goes to their own, and to another."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import betainc

from rectifact.core.arrays import Array, to_csr, to_host
from rectifact.core.operand import Operand
from rectifact.graph.similarities import Similarities

MAY, FEWEST, SHARE, ERRORS = 0.25, 3, 0.2, 0.1
"""Membership from which on a node may belong to another community; and for a clear case the fewest edges and the least
share of the weight in each of both, and the false discovery rate."""

STEPS = 20
"""How often nodes are compared with those of a single community at most, while these still change."""

OVERLAP = 0.1
"""Share of the nodes between two communities from which on the communities are said to overlap."""

MOST = 0.5
"""Share of its weight that a node keeps inside its community, and more, to have a place among the hubs."""


@dataclass(frozen=True, eq=False)
class WeightShares:
    """Where the weight of the edges of each node goes.

    Parameters
    ----------
    own : array of shape (n_nodes,)
        Share of the weight into its own community; 0 for nodes in none.
    other : array of int of shape (n_nodes,)
        The other community that most weight goes to; -1 if none does.
    other_share : array of shape (n_nodes,)
    """

    own: NDArray[Any]
    other: NDArray[Any]
    other_share: NDArray[Any]

    @property
    def elsewhere(self) -> NDArray[Any]:
        """Whether more weight goes to another community than to a node's own."""
        return np.asarray(self.other_share > self.own + 1e-12)


@dataclass(frozen=True, eq=False)
class EdgeShares(WeightShares):
    """Where the edges of each node go; loops do not count.

    Parameters
    ----------
    own, other, other_share : array of shape (n_nodes,)
        As in :class:`WeightShares`.
    neighbours, own_neighbours, other_neighbours : array of int of shape (n_nodes,)
        Number of edges, and of those to its own community and to the other one; 0 inside for nodes in none.
    p_value : array of shape (n_nodes,)
        Of as many edges to both communities, adjusted for having looked at all nodes and communities.
    weight : array of shape (n_nodes,)
        Of all of its edges.
    """

    neighbours: NDArray[Any]
    own_neighbours: NDArray[Any]
    other_neighbours: NDArray[Any]
    p_value: NDArray[Any]
    weight: NDArray[Any]

    @property
    def inside(self) -> NDArray[Any]:
        """Weight of the edges into a node's own community."""
        return np.asarray(self.own * self.weight)


def edge_shares(graph: sp.csr_array, labels: NDArray[Any], n_clusters: int) -> EdgeShares:
    """Shares of the weight of each node's edges.

    With q the share of the edges of the others in a node's community that go to the other one, as many of its own d
    edges as there are, or more, have the probability of so many successes in d draws. It is multiplied by the number of
    other communities, of which the node has the one that most of its weight goes to. The same test asks whether a node
    of the other community would have as many edges into the node's own: if it easily would, the node is misplaced, not
    between both. The larger of the two probabilities is adjusted over the nodes for the false discovery rate [1]_.
    Weights that count something, such as e-mails, take the place of edges where they tell more; both are divided by
    their dispersion. Nodes are compared with nodes of a single community only, or many that belong to two would make
    each other look common: at first with those that have little in a second community, then with those that are not
    clearly between two, until these stay the same.

    Parameters
    ----------
    graph : csr_array of shape (n_nodes, n_nodes)
        Symmetric weights.
    labels : array of shape (n_nodes,)
        Community of each node; -1 for none.
    n_clusters : int
        Number of communities.

    References
    ----------
    .. [1] Y. Benjamini and Y. Hochberg, "Controlling the false discovery rate: a practical and powerful approach to
       multiple testing", Journal of the Royal Statistical Society B 57(1), 1995.

    Examples
    --------
    >>> graph = sp.csr_array(np.array([[0, 3, 1], [3, 0, 0], [1, 0, 0.0]]))
    >>> found = edge_shares(graph, np.array([0, 0, 1]), 2)
    >>> found.own.tolist(), found.other.tolist(), found.other_share.tolist()
    ([0.75, 1.0, 0.0], [1, -1, 0], [0.25, 0.0, 1.0])
    """
    graph = sp.csr_array(graph, copy=True)
    graph.setdiag(0)
    graph.eliminate_zeros()
    inside, weight = labels >= 0, np.asarray(graph.sum(axis=1)).ravel()
    weights, counts = (into_communities(edges, labels, n_clusters) for edges in (graph, abs(graph).sign()))
    shares = weight_shares(weights, weight, labels)
    nodes = np.arange(len(labels))
    here, there = (np.where(at >= 0, counts[nodes, at], 0).astype(int) for at in (labels, shares.other))
    columns = shares.own, shares.other, shares.other_share, np.diff(graph.indptr), here, there
    found = EdgeShares(*columns, np.ones(len(labels)), weight)
    if not inside.any():
        return found
    edges, alone = abs(graph).sign(), inside & ~_between(found)  # nodes of one community, to compare the others with
    for step in range(STEPS):
        to_alone = [into_communities(each, np.where(alone, labels, -1), n_clusters) for each in (graph, edges)]
        # First by edges as they are, as too few nodes are left to tell their dispersion.
        events = _events((weights, counts), to_alone, labels, alone) if step else (counts, to_alone[1])
        p_value = np.ones(len(labels))
        p_value[inside] = adjusted(_p_values(*events, labels, np.maximum(shares.other, 0), alone)[inside])
        found, before = EdgeShares(*columns, p_value, weight), alone
        alone = inside & ~clear_bridges(found)
        if step and np.array_equal(alone, before):
            break
    return found


def into_communities(edges: sp.csr_array, labels: NDArray[Any], n_clusters: int) -> NDArray[Any]:
    """Sums of each row of ``edges`` over the communities of the nodes in its columns; -1 is in none."""
    inside = np.flatnonzero(labels >= 0)
    groups = sp.csr_array((np.ones(len(inside)), (inside, labels[inside])), shape=(len(labels), n_clusters))
    return np.asarray((edges @ groups).toarray())


def weight_shares(weights: NDArray[Any], weight: NDArray[Any], labels: NDArray[Any]) -> WeightShares:
    """Shares of the ``weight`` of each node from its ``weights`` into the communities.

    Examples
    --------
    >>> found = weight_shares(np.array([[1.0, 3.0], [0.0, 0.0]]), np.array([4.0, 0.0]), np.array([0, -1]))
    >>> found.own.tolist(), found.other.tolist(), found.elsewhere.tolist()
    ([0.25, 0.0], [1, -1], [True, False])
    """
    nodes, inside = np.arange(len(labels)), labels >= 0
    shares = weights / np.maximum(weight, 1e-300)[:, None]
    own = np.where(inside, shares[nodes, labels], 0.0)
    shares[nodes[inside], labels[inside]] = 0
    other = shares.argmax(axis=1)
    return WeightShares(own, np.where(shares[nodes, other] > 0, other, -1), shares[nodes, other])


def _events(
    into: Sequence[NDArray[Any]], to_alone: Sequence[NDArray[Any]], labels: NDArray[Any], alone: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Independent events that the edges into each community, and to its nodes ``alone``, amount to.

    These are edges, or weights that count something. Both are divided by their dispersion, for an edge of weight 5 need
    not be five independent events; what leaves more of them is taken. Weights that are not whole numbers do not count
    anything.
    """
    weights, counts = into
    by_weight, by_edge = (_dispersion(each, np.where(alone, labels, -1)) for each in into)
    whole = np.allclose(weights, np.round(weights), rtol=0, atol=1e-6)
    if whole and weights.sum() / by_weight > counts.sum() / by_edge:
        return weights / by_weight, to_alone[0] / by_weight
    return counts / by_edge, to_alone[1] / by_edge


def _dispersion(into: NDArray[Any], labels: NDArray[Any]) -> float:
    """By how much nodes differ more from their community than draws would (Pearson's statistic); at least 1."""
    inside = labels >= 0
    into, own = into[inside], labels[inside]
    total = np.zeros((into.shape[1], into.shape[1]))
    np.add.at(total, own, into)
    shares = total / np.maximum(total.sum(axis=1, keepdims=True), 1e-300)
    expected = into.sum(axis=1, keepdims=True) * shares[own]
    squares = (into - expected) ** 2 / np.where(expected > 0, expected, 1.0)
    return max(1.0, float(squares.sum() / max(len(into) * (into.shape[1] - 1), 1)))


def _p_values(
    events: NDArray[Any], to_alone: NDArray[Any], labels: NDArray[Any], other: NDArray[Any], alone: NDArray[Any]
) -> NDArray[Any]:
    """Probability of as many events into both communities, if they went where those of only one of the two go.

    Only nodes ``alone`` tell where these go; ``to_alone`` are the events into each community that go to such nodes.
    """
    nodes, n_clusters, all_ = np.arange(len(labels)), events.shape[1], events.sum(axis=1)
    between = ((labels[:, None] == np.arange(n_clusters)) & alone[:, None]).T @ events
    total = between.sum(axis=1)
    here, there, back = events[nodes, labels], events[nodes, other], to_alone[nodes, other]
    # One event more into each community, so that no share is 0; the events of the node itself do not count.
    of_own = (between[labels, other] - there * alone + 1) / (total[labels] - all_ * alone + n_clusters)
    of_other = (between[other, labels] - back + 1) / (total[other] - back + n_clusters)
    return np.maximum(at_least(there, all_, of_own) * (n_clusters - 1), at_least(here, all_, of_other))


def at_least(successes: NDArray[Any], draws: NDArray[Any], share: NDArray[Any]) -> NDArray[Any]:
    """Probability of so many successes or more, each with the probability ``share``; they need not be whole numbers.

    Examples
    --------
    >>> at_least(np.array([0, 1, 2]), np.array([2, 2, 2]), np.array([0.5, 0.5, 0.5])).tolist()
    [1.0, 0.75, 0.25]
    """
    some = np.where(successes > 0, successes, 1.0)
    return np.where(successes > 0, betainc(some, np.maximum(draws - some, 0) + 1, np.clip(share, 0, 1)), 1.0)


def adjusted(p: NDArray[Any]) -> NDArray[Any]:
    """p-values for the false discovery rate, by the procedure of Benjamini and Hochberg.

    Examples
    --------
    >>> adjusted(np.array([0.02, 0.5, 0.01, 0.03])).tolist()
    [0.04, 0.5, 0.04, 0.04]
    """
    order = np.argsort(p)
    ratios = p[order] * len(p) / np.arange(1, len(p) + 1)
    found = np.empty(len(p))
    found[order] = np.minimum(np.minimum.accumulate(ratios[::-1])[::-1], 1.0)
    return found


def shares_of(model: Any) -> EdgeShares:
    """:func:`edge_shares` of a fitted estimator, on the graph before its normalisation."""
    graph = given_weights(Similarities(model.affinity_matrix_), model.degrees_, model.resolved_["normalize"])
    return edge_shares(graph, np.asarray(to_host(model.labels_)), model.n_clusters)


def given_weights(S: Similarities, degrees: Array, normalized: bool) -> sp.csr_array:
    """The graph on the host, as it was before its normalisation."""
    matrix, weights = gathered(S.operand), np.asarray(to_host(degrees)).astype(float)
    roots = np.sqrt(weights) if normalized else np.ones(len(weights))
    return sp.csr_array(matrix * roots[:, None] * roots)


def gathered(rows: Operand) -> sp.csr_array:
    """All rows as one CSR matrix on the host."""
    return sp.csr_array(sp.vstack(rows.total(_as_csr), format="csr"))


def shares_of_new(model: Any, X: Any, labels: NDArray[Any]) -> WeightShares:
    """Where the weight of new nodes in the communities ``labels`` goes, of their edges to the nodes of the fit."""
    rows = gathered(model._rows(X))
    weights = into_communities(rows, np.asarray(to_host(model.labels_)), model.n_clusters)
    return weight_shares(weights, np.asarray(rows.sum(axis=1)).ravel(), labels)


def _as_csr(rows: Any) -> list[Any]:
    """Some rows in a list, so that chunks add up to one in their order."""
    return [to_csr(rows)]


def hub_ranks(shares: EdgeShares, labels: NDArray[Any]) -> NDArray[Any]:
    """Place of each node in its community by the weight of its edges inside, 1 for the hub.

    Only nodes that keep more than half of their weight inside have a place, and the one with the most weight inside
    where that is more than it has in any other community; it is 0 for others, and for those in no community.

    Examples
    --------
    >>> graph = sp.csr_array(np.array([[0, 3, 1, 0], [3, 0, 0, 0], [1, 0, 0, 1], [0, 0, 1, 0.0]]))
    >>> labels = np.array([0, 0, 1, 1])
    >>> hub_ranks(edge_shares(graph, labels, 2), labels).tolist()
    [1, 2, 0, 1]
    """
    by_weight = np.lexsort((-shares.inside, labels))
    heaviest = np.zeros(len(labels), dtype=bool)
    heaviest[by_weight[np.unique(labels[by_weight], return_index=True)[1]]] = True
    central = (shares.own > MOST) | (heaviest & (shares.own > shares.other_share + 1e-12))
    groups = np.where((labels >= 0) & central, labels, -1)
    order = np.lexsort((-shares.inside, groups))
    first = np.searchsorted(groups[order], groups[order])
    ranks = np.empty(len(labels), dtype=int)
    ranks[order] = np.arange(len(labels)) - first + 1
    return np.where(groups >= 0, ranks, 0)


def memberships_there(model: Any, shares: EdgeShares) -> NDArray[Any]:
    """Membership of each node in the other community that most of its weight goes to."""
    membership = np.asarray(to_host(model.membership_)).astype(float)
    return np.where(shares.other >= 0, membership[np.arange(len(membership)), shares.other], 0.0)


def clear_bridges(shares: EdgeShares) -> NDArray[Any]:
    """Whether each node clearly lies between two communities, by the edges that it has to both."""
    return _between(shares) & (shares.p_value < ERRORS)


def _between(shares: EdgeShares) -> NDArray[Any]:
    """Whether each node has enough edges and weight in two communities, be it by chance."""
    fewest = np.minimum(shares.own_neighbours, shares.other_neighbours)
    return np.asarray((fewest >= FEWEST) & (np.minimum(shares.own, shares.other_share) >= SHARE))
