"""Judges who err alike, and a fit that copies among them do not mislead.

Where two workers say nearly the same, a model may take them for excellent and all others for mediocre. It then finds
that the others agree with each other more often than it expects. If that goes away when the two count as a family, they
are copies; if not, they agree because they are right.

This is the second of two ways to find copies. The first, :mod:`rectifact.crowd.copying`, is part of every fit of a
panel of 4 to 12 workers, where two copies may decide the labels: it compares models of the whole panel, with copying
and without. This one looks at a fitted model from outside, for evaluations, rates and joint labels of up to 60 workers,
at the price of another fit for each pair. On small simulated panels it finds nothing that the fit has not found; among
16 judges it finds twins who differ on one task in twenty. The fit by itself does not, and its labels are the same with
them or without; but who evaluates judges wants to know.
"""

from collections.abc import Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rectifact.core.findings import Finding
from rectifact.crowd.advice.dependence import dependent_pairs
from rectifact.crowd.advice.likeness import pair_agreements
from rectifact.crowd.data.answers import Answers
from rectifact.crowd.data.names import plain
from rectifact.crowd.data.people import Panel
from rectifact.crowd.dawid_skene import DawidSkene
from rectifact.crowd.dependence import COMMON_TASKS

PAIRS = ("workers who err alike", "two workers decide the labels", "copies that count as one worker")
"""Findings about workers who err alike, whom an evaluation names itself if they are judges."""

ALIKE = 0.9
"""Share of their common tasks on which two workers say the same, from which on they may be copies."""

SHARED = 2 / 3
"""Share of their errors that two workers have in common, from which on they are twins."""

MOST_WORKERS, MOST_ROUNDS = 60, 3


class Pair(NamedTuple):
    """Two workers who agree more often than chance explains.

    Attributes
    ----------
    one, other : any
        Names of the workers.
    shared : float
        Of the tasks where one of them is wrong, the share where both give the same wrong answer.
    twins : bool
        Whether one tells next to nothing beside the other.
    """

    one: Any
    other: Any
    shared: float
    twins: bool


def pairs_of(model: DawidSkene, among: NDArray[np.bool_]) -> list[Pair]:
    """Pairs of workers who agree more often than the model allows, twins first, then the most striking.

    Parameters
    ----------
    model : DawidSkene
        Fitted.
    among : array of bool of shape (n_workers,)
        Workers to look at.
    """
    family, names = model.worker_report()["family"].to_numpy(), model.workers_
    striking = [tuple(pair) for pair in dependent_pairs(model._answers.one_hot(), model._model)[0].tolist()]
    kin = [(a, b) for a, b in combinations(np.flatnonzero(family != "").tolist(), 2) if family[a] == family[b]]
    said, found = model._answers.said(), []
    for a, b in dict.fromkeys([*striking, *kin]):
        if among[a] and among[b]:
            shared = _shared_errors(said, model._model.posteriors, a, b)
            twins = bool(family[a] and family[a] == family[b]) or shared >= SHARED
            found.append(Pair(plain(names[a]), plain(names[b]), shared, twins))
    return sorted(found, key=lambda pair: not pair.twins)


def families_of(pairs: Sequence[Pair]) -> list[list[Any]]:
    """Workers who are twins of each other, directly or through others, in the order of the pairs.

    Examples
    --------
    >>> families_of([Pair("a", "b", 0.9, True), Pair("c", "d", 0.5, False), Pair("b", "e", 0.8, True)])
    [['a', 'b', 'e']]
    """
    families: list[list[Any]] = []
    for pair in pairs:
        if pair.twins:
            near = [family for family in families if pair.one in family or pair.other in family]
            joined = [*(name for family in near for name in family), pair.one, pair.other]
            families = [family for family in families if family not in near] + [list(dict.fromkeys(joined))]
    return families


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
    >>> [(pair.one, pair.other) for pair in pairs_of(fitted, answers.given > 0)]
    [(0, 4)]
    """
    model.fit(answers)
    if len(answers.workers) > MOST_WORKERS:
        return model
    said = answers.said()
    groups: dict[Any, int] = {}
    for _ in range(MOST_ROUNDS):
        pair = _most_alike(model, said)
        before = {} if pair is None else _strange(model)
        if pair is None or not before:
            break
        names = answers.workers[list(pair)].tolist()
        number = next((groups[name] for name in names if name in groups), len(groups))
        tried = {**groups, **dict.fromkeys(names, number)}
        other = DawidSkene(**model.get_params()).fit(answers, groups=tried)
        same = pair in before and _shared_errors(said, model._model.posteriors, *pair) >= SHARED
        if not same and not _total(_strange(other), pair) < _total(before, pair):
            break
        model, groups = other, tried
    return model


def _strange(model: DawidSkene) -> dict[tuple[int, int], float]:
    """Pairs of workers of different families who agree more often than the model allows, with their scores."""
    pairs, scores = dependent_pairs(model._answers.one_hot(), model._model)
    family = model.worker_report()["family"].to_numpy()
    return {
        (a, b): float(score)
        for (a, b), score in zip(pairs.tolist(), scores, strict=True)
        if not family[a] or family[a] != family[b]
    }


def _total(scores: dict[tuple[int, int], float], without: tuple[int, int]) -> float:
    return sum(score for pair, score in scores.items() if pair != without)


def _most_alike(model: DawidSkene, said: NDArray[np.int64]) -> tuple[int, int] | None:
    """The two workers of different families who say the same most often; None if nobody says nearly the same."""
    family = model.worker_report()["family"].to_numpy()
    best, found = ALIKE, None
    for (a, b), alike in pair_agreements(said, COMMON_TASKS):
        if alike >= best and not (family[a] and family[a] == family[b]):
            best, found = alike, (a, b)
    return found


def _shared_errors(said: NDArray[np.int64], posteriors: Any, a: int, b: int) -> float:
    """Of the tasks where one of two workers is wrong, the expected share where both give the same wrong answer."""
    both = np.flatnonzero((said[:, a] >= 0) & (said[:, b] >= 0))
    wrong, same = 1 - posteriors[both, said[both, a]], said[both, a] == said[both, b]
    return float(wrong[same].sum() / max(wrong[same].sum() + (~same).sum(), 1e-9))  # who differ are not both right


def findings_beside(pairs: list[Pair], model: DawidSkene, panel: Panel) -> list[Finding]:
    """What is wrong with the answers, but for judges who err alike, whom ``pairs`` name."""
    people = [str(plain(name)) for name in panel.answers.workers[panel.is_person]]

    def is_said(finding: Finding) -> bool:
        return bool(pairs) and finding.finding in PAIRS and not any(name in finding.detail for name in people)

    return [finding for finding in model._findings() if not is_said(finding)]
