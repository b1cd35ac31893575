"""Refinement: against dense forms written from the formulas, on planted data, and on Jasper Ridge."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from scipy.optimize import linear_sum_assignment
from sklearn.decomposition import non_negative_factorization

from rectifact import ANDNMF
from rectifact.core.errors import InputError
from rectifact.core.monitor import Monitor
from rectifact.core.operand import operand
from rectifact.datasets import MissingDataset, load_jasper, make_neurons, make_signatures, make_spectra, make_topics
from rectifact.kernels import poisson_information, poisson_sweep, reference_parts
from rectifact.parts.dispersion import Dispersion, dispersion, divided, variance_divisors
from rectifact.parts.noise import noise_law
from rectifact.parts.refinement import (
    Refined,
    divergence_terms,
    faint_weights_removed,
    nonnegative_fit,
    poisson_fit,
    poisson_weights,
    refine,
)


def cosines(found, truth):
    unit = [rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (found, truth)]
    between = unit[0] @ unit[1].T
    return between[linear_sum_assignment(-between)]


def divergence(X, M):
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(X > 0, X * np.log(X / M), 0).sum() - X.sum() + M.sum()


@pytest.fixture
def counts():
    rng = np.random.default_rng(0)
    W, H = rng.gamma(0.5, 4.0, (60, 3)), rng.dirichlet(np.full(25, 0.4), 3)
    return rng.poisson(W @ H * 5).astype(float), rng.random((60, 3)) + 0.1, rng.random((3, 25)) + 0.1


@pytest.mark.parametrize("n_fixed", [0, 1])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_a_sweep_is_a_multiplicative_update(counts, form, n_fixed):
    X, W, H = counts
    new = W * ((X / (W @ H)) @ H.T) / H.sum(axis=1)
    new[:, 3 - n_fixed :] = W[:, 3 - n_fixed :]
    M = new @ H
    before = W.copy()
    got, sums, loss = poisson_sweep(form(X), W, H, 1, n_fixed)
    assert_allclose(got, new, rtol=1e-12)
    assert_allclose(sums, new.T @ (X / M), rtol=1e-12)
    constant, _ = divergence_terms(form(X))
    assert_allclose(loss + constant, divergence(X, M), rtol=1e-10)
    assert (before == W).all()


def test_the_plain_form_of_a_sparse_sweep_is_the_compiled_one(counts):
    X, W, H = counts
    for one, other in zip(
        poisson_sweep(sp.csr_array(X), W, H, 3), reference_parts.poisson_sweep(sp.csr_array(X), W, H, 3), strict=True
    ):
        assert_allclose(one, other, rtol=1e-12)


def test_a_gap_has_no_influence(counts):
    X, W, H = counts
    X[3, 4] = np.nan
    full = np.where(np.isnan(X), W @ H, X)
    got, _, loss = poisson_sweep(X, W, H, missing=True)
    assert_allclose(got, poisson_sweep(full, W, H)[0], rtol=1e-12)
    M, known = got @ H, ~np.isnan(X)
    assert_allclose(loss, (M - np.nan_to_num(X) * np.log(M))[known].sum(), rtol=1e-12)


@pytest.mark.parametrize(("fit", "loss"), [(poisson_fit, "kullback-leibler"), (nonnegative_fit, "frobenius")])
def test_a_fit_ends_no_worse_than_scikit_learn(counts, fit, loss):
    X, W, H = counts
    found = fit(X, W, H, monitor=Monitor(400, tol=0))
    theirs = non_negative_factorization(
        X, W.copy(), H.copy(), n_components=3, init="custom", solver="mu", beta_loss=loss, max_iter=400, tol=0
    )
    value = divergence if loss == "kullback-leibler" else lambda X, M: ((X - M) ** 2).sum()
    assert value(X, found.W @ found.H) <= value(X, theirs[0] @ theirs[1]) * (1 + 1e-3)
    assert found.W.min() >= 0
    assert found.H.min() >= 0


def test_acceleration_saves_half_the_sweeps(counts):
    X, W, H = counts
    plain_W, plain_H = W, H
    for _ in range(200):
        plain_W, sums, _ = poisson_sweep(X, plain_W, plain_H)
        plain_H = plain_H * sums / plain_W.sum(axis=0)[:, None]
    found = poisson_fit(X, W, H, monitor=Monitor(100, tol=0))
    assert divergence(X, found.W @ found.H) < divergence(X, plain_W @ plain_H)


def test_weights_of_new_counts_are_the_most_likely(counts):
    X, _, H = counts
    W = poisson_weights(X, H, n_iter=3000)
    slope = H.sum(axis=1) - (X / np.maximum(W @ H, 1e-300)) @ H.T
    assert np.abs(slope[W > 1e-3]).max() < 1e-3
    assert slope[W == 0].min(initial=0) > -1e-3


@pytest.mark.parametrize(("power", "noise"), [(0, "gaussian"), (1, "poisson"), (2, "gamma")])
def test_the_noise_law_is_the_one_of_the_noise(power, noise):
    rng = np.random.default_rng(0)
    M = rng.gamma(1.0, 50, (500, 4)) @ rng.random((4, 80))
    X = {
        "gaussian": lambda: M + rng.standard_normal(M.shape),
        "poisson": lambda: rng.poisson(M).astype(float),
        "gamma": lambda: M * rng.gamma(100, 0.01, M.shape),
    }[noise]()
    law = noise_law(X, 4)
    assert abs(law.entry_power - power) < 0.25
    assert abs(law.row_power - power / 2) < 0.15
    assert noise_law(M, 4).level == 0


def test_a_few_samples_without_noise_do_not_change_the_noise_law():
    rng = np.random.default_rng(0)
    X = rng.gamma(1.0, 50, (400, 4)) @ rng.random((4, 80)) + rng.standard_normal((400, 80))
    X[:, -1] = 0
    X[::40] = 0
    X[::40, -1] = 100 + 1e-9 * rng.standard_normal(10)  # as answers of one word, which one direction explains
    X[::40, 0] = 1e-12
    assert noise_law(np.delete(X, np.s_[::40], axis=0), 5).row_power < 0.05
    assert noise_law(X, 5).row_power < 0.1


def test_auto_decides_from_the_noise():
    counts, pixels, exact = (
        make_signatures(200),
        make_spectra(500, 60),
        make_topics(n_samples=400, n_features=30, n_topics=4),
    )
    assert ANDNMF(8, random_state=0).fit(counts.X).resolved_["refine"] == "poisson"
    assert ANDNMF(4, random_state=0).fit(pixels.X).resolved_["refine"] == "nonnegative"
    assert ANDNMF(4, random_state=0).fit(exact.X).resolved_["refine"] is None
    signed = exact.X @ np.random.default_rng(0).standard_normal((30, 30))
    assert ANDNMF(4, random_state=0).fit(signed).resolved_["refine"] is None


@pytest.mark.parametrize("seed", [0, 1])
def test_signatures_are_found_where_and_alone_fails(seed):
    data = make_signatures(300, dispersion=0.1, random_state=seed)
    model = ANDNMF(8, random_state=0).fit(data.X)
    assert cosines(model.components_, data.components).min() > 0.97
    assert model.components_.min() >= 0
    assert model.transform(data.X).min() >= 0
    same = ANDNMF(8, random_state=0).fit(sp.csr_array(data.X))
    assert_allclose(same.components_, model.components_, atol=1e-4)
    assert_allclose(same.transform(sp.csr_array(data.X)), model.transform(data.X), rtol=1e-2, atol=1)


@pytest.mark.parametrize("dispersion", [0, 0.5])
def test_torch_and_dask_refine_alike(dispersion):
    torch, da = pytest.importorskip("torch"), pytest.importorskip("dask.array")
    X = make_signatures(200, dispersion=dispersion, random_state=1).X
    host = ANDNMF(8, random_state=0).fit(X)
    assert host.resolved_["refine"] == "poisson"
    for form in (torch.asarray, lambda X: da.from_array(X, chunks=(70, -1))):
        model = ANDNMF(8, random_state=0).fit(form(X))
        assert_allclose(np.asarray(model.components_), host.components_, atol=1e-4)
        assert_allclose(np.asarray(model.transform(form(X))), host.transform(X), rtol=1e-2, atol=1)


def test_information_is_the_curvature_of_the_likelihood(counts):
    X, W, H = counts
    truth = np.array([[(X[i] * H[k] ** 2 / (W[i] @ H) ** 2).sum() for k in range(3)] for i in range(len(X))])
    assert_allclose(poisson_information(X, W, H), truth)
    assert_allclose(poisson_information(sp.csr_array(X), W, H), truth)
    gaps = np.where(np.arange(X.size).reshape(X.shape) % 7 == 0, np.nan, X)
    assert_allclose(poisson_information(gaps, W, H), poisson_information(np.nan_to_num(gaps), W, H))


def test_weights_within_the_noise_become_zero():
    """Most of the weights that are truly zero go, few of the others do, and the parts get closer."""
    data = make_signatures(300, random_state=3)
    law, X = noise_law(data.X, 8), operand(data.X)
    likely = refine("poisson", data.X, data.components + 1e-4, monitor=Monitor(200, tol=1e-5))
    W = faint_weights_removed(X, likely, law)
    absent = data.weights == 0
    assert (likely.W[absent] > 0).all()
    assert (W[absent] == 0).mean() > 0.7
    assert (W[data.weights > 20] == 0).mean() < 0.05
    found = poisson_fit(data.X, W, likely.H, monitor=Monitor(200, tol=1e-5), keep_zeros=True)
    assert ((found.W == 0) == (W == 0)).all()
    angles = [np.degrees(np.arccos(cosines(H, data.components))).mean() for H in (likely.H, found.H)]
    assert angles[1] < 0.7 * angles[0]


def test_no_sample_and_no_part_loses_everything():
    law = replace(noise_law(make_signatures(100).X, 8), dimensions=1e-9)  # nothing is certain
    X = np.array([[4.0, 0.0], [3.0, 3.0], [0.1, 2.0]])
    fit = Refined(np.array([[4.0, 0.1], [6.0, 0.2], [2.0, 0.1]]), np.full((2, 2), 0.5), 0.1)
    W = faint_weights_removed(operand(X), fit, law)
    assert_allclose(W, fit.W)  # the first part keeps the largest weights, the second has none that is certain


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_counts_are_weighted_by_their_variance(seed):
    """A Poisson likelihood alone gives up a flat signature for the noise of large counts."""
    data = make_signatures(300, dispersion=0.5, random_state=seed)
    model = ANDNMF(8, random_state=0).fit(data.X)
    assert cosines(model.components_, data.components).mean() > 0.97
    assert cosines(ANDNMF(8, refine="poisson", random_state=0).fit(data.X).components_, data.components).mean() < 0.93
    assert abs(model.resolved_["dispersion"] - 0.5) < 0.1
    in_other_units = ANDNMF(8, random_state=0).fit(0.3 * data.X)
    assert_allclose(in_other_units.components_, model.components_, atol=1e-4)


def test_dispersion_against_its_definition():
    rng = np.random.default_rng(0)
    W, H = rng.gamma(1.0, 100.0, (300, 3)), rng.random((3, 50))
    for excess in (0.0, 0.1, 1.0):
        means = W @ H * (rng.gamma(1 / excess, excess, (300, 50)) if excess else 1.0)
        X = rng.poisson(means).astype(float)
        assert dispersion(X, W, H).excess == pytest.approx(excess, abs=0.1 * excess + 0.01)
        assert dispersion(sp.csr_array(X), W, H) == dispersion(X, W, H)
    assert dispersion(X + 0.3 * rng.random(X.shape), W, H).excess == 0  # no counts
    rows, columns = variance_divisors(operand(X), Dispersion(1.0, 1.0))
    assert_allclose(rows[:, 0], 1 + X.mean(axis=1))
    assert_allclose(columns, 1 + X.mean(axis=0))
    assert_allclose(divided(operand(sp.csr_array(X)), rows, columns).native.toarray(), X / rows / columns)


def test_gaps_in_dispersed_counts():
    data = make_signatures(300, dispersion=0.5, random_state=4)
    X = np.where(np.random.default_rng(0).random(data.X.shape) < 0.1, np.nan, data.X)
    model = ANDNMF(8, missing=np.nan, random_state=0).fit(X)
    assert model.resolved_["dispersion"] > 0.3
    assert cosines(model.components_, data.components).mean() > 0.96


def test_a_background_does_not_bend_the_parts():
    data = make_neurons(600, 4, side=12, random_state=2)
    model = ANDNMF(4, background=True, random_state=0).fit(data.X)
    assert cosines(model.components_, data.components).min() > 0.98
    assert cosines(ANDNMF(4, random_state=0).fit(data.X).components_, data.components).min() < 0.9
    offset = data.X.mean(axis=0) - data.weights.mean(axis=0) @ data.components
    assert np.abs(model.background_ - offset).max() < 0.2
    error = model.inverse_transform(model.transform(data.X)) - data.X
    assert_allclose(np.linalg.norm(error), model.reconstruction_err_, rtol=1e-2)


@pytest.mark.parametrize("refine", ["auto", None])
def test_gaps_are_filled(refine):
    data = make_spectra(400, 50, random_state=3)
    mask = np.random.default_rng(0).random(data.X.shape) < 0.2
    X = np.where(mask, np.nan, data.X)
    model = ANDNMF(4, missing=np.nan, refine=refine, random_state=0).fit(X)
    filled, truth = model.inverse_transform(model.transform(X)), data.weights @ data.components
    assert np.linalg.norm((filled - truth)[mask]) < 0.04 * np.linalg.norm(truth[mask])
    by_mask = ANDNMF(4, missing=mask, refine=refine, random_state=0).fit(data.X)
    assert_allclose(by_mask.components_, model.components_)


def test_errors_say_what_to_do():
    X = make_spectra(100, 20).X
    with pytest.raises(InputError, match="negative entries"):
        ANDNMF(2, refine="poisson").fit(X - X.mean())
    with pytest.raises(InputError, match="mutually exclusive"):
        ANDNMF(2, background=True, normalize="l1").fit(X)
    with pytest.raises(InputError, match="X is sparse"):
        ANDNMF(2, missing=np.nan).fit(sp.csr_array(X))
    with pytest.raises(InputError, match="a mask of the shape of X"):
        ANDNMF(2, missing=np.ones((3, 3))).fit(X)


def test_dark_rows_do_not_dominate():
    rng = np.random.default_rng(1)
    H = rng.random((3, 40))
    bright = (rng.random((300, 3)) < 0.5) * rng.random((300, 3)) @ H
    X = np.vstack([bright, np.zeros((2700, 40))]) + 0.01 * rng.standard_normal((3000, 40))
    model = ANDNMF(3, random_state=0).fit(X)
    assert model.resolved_["norm_power"] < 0.2
    assert model.resolved_["noisy_samples"] > 0.8
    assert cosines(model.components_, H).min() > 0.998


def test_one_sweep_less_or_more_of_evidence():
    """A refinement stops behind the highest evidence instead of at the limit."""
    data = make_signatures(300, dispersion=0.5)
    law, monitor = noise_law(data.X, 8), Monitor(200, tol=0)
    refine("poisson", data.X, np.maximum(data.components, 1e-4), monitor=monitor, law=law)
    assert monitor.n_iter < 200


def test_jasper_ridge():
    try:
        jasper = load_jasper()
    except MissingDataset:
        pytest.skip("Jasper Ridge is not on this machine")
    model = ANDNMF(4, random_state=0).fit(jasper.X[::4])
    angles = np.degrees(np.arccos(cosines(model.components_, jasper.components)))
    assert angles.mean() < 12


@pytest.mark.parametrize("refine", ["auto", "nonnegative", "poisson"])
def test_parts_that_were_given_are_refined_in_their_order(refine):
    data = make_signatures(300, n_signatures=4)
    model = ANDNMF(4, init=data.components, refine=refine).fit(data.X)
    assert model.resolved_["refine"] == (refine if refine != "auto" else "poisson")
    units = [H / np.linalg.norm(H, axis=1, keepdims=True) for H in (np.asarray(model.components_), data.components)]
    assert (units[0] * units[1]).sum(axis=1).min() > 0.9


def test_a_fit_to_nothing_leaves_nothing():
    found = nonnegative_fit(np.zeros((3, 4)), np.zeros((3, 2)), np.ones((2, 4)), monitor=Monitor(5, tol=0))
    assert found.loss == 0
    assert not found.W.any()
