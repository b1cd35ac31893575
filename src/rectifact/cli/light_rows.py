"""Samples with few values, which lie between groups: rectifact embed counts values, and cluster sets such rows aside.

Customers with two purchases are near the middle of a map, whatever kind they are of. If they are many, they bridge the
gaps between kinds, and no group stands apart. The groups of the other samples do; the light ones are then placed by
these, as new points are.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rectifact.cli.cluster_data import Given
from rectifact.cli.terminal import say
from rectifact.core.errors import count

COLUMN = "n_values"
"""What the table of positions calls the number of values of a sample."""

ENOUGH, LEAST_COLUMNS, MANY = 10, 50, 0.05
"""Values from which on a position is known well, columns that there must be for a row to have few of them, and the
share of light rows from which on they matter."""


def values_of(X: Any) -> NDArray[Any] | None:
    """How many values above 0 each row has, or None unless many rows of wide data have few.

    Examples
    --------
    >>> X = np.tile(np.arange(60) < 20, (10, 1))
    >>> X[:2, 2:] = False
    >>> values_of(X).tolist(), values_of(X[2:])
    ([2, 2, 20, 20, 20, 20, 20, 20, 20, 20], None)
    """
    if X.shape[1] < LEAST_COLUMNS:
        return None
    n_values = np.asarray((X > 0).sum(axis=1)).ravel()
    return n_values if (n_values < enough(n_values)).mean() >= MANY else None


def enough(n_values: NDArray[Any]) -> int:
    """Values from which on a row counts where groups are looked for: never more than half of the rows have."""
    return int(min(ENOUGH, np.ceil(np.median(n_values))))


def about_light(n_values: NDArray[Any] | None) -> str:
    """What the table has besides positions, and what cluster does with it."""
    if n_values is None:
        return ""
    least = enough(n_values)
    return (
        f"{_light(int((n_values < least).sum()), 'sample', least)}, too few to tell their group. cluster goes by the "
        f"column {COLUMN}, which is not a coordinate, and places them last. "
    )


def _light(n: int, what: str, least: int) -> str:
    return f"{count(n, what)} {'has' if n == 1 else 'have'} fewer than {least} values"


class Points(NamedTuple):
    """All points, and which of them groups are looked for in."""

    everything: Given
    sure: NDArray[np.bool_]
    least: int = 0

    @property
    def given(self) -> Given:
        """The points in which groups are looked for."""
        if self.sure.all():
            return self.everything
        return self.everything._replace(
            X=self.everything.X[self.sure], names=np.asarray(self.everything.names)[self.sure]
        )

    def say_aside(self) -> None:
        """Say how many points are set aside, and how to keep them."""
        n = len(self.sure) - int(self.sure.sum())
        if n:
            say(
                f"{_light(n, 'point', self.least)} and may lie between groups: clusters are found among the other "
                f"{int(self.sure.sum()):,}, and these are placed afterwards. To treat all alike, add --drop {COLUMN}."
            )

    def spread(self, values: NDArray[Any]) -> NDArray[Any]:
        """Rows for all points, with gaps for those that are set aside."""
        every = np.full((len(self.sure), *values.shape[1:]), np.nan)
        every[self.sure] = values
        return every

    def placed(self, model: Any) -> tuple[NDArray[Any], NDArray[Any]]:
        """Clusters and memberships of all points: those of the fit, and of light ones by the points near them."""
        labels, membership = np.asarray(model.labels_), np.asarray(model.membership_, dtype=float)
        if self.sure.all():
            return labels, membership
        light = np.asarray(self.everything.X)[~self.sure]
        every, shares = self.spread(labels), self.spread(membership)
        every[~self.sure], shares[~self.sure] = model.predict(light), model.predict_membership(light)
        return every.astype(labels.dtype), shares

    def say_placed(self, labels: NDArray[Any]) -> None:
        """Say how large clusters are with the light points."""
        if not self.sure.all() and labels.max() > 0:
            sizes = ", ".join(map(str, np.bincount(labels[labels >= 0]).tolist()))
            say(
                f"With those of fewer than {self.least} values, clusters have {sizes} points. The cluster of such a "
                f"point is often wrong: the fewer values in the column {COLUMN}, the less sure it is."
            )

    def columns(self, values: dict[str, Any]) -> dict[str, Any]:
        """Known groups of the points in which clusters are looked for."""
        return {name: np.asarray(each)[self.sure] for name, each in values.items()}


def set_light_aside(given: Given) -> Points:
    """Points, of which those with few values are set aside if the table is one that embed has written with them."""
    names = [] if given.what == "node" or given.columns is None else [str(name) for name in given.columns]
    if COLUMN not in names or any(not name.startswith("position") for name in names if name != COLUMN):
        return Points(given, np.ones(len(given.names), dtype=bool))
    place = names.index(COLUMN)
    n_values, X = np.asarray(given.X)[:, place], np.delete(np.asarray(given.X), place, axis=1)
    least = enough(n_values)
    points = Points(given._replace(X=X, columns=np.delete(np.asarray(given.columns), place)), n_values >= least, least)
    points.say_aside()
    return points
