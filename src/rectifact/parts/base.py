"""What the estimators of parts share: a start, weights of new samples, and samples made from weights."""

import warnings
from dataclasses import dataclass
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from rectifact.core.arrays import Array, namespace, to_csr, to_host, to_like
from rectifact.core.errors import FitWarning, InputError, InputTypeError
from rectifact.core.estimator import Iterative
from rectifact.core.findings import Finding, findings_table
from rectifact.core.linalg import squared_norm
from rectifact.core.operand import Operand, is_chunked, operand
from rectifact.core.plots import ConvergencePlot, plot
from rectifact.core.sparse import is_sparse
from rectifact.core.threads import small_products
from rectifact.core.validation import (
    RUN_CONSTRAINTS,
    Interval,
    StrOptions,
    check_alike,
    check_factor,
    check_generator,
    check_matrix,
)
from rectifact.metrics import npmi_coherence
from rectifact.parts.conditions import constant_sum_error
from rectifact.parts.diagnosis import background_share, diagnose, worst_first
from rectifact.parts.fitting import predicted_squares
from rectifact.parts.samples import are_short, choose_norm, largest_entry, sample_block
from rectifact.parts.stability import Halves
from rectifact.parts.starts import STARTS, Subspace, check_number, choose_start, find_start, subspace
from rectifact.parts.terms import PARTS, TOPICS, Terms
from rectifact.parts.without_topic import without_topic_of

MOST_DIAGNOSED = 20_000
"""Samples whose weights are looked at for a diagnosis."""

DIAGNOSED_BLOCK = 1000, 500
"""Samples and features in which a background is looked for."""

GROUPS = 8
"""Groups of features, each predicted from the others by ``score``."""

MOST_WORDS = 10_000
"""Features whose co-occurrences are held as a dense matrix, of 0.8 GB."""


MOST_ENTRIES_FOR_HALVES, MOST_STORED_FOR_HALVES = 5_000_000, 500_000
"""Entries of dense data, and stored ones of sparse data, up to which two more fits take seconds."""


@dataclass(frozen=True)
class Start:
    """Parts H to start from, the name of what found them (``"given"`` for yours), and the subspace of the samples."""

    H: Array
    name: str
    space: Subspace


class PartsTransformer(ConvergencePlot, ClassNamePrefixFeaturesOutMixin, TransformerMixin, Iterative):
    """What both estimators share: a start, weights of new samples, and samples made from weights."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "init": [StrOptions({"auto", *STARTS}), "array-like"],
        **RUN_CONSTRAINTS,
    }
    _needs_independence: ClassVar[bool] = False
    components_: Array
    thresholds_: Array

    @property
    def _allows_gaps(self) -> bool:
        """Whether NaN stands for a missing entry."""
        return False

    @property
    def _n_features_out(self) -> int:
        return int(self.components_.shape[0])

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Names of the columns of weights: part1, part2 and so on; ``input_features`` is ignored."""
        check_is_fitted(self)
        return np.array([f"part{i + 1}" for i in range(self._n_features_out)], dtype=object)

    def _check_scale(self, X: Operand) -> None:
        """Refuse data without a scale, or one whose squares overflow."""
        largest = largest_entry(X)
        if largest == 0:
            raise InputError("All entries of X are zero: there are no parts to find.", "Check the file or the filter.")
        most = 1e100 if X.like.dtype == namespace(X.like).float64 else 1e12
        if not 1 / most < largest < most:
            raise InputError(
                f"The largest entry of X is {largest:.0e}, which cannot be squared.", "Divide X by it first."
            )

    def _known(self, X: Array) -> Operand:
        """New samples, checked; refused if their array library or precision is not that of the parts."""
        mine = self.components_
        if self.n_components != mine.shape[0]:
            what = f"n_components changed to {self.n_components} after {mine.shape[0]} parts were fitted."
            raise InputError(what, "Call fit again.", option="n_components")
        check_alike(mine, X)
        return operand(X)

    def _find_start(self, X: Operand, samples: Operand, *, first_batch: bool) -> Start:
        """Parts to start from, in the subspace of the samples, which are X divided by norms."""
        if isinstance(self.init, str):
            check_number(self.n_components, X.shape, first_batch)
        with small_products(samples.shape[0] * samples.stored_per_row * self.n_components):
            space = subspace(samples, self.n_components)
            if not isinstance(self.init, str):
                return Start(self._given(X), "given", space)
            self._check_rank(space.rank, first_batch)
            name = choose_start(X.shape[0], space.rank) if self.init == "auto" else self.init
            _check_start(name, X)
            return Start(find_start(name, X, space, check_generator(self.random_state)), name, space)

    def _check_rank(self, rank: int, first_batch: bool) -> None:
        if rank >= self.n_components:
            return
        if first_batch:
            raise _init_error(
                f"The first batch has rank {rank}, too low to find {self.n_components} parts in it.",
                f"Give at least {10 * self.n_components} samples, or parts to start from as init.",
            )
        what = f"X has rank {rank}, so no more than {rank} parts can be told apart; asked for are {self.n_components}."
        remedy = "The others stay zero: lower n_components, or give more different samples."
        warnings.warn(FitWarning(what, remedy, option="n_components"), stacklevel=6)  # the line that called fit

    def _given(self, X: Operand) -> Array:
        try:
            H = to_like(np.asarray(to_host(self.init), dtype=np.float64), X.like)
        except (TypeError, ValueError) as error:
            raise _init_error(f"init is not a matrix of numbers: {error}.", "Give an array, or init='auto'.") from error
        shape, expected = tuple(H.shape), (self.n_components, X.shape[1])
        if shape != expected:
            what = f"init has the shape {shape}; parts to start from need (n_components, n_features) = {expected}."
            raise _init_error(what, "Give one row per part, or init='auto'.")
        if not bool(namespace(H).all(namespace(H).isfinite(H))):
            raise _init_error("init holds NaN or infinity.", "Give finite parts to start from, or init='auto'.")
        return H

    def _padded(self, H: Array) -> Array:
        """Rows of zeros for parts that the data does not have."""
        xp = namespace(H)
        zeros = xp.zeros((self.n_components - H.shape[0], H.shape[1]), dtype=H.dtype, device=H.device)
        return xp.concat([H, zeros]) if zeros.shape[0] else H

    def _set_stream_report(self, n_batches: int) -> None:
        self.n_iter_, self.converged_, self.stop_reason_ = n_batches, False, "stream"
        self.history_: list[dict[str, float]] = []

    def fit_transform(self, X: Any, y: None = None) -> Any:
        """Fit, and return the weights (n_samples, n_components) of the parts in each sample."""
        return self.fit(X).transform(X)

    def inverse_transform(self, X: Any) -> Array:
        """Samples (n_samples, n_features) that the weights X (n_samples, n_components) make: ``X @ components_``."""
        check_is_fitted(self)
        return check_factor("A matrix of weights", X, self.components_) @ self.components_

    def score(self, X: Any, y: None = None) -> float:
        """Share of the squares of X that the parts predict, each feature from the other features of its sample.

        The features are divided into groups. Weights that are found without a group, by non-negative least squares,
        predict it, so that too many parts score worse, as too few do: ``GridSearchCV`` can choose ``n_components``.

        .. versionadded:: 0.2

        Parameters
        ----------
        X : matrix of shape (n_samples, n_features)
            Samples, those of the fit or others, with at least two features; dense, sparse, or a Dask array.
        y : None
            Ignored.

        Returns
        -------
        float
            At most 1, for parts that predict everything; 0 if zeros would predict as well. Higher is better.

        Examples
        --------
        >>> from sklearn.model_selection import GridSearchCV
        >>> from rectifact import ANDNMF
        >>> from rectifact.datasets import make_topics
        >>> X = make_topics(n_samples=300, n_features=30, n_topics=3, noise=0.1).X
        >>> search = GridSearchCV(ANDNMF(random_state=0), {"n_components": [1, 3, 6]}, cv=2).fit(X)
        >>> search.best_params_
        {'n_components': 3}
        """
        check_is_fitted(self)
        samples = self._known(check_matrix(self, X, reset=False, allow_nan=self._allows_gaps))
        if samples.shape[1] < 2:
            raise InputError("score predicts features from others, and X has only one.", "Give more features.")
        return self._predicted_share(samples)

    def _predicted_share(self, X: Operand) -> float:
        H = np.asarray(to_host(self.components_), dtype=float)
        group = np.arange(H.shape[1]) % GROUPS
        inside = [np.where(group == g, H, 0.0) for g in range(min(GROUPS, H.shape[1]))]
        cross = X @ to_like(np.concatenate(inside).T, self.components_)
        grams = np.stack([part @ part.T for part in inside])
        size = squared_norm(X)
        return float(operand(cross).total(predicted_squares, grams) / size) if size else 0.0

    def plot_part(self, part: int = 1, n: int = 10, *, features: Any = None) -> Any:
        """Chart of the ``n`` largest features of a part, counted from 1; ``features`` are names of the columns.

        .. versionadded:: 0.2
        """
        return plot(self, "part", part=part, n=n, features=features)

    def plot_weights(self, X: Any) -> Any:
        """Chart of the share of each part in the samples X.

        .. versionadded:: 0.2
        """
        return plot(self, "weights", X=X)

    def plot_residuals(self, X: Any) -> Any:
        """Chart of what the parts leave unexplained in each of the samples X.

        .. versionadded:: 0.2
        """
        return plot(self, "residuals", X=X)

    def diagnose(self, X: Any = None, *, halves: bool = True, texts: bool = False) -> pd.DataFrame:
        """What could be wrong with the parts, and what to do about it, the worst first.

        Parameters
        ----------
        X : matrix of shape (n_samples, n_features)
            The samples that were fitted, or others like them; in memory or a Dask array. They are needed, as a model of
            parts does not keep its samples.
        halves : bool, default True
            Whether to fit halves of the samples as well, in three splits, to see which parts they share; about as long
            as three fits. Documents, which are fast, are split ten times.
            Where ``stability_`` has been measured, it says that, and nothing is fitted.
        texts : bool, default False
            Whether the samples are texts: the findings then speak of topics, documents and words.

            .. versionadded:: 0.2

        Returns
        -------
        DataFrame
            Columns severity (problem, warning or note), finding, detail and remedy.
        """
        if X is None:
            raise InputTypeError("A model of parts does not keep its samples.", "Give them: model.diagnose(X).")
        more = without_topic_of(self, X) if texts else []
        return findings_table(worst_first([*self.findings(X, halves=halves, texts=texts), *more]))

    def findings(self, X: Any, *, halves: bool = True, texts: bool = False) -> list[Finding]:
        """The rows of :meth:`diagnose` as objects, but that about documents without a topic."""
        check_is_fitted(self)
        samples = self._known(check_matrix(self, X, reset=False, allow_nan=self._allows_gaps))
        with warnings.catch_warnings():  # X was checked above; what follows passes it on without its names
            warnings.filterwarnings("ignore", message="X does not have valid feature names")
            return self._findings(samples, halves, TOPICS if texts else PARTS)

    def _findings(self, samples: Operand, halves: bool, terms: Terms) -> list[Finding]:
        gaps, given = self._allows_gaps, samples
        if gaps:
            xp, W = namespace(samples.data), self.transform(samples.data)
            samples = operand(xp.where(xp.isnan(samples.data), self.inverse_transform(W), samples.data))
        n, k = samples.shape[0], self.n_components
        step = max(1, n // MOST_DIAGNOSED)
        weights = operand(self.transform(samples.native)).total(_every_row, step, combine=_stack)
        block, _ = sample_block(samples, *DIAGNOSED_BLOCK)
        H = np.asarray(to_host(self.components_), dtype=float)
        stability, ends = getattr(self, "stability_", None), getattr(self, "stability_range_", None)
        if halves and stability is None and n >= 4 * k and not is_chunked(samples.data):
            by_split = Halves(self, given).stabilities(self)
            stability, ends = by_split.mean(axis=0), np.column_stack([by_split.min(axis=0), by_split.max(axis=0)])
        return diagnose(
            weights,
            H,
            sum_error=constant_sum_error(subspace(samples, k).coordinates),
            nonnegative=choose_norm(samples) == "l1",
            independent=self._needs_independence,
            noisy_samples=0.0 if is_sparse(samples.data) else self.resolved_.get("noisy_samples", 0.0),
            background=0.0 if getattr(self, "background", False) else background_share(block, k),
            stability=None if stability is None else np.asarray(to_host(stability), dtype=float),
            stability_range=None if ends is None else np.asarray(to_host(ends), dtype=float),
            coherence=self._coherence(samples) if terms == TOPICS else None,
            short=are_short(samples.data),
            terms=terms,
        )

    def _coherence(self, samples: Operand) -> Any:
        """Coherence of the topics, for counts of words in memory."""
        if is_chunked(samples.data):
            return None
        X = to_csr(samples.data) if is_sparse(samples.data) else to_host(samples.data)
        return npmi_coherence(np.asarray(to_host(self.components_), dtype=float), X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def renumber(model: "PartsTransformer", order: Any) -> None:
    """Put the parts of a fitted model, which were refined, into another order."""
    for name in ("components_", "thresholds_", "stability_", "stability_range_"):
        if hasattr(model, name):
            setattr(model, name, getattr(model, name)[order])


def are_few(X: Any) -> bool:
    """Whether samples are so few that two more fits, of halves of them, take seconds."""
    if is_chunked(X):
        return False
    if hasattr(X, "nnz"):
        return bool(X.nnz <= MOST_STORED_FOR_HALVES)
    return int(X.shape[0]) * int(X.shape[1]) <= MOST_ENTRIES_FOR_HALVES


def _every_row(rows: Array, step: int) -> Any:
    return np.asarray(to_host(rows[::step]), dtype=float)


def _stack(one: Any, other: Any) -> Any:
    return np.concatenate([one, other])


def _init_error(what: str, remedy: str) -> InputError:
    return InputError(what, remedy, option=("init", "n_components"))


def _check_start(name: str, X: Operand) -> None:
    """Refuse a start that this data cannot have."""
    if name in ("anchor", "nndsvd") and choose_norm(X) == "l2":
        raise _init_error(f"init={name!r} is for non-negative data, and X has negative entries.", "Use init='auto'.")
    if name == "anchor" and X.shape[1] > MOST_WORDS:
        what = f"init='anchor' compares all pairs of features; {X.shape[1]} are too many."
        raise _init_error(what, f"Keep the {MOST_WORDS} most common ones, or use init='auto'.")
    if name == "anchor" and is_chunked(X.data):
        raise _init_error("init='anchor' works on the host.", "Use init='auto', or fit X.compute() if memory allows.")
