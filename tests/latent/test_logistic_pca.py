import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit

from rectifact import InputError, LogisticPCA
from rectifact.core.monitor import Monitor
from rectifact.core.operand import operand
from rectifact.latent.logistic_pca import log_likelihood, logistic_pca, logistic_rows
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
    found = logistic_rows(X @ B.T, A, B)
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
    model = LogisticPCA(3).fit(X)
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
    model = LogisticPCA(3, max_iter=60).fit(X)
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
    model = LogisticPCA(2).fit(X)
    assert model.embedding_.dtype == dtype
    assert np.abs(model.inverse_transform(model.embedding_) - X).max() < 0.01


def test_separable_data_stays_finite():
    model = LogisticPCA(1, max_iter=50).fit(np.eye(4))
    assert np.isfinite(model.embedding_).all()
    assert np.isfinite(model.score(np.eye(4)))
