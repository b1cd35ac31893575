"""Tables whose rows and columns are two kinds of nodes, such as who was where; and rows, columns and nodes of sums."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from rectifact.core.errors import count
from rectifact.io.columns import quoted
from rectifact.io.frames import Frame
from rectifact.io.matrices import NamedMatrix
from rectifact.io.tables import column_numbers, is_number

LEAST = 3
"""Rows and columns of numbers that a table must have."""

ZEROS = 0.1
"""Share of the cells without an edge from which on other than whole numbers may be weights, and not measurements."""

ROUNDED = 1e-9
"""Share of a sum by which it may differ from what it adds up."""

SUM = "the sum of the others"


def cells(frame: Frame) -> tuple[list[str], list[str], NDArray[np.float64]] | None:
    """Names of rows and columns, and the numbers, of a table of numbers beside a column of different names."""
    first, *others = frame.table.column_names
    if not frame.named or len(frame.table) < LEAST or len(others) < LEAST or is_number(frame.table.schema.types[0]):
        return None
    rows = list(frame.text(first))
    if len(set(rows)) < len(rows) or not all(rows) or not all(map(is_number, frame.table.schema.types[1:])):
        return None
    X = np.column_stack([column_numbers(frame.path, name, frame.table.column(name)) for name in others])
    return rows, others, X


def without_sums(frame: Frame, drop: Sequence[str] = ()) -> Frame:
    """A table without a column, and a row, of which each cell is the sum of the others; and a remark about them.

    Columns to ``drop`` are left out first, with the rows of the same names.

    A matrix whose rows and columns have the same names stays as it is: its sums are a node, and are found as such.
    """
    frame = _dropped(frame, drop) if drop else frame
    found = cells(frame)
    if found is None or sorted(found[0]) == sorted(found[1]):
        return frame
    (rows, columns, X), table, left = found, frame.table, list[str]()
    if (j := sum_column(X)) is not None:
        table, X = table.drop_columns([columns[j]]), np.delete(X, j, axis=1)
        left.append(f"the column {columns[j]!r}")
    if (i := sum_column(X.T)) is not None:
        others = np.delete(np.arange(len(rows)), i).tolist()
        table, frame = table.take(others), replace(frame, text=_rows_of(frame.text, others))
        left.append(f"the row {rows[i]!r}")
    if not left:
        return frame
    verb = "is left out, as it is" if len(left) == 1 else "are left out, as they are"
    return replace(frame, table=table, remarks=(*frame.remarks, f"{' and '.join(left)} {verb} {SUM}"))


def _dropped(frame: Frame, names: Sequence[str]) -> Frame:
    """A table without some of its nodes, whether they are rows or columns."""
    found = cells(frame)
    if found is None:
        return frame
    kept = [i for i, name in enumerate(found[0]) if name not in names]
    table = frame.table.take(kept).drop_columns([name for name in found[1] if name in names])
    return replace(frame, table=table, text=_rows_of(frame.text, kept))


def _rows_of(text: Callable[[str], list[str]], rows: Sequence[int]) -> Callable[[str], list[str]]:
    """The cells of a column as they are written, of some of the rows."""
    return lambda name: [text(name)[i] for i in rows]


def sum_column(X: NDArray[np.float64]) -> int | None:
    """The column whose numbers are the sums of all other columns, in each row; None if there is none.

    Examples
    --------
    >>> X = np.random.default_rng(0).integers(0, 9, (6, 5)).astype(float)
    >>> sum_column(np.c_[X, X.sum(axis=1)]), sum_column(X)
    (5, None)
    """
    X = np.nan_to_num(X)
    totals, several = X.sum(axis=1), (X != 0).sum(axis=1) > 2  # the sum itself, and two that it adds up
    if several.sum() < LEAST:
        return None
    same = (abs(2 * X - totals[:, None]) <= ROUNDED * abs(totals)[:, None]).all(axis=0)
    return int(same.argmax()) if same.any() else None


def sum_node(graph: Any) -> int | None:
    """The node whose weight to each other node is the sum of all other weights of that one; None if there is none.

    Parameters
    ----------
    graph : array or sparse array of shape (n_nodes, n_nodes)
        Weights from rows to columns; loops may count once, twice or not.

    Examples
    --------
    >>> half = np.triu(np.random.default_rng(0).integers(0, 9, (6, 6)), 1)
    >>> weights = half + half.T
    >>> sum_node(np.block([[weights, weights.sum(axis=1)[:, None]], [weights.sum(axis=0), np.zeros((1, 1))]]))
    6
    >>> sum_node(weights) is None
    True
    """
    A = sp.csc_array(graph, dtype=float)
    loops = A.diagonal()
    bare = sp.csc_array(A - sp.diags_array(loops))
    bare.eliminate_zeros()
    totals, neighbours = np.asarray(bare.sum(axis=1)).ravel(), np.asarray((bare != 0).sum(axis=1)).ravel()
    if (neighbours > 2).sum() < 2 * LEAST - 1:  # among fewer, it may be a coincidence
        return None
    held = np.diff(bare.indptr)
    for node in np.flatnonzero(held >= (totals > 0).sum() - 1):
        own, others = bare[:, [int(node)]].toarray().ravel(), np.arange(len(totals)) != node
        for times in (0, 1, 2):
            if (abs(2 * own - totals - times * loops) <= ROUNDED * abs(totals))[others].all():
                return int(node)
    return None


def two_modes(frame: Frame) -> tuple[NamedMatrix, str] | None:
    """The graph of a table whose rows and columns are two kinds of nodes, and what it is; None for other tables.

    Names of rows and columns have none in common, and the cells are counts, or weights of which some are 0.
    """
    found = cells(frame)
    if found is None:
        return None
    rows, columns, X = found
    gaps, X = int(np.isnan(X).sum()), np.nan_to_num(X)
    may_be = (X >= 0).all() and X.any() and ((np.round(X) == X).all() or (X == 0).mean() >= ZEROS)
    if set(rows) & set(columns) or not may_be:
        return None
    B = sp.csr_array(X)
    names = np.array([*rows, *columns], dtype=np.str_)
    empty = f"; {count(gaps, 'empty cell')} {'counts' if gaps == 1 else 'count'} as 0" if gaps else ""
    each = "1 is an edge" if set(np.unique(X)) <= {0.0, 1.0} else "the numbers are the weights of edges"
    said = f"{len(rows)} in rows and {len(columns)} in columns, which are clustered together: {each}, 0 is none{empty}"
    graph = sp.csr_array(sp.block_array([[None, B], [B.T, None]]))
    return NamedMatrix(graph, names, names, "node"), f"a table of two kinds of nodes, {said}"


def how_as_graph(frame: Frame) -> list[str]:
    """How to read a table as a graph that says with 0 and 1 which rows go with which columns; nothing for others."""
    found = cells(frame)
    if found is None or set(np.unique(found[2])) != {0.0, 1.0} or set(found[0]) & set(found[1]):
        return []
    return [f"for rows and columns as two kinds of nodes: --graph {quoted(str(frame.path))}"]
