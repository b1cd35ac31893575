r"""NMD: a low-rank matrix behind a ReLU or a threshold, at the cost of the nonzeros.

The model: :math:`z_{ij} \sim N(\theta_{ij}, \sigma^2)` with :math:`\Theta = A B` of rank r, and what is seen is
:math:`x = \max(0, z)` (link *relu*) or :math:`x = [z > 0]` (link *binary*). A zero only says that :math:`z \le 0`.

References
----------
[1] L. K. Saul, "A nonlinear matrix decomposition for mining the zeros of sparse data", SIAM J. Math. Data Sci. 4(2),
2022.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from math import exp
from typing import Any

import numpy as np
import scipy.sparse as sp
from threadpoolctl import threadpool_limits

from rectifact.core.arrays import Array, eps, is_host, namespace
from rectifact.core.lazy import is_lazy
from rectifact.core.linalg import gram_inverse
from rectifact.core.monitor import Monitor
from rectifact.core.sparse import dense_rows, with_entries
from rectifact.kernels import nmd_e_step, nmd_fused, nmd_nearest, nmd_newton
from rectifact.kernels.truncated import truncated_moments
from rectifact.latent.climb import Climb, begin_climb
from rectifact.latent.lazy import embed_chunks, lazy_root, on_chunks, sweep_chunks
from rectifact.latent.model import LatentModel
from rectifact.latent.starts import filled_means

__all__ = [
    "Expectation",
    "canonical",
    "embed",
    "expected_values",
    "nmd",
    "sweep",
]

TILE_BYTES = 1 << 20
"""Size of a dense tile of Theta; it and its posterior stay in the second cache."""

MOST_EXTRAPOLATION = {"likelihood": 0.99, "latent": 0.98}

MOST_REJECTED = 6
"""Sweeps in a row that lead nowhere before the run stops."""


@dataclass(frozen=True)
class Expectation:
    r"""What is filled in for the latent matrix: posterior means, or the nearest point that agrees with the data.

    ``link`` is ``"relu"`` or ``"binary"``. ``objective`` is ``"likelihood"``, section 4 of [1], or ``"latent"``, minus
    the sum of :math:`(z - \theta)^2` over the nearest z, equation 2.9, for relu only. ``missing`` says whether entries
    may be NaN; devices are faster without.
    """

    link: str = "relu"
    objective: str = "likelihood"
    missing: bool = True

    def __call__(self, X: Array, rows: slice, theta: Array, sigma: float, z: Array) -> tuple[Array, Array]:
        """Latent matrix of some rows, and the objective with its first two derivatives in log sigma."""
        if self.objective == "likelihood":
            return nmd_e_step(X, rows, theta, sigma, self.link == "binary", z)
        nearest, distance = nmd_nearest(X, rows, theta, z)
        zero = 0 * distance
        return nearest, namespace(distance).stack([-distance, zero, zero])


def tiles(X: Array, itemsize: int) -> list[slice]:
    """Ranges of rows whose dense form has about TILE_BYTES, or 256 times that on a device."""
    n, d = X.shape
    rows = max(1, TILE_BYTES // (d * itemsize)) if is_host(X) else max(1, 256 * TILE_BYTES // (d * itemsize))
    return [slice(i, min(i + rows, n)) for i in range(0, n, rows)]


def sweep(
    X: Array, model: LatentModel, expect: Expectation, *, n_jobs: int = 1, floor: float = -np.inf
) -> tuple[LatentModel, float]:
    """One step of generalised EM over row tiles; returns the new model and the objective of the old one.

    For each tile: ``Theta = A B``, then its latent matrix Z, then ``A = Z B' (B B')^-1``; products ``A'Z`` add up, and
    B is their least squares solution at the end. Neither Theta nor Z is ever held whole. sigma takes a Newton step on
    the logarithm of the likelihood, of at most 0.5 in log sigma.
    """
    fused = _fused(X, model.B, expect)
    if fused is not None:
        return _fused_sweep(X, model, expect, fused, floor)
    xp = namespace(model.B)
    sigma = _scale(model)
    inverse = xp.linalg.pinv(model.B @ model.B.T)  # data may have a lower rank
    if is_lazy(X):
        A, products, gram, sums = sweep_chunks(sweep_rows, X, model.A, model.B, inverse, sigma, expect)
    else:
        A, products, sums = sweep_rows(X, model.A, model.B, inverse, sigma, expect, n_jobs)
        gram = A.T @ A
    B = xp.linalg.pinv(gram) @ products
    return _with_newton_step(A, B, model.log_sigma, sums, floor)


def sweep_rows(
    X: Array, old: Array, B: Array, inverse: Array, sigma: float, expect: Expectation, n_jobs: int = 1
) -> tuple[Array, Array, Array]:
    """The part of a sweep that goes by rows: the new A, the sums ``A'Z``, and the objective with its derivatives.

    ``old`` is A before, and ``inverse`` that of ``B B'``.
    """
    xp = namespace(B)
    A = xp.empty_like(old)
    ranges = tiles(X, B.itemsize)
    n_jobs = min(n_jobs, len(ranges))

    def work(job: int) -> tuple[Array, Array]:
        """Every n_jobs-th tile; threads share nothing but A, in which each has rows of its own."""
        products, sums = xp.zeros_like(B), 0.0
        scratch = xp.empty_like(old[: ranges[0].stop] @ B)
        for rows in ranges[job::n_jobs]:
            theta = old[rows] @ B
            Z, terms = expect(X, rows, theta, sigma, scratch[: theta.shape[0]])
            A[rows] = (Z @ B.T) @ inverse
            products = products + A[rows].T @ Z
            sums = sums + terms
        return products, sums

    parts = [work(0)] if n_jobs == 1 else _in_threads(work, n_jobs)
    products, sums = (sum(terms) for terms in zip(*parts, strict=True))
    return A, products, sums


def _scale(model: LatentModel) -> Any:
    """Sigma as a number, or as an array of one on a device, of the precision of the factors."""
    if isinstance(model.log_sigma, float):
        return exp(model.log_sigma)
    xp = namespace(model.log_sigma)
    return xp.astype(xp.exp(model.log_sigma), model.B.dtype)


def _with_newton_step(A: Array, B: Array, log_sigma: Any, sums: Array, floor: float) -> tuple[LatentModel, Any]:
    """The new factors with the new log sigma, and the objective; from the objective's value and two derivatives.

    On a device they are arrays there, which nobody waits for.
    """
    xp = namespace(sums)
    objective, first, second = sums[0], sums[1], sums[2]
    bent = second < 0
    newton = xp.where(bent, -first / xp.where(bent, second, -xp.ones_like(second)), 1e20 * first)  # as far as it may
    moved = xp.clip(log_sigma + xp.clip(newton, -0.5, 0.5), floor, None)
    if is_host(sums):
        moved, objective = float(moved), float(objective)
    return LatentModel(A, B, moved), objective


def _fused(X: Array, B: Array, expect: Expectation) -> Any:
    """The kernels of :func:`_fused_sweep`, or None where they do not serve."""
    return nmd_fused(X, B) if expect.objective == "likelihood" else None


def _fused_sweep(
    X: Array, model: LatentModel, expect: Expectation, fused: Any, floor: float
) -> tuple[LatentModel, Any]:
    """:func:`sweep` on a CUDA device: each product makes tiles of Z anew and stores none of them."""
    binary, missing, sigma = expect.link == "binary", expect.missing, model.log_sigma.exp().float()
    A, B = fused.halves(model.A), fused.halves(model.B)
    inverse = fused.beside(lambda: gram_inverse(model.B @ model.B.T))
    products, sums = fused.nmd_row_products(X, A, B, sigma, binary, missing)
    new = products @ inverse()
    inverse = fused.beside(lambda: gram_inverse(new.T @ new))
    products = fused.nmd_column_products(X, A, B, fused.halves(new), sigma, binary, missing)
    return _with_newton_step(new, inverse() @ products, model.log_sigma, sums, floor)


def _in_threads(work: Any, n_jobs: int) -> list[Any]:
    """Tiles side by side; linear algebra keeps to one thread meanwhile, or its threads would meet ours."""
    with threadpool_limits(1, user_api="blas"), ThreadPoolExecutor(n_jobs) as pool:
        return list(pool.map(work, range(n_jobs)))


def nmd(
    X: Array,
    start: LatentModel,
    *,
    expect: Expectation,
    monitor: Monitor,
    n_jobs: int = 1,
    floor: float = -np.inf,
    offset: float = 0.0,
    accelerate: bool = True,
) -> LatentModel:
    """Climb the objective from ``start`` by sweeps, extrapolated as far as that goes well.

    The step ahead grows while the objective rises. Where it falls, the sweep is thrown away, and the next one begins at
    the last good result with a shorter step; see :meth:`rectifact.latent.climb.Climb.advanced`.

    Parameters
    ----------
    X : csr_array, or dense or sparse array on a device, of shape (n_samples, n_features); NaN is a missing entry
    start : model to start from
    expect : link and objective
    monitor : its loss is ``offset`` minus the highest objective so far, per entry, so it cannot rise
    n_jobs : threads
    floor : least log sigma; separable binary data would drive it to minus infinity
    offset : makes losses comparable between data in different units
    accelerate : whether to extrapolate; without, it is plain generalised EM

    Returns
    -------
    LatentModel : the best point that was recorded

    Examples
    --------
    >>> from rectifact.datasets import make_dots
    >>> from rectifact.latent.starts import svd_start
    >>> X = make_dots(size=16, grid=16, radius=3.8).X
    >>> monitor = Monitor(40, tol=0)
    >>> model = nmd(X, svd_start(X, 5, "binary"), expect=Expectation("binary"), monitor=monitor, floor=-7.0)
    >>> bool((((model.A @ model.B) > 0) == (X.toarray() > 0)).all())
    True
    """
    size, most = float(np.prod(X.shape)), MOST_EXTRAPOLATION[expect.objective] if accelerate else 0.0
    rounding = eps(start.B)

    def step(climb: Climb, most: float = most) -> Climb:
        after, objective = sweep(X, climb.point, expect, n_jobs=n_jobs, floor=floor)
        return climb.advanced(after, objective, most=most, floor=floor, rounding=rounding)

    fused = _fused(X, start.B, expect)
    further = step if fused is None else fused.recorded(step)  # else the host could not keep up with the device
    climb = monitor.resume(begin_climb(start))
    for t in monitor:
        climb = further(climb) if t else step(climb, 0.0)  # no way has been gone yet that could be extended
        if monitor.due and int(climb.rejected) >= MOST_REJECTED:  # nothing is left but rounding
            monitor.stop_reason = "converged"
        monitor.record(
            lambda: offset - float(climb.highest) / size, settled=lambda: not int(climb.rejected), state=lambda: climb
        )
    return climb.best


def canonical(model: LatentModel) -> LatentModel:
    """The same Theta with orthonormal rows of B, the most important first, each with its largest entry positive."""
    xp = namespace(model.B)
    Q, R = xp.linalg.qr(model.B.T)
    left = lazy_root(model.A) if is_lazy(model.A) else model.A
    U, s, Vt = xp.linalg.svd(left @ R.T, full_matrices=False)
    B = Vt @ Q.T
    places = xp.argmax(xp.abs(B), axis=1)
    sign = xp.sign(xp.stack([B[i, int(place)] for i, place in enumerate(places)]))
    A = model.A @ (R.T @ Vt.T * sign) if is_lazy(model.A) else U * (s * sign)
    return LatentModel(A, B * sign[:, None], model.log_sigma)


def expected_values(theta: Array, sigma: float, link: str) -> Array:
    """Expectation of X given Theta, equation 4.10 of [1]: never negative, and at most 1 for binary data."""
    if is_lazy(theta):
        return on_chunks(expected_values, theta, sigma, link)
    xp = namespace(theta)
    moments = truncated_moments(-theta / sigma)
    positive = xp.exp(moments.log_tail)
    return positive if link == "binary" else sigma * moments.d * positive


def embed(X: Array, B: Array, sigma: float, link: str, n_jobs: int = 1) -> tuple[Array, Array]:
    """Rows of X in the space of the orthonormal components B: embedding (n, rank) and log-likelihood of each row.

    From the least squares fit to what one E-step from Theta = 0 fills in, by Newton's method row by row.
    """
    if is_lazy(X):
        return embed_chunks(embed, X, B, sigma, link, n_jobs)
    below, above = filled_means(0.0, sigma)
    xp = namespace(B)
    if sp.issparse(X):
        seen = np.full_like(X.data, above) if link == "binary" else X.data
        values = np.where(np.isnan(X.data), 0, np.where(X.data > 0, seen, below)) - below
        A = with_entries(X, values) @ B.T + below * B.sum(axis=1)
        A = np.ascontiguousarray(A, dtype=B.dtype)
        return A, nmd_newton(X, B, sigma, link == "binary", A, n_jobs)[0]
    found = []
    for rows in tiles(X, B.itemsize):
        x = dense_rows(X, rows)
        seen = xp.full_like(x, above) if link == "binary" else x
        A = xp.where(xp.isnan(x), 0.0, xp.where(x > 0, seen, below)) @ B.T
        found.append((A, nmd_newton(x, B, sigma, link == "binary", A)[0]))
    A, likelihoods = (xp.concat(parts) for parts in zip(*found, strict=True))
    return A, likelihoods
