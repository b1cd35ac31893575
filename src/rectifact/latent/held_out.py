"""Held-out entries: hide some, predict them, and choose what predicts them best."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from rectifact.core.arrays import Array, is_host, to_host
from rectifact.core.device_csr import DeviceCSR
from rectifact.core.errors import InputError
from rectifact.core.operand import Operand, operand
from rectifact.core.validation import check_generator
from rectifact.latent.data import with_missing
from rectifact.latent.model import LatentModel
from rectifact.latent.statistics import statistics

SHARE = 0.05
MOST_HIDDEN = 100_000
MOST_ENTRIES, LEAST_ROWS = 1 << 22, 1000
"""Size of the sample that a trial takes: so many entries, but at least so many rows."""

LEAST_ENTRIES = 2000
"""Fewer entries cannot tell which model is better."""

Losses = Callable[[NDArray[np.float64], NDArray[np.float64], float], Any]


def hide_entries(X: Any, share: float = SHARE, *, random_state: Any = None) -> sp.csr_array:
    """A mask of randomly chosen entries of X, to fit without them and to score the model on them.

    Parameters
    ----------
    X : array or sparse array of shape (n_samples, n_features)
        Only its shape is used: zeros are hidden as often as other entries.
    share : float, default 0.05
        Share of the entries that are hidden, between 0 and 1.
    random_state : int, Generator, RandomState or None, default None

    Returns
    -------
    csr_array of bool, of the shape of X
        For ``NMD(missing=mask)`` and ``score(X, held_out=mask)``.

    Examples
    --------
    >>> from rectifact import NMD, hide_entries
    >>> from rectifact.datasets import make_dots
    >>> X = make_dots(size=16, grid=16).X
    >>> mask = hide_entries(X, random_state=0)
    >>> scores = {k: NMD(k, missing=mask).fit(X).score(X, held_out=mask) for k in (2, 5)}
    >>> scores[5] > scores[2]
    True
    """
    if not 0 < share < 1:
        raise InputError(f"share={share!r} must lie between 0 and 1.", option="share=")
    n, d = X.shape
    size = max(1, round(share * n * d))
    places = np.unique(check_generator(random_state).integers(n * d, size=size))
    return sp.csr_array((np.ones(len(places), dtype=bool), (places // d, places % d)), shape=(n, d))


def held_out_score(estimator: Any, X: Any, y: None = None) -> float:
    """Log-likelihood of entries of X that the embedding is made without, for ``scoring`` of scikit-learn.

    The entries are those of ``hide_entries(X, random_state=0)``. Unlike ``estimator.score(X)``, it does not rise with
    the number of dimensions for ever, so that a search can choose it.

    .. versionadded:: 0.2

    Parameters
    ----------
    estimator : NMD or LogisticPCA
        A fitted one.
    X : array or sparse array of shape (n_samples, n_features)
        Samples, those of the fit or others.
    y : None
        Ignored.

    Returns
    -------
    float
        In nats per entry; higher is better.

    Examples
    --------
    >>> from sklearn.model_selection import GridSearchCV, KFold
    >>> from rectifact import NMD, held_out_score
    >>> from rectifact.datasets import make_dots
    >>> X = make_dots(size=12, grid=12).X
    >>> folds = KFold(2, shuffle=True, random_state=0)
    >>> search = GridSearchCV(NMD(), {"n_components": [2, 5]}, scoring=held_out_score, cv=folds)
    >>> search.fit(X).best_params_
    {'n_components': 5}
    """
    if not hasattr(estimator, "_held_out_likelihoods"):
        what = f"held_out_score is for NMD and LogisticPCA; got {type(estimator).__name__}."
        raise InputError(what, "Leave scoring out: the score of other estimators is on held-out data already.")
    return float(estimator.score(X, held_out=hide_entries(X, random_state=0)))


def check_held_out(mask: Any, shape: tuple[int, int]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Rows and columns of the held-out entries."""
    mask = mask if sp.issparse(mask) else np.asarray(to_host(mask))
    if tuple(mask.shape) != shape:
        raise InputError(
            f"held_out has the shape {tuple(mask.shape)} and X {shape}.",
            "Give a mask of the shape of X, for example that of hide_entries(X).",
            option="held_out=",
        )
    rows, columns = mask.nonzero()
    if not len(rows):
        raise InputError("held_out hides no entry: there is nothing to score.", "Use hide_entries(X).")
    return rows, columns


def entries_at(X: Array, rows: NDArray[Any], columns: NDArray[Any]) -> NDArray[np.float64]:
    """Single entries of a matrix in memory, on the host."""
    found = to_host(X)[rows, columns]
    return np.asarray(found.toarray() if sp.issparse(found) else found, dtype=np.float64).ravel()


def theta_at(A: Array, B: Array, rows: NDArray[Any], columns: NDArray[Any]) -> NDArray[np.float64]:
    """Single entries of Theta, on the host."""
    A, B = (np.asarray(to_host(part), dtype=np.float64) for part in (A, B))
    return np.asarray(np.einsum("ir,ir->i", A[rows], B.T[columns]))


@dataclass(frozen=True)
class Trial:
    """Data of which some entries are hidden, to compare models on them.

    Attributes
    ----------
    X : Operand
        The data, or a sample of its rows, with NaN where an entry is hidden.
    rows, columns : arrays of shape (n_hidden,)
    truth : array of shape (n_hidden,)
        The hidden entries.
    """

    X: Operand
    rows: NDArray[Any]
    columns: NDArray[Any]
    truth: NDArray[np.float64]

    def loss(self, losses: Losses, model: LatentModel) -> float:
        """Mean over the hidden entries of ``losses``, which sees their values, their Theta and sigma."""
        theta = theta_at(model.A, model.B, self.rows, self.columns)
        return float(np.mean(losses(self.truth, theta, float(model.sigma))))


def begin_trial(X: Operand, rank: int, seed: int, positive: bool = False) -> Trial | None:
    """Hide some entries of X, a sample of whose rows is taken into memory where it is large.

    None where the data is too small to tell which model is better, or has nothing but positive entries, unless those
    are to be tried as well.
    """
    n, d = X.shape
    wanted = max(LEAST_ROWS, MOST_ENTRIES // d)
    rng = np.random.default_rng((seed, n, d))  # not the sequence of a mask that a user drew with the same seed
    chosen = np.zeros(n, dtype=bool)
    chosen[rng.permutation(n)[:wanted]] = True
    parts = X.total(_picked, along=(X.split(chosen),)) if wanted < n else X.total(_whole)
    data = parts[0] if len(parts) == 1 else sp.vstack(parts, format="csr")
    if min(data.shape) < rank or data.shape[0] * d < LEAST_ENTRIES:
        return None
    mask = hide_entries(data, min(SHARE, MOST_HIDDEN / (data.shape[0] * d)), random_state=rng)
    hidden = with_missing(operand(data), mask)
    facts = hidden.total(statistics)
    if not facts.positive or (facts.positive == facts.known and not positive):
        return None
    rows, columns = mask.nonzero()
    truth = entries_at(data, rows, columns)
    known = ~np.isnan(truth)
    return Trial(hidden, rows[known], columns[known], truth[known]) if known.any() else None


def _whole(X: Array) -> list[Array]:
    return [X]


def _picked(X: Array, chosen: Any) -> list[Array]:
    if isinstance(X, DeviceCSR):
        return [X.like(to_host(X)[chosen])]
    if not is_host(X):
        return [X[np.flatnonzero(chosen).tolist()]]
    return [X[np.asarray(chosen)]]
