"""How many dimensions: the number that predicts hidden entries best."""

import warnings
from collections.abc import Sequence
from time import perf_counter
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import clone

from rectifact.core.arrays import to_host
from rectifact.core.estimator import quiet_copy
from rectifact.core.operand import Operand, is_chunked, operand
from rectifact.core.sparse import native
from rectifact.latent.base import LatentTransformer
from rectifact.latent.held_out import LEAST_ROWS, MOST_ENTRIES, hide_entries
from rectifact.latent.nmd import expected

FIRST, MOST = 16, 64
"""Dimensions of the first fit, whose prior tells how many the data supports, and the most that are tried."""

SHARE, MOST_HIDDEN = 0.1, 200_000
"""Share of the entries that are hidden, and the most."""

RECURS = 0.5
"""Cosine from which on a dimension of one half of the samples is one of the other half too."""

CLEAR = 2.0
"""Standard errors by which several dimensions must predict better than one if halves of the samples share only one."""

SUPPORTED = 0.1
"""Size of a dimension of the first fit, relative to the largest, from which on the data may support it."""

PREDICTED = "share of the variance of hidden entries that is predicted, 1 is best"
"""What the score is where entries are missing."""


class LatentTrial:
    """What is known about each number of dimensions.

    Parameters
    ----------
    estimator : LatentTransformer
    X : matrix of shape (n_samples, n_features)
        Of a Dask array, a sample of rows is taken into memory.
    rng : Generator
        Draws the hidden entries and the halves of the samples.
    """

    parameter = "n_components"
    recurs = "recur in both halves"
    what = ("dimension", "dimensions")
    ladder: tuple[int, ...] = (2, 4, 8)
    negligible = 0.02  # dimensions that the prior shrinks still gain a trace, and fits end in different places
    measure = "log-likelihood of a hidden entry, higher is better"

    def __init__(self, estimator: LatentTransformer, X: Any, rng: np.random.Generator) -> None:
        if is_chunked(X):
            X = _some_rows(X, rng)
        else:
            clone(estimator)._checked(X, reset=True)  # or a fault would be counted in some of the rows
        self._X, self._estimator = X, estimator
        n, d = X.shape
        self._mask = hide_entries(X, min(SHARE, MOST_HIDDEN / (n * d)), random_state=rng)
        self._half = rng.permutation(n) % 2 == 0
        self.most = max(1, min(MOST, n // 2, d - 1))
        self._scores: dict[int, NDArray[Any]] = {}
        self.seconds: dict[int, float] = {}
        self._sizes: NDArray[Any] = np.zeros(0)
        self.recurrence: dict[int, NDArray[Any]] = {}
        self._spans: dict[int, list[NDArray[Any]]] = {}

    def start(self, lowest: int) -> int:
        """Dimensions that a fit with more of them supports."""
        first = min(max(FIRST, lowest), self.most)
        self.scores(first)
        return max(1, int(np.sum(self._sizes >= SUPPORTED * self._sizes.max(initial=0.0))))

    def scores(self, k: int) -> NDArray[Any]:
        """Log-likelihood of each hidden entry; with missing entries, the share of the variance that is predicted.

        A likelihood rests on the scale of the noise. Where columns differ in theirs, it would punish a fit that
        predicts better and is too sure.
        """
        if k not in self._scores:
            begun = perf_counter()
            model = self._fit(self._X, k, self._hidden())
            by_error = self._estimator.missing is not None and model.resolved_.get("link") == "relu"
            self.measure = PREDICTED if by_error else type(self).measure
            judge = _shares if by_error else type(model)._held_out_likelihoods
            self._scores[k] = judge(model, model._known(self._X), self._mask)
            self._sizes = np.sort(np.linalg.norm(np.asarray(to_host(model.embedding_)), axis=0))[::-1]
            self.seconds[k] = perf_counter() - begun
        return self._scores[k]

    def free(self) -> list[int]:
        """Numbers whose score costs nothing more."""
        return list(self._scores)

    def recurring(self, k: int, ks: Sequence[int]) -> int:
        """``k``, or 1 if halves of the samples share only one of its dimensions.

        Half of the data with gaps may be too little to find them again, so they are kept if they clearly lower the
        error of hidden entries; a likelihood is no such evidence, as it also rises where one dimension misfits noise.
        The stability of each dimension says how far it is found again.
        """
        if k == 1 or (self.measure == PREDICTED and self._clearly_better(k)):
            return k
        return k if np.sum(self.stability(k) >= RECURS) > 1 else 1

    def _clearly_better(self, k: int) -> bool:
        gained = self.scores(k) - self.scores(1)
        return bool(gained.mean() > CLEAR * gained.std() / max(gained.size, 1) ** 0.5)

    def doubt(self) -> str:
        """Nothing: what hidden data does not support is not there."""
        return ""

    def stability(self, k: int, model: Any = None) -> NDArray[Any]:
        """Cosine between each dimension and what the halves of the samples span, the lower of the two."""
        if k not in self._spans:
            self._spans[k] = [self._of_half(k, half) for half in (self._half, ~self._half)]
        spans = self._spans[k]
        if model is None:
            return np.linalg.svd(spans[0] @ spans[1].T, compute_uv=False)
        B = np.asarray(to_host(model.components_), dtype=float)
        return np.min([np.linalg.norm(B @ span.T, axis=1) for span in spans], axis=0)

    def _of_half(self, k: int, half: NDArray[Any]) -> NDArray[Any]:
        X, missing = self._X, self._estimator.missing
        missing = missing[half] if np.ndim(missing) == 2 else missing
        rows = native(operand(X).where(half)[0].data) if hasattr(X, "dtype") else X[half]
        return np.asarray(to_host(self._fit(rows, k, missing).components_), dtype=float)

    def _fit(self, X: Any, k: int, missing: Any) -> Any:
        options: dict[str, Any] = {"n_components": k, "missing": missing}
        if self._estimator.prior == "auto" and getattr(self._estimator, "objective", "") != "latent":
            options["prior"] = "factors"  # the choice between priors, which may change with k, would bend the curve
        with warnings.catch_warnings(action="ignore"):
            return quiet_copy(self._estimator, **options).fit(X)

    def _hidden(self) -> Any:
        missing = self._estimator.missing
        if np.ndim(missing) != 2:
            return self._mask
        return sp.csr_array(to_host(missing)).astype(bool) + self._mask


def _shares(model: Any, X: Operand, mask: Any) -> NDArray[Any]:
    """Each hidden entry that is known: 1 less its squared error, as a share of the variance of all of them."""
    x, theta = model._held_out(X, mask)
    found = np.minimum(expected(theta, model.scale_ / model._unit, "relu"), model._largest / model._unit)
    varies = x.size > 1 and np.ptp(x) > 0  # one entry does not: its error is a share of its square
    spread = float(x.var() if varies else (x**2).sum() / max(x.size, 1))
    return np.asarray(1 - (x - found) ** 2 / (spread or 1.0))


def _some_rows(X: Any, rng: np.random.Generator) -> Any:
    """Rows of a Dask array, in memory: all of them, or a random sample where there are many."""
    n, d = X.shape
    return X[np.sort(rng.permutation(n)[: max(LEAST_ROWS, MOST_ENTRIES // d)])].compute()
