"""Scikit-learn estimator for AND; more than 350 lines because its parameters and attributes take 170 to describe."""

import warnings
from dataclasses import KW_ONLY, dataclass, replace
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from rectifact.core.arrays import Array, eps, namespace, to_host, to_like
from rectifact.core.errors import InputError
from rectifact.core.estimator import quiet_copy
from rectifact.core.linalg import frobenius_residual, nnls_gram, pseudo_inverse
from rectifact.core.monitor import Monitor, NotConverged, monitor_of, set_fit_report
from rectifact.core.operand import Operand, operand
from rectifact.core.rectify import Constant, Geometric
from rectifact.core.threads import small_products
from rectifact.core.validation import Interval, StrOptions, check_matrix, fit_context
from rectifact.io.checkpoint import open_checkpoint
from rectifact.kernels import relu_columns
from rectifact.parts.and_nmf import Factorization, Threshold, and_nmf, descend, products, stage
from rectifact.parts.base import GROUPS, PartsTransformer, Start
from rectifact.parts.dispersion import dispersion, divided, variance_divisors
from rectifact.parts.fitting import (
    best_refinement,
    choose_likelihood,
    completed,
    scaled_features,
    weights_with_gaps,
    without_faint_weights,
)
from rectifact.parts.likely import has_zeros, most_likely
from rectifact.parts.noise import NoiseLaw, noise_law
from rectifact.parts.refinement import LEAST_SHARE, Refined, Refinement, poisson_weights
from rectifact.parts.samples import (
    Norm,
    background_start,
    choose_norm,
    column_maxima,
    column_means,
    fill_gaps,
    normalized,
    sample_norms,
    smallest_entry,
    with_gaps,
    without_background,
)
from rectifact.parts.starts import nndsvd_start, spa_start, subspace

OVERDISPERSED = 0.1
"""Share of the variance of a mean count, beyond that of Poisson counts, from which on samples are weighted by it."""

EXACT_FIT = 1e-5
"""Relative error of AND below which nothing is left to refine."""

DECODERS = {None: "relu", "nonnegative": "nnls", "poisson": "poisson"}
"""How weights are found by ``decode="auto"`` after each refinement."""


@dataclass(frozen=True)
class Stream:
    """Parts before they are scaled; statistics and largest weights of all batches so far, the older ones faded.

    Samples are divided by their norm to the power ``power``.
    """

    H: Array
    WtX: Array
    WtW: Array
    largest: Array
    threshold: Threshold
    norm: Norm
    stage: int = 0
    power: float = 1.0


@dataclass(frozen=True)
class Plan:
    """What a fit or the first batch of a stream decides: norm, samples divided by it, start, thresholds, for users."""

    norm: Norm
    power: float
    law: NoiseLaw | None
    samples: Operand
    norms: Array | float
    start: Start
    threshold: Threshold
    resolved: dict[str, Any]


@dataclass(eq=False, repr=False)
class ANDNMF(PartsTransformer):
    """Recovers the parts of mixtures: ``X ~ W @ components_`` with weights ``W >= 0`` and parts of any sign.

    Where parts are often absent from samples, the true parts are found, up to scale, even when weights are correlated
    [1]_. Parts have norm 1, l1 for non-negative data and l2 otherwise, so that weights carry the scale:
    ``fit(c * X)`` finds the same parts, and weights times ``c``.

    Parameters
    ----------
    n_components : int, default 2
        Number of parts; :func:`rectifact.selection.select` chooses it.
    init : {"auto", "ica", "spa", "anchor", "nndsvd"} or array of shape (n_components, n_features), default "auto"
        Where to start.

        - ``"ica"``: directions of largest skewness, in the leading subspace of the data;
        - ``"spa"``: samples that are nearly pure; ``"anchor"``: anchor words, for counts; ``"nndsvd"``: singular
          vectors;
        - an array: parts to start from;
        - ``"auto"``: ``"ica"``, or ``"spa"`` for fewer than ten samples per part.
    threshold : float or "auto", default "auto"
        At first, weights below this share of the largest weight of their part count as zero; ``"auto"`` is 0.5, or 0.1
        from a given array, which is taken to be nearer.
    threshold_decay : float, default 1.3
        The threshold is divided by this in each iteration. The error follows the threshold. 1.3 is fast; the published
        1.1 is safer; 1 keeps it constant, which suffices for weights that are 0 or 1 (Theorem 1 of [1]_), and does not
        lead to the true parts otherwise.
    noise_floor : float or "auto", default "auto"
        Thresholds stay above this many standard deviations of the noise in the weights; ``"auto"`` is 1.5; 0 switches
        it off; about 3 is better for counts.
    normalize : {"auto", "l1", "l2"} or None, default "auto"
        Norm that samples are divided by during AND; ``"auto"`` is l1 for data that is non-negative but for noise, and
        l2 otherwise, to the power with which the noise of samples grows with their norm: 1 without noise, 0 where all
        samples have the same noise, so that dark pixels and nearly empty documents count little. Weights are given for
        the samples as they were.
    unit : {"component", "absolute"}, default "component"
        ``"component"``: thresholds as shares of the largest weight; ``"absolute"``: as published.
    n_inner : int, optional
        Gradient steps in each iteration (published: 50); None takes as many as needed.
    step : float, optional
        Size of these steps; None is the largest safe size.
    compress : bool or "auto", default "auto"
        Whether to work in the leading subspace of the data, of dimension ``n_components``. A stage then costs the same
        for any number of features. ``"auto"`` does if samples have more nonzeros than that and ``n_inner`` is None.
    decode : {"auto", "relu", "nnls", "poisson"}, default "auto"
        How ``transform`` finds weights: ``"relu"`` as AND does; ``"nnls"`` by non-negative least squares; ``"poisson"``
        by Poisson likelihood, for counts. ``"auto"`` takes what suits ``refine``: relu after AND alone.
    refine : {"auto", "nonnegative", "poisson"} or None, default "auto"
        Fit from AND's parts with weights and parts that are not negative.

        - ``"nonnegative"``: least squares, for noise that is the same everywhere;
        - ``"poisson"``: Poisson likelihood (Kullback-Leibler divergence), for counts, and for noise that grows with the
          signal;
        - ``"auto"``: the one that suits the measured noise; none for data with negative entries or without noise. With
          ``init="auto"`` it also tries nearly pure samples as a start, and AND on scaled features for counts. Counts
          that vary more than Poisson counts are weighted by their variance, measured as ``resolved_["dispersion"]``;
        - None: AND alone, as published.
    refine_iter : int, default 200
        Most sweeps of this fit. It stops earlier where it converges, and where parts that lie closer around the samples
        explain them better. After a Poisson fit, weights that are zero within the noise are set to zero, and the others
        are fitted again.
    background : bool, default False
        Whether there is something that every sample has, such as a constant offset. It is estimated apart, as
        ``background_``, instead of bending the parts.
    missing : None, np.nan or array of shape (n_samples, n_features), default None
        Which entries of dense samples are missing: none, those that are NaN, or those where a mask is true. In
        ``transform`` they are NaN; ``inverse_transform`` of the weights fills them.
    forgetting : float, default 0.5
        The statistics of earlier batches are multiplied by this in ``partial_fit``.
    max_iter : int, default 200
        Most iterations.
    tol : float, default 1e-6
        The threshold falls to ``tol`` times its unit or to the noise floor; from there on the fit stops when the
        relative error changes by less than ``tol`` times its first value.
    random_state : int, Generator, RandomState or None, default None
        Seed for the start ``"ica"``.
    verbose : bool or int, default False
        Whether to log progress; ``logging.basicConfig(level="INFO")`` shows it.
    callbacks : sequence of callables, optional
        Called with each row of the history; a true value stops the run.
    checkpoint : str or path, optional
        Folder in which ``fit`` saves its state while it runs, made if it is missing; None saves nothing.
    resume : bool, default False
        Whether to continue the interrupted fit in that folder, which must have the same data and parameters. Without
        one, the fit starts from the beginning.

    Attributes
    ----------
    components_ : array of shape (n_components, n_features)
        The parts, largest contribution first unless ``init`` gave them an order; zeros where X has a lower rank.
    background_ : array of shape (n_features,)
        What every sample has; only with ``background=True``.
    thresholds_ : array of shape (n_components,)
        The least weight that counts, for samples divided by their norm.
    reconstruction_err_ : float
        Frobenius norm of ``X - W @ components_`` at the end of ``fit``.
    n_iter_ : int
        Number of iterations, or of batches of a stream.
    converged_ : bool
        Whether AND converged.
    stop_reason_ : str
        Why AND stopped; ``"stream"`` after ``partial_fit``.
    history_ : list of dict
        One row per iteration; the loss is the relative error of the samples divided by their norms.
    resolved_ : dict
        What was chosen: ``init``, ``threshold``, ``noise_floor``, ``normalize`` and ``norm_power``, ``compress``,
        ``rank``, ``refine``; and what was measured: ``noise`` (standard deviation in one entry of a sample divided by
        its norm),
        ``noise_power`` (0 if the variance is the same everywhere, 1 if it grows like the mean), ``noise_share`` of the
        squared norm, ``noise_dimensions``, ``noisy_samples`` (share of samples that are mostly noise), ``dispersion``
        of counts (c, if a count with mean m has the variance ``m + c * m**2``), and ``refine_loss``, the squared error
        or divergence that is left as a share of that without parts.

    See Also
    --------
    PurificationNMF : for streams of samples with independent weights and adversarial noise.

    References
    ----------
    .. [1] Y. Li and Y. Liang, "Provable alternating gradient descent for non-negative matrix factorization with strong
       correlations", ICML 2017, Algorithm 1. The paper's settings are ``ANDNMF(k, init=start, threshold=0.1,
       threshold_decay=1.1, noise_floor=0, normalize=None, unit="absolute", n_inner=50, compress=False,
       refine=None, tol=0)``.

    Examples
    --------
    >>> from rectifact import ANDNMF
    >>> from rectifact.datasets import make_topics
    >>> from rectifact.metrics import total_correlation_error
    >>> topics = make_topics(n_samples=500, n_features=40, n_topics=5)
    >>> model = ANDNMF(5, random_state=0).fit(topics.X)
    >>> total_correlation_error(model.components_, topics.components) < 1e-4
    True
    """

    n_components: int = 2
    init: str | ArrayLike = "auto"
    threshold: float | Literal["auto"] = "auto"
    threshold_decay: float = 1.3
    noise_floor: float | Literal["auto"] = "auto"
    normalize: Literal["auto", "l1", "l2"] | None = "auto"
    _: KW_ONLY
    unit: Literal["component", "absolute"] = "component"
    n_inner: int | None = None
    step: float | None = None
    compress: bool | Literal["auto"] = "auto"
    decode: Literal["auto", "relu", "nnls", "poisson"] = "auto"
    refine: Literal["auto", "nonnegative", "poisson"] | None = "auto"
    refine_iter: int = 200
    background: bool = False
    missing: Any = None
    forgetting: float = 0.5
    max_iter: int = 200
    tol: float = 1e-6

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **PartsTransformer._parameter_constraints,
        "threshold": [Interval(Real, 0, None, closed="left"), StrOptions({"auto"})],
        "threshold_decay": [Interval(Real, 1, None, closed="left")],
        "noise_floor": [Interval(Real, 0, None, closed="left"), StrOptions({"auto"})],
        "normalize": [StrOptions({"auto", "l1", "l2"}), None],
        "unit": [StrOptions({"component", "absolute"})],
        "n_inner": [Interval(Integral, 1, None, closed="left"), None],
        "step": [Interval(Real, 0, None, closed="neither"), None],
        "compress": ["boolean", StrOptions({"auto"})],
        "decode": [StrOptions({"auto", "relu", "nnls", "poisson"})],
        "refine": [StrOptions({"auto", "nonnegative", "poisson"}), None],
        "refine_iter": [Interval(Integral, 1, None, closed="left")],
        "background": ["boolean"],
        "missing": "no_validation",
        "forgetting": [Interval(Real, 0, 1, closed="both")],
    }

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: None = None) -> Self:
        """Find the parts of the samples X (n_samples, n_features): dense, sparse, or a Dask array."""
        X = operand(check_matrix(self, X, allow_nan=self._allows_gaps))
        known = with_gaps(X, self.missing) if self._allows_gaps else X
        X = fill_gaps(known, self.n_components) if self._allows_gaps else X
        self._check_scale(X)
        if self.background and self.normalize in ("l1", "l2"):
            what = f"background=True and normalize={self.normalize!r} are mutually exclusive: an offset has one size."
            raise InputError(what, "Use normalize='auto'.", option=("background", "normalize"))
        if self.step is not None and self.n_inner is None:
            what = f"step={self.step} is the size of n_inner steps, and n_inner is None."
            raise InputError(what, "Give both, or neither.", option=("step", "n_inner"))
        with small_products(X.shape[0] * X.stored_per_row * self.n_components):
            return self._fit(X, known)

    def _fit(self, X: Operand, known: Operand) -> Self:
        """Find the parts of checked samples; ``known`` has NaN in their gaps."""
        checkpoint = open_checkpoint(self, X.data)
        if self.background:
            self.background_ = background_start(X)
        plan = self._plan(self._above_background(X), first_batch=False)
        samples, H, space = plan.samples, plan.start.H, plan.start.space
        compressed = self._compressed(samples, H.shape[0] <= space.rank)
        monitor = monitor_of(self, checkpoint=checkpoint)
        if compressed:
            found = self._run(operand(space.coordinates), H @ space.basis, plan.threshold, monitor)
        else:
            found = self._run(samples, H, plan.threshold, monitor)
        sums = samples.again().pending(products, along=(found.W,))
        largest = operand(found.W).pending(column_maxima, combine=namespace(H).maximum)
        (WtX, WtW), largest = samples.evaluate(sums, largest)
        if not float(namespace(largest).max(largest)) > 0:
            what = "No weight reaches its threshold: noise_floor={} or the parts given as init leave nothing."
            remedy = "Lower noise_floor, or use init='auto'."
            raise InputError(what.format(self.noise_floor), remedy, option=("noise_floor", "init"))
        H = found.H
        if compressed:  # back to all features, as the last stage would have done it
            H = descend(H @ space.Vt, WtX, WtW, n_inner=self.n_inner, step=self.step)
        order = _order(H, WtW, plan.start)
        H, WtX, WtW, thresholds = H[order], WtX[order], WtW[order][:, order], found.thresholds[order]
        self.resolved_ = plan.resolved | {"compress": compressed}
        threshold, n_iter = plan.threshold, monitor.n_iter
        self._stream = Stream(H, WtX, WtW, largest[order], threshold, plan.norm, n_iter, plan.power)
        self._set_parts(H, thresholds)
        W = self._refine(X, known, plan, exact=monitor.history[-1]["loss"] < EXACT_FIT)
        W = self._weights(X) if W is None else W
        X = operand(completed(known.data, self.inverse_transform(W))) if self._allows_gaps else X
        self.reconstruction_err_ = self._error(X, W)
        with warnings.catch_warnings():
            if self.resolved_["refine"]:  # the refinement makes up for what AND has left
                warnings.simplefilter("ignore", NotConverged)
            set_fit_report(self, monitor)
        return self

    def _refine(self, X: Operand, known: Operand, plan: Plan, *, exact: bool) -> Array | None:
        """Fit the parts again by a likelihood, from AND's and from nearly pure samples, and keep the better fit.

        Returns the weights of the parts in X, None where nothing is refined.
        """
        kind = self._likelihood(X, plan, exact)
        self.resolved_ |= {"refine": kind}
        if kind is None:
            return None
        gaps, background, k, xp = self._allows_gaps, None, self.n_components, namespace(self.components_)
        raw = kind == "poisson" or self.background or gaps  # least squares otherwise takes weighted samples
        if self.background:
            background = self.background_ + LEAST_SHARE * column_means(X)
        law, starts = plan.law or noise_law(X, k), {self.resolved_["init"]: self.components_}
        free = isinstance(self.init, str) and self.init == "auto"
        if free and plan.start.name != "spa":
            space = plan.start.space if plan.power == 0 else subspace(without_background(X, background), k)
            starts["spa"] = self._padded(xp.clip(spa_start(space), 0, None))
        if free and kind == "poisson" and not self.background:
            starts["scaled"] = self._from_scaled_features(X, law.entry_power)
        data, n_iter = known if raw else plan.samples, self.refine_iter
        name, best = best_refinement(kind, data, starts, law, n_iter=n_iter, background=background, missing=gaps)
        if kind == "poisson" and not law.is_systematic(k):
            weighted = self._by_variance(X, known, best)
            name, best = weighted or self._most_likely(X, known, name, best, law)
        if name != self.resolved_["init"]:
            self.thresholds_ = xp.zeros_like(self.thresholds_)
        size = sample_norms(best.H[:k], self._stream.norm or "l2")
        H, W = best.H[:k] / size, best.W[:, :k] * (size[:, 0] * (1.0 if raw else plan.norms))
        order = xp.arange(k, device=H.device)
        if isinstance(self.init, str):  # the largest share of the data first
            order = xp.argsort(-operand(W).total(_column_sums) * xp.sum(H, axis=1))
        self.components_, self.thresholds_ = H[order], self.thresholds_[order]
        self.resolved_ |= {"init": name, "refine_loss": best.loss}
        if background is not None:
            self.background_ = best.H[k]
        return W[:, order]

    def _most_likely(self, X: Operand, known: Operand, name: str, best: Refined, law: NoiseLaw) -> tuple[str, Refined]:
        """A fit without weights that are zeros; of Poisson counts whose small ones are not, the most likely one."""
        options: dict[str, Any] = {"n_iter": self.refine_iter, "missing": self._allows_gaps}
        found = dispersion(known, best.W, best.H)
        varied = found.share(float(namespace(best.H).mean(column_means(X)))) >= OVERDISPERSED
        if found.unit and not (varied or self.background):
            free = isinstance(self.init, str) and self.init == "auto"
            start = self._padded(nndsvd_start(subspace(X, self.n_components))) if free else None
            other, likely = most_likely(known, best, start, **options)
            name, best = ("nndsvd", likely) if other else (name, best)
            if not has_zeros(known, likely, law):
                return name, likely
        return name, without_faint_weights(known, best, law, n_fixed=int(self.background), **options)

    def _by_variance(self, X: Operand, known: Operand, best: Refined) -> tuple[str, Refined] | None:
        """A fit to samples divided by how much more their counts vary than Poisson counts; None where they do not."""
        if self.refine != "auto" or self.background:
            return None
        found = dispersion(known, best.W, best.H)
        self.resolved_ |= {"dispersion": found.excess}
        if found.share(float(namespace(best.H).mean(column_means(X)))) < OVERDISPERSED:
            return None
        rows, columns = variance_divisors(X, found)
        weighted = divided(known, rows, columns).native
        init = self.init if isinstance(self.init, str) else to_like(np.asarray(to_host(self.init)), columns) / columns
        model = quiet_copy(
            self, init=init, refine="poisson", decode="auto", missing=np.nan if self._allows_gaps else None
        )
        W = operand(model.fit_transform(weighted)).map_rows(_multiplied, along=(rows,), columns=self.n_components)
        self.thresholds_ = 0 * self.thresholds_  # those of AND were for other samples
        return model.resolved_["init"], Refined(W, model.components_ * columns, model.resolved_["refine_loss"])

    def _from_scaled_features(self, X: Operand, power: float) -> Array:
        """Parts that AND finds where all features have about the same noise."""
        scaled, scale = scaled_features(X, power)
        with warnings.catch_warnings(action="ignore"):
            return quiet_copy(self, refine=None, missing=None).fit(scaled.native).components_ * scale

    def _likelihood(self, X: Operand, plan: Plan, exact: bool) -> Refinement | None:
        """The likelihood that was asked for, or that suits the data."""
        if self.refine == "poisson" and smallest_entry(X) < 0:
            what = "refine='poisson' is for non-negative data, and X has negative entries."
            raise InputError(what, "Use refine='nonnegative', or clip them if they are noise.", option="refine")
        if self.refine != "auto":
            return self.refine
        return None if exact or plan.law is None else choose_likelihood(X, plan.law)

    def _error(self, X: Operand, W: Array) -> float:
        """Frobenius norm of what weights, parts and background leave over."""
        H, xp = self.components_, namespace(self.components_)
        if self.background:
            W = operand(W).map_rows(_with_ones, columns=H.shape[0] + 1)
            H = xp.concat([H, self.background_[None, :]])
        return float(frobenius_residual(X, W, H))

    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X: Any, y: None = None) -> Self:
        """One stage of AND with a further batch of samples; statistics of earlier batches fade by ``forgetting``.

        A stream is not refined, and its background is that of ``fit`` or of the first batch.

        The first batch finds the start, if none is given, and measures the noise: let it have at least ten
        samples per part. After ``fit``, batches go on from the parts and the threshold it has reached.
        """
        if not hasattr(self, "_stream"):
            X = operand(check_matrix(self, X))
            self._check_scale(X)
            if self.background:
                self.background_ = background_start(X)
            plan = self._plan(self._above_background(X), first_batch=True)
            start, threshold, norm = plan.start.H, plan.threshold, plan.norm
            samples, stream = plan.samples, Stream(start, 0.0, 0.0, 0.0, threshold, norm, power=plan.power)
            self.resolved_ = plan.resolved
        else:
            stream = self._stream
            X = check_matrix(self, X, reset=False)
            samples, _ = normalized(self._above_background(self._known(X)), stream.norm, stream.power)
        seen = self.forgetting * stream.largest
        _, levels, WtX, WtW = stage(samples, stream.H, stream.threshold, stream.stage, seen)
        WtX, WtW = self.forgetting * stream.WtX + WtX, self.forgetting * stream.WtW + WtW
        H = descend(stream.H, WtX, WtW, n_inner=self.n_inner, step=self.step)
        self._stream = replace(stream, H=H, WtX=WtX, WtW=WtW, largest=levels.largest, stage=stream.stage + 1)
        self.resolved_ = self.resolved_ | {"refine": None}
        self._set_parts(H, levels.thresholds)
        self._set_stream_report(self._stream.stage)
        return self

    def transform(self, X: Any) -> Any:
        """Weights (n_samples, n_components) of the parts in each sample; gaps count for nothing."""
        check_is_fitted(self)
        X = self._known(check_matrix(self, X, reset=False, allow_nan=self._allows_gaps))
        if not self._allows_gaps:
            return self._weights(X)
        samples = with_gaps(X, np.nan).data
        if self._decoder() == "poisson":
            background = self.background_ if self.background else None
            return poisson_weights(samples, self.components_, background, True, 300)
        return weights_with_gaps(samples, lambda X: self._weights(operand(X)), self.inverse_transform)

    def _predicted_share(self, X: Operand) -> float:
        if not self._allows_gaps:
            return super()._predicted_share(self._above_background(X))
        known, xp = X.data, namespace(X.data)
        group, left = xp.arange(X.shape[1], device=known.device) % GROUPS, 0.0
        for g in range(min(GROUPS, X.shape[1])):
            fitted = self.inverse_transform(self.transform(xp.where(group == g, xp.nan, known)))
            left += float(xp.sum(_filled(known - fitted)[:, group == g] ** 2))
        size = float(xp.sum(_filled(known - self.background_ if self.background else known) ** 2))
        return 1 - left / size if size else 0.0

    @property
    def _allows_gaps(self) -> bool:
        return self.missing is not None

    def _above_background(self, X: Operand) -> Operand:
        return without_background(X, self.background_) if self.background else X

    def _decoder(self) -> str:
        return DECODERS[self.resolved_["refine"]] if self.decode == "auto" else self.decode

    def inverse_transform(self, X: Any) -> Array:
        """Samples (n_samples, n_features) that the weights X (n_samples, n_components) make, background included."""
        samples = super().inverse_transform(X)
        return samples + self.background_ if self.background else samples

    def _plan(self, X: Operand, *, first_batch: bool) -> Plan:
        law = noise_law(X, self.n_components) if "auto" in (self.normalize, self.refine) else None
        norm, power = (choose_norm(X), 1.0) if self.normalize == "auto" else (self.normalize, 1.0)
        if self.normalize == "auto" and law is not None:
            power = 0.0 if self.background else law.row_power
        samples, norms = normalized(X, norm, power)
        start = self._find_start(X, samples, first_batch=first_batch)
        first = self.threshold
        if first == "auto":
            first = 0.1 if start.name == "given" else 0.5
        floor = max(self.tol, eps(start.H)) if self.tol else 0.0
        schedule = Geometric(first, self.threshold_decay, floor) if self.threshold_decay > 1 else Constant(first)
        multiple = 1.5 if self.noise_floor == "auto" else self.noise_floor
        threshold = Threshold(schedule, unit=self.unit, noise=start.space.noise, multiple=multiple)
        resolved = {"normalize": norm, "init": start.name, "rank": start.space.rank, "threshold": first}
        resolved |= {"noise_floor": multiple, "noise": start.space.noise, "norm_power": power, "refine": None}
        if law is not None:
            resolved |= {"noise_power": law.entry_power, "noise_dimensions": law.dimensions}
            resolved |= {"noise_share": law.level, "noisy_samples": law.noisy_rows}
        return Plan(norm, power, law, samples, norms, start, threshold, resolved)

    def _compressed(self, samples: Operand, possible: bool) -> bool:
        """Whether to work in the subspace, which must have room for all parts that are given."""
        cheaper = self.n_components < samples.stored_per_row and self.n_inner is None
        return possible and (cheaper if self.compress == "auto" else bool(self.compress))

    def _run(self, X: Operand, start: Array, threshold: Threshold, monitor: Monitor) -> Factorization:
        """The algorithm, and an error where its steps were too large."""
        what = f"The parts grew beyond all bounds with step={self.step}."
        diverged = InputError(what, "Use step=None, the largest safe one.", option="step")
        multiplications = X.shape[0] * start.shape[0] * max(X.stored_per_row, start.shape[0])
        try:
            with np.errstate(over="ignore", invalid="ignore"), small_products(multiplications):
                found = and_nmf(X, start, threshold=threshold, monitor=monitor, n_inner=self.n_inner, step=self.step)
        except np.linalg.LinAlgError as error:
            raise diverged from error
        if monitor.stop_reason == "not_finite":
            raise diverged
        return found

    def _weights(self, X: Operand) -> Array:
        H, background = self.components_, self.background_ if self.background else None
        method = self._decoder()
        if method == "poisson":
            return X.map_rows(poisson_weights, H, background, columns=H.shape[0])
        X = self._above_background(X)
        if method == "nnls":
            return operand(X @ H.T).map_rows(_nnls_rows, to_host(H @ H.T), columns=H.shape[0])
        samples, norms = normalized(X, self._stream.norm, self._stream.power)
        Z = operand(samples @ pseudo_inverse(H))
        return Z.map_rows(relu_columns, self.thresholds_, columns=H.shape[0]) * norms

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self._allows_gaps
        return tags

    def _set_parts(self, H: Array, thresholds: Array) -> None:
        """Parts of norm 1, thresholds to match, and zeros for what the data does not have."""
        size = sample_norms(H, self._stream.norm or "l2")
        self.components_ = self._padded(H / size)
        self.thresholds_ = self._padded(thresholds[:, None] * size)[:, 0]


def _column_sums(W: Array) -> Array:
    return namespace(W).sum(W, axis=0)


def _filled(X: Array) -> Array:
    """X with zeros for NaN."""
    xp = namespace(X)
    return xp.where(xp.isnan(X), xp.zeros_like(X), X)


def _multiplied(W: Array, rows: Array) -> Array:
    return W * rows


def _with_ones(W: Array) -> Array:
    xp = namespace(W)
    return xp.concat([W, xp.ones_like(W[:, :1])], axis=1)


def _nnls_rows(cross: Array, gram: Any) -> Array:
    return to_like(nnls_gram(gram, to_host(cross).T).T, cross)


def _order(H: Array, WtW: Array, start: Start) -> Array:
    """Largest contribution to the samples first; parts that were given to start from keep their places."""
    xp = namespace(H)
    if start.name == "given":
        return xp.arange(H.shape[0], device=H.device)
    return xp.argsort(-xp.sqrt(xp.linalg.diagonal(WtW)) * xp.linalg.vector_norm(H, axis=1))
