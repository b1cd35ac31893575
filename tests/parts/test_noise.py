"""The noise for all numbers of parts at once, against the law of each."""

from dataclasses import astuple

import numpy as np
import pytest
from numpy.testing import assert_allclose

from parts.test_unexplained import survey
from rectifact import ANDNMF
from rectifact.core.operand import operand
from rectifact.parts import stability
from rectifact.parts.documents import count_words
from rectifact.parts.noise import RankedNoise, noise_law
from rectifact.parts.stability import Halves


@pytest.mark.parametrize("shape", [(300, 40), (30, 80), (1500, 700)])
@pytest.mark.parametrize("seed", range(2))
def test_the_noise_of_all_ranks_is_that_of_each(shape, seed):
    rng = np.random.default_rng(seed)
    X = rng.poisson(rng.gamma(0.3, 2.0, (shape[0], 6)) @ rng.dirichlet(np.full(shape[1], 0.1), 6)).astype(float)
    exact = rng.random((60, 2)) @ rng.random((2, 30))
    for data in (X, exact, np.zeros((20, 5))):
        found = RankedNoise(data)
        for rank in (1, 2, 5, 9, 14, 19):
            assert_allclose(astuple(found.law(rank))[2:], astuple(noise_law(data, rank))[2:], rtol=1e-9, atol=1e-12)


class EachLaw:
    """The slow form: the whole law, measured again for each number of parts."""

    def __init__(self, X):
        self.X = X

    def law(self, rank):
        return noise_law(self.X, rank)


@pytest.mark.parametrize("k", [3, 12])
def test_parts_of_halves_are_those_of_the_whole_law(monkeypatch, k):
    X, model = count_words(survey(20), weighting="log").X, ANDNMF(k, refine="nonnegative", random_state=0)
    quick = Halves(model, operand(X)).parts(k, 0)
    monkeypatch.setattr(stability, "RankedNoise", EachLaw)
    slow = Halves(model, operand(X)).parts(k, 0)
    for one, other in zip(quick, slow, strict=True):
        assert_allclose(one, other, atol=1e-9)
