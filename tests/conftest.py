import signal
import sys
import warnings
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from rectifact.datasets import MissingDataset

DASK_FIXTURES = {"breakable", "client", "cluster", "computations"}


def pytest_configure() -> None:
    """Let commands be interrupted even if the tests run in the background, where a shell makes its jobs ignore it."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests that need Dask: those that take one of its fixtures, or whose module imports it for all of them."""
    for item in items:
        if DASK_FIXTURES & set(getattr(item, "fixturenames", ())) or imports_dask(getattr(item, "module", None)):
            item.add_marker("dask")


def imports_dask(module: ModuleType | None) -> bool:
    imported = (value for value in vars(module or object).values() if isinstance(value, ModuleType))
    return any(value.__name__.partition(".")[0] in ("dask", "distributed") for value in imported)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


@pytest.fixture(scope="session")
def load_or_skip() -> Callable[..., Any]:
    """Load a published set, or skip the test and say which file is missing."""

    def load(loader: Callable[..., Any], *args: Any, **options: Any) -> Any:
        try:
            return loader(*args, **options)
        except MissingDataset as missing:
            pytest.skip(str(missing))

    return load


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Any]:
    """Run the command line in this process, and return what it printed."""
    from rectifact import cli

    def run(*arguments: Any, expect: int = 0) -> Any:
        monkeypatch.setattr(sys, "argv", ["rectifact", *map(str, arguments)])
        with pytest.raises(SystemExit) as stopped:
            cli.main()
        captured = capsys.readouterr()
        assert (stopped.value.code or 0) == expect, captured.err
        return captured

    return run


@pytest.fixture(
    params=[
        pytest.param(("numpy", "cpu"), id="numpy-cpu"),
        pytest.param(("torch", "cpu"), id="torch-cpu"),
        pytest.param(("torch", "cuda"), id="torch-cuda", marks=pytest.mark.gpu),
        pytest.param(("cupy", "cuda"), id="cupy-cuda", marks=pytest.mark.gpu),
    ]
)
def to_xp(request: pytest.FixtureRequest) -> Callable[[Any], Any]:
    """Move a numpy array to each library and device that is available; every family runs its tests over them."""
    name, device = request.param
    xp = pytest.importorskip(name)
    if name == "torch" and device == "cuda" and not xp.cuda.is_available():
        pytest.skip("no CUDA device")
    return (lambda array: xp.asarray(array, device=device)) if name == "torch" else xp.asarray


def local_cluster(**options: Any) -> Any:
    """Start two Dask workers on the loopback address; port 0 avoids conflicts with other dashboards on the machine."""
    distributed = pytest.importorskip("distributed")
    return distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, host="127.0.0.1", dashboard_address="127.0.0.1:0", **options
    )


@pytest.fixture
def to_csr(to_xp: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Turn a numpy array into a CSR matrix of each library: scipy, torch and cupyx."""

    def convert(array: Any) -> Any:
        csr = sp.csr_array(array)
        parts = [to_xp(part) for part in (csr.data, csr.indices, csr.indptr)]
        if type(parts[0]) is np.ndarray:
            return csr
        if type(parts[0]).__module__ == "torch":
            import torch

            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", "Sparse CSR tensor support|Sparse invariant checks")
                return torch.sparse_csr_tensor(
                    parts[2], parts[1], parts[0], size=csr.shape, check_invariants=csr.nnz > 0
                )  # torch's own check fails on a matrix without entries
        from cupyx.scipy.sparse import csr_matrix

        return csr_matrix(tuple(parts), shape=csr.shape)

    return convert


@pytest.fixture(params=["dense", "csr"])
def to_form(request: pytest.FixtureRequest, to_xp: Any, to_csr: Any) -> Callable[[Any], Any]:
    """Move a numpy array to each library, dense and as a CSR matrix."""
    return to_xp if request.param == "dense" else to_csr


@pytest.fixture
def assert_at_home(to_xp: Callable[[Any], Any]) -> Callable[..., None]:
    """Assert that results belong to the library and device of the input and, if given, have the floating type."""

    def check(*arrays: Any, dtype: str | None = None) -> None:
        for array in arrays:
            home = to_xp(np.zeros(1, dtype=dtype or "float64"))
            assert type(array) is type(home)
            assert array.device == home.device
            assert dtype is None or array.dtype == home.dtype

    return check


@pytest.fixture(scope="session")
def cluster() -> Iterator[Any]:
    """Dask with two worker processes; a test that kills one of them takes ``breakable``."""
    with local_cluster() as running:
        yield running


@pytest.fixture
def client(cluster: Any) -> Iterator[Any]:
    """A client of these workers, which Dask uses while the test runs."""
    from distributed import Client

    with Client(cluster) as connected:
        yield connected


@pytest.fixture
def breakable() -> Iterator[Any]:
    """A client with workers of its own, which the test may kill; their log messages are not shown."""
    with local_cluster(silence_logs=50) as running:
        from distributed import Client

        with Client(running) as connected:
            yield connected


@pytest.fixture
def computations(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the Dask functions that compute something, in the order of the calls."""
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
