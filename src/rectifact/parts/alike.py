"""Topics that share many of their words: a finding with a remedy."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from rectifact.core.findings import Finding

MANY_SHARED = 0.45
"""Share of the words, by weight, from which on two topics are much alike. Topics of different subjects share up to 0.4
of them, even where stop words are not left out; a subject that was divided has topics that share 0.45 to 0.6."""

MOST_NAMED = 8
"""Topics in a sentence."""


def words_in_common(H: NDArray[Any]) -> NDArray[Any]:
    """Share of the words of two topics, by weight, that they have in common, for all pairs; 0 on the diagonal.

    Examples
    --------
    >>> words_in_common(np.array([[3.0, 1.0, 0.0], [0.0, 1.0, 1.0]])).tolist()
    [[0.0, 0.25], [0.25, 0.0]]
    """
    sizes = np.abs(H)
    weights = sizes / np.maximum(sizes.sum(axis=1, keepdims=True), 1e-300)
    found = np.array([np.minimum(weights, own).sum(axis=1) for own in weights])
    np.fill_diagonal(found, 0.0)
    return found


def alike_topics(H: NDArray[Any]) -> list[Finding]:
    """A finding about topics that share many of their words: one subject, or two that need other words.

    Examples
    --------
    >>> print(alike_topics(np.array([[2.0, 1.0, 1.0], [1.0, 1.0, 2.0], [0.0, 0.0, 1.0]]))[0].detail)
    Topics 1, 2 and 3 are much alike: topics 1 and 2 have 75% of their words in common, by weight.
    """
    shared = words_in_common(np.asarray(H, dtype=float))
    _, group = connected_components(shared >= MANY_SHARED, directed=False)
    own = [members for g in np.unique(group) if len(members := np.flatnonzero(group == g)) > 1]
    if not own:
        return []
    i, j = sorted(np.unravel_index(shared.argmax(), shared.shape))
    alike = "; topics ".join(_listed(members) for members in own)
    much = f"{shared[i, j]:.0%} of their words in common, by weight"
    detail = f"Topics {alike} are much alike: topics {i + 1} and {j + 1} have {much}."
    if len(own) == 1 and len(own[0]) == 2:
        detail = f"Topics {alike} have {much}."
    remedy = "Read their documents: if they are about one subject, ask for fewer topics"
    python, command = f"{remedy} (n_components).", f"{remedy} (-k)."
    return [Finding("warning", "topics that are much alike", detail, python, command)]


def _listed(members: NDArray[Any]) -> str:
    numbers = [str(i + 1) for i in members[:MOST_NAMED]]
    if len(members) > MOST_NAMED:
        return f"{', '.join(numbers)}, ..."
    return f"{', '.join(numbers[:-1])} and {numbers[-1]}"
