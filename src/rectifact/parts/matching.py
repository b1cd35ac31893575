"""Parts of two fits side by side: which of them belong together, and how far they are the same."""

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from rectifact.core.arrays import to_csr, to_host
from rectifact.core.errors import InputError
from rectifact.core.estimator import quiet_copy
from rectifact.core.operand import Operand, is_chunked, operand
from rectifact.core.sparse import is_sparse

ROUNDING = 1e-10
"""Squared norm, of 1, below which a part has nothing that the others have not."""


def parts_of(estimator: Any, X: Operand, rows: NDArray[Any], options: dict[str, Any]) -> NDArray[Any]:
    """Parts that a copy of the estimator, with these options, finds in some samples; on the host.

    Parts of zeros where it finds none.

    Parameters
    ----------
    estimator : PartsTransformer
    X : Operand of shape (n_samples, n_features)
    rows : array of bool of shape (n_samples,), or array of int
        The samples; numbers may repeat, and are for data in memory.
    options : dict
    """
    if is_sparse(X.data) and not is_chunked(X.data):
        X = operand(to_csr(X.data))  # matrices on a device have no rows to pick
    picked = X.where(X.split(rows))[0] if rows.dtype == bool else operand(X.data[rows])
    try:
        with warnings.catch_warnings(action="ignore"):
            model = quiet_copy(estimator, **options).fit(picked.native)
    except InputError:  # all samples could be fitted, and these cannot: they may be empty
        return np.zeros((estimator.n_components, X.shape[1]))
    return np.asarray(to_host(model.components_), dtype=float)


def fitted_to(estimator: Any, X: Operand, options: dict[str, Any]) -> Any:
    """A copy of the estimator, with these options, fitted to all samples without a word."""
    with warnings.catch_warnings(action="ignore"):
        return quiet_copy(estimator, **options).fit(X.native)


def partners(one: NDArray[Any], other: NDArray[Any]) -> NDArray[Any]:
    """For each part of ``one`` the part of ``other`` that it is matched with."""
    return np.asarray(linear_sum_assignment(-_all_cosines(one, other))[1])


def matched_cosines(one: NDArray[Any], other: NDArray[Any]) -> NDArray[Any]:
    """Cosines of matched parts of two fits, without what all parts have in common, 0 for parts of zeros.

    Spectra are all alike: what tells parts apart is what is left without their mean.

    Examples
    --------
    >>> H = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    >>> matched_cosines(H, 2 * H[::-1]).round(3)
    array([1., 1., 1.])
    """
    return _cosines(one, other[partners(one, other)])


def agreement(one: NDArray[Any], other: NDArray[Any]) -> NDArray[Any]:
    """How far parts of two halves of the samples are the same, row by row: 1 less the error that lets expect.

    Errors are relative to the norm of a part. The variance of a part from all samples is half of that from one half,
    and a quarter of that of the difference between the halves: so the error to expect is half of their distance. As
    that is small between any two spectra, the figure never exceeds the cosine of what tells parts apart, nor is it
    below 0, where they have nothing in common.

    Examples
    --------
    >>> H = np.eye(3)
    >>> agreement(H, H + 0.1 * np.roll(H, 1, axis=1)).round(2)
    array([0.95, 0.95, 0.95])
    >>> agreement(H, H[[0, 2, 1]]).round(2)
    array([1., 0., 0.])
    """
    distance = np.linalg.norm(_unit(one) - _unit(other), axis=1)
    return np.maximum(np.minimum(1 - distance / 2, _cosines(one, other)), 0.0)


def agreement_apart(one: NDArray[Any], other: NDArray[Any]) -> NDArray[Any]:
    """The same, but no more than that of what each part has and the others have not.

    Where chance has divided one part into two, these are alike, and fits that start from them stay alike.

    Examples
    --------
    >>> ends = np.eye(7)
    >>> one, other = (np.stack([*ends[:5], 2 * ends[4] + ends[i]]) for i in (5, 6))
    >>> agreement(one, other)[-1].round(2), agreement_apart(one, other)[-1].round(2)
    (np.float64(0.68), np.float64(0.29))
    """
    return np.minimum(agreement(one, other), 1 - np.sqrt(np.maximum(2 - 2 * _cosines_apart(one, other), 0)) / 2)


def _cosines_apart(one: NDArray[Any], other: NDArray[Any]) -> NDArray[Any]:
    """Cosines of the parts of two fits, row by row, at right angles to the means of all other rows."""
    a, b = _unit(one), _unit(other)
    mean = (a + b) / 2
    gram, with_a, with_b = mean @ mean.T, mean @ a.T, mean @ b.T
    found = np.zeros(len(a))
    for i in range(len(a)):
        rest = np.delete(np.arange(len(a)), i)
        inverse = np.linalg.pinv(gram[np.ix_(rest, rest)], hermitian=True)
        aa, ab, bb = (
            x[i] @ y[i] - with_x[rest, i] @ inverse @ with_y[rest, i]
            for x, y, with_x, with_y in ((a, a, with_a, with_a), (a, b, with_a, with_b), (b, b, with_b, with_b))
        )
        found[i] = ab / max(aa * bb, 1e-300) ** 0.5 if min(aa, bb) > ROUNDING else 0.0
    return found


def _cosines(one: NDArray[Any], other: NDArray[Any]) -> NDArray[Any]:
    return np.diagonal(_all_cosines(one, other)).copy()


def _all_cosines(one: NDArray[Any], other: NDArray[Any]) -> NDArray[Any]:
    both = _unit(np.concatenate([one, other]))
    empty = ~both.any(axis=1)
    if len(one) > 1:
        both = _unit(both - both[~empty].mean(axis=0)) if not empty.all() else both
    both[empty] = 0
    return both[: len(one)] @ both[len(one) :].T


def _unit(rows: NDArray[Any]) -> NDArray[Any]:
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-300)
