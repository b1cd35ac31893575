"""What to say about a table of which somebody says that it is a graph, where its columns leave open how."""

from collections.abc import Sequence

from rectifact.core.errors import count
from rectifact.io.columns import WORDS, View, listing, word
from rectifact.io.tables import is_number

WEIGHTS = {*WORDS["value"], *WORDS["count"], *WORDS["weight"]}
"""Names of columns that say how strong an edge is."""


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
    return f"{bare}, or {whole} if {likely[2]!r} says how strong a tie is"


def varied(view: View, ends: Sequence[str], third: str) -> list[str]:
    """The ends of edges where one of the first two columns has the same value in all rows, and a third has not."""
    found = [name for name in (*ends, third) if view.distinct(name) > 1]
    return found if len(found) == 2 and third in found else []


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
