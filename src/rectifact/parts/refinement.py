r"""A fit with the right noise model from parts that AND has found: non-negative least squares, or Poisson likelihood.

AND tells which parts there are; a likelihood says how much each entry counts. Weights and parts are non-negative. A
*background* is a last part whose weights stay at one.

References
----------
[1] A. Cichocki, R. Zdunek and S. Amari, "Hierarchical ALS algorithms for nonnegative matrix and 3D tensor
factorization", ICA 2007. [2] D. D. Lee and H. S. Seung, "Algorithms for non-negative matrix factorization", NIPS 2000.
"""

from dataclasses import dataclass
from math import inf, log
from typing import Any, Literal

from rectifact.core.arrays import Array, namespace
from rectifact.core.linalg import pseudo_inverse
from rectifact.core.monitor import Monitor
from rectifact.core.operand import Operand, operand
from rectifact.core.sparse import entries
from rectifact.kernels import hals_sweep, poisson_information, poisson_sweep
from rectifact.parts.noise import NoiseLaw
from rectifact.parts.samples import left_over, log_sums, means_in_gaps

Refinement = Literal["nonnegative", "poisson"]

LEAST_SHARE = 1e-3
"""A multiplicative update cannot leave zero, so factors start with at least this share of their mean."""

PATIENCE = 10
"""Sweeps without a higher evidence after which a refinement stops."""

TINY = 1e-6
"""Weights below this share of the largest of their sample are what is left of a zero."""

FAINT = 1.5
"""Weights within this many standard errors of zero count as zero."""

MOST_AHEAD, CLOSER = 0.95, 0.9
"""Largest power of the last change that is applied again, and the factor by which its distance from 1 shrinks."""


@dataclass(frozen=True)
class Refined:
    """``X ~ W @ H``, both non-negative; ``loss`` relative to that of a matrix of zeros or of constant means."""

    W: Array
    H: Array
    loss: float


def nonnegative_fit(
    X: Operand | Array,
    W: Array,
    H: Array,
    *,
    monitor: Monitor,
    best: "Best | None" = None,
    n_fixed: int = 0,
    missing: bool = False,
) -> Refined:
    """Non-negative least squares by HALS [1]: one pass over the rows updates weights and all that the parts need.

    Parameters
    ----------
    X : Operand or array of shape (n_samples, n_features)
    W : array of shape (n_samples, n_components)
        Weights to start from.
    H : array of shape (n_components, n_features)
        Parts to start from.
    monitor : Monitor
        Its loss is ``||X - W H||^2 / ||X||^2`` over entries that are not missing, which cannot rise.
    best : Best, optional
        Keeps the fit with the highest evidence, and stops the run behind it.
    n_fixed : int, default 0
        Last columns of ``W`` that stay as they are.
    missing : bool, default False
        Whether NaN in a dense X stands for a missing entry, which is filled in with its fitted value.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[2.0, 0.0, 1.0], [0.0, 3.0, 0.0], [2.0, 3.0, 1.0]])
    >>> found = nonnegative_fit(X, np.eye(3)[:, :2], X[:2] + 0.1, monitor=Monitor(200, tol=0))
    >>> bool(abs(found.W @ found.H - X).max() < 1e-3)
    True
    """
    X, xp = operand(X), namespace(H)
    squared, k = X.total(_squared_known), H.shape[0]
    H, best = xp.clip(H, 0, None), best or Best(None, n_fixed)
    for _ in monitor:
        W, (WtX, WtW, gaps) = X.sweep(_hals_rows, H, n_fixed, missing, along=(W,), columns=k)
        parts = hals_sweep(xp.asarray(H.T, copy=True), WtW, WtX.T)
        H = parts.T
        rest = squared + gaps - 2 * xp.sum(WtX * H) + xp.sum(WtW * (H @ H.T))
        loss = max(float(rest), 0.0) / (float(squared) or 1.0)  # a half of few samples may hold nothing
        best.see(Refined(W, H, loss))
        monitor.record(lambda: loss, converged=best.behind)
    return best.found


def _hals_rows(rows: Array, W: Array, H: Array, n_fixed: int, missing: bool) -> tuple[Array, Array, Array, Any]:
    """New weights, ``W'X`` and ``W'W``, and the squared norm of what was filled in."""
    xp, n_free, gaps = namespace(H), H.shape[0] - n_fixed, 0.0
    if missing:
        unknown = xp.isnan(rows)
        fitted = W @ H
        rows, gaps = xp.where(unknown, fitted, rows), xp.sum(xp.where(unknown, fitted, xp.zeros_like(fitted)) ** 2)
    G = H @ H.T
    free = xp.asarray(W[:, :n_free], copy=True)
    cross = rows @ H[:n_free].T - W[:, n_free:] @ G[n_free:, :n_free]
    free = hals_sweep(free, G[:n_free, :n_free], cross)
    W = xp.concat([free, W[:, n_free:]], axis=1)
    return W, (rows.T @ W).T, W.T @ W, gaps


def poisson_fit(
    X: Operand | Array,
    W: Array,
    H: Array,
    *,
    monitor: Monitor,
    best: "Best | None" = None,
    n_fixed: int = 0,
    missing: bool = False,
    keep_zeros: bool = False,
) -> Refined:
    r"""Poisson likelihood, that is the Kullback-Leibler divergence, by multiplicative updates [2], accelerated.

    The last change of every entry, a factor, is applied again with a power that grows from 0.3 to 0.95, which keeps all
    entries positive. Where the loss rises, the run goes back to the last sweep and the power is halved.

    Parameters and result are those of :func:`nonnegative_fit`, for X without negative entries. Zeros in the weights to
    start from become small positive numbers, unless ``keep_zeros`` says that they stay. The loss of the monitor is the
    divergence :math:`\sum x \log(x / m) - x + m`, divided by that of the best fit by one part.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[2.0, 0.0, 1.0], [0.0, 3.0, 0.0], [2.0, 3.0, 1.0]])
    >>> found = poisson_fit(X, np.full((3, 2), 0.5), X[:2], monitor=Monitor(200, tol=0))
    >>> bool(abs(found.W @ found.H - X).max() < 1e-3)
    True
    """
    X, k, best = operand(X), H.shape[0], best or Best(None, n_fixed)
    constant, worst = divergence_terms(X)
    W = W if keep_zeros else operand(W).map_rows(_positive_rows, n_fixed, columns=k)
    H = _positive_rows(H, 0)
    at, last = (W, H), (W, H)
    share, lowest = 1 - 0.7, inf
    for _ in monitor:
        W, (counts, sums, raw) = X.sweep(_poisson_rows, at[1], n_fixed, missing, along=(at[0],), columns=k)
        raw = float(raw)
        if raw > lowest:  # too far ahead
            at, share, lowest = last, share / 2, inf
            continue
        H = at[1] * counts / _nonzero(sums)[:, None]
        at = (operand(W).map_rows(_ahead, share, along=(last[0],), columns=k), _ahead(H, last[1], share))
        last, lowest, share = (W, H), raw, min(1 - CLOSER * (1 - share), MOST_AHEAD)
        loss = max(raw + constant, 0.0) / worst
        best.see(Refined(W, H, loss))
        monitor.record(lambda: loss, converged=best.behind)
    return best.found


def _poisson_rows(rows: Array, W: Array, H: Array, n_fixed: int, missing: bool) -> tuple[Array, Array, Array, Any]:
    W, counts, loss = poisson_sweep(rows, W, H, 1, n_fixed, missing)
    return W, counts, namespace(H).sum(W, axis=0), loss


def _ahead(new: Array, old: Array, share: float) -> Array:
    """``new`` times the last factor to a power, the factor bounded, and never so small that it is denormal."""
    xp = namespace(new)
    least = float(xp.finfo(new.dtype).smallest_normal) ** 0.5
    factor = xp.clip(new / xp.clip(old, least, None), 0.2, 5.0)
    return xp.where(new > 0, xp.clip(new * factor**share, least, None), new)


def _positive_rows(factor: Array, n_fixed: int) -> Array:
    """Entries of at least a small share of their row's mean; the last columns stay."""
    xp = namespace(factor)
    free = xp.clip(factor[:, : factor.shape[1] - n_fixed], 0, None)
    least = LEAST_SHARE * xp.mean(free, axis=1)[:, None] + float(xp.finfo(free.dtype).smallest_normal) ** 0.5
    return xp.concat([xp.maximum(free, least + xp.zeros_like(free)), factor[:, factor.shape[1] - n_fixed :]], axis=1)


def _nonzero(values: Array) -> Array:
    xp = namespace(values)
    return xp.where(values > 0, values, xp.ones_like(values))


def divergence_terms(X: Operand | Array) -> tuple[float, float]:
    """``sum x log x - x``, and the divergence from the product of row and column sums: the best with one part.

    Examples
    --------
    >>> import numpy as np
    >>> divergence_terms(np.eye(2))[1].__round__(4)
    1.3863
    """
    X = operand(X)
    logs, rows_log, columns, total = X.total(log_sums)
    xp = namespace(columns)
    seen = xp.where(columns > 0, columns, xp.ones_like(columns))
    worst = float(logs) - float(rows_log) - float(xp.sum(columns * xp.log(seen))) + float(total) * log(float(total))
    return float(logs) - float(total), max(worst, 1e-300)


def _squared_known(rows: Array) -> Any:
    xp, values = namespace(rows), entries(rows)
    return xp.sum(xp.where(xp.isnan(values), xp.zeros_like(values), values) ** 2)


def refine(
    kind: Refinement,
    X: Operand | Array,
    H: Array,
    *,
    monitor: Monitor,
    law: NoiseLaw | None = None,
    background: Array | None = None,
    missing: bool = False,
) -> Refined:
    """Fit X by the likelihood ``kind``, from the parts ``H`` (n_components, n_features) and weights decoded by them.

    With a noise law the fit stops where its :func:`evidence` is highest. ``background`` (n_features,) is where an
    always present last part starts.
    """
    X, n_fixed = operand(X), 0 if background is None else 1
    parts = _with_background(namespace(H).clip(H, 0, None), background)
    W = X.map_rows(_first_weights, parts, n_fixed, columns=parts.shape[0])
    fit = nonnegative_fit if kind == "nonnegative" else poisson_fit
    return fit(X, W, parts, monitor=monitor, best=Best(law, n_fixed), n_fixed=n_fixed, missing=missing)


def faint_weights_removed(X: Operand, found: Refined, law: NoiseLaw, n_fixed: int = 0) -> Array:
    """Weights of a Poisson fit, zero where they are within :data:`FAINT` standard errors of zero.

    A likelihood gives a part that is absent from a sample a small weight, as the noise has it, and that bends the part:
    the parts of mixtures are only determined by the samples they are absent from. The variance of the noise is that of
    counts, in units of what the fit leaves over; noise that goes in fewer directions than there are features counts for
    as much more. Each sample keeps its largest weight, and a part without any weight left keeps them all.
    """
    xp, k = namespace(found.H), found.H.shape[0] - n_fixed
    left, total = X.total(left_over, found.H, along=(found.W,))
    variance = float(left) / float(total) * X.shape[1] / law.dimensions
    W = X.map_rows(_significant, found.H, variance, n_fixed, along=(found.W,), columns=k + n_fixed)
    kept = operand(W).total(_sums) > 0
    return operand(W).map_rows(_either, xp.astype(kept, found.H.dtype), along=(found.W,), columns=k + n_fixed)


def _significant(rows: Array, W: Array, H: Array, variance: float, n_fixed: int) -> Array:
    xp, n_free = namespace(H), H.shape[0] - n_fixed
    free, information = W[:, :n_free], poisson_information(rows, W, H)[:, :n_free]
    certain = (free**2 * information >= FAINT**2 * variance) | (free == xp.max(free, axis=1, keepdims=True))
    return xp.concat([xp.where(certain, free, xp.zeros_like(free)), W[:, n_free:]], axis=1)


def _sums(W: Array) -> Array:
    return namespace(W).sum(W, axis=0)


def _either(W: Array, before: Array, kept: Array) -> Array:
    return namespace(W).where(kept > 0, W, before)


def _with_background(H: Array, background: Array | None) -> Array:
    return H if background is None else namespace(H).concat([H, background[None, :]])


def _first_weights(rows: Array, parts: Array, n_fixed: int) -> Array:
    """Linear decoding without negative weights; gaps count as the mean of their feature, and the last columns are 1."""
    xp, n_free = namespace(parts), parts.shape[0] - n_fixed
    inverse = pseudo_inverse(parts[:n_free])
    rows = means_in_gaps(rows)
    W = xp.clip(rows @ inverse - xp.sum(parts[n_free:], axis=0) @ inverse, 0, None)
    return xp.concat([W, xp.ones_like(W[:, :1])], axis=1) if n_fixed else W


def poisson_weights(
    rows: Array, H: Array, background: Array | None = None, missing: bool = False, n_iter: int = 100
) -> Array:
    """Weights (n_samples, n_components) of parts H in new samples by Poisson likelihood; tiny ones are set to zero.

    Examples
    --------
    >>> import numpy as np
    >>> poisson_weights(np.array([[6.0, 2.0]]), np.array([[0.5, 0.5], [1.0, 0.0]])).round(2)
    array([[4., 4.]])
    """
    xp, n_fixed = namespace(H), 0 if background is None else 1
    parts = _with_background(xp.clip(H, 0, None), background)
    W = _positive_rows(_first_weights(rows, parts, n_fixed), n_fixed)
    W, _, _ = poisson_sweep(rows, W, parts, n_iter, n_fixed, missing)
    W = W[:, : H.shape[0]]
    return xp.where(TINY * xp.max(W, axis=1, keepdims=True) > W, xp.zeros_like(W), W)


class Best:
    """Keeps the fit of highest evidence, or the last where there is no noise law to weigh it by."""

    def __init__(self, law: NoiseLaw | None, n_fixed: int, found: Refined | None = None) -> None:
        self.law, self.n_fixed = law, n_fixed
        self.found: Any = None
        self.evidence, self._since = -inf, 0
        if found is not None:
            self.see(found)

    def see(self, fit: Refined) -> None:
        """Look at a further fit."""
        value = inf if self.law is None else evidence(fit, self.law, fit.H.shape[0] - self.n_fixed)
        self._since += 1
        if value >= self.evidence:
            self.found, self.evidence, self._since = fit, value, 0

    def behind(self) -> bool:
        """Whether the best fit is so many sweeps ago that better ones are not to be expected."""
        return self._since >= PATIENCE


def evidence(found: Refined, law: NoiseLaw, n_components: int) -> float:
    r"""How well a refined fit explains samples, per sample: to compare fits of the same data by the same likelihood.

    Samples that are spread over the simplex between the parts have the density :math:`1 / V`, where V is its volume;
    noise in m dimensions contributes :math:`-\frac m2 \log \text{loss}`. Where many dimensions say so, the better fit
    wins. Where the misfit has few, because mixtures are not quite linear, parts that lie close around the samples win.
    """
    xp = namespace(found.H)
    H = found.H[:n_components]
    shares = H / _nonzero(xp.sum(H, axis=1))[:, None]
    _, logdet = xp.linalg.slogdet(shares @ shares.T)
    return -0.5 * law.dimensions * log(max(found.loss, 1e-300)) - 0.5 * float(logdet)
