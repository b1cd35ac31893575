"""Graphs in files: GML and GraphML, read by networkx; lists of edges and of neighbours that it writes; JSON."""

import json
import re
from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from unicodedata import normalize

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rectifact.core.errors import InputError, count, missing_extra
from rectifact.io.columns import quoted
from rectifact.io.files import reading
from rectifact.io.text import COMMENT, read_text, text_head, text_suffix

GRAPHS = {".gml": "GML", ".graphml": "GraphML", ".gexf": "GEXF", ".net": "Pajek", ".paj": "Pajek"}
ADDED = (" and is added to it", " and are added to them")
"""What happens to an edge, and to several, that repeat others."""

TWO_KINDS = "no node is in both columns: two kinds of nodes, which are clustered together"
WEIGHTS = ("weight", "value", "Weight")
ATTRIBUTES = re.compile(r"(?P<ends>.*\S)\s*[,;\t ]\s*(?P<data>\{[^{}]*\})\s*")
"""A line of an edge list that ends with attributes, as networkx writes them."""
WEIGHT = re.compile(r"""['"](?:weight|value|Weight)['"]\s*:\s*([^,}]+)""")

Edges = tuple[Any, ...]
"""Both ends and, if there are any, weights."""


def read_graph_file(path: Path, weight: str | None = None) -> tuple[Any, str]:
    """A networkx graph whose nodes are called by their labels, and a sentence that says how it was read.

    Parameters
    ----------
    path : Path
        ``.gml`` or ``.graphml``, which may be compressed.
    weight : str or None, default None
        Attribute of the edges that holds the weights; None is a usual one.

    Returns
    -------
    graph : networkx.Graph
        Weights are called ``weight``.
    said : str
    """
    graph, form = _stored(path)
    if graph.number_of_edges() == 0:
        raise InputError(f"The graph in {str(path)!r} has no edges: there is nothing to cluster.", "Check the file.")
    used = _take_weights(path, graph, weight)
    graph, named = _called_by_label(graph)
    sizes = f"{count(graph.number_of_nodes(), 'node')} and {count(graph.number_of_edges(), 'edge')}"
    directed = "; directions are ignored" if graph.is_directed() else ""
    ends = pd.DataFrame(list(graph.edges()))
    said = f"Read as a {form} graph: {sizes}, {used}, nodes called by their {named}{directed}"
    return graph, "; ".join([said, *edge_remarks(ends[0], ends[1])]) + "."


def _stored(path: Path) -> tuple[Any, str]:
    """The networkx graph of a file, and the name of its format."""
    form = GRAPHS[text_suffix(path)]
    if find_spec("networkx") is None:
        raise missing_extra(f"Reading a {form} file", "networkx", "graphs", "or save the edges as CSV")
    import networkx as nx

    with reading(path, form):
        try:
            return _read(nx, path, form), form
        except (nx.NetworkXError, SyntaxError, TypeError, AttributeError, IndexError) as error:  # XML: SyntaxError
            what = f"Cannot read {str(path)!r} as {form}: {str(error).rstrip('.')}."
            raise InputError(what, "Export the file again, or save its edges as CSV.") from error


def node_attributes(path: Path) -> dict[str, dict[str, Any]] | None:
    """What a file of a graph says about its nodes, by their names; None for a file of another kind."""
    if text_suffix(path) in GRAPHS:
        graph, _ = _called_by_label(_stored(path)[0])
        return {str(node): dict(data) for node, data in graph.nodes(data=True)}
    if text_suffix(path) != ".json" or not holds_node_links(path):
        return None
    with reading(path, "JSON"):
        nodes, links = _nodes_and_links(json.loads(read_text(path)))
    return dict(zip(_node_names(nodes, links).values(), nodes, strict=True))


def edge_remarks(source: Any, target: Any) -> list[str]:
    """What a user should know about edges: repeated ones, which are added up, loops, names, and two kinds of nodes.

    Examples
    --------
    >>> edge_remarks(["a", "b", "a", "c"], ["b", "a", "c", "c"])
    ['1 row repeats an edge and is added to it, in the other direction', '1 edge from a node to itself']
    >>> edge_remarks(["a", "b", "b", "a"], ["b", "a", "a", "b"])
    ['3 rows repeat edges and are added to them, 2 of them in the other direction']
    >>> edge_remarks(["Ann", "Bea", "Cyd"], ["tea", "tea", "tea"])
    ["all edges have 'tea' at one end: a star, which has no communities; check the columns"]
    >>> edge_remarks(["Ann", "Bea", "Ann"], ["tea", "tea", "ball"])
    ['no node is in both columns: two kinds of nodes, which are clustered together']
    """
    ends = pd.DataFrame({"a": np.asarray(source, dtype=object), "b": np.asarray(target, dtype=object)}).astype(str)
    swapped = ends["a"] > ends["b"]
    ordered = ends.mask(swapped, ends[["b", "a"]].set_axis(["a", "b"], axis=1))
    again, first = ordered.duplicated(), swapped.groupby([ordered["a"], ordered["b"]]).transform("first")
    both, loops = int((again & (swapped != first)).sum()), int((ends["a"] == ends["b"]).sum())
    remarks = []
    if again.any():
        n = int(again.sum())
        ways = f", {both} of them in the other direction" if both else ""
        ways = ", in the other direction" if both == n else ways
        what = f"repeats an edge{ADDED[0]}" if n == 1 else f"repeat edges{ADDED[1]}"
        remarks.append(f"{count(n, 'row')} {what}{ways}")
    if loops:
        remarks.append(f"{count(loops, 'edge')} from a node to itself")
    sides = [set(ends["a"]), set(ends["b"])]
    hub = next((side for side in sides if len(side) == 1), None) if len(ends) > 2 else None
    if hub:
        remarks.append(
            f"all edges have {next(iter(hub))!r} at one end: a star, which has no communities; check the columns"
        )
    elif len(ends) > 2 and not sides[0] & sides[1]:
        remarks.append(TWO_KINDS)
    return [*remarks, *filter(None, [nearly_equal(sorted(sides[0] | sides[1]))])]


def nearly_equal(names: Iterable[str]) -> str:
    """A remark about names that may mean the same node; empty if there are none.

    Examples
    --------
    >>> nearly_equal(["Ann", "Bea", "ann"])
    "'Ann' and 'ann' differ only in capitals or spaces"
    """
    spelt: dict[str, list[str]] = {}
    for name in names:
        spelt.setdefault(folded(name), []).append(name)
    found = [sorted(same) for same in spelt.values() if len(same) > 1]
    if not found:
        return ""
    n, such = sum(map(len, found)), f"{found[0][0]!r} and {found[0][1]!r}"
    start = such if n == 2 else f"{n:,} names, such as {such},"
    return f"{start} differ only in capitals or spaces"


def folded(name: str) -> str:
    """A name without capitals, and with one space where there are several.

    Examples
    --------
    >>> folded(" Ann  Lee")
    'ann lee'
    """
    return " ".join(normalize("NFKC", name).casefold().split())


def has_attributes(path: Path) -> bool:
    """Whether each line of a text file ends with attributes in braces, as networkx writes lists of edges."""
    try:
        with reading(path, "text"):
            lines = _lines(text_head(path))
    except InputError:  # whatever reads the file next says what is wrong with it
        return False
    return bool(lines) and all(ATTRIBUTES.fullmatch(line) for line in lines)


def read_edge_lines(path: Path) -> tuple[Edges, str]:
    """Edges of a list that networkx has written, ``a b {'weight': 3}``, and a sentence that says how it was read."""
    with reading(path, "text"):
        lines = _lines(read_text(path).split("\n"))
    rows, weights = [], []
    for number, line in enumerate(lines, 1):
        found = ATTRIBUTES.fullmatch(line)
        ends = _ends(found["ends"]) if found else []
        if found is None or len(ends) != 2:
            raise InputError(
                f"Edge {number} of {str(path)!r} does not have two nodes and attributes: {line[:60]!r}.",
                "If names have blanks, write the list with another delimiter, such as a tab.",
            )
        rows.append(ends)
        weights.append(_weight(path, number, WEIGHT.search(found["data"])))
    return _said(path, "a list of edges as networkx writes it", rows, weights)


def _weight(path: Path, number: int, found: re.Match[str] | None) -> float | None:
    if found is None:
        return None
    try:
        return float(found[1])
    except ValueError as error:
        what = f"The weight of edge {number} of {str(path)!r} is {found[1].strip()}, which is not a number."
        raise InputError(what, "Correct it, or drop the edge.") from error


def _ends(text: str) -> list[str]:
    separator = next((mark for mark in "\t,;|" if mark in text), None)
    return [end.strip() for end in text.split(separator) if end.strip()]


def _lines(lines: Sequence[str]) -> list[str]:
    return [line.strip() for line in lines if line.strip() and not line.startswith(COMMENT)]


def read_neighbour_lines(path: Path) -> tuple[Edges, str]:
    """Edges of a list of neighbours, ``a b c`` for those from a to b and to c, each once, and how it was read."""
    with reading(path, "text"):
        lines = [_ends(line) for line in _lines(read_text(path).split("\n"))]
    if any("{" in line[-1] or "}" in line[-1] for line in lines):
        what = f"{str(path)!r} has attributes in braces, so it is not a plain list of neighbours."
        raise InputError(what, "Write it as GraphML, or as a list of edges.")
    pairs = dict.fromkeys((min(node, other), max(node, other)) for node, *others in lines for other in others)
    return _said(
        path, "lists of neighbours, the first of each line joined to the others", list(pairs), [None] * len(pairs)
    )


def holds_node_links(path: Path) -> bool:
    """Whether a JSON file has nodes and links, as d3 and networkx write graphs."""
    try:
        with reading(path, "JSON"):
            content = json.loads(read_text(path)) if "".join(text_head(path)).lstrip().startswith("{") else None
    except InputError:  # JSON Lines, or broken: whatever reads it next says what is wrong
        return False
    return isinstance(content, dict) and _links(content) is not None


def _links(content: dict[str, Any]) -> list[Any] | None:
    content = content["elements"] if isinstance(content.get("elements"), dict) else content
    found = next((content[name] for name in ("links", "edges") if isinstance(content.get(name), list)), None)
    found = None if found is None else _bare(found)
    known = found is not None and all(isinstance(link, dict) and {"source", "target"} <= set(link) for link in found)
    return found if known else None


def _bare(items: list[Any]) -> list[Any]:
    """Nodes or links without the wrapper that Cytoscape puts around them."""
    return [item["data"] if isinstance(item, dict) and isinstance(item.get("data"), dict) else item for item in items]


def read_node_links(path: Path) -> tuple[Edges, str]:
    """Edges of a graph in JSON, and a sentence that says how it was read."""
    with reading(path, "JSON"):
        content = json.loads(read_text(path))
    nodes, links = _nodes_and_links(content)
    names = _node_names(nodes, links)
    rows = [
        (names.get(link["source"], str(link["source"]).strip()), names.get(link["target"], str(link["target"]).strip()))
        for link in links
    ]
    key = next((name for name in WEIGHTS if links and all(name in link for link in links)), None)
    weights = [None if key is None else float(link[key]) for link in links]
    edges, said = _said(path, "a graph in JSON, nodes and links", rows, weights)
    joined = {end for row in rows for end in row}
    alone = list(dict.fromkeys(name for name in names.values() if name not in joined))
    if not alone:
        return edges, said
    return _with_nodes(edges, alone), said.removesuffix(".") + f"; {count(len(alone), 'node')} without edges."


def _nodes_and_links(content: dict[str, Any]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    within = content.get("elements") or content
    return [node for node in _bare(within.get("nodes") or []) if isinstance(node, dict)], _links(content) or []


def _with_nodes(edges: Edges, names: list[str]) -> Edges:
    """Edges with nodes that have none, each as a loop without weight."""
    source, target = (np.concatenate([end, np.asarray(names, dtype=object)]) for end in edges[:2])
    weights = edges[2] if len(edges) > 2 else np.ones(len(edges[0]))
    return source, target, np.concatenate([weights, np.zeros(len(names))])


def _node_names(nodes: list[dict[str, Any]], links: list[dict[str, Any]]) -> dict[Any, str]:
    """What each end of a link stands for: the id of a node, or its place among the nodes."""
    ids = [node.get("id", node.get("key")) for node in nodes]
    places = any(end not in ids for link in links for end in (link["source"], link["target"]))
    called = [
        str(node.get("label", node.get("name", name if name is not None else i))).strip()
        for i, (node, name) in enumerate(zip(nodes, ids, strict=True))
    ]
    if len(set(called)) < len(called):
        called = [str(name if name is not None else i) for i, name in enumerate(ids)]
    return dict(zip(range(len(nodes)) if places else ids, called, strict=True))


def _said(path: Path, what: str, rows: Sequence[Sequence[str]], weights: Sequence[float | None]) -> tuple[Edges, str]:
    """Ends and weights as arrays, and a sentence; weights are used if every edge has one."""
    if not rows:
        raise InputError(f"The graph in {str(path)!r} has no edges: there is nothing to cluster.", "Check the file.")
    source, target = (np.asarray(end, dtype=object) for end in zip(*rows, strict=True))
    values: NDArray[Any] | None = None
    used = "no weights"
    known = [weight for weight in weights if weight is not None]
    if len(known) == len(rows):
        values, used = np.asarray(known, dtype=float), "with weights"
    elif known:
        used = f"weights not used, as {count(len(rows) - len(known), 'edge')} have none"
    n_nodes = len({*source, *target})
    start = f"Read as {what}: {count(n_nodes, 'node')} and {count(len(rows), 'edge')}, {used}"
    said = "; ".join([start, *edge_remarks(source, target)]) + "."
    return ((source, target) if values is None else (source, target, values)), said


def _read(nx: Any, path: Path, form: str) -> Any:
    if form == "GML":
        return nx.read_gml(path, label="id")
    return {"GraphML": nx.read_graphml, "GEXF": nx.read_gexf, "Pajek": nx.read_pajek}[form](path)


def _take_weights(path: Path, graph: Any, wanted: str | None) -> str:
    """Make an attribute that every edge has the weight of the edges, and say which; others are named."""
    edges = [data for *_, data in graph.edges(data=True)]
    numbers = [name for name in edges[0] if name != "id" and all(_is_number(data.get(name)) for data in edges)]
    if wanted is not None and wanted not in numbers:
        has = f"they have {', '.join(map(repr, numbers))}" if numbers else "they have none"
        what = f"Not all edges of {str(path)!r} have a number called {wanted!r}; {has}."
        raise InputError(what, "Check the spelling, or leave out --weight.")
    found = wanted or next((name for name in WEIGHTS if all(name in data for data in edges)), None)
    if found is not None:
        for data in edges:
            data["weight"] = data[found]
        return f"weights from {found!r}"
    return (
        f"no weights ({numbers[0]!r} is not used; as weights: --weight {quoted(numbers[0])})"
        if numbers
        else "no weights"
    )


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _called_by_label(graph: Any) -> tuple[Any, str]:
    """The graph with labels for names where every node has one of its own."""
    import networkx as nx

    for name in ("label", "name", "Label"):
        written = {node: str(label) for node, label in graph.nodes(data=name) if label is not None}
        for labels in ({node: label.strip() for node, label in written.items()}, written):
            if len(labels) == graph.number_of_nodes() == len(set(labels.values())):
                return nx.relabel_nodes(graph, labels), name
    return nx.relabel_nodes(graph, {node: str(node) for node in graph}), "id"
