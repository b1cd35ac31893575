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
from rectifact.graph.components import SMALL_CLUSTER
from rectifact.graph.how_many import MOST, NODES_PER_CLUSTER, GraphTrial
from rectifact.selection.points import NOTHING

DIVIDED, MOST_DIVIDED = 2 * SMALL_CLUSTER, 20
"""Nodes of a component that may have several communities, unless all are smaller, and how many are looked at."""

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

    Components of fewer than 20 nodes are one community each, unless all are smaller and one is far larger than the
    others; so are those beyond the twenty largest.

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
    components = trial.components()
    large = [nodes for nodes in components if len(nodes) >= DIVIDED] or _main(components)
    found: list[Any] = []
    for i, nodes in enumerate(large[:MOST_DIVIDED] or components[:1]):  # which has the table, whether divided or not
        ks = (
            _shifted(wanted, len(components) - 1, nodes)
            if i == 0 and large
            else range(1, _most(nodes) + 1 if large else 2)
        )
        found.append(_chosen(select, estimator, trial.adjacency(nodes), ks, i, options))
        if found[-1].reason.startswith(ENDED):
            break
    numbers = [one.best for one in found] + [1] * (len(components) - len(found))
    table = found[0].table.assign(k=found[0].table["k"] + sum(numbers[1:]))
    sizes = [len(nodes) for nodes in components]
    unlooked = max(len(large) - len(found), 0)
    reason = _reason(found, numbers, sizes, unlooked)
    return Sum(tuple(numbers), sizes[-1], reason, all(one.sure for one in found) and not unlooked, table)


def _main(components: list[NDArray[Any]]) -> list[NDArray[Any]]:
    """The largest of small components, as a list, if it is twice as large as the next; others are communities."""
    alone = len(components) == 1 or len(components[0]) >= 2 * len(components[1])
    return components[:1] if alone else []


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


def _reason(found: list[Any], numbers: list[int], sizes: list[int], unlooked: int) -> str:
    """Where the communities are, and why there are as many."""
    if len(sizes) == 1:
        return str(found[0].reason)
    told = [(n, one) for n, one in zip(sizes, found, strict=False) if one.best > 1 or not one.sure]
    whole = len(sizes) - len(told)
    which = f"of the {len(sizes)} connected components of at least {count(sizes[-1], 'node')}"
    alike = "counts as one community" if whole == 1 else "count as one community each"
    said = [f"{whole or 'None'} {which} {alike}." if told else f"Each {which} counts as one community."]
    said += [f"In that of {count(n, 'node')}: {_within(one.reason)}" for n, one in told[:MOST_TOLD]]
    if len(told) > MOST_TOLD:
        more = sum(one.best for _, one in told[MOST_TOLD:])
        said.append(f"{count(len(told) - MOST_TOLD, 'further one')} have {more} communities, chosen alike.")
    said += [f"{sum(numbers)} communities in all."] if told else []
    if unlooked:
        said.append(f"{count(unlooked, 'component')} of {DIVIDED} nodes or more may have several: no number was tried.")
    return " ".join(said)


def _within(reason: str) -> str:
    """A reason as the end of a sentence."""
    known = reason.removeprefix(f"{NOTHING}: ")
    return known[0].lower() + known[1:]
