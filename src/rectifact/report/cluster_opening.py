"""The first screen of a report on clusters: the sentences that matter most, and what to do next."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from rectifact.core.findings import Finding
from rectifact.graph.comparison import compare_with_groups
from rectifact.graph.diagnosis import WEAK, listed
from rectifact.models import SavedModel
from rectifact.report.members import in_units, noun
from rectifact.report.names import count
from rectifact.report.overlaps import bridges_of
from rectifact.selection.communities import COMPARE, advice_in

NEGLIGIBLE = 0.005
"""Conductance that counts as none."""


def clusters_opening(saved: SavedModel, findings: Sequence[Finding]) -> tuple[list[str], list[str]]:
    """Sentences and next steps."""
    model, table = saved.model, saved.model.cluster_report()
    sizes, cuts = table["size"].to_numpy(), table["conductance"].to_numpy()
    what, points = noun(model), hasattr(model, "points_")
    main = _how_sure(saved)
    for title, values in (saved.groups or {}).items():
        main.append(compare_with_groups(model.labels_, values, title).sentence(what))
    if model.n_clusters == 1:
        all_of = "All" if sizes.max() == len(model.labels_) else f"{sizes.max():,} of"
        return [*main, f"{all_of} {count(len(model.labels_), what)} are in one cluster."], _steps(saved, findings)
    inside = int(sizes.sum())
    among = f" among the {count(inside, what)} in a cluster" if inside < len(model.labels_) else ""
    if points:
        main.append(f"{model.coverage_:.0%} of the weight between neighbours is inside clusters.")
    else:
        main.append(
            f"{model.coverage_:.0%} of the weight of the edges is inside the {count(model.n_clusters, 'cluster')}. "
            f"Modularity is {model.modularity_:.2f}{among}. Random graphs also reach 0.3 if the best division is "
            "sought, so modularity alone does not show that clusters are real; stability and -k auto do."
        )
    main[-1] += (
        f" The largest of {count(model.n_clusters, 'cluster')} has {count(int(sizes.max()), what)}, the smallest "
        f"{count(int(sizes.min()), what)}."
    )
    if np.isfinite(cuts).any() and np.nanmax(cuts) < NEGLIGIBLE:
        main.append("Hardly any weight leaves the clusters.")
    elif np.isfinite(cuts).any() and np.nanmax(cuts) - np.nanmin(cuts) < NEGLIGIBLE:
        main.append(
            f"All clusters are equally well separated (conductance {np.nanmax(cuts):.2f}); conductance is the share of "
            "the weight that leaves a cluster."
        )
    elif np.isfinite(cuts).any():
        best, last = int(np.nanargmin(cuts)), int(np.nanargmax(cuts))
        main.append(
            f"Cluster {best + 1} is the best separated (conductance {cuts[best]:.2f}), cluster {last + 1} the least "
            f"({cuts[last]:.2f}); conductance is the share of the weight that leaves a cluster."
        )
    return main, _steps(saved, findings)


def _how_sure(saved: SavedModel) -> list[str]:
    """Who chose the number, and how far the clusters are found again."""
    model, selection = saved.model, saved.selection
    if selection is not None and model.n_clusters == 1:
        return [selection.reason]
    said = f"You gave the number of clusters, {model.n_clusters}."
    if selection is not None:
        said = f"The number of clusters, {model.n_clusters}, was chosen from the data: {selection.reason}"
    stability = getattr(model, "stability_", None)
    if stability is None or model.n_clusters == 1:
        return [said]
    low, high = float(np.min(stability)), float(np.max(stability))
    weak = int((np.asarray(stability) < WEAK).sum())
    span = f"{low:.2f}" if f"{low:.2f}" == f"{high:.2f}" else f"{low:.2f} to {high:.2f}"
    which = "none of them is" if weak == len(stability) else f"{weak} of them {'is' if weak == 1 else 'are'} not"
    which = which if weak else "all of them are"
    said += f" Where a tenth of the edges is left out, {which} found again (stability {span}; 1 is the same cluster, "
    return [f"{said}and below {WEAK:g} a cluster is not found again)."]


def _to_compare(saved: SavedModel, findings: Sequence[Finding]) -> list[str]:
    """Divisions to compare with before clusters are given names: what findings name, and what the choice does."""
    advised = [] if saved.selection is None else list(filter(None, [advice_in(saved.selection.reason)]))
    options = [each.command or each.remedy for each in findings]
    return [option for option in options if option.startswith(f"{COMPARE} with ")] + advised


def _steps(saved: SavedModel, findings: Sequence[Finding]) -> list[str]:
    model, points, what = saved.model, hasattr(saved.model, "points_"), noun(saved.model)
    stability = getattr(model, "stability_", None)
    compare = _to_compare(saved, findings)
    if model.n_clusters == 1:
        return compare if saved.selection is not None else [*compare, _choose(points)]
    steps, weak = [], np.zeros(model.n_clusters, dtype=bool) if stability is None else np.asarray(stability) < WEAK
    if weak.all():
        why = "none of them is found again where a tenth of the edges is left out"
        steps.append(f"Do not interpret these clusters: {why}.")
    steps += compare
    if not weak.all() and (not points or in_units(model) is not None):
        where = "under Columns are the means of each" if points else "the hubs of each come first under Communities"
        which = listed((np.flatnonzero(~weak) + 1).tolist()) if weak.any() else "the clusters"
        steps.append(f"Name {which}: {where}.")
    between = bridges_of(model)
    if len(between) and not weak.all():
        clear = int(between["clear"].sum())
        who = f"the {_several(clear, what)} that clearly {'lies' if clear == 1 else 'lie'} between clusters"
        steps += [f"Look at {who}, under Overlaps."] * (clear > 0)
    for title, values in (saved.groups or {}).items():
        n = len(compare_with_groups(model.labels_, values, title).disagree)
        own = "disagrees with its" if n == 1 else "disagree with their"
        steps += [f"Look at the {_several(n, what)} that {own} known group, under Known groups."] * (n > 0)
    if saved.selection is None:
        steps.append(_choose(points))
    if stability is None:
        steps.append("Find out which clusters are found again when edges are drawn again: --stability.")
    return steps


def _several(n: int, what: str) -> str:
    """A number of things after an article, which needs none for a single one."""
    return what if n == 1 else count(n, what)


def _choose(points: bool) -> Any:
    return f"Let the {'points' if points else 'graph'} choose the number of clusters: -k auto."
