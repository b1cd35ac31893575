"""Exact search against all distances, on points with many copies and ties."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.spatial.distance import cdist

from rectifact.graph.search import TREE_COLUMNS, nearest_among, nearest_others


def others(X):
    """All distances, each row in order, without that of a point to itself."""
    distances = cdist(X, X)
    np.fill_diagonal(distances, np.inf)
    return np.sort(distances, axis=1)[:, :-1]


@given(seed=st.integers(0, 2**32 - 1), n=st.integers(3, 150), d=st.integers(1, 4), values=st.integers(1, 50))
@settings(deadline=None, max_examples=60)
def test_nearest_others_are_those_of_all_distances(seed, n, d, values):
    rng = np.random.default_rng(seed)
    X, k = rng.integers(values, size=(n, d)).astype(float), int(rng.integers(1, n))
    numbers, distances = nearest_others(X, k)
    assert_allclose(distances, others(X)[:, :k])
    assert_allclose(distances, np.linalg.norm(X[numbers] - X[:, None], axis=2))
    assert (numbers != np.arange(n)[:, None]).all()
    assert all(len(set(row)) == k for row in numbers.tolist())


@pytest.mark.parametrize("d", [2, TREE_COLUMNS, TREE_COLUMNS + 1])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_trees_and_brute_force_find_the_same(d, dtype, form, rng):
    points, X = rng.random((300, d)).astype(dtype), rng.random((40, d)).astype(dtype)
    numbers, distances = nearest_others(form(points), 5)
    assert_allclose(distances, others(points)[:, :5], rtol=1e-3)
    found, among = nearest_among(form(points), form(X), 5)
    every = cdist(X, points)
    assert_allclose(among, np.sort(every, axis=1)[:, :5], rtol=1e-3)
    assert_allclose(np.take_along_axis(every, found, axis=1), among, rtol=1e-3)
    assert nearest_among(form(points), form(X), 1)[0].shape == (40, 1)
    assert numbers.shape == (300, 5)


def test_threads_change_nothing(rng):
    X = rng.random((500, 3))
    for one, several in zip(nearest_others(X, 6), nearest_others(X, 6, n_jobs=2), strict=True):
        assert (one == several).all()
