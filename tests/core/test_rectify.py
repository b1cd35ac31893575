import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_array_equal

from rectifact.core.arrays import to_host
from rectifact.core.rectify import Constant, Geometric, relu, shifted_relu

matrices = arrays(np.float64, st.tuples(st.integers(1, 8), st.integers(1, 8)), elements=st.floats(-1e3, 1e3))
thresholds = st.floats(0, 10)


@given(Z=matrices, a=thresholds, b=thresholds)
def test_relu_keeps_or_drops(Z, a, b):
    out = relu(Z, a)
    assert (out >= 0).all()
    assert_array_equal(out, np.array([[z if z >= a else 0.0 for z in row] for row in Z]))
    assert_array_equal(relu(out, a), out)
    assert_array_equal(relu(relu(Z, a), b), relu(Z, max(a, b)))


@given(Z=matrices, a=thresholds)
def test_shifted_relu_subtracts(Z, a):
    assert_array_equal(shifted_relu(Z, a), np.maximum(Z - a, 0))
    assert_array_equal(shifted_relu(Z), relu(Z))


def test_a_nan_is_not_hidden():
    assert np.isnan(relu(np.array([np.nan]), 1.0)).all()
    assert np.isnan(shifted_relu(np.array([np.nan]), 1.0)).all()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_operators_stay_in_their_library_and_type(to_xp, dtype):
    Z = np.array([[-1.0, 0.2, 0.5], [2.0, 0.5, -0.1]], dtype=dtype)
    per_column = np.array([0.0, 0.4, 0.6], dtype=dtype)
    for operator in (relu, shifted_relu):
        for threshold in (0.3, per_column):
            moved = threshold if isinstance(threshold, float) else to_xp(threshold)
            out = operator(to_xp(Z), moved)
            assert type(out) is type(to_xp(Z))
            assert out.dtype == to_xp(Z).dtype
            assert_array_equal(to_host(out), operator(Z, threshold))


@given(start=st.floats(0, 10), decay=st.floats(1.01, 10), floor=st.floats(0, 1), t=st.integers(0, 10_000))
def test_geometric_falls_to_its_floor(start, decay, floor, t):
    schedule = Geometric(start, decay, floor)
    assert floor <= schedule(t + 1) <= schedule(t) or start < floor == schedule(t)
    if schedule.settled(t):
        assert schedule(t) - schedule(t + 1) <= 1e-16 * start
        assert schedule.settled(t + 1)


def test_geometric_settles_without_a_floor():
    schedule = Geometric(0.1, 1.1)
    assert not schedule.settled(300)
    assert schedule.settled(500)


def test_constant():
    assert Constant(0.3)(9) == 0.3
    assert Constant(0.3).settled(0)
