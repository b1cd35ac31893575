import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.linalg import qr
from scipy.optimize import nnls
from sklearn.base import BaseEstimator

from rectifact.core.arrays import to_host, to_like
from rectifact.core.device_csr import canonical_csr
from rectifact.core.linalg import (
    frobenius_residual,
    merge_roots,
    nnls_gram,
    procrustes,
    pseudo_inverse,
    root,
    solve_gram,
    squared_norm,
    successive_projection,
)
from rectifact.core.operand import operand
from rectifact.core.validation import check_matrix
from rectifact.kernels import hals_sweep

seeds = st.integers(0, 2**32 - 1)
HOLDERS = ["dense", "csr", "torch", "torch-csr", "chunks"]


def held(X, holder):
    """The matrix as an operand of this kind."""
    if holder.startswith("torch"):
        tensor = pytest.importorskip("torch").asarray(X)
        return operand(tensor if holder == "torch" else canonical_csr(tensor.to_sparse_coo(), tensor.dtype))
    if holder == "chunks":
        return operand(pytest.importorskip("dask.array").from_array(X, chunks=(7, -1)))
    return operand(X if holder == "dense" else sp.csr_array(X))


def small(values, like):
    return to_like(values, like.like)


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


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_squared_norm(to_form, rng, dtype):
    dense = rng.standard_normal((9, 4)) * (rng.random((9, 4)) < 0.5)
    X = check_matrix(BaseEstimator(), to_form(dense.astype(dtype)))
    assert_allclose(squared_norm(operand(X)), (dense**2).sum(), rtol=1e-6)


@pytest.mark.parametrize("holder", HOLDERS)
def test_a_residual_from_products_equals_the_one_that_is_read(rng, holder):
    dense = rng.random((23, 5)) * (rng.random((23, 5)) < 0.6)
    W, H = rng.random((23, 2)), rng.random((2, 5))
    X = held(dense, holder)
    squared = squared_norm(X)
    assert isinstance(squared, float)
    assert_allclose(squared, (dense**2).sum())
    products = (squared, small(W.T @ dense, X), small(W.T @ W, X))
    tall = X.split(W) if holder.endswith("chunks") else small(W, X)
    for given_products in (None, products):
        found = frobenius_residual(X, tall, small(H, X), given_products)
        assert_allclose(to_host(found), np.linalg.norm(dense - W @ H), rtol=1e-12)


def test_gram_systems_leave_out_what_the_matrix_does_not_have(rng, to_xp):
    A, B = rng.random((20, 4)), rng.random((4, 3))
    A[:, 2] = 0
    found = solve_gram(to_xp(A.T @ A), to_xp(B))
    assert_allclose(to_host(found)[[0, 1, 3]], (np.linalg.pinv(A.T @ A) @ B)[[0, 1, 3]], atol=1e-9)


def test_half_of_a_gram_solution(rng):
    A, B = rng.random((20, 4)), rng.random((4, 3))
    half = solve_gram(A.T @ A, B, lambda values: 0.5 + 0 * values)
    assert_allclose(half, 0.5 * np.linalg.solve(A.T @ A, B))


def test_roots_of_parts_are_the_root_of_the_whole(to_xp, rng):
    A = rng.standard_normal((20, 3))
    for R in (root(to_xp(A)), merge_roots(root(to_xp(A[:2])), root(to_xp(A[2:])))):
        assert_allclose(to_host(R).T @ to_host(R), A.T @ A, atol=1e-12)
