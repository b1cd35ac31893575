"""How far parts are found again in halves of the samples, on average over several splits into halves.

The fits to both halves start from the parts of all samples. From starts of their own they may end at different optima,
which says more about the search than about the data: topics that both halves have were then missed in one of them.

AND, too, leaves its start where another division explains a half a little better, by as little as one of 5000 parts of
the loss, and a topic of 40 documents then has no counterpart. Sparse samples that are refined by least squares, as
documents are, are therefore fitted by least squares alone. That stays near its start, even where chance has divided
one part into two: so these parts are also compared by what the others do not have, and parts that are much alike are
divided again, see :mod:`rectifact.parts.siblings`.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rectifact.core.arrays import to_csr, to_host
from rectifact.core.errors import InputError
from rectifact.core.operand import Operand, is_chunked, operand
from rectifact.core.sparse import is_sparse
from rectifact.core.threads import small_products
from rectifact.parts.fitting import best_refinement
from rectifact.parts.matching import agreement, agreement_apart, fitted_to, partners, parts_of
from rectifact.parts.noise import RankedNoise
from rectifact.parts.samples import largest_columns, normalized
from rectifact.parts.siblings import divided_again

SPLITS, SPLITS_OF_DOCUMENTS = 3, 10
"""Splits of the samples into halves, and of sparse samples that are refined by least squares, whose fits are fast. They
are the same ones for the same number of samples, whatever the seed of a fit: a figure that is shown twice is the same
figure."""

DIVIDED_SPLITS = 3
"""Splits in which the parts of documents that are much alike are also divided at random, which takes many fits."""

MOST_COLUMNS = 2000
"""Features of sparse data, the largest, in which parts of halves are compared."""


class Halves:
    """Parts of halves of the samples, each fitted once.

    Parameters
    ----------
    estimator : PartsTransformer
        Says how samples are fitted.
    X : Operand of shape (n_samples, n_features)
    """

    def __init__(self, estimator: Any, X: Operand) -> None:
        self._estimator, self._X = estimator, X
        self._columns, self._narrow = _largest_features(X)
        self._models: dict[int, Any] = {}
        self._noise: dict[tuple[int, int], RankedNoise] = {}
        self._found: dict[tuple[int, int], tuple[NDArray[Any], NDArray[Any]]] = {}
        self._lost: dict[int, NDArray[Any]] = {}

    def start_from(self, model: Any) -> None:
        """Fit halves from the parts of this model, which was fitted to all samples."""
        k = len(model.components_)
        if k not in self._models or not np.array_equal(_parts(self._models[k]), _parts(model)):
            self._models[k] = model
            self._found = {key: parts for key, parts in self._found.items() if key[0] != k}
            self._lost.pop(k, None)

    def splits(self, k: int) -> int:
        """How many splits the stability of ``k`` parts is the mean of."""
        return SPLITS_OF_DOCUMENTS if self._are_documents(k) else SPLITS

    def parts(self, k: int, split: int) -> tuple[NDArray[Any], NDArray[Any]]:
        """``k`` parts of one half, and of the other; in the order of those of all samples, if these were found."""
        if (k, split) not in self._found:
            self._found[k, split] = self._halves(k, split)
        return self._found[k, split]

    def _halves(self, k: int, split: int, *, divide: bool = False) -> tuple[NDArray[Any], NDArray[Any]]:
        half = np.random.default_rng(split).permutation(self._narrow.shape[0]) % 2 == 0
        with small_products(len(half) * self._narrow.stored_per_row * k):
            one, other = (self._half(k, rows, (split, i), divide) for i, rows in enumerate((half, ~half)))
        if (H := self._whole(k)) is not None:
            one, other = one[partners(H, one)], other[partners(H, other)]
        return one, other

    def _half(self, k: int, rows: NDArray[Any], place: tuple[int, int], divide: bool) -> NDArray[Any]:
        if self._are_documents(k):
            return self._refined(self._model(k), rows, place, divide)
        start, own = self._whole(k), self._estimator.init
        start = own if start is None or not isinstance(own, str) else start
        return parts_of(self._estimator, self._narrow, rows, self._options(k) | {"init": start})

    def _refined(self, model: Any, rows: NDArray[Any], place: tuple[int, int], divide: bool) -> NDArray[Any]:
        """Parts by least squares alone, of the half at this place: its split, and 0 or 1.

        ``divide`` divides those that are much alike at random, where that explains about as much.
        """
        picked = operand(to_csr(self._narrow.data)[rows])
        samples, _ = normalized(picked, model.resolved_["normalize"], model.resolved_["norm_power"])
        H = _parts(model)[:, self._columns]
        if place not in self._noise:  # the same for each number of parts
            self._noise[place] = RankedNoise(picked)
        law = self._noise[place].law(len(H))

        def fit(start: NDArray[Any]) -> Any:
            return best_refinement("nonnegative", samples, {"given": start}, law, n_iter=model.refine_iter)[1]

        found = fit(H)
        found = divided_again(fit, found, np.random.default_rng(place)) if divide else found
        return np.asarray(found.H, dtype=float)

    def _are_documents(self, k: int) -> bool:
        """Whether samples are sparse, in memory and refined by least squares."""
        if not is_sparse(self._narrow.data) or is_chunked(self._narrow.data):
            return False
        resolved = getattr(self._model(k), "resolved_", {})
        return resolved.get("refine") == "nonnegative" and self._whole(k) is not None

    def _model(self, k: int) -> Any:
        """The fit to all samples, None where none was possible."""
        if k not in self._models:
            try:
                self._models[k] = fitted_to(self._estimator, self._X, self._options(k))
            except InputError:
                self._models[k] = None
        return self._models[k]

    def _whole(self, k: int) -> NDArray[Any] | None:
        """Parts of all samples; None where some were not found."""
        if self._model(k) is None:
            return None
        H = _parts(self._model(k))[:, self._columns]
        return H if H.any(axis=1).all() else None

    def _options(self, k: int) -> dict[str, Any]:
        known = {} if getattr(self._estimator, "missing", None) is None else {"missing": np.nan}
        return known | {"n_components": k}

    def stability(self, k: int, split: int) -> NDArray[Any]:
        """1 less the error to expect of each part, and 0 for none; in the order of the parts of all samples."""
        one, other = self.parts(k, split)
        if not self._are_documents(k):
            return agreement(one, other)
        return np.maximum(agreement_apart(one, other) - self._lost_if_divided(k), 0.0)

    def _lost_if_divided(self, k: int) -> NDArray[Any]:
        """How much less halves agree on parts of documents if those that are much alike are divided at random."""
        if k not in self._lost:
            splits = range(DIVIDED_SPLITS)
            plain = [agreement_apart(*self.parts(k, split)) for split in splits]
            divided = [agreement_apart(*self._halves(k, split, divide=True)) for split in splits]
            self._lost[k] = np.maximum(np.mean(plain, axis=0) - np.mean(divided, axis=0), 0.0)
        return self._lost[k]

    def stabilities(self, model: Any) -> NDArray[Any]:
        """The same for the parts of a model of all samples, and each split, in rows."""
        self.start_from(model)
        k, H = len(model.components_), _parts(model)[:, self._columns]
        if self._whole(k) is not None:
            return np.stack([self.stability(k, split) for split in range(self.splits(k))])
        halves = (self.parts(k, split) for split in range(self.splits(k)))
        return np.stack([agreement(one[partners(H, one)], other[partners(H, other)]) for one, other in halves])


def _parts(model: Any) -> NDArray[Any]:
    return np.asarray(to_host(model.components_), dtype=float)


def set_stability(model: Any, by_split: NDArray[Any]) -> NDArray[Any]:
    """Keep the mean over the splits as ``stability_``, the lowest and the highest as ``stability_range_``."""
    model.stability_ = by_split.mean(axis=0)
    model.stability_range_ = np.column_stack([by_split.min(axis=0), by_split.max(axis=0)])
    return np.asarray(model.stability_)


def _largest_features(X: Operand) -> tuple[Any, Operand]:
    """Which features of a wide sparse matrix in memory are the largest, and a matrix of these alone; else all of it."""
    if not is_sparse(X.data) or is_chunked(X.data) or X.shape[1] <= MOST_COLUMNS:
        return slice(None), X
    matrix = to_csr(X.data)
    columns = largest_columns(np.asarray(abs(matrix).sum(axis=0)).ravel(), MOST_COLUMNS)
    return columns, operand(matrix[:, columns])
