"""Scikit-learn estimator for logistic PCA, for comparison with NMD."""

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

from sklearn.utils.validation import check_is_fitted

from rectifact.core.arrays import Array, expit, namespace
from rectifact.core.errors import InputError
from rectifact.core.monitor import monitor_of, set_fit_report
from rectifact.core.operand import Operand, operand
from rectifact.core.threads import small_products
from rectifact.core.validation import check_alike, check_factor, fit_context
from rectifact.io.checkpoint import open_checkpoint
from rectifact.latent.base import LatentTransformer
from rectifact.latent.data import check_binary, double_on_host
from rectifact.latent.logistic_pca import log_likelihood, logistic_newton, logistic_pca
from rectifact.latent.nmd import canonical
from rectifact.latent.starts import svd_start
from rectifact.latent.statistics import statistics


@dataclass(eq=False, repr=False)
class LogisticPCA(LatentTransformer):
    """Few dimensions behind zeros and ones: ``P(X = 1) = 1 / (1 + exp(-embedding_ @ components_))``.

    Alternating least squares on a bound of the likelihood [1]_. NMD with its threshold is much the same model, and much
    faster: here every row and column takes a linear system of its own. Arrays of torch and cupy stay on their device.

    Parameters
    ----------
    n_components : int
        Number of dimensions, at most the number of samples and of features.
    max_iter : int, default 512
    tol : float, default 1e-5
        Stop when the log-likelihood per entry changes by less than ``tol`` times its first value.
    random_state : int, Generator or None, default None
        Accepted by all estimators; nothing is drawn at random here.
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
    sample_names_ : array of shape (n_samples,)
        Index of the frame; only if X had one.
    n_iter_ : int
    converged_ : bool
    stop_reason_ : str
    history_ : list of dict
        The loss is minus the log-likelihood per entry.
    resolved_ : dict
        Empty: nothing is chosen here.

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

    n_components: int
    _: KW_ONLY
    max_iter: int = 512
    tol: float = 1e-5

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: None = None) -> Self:
        """Learn components and embedding of X (n_samples, n_features), zeros and ones, dense or sparse."""
        self._name_samples(X)
        X = check_binary(self, X, reset=True)
        self._check_sizes(X)
        facts = X.total(statistics)
        if facts.positive in (0, facts.size):
            raise InputError("All entries of X are alike: nothing can be told apart.", "Use data with zeros and ones.")
        monitor = monitor_of(self, checkpoint=open_checkpoint(self, X.data))
        data = operand(double_on_host(X.data))
        with small_products(facts.size * self.n_components**2):
            start = svd_start(data, self.n_components, "binary", facts=facts)
            model = logistic_pca(data, start, monitor=monitor)
            self.components_ = namespace(model.B).astype(canonical(model), X.dtype)
            self.embedding_ = self._embed(X)
        self.resolved_: dict[str, Any] = {}
        set_fit_report(self, monitor)
        return self

    def inverse_transform(self, X: Any) -> Array:
        """Probabilities of ones (n_samples, n_features) for the embedding X (n_samples, n_components)."""
        check_is_fitted(self)
        return expit(check_factor("An embedding", X, self.components_) @ self.components_)

    def score(self, X: Any, y: None = None) -> float:
        """Log-likelihood of X per entry, in nats, each row at its embedding."""
        check_is_fitted(self)
        X = self._known(X)
        return log_likelihood(X, self._embed(X), self.components_) / (X.shape[0] * X.shape[1])

    def _known(self, X: Any) -> Operand:
        X = check_binary(self, X, reset=False)
        check_alike(self.components_, X.data)
        return X

    def _embed(self, X: Operand) -> Array:
        B = double_on_host(self.components_)
        A = X.map_rows(logistic_newton, B, columns=self.n_components)
        return namespace(A).astype(A, self.components_.dtype)
