"""Graphs as people have them: lists of edges, and graphs of networkx and igraph."""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
import pyarrow as pa
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from rectifact.core.errors import FitWarning, InputError, count
from rectifact.graph.mistaken import check_not_edges
from rectifact.io.columns import Options, View, is_no_weight, word
from rectifact.io.edge_columns import WEIGHTS, may_be_far, named_ends, one_numbering, sounds_far
from rectifact.io.frames import Frame
from rectifact.io.graphs import nearly_equal
from rectifact.io.listed import likely_edges
from rectifact.io.several import find_lists
from rectifact.io.spelling import composed

DIRECTED = "The graph is directed, and directions are ignored."

ROLES = ("source", "target", "weight")
"""Columns of a table of edges; there need not be weights."""


def read_graph(
    X: Any, columns: Mapping[str, str | None] | None = None, *, tables: bool = True
) -> tuple[sp.csr_array, Any] | None:
    """Adjacency matrix and nodes of a graph of networkx or igraph or of a table of edges; None where X is neither.

    A table of edges has the columns source, target and, if there are weights, weight, or others that ``columns`` name.
    A table with two or three columns, the first two of nodes and the third of weights, is one too if its nodes are
    text, or where ``tables`` says that X does not hold points. Nodes come in the order in which edges name them, as on
    the command line.

    Examples
    --------
    >>> read_graph(pd.DataFrame({"source": ["a"], "target": ["b"]}))[1].tolist()
    ['a', 'b']
    >>> read_graph(pd.DataFrame({"from": ["a"], "to": ["b"], "weight": [9.0]}))[1].tolist()
    ['a', 'b']
    """
    if isinstance(X, str | PathLike):
        what = f"X is the name of a file, {str(X)!r}, and not what is in it."
        raise InputError(what, f"Read it first: pandas.read_csv({str(X)!r}) for a table of points or of edges.")
    named = {role: name for role, name in (columns or {}).items() if name is not None}
    is_table = nw.dependencies.is_into_dataframe(X)
    X = X if is_table else _weighted_by(X, named)
    if _is_networkx(X):
        _warn_of_unused(X)
    if _is_networkx(X) or _is_igraph(X):
        if getattr(X, "is_directed", bool)():
            warnings.warn(FitWarning(DIRECTED, "Weights of both directions are added up."), stacklevel=5)
        return from_networkx(X) if _is_networkx(X) else from_igraph(X)
    if not is_table:
        return None
    table = nw.from_native(X, eager_only=True)
    names = edge_columns(table, named, tables)
    if names is None:
        check_not_edges(table)
        return None
    ends = [table.get_column(name).to_numpy() for name in names]
    ends[:2], merged = _composed(ends[0], ends[1])
    found = from_edges(*ends, sort=False)
    about_weight = _about_weight(list(map(str, names)), asked="weight" in named)
    for what, cure in (*merged, *about_weight, *_about_nodes(list(map(str, names)), ends, found[1])):
        warnings.warn(FitWarning(what, cure), stacklevel=5)
    return found


def _composed(source: Any, target: Any) -> tuple[list[Any], list[tuple[str, str]]]:
    """Both ends with names that are the same text written in one way, and what to say about it."""
    if not all(isinstance(name, str) for end in (source, target) for name in end):
        return [source, target], []
    table, said = composed(pd.DataFrame({0: source, 1: target}))
    ends = [table[0].to_numpy(), table[1].to_numpy()] if said else [source, target]
    return ends, [(f"{said[0]}.", "Nothing has to be done, if they are the same.")] if said else []


def _about_weight(names: list[str], asked: bool) -> Iterator[tuple[str, str]]:
    """What to say about a column of weights whose name does not say that it holds them, and what to do."""
    if len(names) < 3:
        return
    if sounds_far(names[2]) or (may_be_far(names[2]) and not asked):
        what = f"A large {names[2]!r} counts as a strong tie."
        yield what, "If it means a weak one, give 1 / (1 + it) as the weight, or leave it out."
    elif not asked and word(names[2]) not in WEIGHTS:
        yield f"The column {names[2]!r} is taken for the weights of the edges.", f"To choose, give {named_ends(names)}."


def _about_nodes(names: list[str], ends: Sequence[Any], nodes: Any) -> Iterator[tuple[str, str]]:
    """What to say about nodes that may be the same, different or several, and what to do."""
    what, cure = one_numbering(names, *ends[:2])
    if what:
        yield f"{what}.", f"{cure[0].upper()}{cure[1:]}."
    said = nearly_equal(sorted(node for node in nodes if isinstance(node, str)))
    if said:
        cure = "Correct them first if they are the same, for example with .str.strip().str.lower()."
        yield f"{said}.", cure
    lists = find_lists(node for node in nodes if isinstance(node, str))
    if lists is not None:
        what = f"{count(len(lists.cells), 'node')} may be a list of nodes each, such as {lists.cells[0]!r}."
        cure = f"Split them first, for example with table['{names[1]}'].str.split('; *').explode()."
        yield what, cure.replace(";", lists.marks[:1] or ";")


def _is_networkx(X: Any) -> bool:
    return hasattr(X, "adjacency") and hasattr(X, "nodes")


def _is_igraph(X: Any) -> bool:
    return hasattr(X, "get_edgelist") and hasattr(X, "vs")


def _weighted_by(X: Any, named: Mapping[str, str]) -> Any:
    """A graph object with the attribute that is named for the weights as ``weight``; without a name, as it is."""
    if not named:
        return X
    if set(named) != {"weight"} or not (_is_networkx(X) or _is_igraph(X)):
        what = f"{', '.join(named)} name columns of a table of edges; got {type(X).__name__}."
        raise InputError(what, "Leave them out, or give a table, such as a pandas DataFrame.")
    name, X = named["weight"], X.copy()
    has = X.es.attributes() if _is_igraph(X) else _attributes(X)
    if name not in has:
        known = f"they have {', '.join(map(repr, has))}" if has else "they have none"
        raise InputError(f"Not all edges of the graph have the attribute {name!r}; {known}.", "Check the spelling.")
    if _is_igraph(X):
        X.es["weight"] = X.es[name]
    else:
        for *_, data in X.edges(data=True):
            data["weight"] = data[name]
    return X


def _attributes(graph: Any) -> list[str]:
    """Attributes that all edges of a networkx graph have."""
    edges = [data for *_, data in graph.edges(data=True)]
    return [name for name in edges[0] if all(name in data for data in edges)] if edges else []


def _warn_of_unused(graph: Any) -> None:
    """Say that numbers of all edges are not used, where there is no weight among them."""
    edges = [data for *_, data in graph.edges(data=True)]
    if any("weight" in data for data in edges):
        return
    usual = [name for name in _attributes(graph) if all(isinstance(data[name], int | float) for data in edges)]
    usual = [name for name in usual if not is_no_weight(str(name), np.asarray([data[name] for data in edges]))]
    if usual:
        what = f"Edges have the attribute {usual[0]!r}, which is not used: without a weight, each counts 1."
        warnings.warn(FitWarning(what, f"To use it, give weight={usual[0]!r}."), stacklevel=6)


def edge_columns(table: Any, named: Mapping[str, str], tables: bool) -> list[str] | None:
    """Names of the columns of nodes and, if there is one, of weights; None for a table that does not hold edges."""
    there = list(table.columns)
    for role, name in named.items():
        if name not in there:
            raise InputError(f"There is no column {name!r} for the {role} among {there}.", "Check the spelling.")
    found = {role: named.get(role, role) for role in ROLES if role in named or role in there}
    if {"source", "target"} <= set(found):
        return list(found.values())
    if named:
        missing = "target" if "source" in found else "source"
        raise InputError(f"No column for the {missing} among {there}.", f"Name it: {missing}='...'.")
    if len(there) < 2 or len(there) == len(table):  # as a matrix of similarities is
        return None
    text = not any(table.get_column(name).dtype.is_numeric() for name in there[:2])
    if len(there) <= 3:
        weights = [name for name in there[2:] if _may_be_weight(table.get_column(name))]
        return [*there[:2], *weights] if tables or text else None
    ends = _likely_ends(table) or (there[:2] if text else [])
    if ends:
        what = f"The columns {ends[0]!r} and {ends[1]!r} hold text, which points cannot have."
        raise InputError(
            what, f"If they are nodes of a graph, give {named_ends(ends)}; else drop or encode such columns."
        )
    return None


def _likely_ends(table: Any) -> list[str]:
    """Columns of text that have names in common, and one that may hold weights, as the command line finds them."""
    texts = [name for name in table.columns if not table.get_column(name).dtype.is_numeric()]
    if len(texts) < 2 or not all(isinstance(name, str) for name in table.columns):
        return []
    try:
        frame = Frame(Path("table"), table.to_arrow(), lambda _: [])
    except (pa.ArrowInvalid, pa.ArrowTypeError):  # cells of several types
        return []
    return likely_edges(View(frame, "cluster", Options()))


def _may_be_weight(column: Any) -> bool:
    """Whether a column holds neither years nor times nor numbers of the rows, as the command line has it."""
    return not (column.dtype.is_temporal() or is_no_weight(str(column.name), column.to_numpy()))


def edges_named(X: Any, columns: Mapping[str, str | None]) -> Any:
    """A table of edges with its columns named source, target and weight, where ``columns`` say which they are.

    Examples
    --------
    >>> table = pd.DataFrame({"day": [1], "from": ["a"], "to": ["b"]})
    >>> list(edges_named(table, {"source": "from", "target": "to"}).columns)
    ['source', 'target']
    """
    named = {role: name for role, name in columns.items() if name is not None}
    if not named:
        return X
    if not nw.dependencies.is_into_dataframe(X):
        return _weighted_by(X, named)
    table = nw.from_native(X, eager_only=True)
    names = edge_columns(table, named, True) or []
    return nw.to_native(table.select(*(nw.col(name).alias(role) for role, name in zip(ROLES, names, strict=False))))


def from_edges(
    source: ArrayLike, target: ArrayLike, weight: ArrayLike | None = None, *, sort: bool = True
) -> tuple[sp.csr_array, NDArray[Any]]:
    """Symmetric adjacency matrix of an edge list, and the nodes in the order of its rows.

    Edges have no direction: those given both ways count twice, and so do repeated ones. Loops are kept.

    Parameters
    ----------
    source, target : array of shape (n_edges,)
        Nodes, as numbers or as text.
    weight : array of shape (n_edges,) or None, default None
        Finite and not negative; None is 1 for each edge.
    sort : bool, default True
        Whether nodes are sorted, or in the order in which edges name them.

    Returns
    -------
    matrix : csr_array of shape (n_nodes, n_nodes)
    nodes : array of shape (n_nodes,)

    Examples
    --------
    >>> matrix, nodes = from_edges(["a", "b"], ["b", "c"])
    >>> nodes.tolist(), matrix.toarray().tolist()
    (['a', 'b', 'c'], [[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
    """
    ends = [pd.Series(np.asarray(end)) for end in (source, target)]
    n = len(ends[0])
    if n == len(ends[1]) == 0:
        raise InputError("There are no edges: there is nothing to cluster.", "Check the table, or the filter.")
    if n != len(ends[1]):
        raise InputError(
            f"Edges are pairs of nodes; got {n} sources and {len(ends[1])} targets.", "Give one of each for every edge."
        )
    gaps = (ends[0].isna() | ends[1].isna()).to_numpy()
    if gaps.any():
        lack = f"{count(int(gaps.sum()), 'edge')} {'lacks' if gaps.sum() == 1 else 'lack'} a node"
        raise InputError(f"{lack}, the first in row {int(gaps.argmax())} (from 0).", "Drop such rows, with dropna().")
    if len({pd.api.types.is_numeric_dtype(end) for end in ends}) == 2:
        raise InputError(
            "Sources are numbers and targets are text, or the reverse.",
            "Make both text, with astype(str).",
            command="Make both text, or both numbers.",
        )
    both = pd.concat(ends).sort_index(kind="stable")  # each source before its target
    codes, nodes = pd.factorize(both, sort=sort)
    return _adjacency(codes[::2], codes[1::2], weight, len(nodes)), np.asarray(nodes)


def from_networkx(graph: Any) -> tuple[sp.csr_array, list[Any]]:
    """Symmetric adjacency matrix of a networkx graph, and its nodes in the order of the rows.

    Parameters
    ----------
    graph : networkx.Graph
        Edges without a weight count 1; their direction is ignored.

    Returns
    -------
    matrix : csr_array of shape (n_nodes, n_nodes)
    nodes : list
    """
    nodes = list(graph.nodes)
    place = {node: i for i, node in enumerate(nodes)}
    edges = [(place[u], place[v]) for u, v in graph.edges()]
    weight = [data.get("weight", 1.0) for _, _, data in graph.edges(data=True)]
    return _from_places(edges, weight, len(nodes)), nodes


def from_igraph(graph: Any) -> tuple[sp.csr_array, Any]:
    """Symmetric adjacency matrix of an igraph graph, and its nodes in the order of the rows.

    Parameters
    ----------
    graph : igraph.Graph
        Edges without a weight count 1; their direction is ignored.

    Returns
    -------
    matrix : csr_array of shape (n_nodes, n_nodes)
    nodes : array of shape (n_nodes,) or list
        Values of the attribute ``name`` where nodes have it, otherwise their numbers.
    """
    weight = graph.es["weight"] if "weight" in graph.es.attributes() else None
    n = graph.vcount()
    nodes = list(graph.vs["name"]) if "name" in graph.vs.attributes() else np.arange(n)
    return _from_places(graph.get_edgelist(), weight, n), nodes


def _from_places(edges: list[tuple[int, int]], weight: Any, n_nodes: int) -> sp.csr_array:
    """Symmetric matrix of the edges of a graph object, between the places of its nodes."""
    if not edges:
        raise InputError("The graph has no edges: there is nothing to cluster.", "Add edges first.")
    source, target = np.asarray(edges, dtype=np.int64).T
    return _adjacency(source, target, weight, n_nodes)


def _adjacency(source: NDArray[Any], target: NDArray[Any], weight: Any, n_nodes: int) -> sp.csr_array:
    """Symmetric matrix of edges between numbered nodes."""
    try:
        values = np.ones(len(source)) if weight is None else np.asarray(weight, dtype=float)
    except (TypeError, ValueError) as error:
        raise InputError(f"Weights of edges are numbers: {error}.", "Convert or drop those that are not.") from error
    if values.shape != source.shape:
        raise InputError(
            f"There are {len(source)} edges, but weights of shape {values.shape}.", "Give one for each edge."
        )
    if not (np.isfinite(values) & (values >= 0)).all():
        wrong = ~(np.isfinite(values) & (values >= 0))
        first = int(wrong.argmax())
        n = int(wrong.sum())
        what = (
            f"{n} of {len(values)} weights of edges {'is' if n == 1 else 'are'} negative or not finite, the first is "
        )
        raise InputError(f"{what}{values[first]:g} in edge {first + 1}.", "Drop such edges, or set their weights to 0.")
    if not values.any():
        what = "All weights of edges are 0: there are no edges."
        raise InputError(what, "Give other weights, or none.", command="Name another column with --weight.")
    loops = source == target
    if loops.all():
        what = "All edges lead from a node to itself: there is nothing to cluster."
        raise InputError(what, "Give edges between different nodes, or check which columns hold them.")
    half = sp.coo_array((np.where(loops, values / 2, values), (source, target)), shape=(n_nodes, n_nodes))
    whole = sp.csr_array(half + half.T)
    index = np.int32 if whole.nnz < 2**31 else np.int64  # scikit-learn takes no others where these suffice
    return sp.csr_array((whole.data, whole.indices.astype(index), whole.indptr.astype(index)), shape=whole.shape)
