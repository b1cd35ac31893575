"""What the estimators of latent dimensions share."""

from numbers import Integral
from typing import Any, ClassVar, Literal

import numpy as np
import pandas as pd
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from rectifact.core.arrays import Array, to_host
from rectifact.core.errors import InputError
from rectifact.core.estimator import Iterative
from rectifact.core.operand import Operand, is_chunked
from rectifact.core.plots import ConvergencePlot, plot
from rectifact.core.validation import RUN_CONSTRAINTS, Interval, check_at_least, check_option
from rectifact.latent.neighbours import best_unseen, long_table, most_similar, places_of


class LatentTransformer(ConvergencePlot, ClassNamePrefixFeaturesOutMixin, TransformerMixin, Iterative):
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

    def recommend(self, X: Any, n: int = 10, *, samples: Any = None, features: Any = None) -> pd.DataFrame:
        """The columns that the model predicts best for each row of X, among those that are not positive in it.

        Predictions are made for a few rows at a time, never for all of X.

        Parameters
        ----------
        X : array, sparse array or frame of shape (n_samples, n_features)
            Rows of the fit, or new ones.
        n : int, default 10
        samples, features : sequences of names, optional
            Names of rows and columns; by default the index of a frame and the columns of the fit, else numbers from 0.

        Returns
        -------
        DataFrame
            Columns ``sample``, ``rank`` (from 1), ``feature`` and ``score``, the value of ``inverse_transform``.

        Examples
        --------
        >>> import pandas as pd
        >>> from rectifact import NMD
        >>> plays = pd.DataFrame(1.0, index=list("abcdefgh"), columns=["rock", "punk", "jazz", "swing"])
        >>> plays.loc["a":"d", ["jazz", "swing"]] = plays.loc["e":"h", ["rock", "punk"]] = 0.0
        >>> plays.loc["a", "punk"] = plays.loc["h", "swing"] = 0.0
        >>> best = NMD(1, prior="factors").fit(plays).recommend(plays.loc[["a", "h"]], 1)
        >>> best[["sample", "feature"]].to_numpy().tolist()
        [['a', 'punk'], ['h', 'swing']]
        """
        check_is_fitted(self)
        check_at_least(1, n=n)
        samples = _names_of_rows(X) if samples is None else np.asarray(samples)
        X = self._known(X)
        if is_chunked(X.data):
            raise InputError(
                "recommend works on data in memory, and X is a Dask array.", "Take some rows: X[:1000].compute()."
            )
        columns, scores = best_unseen(to_host(X.data), self._embed(X), self._predicted, n)
        samples = np.arange(X.shape[0]) if samples is None else samples
        return long_table("sample", samples, "feature", self._feature_names(features)[columns], "score", scores)

    def similar(
        self,
        items: Any,
        n: int = 10,
        *,
        axis: Literal["rows", "columns"] = "columns",
        samples: Any = None,
        features: Any = None,
    ) -> pd.DataFrame:
        """The rows or columns of the fit that are most like the given ones.

        The similarity is the cosine: of rows of the embedding, less their mean; of columns of Theta, less its mean row.

        Parameters
        ----------
        items : name or sequence of names
            Rows or columns; numbers from 0 if they have no names.
        n : int, default 10
        axis : {"rows", "columns"}, default "columns"
        samples, features : sequences of names, optional
            As in :meth:`recommend`.

        Returns
        -------
        DataFrame
            Columns ``item``, ``rank`` (from 1), ``neighbour`` and ``similarity``.
        """
        check_is_fitted(self)
        check_at_least(1, n=n)
        check_option("axis", axis, ("rows", "columns"))
        if is_chunked(getattr(self, "embedding_", None)) or not hasattr(self, "embedding_"):
            raise InputError("The model has no embedding in memory, which similarities need.", "Fit data in memory.")
        A = np.asarray(to_host(self.embedding_), dtype=np.float64)
        A = A - A.mean(axis=0)
        if axis == "rows":
            vectors, names = A, getattr(self, "sample_names_", None) if samples is None else np.asarray(samples)
        else:
            B = np.asarray(to_host(self.components_), dtype=np.float64)
            vectors, names = B.T @ np.asarray(np.linalg.qr(A, mode="r")).T, self._feature_names(features)
        places = places_of(items, names, len(vectors), axis.removesuffix("s"))
        others, cosines = most_similar(vectors, places, n)
        names = np.arange(len(vectors)) if names is None else names
        return long_table("item", names[places], "neighbour", names[others], "similarity", cosines)

    def plot_map(self) -> Any:
        """Map of the rows of the fit in two dimensions, as in the report.

        .. versionadded:: 0.2
        """
        return plot(self, "map")

    def _predicted(self, A: Array) -> Any:
        return to_host(self.inverse_transform(A))

    def _feature_names(self, names: Any) -> Any:
        names = getattr(self, "feature_names_in_", None) if names is None else names
        return np.arange(self.components_.shape[1]) if names is None else np.asarray(names)

    def _name_samples(self, X: Any) -> None:
        """Keep the names of the rows of a frame."""
        names = _names_of_rows(X)
        if names is not None:
            self.sample_names_ = names
        elif hasattr(self, "sample_names_"):
            del self.sample_names_

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


def _names_of_rows(X: Any) -> Any:
    """The index of a pandas frame, unless it only counts."""
    index = getattr(X, "index", None)
    return None if index is None or callable(index) or isinstance(index, pd.RangeIndex) else np.asarray(index)
