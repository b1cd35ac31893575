"""Whether the answers support what a fit says of a class, and of the workers."""

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from rectifact.core.findings import Finding
from rectifact.crowd.em import CrowdModel, Floats
from rectifact.crowd.grades import ROUNDING

DEPENDENT = 1.05  # design effect worth a word, if it is certain
LARGEST_DOUBT = 0.1  # a correlation is known well enough to be called none if it is certain to be below this
UNDECIDED = 0.2  # share of tasks without a most frequent answer from which on it is worth a word
MOSTLY = 0.5  # weight of the vote from which it, and not the model, gives the labels

NOT_INDEPENDENT = "answers to one task are not independent"
"""The finding about dependence; confidence allows for it."""

SURE_GRADES = "confidence of grades without gold labels"
"""The finding about labels of grades that are too sure."""

NEAR_CERTAIN = 0.95
"""Mean confidence of grades from which on the answers agree so well that it is right."""


def unknown_workers(leaning: float, identified: bool = True) -> list[Finding]:
    """That the answers do not tell good workers from bad ones, if labels lean on the vote for it.

    Examples
    --------
    >>> unknown_workers(0.8)[0].severity, unknown_workers(0.2)[0].severity, unknown_workers(0.0)
    ('warning', 'note', [])
    >>> unknown_workers(0.95, identified=False)[0].finding
    'fewer than three independent workers'
    """
    if not leaning:
        return []
    if not identified:
        return [_two_sources()]
    remedy = "Let workers answer more of the same tasks, or {} of some tasks."
    return [
        Finding(
            "warning" if leaning >= MOSTLY else "note",
            "workers are hardly known",
            "The answers to a task say little about each other, so they do not tell good workers from bad ones; labels "
            f"lean on the vote (weight {leaning:.2f}), and accuracies and plans are rough.",
            remedy.format("give gold, the true labels"),
            remedy.format("give --gold, the true labels"),
        )
    ]


def _two_sources() -> Finding:
    remedy = "Add a worker who is independent of these, or {} of at least 30 tasks."
    return Finding(
        "warning",
        "fewer than three independent workers",
        "Copies, and workers who may be copies, count as one here. Where two workers differ, nothing tells who is "
        "right: labels and confidence follow the vote, such tasks have labels that are little better than guesses, "
        "and accuracies have wide intervals.",
        remedy.format("give gold, the true labels"),
        remedy.format("give --gold, the true labels"),
    )


def without_majority(shares: Floats) -> list[Finding]:
    """That many tasks have no most frequent answer, so that the model alone decides about them.

    Examples
    --------
    >>> import numpy as np
    >>> without_majority(np.array([[0.5, 0.5], [1.0, 0.0]]))[0].finding, without_majority(np.eye(2))
    ('tasks without a majority', [])
    """
    most = shares.max(axis=1, keepdims=True)
    tied = int(((shares >= most - ROUNDING).sum(axis=1) > 1).sum())
    if tied < UNDECIDED * len(shares):
        return []
    remedy = "Get one more answer to each of these tasks; {} lists what to ask whom."
    return [
        Finding(
            "warning",
            "tasks without a majority",
            f"{tied} of {len(shares)} tasks have no most frequent answer; their labels rest on how far each worker is "
            "believed, and are the least certain ones.",
            remedy.format("next_labels()"),
            remedy.format("--plan plan.csv"),
        )
    ]


def unconfirmed(B: sp.csr_array, model: CrowdModel, few: NDArray[np.bool_], *, least: float) -> dict[int, int]:
    """Classes on which two workers do not agree more often than by chance, and the class most often beside each.

    A class that workers use at random in place of another, such as a second name for it, has next to no tasks, or has
    answers that are as common beside answers of the other class as beside each other.

    Parameters
    ----------
    B : csr_array of shape (n_tasks, n_workers * n_classes)
        Answers.
    model : CrowdModel
        Fitted to them.
    few : array of bool of shape (n_classes,)
        Classes to look at, those with few tasks.
    least : float
        Correlation from which on two answers to one task agree.
    """
    n_classes = len(model.priors)
    votes = np.asarray(B @ np.tile(np.eye(n_classes), (B.shape[1] // n_classes, 1)))
    expected, columns, found = model.posteriors.sum(axis=0), B.tocsc(), {}
    for c in np.flatnonzero(few & (votes.sum(axis=0) > 0)).tolist():
        together = votes.T @ votes[:, c]
        together[c] = -1
        other = int(together.argmax())
        if together[other] > 0:
            value, error = agreement(columns[:, c::n_classes], columns[:, other::n_classes])
            if expected[c] < 1 or (value < least and value + 2 * error < LARGEST_DOUBT):
                found[c] = other
    return found


def agreement(one: sp.csc_array, other: sp.csc_array) -> tuple[float, float]:
    """How far answers of two workers to one task, among two classes, are correlated, and the standard error of that.

    The share of the first class beside itself, less its share beside the other class. ``one`` and ``other`` hold the
    answers (n_tasks, n_workers) of each class; the error comes from the influence of each task.
    """
    n, m = (np.asarray(given.sum(axis=1), dtype=float).ravel() for given in (one, other))
    same, mixed, rest = (
        total - np.asarray(alone.sum(axis=1), dtype=float).ravel()  # a worker does not confirm themselves
        for total, alone in ((n * n, one * one), (n * m, one * other), (m * m, other * other))
    )
    beside_one, beside_other = max((same + mixed).sum(), 1e-300), max((mixed + rest).sum(), 1e-300)
    share, share_beside_other = same.sum() / beside_one, mixed.sum() / beside_other
    influence = (same - share * (same + mixed)) / beside_one
    influence -= (mixed - share_beside_other * (mixed + rest)) / beside_other
    return float(share - share_beside_other), float(np.sqrt(np.sum(influence**2)))


def not_independent(effect: float, trusting: bool, calibrated: bool) -> list[Finding]:
    """That answers to one task vary together, and whether labels and confidence allow for it.

    Examples
    --------
    >>> not_independent(2.0, False, False)[0].detail.split(". ")[0]
    'Their variance is 2.00 times what independent answers would show'
    >>> not_independent(1.0, False, False)
    []
    """
    if effect <= DEPENDENT:
        return []
    detail = f"Their variance is {effect:.2f} times what independent answers would show"
    if not trusting:
        return [
            Finding(
                "note" if calibrated else "warning",
                NOT_INDEPENDENT,
                f"{detail}. Labels and confidence allow for it; accuracies of workers may be off by several points: "
                "too high where workers share errors, too low where some tasks are hard for all.",
                "Have some tasks checked by people you trust, to see how far the labels can be believed.",
            )
        ]
    confidence = "was lowered for it" if calibrated else "is too high"
    remedy = "Use model='auto', which allows for this" + ("." if calibrated else ", or {}.")
    return [
        Finding(
            "warning",
            NOT_INDEPENDENT,
            f"{detail}; confidence {confidence}.",
            remedy.format("calibrate()"),
        )
    ]


def sure_grades(confidence: float) -> list[Finding]:
    """That labels of grades are too sure without gold labels, where their mean ``confidence`` is not near 1.

    Examples
    --------
    >>> sure_grades(0.98)
    []
    >>> sure_grades(0.86)[0].finding
    'confidence of grades without gold labels'
    """
    if confidence >= NEAR_CERTAIN:
        return []
    return [
        Finding(
            "note",
            SURE_GRADES,
            f"Labels have a confidence of {confidence:.0%} on average, which may be too high where tasks lie between "
            "two grades: in simulated files it was too high by 7 to 16 points.",
            "Calibrate by gold labels of about a hundred tasks drawn at random.",
        )
    ]
