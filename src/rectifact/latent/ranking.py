"""Whether recommendations find what was hidden, and whether they do so better than what is popular."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rectifact.core.errors import count
from rectifact.latent.filling import MOST_SWEEPS, Hidden, fitted_again, known_rows
from rectifact.latent.held_out import LEAST_ROWS
from rectifact.latent.means import means_of
from rectifact.latent.neighbours import best_unseen

LEAST_KNOWN, SHARE = 6, 1 / 3
"""Known values that a row needs so that some can be hidden, and the share that is."""

MOST_ENTRIES, LEAST_POSITIVE, LEAST_HIDDEN = 1 << 20, 3, 30
"""Entries of the rows that are tried, if there are more than 1000 of those; positive ones that a row needs so that one
can be hidden; and rows that must have as many."""


@dataclass(frozen=True)
class Recall:
    """Share of hidden entries, one per row, that are found.

    Attributes
    ----------
    model : float
        Among the recommendations of a fit without them.
    popular : float
        Among the columns that are positive in most rows.
    n : int
        Number of recommendations per row.
    n_hidden : int
    """

    model: float
    popular: float
    n: int
    n_hidden: int

    @property
    def better(self) -> bool:
        """Whether the model finds more than popularity does."""
        return self.model > self.popular

    @property
    def sentence(self) -> str:
        """The shares in words."""
        first = f"the {self.n} columns" if self.n > 1 else "the column"
        return (
            f"Of {self.n_hidden:,} entries hidden from a second fit, one per sample, {self.model:.0%} are among "
            f"{count(self.n, 'recommendation')} of the model; {self.popular:.0%} are among {first} that most samples "
            "have."
        )

    @property
    def advice(self) -> str:
        """What to do where the model is not better."""
        return "" if self.better else "Recommend what is popular: the model finds no more of what was hidden."


@dataclass(frozen=True)
class Ranking:
    """Mean value of the hidden entry of each row that is recommended first, of several that were hidden.

    What is listed at all says what somebody met, and not what they like: with missing entries, values are compared.

    Attributes
    ----------
    model : float
        Of the entry for which a fit without the hidden ones predicts most.
    means : float
        Of the entry whose column has the highest mean.
    popular : float
        Of the entry whose column is known in most rows.
    every : float
        Of all hidden entries, which is what choosing at random gives.
    n_rows, n_hidden : int
    """

    model: float
    means: float
    popular: float
    every: float
    n_rows: int
    n_hidden: int

    @property
    def better(self) -> bool:
        """Whether the model recommends higher values than means and popularity do."""
        return self.model > max(self.means, self.popular)

    @property
    def sentence(self) -> str:
        """The values in words."""
        return (
            f"Of {self.n_hidden:,} known values hidden from a second fit, those that the model puts first in each of "
            f"{count(self.n_rows, 'sample')} have a mean of {self.model:.2f} (higher is better); {self.means:.2f} if "
            f"the columns with the highest means come first, {self.popular:.2f} if those that most samples have do, "
            f"{self.every:.2f} at random."
        )

    @property
    def advice(self) -> str:
        """What to do where the model is not better."""
        if self.better:
            return ""
        best = "the columns with the highest means" if self.means >= self.popular else "the columns that most have"
        return f"Recommend {best}: what the model puts first has no higher values."


def compare_with_popularity(model: Any, X: Any, n: int = 10) -> Recall | Ranking | None:
    """Hide one positive entry in each row, fit again, and see whether it is recommended.

    The second fit takes the entry for a zero, as ``recommend`` does with what is not there. If the model has
    ``missing``, a third of the known values of each row are hidden, and the values of those that come first are
    compared.

    .. versionadded:: 0.2

    Parameters
    ----------
    model : NMD or LogisticPCA
        A fitted one.
    X : array, sparse array or frame of shape (n_samples, n_features)
        The data of the fit; of large data, a sample of rows is taken.
    n : int, default 10
        Number of recommendations per row.

    Returns
    -------
    Recall, or Ranking for a model with missing entries, or None
        None if too few rows have three positive entries, or six known ones; or there are no more than n columns.

    Examples
    --------
    >>> from rectifact import NMD
    >>> rng = np.random.default_rng(0)
    >>> kind, of = rng.integers(3, size=(150, 1)), np.arange(30) % 3
    >>> X = 1.0 * (rng.random((150, 30)) < np.where(kind == of, 0.5, 0.05))
    >>> found = compare_with_popularity(NMD(2, random_state=0, max_iter=50).fit(X), X, 5)
    >>> found.better, found.n
    (True, 5)
    """
    rng, (n_samples, d) = np.random.default_rng(0), X.shape
    known = known_rows(model, X, np.sort(rng.permutation(n_samples)[: max(LEAST_ROWS, MOST_ENTRIES // d)]))
    if n >= d:
        return None
    return _ranking(model, known, rng) if model.missing is not None else _recall(model, known, n, rng)


def _recall(model: Any, known: NDArray[np.float64], n: int, rng: np.random.Generator) -> Recall | None:
    """Hide one positive entry per row as a zero, and look for it among the recommendations."""
    positive = known > 0
    rows = np.flatnonzero(positive.sum(axis=1) >= LEAST_POSITIVE)
    if len(rows) < LEAST_HIDDEN:
        return None
    columns = np.where(positive[rows], rng.random((len(rows), known.shape[1])), -1.0).argmax(axis=1)
    seen = known.copy()
    seen[rows, columns] = 0.0
    if not (seen > 0).any():
        return None
    fit = _fitted_again(model, seen)
    ours = best_unseen(seen, fit.embedding_, fit._predicted, n)[0]
    common = (seen > 0).sum(axis=0)
    theirs = best_unseen(seen, seen, lambda some: np.tile(common, (len(some), 1)), n)[0]
    hits = [float((found[rows] == columns[:, None]).any(axis=1).mean()) for found in (ours, theirs)]
    return Recall(hits[0], hits[1], n, len(rows))


def _ranking(model: Any, known: NDArray[np.float64], rng: np.random.Generator) -> Ranking | None:
    """Hide a third of the known values of each row, and compare those that come first."""
    counts = (~np.isnan(known)).sum(axis=1)
    order = np.where(np.isnan(known), 2.0, rng.random(known.shape)).argsort(axis=1).argsort(axis=1)
    mask = (order < SHARE * counts[:, None]) & (counts >= LEAST_KNOWN)[:, None] & ~np.isnan(known)
    trial = Hidden(known, mask)
    rows = np.flatnonzero(mask.any(axis=1))
    if len(rows) < LEAST_HIDDEN or not trial.enough(model, LEAST_HIDDEN):
        return None
    fit = _fitted_again(model, trial.seen)
    columns = means_of(trial.seen)[-1]
    common = np.broadcast_to((~np.isnan(trial.seen)).sum(axis=0), known.shape)
    first = [np.where(mask, np.asarray(by), -np.inf)[rows].argmax(axis=1) for by in (_all(fit), columns, common)]
    ours, means, popular = (float(known[rows, place].mean()) for place in first)
    return Ranking(ours, means, popular, float(known[mask].mean()), len(rows), int(mask.sum()))


def _all(fit: Any) -> NDArray[np.float64]:
    """What a model predicts for all entries of its fit."""
    return np.asarray(fit._predicted(fit.embedding_), dtype=np.float64)


def _fitted_again(model: Any, seen: NDArray[np.float64]) -> Any:
    k = min(model.components_.shape[0], *seen.shape)
    return fitted_again(model, seen, k, MOST_SWEEPS, gaps=model.missing is not None)
