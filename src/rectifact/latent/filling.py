"""Missing entries filled in, and whether what a model predicts is any better than plain means."""

import warnings
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from rectifact.core.arrays import to_host
from rectifact.core.estimator import quiet_copy
from rectifact.latent.held_out import LEAST_ROWS, MOST_ENTRIES, hide_entries
from rectifact.latent.intervals import LEAST, Cells, Intervals, cells_of, find_intervals
from rectifact.latent.means import LEAST_COLUMN, chances_of_losses, means_of
from rectifact.latent.scales import limits_of, ranges_of, tops_of
from rectifact.metrics import root_mean_squared_error

SHARE, LEAST_HIDDEN, MOST_SWEEPS = 0.1, 30, 200
"""Share of the known entries that are hidden, how many there must be, and the most sweeps of the fit without them."""

BY_CHANCE = 0.01
"""How often some column, of all that are checked, may be called worse than its mean by chance."""

MANY_ZEROS = 0.1
"""Share of zeros among hidden entries from which on a sentence about their error says so."""

TRIED, SWEEPS, FEWEST = 400, 60, 50
"""Rows that a short trial takes, less than twice as many; the most sweeps of its fits; and the entries it must hide."""


@dataclass(frozen=True)
class Comparison:
    """Root mean squared errors on known entries that were hidden.

    Attributes
    ----------
    model : float
        Of a fit without them, whose predictions are clipped as those that fill in missing entries.
    mean : float
        Of the mean of all other known entries.
    means : float
        Of the sum of that mean and what rows and columns differ from it, as :func:`means_of` estimates them.
    n_hidden : int
    columns : float
        Of the means of the columns, drawn slightly towards the overall mean unless columns are in different units.
    by_column : tuple of (int, float, float)
        For each column: how many of its entries were hidden, and their error by the model and by its mean.
    zeros : float
        Share of the hidden entries that are zero.
    chances : tuple of float
        For each column: how likely chance makes the model worse than the mean by as much.
    hidden : tuple of Cells and array, or None
        The hidden entries, as the model or, where they are better, the means predict them, and their values.
    """

    model: float
    mean: float
    means: float
    n_hidden: int
    columns: float = np.inf
    by_column: tuple[tuple[int, float, float], ...] = ()
    zeros: float = 0.0
    chances: tuple[float, ...] = ()
    hidden: tuple[Cells, NDArray[np.float64]] | None = field(default=None, compare=False, repr=False)

    @property
    def intervals(self) -> Intervals | None:
        """Intervals for entries that are filled in, unless too few were hidden to tell."""
        return find_intervals(*self.hidden) if self.hidden is not None and self.n_hidden >= LEAST else None

    @property
    def better(self) -> bool:
        """Whether the model predicts better than all means."""
        return self.model < min(self.mean, self.means, self.columns)

    @property
    def checked_columns(self) -> list[int]:
        """Columns of which enough entries were hidden to tell how well they are predicted."""
        return [j for j, (n, _, _) in enumerate(self.by_column) if n >= LEAST_COLUMN]

    @property
    def no_better_columns(self) -> list[int]:
        """Those of them on whose hidden entries the model is no better than the mean of the column, maybe by chance."""
        return [j for j in self.checked_columns if self.by_column[j][1] >= self.by_column[j][2]]

    @property
    def worse_columns(self) -> list[int]:
        """Those of them that the model predicts worse, by more than chance would make it in any of so many columns."""
        most = BY_CHANCE / max(len(self.checked_columns), 1)
        return [j for j in self.no_better_columns if j < len(self.chances) and self.chances[j] < most]

    @property
    def plain(self) -> tuple[str, float]:
        """The better of the means of the columns and the means of rows and columns, and its error."""
        if self.columns < self.means:
            return "the means of the columns", self.columns
        return "the means of rows and columns", self.means

    @property
    def no_better(self) -> str:
        """A sentence for a model that is not better."""
        return f"The model predicts hidden entries no better than {self.simplest}."

    @property
    def simplest(self) -> str:
        """The means that predict best, in words."""
        return "the mean" if self.mean < self.plain[1] else self.plain[0]

    @property
    def figures(self) -> dict[str, Any]:
        """The errors of all entries, in plain values."""
        return {name: getattr(self, name) for name in ("model", "mean", "means", "n_hidden", "columns", "zeros")}

    @property
    def sentence(self) -> str:
        """The errors in words."""
        by, error = self.plain
        return (
            f"RMSE (lower is better) of {self.entries}: {self.model:.3g} by the model, {self.mean:.3g} by the mean, "
            f"{error:.3g} by {by}."
        )

    @property
    def entries(self) -> str:
        """What the errors are errors of, in words."""
        share = "over 99%" if 0.99 < self.zeros < 1 else f"{self.zeros:.0%}"
        zeros = f", {share} of them zeros" if self.zeros >= MANY_ZEROS else ""
        return f"{self.n_hidden:,} known entries that were hidden from a second fit{zeros}"


def unit_of(notes: dict[str, str] | None) -> str:
    """What errors are errors of, where the data was changed before the fit.

    Examples
    --------
    >>> unit_of({"values": "log"}), unit_of(None)
    (' of log(1 + value)', '')
    """
    notes = notes or {}
    logs = "log(1 + value)" if notes.get("values") == "log" else ""
    if notes.get("scale") == "standard":
        return f" of {logs or 'values'} divided by the spread of the column"
    return f" of {logs}" if logs else ""


def dense_with_gaps(X: Any, missing: Any = None) -> NDArray[np.float64]:
    """A dense copy of X with NaN where it is missing, or where ``missing`` is a mask that is true."""
    X = X if sp.issparse(X) or hasattr(X, "columns") else to_host(X)
    dense = np.array(X.toarray() if sp.issparse(X) else X, dtype=np.float64)
    if np.ndim(missing) == 2:
        mask = missing.toarray() if sp.issparse(missing) else np.asarray(to_host(missing))
        dense[mask.astype(bool)] = np.nan
    return dense


def filled(
    known: NDArray[np.float64],
    found: NDArray[Any],
    ranges: NDArray[np.float64] | None = None,
    tops: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """What is known, and elsewhere what was found, clipped to ``ranges`` and to what is possible given ``tops``.

    Both are by default those of what is known; see :mod:`rectifact.latent.scales`.

    Examples
    --------
    >>> filled(np.array([[1.0, np.nan, 5.0]]), np.array([[0.8, 7.2, 4.9]]), np.array([[1.0] * 3, [5.0] * 3]))
    array([[1., 5., 5.]])
    """
    low, high = ranges_of(known) if ranges is None else ranges
    high = np.minimum(high, limits_of(known, tops_of(known) if tops is None else tops))
    return np.where(np.isnan(known), np.clip(found, np.minimum(low, high), high), known)


def filled_by_means(
    known: NDArray[np.float64], compared: Comparison, ranges: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """What is known, and elsewhere the means that predict hidden entries best."""
    mean, means, columns = means_of(known)
    best = {"the mean": mean, "the means of the columns": columns}.get(compared.simplest, means)
    return filled(known, best, ranges)


@dataclass(frozen=True)
class Hidden:
    """Rows of the data, and which of their known entries are hidden.

    Attributes
    ----------
    known : array of shape (n_rows, n_features)
        NaN where an entry is missing.
    mask : array of bool of the same shape
    ranges : array of shape (2, n_features) or None
        To which predictions are clipped, as those that fill in missing entries; by default those of what is left.
    """

    known: NDArray[np.float64]
    mask: NDArray[np.bool_]
    ranges: NDArray[np.float64] | None = None

    @property
    def seen(self) -> NDArray[np.float64]:
        """What is left, with NaN elsewhere."""
        return np.where(self.mask, np.nan, self.known)

    def enough(self, model: Any, least: int) -> bool:
        """Whether so many entries are hidden, and the others can be fitted."""
        left = self.seen[~np.isnan(self.seen)]
        binary = model.resolved_.get("link") != "relu"
        return bool(self.mask.sum() >= least and left.any() and not (binary and left.all()))

    def error(self, found: NDArray[Any]) -> float:
        """Root mean squared error of predictions for the hidden entries."""
        return root_mean_squared_error(found[self.mask], self.known[self.mask])

    def predicted(self, model: Any, k: int, sweeps: int) -> NDArray[np.float64]:
        """What a fit without the hidden entries predicts, clipped to ``ranges``."""
        seen = self.seen
        fit = fitted_again(model, seen, k, sweeps, gaps=True)
        found = np.asarray(to_host(fit.inverse_transform(fit.embedding_)), dtype=np.float64)
        return filled(seen, found, self.ranges)

    def beside_means(self, found: NDArray[Any]) -> Comparison:
        """The error of these predictions, next to those of means."""
        simple = [filled(self.seen, each, self.ranges) for each in means_of(self.seen)]
        ours, mean, means, columns = (self.error(each) for each in (found, *simple))
        counts, zeros = self.mask.sum(axis=0), float(np.mean(self.known[self.mask] == 0))
        errors = [_by_column(each - self.known, self.mask, counts) for each in (found, simple[-1])]
        each = zip(counts.tolist(), *(error.tolist() for error in errors), strict=True)
        chances = tuple(chances_of_losses(found, simple[-1], self.known, self.mask).tolist())
        compared = Comparison(ours, mean, means, int(self.mask.sum()), columns, tuple(each), zeros, chances)
        best = found if compared.better else filled_by_means(self.seen, compared, self.ranges)
        return replace(compared, hidden=(cells_of(self.known, self.mask, best), self.known[self.mask]))


def fitted_again(model: Any, X: NDArray[np.float64], k: int, sweeps: int, *, gaps: bool) -> Any:
    """A fit like that of the model to other data, whose NaN are missing entries if there may be ``gaps``."""
    run: dict[str, Any] = {"n_components": k, "missing": np.nan if gaps else None}
    run |= {"prior": model.resolved_.get("prior"), "max_iter": min(model.max_iter, sweeps)}
    run |= {"solver": "sweep"} if hasattr(model, "solver") else {}
    with warnings.catch_warnings(action="ignore"):  # short fits do not converge
        return quiet_copy(model, **run).fit(sp.csr_array(X))


def short_trial(model: Any, X: Any) -> Hidden | None:
    """A few hundred rows of the data of the fit, evenly chosen, of which 5% is hidden; None if that is too little."""
    rows = np.arange(0, X.shape[0], max(X.shape[0] // TRIED, 1))[: max(1, MOST_ENTRIES // X.shape[1])]
    known = known_rows(model, X, rows)
    trial = Hidden(known, hide_entries(known, random_state=0).toarray() & ~np.isnan(known))
    return trial if trial.enough(model, FEWEST) else None


def hidden_trial(model: Any, X: Any) -> tuple[Hidden, int] | None:
    """Rows of the data with hidden entries, and the most sweeps of a fit without those; None if they are too few.

    Data with gaps takes as many rows as fit into the sample of a trial, of whose known entries a tenth is hidden;
    other data takes :func:`short_trial`.
    """
    if model.missing is None:
        short = short_trial(model, X)
        return None if short is None else (short, SWEEPS)
    rng, (n, d) = np.random.default_rng(0), X.shape
    known = known_rows(model, X, np.sort(rng.permutation(n)[: max(LEAST_ROWS, MOST_ENTRIES // d)]))
    mask = ~np.isnan(known) & (rng.random(known.shape) < SHARE)
    trial = Hidden(known, mask, getattr(model, "_ranges", None))
    sweeps = max(MOST_SWEEPS, model.n_iter_)  # a shorter fit may predict better than the one that fills in
    return (trial, sweeps) if trial.enough(model, LEAST_HIDDEN) else None


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
        None if too few entries are known, or the model has as many dimensions as the data.

    Examples
    --------
    >>> from rectifact import NMD
    >>> from rectifact.datasets import make_dots
    >>> X = make_dots(size=16, grid=8).X
    >>> compare_with_means(NMD(5, max_iter=40).fit(X), X).better
    True
    """
    k, found = model.components_.shape[0], hidden_trial(model, X)
    if found is None or (model.missing is None and k >= min(found[0].known.shape)):
        return None
    trial, sweeps = found
    return trial.beside_means(trial.predicted(model, min(k, *trial.known.shape), sweeps))


def known_rows(model: Any, X: Any, rows: NDArray[Any]) -> NDArray[np.float64]:
    """Some rows of the data, dense, with NaN for what is missing from the fit."""
    return dense_with_gaps(_rows(X, rows), _rows(model.missing, rows) if np.ndim(model.missing) == 2 else None)


def _rows(X: Any, rows: NDArray[Any]) -> Any:
    X = X.to_numpy() if hasattr(X, "to_numpy") else X
    return sp.csr_array(X)[rows] if sp.issparse(X) else np.asarray(to_host(X))[rows]


def _by_column(wrong: NDArray[Any], mask: NDArray[Any], counts: NDArray[Any]) -> NDArray[np.float64]:
    """Root mean squared error of the hidden entries of each column; NaN where there are none."""
    squares = np.where(mask, wrong, 0.0) ** 2
    return np.where(counts > 0, np.sqrt(squares.sum(axis=0) / np.maximum(counts, 1)), np.nan)
