"""What can be checked about communities: findings with a remedy.

Every rule about what deserves a word is here, once; the command line and the report only show findings.
"""

from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from rectifact.core.findings import Finding
from rectifact.graph.quality import quality
from rectifact.graph.similarities import Similarities

DISSOLVED = 0.5
"""Stability (Jaccard) below which a community is more different than the same in resampled data."""

NAMED = 12
"""Communities that a sentence names."""

CLEARLY, MOST_EDGES = 0.01, 50_000
"""Modularity by which another division must be better, and the edges for which it is looked for."""

EMPTY = "empty clusters"


def diagnose(
    sizes: NDArray[Any],
    in_none: NDArray[Any],
    stability: NDArray[Any] | None,
    modularity: float,
    other: tuple[int, float] | None,
    first: int,
    what: str,
) -> list[Finding]:
    """What could be wrong with communities, and what to do about it.

    Parameters
    ----------
    sizes : array of shape (n_clusters,)
        Numbers of nodes.
    in_none : array
        Sizes of the connected components of the nodes in no community, one for each such node.
    stability : array of shape (n_clusters,) or None
        None if it was not measured.
    modularity : float
    other : tuple of int and float, or None
        Number of communities and modularity of another division.
    first : int
        Number of the first community: 0 in Python, 1 on the command line and in the report.
    what : str
        What is clustered, such as ``"node"``.

    Returns
    -------
    list of Finding

    Examples
    --------
    >>> sizes = np.array([9, 8, 1])
    >>> [found.finding for found in diagnose(sizes, np.array([]), np.array([1.0, 0.9, 0.0]), 0.4, None, 1, "node")]
    ['clusters that are not found again', 'clusters of a single node']
    """
    found = []
    if len(in_none):
        found.append(_in_none(in_none, what))
    if stability is not None and len(sizes) > 1:
        found += _unstable(np.flatnonzero((stability < DISSOLVED) & (sizes > 0)), stability, first)
    found += _few(np.flatnonzero(sizes == 1), np.flatnonzero(sizes == 0), first, what)
    if other is not None and other[1] > modularity + CLEARLY:
        found.append(_more_modular(len(sizes), modularity, *other))
    return found


def listed(numbers: Sequence[int]) -> str:
    """Numbers of communities, for a sentence.

    Examples
    --------
    >>> listed([3]), listed([1, 2, 7])
    ('cluster 3', 'clusters 1, 2 and 7')
    """
    shown = [str(number) for number in numbers[:NAMED]]
    if len(numbers) > NAMED:
        return f"clusters {', '.join(shown)} and {len(numbers) - NAMED} more"
    return f"cluster {shown[0]}" if len(shown) == 1 else f"clusters {', '.join(shown[:-1])} and {shown[-1]}"


def _in_none(sizes: NDArray[Any], what: str) -> Finding:
    n, alone = len(sizes), int((sizes == 1).sum())
    places = [f"{alone} without edges to others"] if alone else []
    if n > alone:
        places.append(f"{n - alone} in small connected components, or not reached by any cluster")
    remedy = (
        "Lower min_component and raise n_clusters to give them clusters." if n > alone else "Nothing connects them."
    )
    return Finding(
        "warning",
        f"{what}s in no cluster",
        f"{n} {what if n == 1 else f'{what}s'}: {', '.join(places)}.",
        remedy,
        remedy.replace("min_component", "--min-component").replace("n_clusters", "-k"),
    )


def _unstable(weak: NDArray[Any], stability: NDArray[Any], first: int) -> list[Finding]:
    if not len(weak):
        return []
    order = weak[np.argsort(stability[weak], kind="stable")]
    named = listed(sorted((order[:NAMED] + first).tolist()))
    more = f", and {len(order) - NAMED} more" if len(order) > NAMED else ""
    highest = stability[order].max()
    verb = "comes" if len(order) == 1 else "come"
    return [
        Finding(
            "warning",
            "clusters that are not found again",
            f"Where a tenth of the edges is left out, {named}{more} of {len(stability)} {verb} out differently "
            f"(stability {stability[order].min():.2f}{'' if len(order) == 1 else f' to {highest:.2f}'}).",
            "Do not rely on them, and compare with a smaller n_clusters.",
            "Do not rely on them, and compare with a smaller -k.",
        )
    ]


def _few(single: NDArray[Any], empty: NDArray[Any], first: int, what: str) -> list[Finding]:
    found = []
    for places, finding, holds in (
        (single, f"clusters of a single {what}", f"a single {what}"),
        (empty, EMPTY, f"no {what}"),
    ):
        if len(places):
            named = listed((places + first).tolist())
            detail = f"{named[0].upper()}{named[1:]} {'has' if len(places) == 1 else 'have'} {holds}."
            found.append(Finding("warning", finding, detail, "Lower n_clusters.", "Lower -k."))
    return found


def _more_modular(n: int, own: float, n_other: int, other: float) -> Finding:
    return Finding(
        "note",
        "another division has a higher modularity",
        f"Louvain's {n_other} communities have a modularity of {other:.3f}, these {n} have {own:.3f}. Modularity "
        "favours large communities, so neither is right by that alone.",
        f"Compare with n_clusters={n_other}.",
        f"Compare with -k {n_other}.",
    )


def louvain(graph: sp.csr_array, degrees: NDArray[Any]) -> tuple[int, float] | None:
    """Number of communities and modularity by Louvain's method, from networkx; None for a large graph or without it."""
    if graph.nnz > 2 * MOST_EDGES or find_spec("networkx") is None:
        return None
    import networkx as nx

    found = nx.community.louvain_communities(nx.from_scipy_sparse_array(graph), seed=0)
    labels = np.empty(graph.shape[0], dtype=int)
    for k, nodes in enumerate(found):
        labels[list(nodes)] = k
    linked = degrees > 0  # nodes without edges are communities of their own, which nobody counts
    n = len(np.unique(labels[linked]))
    return n, float(quality(Similarities(graph), labels, len(found), degrees, False).modularity.sum())
