import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.datasets import load_digits

from rectifact import InputError, LogisticPCA, hide_entries, load_model, save_model
from rectifact.core.monitor import Monitor
from rectifact.core.operand import operand
from rectifact.datasets import make_dots
from rectifact.kernels.penalty import Penalty
from rectifact.latent.logistic_pca import (
    _column_pull,
    _penalised_loss,
    _row_pull,
    log_likelihood,
    logistic_curvatures,
    logistic_newton,
    logistic_pca,
    logistic_pca_with_priors,
    logistic_rows,
)
from rectifact.latent.priors import Gaussian
from rectifact.latent.starts import svd_start

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.fixture(scope="module")
def planted():
    rng = np.random.default_rng(0)
    theta = 2 * rng.standard_normal((200, 3)) @ rng.standard_normal((3, 60))
    return sp.csr_array((rng.random(theta.shape) < expit(theta)) * 1.0), theta


def test_likelihood_is_what_it_says(planted, rng):
    X, _ = planted
    A, B = rng.standard_normal((200, 3)), rng.standard_normal((3, 60))
    P, dense = expit(A @ B), X.toarray()
    assert_allclose(log_likelihood(X, A, B), (dense * np.log(P) + (1 - dense) * np.log1p(-P)).sum())


def test_a_step_solves_each_row_by_itself(planted, rng):
    X, _ = planted
    A, B = rng.standard_normal((200, 3)), rng.standard_normal((3, 60))
    A[0] = 0  # where the weight is a limit
    found = logistic_rows(X, A, B)
    for i in (0, 7):
        theta = A[i] @ B
        w = np.array([0.25 if t == 0 else np.tanh(t / 2) / (2 * t) for t in theta])
        assert_allclose(found[i], np.linalg.solve((B * w) @ B.T, B @ (X.toarray()[i] - 0.5)), rtol=1e-6)


def test_the_likelihood_never_falls(planted):
    X, _ = planted
    monitor = Monitor(60, tol=0)
    logistic_pca(operand(X), svd_start(operand(X), 3, "binary"), monitor=monitor)
    losses = [row["loss"] for row in monitor.history]
    assert (np.diff(losses) <= 1e-9).all()
    assert losses[-1] < losses[0]


def test_planted_probabilities_are_found(planted):
    X, theta = planted
    model = LogisticPCA(3, prior=None).fit(X)
    found = model.inverse_transform(model.embedding_)
    assert np.sqrt(np.mean((found - expit(theta)) ** 2)) < 0.15
    assert model.score(X) > log_likelihood(X, theta, np.eye(60)) / theta.size  # more likely than the truth
    assert_array_equal(model.embedding_, model.transform(X))
    assert_allclose(model.components_ @ model.components_.T, np.eye(3), atol=1e-10)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([[0.5, 1.0], [0.0, 1.0]], "LogisticPCA is for zeros and ones"),
        (np.zeros((3, 3)), "All entries of X are alike"),
        (np.ones((3, 3)), "All entries of X are alike"),
        ([[1.0, 0.0]], r"n_components=2 dimensions need .* X has 1 sample\(s\) and 2 feature\(s\)"),
    ],
)
def test_mistakes_get_a_sentence(X, message):
    with pytest.raises(InputError, match=message):
        LogisticPCA(2).fit(X)


def test_embedding_is_as_good_as_the_fit(planted):
    X, _ = planted
    model = LogisticPCA(3, prior=None, max_iter=60).fit(X)
    assert model.score(X) >= -model.history_[-1]["loss"] - 1e-6


def test_data_is_left_alone():
    X = sp.csr_array(np.eye(5) + np.eye(5, k=1))
    X.data[::3] = 0
    before = X.copy()
    LogisticPCA(2, max_iter=5).fit(X)
    assert X.nnz == before.nnz


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_separable_blocks_stay_finite(dtype):
    X = np.kron(np.eye(2), np.ones((5, 4))).astype(dtype)
    model = LogisticPCA(2, prior=None).fit(X)
    assert model.embedding_.dtype == dtype
    assert np.abs(model.inverse_transform(model.embedding_) - X).max() < 0.01


@pytest.mark.parametrize("prior", ["auto", None])
def test_separable_data_stays_finite(prior):
    model = LogisticPCA(1, prior=prior, max_iter=50).fit(np.eye(4))
    assert np.isfinite(model.embedding_).all()
    assert np.isfinite(model.score(np.eye(4)))


def with_holes(X, rng, share=0.15):
    """Dense X with NaN at random places, a whole row and a whole column among them."""
    dense = np.where(rng.random(X.shape) < share, np.nan, X.toarray())
    dense[3] = dense[:, 5] = np.nan
    return dense


def positive_definite(rng, r):
    root = rng.standard_normal((r, r + 2))
    return root @ root.T


def slow_objective(x, A, B, row_prior=None, column_prior=None):
    """Log-likelihood of the entries that are known, one by one, less what rows and columns cost."""
    total = 0.0
    for i, j in zip(*np.nonzero(~np.isnan(x)), strict=True):
        theta = A[i] @ B[:, j]
        total += x[i, j] * theta - np.logaddexp(0, theta)
    for vectors, prior in ((A, row_prior), (B.T, column_prior)):
        if prior is not None:
            mean, precisions = prior
            for v, P in zip(vectors, np.broadcast_to(precisions, (len(vectors), *A.shape[1:] * 2)), strict=True):
                total -= 0.5 * v @ P @ v - mean @ v
    return total


def test_missing_entries_are_left_out(planted, rng):
    """Steps, likelihood and curvatures of each row are those of its known entries alone."""
    x = with_holes(planted[0], rng)
    A, B, X = rng.standard_normal((200, 3)), rng.standard_normal((3, 60)), sp.csr_array(x)
    found, P = logistic_rows(X, A, B), expit(A @ B)
    for i in (0, 7):
        known = ~np.isnan(x[i])
        alone = logistic_rows(sp.csr_array(x[i : i + 1, known]), A[i : i + 1], B[:, known])
        assert_allclose(found[i], alone[0], rtol=1e-6)
    assert_array_equal(found[3], 0)  # of which nothing is known
    assert_allclose(log_likelihood(X, A, B), slow_objective(x, A, B))
    curvatures, gram, total = logistic_curvatures(X, A, B, 1.0, "binary")
    assert_allclose(curvatures, np.where(np.isnan(x), 0, P * (1 - P)).sum(axis=0))
    assert_allclose(gram, A.T @ A)
    assert_allclose(total, A.sum(axis=0))


def test_a_fit_with_missing_entries_ends_where_the_slow_gradient_vanishes(rng):
    theta = rng.standard_normal((90, 1)) @ rng.standard_normal((1, 70))
    x = np.where(rng.random(theta.shape) < 0.2, np.nan, rng.random(theta.shape) < expit(theta))
    X = operand(sp.csr_array(x))
    model = logistic_pca(X, svd_start(X, 1, "binary"), monitor=Monitor(500, tol=0))
    for i in (0, 9):
        assert_allclose(np.nansum((x[i] - expit(model.A[i] @ model.B)) * model.B[0]), 0, atol=1e-4)
        assert_allclose(np.nansum((x[:, i] - expit(model.A @ model.B[:, i])) * model.A[:, 0]), 0, atol=1e-4)


def test_what_is_missing_has_no_influence(planted, rng):
    """A mask, NaN, and a mask over other values give the same fit."""
    X, _ = planted
    mask = hide_entries(X, 0.2, random_state=0)
    dense, hidden = X.toarray(), mask.toarray()
    options = {"max_iter": 20, "tol": 0}
    first = LogisticPCA(3, missing=mask, **options).fit(X)
    other = LogisticPCA(3, missing=hidden, **options).fit(np.where(hidden, 1 - dense, dense))
    nan = LogisticPCA(3, missing=np.nan, **options).fit(np.where(hidden, np.nan, dense))
    for model in (other, nan):
        assert_allclose(model.embedding_, first.embedding_, atol=1e-8)
        assert_allclose(model.components_, first.components_, atol=1e-8)
    assert_array_equal(nan.transform(np.where(hidden, np.nan, dense)), nan.embedding_)
    P = nan.inverse_transform(nan.embedding_)
    of_entries = np.where(dense > 0, np.log(P), np.log1p(-P))
    assert_allclose(nan.score(np.where(hidden, np.nan, dense)), of_entries[~hidden].mean())
    assert_allclose(nan.score(dense, held_out=mask), of_entries[hidden].mean())
    assert abs(LogisticPCA(3, **options).fit(X).score(X, held_out=mask) - nan.score(X, held_out=mask)) > 0.01


def test_nan_needs_missing_to_say_so(planted, rng):
    x = with_holes(planted[0], rng)
    with pytest.raises(InputError, match="NaN"):
        LogisticPCA(2).fit(x)
    with pytest.raises(InputError, match="All entries of X are missing"):
        LogisticPCA(2, missing=np.nan, max_iter=5).fit(x).score(np.full((2, 60), np.nan))


def test_steps_with_priors_climb_the_objective(planted, rng):
    x = with_holes(planted[0][:50], rng)
    X = operand(sp.csr_array(x))
    P, Q, V = (positive_definite(rng, 3) for _ in range(3))
    penalty = Penalty(rng.standard_normal(3), P, rng.standard_normal(3), Q, V, rng.random(60))
    pulls = _row_pull(penalty), _column_pull(penalty)
    of_rows, of_columns = (P @ penalty.row_mean, P), (Q @ penalty.column_mean, pulls[1][0])
    constant = 0.5 * (50 * penalty.row_mean @ of_rows[0] + 60 * penalty.column_mean @ of_columns[0])
    assert_allclose(pulls[1][0][7], Q + penalty.weights[7] * V)
    A, B, value = rng.standard_normal((50, 3)), rng.standard_normal((3, 60)), -np.inf
    for _ in range(5):
        A = logistic_rows(X.data, A, B, pulls[0])
        B = logistic_rows(sp.csr_array(X.data.T), B.T, A.T, pulls[1]).T
        before, value = value, slow_objective(x, A, B, of_rows, of_columns)
        assert value > before
        assert_allclose(_penalised_loss(X, A, B, penalty), constant - value)
    for _ in range(300):
        A = logistic_rows(X.data, A, B, pulls[0])
    best = minimize(lambda a: -slow_objective(x[:1], a[None], B, of_rows), A[0]).x
    assert_allclose(A[0], best, atol=1e-4)


def test_newton_finds_the_most_probable_row(planted, rng):
    x = with_holes(planted[0][:6], rng)
    x[1] = np.where(np.isnan(x[1]), np.nan, 1)
    B, P, mean = rng.standard_normal((3, 60)), positive_definite(rng, 3), rng.standard_normal(3)
    found = logistic_newton(sp.csr_array(x), B, Gaussian(mean, np.linalg.inv(P)))
    for i in range(6):
        best = minimize(lambda a, i=i: -slow_objective(x[i : i + 1], a[None], B, (P @ mean, P)), mean).x
        assert_allclose(found[i], best, atol=1e-4)
    assert_allclose(found[3], mean)  # of which nothing is known


def test_the_objective_never_falls_between_two_updates(planted):
    X = operand(planted[0])
    monitor = Monitor(40, tol=0)
    logistic_pca_with_priors(X, svd_start(X, 6, "binary"), monitor=monitor)
    losses = np.array([row["loss"] for row in monitor.history]).reshape(4, 10)
    assert (np.diff(losses, axis=1) <= 1e-9).all()


def test_separable_rows_stay_with_the_others():
    rng = np.random.default_rng(0)
    X = 1.0 * (rng.standard_normal((300, 4)) @ rng.standard_normal((4, 80)) > 2)
    for rank in (4, 8):
        norms = np.linalg.norm(LogisticPCA(rank).fit(X).embedding_, axis=1)
        assert norms.max() < 20 * np.median(norms)


def test_a_rank_that_is_too_large_does_no_harm():
    rng = np.random.default_rng(0)
    theta = 1.5 * rng.standard_normal((300, 5)) @ rng.standard_normal((5, 120))
    X = 1.0 * (rng.random(theta.shape) < expit(theta))
    mask = hide_entries(X, 0.1, random_state=1)
    losses = {k: -LogisticPCA(k, missing=mask).fit(X).score(X, held_out=mask) for k in (2, 5, 10)}
    assert losses[10] < 1.05 * losses[5] < losses[2]
    plain = LogisticPCA(10, missing=mask, prior=None, max_iter=20).fit(X)
    assert -plain.score(X, held_out=mask) > 1.5 * losses[10]


def test_hidden_pixels_of_digits_are_predicted():
    X = 1.0 * (load_digits().data[:400] > 8)
    mask = hide_entries(X, 0.1, random_state=0)
    models = (LogisticPCA(8, missing=mask, prior=prior, max_iter=100) for prior in ("auto", None))
    with_prior, plain = (model.fit(X).score(X, held_out=mask) for model in models)
    mean = np.clip(np.ma.array(X, mask=mask.toarray()).mean(axis=0).filled(0), 0.01, 0.99)
    popular = np.where(X > 0, np.log(mean), np.log1p(-mean))[mask.toarray()].mean()
    assert with_prior > 0.75 * popular > plain  # both are negative


def test_exact_data_keeps_its_dimensions():
    X = make_dots(size=16, grid=12).X
    model = LogisticPCA(5).fit(X)
    assert ((model.inverse_transform(model.embedding_) > 0.5) == (X.toarray() > 0)).mean() > 0.97


def test_the_prior_is_reported_and_saved(planted, tmp_path):
    X, _ = planted
    model = LogisticPCA(6).fit(X)
    assert model.resolved_["prior"] == "factors"
    assert 0.3 < model.resolved_["shrinkage"] < 0.9  # three dimensions of six are planted
    assert LogisticPCA(3, prior=None, max_iter=2).fit(X).resolved_ == {"prior": None}
    save_model(model, tmp_path / "model.rfx")
    assert_array_equal(load_model(tmp_path / "model.rfx").transform(X), model.transform(X))
