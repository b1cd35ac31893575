"""Workers who err alike: pairs that agree more often than the model allows."""

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.stats import norm

from rectifact.core.sparse import with_columns, with_entries
from rectifact.crowd.em import CrowdModel, Floats

SURE = 1e-3
"""Chance, over all pairs together, of calling independent workers dependent."""


def dependent_pairs(B: sp.csr_array, model: CrowdModel) -> tuple[NDArray[np.int64], Floats]:
    """Pairs of workers who agree more often than the model allows, and by how many standard errors.

    Given the class, independent workers m and j give the same answer with probability
    ``sum_k A_m(k, c) A_j(k, c)``. Summed over their common tasks and the posterior, that is the agreement to
    expect; pairs beyond what chance would give in any of all pairs are returned, the most striking first.

    Returns
    -------
    pairs : array of shape (n, 2)
        Numbers of the workers.
    scores : array of shape (n,)
    """
    k, n_workers = len(model.priors), len(model.confusions)
    ones = with_entries(B, np.ones(B.nnz))
    by_worker = with_columns(ones, B.indices // k, n_workers)
    agreed = sp.csr_array((n_workers, n_workers))
    expected, variance = sp.csr_array((n_workers, n_workers)), sp.csr_array((n_workers, n_workers))
    for c in range(k):
        agreed = agreed + _between(ones[:, c::k])
        common = _between(by_worker, model.posteriors[:, c])
        rows = np.repeat(np.arange(n_workers), np.diff(common.indptr))
        chance = np.einsum("pk,pk->p", model.confusions[rows, :, c], model.confusions[common.indices, :, c])
        expected = expected + with_entries(common, common.data * chance)
        variance = variance + with_entries(common, common.data * chance * (1 - chance))
    excess = sp.coo_array(sp.triu(agreed - expected, k=1))
    spread = sp.csr_array(variance)[excess.row, excess.col]
    spread = spread.toarray().ravel() if sp.issparse(spread) else np.asarray(spread).ravel()
    scores = excess.data / np.sqrt(np.maximum(spread, 1e-12))
    limit = norm.isf(SURE / max(len(scores), 1))
    striking = np.flatnonzero((scores > limit) & (spread > 1))
    order = striking[np.argsort(-scores[striking], kind="stable")]
    return np.stack([excess.row[order], excess.col[order]], axis=1).astype(np.int64), scores[order]


def _between(X: sp.csr_array, weights: Floats | None = None) -> sp.csr_array:
    weighted = X if weights is None else sp.csr_array(X.multiply(weights[:, None]))
    return sp.csr_array(X.T @ weighted)
