"""Communities of graphs: similarity graphs, SymNMF and SymNMF-Net."""

from rectifact.graph.edges import from_edges, from_igraph, from_networkx
from rectifact.graph.knn import normalized, similarity_graph
from rectifact.graph.symnmf_estimator import SymNMF
from rectifact.graph.symnmf_net_estimator import SymNMFNet

__all__ = ["SymNMF", "SymNMFNet", "from_edges", "from_igraph", "from_networkx", "normalized", "similarity_graph"]
