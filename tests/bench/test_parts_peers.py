"""The peers of ANDNMF find what they are made for."""

import numpy as np
import pytest

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
