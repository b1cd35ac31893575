"""The table that rectifact cluster writes, one row per node or point."""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rectifact.cli.how_many import Found
from rectifact.cli.light_rows import Points
from rectifact.cli.tables import samples_table
from rectifact.graph.comparison import Comparison
from rectifact.graph.results import leading_memberships

ROLES = ["neighbours", "share_inside", "hub_rank", "bridge_to"]
GROUPS = ["known_group", "cluster_group", "agrees"]
RESERVED = {"cluster", "stability", "membership", "next_cluster", "next_membership", *ROLES, *GROUPS}
"""Columns of the table, which the names of the rows cannot be called."""


def node_table(
    found: Found,
    placed: tuple[NDArray[Any], NDArray[Any]],
    points: Points,
    roles: pd.DataFrame | None,
    compared: Comparison | None,
) -> pd.DataFrame:
    """One row per node: its cluster, its memberships and, where they are known, stability, groups and resamples.

    ``placed`` has the clusters and memberships of all nodes or points, also of those that the fit left aside.
    """
    labels, membership = placed
    title = points.everything.title
    title = "sample" if title in RESERVED else title
    table = samples_table(membership, points.everything.names, "membership", title)
    table.insert(1, "cluster", np.where(labels >= 0, labels + 1, -1))
    if found.stability is not None and found.model.n_clusters > 1:
        table.insert(2, "stability", np.where(labels >= 0, found.stability[labels], np.nan))
    leading: dict[str, Any] = leading_memberships(labels, membership)
    leading |= {} if roles is None else {name: roles[name] for name in ROLES}
    leading |= {} if compared is None else group_columns(compared)
    for name in {"next_cluster", "bridge_to"} & set(leading):
        following = pd.Series(leading[name] + 1, dtype="Int64")
        leading[name] = following.mask(following == 0)
    place = list(table.columns).index("membership1")
    for i, (name, values) in enumerate(leading.items()):
        table.insert(place + i, name, values)
    if found.trust is not None and found.trust.membership is not None:
        for k, share in enumerate(points.spread(found.trust.membership).T, 1):
            table[f"share{k}"] = share
    return table


def group_columns(compared: Comparison) -> dict[str, Any]:
    """The known group of each node, the one that its cluster stands for, and whether they agree; gaps if unknown."""
    same = pd.array(np.where(compared.known == compared.stands_for, True, False), dtype="boolean")
    same[pd.isna(compared.known) | (len(compared.table) == 1)] = pd.NA
    return dict(zip(GROUPS, (compared.known, compared.stands_for, same), strict=True))
