"""Where the search for parts begins, when nobody knows them.

AND and Purification are proved to end at the truth from a start in its neighbourhood. These functions find one
from the data alone, as an array (n_components, n_features).

References
----------
[1] A. Hyvärinen, "Fast and robust fixed-point algorithms for independent component analysis", IEEE Trans. Neural
Networks 10(3), 1999. [2] N. Gillis and S. A. Vavasis, "Fast and robust recursive algorithms for separable
nonnegative matrix factorization", IEEE TPAMI 36(4), 2014. [3] S. Arora et al., "A practical algorithm for topic
modeling with provable guarantees", ICML 2013. [4] C. Boutsidis and E. Gallopoulos, "SVD based initialization",
Pattern Recognition 41(4), 2008.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from rectifact.core.arrays import Array, eps, namespace, normal_like, to_host, to_like
from rectifact.core.errors import InputError
from rectifact.core.lazy import draw_rows, evaluate, is_lazy, opened, over_chunks, persist, total
from rectifact.core.linalg import nnls_gram, procrustes, successive_projection
from rectifact.core.operand import operand
from rectifact.core.svd import SVD, truncated_svd

__all__ = [
    "STARTS",
    "Subspace",
    "anchor_start",
    "choose_start",
    "find_start",
    "ica_start",
    "nndsvd_start",
    "spa_start",
    "subspace",
]

ICA_SAMPLES_PER_PART = 10
"""Fewer samples than this per part are too few for third moments."""


@dataclass(frozen=True)
class Subspace:
    """The leading singular subspace of X: what the parts span, if there is little noise.

    ``coordinates`` (n_samples, rank) are ``X @ basis`` for the orthonormal ``basis`` (n_features, rank), and
    ``noise`` is the root mean square of what is outside, per entry.
    """

    svd: SVD
    coordinates: Array
    noise: float

    @property
    def basis(self) -> Array:
        """Orthonormal columns (n_features, rank)."""
        return self.svd.Vt.T

    @property
    def rank(self) -> int:
        """Number of directions in which there is more than rounding."""
        return int(self.coordinates.shape[1])


def subspace(X: Array, rank: int, *, seed: int = 0) -> Subspace:
    """Leading ``rank`` directions of X, fewer where X has a lower rank.

    Examples
    --------
    >>> import numpy as np
    >>> subspace(np.outer([1.0, 2.0, 3.0], [1.0, 1.0]), 2).rank
    1
    """
    n, d = X.shape
    rank = min(rank, n, d)
    (U, s, Vt), squared = truncated_svd(operand(X), rank, seed=seed)
    xp = namespace(s)
    rounding = 10 * eps(s)
    found = int(xp.sum(xp.astype(s > rounding * s[0], xp.int64))) if float(s[0]) > 0 else 0
    sign = _signs(Vt[:found])
    U, s, Vt = U[:, :found] * sign, s[:found], Vt[:found] * sign[:, None]
    rest = max(squared - float(xp.sum(s**2)), 0.0) / max(n * (d - found), 1)
    # Below the rounding of the two sums nothing can be said: exact data has no noise.
    noise = rest**0.5 if rest * n * d > 10 * rounding * squared else 0.0
    (coordinates,) = persist(U * s)  # far smaller than X, and read in each iteration
    return Subspace(SVD(coordinates / s if is_lazy(X) else U, s, Vt), coordinates, noise)


def _signs(rows: Array) -> Array:
    """1 or -1 for each row: those of a solver depend on its library and on the order of its sums."""
    xp = namespace(rows)
    return 1 - 2 * xp.astype(xp.sum(rows**3, axis=1) < 0, rows.dtype)


def ica_start(space: Subspace, rng: np.random.Generator, *, n_iter: int = 200) -> Array:
    """Directions of largest skewness: symmetric FastICA [1] with the nonlinearity ``u^2``.

    Weights of parts are skewed, being zero or small most of the time. Samples are first multiplied by random
    Gamma(2) numbers: weights that sum to one would have a singular covariance, and no component is independent
    of the others then. Draws differ, the directions they lead to hardly do.

    Parameters
    ----------
    space : leading subspace of the samples
    rng : of the Gamma numbers and the first rotation
    n_iter : most rounds; about ten are typical
    """
    Y = space.coordinates
    like = space.svd.s
    xp, (n, k) = namespace(like), Y.shape
    factors = draw_rows(rng, _gamma_column, Y)
    Y = Y * (factors.astype(Y.dtype) if is_lazy(Y) else to_like(factors, like))
    centred = Y - evaluate(namespace(Y).mean(Y, axis=0))[0]
    (covariance,) = evaluate(centred.T @ centred / n)
    values, vectors = xp.linalg.eigh(covariance)
    vectors = vectors * _signs(vectors.T)
    scale = xp.sqrt(xp.clip(values, float(values[-1]) * eps(like) * k, None))
    (white,) = persist(centred @ (vectors / scale))
    rotation, _ = xp.linalg.qr(normal_like(rng, (k, k), like))
    for _ in range(n_iter):
        before = rotation
        sources = white @ rotation.T
        (moments,) = evaluate((sources**2).T @ white)
        rotation = procrustes(moments, xp.eye(k, dtype=like.dtype, device=like.device))
        if float(xp.min(xp.abs(xp.sum(rotation * before, axis=1)))) > 1 - 1e-4:
            break
    # u^2 leads to positive skewness, so weights point the right way already.
    return (rotation * scale) @ vectors.T @ space.svd.Vt


def _gamma_column(rng: np.random.Generator, n_rows: int) -> Any:
    return rng.gamma(2.0, size=(n_rows, 1))


def spa_start(space: Subspace) -> Array:
    """Samples that are nearly pure: the successive projection algorithm [2] in the leading subspace.

    Takes the sample of largest norm, removes its direction from all, and so on.
    """
    if is_lazy(space.coordinates):
        return _successive_rows(space.coordinates, space.rank) @ space.svd.Vt
    chosen = successive_projection(space.coordinates, space.rank)
    return space.coordinates[chosen] @ space.svd.Vt


def anchor_start(X: Array, n_components: int, *, min_samples: int = 20) -> Array:
    """Topics from anchor words [3]: features that occur in one part only, found by SPA on co-occurrences.

    Parameters
    ----------
    X : non-negative array or sparse array (n_samples, n_features), such as word counts
    n_components : number of parts
    min_samples : rarer features are no anchors; fewer are asked for where the data is small
    """
    counts = sp.csr_array(to_host(X)).astype(np.float64)
    Q = np.maximum(_co_occurrences(counts), 0)
    frequency = Q.sum(axis=1)
    rows = Q / np.where(frequency > 0, frequency, 1)[:, None]
    seen = np.bincount(counts.nonzero()[1], minlength=counts.shape[1])
    common = seen >= min(min_samples, np.sort(seen)[-min(n_components, len(seen))])
    anchors = rows[successive_projection(np.where(common[:, None], rows, 0), n_components)]
    shares_of_parts = nnls_gram(anchors @ anchors.T, anchors @ rows.T)
    H = shares_of_parts * frequency
    H = H / np.maximum(H.sum(axis=1, keepdims=True), 1e-300)
    return to_like(H, X)


def _co_occurrences(counts: sp.csr_array) -> Any:
    """Features by features: how often a sample pairs them, each sample weighted alike.

    A word of a text pairs with the other words only, so counts are freed of their diagonal; other data has none.
    """
    length = counts.sum(axis=1)
    counted = bool((counts.data == np.round(counts.data)).all()) and bool((length > 1).any())
    pairs = length * (length - 1) if counted else length**2
    weight = sp.diags_array(np.where(pairs > 0, 1 / np.where(pairs > 0, pairs, 1), 0))
    scaled = weight @ counts
    Q = (scaled.T @ counts).toarray()
    if counted:
        Q[np.diag_indices_from(Q)] -= scaled.sum(axis=0)
    return Q


def _successive_rows(rows: Array, n_chosen: int) -> Array:
    """The rows that SPA chooses from a lazy array, one computation each; what is removed is a small projector."""
    n_columns = rows.shape[1]
    chosen, projector = np.empty((0, n_columns), dtype=rows.dtype), np.eye(n_columns, dtype=rows.dtype)
    for _ in range(n_chosen):
        boxes = over_chunks(_longest, rows, small=(projector,))
        _, row = opened(evaluate(total(boxes, _longer))[0])
        chosen = np.concatenate([chosen, row[None]])
        longest = row @ projector
        direction = longest / max(float(np.linalg.norm(longest)), eps(rows) ** 4)
        projector = projector - (projector @ direction)[:, None] * direction[None, :]
    return chosen


def _longest(rows: Any, projector: Any) -> tuple[float, Any]:
    lengths = ((rows @ projector) ** 2).sum(axis=1)
    place = int(np.argmax(lengths))
    return float(lengths[place]), rows[place]


def _longer(one: tuple[float, Any], other: tuple[float, Any]) -> tuple[float, Any]:
    return one if one[0] >= other[0] else other


def nndsvd_start(space: Subspace) -> Array:
    """Positive or negative parts of the singular vectors, whichever carry more (NNDSVD, [4])."""
    xp = namespace(space.svd.s)
    U, V = space.svd.U, space.svd.Vt.T
    above, below = evaluate(*(namespace(U).sum((xp.abs(U) + sign * U) ** 2, axis=0) for sign in (1, -1)))
    positive = xp.sqrt(above) * xp.linalg.vector_norm(xp.clip(V, 0, None), axis=0)
    negative = xp.sqrt(below) * xp.linalg.vector_norm(xp.clip(-V, 0, None), axis=0)
    one = xp.ones_like(positive)  # of the type of the data, which a number would widen
    sign = xp.where(positive >= negative, one, -one)
    return (xp.clip(V * sign, 0, None) * space.svd.s).T


STARTS = ("ica", "spa", "anchor", "nndsvd")


def choose_start(n_samples: int, n_components: int) -> str:
    """The start that ``init="auto"`` takes: third moments where there are samples enough, else pure samples.

    Examples
    --------
    >>> choose_start(5000, 100), choose_start(300, 100)
    ('ica', 'spa')
    """
    return "ica" if n_samples >= ICA_SAMPLES_PER_PART * n_components else "spa"


def find_start(name: str, X: Array, space: Subspace, rng: np.random.Generator) -> Array:
    """Parts by the start of this name; as many as the subspace has directions."""
    if name == "ica":
        return ica_start(space, rng)
    if name == "anchor" and is_lazy(X):
        raise InputError("init='anchor' works on the host. Use init='auto', or fit X.compute() if memory allows.")
    if name == "anchor":
        return anchor_start(X, space.rank)
    return spa_start(space) if name == "spa" else nndsvd_start(space)
