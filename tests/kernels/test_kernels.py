import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from rectifact import kernels
from rectifact.core.arrays import to_host
from rectifact.core.threads import single_thread
from rectifact.kernels import compiled, reference

FORMS = (reference, compiled)


@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 20), k=st.integers(1, 5))
@settings(deadline=None)
def test_compiled_hals_equals_reference(seed, n, k):
    rng = np.random.default_rng(seed)
    V, U, B = rng.random((k + 3, k)), rng.random((n, k)), rng.normal(size=(n, k))
    V[:, 0] *= rng.integers(2)  # now and then a dead column
    G = V.T @ V
    assert_allclose(compiled.hals_sweep(U.copy(), G, B), reference.hals_sweep(U.copy(), G, B), atol=1e-10)


@pytest.mark.parametrize("large", [0, np.inf])
def test_loops_in_one_and_in_several_threads_equal_reference(rng, monkeypatch, large):
    monkeypatch.setattr(compiled, "LARGE_LOOP", large)
    U, V, B = rng.random((300, 5)), rng.random((9, 5)), rng.normal(size=(300, 5))
    S = sp.random_array((300, 300), density=0.05, rng=rng, format="csr")
    assert_allclose(compiled.hals_sweep(U.copy(), V.T @ V, B), reference.hals_sweep(U.copy(), V.T @ V, B), atol=1e-10)
    assert_allclose(compiled.sparse_times(S, U), S @ U, atol=1e-12)
    assert compiled._several_threads(1.0) == (large == 0 and compiled.get_num_threads() > 1)


def test_hals_sweep_lowers_the_loss_column_by_column(rng):
    X, V, U = rng.random((30, 12)), rng.random((12, 4)), rng.random((30, 4))
    before = np.linalg.norm(X - U @ V.T)
    reference.hals_sweep(U, V.T @ V, X @ V)
    assert np.linalg.norm(X - U @ V.T) < before
    gradient = (U @ (V.T @ V) - X @ V)[:, -1]  # the last column was solved last, so it is optimal
    assert_allclose(gradient[U[:, -1] > 0], 0, atol=1e-10)
    assert (gradient[U[:, -1] == 0] >= -1e-10).all()


def test_the_seam_serves_every_library(rng, to_xp):
    V, U, B = rng.random((7, 3)), rng.random((5, 3)), rng.standard_normal((5, 3))
    expected = reference.hals_sweep(U.copy(), V.T @ V, B)
    out = kernels.hals_sweep(to_xp(U.copy()), to_xp(V.T @ V), to_xp(B))
    assert type(out) is type(to_xp(U))
    assert_allclose(to_host(out), expected, atol=1e-12)


def test_numpy_arrays_take_the_compiled_form(monkeypatch):
    called = []
    monkeypatch.setattr(compiled, "hals_sweep", lambda *arrays: called.append("compiled") or arrays[0])
    kernels.hals_sweep(np.ones((1, 1)), np.ones((1, 1)), np.ones((1, 1)))
    assert called == ["compiled"]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_sweep_works_in_place_and_keeps_the_type(rng, dtype):
    U = rng.random((5, 3)).astype(dtype)
    G, B = np.eye(3, dtype=dtype), rng.standard_normal((5, 3)).astype(dtype)
    assert kernels.hals_sweep(U, G, B) is U
    assert U.dtype == dtype
    assert_allclose(U, np.maximum(B, 0), rtol=1e-5)


def test_a_second_process_does_not_compile_again():
    code = (
        "import numpy as np; from rectifact.kernels import compiled;"
        "one = np.ones(1, dtype='i4'), np.ones(1, dtype='f4'), np.ones((1, 2));"
        "compiled._plain_sweep(np.ones((2, 2)), np.eye(2), np.ones((2, 2)));"
        "ends = np.array([0, 1], dtype='i4');"
        "compiled.crowd_posteriors(ends, *one[:2], np.zeros(2), np.zeros((2, 2)), None);"
        "compiled.crowd_counts(ends, *one, 2);"
        "many = compiled.get_num_threads() > 1;"
        "crowd = (compiled._parallel_posteriors, compiled._parallel_counts) if many else (compiled._plain_posteriors, "
        "compiled._plain_counts);"
        "forms = compiled._plain_sweep, *crowd;"
        "stats = [f.stats for f in forms];"
        "print(*(sum(s.cache_hits.values()) for s in stats), *(sum(s.cache_misses.values()) for s in stats))"
    )
    runs = [subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True) for _ in range(2)]
    assert runs[-1].stdout.split() == ["1", "1", "1", "0", "0", "0"]


@given(
    seed=st.integers(0, 2**32 - 1),
    n_tasks=st.integers(1, 9000),
    n_classes=st.sampled_from([2, 3, 9]),
    n_subtypes=st.sampled_from([1, 2]),
)
@settings(deadline=None, max_examples=25)
def test_compiled_crowd_kernels_equal_reference(seed, n_tasks, n_classes, n_subtypes):
    k = n_classes * n_subtypes
    rng = np.random.default_rng(seed)
    per_task = rng.integers(0, 6, size=n_tasks)
    indptr = np.concatenate([[0], np.cumsum(per_task)]).astype(np.int32)
    cells = rng.integers(0, 7 * k, size=indptr[-1]).astype(np.int32)
    weights = rng.choice([0.5, 1.0, 2.0], size=len(cells)).astype(np.float32)
    log_priors = np.log(rng.dirichlet(np.ones(k)))
    log_confusions = np.log(rng.dirichlet(np.full(k, 0.2), size=(7, k)).transpose(0, 2, 1).reshape(-1, k) + 1e-30)
    known = rng.integers(-3, n_classes, size=n_tasks).clip(-1) if seed % 2 else None
    given = indptr, cells, weights, log_priors, log_confusions, known, n_subtypes
    (out, evidence) = zip(*(form.crowd_posteriors(*given) for form in FORMS), strict=True)
    assert_allclose(out[1], out[0], atol=1e-12)
    assert_allclose(evidence[1], evidence[0], rtol=1e-12, atol=1e-12)
    assert_allclose(*(form.column_sums(out[0]) for form in FORMS), rtol=1e-12)
    slow_counts, fast_counts = (form.crowd_counts(indptr, cells, weights, out[0], 7 * k) for form in FORMS)
    assert_allclose(fast_counts, slow_counts, atol=1e-12)
    with single_thread():  # the plain loop, of which several Python threads may run one each
        assert_allclose(kernels.crowd_posteriors(*given)[0], out[0], atol=1e-12)
        assert_allclose(kernels.crowd_counts(indptr, cells, weights, out[0], 7 * k), slow_counts, atol=1e-12)


def test_a_known_class_keeps_its_subtypes():
    log_confusions, known = np.log([[0.9, 0.6, 0.2, 0.3], [0.1, 0.4, 0.8, 0.7]]), np.array([0])
    arrays = np.array([0, 1], dtype=np.int32), np.array([1], dtype=np.int32), np.ones(1, dtype=np.float32)
    for form in FORMS:
        posteriors, evidence = form.crowd_posteriors(*arrays, np.log(np.full(4, 0.25)), log_confusions, known, 2)
        assert_allclose(posteriors, [[0.2, 0.8, 0, 0]], atol=1e-12)
        assert_allclose(evidence, np.log(0.25 * (0.1 + 0.4)))


def test_a_known_class_counts_though_the_answers_rule_it_out():
    log_confusions = np.array([[0.0, -np.inf], [-np.inf, 0.0]])
    arrays = np.array([0, 1], dtype=np.int32), np.array([1], dtype=np.int32), np.ones(1, dtype=np.float32)
    for form in FORMS:
        posteriors, evidence = form.crowd_posteriors(*arrays, np.log([0.5, 0.5]), log_confusions, np.array([0]))
        assert_allclose(posteriors, [[1, 0]], atol=1e-300)
        assert evidence == -np.inf


def test_an_impossible_answer_excludes_a_class():
    log_confusions = np.array([[0.0, -np.inf], [-np.inf, 0.0]])
    arrays = np.array([0, 1], dtype=np.int32), np.array([1], dtype=np.int32), np.ones(1, dtype=np.float32)
    for form in FORMS:
        posteriors, evidence = form.crowd_posteriors(*arrays, np.log([0.75, 0.25]), log_confusions, None)
        assert_allclose(posteriors, [[0, 1]], atol=1e-300)
        assert_allclose(evidence, np.log(0.25))
