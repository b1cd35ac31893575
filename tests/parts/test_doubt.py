"""What is said about the number of parts where the weakest direction barely exceeds the noise."""

import numpy as np
import pytest

from rectifact import ANDNMF
from rectifact.parts.how_many import PartsTrial
from rectifact.selection import select


def counts(seed):
    """Purchases in 200 shops of three planted kinds."""
    rng = np.random.default_rng(seed)
    kinds, shops = rng.dirichlet(np.ones(30) * 0.15, 3), rng.dirichlet(np.ones(3) * 0.4, 200)
    return rng.poisson((shops @ kinds) * rng.integers(80, 600, 200)[:, None]).astype(float)


@pytest.mark.parametrize("seed", [1, 9, 47, 55, 93, 130, 151, 169])
def test_a_doubt_agrees_with_what_was_measured(seed):
    found = select(ANDNMF(1), counts(seed), random_state=0)
    assert "may be too low" not in found.reason  # three are planted, and no fewer were found in any draw
    assert ("either this is chance, or the number is too low" in found.reason) == ("more direction" in found.reason)
    assert ("may be too high" in found.reason) == (found.best > 3)
    if "predict better" in found.reason:
        assert "3 predict better. The number may be too high" in found.reason
        assert "Compare with 3 parts." in found.reason


def test_each_doubt_is_met():
    said = []
    for seed in (1, 9, 47, 55, 93, 130, 151, 169):
        trial = PartsTrial(ANDNMF(1), counts(seed), np.random.default_rng(0))
        trial.recurring(trial.start(1), range(1, 29))
        said.append(trial.doubt())
    assert any("may be too high" in doubt for doubt in said)
    assert any("without predicting better" in doubt for doubt in said)
