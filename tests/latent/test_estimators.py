import tracemalloc

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import norm
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from rectifact import NMD, InputError
from rectifact.core.arrays import device, to_host
from rectifact.core.monitor import watching
from rectifact.datasets import load_images, make_dots, make_sprites
from rectifact.latent import choices
from rectifact.latent.data import large_values, largest_column
from rectifact.latent.nmd import expected_rows
from rectifact.latent.scales import limits_of, tops_of
from rectifact.metrics import root_mean_squared_error

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@parametrize_with_checks(
    [NMD(2, max_iter=20), NMD(2, objective="latent", max_iter=20), NMD(1, solver="em", max_iter=20)]
)
def test_scikit_learn(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def planted():
    """A matrix of rank 4 before the ReLU, with a little noise."""
    rng = np.random.default_rng(0)
    theta = rng.standard_normal((300, 4)) @ rng.standard_normal((4, 80)) - 0.5
    return np.maximum(theta + 0.05 * rng.standard_normal(theta.shape), 0)


@pytest.fixture(scope="module")
def fitted(planted):
    return NMD(5).fit(planted)


def rmse_of_svd(X, rank, most=np.inf):
    U, s, Vt = np.linalg.svd(X, full_matrices=False)
    return root_mean_squared_error(((U[:, :rank] * s[:rank]) @ Vt[:rank]).clip(0, most), X)


def rmse(model, X):
    return root_mean_squared_error(model.inverse_transform(model.embedding_), X)


def test_planted_rank_is_found_where_svd_needs_more(planted, fitted):
    assert rmse(fitted, planted) < 0.06
    assert rmse_of_svd(planted, 5) > 0.4
    assert_allclose(fitted.scale_, 0.05, rtol=0.15)  # a little less: five dimensions fit some of the noise
    assert fitted.resolved_["link"] == "relu"
    assert fitted.components_.shape == (5, 80)
    assert np.linalg.matrix_rank(fitted.components_) == 5


def test_five_dimensions_explain_all_dots():
    X = make_dots().X
    published, model = NMD(5, max_iter=60, prior=None).fit(X), NMD(5).fit(X)
    assert model.resolved_["link"] == "binary"
    for each in (published, model):
        assert_array_equal(each.inverse_transform(each.embedding_) > 0.5, X.toarray() > 0)
    assert rmse(published, X.toarray()) < 1e-3


def test_digits(load_or_skip):
    X = load_or_skip(load_images, "mnist").X[::20] / 255
    model = NMD(32, max_iter=100, tol=0).fit(X)
    assert rmse(model, X) <= 0.072 < rmse_of_svd(X, 32)


def test_likelihood_never_falls(fitted):
    losses = np.array([row["loss"] for row in fitted.history_])
    assert (np.diff(losses) <= 1e-11 * np.abs(losses[0])).all()
    assert len(losses) > 20


def test_embedding_is_the_transform(planted, fitted):
    assert_array_equal(fitted.embedding_, fitted.transform(planted))
    assert_allclose(fitted.transform(planted[7:8]), fitted.embedding_[7:8], atol=1e-9)


def test_embedding_is_the_most_likely(planted, rng):
    fitted = NMD(5, prior=None).fit(planted)
    seen = planted[planted > 0]
    offset = len(seen) / planted.size * np.log(np.sqrt((seen**2).mean()))  # losses are in units of the data
    assert fitted.score(planted) >= -fitted.history_[-1]["loss"] - offset - 1e-9  # Newton undoes nothing
    others = planted[:3], fitted.embedding_[:3] + 0.01 * rng.standard_normal((3, 5))
    from rectifact.kernels.reference import nmd_e_step

    at = [
        float(nmd_e_step(others[0], A @ fitted.components_, fitted.scale_, False)[1][0])
        for A in (fitted.embedding_[:3], others[1])
    ]
    assert at[0] > at[1]


def test_sparse_equals_dense(planted, fitted):
    for other in (sp.csr_array(planted), sp.csc_array(planted), sp.coo_array(planted)):
        model = clone(fitted).fit(other)
        assert_allclose(model.embedding_, fitted.embedding_, atol=1e-10)
        assert_allclose(model.components_, fitted.components_, atol=1e-10)


def test_threads_change_nothing(planted):
    one, two = (NMD(5, max_iter=30, n_jobs=jobs).fit(np.vstack([planted] * 8)) for jobs in (1, 2))
    assert_allclose(one.embedding_, two.embedding_, atol=1e-7)


def test_float32_stays_and_is_near(planted, fitted):
    model = NMD(5).fit(planted.astype(np.float32))
    assert model.components_.dtype == model.embedding_.dtype == np.float32
    assert_allclose(rmse(model, planted), rmse(fitted, planted), rtol=0.02)


def test_backends(to_xp, planted):
    X = to_xp(planted)
    model = NMD(5, max_iter=40).fit(X)
    assert type(model.embedding_) is type(X)
    assert device(model.embedding_) == device(X)
    host = NMD(5, max_iter=40).fit(planted)
    assert_allclose(
        to_host(model.inverse_transform(model.embedding_)), host.inverse_transform(host.embedding_), atol=1e-3
    )


def test_latent_objective_is_the_relative_error(planted):
    model = NMD(5, objective="latent", max_iter=200).fit(planted)
    theta = model.embedding_ @ model.components_
    nearest = np.where(planted > 0, planted, np.minimum(theta, 0))
    at_theta = ((nearest - theta) ** 2).mean()
    assert at_theta < 0.06**2
    assert at_theta <= model.history_[-1]["loss"] * (1 + 1e-6)
    assert_allclose(model.inverse_transform(model.embedding_), np.maximum(theta, 0), atol=1e-3)


@pytest.mark.parametrize("link", ["relu", "binary"])
def test_expected_values_are_computed_in_little_memory(link):
    rng = np.random.default_rng(0)
    A, B = rng.standard_normal((1000, 3)), rng.standard_normal((3, 300))  # several blocks, the last one is shorter
    tracemalloc.start()
    try:
        found = expected_rows(A, B, 0.7, link)
        assert tracemalloc.get_traced_memory()[1] < 5 * found.nbytes
    finally:
        tracemalloc.stop()
    theta = A @ B
    positive = norm.cdf(theta / 0.7)
    assert_allclose(found, positive if link == "binary" else theta * positive + 0.7 * norm.pdf(theta / 0.7), atol=1e-12)
    assert expected_rows(A[:0], B, 0.7, link).shape == (0, 300)


def test_the_published_algorithm_is_reached_and_passed(planted, fitted):
    published = NMD(5, solver="em", max_iter=512, tol=0).fit(planted)
    losses = [row["loss"] for row in published.history_]
    assert (np.diff(losses) < 1e-9).all()
    assert NMD(5, prior=None).fit(planted).score(planted) >= published.score(planted) - 1e-6


@pytest.mark.parametrize("form", ["nan", "mask", "sparse mask"])
def test_missing_entries_are_filled_in_better_than_by_svd(planted, form, rng):
    hidden = rng.random(planted.shape) < 0.2
    X = np.where(hidden, np.nan, planted)
    if form == "nan":
        model = NMD(5, missing=np.nan).fit(X)
    else:
        wrong = np.where(hidden, np.nan if form == "mask" else 1e3, planted)  # what is hidden is not looked at
        model = NMD(5, missing=hidden if form == "mask" else sp.csr_array(hidden)).fit(wrong)
    found = model.inverse_transform(model.embedding_)
    filled = np.where(hidden, np.nanmean(X, axis=0), planted)
    for _ in range(30):  # imputation by SVD
        U, s, Vt = np.linalg.svd(filled, full_matrices=False)
        filled = np.where(hidden, np.maximum((U[:, :5] * s[:5]) @ Vt[:5], 0), planted)
    assert root_mean_squared_error(found[hidden], planted[hidden]) < 0.5 * root_mean_squared_error(
        filled[hidden], planted[hidden]
    )


@pytest.mark.parametrize("scale", [1e-150, 1e-6, 1e5, 1e150])
def test_scale_of_the_data_is_the_scale_of_the_embedding(planted, fitted, scale):
    model = clone(fitted).fit(scale * planted)
    assert_allclose(model.embedding_, scale * fitted.embedding_, atol=1e-5 * scale)
    assert_allclose(model.scale_, scale * fitted.scale_, rtol=1e-6)


@pytest.mark.parametrize("scale", [1e-200, 1e155, 1e300])
@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_the_spread_of_a_column_has_the_scale_of_the_data(scale):
    X = np.random.default_rng(0).random((60, 4))
    X[::7, 1] = np.nan
    assert_allclose(tops_of(scale * X), scale * tops_of(X), rtol=1e-12)
    assert_allclose(tops_of(X)[2], np.nanstd(X, axis=0), rtol=1e-12)
    assert (limits_of(scale * X, tops_of(scale * X)) > 0).all()


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_beyond_the_largest_number_there_is_no_limit():
    X = np.full((60, 2), np.finfo(float).max)
    X[0] = [1.0, np.nan]
    assert np.isposinf(limits_of(X, tops_of(X))).any()


class TestOddData:
    @pytest.mark.parametrize(
        ("model", "X", "message"),
        [
            (NMD(1), np.zeros((4, 3)), "No entry of X is positive: there is nothing to embed"),
            (NMD(1), np.ones((4, 3)), "All entries of X are one: there is nothing to tell apart"),
            (NMD(4), np.eye(3), r"n_components=4 dimensions need .* X has 3 sample\(s\) and 3 feature\(s\)"),
            (NMD(1), [[1.0, -2.0]], "Negative values in data"),
            (NMD(1), [[1.0, np.nan]], "NaN or infinity in X"),
            (NMD(1, link="binary"), [[0.5, 0.0], [1.0, 0.0]], "link='binary' is for zeros and ones"),
            (NMD(1, "binary", "latent"), np.eye(3), "objective='latent' is for link='relu'"),
            (NMD(1, missing=np.ones((2, 2))), np.eye(3), r"missing has the shape \(2, 2\) and X \(3, 3\)"),
            (NMD(1, n_jobs=0), np.eye(3), "n_jobs must not be 0"),
        ],
    )
    def test_mistakes_get_a_sentence(self, model, X, message):
        with pytest.raises(InputError, match=message):
            model.fit(X)

    @pytest.mark.parametrize(
        "X",
        [
            np.array([[1.0], [0.0], [2.0]]),
            np.array([[1.0, 0.0, 2.0]]),
            np.eye(4),
            np.full((5, 4), 3.0),
            np.vstack([np.zeros((3, 4)), np.ones((3, 4))]),
            np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]),
            np.outer(np.arange(1.0, 9), np.arange(1.0, 6)),
            np.pad([[5.0]], ((0, 9), (0, 7))),
        ],
        ids=["one column", "one row", "separable", "constant", "rows of zeros", "duplicates", "rank one", "one entry"],
    )
    @pytest.mark.parametrize("rank", [1, 2, 3])
    def test_results_are_finite(self, X, rank):
        if rank > min(X.shape):
            pytest.skip("rank above the size is refused")
        model = NMD(rank, max_iter=50).fit(X)
        assert np.isfinite(model.embedding_).all()
        assert np.isfinite(model.inverse_transform(model.embedding_)).all()
        assert np.isfinite(model.score(X))

    def test_full_rank_can_be_asked_for(self, planted):
        model = NMD(20, max_iter=10).fit(planted[:20])
        assert np.linalg.matrix_rank(model.components_) == 20

    def test_binary_models_take_nothing_else(self):
        with pytest.raises(InputError, match="link='binary' is for zeros and ones"):
            NMD(1, max_iter=5).fit(np.eye(3)).transform(7 * np.eye(3))

    def test_nothing_to_score(self, planted):
        model = NMD(1, missing=np.nan, max_iter=5).fit(planted)
        with pytest.raises(InputError, match="All entries of X are missing"):
            model.score(np.full((2, 80), np.nan))

    def test_embeddings_of_the_wrong_shape(self, fitted):
        with pytest.raises(InputError, match=r"An embedding needs the shape \(n_samples, 5\)"):
            fitted.inverse_transform(np.ones((2, 3)))


def test_data_and_fits_are_left_alone(planted, fitted):
    X, mask = sp.csr_array(planted), sp.csr_array((np.ones(3), ([0, 1, 2], [0, 1, 2])), shape=planted.shape)
    X.data[::5] = 0  # stored zeros
    copies = X.copy(), mask.copy()
    NMD(2, missing=mask, max_iter=3).fit(X)
    for ours, copy in zip((X, mask), copies, strict=True):
        assert_array_equal(ours.data, copy.data)
        assert ours.nnz == copy.nnz
    assert_array_equal(clone(fitted).fit(planted).embedding_, fitted.embedding_)


def test_float32_scales(planted):
    for scale in (1e-25, 1e25):
        model = NMD(5, max_iter=30).fit((scale * planted).astype(np.float32))
        assert np.isfinite(model.embedding_).all()
        assert rmse(model, scale * planted) < 0.1 * scale


def test_frames_in_and_out(planted):
    model = NMD(2, max_iter=5).set_output(transform="pandas")
    frame = model.fit_transform(pd.DataFrame(planted, columns=[f"f{i}" for i in range(80)]))
    assert model.inverse_transform(frame).shape == planted.shape


def test_threads_are_given_back(planted):
    import numba

    before = numba.get_num_threads()
    NMD(2, max_iter=2, n_jobs=1).fit(planted)
    assert numba.get_num_threads() == before


@pytest.mark.parametrize(("n", "alpha"), [(16, None), (32, None), (16, 4.0), (24, 4.0)])
def test_circulants_are_of_rank_three(n, alpha):
    """The example of section 2.3 of the paper: data of full rank, whose regular start lies on a saddle."""
    i = np.arange(n)
    alpha = alpha or 0.5 / (np.sin(np.pi / n) * np.sin(np.pi / (2 * n)))
    X = np.maximum(1 - alpha * (1 - np.cos(2 * np.pi * (i[:, None] - i) / n)), 0)
    model = NMD(3).fit(X)
    assert np.linalg.matrix_rank(X) == n
    assert np.abs(model.inverse_transform(model.embedding_) - X).max() < 0.01


def test_one_climb_is_not_better_than_several(planted):
    small = planted[:40, :30]
    one, several = (NMD(3, prior=None, n_init=n, random_state=0).fit(small) for n in (1, 4))
    assert several.history_[-1]["loss"] <= one.history_[-1]["loss"]


def sweeps_of(model, X):
    """The sweeps of each run of a fit, those of trials included, in their order."""
    steps = {}
    with watching(lambda step: steps.setdefault(step.run, []).append(step)):
        model.fit(X)
    return [int(step.row["iter"]) for run in steps.values() for step in run if step.ended and step.row]


def test_a_climb_that_is_left_behind_is_given_up(monkeypatch):
    X = np.random.default_rng(0).standard_normal((12, 12)).clip(0)
    model, full = NMD(2, random_state=0), NMD(2, random_state=0)
    short = sum(sweeps_of(model, X))
    monkeypatch.setattr(choices, "LEAST_CLIMB", 1000)
    assert short < sum(sweeps_of(full, X)) / 2
    assert_array_equal(model.embedding_, full.embedding_)  # the best climb is the same


def test_trials_are_no_longer_than_the_fit(planted):
    X = np.where(np.random.default_rng(0).random(planted.shape) < 0.2, np.nan, planted)
    assert max(sweeps_of(NMD(4, missing=np.nan, max_iter=20, random_state=0), X)) == 20
    assert max(sweeps_of(NMD(4, missing=np.nan, max_iter=200, random_state=0), X)) >= 100


def test_sprites():
    X = make_sprites().X[::6].astype(np.float32)
    assert rmse(NMD(16, max_iter=200, tol=0, prior=None).fit(X), X.toarray()) <= 0.01


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_values_whose_squares_overflow_are_told_of_without_a_warning(form):
    X = np.ones((20, 6))
    X[3, 2] = 1e300
    assert large_values(form(X)).startswith("The largest 1% of the positive values hold 100%")
    assert largest_column(form(X)) == (2, 1.0)
    assert large_values(form(np.zeros((20, 6)))) == ""
