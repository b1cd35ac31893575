"""What to say about a column of a frame that names its rows, and is among the numbers to fit."""

import re
from typing import Any

import narwhals as nw
import numpy as np

NAMED = re.compile(r"(?i:id|uuid|.*[_ .-]id)|.*[a-z](Id|ID)")
LEAST_ROWS = 20
"""Fewer rows may have different values of a measurement."""


def about_identifiers(X: Any) -> tuple[str, str]:
    """What a frame has as a column of numbers though it names the rows, and what to do; nothing if it has none.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"customer_id": np.arange(12000.0, 12030.0), "spent": 1.0})
    >>> print(*about_identifiers(frame))
    The column 'customer_id' of X has a whole number of its own for each row, and is taken for a measurement. \
Use X.set_index('customer_id') if it names the rows, or drop it.
    >>> about_identifiers(frame[["spent"]])
    ('', '')
    """
    if not nw.dependencies.is_into_dataframe(X):
        return "", ""
    table = nw.from_native(X, eager_only=True)
    called = [name for name in table.columns if isinstance(name, str) and NAMED.fullmatch(name)]
    found = next((name for name in called if _are_identifiers(table[name])), None)
    if found is None:
        return "", ""
    what = f"The column {found!r} of X has a whole number of its own for each row, and is taken for a measurement."
    named = f"Use X.set_index({found!r}) if it names the rows, or drop it." if hasattr(X, "set_index") else "Drop it."
    return what, named


def _are_identifiers(column: Any) -> bool:
    if len(column) < LEAST_ROWS or not column.dtype.is_numeric() or column.n_unique() < len(column):
        return False
    values = column.to_numpy().astype(float)
    return bool((values >= 0).all() and (values == np.round(values)).all())
