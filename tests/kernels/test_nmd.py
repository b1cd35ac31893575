import mpmath as mp
import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.base import BaseEstimator

from rectifact.core.arrays import to_host, to_like
from rectifact.core.operand import operand
from rectifact.core.validation import check_matrix
from rectifact.kernels import nmd_e_step, nmd_nearest, nmd_newton, nmd_sweep, reference
from rectifact.kernels.truncated import COEFFICIENTS_DEVICE, SHIFT, truncated_moments


@pytest.fixture(scope="module")
def points():
    sizes = np.concatenate([np.logspace(-8, 6, 120), np.linspace(0.05, 12, 60)])
    return np.concatenate([[0.0], sizes, -sizes])


def exact(points):
    """The four moments with 60 digits."""
    with mp.workdps(60):
        rows = []
        for value in points:
            a = mp.mpf(float(value))
            tail = mp.erfc(a / mp.sqrt(2)) / 2
            if tail == 0 or a > 1e4:  # the continued fraction of Mills' ratio, which converges there
                ratio = 1 / (a + 1 / (a + 2 / (a + 3 / (a + 4 / (a + 5 / (a + 6 / (a + 7 / a)))))))
                h, log_tail = 1 / ratio, mp.log(ratio) - a * a / 2 - mp.log(2 * mp.pi) / 2
            else:
                h, log_tail = mp.npdf(a) / tail, mp.log1p(-mp.erfc(-a / mp.sqrt(2)) / 2) if a < 0 else mp.log(tail)
            d = h - a
            rows.append([h, d, 1 - h * d, log_tail])
        return rows


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-12), (np.float32, 5e-6)])
def test_moments_are_exact(points, dtype, tolerance):
    points = points.astype(dtype)
    found = np.stack(truncated_moments(points), axis=1)
    tiny = float(np.finfo(dtype).tiny)
    for point, ours, truth in zip(points, found, exact(points), strict=True):
        for value, true in zip(ours, truth, strict=True):
            assert np.isfinite(value)
            assert abs(mp.mpf(float(value)) - true) <= tolerance * abs(true) + 1.1 * tiny, point


def test_the_short_series_of_the_device_is_exact_enough(points):
    a = points[points >= 0].astype(np.float32)
    s = 1 / (a + np.float32(SHIFT))
    d = 1 / (a + s * np.polynomial.polynomial.polyval(s, np.array(COEFFICIENTS_DEVICE, np.float32)))
    assert d.dtype == np.float32
    assert_allclose(d, [float(moments[1]) for moments in exact(a)], rtol=2e-6)


def test_variances_are_never_negative(points):
    assert (truncated_moments(points).variance >= 0).all()
    assert (truncated_moments(points.astype(np.float32)).variance >= 0).all()


def test_moments_on_every_backend(to_xp, points):
    for ours, host in zip(truncated_moments(to_xp(points)), truncated_moments(points), strict=True):
        assert_allclose(to_host(ours), host, rtol=1e-13)


def tile(rng, binary, dtype, shape=(40, 333)):
    theta = rng.standard_normal(shape) * np.array([0.1, 3.0, 30.0, 1e4])[rng.integers(4, size=shape)]
    x = np.maximum(theta + rng.standard_normal(shape), 0) * (rng.random(shape) < 0.3)
    x = (x > 0) * 1.0 if binary else x
    x[rng.random(shape) < 0.05] = np.nan
    return x.astype(dtype), theta.astype(dtype)


@pytest.mark.parametrize("binary", [True, False])
@pytest.mark.parametrize(("dtype", "rtol"), [(np.float64, 1e-12), (np.float32, 2e-5)])
def test_compiled_e_step_is_the_plain_one(rng, binary, dtype, rtol):
    x, theta = tile(rng, binary, dtype)
    X = sp.csr_array(np.vstack([x[:5], x]))  # rows before the range must not matter
    z, sums = nmd_e_step(X, slice(5, 45), theta, 0.7, binary, np.empty_like(theta))
    plain, plain_sums = reference.nmd_e_step(x, theta, 0.7, binary)
    assert_allclose(z, plain, rtol=rtol, atol=1e-30)
    assert_allclose(sums, np.asarray(plain_sums, dtype=float), rtol=max(rtol, 1e-10))


@pytest.mark.parametrize(("dtype", "rtol"), [(np.float64, 1e-12), (np.float32, 1e-5)])
def test_compiled_nearest_is_the_plain_one(rng, dtype, rtol):
    x, theta = tile(rng, False, dtype)
    X = sp.csr_array(np.vstack([x[:5], x]))
    X.data[::9] = 0  # stored zeros are zeros
    x = X.toarray()[5:]
    z, distance = nmd_nearest(X, slice(5, 45), theta, np.empty_like(theta))
    plain, slow = reference.nmd_nearest(x.astype(np.float64), theta.astype(np.float64))
    assert_allclose(z, plain, rtol=rtol)
    assert_allclose(distance, slow, rtol=rtol)


def swept(x, A, B, link, objective):
    """A sweep on dense matrices, as the formulas say."""
    Z, sums = reference.nmd_e_step(x, A @ B, 0.7, link == "binary")
    if objective == "latent":
        Z, distance = reference.nmd_nearest(x, A @ B)
        sums = np.array([-distance, 0, 0])
    new = np.linalg.lstsq(B.T, Z.T)[0].T
    return new, np.linalg.lstsq(new, Z)[0], sums


CASES = [("relu", "likelihood"), ("binary", "likelihood"), ("relu", "latent")]


@pytest.mark.parametrize(("link", "objective"), CASES)
def test_a_sweep_in_tiles_is_a_sweep(to_form, rng, monkeypatch, link, objective):
    monkeypatch.setattr("rectifact.kernels.tiled_nmd.TILE_BYTES", 60)  # a row on the host, and 13 of them on a device
    x, A, B = np.maximum(rng.standard_normal((40, 150)) - 0.5, 0), rng.random((40, 3)), rng.random((3, 150))
    x = (x > 0) * 1.0 if link == "binary" else x
    there = check_matrix(BaseEstimator(), to_form(x))
    like = operand(there).like
    found = nmd_sweep(operand(there), to_like(A, like), to_like(B, like), 0.7, link, objective, False, n_jobs=2)
    for ours, wanted in zip(found, swept(x, A, B, link, objective), strict=True):
        assert_allclose(to_host(ours), wanted, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize(("link", "objective"), CASES)
def test_a_sweep_in_chunks_is_a_sweep(rng, link, objective):
    da = pytest.importorskip("dask.array")
    x, A, B = np.maximum(rng.standard_normal((40, 9)) - 0.5, 0), rng.random((40, 3)), rng.random((3, 9))
    x = (x > 0) * 1.0 if link == "binary" else x
    X = operand(da.from_array(x, chunks=(11, -1)).map_blocks(sp.csr_array))
    A_new, *rest = nmd_sweep(X, X.split(A), B, 0.7, link, objective, False, n_jobs=2)
    for ours, wanted in zip((A_new.compute(), *rest), swept(x, A, B, link, objective), strict=True):
        assert_allclose(ours, wanted, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("binary", [True, False])
def test_derivatives_in_log_sigma(rng, binary):
    x, theta = tile(rng, binary, np.float64)
    theta = np.clip(theta, -5, 5)
    at = [float(reference.nmd_e_step(x, theta, np.exp(s), binary)[1][0]) for s in (-1e-4, 0.0, 1e-4)]
    _, (value, first, second) = reference.nmd_e_step(x, theta, 1.0, binary)
    assert_allclose([value, first], [at[1], (at[2] - at[0]) / 2e-4], rtol=1e-6)
    assert_allclose(second, (at[2] - 2 * at[1] + at[0]) / 1e-8, rtol=1e-3)


@pytest.mark.parametrize("binary", [True, False])
def test_newton_finds_the_top(rng, binary):
    B, V = rng.standard_normal((3, 120)), rng.standard_normal((30, 3))
    z = V @ B + rng.standard_normal((30, 120))
    x = (z > 0) * 1.0 if binary else np.maximum(z, 0)
    x[rng.random(x.shape) < 0.1] = np.nan
    compiled, plain = np.zeros((30, 3)), np.zeros((30, 3))
    likelihood, steps = nmd_newton(sp.csr_array(x), B, 1.0, binary, compiled)
    slow, _ = nmd_newton(x, B, 1.0, binary, plain)
    assert_allclose(compiled, plain, atol=1e-4)
    assert_allclose(likelihood, slow, atol=1e-6)
    assert steps.max() < 30
    for i in range(3):  # no step in any direction leads higher
        for _ in range(20):
            other = compiled[i : i + 1] + 0.01 * rng.standard_normal((1, 3))
            assert float(reference.nmd_e_step(x[i : i + 1], other @ B, 1.0, binary)[1][0]) <= likelihood[i] + 1e-9


def test_newton_survives_rows_that_say_nothing(rng):
    B = rng.standard_normal((2, 10))
    x = np.vstack([np.zeros(10), np.ones(10), np.full(10, np.nan)])
    A = np.zeros((3, 2))
    likelihood, _ = nmd_newton(sp.csr_array(x), B, 1.0, True, A)
    assert np.isfinite(A).all()
    assert np.isfinite(likelihood).all()
