r"""NMD: a low-rank matrix behind a ReLU or a threshold, at the cost of the nonzeros.

The model: :math:`z_{ij} \sim N(\theta_{ij}, \sigma^2)` with :math:`\Theta = A B` of rank r, and what is observed is
:math:`x = \max(0, z)` (link *relu*) or :math:`x = [z > 0]` (link *binary*). A zero only says that :math:`z \le 0`.

References
----------
[1] L. K. Saul, "A nonlinear matrix decomposition for mining the zeros of sparse data", SIAM J. Math. Data Sci. 4(2),
2022.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import inf, log
from typing import Any

from rectifact.core.arrays import Array, device, eps, namespace, rows_at_once, to_like
from rectifact.core.linalg import merge_roots, root
from rectifact.core.monitor import Monitor, Row
from rectifact.core.operand import Operand, operand
from rectifact.kernels import newton_step, nmd_curvatures, nmd_newton, nmd_repeated, nmd_sweep
from rectifact.kernels.penalty import Penalty
from rectifact.kernels.truncated import LOG_ROOT_2PI, truncated_moments
from rectifact.latent.extrapolation import Climb, begin_climb
from rectifact.latent.model import LatentModel
from rectifact.latent.priors import Gaussian, Priors, floor_of, learn
from rectifact.latent.starts import filled_in

MOST_EXTRAPOLATION = {"likelihood": 0.99, "latent": 0.98}

MOST_REJECTED = 6
"""Sweeps in a row that lead nowhere before the run stops."""

ROUND, ROUND_TOL = 10, 5e3
"""Sweeps between two updates of the priors, and by how much the loss may change meanwhile, in units of tol."""

ENTRIES_AT_ONCE = 2**15
"""Entries of the expected matrix that are computed together: the intermediate results fit into the cache."""


@dataclass(frozen=True)
class Expectation:
    r"""What is filled in for the latent matrix: posterior means, or the nearest point that agrees with the data.

    Attributes
    ----------
    link : {"relu", "binary"}
    objective : {"likelihood", "latent"}
        The likelihood, section 4 of [1], or minus the sum of :math:`(z - \theta)^2` over the nearest z, equation 2.9,
        for relu only.
    missing : bool
        Whether entries may be NaN; devices are faster without.
    """

    link: str = "relu"
    objective: str = "likelihood"
    missing: bool = True


def nmd(
    X: Operand,
    start: LatentModel,
    *,
    expect: Expectation,
    monitor: Monitor,
    n_jobs: int = 1,
    floor: float = -inf,
    offset: float = 0.0,
    hopeless: Callable[[list[Row]], bool] = lambda history: False,
) -> LatentModel:
    """Climb the objective from ``start`` by sweeps, extrapolated as far as that goes well.

    The step ahead grows while the objective rises. Where it falls, the sweep is thrown away, and the next one begins at
    the last good result with a shorter step; see :meth:`rectifact.latent.extrapolation.Climb.advanced`.

    Parameters
    ----------
    X : Operand
        Zero, positive, or NaN where an entry is missing; dense data is faster as CSR on the host.
    start : LatentModel
    expect : Expectation
        Link and objective.
    monitor : Monitor
        Its loss is ``offset`` minus the highest objective so far, per entry, so it cannot rise.
    n_jobs : int, default 1
        Threads on the host.
    floor : float, default -inf
        Least log sigma; separable binary data would drive it to minus infinity.
    offset : float, default 0
        Makes losses comparable between data in different units.
    hopeless : callable, optional
        Whether a climb with such a history may end, as another one is better.

    Returns
    -------
    LatentModel
        The best point that was recorded.

    Examples
    --------
    >>> from rectifact.datasets import make_dots
    >>> from rectifact.latent.starts import svd_start
    >>> X = operand(make_dots(size=16, grid=16, radius=3.8).X)
    >>> monitor = Monitor(40, tol=0)
    >>> model = nmd(X, svd_start(X, 5, "binary"), expect=Expectation("binary"), monitor=monitor, floor=-7.0)
    >>> bool((((model.A @ model.B) > 0) == (X.data.toarray() > 0)).all())
    True
    """
    size, most = X.shape[0] * X.shape[1], MOST_EXTRAPOLATION[expect.objective]
    rounding = eps(start.B)

    def step(climb: Climb, most: float = most) -> Climb:
        after, objective = sweep(X, climb.point, expect, n_jobs=n_jobs, floor=floor)
        return climb.advanced(after, objective, most=most, floor=floor, rounding=rounding)

    further = nmd_repeated(step, X, start.B.shape[0], expect.objective)
    climb = monitor.resume(begin_climb(start))
    for t in monitor:
        climb = further(climb) if t else step(climb, 0.0)  # there is no step yet that could be extended
        monitor.record(
            lambda: offset - float(climb.highest) / size,
            settled=lambda: not int(climb.rejected),
            converged=lambda: int(climb.rejected) >= MOST_REJECTED or hopeless(monitor.history),  # rounding is left
            state=lambda: climb,
        )
    return climb.best


def nmd_with_priors(
    X: Operand,
    start: LatentModel,
    *,
    expect: Expectation,
    monitor: Monitor,
    n_jobs: int = 1,
    floor: float = -inf,
    offset: float = 0.0,
    warm_up: int = 0,
) -> tuple[LatentModel, Priors]:
    """Climb the likelihood times Gaussian priors on rows and columns, which are learnt on the way.

    Every ``ROUND`` sweeps the priors are learnt again, see :mod:`rectifact.latent.priors`; between, the climb is that
    of :func:`nmd`. Sigma is fixed for binary data, whose scale the priors know.

    Parameters
    ----------
    X, start, expect, monitor, n_jobs, floor, offset
        As in :func:`nmd`. The run has converged when the loss changes by less than ``ROUND_TOL * tol`` of itself in a
        round.
    warm_up : int, default 0
        Sweeps without priors to begin with: they lead to a better peak where the data is nearly exact.

    Returns
    -------
    LatentModel
    Priors

    Examples
    --------
    >>> import numpy as np
    >>> from rectifact.latent.starts import svd_start
    >>> rng = np.random.default_rng(0)
    >>> X = operand((rng.normal(size=(200, 2)) @ rng.normal(size=(2, 60)) + rng.normal(size=(200, 60)) > 0) * 1.0)
    >>> monitor = Monitor(60)
    >>> model, priors = nmd_with_priors(X, svd_start(X, 6, "binary"), expect=Expectation("binary"), monitor=monitor)
    >>> spectrum = np.linalg.svd(model.A @ model.B, compute_uv=False)
    >>> bool(spectrum[1] > 5 * spectrum[2])               # two dimensions, and the other four are kept small
    True
    """
    size, most = X.shape[0] * X.shape[1], MOST_EXTRAPOLATION["likelihood"]
    rounding = eps(start.B)
    if warm_up:
        start = nmd(X, start, expect=expect, monitor=Monitor(warm_up, tol=0), n_jobs=n_jobs, floor=floor)
    if expect.link == "binary":
        start = start.rescaled()
    climb, last = begin_climb(start), inf
    priors = learn(X, climb.point, nmd_curvatures, expect.link)
    climb, priors, last = monitor.resume((climb, priors, last))
    further = _penalised_step(X, expect, priors, n_jobs, floor, most, rounding)
    for t in monitor:
        climb = further(climb)
        loss, settled = None, False
        if (t + 1) % ROUND == 0:
            loss = offset - float(climb.highest) / size
            last, settled = loss, abs(loss - last) <= ROUND_TOL * monitor.tol * abs(loss)
            climb = replace(begin_climb(climb.best), gap=climb.gap)
            priors = learn(X, climb.point, nmd_curvatures, expect.link, priors)
            further = _penalised_step(X, expect, priors, n_jobs, floor, most, rounding)
        monitor.record(
            lambda: offset - float(climb.highest) / size if loss is None else loss,
            settled=False,  # the objective changes with the priors
            converged=lambda: settled,
            state=lambda: (climb, priors, last),
        )
    return climb.best, priors


def _penalised_step(
    X: Operand, expect: Expectation, priors: Priors, n_jobs: int, floor: float, most: float, rounding: float
) -> Any:
    """A sweep and what follows from it, with priors that stay as they are."""

    def step(climb: Climb) -> Climb:
        after, objective = sweep(X, climb.point, expect, n_jobs=n_jobs, floor=floor, penalty=penalty)
        return climb.advanced(after, objective, most=most, floor=floor, rounding=rounding)

    penalty = priors.penalty(X.like)
    return nmd_repeated(step, X, len(priors.rows.mean), expect.objective)


def sweep(
    X: Operand,
    model: LatentModel,
    expect: Expectation,
    *,
    n_jobs: int = 1,
    floor: float = -inf,
    penalty: Penalty | None = None,
) -> tuple[LatentModel, Any]:
    """One step of generalised EM; returns the new model and the objective of the old one.

    ``Theta = A B`` is rectified to the latent matrix Z, then ``A = Z B' (B B')^-1`` and ``B = (A'A)^-1 A'Z``: see
    :func:`rectifact.kernels.tiled_nmd.nmd_sweep`. Sigma takes a Newton step on the objective; with priors, that of
    binary data stays.
    """
    how = expect.link, expect.objective, expect.missing
    A, B, sums = nmd_sweep(X, model.A, model.B, model.sigma, *how, n_jobs=n_jobs, penalty=penalty)
    objective, first, second = sums[0], sums[1], sums[2]
    if penalty is not None and expect.link == "binary":
        return LatentModel(A, B, model.log_sigma), objective
    return LatentModel(A, B, newton_step(model.log_sigma, first, second, floor)), objective


def canonical(model: LatentModel) -> Array:
    """The components: B with orthonormal rows, the most important first, each with its largest entry positive."""
    xp = namespace(model.B)
    Q, R = xp.linalg.qr(model.B.T)
    left = operand(model.A).total(root, combine=merge_roots)
    B = xp.linalg.svd(left @ R.T, full_matrices=False)[2] @ Q.T
    places = xp.argmax(xp.abs(B), axis=1)
    sign = xp.sign(xp.stack([B[i, int(place)] for i, place in enumerate(places)]))
    return B * sign[:, None]


def expected_rows(A: Array, B: Array, sigma: float, link: str) -> Array:
    """Expectation of X for rows of A, computed in blocks of rows; see :func:`expected`."""
    xp = namespace(A)
    block = rows_at_once(A, B.shape[1], ENTRIES_AT_ONCE)
    return xp.concat([expected(A[i : i + block] @ B, sigma, link) for i in range(0, max(A.shape[0], 1), block)])


def log_likelihoods(x: Array, theta: Array, sigma: float, link: str) -> Array:
    """Log-likelihood of each entry, in nats."""
    sign = 1 - 2 * (x > 0) if link == "binary" else 1
    log_p = truncated_moments(sign * theta / sigma).log_tail
    if link == "binary":
        return log_p
    xp = namespace(theta)
    return xp.where(x > 0, -0.5 * ((x - theta) / sigma) ** 2 - log(sigma) - LOG_ROOT_2PI, log_p)


def expected(theta: Array, sigma: float, link: str) -> Array:
    """Expectation of x given theta, equation 4.10 of [1]: never negative, and at most 1 if binary."""
    moments = truncated_moments(-theta / sigma)
    positive = namespace(theta).exp(moments.log_tail)
    return positive if link == "binary" else sigma * moments.d * positive


def variance(theta: Array, sigma: float) -> Array:
    """Variance of x given theta for the link relu, from E[x^2] = theta E[x] + sigma^2 P(x > 0).

    Examples
    --------
    >>> import numpy as np
    >>> round(float(variance(np.array(30.0), 2.0)), 6)                      # far from 0, that of the noise
    4.0
    """
    mean = expected(theta, sigma, "relu")
    found = (theta - mean) * mean + sigma**2 * expected(theta, sigma, "binary")
    return namespace(theta).where(found > 0, found, 0 * found)


def embed(
    X: Array, B: Array, sigma: float, link: str, n_jobs: int = 1, prior: Gaussian | None = None
) -> tuple[Array, Array]:
    """Rows of X in the space of the orthonormal components B, the most likely ones given the prior.

    By Newton's method row by row, from the mean of the prior, or from the least squares fit to what one E-step from
    Theta = 0 fills in.

    Returns
    -------
    embedding : array of shape (n, rank)
    log_likelihoods : array of shape (n,)
        Without the prior.
    """
    xp, binary = namespace(B), link == "binary"
    if prior is None:
        A = xp.astype(filled_in(X, link, 0.0, sigma) @ B.T, B.dtype)
        return A, nmd_newton(X, B, sigma, binary, A, n_jobs)[0]
    mean, precision = to_like(prior.mean, B), to_like(prior.precision(floor_of(B)), B)
    A = xp.zeros((X.shape[0], B.shape[0]), dtype=B.dtype, device=device(B)) + mean
    return A, nmd_newton(X, B, sigma, binary, A, n_jobs, mean, precision)[0]
