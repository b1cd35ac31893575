r"""Purification: decode with a shifted ReLU, move the parts toward the covariance of samples and weights.

References
----------
[1] Y. Li, Y. Liang and A. Risteski, "Recovery guarantee of non-negative matrix factorization via alternating
updates", NIPS 2016.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from rectifact.core.arrays import Array, eps, namespace
from rectifact.core.operand import Operand, operand
from rectifact.core.rectify import shifted_relu
from rectifact.parts.samples import column_maxima

Inverse = Callable[[Array], Array]


@dataclass(frozen=True)
class Purifier:
    """Parts H (n_components, n_features), and what the first batch has fixed for all that follow.

    ``thresholds`` (n_components,) are subtracted from decoded weights; ``gain`` is r of Algorithm 1 in [1]: it makes
    the covariance as large as the parts. Estimated again in every step it would diverge.
    """

    H: Array
    thresholds: Array
    gain: Array
    n_steps: int = 0


@dataclass(frozen=True)
class Weights:
    """Decoded weights W (n_samples, n_components), and the products W'X and W'W that came with them."""

    W: Array
    WtX: Array
    WtW: Array


def step_size(step: float, t: int) -> float:
    """Size of step ``t``: ``1 / (1/step + t)``, which makes H the mean over all batches so far.

    The start counts as ``1/step - 1`` batches. A constant step would keep the sampling noise of the last few.

    Examples
    --------
    >>> [step_size(0.5, t) for t in range(3)]
    [0.5, 0.3333333333333333, 0.25]
    """
    return 1 / (1 / step + t)


def sampling_floor(n_components: int, n_samples: int) -> float:
    """Relative l1 error of a part to expect from ``n_samples`` samples in all, without any noise.

    The covariance of the weights is never inverted, so the sampled covariance of independent weights stays in the
    parts: about ``1 / sqrt(n_samples)`` of each other part.

    Examples
    --------
    >>> round(sampling_floor(20, 2000), 2)
    0.45
    """
    return n_components / n_samples**0.5


def cross_covariance(W: Array, X: Operand | Array) -> Array:
    """Covariance (n_components, n_features) of weights and samples, neither of which is centred in memory."""
    X = operand(X)
    return _covariance(X.shape[0], *X.total(_moments, along=(W,)))


def _moments(rows: Array, W: Array) -> tuple[Array, Array]:
    """``V'X`` and ``V'V`` for the weights with a column of ones, ``V = [W, 1]``: all products and sums."""
    xp = namespace(W)
    V = xp.concat([W, xp.ones_like(W[:, :1])], axis=1)
    return (rows.T @ V).T, V.T @ V


def _covariance(n: int, VtX: Array, VtV: Array) -> Array:
    return VtX[:-1] / n - (VtV[:-1, -1:] / n) * (VtX[-1:] / n)


def decode_shifted(X: Operand | Array, H: Array, thresholds: Array | float, inverse: Inverse) -> Array:
    """Weights ``shifted_relu(X @ H^+, thresholds)``, equation (2) of [1]: what is kept is also shifted."""
    Z = operand(operand(X) @ inverse(H))
    return Z.map_rows(shifted_relu, thresholds, columns=H.shape[0])


def begin(
    X: Operand | Array, H: Array, *, threshold: float, inverse: Inverse, balance: bool = False, unit: str = "component"
) -> Purifier:
    """Fix thresholds and gain by the first batch of samples; the gain is not finite where weights do not vary.

    Parameters
    ----------
    X : Operand or array of shape (n_samples, n_features)
        Samples, of any sign.
    H : array of shape (n_components, n_features)
        Parts to start from.
    threshold : float
        As a share of the largest weight that each part has in this batch, or as it is with ``unit="absolute"``.
    inverse : callable
        Left inverse of the parts, (n_components, n_features) -> (n_features, n_components).
    balance : bool, default False
        Whether parts are first scaled so that weights have the same second moment (section 6 of [1]).
    unit : {"component", "absolute"}, default "component"

    Returns
    -------
    Purifier
    """
    X, xp = operand(X), namespace(H)
    n = X.shape[0]
    if balance:
        moments = operand(decode_shifted(X, H, 0.0, inverse)).total(_squares) / n
        H = H * xp.sqrt(xp.where(moments > 0, moments, xp.ones_like(moments)))[:, None]
    P = inverse(H)
    Z = operand(X @ P)
    largest, squares = Z.evaluate(Z.pending(column_maxima, combine=xp.maximum), Z.pending(_squares))
    thresholds = threshold * (xp.clip(largest, 0, None) if unit == "component" else xp.ones_like(largest))
    C = 2 * cross_covariance(Z.map_rows(shifted_relu, thresholds, columns=H.shape[0]), X)
    own = xp.sort(xp.sum(C * P.T, axis=1))
    middle = own[own.shape[0] // 2]
    varies = middle > 1e3 * eps(H) * xp.mean(squares) / n  # else it is rounding
    return Purifier(H, thresholds, 1 / xp.where(varies, middle, xp.zeros_like(middle)))


def _squares(W: Array) -> Array:
    return namespace(W).sum(W**2, axis=0)


def purify(state: Purifier, X: Operand | Array, *, eta: float, inverse: Inverse) -> tuple[Purifier, Weights]:
    r"""One step of Algorithm 1 in [1] on the samples X.

    The update is :math:`H \leftarrow (1-\eta) H + \eta r E[(x-x')(w-w')^T]`. The expectation over pairs of samples is
    twice their covariance, so no pairs are drawn.

    Parameters
    ----------
    state : Purifier
    X : Operand or array of shape (n_samples, n_features)
    eta : float
        Size of the step.
    inverse : callable
        As in :func:`begin`.

    Returns
    -------
    Purifier
        The new state.
    Weights
        What was decoded with the old one.

    Examples
    --------
    >>> import numpy as np
    >>> from rectifact.core.linalg import pseudo_inverse
    >>> rng = np.random.default_rng(0)
    >>> X = (rng.random((20_000, 2)) < 0.2) @ np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
    >>> state = begin(X, np.array([[1.0, 0.1, 1.0], [0.1, 1.0, 0.1]]), threshold=0.2, inverse=pseudo_inverse)
    >>> for _ in range(100):
    ...     state, weights = purify(state, X, eta=0.5, inverse=pseudo_inverse)
    >>> bool(abs(state.H[0, 1] / state.H[0, 0]) < 0.05)
    True
    """
    X = operand(X)
    W = decode_shifted(X, state.H, state.thresholds, inverse)  # decode, then threshold
    VtX, VtV = X.total(_moments, along=(W,))
    H = (1 - eta) * state.H + eta * state.gain * 2 * _covariance(X.shape[0], VtX, VtV)  # update
    return replace(state, H=H, n_steps=state.n_steps + 1), Weights(W, VtX[:-1], VtV[:-1, :-1])
