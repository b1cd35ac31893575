"""Dask arrays: the same parts as on one machine, one computation per iteration, and nothing large that travels."""

import os
import signal
import warnings
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

from rectifact import ANDNMF, PurificationNMF
from rectifact.core.errors import InputError
from rectifact.core.operand import is_chunked
from rectifact.datasets import load_images, make_topics

da = pytest.importorskip("dask.array")
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def samples(n: int = 2000, noise: float = 0.002) -> Any:
    topics = make_topics(n_samples=n, n_features=30, n_topics=4)
    return np.asarray(topics.X) + noise * np.random.default_rng(1).normal(size=(n, 30))


def lazy(X: Any, rows: int = 450) -> Any:
    return da.from_array(X, chunks=(rows, -1))


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"init": "spa", "normalize": None},
        {"init": "nndsvd", "decode": "nnls"},
        {"compress": False, "unit": "absolute", "threshold": 0.01},
        {"n_inner": 5, "normalize": "l2"},
    ],
    ids=str,
)
def test_and_equals_one_machine(options: dict[str, Any]) -> None:
    X = samples()
    one = ANDNMF(4, random_state=0, **options).fit(X)
    many = ANDNMF(4, random_state=0, **options).fit(lazy(X))
    assert many.n_iter_ == one.n_iter_
    assert_allclose(many.components_, one.components_, atol=1e-9)
    assert_allclose(many.thresholds_, one.thresholds_, rtol=1e-8)
    assert isinstance(many.reconstruction_err_, float)
    assert_allclose(many.reconstruction_err_, one.reconstruction_err_, rtol=1e-9)
    assert_allclose([row["loss"] for row in many.history_], [row["loss"] for row in one.history_], rtol=1e-8)
    W = many.transform(lazy(X))
    assert is_chunked(W)
    assert is_chunked(many.inverse_transform(W))
    assert_allclose(W.compute(), one.transform(X), atol=1e-8)
    assert_allclose(many.inverse_transform(W).compute(), one.inverse_transform(one.transform(X)), atol=1e-8)
    assert_allclose(many.transform(X), one.transform(X), atol=1e-8)  # a model fitted on a Dask array takes numpy


def test_exact_data_of_lower_rank_is_seen_as_such() -> None:
    X = samples(noise=0.0)
    with pytest.warns(UserWarning, match="X has rank 4"):
        model = ANDNMF(6, random_state=0).fit(lazy(X))
    assert model.resolved_["rank"] == 4
    assert model.resolved_["noise"] == 0


def test_and_on_a_cluster_equals_one_machine_on_faces(client: Any, load_or_skip: Any) -> None:
    X = np.asarray(load_or_skip(load_images, "orl").X, dtype=float)[:, ::11]
    one = ANDNMF(6, init="spa", max_iter=6).fit(X)
    many = ANDNMF(6, init="spa", max_iter=6).fit(lazy(X, 150).persist())
    assert many.n_iter_ == one.n_iter_
    assert_allclose(many.components_, one.components_, rtol=1e-6, atol=1e-9)
    assert_allclose(many.reconstruction_err_, one.reconstruction_err_, rtol=1e-9)


def test_many_features_need_no_square_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    X = samples()
    one = ANDNMF(4, random_state=0).fit(X)
    monkeypatch.setattr("rectifact.core.svd.MOST_GRAM_FEATURES", 10)
    many = ANDNMF(4, random_state=0).fit(lazy(X))
    assert_allclose(many.components_, one.components_, atol=1e-9)


def test_purification_equals_one_machine() -> None:
    rng = np.random.default_rng(0)
    X = (rng.random((9000, 3)) * (rng.random((9000, 3)) < 0.3)) @ rng.random((3, 10))
    for options in ({}, {"balance": True}):
        one = PurificationNMF(3, random_state=0, **options).fit(X)
        many = PurificationNMF(3, random_state=0, **options).fit(lazy(X, 2000))
        assert many.n_iter_ == one.n_iter_
        assert_allclose(many.components_, one.components_, rtol=1e-9, atol=1e-10)
        assert_allclose(many.reconstruction_err_, one.reconstruction_err_, rtol=1e-9)
        W = many.transform(lazy(X, 2000))
        assert is_chunked(W)
        assert_allclose(W.compute(), one.transform(X), atol=1e-9)


@pytest.mark.parametrize("kind", [ANDNMF, PurificationNMF])
def test_batches_equal_one_machine(kind: Any) -> None:
    rng = np.random.default_rng(0)
    X = (rng.random((6000, 3)) * (rng.random((6000, 3)) < 0.3)) @ rng.random((3, 10))
    one, many = kind(3, random_state=0), kind(3, random_state=0)
    whole = lazy(X, 800)
    for i in range(0, 6000, 2000):
        one.partial_fit(X[i : i + 2000])
        many.partial_fit(whole[i : i + 2000])
    assert_allclose(many.components_, one.components_, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize(
    "model", [ANDNMF(4, init="spa"), ANDNMF(4, init="spa", compress=False), PurificationNMF(4, init="spa")], ids=str
)
def test_one_computation_per_iteration(model: Any, computations: list[str]) -> None:
    X, counts = lazy(samples()), []
    for max_iter in (3, 8):
        computations.clear()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.set_params(max_iter=max_iter, tol=0).fit(X)
        counts.append(len(computations))
    assert counts[1] - counts[0] == 5


@pytest.mark.filterwarnings("ignore:The weights of a sample add up:rectifact.core.errors.FitWarning")
def test_one_computation_per_batch(computations: list[str]) -> None:
    X = samples()
    for model in (ANDNMF(4, random_state=0), PurificationNMF(4, random_state=0)):
        model.partial_fit(X)
        computations.clear()
        model.partial_fit(lazy(X))
        assert computations == ["compute"]


def test_transform_computes_nothing_and_reports_bad_entries_later(computations: list[str]) -> None:
    X = samples()
    model = ANDNMF(4, random_state=0).fit(X)
    bad = X.copy()
    bad[777, 5] = np.nan
    W = model.transform(lazy(bad))
    assert computations == []
    with pytest.raises(InputError, match="NaN or infinity in X: 1 of its entries, first nan at row 777, column 5"):
        W.compute()
    with pytest.raises(InputError, match="row 777"):
        model.partial_fit(lazy(bad))


def test_errors_say_what_to_do() -> None:
    X = samples(500)
    bad = X.copy()
    bad[460, 3] = np.inf
    bad[470, 3] = np.nan
    with pytest.raises(InputError, match=r"2 of its entries, first inf at row 460, column 3"):
        ANDNMF(4).fit(lazy(bad, 450))
    with pytest.raises(InputError, match=r'2 chunks of columns.* Give X.rechunk\(\{0: "auto", 1: -1\}\)'):
        ANDNMF(4).fit(da.from_array(X, chunks=(100, 20)))
    unknown = lazy(X)[lazy(X)[:, 0] > 0]
    with pytest.raises(InputError, match=r"X.compute_chunk_sizes\(\)"):
        ANDNMF(4).fit(unknown)
    with pytest.raises(InputError, match="init='anchor' works on the host"):
        ANDNMF(4, init="anchor").fit(lazy(X))
    with pytest.raises(InputError, match="expecting 30 features"):
        ANDNMF(4, random_state=0).fit(lazy(X)).transform(lazy(X[:, 1:]))
    with pytest.raises(InputError, match="real numbers; got complex128"):
        ANDNMF(4).fit(lazy(X + 1j))
    with pytest.raises(InputError, match="All entries of X are zero"):
        ANDNMF(4).fit(lazy(0 * X))


def test_sparse_integer_and_empty_chunks_are_accepted() -> None:
    counts = np.random.default_rng(0).poisson(samples(600).clip(0) * 200)
    one = ANDNMF(4, random_state=0).fit(counts.astype(float))
    blocks = lazy(counts, 150)
    sparse = blocks.map_blocks(sp.csr_array)
    gaps = da.concatenate([blocks[:0], blocks[:200], blocks[200:200], blocks[200:]])
    for X in (blocks, sparse, gaps):
        assert_allclose(ANDNMF(4, random_state=0).fit(X).components_, one.components_, atol=1e-9)


def test_a_lost_worker_costs_time_and_not_the_result(breakable: Any) -> None:
    X = samples(1500)
    victim = next(iter(breakable.run(os.getpid).values()))

    def kill(row: dict[str, float]) -> None:
        if row["iter"] == 5:
            os.kill(victim, signal.SIGKILL)

    one = ANDNMF(4, init="spa", max_iter=9).fit(X)
    many = ANDNMF(4, init="spa", max_iter=9, callbacks=[kill]).fit(lazy(X, 375))
    assert victim not in breakable.run(os.getpid).values()
    assert many.n_iter_ == one.n_iter_
    assert_allclose(many.components_, one.components_, atol=1e-9)


def test_float32_stays() -> None:
    X = samples().astype(np.float32)
    for refine, atol in ((None, 1e-4), ("nonnegative", 1e-3)):  # rounding decides in which sweep a refinement stops
        model, one = (ANDNMF(4, refine=refine, random_state=0).fit(each) for each in (lazy(X), X))
        assert model.components_.dtype == np.float32
        assert model.transform(lazy(X)).dtype == np.float32
        assert_allclose(model.components_, one.components_, atol=atol)
