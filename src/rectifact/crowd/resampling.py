"""Bootstrap intervals for figures that are functions of sums over tasks.

Agreement coefficients, intraclass correlations and the like depend on the answers only through sums over tasks. So a
resample of the tasks is a new set of weights for these sums, leaving a task out takes its terms away, and both are done
for all resamples, or all tasks, at once. Tasks with the same terms are counted and kept once.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri, stdtrit

Floats = NDArray[np.float64]
Terms = Mapping[str, Floats]
"""Terms of each task by name, of shape (n_tasks,) or (n_tasks, width)."""

Figures = Callable[[dict[str, Floats]], Floats]
"""From sums by name, of shape (n, width), to figures of shape (n, n_figures)."""

MOST_CELLS = 1 << 22
"""Weights drawn at a time: resamples times tasks."""

LEAST_SLOWED = 0.1
"""Least divisor of the acceleration, which would change sign for a few very unequal tasks."""

LEAST_SPREAD = 1e-6
"""Least value of the kurtosis beyond what the skewness calls for."""

FEW_TASKS = 500
"""Up to which intervals are studentized, where that is asked for; for more tasks it would change little."""

KNOWN = 0.99
"""Share of the resamples whose standard error must be known and not 0."""

STEP = 1e-6
"""Of differences that stand for derivatives, as a part of the largest term."""


@dataclass(frozen=True)
class Bootstrap:
    """How intervals are found: number of resamples, probability, random numbers, and whether they are studentized.

    Studentized intervals are for figures of numbers, from up to 500 tasks. An end may lie outside the range of the
    figure.
    """

    n_resamples: int
    confidence: float
    rng: np.random.Generator
    studentized: bool = False


@dataclass(frozen=True)
class Estimates:
    """Figures with the ends of their intervals, and the number of tasks they are based on."""

    value: Floats
    low: Floats
    high: Floats
    n_tasks: int


def estimates(terms: Terms, figures: Figures, bootstrap: Bootstrap) -> Estimates:
    r"""Figures of all tasks, and their bias-corrected and accelerated bootstrap intervals over tasks [1]_.

    A bootstrap is too narrow for few tasks, as a variance with the divisor n and quantiles of the normal distribution
    are; its levels are expanded by what the t distribution asks for [2]_. Its degrees of freedom say how well the tasks
    tell the variance. With skewness :math:`\gamma` and kurtosis :math:`\kappa` of what single tasks contribute, the
    relative variance of the variance is :math:`(\kappa - 1) / n`. A part :math:`\gamma^2 / n` of that goes along with
    the figure itself, so that the acceleration takes care of it. The rest corresponds to
    :math:`2 (n - 1) / (\kappa - 1 - \gamma^2)` degrees of freedom: n - 1 for normal contributions, fewer for long
    tails, and any number for shares, whose variance is known when they are.

    Figures that are made of squares, such as those of numbers, are another matter: a few tasks far from all others
    decide both the figure and how uncertain it is, and with thirty tasks the variance itself is hardly known. For these
    the interval is ``studentized`` [3]_: each resample has a standard error of its own, by the infinitesimal jackknife,
    and it is the number of standard errors from the truth whose distribution is taken from the resamples.

    Parameters
    ----------
    terms : mapping of str to array
        What each task adds to each sum.
    figures : callable
        From sums to figures; NaN where a figure is not defined.
    bootstrap : Bootstrap

    Returns
    -------
    Estimates

    References
    ----------
    .. [1] B. Efron, "Better bootstrap confidence intervals", J. Amer. Statist. Assoc. 82, 1987.
    .. [2] T. C. Hesterberg, "What teachers should know about the bootstrap", The American Statistician 69, 2015.
    .. [3] P. Hall, "Theoretical comparison of bootstrap confidence intervals", Annals of Statistics 16, 1988.

    Examples
    --------
    >>> import numpy as np
    >>> terms = {"one": np.ones(100), "right": np.repeat([1.0, 0.0], [80, 20])}
    >>> found = estimates(terms, lambda s: s["right"] / s["one"], Bootstrap(1000, 0.95, np.random.default_rng(0)))
    >>> found.value.round(2), found.low.round(2), found.high.round(2)
    (array([0.8]), array([0.72]), array([0.88]))
    """
    columns = {name: part if np.ndim(part) > 1 else np.asarray(part)[:, None] for name, part in terms.items()}
    ends = np.cumsum([part.shape[1] for part in columns.values()])[:-1]

    def named(sums: Floats) -> Floats:
        return figures(dict(zip(columns, np.split(sums, ends, axis=1), strict=True)))

    rows = np.hstack(list(columns.values())).astype(float)
    n_tasks = len(rows)
    if n_tasks < 2:
        value = named(rows.sum(axis=0, keepdims=True))[0]
        unknown = np.full_like(value, np.nan)
        return Estimates(value if n_tasks else unknown, unknown, unknown, n_tasks)
    rows, counts = _different(rows)
    total = counts @ rows
    value = named(total[None])[0]
    resampled, left_out = named(_resampled(rows, counts, bootstrap)), named(total - rows)
    low, high = _accelerated(value, resampled, left_out, counts, bootstrap.confidence)
    if bootstrap.studentized and n_tasks <= FEW_TASKS:
        ends = _studentized(rows, counts, named, bootstrap)
        low, high = np.where(np.isfinite(ends), ends, (low, high))
    return Estimates(value, low, high, n_tasks)


def _different(rows: Floats) -> tuple[Floats, NDArray[np.int64]]:
    """The different rows, and how often each occurs: by a random projection, which sorts faster than the rows do."""
    key = (rows * np.random.default_rng(0).normal(size=rows.shape[1])).sum(axis=1)
    _, first, place, counts = np.unique(key, return_index=True, return_inverse=True, return_counts=True)
    if not (rows[first[place]] == rows).all():  # two rows with one key; all but impossible
        return np.unique(rows, axis=0, return_counts=True)
    return rows[first], counts


def _resampled(rows: Floats, counts: NDArray[np.int64], bootstrap: Bootstrap) -> Floats:
    """Sums over as many tasks as there are, drawn with replacement, of shape (n_resamples, width)."""
    n_tasks, wanted = int(counts.sum()), bootstrap.n_resamples
    at_once = max(1, MOST_CELLS // n_tasks)
    sizes = [min(at_once, wanted - start) for start in range(0, wanted, at_once)]
    return np.vstack([_weights(counts, n_tasks, size, bootstrap.rng) @ rows for size in sizes])


def _weights(counts: NDArray[np.int64], n_tasks: int, size: int, rng: np.random.Generator) -> Floats:
    """How often each row is drawn, of shape (size, n_rows)."""
    n_rows = len(counts)
    if 4 * n_rows < n_tasks:  # few different rows: their numbers are multinomial
        return rng.multinomial(n_tasks, counts / n_tasks, size=size).astype(float)
    row_of_task = np.repeat(np.arange(n_rows), counts)
    drawn = row_of_task[rng.integers(n_tasks, size=(size, n_tasks))] + n_rows * np.arange(size)[:, None]
    return np.bincount(drawn.ravel(), minlength=size * n_rows).reshape(size, n_rows).astype(float)


def _accelerated(
    value: Floats, resampled: Floats, left_out: Floats, counts: NDArray[np.int64], confidence: float
) -> tuple[Floats, Floats]:
    """Ends of the intervals; NaN where a figure is not defined, in itself or in most resamples."""
    ends = np.full((2, len(value)), np.nan)
    for j in np.flatnonzero(np.isfinite(value)):
        drawn = resampled[np.isfinite(resampled[:, j]), j]
        if 2 * len(drawn) < len(resampled):
            continue
        near = 1e-12 * (1 + abs(value[j]))
        below = np.mean(drawn < value[j] - near) + np.mean(np.abs(drawn - value[j]) <= near) / 2
        bias = ndtri(np.clip(below, 1 / (len(drawn) + 1), len(drawn) / (len(drawn) + 1)))
        skewness, kurtosis = _shape(left_out[:, j], counts)
        shifted = bias + _tails(int(counts.sum()), skewness, kurtosis, confidence)
        slowed = np.maximum(1 - skewness / (6 * np.sqrt(counts.sum())) * shifted, LEAST_SLOWED)
        ends[:, j] = np.quantile(drawn, ndtr(bias + shifted / slowed), method="weibull")  # others are too narrow
    return ends[0], ends[1]


def _studentized(
    rows: Floats, counts: NDArray[np.int64], named: Callable[[Floats], Floats], bootstrap: Bootstrap
) -> Floats:
    """Ends of the intervals; NaN where some resamples have no standard error, because nothing differs in them."""
    drawn = _weights(counts, int(counts.sum()), bootstrap.n_resamples, bootstrap.rng)
    weights = np.vstack([counts.astype(float), drawn])
    values = named(weights @ rows)
    errors = _standard_errors(rows, weights, values, named)
    ends = np.full((2, values.shape[1]), np.nan)
    outside = (1 - bootstrap.confidence) / 2
    for j, (value, error) in enumerate(zip(values.T, errors.T, strict=True)):
        known = np.isfinite(value) & (error > STEP * error[0])
        if known[0] and known.mean() > KNOWN:
            apart = (value[known] - value[0])[1:] / error[known][1:]
            ends[:, j] = value[0] - error[0] * np.quantile(apart, [1 - outside, outside], method="weibull")
    return ends


def _standard_errors(rows: Floats, weights: Floats, values: Floats, named: Callable[[Floats], Floats]) -> Floats:
    """Standard errors of the figures of each resample, from their derivatives by the sums over tasks."""
    n_tasks, sums = weights[0].sum(), weights @ rows
    differ = np.flatnonzero(np.ptp(rows, axis=0) > 0)  # the others add the same to all tasks
    slopes = np.zeros((*values.shape, len(differ)))
    for place, column in enumerate(differ):
        step = np.zeros(rows.shape[1])
        step[column] = STEP * np.abs(rows[:, column]).max()
        slopes[..., place] = (named(sums + step) - values) / step[column]
    variances = np.zeros_like(values)
    for j in range(values.shape[1]):
        adds = slopes[:, j] @ rows[:, differ].T  # what each task adds to the figure
        mean = (weights * adds).sum(axis=1, keepdims=True) / n_tasks
        variances[:, j] = (weights * (adds - mean) ** 2).sum(axis=1)
    return np.sqrt(variances)


def _shape(left_out: Floats, counts: NDArray[np.int64]) -> tuple[float, float]:
    """Skewness and kurtosis of what single tasks contribute, from the figure without each of them in turn."""
    known = np.isfinite(left_out)
    values, weights = left_out[known], counts[known]
    lack = np.average(values, weights=weights) - values if len(values) else values
    spread = float(np.average(lack**2, weights=weights)) if len(values) else 0.0
    if not spread > 0:
        return 0.0, 3.0
    skewness, kurtosis = (np.average(lack**power, weights=weights) / spread ** (power / 2) for power in (3, 4))
    return float(skewness), float(kurtosis)


def _tails(n_tasks: int, skewness: float, kurtosis: float, confidence: float) -> Floats:
    """Lower and upper quantile, as numbers of standard deviations."""
    spread = (kurtosis - 1 - skewness**2) * (1 + 6 / n_tasks)  # of n normal contributions, 2 on average
    freedom = 2 * (n_tasks - 1) / max(spread, LEAST_SPREAD)
    wide = float(stdtrit(max(freedom, 1.0), (1 + confidence) / 2)) * np.sqrt(n_tasks / (n_tasks - 1))
    return np.array([-wide, wide])
