"""AND: decode by the pseudo-inverse, keep what reaches a falling threshold, then fit the parts again.

References
----------
[1] Y. Li and Y. Liang, "Provable alternating gradient descent for non-negative matrix factorization with strong
correlations", ICML 2017.
"""

from dataclasses import dataclass
from functools import partial
from typing import Literal, NamedTuple

from rectifact.core.arrays import Array, eps, namespace
from rectifact.core.linalg import frobenius_residual, pseudo_inverse, solve_gram, squared_norm
from rectifact.core.monitor import Monitor
from rectifact.core.operand import Operand, operand
from rectifact.core.rectify import Schedule
from rectifact.kernels import relu_columns


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
    schedule : Schedule
        Threshold of each stage.
    unit : {"component", "absolute"}, default "component"
        ``"component"`` multiplies by the largest weight of each part, free of scale; ``"absolute"`` is as in [1].
    noise : float, default 0
        Standard deviation of the noise in one entry of X. A weight gets ``noise`` times the norm of the decoding vector
        of its part, and thresholds stay above ``multiple`` times that.
    multiple : float, default 1.5
        Number of standard deviations.
    """

    schedule: Schedule
    unit: Literal["component", "absolute"] = "component"
    noise: float = 0.0
    multiple: float = 1.5


class Levels(NamedTuple):
    """Thresholds and largest weights by part (n_components,), and whether all thresholds stand on the noise floor."""

    thresholds: Array
    largest: Array
    on_floor: Array


def and_nmf(
    X: Operand | Array,
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
    X : Operand or array of shape (n_samples, n_features)
        Samples, of any sign.
    H : array of shape (n_components, n_features)
        Parts to start from.
    threshold : Threshold
        Thresholds of the stages, one stage per iteration.
    monitor : Monitor
        Its loss is the relative error ``||X - W H|| / ||X||``. It need not fall, and while thresholds do it does not
        measure convergence. Callbacks see the parts as ``row.U``.
    n_inner : int, optional
        Gradient steps of a stage (T in [1]); as many as it takes by default. See :func:`descend`.
    step : float, optional
        Size of a step (eta in [1]); the largest safe size by default.

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
    X = operand(X)
    squared = squared_norm(X)
    rounding = 10 * eps(H)  # a smaller relative error says nothing
    H = monitor.resume(H)
    for t in monitor:
        W, levels, WtX, WtW = stage(X, H, threshold, t)  # decode, then threshold
        H = descend(H, WtX, WtW, n_inner=n_inner, step=step)  # update
        monitor.record(
            lambda: max(float(frobenius_residual(X, W, H, (squared, WtX, WtW))) / squared**0.5, rounding),
            settled=lambda: threshold.schedule.settled(t) or bool(levels.on_floor),
            state=lambda: H,
            factor=lambda: namespace(H).asarray(H, copy=True),
        )
    return Factorization(W, H, levels.thresholds)


def stage(
    X: Operand | Array, H: Array, threshold: Threshold, t: int, seen: Array | float = 0.0
) -> tuple[Array, Levels, Array, Array]:
    """Weights of the samples in stage ``t``, as :func:`decode` finds them, and all that the parts need: W'X and W'W.

    It is one computation, also for chunks.

    Returns
    -------
    W : array of shape (n_samples, n_components)
    levels : Levels
    WtX : array of shape (n_components, n_features)
    WtW : array of shape (n_components, n_components)
    """
    X = operand(X)
    W, levels = decode(X, H, threshold, t, seen)
    levels, (WtX, WtW) = X.evaluate(levels, X.again().pending(products, along=(W,)))
    return W, levels, WtX, WtW


def decode(
    X: Operand | Array, H: Array, threshold: Threshold, t: int, seen: Array | float = 0.0
) -> tuple[Array, Levels]:
    """Weights of the samples in stage ``t``: ``relu(X @ pinv(H))`` with a threshold for each part.

    Parameters
    ----------
    X : Operand or array of shape (n_samples, n_features)
    H : array of shape (n_components, n_features)
    threshold : Threshold
    t : int
        Number of the stage, from 0.
    seen : float or array of shape (n_components,), default 0
        Largest weights of earlier samples, which are the unit where X has no larger ones.

    Returns
    -------
    W : array of shape (n_samples, n_components)
        Lazy for chunks.
    levels : Levels
        Pending for chunks.
    """
    xp, inverse = namespace(H), pseudo_inverse(H)
    Z = operand(operand(X) @ inverse)
    floor = threshold.multiple * threshold.noise * xp.linalg.vector_norm(inverse, axis=0)
    seen = seen + xp.zeros_like(H[:, 0])
    levels = Z.pending(_levels, threshold.schedule(t), threshold.unit, floor, seen, combine=_higher)
    return Z.again().map_rows(_above, levels, columns=H.shape[0]), levels


def _levels(Z: Array, falling: float, unit: str, floor: Array, seen: Array) -> Levels:
    xp = namespace(Z)
    largest = xp.maximum(xp.max(Z, axis=0), seen)
    wanted = falling * (largest if unit == "component" else xp.ones_like(largest))
    return Levels(xp.maximum(wanted, floor), largest, xp.all(wanted <= floor))


def _higher(one: Levels, other: Levels) -> Levels:
    """Levels of two chunks together: a threshold rises with the largest weight."""
    xp = namespace(one.largest)
    thresholds, largest = (xp.maximum(a, b) for a, b in zip(one[:2], other[:2], strict=True))
    return Levels(thresholds, largest, one.on_floor & other.on_floor)


def _above(Z: Array, levels: Levels) -> Array:
    return relu_columns(Z, levels.thresholds)


def products(rows: Array, W: Array) -> tuple[Array, Array]:
    """``W'X`` and ``W'W``."""
    return (rows.T @ W).T, W.T @ W


def descend(H: Array, WtX: Array, WtW: Array, *, n_inner: int | None = None, step: float | None = None) -> Array:
    r"""``n_inner`` gradient steps of size ``step`` on :math:`\frac12 \|X - WH\|^2` in H, all at once.

    Along an eigenvector of ``WtW`` with the eigenvalue :math:`\lambda`, T steps of size :math:`\eta` take H the
    share :math:`1 - (1 - \eta\lambda)^T` of the way to the least squares solution. So a stage costs the same for
    any T, and ``n_inner=None`` goes all the way. Parts without any weight have :math:`\lambda = 0` and stay.

    Parameters
    ----------
    H : array of shape (n_components, n_features)
    WtX : array of shape (n_components, n_features)
        ``W.T @ X``.
    WtW : array of shape (n_components, n_components)
        ``W.T @ W``.
    n_inner : int, optional
        Number of steps T; the limit of infinitely many by default.
    step : float, optional
        Size eta; 1 over the largest eigenvalue by default.

    Returns
    -------
    array of shape (n_components, n_features)

    Examples
    --------
    >>> import numpy as np
    >>> descend(np.zeros((1, 1)), np.array([[4.0]]), np.array([[2.0]]))
    array([[2.]])
    """
    share = None if n_inner is None else partial(_share_of_the_way, n_inner, step)
    return H + solve_gram(WtW, WtX - WtW @ H, share)


def _share_of_the_way(n_inner: int, step: float | None, values: Array) -> Array:
    largest = namespace(values).clip(values[-1], eps(values) ** 4, None)
    return 1 - (1 - (step or 1 / largest) * values) ** n_inner
