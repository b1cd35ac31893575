"""How close a result comes to the truth, where the truth is known."""

from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import normalized_mutual_info_score
from sklearn.metrics.cluster import contingency_matrix

from rectifact.core.errors import InputError

__all__ = [
    "calibration_error",
    "cluster_accuracy",
    "confusion_mse",
    "expected_error",
    "log_loss",
    "nmi",
    "npmi_coherence",
    "part_errors",
    "purity",
    "root_mean_squared_error",
    "sparse_factor",
    "total_correlation_error",
]


def part_errors(components: ArrayLike, truth: ArrayLike) -> NDArray[np.float64]:
    """Distance of each true part to the nearest found one, free scale and sign, in units of its own norm.

    Parameters
    ----------
    components : array of shape (n_components, n_features), found parts in rows
    truth : array of shape (n_parts, n_features), true parts in rows

    Examples
    --------
    >>> part_errors([[0, 2], [3, 0]], [[5, 0], [0, 1]])
    array([0., 0.])
    """
    found, truth = _same_features(components, truth)
    norms = np.linalg.norm(truth, axis=1)
    return _distances(found, truth) / np.where(norms > 0, norms, 1)


def total_correlation_error(components: ArrayLike, truth: ArrayLike) -> float:
    """Sum over the true parts of their distance to the nearest found part, free scale (Li and Liang 2017, section 7).

    Parameters
    ----------
    components : array of shape (n_components, n_features), found parts in rows
    truth : array of shape (n_parts, n_features), true parts in rows

    Examples
    --------
    >>> total_correlation_error([[0, 2], [3, 0]], [[1, 0], [0, 1]])
    0.0
    """
    return float(np.sum(_distances(*_same_features(components, truth))))


def _same_features(components: ArrayLike, truth: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    found, true = np.asarray(components, dtype=float), np.asarray(truth, dtype=float)
    if found.ndim != 2 or true.ndim != 2 or found.shape[1] != true.shape[1] or not len(found):
        raise InputError(f"Parts are rows with the same features; got shapes {found.shape} and {true.shape}.")
    return found, true


def _distances(found: NDArray[np.float64], truth: NDArray[np.float64]) -> NDArray[np.float64]:
    norms = np.linalg.norm(found, axis=1, keepdims=True)
    unit = found / np.where(norms > 0, norms, 1)
    # The residual itself, not sqrt(|a|^2 - (a.u)^2): the difference of squares would drown errors below 1e-8.
    return np.array([np.linalg.norm(part - (unit @ part)[:, None] * unit, axis=1).min() for part in truth])


def npmi_coherence(components: ArrayLike, X: Any, *, n_top: int = 10) -> NDArray[np.float64]:
    """Coherence of each part: mean normalised pointwise mutual information of its ``n_top`` largest features.

    1 where these always occur together in a sample, 0 where they are independent, -1 where they never do.

    Parameters
    ----------
    components : array of shape (n_components, n_features)
    X : array or sparse array of shape (n_samples, n_features); a feature occurs in a sample where it is not zero
    n_top : number of features compared

    Examples
    --------
    >>> npmi_coherence([[1, 1, 0], [0, 1, 1]], [[1, 1, 0], [2, 3, 0], [0, 0, 1], [0, 0, 0]], n_top=2)
    array([ 1., -1.])
    """
    parts, occurs = np.asarray(components, dtype=float), sp.csc_array(sp.csr_array(X) != 0, dtype=float)
    if parts.ndim != 2 or parts.shape[1] != occurs.shape[1]:
        raise InputError(f"Parts {parts.shape} and samples {occurs.shape} need the same features, in columns.")
    n_samples = occurs.shape[0]
    upper = np.triu_indices(min(n_top, parts.shape[1]), 1)
    scores = []
    for part in parts:
        top = occurs[:, np.argsort(-part, kind="stable")[:n_top]]
        together = (top.T @ top).toarray() / n_samples
        joint, alone = together[upper], np.diag(together)
        expected = (alone[:, None] * alone[None, :])[upper]
        with np.errstate(divide="ignore", invalid="ignore"):
            npmi = np.log(joint / expected) / -np.log(joint)
        scores.append(np.mean(np.select([joint <= 0, joint >= 1], [-1.0, 1.0], npmi)))
    return np.array(scores)


def _contingency(truth: ArrayLike, found: ArrayLike) -> NDArray[np.int64]:
    truth, found = np.asarray(truth), np.asarray(found)
    if truth.shape != found.shape or truth.ndim != 1 or not truth.size:
        raise InputError(
            f"Two label vectors of equal length are compared; got shapes {truth.shape} and {found.shape}. "
            "Align them first."
        )
    return contingency_matrix(truth, found)


def cluster_accuracy(truth: ArrayLike, found: ArrayLike) -> float:
    """Share of points labelled right under the best one-to-one match of clusters to classes (Hungarian).

    Examples
    --------
    >>> cluster_accuracy(["a", "a", "b", "b"], [1, 1, 0, 1])
    0.75
    """
    counts = _contingency(truth, found)
    rows, columns = linear_sum_assignment(counts, maximize=True)
    return float(counts[rows, columns].sum() / counts.sum())


def purity(truth: ArrayLike, found: ArrayLike) -> float:
    """Share of points that belong to the commonest class of their cluster.

    Examples
    --------
    >>> purity([0, 0, 1, 1], [0, 1, 2, 3])
    1.0
    """
    counts = _contingency(truth, found)
    return float(counts.max(axis=0).sum() / counts.sum())


def nmi(truth: ArrayLike, found: ArrayLike, *, normalize: Literal["arithmetic", "geometric"] = "arithmetic") -> float:
    """Mutual information over the arithmetic or the geometric mean of the two entropies; papers use both.

    Examples
    --------
    >>> nmi([0, 0, 1, 1], [1, 1, 0, 0], normalize="geometric")
    1.0
    """
    _contingency(truth, found)
    return float(normalized_mutual_info_score(truth, found, average_method=normalize))


def sparse_factor(U: ArrayLike) -> float:
    """Share of entries above a hundredth of the mean, in size: 1 is dense (Li, Kong and Lin 2022, section 4.1).

    Examples
    --------
    >>> sparse_factor([[1.0, 0.0], [0.001, 1.0]])
    0.5
    """
    size = np.abs(np.asarray(U, dtype=float))
    return float((size > 0.01 * size.mean()).mean()) if size.size else 0.0


def confusion_mse(found: ArrayLike, truth: ArrayLike) -> float:
    """Mean squared error of confusion matrices under the best common permutation of the true classes.

    Parameters
    ----------
    found, truth : arrays of shape (n_workers, n_observed, n_true)

    Examples
    --------
    >>> import numpy as np
    >>> confusion_mse(np.eye(2)[None, :, ::-1], np.eye(2)[None])
    0.0
    """
    found, truth = _same_shape(found, truth)
    cost = ((found[:, :, :, None] - truth[:, :, None, :]) ** 2).sum(axis=(0, 1))
    return float(cost[linear_sum_assignment(cost)].sum() / truth.size)


def _same_shape(found: ArrayLike, truth: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    a, b = np.asarray(found, dtype=float), np.asarray(truth, dtype=float)
    if a.shape != b.shape or not a.size:
        raise InputError(f"Two arrays of the same shape are compared; got {a.shape} and {b.shape}. Align them first.")
    return a, b


def _probabilities_and_codes(probas: ArrayLike, truth: ArrayLike) -> tuple[NDArray[Any], NDArray[Any]]:
    P, codes = np.asarray(probas, dtype=float), np.asarray(truth)
    if P.ndim != 2 or codes.shape != P.shape[:1] or not codes.size or codes.dtype.kind not in "iu":
        raise InputError(
            f"Needed are probabilities (n, n_classes) and one integer class code per row; got shapes {P.shape} "
            f"and {codes.shape} ({codes.dtype}). Code the classes by their column first."
        )
    return P, codes


def expected_error(probas: ArrayLike, truth: ArrayLike) -> float:
    """Share of rows whose most probable class is wrong; a tie of m classes counts as 1/m right.

    ``truth`` holds column numbers of ``probas``; a code outside of them, such as -1 for a class that
    nobody could have answered, is always wrong.

    Examples
    --------
    >>> expected_error([[0.5, 0.5], [0.9, 0.1]], [0, 1])
    0.75
    """
    P, codes = _probabilities_and_codes(probas, truth)
    top = np.isclose(P, P.max(axis=1, keepdims=True), rtol=1e-9, atol=0)
    known = (codes >= 0) & (codes < P.shape[1])
    right = top[np.arange(len(codes)), np.where(known, codes, 0)] * known / top.sum(axis=1)
    return float(1 - right.mean())


def log_loss(probas: ArrayLike, truth: ArrayLike, *, floor: float = 1e-15) -> float:
    """Mean negative log-probability of the true class, in nats; less than ``floor``, or an unknown class, counts as it.

    Examples
    --------
    >>> round(log_loss([[0.5, 0.5], [1.0, 0.0]], [0, 0]), 4)
    0.3466
    """
    P, codes = _probabilities_and_codes(probas, truth)
    known = (codes >= 0) & (codes < P.shape[1])
    right = np.where(known, P[np.arange(len(codes)), np.where(known, codes, 0)], 0)
    return float(-np.log(np.maximum(right, floor)).mean())


def calibration_error(probas: ArrayLike, truth: ArrayLike, *, n_bins: int = 10) -> float:
    """Expected calibration error: mean gap of confidence and accuracy over equal-width bins of confidence.

    Examples
    --------
    >>> calibration_error([[0.75, 0.25]] * 4, [0, 0, 0, 1])
    0.0
    """
    P, codes = _probabilities_and_codes(probas, truth)
    if n_bins < 1:
        raise InputError(f"n_bins={n_bins} must be at least 1.")
    confidence, right = P.max(axis=1), P.argmax(axis=1) == codes
    bins = np.minimum((confidence * n_bins).astype(int), n_bins - 1)
    return float(np.abs(np.bincount(bins, weights=confidence - right)).sum() / len(codes))


def root_mean_squared_error(found: ArrayLike, truth: ArrayLike) -> float:
    """Root of the mean squared difference over all entries.

    Examples
    --------
    >>> root_mean_squared_error([[3.0, 3.0]], [[0.0, 0.0]])
    3.0
    """
    found, truth = _same_shape(found, truth)
    difference = found - truth
    return float(np.sqrt(np.mean(difference**2)))
