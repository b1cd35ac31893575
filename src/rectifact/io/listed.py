"""Lists of triples and edges among tables: found by the names of their columns, or suspected by their content."""

import re
from collections.abc import Sequence
from itertools import combinations
from typing import Any

import pyarrow as pa

from rectifact.core.errors import InputError, count
from rectifact.io.amounts import is_amount
from rectifact.io.columns import UNNAMED, WORDS, Plan, View, ask, is_rating, listing, plain, quoted, word
from rectifact.io.edge_columns import WEIGHTS, ask_about_attribute, either, n_pairs, not_square, numbered_ends, varied
from rectifact.io.several import find_lists
from rectifact.io.tables import is_name, is_number, is_number_or_gap
from rectifact.io.text import text_suffix
from rectifact.io.whole_names import MOST_LISTED

SHARED = 0.3  # of the names of a column that another has too, where both hold nodes
MOST_GROUPS = 100  # different values of a column of known groups
# files of which a column can be known groups
WITH_GROUPS = {".csv", ".tsv", ".tab", ".parquet", ".xlsx", ".xlsm", ".json", ".jsonl", ".ndjson"}
VALUES = {*WORDS["value"], *WORDS["count"]}
PAYLOAD = re.compile("((file|message)?size|length)(in)?(bytes|[kmg]i?b)?|bytes")
"""Names of what a message holds, where there is one row for each; of pairs that differ, they may be counts."""


def given_triples(view: View) -> Plan:
    """Triples or edges in the columns that the user has named."""
    given = view.options.triples
    if len(given) not in (2, 3):
        raise InputError(
            f"--triples names {count(len(given), 'column')}.",
            "Name those of rows, of columns and, if there is one, of values, such as user,item,rating.",
        )
    if len(given) == 2 and view.options.weight:
        given = (*given, view.options.weight)
    return view.plan("edges" if view.purpose == "cluster" else "triples", given)


def given_edges(view: View) -> Plan:
    """The edges of a table of which the user says that it is a graph: by name, or by place."""
    by_name = listed_by_name(view)
    if by_name is not None and by_name.kind == "edges":
        return by_name
    weight, likely = view.options.weight, likely_edges(view)
    names = [name for name in view.names if not _is_row_number(view, name)]
    if weight and len(names) > 3:  # what is neither a text nor the weights says something else, such as the year
        named = likely[:2] or [name for name in names if name != weight and is_name(view.type(name))]
        names = [*named, weight] if len(named) == 2 else names
    ends = [name for name in names if name != weight][:2]
    if not likely:
        _check_for_lists(view, ends, names)
    third = names[2] if len(names) == 3 and not weight and is_name(view.type(names[2])) else ""
    if third and not likely and not view.is_when(third) and not _mostly_numbers(view, third):
        likely = varied(view, ends, third)
    if len(names) not in (2, 3) or (third and third in likely):
        example = either(likely) if likely else "--triples source,target,weight"
        square = "" if likely else not_square(view)
        raise InputError(
            f"{view.where} has {count(len(view.names), 'column')}; edges are two columns of nodes, and may have a "
            f"third of weights{square}.",
            f"Say which they are, such as {example}; for points, leave out --graph.",
        )
    for name in ends:
        if pa.types.is_nested(view.type(name)) or pa.types.is_binary(view.type(name)):
            what = f"The column {name!r} of {view.where} holds {view.type(name)}, where names of nodes are expected."
            raise InputError(what, "Write each node as a text or a whole number.")
        if not view.is_id(name) and not _are_whole(view, name):
            raise InputError(
                f"The column {name!r} of {view.where} holds numbers that cannot be names of nodes.",
                "For points, leave out --graph; for edges, say which columns they are, such as --triples "
                "source,target,weight. If rows say who takes part in what, such as scene and character, --triples "
                "clusters both kinds together; for one kind, write the pairs that meet, and how often, first.",
            )
    weights = [weight] if weight else [name for name in names[2:] if _may_be_weight(view, ends, name)]
    return view.plan("edges", [*ends, *weights])


def _check_for_lists(view: View, ends: Sequence[str], names: Sequence[str]) -> None:
    """Refuse a table with several nodes in a cell, as the authors of a paper, in a column beside the ends."""
    for name in names if len(names) == 1 else [name for name in names if name not in ends]:
        lists = find_lists(map(str, _texts(view, name)))
        if lists is None or not lists.marks:
            continue
        what = f"The column {name!r} of {view.where} holds lists of nodes, such as {lists.cells[0]!r}."
        others = [other for other in view.names if other != name]
        if not others:
            remedy = (
                f"Add a column that names or numbers the rows, and join each to its list with --split {lists.marks!r}."
            )
            raise InputError(what, remedy)
        row = next((other for other in others if len(set(_texts(view, other))) == view.table.num_rows), others[0])
        joined = f"add --triples {listing([row, name])} --split {lists.marks!r}"
        instead = f"without that column: --drop {quoted(name)}"
        raise InputError(what, f"To join each {row!r} to all in its list, {joined}; {instead}.")


def _texts(view: View, name: str) -> list[Any]:
    return plain(view.table.column(name)).drop_null().to_pylist() if is_name(view.type(name)) else []


def likely_edges(view: View) -> list[str]:
    """Two columns of text that have names in common, and one of numbers that may be weights; nothing if there are none.

    Examples
    --------
    >>> from pathlib import Path
    >>> from rectifact.io.columns import Options
    >>> from rectifact.io.frames import Frame
    >>> table = pa.table({"day": [7, 8], "from whom": ["a", "b"], "to whom": ["b", "a"], "mails": [3, 1]})
    >>> likely_edges(View(Frame(Path("m.csv"), table, lambda name: []), "cluster", Options()))
    ['from whom', 'to whom', 'mails']
    """
    if len(view.names) > MOST_LISTED:
        return []
    texts = [name for name in view.names if is_name(view.type(name)) and not pa.types.is_temporal(view.type(name))]
    held = {name: set(plain(view.table.column(name)).drop_null().unique().to_pylist()) for name in texts}
    for pair in combinations(texts, 2):
        fewer = min(len(held[name]) for name in pair)
        if fewer > 1 and len(held[pair[0]] & held[pair[1]]) >= SHARED * fewer:
            others = [name for name in view.names if name not in pair and view.is_measure(name)]
            return [*pair, *[name for name in others if view.may_be_weight(name)][:1]]
    return []


def to_compare(view: View, texts: Sequence[str]) -> str:
    """How to compare clusters of points with the first of these columns that may hold known groups, if there is one."""
    if view.purpose != "cluster" or view.options.graph or text_suffix(view.frame.path) not in WITH_GROUPS:
        return ""
    groups = [name for name in texts if is_name(view.type(name)) and ":" not in name and _are_groups(view, name)]
    return f" To compare the clusters with {groups[0]!r}, add --truth {quoted(groups[0])}." if groups else ""


def _are_groups(view: View, name: str) -> bool:
    """Whether a column has few different words, and not dates or numbers of any spelling."""
    if not 2 <= view.distinct(name) <= min(MOST_GROUPS, len(view.table) // 2):
        return False
    texts = plain(view.table.column(name)).drop_null().unique().to_pylist()
    return all(any(letter.isalpha() for letter in str(text)) for text in texts)


def _are_whole(view: View, name: str) -> bool:
    """Whether a column holds whole numbers that are not negative, however they are written."""
    if not is_number(view.type(name)):
        return False
    values = view.table.column(name).to_numpy()
    return bool(((values >= 0) & (values == values.round())).all())


def listed_by_name(view: View) -> Plan | None:
    """Triples or edges whose columns have usual names."""
    if len(view.names) > MOST_LISTED:
        return None
    ids = {word(name): name for name in view.names if view.is_id(name)}
    for ends in (*WORDS["edges"], *numbered_ends(ids)):
        if set(ends) <= set(ids):
            return _edges(view, ids[ends[0]], ids[ends[1]])
    if view.options.graph:
        return None
    rows = [name for key, name in ids.items() if key in WORDS["row"]]
    columns = [name for key, name in ids.items() if key in WORDS["column"]]
    if not (rows and columns):
        return None
    pair = [rows[0], columns[0]]
    values = _values(view, VALUES, pair)
    others = values or [name for name in view.names if name not in pair and view.is_measure(name)]
    if len(rows) > 1 or len(columns) > 1 or len(others) > len(values) or len(values) > 1:
        example = listing([*pair, *others[:1]])
        bare = "" if values else f", or --triples {listing(pair)} for pairs without a value"
        ask(
            f"{view.where} looks like triples.",
            f"Say which columns to read: --triples {example}{_repeats(view, pair, others[:1])}{bare}.",
            [*pair, *others[:1]],
        )
    triples = (*pair, *values)
    if view.purpose == "cluster":
        ask(
            f"{view.where} looks like triples of {', '.join(map(repr, triples))}, not like points.",
            "Use rectifact embed or parts, or --table for points.",
        )
    return view.plan("triples", triples)


def _edges(view: View, source: str, target: str) -> Plan:
    ends = [source, target]
    weights = [view.options.weight] if view.options.weight else _values(view, WEIGHTS, ends)
    weights = weights or [name for name in view.names if name not in ends and view.is_measure(name)]
    weights = weights or [name for name in view.names if name not in ends and _mostly_numbers(view, name)]
    weights = [name for name in weights if _may_be_weight(view, ends, name) or name == view.options.weight]
    triples = [source, target, *weights[:1]]
    if len(weights) > 1:
        ask(
            f"{view.where} has edges with {' and '.join(map(repr, weights))}.",
            f"Say which are the weights: --triples {listing(triples)}.",
        )
    if view.purpose == "cluster":
        return view.plan("edges", triples)
    return ask(
        f"{view.where} looks like edges from {triples[0]!r} to {triples[1]!r}.",
        f"Use rectifact cluster for communities, --triples {listing(triples)} for the matrix of the edges, or "
        "--table to read the columns as numbers.",
        triples,
    )


def _may_be_weight(view: View, ends: Sequence[str], name: str) -> bool:
    """Whether a column may hold weights: not numbers of the rows, and not the sizes of messages, one row for each."""
    if _is_row_number(view, name) or not view.may_be_weight(name):
        return False
    if not PAYLOAD.fullmatch(word(name)):
        return True
    return bool(view.table.select(ends).group_by(list(ends)).aggregate([]).num_rows == len(view.table))


def _is_row_number(view: View, name: str) -> bool:
    """Whether the first column has no name of its own and holds different numbers, as the index of pandas does."""
    if name != view.first or not UNNAMED.fullmatch(name) or len(view.names) < 3:
        return False
    return view.differ(name) and all(str(cell).isdecimal() for cell in view.table.column(name).to_pylist())


def _mostly_numbers(view: View, name: str) -> bool:
    """Whether a column of text holds numbers but for a few cells; as the values of pairs it is refused later."""
    if not is_name(view.type(name)) or pa.types.is_temporal(view.type(name)):
        return False
    cells = [
        is_number_or_gap(str(text).rstrip("% \u00a0\u202f"))
        for text in plain(view.table.column(name)).drop_null().to_pylist()
    ]
    return 2 * sum(cells) > len(cells)


def _values(view: View, words: set[str], taken: Sequence[str]) -> list[str]:
    """Columns that are called like values; if one holds text, it is refused later."""
    return [name for name in view.names if name not in taken and word(name) in words]


def listed_by_content(view: View) -> Plan | None:
    """Triples or edges without usual names: two columns of identifiers, and perhaps one of values."""
    if view.options.id_column:
        return None
    found = _pair_and_values(view)
    if not found or not _are_pairs(view, found[0], found[1], certain=_is_certain(view, found)):
        if view.purpose != "cluster":
            ask_for_pairs(view, ())
        return None
    first, second, *rest = found
    triples = found[:3]
    if _is_certain(view, found):
        if rest and is_number_or_gap(rest[0]) and view.frame.named:
            ask(f"The first line of {view.where} looks like data.", "Add names of columns, or --no-header.")
        if view.purpose == "cluster":
            ask_about_attribute(view, first, second, rest)
            return view.plan("edges", triples)
        if rest:
            return view.plan("triples", triples)
    example = listing(triples)
    if view.purpose == "cluster":
        ask(
            f"{view.where} may hold edges between {first!r} and {second!r}, or points.",
            f"Use --graph {quoted(str(view.frame.path))} for edges, or --table for points.",
        )
    return ask(
        f"{view.where} may hold triples of row, column and value, or a table of numbers.",
        f"Use --triples {example}{_repeats(view, found[:2], found[2:3])} or --table.",
        triples,
    )


def _pair_and_values(view: View) -> list[str]:
    """Two columns of identifiers and then those of values, if a table of few columns has no others; else nothing.

    Columns that say when, and numbers of the rows, do not count. Two columns of text are the identifiers wherever they
    stand; among numbers those are the first two, but for one that is called as values are.
    """
    asks = view.purpose == "cluster"  # which asks about tables that hold more than edges, and says how to read them
    names = [
        name for name in view.names if asks or not (view.is_beside_pairs(name) or is_amount(view.table.column(name)))
    ]
    if set(names) & set(view.frame.index):  # names of the rows
        return []
    names = names if len(names) > 1 else view.names
    if not 2 <= len(names) <= 4:
        return []
    texts = [name for name in names if is_name(view.type(name))]
    pair = texts if len(texts) == 2 else [name for name in names if word(name) not in VALUES][:2]
    rest = [name for name in names if name not in pair]
    if len(pair) < 2 or not all(map(view.is_id, pair)) or not all(is_number(view.type(name)) for name in rest):
        return []
    return [*pair, *(name for name in rest if not view.is_time(name) and view.may_be_weight(name))]


def _is_certain(view: View, found: Sequence[str]) -> bool:
    """Whether two columns of text stand beside one of numbers at most."""
    return len(found) < 4 and all(is_name(view.type(name)) for name in found[:2])


def ask_for_pairs(view: View, texts: Sequence[str]) -> None:
    """Ask about two columns of names that come again and again, one row for each pair; ``texts`` have long names."""
    names = [name for name in view.names if is_name(view.type(name)) and not view.is_beside_pairs(name)]
    names = [name for name in names if not is_amount(view.table.column(name))]
    distinct = {name: len(plain(view.table.column(name)).unique()) for name in names}
    again = sorted((name for name in names if 2 * distinct[name] <= len(view.table)), key=lambda name: -distinct[name])
    pair = [name for name in view.names if name in again[:2]]
    pair.sort(key=lambda name: word(name) not in WORDS["row"])  # customers in rows, wherever their column stands
    if len(pair) < 2 or not set(texts) <= set(again) or len(view.names) > MOST_LISTED:
        return
    if 2 * n_pairs(view.table, pair) < len(view.table):
        return
    measures = [name for name in view.names if view.is_measure(name) and view.may_be_weight(name)]
    values = _values(view, VALUES, pair) or measures
    bare = f", or --triples {listing(pair)} to count pairs" if values else ""
    repeats = _repeats(view, pair, values[:1])
    ask(
        f"{view.where} has one row for each pair of {pair[0]!r} and {pair[1]!r}, both of which come again and again.",
        f"Say which columns to read: --triples {listing([*pair, *values[:1]])}{repeats}{bare}.",
        [*pair, *values[:1]],
    )


def _repeats(view: View, pair: Sequence[str], values: Sequence[str]) -> str:
    """The option that pairs with several values need, which only counts do without."""
    unasked = view.purpose == "cluster" or not values or word(values[0]) in WORDS["count"] or view.options.repeats
    if unasked or n_pairs(view.table, pair) == len(view.table):
        return ""
    rated = is_number(view.type(values[0])) and is_rating(view.table.column(values[0]).to_numpy())
    return f" --repeats {'last' if rated else 'sum'}"


def _are_pairs(view: View, first: str, second: str, certain: bool) -> bool:
    """Whether two columns pair identifiers: pairs differ, and identifiers come again or are shared."""
    columns = [plain(view.table.column(name)) for name in (first, second)]
    n = len(view.table)
    if n < 2 or any(column.null_count for column in columns):
        return False
    if certain and view.purpose == "cluster":
        return True
    pairs = pa.table({"a": columns[0], "b": columns[1]}).group_by(["a", "b"]).aggregate([]).num_rows
    if pairs < 0.9 * n:
        return False
    ends = [set(column.unique().to_pylist()) for column in columns]
    if certain and max(map(len, ends)) < n:
        return True
    if view.purpose != "cluster" and len(ends[0]) == n:  # each row has a name of its own
        return False
    shared = len(ends[0] & ends[1]) >= SHARED * min(map(len, ends))
    return len(ends[0]) + len(ends[1]) <= n or shared or (view.purpose == "cluster" and len(view.names) == 2)
