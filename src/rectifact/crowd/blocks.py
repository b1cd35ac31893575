"""Answers in blocks of tasks that lie on the machines of a cluster: every sum over tasks is a sum over blocks.

The loops of ``em`` and ``variational`` are those of one machine. What they ask of all tasks is registered here in the
form for blocks: the form for arrays runs where a block lies, and only small sums travel. Posteriors are no state: the
parameters of the last iteration give them again, so that a machine that is lost takes nothing with it but blocks, which
dask makes again from the user's data.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import uuid4

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from rectifact.core.lazy import SPLIT_EVERY, large_graphs
from rectifact.core.threads import single_thread
from rectifact.crowd import cooccurrence, em, imputation, variational
from rectifact.crowd.em import Background, Floats, Gold, gold_of_tasks, log_e_step, vote_shares

__all__ = ["Block", "BlockAnswers", "BlockPosteriors", "add_up", "compute", "map_blocks", "persist"]

# Logarithms of priors and confusion matrices, which give the posterior of a task with its answers.
Rule = tuple[Floats, Floats]


@dataclass(frozen=True)
class Block:
    """All answers to some tasks.

    Attributes
    ----------
    B : sparse array (n_tasks, n_workers * n_classes)
    tasks : index of their names, of pandas because it packs texts
    gold : those of known class
    judged : integer array (n_tasks,), which of several rules gave each posterior
    touched : places of the tasks that got answers last
    """

    B: sp.csr_array
    tasks: Any
    gold: Gold | None
    judged: NDArray[np.int32]
    touched: NDArray[np.int64]

    def of_tasks(self, places: NDArray[np.int64]) -> "Block":
        """The part of the block that concerns the tasks at ``places``, which are sorted."""
        gold = gold_of_tasks(self.gold, places)
        return Block(self.B[places], self.tasks[places], gold, self.judged[places], np.arange(len(places)))

    def shares(self, n_classes: int) -> Floats:
        """Shares of the votes; every task has an answer."""
        if not len(self.tasks):
            return np.empty((0, n_classes))
        task = np.repeat(np.arange(len(self.tasks)), np.diff(self.B.indptr))
        cells = np.bincount(task * n_classes + self.B.indices % n_classes, minlength=len(self.tasks) * n_classes)
        return vote_shares(cells.reshape(-1, n_classes).astype(np.float64), self.gold)

    def posteriors(self, rules: Sequence[Rule], n_classes: int) -> tuple[Floats, float]:
        """Posteriors and their log-likelihood: by the one rule, by several, or the shares of the votes by none."""
        if not rules:
            return self.shares(n_classes), 0.0
        if len(rules) == 1:
            return log_e_step(self.B, *rules[0], self.gold)
        posteriors, likelihood = np.empty((len(self.tasks), n_classes)), 0.0
        for number, rule in enumerate(rules):
            places = np.flatnonzero(self.judged == number)
            part = self.of_tasks(places)
            posteriors[places], more = log_e_step(part.B, *rule, part.gold)
            likelihood += more
        return posteriors, likelihood


@dataclass(frozen=True, eq=False)
class BlockAnswers:
    """The matrix B of all answers, as blocks of its rows that dask holds.

    Attributes
    ----------
    blocks : lazy :class:`Block` objects
    sizes : number of tasks of each
    n_workers, n_classes : int
    """

    blocks: tuple[Any, ...]
    sizes: tuple[int, ...]
    n_workers: int
    n_classes: int

    @property
    def shape(self) -> tuple[int, int]:
        """Number of tasks, and of pairs of a worker and an answer."""
        return sum(self.sizes), self.n_workers * self.n_classes

    def total(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Sum of ``function(block, *arguments)`` over all blocks, in one computation of dask's."""
        return compute(add_up(map_blocks(function, self.blocks, *arguments)))


@dataclass(eq=False)
class BlockPosteriors:
    """Posteriors of all tasks by the ``rules`` that give them; without any they are the shares of the votes.

    What is kept of them here is their sums: ``sums`` of cells and of classes, and the log-likelihood.
    """

    B: BlockAnswers
    rules: tuple[Rule, ...] = ()
    _sums: tuple[Floats, Floats, float] | None = field(default=None, repr=False)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of tasks and of classes."""
        return self.B.shape[0], self.B.n_classes

    @property
    def sums(self) -> tuple[Floats, Floats, float]:
        """Expected counts, class totals and log-likelihood: one computation, the first time only."""
        if self._sums is None:
            self._sums = self.B.total(_sums_of_block, self.rules, self.B.n_classes)
        return self._sums

    def follow(self, *rules: Rule) -> float:
        """Make the posteriors those that ``rules`` give; returns the log-likelihood."""
        self.rules, self._sums = rules, None
        return self.sums[2]

    def to_save(self) -> tuple[Rule, ...]:
        """What a checkpoint keeps of them."""
        return self.rules

    def taken_up(self, rules: Sequence[Rule]) -> "BlockPosteriors":
        """The posteriors of the same tasks that a checkpoint kept."""
        return BlockPosteriors(self.B, tuple((rule[0], rule[1]) for rule in rules))

    def background(self, trust: float) -> Background:
        """What all tasks but those just touched say of the parameters; see ``Fitting.background``."""
        return Background(*self.B.total(_background_of_block, self.rules, self.B.n_classes, trust))


def map_blocks(function: Callable[..., Any], blocks: Sequence[Any], *arguments: Any) -> list[Any]:
    """Lazy ``function(block, *arguments)``; the arguments are one node of the graph, so that they travel once."""
    from dask import delayed

    shared = delayed(arguments, name=f"parameters-{uuid4().hex}", traverse=False)
    apply = delayed(_on_one_core, pure=False)
    return [apply(function, block, shared) for block in blocks]


def add_up(values: Sequence[Any]) -> Any:
    """Lazy sum of lazy arrays, numbers or tuples of them, as a tree, in an order that does not change."""
    from dask import delayed

    add, values = delayed(_sum_of, pure=False), list(values)
    while len(values) > 1:
        values = [add(values[i : i + SPLIT_EVERY]) for i in range(0, len(values), SPLIT_EVERY)]
    return values[0]


def compute(lazy: Any) -> Any:
    """The value, by the running ``distributed.Client``, or by threads of this process where there is none."""
    import dask

    with large_graphs():
        return dask.compute(lazy)[0]


def persist(blocks: Sequence[Any]) -> tuple[Any, ...]:
    """Blocks that are made once and kept where they were made."""
    import dask

    with large_graphs():
        kept: tuple[Any, ...] = dask.persist(*blocks)
    return kept


def _on_one_core(function: Callable[..., Any], block: Any, arguments: tuple[Any, ...]) -> Any:
    with single_thread():  # dask runs a block on each core
        return function(block, *arguments)


def _sum_of(values: list[Any]) -> Any:
    if isinstance(values[0], tuple):
        return tuple(_sum_of(list(parts)) for parts in zip(*values, strict=True))
    total = values[0]
    for value in values[1:]:
        total = total + value
    return total


def _sums_of_block(block: Block, rules: Sequence[Rule], n_classes: int) -> tuple[Floats, Floats, float]:
    posteriors, likelihood = block.posteriors(rules, n_classes)
    return em.expected_counts(block.B, posteriors), em.class_totals(posteriors), likelihood


def _background_of_block(block: Block, rules: Sequence[Rule], n_classes: int, trust: float) -> tuple[Floats, Floats]:
    places = np.setdiff1d(np.arange(len(block.tasks)), block.touched)
    old = block.of_tasks(places)
    seen = trust * old.posteriors(rules, n_classes)[0] + (1 - trust) * old.shares(n_classes)
    return trust * em.expected_counts(old.B, seen), em.class_totals(seen)


def _scatter_of_block(block: Block, rules: Sequence[Rule], confusions: Floats) -> float:
    posteriors, _ = block.posteriors(rules, confusions.shape[1])
    return variational.vote_scatter(block.B, posteriors, confusions)


def _of_matrix(block: Block, function: Callable[..., Any], *arguments: Any) -> Any:
    return function(block.B, *arguments)


def _products_of_matrix(B: sp.csr_array, n_workers: int, U: Floats, V: Floats) -> tuple[Floats, Floats]:
    return imputation.pair_products(B, n_workers)(U, V)


def _joint_of_matrix(B: sp.csr_array) -> sp.csr_array:
    return sp.csr_array(cooccurrence.joint_counts(B))  # sums of coordinates would not merge


@em.own_copy.register
def _(posteriors: BlockPosteriors) -> BlockPosteriors:
    return replace(posteriors)


@em.blank_posteriors.register
def _(B: BlockAnswers, log_priors: Floats) -> BlockPosteriors:
    return BlockPosteriors(B)


@em.update_posteriors.register
def _(
    B: BlockAnswers, log_priors: Floats, log_confusions: Floats, posteriors: BlockPosteriors, gold: Gold | None
) -> float:
    return posteriors.follow((log_priors, log_confusions))


@em.expected_counts.register
def _(B: BlockAnswers, posteriors: BlockPosteriors) -> Floats:
    return posteriors.sums[0]


@em.class_totals.register
def _(posteriors: BlockPosteriors) -> Floats:
    return posteriors.sums[1]


@em.unweighted.register
def _(B: BlockAnswers) -> BlockAnswers:
    return B


@variational.vote_scatter.register
def _(B: BlockAnswers, posteriors: BlockPosteriors, confusions: Floats) -> float:
    return B.total(_scatter_of_block, posteriors.rules, confusions)


@cooccurrence.n_paired_answers.register
def _(B: BlockAnswers) -> int:
    return B.total(_of_matrix, cooccurrence.n_paired_answers)


@cooccurrence.answers_per_cell.register
def _(B: BlockAnswers) -> Floats:
    return B.total(_of_matrix, cooccurrence.answers_per_cell)


@cooccurrence.joint_counts.register
def _(B: BlockAnswers) -> sp.coo_array:
    return sp.coo_array(B.total(_of_matrix, _joint_of_matrix))


@imputation.pair_products.register
def _(B: BlockAnswers, n_workers: int) -> imputation.PairProducts:
    return lambda U, V: B.total(_of_matrix, _products_of_matrix, n_workers, U, V)


@imputation.self_products.register
def _(B: BlockAnswers) -> Floats:
    return B.total(_of_matrix, imputation.self_products)
