"""Sweeps that look ahead: how far to extrapolate, and where to go on when that was too far.

The choices hang on the objective of every sweep. On the host they are Python's; on a device both outcomes are at hand
and the choice is made there, so that the host can send sweep after sweep without waiting for one.
"""

from dataclasses import dataclass, replace
from math import inf
from typing import Any

from rectifact.core.arrays import Array, device, is_host, namespace
from rectifact.core.lazy import is_lazy
from rectifact.latent.model import LatentModel

__all__ = ["Climb", "begin_climb"]

LARGEST_GAP = 0.5


@dataclass(frozen=True)
class Climb:
    """State between two sweeps.

    Attributes
    ----------
    point : where to sweep next
    best : the best point that was swept, and ``highest``, its objective
    before : result of the last sweep that was kept, from which the next step ahead is measured
    gap : 1 minus the share of the last way that is gone ahead
    extrapolated : whether ``point`` lies ahead of ``before``
    rejected : sweeps in a row that were thrown away
    """

    point: LatentModel
    best: LatentModel
    before: LatentModel
    highest: Any = -inf
    gap: Any = LARGEST_GAP
    extrapolated: Any = False
    rejected: Any = 0

    def advanced(self, after: LatentModel, objective: Any, *, most: float, floor: float, rounding: float) -> "Climb":
        """The state after a sweep of ``point`` gave ``after``, and found ``objective`` there.

        Where the objective has risen, the step ahead grows up to ``most`` times the way, ``gap`` being multiplied by
        0.9. Where it has fallen, the sweep is thrown away, and the next one begins at the last good result with a
        ``gap`` four times as large. ``most`` of 0 never goes ahead.
        """
        kept = objective >= self.highest - rounding * abs(self.highest)
        least = 1 - most
        ahead = after.beyond(self.before, _at_most(1 - self.gap, most), floor) if most else after
        wider = _choose(self.extrapolated, _at_most(4 * self.gap, LARGEST_GAP), self.gap)
        return Climb(
            point=_choose(kept, ahead, _choose(self.extrapolated, self.before, after)),
            best=_choose(kept, self.point, self.best),
            before=_choose(kept, after, self.before),
            highest=_choose(kept & (objective > self.highest), objective, self.highest),
            gap=_choose(kept, _at_least(0.9 * self.gap, least) if most else self.gap, wider),
            extrapolated=kept & (most > 0),
            rejected=_choose(kept, 0 * self.rejected, self.rejected + 1),
        )


def begin_climb(start: LatentModel) -> Climb:
    """State before the first sweep; numbers live where the factors do."""
    if is_host(start.B) or is_lazy(start.A):
        return Climb(start, start, start)
    xp, place = namespace(start.B), device(start.B)

    def number(value: Any, kind: Any) -> Array:
        return xp.asarray(value, dtype=kind, device=place)

    start = replace(start, log_sigma=number(start.log_sigma, xp.float64))
    scalars = number(-inf, xp.float64), number(LARGEST_GAP, start.B.dtype), number(False, xp.bool), number(0, xp.int64)
    return Climb(start, start, start, *scalars)


def _choose(condition: Any, yes: Any, no: Any) -> Any:
    if isinstance(condition, bool):
        return yes if condition else no
    if isinstance(yes, LatentModel):
        return LatentModel(*(_choose(condition, *pair) for pair in zip(yes.parts, no.parts, strict=True)))
    return namespace(condition).where(condition, yes, no)


def _at_most(value: Any, limit: float) -> Any:
    return min(value, limit) if isinstance(value, float) else namespace(value).clip(value, None, limit)


def _at_least(value: Any, limit: float) -> Any:
    return max(value, limit) if isinstance(value, float) else namespace(value).clip(value, limit, None)
