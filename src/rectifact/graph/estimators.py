"""SymNMF with scikit-learn's manners."""

from collections.abc import Sequence
from numbers import Integral
from typing import Any, Literal, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils.validation import check_is_fitted

from rectifact.core.arrays import is_host
from rectifact.core.monitor import Callback, Monitor, monitor_of, set_fit_report
from rectifact.core.validation import (
    RUN_CONSTRAINTS,
    InputError,
    Interval,
    StrOptions,
    check_generator,
    check_matrix,
    fit_context,
)
from rectifact.graph.similarity import similarity_graph
from rectifact.graph.solvers import SOLVERS, projected_gradient
from rectifact.graph.spectral import eigenvalue_bound, random_start, spectral_start

__all__ = ["SymNMF"]


class SymNMF(ClusterMixin, BaseEstimator):
    """Communities of a graph, or clusters of points, by ``X ~ U U'`` with ``U >= 0``.

    X is a symmetric matrix of similarities; row i of U says how far node i belongs to each cluster.

    Parameters
    ----------
    n_clusters : number of clusters
    solver : ``"newton"``, projected Newton steps by conjugate gradients; ``"hals"``, ``"anls"``, ``"admm"``, objectives
        that split the two factors; ``"pgd"``, projected gradient; ``"auto"`` is ``"newton"``
    affinity : ``"knn"``, X are points, which are connected with their neighbours by
        :func:`rectifact.graph.similarity_graph`; ``"precomputed"``, X is a symmetric non-negative matrix of
        similarities
    init : ``"spectral"``, rotated eigenvectors; ``"random"``, ``n_init`` draws; ``"pool"``, all of them: the lowest
        objective wins
    n_init : random starts
    n_neighbors, metric : of the graph for ``affinity="knn"``
    max_iter, tol : stop when the relative error changes by less than ``tol`` times its first value
    random_state : of the random starts
    verbose : whether to log progress (``logging.basicConfig(level="INFO")`` shows it)
    callbacks : called with each row of the history; a true value stops the run

    Attributes
    ----------
    labels_ : array (n_samples,), the column of U that is largest
    membership_ : array (n_samples, n_clusters), rows of U that sum to one; rows of zeros are shared evenly
    components_ : array (n_samples, n_clusters), U
    affinity_matrix_ : the similarities
    objective_ : squared Frobenius norm of ``X - U U'``; ``relative_error_``: divided by that of X
    projected_gradient_ : norm of the projected gradient, 0 at a stationary point
    n_iter_, converged_, stop_reason_, history_ : how the best run went
    resolved_ : what was chosen: ``solver``, ``start``, and the relative ``errors`` of all starts

    Examples
    --------
    >>> from rectifact import SymNMF
    >>> from rectifact.datasets import make_block_model
    >>> from rectifact.metrics import cluster_accuracy
    >>> graph = make_block_model(300, 3, degree=20, mixing=0.1)
    >>> model = SymNMF(3, affinity="precomputed", random_state=0).fit(graph.adjacency)
    >>> cluster_accuracy(graph.labels, model.labels_) > 0.95
    True
    """

    _parameter_constraints: dict[str, Any] = {
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "solver": [StrOptions({"auto", *SOLVERS})],
        "affinity": [StrOptions({"knn", "precomputed"})],
        "init": [StrOptions({"pool", "spectral", "random"})],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "n_neighbors": [Interval(Integral, 1, None, closed="left"), None],
        "metric": [StrOptions({"euclidean", "cosine"})],
        **RUN_CONSTRAINTS,
    }

    def __init__(
        self,
        n_clusters: int = 8,
        solver: Literal["auto", "hals", "anls", "pgd", "admm", "newton"] = "auto",
        affinity: Literal["knn", "precomputed"] = "knn",
        init: Literal["pool", "spectral", "random"] = "pool",
        n_init: int = 10,
        *,
        n_neighbors: int | None = None,
        metric: Literal["euclidean", "cosine"] = "euclidean",
        max_iter: int = 300,
        tol: float = 1e-6,
        random_state: Any = None,
        verbose: bool | int = False,
        callbacks: Sequence[Callback] | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.solver = solver
        self.affinity = affinity
        self.init = init
        self.n_init = n_init
        self.n_neighbors = n_neighbors
        self.metric = metric
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.verbose = verbose
        self.callbacks = callbacks

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: None = None) -> Self:
        """Cluster the points or the nodes of X."""
        X = check_matrix(self, X, nonnegative=self.affinity == "precomputed")
        if not is_host(X):
            raise InputError("SymNMF works on the host: give a numpy array or a scipy sparse matrix.")
        if self.n_clusters > X.shape[0]:
            raise InputError(
                f"n_clusters={self.n_clusters} clusters need as many samples; X has {X.shape[0]} sample(s). Lower "
                "n_clusters."
            )
        S = self._similarities(X)
        squared = float((S.data**2).sum())
        solver = "newton" if self.solver == "auto" else self.solver
        runs = [(name, *self._run(solver, S, U, squared)) for name, U in self._starts(S, squared)]
        errors = {name: monitor.history[-1]["loss"] for name, _, monitor in runs}
        name, U, monitor = min(runs, key=lambda run: run[2].history[-1]["loss"])
        self.resolved_ = {"solver": solver, "start": name, "errors": errors}
        self.affinity_matrix_, self.components_ = S, U
        self.relative_error_ = errors[name]
        self.objective_ = errors[name] * squared
        self.projected_gradient_ = float(np.linalg.norm(projected_gradient(U, S @ U)))
        self.labels_ = U.argmax(axis=1)
        total = U.sum(axis=1, keepdims=True)
        self.membership_ = np.where(total > 0, U / np.where(total > 0, total, 1), 1 / self.n_clusters)
        set_fit_report(self, monitor)
        return self

    def eigenvalue_bound(self) -> float:
        """Relative error below which no factorisation of this rank can come, non-negative or not."""
        check_is_fitted(self)
        return eigenvalue_bound(self.affinity_matrix_, self.n_clusters, float((self.affinity_matrix_.data**2).sum()))

    def _similarities(self, X: Any) -> sp.csr_array:
        if self.affinity == "knn":
            return similarity_graph(X, self.n_neighbors, metric=self.metric)
        S = sp.csr_array(X)
        if S.shape[0] != S.shape[1]:
            raise InputError(f"affinity='precomputed' needs a square matrix of similarities; got shape {S.shape}.")
        if abs(S - S.T).max() > 1e-10 * abs(S).max():
            raise InputError("X is not symmetric. Give X + X.T, or affinity='knn' if X holds points.")
        if S.nnz == 0 or not S.data.any():
            raise InputError("X has no edges: there is nothing to cluster. Check the file or the filter.")
        return S

    def _starts(self, S: sp.csr_array, squared: float) -> list[tuple[str, NDArray[Any]]]:
        starts: list[tuple[str, NDArray[Any]]] = []
        if self.init in ("pool", "spectral"):
            starts.append(("spectral", spectral_start(S, self.n_clusters)))
        if self.init in ("pool", "random"):
            rng = check_generator(self.random_state)
            draws = (random_start(squared, S.shape[0], self.n_clusters, rng) for _ in range(self.n_init))
            starts += [(f"random {i + 1}", U) for i, U in enumerate(draws)]
        return starts

    def _run(self, solver: str, S: sp.csr_array, U: NDArray[Any], squared: float) -> tuple[NDArray[Any], Monitor]:
        monitor = monitor_of(self)
        return SOLVERS[solver](S, U, squared, monitor=monitor), monitor

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self.affinity == "precomputed"
        tags.input_tags.positive_only = self.affinity == "precomputed"
        return tags
