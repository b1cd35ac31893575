"""Identifiers that are whole numbers, written as 12000.0: pandas writes them so once their column has had a gap."""

import re
from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from rectifact.core.id_columns import NAMED
from rectifact.io.columns import ID, MOST_MEASURES, WORDS, is_axis_name, word
from rectifact.io.frames import Frame
from rectifact.io.tables import is_number

MOST_LISTED = 8  # columns of a list of triples or edges; a wider table is a matrix
LARGEST = 2.0**53  # from which on a number of 64 bits is not exact
WHOLE = re.compile(r"\s*(-?\d+)(?:\.0*|,0)?\s*")
NAMING = {*WORDS["row"], *WORDS["column"], *WORDS["node"], *(end for pair in WORDS["edges"] for end in pair)}
"""Names of columns of identifiers, in lists of pairs."""


def as_names(texts: Sequence[str]) -> list[str]:
    """Names as they are, or without a final .0 where all of them are whole numbers, so that 12000.0 is 12000.

    Examples
    --------
    >>> as_names(["12000.0", "12001.0", ""]), as_names(["1.0", "1.5"]), as_names(["007", "012"])
    (['12000', '12001', ''], ['1.0', '1.5'], ['007', '012'])
    """
    found = [WHOLE.fullmatch(text) if text else None for text in texts]
    if any(text and match is None for text, match in zip(texts, found, strict=True)):
        return list(texts)
    return [match[1] if match else text for text, match in zip(texts, found, strict=True)]


def names_in(frame: Frame, name: str) -> list[str]:
    """The cells of a column as names: whole numbers without a point, but places on an axis as they are written."""
    texts, kind = frame.text(name), frame.table.schema.field(name).type
    whole = is_number(kind) and not pa.types.is_integer(kind) and not is_axis_name(name)
    return as_names(texts) if whole or name == "" else texts


def are_whole(column: pa.ChunkedArray) -> bool:
    """Whether the numbers of a column are whole and not negative, though they are stored as others are.

    Examples
    --------
    >>> [are_whole(pa.chunked_array([cells])) for cells in ([12.0, None], [1.5], [-1.0], [12])]
    [True, False, False, False]
    """
    if not pa.types.is_floating(column.type):
        return False
    known = column.filter(pc.is_finite(column)).cast(pa.float64())
    n_gaps = pc.sum(pc.is_null(column, nan_is_null=True)).as_py() or 0
    if not len(known) or len(known) + n_gaps < len(column):
        return False
    ends = pc.min_max(known).as_py()
    return bool(0 <= ends["min"] <= ends["max"] < LARGEST and pc.all(pc.equal(known, pc.floor(known))).as_py())


def with_whole_identifiers(frame: Frame) -> Frame:
    """The table with its columns of identifiers as whole numbers, by what they are called and what they hold.

    In a list of pairs they may be called as users and items are, or nodes. Other columns beside the first must be
    different in most rows: ``no`` may be a word that was counted.

    Examples
    --------
    >>> from pathlib import Path
    >>> table = pa.table({"CustomerID": [12000.0, 12001.0], "a": [1.0, 2.0]})
    >>> with_whole_identifiers(Frame(Path("t.csv"), table, lambda name: [])).table.schema.types
    [DataType(int64), DataType(double)]
    """
    table, own = frame.table, frame.text
    found = [i for i in range(table.num_columns) if frame.named and _may_identify(table, i)]
    found = [i for i in found if are_whole(table.column(i))]
    names = {table.column_names[i] for i in found}
    for i in found:
        column = table.column(i).cast(pa.float64())
        known = pc.if_else(pc.is_finite(column), column, pa.scalar(None, pa.float64()))
        table = table.set_column(i, table.column_names[i], known.cast(pa.int64()))

    def text(name: str) -> list[str]:
        return as_names(own(name)) if name in names else own(name)

    return replace(frame, table=table, text=text) if found else frame


def _may_identify(table: pa.Table, i: int) -> bool:
    name, column = table.column_names[i], table.column(i)
    called = ID.fullmatch(name) is not None
    if i == 0 and (called or word(name) in WORDS["row"]):
        return True
    if table.num_columns <= MOST_LISTED and (NAMED.fullmatch(name) or word(name) in NAMING):
        return True
    return called and table.num_columns <= MOST_MEASURES and 2 * len(column.unique()) > len(column)
