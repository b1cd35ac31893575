"""How far posteriors lean on the vote: where answers are not independent, and where there are hardly any."""

EARLY_RETREAT = 2.5, 0.65
"""The weight of the vote is the share of the variance that independent answers would not have. Up to the second number,
it is as many times as large."""

ORDINAL_RETREAT = 5.0, 1.0
"""The same for ordered grades: a task that lies between two grades is answered with both, which only the vote shows."""

FEW_ANSWERS, ENOUGH_ANSWERS = 20, 40
"""Up to the first number of answers in all, no model overrules answers that agree; from the second on, it may."""

UNANIMOUS = 0.7
"""Weight of the vote at which a single answer decides, whatever the model says: above two thirds."""


def dependence_retreat(effect: float, ordinal: bool = False) -> float:
    """Weight of the vote, given the design effect of the answers.

    Examples
    --------
    >>> dependence_retreat(1.0), round(dependence_retreat(1.2), 3), dependence_retreat(4.0)
    (0.0, 0.417, 0.75)
    """
    (times, most), share = ORDINAL_RETREAT if ordinal else EARLY_RETREAT, 1 - 1 / effect
    return max(min(times * share, most), share)


def small_crowd_retreat(n_answers: float, ordinal: bool = False) -> float:
    """Weight of the vote, given the number of all answers: a handful cannot show that a worker errs.

    Of ordered grades, whose vote already contains the posteriors, it is all of it.

    Examples
    --------
    >>> small_crowd_retreat(5), small_crowd_retreat(30), small_crowd_retreat(1000)
    (0.7, 0.35, 0.0)
    """
    left = (ENOUGH_ANSWERS - n_answers) / (ENOUGH_ANSWERS - FEW_ANSWERS)
    return (1.0 if ordinal else UNANIMOUS) * min(1.0, max(0.0, left))
