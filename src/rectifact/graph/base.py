"""What the estimators of graphs share: from what people have to similarities, starts, and the result."""

from collections.abc import Iterator
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils.validation import check_is_fitted

from rectifact.core.arrays import is_host
from rectifact.core.monitor import Monitor, set_fit_report
from rectifact.core.validation import InputError, check_generator, check_matrix
from rectifact.graph.edges import from_edges, from_networkx
from rectifact.graph.similarity import similarity_graph, small_indices
from rectifact.graph.solvers import gap, objective, projected_gradient
from rectifact.graph.spectral import eigenvalue_bound, random_start, spectral_start

__all__ = ["GraphClusterer", "Run", "best_run"]

Run = tuple[str, NDArray[Any], Monitor]
"""Name of the start, U and what happened."""


def best_run(runs: Iterator[Run]) -> tuple[str, NDArray[Any], Monitor, dict[str, float]]:
    """The run of lowest loss, the first of those that are equal to eight digits, and the losses of all.

    One U is kept at a time.
    """
    best, losses = None, {}
    for run in runs:
        losses[run[0]] = run[2].history[-1]["loss"]
        best = run if best is None or losses[run[0]] < (1 - 1e-8) * losses[best[0]] else best
    if best is None:
        raise ValueError("There was no run.")
    return *best, losses


class GraphClusterer(ClusterMixin, BaseEstimator):
    """Base of estimators that factorise a matrix of similarities, ``X ~ U U'``."""

    def eigenvalue_bound(self) -> float:
        """Relative error below which no factorisation of this rank can come, non-negative or not."""
        check_is_fitted(self)
        return eigenvalue_bound(self.affinity_matrix_, self.n_clusters, _squared(self.affinity_matrix_))

    def _similarities(self, X: Any) -> sp.csr_array:
        """The matrix to factorise, from points or from a graph in any form; sets ``nodes_``."""
        X, nodes = self._matrix_and_nodes(X)
        X = check_matrix(self, X, nonnegative=self.affinity == "precomputed")
        if not is_host(X):
            raise InputError(f"{type(self).__name__} takes numpy arrays and scipy sparse matrices, not {type(X)}.")
        if self.n_clusters > X.shape[0]:
            raise InputError(
                f"n_clusters={self.n_clusters} clusters need as many samples; X has {X.shape[0]} sample(s). Lower "
                "n_clusters."
            )
        self.nodes_ = np.arange(X.shape[0]) if nodes is None else nodes
        if self.affinity == "knn":
            return similarity_graph(X, self.n_neighbors, metric=self.metric)
        return small_indices(_symmetric(X))

    def _matrix_and_nodes(self, X: Any) -> tuple[Any, Any]:
        if self.affinity == "knn":
            return X, None
        if hasattr(X, "adjacency") and hasattr(X, "nodes"):
            return from_networkx(X)
        if {"source", "target"} <= set(getattr(X, "columns", ())):
            return from_edges(X["source"], X["target"], X["weight"] if "weight" in X.columns else None)
        return X, None

    def _starts(self, S: sp.csr_array, init: str) -> Iterator[tuple[str, NDArray[Any]]]:
        """Names and starts, made when they are asked for: a pool of them may not fit into memory."""
        if init in ("pool", "spectral"):
            yield "spectral", spectral_start(S, self.n_clusters)
        if init in ("pool", "random"):
            rng = check_generator(self.random_state)
            for i in range(self.n_init):
                yield f"random {i + 1}", random_start(S, self.n_clusters, rng)

    def _set_result(self, S: sp.csr_array, U: NDArray[Any], monitor: Monitor, l1: float = 0.0) -> Self:
        squared, XU = _squared(S), S @ U
        gradient = projected_gradient(U, XU, l1)
        self.affinity_matrix_, self.components_ = S, U
        self.relative_error_ = float(objective(squared, U, XU))
        self.objective_ = self.relative_error_ * squared
        self.projected_gradient_ = float(np.linalg.norm(gradient))
        self.stationarity_ = gap(U, XU, gradient)
        self.labels_ = U.argmax(axis=1)
        total = U.sum(axis=1, keepdims=True)
        self.membership_ = np.where(total > 0, U / np.where(total > 0, total, 1), 1 / self.n_clusters)
        set_fit_report(self, monitor)
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self.affinity == "precomputed"
        tags.input_tags.positive_only = self.affinity == "precomputed"
        return tags


def _squared(S: sp.csr_array) -> float:
    return float(S.data @ S.data)


def _symmetric(X: Any) -> sp.csr_array:
    S = sp.csr_array(X)
    if S.shape[0] != S.shape[1]:
        raise InputError(f"affinity='precomputed' needs a square matrix of similarities; got shape {S.shape}.")
    if abs(S - S.T).max() > 1e-10 * abs(S).max():
        raise InputError("X is not symmetric. Give X + X.T, or affinity='knn' if X holds points.")
    if S.nnz == 0 or not S.data.any():
        raise InputError("X has no edges: there is nothing to cluster. Check the file or the filter.")
    return S
