"""Chooses between starts and runs the fit: tries each start, and follows the one with the best objective.

With ``model="auto"``, the trials also measure how far answers to one task are independent, which sets how much to trust
them. The loops themselves are in ``variational`` (the default) and ``em``.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from rectifact.core.monitor import Monitor
from rectifact.core.operand import Operand
from rectifact.crowd.device import answers_on, tensor
from rectifact.crowd.em import (
    NOTHING,
    CrowdModel,
    Floats,
    Sums,
    e_step,
    em,
    expected_sums,
    model_from,
    one_coin_of,
)
from rectifact.crowd.starts import Start
from rectifact.crowd.variational import dispersion, trust_in_answers, variational
from rectifact.io.checkpoint import Checkpoint

TRIAL_TOL = 3e-4
"""Accuracy at which it is clear where a start leads."""


@dataclass(frozen=True)
class Problem:
    """What is to be explained.

    Attributes
    ----------
    B : Operand of shape (n_tasks, n_workers * n_classes)
        How often worker m answered k.
    votes : array of shape (n_tasks, n_classes)
        Shares of the votes.
    known : array of shape (n_tasks,) or None
        The class of a task where it is certain, -1 elsewhere.
    device : str
        Where fits run: ``"cpu"``, or a CUDA device as torch names it.
    """

    B: Operand
    votes: Any
    known: Any = None
    device: str = "cpu"

    def sums(self, posteriors: Any) -> Sums:
        """Expected answers and tasks."""
        return Sums(*self.B.total(expected_sums, along=(posteriors,)))

    @cached_property
    def vote_sums(self) -> Sums:
        """Expected answers and tasks under the shares of the votes."""
        return self.sums(self.votes)

    @cached_property
    def placed(self) -> tuple[Operand, Sums, Any]:
        """Answers, sums of the votes and known classes where the fit runs; they are copied to a device once."""
        if self.device == "cpu":
            return self.B, self.vote_sums, self.known
        known = None if self.known is None else tensor(self.known, self.device)
        return answers_on(self.B, self.device), self.place(self.vote_sums), known

    def place(self, sums: Sums) -> Sums:
        """Sums where the fit runs."""
        return sums if self.device == "cpu" else Sums(*(tensor(part, self.device) for part in sums))

    def where(self, tasks: Any) -> "Problem":
        """The part of the problem that concerns the tasks where a tall array is true."""
        return Problem(*self.B.where(tasks, self.votes, self.known))


@dataclass(frozen=True)
class Fitting:
    """Which ``model`` is fitted ("full", "one-coin", "auto"), its smoothing, and the trust in answers of "auto"."""

    model: str
    smoothing: float
    trust: float = 1.0

    def run(self, problem: Problem, start: Sums, *, monitor: Monitor, background: Sums = NOTHING) -> CrowdModel:
        """Fit from the sums ``start``."""
        B, votes, known = problem.placed
        common: dict[str, Any] = {"monitor": monitor, "known": known, "background": background}
        if self.model == "auto":
            fitted = variational(B, problem.place(start), votes, trust=self.trust, **common)
        else:
            form = one_coin_of if self.model == "one-coin" else None
            fitted = em(B, problem.place(start), smoothing=self.smoothing, confusions_from=form, **common)
        return fitted if problem.device == "cpu" else fitted.on_host()

    def background(self, problem: Problem, posteriors: Any, without: Any) -> Sums:
        """What all tasks but those ``without`` say about the parameters, in the proportions of the fit."""
        counts, classes = problem.B.total(_seen, self.trust, along=(posteriors, problem.votes, without))
        return Sums(self.trust * counts, classes)


def _seen(rows: Any, posteriors: Floats, votes: Floats, without: Any, trust: float) -> Sums:
    seen = trust * posteriors + (1 - trust) * votes
    seen[without] = 0
    return expected_sums(rows, seen)


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
    fitting : Fitting
        With the trust that the answers deserve.
    resolved : dict
        What was measured on the way.
    """

    def trials(kind: str) -> dict[str, CrowdModel]:
        found = {}
        for name, start in starts.items():
            saved = None if checkpoint is None else checkpoint.run(f"{kind} {name}")
            monitor = Monitor(max_iter=max_iter, tol=max(tol, TRIAL_TOL), monotone=True, saved=saved)
            found[name] = fitting.run(problem, start.sums, monitor=monitor)
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
    return replace(starts[best], sums=problem.sums(tried[best].posteriors)), fitting, resolved


def unrefined(problem: Problem, start: Start, smoothing: float) -> CrowdModel:
    """The model of a start as it is, and the posteriors under it."""
    posteriors, sums, likelihood = e_step(problem.B, start.priors, start.confusions, problem.known)
    return model_from(start.priors, start.confusions, posteriors, sums.counts + smoothing, likelihood, likelihood)
