"""How often labels are right, by tasks whose true label is known and was not used."""

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rectifact.core.errors import count
from rectifact.core.estimator import quiet_copy
from rectifact.crowd.em import Floats
from rectifact.crowd.grades import chosen
from rectifact.crowd.prediction_powered import deviations, wilson

MOST_ANSWERS = 2_000_000
"""Answers that are fitted once more without gold labels, for an audit."""


@dataclass(frozen=True)
class Audit:
    """Labels compared with gold labels that they have not seen.

    Attributes
    ----------
    n_gold, n_right : int
        Gold labels, and how many of them the labels have.
    accuracy, low, high : float
        Share of right labels, with an interval.
    expected : float
        The share that the probabilities of the labels promise.
    confidence : float
        Probability of the interval.
    """

    n_gold: int
    n_right: int
    accuracy: float
    low: float
    high: float
    expected: float
    confidence: float

    def words(self) -> str:
        """The result in a sentence."""
        too_sure = " That is more than the gold labels bear out." if self.expected > self.high else ""
        return (
            f"Before gold labels were used, {self.n_right} of {count(self.n_gold, 'label')} with a gold label were "
            f"right: {self.accuracy:.1%} ({self.confidence:.0%} interval {self.low:.1%} to {self.high:.1%}); their "
            f"confidence promised {self.expected:.1%}.{too_sure}"
        )


def audit(
    posteriors: Floats, known: NDArray[np.int64], *, ordinal: bool = False, confidence: float = 0.95
) -> Audit | None:
    """Compare the labels of posteriors that have seen no gold label with those labels; None where there are none.

    Parameters
    ----------
    posteriors : array of shape (n_tasks, n_classes)
    known : array of shape (n_tasks,)
        Number of the true class, -1 where it is not known.
    ordinal : bool, default False
        Whether the label is the median grade.
    confidence : float, default 0.95
        Probability of the interval.

    Examples
    --------
    >>> import numpy as np
    >>> found = audit(np.array([[0.9, 0.1]] * 20), np.repeat([0, 1, -1], [8, 2, 10]))
    >>> found.n_right, found.n_gold, round(found.low, 2), round(found.high, 2)
    (8, 10, 0.49, 0.94)
    """
    some = np.flatnonzero(known >= 0)
    if not some.size:
        return None
    label = chosen(posteriors[some], ordinal)
    right = label == known[some]
    low, high = wilson(float(right.mean()), len(some), deviations(confidence))
    promised = float(posteriors[some, label].mean())
    return Audit(len(some), int(right.sum()), float(right.mean()), low, high, promised, confidence)


def audit_of(model: Any) -> Audit | None:
    """The audit of a fitted :class:`rectifact.DawidSkene`, which is fitted once more, without its gold labels.

    None without gold labels, and for very many answers.
    """
    answers = model._answers
    known = answers.known(model._gold) if isinstance(getattr(answers, "label", None), np.ndarray) else None
    if known is None or len(answers) > MOST_ANSWERS:
        return None
    blind = quiet_copy(model)
    with warnings.catch_warnings(action="ignore"):  # the fit with gold labels has said it
        blind.fit(replace(answers, gold=None))
    return audit(blind.probas_, known, ordinal=model.ordinal)
