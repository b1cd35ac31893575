import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.linalg import qr
from scipy.optimize import nnls
from scipy.sparse.linalg import LinearOperator, aslinearoperator

from rectifact.core.arrays import to_host
from rectifact.core.linalg import (
    SVD,
    frobenius_residual,
    lanczos_svd,
    nnls_gram,
    procrustes,
    pseudo_inverse,
    subspace_svd,
    successive_projection,
)
from rectifact.kernels import hals_sweep

seeds = st.integers(0, 2**32 - 1)


def assert_is_truncation(svd: SVD, X, rank, atol=1e-8):
    s = np.linalg.svd(X, compute_uv=False)
    U, Vt = to_host(svd.U), to_host(svd.Vt)
    assert U.shape == (X.shape[0], rank)
    assert Vt.shape == (rank, X.shape[1])
    assert_allclose(to_host(svd.s), s[:rank], atol=atol * s[0])
    rounding = 16 * np.finfo(U.dtype).eps
    assert_allclose(U.T @ U, np.eye(rank), atol=max(rounding, 1e-6))
    assert_allclose(Vt @ Vt.T, np.eye(rank), atol=max(rounding, 1e-6))
    best = np.sqrt((s[rank:] ** 2).sum())  # Eckart-Young: no rank does better, so this pins the subspaces down
    assert_allclose(np.linalg.norm(X - (U * to_host(svd.s)) @ Vt), best, atol=atol * s[0])


def decaying(rng, n, d):
    U, _, Vt = np.linalg.svd(rng.standard_normal((n, d)), full_matrices=False)
    return (U * 0.5 ** np.arange(min(n, d))) @ Vt


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, aslinearoperator])
@pytest.mark.parametrize("shape", [(30, 20), (20, 30)])
@pytest.mark.parametrize("rank", [1, 4, 20])
def test_lanczos(rng, form, shape, rank):
    X = rng.standard_normal(shape)
    assert_is_truncation(lanczos_svd(form(X), rank), X, rank)


def test_a_start_that_the_matrix_has_turned_away_from(rng):
    X = np.zeros((6, 8))
    X[2, 2], X[3, 3] = 5, 4
    elsewhere = lanczos_svd(np.diag([9.0, 8, 0, 0, 0, 0, 0, 0])[:6], 2)
    assert_allclose(lanczos_svd(X, 2, start=elsewhere).s, [5, 4])


def test_lanczos_of_a_repeated_spectrum_and_of_nothing():
    assert_is_truncation(lanczos_svd(np.eye(12), 3), np.eye(12), 3)
    zero = lanczos_svd(sp.csr_array((5, 7)), 2)
    assert_allclose(zero.s, 0)
    assert_allclose(zero.U.T @ zero.U, np.eye(2))


@pytest.mark.parametrize("shape", [(400, 250), (250, 400)])
def test_a_warm_start_saves_products(rng, shape):
    X = rng.standard_normal(shape)  # a flat spectrum, on which a cold start takes long
    products = []

    def counted(matrix):
        def apply(multiply):
            return lambda v: products.append(1) or multiply(v)

        return LinearOperator(matrix.shape, matvec=apply(matrix.dot), rmatvec=apply(matrix.T.dot), dtype=matrix.dtype)

    cold = lanczos_svd(counted(X), 3, tol=1e-6)
    n_cold = len(products)
    near = X + 1e-6 * rng.standard_normal(shape)
    warm = lanczos_svd(counted(near), 3, start=cold, tol=1e-6)
    assert len(products) - n_cold < 0.8 * n_cold
    assert_is_truncation(warm, near, 3, atol=1e-5)


@pytest.mark.parametrize("shape", [(30, 20), (20, 30), (6, 5)])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_subspace_iteration(rng, to_xp, shape, dtype):
    X = decaying(rng, *shape).astype(dtype)
    svd = subspace_svd(to_xp(X), 3, n_iter=6)
    assert svd.U.dtype == to_xp(X).dtype
    assert_is_truncation(svd, X, 3, atol=1e-8 if dtype == "float64" else 1e-5)


def test_subspace_iteration_of_a_sparse_matrix_from_a_warm_start(rng):
    X = decaying(rng, 60, 40)
    cold = subspace_svd(sp.csr_array(X), 4, n_iter=1, oversample=0)
    warm = subspace_svd(sp.csr_array(X), 4, n_iter=1, oversample=0, start=lanczos_svd(X, 4))
    assert_is_truncation(warm, X, 4)
    with pytest.raises(AssertionError):
        assert_is_truncation(cold, X, 4)


@given(seed=seeds, n=st.integers(2, 30), k=st.integers(1, 5))
@settings(deadline=None)
def test_procrustes_recovers_a_rotation_and_beats_others(seed, n, k):
    rng = np.random.default_rng(seed)
    U, (Q, _) = rng.standard_normal((n + k, k)), np.linalg.qr(rng.standard_normal((k, k)))
    assert_allclose(procrustes(U @ Q, U), Q, atol=1e-8)
    H, other = rng.standard_normal((n + k, k)), np.linalg.qr(rng.standard_normal((k, k)))[0]
    w = rng.random(n + k)
    found = procrustes(H, U, weights=w)
    assert_allclose(found.T @ found, np.eye(k), atol=1e-10)

    def loss(Q):
        return (w[:, None] * (H - U @ Q) ** 2).sum()

    assert loss(found) <= loss(other) + 1e-9


@pytest.mark.parametrize("shape", [(5, 30), (30, 5), (8, 8)])
@pytest.mark.parametrize("condition", [1e1, 1e6, 1e12, np.inf])
def test_pseudo_inverse_at_any_conditioning(rng, shape, condition):
    U, _, Vt = np.linalg.svd(rng.standard_normal(shape), full_matrices=False)
    s = np.linspace(1, 0, len(Vt)) if condition == np.inf else np.geomspace(1, 1 / condition, len(Vt))
    H = (U * s) @ Vt
    expected = np.linalg.pinv(H)
    assert_allclose(pseudo_inverse(H), expected, atol=1e-7 * np.abs(expected).max())


def test_pseudo_inverse_on_every_library(rng, to_xp):
    H = rng.standard_normal((4, 9))
    assert_allclose(to_host(pseudo_inverse(to_xp(H))), np.linalg.pinv(H), atol=1e-10)


@given(seed=seeds, k=st.integers(1, 8), n=st.integers(0, 12))
@settings(deadline=None)
def test_nnls_equals_scipy(seed, k, n):
    rng = np.random.default_rng(seed)
    A, Y = rng.standard_normal((k + 3, k)), rng.standard_normal((k + 3, n))
    found = nnls_gram(A.T @ A, A.T @ Y)
    assert found.shape == (k, n)
    for j in range(n):
        assert_allclose(found[:, j], nnls(A, Y[:, j])[0], atol=1e-8)


def test_pivoting_needs_no_help_on_a_good_matrix(rng, monkeypatch):
    monkeypatch.setattr("rectifact.core.linalg.nnls", None)  # must not be called
    A, Y = rng.random((40, 12)), rng.standard_normal((40, 200))
    found = nnls_gram(A.T @ A, A.T @ Y)
    slope = A.T @ (A @ found - Y)
    assert (slope > -1e-9).all()
    assert_allclose(slope * found, 0, atol=1e-9)


@given(seed=seeds)
@settings(deadline=None)
def test_nnls_of_a_singular_gram_matrix_is_still_optimal(seed):
    rng = np.random.default_rng(seed)
    A = rng.random((6, 5))
    A[:, 4], A[:, 3] = A[:, 0], 0
    Y = rng.standard_normal((6, 7))
    found = nnls_gram(A.T @ A, A.T @ Y)
    best = [nnls(A, y)[1] for y in Y.T]
    assert (found >= 0).all()
    assert_allclose(np.linalg.norm(A @ found - Y, axis=0), best, atol=1e-7)


@pytest.mark.parametrize("scale", [1e-9, 1e9])
def test_nnls_is_free_of_units(rng, scale):
    A, Y = rng.random((20, 6)), rng.random((20, 30))
    units = np.geomspace(1e-4, 1e4, 6)
    plain = nnls_gram(A.T @ A, A.T @ Y)
    B = A * units
    assert_allclose(nnls_gram(B.T @ B, B.T @ (scale * Y)), scale * plain / units[:, None], rtol=1e-6, atol=0)


def test_hals_sweeps_reach_the_nnls_solution(rng):
    A, Y = rng.random((30, 4)), rng.random((30, 9))
    U = np.zeros((9, 4))
    for _ in range(2000):
        hals_sweep(U, A.T @ A, Y.T @ A)
    assert_allclose(U.T, nnls_gram(A.T @ A, A.T @ Y), atol=1e-8)


def test_successive_projection_takes_the_rows_of_a_pivoted_qr(rng, to_xp):
    rows = rng.standard_normal((40, 6))
    chosen = to_host(successive_projection(to_xp(rows), 6))
    assert chosen.tolist() == qr(rows.T, mode="r", pivoting=True)[1][:6].tolist()


def test_successive_projection_finds_the_corners_of_a_simplex(rng, to_xp):
    corners, shares = 5 * rng.random((3, 4)), rng.dirichlet(np.ones(3), 30)
    chosen = to_host(successive_projection(to_xp(np.vstack([shares @ corners, corners])), 3))
    assert sorted(chosen) == [30, 31, 32]


def test_successive_projection_of_rows_of_lower_rank(to_xp):
    chosen = to_host(successive_projection(to_xp(np.outer([1.0, 3.0, 2.0], [1.0, 1.0])), 2))
    assert chosen[0] == 1
    assert np.isfinite(chosen).all()


@pytest.mark.parametrize("tile", [1, 7, 1 << 20])
def test_residual_never_needs_the_product(rng, to_xp, monkeypatch, tile):
    monkeypatch.setattr("rectifact.core.linalg.TILE", tile)
    X, W, H = rng.random((9, 5)), rng.random((9, 2)), rng.random((2, 5))
    expected = np.linalg.norm(X - W @ H)
    assert_allclose(to_host(frobenius_residual(to_xp(X), to_xp(W), to_xp(H))), expected, rtol=1e-12)
    assert_allclose(frobenius_residual(sp.csr_array(X), W, H), expected, rtol=1e-12)


def test_residual_of_an_exact_fit(rng):
    W, H = rng.random((9, 2)), rng.random((2, 5))
    assert frobenius_residual(W @ H, W, H) < 1e-14
    assert frobenius_residual(sp.csr_array(W @ H), W, H) < 1e-6
