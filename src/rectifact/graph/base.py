"""What the estimators for graphs share: similarities, starts, the best of several runs, and the result."""

import warnings
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from math import inf, isnan
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import ClusterMixin
from sklearn.utils.validation import check_is_fitted

from rectifact.core.arrays import Array, namespace
from rectifact.core.errors import FitWarning, InputError, count
from rectifact.core.estimator import Iterative
from rectifact.core.monitor import Monitor, set_fit_report
from rectifact.core.threads import small_products
from rectifact.core.validation import RUN_CONSTRAINTS, Interval, StrOptions, check_generator, check_matrix
from rectifact.graph.edges import read_graph
from rectifact.graph.knn import similarity_graph
from rectifact.graph.similarities import Similarities, check_similarities
from rectifact.graph.solvers import gap, objective, projected_gradient
from rectifact.graph.spectral import eigenvalue_bound, random_start, spectral_start


@dataclass(frozen=True)
class Run:
    """A finished run: the name of its start, U, what happened, and lambda where a net has learned it."""

    start: str
    U: Array
    monitor: Monitor
    lam: float | None = None


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


class GraphClusterer(ClusterMixin, Iterative):
    """Base of estimators that factorise a matrix of similarities, ``X ~ U U'``."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "affinity": [StrOptions({"knn", "precomputed"})],
        "n_neighbors": [Interval(Integral, 1, None, closed="left"), None],
        "metric": [StrOptions({"euclidean", "cosine"})],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        **RUN_CONSTRAINTS,
    }

    def eigenvalue_bound(self) -> float:
        """Relative error that no factorisation of this rank can go below, non-negative or not."""
        check_is_fitted(self)
        S = Similarities(self.affinity_matrix_)
        with self._blas_threads(S):
            return eigenvalue_bound(S, self.n_clusters)

    def _similarities(self, X: Any) -> Similarities:
        """The matrix to factorise, from points or from a graph in any form; sets ``nodes_``."""
        graph = read_graph(X)
        if graph is not None and self.affinity == "knn":
            raise InputError("X is a graph, not points.", "Give affinity='precomputed'.")
        X, nodes = graph or (X, None)
        X = check_matrix(self, X, nonnegative=self.affinity == "precomputed", sparse_chunks=True)
        n = X.shape[0]
        if self.n_clusters > n:
            raise InputError(
                f"n_clusters={self.n_clusters} is more than the {count(n, 'sample')} of X.",
                "Lower n_clusters.",
                option="n_clusters",
            )
        self.nodes_ = np.arange(n) if nodes is None else nodes
        if self.affinity == "knn":
            return Similarities(similarity_graph(X, self.n_neighbors, metric=self.metric))
        return check_similarities(X)

    def _blas_threads(self, S: Similarities) -> AbstractContextManager[object]:
        """One thread for BLAS where ``U'U``, the largest product of a loop, is small."""
        return small_products(S.shape[0] * self.n_clusters**2)

    def _starts(self, S: Similarities, init: str) -> Iterator[tuple[str, Array]]:
        """Names and starts, made when they are asked for: a pool of them may not fit into memory."""
        if init in ("pool", "spectral"):
            yield "spectral", spectral_start(S, self.n_clusters)
        if init in ("pool", "random"):
            rng = check_generator(self.random_state)
            for i in range(self.n_init):
                yield f"random {i + 1}", random_start(S, self.n_clusters, rng)

    def _set_result(self, S: Similarities, U: Array, monitor: Monitor, l1: float = 0.0) -> Self:
        xp = namespace(U)
        sums = S @ xp.ones_like(U[:, :1])
        U = U * xp.astype(sums > 0, U.dtype)  # nodes without edges belong nowhere
        empty = int(xp.count_nonzero(xp.max(U, axis=0) == 0))
        if empty:
            message = FitWarning(
                f"{empty} of {self.n_clusters} communities {'is' if empty == 1 else 'are'} empty.",
                "Lower n_clusters or l1." if l1 else "Lower n_clusters.",
                option=("n_clusters", "l1"),
            )
            warnings.warn(message, stacklevel=4)
        XU = S @ U
        gradient = projected_gradient(U, XU, l1)
        self.affinity_matrix_, self.components_ = S.operand.native, U
        self.relative_error_ = float(objective(S.squared, U, XU))
        self.objective_ = self.relative_error_ * S.squared
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
        tags.input_tags.pairwise = tags.input_tags.positive_only = self.affinity == "precomputed"
        return tags
