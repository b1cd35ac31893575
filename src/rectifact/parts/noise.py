"""How the noise of samples grows with their size: what decides how samples are weighted, and which likelihood fits."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rectifact.core.arrays import Array
from rectifact.core.operand import Operand
from rectifact.parts.samples import sample_block

MOST_ROWS, MOST_COLUMNS = 1000, 500
"""The block of the data from which the noise is measured: rows at equal distances, and the largest columns."""

N_BINS = 20
"""Levels of the fitted values at which the variance is measured."""

EXACT = 1e-8
"""Share of the squared norm below which what is left is rounding, not noise."""


@dataclass(frozen=True)
class NoiseLaw:
    """Noise as a power of size.

    Attributes
    ----------
    row_power : float
        The noise of a row is proportional to its norm to this power, 0 to 1: 0 for the same noise everywhere, about 0.5
        for counts, 1 for noise in proportion to the signal.
    entry_power : float
        The variance of an entry is proportional to its mean to this power: 0 for Gaussian noise, 1 for counts.
    dimensions : float
        In how many directions the noise goes: many if it is white, few if it is what a linear mixture cannot describe.
    level : float
        Share of the squared norm that is noise; 0 where the data is exact.
    noisy_rows : float
        Share of the rows that are noise for the larger part.
    measured : bool
        Whether there were enough samples and features to measure it.
    """

    row_power: float
    entry_power: float
    dimensions: float
    level: float
    noisy_rows: float
    measured: bool

    def is_systematic(self, n_components: int) -> bool:
        """Whether what is left goes in fewer directions than there are parts: mixtures are not quite linear then."""
        return self.dimensions < n_components


def noise_law(X: Operand | Array, rank: int) -> NoiseLaw:
    """Measure the noise on a block of X: what the leading ``rank`` directions of the block leave over.

    Parameters
    ----------
    X : Operand or array of shape (n_samples, n_features)
    rank : int
        Number of parts.

    Returns
    -------
    NoiseLaw

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> mean = rng.gamma(1.0, 100.0, size=(400, 3)) @ rng.random((3, 60))
    >>> law = noise_law(rng.poisson(mean).astype(float), 3)
    >>> round(law.row_power, 1), round(law.entry_power)
    (0.5, 1)
    """
    block, norms = sample_block(X, MOST_ROWS, MOST_COLUMNS)
    squared = float((block**2).sum())
    if min(block.shape) < 2 * rank or squared == 0:
        counts = bool((block >= 0).all() and (block == np.round(block)).all())
        return NoiseLaw(1.0, 1.0 if counts else 0.0, float(min(block.shape)), 1.0, 0.0, False)
    fitted = _leading(block, rank)
    rest = block - fitted
    level = float((rest**2).sum()) / squared
    if level < EXACT:
        return NoiseLaw(1.0, 0.0, float(block.shape[1]), 0.0, 0.0, True)
    left = np.sqrt((rest**2).sum(axis=1))
    noisy = float((left**2 > 0.5 * (block**2).sum(axis=1))[norms > 0].mean())
    power = float(np.clip(_median_slope(norms, left), 0, 1))
    return NoiseLaw(power, _entry_power(fitted, rest), _dimensions(rest), level, noisy, True)


class RankedNoise:
    """What :func:`noise_law` says for each rank, from one decomposition, but for the powers, which are NaN.

    Examples
    --------
    >>> X = np.random.default_rng(0).random((60, 20))
    >>> one, other = RankedNoise(X).law(3), noise_law(X, 3)
    >>> one.noisy_rows == other.noisy_rows, round(one.dimensions / other.dimensions, 9)
    (True, 1.0)
    """

    def __init__(self, X: Operand | Array) -> None:
        block, norms = sample_block(X, MOST_ROWS, MOST_COLUMNS)
        self._shape, squares = block.shape, (block**2).sum(axis=1)
        tall = block.shape[0] >= block.shape[1]
        values, vectors = np.linalg.eigh(block.T @ block if tall else block @ block.T)
        values, vectors = np.maximum(values[::-1], 0), vectors[:, ::-1]
        most = min(block.shape) // 2
        projected = (block @ vectors[:, :most]) ** 2 if tall else vectors[:, :most] ** 2 * values[:most]
        left = squares[:, None] - np.cumsum(projected, axis=1)
        self._noisy = (left > 0.5 * squares[:, None])[norms > 0].mean(axis=0) if (norms > 0).any() else np.zeros(most)
        self._squared = float(squares.sum())
        self._left, self._fourth = (np.cumsum(powers[::-1])[::-1] for powers in (values, values**2))

    def law(self, rank: int) -> NoiseLaw:
        """The law for this rank."""
        if min(self._shape) < 2 * rank or self._squared == 0:
            return NoiseLaw(np.nan, np.nan, float(min(self._shape)), 1.0, 0.0, False)
        level = float(self._left[rank]) / self._squared
        if level < EXACT:
            return NoiseLaw(np.nan, np.nan, float(self._shape[1]), 0.0, 0.0, True)
        dimensions = float(self._left[rank] ** 2 / self._fourth[rank])
        return NoiseLaw(np.nan, np.nan, dimensions, level, float(self._noisy[rank - 1]), True)


def _leading(block: NDArray[Any], rank: int) -> NDArray[Any]:
    """The block, projected to its leading directions through the smaller Gram matrix."""
    tall = block.shape[0] >= block.shape[1]
    gram = block.T @ block if tall else block @ block.T
    vectors = np.linalg.eigh(gram).eigenvectors[:, -rank:]
    return (block @ vectors) @ vectors.T if tall else vectors @ (vectors.T @ block)


def _median_slope(sizes: NDArray[Any], noise: NDArray[Any]) -> float:
    """As :func:`_slope`, but the median of the slopes between two rows, which a few rows do not change (Theil and Sen).

    A document of one word that others have too is explained completely: the logarithm of what is left has no bound.
    Slopes count by the distance of the sizes: rows of about the same size, however many there are, tell little.
    """
    x, y = _logarithms(sizes, noise)
    if not _differ(x):
        return 0.0
    first, second = np.triu_indices(len(x), 1)
    run, rise = x[second] - x[first], y[second] - y[first]
    run, rise = run[run != 0], rise[run != 0]
    slopes = rise / run
    order = np.argsort(slopes)
    weight = np.cumsum(np.abs(run[order]))
    return float(slopes[order[np.searchsorted(weight, weight[-1] / 2)]])


def _slope(sizes: NDArray[Any], noise: NDArray[Any]) -> float:
    """Slope of the logarithm of the noise against that of the size; 0 where sizes do not differ."""
    x, y = _logarithms(sizes, noise)
    return float(np.mean((x - x.mean()) * (y - y.mean())) / x.var()) if _differ(x) else 0.0


def _logarithms(sizes: NDArray[Any], noise: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    known = (sizes > 0) & (noise > 0)
    return np.log(sizes[known]), np.log(noise[known])


def _differ(logarithms: NDArray[Any]) -> bool:
    return len(logarithms) > 1 and bool(logarithms.var() > 1e-4)


def _entry_power(fitted: NDArray[Any], rest: NDArray[Any]) -> float:
    """Slope of the logarithm of the variance against that of the mean, over levels of the positive fitted values."""
    positive = fitted > 0
    mean, variance = fitted[positive], rest[positive] ** 2
    if len(mean) < 10 * N_BINS:
        return 0.0
    order = np.argsort(mean, kind="stable")
    levels = [(mean[part].mean(), variance[part].mean()) for part in np.array_split(order, N_BINS)]
    means, variances = np.array(levels).T
    return _slope(means, variances)


def _dimensions(rest: NDArray[Any]) -> float:
    """Participation ratio of the variances along the principal directions of the noise."""
    gram = rest.T @ rest if rest.shape[0] >= rest.shape[1] else rest @ rest.T
    return float(np.trace(gram) ** 2 / (gram**2).sum())
