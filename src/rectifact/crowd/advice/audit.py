"""How often labels are right, by tasks whose true label is known and was not used."""

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from rectifact.core.errors import count
from rectifact.core.estimator import quiet_copy
from rectifact.core.findings import Finding
from rectifact.crowd.em import Floats
from rectifact.crowd.grades import chosen
from rectifact.crowd.prediction_powered import deviations, wilson

MOST_ANSWERS = 2_000_000
"""Answers that are fitted once more without gold labels, for an audit."""

MISFIT = "gold labels that do not fit the answers"
RELY = "Do not rely on anything below yet."
"""What is wrong, as a finding calls it, and what that forbids."""

LEAST_GOLD, FAR = 10, 0.1
"""Gold labels that it takes to say that they do not fit the answers, and how far these must fall short of what the
confidence promises: where nearly all tasks are of one class, labels that are right are hardly better than chance."""

WEAK = 0.5
"""Correlation of grades with gold grades that must be out of reach to say that these do not fit."""

CHECK = (
    "Check whether two classes are swapped among the gold labels, or their rows belong to other tasks. If neither, the "
    "workers cannot tell these classes apart."
)
CHECK_GRADES = (
    "Check whether the scale is turned round among the gold labels, or their rows belong to other tasks. If neither, "
    "the judges cannot tell these grades apart."
)
"""What to do about gold labels that do not fit, of classes and of grades."""


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
    chance : float, default 0
        The share that would be right if the gold labels were shuffled.
    correlation : tuple of float, default None
        Of grades, how expected and gold grades correlate, with an interval: grades that are all too high fit as well.
    """

    n_gold: int
    n_right: int
    accuracy: float
    low: float
    high: float
    expected: float
    confidence: float
    chance: float = 0.0
    correlation: tuple[float, float, float] | None = None

    @property
    def is_contradicted(self) -> bool:
        """Whether gold labels agree with the workers no better than by chance, though these agree with each other."""
        if self.correlation is not None:
            return self.n_gold >= LEAST_GOLD and is_weak(self.correlation)
        return self.n_gold >= LEAST_GOLD and self.low <= self.chance and self.expected > self.high + FAR

    @property
    def is_too_sure(self) -> bool:
        """Whether the confidence of the labels promises more than gold labels bear out."""
        return self.expected > self.high

    def contradiction(self) -> str:
        """That gold labels do not fit the answers, in a sentence; empty if they do."""
        if not self.is_contradicted:
            return ""
        if self.correlation is not None:
            return weak_words(self.correlation, self.n_gold, "the grades of the workers together")
        return (
            f"Gold labels do not fit the answers: {self.n_right} of {count(self.n_gold, 'gold label')} say what the "
            f"workers together say, and {self.chance * self.n_gold:.0f} would if they were shuffled."
        )

    def check(self) -> str:
        """What to check about gold labels that do not fit."""
        return CHECK if self.correlation is None else CHECK_GRADES

    def findings(self) -> list[Finding]:
        """That gold labels do not fit the answers, for those who may leave them out; empty if they do."""
        remedy = (
            "Check that the gold labels name the tasks as the answers do, and that no two classes are swapped among "
            "them; or leave {} out."
        )
        what = self.contradiction()
        return [Finding("warning", MISFIT, what, remedy.format("gold"), remedy.format("--gold"))] if what else []

    def words(self) -> str:
        """The result in a sentence."""
        too_sure = " That is more than the gold labels bear out." if self.is_too_sure else ""
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
    said, true = (np.bincount(each, minlength=posteriors.shape[1]) / len(some) for each in (label, known[some]))
    figures = float(right.mean()), low, high, promised, confidence, float(said @ true)
    expected = posteriors[some] @ np.arange(posteriors.shape[1], dtype=float)
    grades = correlation(rankdata(expected.round(9)), rankdata(known[some])) if ordinal else None
    return Audit(len(some), int(right.sum()), *figures, grades)


def correlation(judged: Floats, truth: Floats) -> tuple[float, float, float]:
    """Correlation of grades with gold grades, and its 95% interval; anything may be true where one of them is constant.

    Examples
    --------
    >>> import numpy as np
    >>> truth = np.tile([1.0, 2.0, 3.0], 30)
    >>> [round(figure, 2) for figure in correlation(np.tile([2.0, 2.0, 3.0], 30), truth)]
    [0.87, 0.8, 0.91]
    """
    if len(truth) < LEAST_GOLD or not (np.ptp(judged) and np.ptp(truth)):
        return 0.0, -1.0, 1.0
    r = float(np.corrcoef(judged, truth)[0, 1])
    middle, reach = np.arctanh(np.clip(r, -1 + 1e-9, 1 - 1e-9)), deviations(0.95) / np.sqrt(len(truth) - 3)
    low, high = np.tanh([middle - reach, middle + reach])
    return r, float(low), float(high)


def is_weak(found: tuple[float, float, float]) -> bool:
    """Whether grades correlate no better than shuffled ones would, and hardly can."""
    _, low, high = found
    return low <= 0 and high <= WEAK


def weak_words(found: tuple[float, float, float], n_gold: int, whose: str) -> str:
    """That gold grades do not fit, in a sentence."""
    r, low, high = found
    return (
        f"Gold labels do not fit the answers: the {n_gold} gold grades and {whose} correlate by {r:z.2f} (95% interval "
        f"{low:z.2f} to {high:z.2f}), and would by 0 if the gold labels were shuffled."
    )


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
