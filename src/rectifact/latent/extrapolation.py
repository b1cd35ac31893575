"""Extrapolation of sweeps: how far to look ahead, and where to continue when that was too far.

The choices depend on the objective of every sweep. Numbers are arrays of the library of the factors: on a device the
choices are made there, so that the host can send sweep after sweep without waiting for one.
"""

from dataclasses import dataclass, replace
from math import inf
from typing import Any

from rectifact.core.arrays import Array, choose, clip, device, namespace
from rectifact.kernels import climb_choices, climb_on
from rectifact.latent.model import LatentModel

LARGEST_GAP = 0.5


@dataclass(frozen=True)
class Climb:
    """State between two sweeps; numbers are arrays of one number.

    Attributes
    ----------
    point : LatentModel
        Where to sweep next.
    best : LatentModel
        The best point that was swept.
    before : LatentModel
        Result of the last sweep that was kept, from which the next step ahead is measured.
    highest : array
        Objective at ``best``.
    gap : array
        1 minus the extrapolation, as a share of the last step.
    extrapolated : array
        Whether ``point`` lies ahead of ``before``.
    rejected : array
        Number of sweeps in a row that were thrown away.
    """

    point: LatentModel
    best: LatentModel
    before: LatentModel
    highest: Any
    gap: Any
    extrapolated: Any
    rejected: Any

    def advanced(self, after: LatentModel, objective: Any, *, most: float, floor: float, rounding: float) -> "Climb":
        """The state after a sweep from ``point``, whose objective was ``objective``, led to ``after``.

        Where the objective has risen, the next step ahead is longer, up to ``most`` times the last step: ``gap`` is
        multiplied by 0.9. Where it has fallen, the sweep is thrown away, and the next one begins at the last good
        result with a ``gap`` four times as large. With ``most=0`` nothing is extrapolated.
        """
        choices = climb_choices(
            *(objective, self.highest, self.gap, self.extrapolated, self.rejected),
            most=most,
            largest_gap=LARGEST_GAP,
            rounding=rounding,
        )
        moved = [
            climb_on(*models, choices.further, choices.kept, self.extrapolated)
            for models in zip(after.parts, self.before.parts, self.point.parts, self.best.parts, strict=True)
        ]
        point, best, before = (LatentModel(*parts) for parts in zip(*moved, strict=True))
        lowest = clip(point.log_sigma, floor)
        point = replace(point, log_sigma=choose(choices.ahead, lowest, point.log_sigma))
        return Climb(point, best, before, choices.highest, choices.gap, choices.ahead, choices.rejected)


def begin_climb(start: LatentModel) -> Climb:
    """State before the first sweep."""
    xp, place = namespace(start.B), device(start.B)

    def number(value: Any, dtype: Any) -> Array:
        return xp.asarray(value, dtype=dtype, device=place)

    start = replace(start, log_sigma=number(start.log_sigma, xp.float64))
    scalars = number(-inf, xp.float64), number(LARGEST_GAP, start.B.dtype), number(False, xp.bool), number(0, xp.int64)
    return Climb(start, start, start, *scalars)
