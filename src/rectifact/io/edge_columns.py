"""What to say about a table of which somebody says that it is a graph, where its columns leave open how."""

import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from rectifact.core.errors import count
from rectifact.io.columns import WORDS, View, ask, listing, plain, quoted, word
from rectifact.io.tables import is_number

WEIGHTS = {*WORDS["value"], *WORDS["count"], *WORDS["weight"]}
"""Names of columns that say how strong an edge is."""

DISTANCES = {
    *("distance", "distances", "dist", "dists", "dissimilarity", "pvalue", "pval", "entfernung", "entfernungen"),
    *("abstand", "abstände", "abstaende", "distanz", "distanzen", "distancia", "distanza", "distância", "afstand"),
}
"""Words for what is large where a tie is weak."""

SOMETIMES = {"p", "cost", "costs", "kosten", "length", "länge", "laenge", "km", "miles", "meilen", "duration", "dauer"}
SOMETIMES |= {"fahrzeit", "reisezeit", "minutes", "minuten", "hops"}
"""Names of columns that may mean the same; passenger km or the length of a call do not."""

SAYS = "says how strong a tie is"

ENDS = re.compile(f"({'|'.join(WORDS['node'])})(1|a)")

PEOPLE = {*WORDS["row"], "author", "employee", "student", "person", "people", "kunde", "kunden", "nutzer"} - {"i"}
THINGS = {*WORDS["column"], "paper", "group", "event", "project", "store", "shop", "page", "artikel", "produkt"} - {"j"}
"""Names of columns whose numbers count different things."""


LEAST_ROWS = 10
"""Rows from which names that never come again, beside few others, are taken for more than chance."""


def one_numbering(names: Sequence[str], source: Any, target: Any) -> tuple[str, str]:
    """What is taken for one node where columns of different things hold the same whole numbers, and what to do.

    Examples
    --------
    >>> what, cure = one_numbering(["customer_id", "product_id"], ["7", "8"], ["9", "7"])
    >>> what
    "'customer_id' 7 and 'product_id' 7 are taken for one node"
    >>> cure
    "if they are different things, write the name of the column in front: table['customer_id'] = 'customer_id ' + \
table['customer_id'].astype(str), and so for 'product_id'"
    >>> one_numbering(["user_id", "friend_id"], ["7", "8"], ["9", "7"])
    ('', '')
    """
    bare = [re.sub("(id|nr|no|number|key|code|nummer)$", "", word(name)) for name in names[:2]]
    if not any(one in PEOPLE and other in THINGS for one, other in (bare, bare[::-1])):
        return "", ""
    ends = [np.unique(np.asarray(end).astype(str)).tolist() for end in (source, target)]
    shared = sorted(set(ends[0]) & set(ends[1]), key=lambda text: (len(text), text))
    if not shared or not all(text.isdecimal() for end in ends for text in end):
        return "", ""
    first, second = names[:2]
    what = f"{first!r} {shared[0]} and {second!r} {shared[0]} are taken for one node"
    prefixed = f"table[{first!r}] = {first + ' '!r} + table[{first!r}].astype(str)"
    return what, (
        f"if they are different things, write the name of the column in front: {prefixed}, and so for {second!r}"
    )


def sounds_far(name: str) -> bool:
    """Whether the name of a column or of a file says that its numbers are distances.

    Examples
    --------
    >>> [sounds_far(name) for name in ("Entfernung_km", "Distance km", "p_value", "cost", "mails")]
    [True, True, True, False, False]
    """
    return word(name) in DISTANCES or bool(DISTANCES & set(re.split(r"[\W_\d]+", name.lower())))


def may_be_far(name: str) -> bool:
    """Whether the name of a column leaves open if a large number means a strong tie or a weak one.

    Examples
    --------
    >>> [may_be_far(name) for name in ("Dauer", "cost_eur", "passenger km", "mails")]
    [True, True, False, False]
    """
    return word(name) in SOMETIMES or re.split(r"[\W_\d]+", name.lower())[0] in SOMETIMES


def either(likely: Sequence[str]) -> str:
    """The option for columns of edges: first without a column whose name does not say that it holds weights.

    Examples
    --------
    >>> either(["from", "to"]), either(["from", "to", "weight"])
    ('--triples from,to', '--triples from,to,weight')
    >>> either(["from", "to", "bytes"])
    "--triples from,to, or --triples from,to,bytes if 'bytes' says how strong a tie is"
    """
    whole, bare = f"--triples {listing(likely)}", f"--triples {listing(likely[:2])}"
    if len(likely) < 3 or word(likely[2]) in WEIGHTS:
        return whole
    return f"{bare}, or {whole} if {likely[2]!r} {SAYS}"


def named_ends(names: Sequence[str]) -> str:
    """The arguments for columns of edges in Python, as :func:`either` has the option.

    Examples
    --------
    >>> named_ends(["from", "to", "weight"])
    "source='from', target='to', weight='weight'"
    >>> named_ends(["from", "to", "bytes"])
    "source='from', target='to', and weight='bytes' as well if it says how strong a tie is"
    """
    bare = f"source={names[0]!r}, target={names[1]!r}"
    if len(names) < 3:
        return bare
    sure = word(str(names[2])) in WEIGHTS
    return f"{bare}, weight={names[2]!r}" if sure else f"{bare}, and weight={names[2]!r} as well if it {SAYS}"


def varied(view: View, ends: Sequence[str], third: str) -> list[str]:
    """The ends of edges where one of the first two columns has the same value in all rows, and a third has not."""
    found = [name for name in (*ends, third) if view.distinct(name) > 1]
    return found if len(found) == 2 and third in found else []


def ask_about_attribute(view: View, first: str, second: str, others: Sequence[str]) -> None:
    """Ask about names that each have a row of their own and one of few others, which say something about them.

    As edges, they would be stars, whose communities are the values of the other column.
    """
    n = len(view.table)
    for name, kind in ((first, second), (second, first)):
        if n < LEAST_ROWS or not others or not view.differ(name) or not 2 <= view.distinct(kind) <= n // 2:
            continue
        held = (set(plain(view.table.column(end)).drop_null().unique().to_pylist()) for end in (name, kind))
        if set.intersection(*held):
            continue
        told = f"each {name!r} has a row of its own, with one of {view.distinct(kind)} values of {kind!r}"
        ask(
            f"{view.where} looks like a table of points: {told}.",
            f"To cluster by {' and '.join(map(repr, others))}, use --drop {listing([*view.options.drop, kind])}; for "
            f"edges between {first!r} and {second!r}, use --graph {quoted(str(view.frame.path))}.",
        )


def not_square(view: View) -> str:
    """That a matrix of weights is square, where a table has nothing but numbers, with or without names of its rows."""
    named = view.frame.named
    columns = view.names[named:]
    if (named and is_number(view.type(view.first))) or not all(is_number(view.type(name)) for name in columns):
        return ""
    return (
        f"; as a matrix of weights, which has a column for each row, its {count(len(view.table), 'row')} and "
        f"{count(len(columns), 'column')} of numbers do not fit"
    )


def numbered_ends(words: Iterable[str]) -> list[tuple[str, str]]:
    """Pairs such as node1 and node2."""
    found = [match for name in words if (match := ENDS.fullmatch(name))]
    return [(match[0], match[1] + {"1": "2", "a": "b"}[match[2]]) for match in found]


def n_pairs(table: pa.Table, pair: Sequence[str]) -> int:
    """How many different pairs two columns hold."""
    return int(table.select(list(pair)).group_by(list(pair)).aggregate([]).num_rows)
