"""Decides how far the answers can be trusted, and where the fit that counts starts.

The default fit goes through stages: trials of the starts, where workers who copy each other count once; the design
effect of the answers. Where that rules out independent answers, classes get subtypes, each worker's answers count by
their own design effect, and the posteriors lean on the vote.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from rectifact.core.monitor import Monitor
from rectifact.crowd.copying import find_copies, may_be_copies
from rectifact.crowd.dependence import design_effects, find_families
from rectifact.crowd.em import CrowdModel, Sums, posteriors_of
from rectifact.crowd.fitting import Fitting, Problem, by_state
from rectifact.crowd.pooled import FIRST_STRENGTH
from rectifact.crowd.starts import Start
from rectifact.crowd.trust import dependence_retreat

TRIAL_TOL = 3e-4
"""Accuracy at which it is clear where a start leads."""

CLEARLY = 0.005
"""By which share of the objective another start must be better than the vote, for the default model."""

SUBTYPES = 2
"""Of a class, where answers are not independent: typical tasks, and others."""

SUBTYPE_TRIAL = 20
"""Iterations after which the design effects with subtypes are measured."""

Monitors = Callable[[str], Monitor]
"""A new monitor for each stage of a fit, by its name."""


def best_start(
    problem: Problem, fitting: Fitting, starts: dict[str, Start], *, monitors: Monitors
) -> tuple[str, Sums, dict[str, float]]:
    """The start whose trial has the highest objective; the sums where it ended, and the objectives of all."""
    tried: dict[str, CrowdModel] = {}
    for name, start in starts.items():
        tried[name] = fitting.run(problem, start.sums, monitor=monitors(f"trial {name}"))
    best = max(tried, key=lambda name: tried[name].objective)
    vote = tried.get("majority")
    if fitting.model == "auto" and vote is not None:  # the vote knows best which class is which
        gain = tried[best].objective - vote.objective
        best = best if gain > CLEARLY * abs(vote.objective) else "majority"
    return best, problem.sums(tried[best].posteriors), {name: trial.objective for name, trial in tried.items()}


def count_copies_once(problem: Problem, fitting: Fitting) -> tuple[Problem, Fitting]:
    """Find families of workers who answer the same or copy, and let their votes count for less."""
    copies = find_copies(problem.B, problem.known, problem.n_workers)
    families = find_families(problem.B, problem.votes, problem.vote_sums, problem.groups, copies)
    counted = families.vote_weights
    if (counted < 1).any():
        problem = problem.recounted(counted)
    n_sources = min(counted.sum(), 2.0) if may_be_copies(problem.B, problem.n_workers) else counted.sum()
    return problem, replace(
        fitting,
        vote_weights=counted,
        weights=counted,
        independence=counted,
        families=families.members,
        n_sources=float(n_sources),
    )


def decide(problem: Problem, fitting: Fitting, start: Start, *, monitors: Monitors) -> tuple[Fitting, Sums]:
    """How far the answers can be trusted, and the sums to start the last fit of the model "auto" from."""
    counted = fitting.counted(problem.n_workers)
    fitted = fitting.pooled(problem, problem.sums(_begun(problem, start)), monitor=monitors("priors"), learn=True)
    effects = design_effects(problem.B, problem.unweighted(fitted), fitted.confusions, counted, fitting.families)
    fitting = replace(fitting, dispersion=effects.overall, strength=fitted.strength)
    if not effects.certain:
        return fitting, problem.sums(fitted.posteriors)
    fitting = replace(fitting, independence=counted / effects.workers, strength=FIRST_STRENGTH, n_subtypes=SUBTYPES)
    begun = problem.sums(by_state(problem, _begun(problem, start), SUBTYPES))
    trial = monitors("subtypes")
    trial.max_iter = min(trial.max_iter, SUBTYPE_TRIAL)
    fitted = fitting.pooled(problem, begun, monitor=trial)
    seen = problem.unweighted(fitted)
    each = design_effects(problem.B, seen, fitted.confusions, counted, fitting.families).workers
    retreat = dependence_retreat(effects.overall, fitting.ordinal)
    fitting = replace(fitting, weights=counted / each, retreat=retreat)
    return fitting, begun if start.method == "majority" else _higher(problem, fitting, begun, monitors=monitors)


def _higher(problem: Problem, fitting: Fitting, begun: Sums, *, monitors: Monitors) -> Sums:
    """The sums to start the last fit from: those so far, or those of the vote if they lead to a higher objective.

    The start was chosen before answers were found to depend on each other. With subtypes and weights the objective is
    another one, and may have its highest peak elsewhere; objectives are compared under the same priors only.
    """
    votes = fitting.start(problem)
    one, other = (
        fitting.pooled(problem, sums, monitor=monitors(f"last fit from {name}"), learn=True)
        for name, sums in (("the start", begun), ("the vote", votes))
    )
    better = one.strength == other.strength and other.model.objective > one.model.objective
    return votes if better else begun


def _begun(problem: Problem, start: Start) -> Any:
    """Posteriors of the classes to start from."""
    if start.method == "majority":
        return problem.votes
    with np.errstate(divide="ignore"):
        logs = np.log(start.priors), np.log(start.confusions)
    return problem.B.map_rows(
        posteriors_of, *logs, along=(problem.known,), columns=problem.votes.shape[1], dtype=np.float64
    )
