"""Failures of judges, such as ``N/A`` and ``error``: left out where nothing says that they are a class."""

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import poisson

from rectifact.core.errors import FitWarning, count
from rectifact.crowd.data.answers import Answers
from rectifact.crowd.data.matrices import is_auto
from rectifact.crowd.data.names import fold, listed, object_array
from rectifact.crowd.data.spellings import SELDOM, is_failure

CHANCE = 0.01
"""Probability of as many repetitions by chance, below which a label is what the task calls for."""


def without_failures(
    parts: Sequence[Answers], missing: Any, *, used: Iterable[Any] = (), stacklevel: int = 3
) -> list[Answers]:
    """Answers of judges and perhaps of people, without those of judges that say that there is none.

    Such a label stays a class if people gave it, or gold labels or the user name it (``used``); if a tenth of the
    answers have it; if workers give it to the same tasks more often than chance explains, as they do with what a task
    calls for; if it would leave a single class; or if the user has said what is ``missing``. A warning says what was
    left out.
    """
    judges, *people = parts
    if not is_auto(missing) or judges.classes.dtype.kind in "biufmM":
        return list(parts)
    folded = np.array([fold(name) for name in judges.classes.tolist()], dtype=object)
    seen = (name for part in people for name in part.classes[np.unique(part.label)].tolist())
    theirs = {fold(name) for name in [*seen, *used]}
    given = np.bincount(judges.label, minlength=len(folded))
    maybe = [name for name in dict.fromkeys(folded.tolist()) if is_failure(name) and name not in theirs]
    left_out = np.zeros(len(folded), dtype=bool)
    for name in maybe:
        failed = (folded == name)[judges.label]
        if failed.mean() < SELDOM and not _is_confirmed(judges, failed):
            left_out |= folded == name
    if not left_out.any() or len(set(folded[~left_out & (given > 0)])) < 2:
        return list(parts)
    _say(judges.classes[left_out], int(given[left_out].sum()), stacklevel)
    return [_without(judges, left_out), *people]


def _is_confirmed(answers: Answers, failed: NDArray[np.bool_]) -> bool:
    """Whether workers give a label to the same tasks more often than if each gave it at random, as often as they do."""
    return repeats_by_chance(answers.task, answers.worker, failed) < CHANCE


def repeats_by_chance(task: NDArray[Any], worker: NDArray[Any], given: NDArray[np.bool_]) -> float:
    """Probability that answers with a label meet on tasks as often as here if each worker gave it at random.

    Examples
    --------
    >>> task, worker = np.repeat(np.arange(50), 2), np.tile([0, 1], 50)
    >>> bool(repeats_by_chance(task, worker, task < 5) < 0.01), repeats_by_chance(task, worker, task + worker == 7)
    (True, 1.0)
    """
    n_tasks, n_workers = int(task.max(initial=-1)) + 1, int(worker.max(initial=-1)) + 1
    often = (np.bincount(worker, given, n_workers) / np.maximum(np.bincount(worker, minlength=n_workers), 1))[worker]
    seen = np.bincount(task, given, n_tasks)
    total, squares = (np.bincount(task, weights, n_tasks) for weights in (often, often**2))
    pairs, expected = (seen * (seen - 1) / 2).sum(), ((total**2 - squares) / 2).sum()
    return float(poisson.sf(pairs - 1, max(expected, 1e-12)))


def _say(names: NDArray[Any], n_answers: int, stacklevel: int) -> None:
    were = "was" if n_answers == 1 else "were"
    what = f"{count(n_answers, 'answer')} that {'says' if n_answers == 1 else 'say'} there is none {were} left out: "
    remedy = "To count such labels as classes, give {}."
    options = remedy.format("missing=float('nan')"), remedy.format("--missing nan")
    warnings.warn(FitWarning(f"{what}{listed(names)}.", options[0], command=options[1]), stacklevel=stacklevel + 1)


def _without(answers: Answers, left_out: NDArray[np.bool_]) -> Answers:
    """The answers without some classes; so are tasks and workers that have no others."""
    kept = ~left_out[answers.label]
    tasks, task = np.unique(answers.task[kept], return_inverse=True)
    workers, worker = np.unique(answers.worker[kept], return_inverse=True)
    label = (np.cumsum(~left_out) - 1)[answers.label[kept]].astype(answers.label.dtype)
    values = answers.tasks[tasks], answers.workers[workers], answers.classes[~left_out]
    weight = None if answers.weight is None else answers.weight[kept]
    names = {"tasks": values[0], "workers": values[1], "classes": values[2]}
    return replace(answers, task=task, worker=worker, label=label, weight=weight, **names)


def named_by(*given: Any) -> list[Any]:
    """The labels that options name: each is None, a label or several."""
    found: list[Any] = []
    for labels in given:
        several = isinstance(labels, list | tuple | set | np.ndarray | pd.Series | pd.Index)
        found += [] if labels is None else list(labels) if several else [labels]
    return found


def failures_among(classes: NDArray[Any], known: NDArray[Any]) -> list[Any]:
    """Labels that say that there is no answer, and are not ``known`` classes.

    Examples
    --------
    >>> failures_among(np.array(["N/A", "fail", "pass"]), np.array(["fail", "pass"]))
    ['N/A']
    """
    names = {fold(name) for name in object_array(known.tolist())}
    return [name for name in classes.tolist() if is_failure(fold(name)) and fold(name) not in names]
