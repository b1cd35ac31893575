"""Numbers whose thousands are separated, such as 1.234,56, and identifiers that begin with zeros, in text files."""

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rectifact.core.errors import InputError
from rectifact.io.tables import MISSING

MARKS = (".", ",", " ", "\N{NO-BREAK SPACE}", "\N{NARROW NO-BREAK SPACE}", "'", "\N{RIGHT SINGLE QUOTATION MARK}")
"""What separates thousands."""

MOST_PADDED, LEAST_DIGITS = 20, 4
"""Columns of a table in which identifiers that begin with zeros are looked for, and digits that each of them has."""

Texts = Callable[[str], list[str]]


def read_thousands(
    path: Path, table: pa.Table, texts: Texts, *, separator: str, decimal: str, mark: str | None
) -> tuple[pa.Table, list[str]]:
    """The table with columns of grouped numbers as numbers, and a remark that says how they were read.

    Parameters
    ----------
    path : Path
        For errors.
    table : pyarrow.Table
    texts : callable
        The cells of a column as they are written.
    separator, decimal : str
        Between columns, and of decimals, as far as that is known.
    mark : str or None
        What separates thousands, if the user says so; ``"none"`` if nothing does.
    """
    said, first = [], table.column_names[0] if table.num_columns else ""
    for i, (name, column) in enumerate(zip(table.column_names, table.columns, strict=True)):
        if mark == "none" or (name == first and len(column.unique()) == len(column)):  # names of the rows
            continue
        if pa.types.is_string(column.type):
            different = [cell for cell in column.unique().to_pylist() if not _is_gap(cell)]
            found = _grouped(different, separator, decimal, mark)
            cells = column.to_pylist() if found else []
        elif pa.types.is_floating(column.type) and separator != "," and decimal == "." and _may_be_grouped(column):
            cells = texts(name)
            found = _point(path, name, cells, mark)
        else:
            continue
        if found:
            values = [_number(cell, *found) for cell in cells]
            table = table.set_column(i, name, pa.array(values, _kind(values)))
            place = next(row for row, cell in enumerate(cells) if cell and found[0] in cell.strip())
            said.append((name, cells[place], values[place]))
    if not said:
        return table, []
    name, cell, value = said[0]
    more = f", and so are {len(said) - 1} more such columns" if len(said) > 1 else ""
    return table, [f"{cell.strip()} in {name!r} is read as {value:.12g}{more}"]


def _pattern(mark: str, decimal: str) -> re.Pattern[str]:
    groups = rf"[1-9]\d{{0,2}}({re.escape(mark)}\d{{3}})+"
    return re.compile(rf"\s*[+-]?({groups}|\d+)({re.escape(decimal)}\d+)?\s*")


def _grouped(cells: list[str], separator: str, decimal: str, mark: str | None) -> tuple[str, str] | None:
    """The mark of the thousands and that of the decimals, if all cells are numbers and it is certain.

    Examples
    --------
    >>> _grouped(["30,99", "1.234,56"], ";", ",", None), _grouped(["1,046", "12"], ",", ".", None)
    (('.', ','), (',', '.'))
    """
    for own in MARKS if mark is None else (mark,):
        if not any(own in cell.strip() for cell in cells):
            continue
        for point in {",": ".", ".": ","}.get(own, ",."):
            pattern = _pattern(own, point)
            matches = [pattern.fullmatch(cell) for cell in cells]
            if not all(matches) or not any(match and match[2] for match in matches):
                continue
            twice = any(match and match[1].count(own) > 1 for match in matches)
            both = any(match and match[2] and match[3] for match in matches)
            if mark or own not in ".," or twice or both or decimal == point != separator or separator == own:
                return own, point
    return None


def _may_be_grouped(column: pa.ChunkedArray) -> bool:
    """Whether numbers with three decimals may be thousands, and whole ones below 1000 stand beside them."""
    values = np.abs(column.drop_null().to_numpy())
    whole = values == np.round(values)
    if not whole.any() or whole.all() or (values[~whole] < 1).any() or (values >= 1000).any():
        return False
    return bool(np.allclose(1000 * values, np.round(1000 * values), rtol=0, atol=1e-6))


def _point(path: Path, name: str, cells: list[str], mark: str | None) -> tuple[str, str] | None:
    """Points between thousands, if the user says so; a question where all cells look like it."""
    written = [cell.strip() for cell in cells if not _is_gap(cell)]
    pattern = _pattern(".", ",")
    if not all(pattern.fullmatch(cell) for cell in written):
        return None
    if mark == ".":
        return ".", ","
    if mark is not None:
        return None
    grouped = next(cell for cell in written if "." in cell)
    plain = next(cell for cell in written if "." not in cell)
    raise InputError(
        f"The column {name!r} of {str(path)!r} has numbers such as {grouped!r} beside whole ones such as {plain!r}: "
        "each point has three digits after it, and may separate thousands.",
        f"Use --thousands . to read {grouped!r} as {grouped.replace('.', '')}, or --thousands none for decimals.",
    )


def _number(cell: str | None, mark: str, decimal: str) -> float | None:
    return None if _is_gap(cell) else float(str(cell).strip().replace(mark, "").replace(decimal, "."))


def _is_gap(cell: str | None) -> bool:
    return not cell or cell.strip() in MISSING


def _kind(values: list[float | None]) -> pa.DataType:
    whole = all(value is None or value.is_integer() for value in values)
    return pa.int64() if whole else pa.float64()


def keep_zeros(table: pa.Table, texts: Texts) -> pa.Table:
    """The table with whole numbers that begin with zeros, and have as many digits each, as text: they identify."""
    if not 1 < table.num_columns <= MOST_PADDED:
        return table
    for i, (name, column) in enumerate(zip(table.column_names, table.columns, strict=True)):
        if not pa.types.is_integer(column.type) or not len(column) or column.null_count:
            continue
        cells = pa.array(texts(name), pa.string())
        lengths = pc.min_max(pc.utf8_length(cells)).as_py()
        padded = pc.any(pc.match_substring_regex(cells, r"^0\d+$")).as_py()
        if padded and lengths["min"] == lengths["max"] >= LEAST_DIGITS:
            table = table.set_column(i, name, cells)
    return table
