from typing import Any

import numpy as np
import pytest

from rectifact.core.lazy import evaluate, is_lazy, summed

da = pytest.importorskip("dask.array")


def test_all_lazy_values_take_one_computation(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    import dask

    X = da.from_array(np.arange(12.0).reshape(6, 2), chunks=(2, 2))
    calls, compute = [], dask.compute
    monkeypatch.setattr(dask, "compute", lambda *values: calls.append(values) or compute(*values))
    total, gram, number = evaluate(X.sum(), X.T @ X, 3)
    assert len(calls) == 1
    assert (total, number) == (66, 3)
    np.testing.assert_array_equal(gram, np.arange(12.0).reshape(6, 2).T @ np.arange(12.0).reshape(6, 2))


def test_values_that_are_there_are_left_alone() -> None:
    X = np.ones((2, 2))
    assert evaluate(X, 1.0)[0] is X
    assert not is_lazy(X)


def test_parameters_may_be_large(client: Any) -> None:
    """Within the graph they can be sent again; a warning of dask's, an error in these tests, would be in the way."""
    X, B = da.ones((4, 2), chunks=(2, 2)), np.random.default_rng(0).random(3_000_000)
    (found,) = summed(_sum_of_both, X, B)
    assert found == pytest.approx(8 + 2 * B.sum())


def _sum_of_both(X: Any, B: Any) -> tuple[float]:
    return (X.sum() + B.sum(),)
