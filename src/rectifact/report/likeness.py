"""Which parts share features: their cosines, as a matrix in which similar parts are neighbours."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import leaves_list, linkage
from scipy.spatial.distance import squareform

from rectifact.parts.terms import Terms
from rectifact.parts.topics import cosines_between
from rectifact.report.blocks import Block, Column
from rectifact.report.marks import Axis, Cells
from rectifact.report.svg import Chart

SIMILAR = 0.2
"""Cosine of the most similar parts from which on a matrix of them shows something."""

MOST_SHOWN, MOST_TIPS = 30, 20
"""Parts in a matrix, and those up to which each cell says its value on hover; of more it is a small image."""


def likeness(components: NDArray[Any], labels: Sequence[str], terms: Terms) -> tuple[list[Block], str]:
    """The matrix of cosines, where it shows something, and a sentence about the most similar parts.

    Examples
    --------
    >>> from rectifact.parts.terms import TOPICS
    >>> blocks, words = likeness(np.eye(3) + 0.01, ["a", "b", "c"], TOPICS)
    >>> len(blocks), words
    (0, 'The most similar topics are 1 and 2, with a cosine of 0.02: no two share many words.')
    """
    cosines = cosines_between(components)
    others = np.where(np.triu(np.ones_like(cosines), 1) > 0, cosines, -np.inf)
    i, j = np.unravel_index(others.argmax(), others.shape)
    words = f"The most similar {terms.part}s are {i + 1} and {j + 1}, with a cosine of {cosines[i, j]:.2f}"
    if cosines[i, j] < SIMILAR:
        return [], f"{words}: no two share many {terms.feature}s."
    if len(cosines) > MOST_SHOWN:
        return [], f"{words}. The table has the most similar {terms.part} of each."
    return [cosine_matrix(cosines, labels, terms)], f"{words}."


def cosine_matrix(cosines: NDArray[Any], labels: Sequence[str], terms: Terms) -> Chart:
    """Cosines as colours, from 0 to the largest of two different parts; the diagonal is empty."""
    order = neighbours_first(cosines)
    between = cosines[np.ix_(order, order)]
    pairs = between[np.triu_indices(len(order), 1)]
    np.fill_diagonal(between, np.nan)
    tips = [[_tip(a, b, cosines, labels, terms) for b in order] for a in order] if len(order) <= MOST_TIPS else []
    numbers = [str(i + 1) for i in order]
    named = [f"{i + 1}: {labels[i]}" for i in order]
    words = (
        f"The stronger the colour, the more {terms.feature}s two {terms.part}s share: the strongest is a cosine of "
        f"{pairs.max():.2f}, the median of all pairs is {np.median(pairs):.2f}, and 1 would be the same {terms.part}. "
        f"Similar {terms.part}s are next to each other, as far as one row allows."
    )
    cells = Cells(between, tips, 0.0, float(pairs.max()))
    title = f"{terms.part.capitalize()}s that share {terms.feature}s"
    return Chart(title, [cells], words, Axis(terms.part, numbers), Axis(names=named), square=True)


def neighbours_first(cosines: NDArray[Any]) -> list[int]:
    """An order in which similar ones are neighbours: the leaves of a tree of average linkage."""
    apart = 1 - np.clip((cosines + cosines.T) / 2, -1, 1)
    np.fill_diagonal(apart, 0)
    tree = linkage(squareform(apart, checks=False), "average", optimal_ordering=True)
    return [int(i) for i in leaves_list(tree)]


def _tip(a: int, b: int, cosines: NDArray[Any], labels: Sequence[str], terms: Terms) -> str:
    one = f"{terms.part} {a + 1}"
    return f"{one}: {labels[a]}" if a == b else f"{one} and {b + 1}: {cosines[a, b]:.2f}"


def with_most_similar(
    components: NDArray[Any], terms: Terms, columns: list[Column], rows: list[Any]
) -> tuple[list[Column], list[Any]]:
    """A table of parts, with the most similar other part of each and their cosine as a further column."""
    cosines = cosines_between(components)
    np.fill_diagonal(cosines, -np.inf)
    nearest = cosines.argmax(axis=1)
    new = Column(
        f"most similar {terms.part}", help=f"which shares most {terms.feature}s with it; in brackets the cosine"
    )
    cells = [f"{j + 1} ({cosines[i, j]:.2f})" for i, j in enumerate(nearest)]
    return [*columns, new], [[*row, cell] for row, cell in zip(rows, cells, strict=True)]
