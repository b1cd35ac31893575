"""Communities of graphs: similarity graphs and SymNMF."""

from rectifact.graph.edges import from_edges, from_networkx
from rectifact.graph.estimators import SymNMF
from rectifact.graph.similarity import similarity_graph

__all__ = ["SymNMF", "from_edges", "from_networkx", "similarity_graph"]
