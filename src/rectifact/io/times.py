"""The order in time of the rows of a table, by the one column that says when."""

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa

from rectifact.io.columns import View, plain, word
from rectifact.io.tables import is_name

DAY_AND_MONTH = re.compile(r"(\d{1,2})([-/.])(\d{1,2})[-/.](\d{4}|\d{2})(?:[T ]+(.*))?")
OF_A_CYCLE = {"day": 31, "month": 12}
"""Columns of which the numbers up to here come again, and say no order by themselves."""


class When(NamedTuple):
    """The column that says when, and when for each row; or neither of them and why not, in words."""

    column: str | None = None
    times: Any = None
    why_not: str = ""


def find_times(view: View, names: Sequence[str]) -> When:
    """When each row of a table happened, if exactly one of some columns says so."""
    said = [name for name in names if view.is_when(name)]
    if len(said) != 1:
        both = "both" if len(said) == 2 else "all"
        return When(why_not=f"{' and '.join(map(repr, said))} {both} say when" if said else "")
    (name,) = said
    times = _times(plain(view.table.column(name)), name)
    if times is None or pd.isna(times).any():
        return When(why_not=f"the times in {name!r} cannot be put in order")
    return When(name, times)


def _times(column: pa.ChunkedArray, name: str) -> Any:
    """Values that rise with time; None where those of the column do not say the order, as times of the day."""
    if pa.types.is_time(column.type):
        return None
    if is_name(column.type) and not pa.types.is_temporal(column.type):
        return read_dates(column.to_pylist())
    values = column.to_pandas()
    return None if not pa.types.is_temporal(column.type) and values.max() <= OF_A_CYCLE.get(word(name), 0) else values


def read_dates(texts: Sequence[str | None]) -> Any:
    """Texts as times; None if they are not dates, or if it is unclear whether the day or the month comes first.

    Examples
    --------
    >>> read_dates(["2024-01-31", "2024-02-01 10:30"])[1].hour
    10
    >>> str(read_dates(["1/2/2024 8:26", "25/2/2024 9:00"])[0].date()), read_dates(["1/2/2024", "3/4/2024"]) is None
    ('2024-02-01', True)
    """
    cells = [str(text).strip() for text in texts]
    found = [DAY_AND_MONTH.fullmatch(text) for text in cells]
    if all(found):
        parts = [match.groups() for match in found if match]
        first, second = (np.array([int(part[i]) for part in parts]) for i in (0, 2))
        day_first = {part[1] for part in parts} == {"."} or first.max() > 12
        if day_first == bool(second.max() > 12):
            return None
        order = (0, 2) if day_first else (2, 0)
        dates = [(*(int(part[i]) for i in order), _year(part[3]), part[4] or "") for part in parts]
        cells = [f"{year:04d}-{month:02d}-{day:02d} {rest}".strip() for day, month, year, rest in dates]
    times = pd.to_datetime(pd.Series(cells), format="mixed", errors="coerce", utc=True)
    return None if times.isna().any() else times


def _year(text: str) -> int:
    """A year of two digits is one from 1970 to 2069."""
    return int(text) if len(text) == 4 else (1900 if int(text) >= 70 else 2000) + int(text)
