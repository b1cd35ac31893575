"""Numbers in the first line of a table: the names of its columns, or data."""

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rectifact.io.columns import Options, View, ask
from rectifact.io.frames import Frame
from rectifact.io.tables import is_number
from rectifact.io.text import text_suffix

FEWEST_EVEN, FEWEST_ORDERED = 5, 10
"""Columns from which numbers of the first line in equal steps, or only in order, are likely to be an axis."""


def check_header(view: View) -> None:
    """Ask about a first line of numbers that go up as years or wavelengths do, and as no other line does.

    An empty corner above a column without gaps is the place of a header, too.
    """
    if view.frame.named or view.options.header is not None or len(view.table) < 2:
        return
    first = view.table.slice(0, 1000).columns
    if not all(is_number(column.type) for column in first):
        return
    rows = np.column_stack([column.to_numpy() for column in first])
    places = [are_places(row) for row in rows]
    gaps = np.isnan(rows[:, 0].astype(float))
    if (places[0] and sum(places) == 1) or (gaps[0] and gaps.sum() == 1):
        ask(
            f"The numbers in the first line of {view.where} may be names of columns or data.",
            "Use --header or --no-header.",
        )


def are_places(row: NDArray[Any]) -> bool:
    """Whether numbers may be places on an axis: one after the other, in equal steps, or in order where there are many.

    Examples
    --------
    >>> are_places(np.array([2019, 2020, 2021])), are_places(np.array([1, 3, 5])), are_places(np.arange(400, 500, 5))
    (True, False, True)
    >>> are_places(np.array([400, 401, 403, 407, 410, 412, 420, 428, 431, 440])[::-1])
    True
    """
    steps = np.diff(row)
    if len(row) < 3 or not ((steps > 0).all() or (steps < 0).all()):
        return False
    even = bool(np.allclose(steps, steps[0]))
    return bool((steps == 1).all()) or (even and len(row) >= FEWEST_EVEN) or len(row) >= FEWEST_ORDERED


def may_begin_with_edge(frame: Frame, options: Options) -> bool:
    """Whether the line 0,1 or 0,1,2 above numbers of nodes may be an edge, and not numbers in place of names."""
    names, kinds = frame.table.column_names, frame.table.schema.types
    if not frame.named or names not in (["0", "1"], ["0", "1", "2"]) or text_suffix(frame.path) == ".parquet":
        return False
    if options.header or options.table or options.keep or "0" in (*options.triples, *options.drop, options.id_column):
        return False
    return all(map(pa.types.is_integer, kinds[:2]))
