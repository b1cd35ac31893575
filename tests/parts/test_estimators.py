import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.decomposition import NMF
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

from rectifact import ANDNMF, InputError, PurificationNMF
from rectifact.bench.parts import RECOVERED, paper_start, tdt2_topics
from rectifact.core.arrays import device, to_host
from rectifact.datasets import make_topics
from rectifact.metrics import npmi_coherence, part_errors, total_correlation_error
from rectifact.parts.and_nmf import decode

pytestmark = pytest.mark.filterwarnings(
    "ignore::sklearn.exceptions.ConvergenceWarning", "ignore:X has rank", "ignore:From .* samples PurificationNMF"
)


@parametrize_with_checks([ANDNMF(2), ANDNMF(2, decode="nnls"), PurificationNMF(2)])
def test_scikit_learn(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def topics():
    return make_topics(n_samples=1500, n_features=60, n_topics=10)


@pytest.fixture(scope="module")
def fitted(topics):
    return ANDNMF(10, random_state=0).fit(topics.X)


def recovered(model, truth):
    return int((part_errors(to_host(model.components_), truth) < RECOVERED).sum())


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("kind", "least"), [("dir", 100), ("ctm", 99), ("neg", 100), ("neg-dir", 100)])
def test_blind_recovery_of_a_hundred_parts(load_or_skip, kind, least, seed):
    parts = None if kind.startswith("neg") else load_or_skip(tdt2_topics)
    data = make_topics(kind, components=parts, random_state=seed)
    assert recovered(ANDNMF(100, random_state=seed).fit(data.X), data.components) >= least


def test_random_parts_are_recovered_without_published_data(topics, fitted):
    assert recovered(fitted, topics.components) == 10
    assert fitted.converged_
    assert (
        fitted.resolved_.items()
        >= {
            "refine": None,
            "norm_power": 1.0,
            "normalize": "l1",
            "rank": 10,
            "init": "ica",
            "threshold": 0.5,
            "noise_floor": 1.5,
            "noise": 0.0,
            "compress": True,
        }.items()
    )
    assert_allclose(fitted.components_.sum(axis=1), 1)
    assert_allclose(
        fitted.reconstruction_err_, np.linalg.norm(topics.X - fitted.inverse_transform(fitted.transform(topics.X)))
    )
    assert fitted.history_[-1]["loss"] < 1e-5


def test_no_nmf_can_do_this():
    data = make_topics("neg-dir", n_samples=1500, n_features=60, n_topics=10)
    assert recovered(ANDNMF(10, random_state=0).fit(data.X), data.components) == 10
    peer = NMF(10, random_state=0, max_iter=500).fit(np.maximum(data.X, 0))
    assert recovered(peer, data.components) == 0


@pytest.mark.parametrize("scale", [1e-8, 7.0, 1e9])
def test_scale_of_the_data_is_the_scale_of_the_weights(topics, fitted, scale):
    scaled = ANDNMF(10, random_state=0).fit(scale * topics.X)
    assert_allclose(scaled.components_, fitted.components_, atol=1e-9)
    assert_allclose(scaled.transform(scale * topics.X), scale * fitted.transform(topics.X), atol=1e-9 * scale)


@pytest.mark.filterwarnings("ignore:The weights of a sample add up:rectifact.core.errors.FitWarning")
def test_purification_scales_with_the_data():
    data = make_topics(n_samples=1000, n_features=30, n_topics=4)
    # On a fixed sample rounding grows tenfold an iteration: with a smaller tol it would decide when the run stops.
    one, many = (PurificationNMF(4, random_state=0, tol=1e-3).fit(scale * data.X) for scale in (1, 100))
    assert_allclose(many.components_, 100 * one.components_, rtol=1e-6)


@pytest.mark.parametrize("compress", [True, False])
def test_sparse_equals_dense(topics, compress):
    X = np.where(topics.X > 0.02, topics.X, 0)
    options = {"compress": compress, "random_state": 0, "max_iter": 30}
    dense, sparse = ANDNMF(10, **options).fit(X), ANDNMF(10, **options).fit(sp.csr_array(X))
    assert_allclose(dense.components_, sparse.components_, atol=1e-8)
    assert_allclose(dense.transform(X), sparse.transform(sp.csc_array(X)), atol=1e-8)
    assert_allclose(dense.reconstruction_err_, sparse.reconstruction_err_, rtol=1e-6)


def test_very_sparse_samples_are_not_compressed(rng):
    X = sp.random_array((400, 300), density=0.01, rng=rng, format="csr")
    model = ANDNMF(10, random_state=0, max_iter=5).fit(X)
    assert model.resolved_["compress"] is False


def test_noise_floor(load_or_skip):
    data = make_topics("ctm", components=load_or_skip(tdt2_topics), noise=0.01)
    errors = [
        total_correlation_error(
            ANDNMF(100, noise_floor=floor, refine=None, random_state=0).fit(data.X).components_, data.components
        )
        for floor in ("auto", 0)
    ]
    assert errors[0] < 0.5
    assert errors[1] > 0.8


@pytest.mark.parametrize("init", ["given", "auto"])
def test_one_pass(load_or_skip, init):
    components = load_or_skip(tdt2_topics)
    data = make_topics(n_samples=40_000, components=components)
    model = ANDNMF(100, init=paper_start(components) if init == "given" else init, random_state=0)
    for i in range(0, 40_000, 500):
        model.partial_fit(data.X[i : i + 500])
    assert total_correlation_error(model.components_, components) < 1e-3
    assert (model.n_iter_, model.stop_reason_) == (80, "stream")


def test_batches_after_fit_keep_what_was_found(topics, fitted):
    model = clone(fitted).fit(topics.X)
    for _ in range(5):
        model.partial_fit(topics.X[:300])
    assert recovered(model, topics.components) == 10


def test_published_settings_can_be_asked_for(topics):
    start = paper_start(topics.components)
    options = {"threshold": 0.1, "threshold_decay": 1.1, "noise_floor": 0, "normalize": None, "unit": "absolute"}
    paper = ANDNMF(10, init=start, **options, n_inner=50, compress=False, max_iter=200, tol=0).fit(topics.X)
    assert total_correlation_error(paper.components_, topics.components) < 1e-6
    assert (paper.resolved_["init"], paper.resolved_["threshold"], paper.n_iter_) == ("given", 0.1, 200)


@pytest.mark.parametrize("init", ["ica", "spa", "anchor", "nndsvd"])
def test_every_start_says_so(topics, init):
    assert ANDNMF(10, init=init, random_state=0).fit(topics.X).resolved_["init"] == init


def test_few_samples_start_from_pure_ones():
    data = make_topics(n_samples=60, n_features=40, n_topics=10)
    assert ANDNMF(10, random_state=0).fit(data.X).resolved_["init"] == "spa"


def test_least_squares_weights_fit_better_in_noise(rng):
    data = make_topics(n_samples=800, n_features=40, n_topics=5, noise=0.2)
    errors = [
        ANDNMF(5, decode=decode, refine=None, random_state=0).fit(data.X).reconstruction_err_
        for decode in ("nnls", "relu")
    ]
    assert errors[0] < errors[1]


@pytest.mark.filterwarnings("ignore:The weights of a sample add up:rectifact.core.errors.FitWarning")
def test_backends_agree(to_xp, topics, fitted):
    X = to_xp(topics.X)
    model = ANDNMF(10, random_state=0).fit(X)
    assert type(model.components_) is type(X)
    assert device(model.components_) == device(X)
    assert_allclose(to_host(model.components_), fitted.components_, atol=1e-6)
    assert_allclose(to_host(model.transform(X)), fitted.transform(topics.X), atol=1e-6)
    purified = PurificationNMF(10, random_state=0).fit(X)
    assert type(purified.transform(X)) is type(X)


def test_float32_stays_and_is_near(topics, fitted):
    single = ANDNMF(10, random_state=0).fit(topics.X.astype(np.float32))
    assert single.components_.dtype == np.float32
    assert recovered(single, topics.components) == 10


def test_order_of_samples_does_not_matter(topics, fitted, rng):
    order = rng.permutation(len(topics.X))
    shuffled = ANDNMF(10, random_state=0).fit(topics.X[order])
    assert part_errors(shuffled.components_, fitted.components_).max() < 1e-5


def test_fits_repeat_and_leave_the_data_alone(topics, fitted):
    before = topics.X.copy()
    again = ANDNMF(10, random_state=0).fit(topics.X)
    assert_array_equal(topics.X, before)
    assert_array_equal(again.components_, fitted.components_)


def test_output_as_a_frame(topics):
    frame = ANDNMF(3, random_state=0, max_iter=20).set_output(transform="pandas").fit_transform(topics.X)
    assert list(frame.columns) == ["part1", "part2", "part3"]


def test_float32_sees_the_same_noise(topics):
    noisy = make_topics(n_samples=5000, n_features=40, n_topics=8, noise=0.05)
    errors = []
    for dtype in (np.float64, np.float32):
        model = ANDNMF(8, random_state=0).fit(noisy.X.astype(dtype))
        errors.append(part_errors(model.components_, noisy.components).max())
        assert model.resolved_["noise"] > 0
    assert_allclose(errors[0], errors[1], rtol=0.05)


def test_a_small_batch_after_fit_does_not_undo_it():
    noisy = make_topics(n_samples=5000, n_features=40, n_topics=8, noise=0.05)
    model = ANDNMF(8, random_state=0).fit(noisy.X)
    before = part_errors(model.components_, noisy.components).max()
    model.partial_fit(noisy.X[:10])
    assert part_errors(model.components_, noisy.components).max() < 1.1 * before


def test_thresholds_outlive_a_batch_without_the_part(topics):
    model = ANDNMF(10, noise_floor=0, random_state=0).partial_fit(topics.X)
    model.partial_fit(topics.X[:1])
    assert (model.thresholds_ > 0.1 * model.thresholds_.max()).all()


@pytest.mark.parametrize("forgetting", [0.0, 0.3, 1.0])
def test_older_batches_fade(topics, forgetting):
    model = ANDNMF(10, forgetting=forgetting, random_state=0).partial_fit(topics.X[:700])
    before = model._stream
    model.partial_fit(topics.X[700:])
    samples = topics.X[700:] / topics.X[700:].sum(axis=1, keepdims=True)
    W, _ = decode(samples, before.H, before.threshold, before.stage, forgetting * before.largest)
    assert_allclose(model._stream.WtW, forgetting * before.WtW + W.T @ W)
    assert_allclose(model._stream.H, np.linalg.solve(model._stream.WtW, model._stream.WtX), atol=1e-8)


def test_parts_are_in_the_order_of_their_contribution(topics, fitted):
    contribution = np.linalg.norm(fitted.transform(topics.X), axis=0) * np.linalg.norm(fitted.components_, axis=1)
    assert (np.diff(contribution) <= 1e-6).all()
    start = paper_start(topics.components)
    given = ANDNMF(10, init=start).fit(topics.X)
    assert [int(np.argmax(row)) for row in np.corrcoef(given.components_, topics.components)[:10, 10:]] == list(
        range(10)
    )


def test_thresholds_hold_for_the_scaled_parts(topics):
    model = ANDNMF(10, random_state=0, max_iter=3).fit(topics.X)
    weights = model.transform(topics.X) / topics.X.sum(axis=1, keepdims=True)
    assert (weights[weights > 0] >= 0.99 * np.broadcast_to(model.thresholds_, weights.shape)[weights > 0]).all()
    raw = topics.X / topics.X.sum(axis=1, keepdims=True) @ np.linalg.pinv(model.components_)
    assert_allclose(model.thresholds_, 0.5 / 1.3**2 * raw.max(axis=0), rtol=0.5)


def test_noisy_parts_are_fitted_in_all_features(rng):
    """The last step leaves the subspace, whose directions are themselves disturbed by noise."""
    data = make_topics(n_samples=300, n_features=40, n_topics=5, noise=0.2)
    model = ANDNMF(5, random_state=0, normalize=None).fit(data.X)
    W = model.transform(data.X)
    assert_allclose(model.components_, np.linalg.lstsq(W, data.X)[0], atol=0.05)
    space = np.linalg.svd(data.X)[2][:5]
    assert np.abs(model.components_ - model.components_ @ space.T @ space).max() > 1e-6


def test_callbacks_stop_and_models_travel(topics):
    stopped = ANDNMF(10, random_state=0, callbacks=[lambda row: row["iter"] >= 4]).fit(topics.X)
    assert (stopped.stop_reason_, stopped.n_iter_) == ("callback", 4)
    stream = pickle.loads(pickle.dumps(ANDNMF(10, random_state=0).partial_fit(topics.X)))
    assert_array_equal(stream.partial_fit(topics.X).transform(topics.X[:5]).shape, (5, 10))


class TestOddData:
    def test_rank_below_what_is_asked(self, topics):
        with pytest.warns(
            UserWarning, match="X has rank 10, so no more than 10 parts can be told apart; asked for are 12"
        ):
            model = ANDNMF(12, random_state=0).fit(topics.X)
        assert_array_equal(model.components_[10:], 0)
        assert_array_equal(model.transform(topics.X)[:, 10:], 0)
        assert recovered(model, topics.components) == 10

    @pytest.mark.parametrize("method", [ANDNMF, PurificationNMF])
    def test_more_parts_than_samples_or_features(self, method):
        X = np.random.default_rng(0).random((40, 30))
        for data, most in ((X, 30), (X.T, 30), (sp.csr_array(X), 30)):
            with pytest.raises(InputError, match=f"n_components=5000 is too many for X .* Ask for at most {most}"):
                method(5000).fit(data)
        with pytest.raises(InputError, match="31 is too many for X with n_samples = 40 and n_features = 30"):
            method(31).partial_fit(X)

    @pytest.mark.parametrize("method", [ANDNMF, PurificationNMF])
    def test_nothing_but_zeros(self, method):
        for zeros in (np.zeros((5, 4)), sp.csr_array((5, 4))):
            with pytest.raises(InputError, match="All entries of X are zero: there are no parts to find"):
                method(2).fit(zeros)

    def test_samples_of_zeros_have_no_weights(self, topics, fitted):
        X = np.vstack([topics.X, np.zeros((5, 60))])
        model = ANDNMF(10, random_state=0).fit(X)
        assert recovered(model, topics.components) == 10
        assert_array_equal(model.transform(X)[-5:], 0)

    def test_constant_and_empty_features_are_kept(self, topics):
        X = np.hstack([topics.X, np.full((1500, 1), 0.5), np.zeros((1500, 1))])
        model = ANDNMF(11, random_state=0).fit(X)
        assert_array_equal(model.components_[:, -1], 0)
        assert np.isfinite(model.transform(X)).all()

    def test_duplicated_samples_change_nothing(self, topics, fitted):
        twice = ANDNMF(10, random_state=0).fit(np.repeat(topics.X, 2, axis=0))
        assert part_errors(twice.components_, fitted.components_).max() < 1e-5

    def test_one_sample(self):
        model = ANDNMF(1).fit(np.array([[1.0, 2.0, 0.0]]))
        assert_allclose(model.inverse_transform(model.transform([[2.0, 4.0, 0.0]])), [[2.0, 4.0, 0.0]])

    @pytest.mark.parametrize(
        ("model", "X", "message"),
        [
            (
                ANDNMF(2),
                [[1.0, np.nan], [2.0, 1.0]],
                "NaN or infinity in X: 1 of its entries, first nan at row 0, column 1",
            ),
            (ANDNMF(2, init=[[1.0, 2.0]]), np.eye(2), r"init has the shape \(1, 2\); .* = \(2, 2\)"),
            (ANDNMF(1, init=[[np.inf, 2.0]]), np.eye(2), "init holds NaN or infinity"),
            (ANDNMF(2, init="anchor"), [[1.0, -2.0], [3.0, -1.0]], "init='anchor' is for non-negative data"),
            (ANDNMF(2, init="nndsvd"), [[1.0, -2.0], [3.0, -1.0]], "init='nndsvd' is for non-negative data"),
            (ANDNMF(2, init=[["a", "b"], ["c", "d"]]), np.eye(2), "init is not a matrix of numbers"),
            (ANDNMF(2), 1e200 * np.eye(3), "The largest entry of X is 1e.200, which cannot be squared"),
            (ANDNMF(2, step=0.1), np.eye(3), "step=0.1 is the size of n_inner steps"),
            (
                ANDNMF(2, init=np.eye(3)[:2], n_inner=50, step=1e10),
                np.eye(3),
                "The parts grew beyond all bounds with step",
            ),
            (ANDNMF(2, noise_floor=1e6), np.random.default_rng(0).random((9, 5)), "No weight reaches its threshold"),
        ],
    )
    def test_mistakes_get_a_sentence(self, model, X, message):
        with pytest.raises(InputError, match=message):
            model.fit(X)

    def test_a_first_batch_that_is_too_small(self):
        with pytest.raises(
            InputError, match=r"The first batch has rank 3, too low to find 5 parts in it\. Give at least 50"
        ):
            ANDNMF(5).partial_fit(np.eye(3, 8))

    def test_more_parts_given_than_the_data_has(self, topics, rng):
        start = np.vstack([topics.components, rng.random((2, 60))])
        model = ANDNMF(12, init=start).fit(topics.X)
        assert model.resolved_["compress"] is False
        assert model.reconstruction_err_ < 0.1 * np.linalg.norm(topics.X)

    def test_a_wide_sparse_matrix_stays_sparse(self, rng):
        X = sp.random_array((40, 100_000), density=0.001, rng=rng, format="csr")
        assert ANDNMF(40, max_iter=2).fit(X).components_.shape == (40, 100_000)
        with pytest.raises(InputError, match="init='anchor' compares all pairs of features; 100000 are too many"):
            ANDNMF(2, init="anchor").fit(X)

    def test_exact_fits_converge(self):
        assert ANDNMF(2).fit([[1.0, 2.0], [2.0, 1.0]]).converged_

    def test_arrays_of_another_kind(self, topics, fitted):
        torch = pytest.importorskip("torch")
        with pytest.raises(InputError, match="The model was fitted on ndarray of float64; X is Tensor"):
            fitted.transform(torch.asarray(topics.X))

    def test_weights_of_the_wrong_shape(self, fitted):
        with pytest.raises(InputError, match=r"A matrix of weights needs the shape \(n_samples, 10\)"):
            fitted.inverse_transform(np.ones((2, 3)))


def test_a_fit_that_was_cut_short_warns(topics):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ConvergenceWarning, match="ANDNMF stopped at the limit of 5 iterations"):
            ANDNMF(10, max_iter=5).fit(topics.X)


def test_topics_of_real_news_are_about_as_coherent_as_those_of_nmf(load_or_skip):
    from rectifact.datasets import load_tdt2

    counts = sp.csr_array(load_or_skip(load_tdt2).X, dtype=float)
    ours = ANDNMF(30, random_state=0).fit(counts)
    theirs = NMF(30, init="nndsvd", max_iter=50).fit(counts)
    coherence = [npmi_coherence(model.components_, counts).mean() for model in (ours, theirs)]
    assert coherence[0] > coherence[1] - 0.05
