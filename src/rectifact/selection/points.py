"""The number of clusters of points: how many groups stand apart."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rectifact.graph.gaps import Division
from rectifact.io.columns import listing

NOTHING = "No stable structure"
"""How the reason begins where one part, dimension or cluster of points is enough."""

MEASURE = (
    "how much rarer points are around a group than inside it, relative to what chance explains; 1 or less may be chance"
)

CLOSE = 0.9
"""From here up to its inverse, a group may or may not stand apart."""

SHOWN = 3
"""Groups that do not stand apart, in the table."""


@dataclass(frozen=True)
class Count:
    """How many groups stand apart: the number, why in a sentence or two, whether it is sure, and a table.

    ``columns`` are those that show more groups alone, if there are any.
    """

    best: int
    reason: str
    sure: bool
    table: pd.DataFrame
    columns: tuple[int, ...] = ()


def choose_for_points(
    apart: NDArray[Any],
    numbers: Sequence[int],
    smallest: int,
    in_columns: tuple[list[int], int] = ([], 1),
    compact: Division | None = None,
) -> Count:
    """Count the groups that stand apart, and take the nearest number that was asked for.

    Parameters
    ----------
    apart : array
        How far each group stands apart, largest first, as :func:`rectifact.graph.gaps.groups_apart` has it.
    numbers : sequence of int
        Numbers to choose from, ascending.
    smallest : int
        Points of the smallest group that was looked for.
    in_columns : tuple of list and int, default ([], 1)
        Columns that show groups by themselves, and how many groups stand apart in these.
    compact : Division or None, default None
        One into more groups, which are compact, though no gap divides all of them.

    Examples
    --------
    >>> found = choose_for_points(np.array([np.inf, 3.0, 1.5, 0.4]), range(1, 9), 15)
    >>> found.best, found.sure, found.table["k"].tolist()
    (3, True, [2, 3, 4])
    """
    groups = max(1, int((apart > 1).sum()))
    best = min(numbers, key=lambda k: (abs(k - groups), k))
    doubt = " ".join(filter(None, [_doubt(apart, groups) or _compact(compact), _hidden(groups, *in_columns)]))
    reason = " ".join(filter(None, [_reason(groups, smallest), doubt, _asked(groups, best, numbers)]))
    last = max(groups + SHOWN, best)
    scores = {k: float(apart[k - 1]) if k <= len(apart) else 0.0 for k in range(2, min(last, len(apart)) + 1)}
    scores |= {in_columns[1]: 0.0} if in_columns[1] > max(groups, len(apart)) else {}
    scores |= {compact.groups: 0.0} if compact is not None and compact.groups not in scores else {}
    scores.setdefault(best, np.nan if best == 1 else 0.0)
    blank = {"standard_error": np.nan, "stability": np.nan, "seconds": np.nan}
    table = pd.DataFrame([{"k": k, "score": scores[k], **blank} for k in sorted(scores)])
    hidden = tuple(in_columns[0]) if in_columns[1] > groups else ()
    return Count(best, reason, not doubt and best == groups, table, hidden)


def _reason(groups: int, smallest: int) -> str:
    if groups == 1:
        what = f"{NOTHING}: no group of points stands apart from the others more than chance explains."
        return f"{what} Groups of fewer than {smallest} points are not looked for."
    return f"{groups} groups of points stand apart: between them, points are rarer than chance explains."


def _doubt(apart: NDArray[Any], groups: int) -> str:
    """What speaks for more groups, or for fewer."""
    if len(apart) > groups and apart[groups] > CLOSE:
        more = int((apart > CLOSE).sum()) - groups
        who = "one more almost stands" if more == 1 else f"{more} more almost stand"
        return f"{groups + more} would be nearly as likely: {who} apart."
    if groups > 1 and apart[groups - 1] < 1 / CLOSE:
        fewer = groups - max(1, int((apart >= 1 / CLOSE).sum()))
        who = "one of them hardly stands" if fewer == 1 else f"{fewer} of them hardly stand"
        return f"{groups - fewer} would be nearly as likely: {who} apart."
    return ""


def _compact(division: Division | None) -> str:
    """That a plain division of a small table has more groups, which are compact."""
    if division is None:
        return ""
    n = division.groups
    return (
        f"Average linkage makes {n} compact groups (mean silhouette {division.silhouette:.2f}), though gaps as wide as "
        f"those between them may be chance. Compare with -k {n} (n_clusters in Python)."
    )


def _hidden(groups: int, columns: list[int], in_columns: int) -> str:
    """That some columns show more groups than all together."""
    if in_columns <= groups:
        return ""
    where, keep = named_columns(columns)
    return (
        f"There may be more: in {where} alone, {in_columns} groups stand apart, and columns that do not tell groups "
        f"apart hide them. {keep}, or compare with -k {in_columns} (n_clusters in Python)."
    )


def named_columns(columns: Sequence[int], names: Sequence[Any] | None = None) -> tuple[str, str]:
    """Columns in words, and that they should be kept alone: by their numbers, or as an option that can be pasted.

    Examples
    --------
    >>> named_columns([0, 2])[0], named_columns([0, 2], ["age", "weight", "body height"])
    ('columns 1 and 3', ("columns 'age' and 'body height'", "Keep these alone with --columns 'age,body height'"))
    """
    told = [str(j + 1) if names is None else repr(str(names[j])) for j in columns]
    where = f"columns {', '.join(told[:-1])} and {told[-1]}" if len(told) > 1 else f"column {told[0]}"
    by_name = "(on the command line by name, with --columns)"
    how = by_name if names is None else f"with --columns {listing([str(names[j]) for j in columns])}"
    return where, f"Keep {'these' if len(told) > 1 else 'it'} alone {how}"


def _asked(groups: int, best: int, numbers: Sequence[int]) -> str:
    if best == groups:
        return ""
    where = "smallest" if best == numbers[0] else "largest" if best == numbers[-1] else "nearest"
    return f"{best} is the {where} number that was asked for."
