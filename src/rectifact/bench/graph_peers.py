"""Communities by SymNMF and by the usual tools, on e-mails, on LFR graphs, on the papers' sets and on a large graph.

The peers are scikit-learn's spectral clustering, Louvain of networkx and Leiden of leidenalg. SymNMF and spectral
clustering are given the number of communities; Louvain and Leiden find their own.

References
----------
[1] J. Leskovec, J. Kleinberg and C. Faloutsos, ACM TKDD 1(1), 2007, and H. Yin et al., KDD 2017: e-mails inside an
institute, and departments. [2] A. Lancichinetti, S. Fortunato and F. Radicchi, Phys. Rev. E 78, 2008: LFR graphs.
"""

import warnings
from collections.abc import Callable
from contextlib import suppress
from importlib.util import find_spec
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components
from sklearn.cluster import SpectralClustering

from rectifact.bench import Extent, Rows
from rectifact.bench.measure import timed
from rectifact.core.errors import missing_extra
from rectifact.datasets import Graph, MissingDataset, load_email, make_block_model
from rectifact.graph import SymNMF
from rectifact.metrics import nmi

MIXING, N_GRAPHS = (0.1, 0.2, 0.3, 0.4, 0.5), 10
LARGE_NODES, LARGE_BLOCKS, LARGE_MIXING = 50_000, 100, (0.2, 0.4)


def check_peers() -> None:
    """Refuse, before anything is measured, to go on without the packages of the peers."""
    missing = [package for package in ("networkx", "igraph", "leidenalg") if find_spec(package) is None]
    if missing:
        raise missing_extra("Comparing with the peers", " and ".join(missing), "bench")


def _connected(graph: Graph) -> Graph:
    """The largest component."""
    _, part = connected_components(graph.adjacency, directed=False)
    inside = np.flatnonzero(part == np.bincount(part).argmax())
    return Graph(graph.adjacency[inside][:, inside], graph.labels[inside])


def lfr(mixing: float, seed: int) -> Graph:
    """An LFR graph [2] of 1000 nodes: degrees 20 on average, at most 50; 20 to 100 nodes in a community."""
    import networkx

    degrees = {"average_degree": 20, "max_degree": 50, "min_community": 20, "max_community": 100}
    graph = networkx.LFR_benchmark_graph(1000, 3, 1.5, mixing, seed=seed, **degrees)
    graph.remove_edges_from(list(networkx.selfloop_edges(graph)))
    labels = np.array([min(graph.nodes[i]["community"]) for i in range(1000)])
    adjacency = networkx.to_scipy_sparse_array(networkx.Graph(graph.edges), nodelist=range(1000), format="csr")
    return Graph(sp.csr_array(adjacency.astype(float)), np.unique(labels, return_inverse=True)[1])


def _csr(X: Any) -> sp.csr_array:
    """With indices of 32 bits, which scikit-learn asks for."""
    return sp.csr_array((X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)), shape=X.shape)


def symnmf(X: sp.csr_array, n_clusters: int) -> NDArray[Any]:
    """SymNMF with its defaults."""
    return SymNMF(n_clusters, affinity="precomputed", random_state=0).fit(X).labels_


def spectral(X: sp.csr_array, n_clusters: int, assign: str = "kmeans") -> NDArray[Any]:
    """Spectral clustering of scikit-learn."""
    model = SpectralClustering(n_clusters, affinity="precomputed", assign_labels=assign, random_state=0)
    return model.fit_predict(X)


def spectral_qr(X: sp.csr_array, n_clusters: int) -> NDArray[Any]:
    """The same with clusters from pivoted QR."""
    return spectral(X, n_clusters, "cluster_qr")


def louvain(X: sp.csr_array, n_clusters: int) -> NDArray[Any]:
    """Louvain of networkx; the number of clusters is its own."""
    import networkx

    graph = networkx.from_scipy_sparse_array(X)
    labels = np.empty(X.shape[0], dtype=int)
    for i, nodes in enumerate(networkx.community.louvain_communities(graph, seed=0)):
        labels[list(nodes)] = i
    return labels


def leiden(X: sp.csr_array, n_clusters: int) -> NDArray[Any]:
    """Leiden of leidenalg, for modularity; the number of clusters is its own."""
    import igraph
    import leidenalg

    half = sp.triu(X, 1).tocoo()
    graph = igraph.Graph(n=X.shape[0], edges=np.column_stack([half.row, half.col]))
    partition = leidenalg.find_partition(graph, leidenalg.ModularityVertexPartition, weights=half.data, seed=0)
    return np.array(partition.membership)


METHODS: dict[str, Callable[[sp.csr_array, int], NDArray[Any]]] = {
    "SymNMF": symnmf,
    "scikit-learn spectral, kmeans": spectral,
    "scikit-learn spectral, cluster_qr": spectral_qr,
    "networkx Louvain": louvain,
    "leidenalg Leiden": leiden,
}


def communities(extent: Extent, published: dict[str, tuple[Any, Any]]) -> Rows:
    """NMI and seconds of all methods on all graphs; a quick run takes one LFR graph and the ``published`` sets only.

    Nodes that SymNMF leaves in no cluster are a cluster of their own for the NMI. Times are those of the whole call,
    conversions of the graph included.
    """
    symnmf(make_block_model(100, 2).adjacency, 2)  # compiles
    rows = [row for name, (X, y) in published.items() for row in _measured(name, [Graph(X, y)])]
    if extent.quick:
        return rows + _measured("LFR, mixing 0.3", [lfr(0.3, 0)])
    with suppress(MissingDataset):
        everybody = load_email()
        rows += _measured("e-mail, 986 connected people", [_connected(everybody)])
        rows += _measured("e-mail, all 1005 people", [everybody])
    for mixing in MIXING:
        rows += _measured(f"LFR, mixing {mixing}", [lfr(mixing, seed) for seed in range(N_GRAPHS)])
    for mixing in LARGE_MIXING:
        graph = make_block_model(LARGE_NODES, LARGE_BLOCKS, mixing=mixing)
        name = f"{LARGE_NODES:,} nodes, {LARGE_BLOCKS} blocks, mixing {mixing}"
        rows += _measured(name, [graph], ("SymNMF", "leidenalg Leiden"))
    return rows


def messy_graphs() -> Rows:
    """SymNMF on graphs with components that are not communities: nodes outside all clusters should be marked as such.

    Five cliques of six nodes for three clusters, and 180 nodes in three blocks with 20 isolated ones or with 40 paths
    of four. The NMI is that of the blocks' nodes, or of the nodes in clusters where all are alike.
    """
    blocks = make_block_model(180, 3, degree=16, mixing=0.1)
    path = sp.diags_array([np.ones(3), np.ones(3)], offsets=[-1, 1])
    cliques, alone = [np.ones((6, 6)) - np.eye(6)] * 5, sp.csr_array((20, 20))
    graphs = {
        "five cliques of 6, 3 clusters": (sp.block_diag(cliques), np.repeat(np.arange(5), 6)),
        "three blocks of 60, 20 isolated nodes": (sp.block_diag([blocks.adjacency, alone]), blocks.labels),
        "three blocks of 60, 40 paths of 4": (sp.block_diag([blocks.adjacency, *[path] * 40]), blocks.labels),
    }
    rows: Rows = []
    for name, (X, truth) in graphs.items():
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            labels = symnmf(_csr(sp.csr_array(X)), 3)
        inside = labels[: len(truth)]
        kept = inside >= 0 if len(truth) == len(labels) else slice(None)
        figures = {"nmi": nmi(truth[kept], inside[kept]), "in_no_cluster": int((labels < 0).sum())}
        rows.append({"data": name, "nodes": X.shape[0], **figures, "warned": bool(said)})
    return rows


def _measured(name: str, graphs: list[Graph], methods: tuple[str, ...] = tuple(METHODS)) -> Rows:
    """Means over graphs."""
    rows: Rows = []
    for method in methods:
        scores, seconds, found = [], [], []
        for graph in graphs:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # graphs that are not connected
                labels, time = timed(METHODS[method], _csr(graph.adjacency), len(np.unique(graph.labels)))
            scores.append(nmi(graph.labels, labels))
            seconds.append(time)
            found.append(len(np.unique(labels[labels >= 0])))
        row = {"data": name, "method": method, "nmi": float(np.mean(scores)), "lowest_nmi": min(scores)}
        rows.append(row | {"clusters": float(np.mean(found)), "seconds": float(np.mean(seconds))})
    return rows
