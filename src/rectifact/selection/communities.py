"""Why a graph has a number of communities, and what speaks for other numbers, in words."""

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp

from rectifact.graph.chance import DRAWS, FEW_DRAWS, communities_beyond_chance, divides_beyond_chance
from rectifact.graph.how_many import NODES_PER_CLUSTER, GraphTrial
from rectifact.graph.permuted import DRAWS as PERMUTED
from rectifact.graph.permuted import communities_by_weights
from rectifact.selection.search import HELD_OUT, Curve

ONE = "The graph looks like one community"
"""How the reason begins where it does not divide."""

COMPARE = "Compare"
"""How the advice begins, the last sentence: it is about the graph, not about one component of it."""

CLEARLY = 2.0
"""Standard errors by which the next larger number of communities must score lower for the choice to be sure."""

MOST_ADVISED = 2
"""Numbers that the advice names."""


def is_open(curve: Curve, best: int) -> bool:
    """Whether hidden edges leave it open if a graph has more than one community."""
    return best == 1 and bool(curve.alike(1))


def beyond_hidden_edges(curve: Curve, best: int, graph: sp.csr_array, numbers: Sequence[int]) -> tuple[int, str]:
    """The number of communities where hidden edges cannot decide but random graphs do, and why; else ``best`` alone.

    A small graph is compared with random ones of the same degrees, and one with weights with the same edges and
    permuted weights: where nearly all nodes are joined, hidden edges show little of what the weights do.
    """
    if is_open(curve, best) and divides_beyond_chance(graph):
        found = min(curve.alike(1))
        return found, (
            f"The graph divides more clearly than each of {DRAWS} random graphs with the same degrees, and {found} is "
            "the smallest number above 1 that predicts hidden edges as well as any."
        )
    by_weights = communities_by_weights(graph) if best == 1 or curve.alike(best) else 1
    found = min(numbers, key=lambda k: abs(k - by_weights))
    if by_weights > 1 and found > best and (best == 1 or found in curve.alike(best)):
        nearest = "" if found == by_weights else f" {found} is the nearest number that was asked for."
        return found, (
            f"The weights divide the graph more clearly than each of {PERMUTED} orders of them on the same edges, and "
            f"as {by_weights} communities; hidden edges alone would give {best}.{nearest}"
        )
    return best, ""


def beyond_chance(curve: Curve, best: int, graph: sp.csr_array, numbers: Sequence[int]) -> tuple[int, int]:
    """The number of communities, and one to look at where that is 1, but the graph has clearly more than by chance.

    The number to look at is tried, and taken if hidden edges speak for it; the second is 1 if there is none.
    """
    counted = communities_beyond_chance(graph) if best == 1 else 1
    if counted == 1:
        return best, 1
    found = min(numbers, key=lambda k: abs(k - counted))
    curve.try_out(found)
    return (1, found) if curve.smallest() == 1 else (curve.smallest(), 1)


def why(curve: Curve, best: int, most: int, weak: bool = False) -> str:
    """Why there are as many communities.

    Parameters
    ----------
    curve : Curve
    best : int
        The number that was chosen.
    most : int
        The largest number that the graph has nodes for.
    weak : bool, default False
        Whether there is more structure than chance explains, though one was chosen.
    """
    if most == 1:
        return f"The graph is too small to divide: two communities need at least {2 * NODES_PER_CLUSTER} nodes."
    if best == 1 and weak:
        how = "as well as several do" if is_open(curve, best) else "better than any division"
        return (
            f"The graph divides more clearly than each of {FEW_DRAWS} random graphs with the same degrees, but too "
            f"weakly for a reliable division: one community predicts hidden edges {how}."
        )
    if is_open(curve, best):
        return "It is open whether there is more than one community: one predicts hidden edges as well as several do."
    if best == 1 and len(curve.scores) > 1:
        return f"{ONE}: no division of it predicts hidden edges better."
    reason = "the graph is too small for more" if best == most else "no larger number was tried"
    end = f"; {reason}" if best == max(curve.scores) else ""
    return f"{best} is the smallest number of communities that predicts hidden edges as well as any{end}."


def found_again(curve: Curve, best: int, trial: GraphTrial) -> tuple[int, str]:
    """The number that predicts best, and why, where only its communities are all found again; else ``best`` alone.

    The smallest number within the error may join two communities, each time others, which predicts nearly as well.
    """
    top = curve.top()
    if not 1 < best < top or trial.are_found_again(best) or not trial.are_found_again(top):
        return best, ""
    return top, (
        f"{top} communities predict hidden edges best, and all of them are found again where edges are left out; "
        f"{best} predict as well within the error, but not all of them are found again."
    )


def doubts(curve: Curve, best: int, trial: GraphTrial, weak: int, settled: bool = False) -> str:
    """What speaks for other numbers of communities than the best, and which divisions to look at.

    Parameters
    ----------
    curve : Curve
    best : int
    trial : GraphTrial
    weak : int
        A number that chance does not explain where one community was chosen; 1 if there is none.
    settled : bool, default False
        Whether smaller numbers were ruled out, as their communities are not found again.
    """
    nearly = _nearly(curve, best)
    if nearly and not curve.alike(best) and _is_ruled_out(trial, best, nearly):
        nearly = None
    if settled and not any(k > best for k in curve.alike(best)):
        return trial.doubt()
    said = [
        undecided(curve, best, nearly, best if settled else 0),
        otherwise(curve, best),
        trial.doubt(),
        advice(curve, best, weak, nearly, best if settled else 1),
    ]
    return " ".join(filter(None, said))


def _is_ruled_out(trial: GraphTrial, best: int, larger: int) -> bool:
    """Whether no small community was missed: all are found again, and those of the larger number are not."""
    return trial.are_found_again(best) and (not trial.are_found_again(larger) or trial.are_louvains(best))


def undecided(curve: Curve, best: int, nearly: int | None = None, above: int = 0) -> str:
    """Which other numbers of communities ``above`` one predict hidden edges as well, or nearly so: ``nearly``."""
    others = [k for k in curve.alike(best) if k > above]
    if others:
        top = f"; {curve.top()} predicts them best" if curve.top() != best else ""
        verb = "predicts" if len(others) == 1 else "predict"
        named = " and ".join(filter(None, [", ".join(map(str, others[:-1])), str(others[-1])]))
        return f"Within the error, {named} {verb} them as well{top}."
    lower = f"less than {CLEARLY:g} standard errors below the best"
    return f"{nearly} predicts them nearly as well, {lower}: a small community may have been missed." if nearly else ""


def otherwise(curve: Curve, best: int) -> str:
    """Which numbers of communities each round of draws, that hides all edges once, would have led to alone."""
    once, draws = round(1 / HELD_OUT), len(curve.scores[best])
    rounds = [slice(first, first + once) for first in range(0, draws - once + 1, once)]
    found = {curve.part(rows).smallest() for rows in rounds} | {best}
    if len(rounds) < 2 or len(found) == 1:
        return ""
    return f"Depending on which edges are hidden, it would be {min(found)} to {max(found)}."


def advice(curve: Curve, best: int, weak: int = 1, nearly: int | None = None, above: int = 1) -> str:
    """Which other divisions to look at, the best first; ``weak`` is one that chance does not explain, if above 1."""
    nearly = nearly if weak == 1 else weak
    others = [k for k in curve.alike(best) if k > above] or ([nearly] if nearly else [])
    others = sorted(others, key=lambda k: -float(np.mean(curve.scores[k])))[:MOST_ADVISED]
    if not others:
        return ""
    options = " and ".join(f"-k {k}" for k in others)
    return f"{COMPARE} the division with {options} (n_clusters in Python), and keep the one that you can explain."


def names_others(reason: str) -> bool:
    """Whether the reason for a choice names other numbers to compare with.

    Examples
    --------
    >>> names_others("Compare the division with -k 4 (n_clusters in Python)."), names_others("5 predict best.")
    (True, False)
    """
    return "-k " in reason


def advice_in(reason: str) -> str:
    """The advice in the reason for a choice, as a command line has it; empty if there is none.

    Examples
    --------
    >>> advice_in("5 predict as well. Compare the division with -k 4 (n_clusters in Python), and keep the better one.")
    'Compare the division with -k 4, and keep the better one.'
    >>> advice_in("5 predict best.")
    ''
    """
    _, begin, rest = reason.rpartition(f"{COMPARE} ")
    sentence = rest.partition(". ")[0].removesuffix(".")
    return f"{begin}{sentence}.".replace(" (n_clusters in Python)", "") if begin else ""


def _nearly(curve: Curve, best: int) -> int | None:
    """The next larger number of communities, where its score is not clearly lower: small ones are easily missed."""
    larger = [k for k in sorted(curve.scores) if k > best]
    if best == 1 or not larger:
        return None
    lost = float(np.mean(curve.scores[curve.top()] - curve.scores[larger[0]]))
    return None if lost > CLEARLY * curve.error(larger[0], curve.top()) else larger[0]
