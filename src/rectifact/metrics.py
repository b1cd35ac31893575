"""Scores of results, most of them against a known truth, for the benchmarks, the reports and users."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import normalized_mutual_info_score
from sklearn.metrics.cluster import contingency_matrix

from rectifact.core.errors import InputError


def part_errors(components: ArrayLike, truth: ArrayLike) -> NDArray[np.float64]:
    """Distance from each true part to the nearest estimated one, up to scale and sign, relative to its norm.

    Parameters
    ----------
    components : array of shape (n_components, n_features)
        Estimated parts in rows.
    truth : array of shape (n_parts, n_features)
        True parts in rows.

    Returns
    -------
    array of shape (n_parts,)

    Examples
    --------
    >>> part_errors([[0, 2], [3, 0]], [[5, 0], [0, 1]])
    array([0., 0.])
    """
    found, truth = _same_features(components, truth)
    norms = np.linalg.norm(truth, axis=1)
    return _distances(found, truth) / np.where(norms > 0, norms, 1)


def total_correlation_error(components: ArrayLike, truth: ArrayLike) -> float:
    """Sum of the distances from each true part to the nearest estimated one, up to scale.

    As in section 7 of Li and Liang (ICML 2017).

    Parameters
    ----------
    components : array of shape (n_components, n_features)
        Estimated parts in rows.
    truth : array of shape (n_parts, n_features)
        True parts in rows.

    Returns
    -------
    float

    Examples
    --------
    >>> total_correlation_error([[0, 2], [3, 0]], [[1, 0], [0, 1]])
    0.0
    """
    return float(np.sum(_distances(*_same_features(components, truth))))


def _same_features(components: ArrayLike, truth: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    found, true = np.asarray(components, dtype=float), np.asarray(truth, dtype=float)
    if found.ndim != 2 or true.ndim != 2 or found.shape[1] != true.shape[1] or not len(found):
        raise InputError(f"Parts must be rows with the same features; got shapes {found.shape} and {true.shape}.")
    return found, true


def _distances(found: NDArray[np.float64], truth: NDArray[np.float64]) -> NDArray[np.float64]:
    norms = np.linalg.norm(found, axis=1, keepdims=True)
    unit = found / np.where(norms > 0, norms, 1)
    # The residual itself, not sqrt(|a|^2 - (a.u)^2): the difference of squares would lose errors below 1e-8.
    return np.array([np.linalg.norm(part - (unit @ part)[:, None] * unit, axis=1).min() for part in truth])


@dataclass(frozen=True)
class Mixing:
    """Estimated parts in terms of the true ones: ``components = (diag(own) + others) @ truth + outside``.

    Attributes
    ----------
    own : array of shape (n_components,)
        How much of its true part each estimated one has.
    others : array of shape (n_components, n_components)
        How much of all other true parts it has; zero on the diagonal.
    outside : array of shape (n_components, n_features)
        What no combination of the true parts can be.
    """

    own: NDArray[np.float64]
    others: NDArray[np.float64]
    outside: NDArray[np.float64]


def mixing(components: ArrayLike, truth: ArrayLike) -> Mixing:
    """How far parts are from the true ones, in the terms of two papers: ``A = A* (Sigma + E) + N``.

    These are A3 of Li, Liang and Risteski (NIPS 2016) and Definitions 2 and 4 of Li and Liang (ICML 2017); here parts
    are rows, so that ``own`` is the diagonal of Sigma, ``others`` is E' and ``outside`` is N'.

    Parameters
    ----------
    components : array of shape (n_components, n_features)
        Estimated parts in rows, in the order of the true ones.
    truth : array of shape (n_components, n_features)
        True parts in rows, which must be linearly independent.

    Returns
    -------
    Mixing

    Examples
    --------
    >>> found = mixing([[0.9, 0.2, 0.0], [0.0, 1.0, 0.1]], [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    >>> found.own, float(found.others[0, 1]), float(found.outside[1, 2])
    (array([0.9, 1. ]), 0.2, 0.1)
    """
    found, true = _same_features(components, truth)
    if found.shape != true.shape or np.linalg.matrix_rank(true) < len(true):
        raise InputError(
            f"As many true parts as estimated ones are needed, and independent; got {found.shape} and {true.shape}."
        )
    shares = np.linalg.lstsq(true.T, found.T, rcond=None)[0].T
    return Mixing(np.diag(shares).copy(), shares - np.diag(np.diag(shares)), found - shares @ true)


def npmi_coherence(components: ArrayLike, X: Any, *, n_top: int = 10) -> NDArray[np.float64]:
    """Coherence of each part: mean normalised pointwise mutual information of its ``n_top`` largest features.

    It is 1 if these always occur together in a sample, 0 if they are independent, and -1 if they never do. Features
    that a part does not have, below a millionth of its largest, are not compared, if it has at least two.

    Parameters
    ----------
    components : array of shape (n_components, n_features)
    X : array or sparse array of shape (n_samples, n_features)
        A feature occurs in a sample if its entry is not zero.
    n_top : int, default 10
        Number of features compared.

    Returns
    -------
    array of shape (n_components,)

    Examples
    --------
    >>> npmi_coherence([[1, 1, 0], [0, 1, 1]], [[1, 1, 0], [2, 3, 0], [0, 0, 1], [0, 0, 0]], n_top=2)
    array([ 1., -1.])
    """
    parts, occurs = np.asarray(components, dtype=float), sp.csc_array(sp.csr_array(X) != 0, dtype=float)
    if parts.ndim != 2 or parts.shape[1] != occurs.shape[1]:
        raise InputError(f"Parts and samples need the same features, in columns; got {parts.shape} and {occurs.shape}.")
    n_samples = occurs.shape[0]
    scores = []
    for part in parts:
        largest = np.argsort(-part, kind="stable")[:n_top]
        own = largest[part[largest] > 1e-6 * max(part[largest[0]], 0)]
        top = occurs[:, own if len(own) > 1 else largest]
        upper = np.triu_indices(top.shape[1], 1)
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
            f"Two vectors of labels of equal length are needed; got shapes {truth.shape} and {found.shape}.",
            "Align them first.",
        )
    return contingency_matrix(truth, found)


def cluster_accuracy(truth: ArrayLike, found: ArrayLike) -> float:
    """Share of points with the right label under the best one-to-one matching of clusters to classes.

    Examples
    --------
    >>> cluster_accuracy(["a", "a", "b", "b"], [1, 1, 0, 1])
    0.75
    """
    counts = _contingency(truth, found)
    rows, columns = linear_sum_assignment(counts, maximize=True)
    return float(counts[rows, columns].sum() / counts.sum())


def purity(truth: ArrayLike, found: ArrayLike) -> float:
    """Share of points that belong to the most frequent class of their cluster.

    Examples
    --------
    >>> purity([0, 0, 1, 1], [0, 1, 2, 3])
    1.0
    """
    counts = _contingency(truth, found)
    return float(counts.max(axis=0).sum() / counts.sum())


def nmi(truth: ArrayLike, found: ArrayLike, *, normalize: Literal["arithmetic", "geometric"] = "arithmetic") -> float:
    """Mutual information divided by the arithmetic or geometric mean of the two entropies; papers use both.

    Examples
    --------
    >>> nmi([0, 0, 1, 1], [1, 1, 0, 0], normalize="geometric")
    1.0
    """
    _contingency(truth, found)
    return float(normalized_mutual_info_score(truth, found, average_method=normalize))


def sparse_factor(U: ArrayLike) -> float:
    """Share of entries larger in size than a hundredth of the mean; 1 is dense (Li, Kong and Lin 2022, section 4.1).

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
    found : array of shape (n_workers, n_observed, n_true)
    truth : array of shape (n_workers, n_observed, n_true)

    Returns
    -------
    float

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
        raise InputError(f"Two arrays of the same shape are needed; got {a.shape} and {b.shape}.", "Align them first.")
    return a, b


def _probabilities_and_codes(probas: ArrayLike, truth: ArrayLike) -> tuple[NDArray[Any], NDArray[Any]]:
    P, codes = np.asarray(probas, dtype=float), np.asarray(truth)
    if P.ndim != 2 or codes.shape != P.shape[:1] or not codes.size or codes.dtype.kind not in "iu":
        raise InputError(
            f"Probabilities (n, n_classes) and one integer class code per row are needed; got shapes {P.shape} "
            f"and {codes.shape} ({codes.dtype}).",
            "Code the classes by their column first.",
        )
    return P, codes


def _at_truth(values: NDArray[Any], codes: NDArray[Any]) -> NDArray[Any]:
    """What each row has in the column of its true class; 0 if there is no such column."""
    known = (codes >= 0) & (codes < values.shape[1])
    return np.where(known, values[np.arange(len(codes)), np.where(known, codes, 0)], 0)


def _right(P: NDArray[Any], codes: NDArray[Any]) -> NDArray[Any]:
    """1 for each row whose most probable class is right, 1/m where it is one of m classes, 0 elsewhere."""
    top = np.isclose(P, P.max(axis=1, keepdims=True), rtol=1e-9, atol=0)
    return _at_truth(top, codes) / top.sum(axis=1)


def expected_error(probas: ArrayLike, truth: ArrayLike) -> float:
    """Share of rows whose most probable class is wrong; a tie of m classes counts as 1/m right.

    ``truth`` holds column numbers of ``probas``. Any other code, such as -1 for a class that nobody could have
    answered, counts as wrong.

    Examples
    --------
    >>> expected_error([[0.5, 0.5], [0.9, 0.1]], [0, 1])
    0.75
    """
    return float(1 - _right(*_probabilities_and_codes(probas, truth)).mean())


def log_loss(probas: ArrayLike, truth: ArrayLike, *, floor: float = 1e-15) -> float:
    """Mean negative log-probability of the true class, in nats; probabilities below ``floor`` are raised to it.

    Examples
    --------
    >>> round(log_loss([[0.5, 0.5], [1.0, 0.0]], [0, 0]), 4)
    0.3466
    """
    P, codes = _probabilities_and_codes(probas, truth)
    return float(-np.log(np.maximum(_at_truth(P, codes), floor)).mean())


def calibration_error(probas: ArrayLike, truth: ArrayLike, *, n_bins: int = 10) -> float:
    """Expected calibration error: mean gap between confidence and accuracy over equal-width bins of confidence.

    A tie of m classes counts as 1/m right, as in :func:`expected_error`.

    Examples
    --------
    >>> calibration_error([[0.75, 0.25]] * 4, [0, 0, 0, 1])
    0.0
    """
    P, codes = _probabilities_and_codes(probas, truth)
    if n_bins < 1:
        raise InputError(f"n_bins={n_bins} must be at least 1.", option="n_bins")
    confidence, right = P.max(axis=1), _right(P, codes)
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
