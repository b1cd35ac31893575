"""SymNMF with scikit-learn's manners."""

from collections.abc import Iterator, Sequence
from numbers import Integral, Real
from os import PathLike
from typing import Any, Literal, Self

from joblib import Parallel, delayed, effective_n_jobs
from threadpoolctl import threadpool_limits

from rectifact.core.arrays import Array, eps, is_host
from rectifact.core.errors import InputError
from rectifact.core.monitor import Callback, monitor_of
from rectifact.core.threads import single_thread
from rectifact.core.validation import RUN_CONSTRAINTS, Interval, StrOptions, fit_context
from rectifact.graph.base import GraphClusterer, Run, best_run, squared_norm
from rectifact.graph.lazy import LazySimilarities
from rectifact.graph.solvers import ON_HOST, SOLVERS
from rectifact.io.checkpoint import Checkpoint, open_checkpoint

__all__ = ["SymNMF"]

NEWTON_SIZE = 4_000_000
"""Largest number of entries of U for which Newton's method is the default: it keeps a dozen arrays of that size."""


class SymNMF(GraphClusterer):
    """Communities of a graph, or clusters of points, by ``X ~ U U'`` with ``U >= 0``.

    X is a symmetric matrix of similarities; row i of U says how far node i belongs to each cluster.

    Parameters
    ----------
    n_clusters : number of clusters
    solver : ``"newton"``, projected Newton steps by conjugate gradients; ``"hals"``, ``"anls"``, ``"admm"``, objectives
        that split the two factors; ``"pgd"``, projected gradient; ``"auto"`` is ``"newton"``, or ``"hals"`` where
        memory matters (``n_samples * n_clusters`` above 4 million)
    affinity : ``"knn"``, X are points, which are connected with their neighbours by
        :func:`rectifact.graph.similarity_graph`; ``"precomputed"``, X is a graph: a symmetric non-negative matrix of
        similarities, a networkx graph, or a table of edges with the columns source, target and, if there, weight.
        Arrays of torch and cupy, dense or CSR, stay on their device, and so do the results; ``"anls"`` and ``"admm"``
        work on the host
    init : ``"spectral"``, rotated eigenvectors; ``"random"``, ``n_init`` draws; ``"pool"``, all of them: the lowest
        objective wins
    n_init : random starts
    n_neighbors, metric : of the graph for ``affinity="knn"``
    l1 : weight of the sum of U in the objective, for a sparse U; it is added when the best start has converged, since
        from a poor U it may set everything to zero. So does too large a weight from any U, with a warning
    max_iter, tol : stop when the norm of the projected gradient is at most ``tol`` times that of ``4 X U``
    n_jobs : starts that run at a time, each in a thread; -1 is all cores
    random_state : of the random starts
    verbose : whether to log progress (``logging.basicConfig(level="INFO")`` shows it)
    callbacks : called with each row of the history; a true value stops the run
    checkpoint : folder in which ``fit`` saves its state while it runs, made where it is missing; None saves nothing
    resume : whether to go on with the interrupted fit in that folder, of the same data and parameters; where there is
        none, the fit begins

    Attributes
    ----------
    labels_ : array (n_samples,), the column of U that is largest
    membership_ : array (n_samples, n_clusters), rows of U that sum to one; rows of zeros are shared evenly
    components_ : array (n_samples, n_clusters), U
    affinity_matrix_ : the similarities; ``nodes_``, what its rows are
    objective_ : squared Frobenius norm of ``X - U U'``; ``relative_error_``: divided by that of X
    projected_gradient_ : norm of the projected gradient, 0 at a stationary point; ``stationarity_``: divided by that of
        ``4 X U``
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
        "l1": [Interval(Real, 0, None, closed="left")],
        "n_jobs": [Interval(Integral, 1, None, closed="left"), Interval(Integral, None, -1, closed="right"), None],
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
        l1: float = 0.0,
        max_iter: int = 500,
        tol: float = 1e-5,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: bool | int = False,
        callbacks: Sequence[Callback] | None = None,
        checkpoint: str | PathLike[str] | None = None,
        resume: bool = False,
    ) -> None:
        self.n_clusters = n_clusters
        self.solver = solver
        self.affinity = affinity
        self.init = init
        self.n_init = n_init
        self.n_neighbors = n_neighbors
        self.metric = metric
        self.l1 = l1
        self.max_iter = max_iter
        self.tol = tol
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.callbacks = callbacks
        self.checkpoint = checkpoint
        self.resume = resume

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: None = None) -> Self:
        """Cluster the points or the nodes of X."""
        S = self._similarities(X)
        size = S.shape[0] * self.n_clusters
        solver = self.solver if self.solver != "auto" else "newton" if size <= NEWTON_SIZE else "hals"
        on_host = is_host(S) or isinstance(S, LazySimilarities)  # of which U is on the host
        if solver in ON_HOST and not on_host:
            raise InputError(
                f"solver={solver!r} works on the host. Give a numpy array or a scipy sparse matrix, or use 'newton', "
                "'hals' or 'pgd'."
            )
        rounding = 1e-8 if on_host else max(1e-8, 10 * eps(S))
        checkpoint = open_checkpoint(self, S)
        name, U, monitor, errors = best_run(self._runs(solver, S, checkpoint), rounding)
        if self.l1 and monitor.stop_reason != "callback":
            _, U, monitor = self._run(solver, S, checkpoint, name, U, l1=self.l1)
        self.resolved_ = {"solver": solver, "start": name, "errors": errors}
        return self._set_result(S, U, monitor, self.l1)

    def _runs(self, solver: str, S: Array, checkpoint: Checkpoint | None) -> Iterator[Run]:
        """Finished runs of all starts, as they come, in their order."""
        if effective_n_jobs(self.n_jobs) == 1 or not is_host(S):  # a device is busy with one
            yield from (self._run(solver, S, checkpoint, name, U) for name, U in self._starts(S, self.init))
            return
        parallel = Parallel(self.n_jobs, prefer="threads", return_as="generator", pre_dispatch="n_jobs")
        with threadpool_limits(1):
            starts = self._starts(S, self.init)
            yield from parallel(delayed(self._run_alone)(solver, S, checkpoint, *start) for start in starts)

    def _run(
        self,
        solver: str,
        S: Array,
        checkpoint: Checkpoint | None,
        name: str,
        U: Array,
        l1: float = 0.0,
    ) -> Run:
        every = 1 if solver == "newton" else 5  # where iterations cost as much as checks
        run = f"{name} l1" if l1 else name
        monitor = monitor_of(self, check_every=every, checkpoint=checkpoint, run=run)
        return name, SOLVERS[solver](S, U, squared_norm(S), monitor=monitor, l1=l1), monitor

    def _run_alone(self, *arguments: Any) -> Run:
        with single_thread():
            return self._run(*arguments)
