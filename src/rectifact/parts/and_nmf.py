"""AND: decode by the pseudo-inverse, keep what reaches a falling threshold, then fit the parts anew.

References
----------
[1] Y. Li and Y. Liang, "Provable alternating gradient descent for non-negative matrix factorization with strong
correlations", ICML 2017.
"""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from rectifact.core.arrays import Array, eps, namespace
from rectifact.core.lazy import evaluate, is_lazy, opened, over_chunks, recomputed, total
from rectifact.core.linalg import frobenius_residual, gram_inverse, on_cuda, pseudo_inverse, squared_norm
from rectifact.core.monitor import Monitor
from rectifact.core.rectify import Schedule, relu
from rectifact.kernels import relu_columns

__all__ = ["Decoding", "Factorization", "Threshold", "and_nmf", "decode", "descend", "stage"]


@dataclass(frozen=True)
class Factorization:
    """``X ~ W @ H`` with ``W >= 0``, and the thresholds (n_components,) that the weights have reached."""

    W: Array
    H: Array
    thresholds: Array


@dataclass(frozen=True)
class Threshold:
    """Thresholds of the weights in each stage: a schedule, its unit, and a floor under the noise.

    Parameters
    ----------
    schedule : threshold by stage
    unit : ``"component"``, times the largest weight of each part, free of scale; ``"absolute"``, as in [1]
    noise : standard deviation of the noise in one entry of X; a weight gets ``noise`` times the norm of the
        decoding vector of its part, and thresholds stay above ``multiple`` times that
    multiple : how many standard deviations
    """

    schedule: Schedule
    unit: Literal["component", "absolute"] = "component"
    noise: float = 0.0
    multiple: float = 1.5


@dataclass(frozen=True)
class Decoding:
    """Weights (n_samples, n_components), and by part: thresholds, largest weight; whether only noise holds them up."""

    W: Array
    thresholds: Array
    largest: Array
    on_floor: Array


def decode(X: Array, H: Array, threshold: Threshold, t: int, seen: Array | float = 0.0) -> Decoding:
    """Weights of the samples in stage ``t``: ``relu(X @ pinv(H))`` with a threshold for each part.

    ``seen`` are the largest weights of earlier samples, which are the unit where X has no larger ones.
    """
    xp, inverse = namespace(H), pseudo_inverse(H)
    Z = X @ inverse
    largest = xp.maximum(xp.max(Z, axis=0), seen + xp.zeros_like(H[:, 0]))
    thresholds, on_floor = _levels(largest, inverse, threshold, t)
    return Decoding(relu_columns(Z, thresholds), thresholds, largest, on_floor)


def _levels(largest: Array, inverse: Array, threshold: Threshold, t: int) -> tuple[Array, Array]:
    """Thresholds of the parts in stage ``t`` from their largest weights, and whether only noise holds them up."""
    xp = namespace(inverse)
    falling = threshold.schedule(t) * (largest if threshold.unit == "component" else xp.ones_like(largest))
    floor = threshold.multiple * threshold.noise * xp.linalg.vector_norm(inverse, axis=0)
    return xp.maximum(falling, floor), xp.all(falling <= floor)


def stage(X: Array, H: Array, threshold: Threshold, t: int, seen: Array | float = 0.0) -> tuple[Decoding, Array, Array]:
    """Weights W of the samples in stage ``t``, as :func:`decode` finds them, and all that the parts need: W'X and W'W.

    A lazy X is read twice in one computation, for the largest weights and for the products, and not kept meanwhile.
    """
    if not is_lazy(X):
        weights = decode(X, H, threshold, t, seen)
        return weights, (X.T @ weights.W).T, weights.W.T @ weights.W
    inverse = pseudo_inverse(H)
    tops = total(over_chunks(_largest, X, small=(inverse, seen)), _larger)
    sums = total(over_chunks(_products, recomputed(X), small=(inverse, tops, threshold, t)))
    (largest,), (WtX, WtW) = map(opened, evaluate(tops, sums))
    thresholds, on_floor = _levels(largest, inverse, threshold, t)
    meta = np.empty((0, 0), dtype=X.dtype)
    W = X.map_blocks(_weights, inverse, thresholds, chunks=(X.chunks[0], (H.shape[0],)), dtype=X.dtype, meta=meta)
    return Decoding(W, thresholds, largest, on_floor), WtX, WtW


def _weights(X: Array, inverse: Array, thresholds: Array) -> Array:
    return relu(X @ inverse, thresholds)


def _largest(X: Array, inverse: Array, seen: Array | float) -> tuple[Array]:
    return (np.maximum(np.max(X @ inverse, axis=0), seen),)


def _larger(one: tuple[Array], other: tuple[Array]) -> tuple[Array]:
    return (np.maximum(one[0], other[0]),)


def _products(X: Array, inverse: Array, tops: tuple[Array], threshold: Threshold, t: int) -> tuple[Any, Any]:
    W = _weights(X, inverse, _levels(tops[0], inverse, threshold, t)[0])
    return W.T @ X, W.T @ W


def and_nmf(
    X: Array,
    H: Array,
    *,
    threshold: Threshold,
    monitor: Monitor,
    n_inner: int | None = None,
    step: float | None = None,
) -> Factorization:
    """Alternating non-negative gradient descent from the parts ``H``; Algorithm 1 of [1] with all samples at once.

    The threshold operator *keeps* what reaches it (:func:`rectifact.core.rectify.relu`, the paper's phi).

    Parameters
    ----------
    X : array or sparse array of shape (n_samples, n_features), of any sign
    H : array of shape (n_components, n_features), parts to start from
    threshold : thresholds of the stages, one stage an iteration
    monitor : its loss is the relative error ``||X - W H|| / ||X||``. It need not fall, and while thresholds do it is
        no measure of convergence.
    n_inner, step : gradient steps of a stage (T in [1]) and their size (eta); None is as many as it takes, and the
        largest safe size. See :func:`descend`.

    Returns
    -------
    Factorization

    Examples
    --------
    >>> import numpy as np
    >>> from rectifact.core.rectify import Geometric
    >>> from rectifact.datasets import make_topics
    >>> from rectifact.metrics import total_correlation_error
    >>> topics = make_topics(n_samples=500, n_features=40, n_topics=5)
    >>> start = topics.components + 0.1 * topics.components[::-1]
    >>> found = and_nmf(topics.X, start, threshold=Threshold(Geometric(0.2, 1.3)), monitor=Monitor(80))
    >>> total_correlation_error(found.H, topics.components) < 1e-8
    True
    """
    squared = squared_norm(X)
    norm = squared**0.5
    H = monitor.resume(H)
    for t in monitor:
        weights, WtX, WtW = stage(X, H, threshold, t)
        H = descend(H, WtX, WtW, n_inner=n_inner, step=step)
        monitor.record(
            lambda: max(
                float(frobenius_residual(X, weights.W, H, (squared, WtX, WtW)) / norm), 10 * eps(H)
            ),  # less is rounding
            settled=lambda: threshold.schedule.settled(t) or bool(weights.on_floor),
            state=lambda: H,
        )
    return Factorization(weights.W, H, weights.thresholds)


def descend(H: Array, WtX: Array, WtW: Array, *, n_inner: int | None = None, step: float | None = None) -> Array:
    r"""``n_inner`` gradient steps of size ``step`` on :math:`\frac12 \|X - WH\|^2` in H, all at once.

    Along an eigenvector of ``WtW`` with the eigenvalue :math:`\lambda`, T steps of size :math:`\eta` take H the
    part :math:`1 - (1 - \eta\lambda)^T` of the way to the least squares solution. So a stage costs the same for
    any T, and ``n_inner=None`` goes all the way. Parts without any weight have :math:`\lambda = 0` and stay.

    Parameters
    ----------
    H : array of shape (n_components, n_features)
    WtX, WtW : products of the weights, ``W.T @ X`` and ``W.T @ W``
    n_inner : number of steps T, None for the limit
    step : size eta, None for 1 over the largest eigenvalue

    Examples
    --------
    >>> import numpy as np
    >>> descend(np.zeros((1, 1)), np.array([[4.0]]), np.array([[2.0]]))
    array([[2.]])
    """
    if n_inner is None and on_cuda(H):  # all the way, without the eigenvalues
        return H + gram_inverse(WtW) @ (WtX - WtW @ H)
    xp = namespace(H)
    values, vectors = xp.linalg.eigh(WtW)
    largest = xp.clip(values[-1], eps(H) ** 4, None)
    way = 1 - (1 - (step or 1 / largest) * values) ** n_inner if n_inner else xp.ones_like(values)
    seen = values > len(values) * eps(H) * values[-1]
    gain = xp.where(seen, way / xp.where(seen, values, 1.0), 0.0)
    return H + (vectors * gain) @ (vectors.T @ (WtX - WtW @ H))
