"""Missing entries filled in, and whether that is any better than filling in means."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import clone

from rectifact.core.arrays import to_host
from rectifact.latent.held_out import LEAST_ROWS, MOST_ENTRIES
from rectifact.metrics import root_mean_squared_error

SHARE, LEAST_HIDDEN, MOST_SWEEPS = 0.1, 30, 200
"""Share of the known entries that are hidden, how many there must be, and the most sweeps of the fit without them."""

DOUBT = 5
"""Entries of the same mean that are added to each row and column, whose own mean a few entries do not tell."""

NO_BETTER = "What the model fills in is no better than the means of rows and columns."


@dataclass(frozen=True)
class Comparison:
    """Root mean squared errors on known entries that were hidden.

    Attributes
    ----------
    model : float
        Of a fit without them, whose predictions are clipped to the range of the known values.
    mean : float
        Of the mean of all other known entries.
    means : float
        Of the sum of that mean and what rows and columns differ from it, each drawn a little towards 0.
    n_hidden : int
    """

    model: float
    mean: float
    means: float
    n_hidden: int

    @property
    def better(self) -> bool:
        """Whether the model predicts better than both means."""
        return self.model < min(self.mean, self.means)

    @property
    def sentence(self) -> str:
        """The errors in words."""
        return (
            f"RMSE of {self.n_hidden:,} known entries that were hidden: {self.model:.3g} by the model, "
            f"{self.mean:.3g} by the mean, {self.means:.3g} by the means of rows and columns."
        )


def dense_with_gaps(X: Any, missing: Any = None) -> NDArray[np.float64]:
    """A dense copy of X with NaN where it is missing, or where ``missing`` is a mask that is true."""
    X = X if sp.issparse(X) or hasattr(X, "columns") else to_host(X)
    dense = np.array(X.toarray() if sp.issparse(X) else X, dtype=np.float64)
    if np.ndim(missing) == 2:
        mask = missing.toarray() if sp.issparse(missing) else np.asarray(to_host(missing))
        dense[mask.astype(bool)] = np.nan
    return dense


def filled(known: NDArray[np.float64], found: NDArray[Any]) -> NDArray[np.float64]:
    """What is known, and elsewhere what was found, clipped to the range of what is known.

    Examples
    --------
    >>> filled(np.array([[1.0, np.nan, 5.0]]), np.array([[0.8, 7.2, 4.9]]))
    array([[1., 5., 5.]])
    """
    gaps = np.isnan(known)
    if gaps.all():
        return np.asarray(found, dtype=np.float64)
    return np.where(gaps, np.clip(found, max(np.nanmin(known), 0.0), np.nanmax(known)), known)


def compare_with_means(model: Any, X: Any) -> Comparison | None:
    """Hide some known entries, fit again without them, and compare how they are predicted with plain means.

    Parameters
    ----------
    model : NMD or LogisticPCA
        A fitted one.
    X : array, sparse array or frame of shape (n_samples, n_features)
        The data of the fit; of large data, a sample of rows is taken.

    Returns
    -------
    Comparison or None
        None if nothing is missing, or too few entries are known.
    """
    if model.missing is None:
        return None
    rng, (n, d) = np.random.default_rng(0), X.shape
    some = np.sort(rng.permutation(n)[: max(LEAST_ROWS, MOST_ENTRIES // d)])
    known = dense_with_gaps(_rows(X, some), _rows(model.missing, some) if np.ndim(model.missing) == 2 else None)
    hidden = ~np.isnan(known) & (rng.random(known.shape) < SHARE)
    seen = np.where(hidden, np.nan, known)
    left = seen[~np.isnan(seen)]
    binary = model.resolved_.get("link") != "relu"
    if not np.isnan(known).any() or hidden.sum() < LEAST_HIDDEN or not left.any() or (binary and left.all()):
        return None
    k = min(model.components_.shape[0], *seen.shape)
    run = {"callbacks": None, "verbose": False, "checkpoint": None, "missing": np.nan, "n_components": k}
    run |= {"prior": model.resolved_.get("prior"), "max_iter": min(model.max_iter, MOST_SWEEPS)}
    with warnings.catch_warnings(action="ignore"):
        fit = clone(model).set_params(**run).fit(sp.csr_array(seen))
    found = filled(seen, np.asarray(to_host(fit.inverse_transform(fit.embedding_)), dtype=np.float64))
    ours, mean, means = (root_mean_squared_error(each[hidden], known[hidden]) for each in (found, *_means(seen)))
    return Comparison(ours, mean, means, int(hidden.sum()))


def _rows(X: Any, rows: NDArray[Any]) -> Any:
    X = X.to_numpy() if hasattr(X, "to_numpy") else X
    return sp.csr_array(X)[rows] if sp.issparse(X) else np.asarray(to_host(X))[rows]


def _means(X: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The mean of the known entries everywhere, and the means of rows and columns added up."""
    known, mean = ~np.isnan(X), np.nanmean(X)
    rest = np.where(known, X - mean, 0.0)
    columns = rest.sum(axis=0) / (known.sum(axis=0) + DOUBT)
    rest = np.where(known, rest - columns, 0.0)
    rows = rest.sum(axis=1, keepdims=True) / (known.sum(axis=1, keepdims=True) + DOUBT)
    return np.full(X.shape, mean), mean + columns + rows
