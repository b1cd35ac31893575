"""Counts and moments of the data, from one pass over its entries."""

from dataclasses import dataclass
from math import frexp

from scipy.special import ndtri

from rectifact.core.arrays import Array, namespace
from rectifact.core.sparse import entries

SAFE = (1e-10, 1e10)
"""Between these the squares of the largest entry and of the rest stay within the range of floating point numbers."""


@dataclass(frozen=True)
class Statistics:
    """What is known about the entries of some rows, which are not negative; two add up to that of all their rows.

    Attributes
    ----------
    size : int
        Number of entries, missing ones included.
    missing, positive, fractional : int
        Number of entries that are missing, positive, and neither zero nor one.
    largest : float
    total, squares : float
        Sum of the entries and of their squares, in units of ``scale``, so that they cannot overflow.
    """

    size: int
    missing: int
    positive: int
    fractional: int
    largest: float
    total: float
    squares: float

    @property
    def scale(self) -> float:
        """The power of two just below the largest entry."""
        return _scale(self.largest)

    @property
    def unit(self) -> float:
        """Unit in which squares of the entries can be computed: 1, or a power of two for extreme data."""
        return 1.0 if SAFE[0] < self.largest < SAFE[1] else self.scale

    @property
    def known(self) -> int:
        """Number of entries that are not missing."""
        return self.size - self.missing

    @property
    def rms(self) -> float:
        """Root mean square of the positive entries, in units of ``unit``."""
        return float((self.squares / self.positive) ** 0.5 * (self.scale / self.unit))

    def __add__(self, other: "Statistics") -> "Statistics":
        largest = max(self.largest, other.largest)
        mine, theirs = self.scale / _scale(largest), other.scale / _scale(largest)
        return Statistics(
            size=self.size + other.size,
            missing=self.missing + other.missing,
            positive=self.positive + other.positive,
            fractional=self.fractional + other.fractional,
            largest=largest,
            total=self.total * mine + other.total * theirs,
            squares=self.squares * mine**2 + other.squares * theirs**2,
        )

    def constant(self, link: str) -> tuple[float, float]:
        """Theta and sigma, the same for all entries, in units of ``unit``: equation 4.14 of Saul (2022)."""
        ratio = self.scale / self.unit
        mean = self.total * ratio / self.known
        if link == "binary":
            return float(ndtri(mean)), 1.0
        return mean, max(self.squares * ratio**2 / self.known - mean**2, 1e-300) ** 0.5


def statistics(X: Array) -> Statistics:
    """Statistics of some rows; NaN is a missing entry.

    Examples
    --------
    >>> import numpy as np
    >>> found = statistics(np.array([[0.0, 1.0], [7.0, np.nan]]))
    >>> found.positive, found.missing, found.largest, found.rms
    (2, 1, 7.0, 5.0)
    """
    stored = entries(X)
    xp = namespace(stored)
    values = stored[stored != 0]
    missing = xp.isnan(values)
    known = xp.astype(xp.where(missing, xp.zeros_like(values), values), xp.float64)
    n_missing = int(xp.count_nonzero(missing))
    largest = float(xp.max(known)) if known.shape[0] else 0.0
    relative = known / _scale(largest)
    return Statistics(
        size=X.shape[0] * X.shape[1],
        missing=n_missing,
        positive=values.shape[0] - n_missing,
        fractional=int(xp.count_nonzero((values != 1) & ~missing)),
        largest=largest,
        total=float(xp.sum(relative)),
        squares=float(xp.sum(relative**2)),
    )


def _scale(largest: float) -> float:
    return 2.0 ** (frexp(largest or 5e-324)[1] - 1)
