"""What the estimators for graphs share: similarities, starts, the best of several runs, and the result."""

import warnings
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from math import inf, isnan
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import ClusterMixin
from sklearn.utils.validation import check_is_fitted

from rectifact.core.arrays import Array, device, namespace, to_host
from rectifact.core.errors import FitWarning, InputError, count
from rectifact.core.estimator import Iterative
from rectifact.core.monitor import Monitor, set_fit_report
from rectifact.core.operand import is_chunked
from rectifact.core.sparse import native
from rectifact.core.threads import small_products
from rectifact.core.validation import (
    RUN_CONSTRAINTS,
    Interval,
    StrOptions,
    check_generator,
    check_matrix,
)
from rectifact.graph.bridges import given_weights
from rectifact.graph.components import Components, find_components
from rectifact.graph.distances import distance_warning
from rectifact.graph.edges import read_graph
from rectifact.graph.joining import joined, joined_note
from rectifact.graph.knn import Neighbours, connect
from rectifact.graph.mistaken import like_graph
from rectifact.graph.normalisation import normalize
from rectifact.graph.outside import outside, outside_warning
from rectifact.graph.placing import placed
from rectifact.graph.prediction import GraphPrediction, as_labels, largest
from rectifact.graph.quality import quality
from rectifact.graph.scaling import divided, find_spreads, scaled_note
from rectifact.graph.similarities import Similarities, check_similarities
from rectifact.graph.solvers import gap, objective, projected_gradient
from rectifact.graph.spectral import eigenvalue_bound, random_start, spectral_start
from rectifact.graph.weights import VALUES, check_for_points, reweighted


@dataclass(frozen=True)
class Graph:
    """A graph as it is factorised.

    Parameters
    ----------
    S : Similarities
    nodes : array of shape (n_nodes,) or list
        What the rows are.
    degrees : array of shape (n_nodes,)
        Sums of the rows before normalisation.
    normalized : bool
        Whether ``S`` was divided by the roots of the degrees.
    parts : Components
    near : Neighbours or None
        How points were connected, where X holds points.
    spreads : array of shape (n_features,) or None
        What the columns of points were divided by.
    unit : float or None
        What weights were divided by before their logarithms were taken.
    """

    S: Similarities
    nodes: Any
    degrees: Array
    normalized: bool
    parts: Components
    near: Neighbours | None
    spreads: NDArray[Any] | None = None
    unit: float | None = None


@dataclass(frozen=True)
class Run:
    """A finished run: the name of its start, U, what happened, and what else there is to say about it."""

    start: str
    U: Array
    monitor: Monitor
    about: Any = None


def best_run(runs: Iterator[Run], rounding: float = 1e-8) -> tuple[Run, dict[str, float]]:
    """The run of lowest loss, the first of those that are equal to ``rounding``, and the losses of all by start.

    Only one U is kept. A callback that stops a run ends the pool.
    """
    best, losses = None, {}
    for run in runs:
        losses[run.start] = loss = run.monitor.history[-1]["loss"]
        least = losses[best.start] if best is not None else inf
        if best is None or isnan(least) or loss < least - rounding * abs(least):
            best = run
        if run.monitor.stop_reason == "callback":
            break
    if best is None:
        raise ValueError("There was no run.")
    return best, losses


class GraphClusterer(GraphPrediction, ClusterMixin, Iterative):
    """Base of estimators that factorise a matrix of similarities, ``X ~ U U'``."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "affinity": [StrOptions({"knn", "precomputed"})],
        "normalize": [StrOptions({"auto"}), "boolean"],
        "min_component": [Interval(Integral, 1, None, closed="left"), None],
        "n_neighbors": [Interval(Integral, 1, None, closed="left"), None],
        "metric": [StrOptions({"euclidean", "cosine"})],
        "scale": [StrOptions({"auto", "standard", "none"})],
        "values": [StrOptions(set(VALUES))],
        "reassign": ["boolean"],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        **RUN_CONSTRAINTS,
    }

    reassign: bool
    _numbers: tuple[int, ...] | None = None  # clusters of each component, where they were chosen

    def eigenvalue_bound(self) -> float:
        """Relative error that no factorisation of this rank can go below, non-negative or not."""
        check_is_fitted(self)
        S = Similarities(self.affinity_matrix_)
        with self._blas_threads(S):
            return eigenvalue_bound(S, self.n_clusters)

    def _graph(self, X: Any, join: bool = True, **columns: str | None) -> Graph:
        """The graph to factorise, from points or a graph in any form; ``columns`` are those of a table of edges.

        ``join`` says whether groups of points are joined where there are more of them than clusters.
        """
        given = read_graph(X, columns, tables=self.affinity == "precomputed")
        points = self.affinity == "knn" and given is None
        given_as, (X, nodes) = X, given or (X, _named_rows(X))
        X = check_matrix(self, X, nonnegative=not points, sparse_chunks=True)
        n = X.shape[0]
        if self.n_clusters > n:
            raise InputError(
                f"n_clusters={self.n_clusters} is more than the {count(n, 'sample')} of X.",
                "Lower n_clusters.",
                option="n_clusters",
            )
        if points:
            check_for_points(self.values)
            if like := like_graph(given_as):
                remedy = "For the weights of a graph, use affinity='precomputed'."
                warnings.warn(FitWarning(f"X is {like}, and is read as points.", remedy), stacklevel=5)
        elif self.values == "raw" and (said := distance_warning(X)) is not None:
            warnings.warn(said, stacklevel=5)
        X, unit = reweighted(X, self.values)
        spreads = find_spreads(X, self.scale, self.metric) if points and not is_chunked(X) else None
        near = connect(divided(X, spreads), self.n_neighbors, metric=self.metric) if points else None
        if near is not None and join and self._numbers is None:
            near, n_groups = joined(near, self.n_clusters, self.min_component)
            if n_groups:
                warnings.warn(joined_note(n_groups, self.n_clusters), stacklevel=5)
        raw = Similarities(near.connected) if near is not None else check_similarities(X)
        S, by_degrees = normalize(raw, self.normalize)
        parts = replace(find_components(S, self.n_clusters, self.min_component), numbers=self._numbers)
        return Graph(S, np.arange(n) if nodes is None else nodes, raw.degrees, by_degrees, parts, near, spreads, unit)

    def _blas_threads(self, S: Similarities) -> AbstractContextManager[object]:
        """One thread for BLAS where ``U'U``, the largest product of a loop, is small."""
        return small_products(S.shape[0] * self.n_clusters**2)

    def _starts(self, graph: Graph, init: str) -> Iterator[tuple[str, Array]]:
        """Names and starts, made when they are asked for: a pool of them may not fit into memory."""
        if init in ("pool", "spectral"):
            yield "spectral", spectral_start(graph.S, self.n_clusters, graph.parts)[0]
        if init in ("pool", "random"):
            rng = check_generator(self.random_state)
            where = None if graph.parts.columns.all() else graph.parts.columns
            for i in range(self.n_init):
                yield f"random {i + 1}", random_start(graph.S, self.n_clusters, rng, where)

    def _set_result(self, graph: Graph, U: Array, monitor: Monitor, l1: float = 0.0, known: bool = False) -> Self:
        """Set the attributes; the largest community is the first, unless classes that are ``known`` are the order."""
        self.resolved_.pop("moved", None)
        labels = largest(U)
        if self._reassigns(graph) and not known:
            before = to_host(labels)
            after = placed(given_weights(graph.S, graph.degrees, graph.normalized), before, self.n_clusters)
            labels, self.resolved_["moved"] = as_labels(after, labels), int((after != before).sum())
        U, labels = (U, labels) if known else _largest_first(U, labels)
        S, xp = graph.S, namespace(U)
        self._set_errors(S, U, l1)
        self.affinity_matrix_, self.components_ = S.operand.native, U
        self.nodes_, self.degrees_ = graph.nodes, graph.degrees
        self.component_labels_ = graph.parts.of_node
        total = xp.sum(U, axis=1)
        self.labels_ = labels
        self.membership_ = U / xp.where(total > 0, total, xp.ones_like(total))[:, None]
        found = quality(S, self.labels_, self.n_clusters, graph.degrees, graph.normalized)
        self.modularity_, self.coverage_ = float(found.modularity.sum()), float(found.coverage.sum())
        self.resolved_ |= {"normalize": graph.normalized, "n_components": graph.parts.n_clustered}
        self.resolved_ |= {} if graph.unit is None else {"unit": graph.unit}
        if graph.near is not None:
            self.points_, self.scales_ = native(graph.near.points), graph.near.scales
            self.resolved_["n_neighbors"] = graph.near.n_neighbors
        elif hasattr(self, "points_"):
            del self.points_, self.scales_  # of an earlier fit
        self._set_spreads(graph.spreads)
        for message in self._doubts(graph.parts, l1):
            warnings.warn(message, stacklevel=4)
        set_fit_report(self, monitor)
        return self

    def _reassigns(self, graph: Graph) -> bool:
        """Whether nodes are moved by their edges: in graphs of raw weights that are in memory, not among points."""
        divided_before = self.normalize == "auto" and not graph.normalized
        in_chunks = graph.S.on_host and graph.S.local is None
        return self.reassign and graph.near is None and not divided_before and not in_chunks

    def _set_spreads(self, spreads: NDArray[Any] | None) -> None:
        """Keep what columns were divided by, for new points, and say it where nobody asked for it."""
        if hasattr(self, "spreads_"):
            del self.spreads_  # of an earlier fit
        if spreads is None:
            return
        self.spreads_ = spreads
        if self.scale == "auto":
            warnings.warn(scaled_note(spreads, getattr(self, "feature_names_in_", None)), stacklevel=5)

    def _set_errors(self, S: Similarities, U: Array, l1: float) -> None:
        XU = S @ U
        gradient = projected_gradient(U, XU, l1)
        self.relative_error_ = float(objective(S.squared, U, XU))
        self.objective_ = self.relative_error_ * S.squared
        self.projected_gradient_ = float(namespace(U).linalg.vector_norm(gradient))
        self.stationarity_ = gap(U, XU, gradient)

    def _doubts(self, parts: Components, l1: float) -> Iterator[FitWarning]:
        """What a user should know: clusters without nodes, and nodes without a cluster."""
        labels = to_host(self.labels_)
        empty = self.n_clusters - int((to_host(self.components_).max(axis=0) > 0).sum())
        if empty:
            yield FitWarning(
                f"{empty} of {self.n_clusters} communities {'is' if empty == 1 else 'are'} empty.",
                "Lower n_clusters or l1." if l1 else "Lower n_clusters.",
                option=("n_clusters", "l1"),
            )
        found = outside(labels, parts, self.n_clusters, l1)
        if found is not None:
            yield outside_warning(found, len(labels))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = tags.input_tags.positive_only = self.affinity == "precomputed"
        return tags


def _named_rows(X: Any) -> list[Any] | None:
    """The index of a pandas table, unless it only counts."""
    index: Any = getattr(X, "index", None)
    plain = not isinstance(index, pd.Index) or isinstance(index, pd.MultiIndex | pd.RangeIndex)
    return None if plain or not index.is_unique else list(index)


def _largest_first(U: Array, labels: Array) -> tuple[Array, Array]:
    """Columns and labels with communities in the order of their numbers of nodes."""
    of_node = to_host(labels)
    order = np.argsort(-np.bincount(of_node[of_node >= 0], minlength=U.shape[1]), kind="stable")
    xp, places = namespace(U), np.argsort(order)
    U = xp.take(U, xp.asarray(order, device=device(U)), axis=1)
    return U, as_labels(np.where(of_node >= 0, places[of_node], -1), labels)
