"""Truncated SVD of rows that are made when they are needed, against numpy's SVD of the same matrix."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

from rectifact.core.arrays import to_host
from rectifact.core.device_csr import canonical_csr
from rectifact.core.operand import operand
from rectifact.core.sparse import entries, gram, with_stored
from rectifact.core.svd import mapped_svd

da = pytest.importorskip("dask.array")


def lifted(X: Any, factor: float, below: float) -> Any:
    """Stored entries times a factor, and a constant instead of zeros."""
    values = entries(X)
    return with_stored(X, factor * values * (values > 0) + below * (values == 0), below)


def held(X: Any, holder: str) -> Any:
    if holder.startswith("torch"):
        torch = pytest.importorskip("torch")
        tensor = torch.asarray(X)
        return operand(tensor if holder == "torch" else canonical_csr(tensor.to_sparse_coo(), tensor.dtype))
    if holder.endswith("chunks"):
        chunks = da.from_array(X, chunks=(17, -1))
        return operand(chunks.map_blocks(sp.csr_array) if holder == "sparse chunks" else chunks)
    return operand(X if holder == "dense" else sp.csr_array(X))


@pytest.mark.parametrize("most", [1024, 5], ids=["gram", "lanczos"])
@pytest.mark.parametrize("holder", ["dense", "csr", "torch", "torch-csr", "chunks", "sparse chunks"])
def test_equals_the_svd_of_the_dense_matrix(holder: str, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rectifact.core.svd.MOST_GRAM_FEATURES", most)
    rng = np.random.default_rng(0)
    X = np.maximum(rng.standard_normal((60, 3)) @ rng.standard_normal((3, 20)), 0)
    left, s, right = np.linalg.svd(np.where(X > 0, 2 * X, -0.5), full_matrices=False)
    found = mapped_svd(held(X, holder), lifted, 2.0, -0.5, rank=3)
    U = found.U.compute() if holder.endswith("chunks") else to_host(found.U)
    assert_allclose(to_host(found.s), s[:3], rtol=1e-6)
    assert_allclose((U * to_host(found.s)) @ to_host(found.Vt), (left[:, :3] * s[:3]) @ right[:3], atol=1e-3)


@pytest.mark.parametrize("rank", [1, 4])
def test_single_precision_and_full_rank(rank: int) -> None:
    X = np.maximum(np.random.default_rng(0).standard_normal((9, 4)), 0).astype(np.float32)
    found = mapped_svd(operand(sp.csr_array(X)), lifted, 1.0, 0.25, rank=rank)
    assert {part.dtype for part in found} == {np.dtype(np.float32)}
    assert_allclose(found.s, np.linalg.svd(np.where(X > 0, X, 0.25), compute_uv=False)[:rank], rtol=1e-5)


def test_gram_of_every_form() -> None:
    X = np.maximum(np.random.default_rng(0).standard_normal((9, 4)), 0)
    for form in (X, sp.csr_array(X)):
        assert_allclose(gram(form), X.T @ X)
        shifted = lifted(form, 2.0, -0.5)
        dense = shifted @ np.eye(4)
        assert_allclose(dense, np.where(X > 0, 2 * X, -0.5))
        assert_allclose(shifted.T @ np.eye(9), dense.T)
        assert_allclose(gram(shifted), dense.T @ dense)
