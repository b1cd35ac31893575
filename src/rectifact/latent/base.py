"""What the estimators of latent dimensions share."""

from numbers import Integral
from typing import Any, ClassVar, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from rectifact.core.arrays import Array, is_host, names_of_rows, to_host
from rectifact.core.errors import InputError
from rectifact.core.estimator import Iterative, are_names
from rectifact.core.operand import Operand, is_chunked
from rectifact.core.plots import ConvergencePlot, plot
from rectifact.core.validation import RUN_CONSTRAINTS, Interval, check_at_least, check_option
from rectifact.latent.data import check_magnitude, refuse_triples
from rectifact.latent.filling import dense_with_gaps, filled
from rectifact.latent.neighbours import (
    WIDE,
    axes_of_predictions,
    best_unseen,
    between,
    directions,
    long_table,
    most_similar,
    nearest,
    places_of,
    reliability,
)
from rectifact.latent.scales import ranges_of, tops_of


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

    def recommend(
        self, X: Any, n: int = 10, *, samples: Any = None, features: Any = None, exclude: Any = None
    ) -> pd.DataFrame:
        """The columns that the model predicts best for each row of X, among those that are not positive in it.

        Predictions are made for a few rows at a time, never for all of X.

        Parameters
        ----------
        X : array, sparse array or frame of shape (n_samples, n_features)
            Rows of the fit, or new ones.
        n : int, default 10
        samples, features : sequences of names, optional
            Names of rows and columns; by default the index of a frame and the columns of the fit, else numbers from 0.
        exclude : array or sparse array of the shape of X, optional
            Entries that are not recommended where it is positive, such as goods that somebody has returned.

        Returns
        -------
        DataFrame
            Columns ``sample``, ``rank`` (from 1), ``feature`` and ``score``, the value of ``inverse_transform``;
            with ``missing``, at most the highest value of a closed scale, as in :meth:`fill`.

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
        samples = names_of_rows(X) if samples is None else np.asarray(samples)
        X = self._in_memory(X, "recommend")
        if exclude is not None and tuple(exclude.shape) != tuple(X.shape):
            what = f"exclude has the shape {tuple(exclude.shape)} and X {tuple(X.shape)}."
            raise InputError(what, "Give a mask of the shape of X.", option="exclude=")
        columns, scores = best_unseen(to_host(X.data), self._embed(X), self._predicted, n, exclude)
        if getattr(self, "missing", None) is not None:
            scores = np.minimum(scores, self._ranges[1][columns] if hasattr(self, "_ranges") else np.inf)
        samples = np.arange(X.shape[0]) if samples is None else samples
        return long_table("sample", samples, "feature", self._feature_names(features)[columns], "score", scores)

    def fill(self, X: Any) -> Any:
        """X with what the model predicts in place of its missing entries, and all others as they are.

        Predictions are clipped to a closed scale, such as 1 to 5 stars, amounts to somewhat more than all known ones.

        .. versionadded:: 0.2

        Parameters
        ----------
        X : array, sparse array or frame of shape (n_samples, n_features)
            Rows of the fit, or new ones, with NaN for what is missing. A mask that was given as ``missing`` counts,
            too, and is for the data of the fit only.

        Returns
        -------
        array or DataFrame of shape (n_samples, n_features)
            A frame, with the names of rows and columns, if X is a pandas one.

        Examples
        --------
        >>> import numpy as np
        >>> import pandas as pd
        >>> from rectifact import NMD
        >>> sales = pd.DataFrame(np.outer([1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 4.0]), columns=["tea", "milk", "bread"])
        >>> sales.loc[1, "bread"] = np.nan                                  # 8
        >>> round(float(NMD(1, missing=np.nan).fit(sales).fill(sales).loc[1, "bread"]), 1)
        8.0
        """
        check_is_fitted(self)
        missing: Any = getattr(self, "missing", None)
        known = self._of_the_fit(X) if np.ndim(missing) == 2 else self._in_memory(X, "fill")
        A = self.embedding_ if np.ndim(missing) == 2 else self._embed(known)
        found = np.asarray(self._predicted(A), dtype=np.float64)
        full = filled(dense_with_gaps(X, missing), found, getattr(self, "_ranges", None), getattr(self, "_tops", None))
        return pd.DataFrame(full, index=X.index, columns=X.columns) if isinstance(X, pd.DataFrame) else full

    def positions(self, X: Any, n_axes: int | None = None) -> NDArray[np.float64]:
        """Coordinates for distances: rows of X that are alike are near each other.

        How far the embedding lies below a zero of the data is nearly free, so distances in it say less than those
        between rows of the data. Here a row is taken halfway to what the model predicts for it, which fills its missing
        entries, and is measured along the principal axes of the predictions for the rows of the fit.

        .. versionadded:: 0.2

        Parameters
        ----------
        X : array, sparse array or frame of shape (n_samples, n_features)
            Rows of the fit, or new ones.
        n_axes : int, optional
            Number of axes, at most that of features; as many as dimensions by default. More of them are better for
            neighbours: :meth:`similar` takes 64.

        Returns
        -------
        array of shape (n_samples, n_axes)
            The axis of largest spread first.

        Examples
        --------
        >>> from sklearn.datasets import load_digits
        >>> from sklearn.neighbors import KNeighborsClassifier
        >>> from rectifact import NMD
        >>> X, y = load_digits(return_X_y=True)
        >>> model = NMD(10, tol=1e-3).fit(X[:400])
        >>> nearest = KNeighborsClassifier().fit(model.positions(X[:400]), y[:400])
        >>> round(nearest.score(model.positions(X[400:600]), y[400:600]), 1)
        0.8
        """
        check_is_fitted(self)
        check_at_least(1, n_axes=1 if n_axes is None else n_axes)
        X = self._in_memory(X, "positions")
        return self._positions(X, self._embed(X), n_axes or self.components_.shape[0])

    def similar(
        self,
        items: Any,
        n: int = 10,
        *,
        axis: Literal["rows", "columns"] = "columns",
        X: Any = None,
        samples: Any = None,
        features: Any = None,
    ) -> pd.DataFrame:
        """The rows or columns of the fit that are most like the given ones.

        The similarity of rows is the cosine of their :meth:`positions` on 64 axes; that of columns is the correlation
        of what the model predicts for them, drawn towards 0 for columns of which it explains little more than chance
        would: times the square root of ``s / (s + 10 k / n)`` for each, with s the share of its variance that the model
        explains, k dimensions and n samples.

        Parameters
        ----------
        items : name or sequence of names, or array, sparse array or frame of shape (n_new, n_features)
            Rows or columns; numbers from 0 if they have no names. With ``axis="rows"``, also new rows themselves, whose
            neighbours are rows of the fit.
        n : int, default 10
        axis : {"rows", "columns"}, default "columns"
        X : array, sparse array or frame of shape (n_samples, n_features), optional
            The data of the fit, which makes the neighbours of rows better. Without it, rows are compared by what the
            model predicts for them.
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
        if axis == "rows":
            vectors = directions(self._positions_of_fit(X))
            names, others = self._sample_names(samples), self._feature_names(features)
            if getattr(items, "ndim", 1) == 2:
                return self._like_new(items, vectors, n, names, of_data=X is not None)
        else:
            vectors, names = self._feature_vectors(), self._feature_names(features)
            others = self._sample_names(samples)
        places = places_of(items, names, len(vectors), axis.removesuffix("s"), others)
        others, cosines = most_similar(vectors, places, n)
        names = np.arange(len(vectors)) if names is None else names
        return long_table("item", names[places], "neighbour", names[others], "similarity", cosines)

    def _like_new(self, new: Any, vectors: NDArray[Any], n: int, names: Any, *, of_data: bool) -> pd.DataFrame:
        """The rows of the fit, with these vectors and names, that are most like new rows."""
        own, known = names_of_rows(new), self._in_memory(new, "similar")
        A = self._embed(known)
        wide = max(WIDE, self.components_.shape[0])
        found, cosines = nearest(directions(self._positions(known if of_data else None, A, wide)), vectors, n)
        own, names = (np.arange(len(each)) if named is None else named for each, named in ((A, own), (vectors, names)))
        return long_table("item", own, "neighbour", names[found], "similarity", cosines)

    def _positions_of_fit(self, X: Any = None) -> NDArray[np.float64]:
        """Positions of the rows of the fit on 64 axes, which :meth:`similar` compares; X as there."""
        self._check_embedding()
        data = None if X is None else self._of_the_fit(X)
        return self._positions(data, self.embedding_, max(WIDE, self.components_.shape[0]))

    def _feature_vectors(self) -> NDArray[np.float64]:
        """Vectors of shape (n_features, 64), whose products are the similarities of features."""
        axes, spreads, _ = self._axes(max(WIDE, self.components_.shape[0]))
        trust = reliability(self.embedding_, self._predicted, self._noise, self.components_.shape[1])
        return directions(axes.T * spreads) * trust[:, None] ** 0.5

    def plot_map(self, X: Any = None, groups: Any = None) -> Any:
        """Map of the rows of the fit in two dimensions, as in the report.

        .. versionadded:: 0.2

        Parameters
        ----------
        X : array, sparse array or frame of shape (n_samples, n_features), optional
            The data of the fit, which makes the map better.
        groups : dict of str to array of shape (n_samples,), or Series, optional
            A column of classes or numbers that colours the map: ``{"species": values}``. A Series whose index has the
            names of the rows is matched by them.
        """
        given = {name: value for name, value in {"X": X, "groups": groups}.items() if value is not None}
        return plot(self, "map", **given)

    def _check_embedding(self) -> None:
        if is_chunked(getattr(self, "embedding_", None)) or not hasattr(self, "embedding_"):
            raise InputError("The model has no embedding in memory, which similarities need.", "Fit data in memory.")

    def _axes(self, n_axes: int) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        self._check_embedding()
        return axes_of_predictions(self.embedding_, self._predicted, self.components_.shape[1], n_axes)

    def _positions(self, X: Operand | None, A: Array, n_axes: int) -> NDArray[np.float64]:
        """Positions of data in the units of the fit with the embedding A; those of the predictions if X is None."""
        axes, _, centre = self._axes(n_axes)
        data = None if X is None else to_host(X.data)
        return between(data, A, self._predicted, axes, centre, getattr(self, "_unit", 1.0))

    def _in_memory(self, X: Any, method: str) -> Operand:
        """New data in the units of the fit, which must not be a Dask array."""
        X = self._known(X)
        if is_chunked(X.data):
            what = f"{method} works on data in memory, and X is a Dask array."
            raise InputError(what, "Take some rows: X[:1000].compute().")
        return X

    def _of_the_fit(self, X: Any) -> Operand:
        X = self._known(X)
        if X.shape[0] != len(self.embedding_):
            what = f"X has {X.shape[0]:,} rows, but the model was fitted to {len(self.embedding_):,}."
            raise InputError(what, "Give the data of the fit.", option="X=")
        return X

    def _noise(self, A: Array) -> Any:
        """Variance of the data around what is predicted, for rows of the embedding."""
        P = np.asarray(self._predicted(A), dtype=np.float64)
        return P * (1 - P)

    def _predicted(self, A: Array) -> Any:
        return to_host(self.inverse_transform(A))

    def _feature_names(self, names: Any) -> Any:
        names = getattr(self, "feature_names_in_", getattr(self, "_features", None)) if names is None else names
        return np.arange(self.components_.shape[1]) if names is None else np.asarray(names)

    def _sample_names(self, names: Any) -> Any:
        return getattr(self, "sample_names_", None) if names is None else np.asarray(names)

    def _named_as_saved(self, samples: Any, features: Any) -> None:
        """Take the names that a file has for rows and columns, where the model has none of its own."""
        if are_names(features, self.components_.shape[1]):
            self._features = np.asarray(features)
        if not hasattr(self, "sample_names_") and are_names(samples, len(getattr(self, "embedding_", ()))):
            self.sample_names_ = np.asarray(samples)

    def _name_samples(self, X: Any) -> None:
        """Keep the names of the rows of a frame, which must be a matrix."""
        refuse_triples(X)
        if hasattr(self, "_features"):
            del self._features
        names = names_of_rows(X)
        if names is not None:
            self.sample_names_ = names
        elif hasattr(self, "sample_names_"):
            del self.sample_names_

    def _keep_ranges(self, X: Operand) -> None:
        """Keep the closed scale of each column, and its largest values, to which :meth:`fill` clips predictions."""
        if getattr(self, "missing", None) is not None and is_host(X.data):
            self._ranges, self._tops = ranges_of(X.data), tops_of(X.data)
        elif hasattr(self, "_ranges"):
            del self._ranges, self._tops

    def _check_sizes(self, X: Operand, largest: float = 1.0) -> None:
        n, d = X.shape
        check_magnitude(largest, X.dtype)
        if self.n_components > min(n, d):
            what = f"n_components={self.n_components} dimensions need as many samples and features; X has {n} sample(s)"
            raise InputError(f"{what} and {d} feature(s).", "Lower n_components.", option="n_components")

    @property
    def _n_features_out(self) -> int:
        return int(self.components_.shape[0])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
