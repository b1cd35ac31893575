"""The kernels in plain array code: the specification that the compiled forms are tested against."""

from math import log
from typing import Any

import numpy as np
import scipy.sparse as sp

from rectifact.core.arrays import Array, namespace
from rectifact.core.rectify import relu
from rectifact.kernels.truncated import LOG_ROOT_2PI, truncated_moments


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


def sparse_times(X: Any, U: Array) -> Array:
    """Product of a sparse matrix (n, n) with a dense one (n, r)."""
    return X @ U


def column_sums(P: Array) -> Array:
    """Sums of the columns of an array of shape (n, k), where n is much larger than k."""
    return namespace(P).sum(P, axis=0)


def crowd_posteriors(
    indptr: Array,
    cells: Array,
    weights: Array,
    log_priors: Array,
    log_confusions: Array,
    known: Array | None,
    n_subtypes: int = 1,
) -> tuple[Array, Any]:
    """E-step of Dawid-Skene.

    A class may have several subtypes, each with a prior and a column of its own, side by side: they are ``n_states``
    in all, as many as classes where there is one subtype.

    Parameters
    ----------
    indptr, cells, weights : arrays
        The answers by task, as parts of a CSR matrix; a cell is ``worker * n_classes + label``.
    log_priors : array of shape (n_states,)
    log_confusions : array of shape (n_workers * n_classes, n_states)
        -inf where an answer is impossible.
    known : array of shape (n_tasks,) or None
        The class of a task where it is known, -1 elsewhere.
    n_subtypes : int, default 1
        Of each class.

    Returns
    -------
    posteriors : array of shape (n_tasks, n_states)
    evidence : float
        Log-likelihood of the answers and the known classes.
    """
    B = sp.csr_array((weights, cells, indptr), shape=(len(indptr) - 1, len(log_confusions)))
    joint = log_priors + B @ log_confusions
    joint[np.isneginf(joint).all(axis=1)] = log_priors  # nothing is possible: as if there were no answers
    evidence = np.zeros(len(joint))
    if known is not None:
        certain = np.flatnonzero(known >= 0)
        own = np.arange(len(log_priors)) // n_subtypes == known[certain, None]
        ruled_out = np.isneginf(np.where(own, joint[certain], -np.inf).max(axis=1))
        evidence[certain[ruled_out]] = -np.inf  # the answers say that it cannot be: the known class counts
        joint[certain] = np.where(own, np.where(ruled_out[:, None], 0.0, joint[certain]), -np.inf)
    top = joint.max(axis=1, keepdims=True)
    odds = np.exp(joint - top)
    total = odds.sum(axis=1, keepdims=True)
    return odds / total, float((evidence + (top + np.log(total))[:, 0]).sum())


def crowd_counts(indptr: Array, cells: Array, weights: Array, posteriors: Array, n_cells: int) -> Array:
    """M-step of Dawid-Skene: expected number of answers in each cell where each class is true.

    Parameters
    ----------
    indptr, cells, weights : arrays
        The answers by task, as parts of a CSR matrix.
    posteriors : array of shape (n_tasks, n_classes)
    n_cells : int
        Number of workers times number of classes.

    Returns
    -------
    array of shape (n_cells, n_classes)
    """
    B = sp.csr_array((weights, cells, indptr), shape=(len(indptr) - 1, n_cells))
    return B.T @ posteriors


def nmd_e_step(X: Array, theta: Array, sigma: float, binary: bool) -> tuple[Array, Array]:
    r"""E-step of NMD: posterior means of the latent matrix, log-likelihood and its derivatives in log sigma.

    Equations 4.8 and 4.10 of Saul (2022), without cancellation. Derivatives of an entry that is only known to be
    negative are :math:`a h` and :math:`-a h (1 + a d)` with :math:`a = \theta / \sigma`; those of an observed entry are
    :math:`\rho^2 - 1` and :math:`-2 \rho^2` with :math:`\rho = (x - \theta) / \sigma`.

    Parameters
    ----------
    X : array of shape (n, d)
        Zero, positive, or NaN where an entry is missing.
    theta : array of shape (n, d)
        Prior means.
    sigma : float
        Prior standard deviation.
    binary : bool
        Whether a positive x says only that z > 0.

    Returns
    -------
    z : array of shape (n, d)
    sums : array of 3 numbers
        Log-likelihood, and its first and second derivative.
    """
    xp = namespace(theta)
    missing, positive = xp.isnan(X), X > 0
    one = xp.ones_like(theta)
    sign = xp.where(positive, -one, one) if binary else one
    a = sign * theta / sigma
    h, d, _, log_p = truncated_moments(a)
    z, first = -sigma * d * sign, a * h
    second = -first * (1 + a * d)
    if not binary:
        squared = ((X - theta) / sigma) ** 2
        z = xp.where(positive, X, z)
        log_p = xp.where(positive, -0.5 * squared - (log(sigma) + LOG_ROOT_2PI), log_p)
        first = xp.where(positive, squared - 1, first)
        second = xp.where(positive, -2 * squared, second)
    sums = [xp.sum(xp.where(missing, xp.zeros_like(v), v)) for v in (log_p, first, second)]
    return xp.where(missing, theta, z), xp.stack(sums)


def nmd_nearest(X: Array, theta: Array) -> tuple[Array, Array]:
    """Nearest matrix to ``theta`` that agrees with X, equation 2.9 of Saul (2022), and its squared distance.

    Positive entries of X are observed, zeros say that the entry is not positive, and NaN says nothing.

    Returns
    -------
    z : array of shape (n, d)
    distance : array of one number
    """
    xp = namespace(theta)
    z = xp.where(X > 0, X, xp.where(xp.isnan(X), theta, xp.minimum(theta, xp.zeros_like(theta))))
    return z, xp.sum((z - theta) ** 2)


def nmd_newton(
    X: Array,
    B: Array,
    sigma: float,
    binary: bool,
    A: Array,
    mean: Array,
    precision: Array,
    tolerance: float = 1e-2,
    max_iter: int = 100,
) -> tuple[Array, Array]:
    r"""Embedding of each row by Newton's method with step halving, from the rows of ``A``, which are overwritten.

    The log-likelihood of a row is concave in :math:`v`, :math:`\theta = v B`: with :math:`C = B / \sigma` and
    :math:`a = v C`, its gradient is :math:`C g`, where g is :math:`-h(a)` for a zero, :math:`x/\sigma - a` (relu) or
    :math:`h(-a)` (binary) for a positive x; minus its Hessian is :math:`C\, diag(w)\, C^T`, where w is :math:`h d` for
    truncated entries, 1 for observed ones and 0 for missing ones. A Gaussian prior with mean m and precision P takes
    off :math:`(v - m)^T P (v - m) / 2`.

    Parameters
    ----------
    X : array of shape (n, d)
        Zero, positive, or NaN where an entry is missing.
    B : array of shape (r, d)
    sigma : float
    binary : bool
        As in :func:`nmd_e_step`.
    A : array of shape (n, r)
        Where to start; overwritten.
    mean : array of shape (r,)
    precision : array of shape (r, r)
        Prior of the rows; zeros for the most likely embedding.
    tolerance : float, default 0.01
        A row stops after the step whose Newton decrement is smaller.
    max_iter : int, default 100

    Returns
    -------
    log_likelihoods : array of shape (n,)
        Without the prior.
    steps : array of shape (n,)
    """
    xp = namespace(B)
    C, n = B / sigma, A.shape[0]

    def prior(A: Array) -> Array:
        return -0.5 * xp.sum(((A - mean) @ precision) * (A - mean), axis=1)

    likelihood, g, w = _row_terms(X, A @ C, sigma, binary)
    value = likelihood + prior(A)
    active = xp.ones_like(value) > 0
    steps = xp.zeros_like(value)
    for _ in range(max_iter):
        if not bool(xp.any(active)):
            break
        slope = g @ C.T - (A - mean) @ precision
        rows = max(1, (1 << 22) // (C.shape[0] * C.shape[1]))
        hessian = xp.concat([(C[None] * w[i : i + rows, None, :]) @ C.T for i in range(0, n, rows)]) + precision
        trace = xp.sum(xp.linalg.diagonal(hessian), axis=1)
        ridge = (1e-7 if B.dtype == xp.float32 else 1e-13) * trace + 1e-30
        hessian = hessian + ridge[:, None, None] * xp.eye(B.shape[0], dtype=B.dtype, device=B.device)
        move = xp.linalg.solve(hessian, slope[:, :, None])[:, :, 0]
        decrement = xp.sum(slope * move, axis=1)
        size = xp.where(active, xp.ones_like(value), xp.zeros_like(value))
        for _ in range(30):
            trial = A + size[:, None] * move
            new = _row_terms(X, trial @ C, sigma, binary)[0] + prior(trial)
            slack = (1e-6 if B.dtype == xp.float32 else 1e-12) * xp.abs(value)
            short = ~(new >= value + 1e-4 * size * decrement - slack)
            if not bool(xp.any(short & active)):
                break
            size = xp.where(short, size / 2, size)
        A[:] = xp.where((active & ~short)[:, None], trial, A)
        steps = steps + xp.astype(active, steps.dtype)
        likelihood, g, w = _row_terms(X, A @ C, sigma, binary)
        value = likelihood + prior(A)
        active = active & (decrement >= tolerance**2) & ~short
    return likelihood, steps


def _row_terms(X: Array, a: Array, sigma: float, binary: bool) -> tuple[Array, Array, Array]:
    """Log-likelihood by row, and by entry its derivative in a and minus its curvature."""
    xp = namespace(a)
    missing, positive = xp.isnan(X), X > 0
    one = xp.ones_like(a)
    sign = xp.where(positive, -one, one) if binary else one
    h, d, _, log_p = truncated_moments(sign * a)
    g, w = -sign * h, h * d
    if not binary:
        gap = X / sigma - a
        g, w = xp.where(positive, gap, g), xp.where(positive, one, w)
        log_p = xp.where(positive, -0.5 * gap**2 - (log(sigma) + LOG_ROOT_2PI), log_p)
    zero = xp.zeros_like(a)
    log_p, g, w = (xp.where(missing, zero, v) for v in (log_p, g, w))
    return xp.sum(log_p, axis=1), g, w
