import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from rectifact.bench.parts import paper_start, tdt2_topics
from rectifact.core.arrays import device, to_host
from rectifact.core.linalg import pseudo_inverse
from rectifact.core.monitor import Monitor
from rectifact.core.rectify import Constant, Geometric
from rectifact.datasets import make_topics
from rectifact.metrics import total_correlation_error
from rectifact.parts.and_nmf import Threshold, and_nmf, descend
from rectifact.parts.baselines import anls, hals
from rectifact.parts.inverses import least_infinity_inverse
from rectifact.parts.starts import subspace

SIZE = {"n_samples": 600, "n_features": 50, "n_topics": 8}


@pytest.fixture(scope="module")
def mixtures():
    topics = make_topics(**SIZE)
    return topics, paper_start(topics.components, seed=1)


def published(X, H, thresholds, n_inner, step):
    """Algorithm 1 of Li and Liang (2017) with the whole data set in each step, loop by loop; columns are samples."""
    Y, A = X.T, H.T.copy()
    for alpha in thresholds:
        Z = np.linalg.pinv(A) @ Y
        for value in np.nditer(Z, op_flags=["readwrite"]):
            value[...] = value if value >= alpha else 0
        for _ in range(n_inner):
            A = A + step * (Y @ Z.T - A @ Z @ Z.T)
    return A.T


def test_the_published_settings_are_the_published_algorithm(mixtures):
    topics, start = mixtures
    step = 1e-3
    slow = published(topics.X, start, [0.1 / 1.1**i for i in range(5)], 50, step)
    threshold = Threshold(Geometric(0.1, 1.1), unit="absolute")
    fast = and_nmf(topics.X, start, threshold=threshold, monitor=Monitor(5, tol=0), n_inner=50, step=step)
    assert_allclose(fast.H, slow, rtol=0, atol=1e-12)


@given(seed=st.integers(0, 2**32 - 1), k=st.integers(1, 6), n_inner=st.sampled_from([1, 2, 50]))
@settings(deadline=None, max_examples=30)
def test_closed_form_equals_explicit_steps(seed, k, n_inner):
    rng = np.random.default_rng(seed)
    W, X, H = rng.random((20, k)), rng.normal(size=(20, 7)), rng.normal(size=(k, 7))
    step = 1 / np.linalg.norm(W.T @ W, 2)
    explicit = H
    for _ in range(n_inner):
        explicit = explicit - step * (W.T @ (W @ explicit - X))
    closed = descend(H, W.T @ X, W.T @ W, n_inner=n_inner)
    assert_allclose(closed, explicit, rtol=0, atol=1e-12 * max(1, np.abs(explicit).max()))
    assert_allclose(descend(H, W.T @ X, W.T @ W, n_inner=n_inner, step=step), closed)


def test_the_limit_of_a_stage_is_least_squares_and_leaves_unused_parts(rng):
    W, X, H = rng.random((30, 4)), rng.normal(size=(30, 6)), rng.normal(size=(4, 6))
    W[:, 2] = 0
    out = descend(H, W.T @ X, W.T @ W)
    used = [0, 1, 3]
    assert_allclose(out[used], np.linalg.lstsq(W[:, used], X)[0], atol=1e-10)
    assert_allclose(out[2], H[2])


def test_compressed_data_gives_the_same_parts(mixtures):
    topics, start = mixtures
    threshold = Threshold(Geometric(0.1, 1.2))
    whole = and_nmf(topics.X, start, threshold=threshold, monitor=Monitor(40, tol=0))
    space = subspace(topics.X, 8)
    small = and_nmf(space.coordinates, start @ space.basis, threshold=threshold, monitor=Monitor(40, tol=0))
    assert_allclose(small.H @ space.Vt, whole.H, atol=1e-10)
    assert_allclose(small.W, whole.W, atol=1e-10)


def test_sparse_equals_dense(mixtures):
    topics, start = mixtures
    X = np.where(np.median(topics.X) < topics.X, topics.X, 0)
    run = [
        and_nmf(data, start, threshold=Threshold(Geometric(0.1, 1.2)), monitor=Monitor(10, tol=0))
        for data in (X, sp.csr_array(X))
    ]
    assert_allclose(run[0].H, run[1].H, atol=1e-12)


def test_backends_agree_and_keep_the_array(to_xp, mixtures):
    topics, start = mixtures
    threshold = Threshold(Geometric(0.1, 1.2), noise=1e-6)
    host = and_nmf(topics.X, start, threshold=threshold, monitor=Monitor(30, tol=0)).H
    X = to_xp(topics.X)
    found = and_nmf(X, to_xp(start), threshold=threshold, monitor=Monitor(30, tol=0)).H
    assert type(found) is type(X)
    assert found.dtype == X.dtype
    assert device(found) == device(X)
    assert_allclose(to_host(found), host, atol=1e-9)


def test_error_follows_the_threshold(mixtures):
    topics, start = mixtures
    errors = [
        total_correlation_error(
            and_nmf(topics.X, start, threshold=Threshold(Geometric(0.1, 1.3)), monitor=Monitor(t, tol=0)).H,
            topics.components,
        )
        for t in (20, 40, 60)
    ]
    assert errors[0] < 0.1
    assert errors[1] < 0.02 * errors[0]
    assert errors[2] < 0.02 * errors[1]


def test_a_constant_threshold_does_not_converge(mixtures):
    topics, start = mixtures
    stuck = and_nmf(topics.X, start, threshold=Threshold(Constant(0.1)), monitor=Monitor(200, tol=0)).H
    assert total_correlation_error(stuck, topics.components) > 0.05


def test_noise_reaches_the_weights_as_the_floor_says(rng):
    H = rng.random((3, 40))
    X = 0.1 * rng.standard_normal((5000, 40))
    threshold = Threshold(Constant(0.0), noise=0.1, multiple=2.0)
    found = and_nmf(X, H, threshold=threshold, monitor=Monitor(1))
    assert_allclose(found.thresholds, 2 * (X @ pseudo_inverse(H)).std(axis=0), rtol=0.05)


@pytest.mark.parametrize("method", [anls, hals])
def test_comparisons_never_get_worse(method, mixtures):
    topics, start = mixtures
    monitor = Monitor(30, tol=0)
    found = method(topics.X, np.maximum(start, 0), monitor=monitor)
    losses = [row["loss"] for row in monitor.history]
    assert (np.diff(losses) <= 1e-12).all()
    assert_allclose(losses[-1], np.linalg.norm(topics.X - found.W @ found.H) / np.linalg.norm(topics.X))
    assert min(found.W.min(), found.H.min()) >= 0


@pytest.mark.parametrize("method", [anls, hals])
def test_comparisons_with_signed_parts(method, mixtures):
    """Without the limit at zero the objective falls as well, further than with it, and each part is optimal."""
    topics, _ = mixtures
    X = topics.X - 0.01
    start = np.abs(np.random.default_rng(0).normal(size=(8, 50)))
    seen, monitor = [], Monitor(30, tol=0)
    monitor.callbacks = [lambda row: seen.append(row.U)]
    found = method(X, start, monitor=monitor, signed=True)
    losses = [row["loss"] for row in monitor.history]
    assert (np.diff(losses) <= 1e-12).all()
    assert found.W.min() >= 0 > found.H.min()
    limited = Monitor(30, tol=0)
    method(X, start, monitor=limited)
    assert losses[-1] < limited.history[-1]["loss"]
    last = found.H[-1:]
    rest = X - found.W[:, :-1] @ found.H[:-1]
    assert_allclose(found.W[:, -1:].T @ (rest - found.W[:, -1:] @ last), 0, atol=1e-9)
    assert_allclose(seen[-1], found.H)
    assert len(seen) == 30


def test_callbacks_see_the_parts(mixtures):
    topics, start = mixtures
    seen = []
    monitor = Monitor(3, tol=0, callbacks=[lambda row: seen.append(row.U)])
    found = and_nmf(topics.X, start, threshold=Threshold(Geometric(0.1, 1.3)), monitor=monitor)
    assert_allclose(seen[-1], found.H)
    assert not np.allclose(seen[0], seen[1])


def test_least_infinity_inverse_is_an_inverse_and_no_larger(rng):
    H = rng.normal(size=(4, 12))
    P, plain = least_infinity_inverse(H, n_jobs=2), pseudo_inverse(H)
    assert_allclose(H @ P, np.eye(4), atol=1e-9)
    assert (np.abs(P).sum(axis=0) < np.abs(plain).sum(axis=0)).all()
    nullspace = np.linalg.svd(H)[2][4:]  # any other inverse is one of these away, and no shorter
    for _ in range(50):
        other = P + nullspace.T @ rng.normal(scale=0.1, size=(8, 4))
        assert (np.abs(other).sum(axis=0) >= np.abs(P).sum(axis=0) - 1e-9).all()


@pytest.fixture(scope="module")
def news(load_or_skip):
    """Section 7 of Li and Liang (2017): 5000 documents of 100 topics, here of TDT2 news, over 1000 words."""
    return make_topics(components=load_or_skip(tdt2_topics))


@pytest.fixture(scope="module")
def error_on_news(news):
    start = paper_start(news.components)
    space = subspace(news.X, 100)

    def error(threshold, stages):
        monitor = Monitor(stages, tol=0, check_every=stages)
        found = and_nmf(space.coordinates, start @ space.basis, threshold=threshold, monitor=monitor)
        return total_correlation_error(found.H @ space.Vt, news.components)

    return error


def test_decay_of_the_paper(error_on_news):
    assert error_on_news(Threshold(Geometric(0.1, 1.1), unit="absolute"), 200) < 3e-8


def test_faster_decay(error_on_news):
    assert error_on_news(Threshold(Geometric(0.1, 1.3)), 100) < 1e-9


def test_constant_threshold_of_the_paper(error_on_news):
    assert error_on_news(Threshold(Constant(0.1), unit="absolute"), 100) > 1
