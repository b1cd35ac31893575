"""Communities: Tables 1 to 4 of Li, Kong and Lin (2022), measured, next to what they print and to scikit-learn."""

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.cluster import KMeans, SpectralClustering
from sklearn.decomposition import NMF
from sklearn.feature_extraction.text import TfidfTransformer

from rectifact.core.validation import check_option
from rectifact.datasets import MissingDataset, load_images, load_tdt2
from rectifact.graph import SymNMF, SymNMFNet, similarity_graph
from rectifact.graph.solvers import SOLVERS
from rectifact.metrics import cluster_accuracy, nmi, purity, sparse_factor

__all__ = ["PublishedGraph", "published_graph", "run_graph"]

Rows = list[dict[str, Any]]

NAMES = ("ORL", "COIL-20", "MNIST1", "MNIST2", "TDT2")
N_MNIST = 3147
QUICK_SOLVERS = ("hals", "pgd", "newton")

PRINTED: dict[tuple[str, str], dict[str, float]] = {
    ("ORL", "anls"): {"accuracy": 0.8075, "nmi": 0.884, "purity": 0.805, "relative_error": 0.2669},
    ("ORL", "hals"): {"accuracy": 0.7570, "nmi": 0.862, "purity": 0.763, "relative_error": 0.2723},
    ("ORL", "admm"): {"accuracy": 0.7650},
    ("ORL", "newton"): {"accuracy": 0.7625},
    ("ORL", "pgd"): {"accuracy": 0.7700},
    ("ORL", "net"): {"accuracy": 0.8150, "nmi": 0.904, "purity": 0.835, "relative_error": 0.2659},
    ("COIL-20", "anls"): {"accuracy": 0.7979, "nmi": 0.849, "purity": 0.804, "relative_error": 0.8405},
    ("COIL-20", "hals"): {"accuracy": 0.5854, "nmi": 0.664, "purity": 0.538, "relative_error": 0.8501},
    ("COIL-20", "admm"): {"accuracy": 0.6903},
    ("COIL-20", "newton"): {"accuracy": 0.7472},
    ("COIL-20", "pgd"): {"accuracy": 0.7243},
    ("COIL-20", "net"): {"accuracy": 0.8013, "nmi": 0.896, "purity": 0.853, "relative_error": 0.8390},
    ("MNIST1", "anls"): {"accuracy": 0.6477},
    ("MNIST1", "hals"): {"accuracy": 0.6657},
    ("MNIST1", "admm"): {"accuracy": 0.5803},
    ("MNIST1", "newton"): {"accuracy": 0.5990},
    ("MNIST1", "pgd"): {"accuracy": 0.6475},
    ("MNIST1", "net"): {"accuracy": 0.7064},
    ("MNIST2", "anls"): {"accuracy": 0.8589},
    ("MNIST2", "hals"): {"accuracy": 0.8608},
    ("MNIST2", "admm"): {"accuracy": 0.8713},
    ("MNIST2", "newton"): {"accuracy": 0.8589},
    ("MNIST2", "pgd"): {"accuracy": 0.8710},
    ("MNIST2", "net"): {"accuracy": 0.9898},
    ("TDT2", "anls"): {"accuracy": 0.7536, "nmi": 0.746, "purity": 0.794},
    ("TDT2", "hals"): {"accuracy": 0.8131, "nmi": 0.755, "purity": 0.833},
    ("TDT2", "net"): {"accuracy": 0.8234, "nmi": 0.807, "purity": 0.859},
}
"""What the paper prints in Tables 1 to 4, as shares."""


@dataclass(frozen=True)
class PublishedGraph:
    """Points, their similarities ``X`` and true classes ``y``."""

    points: Any
    X: sp.csr_array
    y: NDArray[Any]

    @property
    def n_classes(self) -> int:
        """Number of true classes."""
        return len(np.unique(self.y))


def published_graph(name: str) -> PublishedGraph:
    """One of the paper's five sets as a graph.

    MNIST1 are the first 3147 training images, MNIST2 the 3147 test images of 0, 1 and 2; TDT2 is weighted by tf-idf and
    compared by the cosine.
    """
    check_option("name", name, NAMES)
    if name == "TDT2":
        text = load_tdt2()
        weighted = TfidfTransformer().fit_transform(sp.csr_array(text.X))
        return PublishedGraph(weighted, similarity_graph(weighted, metric="cosine"), text.y)
    images = load_images({"ORL": "orl", "COIL-20": "coil20"}.get(name, "mnist"))
    chosen: Any = slice(None)
    if name == "MNIST1":
        chosen = slice(N_MNIST)
    elif name == "MNIST2":
        chosen = 60_000 + np.flatnonzero(images.y[60_000:] <= 2)
    points = images.X[chosen].astype(float)
    return PublishedGraph(points, similarity_graph(points), images.y[chosen])


def run_graph(*, peers: bool = False, large: bool = False, quick: bool = False) -> dict[str, Rows]:
    """Measure every solver on the sets that are at hand.

    Parameters
    ----------
    peers : measure scikit-learn's SpectralClustering, KMeans and NMF too
    large : ten starts on TDT2 too, and the paper's net there; takes minutes more
    quick : the fast solvers and the repaired net on the first set

    Returns
    -------
    dict of tables : ``"clustering"``, the best of a pool of starts and the mean over them; ``"sparse"``, the sparse
        factor with and without l1
    """
    clustering: Rows = []
    sparse: Rows = []
    for name in NAMES[:1] if quick else NAMES:
        try:
            graph = published_graph(name)
        except MissingDataset:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # slow solvers stop at max_iter; the column gap says how far they came
            clustering += _ours(name, graph, large, quick)
            clustering += _peers(name, graph) if peers else []
            if name in ("ORL", "COIL-20") and not quick:
                sparse += _sparse(name, graph)
    return {"clustering": clustering, "sparse": sparse}


def _ours(name: str, graph: PublishedGraph, large: bool, quick: bool) -> Rows:
    rows: Rows = []
    bound = 0.0
    for solver in QUICK_SOLVERS if quick else SOLVERS:
        slow = solver in ("anls", "admm")
        options: dict[str, Any] = {"solver": solver, "init": "spectral" if slow else "pool", "random_state": 0}
        options["n_init"] = 10 if large or name != "TDT2" else 2
        model, seconds = _fit(SymNMF(graph.n_classes, affinity="precomputed", **options), graph)
        bound = bound or model.eigenvalue_bound()
        rows.append(_row(name, solver, graph, model, seconds, bound) | _spread(model.resolved_["errors"]))
    for settings in ("repaired",) if quick or (name == "TDT2" and not large) else ("repaired", "paper"):
        rate = 0.3 if settings == "paper" and name == "TDT2" else None
        options = {"settings": settings, "learning_rate": rate, "random_state": 0, "device": "cpu"}
        model, seconds = _fit(SymNMFNet(graph.n_classes, affinity="precomputed", **options), graph)
        rows.append(_row(name, f"net, {settings}", graph, model, seconds, bound))
    return rows


def _fit(model: Any, graph: PublishedGraph) -> tuple[Any, float]:
    begin = perf_counter()
    model.fit(graph.X)
    return model, perf_counter() - begin


def _row(name: str, method: str, graph: PublishedGraph, model: Any, seconds: float, bound: float) -> dict[str, Any]:
    printed = PRINTED.get((name, method.split(",")[0]), {})
    return {
        "data": name,
        "method": method,
        **_scores(graph.y, model.labels_),
        "relative_error": model.relative_error_,
        "bound": bound,
        "gap": model.stationarity_,
        "seconds": seconds,
        **{f"paper_{key}": value for key, value in printed.items()},
    }


def _scores(truth: Any, labels: Any) -> dict[str, float]:
    return {"accuracy": cluster_accuracy(truth, labels), "nmi": nmi(truth, labels), "purity": purity(truth, labels)}


def _spread(errors: dict[str, float]) -> dict[str, float]:
    return {"mean_error_of_starts": float(np.mean(list(errors.values()))), "starts": len(errors)}


def _peers(name: str, graph: PublishedGraph) -> Rows:
    return [
        {"data": name, "method": method, **_scores(graph.y, labels), "seconds": s} for method, labels, s in _runs(graph)
    ]


def _runs(graph: PublishedGraph) -> Iterator[tuple[str, Any, float]]:
    k = graph.n_classes
    for assign in ("kmeans", "discretize", "cluster_qr"):
        spectral = SpectralClustering(k, affinity="precomputed", assign_labels=assign, random_state=0)
        begin = perf_counter()
        yield f"scikit-learn spectral, {assign}", spectral.fit_predict(graph.X), perf_counter() - begin
    begin = perf_counter()
    yield "scikit-learn KMeans", KMeans(k, random_state=0).fit_predict(graph.points), perf_counter() - begin
    begin = perf_counter()
    weights = NMF(k, init="nndsvda", max_iter=300, random_state=0).fit_transform(graph.points)
    yield "scikit-learn NMF", weights.argmax(axis=1), perf_counter() - begin


def _sparse(name: str, graph: PublishedGraph, weight: float = 0.003) -> Rows:
    rows: Rows = []
    common: dict[str, Any] = {"affinity": "precomputed"}
    models = {
        "newton": SymNMF(graph.n_classes, init="spectral", **common),
        "newton, l1": SymNMF(graph.n_classes, init="spectral", l1=weight, **common),
        "net": SymNMFNet(graph.n_classes, device="cpu", **common),
        "net, l1": SymNMFNet(graph.n_classes, regularizer="l1", weight=weight, device="cpu", **common),
    }
    for method, model in models.items():
        model.fit(graph.X)
        accuracy = cluster_accuracy(graph.y, model.labels_)
        figures = {"sparse_factor": sparse_factor(model.components_), "relative_error": model.relative_error_}
        rows.append({"data": name, "method": method, **figures, "accuracy": accuracy})
    return rows
