"""The peers of ANDNMF find what they are made for."""

from types import SimpleNamespace

import numpy as np
import pytest

from rectifact.bench import Extent, parts_likelihood
from rectifact.bench.parts_peers import _match, _ranks, spa, vca


@pytest.mark.parametrize("find", [spa, vca])
def test_pure_samples_are_found(find):
    rng = np.random.default_rng(0)
    parts = rng.random((4, 30))
    shares = np.vstack([rng.dirichlet(np.ones(4), 300), np.eye(4)])
    cosines, partner = _match(find(shares @ parts, 4), parts)
    assert cosines.min() > 1 - 1e-9
    assert sorted(partner) == [0, 1, 2, 3]


def test_ranks_are_means_over_sets():
    rows = [
        {"data": "a", "method": "one", "angle": 1.0},
        {"data": "a", "method": "other", "angle": 2.0},
        {"data": "b", "method": "one", "npmi_mean": 0.1},
        {"data": "b", "method": "other", "npmi_mean": 0.1},
    ]
    assert [row["mean_rank"] for row in _ranks(rows)] == [1.25, 1.75]


def test_a_poisson_fit_stops_at_the_divergence_of_the_peer(monkeypatch):
    rng = np.random.default_rng(1)
    X = rng.poisson(rng.gamma(0.5, 4.0, (120, 4)) @ rng.dirichlet(np.full(60, 0.2), 4))
    monkeypatch.setattr(parts_likelihood, "load_tdt2", lambda: SimpleNamespace(X=X))
    monkeypatch.setattr(parts_likelihood, "N_ITER", 50)  # of both, before either has converged
    theirs, ours = parts_likelihood.run_likelihood(Extent(peers=True, large=False, quick=False), n_parts=4)
    assert ours["divergence"] <= theirs["divergence"]
    assert ours["iterations"] < theirs["iterations"]
    assert parts_likelihood.run_likelihood(Extent(peers=False, large=False, quick=False)) == []
