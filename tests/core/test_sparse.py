import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator

from rectifact.core.arrays import device, eps, is_host, namespace, to_host, to_like
from rectifact.core.device_csr import DeviceCSR, canonical_csr, csr, is_native_sparse
from rectifact.core.linalg import frobenius_residual, solve
from rectifact.core.sparse import Shifted, dense_rows, entries, is_sparse, native, stored_rows, with_entries
from rectifact.core.svd import subspace_svd
from rectifact.core.validation import check_matrix


@pytest.fixture
def dense(rng):
    return np.where(rng.random((23, 11)) < 0.3, rng.standard_normal((23, 11)), 0)


@pytest.fixture
def X(to_csr, dense):
    return check_matrix(BaseEstimator(), to_csr(dense))


def test_products_of_the_matrix_and_of_its_transpose(X, dense, to_xp, rng, assert_at_home):
    V, U = rng.standard_normal((11, 4)), rng.standard_normal((23, 4))
    for found, wanted in (
        (X @ to_xp(V), dense @ V),
        (X.T @ to_xp(U), dense.T @ U),
        (X.T.T @ to_xp(V), dense @ V),
        (X @ to_xp(V[:, 0]), dense @ V[:, 0]),
        (X @ to_xp(V.T.copy()).T, dense @ V),  # not contiguous
    ):
        assert_at_home(found)
        assert_allclose(to_host(found), wanted, atol=1e-12)


def test_a_matrix_plus_a_constant(X, dense, to_xp, rng):
    if is_host(X):
        pytest.skip("scipy has LinearOperator")
    V, U = rng.standard_normal((11, 4)), rng.standard_normal((23, 4))
    shifted = Shifted(X, -0.7)
    assert_allclose(to_host(shifted @ to_xp(V)), (dense - 0.7) @ V, atol=1e-12)
    assert_allclose(to_host(shifted.T @ to_xp(U)), (dense - 0.7).T @ U, atol=1e-12)
    found = subspace_svd(shifted, 3, n_iter=200)
    assert_allclose(to_host(found.s), np.linalg.svd(dense - 0.7, compute_uv=False)[:3], rtol=1e-6)


@pytest.mark.parametrize("rows", [slice(0, 23), slice(5, 9), slice(22, 40), slice(3, 3)])
def test_tiles(X, dense, rows, assert_at_home):
    assert_at_home(dense_rows(X, rows))
    assert_array_equal(to_host(dense_rows(X, rows)), dense[rows])


def test_other_values_in_the_same_places(X, dense):
    assert_array_equal(to_host(with_entries(X, 2 * entries(X))).toarray(), 2 * dense)


def test_entries_by_row(X, dense):
    assert_array_equal(to_host(stored_rows(X)), np.nonzero(dense)[0])
    again = csr(X.data, stored_rows(X), X.indices, X.shape)
    assert type(again) is type(X)
    assert_array_equal(to_host(again).toarray(), dense)
    assert to_host(again).indices.dtype == np.int32


@pytest.mark.parametrize("alike", [False, True])
def test_two_matrices_in_one(to_csr, dense, rng, alike):
    other = dense * rng.standard_normal(dense.shape) if alike else rng.permutation(dense)
    both = dense != 0
    other[np.argmax(both, axis=0), range(11)] = dense[np.argmax(both, axis=0), range(11)]  # equal entries cancel
    A, B = (check_matrix(BaseEstimator(), to_csr(matrix)) for matrix in (dense, other))
    for found, wanted in ((A - B, dense - other), (A.maximum(B), np.maximum(dense, other))):
        assert_array_equal(to_host(found).toarray(), wanted)
    assert found.nnz == np.count_nonzero(wanted)


def test_library_device_and_type(X, to_xp):
    home = to_xp(np.zeros(1))
    assert namespace(X, home) is namespace(home)
    assert device(X) == device(home)
    assert is_sparse(X)
    assert is_host(X) == is_host(home)
    assert eps(X) == 2**-52
    assert to_like(np.ones(2, dtype="float32"), X).dtype == home.dtype


def test_there_and_back(X, to_csr, dense):
    assert_array_equal(to_host(X).toarray(), dense)
    back = native(X)
    assert type(back) is type(to_csr(dense))
    again = check_matrix(BaseEstimator(), back)
    assert_array_equal(to_host(again).toarray(), dense)
    if isinstance(X, DeviceCSR):
        assert is_native_sparse(back)
        assert_array_equal(to_host(X.like(sp.csr_array(dense[:4]))).toarray(), dense[:4])


def test_residual_and_subspace_need_no_dense_form(X, dense, to_xp, rng, monkeypatch):
    monkeypatch.setattr(DeviceCSR, "dense", None)
    W, H = rng.random((23, 3)), rng.random((3, 11))
    found = frobenius_residual(X, to_xp(W), to_xp(H))
    assert_allclose(float(found), np.linalg.norm(dense - W @ H), rtol=1e-12)
    svd = subspace_svd(X, 3, n_iter=300)
    assert_allclose(to_host(svd.s), np.linalg.svd(dense, compute_uv=False)[:3], rtol=1e-6)


@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 9), d=st.integers(1, 9), density=st.floats(0, 1))
@settings(deadline=None, max_examples=50)
def test_every_pattern_has_a_transpose(seed, n, d, density):
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(seed)
    dense = np.where(rng.random((n, d)) < density, rng.standard_normal((n, d)), 0)
    csr = sp.csr_array(dense)
    parts = [torch.asarray(part) for part in (csr.data, csr.indices, csr.indptr)]
    turned = DeviceCSR(*parts, (n, d)).T
    again = canonical_csr(turned.native, torch.float64)  # which checks that indices are sorted and distinct
    assert_array_equal(to_host(again).toarray(), dense.T)


def test_many_systems_at_once(to_xp, rng):
    A, B = rng.standard_normal((5, 3, 3)), rng.standard_normal((5, 3, 2))
    assert_allclose(to_host(solve(to_xp(A), to_xp(B))), np.linalg.solve(A, B), atol=1e-10)
