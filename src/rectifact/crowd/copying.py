r"""Workers of a small panel who copy: Dawid-Skene where an answer may repeat that of another worker.

On a panel of four judges, two near copies agree better than anybody else, and a model that takes answers for
independent calls these two excellent and the others mediocre. Here worker m, whose source is worker s, answers k with
probability

.. math:: \rho_m [k = k_s] + (1 - \rho_m) A_m(k, c)

where c is the class and :math:`k_s` the answer of the source. If that explains the answers of the whole panel better,
and three answers in five are copied, m is a copy. Two workers who agree because both are right need no :math:`\rho`:
the others agree with them as well.

In larger panels two workers decide little; where judges are evaluated, :mod:`rectifact.crowd.copies` looks for copies
there.
"""

from collections.abc import Iterator
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rectifact.core.monitor import Monitor
from rectifact.core.operand import Operand
from rectifact.core.sparse import coordinates, from_coordinates
from rectifact.crowd.em import Floats, coins, vote_shares

FEWEST_WORKERS, MOST_WORKERS = 4, 12
"""Of a panel. Among three, no other two could tell copies from the best; in a crowd, two decide nothing."""

COMMON, ALIKE = 30, 0.8
"""Tasks that two workers must share, and how often they must say the same, before they are looked at."""

TRIED = 3
"""Pairs that are looked at: those who say the same most often."""

UNDECIDED, AHEAD = 0.9, 0.1
"""How often two workers must say the same, and how much more often than any other two, to be copies or the best: the
others cannot tell."""

COPIED = 0.6
"""Share of the answers that a copy takes from its source, at least. Independent workers seem to repeat half of each
other's answers where some tasks are hard for all."""

BETTER = 2.0
"""Nats by which the objective must gain; it has charged for the additional parameter already."""

MOST_TASKS = 5000
"""Looked at; of more, a part."""

PRIOR = 1.0
"""Pseudo-answers in each cell of a confusion matrix, on average."""

MOST_PATTERNS = 2**62
MAX_ITER, TOL = 100, 1e-6


class Copy(NamedTuple):
    """A worker who repeats a share of the answers of another one, their source."""

    worker: int
    source: int
    share: float


class Likeness(NamedTuple):
    """The two workers who say the same most often: their numbers, how often, and how often the next pair does.

    ``others`` is None if no other two share enough tasks.
    """

    pair: tuple[int, int]
    agreement: float
    others: float | None

    @property
    def undecided(self) -> bool:
        """Whether they may be copies or the best, as they say nearly the same, and no other pair does."""
        return self.agreement >= UNDECIDED and self.agreement - (self.others or 0.0) >= AHEAD


class Patterns(NamedTuple):
    """Distinct rows of the answers.

    Attributes
    ----------
    said : array of shape (n_patterns, n_workers)
        Number of the class that a worker answered, -1 for none.
    known : array of shape (n_patterns,)
        The class where it is certain, else -1.
    tasks : array of shape (n_patterns,)
        How many tasks have these answers.
    n_classes : int
    """

    said: NDArray[np.int64]
    known: NDArray[np.int64]
    tasks: Floats
    n_classes: int

    def one_hot(self) -> Floats:
        """Answers as an array of shape (n_patterns, n_workers * n_classes)."""
        return (self.said[:, :, None] == np.arange(self.n_classes)).reshape(len(self.said), -1).astype(float)

    def shares(self, weights: Floats) -> Floats:
        """Shares of the votes, where those of a worker count for a weight."""
        return vote_shares(self.one_hot() @ np.kron(weights[:, None], np.eye(self.n_classes)), self.known)


def find_copies(B: Operand, known: Any, n_workers: int) -> list[Copy]:
    """Copies in a small panel; in a larger crowd none are looked for.

    Parameters
    ----------
    B : Operand of shape (n_tasks, n_workers * n_classes)
        How often worker m answered k.
    known : array of shape (n_tasks,) or None
        The class of a task where it is certain, -1 elsewhere.
    n_workers : int

    Examples
    --------
    >>> import numpy as np
    >>> from rectifact.core.operand import operand
    >>> from rectifact.crowd import read_answers
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.integers(3, size=300)
    >>> said = np.where(rng.random((300, 5)) < 0.7, truth[:, None], rng.integers(3, size=(300, 5)))
    >>> said[:, 4] = np.where(rng.random(300) < 0.9, said[:, 3], said[:, 4])  # one repeats what another says
    >>> [(copy.worker, copy.source) for copy in find_copies(operand(read_answers(said).one_hot()), None, 5)]
    [(4, 3)]
    """
    n_classes = B.shape[1] // n_workers
    if not FEWEST_WORKERS <= n_workers <= MOST_WORKERS or (n_classes + 1) ** (n_workers + 1) >= MOST_PATTERNS:
        return []
    patterns = patterns_of(B, known, n_workers)
    pairs = _alike(patterns)
    copies: list[Copy] = []
    while pairs and n_workers - len(copies) >= FEWEST_WORKERS:
        found = _best_copy(patterns, copies, pairs[:TRIED])
        if found is None:
            break
        copies.append(found)
        pairs = [pair for pair in pairs if pair[1] != found.worker]
    return copies


def may_be_copies(B: Operand, n_workers: int) -> bool:
    """Whether two of three workers say nearly the same, but not the third, who cannot tell copies from the best.

    Examples
    --------
    >>> import numpy as np
    >>> from rectifact.core.operand import operand
    >>> from rectifact.crowd import read_answers
    >>> said = np.tile([[0, 0, 1], [1, 1, 1], [0, 0, 0]], (20, 1))
    >>> may_be_copies(operand(read_answers(said).one_hot()), 3)
    True
    """
    if n_workers != FEWEST_WORKERS - 1:
        return False
    patterns = patterns_of(B, None, n_workers)
    found = most_alike(patterns.said, patterns.tasks)
    return found is not None and found.undecided


def most_alike(said: NDArray[np.int64], tasks: Floats | None = None) -> Likeness | None:
    """The two workers who say the same most often; None where no two share enough tasks."""
    found = sorted(((share, pair) for pair, share in pair_agreements(said, COMMON, tasks)), reverse=True)
    if not found:
        return None
    (agreement, pair), *rest = found
    return Likeness(pair, agreement, rest[0][0] if rest else None)


def pair_agreements(
    said: NDArray[np.int64], least: int, tasks: Floats | None = None
) -> Iterator[tuple[tuple[int, int], float]]:
    """Pairs of workers who share enough tasks, and the share of these on which they say the same.

    Parameters
    ----------
    said : array of shape (n_rows, n_workers)
        As :meth:`rectifact.crowd.data.answers.Answers.said` gives it.
    least : int
        Number of tasks that are enough.
    tasks : array of shape (n_rows,), default None
        How many tasks a row stands for; None for one each.
    """
    tasks = np.ones(len(said)) if tasks is None else tasks
    for a, b in combinations(range(said.shape[1]), 2):
        both = (said[:, a] >= 0) & (said[:, b] >= 0)
        common = tasks[both].sum()
        if common >= least:
            yield (a, b), float(tasks[both & (said[:, a] == said[:, b])].sum() / common)


def patterns_of(B: Operand, known: Any, n_workers: int) -> Patterns:
    """Distinct rows of the answers, of a part of the tasks where there are many."""
    stride, base = -(-B.shape[0] // MOST_TASKS), B.shape[1] // n_workers + 1
    _, codes, tasks = coordinates(B.total(_coded, n_workers, stride, along=(known,)))
    digits = codes.astype(np.int64)[:, None] // base ** np.arange(n_workers + 1) % base - 1
    return Patterns(digits[:, 1:], digits[:, 0], np.asarray(tasks, dtype=float), base - 1)


def _coded(rows: Any, known: Any, n_workers: int, stride: int) -> Any:
    """How often each row occurs: rows as numbers, whose digits are what is known and what each worker said."""
    n_classes = rows.shape[1] // n_workers
    counts = (rows[::stride].toarray() > 0).reshape(-1, n_workers, n_classes)
    said = np.where(counts.sum(axis=2) == 1, counts.argmax(axis=2) + 1, 0)  # two answers of one worker are none
    certain = np.zeros(len(said), dtype=np.int64) if known is None else np.asarray(known)[::stride] + 1
    digits = np.concatenate([certain[:, None], said], axis=1).astype(np.int64)
    codes = digits @ (n_classes + 1) ** np.arange(n_workers + 1)
    shape = 1, (n_classes + 1) ** (n_workers + 1)
    return from_coordinates(np.ones(len(codes)), np.zeros(len(codes), dtype=np.int64), codes, shape)


def _alike(patterns: Patterns) -> list[tuple[int, int]]:
    """Pairs of workers who say the same often enough to be copies, those who do most often first."""
    found = pair_agreements(patterns.said, COMMON, patterns.tasks)
    return [pair for _, pair in sorted((-share, pair) for pair, share in found if share >= ALIKE)]


def _best_copy(patterns: Patterns, copies: list[Copy], pairs: list[tuple[int, int]]) -> Copy | None:
    """The pair that most answers say to be a copy, if the panel is explained better with it; None if none is."""
    n_workers = patterns.said.shape[1]
    sources = np.full(n_workers, -1)
    for copy in copies:
        sources[copy.worker] = copy.source
    plain = patterns.shares(_once(sources))
    starts = {pair: _starts(patterns, sources, pair) for pair in pairs}
    every = [plain, *(start for some in starts.values() for start in some)]
    least = BETTER + max(copying_em(patterns, sources, start)[0] for start in every)
    found = []
    for source, worker in pairs:
        tried = _with_source(sources, worker, source)
        fits = [copying_em(patterns, tried, start) for start in (plain, *starts[source, worker])]
        objective, shares = max(fits, key=lambda fit: fit[0])
        if objective > least and shares[worker] > COPIED:
            found.append(Copy(worker, source, float(shares[worker])))
    return max(found, key=lambda copy: copy.share, default=None)


def _with_source(sources: NDArray[np.int64], worker: int, source: int) -> NDArray[np.int64]:
    changed = sources.copy()
    changed[worker] = source
    return changed


def _starts(patterns: Patterns, sources: NDArray[np.int64], pair: tuple[int, int]) -> list[Floats]:
    """Votes where a pair counts as one worker, and where it hardly counts."""
    once = _once(_with_source(sources, pair[1], pair[0]))
    hardly = once.copy()
    hardly[list(pair)] = 1e-3
    return [patterns.shares(once), patterns.shares(hardly)]


def _once(sources: NDArray[np.int64]) -> Floats:
    """Weights with which all copies of one source, and the source, count as one worker."""
    roots = np.arange(len(sources))
    for _ in sources:
        roots = np.where(sources[roots] >= 0, sources[roots], roots)
    return 1 / np.bincount(roots, minlength=len(roots))[roots]


def copying_em(patterns: Patterns, sources: NDArray[np.int64], posteriors: Floats) -> tuple[float, Floats]:
    """EM where some workers have a source; the objective, and the share of the answers that each worker copies.

    Parameters
    ----------
    patterns : Patterns
    sources : array of shape (n_workers,)
        Number of the worker who is copied, -1 for workers without a source; without circles.
    posteriors : array of shape (n_patterns, n_classes)
        To start from.
    """
    said, tasks, k = patterns.said, patterns.tasks[:, None], patterns.n_classes
    one_hot, copiers = patterns.one_hot(), np.flatnonzero(sources >= 0)
    both = (said[:, copiers] >= 0) & (said[:, sources[copiers]] >= 0)
    same = (both & (said[:, copiers] == said[:, sources[copiers]]))[:, :, None]
    copied, shares = np.where(same, 0.5, 0.0) * np.ones(k), np.zeros(len(sources))
    ruled_out = np.where((patterns.known[:, None] >= 0) & (patterns.known[:, None] != np.arange(k)), -np.inf, 0.0)
    monitor = Monitor(max_iter=MAX_ITER, tol=TOL)
    objective = -np.inf
    for _ in monitor:
        weighed = tasks * posteriors
        counts = (one_hot.T @ weighed).reshape(-1, k, k)
        for j, m in enumerate(copiers):
            counts[m] -= one_hot[:, m * k : (m + 1) * k].T @ (weighed * copied[:, j])
        right = (np.einsum("mkk->m", counts) + 2) / (counts.sum(axis=(1, 2)) + 3)
        prior = PRIOR * k * coins(right, k)
        confusions = counts + prior
        confusions = confusions / confusions.sum(axis=1, keepdims=True)
        classes = weighed.sum(axis=0) + 1
        logs = np.log(classes / classes.sum()), np.log(confusions)
        evidence = logs[0] + one_hot @ logs[1].reshape(-1, k) + ruled_out
        penalty = (prior * logs[1]).sum() + logs[0].sum()
        for j, m in enumerate(copiers):
            share = ((weighed * copied[:, j]).sum() + 1) / ((tasks * both[:, j, None]).sum() + 2)
            own = confusions[m][said[:, m]]
            mixed = np.where(both[:, j, None], share * same[:, j] + (1 - share) * own, 1.0)
            evidence += np.where(both[:, j, None], np.log(mixed) - np.log(own), 0.0)
            copied[:, j] = np.where(same[:, j], share / mixed, 0.0)
            shares[m], penalty = share, penalty + np.log(share) + np.log(1 - share)
        most = evidence.max(axis=1, keepdims=True)
        total = most + np.log(np.exp(evidence - most).sum(axis=1, keepdims=True))
        posteriors, objective = np.exp(evidence - total), float((tasks * total).sum() + penalty)
        monitor.record(lambda: -objective)
    return objective, shares
