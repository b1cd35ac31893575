"""Names in tables that differ only in capitals or spaces, as one."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any
from unicodedata import normalize

import pandas as pd

from rectifact.core.errors import count
from rectifact.io.graphs import folded, nearly_equal


def first_spellings(names: Iterable[str]) -> dict[str, str]:
    """For each name without capitals and spaces, as it is spelt first.

    Examples
    --------
    >>> first_spellings(["Ann", "ann", "Bea"])
    {'ann': 'Ann', 'bea': 'Bea'}
    """
    spelt: dict[str, str] = {}
    for name in names:
        spelt.setdefault(folded(name), name)
    return spelt


def spelt_alike(table: pd.DataFrame, titles: Sequence[str], ignore_case: bool) -> tuple[pd.DataFrame, list[str]]:
    """Pairs, and a remark on names that differ only in capitals or spaces; with ``ignore_case``, these are one.

    They are then called as most rows have it.

    Parameters
    ----------
    table : DataFrame
        Names in the columns 0 and 1.
    titles : sequence of str
        What these two columns are called.
    ignore_case : bool

    Examples
    --------
    >>> pairs = pd.DataFrame({0: ["Ann", "Bea", "Cid"], 1: ["milk", "Milk", "milk"]})
    >>> spelt_alike(pairs, ["user", "item"], ignore_case=False)[1]
    ["'Milk' and 'milk' differ only in capitals or spaces: to make such names one, add --ignore-case"]
    >>> merged, said = spelt_alike(pairs, ["user", "item"], ignore_case=True)
    >>> merged[1].tolist(), said
    (['milk', 'milk', 'milk'], ["capitals and spaces of 'item' ignored: 2 names before, 1 name after"])
    """
    counts = {i: table[i].value_counts(sort=False) for i in (0, 1)}
    named = {i: counts[i].sort_values(ascending=False, kind="stable").index for i in (0, 1)}
    alike = {i: found for i in (0, 1) if (found := nearly_equal(named[i]))}
    if not ignore_case:
        said = [*alike.values()]
        return table, [f"{' and '.join(said)}: to make such names one, add --ignore-case"] if said else []
    table, remarks = table.copy(), []
    for i in alike:
        spelt = first_spellings(named[i])
        table[i] = table[i].map({name: spelt[folded(name)] for name in named[i]})
        before, after = count(len(named[i]), "name"), count(len(spelt), "name")
        remarks.append(f"capitals and spaces of {titles[i]!r} ignored: {before} before, {after} after")
    return table, remarks or ["no names differ only in capitals or spaces"]


def spelling_of(known: Iterable[Any]) -> Callable[[Any], Any]:
    """What writes a name as a known one that is the same text, with letters composed or not; others stay.

    Examples
    --------
    >>> [spelling_of(["M\u00fcller"])(name) for name in ("Mu\u0308ller", "Ann", 7)]
    ['Müller', 'Ann', 7]
    """
    there = {str(name) for name in known}
    spelt = {normalize("NFC", name): name for name in there if not name.isascii()}

    def as_known(name: Any) -> Any:
        known_or_plain = not isinstance(name, str) or name.isascii() or name in there
        return name if known_or_plain else spelt.get(normalize("NFC", name), name)

    return as_known


def composed(table: pd.DataFrame, what: str = "node") -> tuple[pd.DataFrame, list[str]]:
    """Pairs whose names are one where they are the same text, with letters composed or not, and a remark.

    Examples
    --------
    >>> found, said = composed(pd.DataFrame({0: ["M\u00fcller", "Ann"], 1: ["Ann", "Mu\u0308ller"]}))
    >>> found[1].tolist(), said
    (['Ann', 'Müller'], ["1 name, such as 'Müller', has two Unicode spellings and is taken for one node"])
    """
    names = set(pd.unique(pd.concat([table[0], table[1]])))
    written: dict[str, list[str]] = {}
    for name in names:
        if not name.isascii():
            written.setdefault(normalize("NFC", name), []).append(name)
    several = {one: same for one, same in written.items() if len(same) > 1}
    if not several:
        return table, []
    spelt = {name: one for one, same in several.items() for name in same}
    is_one = f"has two Unicode spellings and is taken for one {what}"
    are_one = f"have two Unicode spellings and are each taken for one {what}"
    said = f"{count(len(several), 'name')}, such as {min(several)!r}, {is_one if len(several) == 1 else are_one}"
    merged = table.copy()
    for end in (0, 1):
        merged[end] = table[end].map(lambda name: spelt.get(name, name))
    return merged, [said]
