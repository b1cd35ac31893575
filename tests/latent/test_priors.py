"""Priors on the factors: the sweep and Newton's method against slow forms, and what priors are for."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from scipy.stats import norm

from rectifact import NMD, InputError, hide_entries
from rectifact.core.monitor import Monitor
from rectifact.core.operand import operand
from rectifact.datasets import make_dots
from rectifact.kernels import nmd_newton, nmd_sweep
from rectifact.kernels.penalty import Penalty
from rectifact.latent.data import with_missing
from rectifact.latent.filling import compare_with_means, filled, filled_by_means
from rectifact.latent.held_out import begin_trial
from rectifact.latent.nmd import Expectation, nmd_with_priors
from rectifact.latent.priors import Gaussian, learn
from rectifact.latent.ranking import Ranking, compare_with_popularity
from rectifact.latent.scales import ranges_of
from rectifact.latent.starts import svd_start
from rectifact.metrics import root_mean_squared_error

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def positive_definite(rng, r):
    root = rng.standard_normal((r, r + 2))
    return root @ root.T


@pytest.fixture
def penalty(rng):
    def make(r, d):
        P, Q, V = (positive_definite(rng, r) for _ in range(3))
        return Penalty(rng.standard_normal(r), P, rng.standard_normal(r), Q, V, rng.random(d))

    return make


def objective(x, A, B, sigma, link, penalty):
    """Log-likelihood less the penalties, entry by entry and row by row."""
    theta = A @ B
    if link == "binary":
        terms = np.where(x > 0, norm.logcdf(theta / sigma), norm.logcdf(-theta / sigma))
    else:
        terms = np.where(x > 0, norm.logpdf(x, theta, sigma), norm.logcdf(-theta / sigma))
    total = np.nansum(np.where(np.isnan(x), 0, terms))
    for a in A:
        total -= 0.5 * (a - penalty.row_mean) @ penalty.row_precision @ (a - penalty.row_mean)
    for b, w in zip(B.T, penalty.weights, strict=True):
        total -= 0.5 * (b - penalty.column_mean) @ penalty.column_precision @ (b - penalty.column_mean)
        total -= 0.5 * w * b @ penalty.spread @ b / sigma**2
    return total


@pytest.mark.parametrize("link", ["relu", "binary"])
def test_a_penalised_sweep_climbs_the_objective(rng, link, penalty):
    x = np.maximum(rng.standard_normal((40, 30)) - 0.5, 0)
    x = (x > 0) * 1.0 if link == "binary" else x
    x[rng.random(x.shape) < 0.1] = np.nan
    A, B, given = rng.standard_normal((40, 3)), rng.standard_normal((3, 30)), penalty(3, 30)
    sigma = 0.7
    for _ in range(60):
        before = A, B
        A, B, sums = nmd_sweep(operand(sp.csr_array(x)), A, B, sigma, link, "likelihood", True, penalty=given)
        assert_allclose(sums[0], objective(x, *before, sigma, link, given), rtol=1e-9)
        assert objective(x, A, B, sigma, link, given) >= sums[0] - 1e-9
    at = [objective(x, *before, 0.7 * np.exp(s), link, given) for s in (-1e-4, 0.0, 1e-4)]
    assert_allclose(sums[1], (at[2] - at[0]) / 2e-4, rtol=1e-4, atol=1e-3)
    assert_allclose(sums[2], (at[2] - 2 * at[1] + at[0]) / 1e-8, rtol=1e-2)


@pytest.mark.parametrize("binary", [True, False])
def test_newton_finds_the_most_probable_row(rng, binary):
    B, P, mean = rng.standard_normal((3, 40)), positive_definite(rng, 3), rng.standard_normal(3)
    z = rng.standard_normal((6, 3)) @ B + rng.standard_normal((6, 40))
    x = (z > 0) * 1.0 if binary else np.maximum(z, 0)
    x[0] = 1.0 if binary else x[0]  # separable
    x[1] = np.nan  # says nothing
    found, slow = np.zeros((6, 3)), np.zeros((6, 3))
    likelihood, _ = nmd_newton(sp.csr_array(x), B, 0.8, binary, found, 1, mean, P)
    likelihood_slow, _ = nmd_newton(x, B, 0.8, binary, slow, 1, mean, P)
    assert_allclose(found, slow, atol=1e-4)
    assert_allclose(likelihood, likelihood_slow, atol=1e-4)
    assert_allclose(found[1], mean, atol=1e-6)
    flat = Penalty(mean, P, np.zeros(3), np.zeros((3, 3)), np.zeros((3, 3)), np.zeros(40))
    for i in range(6):
        link = "binary" if binary else "relu"
        best = minimize(lambda a, i=i: -objective(x[i : i + 1], a[None], B, 0.8, link, flat), mean).x
        assert_allclose(found[i], best, atol=1e-3)


def test_the_objective_never_falls_between_two_updates(rng):
    X = operand(sp.csr_array((rng.standard_normal((80, 2)) @ rng.standard_normal((2, 40)) > 1) * 1.0))
    monitor = Monitor(40, tol=0)
    nmd_with_priors(X, svd_start(X, 4, "binary"), expect=Expectation("binary"), monitor=monitor)
    losses = np.array([row["loss"] for row in monitor.history]).reshape(4, 10)
    assert (np.diff(losses, axis=1) <= 1e-9).all()


def test_learnt_priors_of_exact_factors_are_their_moments(rng):
    """Where nothing is hidden and noise is small, the posterior is narrow and only the moments are left."""
    A, B = rng.normal((3.0, 0.0), size=(500, 2)), rng.random((2, 40)) + 1
    model = svd_start(operand(A @ B - (A @ B).min() + 1), 2, "relu")
    model = type(model)(A, B, np.log(1e-3))

    def curvatures(X, A, B, sigma, link):
        return np.full(40, 500.0), A.T @ A, A.sum(axis=0)

    priors = learn(operand(A @ B), model, curvatures, "relu")
    assert_allclose(priors.rows.mean, A.mean(axis=0))
    assert_allclose(priors.rows.covariance, np.cov(A.T, bias=True), atol=1e-3)
    assert_allclose(priors.columns.covariance, np.cov(B, bias=True), atol=1e-3)


def test_precision_of_a_degenerate_covariance_is_finite():
    prior = Gaussian(np.zeros(2), np.diag([1.0, 0.0]))
    assert_allclose(prior.precision(1e-3), np.diag([1.0, 1e3]))


def test_separable_rows_stay_with_the_others():
    rng = np.random.default_rng(0)
    X = 1.0 * (rng.standard_normal((300, 4)) @ rng.standard_normal((4, 80)) > 2)
    for rank in (4, 8):
        norms = np.linalg.norm(NMD(rank).fit(X).embedding_, axis=1)
        assert norms.max() < 20 * np.median(norms)


def planted_bits(seed=0):
    rng = np.random.default_rng(seed)
    theta = rng.standard_normal((300, 5)) @ rng.standard_normal((5, 120))
    return 1.0 * (theta + rng.standard_normal(theta.shape) > 0)


def test_a_rank_that_is_too_large_does_no_harm():
    X = planted_bits()
    mask = hide_entries(X, 0.1, random_state=1)
    losses = {k: -NMD(k, missing=mask).fit(X).score(X, held_out=mask) for k in (2, 5, 10)}
    assert losses[10] < 1.05 * losses[5] < losses[2]
    plain = NMD(10, missing=mask, prior=None).fit(X)
    assert -plain.score(X, held_out=mask) > 1.5 * losses[10]


def test_exact_data_is_explained_exactly():
    X = make_dots(size=32, grid=32).X
    model = NMD(5, random_state=0).fit(X)
    assert model.resolved_["prior"] == "wide"
    assert np.abs(model.inverse_transform(model.embedding_) - X.toarray()).max() < 1e-3
    norms = np.linalg.norm(model.embedding_, axis=1)
    assert norms.max() < 20 * np.median(norms)


def test_a_trial_hides_other_entries_than_the_user():
    X = planted_bits()
    mask = hide_entries(X, 0.1, random_state=0)
    trial = begin_trial(with_missing(operand(sp.csr_array(X)), mask), 2, 0)
    assert len(trial.truth) > 0.8 * 0.05 * X.size
    assert_allclose(trial.truth, X[trial.rows, trial.columns])
    assert np.isnan(trial.X.data.toarray()[trial.rows, trial.columns]).all()
    model = svd_start(trial.X, 2, "binary")
    theta = (model.A @ model.B)[trial.rows, trial.columns]
    assert_allclose(
        trial.loss(lambda x, theta, sigma: x - theta * sigma, model), np.mean(trial.truth - theta * model.sigma)
    )
    assert begin_trial(operand(X[:10]), 2, 0) is None


def test_noisy_and_incomplete_bits_have_priors_on_both_factors():
    X, dots = planted_bits(), make_dots(size=16, grid=16).X
    assert NMD(5).fit(X).resolved_["prior"] == "factors"
    assert NMD(5, missing=hide_entries(dots, random_state=0), max_iter=20).fit(dots).resolved_["prior"] == "factors"


def ratings(seed=0, share=0.08):
    """Ratings from 1 to 5 of 300 users for 120 items, with NaN where there is none, and all of them."""
    rng = np.random.default_rng(seed)
    taste, genre = rng.integers(0, 4, (300, 1)), rng.integers(0, 4, (1, 120))
    full = 2.7 + 0.4 * rng.standard_normal((300, 1)) + 0.4 * rng.standard_normal((1, 120)) + 1.5 * (taste == genre)
    full = np.clip(np.rint(full + 0.4 * rng.standard_normal(full.shape)), 1, 5)
    return np.where(rng.random(full.shape) < share, full, np.nan), full


def test_ratings_with_gaps_are_predicted_better_than_by_means():
    X, full = ratings()
    gaps = np.isnan(X)
    model = NMD(4, missing=np.nan, random_state=0).fit(X)
    assert model.resolved_["prior"] == "factors"
    found = model.fill(X)
    assert model.recommend(X, 3)["score"].max() <= 5
    assert found.min() >= 1
    assert found.max() <= 5
    assert np.array_equal(found[~gaps], X[~gaps])
    assert root_mean_squared_error(found[gaps], full[gaps]) < 0.85 * full[gaps].std()
    compared = compare_with_means(model, X)
    assert compared.better
    assert compared.model < 0.9 * min(compared.mean, compared.means)


def test_few_entries_with_gaps_have_priors_on_both_factors():
    X, _ = ratings(share=0.5)
    assert NMD(2, missing=np.nan).fit(X[:30, :20]).resolved_["prior"] == "factors"
    assert NMD(2, max_iter=20).fit(np.nan_to_num(X[:30, :20], nan=3.0)).resolved_["prior"] == "rows"


def test_ratings_without_structure_are_no_better_than_means():
    rng = np.random.default_rng(1)
    X = np.where(rng.random((200, 80)) < 0.1, rng.integers(1, 6, (200, 80)), np.nan)
    assert not compare_with_means(NMD(4, missing=np.nan, random_state=0).fit(X), X).better
    assert compare_with_means(NMD(2).fit(np.eye(9)), np.eye(9)) is None


def test_the_remedy_for_a_fit_that_gets_worse_is_not_to_go_on():
    X, _ = ratings()
    with pytest.warns(UserWarning, match="prior='factors'"):
        NMD(4, missing=np.nan, prior="rows", max_iter=30).fit(X)


def test_filled_values_stay_in_a_closed_scale():
    known = np.tile([[1.0, 100.0], [2.0, 300.0]], (30, 1))
    known[0] = np.nan
    assert filled(known, np.full(known.shape, 50.0))[0].tolist() == [2.0, 100.0]
    assert filled(known[:4], np.full((4, 2), 50.0))[0].tolist() == [50.0, 50.0]  # too few to tell the scale
    scarce = np.where(np.arange(60)[:, None] % [1, 10] == 0, np.arange(60)[:, None] % 5 + 1.0, np.nan)
    assert ranges_of(scarce).tolist() == [[1, 1], [5, 5]]  # little is known of the second column


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_counts_and_amounts_have_no_highest_value(form, rng):
    for X in (rng.poisson(0.5, (80, 30)), rng.gamma(2.0, size=(80, 30))):
        ranges = ranges_of(form(X.astype(float)))
        assert (ranges[0] == 0).all()
        assert np.isinf(ranges[1]).mean() > 0.5
    stars = np.where(rng.random((80, 30)) < 0.3, np.nan, rng.choice([0.5, 1, 2, 4, 4.5, 5], (80, 30)))
    assert_allclose(ranges_of(form(stars)), np.repeat([[0.5], [5.0]], 30, axis=1))


def test_amounts_may_be_filled_in_above_all_that_are_known(rng):
    """The largest customers are those whose cells are above all known ones of the column."""
    full = rng.gamma(1.2, size=(150, 2)) @ rng.gamma(2.0, size=(2, 12))
    hidden = np.zeros(full.shape, dtype=bool)
    hidden[full.argmax(axis=0), np.arange(12)] = True
    hidden[:, ::2] = False  # a customer keeps some cells
    model = NMD(2, missing=np.nan, random_state=0).fit(np.where(hidden, np.nan, full))
    found = model.fill(np.where(hidden, np.nan, full))
    assert_allclose(found[hidden], full[hidden], rtol=0.1)
    assert (found[hidden] > np.where(hidden, 0, full).max(axis=0)[1::2]).any()
    new = np.where(np.arange(12) < 9, 5 * full[:10], np.nan)
    assert_allclose(model.fill(new)[:, 9:], 5 * full[:10, 9:], rtol=0.1)


def test_errors_are_known_by_column_and_means_fill_in_where_they_are_better():
    rng = np.random.default_rng(1)
    X = np.where(rng.random((200, 80)) < 0.5, 2 + np.arange(80) / 20 + rng.random((200, 80)), np.nan)
    compared = compare_with_means(NMD(1, missing=np.nan, random_state=0).fit(X), X)
    n, ours, means = np.transpose(compared.by_column)
    assert n.sum() == compared.n_hidden
    assert_allclose(np.sqrt((n * ours**2).sum() / n.sum()), compared.model)
    assert_allclose(np.sqrt((n * means**2).sum() / n.sum()), compared.columns)
    full = filled_by_means(X, replace(compared, columns=0.0))
    assert_allclose(full[np.isnan(X[:, 3]), 3], np.nanmean(X[:, 3]), rtol=0.1)
    assert np.array_equal(full[~np.isnan(X)], X[~np.isnan(X)])


def test_recommended_ratings_are_judged_by_their_values():
    rng = np.random.default_rng(0)
    taste = rng.standard_normal((300, 2)) @ rng.standard_normal((2, 60))
    rated = rng.random(taste.shape) < np.where(np.arange(60) < 10, 0.6, 0.15)  # popular, and no better
    X = np.where(rated, np.clip(np.round(3.2 + taste), 1, 5), np.nan)
    found = compare_with_popularity(NMD(3, missing=np.nan, random_state=0).fit(X), X, 5)
    assert isinstance(found, Ranking)
    assert found.model > 0.3 + max(found.means, found.popular)
    assert found.better
    assert not found.advice
    noise = np.where(rated, rng.integers(1, 6, X.shape) + (np.arange(60) % 2), np.nan)
    assert "highest means" in compare_with_popularity(NMD(3, missing=np.nan, random_state=0).fit(noise), noise).advice


def test_filled_frames_keep_their_names():
    X, _ = ratings(share=0.5)
    frame = pd.DataFrame(X, index=[f"user {i}" for i in range(300)]).add_prefix("item ")
    full = NMD(4, missing=np.nan, random_state=0).fit(frame).fill(frame)
    assert full.index.equals(frame.index)
    assert full.columns.equals(frame.columns)
    assert not full.isna().any(axis=None)


def test_a_wide_prior_keeps_rows_near_and_what_they_reproduce():
    rng = np.random.default_rng(0)
    X = 1.0 * (rng.standard_normal((300, 4)) @ rng.standard_normal((4, 80)) > 2)  # some rows are separable
    none, wide, rows = (NMD(4, prior=prior, random_state=0).fit(X) for prior in (None, "wide", "rows"))
    error = {m.prior: root_mean_squared_error(X, m.inverse_transform(m.embedding_)) for m in (none, wide, rows)}
    assert error["wide"] < 1.01 * error[None] < error["rows"]
    ratio = {m.prior: np.linalg.norm(m.embedding_, axis=1) for m in (none, wide)}
    ratio = {prior: norms.max() / np.median(norms) for prior, norms in ratio.items()}
    assert ratio["wide"] < 50 < ratio[None]


def test_the_choice_follows_the_data():
    rng = np.random.default_rng(0)
    theta = rng.standard_normal((300, 3)) @ rng.standard_normal((3, 60))
    exact, noisy = (np.maximum(theta + noise * rng.standard_normal(theta.shape), 0) for noise in (0.0, 3.0))
    assert NMD(3).fit(exact[:, :20]).resolved_["prior"] in ("rows", "factors")
    found = NMD(8).fit(noisy).resolved_
    assert found["prior"] == "factors"
    assert 0.2 < found["shrinkage"] < 0.9
    assert NMD(3, prior=None, max_iter=20).fit(planted_bits()).resolved_ == {"link": "binary", "prior": None}


def test_held_out_score_is_the_mean_over_hidden_entries():
    X = planted_bits()
    mask = hide_entries(X, 0.1, random_state=1)
    model = NMD(4, missing=mask, max_iter=30).fit(X)
    hidden = mask.toarray()
    assert 0.08 < hidden.mean() < 0.1
    P = model.inverse_transform(model.embedding_)
    expected = np.log(np.where(X > 0, P, 1 - P)[hidden]).mean()
    assert_allclose(model.score(X, held_out=mask), expected, rtol=1e-9)
    counts = np.maximum(np.random.default_rng(0).standard_normal((60, 30)), 0) * 1e12
    mask = hide_entries(counts, 0.1, random_state=0)
    small, large = (NMD(2, missing=mask).fit(c).score(c, held_out=mask.toarray()) for c in (counts / 1e12, counts))
    assert_allclose(large, small - (counts[mask.toarray()] > 0).mean() * np.log(1e12), rtol=1e-3)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda X: hide_entries(X, 1.5), "share=1.5 must lie between 0 and 1"),
        (lambda X: NMD(2, max_iter=3).fit(X).score(X, held_out=np.ones((2, 2))), r"held_out has the shape \(2, 2\)"),
        (lambda X: NMD(2, max_iter=3).fit(X).score(X, held_out=0 * X), "held_out hides no entry"),
        (lambda X: NMD(2, "relu", "latent", prior="rows").fit(X), "objective='latent' has no noise"),
        (lambda X: NMD(2, solver="em", prior="rows").fit(X), "solver='em' is the published algorithm"),
    ],
)
def test_mistakes_get_a_sentence(call, message):
    with pytest.raises(InputError, match=message):
        call(planted_bits()[:60, :30])


def test_data_that_is_explained_exactly_is_reproduced_and_gaps_are_predicted(rng):
    """Clean data keeps its components free of a prior, unless entries are missing: then predictions decide."""
    X = np.maximum(rng.standard_normal((150, 12)) @ rng.standard_normal((12, 30)), 0)
    whole = NMD(12, random_state=0).fit(X)
    assert whole.resolved_["prior"] == "rows"
    published = NMD(12, prior=None, random_state=0).fit(X)
    errors = [root_mean_squared_error(X, model.inverse_transform(model.embedding_)) for model in (whole, published)]
    assert errors[0] < 1.1 * errors[1] + 0.01 * X.std()
    mask = hide_entries(X, random_state=1)
    fits = (NMD(12, prior=prior, missing=mask, random_state=0).fit(X) for prior in ("auto", None))
    scores = [model.score(X, held_out=mask) for model in fits]
    assert scores[0] > scores[1]
