from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from rectifact import metrics
from rectifact.core.errors import InputError

labels = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=30)


@given(labels)
@settings(deadline=None)
def test_cluster_accuracy_is_the_best_over_all_matchings(pairs):
    truth, found = np.array(pairs).T
    best = max(np.mean(np.array(order)[found] == truth) for order in permutations(range(4)))
    assert_allclose(metrics.cluster_accuracy(truth, found), best)
    assert metrics.cluster_accuracy(truth, found) <= metrics.purity(truth, found) + 1e-12


@given(labels)
@settings(deadline=None)
def test_purity_by_counting(pairs):
    truth, found = np.array(pairs).T
    right = sum(np.bincount(truth[found == c]).max() for c in set(found.tolist()))
    assert_allclose(metrics.purity(truth, found), right / len(truth))


def test_nmi_in_both_normalisations():
    truth, found = [0, 0, 1, 1], [0, 1, 2, 3]  # one bit shared; entropies of one and two bits
    assert_allclose(metrics.nmi(truth, found), 1 / 1.5)
    assert_allclose(metrics.nmi(truth, found, normalize="geometric"), 1 / np.sqrt(2))


def test_total_correlation_error_ignores_order_scale_and_sign(rng):
    truth = rng.standard_normal((5, 20))
    assert metrics.total_correlation_error(-3 * truth[::-1], truth) < 1e-12
    off = truth.copy()
    off[2] += 1e-10 * np.linalg.norm(truth[2]) * np.eye(20)[0]
    assert 1e-11 < metrics.total_correlation_error(off, truth) < 1e-8  # far below what squares could resolve
    scales = np.linspace(-3, 3, 60_001)
    by_search = min(np.linalg.norm(truth[0] - s * truth[1]) for s in scales)
    assert_allclose(metrics.total_correlation_error(truth[1:2], truth[:1]), by_search, rtol=1e-4)


def test_confusion_mse_finds_the_permutation(rng):
    truth = rng.dirichlet(np.ones(4), size=(3, 4)).transpose(0, 2, 1)
    assert metrics.confusion_mse(truth[:, :, [2, 0, 3, 1]], truth) == 0
    noisy = truth + 0.1
    by_search = min(np.mean((noisy[:, :, list(order)] - truth) ** 2) for order in permutations(range(4)))
    assert_allclose(metrics.confusion_mse(noisy, truth), by_search)


def test_expected_error_shares_ties():
    assert_allclose(metrics.expected_error([[1, 1, 1], [1, 0, 0], [0, 1, 0]], [0, 0, -1]), (2 / 3 + 0 + 1) / 3)


def test_log_loss_and_calibration(rng):
    truth = rng.integers(2, size=20_000)
    confidence = rng.uniform(0.5, 1, size=len(truth))
    right = rng.random(len(truth)) < confidence
    top = np.where(right, truth, 1 - truth)
    P = np.where(np.arange(2) == top[:, None], confidence[:, None], 1 - confidence[:, None])
    assert metrics.calibration_error(P, truth) < 0.02
    sharper = P**3 / (P**3).sum(axis=1, keepdims=True)
    assert metrics.calibration_error(sharper, truth) > 0.1
    assert metrics.log_loss(P, truth) < metrics.log_loss(sharper, truth)
    assert_allclose(metrics.log_loss([[1.0, 0.0]], [1]), -np.log(1e-15))


def test_ties_count_as_half_right_in_the_calibration_error():
    assert_allclose(metrics.calibration_error([[0.5, 0.5]] * 4, [0, 1, 1, 1]), 0.0)
    assert_allclose(metrics.calibration_error([[0.5, 0.5]] * 3, [-1, -1, -1]), 0.5)


def test_bins_of_the_calibration_error():
    P, truth = [[0.95, 0.05], [0.55, 0.45]], [1, 0]
    assert_allclose(metrics.calibration_error(P, truth), (0.95 + 0.45) / 2)
    assert_allclose(metrics.calibration_error(P, truth, n_bins=1), abs(0.95 - 0.45) / 2)
    with pytest.raises(InputError, match="at least 1"):
        metrics.calibration_error(P, truth, n_bins=0)


def test_a_part_that_is_zero_covers_nothing():
    assert metrics.total_correlation_error([[0.0, 0.0]], [[3.0, 4.0]]) == 5.0


def test_shapes_that_do_not_match_are_refused():
    for metric in (metrics.confusion_mse, metrics.root_mean_squared_error):
        with pytest.raises(InputError, match="same shape"):
            metric(np.ones((1, 2, 2)), np.ones((4, 2, 2)))
    with pytest.raises(InputError, match="same features"):
        metrics.total_correlation_error([[1.0, 2.0]], [[1.0]])
    assert_allclose(metrics.log_loss([[0.9, 0.1]], [-1]), -np.log(1e-15))


def test_root_mean_squared_error():
    assert_allclose(metrics.root_mean_squared_error([1, 2], [4, 6]), np.sqrt(12.5))


@pytest.mark.parametrize("metric", [metrics.cluster_accuracy, metrics.purity, metrics.nmi])
@pytest.mark.parametrize(("truth", "found"), [([1, 2], [1]), ([], []), ([[1]], [[1]])])
def test_vectors_that_do_not_match_are_refused(metric, truth, found):
    with pytest.raises(InputError, match="equal length"):
        metric(truth, found)


@pytest.mark.parametrize("metric", [metrics.expected_error, metrics.log_loss, metrics.calibration_error])
def test_class_names_instead_of_codes_are_refused(metric):
    with pytest.raises(InputError, match="Code the classes"):
        metric([[0.5, 0.5]], ["a"])


def test_mixing_takes_apart_what_was_put_together():
    rng = np.random.default_rng(0)
    truth = rng.normal(size=(4, 9))
    shares = np.eye(4) + 0.2 * rng.normal(size=(4, 4))
    beyond = rng.normal(size=(4, 9))
    beyond -= beyond @ np.linalg.pinv(truth) @ truth
    found = metrics.mixing(shares @ truth + beyond, truth)
    assert_allclose(np.diag(found.own) + found.others, shares, atol=1e-12)
    assert_allclose(np.diag(found.others), 0)
    assert_allclose(found.outside, beyond, atol=1e-12)
    with pytest.raises(InputError, match="independent"):
        metrics.mixing(truth, truth[[0, 0, 1, 2]])
    with pytest.raises(InputError, match="As many"):
        metrics.mixing(truth[:3], truth)


def test_coherence_compares_only_what_a_part_has():
    X = [[1, 1, 0, 0], [2, 3, 0, 0], [0, 0, 1, 1]]
    assert_allclose(metrics.npmi_coherence([[1, 1, 0, 1e-9]], X), 1)
    assert metrics.npmi_coherence([[1, 1, 0, 0.5]], X)[0] < 0
