"""How many samples are mostly noise, for all numbers of parts at once."""

import numpy as np
import pytest

from parts.test_unexplained import survey
from rectifact import ANDNMF
from rectifact.core.operand import operand
from rectifact.parts import stability
from rectifact.parts.documents import count_words
from rectifact.parts.noise import noise_law, noisy_rows_by_rank
from rectifact.parts.stability import Halves


@pytest.mark.parametrize("shape", [(300, 40), (30, 80), (1500, 700)])
@pytest.mark.parametrize("seed", range(2))
def test_noisy_rows_of_all_ranks_are_those_of_each(shape, seed):
    rng = np.random.default_rng(seed)
    X = rng.poisson(rng.gamma(0.3, 2.0, (shape[0], 6)) @ rng.dirichlet(np.full(shape[1], 0.1), 6)).astype(float)
    found = noisy_rows_by_rank(X)
    for rank in (1, 2, 5, 9, 14):
        assert found[rank] == pytest.approx(noise_law(X, rank).noisy_rows, abs=1 / 1000)
    exact = rng.random((60, 2)) @ rng.random((2, 30))
    assert [noisy_rows_by_rank(exact)[rank] for rank in (1, 2, 3)] == [
        noise_law(exact, r).noisy_rows for r in (1, 2, 3)
    ]
    assert not noisy_rows_by_rank(np.zeros((20, 5))).any()


def test_halves_of_documents_are_the_same_without_the_law_of_their_noise(monkeypatch):
    """Where documents are mostly noise, their number is all that counts; the law is not measured."""
    X = count_words(survey(20), weighting="log").X
    model, laws = ANDNMF(3, refine="nonnegative", random_state=0), []
    monkeypatch.setattr(stability, "noise_law", lambda *given: laws.append(noise_law(*given)) or laws[-1])
    quick = Halves(model, operand(X)).parts(3, 0)
    assert not laws
    monkeypatch.setattr(stability, "noisy_rows_by_rank", lambda X: np.zeros(1))
    slow = Halves(model, operand(X)).parts(3, 0)
    assert len(laws) == 2
    for one, other in zip(quick, slow, strict=True):
        np.testing.assert_array_equal(one, other)
