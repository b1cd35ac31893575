import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from rectifact.datasets import MissingDataset


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


@pytest.fixture(scope="session")
def load_or_skip() -> Callable[..., Any]:
    """Load a published set, or skip the test with the sentence that says which file is missing."""

    def load(loader: Callable[..., Any], *args: Any, **options: Any) -> Any:
        try:
            return loader(*args, **options)
        except MissingDataset as missing:
            pytest.skip(str(missing))

    return load


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Any]:
    """The command line in this process, and what it printed."""
    from rectifact import cli

    def run(*arguments: Any, expect: int = 0) -> Any:
        monkeypatch.setattr(sys, "argv", ["rectifact", *map(str, arguments)])
        with pytest.raises(SystemExit) as stopped:
            cli.main()
        captured = capsys.readouterr()
        assert (stopped.value.code or 0) == expect, captured.err
        return captured

    return run


@pytest.fixture(params=[("numpy", "cpu"), ("torch", "cpu"), ("torch", "cuda"), ("cupy", "cuda")], ids="-".join)
def to_xp(request: pytest.FixtureRequest) -> Callable[[Any], Any]:
    """Carry a numpy array to each library and device that is there; every family runs its tests over it."""
    name, device = request.param
    xp = pytest.importorskip(name)
    if name == "torch" and device == "cuda" and not xp.cuda.is_available():
        pytest.skip("no CUDA device")
    return (lambda array: xp.asarray(array, device=device)) if name == "torch" else xp.asarray


def local_cluster(**options: Any) -> Any:
    """Two worker processes on the loopback address; port 0 leaves the others of the machine alone."""
    distributed = pytest.importorskip("distributed")
    return distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, host="127.0.0.1", dashboard_address="127.0.0.1:0", **options
    )


@pytest.fixture
def to_csr(to_xp: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Carry a numpy array to a CSR matrix of each library: scipy's, torch's, cupyx's."""

    def convert(array: Any) -> Any:
        csr = sp.csr_array(array)
        parts = [to_xp(part) for part in (csr.data, csr.indices, csr.indptr)]
        if type(parts[0]) is np.ndarray:
            return csr
        if type(parts[0]).__module__ == "torch":
            import torch

            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", "Sparse CSR tensor support")
                return torch.sparse_csr_tensor(
                    parts[2], parts[1], parts[0], size=csr.shape, check_invariants=csr.nnz > 0
                )  # torch's check fails there
        from cupyx.scipy.sparse import csr_matrix

        return csr_matrix(tuple(parts), shape=csr.shape)

    return convert


@pytest.fixture(params=["dense", "csr"])
def to_form(request: pytest.FixtureRequest, to_xp: Any, to_csr: Any) -> Callable[[Any], Any]:
    """Carry a numpy array to each library, dense and as a CSR matrix."""
    return to_xp if request.param == "dense" else to_csr


@pytest.fixture
def assert_at_home(to_xp: Callable[[Any], Any]) -> Callable[..., None]:
    """Assert that results are arrays of the library, on the device and, if one is given, of the floating type asked."""

    def check(*arrays: Any, dtype: str | None = None) -> None:
        for array in arrays:
            home = to_xp(np.zeros(1, dtype=dtype or "float64"))
            assert type(array) is type(home)
            assert array.device == home.device
            assert dtype is None or array.dtype == home.dtype

    return check


@pytest.fixture(scope="session")
def cluster() -> Iterator[Any]:
    """A Dask cluster of two worker processes; a test that kills workers takes ``breakable``."""
    with local_cluster() as running:
        yield running


@pytest.fixture
def client(cluster: Any) -> Iterator[Any]:
    """A client of that cluster, which dask uses while the test runs."""
    from distributed import Client

    with Client(cluster) as connected:
        yield connected


@pytest.fixture
def breakable() -> Iterator[Any]:
    """A client of a cluster of its own, whose workers may be killed; what they say about it is not shown."""
    with local_cluster(silence_logs=50) as running:
        from distributed import Client

        with Client(running) as connected:
            yield connected


@pytest.fixture
def computations(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the calls of dask that compute something, as they come."""
    dask = pytest.importorskip("dask")
    calls: list[str] = []

    def counted(name: str) -> Callable[..., Any]:
        real = getattr(dask, name)

        def call(*args: Any, **options: Any) -> Any:
            calls.append(name)
            return real(*args, **options)

        return call

    for name in ("compute", "persist"):
        monkeypatch.setattr(dask, name, counted(name))
    return calls
