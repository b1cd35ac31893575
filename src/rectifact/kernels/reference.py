"""The kernels in plain array code: the specification that the compiled forms are tested against."""

import numpy as np
import scipy.sparse as sp

from rectifact.core.arrays import Array, namespace
from rectifact.core.rectify import relu

__all__ = ["crowd_counts", "crowd_posteriors", "hals_sweep"]


def hals_sweep(U: Array, G: Array, B: Array) -> Array:
    """One sweep of hierarchical alternating least squares over the columns of ``U``, in place.

    Minimises ``1/2 ||X - U V'||^2`` over one column of ``U >= 0`` after another, given ``G = V'V`` and
    ``B = X V``: ``U[:, k] <- relu(U[:, k] + (B[:, k] - U G[:, k]) / G[k, k])``. A column whose
    ``G[k, k]`` is 0 has no influence and is left as it is.

    Parameters
    ----------
    U : array of shape (n, r), overwritten
    G : array of shape (r, r)
    B : array of shape (n, r)
    """
    xp = namespace(U)
    for k in range(U.shape[1]):
        curvature = xp.where(G[k, k] > 0, G[k, k], float("inf"))  # no branch, which would wait for a device
        U[:, k] = relu(U[:, k] + (B[:, k] - U @ G[:, k]) / curvature)
    return U


def crowd_posteriors(
    indptr: Array,
    cells: Array,
    weights: Array,
    log_priors: Array,
    log_confusions: Array,
    known: Array,
    posteriors: Array,
) -> float:
    """E-step of Dawid-Skene: posterior class of each task; returns the log-likelihood of answers and known classes.

    Parameters
    ----------
    indptr, cells, weights : CSR arrays of the answers by task; a cell is ``worker * n_classes + label``
    log_priors : array of shape (n_classes,)
    log_confusions : array of shape (n_workers * n_classes, n_classes); -inf where an answer is impossible
    known : array of shape (n_tasks,), the class of a task where it is known and -1 elsewhere; empty if none is
    posteriors : array of shape (n_tasks, n_classes), overwritten
    """
    B = sp.csr_array((weights, cells, indptr), shape=(len(indptr) - 1, len(log_confusions)))
    joint = log_priors + B @ log_confusions
    joint[np.isneginf(joint).all(axis=1)] = log_priors  # nothing is possible: as if there were no answers
    top = joint.max(axis=1, keepdims=True)
    odds = np.exp(joint - top)
    total = odds.sum(axis=1, keepdims=True)
    posteriors[:] = odds / total
    evidence = (top + np.log(total))[:, 0]
    certain = np.flatnonzero(known >= 0)
    evidence[certain] = joint[certain, known[certain]]
    posteriors[certain] = np.eye(len(log_priors))[known[certain]]
    return float(evidence.sum())


def crowd_counts(indptr: Array, cells: Array, weights: Array, posteriors: Array, n_cells: int) -> Array:
    """M-step of Dawid-Skene: expected number of answers in each cell where each class is true.

    Parameters
    ----------
    indptr, cells, weights : CSR arrays of the answers by task
    posteriors : array of shape (n_tasks, n_classes)
    n_cells : number of workers times number of classes

    Returns
    -------
    array of shape (n_cells, n_classes)
    """
    B = sp.csr_array((weights, cells, indptr), shape=(len(indptr) - 1, n_cells))
    return B.T @ posteriors
