"""SymNMF, a scikit-learn estimator."""

from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY, dataclass
from functools import partial
from itertools import starmap
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

from joblib import Parallel, delayed, effective_n_jobs

from rectifact.core.arrays import Array, eps, namespace
from rectifact.core.errors import InputError
from rectifact.core.monitor import monitor_of
from rectifact.core.threads import one_blas_thread, single_thread
from rectifact.core.validation import Interval, StrOptions, fit_context
from rectifact.graph.base import Graph, GraphClusterer, Run, best_run
from rectifact.graph.similarities import Similarities
from rectifact.graph.solvers import ON_HOST, SOLVERS
from rectifact.graph.spectral import spectral_start
from rectifact.io.checkpoint import Checkpoint, open_checkpoint

NEWTON_SIZE = 4_000_000
"""Largest number of entries of U for which Newton's method is the default: it keeps a dozen arrays of that size."""

MISSED, CHEAP_SIZE = 0.1, 20_000
"""Random starts are added where the spectral one misses this share of what eigenvectors explain, and U is small."""


@dataclass(eq=False, repr=False)
class SymNMF(GraphClusterer):
    """Communities of a graph, or clusters of points, by ``X ~ U U'`` with ``U >= 0``.

    X is a symmetric matrix of similarities; row i of U says how far node i belongs to each community.

    Parameters
    ----------
    n_clusters : int, default 8
        Number of communities.
    solver : {"auto", "newton", "hals", "anls", "admm", "pgd"}, default "auto"
        ``"newton"``: projected Newton steps by conjugate gradients; ``"hals"``, ``"anls"``, ``"admm"``: objectives that
        split the two factors; ``"pgd"``: projected gradient; ``"auto"`` is ``"newton"``, or ``"hals"`` where memory
        matters (``n_samples * n_clusters`` above 4 million).
    affinity : {"knn", "precomputed"}, default "knn"
        ``"knn"``: X holds points, which are connected with their neighbours by
        :func:`rectifact.similarity_graph`; ``"precomputed"``: X is a graph, as a symmetric non-negative matrix of
        similarities, a networkx graph, or a table of edges with the columns source, target and, if there are weights,
        weight. Arrays of torch and cupy, dense or CSR, stay on their device, and so do the results; ``"anls"`` and
        ``"admm"`` work on the host.
    init : {"auto", "spectral", "random", "pool"}, default "auto"
        ``"spectral"``: rotated eigenvectors; ``"random"``: ``n_init`` draws; ``"pool"``: all of them, of which the
        lowest objective wins; ``"auto"``: ``"spectral"``, and the random ones too where the result misses more than
        10 % of what the eigenvectors explain and U has at most 20,000 entries.
    n_init : int, default 10
        Number of random starts.
    normalize : "auto" or bool, default "auto"
        Whether the graph is divided by the square roots of its degrees, ``D^-1/2 X D^-1/2``, without which nodes with
        many edges become clusters of their own. ``"auto"`` divides unless the graph is normalised already, which shows
        in its largest eigenvalue, 1.
    min_component : int or None, default None
        Connected components of fewer nodes get no cluster; None is 10, or half the mean size of a cluster where that
        is less. If more components are large enough than there are clusters, the clusters of a graph are shared out by
        size, and the nearest components of points are joined.
    n_neighbors : int or None, default None
        Neighbours of a point for ``affinity="knn"``; None is ``floor(log2(n_samples)) + 1``.
    metric : {"euclidean", "cosine"}, default "euclidean"
        Distance of points for ``affinity="knn"``.
    scale : {"auto", "standard", "none"}, default "auto"
        Whether columns of points are divided by their standard deviations, without which the column of the largest
        numbers decides alone. ``"auto"`` divides, and warns, where a dense table of at most 50 columns has standard
        deviations that differ by more than a factor of 10, unless all columns are centred, as principal components
        are. Columns of two values do not count.

        .. versionadded:: 0.2
    values : {"raw", "log", "binary"}, default "raw"
        Weights of edges as they are; ``log(1 + weight / unit)``, where a few edges hold most of the weight, as with
        amounts of money; or 1 for each edge. The unit is the 10th percentile of the weights. It is for graphs of numpy
        and scipy, tables of edges, networkx and igraph.

        .. versionadded:: 0.2
    reassign : bool, default True
        Whether a node of a graph is moved from the community of its largest membership to another one that has more of
        the weight of its edges, more of it relative to the total degree of that community, and no fewer of its edges.
        It concerns ``labels_`` and ``predict``, not memberships. Points, graphs that were normalised before, which
        mostly come from points, and Dask arrays are left as they are.

        .. versionadded:: 0.2
    l1 : float, default 0
        Weight of the sum of U in the objective, for a sparse U. It is added when the best start has converged, since
        from a poor U it may set everything to zero. So does too large a weight from any U, with a warning.
    max_iter : int, default 500
        Most iterations of a run.
    tol : float, default 1e-5
        A run stops when the norm of the projected gradient is at most ``tol`` times that of ``4 X U``.
    n_jobs : int or None, default None
        Starts that run at the same time, each in a thread; -1 is all cores.
    random_state : int, Generator, RandomState or None, default None
        Seed of the random starts.
    verbose : bool, default False
        Whether to log progress (``logging.basicConfig(level="INFO")`` shows it).
    callbacks : sequence of callables or None, default None
        Each is called with each row of the history; a true value stops the run. ``row.U`` is a copy of U at that
        moment.
    checkpoint : path or None, default None
        Folder in which ``fit`` saves its state while it runs, made if it does not exist; None saves nothing.
    resume : bool, default False
        Whether to continue the interrupted fit of the same data and parameters in that folder; if there is none, the
        fit begins.

    Attributes
    ----------
    labels_ : array of shape (n_samples,)
        Community of each node: the column of U that is largest, or a better one by its edges (see ``reassign``); 0 is
        the community of most nodes. -1 for nodes in no community, which have no edges to others or are in a component
        that is too small. A warning says how many.
    membership_ : array of shape (n_samples, n_clusters)
        Rows of U that sum to one; zeros for nodes in no community. Shares, not probabilities: labels are right more
        often than they say.
    components_ : array of shape (n_samples, n_clusters)
        U.
    affinity_matrix_ : array or sparse array of shape (n_samples, n_samples)
        The similarities, as they were factorised.
    degrees_ : array of shape (n_samples,)
        Sums of the rows of X, before normalisation.
    component_labels_ : array of shape (n_samples,)
        Connected component of each node; the largest is 0.
    nodes_ : array of shape (n_samples,) or list
        What the rows of the similarities are.
    points_ : array or sparse array of shape (n_samples, n_features)
        The points as they were compared: divided by ``spreads_``, or of unit length for the cosine; only where X
        holds points.
    scales_ : array of shape (n_samples,)
        Distances of points to their seventh neighbour; only where X holds points.
    spreads_ : array of shape (n_features,)
        What the columns of the points were divided by; only where they were.
    modularity_ : float
        Modularity of the communities on the graph before normalisation, among the nodes in a community; each has its
        part in :meth:`cluster_report`.
    coverage_ : float
        Share of the weight of all edges that is inside communities.
    objective_ : float
        Squared Frobenius norm of ``X - U U'``.
    relative_error_ : float
        The objective divided by the squared norm of X.
    projected_gradient_ : float
        Norm of the projected gradient, 0 at a stationary point.
    stationarity_ : float
        The same divided by the norm of ``4 X U``.
    n_iter_ : int
        Iterations of the best run.
    converged_ : bool
        Whether it converged.
    stop_reason_ : str
        Why it stopped.
    history_ : list of dict
        Its checks: iteration, loss, gap and seconds.
    resolved_ : dict
        What was chosen: ``solver``, ``start``, the relative ``errors`` of all starts, ``normalize`` (whether the graph
        was divided by its degrees), ``n_components``, the number of connected components that were clustered, and
        where nodes may be moved (see ``reassign``) ``moved``, how many were.

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

    n_clusters: int = 8
    solver: Literal["auto", "hals", "anls", "pgd", "admm", "newton"] = "auto"
    affinity: Literal["knn", "precomputed"] = "knn"
    init: Literal["auto", "pool", "spectral", "random"] = "auto"
    n_init: int = 10
    _: KW_ONLY
    normalize: Literal["auto"] | bool = "auto"
    min_component: int | None = None
    n_neighbors: int | None = None
    metric: Literal["euclidean", "cosine"] = "euclidean"
    scale: Literal["auto", "standard", "none"] = "auto"
    values: Literal["raw", "log", "binary"] = "raw"
    reassign: bool = True
    l1: float = 0.0
    max_iter: int = 500
    tol: float = 1e-5
    n_jobs: int | None = None

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **GraphClusterer._parameter_constraints,
        "solver": [StrOptions({"auto", *SOLVERS})],
        "init": [StrOptions({"auto", "pool", "spectral", "random"})],
        "l1": [Interval(Real, 0, None, closed="left")],
        "n_jobs": [Interval(Integral, 1, None, closed="left"), Interval(Integral, None, -1, closed="right"), None],
    }

    @fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        X: Any,
        y: None = None,
        *,
        source: str | None = None,
        target: str | None = None,
        weight: str | None = None,
    ) -> Self:
        """Find the communities of the points or the nodes of X.

        Parameters
        ----------
        X : array of shape (n_samples, n_features), or a graph
            Points; a table of edges with the columns ``source``, ``target`` and, if there are weights, ``weight``; or
            what ``affinity="precomputed"`` takes.
        y : None
            Ignored.
        source, target, weight : str, default None
            Names of the columns of a table of edges, where they have others; ``weight`` also names an attribute of the
            edges of a networkx or igraph graph.

            .. versionadded:: 0.2

        Returns
        -------
        SymNMF
            The estimator itself.

        Examples
        --------
        >>> import pandas as pd
        >>> edges = pd.DataFrame({"from": [*"aabddec"], "to": [*"bccefff"]})
        >>> sorted(map(sorted, SymNMF(2).fit(edges, source="from", target="to").communities()))
        [['a', 'b', 'c'], ['d', 'e', 'f']]
        """
        graph = self._graph(X, source=source, target=target, weight=weight)
        S = graph.S
        small = S.shape[0] * self.n_clusters <= NEWTON_SIZE
        solver = self.solver if self.solver != "auto" else "newton" if small else "hals"
        if solver in ON_HOST and not S.on_host:
            raise InputError(
                f"solver={solver!r} works on the host.",
                "Give a numpy array or a scipy sparse matrix, or use 'newton', 'hals' or 'pgd'.",
            )
        run = partial(self._run, SOLVERS[solver], S, open_checkpoint(self, S.operand.native))
        at_once = effective_n_jobs(self.n_jobs) if S.local is not None else 1  # a device or Dask is busy with one
        with one_blas_thread() if at_once > 1 else self._blas_threads(S):
            runs = self._auto(graph, run, at_once) if self.init == "auto" else self._runs(graph, run, at_once)
            best, errors = best_run(runs, rounding=max(1e-8, 10 * eps(S.like)))
            if self.l1 and best.monitor.stop_reason != "callback":
                best = run(best.start, best.U, self.l1)
        self.resolved_ = {"solver": solver, "start": best.start, "errors": errors}
        return self._set_result(graph, best.U, best.monitor, self.l1)

    def _runs(self, graph: Graph, run: Callable[[str, Array], Run], at_once: int) -> Iterator[Run]:
        return _in_threads(run, self._starts(graph, self.init), at_once)

    def _auto(self, graph: Graph, run: Callable[[str, Array], Run], at_once: int) -> Iterator[Run]:
        """The run from the spectral start, and random ones where it is far from the bound and they cost little."""
        U, values = spectral_start(graph.S, self.n_clusters, graph.parts)
        found = run("spectral", U)
        yield found
        xp = namespace(values)
        reachable = float(xp.sum(xp.clip(values, 0, None) ** 2)) / graph.S.squared
        missed = 1 - (1 - found.monitor.history[-1]["loss"]) / reachable
        if missed > MISSED and graph.S.shape[0] * self.n_clusters <= CHEAP_SIZE:
            yield from _in_threads(run, self._starts(graph, "random"), at_once)

    def _place(self, start: str) -> tuple[int, int]:
        """Which of how many starts it is; ``init="auto"`` decides after the first whether there are others."""
        first = 0 if self.init == "random" else 1
        number = first + int(start.removeprefix("random ")) if start.startswith("random") else 1
        others = self.init in ("random", "pool") or number > 1
        return number, first + self.n_init if others else 1

    def _run(
        self,
        solve: Callable[..., Array],
        S: Similarities,
        checkpoint: Checkpoint | None,
        start: str,
        U: Array,
        l1: float = 0.0,
    ) -> Run:
        every = 1 if solve is SOLVERS["newton"] else 5  # where iterations cost as much as checks
        name = f"{start} l1" if l1 else start
        monitor = monitor_of(self, check_every=every, checkpoint=checkpoint, run=name, place=self._place(start))
        return Run(start, solve(S, U, S.squared, monitor=monitor, l1=l1), monitor)


def _in_threads(run: Callable[[str, Array], Run], starts: Iterator[tuple[str, Array]], at_once: int) -> Iterator[Run]:
    """Finished runs from all starts, as they come, in their order."""
    if at_once == 1:
        return starmap(run, starts)
    parallel = Parallel(at_once, prefer="threads", return_as="generator", pre_dispatch="n_jobs")
    return parallel(delayed(_alone)(run, name, U) for name, U in starts)


def _alone(run: Callable[[str, Array], Run], name: str, U: Array) -> Run:
    with single_thread():
        return run(name, U)
