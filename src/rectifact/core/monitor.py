"""Iteration, history, stopping and progress: the part of every loop that is not the algorithm.

A monitor saves and restores its run through :class:`SavedRun`, which ``io.checkpoint`` implements.
"""

import logging
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import isfinite
from time import perf_counter
from typing import Any, Protocol

from sklearn.exceptions import ConvergenceWarning

from rectifact.core.errors import InputError, Message, count

Row = dict[str, float]
Callback = Callable[[Row], object]
"""Called with each row of the history; a true value stops the run."""


class Check(Row):
    """A row of the history as callbacks see it: with ``U``, the factor at that moment, where the loop shows it."""

    def __init__(self, row: Row, factor: Callable[[], Any] | None = None) -> None:
        super().__init__(row)
        self._factor = factor

    @property
    def U(self) -> Any:
        """A copy of the factor; None where the loop shows none."""
        return None if self._factor is None else self._factor()


@dataclass(frozen=True)
class Step:
    """Where a run is, for those who watch all runs of a fit: see :func:`watching`.

    Attributes
    ----------
    run : int
        Tells runs apart.
    place : tuple of int or None
        Which of how many starts it is, from 1; None for trials and the like, which are not counted.
    row : dict
        The last row of its history; empty before the first check.
    max_iter : int
    ended : bool
    """

    run: int
    place: tuple[int, int] | None
    row: Row
    max_iter: int
    ended: bool


Watcher = Callable[[Step], object]
_watchers: list[Watcher] = []


@contextmanager
def watching(watcher: Watcher) -> Iterator[None]:
    """Tell ``watcher`` about every check of every run in the meantime, those of trials included, in any thread.

    Unlike callbacks it cannot stop a run, and estimators need not know about it.

    Examples
    --------
    >>> steps = []
    >>> with watching(steps.append):
    ...     for t in (monitor := Monitor(max_iter=2)):
    ...         monitor.record(lambda: 1.0 / (t + 1))
    >>> [(step.row.get("iter"), step.ended) for step in steps]
    [(None, False), (1, False), (2, False), (2, True)]
    """
    _watchers.append(watcher)
    try:
        yield
    finally:
        _watchers.remove(watcher)


class NotConverged(Message, ConvergenceWarning):
    """An iteration stopped before it converged."""


class SavedRun(Protocol):
    """Where the state of a loop is saved: :class:`rectifact.io.checkpoint.RunFile`."""

    def read(self, like: Any) -> dict[str, Any] | None:
        """What was saved last, with its state in the form of ``like``; None if there is nothing to resume."""

    def write(self, n_iter: int, stalls: int, history: list[Row], state: Any, at_once: bool) -> None:
        """Save the state, unless that would take too large a share of the run time."""

    def finish(self) -> None:
        """Record that the fit has ended."""


class Runs(Protocol):
    """The saved runs of one fit: :class:`rectifact.io.checkpoint.Checkpoint`."""

    def run(self, name: str) -> SavedRun:
        """The run of this name."""


@dataclass
class Monitor:
    """Counts iterations, keeps the history and decides when to stop. One monitor serves one run.

    A loop asks it for iteration numbers and hands it the loss as a *function*, which is called only
    at checks: between them nothing is evaluated and no device is synchronised.

    Parameters
    ----------
    max_iter : int, default 200
        Limit of the number of iterations.
    tol : float, default 1e-4
        The run has converged when the loss changes by less than ``tol`` times the first loss ...
    patience : int, default 1
        ... at this many checks in a row. A larger rise of the loss does not count as convergence.
    check_every : int, default 1
        Iterations between checks; the last iteration is always checked.
    monotone : bool, default False
        Whether theory says that the loss cannot rise. A rise by more than ``tol`` then stops the run.
    callbacks : sequence of callables, default ()
        Each is called with every row of the history; one that returns a true value stops the run.
    saved : SavedRun or None, default None
        Where the state of the loop is saved at checks, and from where :meth:`resume` reads it.
    place : tuple of int or None, default None
        Which of how many starts this run is, for :func:`watching`.

    Attributes
    ----------
    history : list of dict
        Rows with ``iter`` (from 1), ``loss``, ``seconds`` since the start and, where the loop gives one, ``gap``.
    stop_reason : str
        ``"converged"``, ``"max_iter"``, ``"stalled"``, ``"loss_increased"``, ``"not_finite"`` or ``"callback"``.

    Examples
    --------
    >>> monitor, x = Monitor(max_iter=100, tol=1e-3), 1.0
    >>> for t in monitor:
    ...     x = x / 2
    ...     monitor.record(lambda: x)
    >>> monitor.stop_reason, monitor.n_iter
    ('converged', 11)
    """

    max_iter: int = 200
    tol: float = 1e-4
    check_every: int = 1
    patience: int = 1
    monotone: bool = False
    callbacks: Sequence[Callback] = ()
    saved: SavedRun | None = None
    place: tuple[int, int] | None = None
    history: list[Row] = field(default_factory=list, init=False)
    stop_reason: str = field(default="max_iter", init=False)
    n_iter: int = field(default=0, init=False)
    _stalls: int = field(default=0, init=False, repr=False)
    _start: float | None = field(default=None, init=False, repr=False)

    @property
    def due(self) -> bool:
        """Whether this iteration is checked."""
        return self.n_iter % self.check_every == 0 or self.n_iter == self.max_iter

    def skip(self, reason: str) -> None:
        """Say why there is no iteration at all."""
        self.stop_reason = reason

    def resume(self, state: Any) -> Any:
        """The state that an interrupted run has saved, in the form of ``state``, or ``state`` where there is none."""
        found = self.saved.read(state) if self.saved is not None else None
        if found is None:
            return state
        if found["n_iter"] >= self.max_iter:
            raise InputError(
                f"The interrupted fit has already run for {count(found['n_iter'], 'iteration')}.",
                f"Raise max_iter={self.max_iter}.",
                option="max_iter",
            )
        self.n_iter, self._stalls, self.history = found["n_iter"], found["stalls"], found["history"]
        return found["state"]

    def __iter__(self) -> Iterator[int]:
        if self._start is not None:
            raise RuntimeError("This Monitor has already served a run; make a new one for each run.")
        self._start = perf_counter() - (self.history[-1]["seconds"] if self.history else 0.0)
        self._tell()
        for t in range(self.n_iter, self.max_iter):
            self.n_iter = t + 1
            yield t
            if self.stop_reason != "max_iter":
                break
        self._tell(ended=True)

    def _tell(self, ended: bool = False) -> None:
        for watcher in tuple(_watchers):
            watcher(Step(id(self), self.place, self.history[-1] if self.history else {}, self.max_iter, ended))

    @property
    def converged(self) -> bool:
        """Whether the loss settled within the tolerance."""
        return self.stop_reason == "converged"

    def record(
        self,
        loss: Callable[[], Any],
        settled: bool | Callable[[], bool] = True,
        *,
        gap: Callable[[], Any] | None = None,
        converged: Callable[[], bool] | None = None,
        state: Callable[[], Any] | None = None,
        factor: Callable[[], Any] | None = None,
    ) -> None:
        """Evaluate ``loss`` if a check is due, and decide whether to go on.

        ``settled`` is false while the loss is not comparable from one iteration to the next, for example while a
        threshold decays; the loss does not stop the run then. Like the loss, it may be a function, which is called
        at checks only.

        ``gap`` measures the distance from a stationary point, relative to its scale. Where it is given the run has
        converged when the gap is at most ``tol``, however little the loss changes; it has stalled when the loss does
        not change at all.

        ``converged`` is for a loop with a criterion of its own: where it returns true the run has converged, whatever
        the loss does.

        ``state`` is all that the next iteration needs: arrays and numbers, in tuples and dataclasses. It is saved while
        the run goes on, so that a resumed one has at least one iteration left to do, and where a callback stops it.

        ``factor`` makes a copy of the factor for callbacks that ask for it.
        """
        if not self.due:
            return
        settled = settled() if callable(settled) else settled
        row = {"iter": self.n_iter, "loss": float(loss()), "seconds": perf_counter() - (self._start or 0.0)}
        if gap is not None:
            row["gap"] = float(gap())
        previous = self.history[-1]["loss"] if self.history else None
        self.history.append(row)
        self._tell()
        scale = abs(self.history[0]["loss"]) or 1.0
        fall = 0.0 if previous is None else (previous - row["loss"]) / scale
        small = abs(fall) < self.tol if gap is None else fall == 0
        self._stalls = self._stalls + 1 if settled and previous is not None and small else 0
        if converged is not None and converged():
            self.stop_reason = "converged"
        # A list, not a generator: every callback sees every row, also when one of them stops the run.
        if any([callback(Check(row, factor)) for callback in self.callbacks]):
            self.stop_reason = "callback"
        if not isfinite(row["loss"]):
            self.stop_reason = "not_finite"
        elif gap is not None and row["gap"] <= self.tol:
            self.stop_reason = "converged"
        elif self.monotone and settled and fall < -self.tol:
            self.stop_reason = "loss_increased"
        elif self._stalls >= self.patience:
            self.stop_reason = "converged" if gap is None else "stalled"
        goes_on = self.n_iter < self.max_iter and self.stop_reason in ("max_iter", "callback")
        if self.saved is not None and state is not None and goes_on:
            at_once = self.stop_reason == "callback"
            self.saved.write(self.n_iter, self._stalls, self.history, state(), at_once)


class LogProgress:
    """Callback that logs iteration, loss, rate and remaining time, at most once every ``every`` seconds.

    Estimators with ``verbose=True`` add it. ``logging.basicConfig(level="INFO")`` shows its lines.
    """

    def __init__(self, name: str, max_iter: int, every: float = 1.0) -> None:
        self.name, self.max_iter, self.every = name, max_iter, every
        self._logger = logging.getLogger("rectifact")
        self._last = -every

    def __call__(self, row: Row) -> None:
        if row["seconds"] - self._last < self.every and row["iter"] < self.max_iter:
            return
        self._last = row["seconds"]
        per_iteration = row["seconds"] / row["iter"]
        self._logger.info(
            "%s: iteration %d of at most %d, loss %.6g, %.3g s each, at most %.0f s to go",
            self.name,
            row["iter"],
            self.max_iter,
            row["loss"],
            per_iteration,
            per_iteration * (self.max_iter - row["iter"]),
        )


def monitor_of(
    estimator: Any,
    *,
    monotone: bool = False,
    check_every: int = 1,
    patience: int = 1,
    checkpoint: Runs | None = None,
    run: str = "run",
    place: tuple[int, int] = (1, 1),
) -> Monitor:
    """A monitor with the parameters of an estimator; ``run`` and ``place`` tell it apart where a fit has several."""
    callbacks = list(estimator.callbacks or ())
    if estimator.verbose:
        callbacks.append(LogProgress(type(estimator).__name__, estimator.max_iter))
    limits = {"max_iter": estimator.max_iter, "tol": estimator.tol, "check_every": check_every, "patience": patience}
    saved = None if checkpoint is None else checkpoint.run(run)
    return Monitor(**limits, monotone=monotone, callbacks=callbacks, saved=saved, place=place)


_NOT_CONVERGED = {
    "max_iter": ("stopped at the limit of {n} without converging.", "Raise max_iter, or tol."),
    "stalled": ("stalled after {n} without converging.", "The arithmetic is at its limit: raise tol."),
    "loss_increased": ("stopped after {n}, when its loss rose.", "The arithmetic is at its limit: raise tol."),
    "not_finite": ("stopped after {n}: its loss is not finite.", "Look for extreme values in the data."),
}


def set_fit_report(estimator: Any, monitor: Monitor, remedy: str = "") -> None:
    """Set ``n_iter_``, ``history_``, ``converged_`` and ``stop_reason_``; warn if the run did not converge.

    ``stability_``, ``bands_`` and ``shares_`` of an earlier fit are removed. ``remedy`` is for a run that reached its
    limit, where more iterations are none.
    """
    for name in ("stability_", "stability_range_", "bands_", "shares_"):
        vars(estimator).pop(name, None)
    estimator.n_iter_ = monitor.n_iter
    estimator.history_ = monitor.history
    estimator.converged_ = monitor.converged
    estimator.stop_reason_ = monitor.stop_reason
    if monitor.saved is not None and monitor.stop_reason != "callback":
        monitor.saved.finish()
    if monitor.stop_reason in _NOT_CONVERGED:
        what, usual = _NOT_CONVERGED[monitor.stop_reason]
        remedy = usual if monitor.stop_reason != "max_iter" else remedy or usual
        what = f"{type(estimator).__name__} {what.format(n=count(monitor.n_iter, 'iteration'))}"
        warnings.warn(NotConverged(what, remedy, option=("max_iter", "tol", "prior=")), stacklevel=4)
