"""What NMD finds out by trying: which prior, how long to go without it, and which of several climbs."""

from collections.abc import Callable
from functools import partial
from typing import Any

from rectifact.core.monitor import Monitor
from rectifact.core.operand import Operand
from rectifact.latent.held_out import best_of
from rectifact.latent.model import LatentModel
from rectifact.latent.nmd import Expectation, expected, log_likelihoods, nmd, nmd_with_priors
from rectifact.latent.starts import shaken, svd_start

TRIAL, WARM_UPS = 20, (20, 10, 0)
"""Sweeps of each fit in the trial that chooses a prior, and of the fits without priors that may come before."""

PATIENCE = 10
"""Sweeps that must gain next to nothing, or a plateau would be taken for the top."""

NEARLY_EXACT = 0.1
"""Share of the squares that is left unexplained where components need no prior."""

MOST_RESTARTED, RESTARTS = 4096, 12
"""Entries up to which several climbs cost next to nothing, and their number."""


def choose_prior(
    X: Operand, rank: int, link: str, rows_too: bool, *, gaps: bool, seed: int, options: dict[str, Any]
) -> tuple[str, int]:
    """The kind of prior and the number of sweeps before it that predict hidden entries best.

    Where no entry is missing, and the components explain nearly everything without a prior on them, as in clean images,
    they have none.

    Parameters
    ----------
    X : Operand
    rank : int
    link : {"relu", "binary"}
        Probabilities of binary data are judged by their log-likelihood, other predictions by their squared error.
    rows_too : bool
        Whether a prior on the rows alone is a choice: for data that is not binary, or too small for a trial.
    gaps : bool
        Whether entries are missing, so that predictions matter more than how well the data is reproduced.
    seed : int
    options : dict
        Further arguments of :func:`rectifact.latent.nmd.nmd`.
    """
    options = options | {"expect": Expectation(link)}

    def fitted(X: Operand, prior: str, warm_up: int) -> LatentModel:
        start, monitor = svd_start(X, rank, link, seed=seed), Monitor(TRIAL, tol=0)
        if prior == "rows":
            return nmd(X, start, monitor=monitor, **options)
        return nmd_with_priors(X, start, monitor=monitor, warm_up=warm_up, **options)[0]

    choices = [("factors", warm_up) for warm_up in WARM_UPS]
    if rows_too and link == "relu":
        choices = [("rows", 0), ("factors", 0)]
    fits = [partial(fitted, prior=prior, warm_up=warm_up) for prior, warm_up in choices]
    if link == "binary":
        found = best_of(X, fits, _minus_log_likelihoods, rank, seed)
    else:
        found = best_of(X, fits, _squared_errors, rank, seed, 0.0 if gaps else NEARLY_EXACT)
    return choices[found] if found is not None else ("rows" if rows_too else "factors", 0)


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
    climbs = []
    for run in range(n_init):
        served = monitor(run, PATIENCE)
        model = nmd(X, shaken(X, start, run, seed) if run else start, monitor=served, **options)
        climbs.append((served.history[-1]["loss"], run, model, served))
        if served.stop_reason == "callback":
            break
    _, _, model, served = min(climbs, key=lambda climb: climb[:2])
    return model, served


def _minus_log_likelihoods(x: Any, theta: Any, sigma: float) -> Any:
    return -log_likelihoods(x, theta, sigma, "binary")


def _squared_errors(x: Any, theta: Any, sigma: float) -> Any:
    return (expected(theta, sigma, "relu") - x) ** 2
