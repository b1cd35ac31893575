"""Poisson counts whose weights are rarely near zero: the fit goes on to the highest likelihood."""

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment
from sklearn.decomposition import NMF

from rectifact import ANDNMF
from rectifact.core.operand import operand
from rectifact.datasets import make_signatures
from rectifact.parts.likely import has_zeros
from rectifact.parts.noise import noise_law
from rectifact.parts.refinement import Refined


def angle(truth, found):
    unit = [each / np.linalg.norm(each, axis=1, keepdims=True) for each in (truth, found)]
    degrees = np.degrees(np.arccos(np.clip(unit[0] @ unit[1].T, -1, 1)))
    return degrees[linear_sum_assignment(degrees)].mean()


def counts(shape, present=1.0, seed=0):
    """Counts of five parts whose weights are gamma distributed, or zero where a part is absent."""
    rng = np.random.default_rng(seed)
    parts = rng.dirichlet(np.full(60, 0.15), 5)
    weights = rng.gamma(shape, 120 / shape, (200, 5)) * (rng.random((200, 5)) < present)
    weights[~weights.any(axis=1), 0] = 120
    return rng.poisson(weights @ parts).astype(float), weights, parts


@pytest.mark.parametrize(("shape", "present"), [(1.5, 1.0), (0.6, 1.0), (0.2, 1.0), (6.0, 0.95), (1.5, 0.6)])
def test_parts_are_as_near_as_those_of_plain_nmf(shape, present):
    ours, theirs = [], []
    for seed in range(3):
        X, _, parts = counts(shape, present, seed)
        ours.append(angle(parts, ANDNMF(5, random_state=0).fit(X).components_))
        theirs.append(angle(parts, NMF(5, init="nndsvda", max_iter=1000).fit(X).components_))
    assert np.mean(ours) < np.mean(theirs) < 7


def test_zeros_are_told_from_small_weights():
    for shape, present, expected in ((1.5, 1.0, False), (6.0, 0.8, True), (1.5, 0.3, True)):
        X, weights, parts = counts(shape, present)
        law, found = noise_law(operand(X), 5), Refined(weights, parts, 0.1)
        assert has_zeros(operand(X), found, law) is expected


def test_counts_of_parts_that_are_absent_keep_their_zeros():
    made = make_signatures(300, random_state=1)
    model = ANDNMF(8, random_state=0).fit(made.X)
    assert angle(made.components, model.components_) < 2.2


@pytest.mark.parametrize("options", [{"background": True}, {"refine": "poisson"}, {"init": "spa"}, {"missing": np.nan}])
def test_other_settings_go_through(options):
    X, _, _ = counts(1.5)
    model = ANDNMF(5, random_state=0, **options).fit(X)
    assert np.isfinite(model.components_).all()
    assert (model.components_ >= 0).all()


@pytest.mark.parametrize(("shape", "present", "mixed"), [(6.0, 1.0, True), (3.0, 1.0, True), (1.0, 1.0, False)])
def test_parts_whose_weights_are_rarely_near_zero_may_be_mixed(shape, present, mixed):
    X, _, _ = counts(shape, present, seed=80)
    model = ANDNMF(5, random_state=0).fit(X)
    found = model.diagnose(X).set_index("finding")
    assert ("parts that may be mixed" in found.index) is mixed
    assert ("parts can be told apart" in found.index) is not mixed
    if mixed:
        assert found.loc["parts that may be mixed", "severity"] == "warning"
        assert not found["remedy"].str.contains("Nothing to do").any()
