"""From starts to a fitted model: which of them to follow, and how far to trust the answers."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rectifact.core.monitor import Monitor
from rectifact.crowd.device import DeviceAnswers, tensor
from rectifact.crowd.em import (
    NOTHING,
    Background,
    CrowdModel,
    Floats,
    Gold,
    class_totals,
    e_step,
    em,
    expected_counts,
    gold_of_tasks,
    model_from,
    one_coin_of,
)
from rectifact.crowd.starts import Start
from rectifact.crowd.variational import dispersion, trust_in_answers, variational
from rectifact.io.checkpoint import Checkpoint

__all__ = ["Fitting", "Problem", "best_start", "unrefined"]

TRIAL_TOL = 3e-4
"""Accuracy at which it is clear where a start leads."""


@dataclass(frozen=True)
class Problem:
    """What is to be explained: answers ``B``, the shares of the ``votes``, and tasks of known class.

    Answers that lie in blocks elsewhere are a ``BlockAnswers``, which knows its gold labels itself.
    ``device`` is where fits run: ``"cpu"``, or a CUDA device as torch names it.
    """

    B: Any
    votes: Any
    gold: Gold | None
    device: str = "cpu"

    @cached_property
    def placed(self) -> tuple[Any, Floats, Gold | None]:
        """Answers, votes and gold where the fit runs; they are copied to a device once."""
        if self.device == "cpu":
            return self.B, self.votes, self.gold
        gold = None if self.gold is None else (tensor(self.gold[0], self.device), tensor(self.gold[1], self.device))
        return DeviceAnswers.of(self.B, self.device), tensor(self.votes, self.device), gold

    def of_tasks(self, tasks: NDArray[np.int64]) -> "Problem":
        """The part of the problem that concerns ``tasks``, which are sorted."""
        return Problem(self.B[tasks], self.votes[tasks], gold_of_tasks(self.gold, tasks))


@dataclass(frozen=True)
class Fitting:
    """Which ``model`` is fitted ("full", "one-coin", "auto"), its smoothing, and the trust in answers of "auto"."""

    model: str
    smoothing: float
    trust: float = 1.0

    def run(self, problem: Problem, start: Floats, *, monitor: Monitor, background: Background = NOTHING) -> CrowdModel:
        """Fit from the posteriors ``start``."""
        B, votes, gold = problem.placed
        start = start if problem.device == "cpu" else tensor(start, problem.device)
        common: dict[str, Any] = {"monitor": monitor, "gold": gold, "background": background}
        if self.model == "auto":
            return variational(B, start, votes, trust=self.trust, **common).on_host()
        form = one_coin_of if self.model == "one-coin" else None
        return em(B, start, smoothing=self.smoothing, confusions_from=form, **common).on_host()

    def background(self, problem: Problem, posteriors: Floats, without: NDArray[np.int64]) -> Background:
        """What all tasks but those ``without`` say of the parameters, in the proportions of the fit."""
        seen = self.trust * posteriors + (1 - self.trust) * problem.votes
        seen[without] = 0
        return Background(self.trust * expected_counts(problem.B, seen), class_totals(seen))


def best_start(
    problem: Problem,
    fitting: Fitting,
    starts: dict[str, Start],
    *,
    max_iter: int,
    tol: float,
    checkpoint: Checkpoint | None = None,
) -> tuple[Start, Fitting, dict[str, Any]]:
    """The start whose trial has the highest objective, moved on to where the trial ended.

    Returns
    -------
    start : Start
    fitting : Fitting, with the trust that the answers deserve
    resolved : what was measured on the way
    """

    def trials(kind: str) -> dict[str, CrowdModel]:
        found = {}
        for name, start in starts.items():
            saved = None if checkpoint is None else checkpoint.run(f"{kind} {name}")
            monitor = Monitor(max_iter=max_iter, tol=max(tol, TRIAL_TOL), monotone=True, saved=saved)
            found[name] = fitting.run(problem, start.posteriors, monitor=monitor)
        return found

    tried = trials("trial")
    resolved: dict[str, Any] = {}
    if fitting.model == "auto":
        # Of all trials the one that finds the answers least independent is believed: another may have bent its
        # classes until they looked so.
        effect = max(dispersion(problem.B, trial) for trial in tried.values())
        fitting = replace(fitting, trust=trust_in_answers(effect))
        resolved = {"dispersion": effect, "trust": fitting.trust}
        if fitting.trust < 1:
            tried = trials("second trial")
    best = max(tried, key=lambda name: tried[name].objective)
    resolved["objectives"] = {name: trial.objective for name, trial in tried.items()}
    return replace(starts[best], posteriors=tried[best].posteriors), fitting, resolved


def unrefined(problem: Problem, start: Start, smoothing: float) -> CrowdModel:
    """The model of a start as it is, and the posteriors under it."""
    posteriors, likelihood = e_step(problem.B, start.priors, start.confusions, problem.gold)
    counts = expected_counts(problem.B, posteriors) + smoothing
    return model_from(start.priors, start.confusions, posteriors, counts, likelihood, likelihood)
