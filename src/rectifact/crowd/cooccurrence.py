"""How often two workers gave which pair of answers to the same task: all that identification needs.

[1] S. Ibrahim and X. Fu, "Crowdsourcing via annotator co-occurrence imputation and provable symmetric
nonnegative matrix factorization", ICML 2021. Equation numbers here and in ``imputation`` and ``rotation``
are theirs.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rectifact.core.operand import Operand
from rectifact.core.sparse import coordinates, from_coordinates, with_entries
from rectifact.crowd.em import Floats


@dataclass(frozen=True)
class Cooccurrences:
    """Observed pairs of workers, in both directions and sorted by the first, and their co-occurrences.

    Attributes
    ----------
    first, second : array of shape (n_pairs,)
        Numbers of the workers.
    blocks : array of shape (n_pairs, n_classes, n_classes)
        R_mj of equation 3: joint frequencies of their answers.
    counts : array of shape (n_pairs,)
        Pairs of answers from which each of them was estimated.
    n_workers : int
    """

    first: NDArray[np.int64]
    second: NDArray[np.int64]
    blocks: Floats
    counts: Floats
    n_workers: int

    def block_matrix(self, blocks: Floats) -> Any:
        """``blocks`` (n_pairs, K, K) at the places of the pairs in a sparse matrix of n_workers * K rows."""
        k = np.arange(blocks.shape[1])
        rows = (self.first[:, None] * len(k) + k)[:, :, None] + 0 * k
        columns = (self.second[:, None] * len(k) + k)[:, None, :] + 0 * k[:, None]
        return from_coordinates(blocks.ravel(), rows.ravel(), columns.ravel(), 2 * (self.n_workers * len(k),))

    def at_least(self, number: int) -> "Cooccurrences":
        """Only those estimated from so many pairs of answers."""
        some = self.counts >= number
        return Cooccurrences(self.first[some], self.second[some], self.blocks[some], self.counts[some], self.n_workers)

    def worker_matrix(self, values: Floats) -> Any:
        """``values`` (n_pairs,) at the places of the pairs in a sparse matrix of n_workers rows."""
        return from_coordinates(values, self.first, self.second, 2 * (self.n_workers,))


def n_paired_answers(rows: Any) -> int:
    """Number of pairs of answers to the same task, which :func:`cooccurrences` takes time and memory for."""
    per_task = np.diff(rows.indptr).astype(np.int64)
    return int((per_task * (per_task - 1)).sum())


def n_tasks_shared(rows: Any, n_classes: int) -> int:
    """Number of tasks with answers that count from at least two workers; without any, no two workers co-occur."""
    worker, counts = rows.indices // n_classes, rows.data != 0
    begins = rows.indptr[:-1][np.diff(rows.indptr) > 0]
    if not len(begins):
        return 0
    first = np.minimum.reduceat(np.where(counts, worker, rows.shape[1]), begins)
    last = np.maximum.reduceat(np.where(counts, worker, -1), begins)
    return int((first < last).sum())


def answers_per_cell(rows: Any) -> Floats:
    """How often each worker gave each answer, of shape (n_workers * n_classes,)."""
    return np.asarray(rows.sum(axis=0), dtype=float)


def _joint_counts(rows: Any) -> Any:
    """How often two answers were given to the same task, of shape (n_workers * n_classes, n_workers * n_classes)."""
    # Not rows.astype, which would merge repeated readings in the rows themselves.
    exact = with_entries(rows, rows.data.astype(np.float64))
    return exact.T @ exact


def cooccurrences(B: Operand, n_classes: int) -> Cooccurrences:
    """Co-occurrences of all pairs of different workers who answered a common task; only those are stored.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> from rectifact.core.operand import operand
    >>> B = operand(sp.csr_array(np.array([[1.0, 0, 1, 0], [1, 0, 0, 1], [0, 1, 0, 1]])))  # two workers, two classes
    >>> pairs = cooccurrences(B, 2)
    >>> pairs.counts, (3 * pairs.blocks[0]).round()
    (array([3., 3.]), array([[1., 1.],
           [0., 1.]]))
    """
    n_workers = B.shape[1] // n_classes
    rows, columns, values = coordinates(B.total(_joint_counts))
    first, row = np.divmod(rows.astype(np.int64), n_classes)
    second, column = np.divmod(columns.astype(np.int64), n_classes)
    different = first != second
    first, row, second, column = (array[different] for array in (first, row, second, column))
    pair, position = np.unique(first * n_workers + second, return_inverse=True)
    blocks = np.zeros((len(pair), n_classes, n_classes))
    blocks[position, row, column] = values[different]
    counts = blocks.sum(axis=(1, 2))
    return Cooccurrences(pair // n_workers, pair % n_workers, blocks / counts[:, None, None], counts, n_workers)
