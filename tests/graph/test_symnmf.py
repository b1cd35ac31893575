import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.neighbors import KNeighborsTransformer, RadiusNeighborsTransformer
from sklearn.utils.estimator_checks import parametrize_with_checks
from threadpoolctl import threadpool_info, threadpool_limits

from rectifact import InputError, SymNMF, SymNMFNet, similarity_graph
from rectifact.bench.graph import published_graph
from rectifact.core.errors import FitWarning
from rectifact.core.monitor import Monitor
from rectifact.datasets import make_block_model
from rectifact.graph import from_edges, from_networkx
from rectifact.graph.base import Run, best_run
from rectifact.graph.components import find_components
from rectifact.graph.similarities import Similarities
from rectifact.graph.solvers import SOLVERS, objective, projected_gradient
from rectifact.graph.spectral import leading_eigenvectors, random_start, spectral_start
from rectifact.metrics import cluster_accuracy, nmi, sparse_factor

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@parametrize_with_checks([SymNMF(2, init="pool", n_init=2, max_iter=30), SymNMF(2, solver="hals", max_iter=30)])
def test_scikit_learn(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def blocks():
    return make_block_model(300, 4, degree=24, mixing=0.15)


def dense_error(X, U):
    return np.linalg.norm(X.toarray() - U @ U.T) ** 2 / np.linalg.norm(X.toarray()) ** 2


def slow_graph(points, k):
    """Self-tuning similarities by the book, with dense loops."""
    n = len(points)
    d = np.linalg.norm(points[:, None] - points[None], axis=2)
    scale = np.sort(d, axis=1)[:, min(7, n - 1)]
    S = np.zeros((n, n))
    for i in range(n):
        for j in np.argsort(d[i], kind="stable")[1 : k + 1]:
            S[i, j] = S[j, i] = np.exp(-(d[i, j] ** 2) / (scale[i] * scale[j]))
    root = np.sqrt(S.sum(axis=1))
    return S / root[:, None] / root


def test_the_graph_is_the_one_of_the_books(rng):
    points = rng.random((50, 3))
    assert_allclose(similarity_graph(points).toarray(), slow_graph(points, int(np.log2(50)) + 1), atol=1e-12)
    assert_allclose(similarity_graph(points, 9).toarray(), slow_graph(points, 9), atol=1e-12)
    found = similarity_graph(points, 5, neighbors=KNeighborsTransformer(n_neighbors=12))
    assert_allclose(found.toarray(), slow_graph(points, 5), atol=1e-12)


def test_cosine_graph_ignores_length(rng):
    points = rng.random((40, 5))
    longer = points * rng.uniform(1, 9, size=(40, 1))
    first, second = (similarity_graph(data, metric="cosine").toarray() for data in (points, sp.csr_array(longer)))
    assert_allclose(first, second, atol=1e-10)


@pytest.mark.parametrize("solver", SOLVERS)
def test_objective_without_the_product(blocks, rng, solver):
    X, monitor = blocks.adjacency, Monitor(60, tol=0)
    S = Similarities(X)
    U = SOLVERS[solver](S, random_start(S, 4, rng), float((X.data**2).sum()), monitor=monitor)
    assert (U >= 0).all()
    assert_allclose(monitor.history[-1]["loss"], dense_error(X, U), rtol=1e-9)
    assert monitor.history[-1]["loss"] < monitor.history[0]["loss"]


def test_gradient_is_the_derivative(blocks, rng):
    X, U = blocks.adjacency, rng.random((300, 4)) + 0.1
    squared, step, D = float((X.data**2).sum()), 1e-6, rng.standard_normal((300, 4))
    ahead, behind = (float(objective(squared, V, X @ V)) for V in (U + step * D, U - step * D))
    assert_allclose((ahead - behind) / (2 * step) * squared, (projected_gradient(U, X @ U) * D).sum(), rtol=1e-5)


def test_eigenvalues_that_repeat_are_all_found():
    one = make_block_model(400, 1, degree=12).adjacency
    X = sp.csr_array(sp.block_diag([one, one, one]))
    values, vectors = leading_eigenvectors(Similarities(X), 6)
    assert_allclose(values, np.sort(np.linalg.eigvalsh(X.toarray()))[::-1][:6], rtol=1e-8)
    assert_allclose(X @ vectors, vectors * values, atol=1e-6)


@pytest.mark.parametrize("seed", range(6))
def test_eigenvalues_that_repeat_in_one_component_are_all_found(seed):
    """Those of a torus; Lanczos iteration alone misses one from half of these starts."""
    ring = np.roll(np.eye(20), 1, axis=1)
    X = sp.csr_array(sp.kronsum(ring + ring.T, ring + ring.T))
    values, vectors = leading_eigenvectors(Similarities(X), 5, seed=seed)
    assert_allclose(values, [4, *[2 + 2 * np.cos(np.pi / 10)] * 4])
    assert_allclose(X @ vectors, vectors * values, atol=1e-6)


@pytest.mark.parametrize("solver", SOLVERS)
def test_planted_blocks_are_found(blocks, solver):
    options = {"affinity": "precomputed", "init": "pool", "n_init": 2, "random_state": 0}
    model = SymNMF(4, solver=solver, **options).fit(blocks.adjacency)
    assert cluster_accuracy(blocks.labels, model.labels_) > 0.97
    assert_allclose(model.membership_.sum(axis=1), 1)
    assert model.relative_error_ >= model.eigenvalue_bound() - 1e-6
    assert_allclose(model.relative_error_, min(model.resolved_["errors"].values()), rtol=2e-8)
    assert len(model.resolved_["errors"]) == 3


@pytest.mark.timeout(900)  # a dozen runs on nine thousand documents
@pytest.mark.parametrize(
    ("name", "accuracy", "least", "error"),
    [
        ("ORL", 0.78, 0.8874, 0.3690),
        ("COIL-20", 0.795, 0.8833, 0.85480),
        ("MNIST1", 0.695, 0.6992, 0.95272),
        ("MNIST2", 0.855, 0.7152, 0.98480),
        ("TDT2", 0.865, 0.8605, 0.93710),
    ],
)
def test_published_sets(load_or_skip, name, accuracy, least, error):
    graph = load_or_skip(published_graph, name)
    model = SymNMF(graph.n_classes, affinity="precomputed").fit(graph.X)
    assert not model.resolved_["normalize"]  # it is already
    assert nmi(graph.y, model.labels_) >= least - 5e-4
    assert cluster_accuracy(graph.y, model.labels_) >= accuracy
    assert model.eigenvalue_bound() - 1e-6 <= model.relative_error_ <= error
    assert model.stationarity_ <= 1e-5
    pytest.importorskip("torch")
    net = SymNMFNet(graph.n_classes, affinity="precomputed", device="cpu").fit(graph.X)
    assert model.eigenvalue_bound() - 1e-6 <= net.relative_error_ <= model.relative_error_ + 0.002


def test_objective_and_stopping_do_not_depend_on_units(blocks):
    """A graph in other units has the same clusters, found in as many iterations."""
    for solver in SOLVERS:
        fits = [
            SymNMF(4, solver=solver, affinity="precomputed", init="random", n_init=1, random_state=0, max_iter=50)
            for _ in range(2)
        ]
        one, other = (fit.fit(X) for fit, X in zip(fits, (blocks.adjacency, 1000 * blocks.adjacency), strict=True))
        assert_allclose(other.relative_error_, one.relative_error_, rtol=1e-6)
        assert one.n_iter_ == other.n_iter_


@pytest.mark.parametrize("solver", SOLVERS)
def test_l1_makes_the_factor_sparse(blocks, solver):
    """All solvers agree on the minimum of the objective with l1, from the same start."""
    common = {"affinity": "precomputed", "init": "spectral", "max_iter": 3000, "tol": 1e-6, "normalize": False}
    plain = SymNMF(4, **common).fit(blocks.adjacency)
    sparse = SymNMF(4, solver=solver, l1=4.0, **common).fit(blocks.adjacency)
    newton = SymNMF(4, l1=4.0, **common).fit(blocks.adjacency)
    assert sparse_factor(sparse.components_) < sparse_factor(plain.components_)
    assert sparse.components_.sum() < plain.components_.sum()
    assert_allclose(sparse.components_, newton.components_, atol=1e-3)


def test_gradient_with_l1_is_the_derivative(blocks, rng):
    X, U = blocks.adjacency, rng.random((300, 4)) + 0.1
    squared, step, D = float((X.data**2).sum()), 1e-6, rng.standard_normal((300, 4))
    ahead, behind = (float(objective(squared, V, X @ V, 3.0)) for V in (U + step * D, U - step * D))
    assert_allclose((ahead - behind) / (2 * step) * squared, (projected_gradient(U, X @ U, 3.0) * D).sum(), rtol=1e-5)


def test_how_near_to_a_stationary_point(blocks):
    """Both measures against dense matrices, at a point that is far from stationary."""
    options = {"init": "random", "n_init": 1, "max_iter": 2, "random_state": 0, "normalize": False}
    model = SymNMF(4, affinity="precomputed", **options).fit(blocks.adjacency)
    X, U = blocks.adjacency.toarray(), model.components_
    gradient = 4 * (U @ U.T - X) @ U
    free = np.where(U > 0, gradient, np.minimum(gradient, 0))
    assert model.stationarity_ > 1e-3
    assert_allclose(model.projected_gradient_, np.linalg.norm(free))
    assert_allclose(model.stationarity_, np.linalg.norm(free) / np.linalg.norm(4 * X @ U))
    assert_allclose(model.history_[-1]["gap"], model.stationarity_)


def test_a_loss_that_is_no_number_never_wins():
    def finished(name, loss):
        monitor = Monitor(1)
        for _ in monitor:
            monitor.record(lambda: loss)
        return Run(name, None, monitor)

    runs = [finished("bad", np.nan), finished("good", -2.0), finished("same", -2.0), finished("worse", -1.0)]
    assert best_run(iter(runs))[0].start == "good"


def test_empty_rows_are_like_no_other():
    points = np.array([[0.0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 1], [0, 0, 0]])
    graph = similarity_graph(points, 3, metric="cosine").toarray()
    assert graph[0].sum() == graph[5].sum() == 0
    assert graph[1, 2] > 0


def test_points_without_neighbours():
    points = np.array([[0.0], [0.1], [0.2], [50.0], [5.0], [5.1], [5.2]])
    graph = similarity_graph(points, 2, neighbors=RadiusNeighborsTransformer(radius=1)).toarray()
    assert graph[3].sum() == 0
    assert graph[0, 1] > 0
    assert graph[4, 6] > 0
    assert similarity_graph(points * 1000, 2, neighbors=RadiusNeighborsTransformer(radius=1)).nnz == 0


def test_nodes_without_edges_belong_nowhere():
    X = sp.csr_array(sp.block_diag([np.ones((4, 4)), np.ones((5, 5)), sp.csr_array((3, 3))]))
    for solver in SOLVERS:
        model = SymNMF(2, solver=solver, affinity="precomputed", init="random", n_init=1, random_state=0)
        with pytest.warns(FitWarning, match="3 of 12 nodes have the label -1, in no cluster: 3 without edges"):
            model.fit(X)
        assert_array_equal(model.membership_[-3:], 0)
        assert_array_equal(model.labels_[-3:], -1)


def test_too_large_l1_is_told(blocks):
    with (
        pytest.warns(FitWarning, match="4 of 4 communities are empty. Lower n_clusters or l1"),
        pytest.warns(FitWarning, match="300 of 300 nodes have the label -1, in no cluster: 300 without a membership"),
    ):
        SymNMF(4, affinity="precomputed", l1=1e4).fit(blocks.adjacency)


def test_single_precision_and_the_callers_data(blocks, rng):
    points = rng.random((40, 3)).astype(np.float32)
    kernel = np.exp(-((points[:, None] - points[None]) ** 2).sum(axis=2))
    root = np.sqrt(kernel.sum(axis=1))
    uneven = kernel / root[:, None] / root  # symmetric up to rounding
    assert SymNMF(2, affinity="precomputed", n_init=1, random_state=0).fit(uneven).labels_.shape == (40,)
    own = blocks.adjacency.copy()
    model = SymNMF(4, affinity="precomputed", normalize=False).fit(own)
    own.data[:] = 7
    assert model.affinity_matrix_.data.max() == 1


def blas_threads():
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_loops_over_small_products_keep_blas_to_one_thread(blocks, n_jobs):
    seen = []
    model = SymNMF(4, affinity="precomputed", n_init=2, n_jobs=n_jobs, random_state=0)
    with threadpool_limits(2, user_api="blas"):
        model.set_params(callbacks=[lambda row: seen.append(blas_threads())]).fit(blocks.adjacency)
        assert blas_threads() == {2}
    assert all(threads == {1} for threads in seen)


def test_a_callback_ends_the_pool(blocks):
    rows = []
    model = SymNMF(4, affinity="precomputed", l1=1.0, callbacks=[lambda row: rows.append(row) or True])
    model.fit(blocks.adjacency)
    assert len(rows) == 1
    assert model.stop_reason_ == "callback"


def test_threads_do_not_change_the_result(blocks):
    for solver in ("newton", "hals"):
        one, two = (
            SymNMF(4, solver=solver, affinity="precomputed", n_init=4, random_state=0, n_jobs=n).fit(blocks.adjacency)
            for n in (1, 2)
        )
        assert one.resolved_ == two.resolved_
        assert_array_equal(one.components_, two.components_)


def test_many_components():
    """Ten thousand pairs, whose largest eigenvalues are all the same."""
    pair = sp.csr_array([[0.0, 1.0], [1.0, 0.0]])
    X = sp.csr_array(sp.block_diag([pair] * 10_000))
    values, vectors = leading_eigenvectors(Similarities(X), 5)
    assert_allclose(values, 1)
    assert_allclose(vectors.T @ vectors, np.eye(5), atol=1e-12)


def test_graphs_as_people_have_them(blocks):
    networkx = pytest.importorskip("networkx")
    graph = networkx.from_scipy_sparse_array(blocks.adjacency)
    edges = networkx.to_pandas_edgelist(graph)
    model = SymNMF(4, affinity="precomputed", init="spectral")
    plain = model.fit_predict(blocks.adjacency)
    assert_array_equal(model.nodes_, np.arange(300))
    assert_array_equal(model.fit_predict(graph), plain)
    assert_array_equal(model.fit_predict(edges)[np.argsort(model.nodes_)], plain)
    assert_array_equal(model.fit_predict(pa.Table.from_pandas(edges))[np.argsort(model.nodes_)], plain)


def test_permuting_nodes_permutes_the_result(blocks, rng):
    order = rng.permutation(300)
    model = SymNMF(4, affinity="precomputed", init="spectral")
    plain = model.fit_predict(blocks.adjacency)
    assert cluster_accuracy(plain[order], model.fit_predict(blocks.adjacency[order][:, order])) == 1


def test_odd_graphs(rng):
    twins = np.repeat(rng.random((10, 2)), 5, axis=0)
    assert np.isfinite(SymNMF(3, n_init=1, random_state=0).fit(twins).membership_).all()


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.ones((3, 2)), "affinity='precomputed' needs a square matrix"),
        (np.array([[0.0, 1.0], [0.0, 0.0]]), "X is not symmetric. Give X"),
        (-np.ones((3, 3)), "Negative values in data"),
        (np.zeros((3, 3)), "X has no edges"),
        (pd.DataFrame({"source": [1, 2], "target": ["2", "1"]}), "Make both text"),
        (pd.DataFrame({"source": [1, 2], "target": [2, 3], "weight": ["a", "b"]}), "Weights of edges are numbers"),
        (np.ones((1, 1)), "n_clusters=2 is more than the 1 sample of X. Lower n_clusters"),
    ],
)
def test_mistakes_get_a_sentence(X, message):
    with pytest.raises(InputError, match=message):
        SymNMF(2, affinity="precomputed").fit(X)


def test_starts_are_non_negative(blocks):
    S = Similarities(blocks.adjacency)
    U, values = spectral_start(S, 4, find_components(S, 4))
    assert_allclose(values, np.linalg.eigvalsh(blocks.adjacency.toarray())[::-1][:4])
    assert (U >= 0).all()
    assert cluster_accuracy(blocks.labels, U.argmax(axis=1)) > 0.9


def test_edge_lists(rng):
    matrix, nodes = from_edges(["b", "a", "c"], ["a", "c", "c"], [2.0, 1.0, 5.0])
    assert nodes.tolist() == ["a", "b", "c"]
    assert_array_equal(matrix.toarray(), [[0, 2, 1], [2, 0, 0], [1, 0, 5]])
    for mistake, message in (
        (lambda: from_edges([], []), "There are no edges"),
        (lambda: from_edges(["a"], []), "Edges are pairs of nodes"),
        (lambda: from_edges(["a"], [None]), "1 edge lacks a node, the first in row 0"),
        (
            lambda: from_edges(["a"], ["b"], [-1.0]),
            "1 of 1 weights of edges is negative or not finite, the first is -1 in edge 1",
        ),
        (lambda: from_edges(["a", "b"], ["b", "c"], [1.0]), "There are 2 edges, but weights of shape"),
        (
            lambda: SymNMF(2).fit(np.ones((3, 3)), source="u", target="v"),
            "name columns of a table of edges; got ndarray",
        ),
        (lambda: SymNMF(2).fit(pd.DataFrame({"u": [1], "v": [2]}), source="u", target="w"), "no column 'w'"),
        (lambda: SymNMF(2).fit(pd.DataFrame({"u": [1], "v": [2]}), source="u"), "Name it: target='...'"),
    ):
        with pytest.raises(InputError, match=message):
            mistake()


def test_networks():
    networkx = pytest.importorskip("networkx")
    graph = networkx.Graph()
    graph.add_edge("x", "y", weight=3.0)
    graph.add_edge("y", "z")
    matrix, nodes = from_networkx(graph)
    assert nodes == ["x", "y", "z"]
    assert_array_equal(matrix.toarray(), [[0, 3, 0], [3, 0, 1], [0, 1, 0]])
