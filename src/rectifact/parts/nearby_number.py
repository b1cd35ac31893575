"""Whether another number of topics, near the one that was asked for, is clearly better: a finding with a remedy."""

from typing import Any

import numpy as np

from rectifact.core.findings import Finding
from rectifact.core.operand import operand
from rectifact.parts.directions import even_noise, predicted_shares
from rectifact.parts.how_many import MOST_ROWS, SAMPLES_PER_PART
from rectifact.parts.samples import are_short, sample_block
from rectifact.parts.stability import MOST_COLUMNS

CLEARLY = 4.0
"""Standard errors of the difference, over the documents, from which on another number predicts better for certain."""

DRAWS, APART = 2, 1
"""Draws of halves and groups of words that must agree on the better number, and how far they may be apart."""

NEAR, FEWER = 2, 4
"""Factor up to which a larger number is near, as a finer division of the same texts may predict better and still not be
meant, and a smaller one, as topics too many are arbitrary."""

EACH_TIME = 0.6
"""Stability below which a topic is not found again in a split into halves."""


def better_number(X: Any, k: int) -> int:
    """A number near ``k`` of which as many directions predict held-out words clearly better; 0 if there is none.

    Directions are compared by bi-cross-validation, as in the choice of a number, and cost no further fit.

    Parameters
    ----------
    X : array or sparse array of shape (n_documents, n_words)
    k : int

    Examples
    --------
    >>> from rectifact.datasets import make_topics
    >>> X = make_topics(n_samples=300, n_features=60, n_topics=6, noise=0.05).X
    >>> better_number(X, 5), better_number(X, 6)
    (6, 0)
    """
    block = even_noise(sample_block(operand(X), MOST_ROWS, MOST_COLUMNS)[0])
    most = min(NEAR * k + 1, X.shape[0] // SAMPLES_PER_PART, min(block.shape) - 1)
    short = are_short(X)  # of these, fewer directions predict than are there
    found: list[int] = []
    for seed in range(DRAWS if k <= most else 0):
        gains = predicted_shares(block, most, np.random.default_rng(seed))
        best = int(gains.mean(axis=0).argmax())
        more = gains[:, best] - gains[:, k]
        near = 1 < best <= NEAR * k and k <= FEWER * best  # the last one that was looked at may not be the best
        near &= best > k or not short
        if not near or more.mean() < CLEARLY * more.std(ddof=1) / len(more) ** 0.5 or best == k:
            return 0
        found.append(best)
    return min(found) if found and max(found) - min(found) <= APART else 0


def nearby_number(model: Any, X: Any) -> list[Finding]:
    """A finding about a better number of topics than the one that a fitted model was given, for their documents.

    Topics that are found again in every split into halves may be several subjects in one, or a subject in several.
    """
    k, ends = len(model.components_), getattr(model, "stability_range_", None)
    if k == 1 or not isinstance(model.init, str):
        return []
    better = better_number(X, k)
    if not better:
        return []
    unstable = (
        ""
        if ends is None or np.min(ends) >= EACH_TIME
        else f", and not all of the {k} are found again in each half of the documents"
    )
    detail = f"{better} topics predict held-out words clearly better than {k} do{unstable}."
    remedy = f"Compare with n_components={better}, or choose the number with rectifact.selection.select."
    command = f"Compare with -k {better}, or let the data choose with -k auto."
    return [Finding("warning", "a better number of topics", detail, remedy, command)]
