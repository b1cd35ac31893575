r"""Symmetric non-negative factorisation ``X ~ U U'``: solvers that see only ``X @ U`` and Gram matrices.

The objective is :math:`\|X - U U^T\|_F^2 + \alpha \sum U`, with :math:`\|X - U U^T\|_F^2 = \|X\|^2 - 2 tr(U^T X U) +
\|U^T U\|^2`, so ``U U'`` is never formed; ``l1`` is :math:`\alpha`, and U is not negative, so its sum is its l1 norm.
The loss is the objective divided by :math:`\|X\|^2`. All solvers stop by the projected gradient: the change of the loss
is small on a plateau too.

References
----------
[1] Z. Zhu, X. Li, K. Liu and Q. Li, "Dropping symmetry for fast symmetric nonnegative matrix factorization", NeurIPS
2018: SymANLS and SymHALS. [2] D. Kuang, S. Yun and H. Park, J. Global Optimization 62(3), 2015: projected Newton.
"""

from collections.abc import Callable
from math import inf
from typing import Any

import numpy as np

from rectifact.core.arrays import Array, eps, namespace
from rectifact.core.linalg import nnls_gram
from rectifact.core.monitor import Monitor
from rectifact.kernels import hals_sweep

PENALTY, RHO = 0.66, 0.3
"""Weights of the split U = V in SymHALS and SymANLS, and in ADMM, relative to the norm of ``U'U`` at the start."""


def objective(squared: Array, U: Array, XU: Array, l1: float = 0.0) -> Array:
    r""":math:`(\|X - U U^T\|^2 + \alpha \sum U) / \|X\|^2` from ``squared``, the squared norm of X, and ``X @ U``.

    Sums are in double precision: in single, the objective would seem to rest long before U does.
    """
    xp = namespace(U)
    G = xp.astype(U.T @ U, xp.float64, copy=False)
    inner, sparsity = (xp.sum(terms, dtype=xp.float64) for terms in (U * XU, U))
    return (squared - 2 * inner + xp.sum(G * G) + l1 * sparsity) / squared


def projected_gradient(U: Array, XU: Array, l1: float = 0.0) -> Array:
    """Gradient ``4 (U U'U - X U) + l1`` where U may move: all where U > 0, only what would raise U where U = 0."""
    return _free_part(U, _gradient(U, XU, l1))


def gap(U: Array, XU: Array, gradient: Array) -> float:
    """Norm of the projected gradient relative to that of ``4 X U``: 0 at a stationary point, free of units."""
    xp = namespace(U)
    free = _free_part(U, gradient)
    size, scale = float(xp.sum(free * free)) ** 0.5, 4 * float(xp.sum(XU * XU)) ** 0.5
    if size == 0:
        return 0.0
    return size / scale if 0 < scale < inf else inf


def _gradient(U: Array, XU: Array, l1: float) -> Array:
    return 4 * (U @ (U.T @ U) - XU) + l1


def _free_part(U: Array, gradient: Array) -> Array:
    xp = namespace(U)
    return xp.where(U > 0, gradient, xp.minimum(gradient, xp.zeros_like(gradient)))


def hals(X: Any, U: Array, squared: Array, *, monitor: Monitor, l1: float = 0.0) -> Array:
    r"""SymHALS [1]: columns of U one by one on :math:`\|X - U V^T\|^2 + \lambda \|U - V\|^2`, with V the U before."""
    xp = namespace(U)
    U = xp.asarray(U, copy=True)  # the caller's start stays as it is; from here on memory is reused
    U, penalty = monitor.resume((U, PENALTY * _size(U)))
    eye = penalty * xp.eye(U.shape[1], dtype=U.dtype, device=U.device)
    XU = X @ U
    for _ in monitor:
        G = U.T @ U + eye
        XU += penalty * U
        XU -= l1 / 4
        U = hals_sweep(U, G, XU)
        XU = X @ U
        _record(monitor, squared, U, XU, l1, (U, penalty))
    return U


def anls(X: Any, U: Array, squared: Array, *, monitor: Monitor, l1: float = 0.0) -> Array:
    """SymANLS [1]: the same split, solved exactly by block principal pivoting."""
    U, penalty = monitor.resume((U, PENALTY * _size(U)))
    eye = penalty * np.eye(U.shape[1], dtype=U.dtype)
    XU = X @ U
    for _ in monitor:
        U = nnls_gram(U.T @ U + eye, (XU + penalty * U - l1 / 4).T).T
        XU = X @ U
        _record(monitor, squared, U, XU, l1, (U, penalty))
    return U


def pgd(X: Any, U: Array, squared: Array, *, monitor: Monitor, l1: float = 0.0) -> Array:
    """Projected gradient on the objective itself, the step halved until it falls and doubled after."""
    U, step = monitor.resume((U, 1 / (4 * _size(U))))
    XU = X @ U
    for _ in monitor:
        U, XU, taken = _line_search(X, U, XU, squared, -_gradient(U, XU, l1), step, l1)
        step = 2 * taken
        _record(monitor, squared, U, XU, l1, (U, step))
    return U


def admm(X: Any, U: Array, squared: Array, *, monitor: Monitor, l1: float = 0.0) -> Array:
    """Alternating directions: two factors pulled together by multipliers; the non-negative one is returned."""
    xp = namespace(U)
    V, multiplier, rho = monitor.resume((U, xp.zeros_like(U), RHO * _size(U)))
    eye = rho * xp.eye(U.shape[1], dtype=U.dtype, device=U.device)
    XV = X @ V
    for _ in monitor:
        W = xp.linalg.solve(V.T @ V + eye, (XV + rho * V - multiplier).T).T
        right = X @ W + rho * W + multiplier - l1 / 2
        V = nnls_gram(W.T @ W + eye, right.T).T
        multiplier = multiplier + rho * (W - V)
        XV = X @ V
        _record(monitor, squared, V, XV, l1, (V, multiplier, rho))
    return V


def newton(X: Any, U: Array, squared: Array, *, monitor: Monitor, l1: float = 0.0, n_inner: int = 30) -> Array:
    """Projected Newton [2]: conjugate gradients on the entries that are free to move, then a projected line search."""
    U = monitor.resume(U)
    XU = X @ U
    slack = 4 * eps(U) if U.dtype == namespace(U).float32 else 0.0  # what single precision cannot tell from no change
    for _ in monitor:
        right = -projected_gradient(U, XU, l1)
        move = _conjugate_gradients(X, U, right, n_inner)
        U, XU, _ = _line_search(X, U, XU, squared, move, 1.0, l1, slack)
        _record(monitor, squared, U, XU, l1, U)
    return U


def _size(U: Array) -> float:
    return float(namespace(U).linalg.matrix_norm(U.T @ U, ord=2)) or 1.0


def _record(monitor: Monitor, squared: Array, U: Array, XU: Array, l1: float, state: Any) -> None:
    monitor.record(
        lambda: objective(squared, U, XU, l1),
        gap=lambda: gap(U, XU, _gradient(U, XU, l1)),
        state=lambda: state,
        factor=lambda: namespace(U).asarray(U, copy=True),
    )


def _line_search(
    X: Any, U: Array, XU: Array, squared: Array, move: Array, step: float, l1: float, slack: float = 0.0
) -> tuple[Array, Array, float]:
    """Halve the step until the projected point is no worse; U itself where no step helps. With its ``X @ U``."""
    xp = namespace(U)
    loss = objective(squared, U, XU, l1) + slack
    for _ in range(40):
        trial = xp.clip(U + step * move, 0, None)
        product = X @ trial
        if objective(squared, trial, product, l1) <= loss:
            return trial, product, step
        step /= 2
    return U, XU, step


def _conjugate_gradients(X: Any, U: Array, right: Array, n_inner: int) -> Array:
    """Newton step on the entries where ``right`` is not zero or U is positive, up to negative curvature.

    It stops when a tenth of the residual is left; a better step is worth less than a new gradient.
    """
    xp = namespace(U)
    free, zero = (U > 0) | (right > 0), xp.zeros_like(U)
    G = U.T @ U
    step, residual, direction = zero, right, right
    norm = first = float(xp.sum(residual * residual))
    for _ in range(n_inner):
        curved = 4 * (direction @ G + U @ (direction.T @ U) + U @ (U.T @ direction) - X @ direction)
        curved = xp.where(free, curved, zero)
        bend = float(xp.sum(direction * curved))
        if bend <= 1e-12 * norm:
            break
        step = step + norm / bend * direction
        residual = residual - norm / bend * curved
        before, norm = norm, float(xp.sum(residual * residual))
        if norm <= 1e-2 * first:
            return step
        direction = residual + norm / before * direction
    if bool(xp.any(step != 0)):
        return step
    return right / (4 * _size(U))  # no curvature at all: the gradient


ON_HOST = ("anls", "admm")
"""Solvers whose least squares pivot entry by entry, which is slow on a device."""

SOLVERS: dict[str, Callable[..., Array]] = {solver.__name__: solver for solver in (hals, anls, pgd, admm, newton)}
