"""Calibration by true labels of some tasks: maps the model's probabilities to those that the labels bear out.

There are three forms of such a map: one only raises or lowers all confidence; one also makes classes likelier or less
likely; one may also exchange classes, for judges who say something else than people do. Probabilities are averaged over
the forms, each as far as labels that were held out bear it out. Inferred labels change only by a form that is clearly
better than the simpler ones. Of ordered grades, the expected grade is put right by a line as well.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax

from rectifact.core.reprs import short_repr
from rectifact.crowd.em import Floats
from rectifact.metrics import calibration_error

LEAST_GOLD = 10
"""Labels to calibrate with at all."""

LEAST_BY_CLASS = 30
"""Labels to calibrate classes with."""

LINE_RIDGE = 10.0
"""Labels that it takes before the line for expected grades follows them more than it keeps the grades as they are."""

MOST_TILT = 30.0
HALVINGS = 45
"""Of the range of tilts."""

FOLDS = 10
BOOTSTRAPS = 200

FORMS = {"confidence": (0, 1.0), "classes": (1, 1.0), "confusion": (2, 3.0)}
"""Parameters beside the power: none, a shift per class, or a matrix as well; and the ridge that holds them back."""


PSEUDO_LABELS = 0.6
"""Labels that are of any class alike, among all gold labels: a few labels that are all right prove no certainty."""


@short_repr
@dataclass(frozen=True)
class GoldMap:
    """Probabilities in proportion to ``exp(power * x + shift + x @ mix)``, for centred log-probabilities x."""

    power: float
    shift: Floats
    mix: Floats

    def __call__(self, posteriors: Floats) -> Floats:
        """Calibrated probabilities."""
        x = _centred(posteriors)
        return softmax(self.power * x + self.shift + x @ self.mix, axis=1)


@short_repr
@dataclass(frozen=True)
class MixedMap:
    """Probabilities averaged over maps, with labels by the map of number ``decides``."""

    maps: tuple[GoldMap, ...]
    shares: Floats
    decides: int

    def __call__(self, posteriors: Floats) -> Floats:
        """Calibrated probabilities."""
        return _mixed([found(posteriors) for found in self.maps], self.shares, self.decides)


def _mixed(each: list[Floats], shares: Floats, decides: int) -> Floats:
    """The mean, where the class that ``each[decides]`` prefers is the likeliest.

    That class and those that were likelier share what they have together, so that nothing else changes.
    """
    mean = np.tensordot(shares, np.stack(each), axes=1)
    label = each[decides].argmax(axis=1)
    rows = np.flatnonzero(label != mean.argmax(axis=1))
    own = mean[rows, label[rows]]
    ordered = -np.sort(-mean[rows], axis=1)
    # The level of the label and the first j classes; enough of them share when no other class is above it.
    levels = (own[:, None] + np.cumsum(ordered, axis=1)) / np.arange(2, mean.shape[1] + 2)
    after = np.concatenate([ordered[:, 1:], np.zeros((len(rows), 1))], axis=1)
    level = levels[np.arange(len(rows)), (levels >= after).argmax(axis=1)]
    mean[rows] = np.minimum(mean[rows], level[:, None] * (1 - 1e-9))
    mean[rows, label[rows]] = level * (1 + 1e-9)
    return mean / mean.sum(axis=1, keepdims=True)


@short_repr
@dataclass(frozen=True)
class GradeMap:
    """Probabilities of ordered grades by ``base``, tilted until the expected grade is on a line.

    With e the expected grade of the posteriors, counted from the middle of the scale, it becomes ``e + level + slope *
    e``, but stays on the scale.
    """

    base: MixedMap
    level: float
    slope: float

    def __call__(self, posteriors: Floats) -> Floats:
        """Calibrated probabilities."""
        return self.moved(self.base(posteriors), posteriors)

    def moved(self, probas: Floats, posteriors: Floats) -> Floats:
        """Calibrated probabilities, tilted to the line of the posteriors."""
        e = posteriors @ _places(posteriors)
        return tilted(probas, e + self.level + self.slope * e)


def tilted(posteriors: Floats, expected: Floats) -> Floats:
    """Probabilities in proportion to ``p exp(t k)`` for grade k, with the t that gives them the ``expected`` grade.

    Grades are counted from the middle of the scale. Of all probabilities with that expected grade, these differ least
    from the given ones in relative entropy.

    Examples
    --------
    >>> import numpy as np
    >>> tilted(np.array([[0.25, 0.5, 0.25]]), np.array([0.5])).round(2)
    array([[0.06, 0.38, 0.56]])
    """
    places, p = _places(posteriors), np.maximum(posteriors, 1e-6)
    end = places[-1] - 1e-3
    wanted, low, high = np.clip(expected, -end, end), np.full(len(p), -MOST_TILT), np.full(len(p), MOST_TILT)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        found = softmax(np.log(p) + middle[:, None] * places, axis=1)
        below = found @ places < wanted
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return found


def _places(posteriors: Floats) -> Floats:
    """Grades as whole steps from the middle of the scale."""
    n_grades = posteriors.shape[1]
    return np.arange(n_grades) - (n_grades - 1) / 2


@short_repr
@dataclass(frozen=True)
class GoldCalibration:
    """What was learnt from true labels.

    Attributes
    ----------
    map : MixedMap or GradeMap
    form : {"confidence", "classes", "confusion", "grades"}
        The form that decides about labels: the first never changes one, the last is for ordered grades.
    n_gold : int
        True labels that were used.
    truth : array of shape (n_gold,)
        Numbers of their classes.
    held_out : array of shape (n_gold, n_classes)
        Calibrated probabilities of these tasks, from the other labels.
    error, error_low, error_high : float
        Calibration error to expect, with a 90 % interval, from labels that were held out.
    """

    map: MixedMap | GradeMap
    form: str
    n_gold: int
    truth: NDArray[Any]
    held_out: Floats
    error: float
    error_low: float
    error_high: float


def learn_from_gold(posteriors: Floats, truth: NDArray[Any]) -> GoldCalibration:
    """The map for probabilities of tasks whose true classes are known.

    Parameters
    ----------
    posteriors : array of shape (n_gold, n_classes)
        As the model gives them without these labels.
    truth : array of shape (n_gold,)
        Numbers of the classes.

    Examples
    --------
    >>> import numpy as np
    >>> sure = np.tile([0.99, 0.01], (200, 1))
    >>> found = learn_from_gold(sure, np.repeat([0, 1], [160, 40]))  # right in four of five tasks
    >>> found.form, found.map(sure)[0].round(1).tolist()
    ('confidence', [0.8, 0.2])
    """
    forms = list(FORMS) if len(truth) >= LEAST_BY_CLASS else ["confidence"]
    tried = [_held_out(posteriors, truth, form) for form in forms]
    decides = 0
    for number in range(1, len(forms)):
        if _clearly_better(tried[number], tried[decides], truth):
            decides = number
    shares = softmax([-_losses(part, truth).sum() for part in tried])
    found = MixedMap(tuple(_learn(posteriors, truth, form) for form in forms), shares, decides)
    return _assessed(found, forms[decides], truth, _mixed(tried, shares, decides))


def learn_grades(posteriors: Floats, truth: NDArray[Any]) -> GoldCalibration:
    """The map for probabilities of ordered grades: as :func:`learn_from_gold`, with the expected grades put right.

    Below ``LEAST_BY_CLASS`` labels, they stay as they are.

    Examples
    --------
    >>> import numpy as np
    >>> answers = np.random.default_rng(0).dirichlet(np.ones(4), size=200)
    >>> low = np.minimum(answers.argmax(axis=1) + 1, 3)  # judges who are a grade too strict
    >>> found = learn_grades(answers, low)
    >>> found.form, bool(found.map.level > 0.5)
    ('grades', True)
    """
    found = learn_from_gold(posteriors, truth)
    if len(truth) < LEAST_BY_CLASS:
        return found
    held_out = np.empty_like(posteriors)
    for fold, others in _folds(len(truth)):
        taught = _line(found.map, posteriors[others], truth[others])
        held_out[fold] = taught.moved(found.held_out[fold], posteriors[fold])
    return _assessed(_line(found.map, posteriors, truth), "grades", truth, held_out)


def _line(base: Any, posteriors: Floats, truth: NDArray[Any]) -> GradeMap:
    """The line for the expected grade by least squares, held back by a ridge."""
    places = _places(posteriors)
    e = posteriors @ places
    A = np.stack([np.ones_like(e), e], axis=1)
    level, slope = np.linalg.solve(A.T @ A + LINE_RIDGE * np.eye(2), A.T @ (places[truth] - e))
    return GradeMap(base, float(level), float(slope))


def _assessed(found: Any, form: str, truth: NDArray[Any], held_out: Floats) -> GoldCalibration:
    errors = [calibration_error(held_out[some], truth[some]) for some in _resamples(len(truth))]
    low, high = np.quantile(errors, [0.05, 0.95])
    error = calibration_error(held_out, truth)
    return GoldCalibration(found, form, len(truth), truth, held_out, error, float(low), float(high))


def cross_fitted(posteriors: Floats, known: NDArray[np.int64]) -> Floats:
    """Calibrated probabilities of two classes that no label of the task itself has touched.

    Labels are split into folds. Tasks of a fold get their probabilities from a map that the other folds have taught,
    and tasks without a label get the mean over all these maps, so that both have the same mean if labels were given to
    random tasks. Labels of one class teach nothing, and posteriors stay as they are.

    Parameters
    ----------
    posteriors : array of shape (n_tasks, 2)
        As the model gives them without labels.
    known : array of shape (n_tasks,)
        Number of the class where there is a label, -1 elsewhere.

    Examples
    --------
    >>> import numpy as np
    >>> sure = np.tile([0.99, 0.01], (300, 1))
    >>> known = np.repeat([0, 1, -1], [160, 40, 100])  # right in four of five tasks
    >>> cross_fitted(sure, known).mean(axis=0).round(1).tolist()
    [0.8, 0.2]
    """
    labelled = np.flatnonzero(known >= 0)
    if not 0 < known[labelled].sum() < len(labelled):
        return posteriors
    found = np.zeros_like(posteriors)
    for fold, others in _folds(len(labelled)):
        taught = _learn(posteriors[labelled[others]], known[labelled[others]], "classes")(posteriors)
        found[known < 0] += taught[known < 0] / FOLDS
        found[labelled[fold]] = taught[labelled[fold]]
    return found


def _losses(posteriors: Floats, truth: NDArray[Any]) -> Floats:
    return -np.log(np.maximum(posteriors[np.arange(len(truth)), truth], 1e-6))


def _clearly_better(one: Floats, other: Floats, truth: NDArray[Any]) -> bool:
    """Whether the one has a lower log-loss than the other, and no more errors, by a standard error each."""
    errors = ((part.argmax(axis=1) != truth).astype(float) for part in (other, one))
    gains = [_losses(other, truth) - _losses(one, truth), np.subtract(*errors)]
    loss, error = (gain.mean() - gain.std() / np.sqrt(len(truth)) for gain in gains)
    return bool(loss > 0 and error >= 0)


def _held_out(posteriors: Floats, truth: NDArray[Any], form: str) -> Floats:
    """Calibrated probabilities of each task from the labels of the other folds."""
    found = np.empty_like(posteriors)
    for fold, others in _folds(len(truth)):
        found[fold] = _learn(posteriors[others], truth[others], form)(posteriors[fold])
    return found


def _folds(n: int) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Random folds of n labels, each with all the others."""
    for fold in np.array_split(np.random.default_rng(0).permutation(n), FOLDS):
        yield fold, np.setdiff1d(np.arange(n), fold)


def _resamples(n: int) -> Iterator[NDArray[np.int64]]:
    rng = np.random.default_rng(0)
    return (rng.integers(n, size=n) for _ in range(BOOTSTRAPS))


def _learn(posteriors: Floats, truth: NDArray[Any], form: str) -> GoldMap:
    """The map that makes the labels, and a part of a label of any class, most probable, held back by a ridge."""
    x, k = _centred(posteriors), posteriors.shape[1]
    level, ridge = FORMS[form]
    free = np.r_[1.0, np.full(k, level >= 1), np.full(k * k, level >= 2)].astype(float)
    hold = np.r_[0.1, np.full(k + k * k, ridge)]
    any_class = PSEUDO_LABELS / (len(truth) + PSEUDO_LABELS)
    labels = (1 - any_class) * np.eye(k)[truth] + any_class / k

    def split(v: Floats) -> GoldMap:
        return GoldMap(float(np.exp(v[0])), v[1 : k + 1], v[k + 1 :].reshape(k, k))

    def loss(v: Floats) -> tuple[float, Floats]:
        found = split(v)
        logs = log_softmax(found.power * x + found.shift + x @ found.mix, axis=1)
        off = np.exp(logs) - labels
        slope = np.r_[found.power * (off * x).sum(), off.sum(axis=0), (x.T @ off).ravel()]
        value = -(labels * logs).sum() + (hold * v**2).sum() / 2
        return float(value), free * (slope + hold * v)

    return split(minimize(loss, np.zeros(len(free)), jac=True, method="L-BFGS-B").x)


def _centred(posteriors: Floats) -> Floats:
    logs = np.log(np.maximum(posteriors, 1e-6))
    return logs - logs.mean(axis=1, keepdims=True)
