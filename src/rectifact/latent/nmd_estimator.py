"""Scikit-learn estimator for NMD."""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from math import exp, log
from numbers import Integral
from typing import Any, ClassVar, Literal, Self

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from rectifact.core.arrays import Array, is_host, namespace, to_host
from rectifact.core.errors import InputError
from rectifact.core.monitor import Monitor, monitor_of, set_fit_report
from rectifact.core.operand import Operand, operand
from rectifact.core.threads import one_blas_thread, small_products
from rectifact.core.validation import Interval, StrOptions, check_alike, check_factor, check_generator, fit_context
from rectifact.io.checkpoint import open_checkpoint
from rectifact.kernels import nmd_curvatures
from rectifact.latent.base import LatentTransformer
from rectifact.latent.choices import PATIENCE, best_climb, choose_prior
from rectifact.latent.data import check_every, check_link, check_nonnegative, in_units, resolve_link, with_missing
from rectifact.latent.held_out import check_held_out, entries_at, theta_at
from rectifact.latent.nmd import (
    Expectation,
    canonical,
    embed,
    expected_rows,
    log_likelihoods,
    nmd_with_priors,
    variance,
)
from rectifact.latent.paper import em_nmd
from rectifact.latent.priors import Gaussian, row_prior, shrinkage
from rectifact.latent.starts import svd_start
from rectifact.latent.statistics import Statistics, statistics

LEAST_SCALE = {"float64": 1e-4, "float32": 1e-3}
"""Least sigma, in units of the data: exact or separable data would drive it to zero."""

OVERFITTING = "Use prior='factors': without it, missing entries are predicted worse the longer the fit goes on."


@dataclass(eq=False, repr=False)
class NMD(LatentTransformer):
    r"""Few dimensions behind sparse data: ``X ~ max(0, embedding_ @ components_)``, or a threshold for binary data.

    A zero in the data does not mean that something is zero, only that it is not positive. With that freedom a much
    lower rank explains the same data than truncated SVD needs [1]_.

    Parameters
    ----------
    n_components : int, default 2
        Number of dimensions, at most the number of samples and of features; :func:`rectifact.selection.select`
        chooses it.
    link : {"auto", "relu", "binary"}, default "auto"
        ``"relu"`` for non-negative data, ``"binary"`` for zeros and ones; ``"auto"`` detects which.
    objective : {"likelihood", "latent"}, default "likelihood"
        The likelihood with Gaussian noise before the ReLU, or the squared distance between Theta and the nearest matrix
        that agrees with the data (equation 2.9 of [1]_), for ``link="relu"`` only.
    prior : {"auto", "factors", "rows", "wide"} or None, default "auto"
        Gaussian priors, whose means and covariances are learnt from the fit. ``"factors"`` has one on the rows of the
        embedding and one on the columns of the components: dimensions that the data does not support vanish, so a
        rank that is too large does no harm. ``"rows"`` has one on the rows only, for the most likely components, and
        ``"wide"`` one on the rows that is so wide that it only keeps them from running away. ``"auto"`` decides by a
        short trial on held-out entries: clean data without gaps gets ``"wide"`` if it is binary and ``"rows"``
        otherwise; noisy binary data gets ``"factors"``, other data what predicts those entries better, and with
        ``missing`` gets ``"factors"`` unless ``"rows"`` is clearly better. None is the
        published model, maximum likelihood throughout; ``objective="latent"`` and ``solver="em"`` imply it.
    missing : None, np.nan or array of shape (n_samples, n_features), default None
        Which entries are missing: none, those that are NaN, or those where a mask, dense or sparse, is true. A mask
        applies to ``fit`` only.
    solver : {"sweep", "em"}, default "sweep"
        ``"sweep"`` is accelerated generalised EM over row tiles, and never holds a dense matrix of the size of X;
        ``"em"`` is the published algorithm, which does.
    n_init : int or "auto", default "auto"
        Number of climbs, of which the most likely is kept: one from the SVD, the others from starts with noise.
        ``"auto"`` takes 12 for up to 4096 entries, and 1 otherwise. With ``prior="factors"`` there is one. A climb that
        falls far behind the best one is given up.
    n_jobs : int or None, default -1
        Number of threads; -1 uses all cores.
    max_iter : int, default 1000
        Most sweeps of a climb; those of a trial are at most as many, or 20.
    tol : float, default 1e-6
        Stop when the objective per entry changes by less than ``tol`` times its first value in each of ten sweeps;
        while priors are learnt, by less than 5000 ``tol`` in ten sweeps.
    random_state : int, Generator or None, default None
        Random seed for the held-out entries of ``prior="auto"`` and the starting vector of the SVD.
    verbose : bool, default False
        Whether to log progress (``logging.basicConfig(level="INFO")`` shows it).
    callbacks : sequence of callables, optional
        Each is called with every row of the history; one that returns a true value stops the run.
    checkpoint : str or path, optional
        Folder in which ``fit`` saves its state while it runs; it is created if needed.
    resume : bool, default False
        Whether to continue the interrupted fit in that folder, which must have the same data and parameters; where
        there is none, the fit begins.

    Attributes
    ----------
    components_ : array of shape (n_components, n_features)
        Orthonormal rows, the most important first.
    embedding_ : array of shape (n_samples, n_components)
        Equal to ``transform(X)``: the most probable embedding of each row given the prior.
    scale_ : float
        Sigma, the standard deviation of the noise before the ReLU; the least one allowed for ``objective="latent"``.
    sample_names_ : array of shape (n_samples,)
        Index of the frame; only if X had one.
    n_iter_ : int
    converged_ : bool
    stop_reason_ : str
    history_ : list of dict
        The loss is minus the objective per entry, for the likelihood in units of the root mean square of the positive
        entries.
    resolved_ : dict
        What was chosen: ``link``, ``prior``, and ``shrinkage``, the share of the embedding that the prior decides, from
        0 (the data alone) to 1.

    References
    ----------
    .. [1] L. K. Saul, "A nonlinear matrix decomposition for mining the zeros of sparse data", SIAM Journal on
       Mathematics of Data Science 4(2), 2022.

    Examples
    --------
    >>> from rectifact import NMD
    >>> from rectifact.datasets import make_dots
    >>> X = make_dots(size=16, grid=16).X                        # 256 images of a dot, as a sparse matrix
    >>> model = NMD(5).fit(X)
    >>> found = model.inverse_transform(model.embedding_)
    >>> bool(((found > 0.5) == (X.toarray() > 0)).all())         # five dimensions explain all
    True
    """

    n_components: int = 2
    link: Literal["auto", "relu", "binary"] = "auto"
    objective: Literal["likelihood", "latent"] = "likelihood"
    missing: Any = None
    _: KW_ONLY
    prior: Literal["auto", "factors", "rows", "wide"] | None = "auto"
    solver: Literal["sweep", "em"] = "sweep"
    n_init: int | Literal["auto"] = "auto"
    n_jobs: int | None = -1
    max_iter: int = 1000
    tol: float = 1e-6

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **LatentTransformer._parameter_constraints,
        "link": [StrOptions({"auto", "relu", "binary"})],
        "objective": [StrOptions({"likelihood", "latent"})],
        "missing": "no_validation",
        "prior": [StrOptions({"auto", "factors", "rows", "wide"}), None],
        "solver": [StrOptions({"sweep", "em"})],
        "n_init": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "n_jobs": [Integral, None],
    }
    _once: ClassVar[dict[str, Any]] = {"prior": None, "n_init": 1, "_prior": None}  # version 0.1 had no priors

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: None = None) -> Self:
        """Learn components and embedding of non-negative X (n_samples, n_features): dense, sparse, or a Dask array."""
        self._name_samples(X)
        X = with_missing(self._checked(X, reset=True), self.missing)
        self._keep_ranges(X)
        data = X.kept()  # during the fit only: the embedding of a Dask array is made from X itself
        facts = data.total(statistics)
        link = resolve_link(self.link, self.objective, facts)
        self._check_sizes(X, facts.largest)
        X, data = (in_units(each, facts.unit) for each in (X, data))
        every, checkpoint = check_every(X), open_checkpoint(self, X.data)

        def monitor(run: int = 0, patience: int = 1, n_runs: int = 1) -> Monitor:
            name = f"run {run + 1}" if run else "run"
            options: dict[str, Any] = {"checkpoint": checkpoint, "run": name, "place": (run + 1, n_runs)}
            return monitor_of(self, check_every=every, patience=max(1, patience // every), **options)

        solve = self._published if self.solver == "em" else self._sweeps
        self._unit, self._largest = facts.unit, float(facts.largest)
        self.resolved_: dict[str, Any] = {"link": link}
        self.components_, log_sigma, self._prior, served = solve(data, link, facts, monitor)
        self.scale_ = self._unit * exp(log_sigma)
        self.embedding_ = self._embed(X)
        free = self.missing is not None and self.resolved_["prior"] != "factors"
        set_fit_report(self, served, OVERFITTING if free and self.objective == "likelihood" else "")
        return self

    def inverse_transform(self, X: Any) -> Array:
        """Expected data (n_samples, n_features) for the embedding X (n_samples, n_components)."""
        check_is_fitted(self)
        A, B = operand(check_factor("An embedding", X, self.components_)), self.components_
        return A.map_rows(expected_rows, B, self.scale_, self._link, columns=B.shape[1])

    def _noise(self, A: Any) -> Any:
        theta = np.asarray(to_host(A @ self.components_), dtype=np.float64)
        return variance(theta, float(self.scale_)) if self._link == "relu" else super()._noise(A)

    def score(self, X: Any, y: None = None, *, held_out: Any = None) -> float:
        """Log-likelihood per entry that is not missing, in nats, each row at its embedding.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
        y : None
        held_out : array of shape (n_samples, n_features), optional
            Mask, dense or sparse, of entries that the embedding is made without and that alone are scored. Use it to
            choose the number of dimensions: fit with ``missing=mask``, and score with ``held_out=mask``, where mask is
            ``hide_entries(X)``. Without it, larger models score better for ever. For ``GridSearchCV``, give it
            ``scoring=held_out_score``, which hides entries of each sample by itself.
        """
        check_is_fitted(self)
        X = self._known(X)
        if held_out is not None:
            return float(np.mean(self._held_out_likelihoods(X, held_out)))
        likelihood, facts = X.total(_likelihood_and_facts, *self._model())
        if not facts.known:
            raise InputError("All entries of X are missing: there is nothing to score.", "Check the file or the mask.")
        seen = facts.positive if self._link == "relu" else 0
        return float((likelihood - seen * log(self._unit)) / facts.known)

    def _held_out_likelihoods(self, X: Operand, mask: Any) -> NDArray[np.float64]:
        """Log-likelihood of each hidden entry that is known, in nats."""
        x, theta = self._held_out(X, mask)
        found = log_likelihoods(x, theta, self.scale_ / self._unit, self._link)
        return np.asarray(found - (x > 0) * log(self._unit) if self._link == "relu" else found)  # in units of the data

    def _held_out(self, X: Operand, mask: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Hidden entries that are known, and their Theta, in the units of the fit."""
        rows, columns = check_held_out(mask, X.shape)
        A = with_missing(X, mask).map_rows(
            _embedding, *self._model(), columns=self.n_components, dtype=self.components_.dtype
        )
        x, theta = entries_at(X.data, rows, columns), theta_at(A, self.components_, rows, columns)
        return x[~np.isnan(x)], theta[~np.isnan(x)]

    def _checked(self, X: Any, reset: bool = False) -> Operand:
        return check_nonnegative(self, X, reset=reset, missing=self.missing is not None)

    def _known(self, X: Any) -> Operand:
        """New data of the same kind and in the same units as the data of the fit."""
        X = self._checked(X)
        check_alike(self.components_, X.data)
        return in_units(check_link(X, self._link), self._unit)

    def _sweeps(
        self, X: Operand, link: str, facts: Statistics, monitor: Callable[..., Monitor]
    ) -> tuple[Array, float, Gaussian | None, Monitor]:
        """Components, log sigma, the prior of the rows and the monitor, by accelerated sweeps."""
        unit = 1.0 if link == "binary" else facts.rms  # the latent scale of binary data is free
        floor = log(LEAST_SCALE[str(X.dtype).rpartition(".")[2]] * unit)
        likelihood = self.objective == "likelihood"
        offset = -facts.positive / facts.size * log(unit) if likelihood else 0.0
        seed = int(check_generator(self.random_state).integers(2**31)) if self.random_state is not None else 0
        expect = Expectation(link, self.objective, self.missing is not None)
        options: dict[str, Any] = {"n_jobs": self._jobs(), "floor": floor}
        with one_blas_thread():  # tiles are small, and threads work on several
            prior, warm_up = self._choose_prior(X, link, seed, options)
            start = svd_start(X, self.n_components, link, facts=facts, seed=seed)
            options |= {"expect": expect, "offset": offset}
            if prior == "factors":
                served = monitor()
                model, priors = nmd_with_priors(X, start, warm_up=warm_up, monitor=served, **options)
                rows, posterior = priors.rows, priors.posterior
            else:
                model, served = best_climb(X, start, monitor, self.n_init, seed=seed, options=options)
            if prior in ("rows", "wide"):
                rows, posterior = row_prior(X, model, nmd_curvatures, link, wide=prior == "wide")
            B = canonical(model)
        self.resolved_["prior"] = prior
        if prior is None:
            return B, float(model.log_sigma) if likelihood else floor, None, served
        self.resolved_["shrinkage"] = round(shrinkage(rows, posterior), 4)
        turn = np.asarray(to_host(model.B @ B.T), dtype=np.float64)
        return B, float(model.log_sigma), rows.mapped(turn), served

    def _choose_prior(self, X: Operand, link: str, seed: int, options: dict[str, Any]) -> tuple[str | None, int]:
        """The kind of prior, and how many sweeps come before it."""
        if self.objective == "latent":
            if self.prior not in ("auto", None):
                raise InputError(
                    f"objective='latent' has no noise that prior={self.prior!r} could be weighed against.",
                    "Use objective='likelihood', or prior=None.",
                    option=("prior", "objective"),
                )
            return None, 0
        if self.prior in ("rows", "wide", None):
            return self.prior, 0
        gaps, auto = self.missing is not None, self.prior == "auto"
        to_the_end = Monitor(self.max_iter, tol=self.tol, patience=PATIENCE)
        run: dict[str, Any] = {"gaps": gaps, "seed": seed, "to_the_end": to_the_end, "options": options}
        return choose_prior(X, self.n_components, link, auto, **run)

    def _published(
        self, X: Operand, link: str, facts: Statistics, monitor: Callable[..., Monitor]
    ) -> tuple[Array, float, None, Monitor]:
        """Components and log sigma by the published algorithm, which has no prior."""
        if self.prior not in ("auto", None):
            raise InputError(
                f"solver='em' is the published algorithm, which has no prior={self.prior!r}.",
                "Use solver='sweep', or prior=None.",
                option=("solver", "prior"),
            )
        if self.objective == "latent":
            raise InputError(
                "solver='em' maximises the likelihood.",
                "Use solver='sweep' for objective='latent'.",
                option=("solver", "objective"),
            )
        if not is_host(X.data):
            raise InputError(
                "solver='em' works on the host.", "Give a numpy array, or use solver='sweep'.", option="solver"
            )
        served = monitor()
        with small_products(facts.size * self.n_components):
            model = em_nmd(X.data.toarray(), self.n_components, link, monitor=served)
        self.resolved_["prior"] = None
        return canonical(model), float(model.log_sigma), None, served

    @property
    def _link(self) -> str:
        return str(self.resolved_["link"])

    def _model(self) -> tuple[Array, float, str, int, Gaussian | None]:
        """Arguments of :func:`rectifact.latent.nmd.embed`; sigma and the prior are in the units of the fit."""
        return self.components_, self.scale_ / self._unit, self._link, self._jobs(), self._prior

    def _embed(self, X: Operand) -> Array:
        """Embedding of X, which is in the units of the fit."""
        A = X.map_rows(_embedding, *self._model(), columns=self.n_components, dtype=self.components_.dtype)
        return A * self._unit

    def _jobs(self) -> int:
        if self.n_jobs == 0:
            raise InputError("n_jobs must not be 0.", "Use -1 for all cores, or 1.", option="n_jobs")
        return int(effective_n_jobs(self.n_jobs))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing is not None
        return tags


def _embedding(X: Array, *model: Any) -> Array:
    return embed(X, *model)[0]


def _likelihood_and_facts(X: Array, *model: Any) -> tuple[float, Statistics]:
    likelihoods = embed(X, *model)[1]
    return float(namespace(likelihoods).sum(likelihoods)), statistics(X)
