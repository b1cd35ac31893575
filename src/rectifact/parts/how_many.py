"""How many parts: held-out features say how many directions the data has, and halves of the samples which parts recur.

References
----------
[1] A. B. Owen and P. O. Perry, "Bi-cross-validation of the SVD and the nonnegative matrix factorization", Annals of
Applied Statistics 3(2), 2009.
[2] D. Hong, Y. Sheng and E. Dobriban, "Selecting the number of components in PCA via random signflips", 2020.
[3] E. Dobriban and A. B. Owen, "Deterministic parallel analysis: an improved method for selecting factors and principal
components", Journal of the Royal Statistical Society B 81(1), 2019: directions are taken off one by one.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.sparse.linalg import svds
from sklearn.base import clone

from rectifact.core.arrays import to_host
from rectifact.core.errors import InputError
from rectifact.core.operand import Operand, operand
from rectifact.core.validation import check_matrix
from rectifact.parts.base import PartsTransformer
from rectifact.parts.fitting import scaled_features
from rectifact.parts.matching import matched_cosines, partners, parts_of
from rectifact.parts.noise import noise_law
from rectifact.parts.samples import choose_norm, fill_gaps, normalized, sample_block, with_gaps
from rectifact.parts.stability import MOST_COLUMNS, SPLITS, Halves, set_stability

MOST = 64
"""Directions looked at."""

FOLDS = 8
"""Groups of features, each predicted from the others."""

MOST_ROWS = 2000
"""Samples, at equal distances, in which directions are looked for, in as many features as parts of halves have."""

RANK_OF_NOISE = 16
"""Directions that are not noise, for the purpose of measuring how the noise grows with the mean."""

EXACT = 1e-10
"""Share of the largest eigenvalue below which there is only rounding."""

RECURS = 0.65
"""Mean stability of the parts from which on they count as found again. A topic of a few hundred texts that clearly
recurs has about 0.75, and one that chance has made has 0: about six of seven must recur."""

CLEAR = 0.15
"""Distance from that figure in the first split of the samples from which on the other splits need not be asked."""

FLIPS, SPREAD = 8, 3.5
"""Draws of signs that give the edge of the noise, and standard deviations above their mean where it is: with so few
draws, noise alone exceeds it in one of a hundred matrices (Student's t)."""

WEAK = 1.5
"""Factor above the edge of the noise below which others just like it may be hidden there."""

EACH_RECURS = 0.7
"""Cosine from which on a single part that is hardly seen does."""

STEP = 1.5
"""Factor between numbers of parts that are tried on the way down."""

SAMPLES_PER_PART = 4
"""Samples of both halves together below which a part cannot be found again."""


class PartsTrial:
    """What is known about each number of parts.

    Parameters
    ----------
    estimator : PartsTransformer
    X : matrix of shape (n_samples, n_features)
    rng : Generator
        Draws the groups of features, and signs.
    """

    parameter = "n_components"
    what = ("part", "parts")
    ladder: tuple[int, ...] = ()
    negligible = 1e-06  # a faint part may have a small share of the squares
    recurs = f"have a mean stability of at least {RECURS:g} in halves of the samples"
    measure = "share of the squares of held-out features that the samples' other features predict"

    def __init__(self, estimator: PartsTransformer, X: Any, rng: np.random.Generator) -> None:
        gaps = estimator._allows_gaps
        self._estimator = estimator
        samples = operand(check_matrix(clone(estimator), X, allow_nan=gaps))
        self._known = with_gaps(samples, estimator.missing) if gaps else samples
        samples = fill_gaps(self._known, 1) if gaps else samples
        n, d = samples.shape
        self.most = max(1, min(MOST, n // SAMPLES_PER_PART, d - 1, MOST_COLUMNS - 1))
        self._samples, self._rng = samples, rng
        self._halves = Halves(estimator, self._known)
        self.recurrence: dict[int, NDArray[Any]] = {}
        self._weakest = np.inf

    @cached_property
    def _block(self) -> NDArray[Any]:
        return _even_noise(sample_block(self._samples, MOST_ROWS, MOST_COLUMNS)[0])

    @cached_property
    def _gains(self) -> NDArray[Any]:
        return predicted_shares(self._block, self.most, self._rng)

    def start(self, lowest: int) -> int:
        """The number of directions that predict best."""
        if not isinstance(self._estimator.init, str):
            raise InputError("init gives parts, and so their number.", "Use init='auto' to choose it.", option="init")
        return max(1, int(self._gains.mean(axis=0).argmax()))

    def scores(self, k: int) -> NDArray[Any]:
        """Share of the squares of each sample that ``k`` directions predict, relative to the mean sample."""
        return self._gains[:, k]

    def free(self) -> list[int]:
        """Numbers whose score costs nothing more."""
        return list(range(1, self._gains.shape[1]))

    def recurring(self, k: int, ks: Sequence[int]) -> int:
        """The largest number, of ``ks``, whose parts both halves of the samples have.

        From ``k`` downwards in large steps, and then between the last two: smaller numbers need not be stable, as
        those that merge parts at random. To be seen, a direction needs less than to predict: if more than ``k`` stand
        out from the noise, their number is tried first, and every part must recur, whatever the halves.
        """
        low = high = self._above_noise(k, ks)
        while low > 1 and not self._recurs(low, every=low > k):
            low, high = k if low > k else max((number for number in ks if number <= low / STEP), default=1), low
        while between := [number for number in ks if low < number < high]:
            middle = between[len(between) // 2]
            low, high = (middle, high) if self._recurs(middle, every=middle > k) else (low, middle)
        return low

    def _above_noise(self, k: int, ks: Sequence[int]) -> int:
        if k == 1:
            return 1
        above, self._weakest = directions_above_noise(self._block, k, self.most, self._rng)
        return max((number for number in ks if k < number <= above), default=k)

    def _recurs(self, k: int, *, every: bool = False) -> bool:
        """Whether the mean stability is high enough; where one split leaves that open, all are asked."""
        if k == 1:
            return True
        found = [self._halves.stability(k, 0).mean()]
        if abs(found[0] - RECURS) < CLEAR:
            found += [self._halves.stability(k, split).mean() for split in range(1, SPLITS)]
        self.recurrence[k] = np.array(found)
        if every and any(matched_cosines(*self._halves.parts(k, split)).min() < EACH_RECURS for split in range(SPLITS)):
            return False
        return bool(np.round(np.mean(found), 2) >= RECURS)  # as it is shown

    def doubt(self) -> str:
        """What speaks against the number that was found."""
        if self._weakest >= WEAK:
            return ""
        return "The number may be too low: the weakest parts barely exceed the noise, and others may be hidden in it."

    def stability(self, k: int, model: Any = None) -> NDArray[Any]:
        """1 less the error to expect of each part, the mean over splits into halves; in the order of ``model``."""
        if model is None:
            return self._halves.stability(k, 0)
        if k in self.recurrence:  # all splits, for the number that is taken
            self.recurrence[k] = np.array([self._halves.stability(k, split).mean() for split in range(SPLITS)])
        return set_stability(model, self._halves.stabilities(k, np.asarray(to_host(model.components_), dtype=float)))

    def resampled(self, model: Any, rng: np.random.Generator) -> NDArray[Any]:
        """The parts of samples drawn again, found as those of ``model`` were, in its order and of the same size."""
        n, mine = self._samples.shape[0], np.asarray(to_host(model.components_), dtype=float)
        H = self._fit(self._known, rng.integers(n, size=n), {})
        H = H[partners(mine, H)]
        size, wanted = (np.abs(parts).sum(axis=1, keepdims=True) for parts in (H, mine))
        return np.asarray(H * wanted / np.maximum(size, 1e-300))

    def _fit(self, X: Operand, rows: NDArray[Any], options: dict[str, Any]) -> NDArray[Any]:
        """Parts of some samples."""
        if getattr(self._estimator, "missing", None) is not None:
            options |= {"missing": np.nan}
        return parts_of(self._estimator, X, rows, options)


def _even_noise(block: NDArray[Any]) -> NDArray[Any]:
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
        W = np.linalg.lstsq(gram_seen[:k, :k], from_seen[:, :k].T, rcond=EXACT)[0].T
        gains[:, k] = np.sum(W * (2 * with_hidden[:, :k] - W @ gram_hidden[:k, :k]), axis=1)
    gains[:, len(V_seen) + 1 :] = gains[:, [len(V_seen)]]  # there are no further directions
    return gains
