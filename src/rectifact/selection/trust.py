"""The trial of each family, and how far what an estimator has found can be trusted."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from rectifact.core.errors import InputError
from rectifact.core.reprs import short_repr
from rectifact.core.validation import check_generator
from rectifact.graph.base import GraphClusterer
from rectifact.graph.how_many import GraphTrial
from rectifact.latent.base import LatentTransformer
from rectifact.latent.how_many import LatentTrial
from rectifact.parts.base import PartsTransformer
from rectifact.parts.how_many import PartsTrial
from rectifact.selection.search import Trial

INTERVAL = (0.05, 0.95)
"""Quantiles of resampled parts between which a band lies; those of Weibull, as a band must hold nine tenths of further
resamples, not of those that made it."""

TRIALS: tuple[tuple[type, type], ...] = (
    (PartsTransformer, PartsTrial),
    (LatentTransformer, LatentTrial),
    (GraphClusterer, GraphTrial),
)


@short_repr
@dataclass(frozen=True)
class Assessment:
    """How far what was found can be trusted.

    Attributes
    ----------
    stability : array of shape (k,)
        How far each part, dimension or community is found again in resampled data, 1 if it is the same. For a part,
        about 1 less its relative error.
    lower, upper : array of shape (n_components, n_features), or None
        Band that holds nine tenths of the parts of resampled samples, entry by entry, from 19 resamples on; only with
        ``bootstrap``. It shows how far the parts depend on which samples there are, with their number fixed. It holds
        fewer of the true parts, as an error that all resamples share is not in it.
    membership : array of shape (n_nodes, n_clusters), or None
        Share of resampled graphs in which a node belongs to a community, of those in which it is in any: a graph in
        which it is in none, as where none of its edges is drawn, does not count for it. Rows sum to 1, or to 0 for a
        node that was in no community of any graph. Only with ``bootstrap``.
    range : array of shape (2, k), or None
        Lowest and highest stability of each community among the samples of edges.
    """

    stability: NDArray[Any]
    lower: NDArray[Any] | None = None
    upper: NDArray[Any] | None = None
    membership: NDArray[Any] | None = None
    range: NDArray[Any] | None = None


def assess(estimator: Any, X: Any, *, bootstrap: int = 0, random_state: Any = None) -> Assessment:
    """Find out how far each part, dimension or community of a fitted estimator can be trusted.

    Sets ``stability_``, and with ``bootstrap`` the ``bands_`` of parts, ``lower`` and ``upper`` in one array, or the
    ``shares_`` of nodes, which are ``membership``, for the report.

    Parts and dimensions are compared with those of two halves of the samples, communities with those of 2 to 10 samples
    of the edges, of which stability is the mean, and ``stability_range_`` has the lowest and highest. A part that
    chance has made is not found again.

    Parameters
    ----------
    estimator : ANDNMF, PurificationNMF, NMD, LogisticPCA, SymNMF or SymNMFNet
        Fitted.
    X : array, sparse array, Dask array or graph
        What it was fitted to.
    bootstrap : int, default 0
        Number of further fits: to samples drawn again for the bands of parts, to edges drawn again for the memberships
        of nodes. 20 give an impression, 100 a figure. For data in memory.
    random_state : int, Generator, RandomState or None, default None
        Seed of what is drawn.

    Returns
    -------
    Assessment

    Examples
    --------
    >>> from rectifact import ANDNMF
    >>> from rectifact.datasets import make_topics
    >>> from rectifact.selection import assess
    >>> X = make_topics(n_samples=400, n_features=60, n_topics=4, noise=0.001).X
    >>> for k in (4, 5):                                     # right, and one too many
    ...     found = assess(ANDNMF(k, random_state=0).fit(X), X, random_state=0)
    ...     print(int((found.stability > 0.9).sum()), "of", k, "are found again")
    4 of 4 are found again
    4 of 5 are found again
    """
    check_is_fitted(estimator)
    rng = check_generator(random_state)
    trial = trial_of(estimator, X, rng)
    stability = set_stability(estimator, trial)
    if not bootstrap:
        return Assessment(stability, range=getattr(estimator, "stability_range_", None))
    if isinstance(trial, PartsTrial):
        parts = [trial.resampled(estimator, rng) for _ in range(bootstrap)]
        lower, upper = np.quantile(parts, INTERVAL, axis=0, method="weibull")
        estimator.bands_ = np.stack([lower, upper])
        return Assessment(stability, lower, upper)
    if isinstance(trial, GraphTrial):
        times = np.sum([trial.resampled(estimator, rng) for _ in range(bootstrap)], axis=0)
        shares = times / np.maximum(times.sum(axis=1, keepdims=True), 1)
        estimator.shares_ = shares
        return Assessment(stability, membership=shares, range=estimator.stability_range_)
    what = "bootstrap is for parts and communities: dimensions can be turned, and have no bands."
    raise InputError(what, "Leave it out.", option="bootstrap")


def set_stability(estimator: Any, trial: Trial) -> NDArray[Any]:
    """Measure and keep the stability of what a fitted estimator has found, and its range where it is a mean."""
    estimator.stability_ = trial.stability(getattr(estimator, trial.parameter), estimator)
    if isinstance(trial, GraphTrial):
        estimator.stability_range_ = trial.stability_range
    return np.asarray(estimator.stability_)


def trial_of(estimator: Any, X: Any, rng: np.random.Generator) -> Trial:
    """What the family of the estimator knows about each number, on this data."""
    for kind, trial in TRIALS:
        if isinstance(estimator, kind):
            return trial(estimator, X, rng)
    raise InputError(
        f"{type(estimator).__name__} has no number to choose.",
        "Give ANDNMF, PurificationNMF, NMD, LogisticPCA, SymNMF or SymNMFNet.",
    )
