"""What can be checked about communities: findings with a remedy.

Every rule about what deserves a word is here, once; the command line and the report only show findings.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rectifact.core.errors import count
from rectifact.core.findings import Finding
from rectifact.graph.components import SMALL_CLUSTER
from rectifact.graph.louvain import Division

WEAK = 0.6
"""Stability (Jaccard) below which a community is about as different as the same in resampled data."""

FRAGMENT = 0.25
"""Share of the median size below which a community is far smaller than the others, if it has fewer than 10 nodes."""

AS_ADVISED = "Compare first with what the choice of the number names."
"""The remedy where the choice has named other numbers."""

NAMED = 12
"""Communities that a sentence names."""


def diagnose(
    sizes: NDArray[Any],
    in_none: Finding | None,
    stability: NDArray[Any] | None,
    modularity: float,
    other: Division | None,
    first: int,
    what: str,
    groups: int | None = None,
    heavy: Finding | None = None,
    least: int | None = None,
    beyond_chance: bool | None = True,
    advised: bool = False,
) -> list[Finding]:
    """What could be wrong with communities, and what to do about it.

    Parameters
    ----------
    sizes : array of shape (n_clusters,)
        Numbers of nodes.
    in_none : Finding or None
        What :func:`rectifact.graph.outside.outside` says about nodes in no community.
    stability : array of shape (n_clusters,) or None
        None if it was not measured.
    modularity : float
        Of the nodes in a community.
    other : Division or None
        Another division of the same nodes.
    first : int
        Number of the first community: 0 in Python, 1 on the command line and in the report.
    what : str
        What is clustered, such as ``"node"``.
    groups : int or None, default None
        How many groups of points stand apart, where that is known.
    heavy : Finding or None, default None
        What :func:`rectifact.graph.weights.heavy_edges` says about the weights.
    least : int or None, default None
        The ``min_component`` with which as many clusters as ``other`` has are in the same components; None if that
        needs no word.
    beyond_chance : bool or None, default True
        Whether the graph has more structure than random graphs; None if that was not tested.
    advised : bool, default False
        Whether the choice of the number has named others to compare with, so that findings name none.

    Returns
    -------
    list of Finding

    Examples
    --------
    >>> sizes = np.array([9, 8, 1])
    >>> [found.finding for found in diagnose(sizes, None, np.array([1.0, 0.9, 0.0]), 0.4, None, 1, "node")]
    ['1 cluster that is not found again', '1 cluster of a single node']
    """
    found = [each for each in (heavy, in_none) if each is not None]
    more = other if beyond_chance and other is not None and other.is_better and other.n > len(sizes) else None
    if stability is not None and len(sizes) > 1:
        found += _unstable(np.flatnonzero((stability < WEAK) & (sizes > 0)), stability, first, more, advised)
    found += _few(np.flatnonzero(sizes == 1), np.flatnonzero(sizes == 0), first, what)
    if what == "node":
        found += _fragments(sizes, first)
    if groups == 1 and len(sizes) > 1:
        found.append(_one_group(len(sizes)))
    if what == "node" and len(sizes) > 1 and modularity <= 0:
        found.append(_no_better(modularity))
    elif beyond_chance is False and (stability is None or (stability < WEAK).all()):
        found.append(_by_chance(len(sizes)))
    elif more is None and stability is not None and len(sizes) > 1 and (stability < WEAK).all():
        pass  # where nothing is found again, another number is no better, unless several communities share each cluster
    elif other is not None and other.is_better:
        found.append(_more_modular(other, least, advised))
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


def _unstable(
    weak: NDArray[Any], stability: NDArray[Any], first: int, better: Division | None, advised: bool
) -> list[Finding]:
    """That some communities are not found again; there may be too many, or too few if ``better`` has more."""
    if not len(weak):
        return []
    order = weak[np.argsort(stability[weak], kind="stable")]
    named = listed(sorted((order[:NAMED] + first).tolist()))
    more = f", and {len(order) - NAMED} more" if len(order) > NAMED else ""
    highest = stability[order].max()
    one = len(order) == 1
    span = f"{stability[order].min():.2f}{'' if one else f' to {highest:.2f}'}"
    remedy = f"Do not rely on {'it' if one else 'them'}."
    others = [f"compare with {better.n} clusters"] if better is not None else []
    others += ["with fewer" if others else "compare with a smaller {}"] if len(stability) > 2 else []
    fewer = f"{remedy[:-1]}, and {' and '.join(others)}." if others and not advised else remedy
    return [
        Finding(
            "warning",
            f"{count(len(order), 'cluster')} that {'is' if one else 'are'} not found again",
            f"Where a tenth of the edges is left out, {named}{more} of {len(stability)} {'comes' if one else 'come'} "
            f"out differently (stability {span}).",
            fewer.format("n_clusters"),
            fewer.format("-k"),
        )
    ]


def _few(single: NDArray[Any], empty: NDArray[Any], first: int, what: str) -> list[Finding]:
    found = []
    for places, finding, holds in (
        (single, f"of a single {what}", f"a single {what}"),
        (empty, f"without {what}s", f"no {what}"),
    ):
        if len(places):
            named = listed((places + first).tolist())
            detail = f"{named[0].upper()}{named[1:]} {'has' if len(places) == 1 else 'have'} {holds}."
            words = f"{count(len(places), 'cluster')} {finding}"
            found.append(Finding("warning", words, detail, "Lower n_clusters.", "Lower -k."))
    return found


def _fragments(sizes: NDArray[Any], first: int) -> list[Finding]:
    """That some communities are far smaller than the others; those of single nodes have a finding of their own."""
    small = np.flatnonzero((sizes > 1) & (sizes < SMALL_CLUSTER) & (sizes < FRAGMENT * np.median(sizes)))
    if not len(small):
        return []
    named, one = listed((small + first).tolist()), len(small) == 1
    spans = sorted({int(sizes[small].min()), int(sizes[small].max())})
    detail = (
        f"{named[0].upper()}{named[1:]} {'has' if one else 'have'} {' to '.join(map(str, spans))} nodes, where the "
        f"median is {np.median(sizes):g}. A piece that few edges tie to the rest counts as a community, however small."
    )
    remedy = f"If {'it is' if one else 'they are'} not worth a cluster, count {len(sizes) - len(small)}."
    words = (
        "1 cluster is far smaller than the others" if one else f"{len(small)} clusters are far smaller than the others"
    )
    return [Finding("note", words, detail, remedy)]


def _no_better(modularity: float) -> Finding:
    return Finding(
        "warning",
        "no more edges inside clusters than by chance",
        f"Modularity is {modularity:.3f}, and 0 is chance.",
        "Choose the number with rectifact.selection.select, or lower n_clusters.",
        "Choose the number with -k auto, or lower -k.",
    )


def _by_chance(n: int) -> Finding:
    return Finding(
        "warning",
        "no more structure than by chance",
        f"Random graphs with the same degrees divide about as well: these {n} clusters may be chance.",
        "See with rectifact.selection.assess whether they are found again, and do not rely on them if they are not.",
        "Add --stability, which says whether they are found again, and do not rely on them if they are not.",
    )


def _one_group(n: int) -> Finding:
    return Finding(
        "warning",
        "no group of points stands apart",
        f"By their density, the points are one group: the {n} clusters divide it where no gap is. Points of which "
        "little is known, such as customers with few purchases, may lie in gaps and hide them.",
        "Look for groups among the points that are known well, or take these clusters for regions, not for kinds.",
    )


def _more_modular(other: Division, least: int | None = None, advised: bool = False) -> Finding:
    n, n_other = other.own_n, other.n
    same = (f", min_component={least}", f" --min-component {least}") if least else ("", "")
    what = f"{other.where}Louvain's {n_other} communities have a modularity of {other.modularity:.3f}"
    what = what[0].upper() + what[1:]
    if n == 1:
        chance = "Random graphs have a positive modularity too, so that alone does not make them real"
        if other.by_chance is not None:
            chance = f"Those of a random graph with the same degrees have {other.by_chance:.3f}"
        detail = f"{what}. {chance}."
        look = "To look at them all the same: {}, which says whether they are found again."
        if advised:
            return Finding("note", "another division has a higher modularity", detail, AS_ADVISED)
        python = look.format(f"n_clusters={n_other}{same[0]} and rectifact.selection.assess")
        shell = look.format(f"-k {n_other}{same[1]} --stability")
        return Finding("note", "another division has a higher modularity", detail, python, shell)
    why = "overlooks small communities in large graphs" if n > n_other else "also rises where chance is divided up"
    detail = (
        f"{what}, these {n} have {other.own_modularity:.3f}, and both agree with an adjusted Rand index of "
        f"{other.agreement:.2f}. Neither is right by that alone: modularity {why}."
    )
    if n == n_other or advised:
        remedy = "Nothing has to be done: SymNMF does not maximise modularity."
        remedy = remedy if n == n_other else AS_ADVISED
        return Finding("note", "another division has a higher modularity", detail, remedy)
    return Finding(
        "note",
        "another division has a higher modularity",
        detail,
        f"Compare with n_clusters={n_other}{same[0]}, and see with "
        "rectifact.selection.assess whether they are found again.",
        f"Compare with -k {n_other}{same[1]} --stability, which says whether they are found again.",
    )
