"""Division of a graph by the degrees of its nodes, and whether it has been divided already."""

from typing import Any

from rectifact.core.arrays import Array, namespace
from rectifact.graph.similarities import Similarities

STEPS, CLOSE = 20, 1e-3
"""Power steps towards the largest eigenvalue, and how near to 1 it is in a graph that is normalised."""


def normalize(S: Similarities, rule: Any) -> tuple[Similarities, bool]:
    """Similarities as they are factorised, and whether they were divided by the roots of the degrees here.

    Parameters
    ----------
    S : Similarities
    rule : {"auto", True, False}
        ``"auto"`` divides unless the graph is normalised already.

    Returns
    -------
    Similarities
        ``D^-1/2 S D^-1/2`` with D the degrees, or S itself. Nodes without edges stay without.
    bool
    """
    if rule is False or (rule == "auto" and is_normalized(S)):
        return S, False
    return S.scaled(inverse_roots(S.degrees)), True


def inverse_roots(degrees: Array) -> Array:
    """``1 / sqrt(degree)``, 1 for nodes without edges."""
    xp = namespace(degrees)
    return 1 / xp.sqrt(xp.where(degrees > 0, degrees, xp.ones_like(degrees)))


def is_normalized(S: Similarities) -> bool:
    """Whether S is ``D^-1/2 A D^-1/2`` for some graph A: so it is where its largest eigenvalue is 1.

    For if ``S v = v`` with ``v > 0``, the rows of ``A = diag(v) S diag(v)`` sum to ``v**2``. The eigenvalue lies
    between the mean and the largest sum of a row; power iteration starts from these sums, which are close to its
    vector.

    Examples
    --------
    >>> import numpy as np
    >>> S = Similarities(np.array([[0.0, 2.0, 1.0], [2.0, 0.0, 0.0], [1.0, 0.0, 0.0]]))
    >>> is_normalized(S), is_normalized(normalize(S, True)[0])
    (False, True)
    """
    sums = S.degrees
    xp = namespace(sums)
    if float(xp.mean(sums)) > 1 + CLOSE or float(xp.max(sums)) < 1 - CLOSE:
        return False
    v = sums[:, None]
    for _ in range(STEPS):
        v = v / xp.linalg.vector_norm(v)
        Sv = S @ v
        value, v = float(xp.sum(v * Sv)), Sv + v  # S + I, whose eigenvalues are not negative for a normalised S
    return abs(value - 1) <= CLOSE
