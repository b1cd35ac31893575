"""Communities: Tables 1 to 4 of Li, Kong and Lin (2022), measured, next to what they print and to scikit-learn."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.cluster import KMeans, SpectralClustering
from sklearn.decomposition import NMF
from sklearn.feature_extraction.text import TfidfTransformer

from rectifact.bench import Extent, Rows, Tables
from rectifact.bench.graph_peers import check_peers, communities, messy_graphs
from rectifact.bench.graph_scaling import run_scaling
from rectifact.bench.measure import at_hand, one_thread, timed
from rectifact.bench.results import bundled
from rectifact.core.validation import check_option
from rectifact.datasets import load_images, load_tdt2
from rectifact.graph import SymNMF, SymNMFNet, similarity_graph
from rectifact.graph.solvers import SOLVERS
from rectifact.metrics import cluster_accuracy, nmi, purity, sparse_factor

N_MNIST = 3147
QUICK_SOLVERS = ("hals", "pgd", "newton")

PRINTED = bundled("printed", "graph")
"""What the paper prints in Tables 1 to 4, as shares, by set and method."""

NAMES = tuple(PRINTED)


@dataclass(frozen=True)
class PublishedGraph:
    """Points, their similarities ``X`` and their true classes ``y``."""

    points: Any
    X: sp.csr_array
    y: NDArray[Any]

    @property
    def n_classes(self) -> int:
        """Number of true classes."""
        return len(np.unique(self.y))


def published_graph(name: str) -> PublishedGraph:
    """One of the paper's five sets as a graph.

    MNIST1 holds the first 3147 training images, MNIST2 the 3147 test images of 0, 1 and 2; TDT2 is weighted by tf-idf
    and compared by the cosine.
    """
    check_option("name", name, NAMES)
    if name == "TDT2":
        text = load_tdt2()
        weighted = TfidfTransformer().fit_transform(sp.csr_array(text.X))
        return PublishedGraph(weighted, similarity_graph(weighted, metric="cosine"), text.y)
    images = load_images({"ORL": "orl", "COIL-20": "coil20"}.get(name, "mnist"))
    first_three = 60_000 + np.flatnonzero(images.y[60_000:] <= 2)
    chosen: Any = {"MNIST1": slice(N_MNIST), "MNIST2": first_three}.get(name, slice(None))
    points = images.X[chosen].astype(float)
    return PublishedGraph(points, similarity_graph(points), images.y[chosen])


def run(extent: Extent) -> Tables:
    """Measure every solver on the sets that are installed.

    A quick run takes only the fast solvers and the repaired net, on the first set. A large one also takes ten starts,
    the slow solvers and the paper's net on TDT2, which takes minutes more. The peers are scikit-learn's
    SpectralClustering, KMeans and NMF, and in a table of their own Louvain and Leiden.

    Returns
    -------
    dict of tables
        ``"clustering"``, the best of a pool of starts and the mean over them; ``"sparse"``, the sparse factor with and
        without l1; ``"messy graphs"``, with components that are not communities; ``"iterations"`` and ``"fit"``, by
        size; with peers ``"communities"``, see
        :mod:`rectifact.bench.graph_peers`.
    """
    from rectifact.graph import net  # noqa: F401  # before the threads are limited

    if extent.peers:
        check_peers()
    with one_thread():
        return _clustering(extent) | run_scaling(extent)


def _clustering(extent: Extent) -> Tables:
    clustering: Rows = []
    sparse: Rows = []
    graphs = {}
    names = NAMES[:1] if extent.quick else NAMES
    for name, graph in at_hand({name: partial(published_graph, name) for name in names}):
        with warnings.catch_warnings(action="ignore"):  # slow solvers stop at max_iter: see the column gap
            clustering += _ours(name, graph, extent.large, extent.quick)
            if extent.peers:
                clustering += _peers(name, graph)
                graphs[name] = graph.X, graph.y
            if name in ("ORL", "COIL-20") and not extent.quick:
                sparse += _sparse(name, graph)
    found = communities(extent, graphs) if extent.peers else []
    return {"clustering": clustering, "sparse": sparse, "messy graphs": messy_graphs(), "communities": found}


def _ours(name: str, graph: PublishedGraph, large: bool, quick: bool) -> Rows:
    rows, bound = [], 0.0
    for solver in QUICK_SOLVERS if quick or (name == "TDT2" and not large) else SOLVERS:
        slow = solver in ("anls", "admm")
        options: dict[str, Any] = {"solver": solver, "init": "spectral" if slow else "pool", "random_state": 0}
        options["n_init"] = 10 if large or name != "TDT2" else 2
        model, seconds = timed(SymNMF(graph.n_classes, affinity="precomputed", **options).fit, graph.X)
        bound = bound or model.eigenvalue_bound()
        errors = list(model.resolved_["errors"].values())
        spread = {"mean_error_of_starts": float(np.mean(errors)), "starts": len(errors)}
        rows.append(_row(name, solver, graph, model, seconds, bound) | spread)
    for settings in ("repaired",) if quick or (name == "TDT2" and not large) else ("repaired", "paper"):
        rate = 0.3 if settings == "paper" and name == "TDT2" else None
        options = {"settings": settings, "learning_rate": rate, "random_state": 0, "device": "cpu"}
        model, seconds = timed(SymNMFNet(graph.n_classes, affinity="precomputed", **options).fit, graph.X)
        rows.append(_row(name, f"net, {settings}", graph, model, seconds, bound))
    return rows


def _row(name: str, method: str, graph: PublishedGraph, model: Any, seconds: float, bound: float) -> dict[str, Any]:
    return {
        "data": name,
        "method": method,
        **_scores(graph.y, model.labels_),
        "relative_error": model.relative_error_,
        "bound": bound,
        "gap": model.stationarity_,
        "seconds": seconds,
        **PRINTED[name].get(method.split(",")[0], {}),
    }


def _scores(truth: Any, labels: Any) -> dict[str, float]:
    return {"accuracy": cluster_accuracy(truth, labels), "nmi": nmi(truth, labels), "purity": purity(truth, labels)}


def _peers(name: str, graph: PublishedGraph) -> Rows:
    k = graph.n_classes
    methods: dict[str, Callable[[], Any]] = {
        "spectral, kmeans": partial(_spectral, graph, "kmeans"),
        "spectral, discretize": partial(_spectral, graph, "discretize"),
        "spectral, cluster_qr": partial(_spectral, graph, "cluster_qr"),
        "KMeans": lambda: KMeans(k, random_state=0).fit_predict(graph.points),
        "NMF": lambda: NMF(k, init="nndsvda", max_iter=300, random_state=0).fit_transform(graph.points).argmax(axis=1),
    }
    rows: Rows = []
    for method, run in methods.items():
        labels, seconds = timed(run)
        rows.append({"data": name, "method": f"scikit-learn {method}", **_scores(graph.y, labels), "seconds": seconds})
    return rows


def _spectral(graph: PublishedGraph, assign: str) -> Any:
    model = SpectralClustering(graph.n_classes, affinity="precomputed", assign_labels=assign, random_state=0)
    return model.fit_predict(graph.X)


def _sparse(name: str, graph: PublishedGraph, weight: float = 0.003) -> Rows:
    rows: Rows = []
    k = graph.n_classes
    models = {
        "newton": SymNMF(k, init="spectral", affinity="precomputed"),
        "newton, l1": SymNMF(k, init="spectral", affinity="precomputed", l1=weight),
        "net": SymNMFNet(k, device="cpu", affinity="precomputed"),
        "net, l1": SymNMFNet(k, device="cpu", affinity="precomputed", regularizer="l1", weight=weight),
    }
    for method, model in models.items():
        model.fit(graph.X)
        accuracy = cluster_accuracy(graph.y, model.labels_)
        figures = {"sparse_factor": sparse_factor(model.components_), "relative_error": model.relative_error_}
        rows.append({"data": name, "method": method, **figures, "accuracy": accuracy})
    return rows
