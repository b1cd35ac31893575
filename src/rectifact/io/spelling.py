"""Names in tables that differ only in capitals or spaces, as one."""

from collections.abc import Iterable, Sequence

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
