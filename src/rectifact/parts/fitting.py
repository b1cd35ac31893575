"""From AND's parts to a refined fit: which likelihood suits the data, and which start it takes."""

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from rectifact.core.arrays import Array, namespace, to_host
from rectifact.core.linalg import nnls_gram
from rectifact.core.monitor import Monitor
from rectifact.core.operand import Operand, operand
from rectifact.parts.noise import NoiseLaw
from rectifact.parts.refinement import (
    Best,
    Refined,
    Refinement,
    evidence,
    faint_weights_removed,
    nonnegative_fit,
    poisson_fit,
    refine,
)
from rectifact.parts.samples import choose_norm, column_means, divide_columns, smallest_entry

COUNT_LIKE = 0.4
"""Growth of the variance with the mean, as a power, from which on a Poisson likelihood fits better than a Gaussian."""

MOSTLY_NOISE = 0.5
"""Share of samples that are mostly noise from which on least squares is taken for counts too."""

REFINE_TOL = 1e-5
"""A refinement stops when its loss falls by less than this share of the first in one sweep."""

NOISY_TOL = 1e-6
"""The same where samples are mostly noise, and a refinement goes on to its end."""

TRIAL = 30
"""Sweeps from each start before the better one goes on."""

GAP_ITER, GAP_TOL = 500, 1e-7
"""Limits for weights of samples with gaps."""


def choose_likelihood(X: Operand, law: NoiseLaw) -> Refinement | None:
    """The likelihood that suits the noise; None for samples of both signs, and for those without noise.

    Where most samples are mostly noise, as documents are, a Poisson likelihood would fit the rarest features first:
    least squares gives more coherent topics.
    """
    if choose_norm(X) == "l2" or law.level == 0:
        return None
    counted = law.entry_power >= COUNT_LIKE and law.noisy_rows < MOSTLY_NOISE and smallest_entry(X) >= 0
    return "poisson" if counted else "nonnegative"


def best_refinement(
    kind: Refinement,
    X: Operand,
    starts: Mapping[str, Array],
    law: NoiseLaw,
    *,
    n_iter: int,
    background: Array | None = None,
    missing: bool = False,
) -> tuple[str, Refined]:
    """Refine parts from several starts for a few sweeps, and go on with the one of the highest evidence.

    Where most samples are mostly noise, as documents are, the evidence says little about the volume between the parts,
    and least squares goes on with the smallest loss, to its end.

    Parameters
    ----------
    kind : {"nonnegative", "poisson"}
    X : Operand of shape (n_samples, n_features)
        NaN where an entry is missing.
    starts : mapping of str to array of shape (n_components, n_features)
    law : NoiseLaw
    n_iter : int
        Most sweeps.
    background : array of shape (n_features,), optional
        Where an always present part starts.
    missing : bool, default False

    Returns
    -------
    name : str
        That of the start.
    found : Refined
        The background is its last part.
    """
    trials = min(TRIAL, n_iter) if len(starts) > 1 else n_iter
    judge = None if kind == "nonnegative" and law.noisy_rows >= MOSTLY_NOISE else law
    tol, fits = NOISY_TOL if judge is None else REFINE_TOL, {}
    for name, start in starts.items():
        monitor = Monitor(trials, tol=tol)
        fits[name] = refine(kind, X, start, monitor=monitor, law=judge, background=background, missing=missing)
    n_fixed = 0 if background is None else 1
    if judge is None:
        name = min(fits, key=lambda name: fits[name].loss)
    else:
        name = max(fits, key=lambda name: evidence(fits[name], judge, fits[name].H.shape[0] - n_fixed))
    best, fit = fits[name], nonnegative_fit if kind == "nonnegative" else poisson_fit
    if trials < n_iter:
        monitor, kept = Monitor(n_iter - trials, tol=tol), Best(judge, n_fixed, best)
        best = fit(X, best.W, best.H, monitor=monitor, best=kept, n_fixed=n_fixed, missing=missing)
    return name, best


def without_faint_weights(
    X: Operand, found: Refined, law: NoiseLaw, *, n_iter: int, n_fixed: int = 0, missing: bool = False
) -> Refined:
    """A Poisson fit, fitted again without the weights that its noise explains; the last ``n_fixed`` columns stay."""
    W, monitor = faint_weights_removed(X, found, law, n_fixed), Monitor(n_iter, tol=REFINE_TOL)
    return poisson_fit(X, W, found.H, monitor=monitor, n_fixed=n_fixed, missing=missing, keep_zeros=True)


def scaled_features(X: Operand, power: float) -> tuple[Operand, Array]:
    """Samples whose features are divided by the standard deviation that their mean lets expect, and the divisors."""
    means = column_means(X)
    xp = namespace(means)
    scale = xp.where(means > 0, means, xp.ones_like(means)) ** (0.5 * min(max(power, 0.0), 1.0))
    return operand(X.map_rows(divide_columns, scale, columns=X.shape[1])), scale


def predicted_squares(cross: Array, grams: NDArray[np.float64]) -> float:
    """By how much the squares of samples fall if each group of features is predicted from the others.

    Parameters
    ----------
    cross : array of shape (n_samples, n_groups * k)
        ``X @ H_g.T`` of each group g, where H_g are the parts in the features of the group.
    grams : array of shape (n_groups, k, k)
        ``H_g @ H_g.T``.

    Examples
    --------
    >>> part = np.array([[1.0, 0.0], [0.0, 1.0]])  # one part, in two groups of one feature each
    >>> X = np.array([[3.0, 3.0]])
    >>> float(predicted_squares(X @ part.T, np.ones((2, 1, 1))))  # of 9 + 9
    18.0
    """
    n_groups, k = grams.shape[:2]
    C = np.asarray(to_host(cross), dtype=float).reshape(-1, n_groups, k)
    everything, gram, fall = C.sum(axis=1), grams.sum(axis=0), 0.0
    for g in range(n_groups):
        W = nnls_gram(gram - grams[g], (everything - C[:, g]).T).T
        fall += float((2 * W * C[:, g]).sum() - ((W @ grams[g]) * W).sum())
    return fall


def completed(X: Array, fitted: Array) -> Array:
    """Samples with what was fitted in their gaps."""
    xp = namespace(X)
    return xp.where(xp.isnan(X), fitted, X)


def weights_with_gaps(X: Array, weights: Callable[[Array], Array], fitted: Callable[[Array], Array]) -> Array:
    """Weights of dense samples whose gaps (NaN) are filled with what the weights say, until they no longer change.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
    weights : callable
        Weights of samples without gaps.
    fitted : callable
        Samples from weights.

    Examples
    --------
    >>> import numpy as np
    >>> part = np.array([[1.0, 2.0]])
    >>> found = weights_with_gaps(np.array([[3.0, np.nan]]), lambda X: X @ np.linalg.pinv(part), lambda W: W @ part)
    >>> found.round(3)
    array([[3.]])
    """
    xp = namespace(X)
    seen = xp.sum(xp.astype(~xp.isnan(X), X.dtype), axis=1)[:, None]
    W = weights(completed(X, xp.zeros_like(X))) * (X.shape[1] / xp.clip(seen, 1, None))
    for _ in range(GAP_ITER):
        before, W = W, weights(completed(X, fitted(W)))
        if float(xp.max(xp.abs(W - before))) <= GAP_TOL * float(xp.max(W)):
            break
    return W
