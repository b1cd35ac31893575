"""How often two workers gave which pair of answers to the same task: all that identification needs.

[1] S. Ibrahim and X. Fu, "Crowdsourcing via annotator co-occurrence imputation and provable symmetric
nonnegative matrix factorization", ICML 2021. Equation numbers here and in ``imputation`` and ``rotation``
are theirs.
"""

from dataclasses import dataclass
from functools import singledispatch
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from rectifact.crowd.em import Floats

__all__ = ["Cooccurrences", "answers_per_cell", "cooccurrences", "joint_counts", "n_paired_answers"]


@dataclass(frozen=True)
class Cooccurrences:
    """Observed pairs of workers, in both directions and sorted by the first, and their co-occurrences.

    Attributes
    ----------
    first, second : integer arrays (n_pairs,)
    blocks : array (n_pairs, n_classes, n_classes), R_mj of equation 3: joint frequencies of their answers
    counts : array (n_pairs,), pairs of answers that each block was estimated from
    n_workers : int
    """

    first: NDArray[np.int64]
    second: NDArray[np.int64]
    blocks: Floats
    counts: Floats
    n_workers: int

    def block_matrix(self, blocks: Floats) -> sp.csr_array:
        """``blocks`` (n_pairs, K, K) at the places of the pairs in a sparse matrix of n_workers * K rows."""
        k = np.arange(blocks.shape[1])
        rows = (self.first[:, None] * len(k) + k)[:, :, None] + 0 * k
        columns = (self.second[:, None] * len(k) + k)[:, None, :] + 0 * k[:, None]
        shape = 2 * (self.n_workers * len(k),)
        return sp.csr_array((blocks.ravel(), (rows.ravel(), columns.ravel())), shape=shape)

    def worker_matrix(self, values: Floats) -> sp.csr_array:
        """``values`` (n_pairs,) at the places of the pairs in a sparse matrix of n_workers rows."""
        return sp.csr_array((values, (self.first, self.second)), shape=2 * (self.n_workers,))


@singledispatch
def n_paired_answers(B: Any) -> int:
    """Number of pairs of answers to the same task, which :func:`cooccurrences` takes time and memory for."""
    per_task = np.diff(B.indptr).astype(np.int64)
    return int((per_task * (per_task - 1)).sum())


@singledispatch
def answers_per_cell(B: Any) -> Floats:
    """How often each worker gave each answer, of shape (n_workers * n_classes,)."""
    return np.asarray(B.sum(axis=0), dtype=float)


@singledispatch
def joint_counts(B: Any) -> sp.coo_array:
    """The product of ``B`` with itself: how often two answers were given to the same task."""
    # Not B.astype, which would merge repeated readings in B itself.
    exact = sp.csr_array((B.data.astype(np.float64), B.indices, B.indptr), shape=B.shape)
    return sp.coo_array(exact.T @ exact)


def cooccurrences(B: Any, n_classes: int) -> Cooccurrences:
    """Co-occurrences of all pairs of different workers who answered a common task; only those are stored.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> B = sp.csr_array(np.array([[1.0, 0, 1, 0], [1, 0, 0, 1], [0, 1, 0, 1]]))  # two workers, two classes
    >>> pairs = cooccurrences(B, 2)
    >>> pairs.counts, (3 * pairs.blocks[0]).round()
    (array([3., 3.]), array([[1., 1.],
           [0., 1.]]))
    """
    n_workers = B.shape[1] // n_classes
    product = joint_counts(B)
    first, row = np.divmod(product.row.astype(np.int64), n_classes)
    second, column = np.divmod(product.col.astype(np.int64), n_classes)
    different = first != second
    first, row, second, column = (array[different] for array in (first, row, second, column))
    pair, position = np.unique(first * n_workers + second, return_inverse=True)
    blocks = np.zeros((len(pair), n_classes, n_classes))
    blocks[position, row, column] = product.data[different]
    counts = blocks.sum(axis=(1, 2))
    return Cooccurrences(pair // n_workers, pair % n_workers, blocks / counts[:, None, None], counts, n_workers)
