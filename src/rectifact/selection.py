"""How many parts, dimensions or communities, chosen from the data, and how far each of them can be trusted."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any, Protocol

import numpy as np
import pandas as pd
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import NDArray
from sklearn.base import clone

from rectifact.core.errors import FitWarning, InputError
from rectifact.core.validation import check_generator
from rectifact.graph.base import GraphClusterer
from rectifact.graph.how_many import GraphTrial
from rectifact.io.checkpoint import RunFile, open_checkpoint
from rectifact.latent.base import LatentTransformer
from rectifact.latent.how_many import LatentTrial
from rectifact.parts.base import PartsTransformer
from rectifact.parts.how_many import PartsTrial

RESOLUTION = 0.05
"""Numbers that differ by less than this share are not told apart."""

MOST = 1000
"""No number from here on is tried by itself."""

MOST_TRIED = 14
"""Numbers that are tried at most, other than those that cost nothing."""

FAR = 1.5
"""How far above and below the best, as a factor, another number is tried."""

NEGLIGIBLE = 1e-3
"""Share of the gain over one part, dimension or community below which a larger number gains nothing."""

TRIALS: tuple[tuple[type, type], ...] = (
    (PartsTransformer, PartsTrial),
    (LatentTransformer, LatentTrial),
    (GraphClusterer, GraphTrial),
)


class Trial(Protocol):
    """What a family tells about each number, on data that the fit has not seen."""

    parameter: str
    """The parameter of the estimator that is chosen."""
    what: tuple[str, str]
    """One of them, and several."""
    measure: str
    """What a score is."""
    most: int
    """The largest number that the data could support."""
    recurrence: dict[int, NDArray[Any]]
    """Stability, where :meth:`stable` was asked."""

    def start(self, lowest: int) -> int:
        """Where to begin; numbers below ``lowest`` are not asked for. May lower ``most``."""

    def scores(self, k: int) -> NDArray[Any]:
        """Score of each held-out sample, entry or edge, the same ones for each k."""

    def free(self) -> list[int]:
        """Numbers whose scores are there already."""

    def stable(self, k: int) -> bool:
        """Whether resampled data leads to the same parts."""

    def stability(self, k: int, model: Any = None) -> NDArray[Any]:
        """How far each of the ``k`` is found again in resampled data, from 0 to 1; in the order of ``model``."""


@dataclass(frozen=True)
class Selection:
    """A number, why it was chosen, and the model with it.

    Attributes
    ----------
    table : DataFrame
        One row per number that was tried: ``k``; ``score``, the mean over held-out data, larger is better;
        ``standard_error`` of the difference between this score and the best one; ``stability``, the mean over the
        parts, NaN where it was not measured; and ``seconds``.
    best : int
        1 if there is no stable structure.
    reason : str
        One sentence.
    estimator : estimator
        Fitted to all data with ``best``. Its attribute ``stability_`` has one figure per part, dimension or community.
    measure : str
        What the score is.
    """

    table: pd.DataFrame
    best: int
    reason: str
    estimator: Any
    measure: str


class Curve:
    """Scores of the numbers tried so far."""

    def __init__(self, trial: Trial, n_jobs: int | None, report: Callable[[dict[str, float]], Any], saved: Any) -> None:
        self._trial, self._jobs, self._report, self._saved = trial, effective_n_jobs(n_jobs), report, saved
        self.scores: dict[int, NDArray[Any]] = {}
        self.seconds: dict[int, float] = {}
        for k, (score, seconds) in (_read(saved) if saved is not None else {}).items():
            self.scores[k], self.seconds[k] = score, seconds

    def try_out(self, *ks: int) -> None:
        """Score these numbers, several at a time."""
        new = [k for k in dict.fromkeys(ks) if k not in self.scores]
        found = Parallel(min(self._jobs, max(len(new), 1)), prefer="threads")(delayed(self._timed)(k) for k in new)
        for k, (score, seconds) in zip(new, found, strict=True):
            self._keep(k, score, seconds)

    def add_free(self, ks: Sequence[int]) -> None:
        """Take in scores that cost nothing."""
        for k in self._trial.free():
            if k in ks and k not in self.scores:
                self._keep(k, *self._timed(k), report=False)

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
        difference = self.scores[other] - self.scores[k]
        return float(difference.std() / max(len(difference), 1) ** 0.5)

    def not_worse(self, k: int) -> bool:
        """Whether the score of k lies within one standard error of the highest."""
        top = self.top()
        lost = float(np.mean(self.scores[top] - self.scores[k]))
        gained = float(np.mean(self.scores[top] - self.scores[min(self.scores)]))  # 1 is always tried
        return lost <= max(self.error(k, top), NEGLIGIBLE * gained)

    def smallest(self) -> int:
        """The smallest number that is not worse than the best."""
        return min(k for k in self.scores if self.not_worse(k))


def climb(curve: Curve, start: int, ks: Sequence[int]) -> int:
    """Try numbers around the best so far until its neighbours are known; the smallest that is not worse than the best.

    Steps double on the way up and down and are then halved. The score is taken to have one peak, or a plateau.

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
    curve.try_out(1, *(ks[i] for i in (first - 1, first, first + 1) if 0 <= i < len(ks)))
    while len(curve.scores) < MOST_TRIED:
        known, best = sorted(at[k] for k in curve.scores if k in at), at[curve.smallest()]
        new = _beside(known, best, ks)
        new = _far(known, best, ks) if new is None else new
        if new is None:
            break
        curve.try_out(ks[new])
    return curve.smallest()


def _beside(known: list[int], best: int, ks: Sequence[int]) -> int | None:
    """Place of the next number to try beside the best; None if both neighbours are close."""
    place = known.index(best)
    if place == len(known) - 1 and best < len(ks) - 1:
        return min(len(ks) - 1, best + _step(known[place - 1 : place + 1]))
    if place == 0 and best > 0:
        return max(0, best - _step(known[:2]))
    above = known[place + 1] if place + 1 < len(known) else best
    if above - best > _close(ks[best]):
        return (above + best) // 2
    below = known[place - 1] if place else best
    return (below + best) // 2 if best - below > _close(ks[best]) else None


def _far(known: list[int], best: int, ks: Sequence[int]) -> int | None:
    """Place well above or below the best, as a dent in the curve must not end the search; None if both are known."""
    for factor in (FAR, 1 / FAR):
        place = min(range(len(ks)), key=lambda i: abs(ks[i] - factor * ks[best]))
        low, high = sorted((best + (place - best) / 2, best + 2 * (place - best)))
        if place not in known and not any(low <= i <= high for i in known):
            return place
    return None


def _step(pair: list[int]) -> int:
    return max(1, 2 * (pair[-1] - pair[0]))


def _close(k: int) -> int:
    return max(1, int(RESOLUTION * k))


def most_stable(trial: Trial, ks: Sequence[int], limit: int) -> int:
    """The largest number up to ``limit`` whose parts recur, by bisection; 1 if there is none."""
    if trial.stable(limit):
        return limit
    low, high = 1, limit
    while (between := [k for k in ks if low < k < high]) and high - low > _close(low):
        middle = min(between, key=lambda k: abs(k - (low * high) ** 0.5))
        low, high = (middle, high) if trial.stable(middle) else (low, middle)
    return low


def select(
    estimator: Any,
    X: Any,
    ks: Sequence[int] | str = "auto",
    *,
    n_jobs: int | None = None,
    random_state: Any = None,
    callbacks: Sequence[Callable[[dict[str, float]], Any]] = (),
) -> Selection:
    """Choose the number of parts, dimensions or communities, and fit the estimator with it.

    Each family is judged by what it has not seen. Parts: features of half of the samples, predicted from their other
    features and from directions of the other half (bi-cross-validation), as long as both halves have the same parts.
    Dimensions: hidden entries. Communities: hidden edges. The smallest number within one standard error of the best
    score is taken. Numbers far from the best are not tried.

    Parameters
    ----------
    estimator : ANDNMF, PurificationNMF, NMD, LogisticPCA, SymNMF or SymNMFNet
        Its number of components or clusters does not matter. With ``checkpoint``, scores are saved in that folder, and
        with ``resume=True`` they are taken from there.
    X : array, sparse array, Dask array or graph
        What the estimator takes.
    ks : sequence of int or "auto", default "auto"
        Numbers to choose from.
    n_jobs : int or None, default None
        Numbers to try at the same time; each needs the memory of one fit.
    random_state : int, Generator, RandomState or None, default None
        Seed of what is held out.
    callbacks : sequence of callables, default ()
        Each is called with ``k``, ``score`` and ``seconds`` of each number that was tried; a true value ends the
        search, as does Ctrl-C: the best number so far is taken.

    Returns
    -------
    Selection

    Examples
    --------
    >>> from rectifact import ANDNMF
    >>> from rectifact.datasets import make_topics
    >>> from rectifact.selection import select
    >>> X = make_topics(n_samples=400, n_features=60, n_topics=4).X
    >>> found = select(ANDNMF(1), X, random_state=0)
    >>> found.best
    4
    """
    trial = _trial(estimator, X, check_generator(random_state))
    wanted = _wanted(ks)
    start = trial.start(wanted[0])
    numbers = _possible(wanted, trial)
    saved = _checkpoint(estimator, trial, X)
    stop = _Stop(callbacks)
    curve = Curve(trial, n_jobs, stop, saved)
    ended = ""
    try:
        best = climb(curve, start, numbers)
        curve.add_free(numbers)
        supported = best = curve.smallest()
        best = most_stable(trial, numbers, best)
    except (KeyboardInterrupt, _Ended):
        if not curve.scores:
            raise
        ended, supported = "The search was ended early. ", curve.smallest()
        best = supported
        warnings.warn(FitWarning(ended.strip(), f"Going on with the best so far, {best}."), stacklevel=2)
    model = clone(estimator).set_params(**{trial.parameter: best}).fit(X)
    model.stability_ = trial.stability(best, model)
    reason = ended + _reason(trial, curve, best, supported, model.stability_)
    if best == 1 and len(numbers) > 1:
        warnings.warn(FitWarning(reason, ""), stacklevel=2)
    return Selection(_table(curve, trial, best, model), best, reason, model, trial.measure)


class _Ended(Exception):
    """A callback has ended the search."""


@dataclass(frozen=True)
class _Stop:
    callbacks: Sequence[Callable[[dict[str, float]], Any]]

    def __call__(self, row: dict[str, float]) -> None:
        if any([callback(row) for callback in self.callbacks]):
            raise _Ended


def _trial(estimator: Any, X: Any, rng: np.random.Generator) -> Trial:
    for kind, trial in TRIALS:
        if isinstance(estimator, kind):
            return trial(estimator, X, rng)  # type: ignore[no-any-return]
    raise InputError(
        f"{type(estimator).__name__} has no number to choose.",
        "Give ANDNMF, PurificationNMF, NMD, LogisticPCA, SymNMF or SymNMFNet.",
    )


def _wanted(ks: Sequence[int] | str) -> Sequence[int]:
    if isinstance(ks, str):
        if ks != "auto":
            raise InputError(f"ks={ks!r} is neither 'auto' nor a sequence of numbers.", option="ks")
        return range(1, MOST)
    numbers = sorted({int(k) for k in ks})
    if not numbers or numbers[0] < 1:
        raise InputError("ks must hold numbers from 1 on.", option="ks")
    return numbers


def _possible(wanted: Sequence[int], trial: Trial) -> list[int]:
    numbers = [k for k in wanted if k <= trial.most]
    if not numbers:
        what = f"The data is too small for {wanted[0]} {trial.what[1]}: at most {trial.most} can be judged."
        raise InputError(what, "Give smaller numbers, or more data.", option="ks")
    return numbers


def _reason(trial: Trial, curve: Curve, best: int, supported: int, stability: NDArray[Any]) -> str:
    one, several = trial.what
    if best == 1 and supported > 1:
        return f"No stable structure: {supported} {several} would predict best, but resampled data has other ones."
    if best == 1 and 1 in curve.scores:
        return f"No stable structure: more than one {one} does not predict held-out data better."
    if best < supported:
        return f"{best} is the most for which nine of ten {several} recur in both halves; {supported} predict better."
    last = "; no larger number was tried" if best == max(curve.scores) else ""
    return f"{best} is the smallest number within one standard error of the best score on held-out data{last}."


def _table(curve: Curve, trial: Trial, best: int, model: Any) -> pd.DataFrame:
    top, rows = curve.top(), []
    for k in sorted(curve.scores):
        stability = model.stability_ if k == best else trial.recurrence.get(k, np.nan)
        row = {"k": k, "score": float(curve.scores[k].mean()), "standard_error": curve.error(k, top)}
        rows.append(row | {"stability": float(np.mean(stability)), "seconds": curve.seconds[k]})
    return pd.DataFrame(rows)


def _checkpoint(estimator: Any, trial: Trial, X: Any) -> RunFile | None:
    if estimator.checkpoint is None:
        return None
    folder = Path(estimator.checkpoint) / "numbers"
    search = clone(estimator).set_params(checkpoint=folder, **{trial.parameter: 1})
    opened = open_checkpoint(search, X)
    return opened.run("scores") if opened is not None else None


def _write(saved: RunFile, curve: Curve) -> None:
    state = {str(k): (score, curve.seconds[k]) for k, score in curve.scores.items()}
    saved.write(len(state), 0, [], state, at_once=True)


def _read(saved: RunFile) -> dict[int, tuple[NDArray[Any], float]]:
    rows = (saved.read(None) or {"state": {}})["state"]
    return {int(k): (np.asarray(score), float(seconds)) for k, (score, seconds) in rows.items()}
