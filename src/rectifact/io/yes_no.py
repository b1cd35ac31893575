"""Answers such as yes and no in columns of a table, as 1 and 0."""

import reprlib
from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from rectifact.core.errors import count
from rectifact.core.text_columns import NO, YES
from rectifact.io.columns import plain
from rectifact.io.frames import Frame
from rectifact.io.tables import MISSING, is_name

NUMBERS = {"1": 1.0, "0": 0.0}
"""What may stand among such words."""

NOT_SO = "write 1 or 0 in place of other answers, or leave such cells empty and add --missing"
"""What to do about other texts in such a column."""

VALUES = {**dict.fromkeys(YES, 1.0), **dict.fromkeys(NO, 0.0), **NUMBERS}


def read_yes_no(frame: Frame) -> Frame:
    """The table with 1 and 0 in columns of text that hold yes and no, and else only gaps.

    A letter may stand for something else, as N does for north: where no column has a whole word, letters for both must
    occur.

    Examples
    --------
    >>> from pathlib import Path
    >>> table = pa.table({"who": ["Ann", "Bob"], "smokes": ["Yes", "no"], "drives": ["Y", ""]})
    >>> frame = read_yes_no(Frame(Path("t.csv"), table, lambda name: []))
    >>> frame.table.column("drives").to_pylist(), frame.yes_no
    ([1.0, None], {'smokes': ('no', 'yes'), 'drives': ('y',)})
    """
    held = {name: found for name in frame.table.column_names if (found := _words(frame.table.column(name)))}
    every = {text for found in held.values() for text in found}
    if not any(len(text) > 1 for text in every) and not (every & YES and every & NO):
        return frame
    table = frame.table
    for name in held:
        cells = [VALUES.get(_folded(text)) for text in plain(table.column(name)).to_pylist()]
        table = table.set_column(table.column_names.index(name), name, pa.array(cells, pa.float64()))
    return replace(frame, table=table, yes_no=held)


def remark(frame: Frame, columns: Sequence[str]) -> list[str]:
    """How yes and no were read in these columns, if they were."""
    used = [name for name in columns if name in frame.yes_no]
    if not used:
        return []
    words = sorted({text for name in used for text in frame.yes_no[name]})
    read = [[repr(text) for text in words if VALUES[text] == value and text not in NUMBERS] for value in (1, 0)]
    said = [f"{', '.join(texts)} read as {value}" for texts, value in zip(read, (1, 0), strict=True) if texts]
    where = repr(used[0]) if len(used) == 1 else f"{count(len(used), 'column')}, {used[0]!r} the first"
    return [f"{' and '.join(said)} in {where}"]


def but_yes_no(column: pa.ChunkedArray) -> str:
    """What a column of text holds besides yes and no, if more than half of its cells say either; else nothing.

    Examples
    --------
    >>> but_yes_no(pa.chunked_array([["yes", "no", "perhaps", ""]])), but_yes_no(pa.chunked_array([["N", "S", "E"]]))
    ("holds yes and no, but 'perhaps' in row 3", '')
    """
    if not _is_text(column):
        return ""
    cells = [(row, text) for row, text in enumerate(plain(column).to_pylist(), 1) if not _is_gap(text)]
    others = [(row, text) for row, text in cells if _folded(text) not in VALUES]
    if not others or 2 * sum(_folded(text) in YES | NO for _, text in cells) <= len(cells):
        return ""
    row, text = others[0]
    return f"holds yes and no, but {reprlib.repr(text)} in row {row}"


def _words(column: pa.ChunkedArray) -> tuple[str, ...]:
    """The different answers in a column of text, in lower case; nothing if it holds anything else, or no word."""
    if not _is_text(column):
        return ()
    cells = pc.unique(plain(column)).to_pylist()
    found = {_folded(text) for text in cells if not _is_gap(text)}
    return tuple(sorted(found)) if found <= set(VALUES) and found - set(NUMBERS) else ()


def _is_text(column: pa.ChunkedArray) -> bool:
    return is_name(column.type) and not pa.types.is_temporal(column.type)


def _folded(text: str | None) -> str:
    return "" if text is None else text.strip().casefold()


def _is_gap(text: str | None) -> bool:
    return text is None or text.strip() in MISSING
