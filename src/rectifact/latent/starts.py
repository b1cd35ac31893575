"""The start of NMD and logistic PCA: one E-step from a constant, and the leading singular vectors of the result.

[1] L. K. Saul, "A nonlinear matrix decomposition for mining the zeros of sparse data", SIAM J. Math. Data Sci. 4(2),
2022.
"""

from math import log

import numpy as np
from numpy.typing import NDArray

from rectifact.core.arrays import Array, namespace, to_host, to_like
from rectifact.core.operand import Operand
from rectifact.core.sparse import entries, with_stored
from rectifact.core.svd import mapped_svd
from rectifact.kernels.truncated import truncated_moments
from rectifact.latent.model import LatentModel
from rectifact.latent.statistics import Statistics, statistics


def svd_start(X: Operand, rank: int, link: str, *, facts: Statistics | None = None, seed: int = 0) -> LatentModel:
    """Leading singular vectors of the latent matrix that one E-step from a constant, equation 4.14 of [1], fills in.

    Its entries are the same wherever X is zero, so it is a constant plus a matrix as sparse as X, and is never made
    dense.

    Parameters
    ----------
    X : Operand
        Zero, positive, or NaN where an entry is missing; in units of ``facts.unit``.
    rank : int
    link : {"relu", "binary"}
    facts : Statistics, optional
        Those of X, where they have been computed.
    seed : int, default 0
        For the starting vector of the SVD, which has hardly any influence.
    """
    facts = facts or X.total(statistics)
    theta, sigma = facts.constant(link)
    svd = mapped_svd(X, filled_in, link, theta, sigma, rank=rank, seed=seed)
    root = svd.s**0.5
    (A,) = X.keep(svd.U * root)
    return LatentModel(A, root[:, None] * svd.Vt, log(sigma))


def shaken(X: Operand, start: LatentModel, run: int, seed: int) -> LatentModel:
    """Another start for run number ``run``: noise of 0.5 and 2 times the spread of the factors, by turns, is added.

    Regular data has starts from which sweeps stay on a saddle; a little noise leads away from it. An SVD leaves the
    signs of the factors open; the noise has the same signs, so that it does not matter which they are.
    """
    xp, rng, (rank, d) = namespace(start.B), np.random.default_rng((seed, run)), start.B.shape
    norm = (0.5 if run % 2 else 2.0) * float(xp.linalg.vector_norm(start.B)) / rank**0.5  # A has the same one
    host = to_host(start.B)
    signs = np.sign(host[np.arange(rank), np.abs(host).argmax(axis=1)])
    B = start.B + norm / d**0.5 * to_like(signs[:, None] * rng.standard_normal((rank, d)), start.B)
    axes = norm / X.shape[0] ** 0.5 * to_like(np.diag(signs), start.B)
    A = start.A
    for axis in range(rank):
        A = A + X.draw_rows(rng, _normal) @ axes[axis : axis + 1]
    (A,) = X.keep(A)
    return LatentModel(A, B, start.log_sigma)


def _normal(rng: np.random.Generator, n: int) -> NDArray[np.float64]:
    return rng.standard_normal((n, 1))


def filled_in(X: Array, link: str, theta: float, sigma: float) -> Array:
    """Latent matrix of some rows after an E-step from ``theta`` everywhere; it can be multiplied.

    Zeros become the mean of a negative number; positive entries stay, or become the mean of a positive number for
    binary data; missing ones become ``theta``.
    """
    values = entries(X)
    xp = namespace(values)
    moments = truncated_moments(np.array([theta, -theta]) / sigma)
    below, above = -sigma * float(moments.d[0]), sigma * float(moments.d[1])
    seen = xp.full_like(values, above) if link == "binary" else values
    return with_stored(X, xp.where(xp.isnan(values), theta, xp.where(values > 0, seen, below)), below)
