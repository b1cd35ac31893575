"""Clusters next to groups that are known: a table of both, and how far they agree."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import adjusted_rand_score

from rectifact.core.errors import InputError, count
from rectifact.io.listed import MOST_GROUPS
from rectifact.metrics import cluster_accuracy, nmi

MOST_NAMED = 5
"""Nodes or groups that a sentence names."""

ROUNDING = 9
"""Digits after which a figure differs from 0 or 1 only by the rounding of its computation."""


@dataclass(frozen=True, eq=False)
class Comparison:
    """How far clusters and known groups agree, over the nodes that have both.

    Parameters
    ----------
    title : str
        What the groups are called.
    table : DataFrame
        Numbers of nodes: a row per cluster, from 1 on, and a column per group.
    n_left_out : int
        Nodes in no cluster, or without a group.
    nmi, ari, accuracy : float
        Normalised mutual information; adjusted Rand index; share of nodes that are right under the best one-to-one
        matching of clusters and groups.
    known : array of shape (n_nodes,)
        The group of each node, None for those that are left out.
    stands_for : array of shape (n_nodes,)
        The group that most nodes of its cluster are in, None for nodes that are left out.
    """

    title: str
    table: pd.DataFrame
    n_left_out: int
    nmi: float
    ari: float
    accuracy: float
    known: NDArray[Any]
    stands_for: NDArray[Any]

    @property
    def disagree(self) -> NDArray[Any]:
        """Places of the nodes whose known group is not the one that their cluster stands for; none in one cluster."""
        return np.flatnonzero((self.known != self.stands_for) & (len(self.table) > 1))

    def sentence(self, what: str) -> str:
        """The figures in words; ``what`` is one of the clustered things, such as ``"node"``."""
        n = int(self.table.to_numpy().sum())
        left = f"; {count(self.n_left_out, what)} without a cluster or a group left out" if self.n_left_out else ""
        few = f"Only {n:,} of {count(n + self.n_left_out, what)} can be compared, which says little about the others. "
        return (few if n < self.n_left_out else "") + (
            f"Clusters and the known groups of {self.title!r} agree with an NMI of {figure(self.nmi, '.2f')} and an "
            f"adjusted Rand index of {figure(self.ari, '.2f')} (1 if they are the same, about 0 by chance), and an "
            f"accuracy of {figure(self.accuracy, '.0%')} if each cluster stands for one group ({count(n, what)}{left})."
        )

    def disagreement(self, names: Sequence[str], what: str) -> str:
        """Which nodes are not with their known group, in words, by their ``names``."""
        if len(self.table) == 1:
            those = f"{what}s with a known group" if self.n_left_out else f"{what}s"
            return f"As all {those} are in one cluster, none can be said to disagree with its known group."
        n, inside = len(self.disagree), int(self.table.to_numpy().sum())
        start = f"If each cluster stands for the group of most of its {what}s,"
        if not n:
            return f"{start} no {what} disagrees with its known group."
        such = [f"{names[i]} ({self.known[i]!r} among {self.stands_for[i]!r})" for i in self.disagree]
        if 2 * n > inside:
            return (
                f"{start} {n:,} of {count(inside, what)} disagree with their known group: clusters are something else."
            )
        alone = [repr(group) for group in self.table.columns if group not in set(self.stands_for)]
        for_none = f" No cluster stands for {_first(alone)}." if alone else ""
        verb = "disagrees with its" if n == 1 else "disagree with their"
        return f"{start} {n:,} of {count(inside, what)} {verb} known group: {_first(such)}.{for_none}"

    def summary(self, names: Sequence[str]) -> dict[str, Any]:
        """Plain values, for JSON; nodes that disagree by their ``names``."""
        rows = {str(cluster): row.to_dict() for cluster, row in self.table.iterrows()}
        figures: dict[str, Any] = {
            "nmi": round(self.nmi, 4),
            "ari": round(self.ari, 4),
            "accuracy": round(self.accuracy, 4),
        }
        figures |= {"left_out": self.n_left_out, "disagree": [names[i] for i in self.disagree]}
        return {"column": self.title, **figures, "table": rows}


def compare_with_groups(labels: NDArray[Any], groups: Any, title: str) -> Comparison:
    """Compare the clusters of nodes with the groups that they are known to be in.

    Parameters
    ----------
    labels : array of shape (n_nodes,)
        -1 for nodes in no cluster.
    groups : array of shape (n_nodes,)
        Missing or empty where the group of a node is not known.
    title : str
        What the groups are called.

    Examples
    --------
    >>> found = compare_with_groups(np.array([0, 0, 1, 1, -1]), ["a", "a", "b", "a", "b"], "kind")
    >>> found.table.to_numpy().tolist(), found.accuracy, found.n_left_out
    ([[2, 0], [1, 1]], 0.75, 1)
    >>> found.disagree.tolist()
    [3]
    """
    known = pd.Series(list(groups), dtype=object)
    inside = (known.notna() & (known.astype(str).str.strip() != "")).to_numpy() & (labels >= 0)
    names, found = known[inside].map(_called), labels[inside] + 1
    if not inside.any():
        raise InputError(f"No node in a cluster has a value of {title!r}.", "Check the names of the nodes.")
    if names.nunique() > MOST_GROUPS:
        what = f"The column {title!r} has {names.nunique():,} different values, too many for groups."
        raise InputError(what, "Name the column of the groups.")
    table = pd.crosstab(pd.Series(found, name="cluster"), names.reset_index(drop=True))
    table.columns = pd.Index([str(name) for name in table.columns])
    figures = nmi(names, found), float(adjusted_rand_score(names, found)), cluster_accuracy(names, found)
    groups_of = np.full((2, len(labels)), None, dtype=object)
    groups_of[0, inside] = names
    groups_of[1, inside] = _most_frequent(table).loc[found]
    return Comparison(title, table, int(len(labels) - inside.sum()), *figures, *groups_of)


def figure(value: float, form: str) -> str:
    """A figure in words, with as many more digits as it takes to tell what is not quite 1 or 0 from it.

    Examples
    --------
    >>> figure(0.995, ".0%"), figure(1.0, ".0%"), figure(0.9997, ".2f"), figure(0.5, ".2f")
    ('99.5%', '100%', '0.9997', '0.50')
    """
    exact = round(float(value), ROUNDING) + 0.0  # not -0.0
    ends = {format(end, form) for end in (-0.0, 0.0, 1.0)}
    if format(exact, form) not in ends or exact in (0, 1):
        return format(exact, form)
    return figure(exact, f".{int(form[1:-1]) + 1}{form[-1]}")


def _most_frequent(table: pd.DataFrame) -> pd.Series:
    """The group of most nodes of each cluster; of several, the one that the best one-to-one matching gives it."""
    counts = table.to_numpy().astype(float)
    rows, columns = linear_sum_assignment(counts, maximize=True)
    counts[rows, columns] += 0.5
    return pd.Series(table.columns[counts.argmax(axis=1)], index=table.index)


def _first(words: list[str]) -> str:
    more = f" and {len(words) - MOST_NAMED:,} more" if len(words) > MOST_NAMED else ""
    return ", ".join(words[:MOST_NAMED]) + more


def _called(value: Any) -> str:
    """What a group is called; whole numbers are without a point, also beside gaps."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value).strip()
