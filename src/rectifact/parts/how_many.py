"""How many parts: held-out features tell how many directions there are, and halves of the samples which parts recur."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from rectifact.core.arrays import to_host
from rectifact.core.errors import InputError
from rectifact.core.operand import Operand, operand
from rectifact.core.validation import check_matrix
from rectifact.parts.base import PartsTransformer
from rectifact.parts.directions import directions_above_noise, even_noise, predicted_shares
from rectifact.parts.matching import partners, parts_of
from rectifact.parts.samples import are_short, fill_gaps, sample_block, with_gaps
from rectifact.parts.stability import MOST_COLUMNS, Halves, set_stability

MOST = 64
"""Directions looked at."""

MOST_ROWS = 2000
"""Samples, at equal distances, in which directions are looked for, in as many features as parts of halves have."""

RECURS = 0.65
"""Mean stability of the parts from which on they count as found again. A topic of a few hundred texts that clearly
recurs has about 0.75, and one that chance has made has 0: about six of seven must recur."""

CONFIRMED = 0.85
"""Mean stability from which on the number that predicts best is taken without looking at others: it is above 0.9 for
planted parts, and below 0.8 for as many topics as predict words of real texts best."""

LEVEL = 0.8
"""Share of the highest mean stability of any number that is asked for, where that is more: many samples make all parts
more stable, and one part of five that is not found again is too many."""

CLEAR = 0.15
"""Distance below the least stability from which on a number is clearly unstable."""

WEAK = 1.5
"""Factor above the edge of the noise below which others just like it may be hidden there."""

EACH_RECURS = 0.6
"""Stability from which on a single part that is hardly seen does: a cosine of 0.7 between the parts of two halves."""

STEP = 1.5
"""Factor between numbers of parts that are tried on the way down, as long as they are clearly unstable."""

EACH, RUNG = 12, 1.2
"""Number of parts up to which every number is looked at where the best one is not stable, and factor from then on."""

LEADING = 5
"""Numbers, those on which the first split agrees most, that are judged by all splits."""

SAMPLES_PER_PART = 4
"""Samples of both halves together below which a part cannot be found again."""

DRAWS, MOST_OF_SHORT = 3, 22
"""Draws that must agree on the number for short samples, and parts up to which they are looked at unless others are
asked for."""


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
        samples = operand(check_matrix(clone(estimator), X, allow_nan=gaps))
        self._known = with_gaps(samples, estimator.missing) if gaps else samples
        samples = fill_gaps(self._known, 1) if gaps else samples
        estimator._check_scale(samples)
        n, d = samples.shape
        self.most = max(1, min(MOST, n // SAMPLES_PER_PART, d - 1, MOST_COLUMNS - 1))
        self.short = not gaps and are_short(samples.data)
        if self.short:  # what is drawn would decide: all seeds draw the same
            estimator, rng = clone(estimator).set_params(random_state=0), np.random.default_rng(0)
        self._samples, self._rng, self._estimator = samples, rng, estimator
        self._halves = Halves(estimator, self._known)
        self.recurrence: dict[int, NDArray[Any]] = {}
        self._weakest, self._standing = np.inf, 0
        self._supported = self._taken = 0
        self._seen = 0

    @cached_property
    def _block(self) -> NDArray[Any]:
        return even_noise(sample_block(self._samples, MOST_ROWS, MOST_COLUMNS)[0])

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
        """``k``, if both halves of the samples clearly have its parts; else the number on which they agree best.

        To be seen, a direction needs less than to predict: if more than ``k`` stand out from the noise, their number,
        or one between, is taken if every part recurs, whatever the halves.
        """
        self._supported, self._taken = k, self._recurring(k, ks)
        return self._taken

    def _recurring(self, k: int, ks: Sequence[int]) -> int:
        if self.short:
            return self._recurring_of_short(k, ks)
        if k == 1:
            return 1
        low, high = k, self._above_noise(k, ks)
        if high > k and self._every_recurs(high):
            return high
        if self._mean_stability(k) < CONFIRMED:
            return self._most_agreed(_rungs([number for number in ks if 1 < number <= high]), ks)
        while between := [number for number in ks if low < number < high]:
            middle = between[len(between) // 2]
            low, high = (middle, high) if self._every_recurs(middle) else (low, middle)
        return low

    @cached_property
    def _draws_agree(self) -> bool:
        """Whether other halves and groups of features lead to about the same number of directions."""
        draws = (predicted_shares(self._block, self.most, np.random.default_rng(seed)) for seed in range(1, DRAWS))
        tops = [max(1, int(gains.mean(axis=0).argmax())) for gains in (self._gains, *draws)]
        return max(tops) <= max(min(tops) + 1, 1.1 * min(tops)) and (min(tops) > 1 or max(tops) == 1)

    def _recurring_of_short(self, k: int, ks: Sequence[int]) -> int:
        """As :meth:`recurring`, for samples with a few entries each, which predict little of what is held out.

        ``k`` is taken if several draws agree on it. Otherwise the directions that stand out from the noise are counted:
        that needs less than predicting them. If as many parts do not recur, the middle of the numbers that do is left.
        """
        if self._draws_agree and k > 1 and self._mean_stability(k) >= RECURS:
            return k
        high = MOST_OF_SHORT if (ks[0], ks[-1]) == (1, self.most) else ks[-1]
        several = [number for number in ks if 1 < number <= high]
        seen, _ = directions_above_noise(self._block, 1, self.most, self._rng)
        if seen in several and np.round(self._all_splits(seen), 2) >= RECURS:  # as it is shown
            self._seen = seen
            return seen
        return 1 if self._draws_agree and k == 1 else self._middle(several)

    def _middle(self, several: Sequence[int]) -> int:
        """The middle of the numbers whose parts recur; 1 if none does."""
        for number in _rungs(several):
            self._mean_stability(number)
        stable = self._stable()
        if not stable:
            return 1
        self._all_splits(middle := stable[(len(stable) - 1) // 2])
        return middle

    def _stable(self) -> list[int]:
        """Numbers whose parts have the mean stability that is asked for, as it is shown, in the first split."""
        return [k for k, values in sorted(self.recurrence.items()) if k > 1 and np.round(values[0], 2) >= RECURS]

    def _most_agreed(self, rungs: list[int], ks: Sequence[int]) -> int:
        """The number whose parts exceed the stability that is asked for by most, all of them together; 1 if none does.

        More parts than the samples have are not stable, and too few need not be, as those that merge parts at random:
        all small numbers are looked at, larger ones unless they are clearly unstable, and then those around the best.
        """
        last = len(rungs) - 1
        while last >= 0 and rungs[last] > EACH and self._mean_stability(rungs[last]) < RECURS - CLEAR:
            last = max((i for i in range(last) if rungs[i] <= rungs[last] / STEP), default=-1)
        if last < 0:
            return 1
        looked_at = rungs[: last + 1]
        asked = max(RECURS, LEVEL * max(self._mean_stability(number) for number in looked_at))

        def excess(number: int) -> float:
            return number * (self._mean_stability(number) - asked)

        for number in sorted(looked_at, key=excess)[-LEADING:]:
            self._all_splits(number)
        place = looked_at.index(max(looked_at, key=excess))
        around = range(rungs[max(place - 1, 0)], rungs[min(place + 1, len(rungs) - 1)] + 1)
        near = [number for number in ks if number in around]
        for number in near:
            self._all_splits(number)
        best = max(near, key=excess)
        return best if np.round(self._mean_stability(best), 2) >= RECURS else 1  # as it is shown

    def _mean_stability(self, k: int, splits: int = 1) -> float:
        """The mean stability of ``k`` parts in this many splits, or in more if they have been asked."""
        known = list(self.recurrence.get(k, ()))
        known += [float(self._halves.stability(k, split).mean()) for split in range(len(known), splits)]
        self.recurrence[k] = np.array(known)
        return float(np.mean(known))

    def _all_splits(self, k: int) -> float:
        return self._mean_stability(k, self._halves.splits(k))

    def _above_noise(self, k: int, ks: Sequence[int]) -> int:
        if k == 1:
            return 1
        above, self._weakest = directions_above_noise(self._block, k, self.most, self._rng)
        self._standing = max((number for number in ks if k < number <= above), default=k)
        return self._standing

    def _every_recurs(self, k: int) -> bool:
        """Whether each part does, in every split."""
        if np.round(self._all_splits(k), 2) < RECURS:
            return False
        return all(self._halves.stability(k, split).min() >= EACH_RECURS for split in range(self._halves.splits(k)))

    def doubt(self) -> str:
        """What speaks against the number that was found."""
        if self.short:
            return self._as_stable()
        if self._weakest >= WEAK:
            return ""
        if self._taken > self._supported:
            return (
                f"The number may be too high: the weakest of {self._standing} directions barely exceeds the noise, and "
                f"may be noise itself. Compare with {self._supported} parts."
            )
        if self._taken == self._supported < self._standing:
            n = self._standing - self._supported
            more = "1 more direction barely exceeds" if n == 1 else f"{n} more directions, the last one barely, exceed"
            return (
                f"{more} the noise without predicting better: either this is chance, or the number is too low, and "
                "other parts may be hidden in the noise, too. More samples would tell."
            )
        return "The number may be too low: the weakest parts barely exceed the noise, and others may be hidden in it."

    def _as_stable(self) -> str:
        """Which numbers short samples cannot tell apart."""
        if self._seen:
            return (
                f"Short samples do not determine the number: {self._seen} directions stand out from the noise, but "
                "held-out data is predicted about as well by other numbers of parts. Compare several, and keep the one "
                "whose parts you can use."
            )
        stable = self._stable()
        if self._draws_agree or len(stable) < 2:
            return ""
        taken, several = stable[(len(stable) - 1) // 2], f"{len(stable)} of those that were tried"
        which = (
            f"{several}, from {stable[0]} to {stable[-1]}, have parts that recur, and {taken} is the middle of them."
        )
        if len(stable) == 2:
            which = f"with {stable[0]} and with {stable[1]}, most parts recur, and the smaller number is taken."
        return (
            f"Short samples do not determine the number: {which} Compare several, and keep the one whose parts you can "
            "use."
        )

    def stability(self, k: int, model: Any = None) -> NDArray[Any]:
        """1 less the error to expect of each part, the mean over splits into halves; in the order of ``model``."""
        if model is None:
            return self._halves.stability(k, 0)
        if k in self.recurrence:  # all splits, for the number that is taken
            self._all_splits(k)
        return set_stability(model, self._halves.stabilities(model))

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


def _rungs(ks: Sequence[int]) -> list[int]:
    """All small numbers, larger ones at equal ratios, and the last.

    Examples
    --------
    >>> _rungs(range(10, 30))
    [10, 11, 12, 15, 18, 22, 27, 29]
    """
    found: list[int] = []
    for k in ks:
        if k <= EACH or not found or k >= RUNG * found[-1] or k == ks[-1]:
            found.append(k)
    return found
