"""What the estimators of graphs share: from what people have to similarities, starts, and the result."""

import warnings
from collections.abc import Iterator
from dataclasses import replace
from math import inf, isnan
from typing import Any, Self

import narwhals as nw
import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils.validation import check_is_fitted

from rectifact.core.arrays import Array, eps, is_host, namespace
from rectifact.core.errors import InputError
from rectifact.core.lazy import is_lazy
from rectifact.core.monitor import Monitor, set_fit_report
from rectifact.core.sparse import canonical_csr, entries, is_native_sparse, native
from rectifact.core.validation import check_generator, check_matrix
from rectifact.graph.device import device_symmetric
from rectifact.graph.edges import from_edges, from_networkx
from rectifact.graph.lazy import LazySimilarities, lazy_similarities
from rectifact.graph.similarity import similarity_graph, small_indices
from rectifact.graph.solvers import gap, objective, projected_gradient
from rectifact.graph.spectral import eigenvalue_bound, random_start, spectral_start

__all__ = ["GraphClusterer", "Run", "best_run", "squared_norm"]

Run = tuple[str, Array, Monitor]
"""Name of the start, U and what happened."""


def best_run(runs: Iterator[Run], rounding: float = 1e-8) -> tuple[str, Array, Monitor, dict[str, float]]:
    """The run of lowest loss, the first of those that are equal to ``rounding``, and the losses of all.

    One U is kept at a time. A callback that stops a run ends the pool.
    """
    best, losses = None, {}
    for run in runs:
        losses[run[0]] = loss = run[2].history[-1]["loss"]
        least = losses[best[0]] if best is not None else inf
        if best is None or isnan(least) or loss < least - rounding * abs(least):
            best = run
        if run[2].stop_reason == "callback":
            break
    if best is None:
        raise ValueError("There was no run.")
    return *best, losses


class GraphClusterer(ClusterMixin, BaseEstimator):
    """Base of estimators that factorise a matrix of similarities, ``X ~ U U'``."""

    def eigenvalue_bound(self) -> float:
        """Relative error below which no factorisation of this rank can come, non-negative or not."""
        check_is_fitted(self)
        S = self.affinity_matrix_
        S = canonical_csr(S, S.dtype) if is_native_sparse(S) else LazySimilarities(S) if is_lazy(S) else S
        return eigenvalue_bound(S, self.n_clusters, squared_norm(S))

    def _similarities(self, X: Any) -> Any:
        """The matrix to factorise, from points or from a graph in any form; sets ``nodes_``."""
        X, nodes = self._matrix_and_nodes(X)
        if is_lazy(X) and self.affinity == "knn":
            raise InputError(
                "affinity='knn' looks for neighbours on one machine. Give X.compute(), or a graph with "
                "affinity='precomputed'."
            )
        X = check_matrix(self, X, nonnegative=self.affinity == "precomputed", sparse_chunks=True)
        if self.n_clusters > X.shape[0]:
            raise InputError(
                f"n_clusters={self.n_clusters} clusters need as many samples; X has {X.shape[0]} sample(s). Lower "
                "n_clusters."
            )
        self.nodes_ = np.arange(X.shape[0]) if nodes is None else nodes
        if self.affinity == "knn":
            S = similarity_graph(X, self.n_neighbors, metric=self.metric)
            return S if is_host(S) else replace(canonical_csr(S, S.dtype), symmetric=True)
        if is_lazy(X):
            return lazy_similarities(X)
        return small_indices(_symmetric(X)) if is_host(X) else device_symmetric(X)

    def _matrix_and_nodes(self, X: Any) -> tuple[Any, Any]:
        network = hasattr(X, "adjacency") and hasattr(X, "nodes")
        table = nw.from_native(X, eager_only=True) if nw.dependencies.is_into_dataframe(X) else None
        edges = table is not None and {"source", "target"} <= set(table.columns)
        if self.affinity == "knn":
            if network or edges:
                raise InputError("X is a graph, not points. Give affinity='precomputed'.")
            return X, None
        if network:
            return from_networkx(X)
        if table is not None and edges:
            names = [name for name in ("source", "target", "weight") if name in table.columns]
            return from_edges(*(table.get_column(name).to_numpy() for name in names))
        return X, None

    def _starts(self, S: Array, init: str) -> Iterator[tuple[str, Array]]:
        """Names and starts, made when they are asked for: a pool of them may not fit into memory."""
        if init in ("pool", "spectral"):
            yield "spectral", spectral_start(S, self.n_clusters)
        if init in ("pool", "random"):
            rng = check_generator(self.random_state)
            for i in range(self.n_init):
                yield f"random {i + 1}", random_start(S, self.n_clusters, rng)

    def _set_result(self, S: Array, U: Array, monitor: Monitor, l1: float = 0.0) -> Self:
        xp = namespace(U)
        sums = S @ xp.ones_like(U[:, :1])
        U = U * xp.astype(sums > 0, U.dtype)  # nodes without edges belong nowhere
        empty = int(xp.sum(xp.astype(xp.max(U, axis=0) == 0, xp.int64)))
        if empty:
            warnings.warn(
                f"{empty} of {self.n_clusters} clusters are empty: lower n_clusters or l1.", UserWarning, stacklevel=4
            )
        squared, XU = squared_norm(S), S @ U
        gradient = projected_gradient(U, XU, l1)
        self.affinity_matrix_, self.components_ = S.source if isinstance(S, LazySimilarities) else native(S), U
        self.relative_error_ = float(objective(squared, U, XU))
        self.objective_ = self.relative_error_ * squared
        self.projected_gradient_ = float(xp.linalg.vector_norm(gradient))
        self.stationarity_ = gap(U, XU, gradient)
        self.labels_ = xp.argmax(U, axis=1)
        total = xp.sum(U, axis=1, keepdims=True)
        self.membership_ = xp.where(total > 0, U / xp.where(total > 0, total, 1.0), 1 / self.n_clusters)
        set_fit_report(self, monitor)
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self.affinity == "precomputed"
        tags.input_tags.positive_only = self.affinity == "precomputed"
        return tags


def squared_norm(S: Any) -> float:
    """Squared Frobenius norm of similarities, dense, sparse or lazy."""
    if isinstance(S, LazySimilarities):
        return S.squared
    if sp.issparse(S):
        return float(S.data @ S.data)
    xp = namespace(S)
    return float(xp.sum(xp.astype(entries(S), xp.float64) ** 2))


def _symmetric(X: Any) -> sp.csr_array:
    if X.shape[0] != X.shape[1]:
        raise InputError(f"affinity='precomputed' needs a square matrix of similarities; got shape {X.shape}.")
    S = sp.csr_array(X, copy=True)
    S.eliminate_zeros()
    if S.nnz == 0:
        raise InputError("X has no edges: there is nothing to cluster. Check the file or the filter.")
    other = S.T.tocsr()
    apart = S - other
    if apart.nnz and abs(apart.data).max() > max(1e-10, 10 * eps(S.data)) * S.data.max():
        raise InputError("X is not symmetric. Give X + X.T, or affinity='knn' if X holds points.")
    return S if not apart.nnz else sp.csr_array((S + other) / 2)
