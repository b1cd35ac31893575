"""Dask arrays: the same model as on one machine; A stays with the chunks, and a sweep is one submission."""

import os
import signal
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

from rectifact import NMD, LogisticPCA
from rectifact.core.errors import InputError
from rectifact.core.operand import is_chunked
from rectifact.datasets import load_images

da = pytest.importorskip("dask.array")
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def planted(link: str = "relu", n: int = 900, d: int = 40, rank: int = 3) -> Any:
    rng = np.random.default_rng(0)
    latent = rng.normal(size=(n, rank)) @ rng.normal(size=(rank, d)) - 0.5 + 0.4 * rng.normal(size=(n, d))
    return np.maximum(latent, 0) if link == "relu" else (latent > 0) * 1.0


def lazy(X: Any, rows: int = 250) -> Any:
    return da.from_array(X, chunks=(rows, -1))


@pytest.mark.parametrize(
    ("link", "options"),
    [("relu", {}), ("binary", {"tol": 1e-3}), ("missing", {"missing": np.nan}), ("relu", {"objective": "latent"})],
    ids=str,
)
def test_equals_one_machine(link: str, options: dict[str, Any]) -> None:
    X = planted("binary" if link == "binary" else "relu")
    if link == "missing":
        X[np.random.default_rng(1).random(X.shape) < 0.1] = np.nan
    one = NMD(3, random_state=0, **options).fit(X)
    many = NMD(3, random_state=0, **options).fit(lazy(X))
    assert many.n_iter_ == one.n_iter_
    assert many.resolved_ == one.resolved_
    assert_allclose(many.components_, one.components_, atol=1e-8)
    assert_allclose(many.scale_, one.scale_, rtol=1e-8)
    assert_allclose([row["loss"] for row in many.history_], [row["loss"] for row in one.history_], rtol=1e-8)
    assert_allclose(many.score(lazy(X)), one.score(X), rtol=1e-8)
    A = many.transform(lazy(X))
    assert is_chunked(A)
    assert is_chunked(many.embedding_)
    assert is_chunked(many.inverse_transform(A))
    close = 1e-5 * abs(one.embedding_).max()
    assert_allclose(A.compute(), one.transform(X), atol=close)
    assert_allclose(many.embedding_.compute(), one.embedding_, atol=close)
    assert_allclose(many.inverse_transform(A).compute(), one.inverse_transform(one.embedding_), atol=1e-5)


def test_on_a_cluster_equals_one_machine_on_digits(client: Any) -> None:
    X = load_images("digits").X
    one = NMD(6, max_iter=8).fit(X)
    many = NMD(6, max_iter=8).fit(lazy(X, 600).persist())
    assert_allclose(many.components_, one.components_, rtol=1e-6, atol=1e-9)
    assert_allclose(many.history_[-1]["loss"], one.history_[-1]["loss"], rtol=1e-9)
    assert_allclose(many.embedding_.compute(), one.embedding_, atol=1e-6)


def test_many_features_and_large_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rectifact.core.svd.MOST_GRAM_FEATURES", 10)
    X = planted()
    one, many = NMD(3).fit(X), NMD(3).fit(lazy(1e30 * X))
    assert_allclose(many.components_, one.components_, atol=1e-5)
    assert_allclose(many.scale_, 1e30 * one.scale_, rtol=1e-5)


def test_sparse_chunks_and_whole_numbers_are_taken() -> None:
    X = np.round(3 * planted())
    one = NMD(3, max_iter=8).fit(sp.csr_array(X))
    for given in (lazy(X.astype(int)), lazy(X).map_blocks(sp.csc_matrix)):
        many = NMD(3, max_iter=8).fit(given)
        assert_allclose(many.components_, one.components_, atol=1e-8)
        assert_allclose(many.score(given), one.score(X), rtol=1e-8)


@pytest.mark.parametrize("memory", [0.0, 1e12])
def test_a_sweep_is_one_submission(memory: float, computations: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rectifact.core.chunks._memory", lambda: memory)  # chunks are made again, or kept
    X, counts = lazy(planted()), []
    for max_iter in (3, 8):
        computations.clear()
        model = NMD(3, max_iter=max_iter, tol=0).fit(X)
        counts.append((computations.count("persist"), computations.count("compute")))
    assert (counts[1][0] - counts[0][0], counts[1][1] - counts[0][1]) == (5, 5)  # each is submitted, then gathered
    assert_allclose(model.components_, NMD(3, max_iter=8, tol=0).fit(planted()).components_, atol=1e-8)


def test_transform_computes_nothing_and_refuses_later(computations: list[str]) -> None:
    model = NMD(3, max_iter=20).fit(planted("binary"))
    bad = planted("binary")
    bad[300, 7] = -1
    A, strange = model.transform(lazy(bad)), model.transform(lazy(3 * planted("binary")))
    assert computations == []
    with pytest.raises(InputError, match=r"Negative values in data: 1 of its entries, first -1.0 at row 300, column 7"):
        A.compute()
    with pytest.raises(InputError, match="link='binary' is for zeros and ones"):
        strange.compute()


def test_what_cannot_be_used_is_said_with_the_cure() -> None:
    X = planted()
    with pytest.raises(InputError, match=r"Negative values in data: .* first -"):
        NMD(3).fit(lazy(X - 1))
    with pytest.raises(InputError, match="chunks must hold whole rows"):
        NMD(3).fit(da.from_array(X, chunks=(100, 20)))
    with pytest.raises(InputError, match=r"missing=np.nan and da.where\(mask, np.nan, X\)"):
        NMD(3, missing=X > 1).fit(lazy(X))
    with pytest.raises(InputError, match="solver='em' works on the host"):
        NMD(3, solver="em").fit(lazy(X))
    with pytest.raises(InputError, match="link='binary' is for zeros and ones"):
        NMD(3, link="binary").fit(lazy(X))
    with pytest.raises(InputError, match="Use NMD, which takes Dask arrays"):
        LogisticPCA(3).fit(lazy(planted("binary")))


def test_a_lost_worker_costs_time_and_not_the_result(breakable: Any) -> None:
    X = planted()
    victim = next(iter(breakable.run(os.getpid).values()))

    def kill(row: dict[str, float]) -> None:
        if row["iter"] == 5:
            os.kill(victim, signal.SIGKILL)

    one = NMD(3, max_iter=9, tol=0).fit(X)
    many = NMD(3, max_iter=9, tol=0, callbacks=[kill]).fit(lazy(X, 225))
    assert victim not in breakable.run(os.getpid).values()
    assert_allclose(many.components_, one.components_, atol=1e-8)
    assert_allclose(many.history_[-1]["loss"], one.history_[-1]["loss"], rtol=1e-9)
