"""Where the search for parts begins when none are given.

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

from rectifact.core.arrays import Array, eps, namespace, normal_like, to_csr, to_like
from rectifact.core.errors import InputError
from rectifact.core.linalg import nnls_gram, procrustes, successive_projection
from rectifact.core.operand import Operand, operand
from rectifact.core.sparse import divide_rows, gram
from rectifact.core.svd import truncated_svd

ICA_SAMPLES_PER_PART = 10
"""Fewer samples than this per part are too few for third moments."""


@dataclass(frozen=True)
class Subspace:
    """The leading singular subspace of X: what the parts span, if there is little noise.

    Attributes
    ----------
    coordinates : array of shape (n_samples, rank)
        ``X @ basis``, kept in memory.
    s : array of shape (rank,)
        Singular values, descending.
    Vt : array of shape (rank, n_features)
        Right singular vectors.
    noise : float
        Root mean square of what is outside, per entry.
    """

    coordinates: Array
    s: Array
    Vt: Array
    noise: float

    @property
    def basis(self) -> Array:
        """Orthonormal columns (n_features, rank)."""
        return self.Vt.T

    @property
    def rank(self) -> int:
        """Number of directions in which there is more than rounding."""
        return int(self.coordinates.shape[1])


def subspace(X: Operand | Array, rank: int) -> Subspace:
    """Leading ``rank`` directions of X, fewer where X has a lower rank.

    Examples
    --------
    >>> import numpy as np
    >>> subspace(np.outer([1.0, 2.0, 3.0], [1.0, 1.0]), 2).rank
    1
    """
    X = operand(X)
    n, d = X.shape
    (U, s, Vt), squared = truncated_svd(X, min(rank, n, d))
    xp = namespace(s)
    rounding = 10 * eps(s)
    found = int(xp.count_nonzero(s > rounding * s[0])) if float(s[0]) > 0 else 0
    sign = _signs(Vt[:found])
    s, Vt = s[:found], Vt[:found] * sign[:, None]
    rest = max(squared - float(xp.sum(s**2)), 0.0) / max(n * (d - found), 1)
    # Below the rounding of the two sums nothing can be said: exact data has no noise.
    noise = rest**0.5 if rest * n * d > 10 * rounding * squared else 0.0
    (coordinates,) = X.keep(U[:, :found] * (sign * s))  # far smaller than X, and read in each iteration
    return Subspace(coordinates, s, Vt, noise)


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
    space : Subspace
        Leading subspace of the samples.
    rng : Generator
        Draws the Gamma numbers and the first rotation.
    n_iter : int, default 200
        Most rounds; about ten are typical.

    Returns
    -------
    array of shape (rank, n_features)
    """
    coordinates, like = operand(space.coordinates), space.s
    xp, (n, k) = namespace(like), coordinates.shape
    Y = operand(space.coordinates * coordinates.draw_rows(rng, _gamma_column))
    centred = operand(Y.data - Y.total(_column_sums) / n)
    values, vectors = xp.linalg.eigh(centred.total(gram) / n)
    vectors = vectors * _signs(vectors.T)
    scale = xp.sqrt(xp.clip(values, float(values[-1]) * eps(like) * k, None))
    white = operand(*centred.keep(centred @ (vectors / scale)))
    rotation, _ = xp.linalg.qr(normal_like(rng, (k, k), like))
    for _ in range(n_iter):
        before = rotation
        moments = white.total(_third_moments, rotation)
        rotation = procrustes(moments, xp.eye(k, dtype=like.dtype, device=like.device))
        if float(xp.min(xp.abs(xp.sum(rotation * before, axis=1)))) > 1 - 1e-4:
            break
    # u^2 leads to positive skewness, so weights point the right way already.
    return (rotation * scale) @ vectors.T @ space.Vt


def _gamma_column(rng: np.random.Generator, n_rows: int) -> Any:
    return rng.gamma(2.0, size=(n_rows, 1))


def _column_sums(rows: Array) -> Array:
    return namespace(rows).sum(rows, axis=0)


def _third_moments(rows: Array, rotation: Array) -> Array:
    return ((rows @ rotation.T) ** 2).T @ rows


def spa_start(space: Subspace) -> Array:
    """Samples that are nearly pure: the successive projection algorithm [2] in the leading subspace.

    Takes the sample of largest norm, removes its direction from all, and so on. Samples stay where they are: the
    directions that are left have a small orthonormal basis, and each step is one total.

    Returns
    -------
    array of shape (rank, n_features)
    """
    like, samples = space.s, operand(space.coordinates)
    xp, chosen = namespace(like), []
    left = first = xp.eye(space.rank, dtype=like.dtype, device=like.device)
    for _ in range(space.rank):
        _, row = samples.total(_longest, left, combine=_longer)
        chosen.append(row)
        longest, axis = row @ left, first[:1, : left.shape[1]]
        # The reflection that turns the longest row to the first axis, which is then dropped (Householder).
        mirror = longest + xp.where(longest[:, :1] < 0, -axis, axis) * xp.linalg.vector_norm(longest)
        mirror = mirror / xp.clip(xp.linalg.vector_norm(mirror), eps(like) ** 4, None)
        left = (left - 2 * (left @ mirror.T) * mirror)[:, 1:]
    return xp.concat(chosen) @ space.Vt


def _longest(rows: Array, left: Array) -> tuple[Array, Array]:
    """Squared length of the row that is longest in the basis ``left``, and the row; without waiting for a device."""
    xp = namespace(rows)
    lengths = xp.sum((rows @ left) ** 2, axis=1)
    return xp.max(lengths), xp.take(rows, xp.reshape(xp.argmax(lengths), (1,)), axis=0)


def _longer(one: tuple[Any, Any], other: tuple[Any, Any]) -> tuple[Any, Any]:
    return one if one[0] >= other[0] else other


def anchor_start(X: Operand | Array, n_components: int, *, min_samples: int = 20) -> Array:
    """Topics from anchor words [3]: features that occur in one part only, found by SPA on co-occurrences.

    Parameters
    ----------
    X : Operand or array of shape (n_samples, n_features)
        Non-negative and in memory, such as word counts.
    n_components : int
        Number of parts.
    min_samples : int, default 20
        Features of fewer samples are not taken as anchors; where the data is small, fewer are enough.

    Returns
    -------
    array of shape (n_components, n_features)
    """
    X = operand(X)
    counts = to_csr(X.data)
    Q = np.maximum(_co_occurrences(counts), 0)
    frequency = Q.sum(axis=1)
    rows = Q / np.where(frequency > 0, frequency, 1)[:, None]
    seen = np.bincount(counts.nonzero()[1], minlength=counts.shape[1])
    common = seen >= min(min_samples, np.sort(seen)[-min(n_components, len(seen))])
    anchors = rows[successive_projection(np.where(common[:, None], rows, 0), n_components)]
    shares_of_parts = nnls_gram(anchors @ anchors.T, anchors @ rows.T)
    H = shares_of_parts * frequency
    H = H / np.maximum(H.sum(axis=1, keepdims=True), 1e-300)
    return to_like(H, X.like)


def _co_occurrences(counts: Any) -> Any:
    """Features by features: how often a sample pairs them, each sample weighted alike.

    In a text a word pairs with the other words only, so counts are freed of their diagonal; other data has none.
    """
    length = counts.sum(axis=1)
    counted = bool((counts.data == np.round(counts.data)).all()) and bool((length > 1).any())
    pairs = length * (length - 1) if counted else length**2
    scaled = divide_rows(counts, np.where(pairs > 0, pairs, np.inf)[:, None])
    Q = (scaled.T @ counts).toarray()
    if counted:
        Q[np.diag_indices_from(Q)] -= scaled.sum(axis=0)
    return Q


def nndsvd_start(space: Subspace) -> Array:
    """Positive or negative parts of the singular vectors, whichever carry more (NNDSVD, [4]).

    Returns
    -------
    array of shape (rank, n_features)
    """
    xp, V = namespace(space.s), space.basis
    above, below = operand(space.coordinates).total(_sizes_by_sign)
    positive = xp.sqrt(above) * xp.linalg.vector_norm(xp.clip(V, 0, None), axis=0)
    negative = xp.sqrt(below) * xp.linalg.vector_norm(xp.clip(-V, 0, None), axis=0)
    one = xp.ones_like(positive)  # of the type of the data, which a number would widen
    sign = xp.where(positive >= negative, one, -one)
    return (xp.clip(V * sign, 0, None) * space.s).T


def _sizes_by_sign(rows: Array) -> tuple[Array, Array]:
    xp = namespace(rows)
    return xp.sum(xp.clip(rows, 0, None) ** 2, axis=0), xp.sum(xp.clip(rows, None, 0) ** 2, axis=0)


STARTS = ("ica", "spa", "anchor", "nndsvd")


def check_number(n_components: int, shape: tuple[int, ...], first_batch: bool) -> None:
    """Refuse more parts than data of this shape can tell apart; a first batch of few samples has its own sentence."""
    most = shape[1] if first_batch else min(shape)
    if n_components > most:
        what = f"n_components={n_components} is too many for X with n_samples = {shape[0]} and n_features = {shape[1]}."
        raise InputError(what, f"Ask for at most {most}.", option="n_components")


def choose_start(n_samples: int, n_components: int) -> str:
    """The start that ``init="auto"`` takes: third moments where there are enough samples, else pure samples.

    Examples
    --------
    >>> choose_start(5000, 100), choose_start(300, 100)
    ('ica', 'spa')
    """
    return "ica" if n_samples >= ICA_SAMPLES_PER_PART * n_components else "spa"


def find_start(name: str, X: Operand, space: Subspace, rng: np.random.Generator) -> Array:
    """Parts by the start of this name; as many as the subspace has directions."""
    if name == "ica":
        return ica_start(space, rng)
    if name == "anchor":
        return anchor_start(X, space.rank)
    return spa_start(space) if name == "spa" else nndsvd_start(space)
