"""SymNMF-Net, a scikit-learn estimator; over 350 lines because its parameters and attributes take 120 to describe."""

import warnings
from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rectifact.core.arrays import Array
from rectifact.core.errors import FitWarning, InputError, missing_extra
from rectifact.core.monitor import monitor_of
from rectifact.core.operand import is_chunked
from rectifact.core.validation import Interval, StrOptions, fit_context
from rectifact.graph.base import Graph, GraphClusterer, Run, best_run
from rectifact.graph.gold import aligned, checked_gold
from rectifact.graph.similarities import Similarities
from rectifact.graph.spectral import leading_eigenvectors
from rectifact.io.checkpoint import Checkpoint, open_checkpoint

DIAGNOSTICS = ("epsilon", "a", "B", "C", "least_lambda")


@dataclass(eq=False, repr=False)
class SymNMFNet(GraphClusterer):
    """Communities of a graph, or clusters of points, by a net of unrolled SymNMF iterations.

    It minimises the objective of :class:`rectifact.SymNMF`, together with anything else that is asked of U: sparsity, a
    function of your own, or agreement with the labels of some nodes. It needs torch, and computes in single precision.

    Parameters
    ----------
    n_clusters : int, default 8
        Number of communities.
    n_blocks : int or None, default None
        Blocks of the net; None leaves it to ``settings``.
    settings : {"repaired", "paper"}, default "repaired"
        ``"repaired"`` converges: one block, entries that the ReLU set to zero may come back, P stays non-negative, and
        the rate of Adam falls to zero. ``"paper"`` is as printed [1]: ten blocks, rate 0.5, beta 5e-6, lambda learned
        above the bound of Proposition 1, with its epsilon taken as 0.
    regularizer : {"l1"}, callable or None, default None
        ``"l1"`` is the sum of U, for a sparse U; a function maps a torch tensor U (n_samples, n_clusters) to a number.
        The repaired net is trained without it first.
    device : str, default "auto"
        ``"cpu"``, ``"cuda"``, or ``"auto"``: where X lives if it is a tensor or a cupy array, else a CUDA device if
        there is one. Results come back as the kind of array that X is, and where it is.
    weight : float, default 0.003
        Weight of the regularizer.
    label_weight : float, default 1
        Weight of minus the log membership of a node in the class that ``gold`` names, relative to the mean squared
        norm of a row of X.
    affinity : {"knn", "precomputed"}, default "knn"
        What X holds, points or a graph, as in :class:`rectifact.SymNMF`.
    normalize : "auto" or bool, default "auto"
        Whether the graph is divided by the square roots of its degrees, as in :class:`rectifact.SymNMF`.
    min_component : int or None, default None
        Connected components of fewer nodes get no cluster, as in :class:`rectifact.SymNMF`.
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
    init : {"auto", "pool", "spectral", "random"}, default "auto"
        As in :class:`rectifact.SymNMF`; ``"auto"`` is ``"spectral"``, and ``"random"`` for the paper's settings.
    n_init : int, default 1
        Number of random starts.
    learning_rate : float or None, default None
        Learning rate of Adam; None leaves it to ``settings``.
    lam : float or None, default None
        Regularisation lambda of the inversion layer, in units of the graph, kept fixed. None is the Frobenius norm of
        the graph: fixed for the repaired net, and the start of what the paper's net learns.
    beta : float or None, default None
        Weight of the squared distance of P from the classical step; None leaves it to ``settings``.
    epsilon : float or None, default None
        Bound on the distance of P from the classical step, relative to it (equation 5 of [1]): P is brought back to it
        after each epoch, and the lambda that the paper's net learns is kept above Proposition 1's bound for it. None
        bounds nothing.
    max_iter : int, default 1000
        Most epochs of a run.
    tol : float, default 1e-5
        A run stops when the norm of the projected gradient is at most ``tol`` times that of ``4 X U``.
    random_state : int, Generator, RandomState or None, default None
        Seed of the random starts.
    verbose : bool, default False
        Whether to log progress (``logging.basicConfig(level="INFO")`` shows it).
    callbacks : sequence of callables or None, default None
        Each is called with each row of the history, every tenth epoch; a true value stops the run. ``row.U`` is a copy
        of U at that moment.
    checkpoint : path or None, default None
        Folder in which ``fit`` saves its state while it runs, made if it does not exist; None saves nothing.
    resume : bool, default False
        Whether to continue the interrupted fit of the same data and parameters in that folder; if there is none, the
        fit begins.

    Attributes
    ----------
    labels_ : array of shape (n_samples,)
        Community of each node: the column of U that is largest, or a better one by its edges (see ``reassign``, which
        has no effect where ``gold`` is given); -1 for nodes in no community. 0 is the community of most nodes, or of
        the class 0 where ``gold`` was given.
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
    lambda_ : float
        Regularisation of the inversion layer after training.
    diagnostics_ : dict
        The quantities of Theorem 1 and Proposition 1 of [1] after training: ``epsilon``, how far P is from the
        classical step, ``a``, ``B`` and ``C``; ``least_lambda``, which lambda has to exceed, and whether it ``holds``.
        A warning says where it does not, for the paper's settings and where ``lam`` or ``epsilon`` are given. The
        repaired net goes beyond the proposition as a rule: it converges by other means, see ``stationarity_``.
    n_iter_ : int
        Epochs of the best run.
    converged_ : bool
        Whether it converged.
    stop_reason_ : str
        Why it stopped.
    history_ : list of dict
        Its checks; the loss is that of all blocks, relative to the squared norm of X.
    resolved_ : dict
        What was chosen: ``settings``, ``n_blocks``, ``device``, ``start``, the ``losses`` of all starts, ``normalize``
        and ``n_components``, as in :class:`rectifact.SymNMF`.

    References
    ----------
    .. [1] M. Li, H. Kong, Z. Lin, "SymNMF-Net for the symmetric NMF problem", arXiv:2205.13214.

    Examples
    --------
    >>> from rectifact import SymNMFNet
    >>> from rectifact.datasets import make_block_model
    >>> from rectifact.metrics import cluster_accuracy
    >>> graph = make_block_model(300, 3, degree=20, mixing=0.1)
    >>> model = SymNMFNet(3, affinity="precomputed", device="cpu").fit(graph.adjacency)
    >>> cluster_accuracy(graph.labels, model.labels_) > 0.95
    True
    """

    n_clusters: int = 8
    n_blocks: int | None = None
    settings: Literal["repaired", "paper"] = "repaired"
    regularizer: Literal["l1"] | Callable[[Any], Any] | None = None
    device: str = "auto"
    _: KW_ONLY
    weight: float = 0.003
    label_weight: float = 1.0
    affinity: Literal["knn", "precomputed"] = "knn"
    normalize: Literal["auto"] | bool = "auto"
    min_component: int | None = None
    n_neighbors: int | None = None
    metric: Literal["euclidean", "cosine"] = "euclidean"
    scale: Literal["auto", "standard", "none"] = "auto"
    values: Literal["raw", "log", "binary"] = "raw"
    reassign: bool = True
    init: Literal["auto", "pool", "spectral", "random"] = "auto"
    n_init: int = 1
    learning_rate: float | None = None
    lam: float | None = None
    beta: float | None = None
    epsilon: float | None = None
    max_iter: int = 1000
    tol: float = 1e-5

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **GraphClusterer._parameter_constraints,
        "n_blocks": [Interval(Integral, 1, None, closed="left"), None],
        "settings": [StrOptions({"repaired", "paper"})],
        "regularizer": [StrOptions({"l1"}), callable, None],
        "device": [str],
        "weight": [Interval(Real, 0, None, closed="left")],
        "label_weight": [Interval(Real, 0, None, closed="left")],
        "init": [StrOptions({"auto", "pool", "spectral", "random"})],
        "learning_rate": [Interval(Real, 0, None, closed="neither"), None],
        "lam": [Interval(Real, 0, None, closed="neither"), None],
        "beta": [Interval(Real, 0, None, closed="left"), None],
        "epsilon": [Interval(Real, 0, None, closed="left"), None],
    }

    @fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        X: Any,
        y: None = None,
        *,
        gold: ArrayLike | None = None,
        source: str | None = None,
        target: str | None = None,
        weight: str | None = None,
    ) -> Self:
        """Find the communities of the points or the nodes of X.

        Parameters
        ----------
        X : array of shape (n_samples, n_features), or a graph
            Points, or what ``affinity="precomputed"`` takes.
        y : None
            Ignored.
        gold : array of shape (n_samples,) or None, default None
            Known classes, from 0 to ``n_clusters - 1``, and -1 where the class is unknown. Community k is then class k.
        source, target, weight : str, default None
            Names of the columns of a table of edges, where they have others.

            .. versionadded:: 0.2

        Returns
        -------
        SymNMFNet
            The estimator itself.
        """
        net, tensors = _torch_modules()
        if is_chunked(X):
            raise InputError(
                "SymNMFNet works on one machine.", "Give X.compute(), or use SymNMF, which takes Dask arrays."
            )
        graph = self._graph(X, source=source, target=target, weight=weight)
        S = graph.S
        known = checked_gold(gold, S.shape[0], self.n_clusters)
        device = self.device
        if device == "auto":
            device = "cuda" if S.on_host and net.torch.cuda.is_available() else tensors.home_of(S.like)
        n_blocks = net.SETTINGS[self.settings].n_blocks if self.n_blocks is None else self.n_blocks
        init = self.init if self.init != "auto" else "random" if self.settings == "paper" else "spectral"
        with self._blas_threads(S):
            checkpoint = open_checkpoint(self, S.operand.native, known)
            best, losses = best_run(self._runs(graph, device, n_blocks, init, known, checkpoint))
        theory = best.about
        self.lambda_ = theory.lam
        self.diagnostics_ = {name: float(getattr(theory, name)) for name in DIAGNOSTICS} | {"holds": theory.holds}
        self.resolved_ = {"settings": self.settings, "n_blocks": n_blocks, "device": device}
        self.resolved_ |= {"start": best.start, "losses": losses}
        if not theory.holds and (self.settings == "paper" or self.lam is not None or self.epsilon is not None):
            what = f"Proposition 1 asks for lambda above {theory.least_lambda:.4g}, and it is {theory.lam:.4g}: the net"
            remedy = "Raise lam." if self.lam is not None else "Bound P by epsilon, or give a larger lam."
            warnings.warn(
                FitWarning(f"{what} may be unstable (epsilon is {theory.epsilon:.3g}).", remedy), stacklevel=3
            )
        return self._set_result(graph, best.U, best.monitor, known=known is not None)

    def _runs(
        self,
        graph: Graph,
        device: str,
        n_blocks: int,
        init: str,
        known: NDArray[Any] | None,
        checkpoint: Checkpoint | None,
    ) -> Iterator[Run]:
        """Finished runs from all starts, as they come.

        The repaired net sees the graph in units in which its norm is 1, so that single precision suffices for graphs
        of any size; the paper's learning rate has meaning only in the graph's own.
        """
        net, tensors = _torch_modules()
        S = graph.S
        recipe, norm = self._recipe(), S.squared**0.5
        unit = norm if recipe.relative else 1.0
        X, squared = _on_device(S, device, unit), (norm / unit) ** 2
        rate = recipe.learning_rate if self.learning_rate is None else self.learning_rate
        largest = max(float(leading_eigenvectors(S, 1)[0][0]), 0)  # the spectral norm: no entry is negative
        if recipe.relative:  # the net's P is about |X|_F U, and U about sqrt(|X|_2 / n)
            rate *= 4 * (largest / unit / S.shape[0]) ** 0.5
        lam = squared**0.5 if self.lam is None else self.lam / unit
        labels = [] if known is None else [self._label_term(known, X, squared)]
        wanted = [] if self.regularizer is None else [self._wanted(unit)]
        stages = [labels, labels + wanted] if wanted and recipe.keep_alive else [labels + wanted]
        n_starts = {"spectral": 1, "random": self.n_init, "pool": 1 + self.n_init}[init]
        for number, (name, start) in enumerate(self._starts(graph, init)):
            U = tensors.to_tensor((start if known is None else aligned(start, known)) / unit**0.5, X)
            _check_terms(wanted, U)
            for stage, terms in enumerate(stages):
                place = len(stages) * number + stage + 1, len(stages) * n_starts
                options: dict[str, Any] = {"checkpoint": checkpoint, "run": f"{name} stage {stage}", "place": place}
                monitor = monitor_of(self, check_every=10, **options)
                trained = net.start(X, U, lam, n_blocks)
                show = partial(_shown, unit**0.5, S.like)
                common = {"terms": terms, "monitor": monitor, "unit": unit, "show": show}
                U = net.train(X, squared, trained, recipe, rate, **common)
                if monitor.stop_reason == "callback":
                    break
            yield Run(name, _shown(unit**0.5, S.like, U), monitor, net.stability(X, squared, trained, unit, largest))

    def _recipe(self) -> Any:
        """How the net is trained: the settings, with what the user changed."""
        net, _ = _torch_modules()
        recipe = net.SETTINGS[self.settings]
        beta = recipe.beta if self.beta is None else self.beta
        learn = recipe.learn_lambda and self.lam is None
        return replace(recipe, beta=beta, learn_lambda=learn, epsilon=self.epsilon)

    def _wanted(self, unit: float) -> Callable[[Any], Any]:
        """The regularizer as a function of U in units of the net."""
        own = self.regularizer if callable(self.regularizer) else lambda U: U.sum()
        return lambda U: self.weight / unit**2 * own(U * unit**0.5)

    def _label_term(self, known: NDArray[Any], X: Any, squared: float) -> Any:
        net, _ = _torch_modules()
        nodes = np.flatnonzero(known >= 0)
        tensors = [net.torch.from_numpy(part).to(X.device) for part in (nodes, known[nodes])]
        n = len(known)
        return net.partial_labels(*tensors, self.label_weight * squared / n, 0.01 * (squared / n) ** 0.25)


def _shown(scale: float, like: Array, U: Any) -> Array:
    """U in the units and the library of the graph."""
    _, tensors = _torch_modules()
    return scale * tensors.back(U, like)


def _on_device(S: Similarities, device: str, unit: float) -> Any:
    try:
        return _torch_modules()[1].to_torch(S.operand.data, device, unit=unit)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise InputError(f"device={device!r} cannot be used: {reason}.", "Give device='cpu'.") from error


def _check_terms(terms: list[Callable[[Any], Any]], U: Any) -> None:
    """Refuse a regularizer that torch cannot differentiate, before training."""
    for term in terms:
        found = term(U.clone().requires_grad_())
        if getattr(found, "shape", None) != () or not found.requires_grad:
            raise InputError(
                "regularizer must map a tensor U to one number by operations that torch can differentiate.",
                "Use functions of torch only, and end with a sum.",
            )


def _torch_modules() -> tuple[Any, Any]:
    try:
        from rectifact.graph import net, tensors
    except ImportError as error:
        raise ImportError(str(missing_extra("SymNMFNet", "torch", "torch", "or use SymNMF"))) from error
    return net, tensors
