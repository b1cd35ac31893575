"""What a chart shows, as plain data: axes, and marks in the units of the axes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

PALETTE = ("#3b7dd8", "#e07b39", "#3f9d63", "#b5479b", "#8a6d3b", "#5f6b7a", "#c23b3b", "#2aa6b8", "#8f7ae0", "#a3a600")
"""Colours that differ in lightness too, so that they can be told apart in greyscale; marks name them by number."""

Form = Literal["number", "share"]
"""How values are written: as they are, or as percentages."""


@dataclass(frozen=True)
class Axis:
    """One side of a chart.

    Parameters
    ----------
    title : str
    names : sequence of str
        Names at the places 0, 1, 2, …, instead of numbers.
    form : {"number", "share"}
    log : bool
        Whether the scale is logarithmic; used where all values are positive.
    zero : bool
        Whether 0 is part of the axis in any case.
    whole : bool
        Whether only whole numbers are marked.
    span : tuple of float or None
        Where the axis begins and ends; by default the values decide.
    hidden : bool
        Whether to leave out ticks, lines and title.
    """

    title: str = ""
    names: Sequence[str] = ()
    form: Form = "number"
    log: bool = False
    zero: bool = False
    whole: bool = False
    span: tuple[float, float] | None = None
    hidden: bool = False


@dataclass(frozen=True)
class Bars:
    """Bars from 0 to ``y``; ``labels`` are said on hover, with the value."""

    x: NDArray[Any]
    y: NDArray[Any]
    labels: Sequence[str]
    width: float = 0.8
    colours: Sequence[int] = (0,)

    def extent(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """All values on both axes."""
        half = self.width / 2
        return np.r_[self.x - half, self.x + half], np.r_[0.0, self.y]


@dataclass(frozen=True)
class Points:
    """Points, with intervals from ``low`` to ``high`` if there are any.

    ``labels`` are said on hover, with the values of the point unless it is only a ``place``. ``colours`` are numbers,
    one for each point or one for all; -1 is grey. A ``shade`` below 1 makes the colour fainter.
    """

    x: NDArray[Any]
    y: NDArray[Any]
    labels: Sequence[str] = ()
    colours: Sequence[int] = (0,)
    low: NDArray[Any] | None = None
    high: NDArray[Any] | None = None
    radius: float = 4.0
    place: bool = False
    ring: bool = False
    shade: float = 1.0
    name: str = ""

    def extent(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """All values on both axes."""
        ends = [part for part in (self.low, self.high) if part is not None]
        return self.x, np.concatenate([self.y, *ends])


@dataclass(frozen=True)
class Line:
    """A line through points."""

    x: NDArray[Any]
    y: NDArray[Any]
    name: str = ""
    colour: int = 0
    dashed: bool = False

    def extent(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """All values on both axes."""
        return self.x, self.y


@dataclass(frozen=True)
class Edges:
    """Thin lines between pairs of places; ``ends`` has the shape (n_edges, 2 ends, 2 axes)."""

    ends: NDArray[Any]

    def extent(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """All values on both axes."""
        return self.ends[..., 0].ravel(), self.ends[..., 1].ravel()


@dataclass(frozen=True)
class Cells:
    """A matrix as colours, its first row at the top, each cell one unit wide and high.

    ``low`` and ``high`` are the values at the ends of the colour scale; negative values have a colour of their own.
    ``legend`` says what the full colours of positive and of negative values mean.
    """

    values: NDArray[Any]
    tips: Sequence[Sequence[str]] = ()
    low: float = 0.0
    high: float = 1.0
    legend: tuple[str, ...] = ()

    def extent(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """All values on both axes."""
        rows, columns = self.values.shape
        return np.array([-0.5, columns - 0.5]), np.array([-0.5, rows - 0.5])


@dataclass(frozen=True)
class Texts:
    """Texts ``below`` places, in pixels.

    Of those that would overlap, what precedes the colon is at the place; those without a colon are left out.
    """

    x: NDArray[Any]
    y: NDArray[Any]
    texts: Sequence[str]
    below: NDArray[Any]

    def extent(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """All values on both axes."""
        return self.x, self.y


Mark = Bars | Points | Line | Edges | Cells | Texts
