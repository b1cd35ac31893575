import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

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


@pytest.fixture(scope="session")
def cluster() -> Iterator[Any]:
    """A Dask cluster of two worker processes on the loopback address; a test that kills workers makes its own."""
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, host="127.0.0.1", dashboard_address="127.0.0.1:0"
    ) as running:
        yield running


@pytest.fixture
def client(cluster: Any) -> Iterator[Any]:
    """A client of that cluster, which dask uses while the test runs."""
    from distributed import Client

    with Client(cluster) as connected:
        yield connected
