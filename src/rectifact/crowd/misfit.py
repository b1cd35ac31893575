"""Whether gold labels fit the answers at all, before a rate is made of both."""

import warnings
from typing import Any

import numpy as np

from rectifact.crowd.advice.audit import CHECK, LEAST_GOLD, RELY, audit
from rectifact.crowd.data.answers import Answers
from rectifact.crowd.data.humans import consensus, graded_labels
from rectifact.crowd.data.read import read_gold
from rectifact.crowd.data.spellings import gold_like
from rectifact.crowd.em import Floats
from rectifact.crowd.events import Judged, grade_event
from rectifact.crowd.grades import numbers_of
from rectifact.crowd.prediction_powered import deviations

WEAK = 0.5
"""Correlation of judges with gold grades that must be out of reach to say that these do not fit."""

CHECK_GRADES = (
    "Check whether the scale is turned round among the gold labels, or their rows belong to other tasks. If neither, "
    "the judges cannot tell these grades apart."
)


def labels_misfit(judged: Judged, gold: Any) -> str:
    """Why rates by gold labels cannot be relied on, with what to check; empty if the labels fit the answers.

    Gold labels, in any form that :func:`rectifact.rate` takes, are compared with what judges say together.
    """
    answers = judged.answers
    with warnings.catch_warnings(action="ignore"):  # the rates say it
        labels = consensus(gold_like(read_gold(gold, answers), answers.classes), by_people=False)
        known = answers.known(labels)
    found = None if known is None else audit(judged.posteriors, known)
    return f"{RELY} {found.contradiction()} {CHECK}" if found is not None and found.is_contradicted else ""


def grades_misfit(answers: Answers, gold: Any) -> str:
    """The same for mean grades, compared with those of judges."""
    values = numbers_of(answers.classes)
    if values is None:
        return ""
    with warnings.catch_warnings(action="ignore"):
        truth, step = graded_labels(gold, answers, values)
    event = grade_event(answers, values, truth, None, step)
    found = grades_against(event.predicted[event.labelled], truth[event.labelled])
    return f"{RELY} {found} {CHECK_GRADES}" if found else ""


def grades_against(judged: Floats, truth: Floats) -> str:
    """That gold grades do not fit the mean grades of judges, in a sentence; empty if they may.

    They do not if they correlate no better than shuffled ones would, and hardly can. A judge who is strict or lenient
    makes no difference.

    Parameters
    ----------
    judged, truth : array of shape (n_gold,)

    Examples
    --------
    >>> import numpy as np
    >>> truth = np.tile([1.0, 2.0, 3.0, 4.0, 5.0], 12)
    >>> grades_against(truth - 1, truth), grades_against(6 - truth, truth)[:41]
    ('', 'Gold labels do not fit the answers: the 6')
    """
    if len(truth) < LEAST_GOLD or not (np.ptp(judged) and np.ptp(truth)):
        return ""
    r = float(np.corrcoef(judged, truth)[0, 1])
    middle, reach = np.arctanh(np.clip(r, -1 + 1e-9, 1 - 1e-9)), deviations(0.95) / np.sqrt(len(truth) - 3)
    low, high = np.tanh([middle - reach, middle + reach])
    if low > 0 or high > WEAK:
        return ""
    return (
        f"Gold labels do not fit the answers: the {len(truth)} gold grades and the mean grades of judges correlate by "
        f"{r:z.2f} (95% interval {low:z.2f} to {high:z.2f}), and would by 0 if the gold labels were shuffled."
    )
