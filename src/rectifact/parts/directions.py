"""Directions of samples: how many predict features they have not seen, and how many stand out from the noise.

References
----------
[1] A. B. Owen and P. O. Perry, "Bi-cross-validation of the SVD and the nonnegative matrix factorization", Annals of
Applied Statistics 3(2), 2009.
[2] D. Hong, Y. Sheng and E. Dobriban, "Selecting the number of components in PCA via random signflips", 2020.
[3] E. Dobriban and A. B. Owen, "Deterministic parallel analysis: an improved method for selecting factors and principal
components", Journal of the Royal Statistical Society B 81(1), 2019: directions are taken off one by one.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.sparse.linalg import svds

from rectifact.core.operand import operand
from rectifact.core.threads import one_blas_thread
from rectifact.parts.fitting import scaled_features
from rectifact.parts.noise import noise_law
from rectifact.parts.samples import choose_norm, normalized

FOLDS = 8
"""Groups of features, each predicted from the others."""

RANK_OF_NOISE = 16
"""Directions that are not noise, for the purpose of measuring how the noise grows with the mean."""

EXACT = 1e-10
"""Share of the largest eigenvalue below which there is only rounding."""

SEEN = 0.01
"""Share of a direction, in squares, that must be in the features seen to predict those hidden: with less, what is seen
of it is noise, which the regression would blow up, as for a direction that is one word."""

FLIPS, SPREAD = 8, 3.5
"""Draws of signs that give the edge of the noise, and standard deviations above their mean where it is: with so few
draws, noise alone exceeds it in one of a hundred matrices (Student's t)."""


def even_noise(block: NDArray[Any]) -> NDArray[Any]:
    """Samples and features divided so that all entries have about the same noise: counts by the roots of their means.

    Noise that is larger in some entries would be taken for something that several samples share.
    """
    X, norm = operand(block), choose_norm(block)
    law = noise_law(X, max(1, min(RANK_OF_NOISE, min(block.shape) // 4)))
    samples, _ = normalized(X, norm, law.row_power)
    scaled = scaled_features(samples, law.entry_power)[0] if norm == "l1" else samples
    return np.asarray(scaled.data)


def directions_above_noise(X: NDArray[Any], least: int, most: int, rng: np.random.Generator) -> tuple[int, float]:
    """How many directions stand out from the noise, and how far the last of them does, as a factor.

    A direction stands out if it is larger than any of what it and later ones leave, with random signs [2, 3]: signs
    change nothing about noise, and undo whatever samples have in common.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        With noise that is even and independent.
    least, most : int
        Fewest directions, and most. Where even the last one stands out, it is not the noise that ends them: ``least``.
    rng : Generator
        Draws the signs.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((200, 3)) @ rng.random((3, 40)) + 0.1 * rng.standard_normal((200, 40))
    >>> directions_above_noise(X, 1, 20, rng)[0]
    3
    """
    with one_blas_thread():  # blocks of samples are small, and their products many
        return _directions_above_noise(X, least, most, rng)


def _directions_above_noise(X: NDArray[Any], least: int, most: int, rng: np.random.Generator) -> tuple[int, float]:
    V = _directions(X, most)
    sizes = np.linalg.norm(X @ V.T, axis=0)
    if len(V) == most and sizes[-1] > (edge := _edge(X, V[:-1], rng)):
        return least, float(sizes[least - 1] / edge)
    for count in range(least, len(V)):
        edge = _edge(X, V[:count], rng)
        if sizes[count] <= edge:
            return count, float(sizes[count - 1] / edge)
    return max(least, len(V)), np.inf  # without noise


def _edge(X: NDArray[Any], V: NDArray[Any], rng: np.random.Generator) -> float:
    """What the largest singular value of the rest that the directions V leave of X does not exceed, as signs change."""
    rest = X - (X @ V.T) @ V
    left = np.prod([1 - len(V) / size for size in X.shape])  # of the noise
    signs = (np.where(rng.random(X.shape) < 0.5, -1.0, 1.0) for _ in range(FLIPS))
    start = rng.standard_normal(min(X.shape))
    largest = [svds(rest * flip, k=1, v0=start, tol=1e-3, return_singular_vectors=False)[0] for flip in signs]
    return float(np.mean(largest) + SPREAD * np.std(largest, ddof=1)) / float(left) ** 0.5


def predicted_shares(X: NDArray[Any], rank: int, rng: np.random.Generator) -> NDArray[Any]:
    """How much of each sample its leading directions predict in features they have not seen: bi-cross-validation [1].

    The directions come from the other half of the samples. Each group of features is then predicted from the features
    outside it, by regression on the first k directions.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
    rank : int
        Most directions.
    rng : Generator
        Draws the halves and the groups.

    Returns
    -------
    array of shape (n_samples, rank + 1)
        Reduction of the squared error by the first k directions, over the mean squared norm of a sample; zeros for
        k = 0.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((100, 3)) @ rng.random((3, 20)) + 0.01 * rng.standard_normal((100, 20))
    >>> int(predicted_shares(X, 6, rng).mean(axis=0).argmax())
    3
    """
    half, fold = (rng.permutation(size) % parts for size, parts in zip(X.shape, (2, FOLDS), strict=True))
    gains = np.zeros((len(X), rank + 1))
    with one_blas_thread():  # many regressions on few directions
        for own in (0, 1):
            V, rows = _directions(X[half != own], rank), X[half == own]
            for group in range(FOLDS):
                hidden = fold == group
                gains[half == own] += _gains(rows[:, ~hidden], V[:, ~hidden], rows[:, hidden], V[:, hidden], rank)
    return gains / max(float(np.mean(np.sum(X**2, axis=1))), 1e-300)


def _directions(X: NDArray[Any], rank: int) -> NDArray[Any]:
    """Leading right singular vectors (rank, n_features), fewer where X has a lower rank."""
    wide = X.shape[0] < X.shape[1]
    size = min(X.shape)
    values, vectors = eigh(X @ X.T if wide else X.T @ X, subset_by_index=(max(0, size - rank), size - 1))
    kept = values > EXACT * max(values[-1], 0.0)
    vectors = vectors[:, kept][:, ::-1]
    return (vectors.T @ X) / np.sqrt(values[kept][::-1])[:, None] if wide else vectors.T


def _gains(
    seen: NDArray[Any], V_seen: NDArray[Any], hidden: NDArray[Any], V_hidden: NDArray[Any], rank: int
) -> NDArray[Any]:
    """Reduction of the squared error of hidden features, by sample and number of directions."""
    gains = np.zeros((len(seen), rank + 1))
    from_seen, with_hidden = seen @ V_seen.T, hidden @ V_hidden.T
    gram_seen, gram_hidden = V_seen @ V_seen.T, V_hidden @ V_hidden.T
    for k in range(1, len(V_seen) + 1):
        W = np.linalg.lstsq(gram_seen[:k, :k], from_seen[:, :k].T, rcond=SEEN)[0].T
        gains[:, k] = np.sum(W * (2 * with_hidden[:, :k] - W @ gram_hidden[:k, :k]), axis=1)
    gains[:, len(V_seen) + 1 :] = gains[:, [len(V_seen)]]  # there are no further directions
    return gains
