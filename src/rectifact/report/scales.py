"""From the values of an axis to pixels: its range, its ticks, and how numbers are written."""

import unicodedata
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rectifact.report.marks import Axis, Form

ROOM = 0.04
MARGIN = 1.001 * ROOM / (1 + 2 * ROOM)
"""Space beside the values at each end of an axis, as a share of their range, and of the axis, up to rounding."""

BROAD = "%@MWmw"
"""Latin letters and signs that are as wide as they are high."""

RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass(frozen=True)
class Scale:
    """Values from ``low`` to ``high`` as pixels from ``start`` to ``end``, linearly or by their logarithm."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def __call__(self, values: Any) -> NDArray[Any]:
        """Pixels of values."""
        values, low, high = np.asarray(values, dtype=float), self.low, self.high
        if self.log:
            values, low, high = np.log10(np.maximum(values, low)), np.log10(low), np.log10(high)
        return self.start + (values - low) / (high - low) * (self.end - self.start)


def limits(values: NDArray[Any], axis: Axis, *, bars: bool = False) -> tuple[float, float, bool]:
    """Where an axis begins and ends, and whether it is logarithmic.

    Examples
    --------
    >>> import numpy as np
    >>> limits(np.array([1.0, 1000.0]), Axis(log=True))[2]
    True
    >>> limits(np.array([2.0, 4.0]), Axis(zero=True))[0]
    0.0
    """
    if axis.names:
        return -0.5, len(axis.names) - 0.5, False
    if axis.span is not None:
        return *axis.span, False
    known = values[np.isfinite(values)]
    if not len(known):
        return 0.0, 1.0, False
    low, high = float(known.min()), float(known.max())
    if axis.log and low > 0:
        room = max((high / low) ** ROOM, 1.02)
        return low / room, high * room, True
    low, high = (min(low, 0.0), max(high, 0.0)) if axis.zero or bars else (low, high)
    if low == high:
        low, high = low - (abs(low) or 1.0) / 2, high + (abs(high) or 1.0) / 2
    room = ROOM * (high - low)
    keep_low, keep_high = (axis.zero or bars) and low == 0, (axis.zero or bars) and high == 0
    return low - room * (not keep_low), high + room * (not keep_high), False


def ticks(low: float, high: float, most: int, *, log: bool = False, whole: bool = False) -> list[float]:
    """Round numbers between ``low`` and ``high``, about ``most`` of them.

    Examples
    --------
    >>> ticks(0, 10, 5)
    [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]
    >>> ticks(0.8, 300, 8, log=True)
    [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0]
    >>> ticks(1, 16, 6, whole=True)
    [5.0, 10.0, 15.0]
    """
    if log:
        return _powers(low, high, most, whole)
    rough = (high - low) / max(most, 1)
    power = 10.0 ** np.floor(np.log10(rough))
    nice = (1, 2, 5, 10) if whole and power < 10 else (1, 2, 2.5, 5, 10)
    step = next(power * digit for digit in nice if power * digit >= rough * 0.999)
    step = max(1.0, step) if whole else step
    first, last = np.ceil(low / step - 1e-9), np.floor(high / step + 1e-9)
    return list(dict.fromkeys(float(f"{place * step:.15g}") + 0.0 for place in np.arange(first, last + 1)))


def _powers(low: float, high: float, most: int, whole: bool) -> list[float]:
    first, last = int(np.floor(np.log10(low))), int(np.ceil(np.log10(high)))
    for digits in ((1, 2, 5), (1, 3), (1,)):
        found = [float(f"{digit}e{power}") for power in range(first, last + 1) for digit in digits]
        found = [tick for tick in found if low <= tick <= high and (tick >= 1 or not whole)]
        if len(found) <= most:
            return found if len(found) > 1 else ticks(low, high, most, whole=whole)
    return found[:: -(-len(found) // most)]


def written(value: float, form: Form = "number", step: float = 0.0) -> str:
    """A number as text; ``step`` between ticks decides how many digits it has.

    Examples
    --------
    >>> written(0.25, "share"), written(-0.05, "share"), written(12_000.0), written(1.5e-7)
    ('25%', '−5%', '12,000', '1.5·10⁻⁷')
    >>> written(0.05, "share", step=0.025)
    '5.0%'
    """
    if not np.isfinite(value):
        return "–"
    if form != "number":
        digits = 0 if step == 0 else next((n for n in range(4) if abs(round(100 * step, n) - 100 * step) < 1e-6), 4)
        return f"{100 * value:.{digits}f}%".replace("-", "−")
    if value == 0 or 1e-4 <= abs(value) < 1e7:
        digits = max(5, int(np.ceil(np.log10(abs(value) / step))) + 1) if step > 0 and value else 5
        return f"{float(f'{value:.{digits}g}'):,.15g}".replace("-", "−")
    figures, power = f"{value:.3e}".split("e")
    figures = figures.rstrip("0").rstrip(".")
    raised = str(int(power)).translate(RAISED)
    return f"10{raised}" if figures == "1" else f"{figures}·10{raised}".replace("-", "−")


def labels(at: list[float], form: Form) -> list[str]:
    """Texts of ticks."""
    step = min((b - a for a, b in pairwise(at)), default=0.0)
    return [written(value, form, step) for value in at]


def width_of(text: str, size: float) -> float:
    """About how many pixels a text is wide; letters of East Asian scripts are twice as wide as most others."""
    broad = (letter in BROAD or unicodedata.east_asian_width(letter) in "WF" for letter in text)
    return size * sum(1.0 if wide else 0.57 for wide in broad)


def cut(text: str, size: float, most: float) -> str:
    """A text that is at most about ``most`` pixels wide.

    Examples
    --------
    >>> cut("a rather long name", 10, 60)
    'a rather…'
    """
    text = " ".join(text.split())
    if width_of(text, size) <= most:
        return text
    letters, used = 0, size
    while letters < len(text) and used + width_of(text[letters], size) <= most:
        used += width_of(text[letters], size)
        letters += 1
    return text[:letters] + "…"
