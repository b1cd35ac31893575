"""The choices of a climb, on every library and device, against the same rules in plain Python."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from rectifact.core.arrays import to_host
from rectifact.latent.extrapolation import begin_climb
from rectifact.latent.model import LatentModel

OBJECTIVES = (-5.0, -3.0, -3.5, -3.4, -2.0, -2.5, -1.0, -1.0)
"""Rises and falls, two falls in a row among them, and no change at the end."""


def results(seed):
    rng = np.random.default_rng(seed)
    return [(rng.standard_normal((4, 2)), rng.standard_normal((2, 3)), rng.standard_normal()) for _ in OBJECTIVES]


def expected(start, afters, most, floor):
    """Points to sweep, best points, and rejections in a row: one branch per case."""
    point = best = before = start
    highest, gap, extrapolated, rejected, states = -np.inf, 0.5, False, 0, []
    for after, objective in zip(afters, OBJECTIVES, strict=True):
        if objective >= highest:
            beta = min(1 - gap, most)
            ahead = [mine + beta * (mine - theirs) for mine, theirs in zip(after, before, strict=True)]
            ahead[2] = max(ahead[2], floor)
            best, before, highest, rejected = point, after, objective, 0
            point, gap, extrapolated = (tuple(ahead), max(0.9 * gap, 1 - most), True) if most else (after, gap, False)
        else:
            point = before if extrapolated else after
            gap, extrapolated, rejected = min(4 * gap, 0.5) if extrapolated else gap, False, rejected + 1
        states.append((point, best, rejected))
    return states


@pytest.mark.parametrize("most", [0.0, 0.9])
def test_choices(to_xp, most):
    start, *afters = results(0)
    afters = [*afters, start]
    climb = begin_climb(LatentModel(to_xp(start[0]), to_xp(start[1]), start[2]))
    rejections = []
    for after, objective, (point, best, rejected) in zip(
        afters, OBJECTIVES, expected(start, afters, most, -1.0), strict=True
    ):
        there = LatentModel(*(to_xp(np.asarray(part)) for part in after))
        climb = climb.advanced(there, to_xp(np.array(objective)), most=most, floor=-1.0, rounding=1e-16)
        for model, wanted in ((climb.point, point), (climb.best, best)):
            for part, value in zip(model.parts, wanted, strict=True):
                assert_allclose(to_host(part), value, rtol=1e-12)
        assert int(climb.rejected) == rejected
        rejections.append(rejected)
    assert max(rejections) == 2


def test_numbers_have_the_precision_of_the_factors(to_xp):
    start = LatentModel(to_xp(np.ones((2, 1), dtype="float32")), to_xp(np.ones((1, 2), dtype="float32")), 0.0)
    climb = begin_climb(start).advanced(start, to_xp(np.array(1.0)), most=0.9, floor=-9.0, rounding=1e-16)
    assert climb.point.A.dtype == climb.point.B.dtype == climb.point.sigma.dtype == start.B.dtype
