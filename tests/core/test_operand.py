"""One interface for the data matrix: every holder gives the same products, totals and rows."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from rectifact.core.arrays import to_host
from rectifact.core.chunks import Chunks, naming_failures
from rectifact.core.device_csr import canonical_csr
from rectifact.core.errors import ClusterError
from rectifact.core.operand import Operand, add, operand
from rectifact.core.sparse import entries

da = pytest.importorskip("dask.array")
HOLDERS = ["dense", "csr", "torch", "torch-csr", "chunks", "sparse chunks"]


@pytest.fixture
def dense() -> Any:
    rng = np.random.default_rng(0)
    return rng.random((23, 5)) * (rng.random((23, 5)) < 0.6)


def held(X: Any, holder: str) -> Operand:
    """The matrix as an operand of this kind."""
    if holder.startswith("torch"):
        torch = pytest.importorskip("torch")
        tensor = torch.asarray(X)
        return operand(tensor if holder == "torch" else canonical_csr(tensor.to_sparse_coo(), tensor.dtype))
    if holder.endswith("chunks"):
        chunks = da.from_array(X, chunks=(7, -1))
        return operand(chunks.map_blocks(sp.csr_array) if holder == "sparse chunks" else chunks)
    return operand(X if holder == "dense" else sp.csr_array(X))


def small(values: Any, like: Operand) -> Any:
    """A small array of the library of the operand."""
    return values if isinstance(like.like, np.ndarray) else type(like.like)(values).to(like.dtype)


def gathered(rows: Any) -> Any:
    return rows.compute() if hasattr(rows, "compute") else to_host(rows)


def squares(X: Any) -> Any:
    return (entries(X) ** 2).sum()


def sum_and_product(X: Any, W: Any, P: Any) -> tuple[Any, Any]:
    return entries(X).sum(), (X.T @ (W * P[0])).T


def scaled(X: Any, factor: Any) -> Any:
    return factor * (X @ np.ones(5)) if sp.issparse(X) or isinstance(X, np.ndarray) else factor * _row_sums(X)


def _row_sums(X: Any) -> Any:
    import torch

    return X @ torch.ones(5, dtype=X.dtype)


def new_rows_and_sums(X: Any, W: Any, factor: float) -> tuple[Any, Any, Any]:
    new = factor * W
    return new, (X.T @ new).T, entries(X).sum()


def largest(X: Any) -> float:
    return float(entries(X).max())


def above(X: Any, limit: float) -> int:
    return int((entries(X) >= limit).sum())


@pytest.mark.parametrize("holder", HOLDERS)
def test_products_totals_and_rows(dense: Any, holder: str) -> None:
    X = held(dense, holder)
    P, W = np.arange(10.0).reshape(5, 2), np.random.default_rng(1).random((23, 2))
    assert X.shape == (23, 5)
    assert_allclose(gathered(X @ small(P, X)), dense @ P)
    tall = X.split(small(W, X))
    assert_allclose(to_host(X.rmatmul(tall)), W.T @ dense)
    assert_allclose(float(X.total(squares)), (dense**2).sum())
    summed, product = X.total(sum_and_product, small(P, X), along=(tall,))
    assert_allclose(float(summed), dense.sum())
    assert_allclose(to_host(product), (W * P[0]).T @ dense)
    assert_allclose(gathered(X.map_rows(scaled, 3.0)), 3 * dense.sum(axis=1))
    rows, (sums, total) = X.sweep(new_rows_and_sums, 2.0, along=(tall,), columns=2)
    assert_allclose(gathered(rows), 2 * W)
    assert_allclose(to_host(sums), 2 * W.T @ dense)
    assert_allclose(float(total), dense.sum())
    assert_allclose(gathered(X.kept() @ small(P, X)), dense @ P)


def weighed(X: Any, weight: Any, nothing: None) -> tuple[Any, Any]:
    assert nothing is None
    return weight, (X.T @ weight[:, None])[:, 0]


@pytest.mark.parametrize("holder", HOLDERS)
def test_vectors_and_nothing_go_along_with_the_rows(dense: Any, holder: str, computations: list[str]) -> None:
    X, weight = held(dense, holder), np.arange(23.0)
    tall = X.split(small(weight, X))
    rows, (sums,) = X.sweep(weighed, along=(tall, None), keep=False)
    assert computations == (["compute"] if holder.endswith("chunks") else [])
    assert_allclose(to_host(sums), weight @ dense)
    assert_allclose(gathered(rows), weight)


@pytest.mark.parametrize("holder", ["dense", "csr", "torch", "chunks", "sparse chunks"])
def test_some_of_the_rows(dense: Any, holder: str) -> None:
    X, chosen = held(dense, holder), np.arange(23) % 3 == 1
    chosen[7:14] = False  # a chunk of which nothing is left
    part, number, nothing = X.where(X.split(chosen), X.split(np.arange(23.0)), None)
    assert nothing is None
    assert part.shape == (chosen.sum(), 5)
    assert_array_equal(gathered(number), np.flatnonzero(chosen))
    assert_allclose(gathered(part @ small(np.eye(5), X)), dense[chosen])


@pytest.mark.parametrize("holder", HOLDERS)
def test_a_total_may_depend_on_another(dense: Any, holder: str, computations: list[str]) -> None:
    X = held(dense, holder)
    top = X.pending(largest, combine=max)
    count = X.pending(above, top)
    assert X.evaluate(top, count) == (dense.max(), 1)
    assert len(computations) == int(holder.endswith("chunks"))  # one computation for both


@pytest.mark.parametrize("holder", HOLDERS)
def test_rows_may_wait_for_a_total(dense: Any, holder: str, computations: list[str]) -> None:
    X = held(dense, holder)
    Z = operand(X @ small(np.eye(5), X))
    top = Z.pending(largest, combine=max)
    rows = Z.again().map_rows(above_or_zero, top, columns=5)
    product = X.again().pending(sum_and_product, small(np.ones((1, 5)), X), along=(rows,))
    top, (_, product) = X.evaluate(top, product)
    assert_allclose(to_host(product), np.where(dense >= dense.max(), dense, 0).T @ dense)
    assert len(computations) == int(holder.endswith("chunks"))


def above_or_zero(X: Any, limit: float) -> Any:
    return X * (limit <= X)


@pytest.mark.parametrize("form", ["slice", "rechunked", "delayed", "persisted"])
def test_chunks_of_any_origin_are_made_again(dense: Any, form: str) -> None:
    import dask

    X = da.from_array(np.vstack([dense, dense]), chunks=(7, -1))
    X = {
        "slice": lambda: X[:23],
        "rechunked": lambda: X[:23].rechunk((5, -1)),
        "delayed": lambda: da.from_delayed(dask.delayed(np.array)(dense), dense.shape, dtype=float),
        "persisted": lambda: X[:23].persist(),
    }[form]()
    X = operand(X.map_blocks(np.asarray))
    top = X.pending(largest, combine=max)
    assert X.evaluate(top, X.pending(above, top)) == (dense.max(), 1)
    assert not {*X.data.dask} & {*X.again().native.dask}  # no chunk of one is a chunk of the other


def test_chunks_on_a_cluster_are_made_again_unless_they_are_kept(dense: Any, client: Any) -> None:
    kept = (da.from_array(dense, chunks=(7, -1)) * 2).persist()
    for X in (operand(kept), operand(kept.map_blocks(np.asarray)), operand(kept[1:])):
        top = X.pending(largest, combine=max)
        assert X.evaluate(top, X.pending(above, top)) == (2 * dense.max(), 1)
        assert X.again().total(above, 2 * dense.max()) == 1


def test_chunks_compute_nothing_before_they_must(dense: Any, computations: list[str]) -> None:
    X = held(dense, "chunks")
    rows = X.map_rows(scaled, 2.0)
    X.pending(squares)
    assert computations == []
    assert rows.chunks == ((7, 7, 7, 2),)
    X.sweep(new_rows_and_sums, 2.0, along=(X.split(np.ones((23, 2))),), columns=2)
    assert computations == ["persist", "compute"]


@pytest.mark.parametrize("holder", ["dense", "csr", "torch", "chunks"])
def test_random_rows_are_those_of_one_sequence(dense: Any, holder: str) -> None:
    drawn = held(dense, holder).draw_rows(np.random.default_rng(3), lambda rng, n: rng.gamma(2.0, size=(n, 1)))
    assert_array_equal(gathered(drawn), np.random.default_rng(3).gamma(2.0, size=(23, 1)))


@pytest.mark.parametrize("holder", HOLDERS)
def test_tall_rows_are_gathered(dense: Any, holder: str) -> None:
    X = held(dense, holder)
    product = X.gather(X @ small(np.eye(5), X))
    product += 1  # it can be written to
    assert_allclose(to_host(product), dense + 1)


def test_parameters_may_be_large(client: Any) -> None:
    """Within the graph they can be sent again; a warning of dask's, an error in these tests, would be in the way."""
    X, B = operand(da.ones((4, 2), chunks=(2, 2))), np.random.default_rng(0).random(3_000_000)
    assert X.total(_sum_of_both, B) == pytest.approx(8 + 2 * B.sum())


def _sum_of_both(X: Any, B: Any) -> float:
    return float(X.sum() + B.sum())


def test_sums_of_tuples_within_tuples() -> None:
    assert add((1, (2.0, 3)), (4, (5.0, 6))) == (5, (7.0, 9))
    assert operand(held(np.ones((2, 2)), "dense")) is not None
    assert isinstance(operand(da.ones((2, 2))), Chunks)


def test_a_cluster_that_fails_is_one_sentence() -> None:
    distributed = pytest.importorskip("distributed")
    lost = r"The connection to the Dask scheduler was lost\. .*resume=True"
    with pytest.raises(ClusterError, match=lost), naming_failures():
        raise distributed.CancelledError("scheduler-connection-lost")
    with pytest.raises(ClusterError, match="4 Dask workers died computing the same chunk"), naming_failures():
        raise distributed.KilledWorker("a-task", None, 3)
    with pytest.raises(ZeroDivisionError), naming_failures():
        raise ZeroDivisionError
