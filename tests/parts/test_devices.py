"""Both estimators of parts on every library and device, dense and sparse, against the result on the host."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

from rectifact import ANDNMF, InputError, PurificationNMF
from rectifact.core.arrays import to_host
from rectifact.core.device_csr import DeviceCSR
from rectifact.core.linalg import squared_norm
from rectifact.core.operand import operand
from rectifact.core.validation import check_matrix
from rectifact.parts.samples import choose_norm, normalized

pytestmark = pytest.mark.filterwarnings(
    "ignore::sklearn.exceptions.ConvergenceWarning", "ignore:From .* samples PurificationNMF"
)


@pytest.fixture(scope="module")
def mixtures():
    """Samples of five parts on features of their own and some shared ones; two thirds of the entries are zero."""
    rng = np.random.default_rng(0)
    parts = rng.random((5, 40)) * (rng.random((5, 40)) < 0.35)
    weights = rng.random((600, 5)) * (rng.random((600, 5)) < 0.3)
    return weights @ parts


@pytest.fixture
def never_dense(monkeypatch):
    """A sparse matrix on a device is not made dense, not even by tiles."""
    monkeypatch.setattr(DeviceCSR, "dense", None)


CASES = {
    "and": ANDNMF(5, random_state=0),
    "and, all features": ANDNMF(5, compress=False, random_state=0),
    "and, as published": ANDNMF(5, "nndsvd", 0.1, 1.1, 0, None, n_inner=50, refine=None, max_iter=40, random_state=0),
    "and, least squares": ANDNMF(5, "spa", normalize="l2", decode="nnls", random_state=0),
    "and, anchors": ANDNMF(5, "anchor", random_state=0),
    "purification": PurificationNMF(5, "spa"),
    "purification, balanced": PurificationNMF(5, "spa", balance=True, max_iter=20),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize(("dtype", "atol"), [("float32", 5e-3), ("float64", 1e-6)])
@pytest.mark.usefixtures("never_dense")
def test_a_fit_equals_the_one_on_the_host(to_form, assert_at_home, mixtures, name, dtype, atol):
    model, host = (clone_of(CASES[name]) for _ in range(2))
    X = to_form(mixtures.astype(dtype))
    model.fit(X)
    host.fit(mixtures)
    W, parts = model.transform(X), to_host(model.components_)
    assert_at_home(model.components_, model.thresholds_, W, model.inverse_transform(W), dtype=dtype)
    assert_allclose(parts, host.components_, atol=atol * np.abs(host.components_).max())
    expected = host.transform(mixtures)
    assert np.mean(np.abs(to_host(W) - expected)) < atol * expected.max()
    assert_allclose(to_host(model.inverse_transform(W)), to_host(W) @ parts, atol=1e-5)


def clone_of(model):
    return type(model)(**model.get_params())


@pytest.mark.parametrize("name", ["and", "purification"])
@pytest.mark.usefixtures("never_dense")
def test_a_stream_equals_the_one_on_the_host(to_form, assert_at_home, mixtures, name):
    model, host = (clone_of(CASES[name]) for _ in range(2))
    for batch in np.split(mixtures, 3):
        model.partial_fit(to_form(batch))
        host.partial_fit(batch)
    assert_at_home(model.components_, model.transform(to_form(mixtures)))
    assert_allclose(to_host(model.components_), host.components_, atol=1e-6 * np.abs(host.components_).max())


@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_norms_of_samples(to_csr, to_form, mixtures, norm):
    signed = mixtures - 2.0 * (mixtures > 0.5)
    signed[3] = 0
    X = check_matrix(ANDNMF(1), to_form(signed))
    order = {"l1": 1, "l2": 2}
    expected = np.linalg.norm(signed, ord=order[norm], axis=1)
    expected = np.where(expected > 0, expected, 1)
    samples, norms = normalized(operand(X), norm)
    assert_allclose(to_host(norms)[:, 0], expected, rtol=1e-12)
    found = to_host(samples.data)
    assert_allclose(found.toarray() if sp.issparse(found) else found, signed / expected[:, None], rtol=1e-12)
    assert_allclose(squared_norm(X), (signed**2).sum(), rtol=1e-12)
    assert choose_norm(X) == choose_norm(signed)


def test_data_of_another_place_is_refused(to_csr, mixtures):
    X = to_csr(mixtures)
    model = ANDNMF(5, random_state=0).fit(X)
    other = sp.csr_array(mixtures) if not sp.issparse(X) else pytest.importorskip("torch").asarray(mixtures)
    with pytest.raises(InputError, match="Convert X, or fit again"):
        model.transform(other)
