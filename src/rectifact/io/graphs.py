"""Graphs in GML and GraphML files, read by networkx."""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

from rectifact.core.errors import InputError, count, missing_extra
from rectifact.io.files import reading

GRAPHS = {".gml": "GML", ".graphml": "GraphML"}
WEIGHTS = ("weight", "value", "Weight")


def read_graph_file(path: Path) -> tuple[Any, str]:
    """A networkx graph whose nodes are called by their labels, and a sentence that says how it was read.

    Parameters
    ----------
    path : Path
        ``.gml`` or ``.graphml``, which may be compressed.

    Returns
    -------
    graph : networkx.Graph
        Weights are called ``weight``.
    said : str
    """
    form = GRAPHS[(Path(path.stem) if path.suffix in {".gz", ".bz2"} else path).suffix.lower()]
    if find_spec("networkx") is None:
        raise missing_extra(f"Reading a {form} file", "networkx", "graphs", "or save the edges as CSV")
    import networkx as nx

    with reading(path, form):
        try:
            graph = nx.read_gml(path, label="id") if form == "GML" else nx.read_graphml(path)
        except (nx.NetworkXError, SyntaxError, TypeError, AttributeError) as error:  # SyntaxError: ParseError of XML
            raise ValueError(str(error)) from error
    if graph.number_of_edges() == 0:
        raise InputError(f"The graph in {str(path)!r} has no edges: there is nothing to cluster.", "Check the file.")
    weight = _take_weights(graph)
    graph, named = _called_by_label(nx, graph)
    sizes = f"{count(graph.number_of_nodes(), 'node')} and {count(graph.number_of_edges(), 'edge')}"
    directed = "; directions are ignored" if graph.is_directed() else ""
    used = f"weights from {weight!r}" if weight else "no weights"
    return graph, f"Read as a {form} graph: {sizes}, {used}, nodes called by their {named}{directed}."


def _take_weights(graph: Any) -> str | None:
    """Make the first of the usual attributes that every edge has the weight of the edges."""
    edges = [data for *_, data in graph.edges(data=True)]
    found = next((name for name in WEIGHTS if all(name in data for data in edges)), None)
    if found is not None and found != "weight":
        for data in edges:
            data["weight"] = data[found]
    return found


def _called_by_label(nx: Any, graph: Any) -> tuple[Any, str]:
    """The graph with labels for names where every node has one of its own."""
    for name in ("label", "name", "Label"):
        labels = {node: str(label) for node, label in graph.nodes(data=name) if label is not None}
        if len(labels) == graph.number_of_nodes() == len(set(labels.values())):
            return nx.relabel_nodes(graph, labels), name
    return nx.relabel_nodes(graph, {node: str(node) for node in graph}), "id"
