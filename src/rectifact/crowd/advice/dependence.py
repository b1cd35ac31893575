"""Workers who err alike: pairs that agree more often than the model allows."""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.stats import norm

from rectifact.core.sparse import with_columns, with_entries
from rectifact.crowd.em import CrowdModel, Floats

SURE = 1e-3
"""Chance, over all pairs together, of calling independent workers dependent."""


class Pairs(NamedTuple):
    """How much more often pairs of workers agree than a model expects.

    Attributes
    ----------
    one, other : array of shape (n_pairs,)
        Numbers of the workers, of pairs that share tasks.
    excess : array of shape (n_pairs,)
        Tasks on which they agree beyond the expected number.
    variance : array of shape (n_pairs,)
        Of that number, if they answer independently given the class.
    common : array of shape (n_pairs,)
        Tasks that both answered.
    """

    one: NDArray[np.int64]
    other: NDArray[np.int64]
    excess: Floats
    variance: Floats
    common: Floats

    @property
    def scores(self) -> Floats:
        """The excess in standard errors."""
        return np.asarray(self.excess / np.sqrt(np.maximum(self.variance, 1e-12)))


def excess_agreement(B: sp.csr_array, model: CrowdModel) -> Pairs:
    """Agreement of all pairs of workers beyond what the model allows.

    Given the class, independent workers m and j give the same answer with probability
    ``sum_k A_m(k, c) A_j(k, c)``. Summed over their common tasks and the posterior, that is the agreement to
    expect.

    Parameters
    ----------
    B : csr_array of shape (n_tasks, n_workers * n_classes)
        Answers.
    model : CrowdModel
        Fitted to them.
    """
    k, n_workers = len(model.priors), len(model.confusions)
    ones = with_entries(B, np.ones(B.nnz))
    by_worker = with_columns(ones, B.indices // k, n_workers)
    shape = n_workers, n_workers
    agreed, expected, variance, together = (sp.csr_array(shape) for _ in range(4))
    for c in range(k):
        agreed = agreed + _between(ones[:, c::k])
        common = _between(by_worker, model.posteriors[:, c])
        rows = np.repeat(np.arange(n_workers), np.diff(common.indptr))
        chance = np.einsum("pk,pk->p", model.confusions[rows, :, c], model.confusions[common.indices, :, c])
        expected = expected + with_entries(common, common.data * chance)
        variance = variance + with_entries(common, common.data * chance * (1 - chance))
        together = together + common
    excess = sp.coo_array(sp.triu(agreed - expected, k=1))
    places = excess.row, excess.col
    spread, common = (_at(matrix, *places) for matrix in (variance, together))
    return Pairs(excess.row.astype(np.int64), excess.col.astype(np.int64), excess.data, spread, common)


def dependent_pairs(B: sp.csr_array, model: CrowdModel) -> tuple[NDArray[np.int64], Floats]:
    """Pairs of workers who agree more often than the model allows, and by how many standard errors.

    Those beyond what chance would give in any of all pairs, see :func:`excess_agreement`, the most striking first.

    Returns
    -------
    pairs : array of shape (n, 2)
        Numbers of the workers.
    scores : array of shape (n,)
    """
    pairs = excess_agreement(B, model)
    scores = pairs.scores
    limit = norm.isf(SURE / max(len(scores), 1))
    striking = np.flatnonzero((scores > limit) & (pairs.variance > 1))
    order = striking[np.argsort(-scores[striking], kind="stable")]
    return np.stack([pairs.one[order], pairs.other[order]], axis=1), scores[order]


def _at(matrix: sp.csr_array, rows: Any, columns: Any) -> Floats:
    """Entries of a sparse matrix."""
    found = sp.csr_array(matrix)[rows, columns]
    return np.asarray(found.toarray() if sp.issparse(found) else found, dtype=float).ravel()


def _between(X: sp.csr_array, weights: Floats | None = None) -> sp.csr_array:
    weighted = X if weights is None else sp.csr_array(X.multiply(weights[:, None]))
    return sp.csr_array(X.T @ weighted)
