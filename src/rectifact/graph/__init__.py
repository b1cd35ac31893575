"""Communities of graphs: similarity graphs, SymNMF and SymNMF-Net."""

from rectifact.graph.edges import from_edges, from_networkx
from rectifact.graph.estimators import SymNMF
from rectifact.graph.net_estimator import SymNMFNet
from rectifact.graph.similarity import normalized, similarity_graph

__all__ = ["SymNMF", "SymNMFNet", "from_edges", "from_networkx", "normalized", "similarity_graph"]
