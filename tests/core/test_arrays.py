import numpy as np
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from rectifact.core.arrays import choose, device, eps, is_host, namespace, normal_like, to_host, to_like


def test_there_and_back(to_xp):
    values = np.arange(6, dtype="float32").reshape(2, 3)
    there = to_xp(values)
    back = to_host(there)
    assert type(back) is np.ndarray
    assert_array_equal(back, values)
    again = to_like(values.astype("float64"), there)
    assert type(again) is type(there)
    assert again.dtype == there.dtype
    assert device(again) == device(there)
    assert is_host(there) == isinstance(there, np.ndarray)
    assert eps(there) == np.finfo("float32").eps


def test_one_seed_draws_the_same_everywhere(to_xp):
    like = to_xp(np.zeros(1))
    draws = to_host(normal_like(np.random.default_rng(3), (4, 2), like))
    assert_allclose(draws, np.random.default_rng(3).standard_normal((4, 2)))


def test_sparse_matrices_belong_to_numpy():
    X = sp.csr_array(np.eye(3))
    assert namespace(X, np.ones(3)) is namespace(np.ones(3))
    assert is_host(X)
    assert device(X) == "cpu"


def test_a_choice_between_two_arrays(to_xp):
    yes, no, number = to_xp(np.ones(3)), to_xp(np.zeros(3)), to_xp(np.array(2.0))
    assert_array_equal(to_host(choose(number > 1, yes, no)), np.ones(3))
    assert_array_equal(to_host(choose(number > 3, yes, no)), np.zeros(3))
    assert choose(False, yes, no) is no
