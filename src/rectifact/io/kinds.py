"""What a table is: numbers, triples, edges or texts. Where two readings are likely, an error asks for an option."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from rectifact.core.errors import InputError, count
from rectifact.io.amounts import is_amount
from rectifact.io.columns import (
    MOST_MEASURES,
    WORDS,
    Options,
    Plan,
    Purpose,
    Undecided,
    View,
    ask,
    listing,
    plain,
    quoted,
    word,
)
from rectifact.io.edge_columns import either
from rectifact.io.first_line import check_header
from rectifact.io.frames import SAMPLES, Frame
from rectifact.io.listed import (
    ask_for_pairs,
    given_edges,
    given_triples,
    likely_edges,
    listed_by_content,
    listed_by_name,
    to_compare,
)
from rectifact.io.row_numbers import may_name_rows
from rectifact.io.stray_texts import refuse_stray_texts, why_not
from rectifact.io.tables import is_name, is_number
from rectifact.io.whole_names import MOST_LISTED, with_whole_identifiers
from rectifact.io.yes_no import NOT_SO, but_yes_no

SHORT_TITLES = 1.5
"""Mean number of words from which on the only column besides names of the rows holds texts: fewer are categories."""

MOST_OF_PAIRS = 6
"""Columns of a table that may list pairs."""

MOST_DROPPED = 10
"""Columns that a remedy names; more of them have another reason, such as decimal commas."""


def find_kind(frame: Frame, purpose: Purpose, options: Options) -> Plan:
    """How to read a table for a command.

    Parameters
    ----------
    frame : Frame
    purpose : {"parts", "embed", "cluster"}
    options : Options

    Returns
    -------
    Plan

    Raises
    ------
    InputError
        Where no reading or more than one is likely; it says which option decides.

    Examples
    --------
    >>> from pathlib import Path
    >>> table = pa.table({"userId": [1, 1, 2], "movieId": [7, 8, 7], "rating": [5, 3, 4]})
    >>> frame = Frame(Path("ratings.csv"), table, lambda name: [])
    >>> find_kind(frame, "embed", Options())
    Plan(kind='triples', columns=('userId', 'movieId', 'rating'), index=(), unused=())
    """
    view = View(frame, purpose, options)
    if options.triples:
        return given_triples(view)
    if options.graph:
        return given_edges(view)
    if options.text_columns:
        return _texts(view, options.text_columns)
    if options.keep and not options.id_column:
        view = View(frame, purpose, replace(options, id_column=_names_of_all(frame, purpose, options)))
    if options.table or options.keep:
        return _numbers(view, sure=True)
    if options.usual_texts and set(options.usual_texts) <= set(view.names):
        return _texts(view, options.usual_texts)
    return _listed(view) or _numbers(view, sure=False)


def _names_of_all(frame: Frame, purpose: Purpose, options: Options) -> str | None:
    """The column that names the rows, though it is not among those to use; None if there is none."""
    whole = View(frame, purpose, replace(options, keep=()))
    index = [] if frame.index else _index(whole, sure=True)
    return index[0] if index and index[0] not in options.keep and whole.differ(index[0]) else None


def _listed(view: View) -> Plan | None:
    return listed_by_name(view) or _documents(view) or listed_by_content(view)


def find_list(frame: Frame, purpose: Purpose) -> bool:
    """Whether a table holds triples, edges or texts; raises an InputError where it may."""
    return len(frame.table) > 1 and _listed(View(with_whole_identifiers(frame), purpose, Options())) is not None


def find_triples(table: pa.Table) -> tuple[str, ...]:
    """The columns of rows, of columns and, if there is one, of values, where a table has one row for each pair.

    As the command line finds them, by their names or by what they hold; nothing for another table.

    Examples
    --------
    >>> find_triples(pa.table({"day": ["2024-01-02"] * 3, "who": list("aab"), "what": list("xyx"), "stars": [5, 3, 4]}))
    ('who', 'what', 'stars')
    """
    if not 2 <= table.num_columns <= MOST_LISTED or len(table) < 2:
        return ()
    try:
        frame = with_whole_identifiers(Frame(Path("X"), table, lambda name: []))
        plan = _listed(View(frame, "embed", Options()))
    except Undecided as error:
        return error.triples
    except InputError:  # texts
        return ()
    return plan.columns if plan is not None and plan.kind == "triples" else ()


def _documents(view: View) -> Plan | None:
    """Texts, if one column holds them."""
    texts = [name for name in view.names if is_name(view.type(name)) and not pa.types.is_temporal(view.type(name))]
    numbers = [name for name in view.names if is_number(view.type(name)) and not view.is_id_name(name)]
    lengths = {name: _mean_words(view.table.column(name)) for name in texts}
    least = {name: 2 if word(name) in WORDS["text"] else 3 if len(numbers) < 2 else 8 for name in texts}
    found = [name for name in texts if lengths[name] >= least[name]]
    found = texts if not found and len(view.names) == 1 else found
    likely = [name for name in texts if lengths[name] >= 3 and name != view.first and not view.is_id_name(name)]
    found = found or [name for name in texts if _is_only_text(view, name) and lengths[name] >= SHORT_TITLES]
    open_ = len(numbers) >= 10 or not found
    found = found or (likely if view.purpose == "parts" else [])
    if not found:
        return None
    if view.purpose != "parts":
        if all(name == view.names[0] for name in found) and numbers and lengths[found[0]] < 8:
            return None  # long names of the rows
        ask_for_pairs(view, found)
        raise InputError(
            f"{view.where} holds texts, in the column {found[0]!r}.",
            f"Use rectifact parts for their topics, or leave the column out with --drop {quoted(found[0])}."
            f"{_as_pairs(view, found[0])}",
        )
    if len(found) > 1 or open_:
        also = ", --table for the numbers" if open_ else f", or both, as in {listing(found[:2])}"
        named = ", ".join(map(repr, found))
        ask(
            f"{view.where} has texts in {named}" + (f", and {len(numbers)} columns of numbers." if numbers else "."),
            f"Say which to read with --text-column {quoted(found[0])}{also}.",
        )
    return _texts(view, found)


def _is_only_text(view: View, name: str) -> bool:
    """Whether there is nothing else to find parts in: one column of texts beside one that names the rows."""
    others = [other for other in view.names if other != name]
    return view.purpose == "parts" and len(others) == 1 and view.is_id(others[0]) and view.differ(others[0])


def _texts(view: View, columns: Sequence[str]) -> Plan:
    for name in columns:
        if not is_name(view.type(name)):
            raise InputError(f"The column {name!r} of {view.where} does not hold texts.", "Name another one.")
    index = _given_index(view)
    if not index:
        others = [name for name in view.names if name not in columns]
        likely = [name for name in others if view.is_id_name(name) or name in ("", SAMPLES)]
        likely += [name for name in others[:1] if view.is_id(name) and view.names[0] == name]
        index = next(([name] for name in likely if view.is_id(name) and view.differ(name)), [])
        called = [name for name in others if view.is_id_name(name) and view.is_id(name)]
        called += [name for name in likely if name not in called and is_name(view.type(name))]
        index = index or next(([name] for name in called if view.mostly_differ(name)), [])
    return view.plan("texts", columns, index)


def _numbers(view: View, sure: bool) -> Plan:
    if not sure:
        check_header(view)
    index = _given_index(view) or _index(view, sure)
    columns = [name for name in view.names if name not in index and name not in view.frame.index]
    if not columns:
        first = (*index, *view.names)[0]
        raise InputError(
            f"{view.where} has no column of numbers besides {first!r}.",
            "Check what separates its columns: commas, semicolons or tabs.",
        )
    for name in columns:
        _check_numbers(view, name, columns)
        if not sure:
            _check_meant(view, name)
    return view.plan("numbers", columns, index)


def _given_index(view: View) -> list[str]:
    return [view.options.id_column] if view.options.id_column else []


def _index(view: View, sure: bool) -> list[str]:
    """The columns that name the rows, if any."""
    if view.frame.index:
        return list(view.frame.index)
    if not view.names:
        return []
    first = view.names[0]
    if view.frame.named and first in ("", SAMPLES):
        return [first]
    if not sure and view.is_axis(first):
        return [first]
    is_text = is_name(view.type(first))
    ids = [first] if is_text else []
    ids += [name for name in view.names if view.is_id_name(name) and view.is_id(name) and name not in ids]
    for name in ids[:1] if is_text else ids:
        if view.differ(name):
            return [name]
        if not sure:
            own = quoted(name)
            ask(
                f"The column {name!r} of {view.where} looks like names of the rows, but has the same one more than "
                "once.",
                f"Name the rows by it anyway with --id-column {own}, or leave it out with --drop {own}."
                f"{_as_pairs(view, name)}",
            )
    if not sure and view.counts_rows(first):
        own = quoted(first)
        ask(
            f"The column {first!r} of {view.where} numbers the rows.",
            f"Use --id-column {own} if it names them, --drop {own} to leave it out, or --table to keep it.",
        )
    if not sure and view.frame.named and view.is_ruled(first) and not any(map(view.is_ruled, view.names[1:])):
        own = quoted(first)
        ask(
            f"The column {first!r} of {view.where} holds numbers at equal distances, as wavelengths or times, and not "
            "measurements.",
            f"Use --id-column {own} if it names the rows, --drop {own} to leave it out, or --table to keep it.",
        )
    if not sure and view.frame.named and may_name_rows(view, first):
        own = quoted(first)
        ask(
            f"The column {first!r} of {view.where} has a whole number of its own for each row, as names do.",
            f"Use --id-column {own} if it names them, --drop {own} to leave it out, or --table if it was measured.",
        )
    return ids[:1] if is_text else []


def _check_numbers(view: View, name: str, columns: Sequence[str]) -> None:
    """Refuse a column that does not hold numbers; the remedy names all such columns."""
    kind, column = view.type(name), view.table.column(name)
    if pa.types.is_null(kind) and len(view.table):
        raise _empty(view, [each for each in columns if pa.types.is_null(view.type(each))])
    if is_number(kind):
        return
    others = [other for other in columns if other != name and not is_number(view.type(other))]
    refuse_stray_texts(view.frame, [name, *others], view.purpose)
    what, remedy = why_not(column) if is_name(kind) else (f"holds {kind}", "")
    if view.purpose == "embed" and (other := but_yes_no(column)):
        what, remedy = other, f", {NOT_SO}"
    pairs = _as_pairs(view, name) + to_compare(view, [name, *others])
    edges = likely_edges(view) if view.purpose == "cluster" else []
    if name in edges:
        ask(
            f"{view.where} looks like edges between {edges[0]!r} and {edges[1]!r}, not like points.",
            f"For a graph, use --graph {quoted(str(view.frame.path))} {either(edges)}; for points, leave "
            f"out columns that do not hold numbers with --drop {listing([*view.options.drop, name, *others])}.",
        )
    if 0 < len(others) <= MOST_DROPPED:
        remedy = remedy.replace(" it ", " them ")
        more = f", and {len(others)} other columns do not hold numbers either" if len(others) > 1 else ""
        more = more or f", and {others[0]!r} does not hold numbers either"
        raise InputError(
            f"The column {name!r} of {view.where} {what}, where numbers are expected{more}.",
            f"Leave them out with --drop {listing([*view.options.drop, name, *others])}{remedy}.{pairs}",
        )
    if view.purpose == "parts" and what.startswith("holds text"):
        if len(columns) == 1:
            raise InputError(
                f"{view.where} has no numbers besides names of its rows, and the column {name!r} {what}.",
                f"Read it as texts with --text-column {quoted(name)}.{pairs}",
            )
        remedy += f", or read it as texts with --text-column {quoted(name)}"
    raise InputError(
        f"The column {name!r} of {view.where} {what}, where numbers are expected.",
        f"Leave it out with --drop {listing([*view.options.drop, name])}{remedy}.{pairs}",
    )


def _empty(view: View, names: Sequence[str]) -> InputError:
    """What to say about empty columns; the remedy names all of them."""
    others = f", and so {'is' if len(names) == 2 else 'are'} {count(len(names) - 1, 'other column')}"
    them, more = ("them", others) if len(names) > 1 else ("it", "")
    what = f"The column {names[0]!r} of {view.where} is empty{more}."
    if len({*view.names} - {*names} - {*view.options.drop}) <= 1:  # nothing would be left but names of the rows
        return InputError(what, "Check the file: no other column has data.")
    return InputError(what, f"Leave {them} out with --drop {listing([*view.options.drop, *names])}.")


def _as_pairs(view: View, name: str) -> str:
    """What to do if each row of a narrow table is a pair, such as a customer and an item: names then repeat."""
    if not 2 <= view.table.num_columns <= MOST_OF_PAIRS or not _comes_again(view, name):
        return ""
    others = [other for other in view.names if other != name and not view.is_when(other)]
    ids = {view.distinct(other): other for other in others if view.is_id(other) and _comes_again(view, other)}
    row = ids[max(ids)] if ids else ""
    values = [other for other in others if other != row and view.is_measure(other) and view.may_be_weight(other)]
    example = listing([row, name, values[0]]) if row and values else "ROW,COLUMN,VALUE"
    return f" If each row is a pair, such as a user and an item with a rating, use --triples {example}."


def _comes_again(view: View, name: str) -> bool:
    """Whether a column has each of its cells twice on average, and not amounts, which name nothing."""
    return 2 * view.distinct(name) <= len(view.table) and not is_amount(view.table.column(name))


def _check_meant(view: View, name: str) -> None:
    """Ask about a column of numbers that are probably not measurements."""
    if len(view.names) > MOST_MEASURES or not view.frame.named:
        return
    few = view.distinct(name) <= max(2, min(20, len(view.table) // 2))
    whole = pa.types.is_integer(view.type(name)) or pa.types.is_boolean(view.type(name))
    if whole and ((word(name) in WORDS["class"] and few) or word(name) in WORDS["time"]):
        what = "classes" if word(name) in WORDS["class"] else "times"
        ask(
            f"The column {name!r} of {view.where} seems to hold {what}, not measurements.",
            f"Leave it out with --drop {quoted(name)}, or keep it with --table.",
        )


def _mean_words(column: pa.ChunkedArray) -> float:
    """Words in a cell, on average over the first thousand that are not empty."""
    cells = [text for text in plain(column).slice(0, 1000).to_pylist() if text]
    return float(np.mean([len(text.split()) for text in cells])) if cells else 0.0
