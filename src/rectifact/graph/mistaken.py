"""Graphs that would be read as points: tables of edges between numbered nodes, and adjacency matrices."""

import warnings
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

from rectifact.core.errors import FitWarning, InputError
from rectifact.io.columns import WORDS, is_no_weight, word
from rectifact.io.edge_columns import ENDS, named_ends
from rectifact.io.listed import SHARED

PLACES = {"x", "y", "z", "lat", "lon", "lng", "latitude", "longitude", "row", "column", "col"}
"""Names of columns that hold coordinates, whatever numbers they have in common."""

OTHERS = {"1": "2", "a": "b"}


def check_not_edges(table: Any) -> None:
    """Refuse a table whose first two columns hold numbers and are called as ends of edges: it may be edges, or points.

    Columns of other names that have many numbers in common draw a warning: ages and scores may have, too.

    Parameters
    ----------
    table : narwhals DataFrame
    """
    if not 2 <= len(table.columns) <= 3 or len(table) < 3:
        return
    first, second = table.columns[:2]
    pair = [table.get_column(name).to_numpy() for name in (first, second)]
    if not all(_are_ids(values) for values in pair) or {word(str(first)), word(str(second))} & PLACES:
        return
    named = _are_named_ends(str(first), str(second))
    if not named and not _are_the_same_nodes(*pair):
        return
    others = [name for name in table.columns[2:] if not is_no_weight(str(name), table.get_column(name).to_numpy())]
    what = f"The columns {first!r} and {second!r} hold whole numbers, as the ends of edges between numbered nodes do"
    edges = f"For edges, give {named_ends([first, second, *others])}; "
    if named:
        raise InputError(f"{what}: X may hold edges, or points.", f"{edges}for points, give X.to_numpy().")
    said = FitWarning(f"{what}; X is read as points.", f"{edges}for points, X.to_numpy() says so.")
    warnings.warn(said, stacklevel=6)


def _are_ids(values: Any) -> bool:
    return values.dtype.kind in "iu" and bool((values >= 0).all())


def _are_named_ends(first: str, second: str) -> bool:
    """Whether two columns are called as the ends of edges are, such as from and to, or id1 and id2."""
    words = (word(first), word(second))
    numbered = ENDS.fullmatch(words[0])
    other = words[0][:-1] + OTHERS[numbered[2]] if numbered else ""
    return list(words) in [list(ends) for ends in WORDS["edges"]] or words[1] == other


def _are_the_same_nodes(first: Any, second: Any) -> bool:
    """Whether two columns have many numbers in common, most of which come again, and few pairs twice."""
    ends = [np.unique(values) for values in (first, second)]
    nodes = len(np.union1d(ends[0], ends[1]))
    common = len(ends[0]) + len(ends[1]) - nodes
    pairs = len(np.unique(np.stack([first, second], axis=1), axis=0))
    return common >= SHARED * min(map(len, ends)) and nodes <= len(first) and pairs >= 0.9 * len(first)


def like_graph(X: Any) -> str:
    """How points look like the matrix of a graph, as the end of a sentence about X; empty if they do not.

    A matrix without names must be mostly zeros, as those of graphs are, and kernels and covariances are not.

    Examples
    --------
    >>> like_graph(pd.DataFrame([[0, 2], [2, 0]], index=["a", "b"], columns=["a", "b"]))
    'symmetric, with the same names in rows and columns'
    >>> like_graph(np.diag(np.ones(4), 1) + np.diag(np.ones(4), -1))
    'square, symmetric and mostly zeros, as the matrix of a graph is'
    >>> like_graph(np.eye(5)), like_graph(np.ones((5, 5)))
    ('', '')
    """
    if isinstance(X, pd.DataFrame):
        same = _same_names(X)
        if same is not None:
            return "symmetric, with the same names in rows and columns" if _is_symmetric(same) else ""
        numeric = all(pd.api.types.is_numeric_dtype(kind) for kind in X.dtypes)
        X = X.to_numpy(dtype=float) if numeric and X.shape[0] == X.shape[1] else None
    known = sp.issparse(X) or isinstance(X, np.ndarray)
    if not known or X.ndim != 2 or X.shape[0] != X.shape[1] or X.shape[0] < 4 or X.dtype.kind not in "biuf":
        return ""
    edges = sp.coo_array(X)
    between = int(((edges.coords[0] != edges.coords[1]) & (edges.data != 0)).sum())
    sparse = 0 < between <= X.shape[0] ** 2 / 2
    return "square, symmetric and mostly zeros, as the matrix of a graph is" if sparse and _is_symmetric(X) else ""


def _same_names(X: pd.DataFrame) -> Any:
    """The numbers of a table that has the same names in rows and columns, in any order; None for another table."""
    if X.shape[0] != X.shape[1] or isinstance(X.index, pd.RangeIndex):
        return None
    numeric = all(pd.api.types.is_numeric_dtype(kind) for kind in X.dtypes)
    same = numeric and X.index.is_unique and set(X.index) == set(X.columns)
    return X[list(X.index)].to_numpy(dtype=float) if same else None


def _is_symmetric(X: Any) -> bool:
    """Whether a matrix has no negative entries, and is symmetric."""
    if sp.issparse(X):
        data = sp.csr_array(X).astype(float)
        return bool((data.data >= 0).all() and abs(data - data.T).max() <= 1e-8 * max(data.max(), 1e-300))
    values = np.asarray(X, dtype=float)
    return bool((values >= 0).all() and np.allclose(values, values.T))
