r"""Agreement coefficients as functions of sums over tasks, for labels, grades and numbers.

How far two answers agree is a matrix of weights :math:`w_{kl}`, 1 on the diagonal: the identity for labels, Gwet's
ordinal weights for grades, and :math:`1 - (x_k - x_l)^2 / (x_{\max} - x_{\min})^2` for numbers. It is kept as :math:`w
= P C P^T`: ``points`` :math:`P` has a row for each class, and for numbers only three columns, however many values
there are.
"""

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from rectifact.crowd.resampling import Figures, Floats, Terms

Level = Literal["nominal", "ordinal", "interval"]
LEVELS: tuple[Level, ...] = get_args(Level)

MOST_VALUES = 100
"""Different values of numbers up to which they are classes too, with AC2 and a table by class."""

TINY = 1e-12
"""Where agreement by chance is this close to 1, nothing is left to correct."""


@dataclass(frozen=True)
class Scale:
    """What classes mean: agreement weights ``points @ core @ points.T``, and the number of each class."""

    level: Level
    points: Floats
    core: Floats
    values: Floats

    @property
    def n_classes(self) -> int:
        """Number of classes, chosen or not."""
        return len(self.points)

    @property
    def weights(self) -> Floats:
        """The agreement weights themselves, of shape (n_classes, n_classes)."""
        return self.points @ self.core @ self.points.T

    @property
    def has_classes(self) -> bool:
        """Whether there are few enough classes to treat them one by one."""
        return self.level != "interval" or self.n_classes <= MOST_VALUES


def scale_of(level: Level, values: Floats) -> Scale:
    """The scale of classes with these ``values``, in order; for labels and grades only their number counts.

    Examples
    --------
    >>> import numpy as np
    >>> scale_of("ordinal", np.arange(3.0)).weights.round(2)
    array([[1.  , 0.67, 0.  ],
           [0.67, 1.  , 0.67],
           [0.  , 0.67, 1.  ]])
    >>> scale_of("interval", np.array([1.0, 2.0, 5.0])).weights.round(2)
    array([[1.  , 0.94, 0.  ],
           [0.94, 1.  , 0.44],
           [0.  , 0.44, 1.  ]])
    """
    n = len(values)
    if level == "interval":
        z = (values - (values.max() + values.min()) / 2) / (np.ptp(values) or 1.0)
        core = np.array([[1.0, 0.0, -1.0], [0.0, 2.0, 0.0], [-1.0, 0.0, 0.0]])  # 1 - (x - y)^2
        return Scale(level, np.column_stack([np.ones(n), z, z**2]), core, values)
    if level == "nominal":
        return Scale(level, np.eye(n), np.eye(n), values)
    apart = np.abs(np.subtract.outer(np.arange(n), np.arange(n)))
    chances = apart * (apart + 1) / 2  # pairs of grades from k to l
    return Scale(level, np.eye(n), 1 - chances / max(chances.max(), 1), values)


@dataclass(frozen=True)
class Tally:
    """The answers of a group of workers to each task.

    Attributes
    ----------
    size : array of shape (n_tasks,)
        Number of answers.
    sums : array of shape (n_tasks, width)
        Sum of the points of the answers.
    cells, counts : array of shape (n_cells,)
        Task and class of the answers as one sorted number, ``task * n_classes + class``, and how often each occurs.
    """

    size: Floats
    sums: Floats
    cells: NDArray[np.int64]
    counts: Floats

    def count(self, cells: NDArray[np.int64]) -> Floats:
        """How often these cells occur."""
        place = np.searchsorted(self.cells, cells).clip(max=max(len(self.cells) - 1, 0))
        if not len(self.cells):
            return np.zeros(len(cells))
        return np.where(self.cells[place] == cells, self.counts[place], 0.0)

    def votes(self, n_classes: int) -> Floats:
        """Number of answers of each class, of shape (n_tasks, n_classes)."""
        votes = np.bincount(self.cells, self.counts, len(self.size) * n_classes)
        return votes.reshape(-1, n_classes).astype(float)


def tally(task: NDArray[np.int64], label: NDArray[np.int64], n_tasks: int, scale: Scale) -> Tally:
    """Count answers: ``label[i]`` is the class of an answer to ``task[i]``."""
    cells, counts = np.unique(task.astype(np.int64) * scale.n_classes + label, return_counts=True)
    row, points = cells // scale.n_classes, scale.points[cells % scale.n_classes] * counts[:, None]
    sums = np.column_stack([np.bincount(row, column, n_tasks) for column in points.T]).astype(float)
    return Tally(np.bincount(task, minlength=n_tasks).astype(float), sums, cells, counts.astype(float))


def likeness(P: Floats, Q: Floats, scale: Scale) -> Floats:
    """Agreement of each row of ``P`` with that of ``Q``: sums or means of points."""
    return np.asarray(((P @ scale.core) * Q).sum(axis=1))


def corrected(observed: Floats, chance: Floats) -> Floats:
    """Agreement beyond chance; NaN where chance alone gives full agreement."""
    room = 1 - chance
    return np.where(np.abs(room) > TINY, (observed - chance) / np.where(np.abs(room) > TINY, room, 1.0), np.nan)


def ratio(a: Floats, b: Floats) -> Floats:
    """Quotient; NaN where the divisor is 0 or less."""
    return np.where(b > 0, a / np.where(b > 0, b, 1.0), np.nan)


def within_terms(group: Tally, scale: Scale) -> dict[str, Floats]:
    """Terms of the coefficients of one group, for tasks with an answer."""
    kept = group.size > 0
    n, sums = group.size[kept], group.sums[kept]
    task = (group.cells // scale.n_classes).astype(np.int64)
    equal = np.bincount(task, group.counts**2, len(group.size))[kept]
    several, pairs, alike = n > 1, np.maximum(n * (n - 1), 1), likeness(sums, sums, scale)
    terms = {
        "seen": np.ones(len(n)),
        "several": several.astype(float),
        "equal": (equal - n) / pairs,
        "alike": (alike - n) / pairs * several,
        "mean": sums / n[:, None],
        "answers": n * several,
        "sums": sums * several[:, None],
        "apart": (n**2 - alike) / np.maximum(n - 1, 1) * several,
    }
    if scale.level == "interval" and scale.has_classes:
        terms["shares"] = group.votes(scale.n_classes)[kept] / n[:, None]
    if scale.level == "ordinal":
        terms["coincidences"] = _coincidences(group.votes(scale.n_classes)[kept])
    return terms


def _coincidences(votes: Floats) -> Floats:
    """Pairs of different grades in each task, the lower first, as Krippendorff counts them."""
    n = votes.sum(axis=1, keepdims=True)
    low, high = np.triu_indices(votes.shape[1], 1)
    return 2 * votes[:, low] * votes[:, high] / np.maximum(n - 1, 1) * (n > 1)


def within_names(scale: Scale) -> list[str]:
    """The coefficients of :func:`within_figures`, in order."""
    weighted = scale.level != "nominal"
    more = ["weighted agreement"] * weighted
    return [
        "observed agreement",
        *more,
        "Krippendorff's alpha",
        "Fleiss' kappa",
        "Gwet's AC2" if weighted else "Gwet's AC1",
    ]


def within_figures(scale: Scale) -> Figures:
    r"""Observed agreement, Krippendorff's alpha, Fleiss' kappa and Gwet's AC1 or AC2 of one group.

    Observed agreement is the mean over tasks of the share of pairs of answers that agree. Fleiss' kappa [1]_ and
    Gwet's coefficients [2]_ compare it, weighted for grades and numbers, with agreement by chance :math:`\sum_{kl}
    w_{kl} p_k p_l` and :math:`\sum_{kl} w_{kl} \sum_k p_k (1 - p_k) / (q (q - 1))`, where :math:`p_k` is the mean over
    tasks of the share of class :math:`k`; tasks with one answer count in it. Krippendorff's alpha [3]_ is 1 minus
    observed by expected disagreement among all answers to tasks with two or more.

    References
    ----------
    .. [1] J. L. Fleiss, "Measuring nominal scale agreement among many raters", Psychological Bulletin 76, 1971.
    .. [2] K. L. Gwet, "Computing inter-rater reliability and its variance in the presence of high agreement", British
       J. Math. Statist. Psych. 61, 2008; weights as in his "Handbook of Inter-Rater Reliability", 4th edition, 2014.
    .. [3] K. Krippendorff, "Computing Krippendorff's alpha-reliability", University of Pennsylvania, 2011.
    """

    def figures(sums: dict[str, Floats]) -> Floats:
        several, seen = sums["several"][:, 0], sums["seen"]
        observed, alike = ratio(sums["equal"][:, 0], several), ratio(sums["alike"][:, 0], several)
        mean = sums["mean"] / np.maximum(seen, 1)
        fleiss = corrected(alike, likeness(mean, mean, scale))
        shares = (
            mean if scale.level != "interval" else sums["shares"] / np.maximum(seen, 1) if "shares" in sums else None
        )
        gwet = np.full(len(alike), np.nan) if shares is None else corrected(alike, _gwet_chance(shares, scale))
        alpha = (_ordinal_alpha if scale.level == "ordinal" else _alpha)(sums, scale)
        weighted = [alike] * (scale.level != "nominal")
        return np.column_stack([observed, *weighted, alpha, fleiss, gwet])

    return figures


def _gwet_chance(shares: Floats, scale: Scale) -> Floats:
    q = scale.n_classes
    if q < 2:
        return np.ones(len(shares))
    return np.asarray(scale.weights.sum() * (shares * (1 - shares)).sum(axis=1) / (q * (q - 1)))


def _alpha(sums: dict[str, Floats], scale: Scale) -> Floats:
    n = sums["answers"][:, 0]
    expected = ratio(n**2 - likeness(sums["sums"], sums["sums"], scale), n - 1)
    return 1 - ratio(sums["apart"][:, 0], np.where(expected > TINY * n, expected, 0.0))


def _ordinal_alpha(sums: dict[str, Floats], scale: Scale) -> Floats:
    """Alpha of the squared distances between grades in ranks, which depend on how often each grade was given."""
    n, given = sums["answers"][:, 0], sums["sums"]
    ranks = np.cumsum(given, axis=1) - given / 2
    low, high = np.triu_indices(scale.n_classes, 1)
    apart = (ranks[:, high] - ranks[:, low]) ** 2
    observed = (sums["coincidences"] * apart).sum(axis=1)
    expected = ratio(2 * (given[:, low] * given[:, high] * apart).sum(axis=1), n - 1)
    return 1 - ratio(observed, expected)


def between_terms(first: Tally, second: Tally, scale: Scale) -> dict[str, Floats]:
    """Terms of the agreement of two groups without common workers, for tasks that both answered."""
    kept = (first.size > 0) & (second.size > 0)
    task = first.cells // scale.n_classes
    equal = np.bincount(task, first.counts * second.count(first.cells), len(first.size))[kept]
    n, m = first.size[kept], second.size[kept]
    left, right = first.sums[kept] / n[:, None], second.sums[kept] / m[:, None]
    alike = likeness(left, right, scale)
    return {"seen": np.ones(len(n)), "equal": equal / (n * m), "alike": alike, "left": left, "right": right}


def between_names(scale: Scale) -> list[str]:
    """The coefficients of :func:`between_figures`, in order."""
    return ["observed agreement", *["weighted agreement"] * (scale.level != "nominal"), "Cohen's kappa"]


def between_figures(scale: Scale) -> Figures:
    r"""Agreement of answers of two groups to the same task, and beyond chance: Cohen's kappa [1]_ for two workers.

    By chance, an answer of one group and one of the other agree by :math:`\sum_{kl} w_{kl} p_k p'_l`, where each task
    has the same weight, however many answers it has.

    References
    ----------
    .. [1] J. Cohen, "A coefficient of agreement for nominal scales", Educational and Psychological Measurement 20,
       1960; with weights: Psychological Bulletin 70, 1968.
    """

    def figures(sums: dict[str, Floats]) -> Floats:
        seen = np.maximum(sums["seen"], 1)
        observed, alike = (ratio(sums[name][:, 0], sums["seen"][:, 0]) for name in ("equal", "alike"))
        kappa = corrected(alike, likeness(sums["left"] / seen, sums["right"] / seen, scale))
        return np.column_stack([observed, *[alike] * (scale.level != "nominal"), kappa])

    return figures


CLASS_NAMES = ["share of answers", "agreement", "kappa"]


def class_terms(votes: Floats, size: Floats) -> Terms:
    """Terms for one class, of which each task has ``votes`` among ``size`` answers."""
    kept = size > 0
    r, n = votes[kept], size[kept]
    several, pairs = n > 1, np.maximum(n * (n - 1), 1)
    return {
        "seen": np.ones(len(n)),
        "several": several.astype(float),
        "share": r / n,
        "given": r * several,
        "again": r * (r - 1) / np.maximum(n - 1, 1) * several,
        "alike": (r * (r - 1) + (n - r) * (n - r - 1)) / pairs * several,
    }


def class_figures(sums: dict[str, Floats]) -> Floats:
    """Share of a class, how often another worker gives it too, and Fleiss' kappa of this class against the rest."""
    share = ratio(sums["share"][:, 0], sums["seen"][:, 0])
    alike = ratio(sums["alike"][:, 0], sums["several"][:, 0])
    again = ratio(sums["again"][:, 0], sums["given"][:, 0])
    return np.column_stack([share, again, corrected(alike, share**2 + (1 - share) ** 2)])
