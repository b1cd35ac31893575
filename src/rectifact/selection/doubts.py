"""What speaks against a number of communities, by the scores of other numbers."""

import numpy as np

from rectifact.selection.search import HELD_OUT, Curve

CLEARLY = 2.0
"""Standard errors by which the next larger number of communities must score lower for the choice to be sure."""


def undecided(curve: Curve, best: int) -> str:
    """Which other numbers of communities cannot be told from the best by their scores."""
    others = curve.alike(best)
    if not others:
        return _nearly(curve, best)
    shown = [str(k) for k in others]
    listed = shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"
    top = f"; {curve.top()} has the highest score" if curve.top() != best else ""
    scores = f"score of {listed} is within its" if len(shown) == 1 else f"scores of {listed} are within their"
    return f"The {scores} error too{top}."


def otherwise(curve: Curve, best: int) -> str:
    """Which numbers of communities each round of draws, that hides all edges once, would have led to alone."""
    once, draws = round(1 / HELD_OUT), len(curve.scores[best])
    rounds = [slice(first, first + once) for first in range(0, draws - once + 1, once)]
    found = {curve.part(rows).smallest() for rows in rounds} | {best}
    if len(rounds) < 2 or len(found) == 1:
        return ""
    return f"Depending on which edges are hidden, it would be {min(found)} to {max(found)}."


def _nearly(curve: Curve, best: int) -> str:
    """The next larger number of communities, where its score is not clearly lower: small ones are easily missed."""
    larger = [k for k in sorted(curve.scores) if k > best]
    if best == 1 or not larger:
        return ""
    lost = float(np.mean(curve.scores[curve.top()] - curve.scores[larger[0]]))
    if lost > CLEARLY * curve.error(larger[0], curve.top()):
        return ""
    return f"{larger[0]} scores nearly as well, within {CLEARLY:g} standard errors: a small group may have been missed."
