"""Whether recommendations find what was hidden, and whether they do so better than what is popular."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from rectifact.core.errors import count
from rectifact.latent.filling import MOST_SWEEPS, known_rows
from rectifact.latent.held_out import LEAST_ROWS
from rectifact.latent.neighbours import best_unseen

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


def compare_with_popularity(model: Any, X: Any, n: int = 10) -> Recall | None:
    """Hide one positive entry in each row, fit again, and see whether it is recommended.

    The second fit takes the entry for a zero, as ``recommend`` does with what is not there, or for missing if the model
    has ``missing``; then one of the larger values of the row is hidden.

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
    Recall or None
        None if too few rows have three positive entries, or there are no more than n columns.

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
    gaps = model.missing is not None
    known = known_rows(model, X, np.sort(rng.permutation(n_samples)[: max(LEAST_ROWS, MOST_ENTRIES // d)]))
    positive = known > 0
    if gaps:
        middle = np.nanmedian(np.where(positive, known, np.nan), axis=1, keepdims=True) if positive.any() else 0.0
        candidates = positive & (known >= middle)
    else:
        candidates = positive
    rows = np.flatnonzero(positive.sum(axis=1) >= LEAST_POSITIVE)
    if len(rows) < LEAST_HIDDEN or n >= d:
        return None
    columns = np.where(candidates[rows], rng.random((len(rows), d)), -1.0).argmax(axis=1)
    seen = known.copy()
    seen[rows, columns] = np.nan if gaps else 0.0
    if not (seen > 0).any():
        return None
    run: dict[str, Any] = {"callbacks": None, "verbose": False, "checkpoint": None, "resume": False}
    run["n_components"] = min(model.components_.shape[0], *seen.shape)
    run |= {"missing": np.nan if gaps else None, "prior": model.resolved_.get("prior")}
    run |= {"max_iter": min(model.max_iter, MOST_SWEEPS)} | ({"solver": "sweep"} if hasattr(model, "solver") else {})
    with warnings.catch_warnings(action="ignore"):
        fit = clone(model).set_params(**run).fit(sp.csr_array(seen))
    ours = best_unseen(seen, fit.embedding_, fit._predicted, n)[0]
    common = (seen > 0).sum(axis=0)
    theirs = best_unseen(seen, seen, lambda some: np.tile(common, (len(some), 1)), n)[0]
    hits = [float((found[rows] == columns[:, None]).any(axis=1).mean()) for found in (ours, theirs)]
    return Recall(hits[0], hits[1], n, len(rows))
