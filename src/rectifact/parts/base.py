"""What the estimators of parts share: a start, weights of new samples, and samples made of weights."""

import warnings
from numbers import Integral, Real
from typing import Any

import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from rectifact.core.arrays import Array, namespace, to_host, to_like
from rectifact.core.linalg import nnls_gram
from rectifact.core.validation import InputError, Interval, StrOptions, check_generator
from rectifact.parts.samples import choose_norm, squared_norm
from rectifact.parts.starts import STARTS, Subspace, choose_start, find_start, subspace

__all__ = ["PartsTransformer"]


class PartsTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """What both estimators share: a start, weights of new samples, and samples made of weights."""

    _parameter_constraints: dict[str, Any] = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "init": [StrOptions({"auto", *STARTS}), "array-like"],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
        "callbacks": ["array-like", None],
    }
    components_: Array

    @property
    def _n_features_out(self) -> int:
        return int(self.components_.shape[0])

    def _subspace(self, X: Array) -> Subspace:
        total = float(squared_norm(X))
        if total == 0:
            raise InputError("All entries of X are zero: there are no parts to find. Check the file or the filter.")
        space = subspace(X, self.n_components, total)
        self.resolved_["rank"] = space.rank
        if space.rank < self.n_components:
            warnings.warn(
                f"X has rank {space.rank}, so no more than {space.rank} parts can be told apart; asked for are "
                f"{self.n_components}. The others stay zero: lower n_components, or give more different samples.",
                UserWarning,
                stacklevel=4,
            )
        return space

    def _start(self, X: Array, space: Subspace) -> Array:
        """Parts to start from; says in ``resolved_`` where they come from."""
        if not isinstance(self.init, str):
            self.resolved_["init"] = "given"
            return self._given(X)
        name = choose_start(X.shape[0], space.rank) if self.init == "auto" else self.init
        if name in ("anchor", "nndsvd") and choose_norm(X) == "l2":
            raise InputError(f"init={name!r} is for non-negative data, and X has negative entries. Use init='auto'.")
        self.resolved_["init"] = name
        return find_start(name, X, space, check_generator(self.random_state))

    def _given(self, X: Array) -> Array:
        like = X.data if sp.issparse(X) else X
        H = to_like(to_host(self.init), like)
        if tuple(H.shape) != (self.n_components, X.shape[1]):
            raise InputError(
                f"init has the shape {tuple(H.shape)}; parts to start from need (n_components, n_features) = "
                f"{(self.n_components, X.shape[1])}."
            )
        if not bool(namespace(H).all(namespace(H).isfinite(H))):
            raise InputError("init holds NaN or infinity. Give finite parts to start from, or init='auto'.")
        return H

    def _padded(self, H: Array) -> Array:
        """Rows of zeros for parts that the data does not have."""
        xp = namespace(H)
        zeros = xp.zeros((self.n_components - H.shape[0], H.shape[1]), dtype=H.dtype, device=H.device)
        return xp.concat([H, zeros]) if zeros.shape[0] else H

    def fit_transform(self, X: Any, y: None = None) -> Any:
        """Fit, and return the weights (n_samples, n_components) of the parts in each sample."""
        return self.fit(X).transform(X)

    def inverse_transform(self, X: Any) -> Array:
        """Samples (n_samples, n_features) that the weights X (n_samples, n_components) make: ``X @ components_``."""
        check_is_fitted(self)
        W = X if hasattr(X, "shape") else to_like(to_host(X), self.components_)
        if len(W.shape) != 2 or W.shape[1] != self.components_.shape[0]:
            raise InputError(
                f"Weights need the shape (n_samples, {self.components_.shape[0]}), one column per part; got "
                f"{tuple(W.shape)}."
            )
        return W @ self.components_

    def _nonnegative_least_squares(self, X: Array) -> Array:
        H = self.components_
        cross = X @ H.T
        return to_like(nnls_gram(to_host(H @ H.T), to_host(cross).T).T, cross)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
