"""How far parts are found again in halves of the samples, on average over several splits into halves.

The fits to both halves start from the parts of all samples. From starts of their own they may end at different optima,
which says more about the search than about the data: topics that both halves have were then missed in one of them.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rectifact.core.arrays import to_csr
from rectifact.core.operand import Operand, is_chunked, operand
from rectifact.core.sparse import is_sparse
from rectifact.parts.matching import agreement, partners, parts_of
from rectifact.parts.samples import largest_columns

SPLITS = 3
"""Splits of the samples into halves. They are the same ones for the same number of samples, whatever the seed of a fit:
a figure that is shown twice is the same figure."""

MOST_COLUMNS = 2000
"""Features of sparse data, the largest, in which parts of halves are compared."""


class Halves:
    """Parts of halves of the samples, each fitted once.

    Parameters
    ----------
    estimator : PartsTransformer
        Says how halves are fitted.
    X : Operand of shape (n_samples, n_features)
    """

    def __init__(self, estimator: Any, X: Operand) -> None:
        self._estimator = estimator
        self._columns, self._narrow = _largest_features(X)
        self._starts: dict[int, NDArray[Any] | str] = {}
        self._found: dict[tuple[int, int], tuple[NDArray[Any], NDArray[Any]]] = {}

    def parts(self, k: int, split: int) -> tuple[NDArray[Any], NDArray[Any]]:
        """``k`` parts of one half, and of the other."""
        if (k, split) not in self._found:
            half = np.random.default_rng(split).permutation(self._narrow.shape[0]) % 2 == 0
            options = self._options(k) | {"init": self._start(k)}
            one, other = (parts_of(self._estimator, self._narrow, rows, dict(options)) for rows in (half, ~half))
            self._found[k, split] = one, other
        return self._found[k, split]

    def _start(self, k: int) -> Any:
        """Parts of all samples; what the estimator starts from where it has parts of its own, or finds none."""
        if k not in self._starts:
            start = self._estimator.init
            if isinstance(start, str):
                whole = parts_of(self._estimator, self._narrow, np.ones(self._narrow.shape[0], bool), self._options(k))
                start = whole if whole.any(axis=1).all() else start
            self._starts[k] = start
        return self._starts[k]

    def _options(self, k: int) -> dict[str, Any]:
        known = {} if getattr(self._estimator, "missing", None) is None else {"missing": np.nan}
        return known | {"n_components": k}

    def stability(self, k: int, split: int, H: NDArray[Any] | None = None) -> NDArray[Any]:
        """1 less the error to expect of each part, and 0 for none; in the order of the parts H, or of one half."""
        one, other = self.parts(k, split)
        H = one if H is None else H[:, self._columns]
        return agreement(one[partners(H, one)], other[partners(H, other)])

    def stabilities(self, k: int, H: NDArray[Any]) -> NDArray[Any]:
        """The same for each split, in rows."""
        return np.stack([self.stability(k, split, H) for split in range(SPLITS)])


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
