"""NMD with scikit-learn's manners."""

from collections.abc import Sequence
from math import exp, hypot, isnan, log, log2
from numbers import Integral, Real
from os import PathLike
from typing import Any, Literal, Self

import numpy as np
import scipy.sparse as sp
from joblib import effective_n_jobs
from sklearn.utils.validation import check_is_fitted

from rectifact.core.arrays import Array, is_host, namespace, to_host, to_like
from rectifact.core.errors import InputError
from rectifact.core.lazy import evaluate, is_lazy, kept, opened, over_chunks, summed, total
from rectifact.core.monitor import Callback, monitor_of, set_fit_report
from rectifact.core.sparse import DeviceCSR, canonical_csr, entries, is_native_sparse, is_sparse, with_entries
from rectifact.core.validation import StrOptions, check_alike, check_factor, check_generator, check_matrix, fit_context
from rectifact.io.checkpoint import open_checkpoint
from rectifact.latent.base import LatentTransformer
from rectifact.latent.lazy import on_chunks
from rectifact.latent.model import LatentModel
from rectifact.latent.nmd import Expectation, canonical, embed, expected_values, nmd
from rectifact.latent.paper import em_nmd
from rectifact.latent.starts import svd_start

__all__ = ["NMD"]

LEAST_SCALE = {"float64": 1e-4, "float32": 1e-3}
"""Least sigma, in units of the data: exact or separable data would drive it to zero."""

CHECK_ON_DEVICE = 10
"""Sweeps between checks on a device, which waits for the host at each of them."""

NOT_BINARY = "link='binary' is for zeros and ones, and X has other values. Use link='relu', or X > 0."


class NMD(LatentTransformer):
    r"""Few dimensions behind sparse data: ``X ~ max(0, embedding_ @ components_)``, or a threshold for binary data.

    A zero of the data does not say that something is zero, only that it is not positive. With that freedom a much lower
    rank explains the same data than truncated SVD needs [1]_.

    Parameters
    ----------
    n_components : number of dimensions, at most the number of samples and of features
    link : ``"relu"`` for non-negative data, ``"binary"`` for zeros and ones; ``"auto"`` looks
    objective : ``"likelihood"``, of Gaussian noise before the ReLU; ``"latent"``, the squared distance of Theta to the
        nearest matrix that agrees with the data (equation 2.9 of [1]_), for ``link="relu"``
    missing : what is missing: nothing (None); entries that are NaN (``np.nan``); or a mask of the shape of X, dense or
        sparse, that is true where an entry of ``fit`` is missing
    solver : ``"sweep"``, accelerated generalised EM over row tiles that holds nothing of the size of the dense matrix;
        ``"em"``, the published algorithm, which does
    n_jobs : threads; -1 is all cores
    max_iter, tol : stop when the objective per entry changes by less than ``tol`` times its first value
    random_state : of the starting vector of the SVD, which has hardly any influence
    verbose : whether to log progress (``logging.basicConfig(level="INFO")`` shows it)
    callbacks : called with each row of the history; a true value stops the run
    checkpoint : folder in which ``fit`` saves its state while it runs, made where it is missing; None saves nothing
    resume : whether to go on with the interrupted fit in that folder, of the same data and parameters; where there is
        none, the fit begins

    Attributes
    ----------
    components_ : array (n_components, n_features), orthonormal rows, the most important first
    embedding_ : array (n_samples, n_components), equal to ``transform(X)``
    scale_ : sigma, the standard deviation of the noise before the ReLU; for ``objective="latent"`` the least one
    n_iter_, converged_, stop_reason_, history_ : how the fit went; the loss is minus the objective per entry, for
        the likelihood in units of the root mean square of the positive entries
    resolved_ : what was chosen: ``link``

    References
    ----------
    .. [1] L. K. Saul, "A nonlinear matrix decomposition for mining the zeros of sparse data", SIAM Journal on
       Mathematics of Data Science 4(2), 2022.

    Examples
    --------
    >>> from rectifact import NMD
    >>> from rectifact.datasets import make_dots
    >>> X = make_dots(size=16, grid=16).X                        # 256 images of a dot, as a sparse matrix
    >>> model = NMD(5, max_iter=60).fit(X)
    >>> bool(abs(model.inverse_transform(model.embedding_) - X.toarray()).max() < 0.01)   # five dimensions explain all
    True
    """

    _parameter_constraints: dict[str, Any] = {
        **LatentTransformer._parameter_constraints,
        "link": [StrOptions({"auto", "relu", "binary"})],
        "objective": [StrOptions({"likelihood", "latent"})],
        "missing": "no_validation",
        "solver": [StrOptions({"sweep", "em"})],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        n_components: int,
        link: Literal["auto", "relu", "binary"] = "auto",
        objective: Literal["likelihood", "latent"] = "likelihood",
        missing: Any = None,
        *,
        solver: Literal["sweep", "em"] = "sweep",
        n_jobs: int | None = -1,
        max_iter: int = 300,
        tol: float = 1e-6,
        random_state: Any = None,
        verbose: bool | int = False,
        callbacks: Sequence[Callback] | None = None,
        checkpoint: str | PathLike[str] | None = None,
        resume: bool = False,
    ) -> None:
        self.n_components = n_components
        self.link = link
        self.objective = objective
        self.missing = missing
        self.solver = solver
        self.n_jobs = n_jobs
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.verbose = verbose
        self.callbacks = callbacks
        self.checkpoint = checkpoint
        self.resume = resume

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: None = None) -> Self:
        """Learn components and embedding of the non-negative X (n_samples, n_features), dense, sparse or dask's."""
        X = self._checked(X, reset=True)
        if not self._nan_is_missing() and self.missing is not None:
            X = _masked(X, self.missing)
        data = kept(X)  # while this runs; the embedding of a lazy X does not hold on to it
        link = self._resolve_link(data)
        self._check_sizes(X)
        self._unit = _power_of_two(data)
        X, data = (_divided(each, self._unit) for each in (X, data))
        waiting = 1 if is_host(X) or is_lazy(X) else CHECK_ON_DEVICE
        monitor = monitor_of(self, check_every=waiting, checkpoint=open_checkpoint(self, X))
        model = self._solve(data, link, monitor)
        self.resolved_ = {"link": link}
        self.components_ = model.B
        self.scale_ = self._unit * exp(model.log_sigma)
        self.embedding_ = self._embed(X)[0]
        set_fit_report(self, monitor)
        return self

    def transform(self, X: Any) -> Any:
        """Embedding (n_samples, n_components) of the rows of X, the most likely one for each."""
        check_is_fitted(self)
        return self._embed(self._known(X))[0]

    def inverse_transform(self, X: Any) -> Array:
        """Expected data (n_samples, n_features) of the embedding X (n_samples, n_components)."""
        check_is_fitted(self)
        A = check_factor("An embedding", X, self.components_)
        return expected_values(A @ self.components_, self.scale_, self.resolved_["link"])

    def score(self, X: Any, y: None = None) -> float:
        """Log-likelihood of X per entry that is not missing, in nats, each row at its most likely embedding."""
        check_is_fitted(self)
        X = self._known(X)
        _, likelihoods = self._embed(X)
        if is_lazy(X):
            likelihood, counts = evaluate(likelihoods.sum(), total(over_chunks(_counts, X)))
            _, positive, missing = opened(counts)
        else:
            likelihood = namespace(likelihoods).sum(likelihoods)
            _, positive, missing = _counts(X)
        known = float(np.prod(X.shape)) - missing
        if not known:
            raise InputError("All entries of X are missing: there is nothing to score.")
        seen = positive if self.resolved_["link"] == "relu" else 0
        return (float(likelihood) - seen * log(self._unit)) / known

    def _known(self, X: Any) -> Array:
        """New data, of the kind and in the units of what was fitted."""
        X = self._checked(X)
        check_alike(self.components_, X)
        link = self.resolved_["link"]
        X = on_chunks(_check_values, X, link) if is_lazy(X) else _check_values(X, link)
        return _divided(X, self._unit)

    def _checked(self, X: Any, reset: bool = False) -> Array:
        """Non-negative data as a csr_array, or as it came on a device; NaN only where that stands for missing."""
        X = check_matrix(self, X, reset=reset, nonnegative=True, allow_nan=self.missing is not None, sparse_chunks=True)
        if is_lazy(X):
            return on_chunks(_csr, X)
        return _csr(X) if is_host(X) else X

    def _nan_is_missing(self) -> bool:
        return isinstance(self.missing, Real) and isnan(float(self.missing))

    def _resolve_link(self, X: Array) -> str:
        strange, positive, missing = summed(_counts, X)
        binary = strange == 0
        if self.link == "binary" and not binary:
            raise InputError(NOT_BINARY)
        link = ("binary" if binary else "relu") if self.link == "auto" else self.link
        if link == "binary" and self.objective == "latent":
            raise InputError("objective='latent' is for link='relu': a threshold leaves the scale of Theta open.")
        if positive == 0:
            raise InputError("No entry of X is positive: there is nothing to embed. Check the file or the filter.")
        if link == "binary" and positive + missing == int(np.prod(X.shape)):
            raise InputError("All entries of X are one: there is nothing to tell apart. Use data that has zeros too.")
        return link

    def _solve(self, X: Array, link: str, monitor: Any) -> LatentModel:
        if self.solver == "em":
            if self.objective == "latent":
                raise InputError("solver='em' climbs the likelihood. Use solver='sweep' for objective='latent'.")
            if not sp.issparse(X):
                raise InputError("solver='em' works on the host. Give a numpy array, or use solver='sweep'.")
            return canonical(em_nmd(X.toarray(), self.n_components, link, monitor=monitor))
        unit, share = self._rms(X, link)
        offset = -share * log(unit) if self.objective == "likelihood" else 0.0
        floor = log(LEAST_SCALE[str(X.dtype).rpartition(".")[2]] * unit)
        seed = int(check_generator(self.random_state).integers(2**31)) if self.random_state is not None else 0
        start = svd_start(X, self.n_components, link, seed=seed)
        jobs = self._jobs() if is_host(X) else 1
        expect = Expectation(link, self.objective, self.missing is not None)
        model = canonical(nmd(X, start, expect=expect, monitor=monitor, n_jobs=jobs, floor=floor, offset=offset))
        return model if self.objective == "likelihood" else LatentModel(model.A, model.B, floor)

    def _rms(self, X: Array, link: str) -> tuple[float, float]:
        """Root mean square of the positive entries, and their share; the latent scale of binary data is free, so 1."""
        count, norm = summed(_count_and_norm, X, combine=_together)
        unit = 1.0 if link == "binary" else norm / count**0.5
        return unit, count / float(np.prod(X.shape))

    def _embed(self, X: Array) -> tuple[Array, Array]:
        """Embedding, and the log-likelihood of each row of X, which is in the units of the fit."""
        sigma = self.scale_ / self._unit
        A, likelihoods = embed(X, self.components_, sigma, self.resolved_["link"], n_jobs=self._jobs())
        return A * self._unit, likelihoods

    def _jobs(self) -> int:
        if self.n_jobs == 0:
            raise InputError("n_jobs=0 leaves nobody to work. Use -1 for all cores, or 1.")
        return int(effective_n_jobs(self.n_jobs))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing is not None
        return tags


def _counts(X: Array) -> tuple[int, int, int]:
    """Number of entries that are neither zero nor one, that are positive, and that are missing."""
    values = entries(X)
    xp = namespace(values)
    strange = ~((values == 0) | (values == 1) | xp.isnan(values))
    strange, positive, missing = (int(xp.sum(xp.astype(v, xp.int64))) for v in (strange, values > 0, xp.isnan(values)))
    return strange, positive, missing


def _check_values(X: Array, link: str) -> Array:
    if link == "binary" and _counts(X)[0]:
        raise InputError(NOT_BINARY)
    return X


def _csr(X: Any) -> sp.csr_array:
    X = sp.csr_array(X)
    return X if X.has_sorted_indices else X.sorted_indices()


def _count_and_norm(X: Array) -> tuple[float, float]:
    """Number of positive entries, and the root of the sum of their squares."""
    values = entries(X)
    xp = namespace(values)
    seen = xp.where(values > 0, values, xp.zeros_like(values))
    return float(xp.sum(xp.astype(values > 0, xp.float64))), float(xp.linalg.vector_norm(seen))


def _together(one: tuple[float, float], other: tuple[float, float]) -> tuple[float, float]:
    return one[0] + other[0], hypot(one[1], other[1])


def _power_of_two(X: Array) -> float:
    """Unit in which the largest entry is near 1, where squares would otherwise leave the numbers; else 1."""
    (largest,) = summed(_largest, X, combine=max)
    return 1.0 if 1e-10 < largest < 1e10 else 2.0 ** round(log2(largest))


def _largest(X: Array) -> tuple[float]:
    values = entries(X)
    xp = namespace(values)
    known = xp.where(xp.isnan(values), xp.zeros_like(values), values)
    return (float(xp.max(known)) if known.shape[0] else 0.0,)


def _divided(X: Array, unit: float) -> Array:
    if unit == 1:
        return X
    if is_lazy(X):
        return on_chunks(_divided, X, unit)
    return with_entries(X, X.data / unit) if is_sparse(X) else X / unit


def _masked(X: Array, mask: Any) -> Array:
    """X with NaN where the mask is true; a sparse mask stays sparse."""
    mask = to_host(canonical_csr(mask, mask.dtype) if is_native_sparse(mask) else mask)
    if tuple(mask.shape) != tuple(X.shape):
        raise InputError(
            f"missing has the shape {tuple(mask.shape)} and X {tuple(X.shape)}. Give a mask of the shape of X, "
            "np.nan, or None."
        )
    if is_lazy(X):
        raise InputError("A dask array takes no mask. Give missing=np.nan and da.where(mask, np.nan, X).")
    if isinstance(X, DeviceCSR):  # the union of two patterns is found on the host, once
        return X.like(_masked(to_host(X), mask))
    if not is_host(X):
        mask = mask.toarray() if sp.issparse(mask) else mask
        return namespace(X).where(to_like(mask, X) != 0, float("nan"), X)
    hidden = sp.csr_array(mask, dtype=X.dtype, copy=True)
    hidden.data[:] = np.where(hidden.data != 0, np.nan, 0)
    return sp.csr_array(X + hidden)
