"""Whether parts that are much alike are two parts, or one that was divided in an arbitrary way.

A fit that starts from an arbitrary division stays near it, as any other division explains about as much: so halves of
the samples that start alike end alike. Starts that divide the sum of two such parts at random tell: where the parts are
real, the fit comes back to them, or explains clearly less than they do.
"""

from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

ALIKE = 0.3
"""Cosine from which on two parts may be one that was divided."""

AS_MUCH = 0.7
"""Share of what the division of a part into two explains from which on another division explains about as much."""

DIVISIONS, MOST_PAIRS = 2, 6
"""Divisions that are tried for each pair, and pairs at most."""


class Fit(Protocol):
    """Parts, and the loss that they leave."""

    @property
    def H(self) -> NDArray[np.float64]:
        """Parts in rows."""

    @property
    def loss(self) -> float:
        """What they leave."""


def pairs_alike(H: NDArray[np.float64]) -> list[tuple[int, int]]:
    """Each part with the one that is most like it, if they are much alike: the most similar pairs.

    Examples
    --------
    >>> pairs_alike(np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 1.0], [0.0, 1.0, 0.5]]))
    [(1, 2)]
    """
    cosines = _cosines(H, H)
    np.fill_diagonal(cosines, -1.0)
    nearest = cosines.argmax(axis=1) if len(H) > 1 else np.zeros(0, dtype=int)
    pairs = {(min(i, j), max(i, j)) for i, j in enumerate(nearest.tolist()) if cosines[i, j] >= ALIKE}
    return sorted(pairs, key=lambda pair: (-cosines[pair], pair))[:MOST_PAIRS]


def divided_again(fit: Callable[[NDArray[np.float64]], Fit], found: Fit, rng: np.random.Generator) -> Fit:
    """The fit with each pair of parts that are alike divided in another way, where that explains about as much.

    Parameters
    ----------
    fit : callable
        Fits parts, and weights, from the parts that it is given.
    found : Fit
    rng : Generator
        Draws the divisions.
    """
    for i, j in pairs_alike(np.asarray(found.H, dtype=float)):
        H = np.asarray(found.H, dtype=float)
        both = H[i] + H[j]
        gained = fit(_with_rows(np.delete(H, j, axis=0), {i: both})).loss - found.loss
        others = []
        for _ in range(DIVISIONS):
            share = rng.random(len(both))
            other = fit(_with_rows(H, {i: share * both, j: (1 - share) * both}))
            if found.loss - other.loss >= (AS_MUCH - 1) * gained:
                others.append(other)
        found = min(others, key=lambda other: _likeness(H[[i, j]], np.asarray(other.H)[[i, j]]), default=found)
    return found


def _with_rows(H: NDArray[np.float64], rows: dict[int, NDArray[np.float64]]) -> NDArray[np.float64]:
    changed = H.copy()
    for i, row in rows.items():
        changed[i] = row
    return changed


def _likeness(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    """Sum of the cosines of two parts and the two they are best matched with."""
    cosines = _cosines(one, other)
    return float(max(np.trace(cosines), np.trace(cosines[::-1])))


def _cosines(one: NDArray[np.float64], other: NDArray[np.float64]) -> NDArray[np.float64]:
    a, b = (rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-300) for rows in (one, other))
    return np.asarray(a @ b.T)
