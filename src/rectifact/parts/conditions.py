"""What the papers suppose about weights and parts, measured.

References
----------
[1] Y. Li and Y. Liang, "Provable alternating gradient descent for non-negative matrix factorization with strong
correlations", ICML 2017. [2] Y. Li, Y. Liang and A. Risteski, "Recovery guarantee of non-negative matrix factorization
via alternating updates", NIPS 2016.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rectifact.core.arrays import Array, namespace
from rectifact.core.linalg import pseudo_inverse, solve_gram
from rectifact.core.operand import Operand, operand

CONSTANT = 1e-9
"""Spread of a column, relative to its largest entry, below which it is rounding."""


def constant_sum_error(coordinates: Operand | Array) -> float:
    """How far samples are from a common plane that misses the origin, as weights with a constant sum have it.

    Regresses one on the coordinates (n_samples, rank) of the samples in their leading subspace; returns the root mean
    square of what is left: 0 if some linear function is one for all samples, near 1 if there is none.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> shares, others = rng.dirichlet([1, 1, 1], 100), rng.random((100, 3))
    >>> bool(constant_sum_error(shares) < 1e-6), bool(constant_sum_error(others) > 0.2)
    (True, True)
    """
    Z = operand(coordinates)
    sums, gram = Z.total(_sums_and_gram)
    explained = namespace(sums).sum(sums * solve_gram(gram, sums[:, None])[:, 0])
    return float(max(1 - float(explained) / Z.shape[0], 0.0) ** 0.5)


def _sums_and_gram(rows: Array) -> tuple[Array, Array]:
    return namespace(rows).sum(rows, axis=0), rows.T @ rows


def correlation_conditions(W: NDArray[Any]) -> dict[str, float]:
    r"""Constants of the General Correlation Conditions, Definition 1 of [1], for weights scaled to a maximum of one.

    With D parts and second moments :math:`\Delta = E[xx^T]`: ``r`` is the largest sum of a sample's weights, ``k`` the
    least number with :math:`\Delta_{ii} \le 2k/D`, ``m`` that with :math:`\Delta_{ij} \le m/D^2`, and ``lambda`` the
    largest with :math:`\Delta \succeq (k/D) \lambda I`. AND works with small r, k, m and a large lambda.

    Examples
    --------
    >>> found = correlation_conditions(np.eye(4))
    >>> found["r"], found["k"], found["m"], found["lambda"]
    (1.0, 0.5, 0.0, 2.0)
    """
    x = W / np.maximum(W.max(axis=0), 1e-300)
    n, D = x.shape
    moments = x.T @ x / n
    k = D / 2 * float(np.diag(moments).max())
    apart = moments - np.diag(np.diag(moments))
    least = float(np.linalg.eigvalsh(moments)[0])
    lowest = max(least, 0.0) * D / max(k, 1e-300)
    return {"r": float(x.sum(axis=1).max()), "k": k, "m": D**2 * float(apart.max(initial=0.0)), "lambda": lowest}


def decay_order(W: NDArray[Any]) -> float:
    r"""Order q of the decay condition, Definition 3 of [1], for weights scaled to a maximum of one.

    It is the largest q with :math:`P(x \le a \mid x > 0) \le a^q` for every part and every a between 0.01 and 0.9
    below which it has at least ten weights: infinite for weights of zero and one, 1 for uniform ones, near 0 if small
    weights are common. The larger, the more correlation AND tolerates.

    Examples
    --------
    >>> decay_order(np.eye(3)), round(decay_order(np.linspace(0, 1, 1001)[:, None]), 2)
    (inf, 1.0)
    """
    orders = [np.inf]
    grid = np.geomspace(0.01, 0.9, 50)
    for x in (W / np.maximum(W.max(axis=0), 1e-300)).T:
        there = np.sort(x[x > 0])
        below = np.searchsorted(there, grid, side="right")
        enough = below >= 10
        orders += list(np.log(below[enough] / len(there)) / np.log(grid[enough]))
    return float(min(orders))


def independence_conditions(W: NDArray[Any], H: NDArray[Any]) -> dict[str, float]:
    r"""How far the assumptions A1 and A2 of [2] hold, for weights scaled to a maximum of one.

    Parameters
    ----------
    W : array of shape (n_samples, n_components)
        Weights.
    H : array of shape (n_components, n_features)
        Parts, which get an l1 norm of one.

    Returns
    -------
    dict
        ``C1``, ``c2`` and ``C2``: n times the largest mean, the smallest and the largest second moment of the weights
        of n parts; ``balance``: C2 / c2, at most 2 in the theorems; ``crowding``: :math:`C_1^3 / (c_2^2 n)`, bounded by
        a constant; ``correlation``: the largest between two weights, 0 for independent ones;
        ``constant sum``: see :func:`constant_sum_error`, 0 for weights that add up to a constant;
        ``independence of parts``: smallest over largest singular value, 0 for dependent ones; ``inverse``: the largest
        absolute sum in a row of their left inverse, by which noise is multiplied.

    Examples
    --------
    >>> found = independence_conditions(np.eye(4), np.eye(4))
    >>> found["C1"], found["c2"], found["C2"], found["inverse"]
    (1.0, 1.0, 1.0, 1.0)
    """
    x = W / np.maximum(W.max(axis=0), 1e-300)
    n = x.shape[1]
    C1, squares = n * float(x.mean(axis=0).max()), n * (x**2).mean(axis=0)
    c2, C2 = float(squares.min()), float(squares.max())
    between = correlations(x)
    parts = H / np.maximum(np.abs(H).sum(axis=1, keepdims=True), 1e-300)
    values = np.linalg.svd(parts, compute_uv=False)
    return {
        "C1": C1,
        "c2": c2,
        "C2": C2,
        "balance": C2 / max(c2, 1e-300),
        "crowding": C1**3 / max(c2**2 * n, 1e-300),
        "correlation": float(np.abs(between).max(initial=0.0)),
        "constant sum": constant_sum_error(x),
        "independence of parts": float(values[-1] / max(values[0], 1e-300)) if len(values) == n else 0.0,
        "inverse": float(np.abs(pseudo_inverse(parts)).sum(axis=0).max()),
    }


def correlations(W: NDArray[Any]) -> NDArray[Any]:
    """Correlations between the columns, with zeros on the diagonal, and for columns that are constant but for rounding.

    Examples
    --------
    >>> correlations(np.array([[1.0, 2.0, 3.0], [2.0, 4.0, 3.0]]))
    array([[0., 1., 0.],
           [1., 0., 0.],
           [0., 0., 0.]])
    """
    between = np.zeros((W.shape[1],) * 2)
    varies = np.flatnonzero(W.std(axis=0) > CONSTANT * np.abs(W).max(axis=0, initial=0.0))
    if len(varies) > 1:
        between[np.ix_(varies, varies)] = np.corrcoef(W[:, varies].T)
    np.fill_diagonal(between, 0.0)
    return between
