"""The number of communities of a graph in several components: chosen in each of them, and added up.

Scores of a whole graph would mislead: the components that get clusters at all depend on the number of clusters, and
so the scores of different numbers would be about different nodes.
"""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import scipy.sparse as sp
from numpy.typing import NDArray

from rectifact.core.errors import FitWarning, count
from rectifact.core.estimator import quiet_copy
from rectifact.graph.chance import divides_beyond_chance
from rectifact.graph.components import SMALL_CLUSTER
from rectifact.graph.how_many import MOST, NODES_PER_CLUSTER, GraphTrial
from rectifact.selection.communities import COMPARE, ONE

LARGE, MOST_DIVIDED = 2 * SMALL_CLUSTER, 20
"""Nodes from which hidden edges alone tell if a component has several communities, and how many are looked at."""

MOST_TOLD = 3
"""Components whose numbers are explained one by one."""

ENDED = "The search was ended early."
"""How the reason begins where somebody has ended the search."""


@dataclass(frozen=True)
class Sum:
    """Communities of each component, why, whether that is sure, and the table of the largest, with all of them."""

    numbers: tuple[int, ...]
    least: int
    reason: str
    sure: bool
    table: pd.DataFrame


def choose_by_component(
    select: Callable[..., Any], estimator: Any, trial: GraphTrial, wanted: Sequence[int], **options: Any
) -> Sum:
    """Choose the number of communities in each component that is large enough, and add them up.

    A community has at least as many nodes as a component needs to be one: a component that has twice as many may be
    divided, and once communities are found, half their mean size is enough. Hidden edges say little about fewer than
    20 nodes: such a component beside others is divided only if it divides more clearly than random graphs with the
    same degrees. Components beyond the twenty largest of those are one community each.

    Parameters
    ----------
    select : callable
        :func:`rectifact.selection.select`.
    estimator : GraphClusterer
    trial : GraphTrial
        Of the whole graph.
    wanted : sequence of int
        Numbers to choose from, ascending.
    **options
        Further arguments of ``select``.
    """
    least = trial.least()
    components = trial.components(least)
    found: dict[int, Any] = {}
    i, ended, unlooked = 0, False, 0
    while i < len(components):
        nodes = components[i]
        if _may_divide(trial, nodes, least, alone=len(components) == 1):
            if ended or len(found) == MOST_DIVIDED:
                unlooked += 1
            else:
                ks = range(1, _most(nodes) + 1) if found else _shifted(wanted, len(components) - 1, nodes)
                found[i] = _chosen(select, estimator, trial.adjacency(nodes), ks, i, options)
                ended = found[i].reason.startswith(ENDED)
                least = min(least, trial.least(_mean_size(components, found)))
                components = trial.components(least)  # the same ones, and smaller ones
        i += 1
    if not found:  # some component has the table
        found[0] = _chosen(select, estimator, trial.adjacency(components[0]), [1], 0, options)
    numbers = [found[i].best if i in found else 1 for i in range(len(components))]
    first = min(found)
    table = found[first].table.assign(k=found[first].table["k"] + sum(numbers) - numbers[first])
    sizes = [len(nodes) for nodes in components]
    reason = _reason(found, numbers, sizes, unlooked)
    return Sum(tuple(numbers), sizes[-1], reason, all(one.sure for one in found.values()) and not unlooked, table)


def _may_divide(trial: GraphTrial, nodes: NDArray[Any], least: int, *, alone: bool) -> bool:
    """Whether a component may have several communities."""
    if alone or len(nodes) < 2 * min(least, SMALL_CLUSTER):
        return alone
    return len(nodes) >= LARGE or divides_beyond_chance(trial.adjacency(nodes))


def _mean_size(components: list[NDArray[Any]], found: dict[int, Any]) -> int:
    """Mean size of the communities of the components that were looked at."""
    return sum(len(components[i]) for i in found) // sum(one.best for one in found.values())


def _most(nodes: NDArray[Any]) -> int:
    return max(1, min(MOST, len(nodes) // NODES_PER_CLUSTER))


def _shifted(wanted: Sequence[int], others: int, nodes: NDArray[Any]) -> list[int]:
    """Numbers for the largest component where the others have one community each."""
    most = _most(nodes)
    return [k - others for k in wanted if 1 <= k - others <= most] or [1 if wanted[0] <= others else most]


def _chosen(
    select: Callable[..., Any], estimator: Any, graph: sp.csr_array, ks: Sequence[int], i: int, options: dict[str, Any]
) -> Any:
    one = quiet_copy(estimator, affinity="precomputed", values="raw", min_component=None)
    if estimator.checkpoint is not None:
        one.set_params(checkpoint=Path(estimator.checkpoint) / f"component-{i}", resume=estimator.resume)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FitWarning)  # the reason says it
        return select(one, graph, ks, **options)


def _reason(found: dict[int, Any], numbers: list[int], sizes: list[int], unlooked: int) -> str:
    """Where the communities are, and why there are as many."""
    if len(sizes) == 1:
        return str(found[0].reason)
    told = [(sizes[i], one) for i, one in found.items() if one.best > 1 or not one.sure]
    whole = len(sizes) - len(told)
    which = f"of the {len(sizes)} connected components of at least {count(sizes[-1], 'node')}"
    alike = "counts as one community" if whole == 1 else "count as one community each"
    said = [f"{whole or 'None'} {which} {alike}." if told else f"Each {which} counts as one community."]
    said += [f"In the component of {count(n, 'node')}: {_within(one.reason)}" for n, one in told[:MOST_TOLD]]
    if len(told) > MOST_TOLD:
        more = sum(one.best for _, one in told[MOST_TOLD:])
        said.append(f"{count(len(told) - MOST_TOLD, 'further component')} together: {more} communities, chosen alike.")
    said += [f"{sum(numbers)} communities in all."] if told else []
    if unlooked:
        said.append(f"{count(unlooked, 'further component')} may have several communities: no number was tried.")
    return " ".join(said)


def _within(reason: str) -> str:
    """A reason as the end of a sentence; without advice, which names numbers for the whole graph."""
    known = reason.partition(f" {COMPARE} ")[0].removeprefix(f"{ONE}: ")
    return known[0].lower() + known[1:]
