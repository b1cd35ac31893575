"""Clusters next to groups that are known: a table of both, and how far they agree."""

from dataclasses import dataclass
from typing import Any

import pandas as pd
from numpy.typing import NDArray
from sklearn.metrics import adjusted_rand_score

from rectifact.core.errors import InputError, count
from rectifact.metrics import cluster_accuracy, nmi

MOST_GROUPS = 100
"""Groups from which on a column is taken for numbers or names."""


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
    """

    title: str
    table: pd.DataFrame
    n_left_out: int
    nmi: float
    ari: float
    accuracy: float

    def sentence(self, what: str) -> str:
        """The figures in words; ``what`` is one of the clustered things, such as ``"node"``."""
        n = int(self.table.to_numpy().sum())
        left = f"; {count(self.n_left_out, what)} without a cluster or a group left out" if self.n_left_out else ""
        return (
            f"Clusters and the known groups of {self.title!r} agree with an NMI of {self.nmi:.2f} and an adjusted Rand "
            f"index of {self.ari:.2f} (1 if they are the same, about 0 by chance), and an accuracy of "
            f"{self.accuracy:.0%} if each cluster stands for one group ({count(n, what)}{left})."
        )

    def summary(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        rows = {str(cluster): row.to_dict() for cluster, row in self.table.iterrows()}
        figures = {"nmi": round(self.nmi, 4), "ari": round(self.ari, 4), "accuracy": round(self.accuracy, 4)}
        return {"column": self.title, **figures, "left_out": self.n_left_out, "table": rows}


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
    >>> import numpy as np
    >>> found = compare_with_groups(np.array([0, 0, 1, 1, -1]), ["a", "a", "b", "a", "b"], "kind")
    >>> found.table.to_numpy().tolist(), found.accuracy, found.n_left_out
    ([[2, 0], [1, 1]], 0.75, 1)
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
    return Comparison(title, table, int(len(labels) - inside.sum()), *figures)


def _called(value: Any) -> str:
    """What a group is called; whole numbers are without a point, also beside gaps."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
