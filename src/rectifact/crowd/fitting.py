"""What is fitted, and one fit of it with what was decided so far; ``decisions`` has the stages that lead to the last.

The loops themselves are in ``pooled`` (the default) and ``em``.
"""

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rectifact.core.monitor import Monitor
from rectifact.core.operand import Operand
from rectifact.core.sparse import with_entries
from rectifact.crowd.device import answers_on, tensor
from rectifact.crowd.em import (
    FULL,
    NOTHING,
    ONE_COIN,
    CrowdModel,
    Floats,
    Sums,
    em,
    expected_sums,
    judged,
    posteriors_of,
    vote_shares,
)
from rectifact.crowd.pooled import FIRST_STRENGTH, PooledFit, Strength, pooled_em, subtypes_of
from rectifact.crowd.trust import ENOUGH_SOURCES, foretold, small_crowd_retreat, unknown_workers_retreat


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
    groups : array of shape (n_workers,) or None
        Number of the group of workers that a worker is in, -1 for none.
    """

    B: Operand
    votes: Any
    known: Any = None
    device: str = "cpu"
    groups: NDArray[np.int64] | None = None

    @property
    def n_workers(self) -> int:
        """Number of workers."""
        return self.B.shape[1] // self.votes.shape[1]

    def sums(self, posteriors: Any) -> Sums:
        """Expected answers and tasks, by state."""
        return Sums(*self.B.total(expected_sums, self.votes.shape[1], along=(posteriors,)))

    @cached_property
    def vote_sums(self) -> Sums:
        """Expected answers and tasks under the shares of the votes."""
        return self.sums(self.votes)

    @cached_property
    def placed(self) -> tuple[Operand, Any]:
        """Answers and known classes where the fit runs; they are copied to a device once."""
        if self.device == "cpu":
            return self.B, self.known
        return answers_on(self.B, self.device), None if self.known is None else tensor(self.known, self.device)

    def place(self, sums: Sums) -> Sums:
        """Sums where the fit runs."""
        return sums if self.device == "cpu" else Sums(*(tensor(part, self.device) for part in sums))

    def recounted(self, vote_weights: Floats) -> "Problem":
        """The same problem where the votes of some workers count less."""
        columns = self.votes.shape[1]
        shares = self.B.map_rows(_shares, vote_weights, along=(self.known,), columns=columns, dtype=np.float64)
        return replace(self, votes=shares)

    def unweighted(self, fitted: PooledFit) -> Any:
        """Posteriors of the states if all answers weighed the same: weights do not change how answers vary."""
        if not self.B.total(_n_weights):
            return fitted.posteriors
        logs = fitted.model.log_priors, fitted.model.log_confusions
        return self.B.map_rows(_unweighted, *logs, along=(self.known,), columns=len(logs[0]), dtype=np.float64)

    def where(self, tasks: Any) -> "Problem":
        """The part of the problem that concerns the tasks where a tall array is true."""
        return Problem(*self.B.where(tasks, self.votes, self.known))


@dataclass(frozen=True)
class Fitting:
    """Which model is fitted, and what was decided on the way.

    Attributes
    ----------
    model : {"full", "one-coin", "auto"}
    smoothing : float
        Of the first two.
    strength : Strength
        Of the priors of "auto", as all further attributes.
    vote_weights : array of shape (n_workers,) or None
        What an answer counts in the vote: less than 1 for copies of other workers.
    weights : array of shape (n_workers,) or None
        What an answer counts as evidence.
    independence : array of shape (n_workers,) or None
        What an answer is worth beside an independent one.
    families : array of shape (n_workers,) or None
        Number of the family of workers who err alike, -1 for none.
    n_subtypes : int
    dispersion : float
        Design effect of the answers.
    retreat : float
        Weight of the vote in the posteriors, because of the dispersion.
    ordinal : bool
        Whether classes are grades in order.
    n_answers : float
        Number of all answers.
    foretold : float
        Nats by which answers foretell those of a worker, see :func:`rectifact.crowd.trust.foretold`.
    n_sources : float
        Number of workers, of which those who are copies, or may be, count as one.
    """

    model: str
    smoothing: float
    strength: Strength = FIRST_STRENGTH
    vote_weights: Floats | None = None
    weights: Floats | None = None
    independence: Floats | None = None
    families: NDArray[np.int64] | None = None
    n_subtypes: int = 1
    dispersion: float = 1.0
    retreat: float = 0.0
    ordinal: bool = field(default=False, metadata={"since": "0.2"})
    n_answers: float = field(default=np.inf, metadata={"since": "0.2"})
    foretold: float = field(default=np.inf, metadata={"since": "0.2"})
    n_sources: float = field(default=np.inf, metadata={"since": "0.2"})

    @property
    def identified(self) -> bool:
        """Whether the answers, or enough true labels, tell who is right where workers differ."""
        return self.model != "auto" or self.n_sources > ENOUGH_SOURCES or self.foretold == np.inf

    @property
    def vote_share(self) -> float:
        """Weight of the vote in the posteriors."""
        return max(self.retreat, small_crowd_retreat(self.n_answers, self.ordinal), self.leaning)

    @property
    def leaning(self) -> float:
        """Weight of the vote in the posteriors because workers are hardly known."""
        return unknown_workers_retreat(self.foretold if self.identified else 0.0)

    def run(self, problem: Problem, start: Sums, *, monitor: Monitor, background: Sums = NOTHING) -> CrowdModel:
        """Fit from the sums ``start``, with what was decided."""
        if self.model == "auto":
            return self.trusted(problem, self.pooled(problem, start, monitor=monitor, background=background).model)
        B, known = problem.placed
        form = ONE_COIN if self.model == "one-coin" else FULL
        options: dict[str, Any] = {"monitor": monitor, "known": known, "background": background}
        fitted = em(B, problem.place(start), smoothing=self.smoothing, form=form, **options)
        return fitted if problem.device == "cpu" else fitted.on_host()

    def last_run(self, problem: Problem, start: Sums, *, monitor: Monitor) -> tuple[CrowdModel, "Fitting"]:
        """The fit that counts, and all that was decided in the end."""
        if self.model != "auto":
            return self.run(problem, start, monitor=monitor), self
        fitted = self.pooled(problem, start, monitor=monitor, learn=True)
        fitting = replace(self, strength=fitted.strength).knowing(problem, fitted.model)
        return fitting.trusted(problem, fitted.model), fitting

    def knowing(self, problem: Problem, model: CrowdModel) -> "Fitting":
        """The same, with how far answers foretell each other under the model "auto"."""
        if self.model != "auto":
            return self
        return replace(self, foretold=foretold(problem.B, model, self.counted(problem.n_workers), problem.known))

    def pooled(
        self, problem: Problem, start: Sums, *, monitor: Monitor, background: Sums = NOTHING, learn: bool = False
    ) -> PooledFit:
        """The default fit from the sums ``start``, with what was decided so far."""
        B, known = problem.placed
        fitted = pooled_em(
            B,
            problem.place(start),
            monitor=monitor,
            weights=self.counted(problem.n_workers),
            shares=self.shares(problem.n_workers),
            strength=self.strength,
            learn=learn,
            known=known,
            background=background,
            ordinal=self.ordinal,
        )
        return fitted if problem.device == "cpu" else fitted.on_host()

    def counted(self, n_workers: int) -> Floats:
        """What an answer of each worker counts as evidence."""
        return _for_all(self.weights, n_workers)

    def shares(self, n_workers: int) -> Floats:
        """Part of a source of answers that each worker is: below 1 for copies of other workers."""
        known = np.ones(0) if self.vote_weights is None else self.vote_weights
        return np.concatenate([known, np.ones(n_workers - len(known))])

    def independent(self, n_workers: int) -> Floats:
        """What an answer of each worker is worth beside an independent one."""
        return _for_all(self.independence, n_workers)

    def trusted(self, problem: Problem, model: CrowdModel) -> CrowdModel:
        """The same model with posteriors that lean on the vote."""
        if not self.vote_share or self.vote_weights is None:
            return model
        counted = self.shares(problem.n_workers)
        model = replace(model, vote_weights=counted, retreat=self.vote_share, ordinal=self.ordinal)
        columns = problem.votes.shape[1]
        posteriors = problem.B.map_rows(
            judged, *model.judging, along=(problem.known,), columns=columns, dtype=np.float64
        )
        return replace(model, posteriors=problem.B.keep(posteriors)[0])

    def background(self, problem: Problem, model: CrowdModel, without: Any) -> Sums:
        """What all tasks but those ``without`` say about the parameters, under a model fitted before."""
        missing = problem.n_workers - len(model.log_confusions)
        log_confusions = np.pad(model.log_confusions, ((0, missing), (0, 0), (0, 0)))
        counts, classes = problem.B.total(_others, model.log_priors, log_confusions, along=(problem.known, without))
        weights = self.counted(problem.n_workers) if self.model == "auto" else np.ones(problem.n_workers)
        return Sums(weights[:, None, None] * counts, classes)

    def start(self, problem: Problem) -> Sums:
        """Expected answers and tasks under the votes, by state."""
        return problem.sums(by_state(problem, problem.votes, self.n_subtypes))


def _for_all(values: Floats | None, n_workers: int) -> Floats:
    """Workers who have come in since the fit are like the others on average."""
    known = np.ones(0) if values is None else values
    return np.concatenate([known, np.full(n_workers - len(known), known.mean() if len(known) else 1.0)])


def _shares(rows: Any, known: Any, vote_weights: Floats) -> Floats:
    return vote_shares(rows @ np.kron(vote_weights[:, None], np.eye(rows.shape[1] // len(vote_weights))), known)


def _n_weights(rows: Any) -> int:
    return int((rows.data != 1).sum())


def _unweighted(rows: Any, known: Any, *logs: Floats) -> Any:
    return posteriors_of(with_entries(rows, (rows.data != 0).astype(rows.dtype)), known, *logs)


def _others(rows: Any, known: Any, without: Any, log_priors: Floats, log_confusions: Floats) -> Sums:
    posteriors = posteriors_of(rows, known, log_priors, log_confusions)
    posteriors[without] = 0
    return expected_sums(rows, posteriors, log_confusions.shape[1])


def by_state(problem: Problem, posteriors: Any, n_subtypes: int) -> Any:
    """Posteriors of the states to start from, see :func:`rectifact.crowd.pooled.subtypes_of`."""
    if n_subtypes == 1:
        return posteriors
    columns = n_subtypes * problem.votes.shape[1]
    along = posteriors, problem.votes
    return problem.B.map_rows(_with_subtypes, n_subtypes, along=along, columns=columns, dtype=np.float64)


def _with_subtypes(rows: Any, posteriors: Floats, votes: Floats, n_subtypes: int) -> Floats:
    return subtypes_of(posteriors, votes, n_subtypes)
