"""Shares and means from a few true labels and many predictions: prediction-powered inference with power tuning.

Labels of some tasks say what the share is, but not precisely. Predictions for all tasks are many, but may be wrong.
The labels decide; predictions only take out of their mean what chance has put into it by drawing these tasks and not
others.
"""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri, stdtrit

Floats = NDArray[np.float64]

LEAST_LABELS = 10
"""Labels from which on predictions are used at all."""

GUARD = 1 / 3
"""Squared error added to those of the predictions, which are not perfect where they happen to fit all labels."""

FARTHEST = 20.0
"""Standard deviations up to which t quantiles are exact; a p-value is never below that of so many."""

ROUNDING = 1e-12
"""Variance of labels, relative to that of a coin, below which they all say the same: the rest is rounding."""


@dataclass(frozen=True)
class Estimate:
    """A share or a mean with its precision.

    Attributes
    ----------
    value : float
    worth : float
        Number of labels, drawn at random and without predictions, that would be as precise.
    n_labels : int
        Labels that there are.
    n_tasks : int
        Tasks with a label or a prediction.
    alone : float
        Number of labels, drawn at random, that these labels would be worth without predictions: fewer than
        ``n_labels`` where their weights differ.
    tuning : float
        How far predictions are used, from 0 on; 1 takes them as they are.
    """

    value: float
    worth: float
    n_labels: int
    n_tasks: int
    alone: float
    tuning: float

    def interval(self, deviations: float) -> tuple[float, float]:
        """Ends of the interval that reaches so many standard deviations."""
        raise NotImplementedError

    @property
    def variance(self) -> float:
        """Squared standard error."""
        raise NotImplementedError

    def half_width(self, deviations: float) -> float:
        """Half the length of that interval."""
        low, high = self.interval(deviations)
        return (high - low) / 2

    def with_labels(self, n_labels: int) -> Self:
        """The same from another number of labels, if all else stays as it is.

        More labels lower the part of the variance that predictions do not explain; the rest has all tasks behind it.
        """
        if not self.n_labels:
            return self
        per_label = self.alone / self.n_labels
        explained, most = 0.0, self.n_tasks * per_label
        if self.worth > self.alone and most > self.alone:
            explained = min((1 / self.alone - 1 / self.worth) / (1 / self.alone - 1 / most), 1.0)
        alone = n_labels * per_label
        worth = 1 / ((1 - explained) / alone + explained / most)
        return replace(self, worth=worth, n_labels=n_labels, alone=alone)


@dataclass(frozen=True)
class Share(Estimate):
    """A share, between 0 and 1."""

    def interval(self, deviations: float) -> tuple[float, float]:
        """Ends of the interval that reaches so many standard deviations, by Wilson's formula."""
        return wilson(self.value, self.worth, deviations)

    @property
    def variance(self) -> float:
        """Squared standard error."""
        return self.value * (1 - self.value) / self.worth


@dataclass(frozen=True)
class Mean(Estimate):
    """A mean of numbers; ``spread`` is the standard deviation of a single one."""

    spread: float

    def interval(self, deviations: float) -> tuple[float, float]:
        """Ends of the interval of Student's t that is as probable as so many standard deviations."""
        times = -float(stdtrit(max(self.n_labels - 1, 1), ndtr(-deviations)))
        reach = times * self.spread / np.sqrt(self.worth)
        return self.value - reach, self.value + reach

    @property
    def variance(self) -> float:
        """Squared standard error."""
        return self.spread**2 / self.worth


@dataclass(frozen=True)
class Difference:
    """The second of two shares or means minus the first, with its interval, and the p-value of no difference."""

    value: float
    low: float
    high: float
    p_value: float


def deviations(confidence: float) -> float:
    """Standard deviations on either side that have this probability."""
    return float(ndtri((1 + confidence) / 2))


def wilson(value: float, n: float, z: float) -> tuple[float, float]:
    """Wilson's score interval for a share ``value`` of ``n``, which need not be whole, ``z`` standard deviations wide.

    Examples
    --------
    >>> low, high = wilson(0.0, 50, 1.96)
    >>> round(low, 3), round(high, 3)
    (0.0, 0.071)
    """
    if not n > 0:
        return 0.0, 1.0
    centre = (value + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * np.sqrt(value * (1 - value) / n + (z / (2 * n)) ** 2)
    return min(max(float(centre - half), 0.0), value), max(min(float(centre + half), 1.0), value)


def share(truth: Floats, predicted: Floats, everywhere: Floats, weights: Floats | None = None) -> Share:
    r"""Share from labels and predictions, by prediction-powered inference with power tuning [1]_.

    With labels :math:`y_i` and predictions :math:`f_i` of n tasks, and predictions :math:`g_j` of all N tasks, the
    estimate is :math:`\bar y + \lambda (\bar g - \bar f)`. Its variance is least for
    :math:`\lambda = \mathrm{cov}(y, f) / \mathrm{var} f`, where it is
    :math:`\mathrm{var}(y - \lambda f) / n + \lambda^2 \mathrm{var}(g) / N`. That value is used, between 0 and 1; 0
    where predictions would not make the interval shorter. The authors take the mean of the N - n tasks without a label
    in place of all; their :math:`\lambda` is smaller by the factor 1 - n / N, and the estimate is the same.

    Parameters
    ----------
    truth : array of shape (n_labels,)
        1 for tasks of the class, 0 for others.
    predicted : array of shape (n_labels,)
        Their predictions, made without their labels.
    everywhere : array of shape (n_tasks,)
        Predictions for all tasks, those with a label among them.
    weights : array of shape (n_labels,), default None
        Inverse of the probability that the task was chosen for a label, up to a factor; None if all had the same.

    Returns
    -------
    Share

    Notes
    -----
    The interval is Wilson's, for the number of labels that would be as precise. It stays between 0 and 1, and is that
    of the labels alone if all of them say the same.

    References
    ----------
    .. [1] A. N. Angelopoulos, J. C. Duchi and T. Zrnic, "PPI++: efficient prediction-powered inference", 2023.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> true = rng.random(2000) < 0.3
    >>> predicted = np.where(rng.random(2000) < 0.9, true, ~true).astype(float)
    >>> found = share(true[:200].astype(float), predicted[:200], predicted)
    >>> round(found.value, 2), round(found.worth)
    (0.28, 408)
    """
    n, n_tasks = len(truth), len(everywhere)
    w = np.full(n, 1 / n) if weights is None else weights / weights.sum()
    mean, spread, same = float(w @ truth), _variance(truth, w), float(w @ w)
    if spread <= ROUNDING * same:
        return Share(float(round(mean)), 1 / same, n, n_tasks, 1 / same, 0.0)
    alone = mean * (1 - mean) / spread
    by_labels = Share(mean, alone, n, n_tasks, alone, 0.0)
    tuning = float(np.clip(_slope(truth, predicted, w), 0, 1))
    if n < LEAST_LABELS or tuning == 0:
        return by_labels
    left = _left(truth - tuning * predicted, tuning * predicted, w, n_tasks) + tuning**2 * everywhere.var() / n_tasks
    if left >= spread:
        return by_labels
    value = mean + tuning * float(everywhere.mean() - w @ predicted)
    return replace(by_labels, value=float(np.clip(value, 0, 1)), worth=float(alone * spread / left), tuning=tuning)


def tuned_share(truth: Floats, predicted: Floats, everywhere: Floats, tuning: float) -> Share:
    """As :func:`share`, with a ``tuning`` that is not read off these labels.

    Where nearly all labels are 1, they vary too little to tell how far predictions help, and :func:`share` may leave
    these out just where chance has drawn easy tasks. A tuning from several shares of the same tasks, such as the
    accuracies of several workers, does not depend on that.

    Examples
    --------
    >>> import numpy as np
    >>> right = np.r_[np.ones(48), 0, 0]
    >>> easy, all_ = np.full(50, 0.95), np.full(500, 0.85)  # tasks with labels happen to be easy
    >>> round(share(right, easy, all_).value, 2), round(tuned_share(right, easy, all_, 1.0).value, 2)
    (0.96, 0.86)
    """
    n, n_tasks = len(truth), len(everywhere)
    if tuning == 0:
        return Share(float(truth.mean()), n, n, n_tasks, n, 0.0)
    left = _left(truth - tuning * predicted, tuning * predicted, np.full(n, 1 / n), n_tasks)
    left += tuning**2 * everywhere.var() / n_tasks
    value = float(np.clip(truth.mean() + tuning * (everywhere.mean() - predicted.mean()), 0, 1))
    inside = float(np.clip(value, 0.5 / n, 1 - 0.5 / n))
    return Share(value, inside * (1 - inside) / left, n, n_tasks, n, tuning)


def mean(truth: Floats, predicted: Floats, everywhere: Floats, weights: Floats | None, step: float) -> Mean:
    r"""Mean of numbers from labels and predictions, by prediction-powered inference with power tuning.

    As :func:`share`, but for :math:`\lambda`, which may exceed 1: predictions need not be on the scale of the labels.
    That is the slope of labels on predictions, so that they need no calibration.

    Parameters
    ----------
    truth : array of shape (n_labels,)
    predicted : array of shape (n_labels,)
        Predictions of the same tasks, made without their labels.
    everywhere : array of shape (n_tasks,)
        Predictions for all tasks, those with a label among them.
    weights : array of shape (n_labels,) or None
        As in :func:`share`.
    step : float
        The smallest difference between two labels: a third of its square is added to the squared errors, as labels
        that happen to be the same, or to be predicted without error, are not so for ever.

    Returns
    -------
    Mean

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> grades = rng.integers(1, 6, size=1000).astype(float)
    >>> predicted = grades / 2 + rng.normal(size=1000) / 4
    >>> found = mean(grades[:50], predicted[:50], predicted, None, 1.0)
    >>> round(found.value, 2), round(found.worth), round(found.tuning, 1)
    (2.99, 358, 1.8)
    """
    n, n_tasks = len(truth), len(everywhere)
    w = np.full(n, 1 / n) if weights is None else weights / weights.sum()
    guard = GUARD * step**2 * float(w @ w)
    spread = (_variance(truth, w) * n + guard) / max(n - 1, 1)
    single = (float(w @ (truth - w @ truth) ** 2) + guard) * n / max(n - 1, 1)
    alone = single / spread
    by_labels = Mean(float(w @ truth), alone, n, n_tasks, alone, 0.0, float(np.sqrt(single)))
    tuning = _slope(truth, predicted, w)
    if n < LEAST_LABELS or tuning <= 0:
        return by_labels
    left = _left(truth - tuning * predicted, tuning * predicted, w, n_tasks, step)
    left += tuning**2 * everywhere.var() / n_tasks
    if left >= spread:
        return by_labels
    value = by_labels.value + tuning * float(everywhere.mean() - w @ predicted)
    return replace(by_labels, value=value, worth=float(single / left), tuning=tuning)


def _variance(values: Floats, w: Floats) -> float:
    """Variance of a weighted mean; that of a plain mean, divided by n where all weights are the same."""
    return float(w**2 @ (values - w @ values) ** 2)


def _slope(truth: Floats, predicted: Floats, w: Floats) -> float:
    """How far to use predictions, so that the variance is least."""
    y, f = truth - w @ truth, predicted - w @ predicted
    common, own = float(w**2 @ (y * f)), float(w**2 @ f**2)
    return common / own if own > 1e-15 else 0.0


def _left(errors: Floats, predicted: Floats, w: Floats, n_tasks: int, step: float = 1.0) -> float:
    """Variance due to the errors of predictions, which vary with the predictions where these do not fit best."""
    n = len(w)
    common = float(w @ ((errors - w @ errors) * (predicted - w @ predicted)))
    return (_variance(errors, w) * n + GUARD * step**2 * float(w @ w)) / (n - 2) + 2 * common / n_tasks


def difference(first: Estimate, second: Estimate, z: float, correlation: float = 0.0) -> Difference:
    """The second share or mean minus the first; the two are independent, or have a ``correlation``.

    The interval combines the two intervals, each to its own side, as Newcombe's do for different tasks [1]_ and for
    pairs [2]_. The p-value belongs to the interval: it is below 1 minus the probability of the interval if and only if
    0 is outside.

    References
    ----------
    .. [1] R. G. Newcombe, "Interval estimation for the difference between independent proportions", Statistics in
       Medicine 17, 1998.
    .. [2] R. G. Newcombe, "Improved confidence intervals for the difference between binomial proportions based on
       paired data", Statistics in Medicine 17, 1998.

    Examples
    --------
    >>> one, other = (Share(value, 100, 100, 100, 100, 0) for value in (0.5, 0.7))
    >>> found = difference(one, other, deviations(0.95))
    >>> round(found.low, 3), round(found.high, 3), round(found.p_value, 4)
    (0.064, 0.326, 0.0038)
    >>> found = difference(one, other, deviations(0.95), 0.5)
    >>> round(found.low, 3), round(found.high, 3)
    (0.104, 0.29)
    """
    value = second.value - first.value
    low, high = value - _reach(second, first, z, correlation), value + _reach(first, second, z, correlation)
    upper, lower = (second, first) if value > 0 else (first, second)
    at_zero = _deviations_to(abs(value), upper, lower, correlation)
    return Difference(value, low, high, float(2 * ndtr(-at_zero)))


def _reach(upper: Estimate, lower: Estimate, z: float, correlation: float) -> float:
    """How far the interval of ``upper - lower`` reaches down."""
    down, up = upper.value - upper.interval(z)[0], lower.interval(z)[1] - lower.value
    return float(np.sqrt(max(down**2 + up**2 - 2 * correlation * down * up, 0.0)))


def _deviations_to(value: float, upper: Estimate, lower: Estimate, correlation: float) -> float:
    """How many standard deviations, at most ``FARTHEST``, it takes until the interval of ``value`` contains 0."""
    if value <= 0:
        return 0.0
    if _reach(upper, lower, FARTHEST, correlation) <= value:
        return FARTHEST
    return float(brentq(lambda z: _reach(upper, lower, z, correlation) - value, 0.0, FARTHEST))
