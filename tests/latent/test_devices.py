"""Estimators of latent dimensions on every library and device, dense and sparse, against the result on the host."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

from rectifact import NMD, InputError, LogisticPCA
from rectifact.core.arrays import to_host
from rectifact.core.device_csr import DeviceCSR

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.fixture(scope="module")
def planted():
    """A matrix of rank 3 before the ReLU, three quarters of it zero."""
    rng = np.random.default_rng(0)
    theta = rng.standard_normal((60, 3)) @ rng.standard_normal((3, 30)) - 1
    return np.maximum(theta + 0.1 * rng.standard_normal(theta.shape), 0)


@pytest.mark.parametrize(("dtype", "atol"), [("float32", 2e-2), ("float64", 1e-4)])
@pytest.mark.parametrize(("link", "objective"), [("relu", "likelihood"), ("relu", "latent"), ("binary", "likelihood")])
def test_nmd_equals_the_host(to_form, assert_at_home, planted, rng, link, objective, dtype, atol):
    flipped = rng.random(planted.shape) < 0.1  # zeros and ones that can be told apart exactly have no best scale
    data = ((planted > 0.3) != flipped).astype(dtype) if link == "binary" else planted.astype(dtype)
    X, options = (
        to_form(data),
        {"link": link, "objective": objective, "max_iter": 30, "tol": 0, "n_jobs": 1, "n_init": 1},
    )
    model, host = NMD(4, **options).fit(X), NMD(4, **options).fit(data.astype("float64"))
    expected = model.inverse_transform(model.embedding_)
    assert_at_home(model.components_, model.embedding_, model.transform(X), expected, dtype=dtype)
    assert_allclose(to_host(expected), host.inverse_transform(host.embedding_), atol=atol * data.max())
    assert_allclose(to_host(model.transform(X)), to_host(model.embedding_), atol=1e-6)
    assert_allclose(model.history_[-1]["loss"], host.history_[-1]["loss"], atol=atol / 10)
    if objective == "likelihood":
        assert_allclose(model.score(X), host.score(data.astype("float64")), atol=atol / 10)


@pytest.mark.parametrize("form", ["nan", "mask", "sparse mask", "mask there"])
def test_missing_entries(to_form, to_csr, planted, rng, form):
    hidden = rng.random(planted.shape) < 0.1
    missing = {"nan": np.nan, "mask": hidden, "sparse mask": sp.csr_array(hidden), "mask there": to_csr(hidden * 1.0)}
    data = np.where(hidden, np.nan, planted) if form == "nan" else planted
    host = NMD(3, missing=np.nan, max_iter=20, n_jobs=1, n_init=1).fit(np.where(hidden, np.nan, planted))
    model = NMD(3, missing=missing[form], max_iter=20, n_jobs=1, n_init=1).fit(to_form(data))
    found, expected = (m.inverse_transform(m.embedding_) for m in (model, host))
    assert_allclose(to_host(found), expected, atol=1e-4)


def test_never_dense_but_for_a_tile(to_csr, planted, monkeypatch):
    """Tiles of 7 rows give what one tile gives, and no tile is larger."""
    sizes, dense = [], DeviceCSR.dense
    tile = 7 * 30 * 8 // 256 + 1
    whole = NMD(3, max_iter=10, n_jobs=1, n_init=1).fit(to_csr(planted))
    monkeypatch.setattr("rectifact.kernels.tiled_nmd.TILE_BYTES", tile)
    monkeypatch.setattr(DeviceCSR, "dense", lambda X, rows: sizes.append(rows.stop - rows.start) or dense(X, rows))
    tiled = NMD(3, max_iter=10, n_jobs=1, n_init=1).fit(to_csr(planted))
    if not sp.issparse(to_csr(planted)):
        assert max(sizes) == 7
    assert_allclose(to_host(tiled.embedding_), to_host(whole.embedding_), atol=1e-4)


@pytest.mark.parametrize(("dtype", "atol"), [("float32", 5e-3), ("float64", 1e-6)])
def test_logistic_pca_equals_the_host(to_form, assert_at_home, planted, dtype, atol, monkeypatch):
    monkeypatch.setattr("rectifact.latent.logistic_pca.TILE", 30)  # tiles of one row, or of 32 on a device
    data = (planted > 0.3).astype(dtype)
    X = to_form(data)
    model, host = (LogisticPCA(2, max_iter=30).fit(given) for given in (X, data.astype("float64")))
    found = model.inverse_transform(model.embedding_)
    assert_at_home(model.components_, model.embedding_, model.transform(X), found, dtype=dtype)
    assert_allclose(to_host(found), host.inverse_transform(host.embedding_), atol=atol)
    assert_allclose(model.score(X), host.score(data), atol=atol)
    assert_allclose(model.history_[-1]["loss"], host.history_[-1]["loss"], atol=atol)


@pytest.mark.parametrize("prior", ["auto", None])
def test_logistic_pca_with_missing_entries(to_form, planted, rng, prior):
    bits, hidden = (planted > 0.3) * 1.0, rng.random(planted.shape) < 0.1
    options = {"prior": prior, "max_iter": 10, "tol": 0}
    host = LogisticPCA(2, missing=np.nan, **options).fit(np.where(hidden, np.nan, bits))
    model = LogisticPCA(2, missing=hidden, **options).fit(to_form(bits))
    found, expected = (m.inverse_transform(m.embedding_) for m in (model, host))
    assert_allclose(to_host(found), expected, atol=1e-5)
    assert_allclose(model.score(to_form(bits), held_out=hidden), host.score(bits, held_out=hidden), atol=1e-5)


def test_logistic_pca_refuses_what_is_not_binary(to_form, planted):
    with pytest.raises(InputError, match="zeros and ones"):
        LogisticPCA(2).fit(to_form(planted))
    with pytest.raises(InputError, match="All entries of X are alike"):
        LogisticPCA(2).fit(to_form(np.ones((4, 3))))
