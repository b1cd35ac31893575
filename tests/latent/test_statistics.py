"""Counts and moments from one pass, against numpy, for parts of the data of very different size."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.stats import norm

from rectifact.core.operand import operand
from rectifact.latent.statistics import statistics


def data(rng, scale=1.0):
    X = scale * np.maximum(rng.standard_normal((40, 7)), 0)
    X[rng.random(X.shape) < 0.1] = np.nan
    return X


def test_every_form_of_the_data(to_xp, rng):
    X = data(rng)
    for rows in (to_xp(X), sp.csr_array(X)):
        found = operand(rows).total(statistics)
        assert (found.size, found.missing, found.known) == (280, np.isnan(X).sum(), (~np.isnan(X)).sum())
        assert found.positive == found.fractional == (X > 0).sum()
        assert_allclose(found.rms, np.sqrt(np.mean(X[X > 0] ** 2)))
        assert_allclose(found.constant("relu"), (np.nanmean(X), np.nanstd(X)))


def test_binary_data(rng):
    X = (rng.random((50, 4)) < 0.3) * 1.0
    found = statistics(X)
    assert (found.fractional, found.unit) == (0, 1.0)
    theta, sigma = found.constant("binary")
    assert_allclose((norm.cdf(theta), sigma), (X.mean(), 1.0))


def test_chunks(rng):
    da = pytest.importorskip("dask.array")
    X = data(rng)
    many, one = operand(da.from_array(X, chunks=(9, -1))).total(statistics), statistics(X)
    assert many.positive == one.positive
    assert_allclose((many.total, many.squares), (one.total, one.squares))


sizes = st.sampled_from([0.0, 1e-300, 1e-150, 1.0, 1e150, 1e300])


@given(seed=st.integers(0, 2**32 - 1), scales=st.tuples(sizes, sizes, sizes))
@settings(deadline=None, max_examples=60)
def test_parts_add_up_at_any_scale(seed, scales):
    rng = np.random.default_rng(seed)
    parts = [data(rng, scale) for scale in scales]
    first, second, third = (statistics(part) for part in parts)
    added, whole = first + second + third, statistics(np.vstack(parts))
    assert (added.size, added.missing, added.positive) == (whole.size, whole.missing, whole.positive)
    assert added.largest == whole.largest
    assert_allclose((added.total, added.squares), (whole.total, whole.squares), rtol=1e-12)
    if whole.positive:
        relative = np.nan_to_num(np.vstack(parts)) / whole.unit
        assert_allclose(whole.rms, np.sqrt((relative**2).sum() / whole.positive), rtol=1e-12)
        assert whole.unit == 1 or 1 <= whole.largest / whole.unit < 2
