"""What the estimators of parts share: a start, weights of new samples, and samples made of weights."""

import warnings
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from rectifact.core.arrays import Array, namespace, to_host, to_like
from rectifact.core.errors import InputError
from rectifact.core.lazy import evaluate, is_lazy
from rectifact.core.linalg import nnls_gram
from rectifact.core.sparse import entries
from rectifact.core.validation import RUN_CONSTRAINTS, Interval, StrOptions, check_alike, check_factor, check_generator
from rectifact.parts.samples import choose_norm
from rectifact.parts.starts import STARTS, Subspace, choose_start, find_start, subspace

__all__ = ["PartsTransformer"]

MOST_WORDS = 10_000
"""Features whose co-occurrences are held as a dense matrix, of 0.8 GB."""


class PartsTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """What both estimators share: a start, weights of new samples, and samples made of weights."""

    _parameter_constraints: dict[str, Any] = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "init": [StrOptions({"auto", *STARTS}), "array-like"],
        **RUN_CONSTRAINTS,
    }
    components_: Array

    @property
    def _n_features_out(self) -> int:
        return int(self.components_.shape[0])

    def _check_scale(self, X: Array) -> None:
        """Refuse data without a scale, or one whose squares leave the numbers."""
        values = entries(X)
        xp = namespace(values)
        largest = float(evaluate(xp.max(xp.abs(values)))[0]) if values.shape[0] else 0.0
        if largest == 0:
            raise InputError("All entries of X are zero: there are no parts to find. Check the file or the filter.")
        most = 1e100 if values.dtype == xp.float64 else 1e12
        if not 1 / most < largest < most:
            raise InputError(f"The largest entry of X is {largest:.0e}, which cannot be squared. Divide X by it first.")

    def _check_alike(self, X: Array) -> None:
        """Refuse samples of another array library or precision than the parts, which would not go together."""
        mine = self.components_
        if self.n_components != mine.shape[0]:
            raise InputError(
                f"n_components changed to {self.n_components} after {mine.shape[0]} parts were fitted. Fit anew."
            )
        check_alike(mine, X)

    def _subspace(self, X: Array, first_batch: bool = False) -> Subspace:
        space = subspace(X, self.n_components)
        self.resolved_["rank"] = space.rank
        if space.rank < self.n_components and isinstance(self.init, str):
            if first_batch:
                raise InputError(
                    f"The first batch has rank {space.rank}, too low to find {self.n_components} parts in it. Give at "
                    f"least {10 * self.n_components} samples, or parts to start from as init."
                )
            warnings.warn(
                f"X has rank {space.rank}, so no more than {space.rank} parts can be told apart; asked for are "
                f"{self.n_components}. The others stay zero: lower n_components, or give more different samples.",
                UserWarning,
                stacklevel=5,
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
        if name == "anchor" and X.shape[1] > MOST_WORDS:
            raise InputError(
                f"init='anchor' compares all pairs of features; {X.shape[1]} are too many. Keep the commonest "
                f"{MOST_WORDS}, or use init='auto'."
            )
        self.resolved_["init"] = name
        return find_start(name, X, space, check_generator(self.random_state))

    def _given(self, X: Array) -> Array:
        like = np.empty(0, dtype=X.dtype) if is_lazy(X) else X
        try:
            H = to_like(np.asarray(to_host(self.init), dtype=np.float64), like)
        except (TypeError, ValueError) as error:
            raise InputError(f"init is no matrix of numbers: {error}. Give an array, or init='auto'.") from error
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
        return check_factor("A matrix of weights", X, self.components_) @ self.components_

    def _nonnegative_least_squares(self, X: Array) -> Array:
        H = self.components_
        cross = X @ H.T
        if is_lazy(X):
            return cross.map_blocks(_nnls_rows, H @ H.T, dtype=cross.dtype, meta=np.empty((0, 0), dtype=cross.dtype))
        return to_like(nnls_gram(to_host(H @ H.T), to_host(cross).T).T, cross)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _nnls_rows(cross: Any, gram: Any) -> Any:
    return nnls_gram(gram, cross.T).T
