"""What is estimated, a share or a mean grade, and how its figures are written."""

from dataclasses import dataclass
from math import floor, log10
from typing import Any, Self

from rectifact.crowd.data.names import plain_text


@dataclass(frozen=True)
class Quantity:
    """A share or a mean.

    Attributes
    ----------
    what : str
        In words, such as "share of pass".
    noun : str
        The same in short.
    least, most : float
        Between which it lies.
    digits : int or None
        Of a mean; None for a share, which is written in percent.
    """

    what: str
    noun: str
    least: float = 0.0
    most: float = 1.0
    digits: int | None = None

    @classmethod
    def share(cls, positive: Any) -> Self:
        """The share of some classes.

        Examples
        --------
        >>> pair = Quantity.share([4, 5])
        >>> pair.what, pair.value(0.5), pair.change(-0.051), pair.size(0.05)
        ('share of 4 or 5', '50.0%', '-5.1', '5.0 points')
        """
        return cls(f"share of {' or '.join(plain_text(name) for name in positive)}", "rate")

    @classmethod
    def mean(cls, least: float, most: float) -> Self:
        """The mean of grades from ``least`` to ``most``, with digits for a hundredth of that range or less.

        Examples
        --------
        >>> stars, points = Quantity.mean(1, 5), Quantity.mean(0, 100)
        >>> stars.value(3.254), stars.change(0.5), points.value(71.26), points.size(5)
        ('3.25', '+0.50', '71.3', '5.0')
        """
        digits = max(2 - floor(log10((most - least) / 2)), 0) if most > least else 2
        return cls("mean grade", "mean grade", least, most, digits)

    @property
    def is_mean(self) -> bool:
        """Whether it is a mean."""
        return self.digits is not None

    def value(self, x: float) -> str:
        """A figure."""
        return f"{x:.1%}" if self.digits is None else f"{x:.{self.digits}f}"

    def ends(self, row: Any, of: str = "") -> str:
        """The interval in a row of a table, "human_" for that of people alone."""
        return f"{self.value(row[f'{of}low'])} to {self.value(row[f'{of}high'])}"

    def change(self, x: float) -> str:
        """A difference with its sign, in points of a share."""
        return f"{100 * x:+z.1f}" if self.digits is None else f"{x:+z.{self.digits}f}"

    def changes(self, row: Any) -> str:
        """The interval of a difference in a row of a table."""
        return f"{self.change(row['low'])} to {self.change(row['high'])}"

    @property
    def unit(self) -> str:
        """What follows a difference."""
        return " points" if self.digits is None else ""

    def size(self, x: float) -> str:
        """A difference, or half an interval, without a sign."""
        return f"{100 * abs(x):.1f} points" if self.digits is None else f"{abs(x):.{self.digits}f}"

    def wanted(self, half_width: float) -> str:
        """Half an interval as it was asked for."""
        points = f"{100 * half_width:g}"
        points = f"{points} point" if points == "1" else f"{points} points"
        return points if self.digits is None else f"{half_width:g}"
