r"""Symmetric non-negative factorisation ``X ~ U U'``: solvers that see only ``X @ U`` and Gram matrices.

The objective is :math:`\|X - U U^T\|_F^2 = \|X\|^2 - 2 tr(U^T X U) + \|U^T U\|^2`, so ``U U'`` is never formed. The
loss is its relative form, divided by :math:`\|X\|^2`.

References
----------
[1] Z. Zhu, X. Li, K. Liu and Q. Li, "Dropping symmetry for fast symmetric nonnegative matrix factorization", NeurIPS
2018: SymANLS and SymHALS. [2] D. Kuang, S. Yun and H. Park, J. Global Optimization 62(3), 2015: projected Newton.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from rectifact.core.arrays import Array, namespace
from rectifact.core.linalg import nnls_gram
from rectifact.core.monitor import Monitor
from rectifact.kernels import hals_sweep

__all__ = ["SOLVERS", "admm", "anls", "hals", "newton", "pgd", "projected_gradient", "relative_error"]

PENALTY = 0.66
"""Weight of the split U = V in SymHALS and SymANLS."""


def relative_error(squared: Array, U: Array, XU: Array) -> Array:
    r""":math:`\|X - U U^T\|^2 / \|X\|^2` from ``squared``, the squared norm of X, and the product ``X @ U``."""
    xp = namespace(U)
    G = U.T @ U
    return (squared - 2 * xp.sum(U * XU) + xp.sum(G * G)) / squared


def projected_gradient(U: Array, XU: Array) -> Array:
    """Gradient ``4 (U U'U - X U)`` where U may move: all of it where U > 0, only what would raise U where U = 0."""
    xp = namespace(U)
    gradient = 4 * (U @ (U.T @ U) - XU)
    return xp.where(U > 0, gradient, xp.minimum(gradient, xp.zeros_like(gradient)))


def hals(X: Any, U: Array, squared: Array, *, monitor: Monitor, penalty: float = PENALTY) -> Array:
    r"""SymHALS [1]: columns of U one by one on :math:`\|X - U V^T\|^2 + \lambda \|U - V\|^2`, with V the U before."""
    xp = namespace(U)
    eye = penalty * xp.eye(U.shape[1], dtype=U.dtype, device=U.device)
    XU = X @ U
    for _ in monitor:
        U = hals_sweep(xp.asarray(U, copy=True), U.T @ U + eye, XU + penalty * U)
        XU = X @ U
        monitor.record(lambda: relative_error(squared, U, XU))
    return U


def anls(X: Any, U: Array, squared: Array, *, monitor: Monitor, penalty: float = PENALTY) -> Array:
    """SymANLS [1]: the same split, solved exactly by block principal pivoting."""
    eye = penalty * np.eye(U.shape[1], dtype=U.dtype)
    XU = X @ U
    for _ in monitor:
        U = nnls_gram(U.T @ U + eye, (XU + penalty * U).T).T
        XU = X @ U
        monitor.record(lambda: relative_error(squared, U, XU))
    return U


def pgd(X: Any, U: Array, squared: Array, *, monitor: Monitor) -> Array:
    """Projected gradient on the objective itself, the step halved until it falls and doubled after."""
    xp = namespace(U)
    XU = X @ U
    loss, step = relative_error(squared, U, XU), 1.0 / float(xp.linalg.matrix_norm(U.T @ U, ord=2) * 4 + 1e-30)
    for _ in monitor:
        gradient = 4 * (U @ (U.T @ U) - XU)
        for _ in range(40):
            trial = xp.clip(U - step * gradient, 0, None)
            product = X @ trial
            new = relative_error(squared, trial, product)
            if new <= loss:
                break
            step /= 2
        if new <= loss:
            U, XU, loss, step = trial, product, new, 2 * step
        monitor.record(lambda: loss)
    return U


def admm(X: Any, U: Array, squared: Array, *, monitor: Monitor, rho: float = 0.3) -> Array:
    """Alternating directions: two factors that are pulled together by multipliers; the non-negative one is returned."""
    xp = namespace(U)
    eye = rho * xp.eye(U.shape[1], dtype=U.dtype, device=U.device)
    V, multiplier, XV = U, xp.zeros_like(U), X @ U
    for _ in monitor:
        W = xp.linalg.solve(V.T @ V + eye, (XV + rho * V - multiplier).T).T
        V = xp.clip(xp.linalg.solve(W.T @ W + eye, (X @ W + rho * W + multiplier).T).T, 0, None)
        multiplier = multiplier + rho * (W - V)
        XV = X @ V
        monitor.record(lambda: relative_error(squared, V, XV))
    return V


def newton(X: Any, U: Array, squared: Array, *, monitor: Monitor, n_inner: int = 30) -> Array:
    """Projected Newton [2]: conjugate gradients on the entries that are free to move, then a projected line search."""
    xp = namespace(U)
    XU = X @ U
    loss = relative_error(squared, U, XU)
    for _ in monitor:
        gradient = 4 * (U @ (U.T @ U) - XU)
        free = (U > 0) | (gradient < 0)
        move = _conjugate_gradients(X, U, xp.where(free, -gradient, xp.zeros_like(gradient)), free, n_inner)
        step = 1.0
        for _ in range(30):
            trial = xp.clip(U + step * move, 0, None)
            product = X @ trial
            new = relative_error(squared, trial, product)
            if new <= loss:
                U, XU, loss = trial, product, new
                break
            step /= 2
        monitor.record(lambda: loss)
    return U


def _conjugate_gradients(X: Any, U: Array, right: Array, free: Array, n_inner: int) -> Array:
    """Solve for the Newton step on the free entries, up to negative curvature or a tenth of the residual."""
    xp = namespace(U)
    G = U.T @ U
    zero = xp.zeros_like(U)
    step, residual, direction = zero, right, right
    norm = first = float(xp.sum(residual * residual))
    for _ in range(n_inner):
        curved = 4 * (direction @ G + U @ (direction.T @ U) + U @ (U.T @ direction) - X @ direction)
        curved = xp.where(free, curved, zero)
        bend = float(xp.sum(direction * curved))
        if bend <= 1e-12 * norm:
            return (
                step if bool(xp.any(step != 0)) else right * (1 / (4 * float(xp.linalg.matrix_norm(G, ord=2)) + 1e-30))
            )
        step = step + norm / bend * direction
        residual = residual - norm / bend * curved
        before, norm = norm, float(xp.sum(residual * residual))
        if norm <= 1e-2 * first:
            break
        direction = residual + norm / before * direction
    return step


SOLVERS: dict[str, Callable[..., Array]] = {
    "hals": hals,
    "anls": anls,
    "pgd": pgd,
    "admm": admm,
    "newton": newton,
}
