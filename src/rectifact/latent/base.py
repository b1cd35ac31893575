"""What the estimators of latent dimensions share."""

from numbers import Integral
from typing import Any, ClassVar

from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from rectifact.core.arrays import Array
from rectifact.core.errors import InputError
from rectifact.core.estimator import Iterative
from rectifact.core.operand import Operand
from rectifact.core.validation import RUN_CONSTRAINTS, Interval


class LatentTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Iterative):
    """Base class: non-negative samples in, an embedding out."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        **RUN_CONSTRAINTS,
    }
    components_: Array
    embedding_: Array

    def fit_transform(self, X: Any, y: None = None) -> Any:
        """Fit, and return the embedding of shape (n_samples, n_components)."""
        return self.fit(X).embedding_

    def transform(self, X: Any) -> Any:
        """Embedding (n_samples, n_components) of the rows of X, the most likely one for each."""
        check_is_fitted(self)
        return self._embed(self._known(X))

    def _check_sizes(self, X: Operand) -> None:
        n, d = X.shape
        if self.n_components > min(n, d):
            raise InputError(
                f"n_components={self.n_components} dimensions need as many samples and features; X has {n} sample(s) "
                f"and {d} feature(s).",
                "Lower n_components.",
                option="n_components",
            )

    @property
    def _n_features_out(self) -> int:
        return int(self.components_.shape[0])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
