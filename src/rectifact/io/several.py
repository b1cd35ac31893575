"""Cells of a table of edges that hold several nodes, as the recipients of an e-mail: ``ann@x.org; bea@x.org``."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from rectifact.core.errors import InputError, count

MARKS = (";", "|", ",", ";,")
"""What may separate nodes in a cell, one or either of two."""

ENDS = "ends"
"""A column while it is made."""

TAKE_TURNS = 0.25
"""Share of the lists whose first name stands later in another one. Surnames that are also first names are fewer."""

KEEP = "none"
"""For cells that stay one node, whatever is in them."""


@dataclass(frozen=True)
class Lists:
    """Names that look like lists of nodes.

    Attributes
    ----------
    marks : str
        Characters that separate them; empty where no such character does.
    cells : list of str
        The names, each once.
    sure : bool
        Whether all nodes in them are e-mail addresses, so that there is no other reading.
    """

    marks: str
    cells: list[str]
    sure: bool


def find_lists(names: Iterable[str]) -> Lists | None:
    """Names that are lists of others; None if there are none.

    They are lists where most of what a mark separates are nodes of their own, or all of it are e-mail addresses, or
    where much of what stands first in a cell stands later in another, as authors of papers do. So ``Lee, Ann`` is a
    name, unless there are a ``Lee`` and an ``Ann``, and ``Paris, Texas`` is a place.

    Examples
    --------
    >>> find_lists(["ann", "bea", "ann; bea", "ann; cid; bea"])
    Lists(marks=';', cells=['ann; bea', 'ann; cid; bea'], sure=False)
    >>> find_lists(["ann, bea, cid", "bea, ann", "cid, bea"]).marks
    ','
    >>> find_lists(["Lee, Ann", "Ray, Bea", "Ann"])
    """
    known = dict.fromkeys(names)
    for marks in MARKS:
        lists = {name: pieces for name in known if len(pieces := split_at(name, marks)) > 1}
        pieces = [piece for found in lists.values() for piece in found]
        sure = bool(pieces) and all(_is_address(piece) for piece in pieces)
        if sure or 2 * sum(piece in known for piece in pieces) > len(pieces) or _take_turns(list(lists.values())):
            return Lists(marks, list(lists), sure)
    unclear = [name for name in known if name.count("@") > 1]
    return Lists("", unclear, False) if unclear else None


def _take_turns(lists: list[list[str]]) -> bool:
    """Whether a part of what stands first in some lists, and more than one of them, stands later in others."""
    later = {piece for pieces in lists for piece in pieces[1:]}
    both = [pieces[0] for pieces in lists if pieces[0] in later]
    return len(set(both)) > 1 and len(both) >= TAKE_TURNS * len(lists)


def split_at(name: str, marks: str) -> list[str]:
    """What a name holds between any of the marks, without spaces around it and without gaps.

    Examples
    --------
    >>> split_at("ann; bea;", ";")
    ['ann', 'bea']
    """
    return [piece for part in re.split(f"[{re.escape(marks)}]", name) if (piece := part.strip())]


def _is_address(text: str) -> bool:
    return text.count("@") == 1 and not re.search(r"[;,|]", text)


def split_ends(
    table: pd.DataFrame, columns: tuple[str, ...], path: Path, marks: str | None
) -> tuple[pd.DataFrame, list[str]]:
    """Edges to each of several nodes in a cell, and a remark about them.

    Parameters
    ----------
    table : DataFrame
        Both ends in the columns 0 and 1, and perhaps weights in 2, which each of the edges of a row gets.
    columns : tuple of str
        What the columns are called.
    path : Path
    marks : str or None
        Characters that separate nodes, ``"none"`` for cells that stay as they are; None finds out.

    Raises
    ------
    InputError
        Where names look like lists, and may be names all the same.
    """
    if marks == KEEP:
        return table, []
    if marks is None:
        found = find_lists([*table[0], *table[1]])
        if found is None:
            return table, []
        if not found.sure:
            raise _which(found, columns, path)
        marks = found.marks
    made: Any = table
    for i in (0, 1):
        pieces = pd.Series([split_at(name, marks) or [name] for name in made[i]], index=made.index, dtype=object)
        made = made.assign(**{ENDS: pieces}).drop(columns=i).rename(columns={ENDS: i}).explode(i, ignore_index=True)
    made = made[sorted(made.columns)]
    n, at = sum(len(split_at(name, marks)) > 1 for name in [*table[0], *table[1]]), " or ".join(map(repr, marks))
    if not n:
        return table, [f"no cell has several nodes between {at}"]
    made_of = f"which makes {count(len(made), 'edge')} of {count(len(table), 'row')}"
    said = f"{count(n, 'cell')} with several nodes split at {at}, {made_of}"
    return made, [f"{said} (to keep each as one node: --split {KEEP})"]


def _which(found: Lists, columns: tuple[str, ...], path: Path) -> InputError:
    n, (source, target) = len(found.cells), columns[:2]
    what = (
        f"{count(n, 'name')} in the columns {source!r} and {target!r} of {str(path)!r} "
        f"{'looks like a list of nodes' if n == 1 else 'look like lists of nodes'}, such as {found.cells[0]!r}."
    )
    keep = f"to keep {'it' if n == 1 else 'each'} as one node, --split {KEEP}."
    if not found.marks:
        return InputError(what, f"Write one row for each of them; or {keep}")
    return InputError(what, f"To make an edge to each of them, add --split '{found.marks}'; {keep}")
