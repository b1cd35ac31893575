"""Scikit-learn estimator for Purification."""

import warnings
from dataclasses import KW_ONLY, dataclass, replace
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from rectifact.core.arrays import Array
from rectifact.core.errors import FitWarning, InputError
from rectifact.core.linalg import frobenius_residual, pseudo_inverse, squared_norm
from rectifact.core.monitor import monitor_of, set_fit_report
from rectifact.core.operand import Operand, operand
from rectifact.core.threads import small_products
from rectifact.core.validation import Interval, StrOptions, check_matrix, fit_context
from rectifact.io.checkpoint import open_checkpoint
from rectifact.parts.base import PartsTransformer
from rectifact.parts.diagnosis import CONSTANT_SUM, constant_sum_error
from rectifact.parts.inverses import least_infinity_inverse
from rectifact.parts.purification import Purifier, begin, decode_shifted, purify, sampling_floor, step_size

WORTHLESS_FLOOR = 0.1
"""Sampling error of a part above which Purification warns that the samples are too few."""


@dataclass(eq=False, repr=False)
class PurificationNMF(PartsTransformer):
    """Recovers parts from a stream of samples with independent weights, in spite of adversarial noise.

    It needs fresh samples: call ``partial_fit`` with batch after batch. Weights are decoded by a linear map and a
    shifted ReLU, and the parts move toward the covariance of samples and weights [1]_. After n samples in all, the
    error of each part is about ``n_components / sqrt(n)``, plus, by the theory, up to twice the noise that an
    adversary adds to one sample. For a fixed sample :class:`ANDNMF` is the better choice, and ``fit`` warns where it is
    far better.

    Parameters
    ----------
    n_components : int, default 2
        Number of parts; :func:`rectifact.selection.select` chooses it.
    init : {"auto", "ica", "spa", "anchor", "nndsvd"} or array of shape (n_components, n_features), default "auto"
        Where to start, see :class:`ANDNMF`.
    threshold : float, default 0.2
        Subtracted from decoded weights (alpha in [1]_), in the unit of ``unit``.
    step : float, default 0.5
        Size of the steps of ``fit`` and of the first step of a stream (eta in [1]_), above 0 and at most 1.
    inverse : {"pinv", "min-inf"}, default "pinv"
        ``"pinv"``: the pseudo-inverse; ``"min-inf"``: the left inverse that lets the least adversarial noise through,
        one linear program per part and hundreds of times as slow.
    balance : bool, default False
        Whether to begin by scaling the parts so that all weights have the same second moment.
    unit : {"component", "absolute"}, default "component"
        ``"component"``: the threshold is a share of the largest weight that each part has in the first batch;
        ``"absolute"``: the same number for all parts, as published.
    gain : float or "auto", default "auto"
        Factor of the covariance (r in [1]_); ``"auto"`` makes it as large as the parts on the first batch.
    step_decay : bool, default True
        Whether later steps of a stream shrink so that the parts become the mean over all batches, with the start
        counted as ``1/step - 1`` batches; False keeps them constant, as published, which follows slow changes.
    decode : {"shifted", "linear"}, default "shifted"
        How ``transform`` finds weights: ``"shifted"`` as during the fit, without noise but too small by the threshold;
        ``"linear"`` by the left inverse alone, which reconstructs samples and lets noise through.
    n_jobs : int, optional
        Linear programs solved in parallel for ``inverse="min-inf"``.
    max_iter : int, default 100
        Most iterations of ``fit``, which takes the same samples in each.
    tol : float, default 1e-4
        ``fit`` stops when the relative error changes by less than ``tol`` times its first value.
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
        The parts; scaling X scales them.
    thresholds_ : array of shape (n_components,)
        What is subtracted from decoded weights.
    reconstruction_err_ : float
        Frobenius norm of ``X - W @ components_`` at the end of ``fit``.
    n_iter_ : int
        Number of iterations, or of batches of a stream.
    converged_ : bool
        Whether the fit converged.
    stop_reason_ : str
        Why it stopped; ``"stream"`` after ``partial_fit``.
    history_ : list of dict
        One row per iteration.
    resolved_ : dict
        What was chosen: ``init``, ``rank``, ``gain``; ``sum_error``, how far the weights of samples are from a constant
        sum, as a share of it; and ``sampling_floor``, the relative error of a part to expect from this
        number of samples alone.

    See Also
    --------
    ANDNMF : for a fixed sample, and for correlated weights.

    References
    ----------
    .. [1] Y. Li, Y. Liang and A. Risteski, "Recovery guarantee of non-negative matrix factorization via alternating
       updates", NIPS 2016, Algorithm 1; ``balance`` is section 6.

    Examples
    --------
    >>> import numpy as np
    >>> from rectifact import PurificationNMF
    >>> from rectifact.metrics import part_errors
    >>> rng = np.random.default_rng(0)
    >>> parts = rng.random((3, 10))
    >>> model = PurificationNMF(3, random_state=0)
    >>> for _ in range(10):
    ...     weights = rng.random((2000, 3)) * (rng.random((2000, 3)) < 0.3)
    ...     _ = model.partial_fit(weights @ parts)
    >>> bool(part_errors(model.components_, parts).max() < 0.1)
    True
    """

    n_components: int = 2
    init: str | ArrayLike = "auto"
    threshold: float = 0.2
    step: float = 0.5
    inverse: Literal["pinv", "min-inf"] = "pinv"
    balance: bool = False
    _: KW_ONLY
    unit: Literal["component", "absolute"] = "component"
    gain: float | Literal["auto"] = "auto"
    step_decay: bool = True
    decode: Literal["shifted", "linear"] = "shifted"
    n_jobs: int | None = None
    max_iter: int = 100
    tol: float = 1e-4

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **PartsTransformer._parameter_constraints,
        "threshold": [Interval(Real, 0, None, closed="left")],
        "step": [Interval(Real, 0, 1, closed="right")],
        "unit": [StrOptions({"component", "absolute"})],
        "gain": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto"})],
        "step_decay": ["boolean"],
        "decode": [StrOptions({"shifted", "linear"})],
        "inverse": [StrOptions({"pinv", "min-inf"})],
        "balance": ["boolean"],
        "n_jobs": [Integral, None],
    }

    _needs_independence: ClassVar[bool] = True

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: None = None) -> Self:
        """Find the parts of a fixed sample X (n_samples, n_features); warns where it is too small for that."""
        X = operand(check_matrix(self, X))
        checkpoint = open_checkpoint(self, X.data)
        state, start = self._begin(X, first_batch=False)
        floor = sampling_floor(self.n_components, X.shape[0])
        if floor > WORTHLESS_FLOOR:
            parts = f"{self.n_components} parts apart to about {floor:.0%} only."
            what = f"From {X.shape[0]} samples PurificationNMF can tell {parts}"
            remedy, command = "Use ANDNMF, or give fresh samples to partial_fit.", "Use --method and."
            warnings.warn(FitWarning(what, remedy, command=command), stacklevel=3)
        squared, monitor = squared_norm(X), monitor_of(self, checkpoint=checkpoint)
        state = monitor.resume(state)
        with small_products(X.shape[0] * X.stored_per_row * self.n_components):
            for _ in monitor:
                state, seen = purify(state, X, eta=self.step, inverse=self._inverse)
                products = (squared, seen.WtX, seen.WtW)
                monitor.record(
                    lambda: frobenius_residual(X, seen.W, state.H, products) / squared**0.5, state=lambda: state
                )
        self._set_state(state, start, X.shape[0])
        W = decode_shifted(X, self.components_, self.thresholds_, self._inverse)
        self.reconstruction_err_ = float(frobenius_residual(X, W, self.components_))
        set_fit_report(self, monitor)
        return self

    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X: Any, y: None = None) -> Self:
        """One step with a further batch of samples. The first batch finds the start, thresholds and gain."""
        first = not hasattr(self, "_state")
        X = check_matrix(self, X, reset=first)
        X = operand(X) if first else self._known(X)
        state, start = self._begin(X, first_batch=True) if first else (self._state, self.resolved_)
        eta = step_size(self.step, state.n_steps) if self.step_decay else self.step
        state, _ = purify(state, X, eta=eta, inverse=self._inverse)
        self._set_state(state, start, X.shape[0] + (0 if first else self._n_seen))
        self._set_stream_report(state.n_steps)
        return self

    def transform(self, X: Any) -> Any:
        """Weights (n_samples, n_components) of the parts in each sample, by ``decode``."""
        check_is_fitted(self)
        X = check_matrix(self, X, reset=False)
        if self.decode == "linear":
            return self._known(X) @ self._inverse(self.components_)
        return decode_shifted(self._known(X), self.components_, self.thresholds_, self._inverse)

    def _inverse(self, H: Array) -> Array:
        return pseudo_inverse(H) if self.inverse == "pinv" else least_infinity_inverse(H, n_jobs=self.n_jobs)

    def _begin(self, X: Operand, *, first_batch: bool) -> tuple[Purifier, dict[str, Any]]:
        """The state before the first step, and what was chosen for it."""
        self._check_scale(X)
        start = self._find_start(X, X, first_batch=first_batch)
        with np.errstate(divide="ignore"):
            state = begin(
                X, start.H, threshold=self.threshold, inverse=self._inverse, balance=self.balance, unit=self.unit
            )
        if self.gain != "auto":
            state = replace(state, gain=self.gain + 0 * state.thresholds[0])
        if not 0 < float(state.gain) < np.inf:
            what = f"The weights of the parts do not vary between the {X.shape[0]} samples of X."
            raise InputError(what, "Give more, and different ones.")
        sum_error = constant_sum_error(start.space.coordinates)
        if sum_error < CONSTANT_SUM and X.shape[0] >= 100 * self.n_components:  # else it may be chance
            what = f"The weights of a sample add up to a constant within {sum_error:.1%}, so they are not independent."
            remedy, command = "Use ANDNMF: Purification finds wrong parts here.", "Use --method and."
            warnings.warn(FitWarning(what, remedy, command=command), stacklevel=4)
        return state, {"init": start.name, "rank": start.space.rank, "gain": float(state.gain), "sum_error": sum_error}

    def _set_state(self, state: Purifier, chosen: dict[str, Any], n_seen: int) -> None:
        self._state, self._n_seen = state, n_seen
        self.components_ = self._padded(state.H)
        self.thresholds_ = self._padded(state.thresholds[:, None])[:, 0]
        self.resolved_ = {**chosen, "sampling_floor": sampling_floor(self.n_components, n_seen)}
