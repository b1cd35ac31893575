"""Scikit-learn estimator for logistic PCA, for comparison with NMD."""

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from rectifact.core.arrays import Array, expit, namespace, to_host
from rectifact.core.errors import InputError
from rectifact.core.monitor import monitor_of, set_fit_report
from rectifact.core.operand import Operand, operand
from rectifact.core.threads import small_products
from rectifact.core.validation import StrOptions, check_alike, check_factor, fit_context
from rectifact.io.checkpoint import open_checkpoint
from rectifact.latent.base import LatentTransformer
from rectifact.latent.data import check_binary, double_on_host, with_missing
from rectifact.latent.held_out import check_held_out, entries_at, theta_at
from rectifact.latent.logistic_pca import (
    log_likelihood,
    log_likelihoods,
    logistic_newton,
    logistic_pca,
    logistic_pca_with_priors,
)
from rectifact.latent.nmd import canonical
from rectifact.latent.priors import shrinkage
from rectifact.latent.starts import svd_start
from rectifact.latent.statistics import statistics


@dataclass(eq=False, repr=False)
class LogisticPCA(LatentTransformer):
    """Few dimensions behind zeros and ones: ``P(X = 1) = 1 / (1 + exp(-embedding_ @ components_))``.

    Alternating least squares on a bound of the likelihood [1]_. NMD with its threshold is much the same model, and much
    faster: here every row and column takes a linear system of its own. Arrays of torch and cupy stay on their device.

    Parameters
    ----------
    n_components : int, default 2
        Number of dimensions, at most the number of samples and of features; :func:`rectifact.selection.select`
        chooses it.
    missing : None, np.nan or array of shape (n_samples, n_features), default None
        Which entries are missing: none, those that are NaN, or those where a mask, dense or sparse, is true. A mask
        applies to ``fit`` only.
    prior : {"auto", "factors"} or None, default "auto"
        ``"factors"``, which ``"auto"`` means here, has a Gaussian prior on the rows of the embedding and one on the
        columns of the components, whose means and covariances are learnt from the fit: no row runs away, and a rank
        that is too large does no harm. None is the published method, maximum likelihood throughout.
    max_iter : int, default 512
        Limit of the number of iterations; 20 without priors, which come before those with them, are not counted.
    tol : float, default 1e-5
        Stop when the log-likelihood per entry changes by less than ``tol`` times its first value; while priors are
        learnt, when the objective changes by less than 100 ``tol`` of itself in ten iterations.
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
        Equal to ``transform(X)``: the most probable embedding of each row given the prior.
    sample_names_ : array of shape (n_samples,)
        Index of the frame; only if X had one.
    n_iter_ : int
    converged_ : bool
    stop_reason_ : str
    history_ : list of dict
        The loss is minus the log-likelihood per entry, and with priors what the factors cost under them.
    resolved_ : dict
        What was chosen: ``prior``, and with one ``shrinkage``, the share of the embedding that the prior decides, from
        0 (the data alone) to 1.

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

    Entries that are missing are predicted from the others:

    >>> import numpy as np
    >>> blocks = np.kron(np.eye(2), np.ones((6, 5)))
    >>> hidden = np.zeros(blocks.shape, dtype=bool)
    >>> hidden[0, 0] = hidden[0, 9] = True                       # a one and a zero
    >>> model = LogisticPCA(1, missing=hidden).fit(blocks)
    >>> (model.inverse_transform(model.embedding_)[0, [0, 9]] > 0.5).tolist()
    [True, False]
    """

    n_components: int = 2
    missing: Any = None
    _: KW_ONLY
    prior: Literal["auto", "factors"] | None = "auto"
    max_iter: int = 512
    tol: float = 1e-5

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **LatentTransformer._parameter_constraints,
        "missing": "no_validation",
        "prior": [StrOptions({"auto", "factors"}), None],
    }
    _once: ClassVar[dict[str, Any]] = {"missing": None, "prior": None, "_prior": None}  # version 0.1 had neither

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: None = None) -> Self:
        """Learn components and embedding of X (n_samples, n_features), zeros and ones, dense or sparse."""
        self._name_samples(X)
        X = with_missing(self._checked(X, reset=True), self.missing)
        self._keep_ranges(X)
        self._check_sizes(X)
        facts = X.total(statistics)
        if facts.positive in (0, facts.known):
            raise InputError("All entries of X are alike: nothing can be told apart.", "Use data with zeros and ones.")
        monitor = monitor_of(self, checkpoint=open_checkpoint(self, X.data))
        data = operand(double_on_host(X.data))
        self.resolved_: dict[str, Any] = {"prior": None if self.prior is None else "factors"}
        with small_products(facts.size * self.n_components**2):
            start = svd_start(data, self.n_components, "binary", facts=facts)
            if self.prior is None:
                model, priors = logistic_pca(data, start, monitor=monitor), None
            else:
                model, priors = logistic_pca_with_priors(data, start, monitor=monitor)
                self.resolved_["shrinkage"] = round(shrinkage(priors.rows, priors.posterior), 4)
            B = canonical(model)
            turn = np.asarray(to_host(model.B @ B.T), dtype=np.float64)
            self._prior = None if priors is None else priors.rows.mapped(turn)
            self.components_ = namespace(B).astype(B, X.dtype)
            self.embedding_ = self._embed(X)
        set_fit_report(self, monitor)
        return self

    def inverse_transform(self, X: Any) -> Array:
        """Probabilities of ones (n_samples, n_features) for the embedding X (n_samples, n_components)."""
        check_is_fitted(self)
        return expit(check_factor("An embedding", X, self.components_) @ self.components_)

    def score(self, X: Any, y: None = None, *, held_out: Any = None) -> float:
        """Log-likelihood per entry that is not missing, in nats, each row at its embedding.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
        y : None
        held_out : array of shape (n_samples, n_features), optional
            Mask, dense or sparse, of entries that the embedding is made without and that alone are scored, to choose
            the number of dimensions: see :meth:`rectifact.NMD.score`.
        """
        check_is_fitted(self)
        X = self._known(X)
        if held_out is not None:
            return float(np.mean(self._held_out_likelihoods(X, held_out)))
        known = X.total(statistics).known
        if not known:
            raise InputError("All entries of X are missing: there is nothing to score.", "Check the file or the mask.")
        return float(X.total(log_likelihood, self.components_, along=(self._embed(X),))) / known

    def _held_out_likelihoods(self, X: Operand, mask: Any) -> NDArray[np.float64]:
        """Log-likelihood of each hidden entry that is known, in nats."""
        rows, columns = check_held_out(mask, X.shape)
        x = entries_at(X.data, rows, columns)
        theta = theta_at(self._embed(with_missing(X, mask)), self.components_, rows, columns)
        return np.asarray(log_likelihoods(x, theta)[~np.isnan(x)])

    def _checked(self, X: Any, reset: bool = False) -> Operand:
        return check_binary(self, X, reset=reset, missing=self.missing is not None)

    def _known(self, X: Any) -> Operand:
        X = self._checked(X)
        check_alike(self.components_, X.data)
        return X

    def _embed(self, X: Operand) -> Array:
        B = double_on_host(self.components_)
        A = X.map_rows(logistic_newton, B, self._prior, columns=self.n_components)
        return namespace(A).astype(A, self.components_.dtype)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing is not None
        return tags
