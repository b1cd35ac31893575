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
from dataclasses import replace
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

from rectifact.core.findings import Finding
from rectifact.crowd.advice.dependence import dependent_pairs
from rectifact.crowd.advice.gold import LEAST_GOLD
from rectifact.crowd.advice.likeness import DECISIVE
from rectifact.crowd.advice.readings import undecided_block
from rectifact.crowd.advice.support import SURE_GRADES
from rectifact.crowd.copying import most_alike, pair_agreements
from rectifact.crowd.data.answers import Answers
from rectifact.crowd.data.names import plain
from rectifact.crowd.data.people import Panel
from rectifact.crowd.dawid_skene import DawidSkene
from rectifact.crowd.dependence import COMMON_TASKS

PAIRS = ("workers who err alike", DECISIVE, "copies that count as one worker")
"""Findings about workers who err alike, whom an evaluation names itself if they are judges."""

ALIKE = 0.9
"""Share of their common tasks on which two workers say the same, from which on they may be copies."""

SHARED = 2 / 3
"""Share of their errors that two workers have in common, from which on they are twins."""

SURE, UNLIKELY = 1e-3, 0.05
"""Chance that workers who err independently look like copies by gold labels, and that copies look independent."""

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
    block = undecided_block(model._answers, model._model)
    for a, b in dict.fromkeys([*striking, *kin]):
        if among[a] and among[b]:
            shared = _shared_errors(said, model._model.posteriors, a, b)
            twins = bool(family[a] and family[a] == family[b]) or shared >= SHARED
            if not twins and block is not None and not block[[a, b]].any():  # by a model that follows the block
                continue
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


def fit_without_copies(
    model: DawidSkene,
    answers: Answers,
    truth: NDArray[np.int64] | None = None,
    families: Sequence[Sequence[Any]] = (),
) -> DawidSkene:
    """Fit the model, with copies that it has not found by itself as families, where that explains the answers better.

    Parameters
    ----------
    model : DawidSkene
        With its options.
    answers : Answers
    truth : array of shape (n_tasks,), default None
        Number of the true class, -1 where it is not known. Where two workers are often wrong on these tasks, it tells
        whether they are copies; the labels are made without it.
    families : sequence of sequences, default ()
        Names of workers who are known to be copies.

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
    groups: dict[Any, int] = {name: number for number, names in enumerate(families) for name in names}
    model.fit(answers, groups=groups or None)
    if len(answers.workers) > MOST_WORKERS:
        return model
    said = answers.said()
    independent: set[tuple[int, int]] = set()
    for _ in range(MOST_ROUNDS):
        pair = _most_alike(model, said, independent)
        if pair is None:
            break
        told = None if truth is None else copies_by_gold(said, truth, *pair)
        if told is False:
            independent.add(pair)
            continue
        before = _strange(model)
        if not (told or before):
            break
        names = answers.workers[list(pair)].tolist()
        joined = {groups[name] for name in names if name in groups}
        kin = [*names, *(name for name, number in groups.items() if number in joined)]
        tried = {**groups, **dict.fromkeys(kin, min(joined, default=len(groups)))}
        other = DawidSkene(**model.get_params()).fit(answers, groups=tried)
        same = pair in before and _shared_errors(said, model._model.posteriors, *pair) >= SHARED
        if not (told or same) and not _total(_strange(other), pair) < _total(before, pair):
            break
        model, groups = other, tried
    return model


def told_by_gold(model: DawidSkene, certain: Any) -> DawidSkene:
    """The model that gives the labels: where the answers do not tell who is right, a fit that knows the gold labels.

    Elsewhere it does not help: on five real panels with 60 gold labels, labels of the other tasks had the same error on
    two, and 1.5 to 2.5 points more on three.
    """
    if certain is None or model._fitting.identified:
        return model
    answers, families = model._answers, model._fitting.families
    kin = {} if families is None else dict(zip(answers.workers.tolist(), families.tolist(), strict=True))
    groups = {name: number for name, number in kin.items() if number >= 0}
    return DawidSkene(**model.get_params()).fit(answers, gold=certain, groups=groups or None)


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


def _most_alike(
    model: DawidSkene, said: NDArray[np.int64], independent: set[tuple[int, int]]
) -> tuple[int, int] | None:
    """The two workers of different families who say the same most often; None if nobody says nearly the same.

    Pairs that are known to be ``independent`` are left out.
    """
    family = model.worker_report()["family"].to_numpy()
    best, found = ALIKE, None
    for (a, b), alike in pair_agreements(said, COMMON_TASKS):
        if alike >= best and (a, b) not in independent and not (family[a] and family[a] == family[b]):
            best, found = alike, (a, b)
    return found


def _shared_errors(said: NDArray[np.int64], posteriors: Any, a: int, b: int) -> float:
    """Of the tasks where one of two workers is wrong, the expected share where both give the same wrong answer."""
    both = np.flatnonzero((said[:, a] >= 0) & (said[:, b] >= 0))
    wrong, same = 1 - posteriors[both, said[both, a]], said[both, a] == said[both, b]
    return float(wrong[same].sum() / max(wrong[same].sum() + (~same).sum(), 1e-9))  # who differ are not both right


def copies_by_gold(said: NDArray[np.int64], truth: NDArray[np.int64], a: int, b: int) -> bool | None:
    """Whether two workers are copies, by the tasks with a gold label on which one of them is wrong; None if unclear.

    They are if they give the same wrong answer on two thirds of these tasks or more, and more often than workers do who
    err as often as these but independently. They are not if the share is lower for certain.

    Examples
    --------
    >>> import numpy as np
    >>> truth = np.zeros(60, dtype=int)
    >>> one, other = (np.arange(60) % 4 == 0).astype(int), (np.arange(60) % 4 == 1).astype(int)
    >>> said = np.column_stack([one, one, other, truth])
    >>> copies_by_gold(said, truth, 0, 1), copies_by_gold(said, truth, 0, 2), copies_by_gold(said, truth, 3, 3)
    (True, False, None)
    """
    known = (said[:, a] >= 0) & (said[:, b] >= 0) & (truth >= 0)
    one, other, right = said[known, a], said[known, b], truth[known]
    either = int(((one != right) | (other != right)).sum())
    if not either:
        return None
    same = int(((one == other) & (one != right)).sum())
    chance = float((one != right).mean() * (other != right).mean())  # at most: two wrong answers may differ
    if same >= SHARED * either and binom.sf(same - 1, len(right), chance) < SURE:
        return True
    return False if binom.cdf(same, either, SHARED) < UNLIKELY else None


def findings_beside(
    pairs: list[Pair], model: DawidSkene, panel: Panel, truth: NDArray[np.int64] | None = None
) -> list[Finding]:
    """What is wrong with the answers, but for judges who err alike, whom ``pairs`` name.

    Nor is it said that two judges may be copies where gold labels, the ``truth``, tell that they are not.
    """
    people = [str(plain(name)) for name in panel.answers.workers[panel.is_person]]

    def is_said(finding: Finding) -> bool:
        return bool(pairs) and finding.finding in PAIRS and not any(name in finding.detail for name in people)

    has_gold = truth is not None and bool((truth >= 0).any())
    found = [finding for finding in model._findings(has_gold) if not is_said(finding)]
    if truth is not None and (truth >= 0).sum() >= LEAST_GOLD:  # by which labels are calibrated
        found = [finding for finding in found if finding.finding != SURE_GRADES]
    if truth is None or not any(finding.finding == DECISIVE for finding in found):
        return found
    pair = most_alike(panel.answers.said())
    told = None if pair is None else copies_by_gold(panel.answers.said(), truth, *pair.pair)
    kept = [finding for finding in found if finding.finding != DECISIVE or told is not False]
    return [_beside_gold(finding) if finding.finding == DECISIVE and told is None else finding for finding in kept]


def _beside_gold(finding: Finding) -> Finding:
    """The warning about two judges who may be copies, where there are gold labels already."""
    detail = f"{finding.detail} The gold labels cannot tell either, as the two are wrong on too few of them."
    more = "check them against gold labels", "check them against more gold labels"
    command = None if finding.command is None else finding.command.replace(*more)
    return replace(finding, detail=detail, remedy=finding.remedy.replace(*more), command=command)
