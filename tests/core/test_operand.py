"""One interface for the data matrix: every holder gives the same products, totals and rows."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from rectifact.core.arrays import to_host
from rectifact.core.operand import Chunks, Operand, add, operand
from rectifact.core.sparse import canonical_csr, entries

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
