"""Between two checks of the monitor the host waits for no number: counted by torch's dispatcher, on any device.

On CUDA every ``float()``, ``bool()`` or ``.item()`` of a tensor stops the host until the device is done; so does the
check of a decomposition. The counts must not grow with the number of iterations between checks.
"""

from collections import Counter

import numpy as np
import pytest

from rectifact.core.device_csr import canonical_csr
from rectifact.core.linalg import pseudo_inverse
from rectifact.core.monitor import Monitor
from rectifact.core.operand import operand
from rectifact.core.rectify import Geometric
from rectifact.datasets import make_block_model
from rectifact.graph.similarities import check_similarities
from rectifact.graph.solvers import hals
from rectifact.graph.spectral import random_start
from rectifact.latent.logistic_pca import logistic_pca
from rectifact.latent.model import LatentModel
from rectifact.parts.and_nmf import Threshold, and_nmf
from rectifact.parts.purification import begin, purify

torch = pytest.importorskip("torch")
modes = pytest.importorskip("torch.utils._python_dispatch")

WAITS = {"aten::_local_scalar_dense", "aten::item", "aten::is_nonzero", "aten::_linalg_check_errors", "aten::nonzero"}
MASKED = {"aten::index", "aten::index_put", "aten::index_put_"}
"""Indexing by a mask must know how many entries are true."""


class Waits(modes.TorchDispatchMode):
    """Counts what would make the host wait for a device, copies to the CPU included."""

    def __init__(self):
        super().__init__()
        self.seen = Counter()

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        name, kwargs = function.name().partition(".")[0], kwargs or {}
        copied = name == "aten::_to_copy" and str(kwargs.get("device", "")).startswith("cpu")
        by_mask = name in MASKED and any(index is not None and index.dtype == torch.bool for index in args[1])
        if name in WAITS or copied or by_mask:
            self.seen[name] += 1
        return function(*args, **kwargs)


@pytest.fixture(params=["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def place(request):
    if request.param == "cuda" and not torch.cuda.is_available():
        pytest.skip("no CUDA device")
    return request.param


@pytest.fixture(params=["dense", "csr"])
def put(request, place):
    """A numpy array as a tensor there, dense or in the form that the door makes of a CSR tensor."""

    def convert(array):
        X = torch.asarray(np.asarray(array), device=place)
        return X if request.param == "dense" else canonical_csr(X.to_sparse_coo(), X.dtype)

    return convert


def counted(run, n_iter):
    """Waits of ``n_iter`` iterations, of which only the last is checked."""
    with Waits() as waits:
        run(Monitor(n_iter, tol=0, check_every=10**6))
    return waits.seen


def assert_no_waits_between_checks(run):
    run(Monitor(1, tol=0))  # compiles, and makes the transpose
    assert counted(run, 12) == counted(run, 3)


def test_a_wait_is_seen(place):
    def run(monitor):
        for _ in monitor:
            if torch.ones(3, device=place).sum() > 0:
                monitor.record(lambda: 0.0)

    with pytest.raises(AssertionError):
        assert_no_waits_between_checks(run)
    with Waits() as waits:
        torch.linalg.solve(torch.eye(2, device=place), torch.ones((2, 1), device=place))
        float(torch.ones(1, device=place))
        torch.ones(3, device=place)[torch.ones(3, device=place) > 0]
    for name in ("aten::_linalg_check_errors", "aten::_local_scalar_dense", "aten::index"):
        assert waits.seen[name] == 1


@pytest.fixture
def mixtures(rng):
    parts = rng.random((3, 20)) * (rng.random((3, 20)) < 0.5)
    return (rng.random((100, 3)) * (rng.random((100, 3)) < 0.4)) @ parts, parts


@pytest.fixture
def as_on_cuda(monkeypatch, place):
    """Small inverses as CUDA tensors take them, also on the CPU."""
    if place == "cpu":
        monkeypatch.setattr("rectifact.core.linalg.on_cuda", torch.is_tensor)


@pytest.mark.usefixtures("as_on_cuda")
def test_and(put, place, mixtures):
    X, start = put(mixtures[0]), torch.asarray(mixtures[1] + 0.05, device=place)
    threshold = Threshold(Geometric(0.3, 1.2))
    assert_no_waits_between_checks(lambda monitor: and_nmf(X, start, threshold=threshold, monitor=monitor))


@pytest.mark.usefixtures("as_on_cuda")
def test_purification(put, place, mixtures):
    X, start = put(mixtures[0]), torch.asarray(mixtures[1] + 0.05, device=place)

    def run(monitor):
        state = begin(X, start, threshold=0.2, inverse=pseudo_inverse)
        for _ in monitor:
            state, seen = purify(state, X, eta=0.5, inverse=pseudo_inverse)
            monitor.record(lambda: seen.W.sum())

    assert_no_waits_between_checks(run)


def test_hals(put, rng):
    X = check_similarities(put(make_block_model(80, 3).adjacency.toarray()))
    start, squared = random_start(X, 3, rng), X.squared
    assert_no_waits_between_checks(lambda monitor: hals(X, start, squared, monitor=monitor))


def test_logistic_pca(put, place, rng):
    X = operand(put((rng.random((60, 20)) < 0.4) * 1.0))
    factors = (torch.asarray(rng.standard_normal(shape), device=place) for shape in ((60, 2), (2, 20)))
    start = LatentModel(*factors, 0.0)
    assert_no_waits_between_checks(lambda monitor: logistic_pca(X, start, monitor=monitor))


@pytest.mark.gpu
@pytest.mark.parametrize("solver", ["and", "hals"])
def test_cuda_itself_sees_no_wait(solver, mixtures, rng):
    """The same, watched by the CUDA runtime instead of the dispatcher."""
    if not torch.cuda.is_available():
        pytest.skip("no CUDA device")

    def there(array):
        X = torch.asarray(np.asarray(array, dtype="float32"), device="cuda")
        return canonical_csr(X.to_sparse_coo(), X.dtype)

    class Watched(Monitor):
        """Errors for what waits from the second iteration on, until the check at the end."""

        def __iter__(self):
            for t in super().__iter__():
                torch.cuda.set_sync_debug_mode("error" if t else "default")
                yield t

        def record(self, *args, **kwargs):
            if self.n_iter == self.max_iter:
                torch.cuda.set_sync_debug_mode("default")
            super().record(*args, **kwargs)

    monitor = Watched(10, tol=0, check_every=100)
    try:
        if solver == "and":
            X, start = there(mixtures[0]), torch.asarray(mixtures[1] + 0.05, dtype=torch.float32, device="cuda")
            and_nmf(X, start, threshold=Threshold(Geometric(0.3, 1.2)), monitor=monitor)
        else:
            X = check_similarities(there(make_block_model(80, 3).adjacency.toarray()))
            hals(X, random_start(X, 3, rng), X.squared, monitor=monitor)
    finally:
        torch.cuda.set_sync_debug_mode("default")
    assert monitor.n_iter == 10
