"""Similarities in Dask arrays: the same communities as on one machine, one computation for each product."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from rectifact import SymNMF, similarity_graph
from rectifact.core.errors import InputError
from rectifact.core.operand import is_chunked
from rectifact.datasets import load_images, make_block_model
from rectifact.graph.similarities import Similarities
from rectifact.graph.spectral import block_eigenvectors

da = pytest.importorskip("dask.array")
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def lazy(S: Any, rows: int = 110) -> Any:
    return da.from_array(S.toarray(), chunks=(rows, -1))


def blocks() -> sp.csr_array:
    return make_block_model(300, 3, degree=20, mixing=0.1).adjacency


@pytest.mark.parametrize("solver", ["newton", "hals", "anls", "pgd", "admm"])
def test_equals_one_machine(solver: str) -> None:
    options = {"solver": solver, "affinity": "precomputed", "n_init": 1, "random_state": 0, "max_iter": 8}
    S = blocks()
    X = {"newton": lazy(S).map_blocks(sp.csr_array), "hals": lazy(S, 300)}.get(solver, lazy(S))
    one, many = SymNMF(3, **options).fit(S), SymNMF(3, **options).fit(X)
    assert_array_equal(many.labels_, one.labels_)
    assert many.resolved_["start"] == one.resolved_["start"]
    assert_allclose(many.components_, one.components_, atol=1e-6)
    assert_allclose(many.objective_, one.objective_, rtol=1e-8)
    assert_allclose(many.eigenvalue_bound(), one.eigenvalue_bound(), rtol=1e-8)
    assert is_chunked(many.affinity_matrix_)


@pytest.mark.parametrize("chunked", [False, True])
def test_blocks_find_eigenvalues_that_repeat(chunked: bool) -> None:
    S = sp.block_diag([blocks()] * 3).toarray()  # each eigenvalue three times
    values, vectors = block_eigenvectors(Similarities(lazy(sp.csr_array(S)) if chunked else S), 6)
    assert_allclose(values, np.linalg.eigvalsh(S)[::-1][:6], rtol=1e-8)
    assert_allclose(S @ vectors, vectors * values, atol=1e-6)


def test_on_a_cluster_equals_one_machine_on_digits(client: Any) -> None:
    digits = load_images("digits")
    S = similarity_graph(digits.X[digits.y < 3])
    options = {"solver": "hals", "affinity": "precomputed", "init": "spectral", "max_iter": 5}
    one, many = SymNMF(3, **options).fit(S), SymNMF(3, **options).fit(lazy(S, 300).map_blocks(sp.csr_array).persist())
    assert_array_equal(many.labels_, one.labels_)
    assert_allclose(many.components_, one.components_, rtol=1e-6, atol=1e-8)


def test_one_computation_an_iteration(computations: list[str]) -> None:
    counts = []
    for max_iter in (3, 8):
        computations.clear()
        SymNMF(3, "hals", "precomputed", "random", 1, max_iter=max_iter, tol=0, random_state=0).fit(lazy(blocks()))
        counts.append(len(computations))
    assert counts[1] - counts[0] == 5


def test_what_cannot_be_used_is_said_with_the_cure() -> None:
    S = lazy(blocks())
    model = SymNMF(3, affinity="precomputed")
    with pytest.raises(InputError, match="affinity='knn' searches neighbours on one machine"):
        SymNMF(3).fit(S)
    with pytest.raises(InputError, match="square matrix"):
        model.fit(S[:200])
    with pytest.raises(InputError, match="X is not symmetric"):
        model.fit(lazy(sp.csr_array(np.triu(blocks().toarray()))))
    with pytest.raises(InputError, match="X has no edges"):
        model.fit(0 * S)
    with pytest.raises(InputError, match="chunks must hold whole rows"):
        model.fit(S.rechunk(100))


def test_the_net_works_on_one_machine() -> None:
    pytest.importorskip("torch")
    from rectifact import SymNMFNet

    with pytest.raises(InputError, match="use SymNMF, which takes Dask arrays"):
        SymNMFNet(3, affinity="precomputed").fit(lazy(blocks()))
