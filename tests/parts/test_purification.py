import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from rectifact import InputError, PurificationNMF
from rectifact.bench.parts_purification import largest_error, noisy_batches, planted_parts
from rectifact.core.linalg import pseudo_inverse
from rectifact.parts.purification import begin, cross_covariance, purify, step_size


def published_step(X, H, alpha, eta, r):
    """One round of Algorithm 1 of Li, Liang and Risteski (2016) over all pairs of samples; columns are parts."""
    A = H.T
    inverse = np.linalg.pinv(A)
    decoded = np.array([[max(value - alpha[i], 0) for i, value in enumerate(inverse @ y)] for y in X])
    total, n = np.zeros_like(A), len(X)
    for i in range(n):
        for j in range(n):
            total += np.outer(X[i] - X[j], decoded[i] - decoded[j])
    return ((1 - eta) * A + r * eta * total / n**2).T


def test_a_step_is_the_published_one(rng):
    X, H = rng.random((30, 8)), rng.random((3, 8))
    state = begin(X, H, threshold=0.2, inverse=pseudo_inverse)
    after, seen = purify(state, X, eta=0.5, inverse=pseudo_inverse)
    assert_allclose(after.H, published_step(X, H, state.thresholds, 0.5, state.gain), rtol=1e-10)
    assert (seen.W >= 0).all()
    again, _ = purify(after, X, eta=1 / 3, inverse=pseudo_inverse)
    assert_allclose(again.H, published_step(X, after.H, state.thresholds, 1 / 3, state.gain), rtol=1e-10)
    assert again.gain == state.gain


def test_covariance(rng):
    W, X = rng.random((50, 3)), rng.random((50, 4))
    assert_allclose(cross_covariance(W, X), np.cov(W.T, X.T, bias=True)[:3, 3:])


def test_steps_average_all_batches():
    batches, mean = np.random.default_rng(0).random(50), 7.0
    for t, value in enumerate(batches):
        mean += step_size(0.5, t) * (value - mean)
    assert_allclose(mean, (7.0 + batches.sum()) / 51)  # the start counts as one batch


@pytest.mark.parametrize("weights", ["binary", "uniform"])
@pytest.mark.parametrize(
    ("noise", "level", "bound"),
    [("none", 0.0, 0.025), ("unbiased", 0.3, 0.03), ("unbiased", 1.0, 0.06), ("adversarial", 0.1, 0.03 + 0.9 * 0.1)],
)
def test_parts_are_purified(noise, level, bound, weights):
    parts, start = planted_parts()
    assert largest_error(start, parts) > 0.1
    model = PurificationNMF(20, init=start)
    for X in noisy_batches(parts, noise, level, weights=weights):
        model.partial_fit(X)
    assert largest_error(model.components_, parts) < bound


def test_two_thousand_fixed_samples_are_too_few():
    parts, start = planted_parts()
    X = next(noisy_batches(parts, "none", 0.0, n_samples=2000))
    with pytest.warns(UserWarning, match="From 2000 samples PurificationNMF can tell 20 parts apart to about 45% only"):
        model = PurificationNMF(20, init=start).fit(X)
    assert largest_error(model.components_, parts) > largest_error(start, parts)  # the warning is true
    assert_allclose(model.resolved_["sampling_floor"], 20 / 2000**0.5)


def test_the_inverse_of_least_infinity_norm_works_as_well():
    parts, start = planted_parts(5, 25)
    errors = []
    for inverse in ("pinv", "min-inf"):
        model = PurificationNMF(5, init=start, inverse=inverse, n_jobs=2)
        for X in noisy_batches(parts, "none", 0.0, n_samples=5000, n_batches=10, n_active=1):
            model.partial_fit(X)
        errors.append(largest_error(model.components_, parts))
    assert max(errors) < 0.06 < largest_error(start, parts)


def test_balancing_gives_weights_the_same_second_moment(rng):
    parts = rng.random((3, 12))
    weights = (rng.random((20_000, 3)) < 0.2) * np.array([1.0, 5.0, 25.0])
    X = weights @ parts
    balanced = begin(X, parts, threshold=0.0, inverse=pseudo_inverse, balance=True)
    moments = ((X @ pseudo_inverse(balanced.H)) ** 2).mean(axis=0)
    assert moments.max() / moments.min() < 1.1
    plain = begin(X, parts, threshold=0.0, inverse=pseudo_inverse)
    moments = ((X @ pseudo_inverse(plain.H)) ** 2).mean(axis=0)
    assert moments.max() / moments.min() > 500


def test_features_must_agree_between_batches():
    model = PurificationNMF(2, random_state=0).partial_fit(np.random.default_rng(0).random((50, 4)))
    with pytest.raises(InputError, match="features"):
        model.partial_fit(np.ones((5, 3)))


def test_every_parameter_reaches_the_algorithm(rng):
    """Balancing, the kind of inverse and the threshold change the result, and samples add up."""
    parts, start = planted_parts(5, 25)
    X = next(noisy_batches(parts, "unbiased", 0.3, n_samples=3000, n_active=1)) * np.linspace(1, 3, 25)
    plain = PurificationNMF(5, init=start).partial_fit(X)
    for options in ({"balance": True}, {"inverse": "min-inf"}, {"threshold": 0.4}, {"step": 0.1}):
        other = PurificationNMF(5, init=start, **options).partial_fit(X)
        assert np.abs(other.components_ - plain.components_).max() > 1e-6, options
    plain.partial_fit(X)
    assert_allclose(plain.resolved_["sampling_floor"], 5 / 6000**0.5)


@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::sklearn.exceptions.ConvergenceWarning")
def test_fit_goes_on_until_the_parts_stay():
    parts, start = planted_parts(5, 25)
    X = next(noisy_batches(parts, "none", 0.0, n_samples=50_000, n_active=1))
    errors = [
        largest_error(PurificationNMF(5, init=start, step=step, tol=1e-6, max_iter=2000).fit(X).components_, parts)
        for step in (0.5, 0.05)
    ]
    assert_allclose(errors[0], errors[1], rtol=0.05)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_weights_that_do_not_vary():
    with pytest.raises(InputError, match="The weights of the parts do not vary"):
        PurificationNMF(1).fit(np.ones((20, 3)))


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_frames_in_and_out():
    frame = pd.DataFrame(np.random.default_rng(0).random((300, 4)), columns=list("abcd"))
    weights = PurificationNMF(2, random_state=0).set_output(transform="pandas").fit(frame).transform(frame)
    assert list(weights.columns) == ["part1", "part2"]
