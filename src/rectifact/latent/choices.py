"""What NMD finds out by trying: which prior, how long to go without it, and which of several climbs."""

from collections.abc import Callable
from math import inf
from typing import Any

import numpy as np
from scipy.special import entr

from rectifact.core.arrays import to_host
from rectifact.core.monitor import Monitor, Row
from rectifact.core.operand import Operand
from rectifact.latent.filling import dense_with_gaps
from rectifact.latent.held_out import Trial, begin_trial
from rectifact.latent.model import LatentModel
from rectifact.latent.nmd import Expectation, expected, log_likelihoods, nmd, nmd_with_priors
from rectifact.latent.scales import limits_of, tops_of
from rectifact.latent.starts import shaken, svd_start

TRIAL = 20
"""Sweeps of each fit in the trial that chooses a prior; 0, 10 or 20 without priors may come before."""

LONG_TRIAL, CLEARLY = 100, 0.9
"""The same for components without a prior, before they are taken, since they predict worse the longer they are fitted;
and the share of the error of the prior on both factors that they may have where entries are missing. There they are
then fitted to the end: zeros bound the latent matrix on one side only, and it may run away after the first sweeps."""

PATIENCE = 10
"""Sweeps that must gain next to nothing, or a plateau would be taken for the top."""

NEARLY_EXACT, PREDICTED = 0.1, 1 / 3
"""Share of the squares that is left unexplained where components need no prior, and share of the variance of hidden
entries: many dimensions explain noise as well, and do not predict."""

NEARLY_CERTAIN = 0.25
"""The same for zeros and ones: log-loss of hidden entries, as a share of that of a constant."""

MOST_RESTARTED, RESTARTS = 4096, 12
"""Entries up to which several climbs cost next to nothing, and their number."""

LEAST_CLIMB = 40
"""Checks of a climb before it may be given up, as the first sweeps do not tell where it leads."""


def choose_prior(
    X: Operand, rank: int, link: str, auto: bool, *, gaps: bool, seed: int, to_the_end: Monitor, options: dict[str, Any]
) -> tuple[str, int]:
    """The kind of prior and the number of sweeps before it that predict hidden entries best.

    Where no entry is missing, and components without a prior explain nearly everything and predict hidden entries, as
    in clean images, they have none. Otherwise they have none only if that predicts better after many sweeps, and
    clearly better where entries are missing.

    Parameters
    ----------
    X : Operand
    rank : int
    link : {"relu", "binary"}
        Probabilities of binary data are judged by their log-likelihood, other predictions by their squared error.
    auto : bool
        Whether components without a prior are a choice.
    gaps : bool
        Whether entries are missing, so that predictions matter more than how well the data is reproduced.
    seed : int
    to_the_end : Monitor
        For one fit as long as that of the data itself, where components without a prior would fill gaps; no trial is
        longer, but for the ``TRIAL`` sweeps that each needs.
    options : dict
        Further arguments of :func:`rectifact.latent.nmd.nmd`.
    """
    trial = begin_trial(X, rank, seed, positive=gaps and link == "relu")
    if trial is None:
        return "rows" if auto and not gaps else "factors", 0
    binary, losses = link == "binary", _minus_log_likelihoods if link == "binary" else _squared_errors
    options = options | {"expect": Expectation(link)}

    longest = min(LONG_TRIAL, max(TRIAL, to_the_end.max_iter))
    length = longest if gaps and auto and not binary else TRIAL

    def climb(start: LatentModel, sweeps: int = length) -> LatentModel:
        return nmd(trial.X, start, monitor=Monitor(sweeps, tol=0), **options)

    warm, scores = {0: svd_start(trial.X, rank, link, seed=seed)}, {}
    if binary or not auto:
        warm[10] = climb(warm[0], 10)
        warm[20] = climb(warm[10], 10)
    if auto and not (binary and gaps):
        free, kind = (warm[20], "wide") if binary else (climb(warm[0]), "rows")
        if not gaps and _explains(free, trial, binary):
            return kind, 0
        scores[kind, 0] = trial.loss(losses, climb(free) if binary else free)  # as many sweeps as the longest below
        scores[kind, 0] /= CLEARLY if gaps else 1.0
    for warm_up, start in reversed(warm.items()):
        model, _ = nmd_with_priors(trial.X, start, monitor=Monitor(length, tol=0), **options)
        scores["factors", warm_up] = trial.loss(losses, model)
    best = min(scores, key=lambda choice: scores[choice])
    if best[0] == "rows":
        free = nmd(trial.X, free, monitor=to_the_end if gaps else Monitor(longest - TRIAL, tol=0), **options)
        scores[best] = trial.loss(losses, free) / (CLEARLY if gaps else 1.0)
        if gaps and _runs_away(free, trial):
            scores[best] = inf
    return min(scores, key=lambda choice: scores[choice])


def _explains(model: LatentModel, trial: Trial, binary: bool) -> bool:
    """Whether a model leaves next to nothing unexplained, and does not do so by fitting noise."""
    if not binary:
        exact = float(model.sigma) ** 2 <= NEARLY_EXACT * np.mean(trial.truth[trial.truth > 0] ** 2)
        return bool(exact and trial.loss(_squared_errors, model) <= PREDICTED * trial.truth.var())
    ones = trial.truth.mean()
    return trial.loss(_minus_log_likelihoods, model) <= NEARLY_CERTAIN * float(entr(ones) + entr(1 - ones))


def _runs_away(model: LatentModel, trial: Trial) -> bool:
    """Whether a model predicts far more than is known of a column where an entry is missing or hidden.

    A few hundred hidden entries need not include one of those, which are rare and very wrong.
    """
    known = dense_with_gaps(trial.X.data)
    A, B = (np.asarray(to_host(part), dtype=np.float64) for part in (model.A, model.B))
    found = expected(A @ B, float(model.sigma), "relu")
    return bool((np.isnan(known) & (found > limits_of(known, tops_of(known)))).any())


def best_climb(
    X: Operand,
    start: LatentModel,
    monitor: Callable[..., Monitor],
    n_init: Any,
    *,
    seed: int,
    options: dict[str, Any],
) -> tuple[LatentModel, Monitor]:
    """The most likely model of ``n_init`` climbs, the first from ``start``, others with noise, and its monitor."""
    if n_init == "auto":
        n_init = RESTARTS if X.shape[0] * X.shape[1] <= MOST_RESTARTED else 1
    climbs: list[tuple[float, int, LatentModel, Monitor]] = []

    def hopeless(history: list[Row]) -> bool:
        return bool(climbs) and left_behind(history, min(climbs, key=lambda climb: climb[:2])[0])

    for run in range(n_init):
        served = monitor(run, PATIENCE, n_init)
        begin = shaken(X, start, run, seed) if run else start
        model = nmd(X, begin, monitor=served, hopeless=hopeless, **options)
        climbs.append((served.history[-1]["loss"], run, model, served))
        if served.stop_reason == "callback":
            break
    _, _, model, served = min(climbs, key=lambda climb: climb[:2])
    return model, served


def left_behind(history: list[Row], best: float) -> bool:
    """Whether a climb has farther to go to ``best``, the loss of another one, than it came in half of its sweeps.

    Examples
    --------
    >>> slow = [{"loss": 2 - 0.01 * t} for t in range(60)]              # at 1.41, after 0.3 in the last half
    >>> left_behind(slow, 1.3), left_behind(slow, 0.5), left_behind(slow[:30], 0.5)
    (False, True, False)
    """
    if len(history) < LEAST_CLIMB:
        return False
    loss = history[-1]["loss"]
    return loss - best > history[len(history) // 2]["loss"] - loss


def _minus_log_likelihoods(x: Any, theta: Any, sigma: float) -> Any:
    return -log_likelihoods(x, theta, sigma, "binary")


def _squared_errors(x: Any, theta: Any, sigma: float) -> Any:
    return (expected(theta, sigma, "relu") - x) ** 2
