"""What to do with an embedding: the best unseen columns of each row, positions, and what is most like a given item."""

from collections.abc import Callable
from difflib import get_close_matches
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils.extmath import randomized_svd

from rectifact.core.errors import InputError
from rectifact.core.sparse import dense_rows

TILE = 1 << 22
"""Entries of a dense tile of predictions."""

WIDE = 64
"""Axes of the positions that are compared to find what is alike."""

MOST_ROWS = 2000
"""Rows of the fit whose predictions give the axes, fewer where there are many columns."""

CHANCE = 10
"""Multiple of the share of variance that as many dimensions explain by chance at which a column is trusted by half."""

N_CLOSE = 3
"""Names that are suggested for one that is unknown."""


def best_unseen(
    X: Any, A: Any, predict: Callable[[Any], Any], n: int, exclude: Any = None
) -> tuple[NDArray[Any], NDArray[Any]]:
    """The ``n`` columns with the highest predictions in each row, among those that are not positive in X.

    Parameters
    ----------
    X : array or csr_array of shape (n_rows, n_columns)
        On the host.
    A : array of shape (n_rows, rank)
    predict : callable
        Predictions for some rows of A.
    n : int
    exclude : array or sparse array of the shape of X, or None
        Where it is positive, an entry does not count either.

    Returns
    -------
    columns : array of int of shape (n_rows, n)
        The best first; -1 where a row has fewer.
    values : array of shape (n_rows, n)
        NaN where a row has fewer.
    """
    n = min(n, X.shape[1])
    columns, values = np.full((X.shape[0], n), -1), np.full((X.shape[0], n), np.nan)
    step = max(1, TILE // X.shape[1])
    for i in range(0, X.shape[0], step):
        rows = slice(i, min(i + step, X.shape[0]))
        seen = dense_rows(X, rows) > 0
        seen = seen if exclude is None else seen | (dense_rows(exclude, rows) > 0)
        found = np.where(seen, -np.inf, np.asarray(predict(A[rows]), dtype=np.float64))
        best = np.argpartition(-found, n - 1, axis=1)[:, :n] if n < X.shape[1] else np.argsort(-found, axis=1)
        best = np.take_along_axis(best, np.argsort(-np.take_along_axis(found, best, 1), axis=1, kind="stable"), 1)
        score = np.take_along_axis(found, best, 1)
        columns[rows], values[rows] = np.where(np.isinf(score), -1, best), np.where(np.isinf(score), np.nan, score)
    return columns, values


def axes_of_predictions(
    A: Any, predict: Callable[[Any], Any], n_columns: int, n_axes: int
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Principal axes of the predictions for rows evenly chosen from A.

    Returns
    -------
    axes : array of shape (at most n_axes, n_columns)
        Orthonormal, the largest spread first, each with its largest entry positive.
    spreads : array of shape (at most n_axes,)
        Standard deviations along them.
    centre : array of shape (n_columns,)
        Mean prediction.
    """
    n_rows = min(len(A), MOST_ROWS, max(4 * n_axes, TILE // n_columns))
    P = np.asarray(predict(A[np.unique(np.linspace(0, len(A) - 1, n_rows).astype(int))]), dtype=np.float64)
    centre = P.mean(axis=0)
    _, spreads, axes = randomized_svd(P - centre, min(n_axes, *P.shape), n_iter=7, random_state=0)
    largest = np.take_along_axis(axes, np.abs(axes).argmax(axis=1)[:, None], 1)
    return axes * np.where(largest < 0, -1.0, 1.0), spreads / len(P) ** 0.5, centre


def between(
    X: Any, A: Any, predict: Callable[[Any], Any], axes: NDArray[Any], centre: NDArray[Any], unit: float
) -> NDArray[Any]:
    """Coordinates of points halfway between the rows of X, which has ``unit``, and what is predicted for them.

    Missing entries are those predicted; with X None, all are.
    """
    found = np.empty((len(A), len(axes)))
    step = max(1, TILE // axes.shape[1])
    for i in range(0, len(A), step):
        rows = slice(i, min(i + step, len(A)))
        P = np.asarray(predict(A[rows]), dtype=np.float64)
        if X is not None:
            known = unit * np.asarray(dense_rows(X, rows), dtype=np.float64)
            P = (P + np.where(np.isnan(known), P, known)) / 2
        found[rows] = (P - centre) @ axes.T
    return found


def directions(vectors: NDArray[Any]) -> NDArray[Any]:
    """Vectors of length 1, whose products are cosines; a vector of zeros stays."""
    norms = np.linalg.norm(vectors, axis=1)
    return np.asarray(vectors / np.where(norms > 0, norms, 1.0)[:, None])


def reliability(A: Any, predict: Callable[[Any], Any], noise: Callable[[Any], Any], n_columns: int) -> NDArray[Any]:
    """How far the profile of each column can be trusted, from 0 to 1.

    A column of noise has a profile, too, as alike to that of others as it happens to be. The share of the variance that
    the model explains is compared with what a fit of so many dimensions explains by chance.

    Parameters
    ----------
    A : array of shape (n_rows, rank)
        Embedding.
    predict, noise : callables
        Expectation and variance of the data for some rows of A.
    n_columns : int
    """
    n, rank = A.shape
    rows = A[np.unique(np.linspace(0, n - 1, min(n, MOST_ROWS, max(1, TILE // n_columns))).astype(int))]
    explained = np.asarray(predict(rows), dtype=np.float64).var(axis=0)
    total = explained + np.asarray(noise(rows), dtype=np.float64).mean(axis=0)
    share = explained / np.where(total > 0, total, 1.0)
    return np.asarray(share / (share + CHANCE * rank / n))


def most_similar(units: NDArray[Any], items: NDArray[Any], n: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """The ``n`` rows of ``units`` with the largest product with each of the rows ``items``, and the products."""
    return nearest(units[items], units, min(n, len(units) - 1), items)


def nearest(
    vectors: NDArray[Any], units: NDArray[Any], n: int, own: NDArray[Any] | None = None
) -> tuple[NDArray[Any], NDArray[Any]]:
    """The ``n`` rows of ``units`` with the largest product with each vector, and the products.

    ``own`` are the rows of the vectors themselves, which do not count, if they have one.
    """
    n = min(n, len(units))
    best, cosines = np.empty((len(vectors), n), dtype=np.int64), np.empty((len(vectors), n))
    step = max(1, TILE // len(units))
    for i in range(0, len(vectors), step):
        found = vectors[i : i + step] @ units.T
        if own is not None:
            found[np.arange(len(found)), own[i : i + step]] = -np.inf
        best[i : i + step] = np.argsort(-found, axis=1, kind="stable")[:, :n]
        cosines[i : i + step] = np.take_along_axis(found, best[i : i + step], 1)
    return best, cosines


def long_table(first: str, names: Any, second: str, others: NDArray[Any], what: str, values: NDArray[Any]) -> Any:
    """One line for each pair: a name, the rank of the other one from 1, its name, and a value; NaN is left out."""
    n = values.shape[1]
    places = np.tile(np.arange(1, n + 1), len(values))
    table = {first: np.repeat(names, n), "rank": places, second: others.ravel(), what: values.ravel()}
    return pd.DataFrame(table)[np.isfinite(values.ravel())].reset_index(drop=True)


def places_of(items: Any, names: Any, n: int, what: str, others: Any = None) -> NDArray[np.int64]:
    """Numbers of rows or columns that are given by name, or by number where they have no names.

    ``others`` are the names along the other axis, for the error.
    """
    items = [items] if isinstance(items, str) or not np.ndim(items) else list(items)
    known = {name: place for place, name in enumerate(range(n) if names is None else names)}
    unknown = [item for item in items if item not in known]
    if unknown:
        asked, first = (
            name.item() if isinstance(name, np.generic) else name for name in (unknown[0], next(iter(known)))
        )
        remedy = f"Give names such as {first!r}." if names is not None else f"Give numbers from 0 to {n - 1}, or names."
        close = get_close_matches(str(asked), [str(name) for name in known], N_CLOSE)
        other = "column" if what == "row" else "row"
        if others is not None and asked in set(others):
            remedy = f"It is the name of a {other}: add axis='{other}s'."
        elif names is not None and close:
            remedy = f"Did you mean {' or '.join(map(repr, close))}?"
        raise InputError(f"{asked!r} is not the name of a {what}.", remedy, option="items=")
    return np.array([known[item] for item in items], dtype=np.int64)
