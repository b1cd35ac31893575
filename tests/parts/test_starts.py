import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.decomposition import FastICA

from rectifact.core.arrays import device, to_host
from rectifact.core.linalg import successive_projection
from rectifact.core.operand import operand
from rectifact.core.rectify import relu
from rectifact.datasets import make_topics
from rectifact.metrics import part_errors
from rectifact.parts.samples import choose_norm, normalized, sample_norms
from rectifact.parts.starts import anchor_start, ica_start, nndsvd_start, spa_start, subspace


@pytest.fixture
def topics():
    return make_topics(n_samples=2000, n_features=60, n_topics=6)


def leading(X, rank):
    return subspace(X, rank)


def test_subspace_holds_the_data_and_measures_what_is_outside(topics, rng):
    exact = leading(topics.X, 6)
    assert_allclose(exact.coordinates @ exact.Vt, topics.X, atol=1e-12)
    assert exact.noise == 0
    noisy = leading(topics.X + 0.01 * rng.standard_normal(topics.X.shape), 6)
    assert_allclose(noisy.noise, 0.01, rtol=0.02)
    assert leading(topics.X, 20).rank == 6


def test_blind_starts_are_near_the_truth(topics, rng):
    space = leading(topics.X, 6)
    for found in (ica_start(space, rng), spa_start(space), anchor_start(1000 * topics.X, 6)):
        assert part_errors(found, topics.components).max() < 0.5
    assert part_errors(rng.random((6, 60)), topics.components).min() > 0.5  # so the line above can fail


def test_ica_agrees_with_scikit_learn_on_independent_sources(rng):
    weights = relu(rng.standard_normal((4000, 3)))
    X = weights @ rng.normal(size=(3, 10))
    peer = FastICA(3, fun=lambda u: (u**2, 2 * u.mean(axis=-1)), whiten="unit-variance", random_state=0).fit(X)
    found = ica_start(leading(X, 3), rng)
    assert part_errors(found, peer.mixing_.T).max() < 0.2


def test_ica_points_weights_the_right_way(topics, rng):
    found = ica_start(leading(topics.X, 6), rng)
    weights = topics.X @ np.linalg.pinv(found)
    assert (((weights - weights.mean(axis=0)) ** 3).mean(axis=0) > 0).all()


def test_spa_finds_pure_samples(rng):
    parts = rng.random((4, 20))
    weights = np.vstack([rng.dirichlet(np.ones(4), size=100), np.eye(4)])
    assert part_errors(spa_start(leading(weights @ parts, 4)), parts).max() < 1e-10


def test_spa_chooses_the_samples_of_successive_projection(rng, to_xp):
    space = leading(to_xp(rng.standard_normal((50, 12))), 6)
    chosen = to_host(space.coordinates)[to_host(successive_projection(space.coordinates, 6))]
    assert_allclose(to_host(spa_start(space)), chosen @ to_host(space.Vt), atol=1e-10)


def test_anchor_words_are_found_in_counts(rng):
    parts = rng.random((3, 12))
    parts[:, :3] = np.eye(3)  # each topic has a word of its own
    parts /= parts.sum(axis=1, keepdims=True)
    counts = np.array([rng.multinomial(200, w @ parts) for w in rng.dirichlet(np.full(3, 0.3), size=3000)])
    dense, sparse = anchor_start(counts.astype(float), 3), anchor_start(sp.csr_array(counts, dtype=float), 3)
    assert part_errors(dense, parts).max() < 0.05
    assert_allclose(dense, sparse)


def test_nndsvd_is_non_negative_and_keeps_the_leading_part(topics):
    found = nndsvd_start(leading(topics.X, 6))
    assert (found >= 0).all()
    leader = np.abs(np.linalg.svd(topics.X)[2][0])
    assert part_errors(found[:1], leader[None]) < 1e-8


def test_starts_stay_on_their_device(to_xp, topics):
    X = to_xp(topics.X)
    found = ica_start(leading(X, 6), np.random.default_rng(0))
    assert type(found) is type(X)
    assert device(found) == device(X)
    assert part_errors(to_host(found), topics.components).max() < 0.5


def test_norms_of_samples():
    X = np.array([[3.0, -4.0], [0.0, 0.0], [1.0, 1.0]])
    for norm, expected in (("l1", [7, 1, 2]), ("l2", [5, 1, 2**0.5])):
        assert_allclose(sample_norms(X, norm)[:, 0], expected)
        assert_allclose(sample_norms(sp.csr_array(X), norm)[:, 0], expected)
        dense, sparse = (normalized(operand(form), norm)[0].native for form in (X, sp.csr_array(X)))
        assert_allclose(dense, X / np.array(expected)[:, None])
        assert_allclose(sparse.toarray(), dense)
    whole = operand(X)
    assert normalized(whole, None) == (whole, 1.0)
    assert (choose_norm(X), choose_norm(np.abs(X)), choose_norm(sp.csr_array(X))) == ("l2", "l1", "l2")
