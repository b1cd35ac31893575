"""Truncated decompositions against numpy's full one, from every form of the matrix."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from scipy.sparse.linalg import LinearOperator, aslinearoperator

from rectifact.core.arrays import to_host
from rectifact.core.operand import operand
from rectifact.core.svd import SVD, lanczos_svd, subspace_svd, truncated_svd


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


@pytest.mark.parametrize("features", [1024, 10])
def test_chunks_do_the_same_rounds_as_memory(rng, monkeypatch, features):
    da = pytest.importorskip("dask.array")
    monkeypatch.setattr("rectifact.core.svd.MOST_GRAM_FEATURES", features)
    X = rng.standard_normal((90, 20))
    one, squared = truncated_svd(operand(X), 4)
    many, same = truncated_svd(operand(da.from_array(X, chunks=(25, -1))), 4)
    assert_allclose([squared, same], (X**2).sum())
    assert_allclose(many.s, one.s, rtol=1e-10)
    assert_allclose(np.abs(np.sum(many.Vt * one.Vt, axis=1)), 1, atol=1e-8)
    assert_allclose((many.U.compute() * many.s) @ many.Vt, (one.U * one.s) @ one.Vt, atol=1e-8)
