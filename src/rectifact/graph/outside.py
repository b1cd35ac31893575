"""Nodes in no cluster: why, and what to do about it, in the same words for the fit, the command line and the report."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rectifact.core.errors import FitWarning, count
from rectifact.core.findings import Finding
from rectifact.graph.components import Components


def outside(labels: NDArray[Any], parts: Components, n_clusters: int, l1: float, what: str = "node") -> Finding | None:
    """Why nodes have no cluster, and what to do; None if all have one.

    Nodes without edges belong to no community, and small components need no cluster: both are a note.

    Parameters
    ----------
    labels : array of shape (n_nodes,)
        -1 for nodes in no cluster.
    parts : Components
    n_clusters : int
        Number of clusters of the fit.
    l1 : float
        Its penalty.
    what : str, default "node"
        What is clustered.

    Examples
    --------
    >>> parts = Components(np.array([0, 0, 0, 1, 1, 2]), np.array([3, 2, 1]), 3.0, 1)
    >>> found = outside(np.array([0, 0, 0, -1, -1, -1]), parts, 1, 0.0)
    >>> found.severity, found.finding, found.detail
    ('note', '3 nodes in no cluster', '1 without edges to others, and 2 in 1 connected component of 2 nodes.')
    >>> found.command
    'Nothing has to be done. To give the component a cluster of its own: --min-component 2 -k 2.'
    """
    if not (labels < 0).any():
        return None
    alone, small, unreached = _by_reason(labels, parts)
    reasons = [f"{alone.sum()} without edges to others"] if alone.any() else []
    reasons += [_small_said(parts, small, what)] if small.any() else []
    reasons += [f"{unreached.sum()} without a membership above 0 in any cluster"] if unreached.any() else []
    severity, remedy, command = _remedy(parts, small, unreached, n_clusters, l1, what)
    finding = f"{count(int((labels < 0).sum()), what)} in no cluster"
    one = f"{_them(finding)}{reasons[0].split(' ', 1)[1]}."
    detail = f"{', '.join(reasons[:-1])}, and {reasons[-1]}." if len(reasons) > 1 else one
    return Finding("warning" if severity else "note", finding, detail, remedy, command)


def outside_warning(finding: Finding, n: int) -> FitWarning:
    """The same finding as the warning of a fit to ``n`` nodes."""
    many, noun = finding.finding.split()[:2]
    has = "has" if many == "1" else "have"
    why = finding.detail.replace(_them(finding.finding), f"{many} ")
    said = f"{many} of {count(n, noun.removesuffix('s'))} {has} the label -1, in no cluster: {why}"
    return FitWarning(said, finding.remedy, option=("n_clusters", "min_component", "l1"), command=finding.command)


def _them(finding: str) -> str:
    return "It is " if finding.startswith("1 ") else "They are "


def _by_reason(labels: NDArray[Any], parts: Components) -> tuple[NDArray[np.bool_], ...]:
    """Which nodes have no edges, which are in components without a cluster, and which are not reached by any."""
    without, size = labels < 0, parts.sizes[parts.of_node]
    dropped = without & ~parts.clustered
    return dropped & (size == 1), dropped & (size > 1), without & parts.clustered


def _small_said(parts: Components, small: NDArray[np.bool_], what: str) -> str:
    sizes = parts.sizes[np.unique(parts.of_node[small])]
    most = "" if sizes.min() == sizes.max() else "at most "
    return f"{small.sum()} in {count(len(sizes), 'connected component')} of {most}{count(int(sizes.max()), what)}"


def _remedy(
    parts: Components, small: NDArray[np.bool_], unreached: NDArray[np.bool_], n_clusters: int, l1: float, what: str
) -> tuple[bool, str, str | None]:
    """Whether something should be done, and what, in the words of Python and of the command line."""
    if parts.large_enough > parts.n_clustered:
        raised = "Raise {} to " + f"{parts.large_enough} or more to give them clusters."
        return True, raised.format("n_clusters"), raised.format("-k")
    if unreached.any():
        return (True, "Lower l1.", "Lower --l1.") if l1 else (True, "Fit again with init='pool'.", "Add --init pool.")
    if not small.any():
        return False, f"Nothing has to be done: a {what} without edges belongs to no community.", None
    sizes = parts.sizes[np.unique(parts.of_node[small])]
    least, most = int(sizes.min()), n_clusters + len(sizes)
    give = f"give {'the component' if len(sizes) == 1 else 'each of the components'} a cluster of its own"
    done = f"Nothing has to be done. To {give}: "
    return False, f"{done}min_component={least}, n_clusters={most}.", f"{done}--min-component {least} -k {most}."
