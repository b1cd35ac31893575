"""Whether gold labels fit the answers at all, before a rate is made of both."""

import warnings
from typing import Any

from rectifact.crowd.advice.audit import CHECK, CHECK_GRADES, RELY, audit, correlation, is_weak, weak_words
from rectifact.crowd.data.answers import Answers
from rectifact.crowd.data.humans import consensus, graded_labels
from rectifact.crowd.data.read import read_gold
from rectifact.crowd.data.spellings import gold_like
from rectifact.crowd.em import Floats
from rectifact.crowd.events import Judged, grade_event
from rectifact.crowd.grades import numbers_of


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
    found = correlation(judged, truth)
    return weak_words(found, len(truth), "the mean grades of judges") if is_weak(found) else ""
