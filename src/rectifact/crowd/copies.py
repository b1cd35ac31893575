"""A fit that is not misled by copies: two judges who say the same look right to a model that hears both.

Where two workers say nearly the same, a model may take them for excellent and all others for mediocre. It then finds
that the others agree with each other more often than it expects. If that goes away when the two count as a family, they
are copies; if not, they agree because they are right.
"""

from itertools import combinations
from typing import Any

import numpy as np

from rectifact.crowd.advice.dependence import dependent_pairs
from rectifact.crowd.data.answers import Answers
from rectifact.crowd.dawid_skene import DawidSkene
from rectifact.crowd.dependence import COMMON_TASKS

ALIKE = 0.9
"""Share of their common tasks on which two workers say the same, from which on they may be copies."""

MOST_WORKERS, MOST_ROUNDS = 60, 3


def fit_without_copies(model: DawidSkene, answers: Answers) -> DawidSkene:
    """Fit the model, with copies that it has not found by itself as families, where that explains the answers better.

    Examples
    --------
    >>> import pandas as pd
    >>> from rectifact.crowd import read_answers
    >>> from rectifact.datasets import make_crowd
    >>> table = make_crowd(300, 4, 2, labels_per_task=4, random_state=0).answers
    >>> answers = read_answers(pd.concat([table, table[table["worker"] == 0].assign(worker=4)]))
    >>> fitted = fit_without_copies(DawidSkene(), answers)
    >>> [name for name, family in zip(fitted.workers_.tolist(), fitted.worker_report()["family"]) if family]
    [0, 4]
    """
    model.fit(answers)
    groups: dict[Any, int] = {}
    for _ in range(MOST_ROUNDS):
        strange = _strange(model)
        pair = _most_alike(model) if strange and len(answers.workers) <= MOST_WORKERS else None
        if pair is None:
            break
        number = next((groups[name] for name in pair if name in groups), len(groups))
        tried = {**groups, **dict.fromkeys(pair, number)}
        other = DawidSkene(**model.get_params()).fit(answers, groups=tried)
        if not _strange(other) < strange:
            break
        model, groups = other, tried
    return model


def _strange(model: DawidSkene) -> float:
    """By how much workers of different families agree more than the model allows: the sum of standard errors."""
    pairs, scores = dependent_pairs(model._answers.one_hot(), model._model)
    family = model.worker_report()["family"].to_numpy()
    apart = np.array([not family[a] or family[a] != family[b] for a, b in pairs], dtype=bool)
    return float(scores[apart].sum()) if len(pairs) else 0.0


def _most_alike(model: DawidSkene) -> tuple[Any, Any] | None:
    """The two workers of different families who say the same most often; None if nobody says nearly the same."""
    answers, family = model._answers, model.worker_report()["family"].to_numpy()
    said = np.full((len(answers.tasks), len(answers.workers)), -1)
    said[answers.task, answers.worker] = answers.label
    best, found = ALIKE, None
    for a, b in combinations(range(len(answers.workers)), 2):
        both = (said[:, a] >= 0) & (said[:, b] >= 0)
        if both.sum() < COMMON_TASKS or (family[a] and family[a] == family[b]):
            continue
        alike = float((said[both, a] == said[both, b]).mean())
        if alike >= best:
            best, found = alike, (answers.workers[a], answers.workers[b])
    return found
