"""Logistic PCA with scikit-learn's manners; for comparison with NMD."""

from collections.abc import Sequence
from os import PathLike
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from rectifact.core.arrays import Array, expit, is_host, namespace
from rectifact.core.errors import InputError
from rectifact.core.lazy import is_lazy
from rectifact.core.monitor import Callback, monitor_of, set_fit_report
from rectifact.core.sparse import entries
from rectifact.core.validation import check_alike, check_factor, check_matrix, fit_context
from rectifact.io.checkpoint import open_checkpoint
from rectifact.latent.base import LatentTransformer
from rectifact.latent.logistic_pca import log_likelihood, logistic_newton, logistic_pca
from rectifact.latent.nmd import canonical
from rectifact.latent.starts import svd_start

__all__ = ["LogisticPCA"]


class LogisticPCA(LatentTransformer):
    """Few dimensions behind zeros and ones: ``P(X = 1) = 1 / (1 + exp(-embedding_ @ components_))``.

    Alternating least squares on a bound of the likelihood [1]_. NMD with its threshold is much the same model, and much
    faster: every row and column takes a linear system of its own here. Arrays of torch and cupy stay on their device.

    Parameters
    ----------
    n_components : number of dimensions, at most the number of samples and of features
    max_iter, tol : stop when the log-likelihood per entry changes by less than ``tol`` times its first value
    random_state : accepted by all estimators; nothing is drawn at random here
    verbose : whether to log progress (``logging.basicConfig(level="INFO")`` shows it)
    callbacks : called with each row of the history; a true value stops the run
    checkpoint : folder in which ``fit`` saves its state while it runs, made where it is missing; None saves nothing
    resume : whether to go on with the interrupted fit in that folder, of the same data and parameters; where there is
        none, the fit begins

    Attributes
    ----------
    components_ : array (n_components, n_features), orthonormal rows, the most important first
    embedding_ : array (n_samples, n_components)
    n_iter_, converged_, stop_reason_, history_ : how the fit went; the loss is minus the log-likelihood per entry
    resolved_ : nothing is chosen here

    References
    ----------
    .. [1] A. I. Schein, L. K. Saul and L. H. Ungar, "A generalized linear model for principal component analysis of
       binary data", AISTATS 2003.

    Examples
    --------
    >>> from rectifact import LogisticPCA
    >>> from rectifact.datasets import make_dots
    >>> model = LogisticPCA(4, tol=1e-3).fit(make_dots(size=12, grid=6, radius=3.0).X)
    >>> model.embedding_.shape
    (36, 4)
    """

    def __init__(
        self,
        n_components: int,
        *,
        max_iter: int = 512,
        tol: float = 1e-5,
        random_state: Any = None,
        verbose: bool | int = False,
        callbacks: Sequence[Callback] | None = None,
        checkpoint: str | PathLike[str] | None = None,
        resume: bool = False,
    ) -> None:
        self.n_components = n_components
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.verbose = verbose
        self.callbacks = callbacks
        self.checkpoint = checkpoint
        self.resume = resume

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: None = None) -> Self:
        """Learn components and embedding of X (n_samples, n_features), zeros and ones, dense or sparse."""
        X = self._checked(X, reset=True)
        self._check_sizes(X)
        if _ones(X) in (0, X.shape[0] * X.shape[1]):
            raise InputError("All entries of X are alike: nothing can be told apart. Use data with zeros and ones.")
        monitor = monitor_of(self, checkpoint=open_checkpoint(self, X))
        start = svd_start(sp.csr_array(X, dtype=np.float64) if is_host(X) else X, self.n_components, "binary")
        model = canonical(logistic_pca(X, start, monitor=monitor))
        self.components_ = model.B.astype(X.dtype) if is_host(X) else model.B
        self.embedding_ = self._embed(X)
        self.resolved_: dict[str, Any] = {}
        set_fit_report(self, monitor)
        return self

    def transform(self, X: Any) -> Any:
        """Embedding (n_samples, n_components) of the rows of X, by the same steps with the components fixed."""
        check_is_fitted(self)
        return self._embed(self._known(X))

    def inverse_transform(self, X: Any) -> Array:
        """Probabilities of ones (n_samples, n_features) for the embedding X (n_samples, n_components)."""
        check_is_fitted(self)
        return expit(check_factor("An embedding", X, self.components_) @ self.components_)

    def score(self, X: Any, y: None = None) -> float:
        """Log-likelihood of X per entry, in nats, each row at its embedding."""
        check_is_fitted(self)
        X = self._known(X)
        return log_likelihood(X, self._embed(X), self.components_) / float(np.prod(X.shape))

    def _known(self, X: Any) -> Any:
        X = self._checked(X)
        check_alike(self.components_, X)
        return X

    def _embed(self, X: Any) -> Any:
        if not is_host(X):
            return logistic_newton(X, self.components_)
        return logistic_newton(X, np.asarray(self.components_, dtype=np.float64)).astype(self.components_.dtype)

    def _checked(self, X: Any, reset: bool = False) -> Any:
        if is_lazy(X):
            raise InputError("LogisticPCA works on one machine. Use NMD, which takes dask arrays, or give X.compute().")
        X = check_matrix(self, X, reset=reset, nonnegative=True)
        if is_host(X):
            X = sp.csr_array(X, copy=True)
            X.eliminate_zeros()
        values = entries(X)
        if bool(namespace(values).any((values != 0) & (values != 1))):
            raise InputError("LogisticPCA is for zeros and ones, and X has other values. Use NMD, or X > 0.")
        return X


def _ones(X: Array) -> int:
    xp = namespace(X)
    return int(xp.sum(xp.astype(entries(X) != 0, xp.int64)))
