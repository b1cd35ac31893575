"""SymNMF on every library and device, dense and sparse, against the result on the host."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.linalg import block_diag

from rectifact import InputError, SymNMF, SymNMFNet, load_model, save_model, similarity_graph
from rectifact.core.arrays import is_host, to_host
from rectifact.core.device_csr import canonical_csr, is_native_sparse
from rectifact.core.errors import FitWarning
from rectifact.core.validation import check_matrix
from rectifact.datasets import make_block_model
from rectifact.graph.knn import normalized
from rectifact.graph.similarities import Similarities, check_similarities
from rectifact.graph.spectral import block_eigenvectors
from rectifact.metrics import cluster_accuracy

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.fixture(scope="module")
def blocks():
    return make_block_model(240, 4, degree=24, mixing=0.15).adjacency.toarray()


def on_host(S):
    S = to_host(canonical_csr(S, S.dtype)) if is_native_sparse(S) else to_host(S)
    return S.toarray() if sp.issparse(S) else S


@pytest.mark.parametrize(("dtype", "rtol"), [("float32", 1e-5), ("float64", 1e-7)])
@pytest.mark.parametrize("solver", ["newton", "hals", "pgd"])
def test_a_fit_equals_the_one_on_the_host(to_form, assert_at_home, blocks, solver, dtype, rtol):
    options = {"init": "pool", "n_init": 1, "random_state": 0, "n_jobs": 1, "normalize": False}
    X, model = to_form(blocks.astype(dtype)), SymNMF(4, solver, "precomputed", **options)
    host = SymNMF(4, solver, "precomputed", **options).fit(blocks)
    model.fit(X)
    assert_at_home(model.components_, model.membership_, dtype=None if is_host(X) else dtype)
    assert_at_home(model.labels_)
    assert_allclose(model.relative_error_, host.relative_error_, rtol=rtol)
    assert_allclose(list(model.resolved_["errors"].values()), list(host.resolved_["errors"].values()), rtol=rtol)
    assert_array_equal(to_host(model.labels_), host.labels_)
    assert_allclose(to_host(model.membership_), host.membership_, atol=1e-2)
    assert_allclose(to_host(model.membership_).sum(axis=1), 1, rtol=1e-5)
    assert_allclose(model.eigenvalue_bound(), host.eigenvalue_bound(), atol=1e-5)
    assert type(model.affinity_matrix_) is (type(X) if not is_host(X) else sp.csr_array)
    assert_array_equal(on_host(model.affinity_matrix_), blocks)
    U = to_host(model.components_)
    assert_allclose(model.objective_, np.linalg.norm(blocks - U @ U.T) ** 2, rtol=1e-4)


def test_sparse_answers_through_l1_too(to_form, blocks):
    model, host = (SymNMF(4, "newton", "precomputed", "spectral", l1=2.0, normalize=False) for _ in range(2))
    model.fit(to_form(blocks))
    host.fit(blocks)
    assert_allclose(to_host(model.components_), host.components_, atol=1e-3)


@pytest.mark.parametrize("solver", ["anls", "admm"])
def test_solvers_of_the_host_say_so(blocks, solver):
    X = pytest.importorskip("torch").asarray(blocks)
    with pytest.raises(InputError, match=f"solver='{solver}' works on the host"):
        SymNMF(4, solver, "precomputed").fit(X)


def crooked(blocks):
    out = blocks.copy()
    out[0, 1] += 0.5
    return out


def test_mistakes_get_a_sentence(to_form, blocks):
    mistakes = {
        "X is not symmetric": crooked(blocks),
        "X has no edges": np.zeros((5, 5)),
        "needs a square matrix": blocks[:, :50],
        "n_clusters=4 is more than the 3 samples of X": np.ones((3, 3)),
        "Negative values": -blocks,
    }
    for sentence, given in mistakes.items():
        with pytest.raises(InputError, match=sentence):
            SymNMF(4, affinity="precomputed").fit(to_form(given))


def test_rounding_is_not_crooked(to_form, blocks, rng):
    nearly = blocks * (1 + 1e-13 * rng.random(blocks.shape))
    model = SymNMF(4, affinity="precomputed", init="spectral", normalize=False)
    S = on_host(model.fit(to_form(nearly)).affinity_matrix_)
    assert_array_equal(S, S.T)
    assert_allclose(S, blocks, rtol=1e-12)


def test_an_entry_that_rounding_took_from_one_side(to_form, blocks):
    nearly = blocks.copy()
    nearly[0, 1], nearly[1, 0] = 1e-12, 0
    S = on_host(check_similarities(check_matrix(SymNMF(), to_form(nearly))).operand.native)
    assert_array_equal(S, S.T)
    assert_allclose(S, nearly, atol=1e-11)


def test_stored_zeros_are_not_edges(to_xp, to_csr):
    X = to_csr(np.array([[0.0, 1, 5], [1, 0, 0], [0, 0, 0]]))
    values = X.values() if hasattr(X, "crow_indices") else X.data
    values[1] = 0  # an edge of one direction, of weight zero
    with pytest.warns(FitWarning, match="1 of 3 nodes has the label -1, in no cluster: 1 without edges to others"):
        model = SymNMF(1, affinity="precomputed", init="spectral").fit(X)
    assert_allclose(to_host(model.components_)[2], 0)
    assert_allclose(to_host(model.membership_)[2], 0)
    assert to_host(model.labels_).tolist() == [0, 0, -1]


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("n_neighbors", [None, 3, 12])
@pytest.mark.parametrize("tile", [1 << 24, 7 * 60])
def test_the_graph_of_points(to_form, rng, metric, n_neighbors, tile, monkeypatch):
    monkeypatch.setattr("rectifact.graph.knn.TILE", tile)
    points = rng.random((60, 9)) * (rng.random((60, 9)) < 0.7)
    points[7] = 0
    expected = similarity_graph(points, n_neighbors, metric=metric).toarray()
    found = on_host(similarity_graph(to_form(points), n_neighbors, metric=metric))
    assert_allclose(found, found.T, rtol=1e-14)
    assert_allclose(found, expected, atol=1e-10)


def test_duplicates_are_close_and_nothing_else_is_lost(to_form, rng):
    points = np.repeat(rng.integers(0, 9, (6, 3)).astype(float), 10, axis=0)  # which of equal points is nearer is open
    found, expected = (on_host(similarity_graph(given, 9)) for given in (to_form(points), points))
    assert_allclose(found, expected, atol=1e-10)
    found = on_host(similarity_graph(to_form(np.ones((5, 2))), 4))
    assert_allclose(found, (1 - np.eye(5)) / 4, atol=1e-12)


def test_tiles_agree_with_the_search_on_the_host(rng):
    points = rng.random((80, 3))
    found = on_host(similarity_graph(pytest.importorskip("torch").asarray(points), 6))
    assert_allclose(found, similarity_graph(points, 6).toarray(), atol=1e-12)


def test_clusters_of_points(to_form, assert_at_home, rng):
    points = np.vstack([rng.normal(center, 1, (40, 3)) for center in (0, 9, 18)])
    model, host = (SymNMF(3, n_init=1, random_state=0) for _ in range(2))
    model.fit(to_form(points))
    assert_at_home(model.labels_, model.components_)
    assert cluster_accuracy(to_host(model.labels_), host.fit(points).labels_) == 1  # components come in another order


@pytest.mark.parametrize("name", ["block model", "components", "one weak link"])
def test_leading_eigenvectors(to_form, name, rng):
    dense = make_block_model(500, 4, degree=20).adjacency.toarray()
    if name == "components":  # the eigenvalue 1 repeats seven times
        dense = block_diag(*(make_block_model(70, 1, degree=12, random_state=i).adjacency.toarray() for i in range(7)))
    if name == "one weak link":
        dense = block_diag(dense[:250, :250], dense[250:, 250:])
        dense[0, 499] = dense[499, 0] = 1e-3
    dense = normalized(sp.csr_array(dense)).toarray()
    X = Similarities(check_matrix(SymNMF(), to_form(dense)))
    values, vectors = block_eigenvectors(X, 5)
    expected = np.linalg.eigvalsh(dense)[::-1][:5]
    assert_allclose(to_host(values), expected, atol=1e-10)
    V = to_host(vectors)
    assert_allclose(V.T @ V, np.eye(5), atol=1e-10)
    assert_allclose(dense @ V, V * expected, atol=1e-6)


def test_a_model_is_saved_as_one_of_the_host(to_form, blocks, tmp_path):
    model = SymNMF(4, affinity="precomputed", normalize=False).fit(to_form(blocks))
    save_model(model, tmp_path / "model.rfx")
    loaded = load_model(tmp_path / "model.rfx")
    assert_array_equal(loaded.labels_, to_host(model.labels_))
    assert_array_equal(on_host(loaded.affinity_matrix_), blocks)
    assert_allclose(loaded.eigenvalue_bound(), model.eigenvalue_bound(), atol=1e-8)


@pytest.mark.parametrize("known", [False, True])
def test_the_net(to_form, assert_at_home, known):
    pytest.importorskip("torch")
    graph = make_block_model(80, 3, degree=16, mixing=0.15)
    S = graph.adjacency.toarray()
    gold = np.where(np.arange(80) % 8 == 0, graph.labels, -1) if known else None
    X = to_form(S)
    model = SymNMFNet(3, affinity="precomputed", max_iter=60, device="cpu" if is_host(X) else "auto").fit(X, gold=gold)
    host = SymNMFNet(3, affinity="precomputed", max_iter=60, device="cpu").fit(S, gold=gold)
    assert_at_home(model.components_, model.membership_, dtype="float64")
    assert_at_home(model.labels_)
    assert_array_equal(to_host(model.labels_), host.labels_)
    assert_allclose(model.relative_error_, host.relative_error_, rtol=1e-4)
