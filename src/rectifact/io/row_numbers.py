"""Whole numbers in the first column of a table that may name its rows."""

import numpy as np
import pyarrow as pa

from rectifact.io.columns import WORDS, View, word
from rectifact.io.tables import is_number
from rectifact.io.whole_names import are_whole

LEAST_ROWS, SAME, LEAST_ID = 20, 5, 1000
"""Rows that a first column of different whole numbers may name, pairs that chance would make equal among measured
ones in their range, and the smallest identifier where it would make fewer equal."""


def may_name_rows(view: View, first: str) -> bool:
    """Whether the first column has a whole number of its own for each row, which no other column has.

    Measured numbers in so small a range would come again, or these are all of one length and above those of all other
    columns, as 10482 is among answers from 1 to 5.
    """
    n, others = len(view.table), [name for name in view.names if name != first and is_number(view.type(name))]
    if n < LEAST_ROWS or not others or not _is_whole(view, first) or not view.differ(first):
        return False
    if word(first) in {*WORDS["value"], *WORDS["count"]} or view.is_time(first):
        return False
    values = view.table.column(first).to_numpy().astype(float)
    low, high = values.min(), values.max()
    if not low >= 0 or any(view.differ(name) and _is_whole(view, name) for name in others):
        return False
    if n * n > 2 * SAME * (high - low + 1):
        return True
    most = max(float(np.nanmax(view.table.column(name).to_numpy().astype(float), initial=0)) for name in others)
    return bool(low >= LEAST_ID and len(f"{low:.0f}") == len(f"{high:.0f}") and most < low)


def _is_whole(view: View, name: str) -> bool:
    """Whether a column holds whole numbers, which are floats where one was missing once."""
    return pa.types.is_integer(view.type(name)) or are_whole(view.table.column(name))
