"""The kernels of a Poisson factorisation in plain array code: the specification of the compiled form."""

from typing import Any

from rectifact.core.arrays import Array, namespace
from rectifact.core.linalg import TILE
from rectifact.core.sparse import entries, is_sparse, stored_rows, with_entries


def poisson_sweep(
    X: Array, W: Array, H: Array, n_inner: int = 1, n_fixed: int = 0, missing: bool = False
) -> tuple[Array, Array, Any]:
    r"""Weights of a Poisson factorisation after ``n_inner`` multiplicative updates, and what the parts need.

    An update is :math:`W \leftarrow W \odot (R H^T) / (1 H^T)` with the ratios :math:`R = X / (W H)`: an EM step of the
    Poisson likelihood, that is, of the Kullback-Leibler divergence. A missing entry has the ratio 1.

    Parameters
    ----------
    X : array of shape (n, d)
        Non-negative, dense or sparse.
    W : array of shape (n, k)
    H : array of shape (k, d)
    n_inner : int, default 1
        Number of updates.
    n_fixed : int, default 0
        Last columns of ``W`` that stay as they are.
    missing : bool, default False
        Whether NaN in a dense X stands for a missing entry.

    Returns
    -------
    W : array of shape (n, k)
    counts : array of shape (k, d)
        ``W'R`` with the new weights: parts times counts over ``1'W`` are the updated parts.
    loss : number
        Sum of ``W H - X log(W H)`` over entries that are not missing: the divergence up to a constant.
    """
    xp = namespace(H)
    height = X.shape[0] if is_sparse(X) else max(1, TILE // max(X.shape[1], 1))
    found = []
    for i in range(0, X.shape[0], max(height, 1)):
        rows = X if is_sparse(X) else X[i : i + height]
        found.append(_poisson_tile(rows, W[i : i + height], H, n_inner, n_fixed, missing))
    tiles, counts, losses = zip(*found, strict=True)
    return xp.concat(tiles) if len(tiles) > 1 else tiles[0], sum(counts), sum(losses)


def _poisson_tile(
    X: Array, W: Array, H: Array, n_inner: int, n_fixed: int, missing: bool
) -> tuple[Array, Array, Array]:
    xp, n_free = namespace(H), H.shape[0] - n_fixed
    sizes = xp.sum(H[:n_free], axis=1)
    sizes = xp.where(sizes > 0, sizes, xp.ones_like(sizes))
    for _ in range(n_inner):
        gain = (_ratios(X, _means(X, W, H), missing) @ H.T)[:, :n_free]
        W = xp.concat([W[:, :n_free] * gain / sizes, W[:, n_free:]], axis=1)
    means = _means(X, W, H)
    counts = (_ratios(X, means, missing).T @ W).T
    values, total = entries(X), xp.sum(xp.sum(W, axis=0) * xp.sum(H, axis=1))
    logs = values * xp.log(means)
    if missing:
        gaps = xp.isnan(values)
        logs = xp.where(gaps, means, logs)  # takes back what the total has of them
    return W, counts, total - xp.sum(logs)


def poisson_information(X: Array, W: Array, H: Array) -> Array:
    r"""How sharply the Poisson likelihood of X determines each weight, the others given: :math:`\sum_j x h^2 / m^2`.

    Parameters are those of :func:`poisson_sweep`; missing entries say nothing. Returns an array of the shape of W.
    """
    if is_sparse(X):
        return _information_tile(X, W, H)
    height = max(1, TILE // max(X.shape[1], 1))
    tiles = [_information_tile(X[i : i + height], W[i : i + height], H) for i in range(0, X.shape[0], height)]
    return namespace(H).concat(tiles)


def _information_tile(X: Array, W: Array, H: Array) -> Array:
    xp, values = namespace(H), entries(X)
    means = xp.clip(_means(X, W, H), float(xp.finfo(H.dtype).smallest_normal) ** 0.25, None)  # its square is normal
    curvatures = values / means**2
    known = xp.where(xp.isnan(curvatures), xp.zeros_like(curvatures), curvatures)
    return with_entries(X, known) @ (H**2).T


def _means(X: Array, W: Array, H: Array) -> Array:
    """``W H`` at the entries of X, at least the smallest normal number."""
    xp = namespace(H)
    if is_sparse(X):
        rows, columns, fitted = stored_rows(X), X.indices, 0.0
        for c in range(H.shape[0]):  # one part after another: memory stays linear in the entries
            fitted = fitted + xp.take(W[:, c], rows) * xp.take(H[c], columns)
    else:
        fitted = W @ H
    return xp.clip(fitted, float(xp.finfo(H.dtype).smallest_normal), None)


def _ratios(X: Array, means: Array, missing: bool) -> Array:
    xp, values = namespace(means), entries(X)
    ratios = values / means
    return with_entries(X, xp.where(xp.isnan(values), xp.ones_like(ratios), ratios) if missing else ratios)
