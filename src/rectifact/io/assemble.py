"""From a table and a plan to a matrix, to pairs with values, or to documents."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.compute as pc
import scipy.sparse as sp
from numpy.typing import NDArray

from rectifact.core.errors import InputError, count
from rectifact.io.all_rows import AllRows
from rectifact.io.amounts import percentages
from rectifact.io.columns import Plan, listing, quoted, word
from rectifact.io.edge_columns import WEIGHTS, one_numbering, sounds_far
from rectifact.io.frames import SAMPLES, Frame
from rectifact.io.graphs import edge_remarks
from rectifact.io.matrices import NamedMatrix, as_floats, from_table, names_array
from rectifact.io.several import split_ends
from rectifact.io.tables import column_numbers, is_number
from rectifact.io.text import NO_TEXT
from rectifact.io.triples import Settled
from rectifact.io.whole_names import names_in
from rectifact.io.yes_no import NOT_SO, but_yes_no, remark

MOST_CELLS = 50_000_000
"""Cells of the largest matrix of triples whose other cells are missing, which is dense."""


def is_adjacency(frame: Frame) -> bool:
    """Whether a table is a square matrix whose rows and columns have the same names, in any order, or no names."""
    columns = frame.table.column_names
    if not frame.named:
        return len(columns) == len(frame.table) > 3
    return len(columns) == len(frame.table) + 1 and sorted(frame.text(columns[0])) == sorted(columns[1:])


def from_numbers(frame: Frame, plan: Plan) -> tuple[NamedMatrix, str]:
    """The matrix of a table of numbers, and what it is."""
    if not plan.columns:  # a square matrix, with columns in the order of the rows
        first, *others = frame.table.column_names
        ordered = frame.text(first) if frame.named else [first, *others]
        plan = Plan("numbers", tuple(ordered), (first,) * frame.named)
    matrix = from_table(frame.path, frame.table, [], list(plan.columns))
    rows, title, named = None, SAMPLES, ""
    if plan.index:
        texts = [names_in(frame, name) for name in plan.index]
        rows = names_array(frame.path, "row", [" / ".join(levels) for levels in zip(*texts, strict=True)])
        title = plan.index[0] if len(plan.index) == 1 and plan.index[0] and "__" not in plan.index[0] else SAMPLES
        named = f", with rows named by {title!r}" if title != SAMPLES else ""
    columns = matrix.columns if frame.named else None
    return NamedMatrix(as_floats(frame.path, matrix.X), rows, columns, title), f"a table of numbers{named}"


def _lacking(frame: Frame, rows: Any, what: str, otherwise: str = "") -> InputError:
    """The error that some rows lack something; they are numbered from 1."""
    shown = ", ".join(map(str, rows[:5])) + (", ..." if len(rows) > 5 else "")
    verb, row = ("has", "row") if len(rows) == 1 else ("have", "rows")
    lack = f"{count(len(rows), 'row')} of {str(frame.path)!r} {verb} {what}: {row} {shown}."
    return InputError(lack, f"Drop or fill such rows{otherwise}.")


def _unnamed(table: pd.DataFrame, columns: tuple[str, ...], frame: Frame, share: float) -> tuple[Any, list[str]]:
    """Which rows lack one of their two identifiers, and what to say; more than a ``share`` of such rows is refused."""
    empty = ((table == "") | table.isna()).to_numpy()
    lacking = empty.any(axis=1)
    if not lacking.any():
        return lacking, []
    names = [repr(name) for name, gaps in zip(columns, empty.T, strict=False) if gaps.any()]
    what = f"no name in the column{'s' * (len(names) > 1)} {' or '.join(names)}"
    if lacking.mean() > share or lacking.all():
        otherwise = ", or leave them out with --drop-unnamed" if share and not lacking.all() else ""
        raise _lacking(frame, np.flatnonzero(lacking) + 1, what, otherwise)
    return lacking, [f"{count(int(lacking.sum()), 'row')} with {what} left out"]


def pairs(
    frame: Frame, plan: Plan, missing: bool = False, split: str | None = None, unnamed: float = 0.0
) -> tuple[pd.DataFrame, list[str]]:
    """The two columns of identifiers of triples or edges, the third of numbers, and what is to be said about them.

    Identifiers are as they are written, without spaces around them. With ``missing``, rows without a value are left
    out: they say as much as pairs that are not listed. ``split`` separates nodes in one cell of edges.
    Rows without an identifier are left out where they are at most a share ``unnamed`` of all, and refused otherwise.
    """
    written = pd.DataFrame({i: frame.text(name) for i, name in enumerate(plan.columns[:2])}, dtype=object)
    n_spaced = int((written.apply(lambda names: names.str.strip()) != written).to_numpy().sum())
    table = pd.DataFrame({i: names_in(frame, name) for i, name in enumerate(plan.columns[:2])}, dtype=object)
    table = table.apply(lambda names: names.str.strip())
    lacking, left = _unnamed(table, plan.columns, frame, unnamed)
    if len(plan.columns) > 2:
        name = plan.columns[2]
        column = frame.table.column(name)
        gaps = np.flatnonzero(pc.is_null(column, nan_is_null=True).to_numpy(zero_copy_only=False) & ~lacking) + 1
        if len(gaps) and not missing:
            without = f"; without that column: --drop {quoted(name)}"
            raise _lacking(frame, gaps, f"no value in the column {name!r}", without)
        if plan.kind == "triples" and (other := but_yes_no(column)):
            what = f"The column {name!r} of {str(frame.path)!r} {other}, where numbers are expected."
            raise InputError(what, f"{NOT_SO.capitalize()}.")
        shares = percentages(column)
        table[2] = column_numbers(frame.path, name, column) if shares is None else shares
        left += [f"{column[0].as_py().strip()} in {name!r} is read as {shares[0]:g}"] if shares else []
        lacking = lacking | np.isin(np.arange(1, len(table) + 1), gaps)
        left += [f"{count(len(gaps), 'row')} without a value left out"] if len(gaps) else []
    table = table[~lacking]
    table, said = split_ends(table, plan.columns, frame.path, split) if plan.kind == "edges" else (table, [])
    return table, [*said, *left, *[f"spaces around names removed in {count(n_spaced, 'cell')}"] * (n_spaced > 0)]


def from_edges(frame: Frame, plan: Plan, table: pd.DataFrame) -> tuple[tuple[Any, ...], str]:
    """Both ends of edges and, if there are any, weights; and a sentence."""
    weights = f"weights from {plan.columns[2]!r}" if len(plan.columns) > 2 else "no weights"
    if len(plan.columns) > 2 and frame.named and word(plan.columns[2]) not in WEIGHTS:
        weights += f" (without them: --drop {quoted(plan.columns[2])})"
    edges = tuple(table[name].to_numpy() for name in table)
    merged = ": ".join(filter(None, one_numbering(plan.columns, *edges[:2]))) if frame.named else ""
    remarks = [*[merged] * bool(merged), *edge_remarks(*edges[:2])]
    remarks += weight_remarks(plan.columns[2], edges[2]) if len(edges) > 2 else []
    frame = replace(frame, remarks=(*remarks, *frame.remarks))
    ends = " and ".join(map(repr, plan.columns[:2]))
    return edges, sentence(frame, plan, f"Edges read from the columns {ends}, {weights}")


def weight_remarks(name: str, values: NDArray[Any]) -> list[str]:
    """What a user should know about the weights of edges: those of zero.

    Examples
    --------
    >>> weight_remarks("w", np.array([0.0, 1.0, 2.0]))
    ['1 row has weight 0, no edge']
    """
    n = int((values == 0).sum())
    if n == len(values):
        raise InputError(
            f"All weights in the column {name!r} are 0: there are no edges.",
            f"Name another column with --weight, or leave the weights out with --drop {quoted(name)}.",
        )
    no_edge = n and not sounds_far(name)  # which has places of its own for nodes that are 0 apart
    return [f"{count(n, 'row')} {'has' if n == 1 else 'have'} weight 0, no edge"] if no_edge else []


def from_triples(frame: Frame, done: Settled, missing: bool = False) -> tuple[NamedMatrix, str]:
    """A sparse matrix, rows and columns in the order of the file; dense, with NaN, if other pairs are missing."""
    table, plan = done.table, done.plan
    coded = [pd.factorize(table[i]) for i in (0, 1)]
    values = table[2].to_numpy() if 2 in table else np.ones(len(table))
    shape = (len(coded[0][1]), len(coded[1][1]))
    X: Any = sp.coo_array((values.astype(float), (coded[0][0], coded[1][0])), shape=shape)
    X = _with_gaps(frame, X) if missing else X
    rows, columns = (
        names_array(frame.path, what, list(c[1])) for c, what in zip(coded, ("row", "column"), strict=True)
    )
    matrix = NamedMatrix(as_floats(frame.path, X), rows, columns, returned=_returned(done, *(c[1] for c in coded)))
    if frame.named:
        matrix = replace(matrix, row_title=plan.columns[0], column_title=plan.columns[1], triples=plan.columns)
    value = repr(plan.columns[2]) if len(plan.columns) > 2 else "1 for each pair"
    what = f"triples, {plan.columns[0]!r} in rows, {plan.columns[1]!r} in columns, {value} as value"
    return matrix, ", ".join([what, *done.said])


def _returned(done: Settled, rows: Any, columns: Any) -> sp.csr_array | None:
    """Ones for pairs with a negative value, in a matrix with these rows and columns."""
    if done.returned is None:
        return None
    i, j = pd.Index(rows).get_indexer(done.returned[0]), pd.Index(columns).get_indexer(done.returned[1])
    known = (i >= 0) & (j >= 0)  # who has only returned goods has no row if returns are left out
    return sp.csr_array((np.ones(known.sum()), (i[known], j[known])), shape=(len(rows), len(columns)))


def _with_gaps(frame: Frame, X: sp.coo_array) -> NDArray[np.float64]:
    """A dense matrix with NaN where no entry is stored; stored zeros stay."""
    if X.shape[0] * X.shape[1] > MOST_CELLS:
        raise InputError(
            f"The triples of {str(frame.path)!r} make {X.shape[0]:,} rows by {X.shape[1]:,} columns; --missing "
            f"takes at most {MOST_CELLS:,} cells.",
            "Keep fewer rows and columns, or leave out --missing, so that pairs that are not listed count as 0.",
        )
    gaps = np.ones(X.shape, dtype=bool)
    gaps[X.coords] = False
    return np.where(gaps, np.nan, X.toarray())


def from_texts(frame: Frame, plan: Plan, beside: Sequence[str] = ()) -> dict[str, Any]:
    """The documents in a table, their names, what those are called, a sentence, and all rows, as of an ``Input``.

    Rows without text are not documents. Columns ``beside`` are kept as they are written.
    """
    columns: Sequence[list[str]] = [frame.text(name) for name in plan.columns]
    cells = [[text.strip() for text in row if text] for row in zip(*columns, strict=True)]
    joined = ["\n".join(text for text in row if text.casefold() not in NO_TEXT).strip() for row in cells]
    kept = [i for i, text in enumerate(joined) if text]
    stand_ins = ["".join(row) for row, text in zip(cells, joined, strict=True) if not text and any(row)]
    if not kept:
        raise InputError(f"The column {plan.columns[0]!r} of {str(frame.path)!r} holds no text.", "Name another one.")
    names, title = np.arange(1, len(joined) + 1).astype(str), SAMPLES
    if plan.index:
        title = plan.index[0] or SAMPLES
        names = names_array(frame.path, "row", names_in(frame, plan.index[0]))
    start = f"Read as texts: {count(len(kept), 'document')} from {' and '.join(map(repr, plan.columns))}"
    start += f", named by {title!r}" if plan.index and plan.index[0] else ""
    empty = len(joined) - len(kept)
    start += f"; {count(empty, 'row')} without text left out" if empty else ""
    start += f", {len(stand_ins)} of them with {stand_ins[0]!r} or the like" if stand_ins else ""
    start += f"; in --weights, {'it has' if empty == 1 else 'they have'} no topic" if empty else ""
    found, times = np.unique(names[kept], return_counts=True)
    if (times > 1).any():
        again = f"{found[times.argmax()]!s}"
        start += f"; {count(int((times > 1).sum()), 'name')} of documents used more than once, as {again!r}, and kept"
    said = sentence(frame, replace(plan, unused=tuple(name for name in plan.unused if name not in beside)), start)
    rows = AllRows(names, kept, {name: _as_written(frame, name) for name in beside if name != title})
    documents = [joined[i] for i in kept]
    return {"said": said, "documents": documents, "names": names[kept], "title": title, "rows": rows}


def _as_written(frame: Frame, name: str) -> list[Any]:
    """Cells of a column: numbers where that is how they are written, and else texts, as for 007."""
    texts, column = frame.text(name), frame.table.column(name)
    values = column.to_pylist() if is_number(column.type) else texts
    return values if list(map(str, values)) == texts else texts


def sentence(frame: Frame, plan: Plan, start: str) -> str:
    """A sentence that ends with what was noticed, and the columns that are not used."""
    bare = "the column without a name" + " (row numbers)" * (plan.kind == "edges")
    unused = [repr(name) if name else bare for name in plan.unused]
    more = [*remark(frame, plan.columns if plan.kind == "numbers" else plan.columns[2:]), *frame.remarks]
    if unused:
        listed = ", ".join(unused[:5]) + (f" and {len(unused) - 5} more" if len(unused) > 5 else "")
        more.append(f"not used: {listed}")
    if plan.kind == "edges" and len(plan.columns) == 2 and len(unused) == 1 and plan.unused[0]:
        column = frame.table.column(plan.unused[0])
        more += [f"as weights: --triples {listing([*plan.columns, *plan.unused])}"] * is_number(column.type)
    return "; ".join([start, *more]) + "."
