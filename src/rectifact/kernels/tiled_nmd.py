"""The sweep of NMD over tiles of rows: on the host in threads, on devices, and in chunks of Dask.

``fused_nmd`` has the same functions for single precision on a CUDA device.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from rectifact.core.arrays import Array, is_host, namespace
from rectifact.core.operand import Operand
from rectifact.core.sparse import dense_rows
from rectifact.kernels import nmd_e_step, nmd_nearest
from rectifact.kernels.penalty import Penalty

TILE_BYTES = 1 << 20
"""Size of a dense tile of Theta on the host: it and its posterior means stay in the second-level cache."""

LARGER_ON_DEVICE = 256


def tiles(X: Array, itemsize: int) -> list[slice]:
    """Ranges of rows whose dense form takes about TILE_BYTES, or 256 times that on a device."""
    n, d = X.shape
    size = TILE_BYTES if is_host(X) else LARGER_ON_DEVICE * TILE_BYTES
    rows = max(1, size // (d * itemsize))
    return [slice(i, min(i + rows, n)) for i in range(0, n, rows)]


def nmd_sweep(
    X: Operand,
    A: Array,
    B: Array,
    sigma: Any,
    link: str,
    objective: str,
    missing: bool,
    n_jobs: int = 1,
    penalty: Penalty | None = None,
) -> tuple[Array, Array, Array]:
    """One sweep of generalised EM for NMD; neither Theta nor Z is ever held whole.

    Parameters
    ----------
    X : Operand
        Zero, positive, or NaN where an entry is missing.
    A, B : arrays of shape (n, r) and (r, d)
        Factors of Theta.
    sigma : float, or array of one number
        Standard deviation of the noise.
    link : {"relu", "binary"}
        Whether a positive entry is seen, or only known to be positive.
    objective : {"likelihood", "latent"}
        Whether zeros are filled in with posterior means or with the nearest value that agrees with them.
    missing : bool
        Whether entries may be NaN; the fused form is faster without.
    n_jobs : int, default 1
        Threads on the host. Keep BLAS to one thread meanwhile.
    penalty : Penalty or None, default None
        Priors on the factors, for the likelihood only.

    Returns
    -------
    A, B : arrays
        New factors.
    sums : array of 3 numbers
        Objective at the old factors, with its first and second derivative in log sigma.
    """
    pinv = namespace(B).linalg.pinv  # data may have a lower rank
    jobs = n_jobs if is_host(X.data) else 1
    system, shift = (B @ B.T, 0.0) if penalty is None else penalty.row_system(B @ B.T, sigma)
    small = (B, pinv(system), shift, sigma, link, objective, jobs, penalty)
    A, (products, gram, sums) = X.sweep(_sweep_rows, *small, along=(A,), columns=B.shape[0])
    if penalty is not None:
        gram, products = penalty.column_matrix(gram, sigma), penalty.column_products(products, B, sigma)
        sums = penalty.less_columns(sums, B, sigma)
    return A, pinv(gram) @ products, sums


def _sweep_rows(
    X: Array,
    old: Array,
    B: Array,
    inverse: Array,
    shift: Any,
    sigma: Any,
    link: str,
    objective: str,
    n_jobs: int,
    penalty: Penalty | None,
) -> tuple[Array, Array, Array, Array]:
    """New rows of A, and the sums ``A'Z``, ``A'A`` and of the objective with its derivatives."""
    xp = namespace(B)
    A = xp.empty_like(old)
    ranges = tiles(X, B.itemsize)
    n_jobs = min(n_jobs, len(ranges))

    def work(job: int) -> tuple[Array, Array]:
        """Every n_jobs-th tile. Threads share nothing but A, in which each has rows of its own."""
        products, sums = xp.zeros_like(B), 0.0
        scratch = xp.empty_like(old[: ranges[0].stop] @ B)
        for rows in ranges[job::n_jobs]:
            theta = old[rows] @ B
            Z, terms = _filled_in(X, rows, theta, sigma, link, objective, scratch[: theta.shape[0]])
            A[rows] = (Z @ B.T + shift) @ inverse
            products = products + A[rows].T @ Z
            sums = sums + terms
        return products, sums

    parts = [work(0)] if n_jobs == 1 else _in_threads(work, n_jobs)
    products, sums = (sum(terms) for terms in zip(*parts, strict=True))
    if penalty is not None:
        sums = penalty.less_rows(sums, old)
    return A, products, A.T @ A, sums


def curvatures(X: Array, A: Array, B: Array, sigma: Any, link: str) -> tuple[Array, Array, Array]:
    r"""Sums over rows that priors are learnt from: of the curvatures of each column, of ``A'A`` and of A.

    Minus the second derivative of the log-likelihood in :math:`\theta / \sigma` is
    :math:`z (z - \theta) / \sigma^2` where the posterior mean z belongs to a truncated Gaussian, 1 where z was
    observed, and 0 where it is missing.
    """
    xp = namespace(B)
    total = xp.zeros_like(B[0])
    for rows in tiles(X, B.itemsize):
        theta = A[rows] @ B
        Z, _ = nmd_e_step(X, rows, theta, sigma, link == "binary", xp.empty_like(theta))
        weights = Z * (Z - theta) / sigma**2
        if link == "relu":
            weights = xp.where(dense_rows(X, rows) > 0, xp.ones_like(weights), weights)
        total = total + xp.sum(weights, axis=0)
    return total, A.T @ A, xp.sum(A, axis=0)


def _filled_in(
    X: Array, rows: slice, theta: Array, sigma: Any, link: str, objective: str, z: Array
) -> tuple[Array, Array]:
    """Latent matrix of some rows, and the objective with its first two derivatives in log sigma."""
    if objective == "likelihood":
        return nmd_e_step(X, rows, theta, sigma, link == "binary", z)
    nearest, distance = nmd_nearest(X, rows, theta, z)
    return nearest, namespace(distance).stack([-distance, 0 * distance, 0 * distance])


def _in_threads(work: Callable[[int], Any], n_jobs: int) -> list[Any]:
    with ThreadPoolExecutor(n_jobs) as pool:
        return list(pool.map(work, range(n_jobs)))


def repeated(step: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """``step`` as it is: only the fused form has a faster way to call it again and again."""
    return step
