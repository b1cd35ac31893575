"""The search for the best number: which numbers are tried, and which of them is taken.

References
----------
[1] C. Nadeau and Y. Bengio, "Inference for the generalization error", Machine Learning 52, 2003.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise
from time import perf_counter
from typing import Any, Protocol

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import NDArray

from rectifact.core.errors import InputError
from rectifact.io.checkpoint import RunFile

RESOLUTION = 0.1
"""Numbers that differ by less than this share are not told apart."""

MOST_TRIED, MOST_BETWEEN = 12, 6
"""Numbers that are tried at most, other than those that cost nothing, and how many more below the best."""

FAR = 1.5
"""How far above and below the best, as a factor, another number is tried."""


HELD_OUT = 0.1
"""Share of the data that each of several draws holds out."""

PROBES = (4, 8, 16)
"""Numbers that are tried before 1 is taken."""


class Trial(Protocol):
    """What a family tells about each number, on data that the fit has not seen."""

    parameter: str
    """The parameter of the estimator that is chosen."""
    what: tuple[str, str]
    """One of them, and several."""
    recurs: str
    """What the number that is taken must do, as a verb."""
    measure: str
    """What a score is."""
    ladder: tuple[int, ...]
    """Numbers that are always tried first, where the score may have several peaks."""
    negligible: float
    """Share of the gain over a single one below which a larger number gains nothing, whatever the standard error."""
    most: int
    """The largest number that the data could support."""
    recurrence: dict[int, NDArray[Any]]
    """Stability, where it was measured on the way."""

    def start(self, lowest: int) -> int:
        """Where to begin; numbers below ``lowest`` are not asked for."""

    def scores(self, k: int) -> NDArray[Any]:
        """Score of each held-out sample, entry or edge, the same ones for each k; several draws are rows."""

    def free(self) -> list[int]:
        """Numbers whose scores are there already."""

    def recurring(self, k: int, ks: Sequence[int]) -> int:
        """The largest number around ``k``, of ``ks``, that resampled data has in common; 1 if there is none."""

    def doubt(self) -> str:
        """What speaks against the number that was found, in one sentence; empty if nothing does."""

    def stability(self, k: int, model: Any = None) -> NDArray[Any]:
        """How far each of the ``k`` is found again in resampled data, from 0 to 1; in the order of ``model``."""


def standard_error(scores: NDArray[Any]) -> float:
    """Standard error of the mean of scores, or of differences between them.

    Rows are several draws of what is held out. Their fits have most of the data in common, so the mean of many draws
    is not as sure as that of as many independent ones [1].

    Examples
    --------
    >>> one = np.tile([-1.0, 1.0], 50)
    >>> standard_error(one), [round(standard_error(np.stack([one] * n)), 2) for n in (4, 99)]
    (0.1, [0.06, 0.03])
    """
    n = max(scores.shape[-1], 1)
    if scores.ndim == 1 or len(scores) == 1:
        return float(scores.std() / n**0.5)
    spread = max(scores.std() / n**0.5, scores.mean(axis=1).std(ddof=1))
    return float(spread * (1 / len(scores) + HELD_OUT / (1 - HELD_OUT)) ** 0.5)


class Curve:
    """Scores of the numbers tried so far."""

    def __init__(
        self, trial: Trial, n_jobs: int | None, report: Callable[[dict[str, float]], Any], saved: RunFile | None
    ) -> None:
        self._trial, self._jobs, self._report, self._saved = trial, effective_n_jobs(n_jobs), report, saved
        self.complete = True  # False where a search ended because it had tried as many numbers as it may
        self.scores: dict[int, NDArray[Any]] = {}
        self.seconds: dict[int, float] = {}
        for k, (score, seconds) in (_read(saved) if saved is not None else {}).items():
            self.scores[k], self.seconds[k] = score, seconds

    def part(self, draws: slice) -> "Curve":
        """The curve by some of the draws alone."""
        other = Curve(self._trial, 1, self._report, None)
        other.scores = {k: scores[draws] for k, scores in self.scores.items()}
        return other

    @property
    def ladder(self) -> tuple[int, ...]:
        """Numbers that are always tried."""
        return self._trial.ladder

    def try_out(self, *ks: int) -> None:
        """Score these numbers, several at a time."""
        new = [k for k in dict.fromkeys(ks) if k not in self.scores]
        jobs = Parallel(min(self._jobs, max(len(new), 1)), prefer="threads", return_as="generator")
        found = jobs(delayed(self._timed)(k) for k in new)  # kept one by one: an interrupt loses only what is running
        for k, (score, seconds) in zip(new, found, strict=True):
            self._keep(k, score, seconds)

    def add_free(self, ks: Sequence[int]) -> None:
        """Take in scores that cost nothing."""
        for k in self._trial.free():
            if k in ks and k not in self.scores:
                score, seconds = self._timed(k)
                self._keep(k, score, getattr(self._trial, "seconds", {}).get(k, seconds), report=False)

    def _timed(self, k: int) -> tuple[NDArray[Any], float]:
        begun = perf_counter()
        return self._trial.scores(k), perf_counter() - begun

    def _keep(self, k: int, score: NDArray[Any], seconds: float, report: bool = True) -> None:
        self.scores[k], self.seconds[k] = score, seconds
        if self._saved is not None:
            _write(self._saved, self)
        if report:
            self._report({"k": k, "score": float(score.mean()), "seconds": seconds})

    def top(self) -> int:
        """The number of the highest mean score."""
        return max(sorted(self.scores), key=lambda k: self.scores[k].mean())

    def error(self, k: int, other: int) -> float:
        """Standard error of the difference between two mean scores."""
        return standard_error(self.scores[other] - self.scores[k])

    def lost(self, k: int) -> float:
        """How far the mean score of k is below the highest."""
        return float(np.mean(self.scores[self.top()] - self.scores[k]))

    def within_error(self, k: int) -> bool:
        """Whether the score of k lies within one standard error of the highest."""
        return self.lost(k) <= self.error(k, self.top())

    def not_worse(self, k: int) -> bool:
        """Whether the score of k lies within one standard error of the highest, or too little below it to matter."""
        gained = self.lost(min(self.scores))  # 1 is always tried
        return self.within_error(k) or self.lost(k) <= self._trial.negligible * gained

    def alike(self, k: int) -> list[int]:
        """Numbers, other than k, whose score is above that of 1 and within one standard error of the highest."""
        base = self.scores[min(self.scores)].mean()
        found = [n for n in self.scores if n != k and self.not_worse(n) and (n == 1 or self.scores[n].mean() > base)]
        return sorted(found)

    def smallest(self) -> int:
        """The smallest number that is not worse than the best."""
        good = [k for k in self.scores if self.not_worse(k)]
        if not good:  # no score is a number, as nothing could be held out
            raise InputError("There is too little data to choose the number.", "Give the number yourself.")
        return min(good)


def climb(curve: Curve, start: int, ks: Sequence[int]) -> int:
    """Try numbers around the best so far until its neighbours are known; the smallest that is not worse than the best.

    Steps are half of the best so far on the way up and down, and are then halved. The score is taken to have one peak,
    or a plateau; where fits may end in different places, a few small numbers are tried as well, and then numbers below
    the best, as a good one may lie between two bad ones.

    Parameters
    ----------
    curve : Curve
    start : int
    ks : sequence of int
        Numbers to choose from, ascending.
    """
    ks = sorted({1, *ks})
    at = {k: i for i, k in enumerate(ks)}
    first = min(range(len(ks)), key=lambda i: abs(ks[i] - start))
    curve.try_out(1, *(k for k in curve.ladder if k in at), ks[first])
    curve.add_free(ks)
    if curve.smallest() == ks[first]:
        curve.try_out(*(ks[i] for i in (first - 1, first + 1) if 0 <= i < len(ks)))
    _ascend(curve, ks, at)
    if curve.smallest() == 1:  # before saying that there is nothing, look further up: a split in two may be the worst
        curve.try_out(*(k for k in PROBES if k in at))
        _ascend(curve, ks, at)
    if curve.ladder:
        _look_between(curve, ks, at)
    return curve.smallest()


def _look_between(curve: Curve, ks: Sequence[int], at: dict[int, int]) -> None:
    """Try the middle of gaps below the best, the widest first, and go on from there if one is as good."""
    for _ in range(MOST_BETWEEN):
        known = sorted(at[k] for k in curve.scores if k in at and k <= curve.smallest())
        gaps = [(low, high) for low, high in pairwise(known) if high - low > _close(ks[high])]
        if not gaps:
            break
        low, high = max(gaps, key=lambda gap: ks[gap[1]] / ks[gap[0]])
        best = curve.smallest()
        curve.try_out(ks[(low + high) // 2])
        if curve.smallest() < best:
            _ascend(curve, ks, at)


def _ascend(curve: Curve, ks: Sequence[int], at: dict[int, int]) -> None:
    """Try numbers beside the best until both neighbours are close, and far from it."""
    while True:
        known, best = sorted(at[k] for k in curve.scores if k in at), at[curve.smallest()]
        new = _beside(known, best, ks)
        new = _far(known, best, ks) if new is None else new
        if new is None:
            break
        if len(curve.scores) >= MOST_TRIED:
            curve.complete = False
            break
        curve.try_out(ks[new])


def _beside(known: list[int], best: int, ks: Sequence[int]) -> int | None:
    """Place of the next number to try beside the best; None if both neighbours are close."""
    place = known.index(best)
    if place == len(known) - 1 and best < len(ks) - 1:
        return min(len(ks) - 1, best + max(1, best // 2))
    if place == 0 and best > 0:
        return best // 2
    below = known[place - 1] if place else best
    if best - below > _close(ks[best]):
        return (below + best) // 2
    above = known[place + 1] if place + 1 < len(known) else best
    return (above + best) // 2 if above - best > _close(ks[best]) else None


def _far(known: list[int], best: int, ks: Sequence[int]) -> int | None:
    """Place well above or below the best, as a dent in the curve must not end the search; None if both are known."""
    for factor in (FAR, 1 / FAR):
        place = min(range(len(ks)), key=lambda i: abs(ks[i] - factor * ks[best]))
        low, high = sorted((best + (place - best) / 2, best + 2 * (place - best)))
        if place not in known and not any(low <= i <= high for i in known):
            return place
    return None


def _close(k: int) -> int:
    return max(1, int(RESOLUTION * k))


def _write(saved: RunFile, curve: Curve) -> None:
    state = {str(k): (score, curve.seconds[k]) for k, score in curve.scores.items()}
    saved.write(len(state), 0, [], state, at_once=True)


def _read(saved: RunFile) -> dict[int, tuple[NDArray[Any], float]]:
    rows = (saved.read(None) or {"state": {}})["state"]
    return {int(k): (np.asarray(score), float(seconds)) for k, (score, seconds) in rows.items()}
