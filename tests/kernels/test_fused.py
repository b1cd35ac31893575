"""The fused kernels against the plain form in double precision; they need a CUDA device and Triton."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from rectifact import NMD, SymNMF, SymNMFNet
from rectifact.datasets import make_block_model
from rectifact.kernels import nmd_fused, reference

torch = pytest.importorskip("torch")
pytest.importorskip("triton", reason="no Triton")
pytestmark = [
    pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]


def data(n, d, r, binary, missing, seed=0):
    rng = np.random.default_rng(seed)
    A, B, W = rng.standard_normal((n, r)) / 2, rng.standard_normal((r, d)) / 2, rng.standard_normal((n, r))
    X = np.maximum(A @ B + rng.standard_normal((n, d)), 0)
    X = (X > 0).astype(float) if binary else X
    X[rng.random((n, d)) < missing] = np.nan
    return X, A, B, W


@pytest.mark.parametrize("binary", [False, True])
@pytest.mark.parametrize(
    ("n", "d", "r", "missing"), [(1, 1, 1, 0.0), (70, 33, 5, 0.1), (1000, 777, 24, 0.0), (300, 129, 100, 0.3)]
)
def test_products_equal_the_reference(n, d, r, missing, binary):
    X, A, B, W = data(n, d, r, binary, missing)
    Z, sums = reference.nmd_e_step(X, A @ B, 0.7, binary)
    on = [torch.tensor(array, dtype=torch.float32, device="cuda") for array in (X, A, B, W)]
    fused = nmd_fused(on[0], on[2])
    rows, found = fused.nmd_row_products(*on[:3], 0.7, binary)
    columns = fused.nmd_column_products(*on, 0.7, binary)
    for got, wanted in ((rows, Z @ B.T), (columns, W.T @ Z)):
        assert np.linalg.norm(got.cpu().numpy() - wanted) <= 2e-6 * np.linalg.norm(wanted)
    assert_allclose(found.cpu().numpy(), sums, rtol=1e-4)


def test_where_it_serves():
    X = torch.zeros((4, 4), device="cuda")
    assert nmd_fused(X, X) is not None
    assert nmd_fused(X.double(), X.double()) is None
    assert nmd_fused(torch.zeros((4, 4)), X) is None
    assert nmd_fused(np.zeros((4, 4)), X) is None


@pytest.mark.parametrize("link", ["relu", "binary"])
def test_a_fit_on_the_device_equals_the_one_on_the_host(link):
    X, *_ = data(400, 90, 6, link == "binary", 0.0)
    host = NMD(6, link, max_iter=60, tol=0).fit(X)
    device = NMD(6, link, max_iter=60, tol=0).fit(torch.tensor(X, dtype=torch.float32, device="cuda"))
    assert device.embedding_.is_cuda
    assert_allclose(device.history_[-1]["loss"], host.history_[-1]["loss"], rtol=1e-3)


def test_the_net_on_the_device_equals_newton():
    graph = make_block_model(300, 4, degree=20, mixing=0.15).adjacency
    net = SymNMFNet(4, affinity="precomputed", device="cuda").fit(graph)
    newton = SymNMF(4, affinity="precomputed", init="spectral").fit(graph)
    assert net.resolved_["device"] == "cuda"
    assert_allclose(net.relative_error_, newton.relative_error_, atol=1e-5)
