r"""Purification: decode with a shifted ReLU, move the parts toward the covariance of samples and weights.

References
----------
[1] Y. Li, Y. Liang and A. Risteski, "Recovery guarantee of non-negative matrix factorization via alternating
updates", NIPS 2016.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from rectifact.core.arrays import Array, eps, namespace
from rectifact.core.lazy import evaluate, is_lazy
from rectifact.core.rectify import shifted_relu

__all__ = [
    "Purifier",
    "Weights",
    "begin",
    "cross_covariance",
    "decode_shifted",
    "purify",
    "sampling_floor",
    "step_size",
]

Inverse = Callable[[Array], Array]


@dataclass(frozen=True)
class Purifier:
    """Parts H (n_components, n_features), and what the first batch has fixed for all that follow.

    ``thresholds`` (n_components,) are subtracted from decoded weights; ``gain`` is r of Algorithm 1 in [1]: it makes
    the covariance as large as the parts. Estimated anew in every step it would diverge.
    """

    H: Array
    thresholds: Array
    gain: Array
    n_steps: int = 0


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

    The covariance of weights is never inverted here, so that of independent weights enters as it was sampled: each
    of the other parts with about ``1 / sqrt(n_samples)``.

    Examples
    --------
    >>> round(sampling_floor(20, 2000), 2)
    0.45
    """
    return n_components / n_samples**0.5


def cross_covariance(W: Array, X: Array) -> Array:
    """Covariance (n_components, n_features) of weights and samples, neither of which is centred in memory."""
    return _covariance(W, (X.T @ W).T, *_means(W, X))


def _means(W: Array, X: Array) -> tuple[Array, Array]:
    """Means of weights and samples."""
    xp = namespace(W)
    return xp.mean(W, axis=0), X.T @ xp.ones_like(W[:, 0]) / W.shape[0]


def _covariance(W: Array, WtX: Array, mean_W: Array, mean_X: Array) -> Array:
    return WtX / W.shape[0] - mean_W[:, None] * mean_X[None, :]


def decode_shifted(X: Array, H: Array, thresholds: Array | float, inverse: Inverse) -> Array:
    """Weights ``shifted_relu(X @ H^+, thresholds)``, equation (2) of [1]: what is kept is also shifted."""
    return shifted_relu(X @ inverse(H), thresholds)


def begin(X: Array, H: Array, *, threshold: float, inverse: Inverse, balance: bool = False) -> Purifier:
    """Fix thresholds and gain by the first batch of samples; the gain is not finite where weights do not vary.

    Parameters
    ----------
    X : array or sparse array of shape (n_samples, n_features), of any sign
    H : array of shape (n_components, n_features), parts to start from
    threshold : in parts of the largest weight that each part has in this batch
    inverse : left inverse of the parts, (n_components, n_features) -> (n_features, n_components)
    balance : whether parts are first scaled so that weights have the same second moment (section 6 of [1])
    """
    xp = namespace(H)
    if balance:
        W = decode_shifted(X, H, 0.0, inverse)
        (moments,) = evaluate(namespace(W).mean(W**2, axis=0))
        H = H * xp.sqrt(xp.where(moments > 0, moments, xp.ones_like(moments)))[:, None]
    P = inverse(H)
    Z = X @ P
    largest, size = evaluate(namespace(Z).max(Z, axis=0), namespace(Z).mean(Z**2))
    thresholds = threshold * xp.clip(largest, 0, None)
    (C,) = evaluate(2 * cross_covariance(shifted_relu(Z, thresholds), X))
    own = xp.sort(xp.sum(C * P.T, axis=1))
    middle = own[own.shape[0] // 2]
    varies = middle > 1e3 * eps(H) * size  # else it is rounding
    return Purifier(H, thresholds, 1 / xp.where(varies, middle, xp.zeros_like(middle)))


@dataclass(frozen=True)
class Weights:
    """Decoded weights W (n_samples, n_components); of a lazy X also the products W'X and W'W, which came with them."""

    W: Array
    WtX: Array | None = None
    WtW: Array | None = None


def purify(state: Purifier, X: Array, *, eta: float, inverse: Inverse) -> tuple[Purifier, Weights]:
    r"""One step of Algorithm 1 in [1] on the samples X; returns the new state and the weights it decoded.

    The update is :math:`H \leftarrow (1-\eta) H + \eta r E[(x-x')(w-w')^T]`. The expectation over pairs of samples is
    twice their covariance, so no pairs are drawn.

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
    W = decode_shifted(X, state.H, state.thresholds, inverse)
    if is_lazy(X):
        WtX, WtW, *means = evaluate((X.T @ W).T, W.T @ W, *_means(W, X))
        weights, C = Weights(W, WtX, WtW), _covariance(W, WtX, *means)
    else:
        weights, C = Weights(W), cross_covariance(W, X)
    H = (1 - eta) * state.H + eta * state.gain * 2 * C
    return replace(state, H=H, n_steps=state.n_steps + 1), weights
