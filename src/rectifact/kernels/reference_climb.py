"""The choices of a climb by sweeps, in any library of arrays; ``fused_climb`` has them for CUDA tensors."""

from typing import Any, NamedTuple

from rectifact.core.arrays import Array, choose, clip, namespace


class Choices(NamedTuple):
    """What follows from the objective of a sweep; arrays of one number each.

    Attributes
    ----------
    kept : array
        Whether the sweep is kept.
    further : array
        The next step ahead, as a share of the last step.
    highest, gap, ahead, rejected : array
        ``highest``, ``gap``, ``extrapolated`` and ``rejected`` of the next
        :class:`rectifact.latent.extrapolation.Climb`.
    """

    kept: Any
    further: Any
    highest: Any
    gap: Any
    ahead: Any
    rejected: Any


def climb_choices(
    objective: Any,
    highest: Any,
    gap: Any,
    extrapolated: Any,
    rejected: Any,
    *,
    most: float,
    largest_gap: float,
    rounding: float,
) -> Choices:
    """Whether a sweep is kept, and how far ahead the next one begins.

    Where the objective has risen, ``gap`` is multiplied by 0.9, to at least ``1 - most``. Where it has fallen, it is
    four times as large, up to ``largest_gap``.
    """
    kept = objective >= highest - rounding * abs(highest)
    narrower = clip(0.9 * gap, 1 - most) if most else gap
    wider = choose(extrapolated, clip(4 * gap, None, largest_gap), gap)
    return Choices(
        kept=kept,
        further=clip(1 - gap, None, most) if most else 0 * gap,
        highest=choose(kept & (objective > highest), objective, highest),
        gap=choose(kept, narrower, wider),
        ahead=kept & (most > 0),
        rejected=choose(kept, 0 * rejected, rejected + 1),
    )


def climb_on(
    after: Array, before: Array, point: Array, best: Array, further: Any, kept: Any, extrapolated: Any
) -> tuple[Array, Array, Array]:
    """Where to sweep next, the best point and the last one kept, for one factor of a climb.

    A sweep led from ``point`` to ``after``. If it is ``kept``, the next point lies ``further`` times the way from
    ``before`` to ``after`` ahead; else it is ``before``, or ``after`` where nothing was extrapolated.
    """
    ahead = after + further * (after - before)
    there = choose(kept, ahead, choose(extrapolated, before, after))
    return there, choose(kept, point, best), choose(kept, after, before)


def newton_step(log_sigma: Any, first: Any, second: Any, floor: float) -> Any:
    """Newton step of at most 0.5 from the first two derivatives in log sigma."""
    xp = namespace(first)
    bent = second < 0
    uphill = 1e20 * clip(first, -1.0, 1.0)  # as far as it may; xp.sign would make the device wait
    newton = xp.where(bent, -first / xp.where(bent, second, -xp.ones_like(second)), uphill)
    return clip(log_sigma + clip(newton, -0.5, 0.5), floor)
