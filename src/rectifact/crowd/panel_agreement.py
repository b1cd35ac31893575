"""How far workers agree with each other, and judges with people: tables from answers in any form."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rectifact.core.errors import InputError
from rectifact.core.validation import check_at_least, check_generator
from rectifact.crowd import intraclass
from rectifact.crowd.agreement import (
    CLASS_NAMES,
    TINY,
    Level,
    Tally,
    between_figures,
    between_names,
    between_terms,
    class_figures,
    class_terms,
    tally,
    within_figures,
    within_names,
    within_terms,
)
from rectifact.crowd.data.mixed import read_mixed_panel
from rectifact.crowd.data.people import Panel, check_people
from rectifact.crowd.panel_reprs import agreement_repr
from rectifact.crowd.resampling import Bootstrap, Estimates, estimates

MOST_WORKERS = 60
"""Workers in the tables by worker and by pair: those with most answers."""

FIGURES = ["coefficient", "value", "low", "high", "tasks", "note"]

TWO_OF = {"worker": "two workers", "judge": "two judges", "person": "two people"}

SHARES = {"observed agreement", "weighted agreement"}
"""Coefficients that are never below 0; others are never below -1, and none is above 1."""

NO_PAIR = "no task has two answers"
NONE_SHARED = "no task in common"
ALL_SAME = "all answers are the same, so that chance alone gives full agreement"
NEVER_GIVEN = "nobody gave this answer to a task with two answers"
NO_DISAGREEMENT = "no disagreement was seen, so that there is no interval"
NO_VARIATION = "the tasks do not differ enough for an interval"
INCOMPLETE = "needs two tasks that all workers answered"
MANY_VALUES = "needs classes; there are more than 100 different values"


@dataclass(frozen=True, repr=False)
class Agreement:
    """How far workers agree, as tables with one row per coefficient.

    Columns of all tables: ``value``, the ends ``low`` and ``high`` of its interval, the number of ``tasks`` behind it,
    and a ``note`` where it, or its interval, is not defined.

    Attributes
    ----------
    overall : DataFrame
        By group, in the column ``among``: workers; or people, judges, and judges with people.
    classes : DataFrame
        By group and class: its share of the answers, ``agreement``, how often another worker gives the class too, and
        the kappa of this class against all others; ``tasks`` are those where somebody gave it. Empty for more than 100
        different numbers.
    workers : DataFrame
        Each worker with all others; or each judge, and each person, with all other people.
    pairs : DataFrame
        By pair: observed agreement and Cohen's kappa.
    level : {"nominal", "ordinal", "interval"}
    confidence : float
        Probability of the intervals.
    """

    overall: pd.DataFrame
    classes: pd.DataFrame
    workers: pd.DataFrame
    pairs: pd.DataFrame
    level: Level
    confidence: float

    def __repr__(self) -> str:
        return agreement_repr(self)

    def table(self) -> pd.DataFrame:
        """All rows in one table: ``table`` says where they come from, ``first`` and ``second`` whom they are about."""
        parts = {
            "overall": self.overall.rename(columns={"among": "first"}).assign(second=""),
            "class": self.classes.rename(columns={"among": "first", "class": "second"}),
            "worker": self.workers.rename(columns={"worker": "first", "with": "second"}),
            "pair": self.pairs,
        }
        columns = ["table", "first", "second", *FIGURES]
        rows = [part.assign(table=name).reindex(columns=columns) for name, part in parts.items() if len(part)]
        return pd.concat(rows, ignore_index=True)

    def matrix(self, coefficient: str = "Cohen's kappa") -> pd.DataFrame:
        """A coefficient of all pairs as a symmetric matrix, NaN where there is none."""
        rows = self.pairs[self.pairs["coefficient"] == coefficient]
        names = pd.unique(pd.concat([rows["first"], rows["second"]]))
        place = {name: i for i, name in enumerate(names)}
        matrix = np.full((len(names), len(names)), np.nan)
        at = rows["first"].map(place).to_numpy(), rows["second"].map(place).to_numpy()
        matrix[at] = matrix[at[::-1]] = rows["value"]
        return pd.DataFrame(matrix, index=names, columns=names)


def agreement(
    data: Any,
    level: Level = "nominal",
    *,
    humans: Any = None,
    people: Any = None,
    classes: Sequence[Any] | None = None,
    confidence: float = 0.95,
    n_resamples: int = 1000,
    random_state: Any = 0,
    missing: Any = "auto",
    task: str | Sequence[str] | None = None,
    worker: str | None = None,
    label: str | None = None,
    wide: bool = False,
) -> Agreement:
    """How far workers agree with each other, and judges with people, beyond chance, with intervals.

    Observed agreement, Krippendorff's alpha, Fleiss' kappa and Gwet's AC1 of all answers, and the intraclass
    correlation of numbers; Cohen's kappa of each pair; each class; each worker. Grades and numbers have weights for
    near misses: Gwet's ordinal weights for grades, quadratic weights for numbers, and for Krippendorff's alpha the
    distances that he gives for each level.

    Parameters
    ----------
    data : table, path or matrix
        Answers in any form that :func:`rectifact.crowd.read_answers` takes; those of the judges, if there are
        ``humans``.
    level : {"nominal", "ordinal", "interval"}, default "nominal"
        Whether answers are labels, ordered grades, or numbers.
    humans : table, path or matrix, default None
        Answers of people, in the same forms. People are then compared with people, and judges with people.
    people : str or sequence, default None
        Instead of ``humans``, who of the workers in ``data`` are people: their names, or a column that says "human" for
        them.
    classes : sequence, default None
        All classes in order, including those that nobody chose. Grades that are not numbers need it.
    confidence : float, default 0.95
        Probability that an interval is meant to have.
    n_resamples : int, default 1000
        Bootstrap resamples of the tasks. The workers stay the same: intervals say what other tasks would give.
    random_state : int, Generator or None, default 0
        Random numbers of the resamples.
    missing : any, default "auto"
        What stands for no answer in a matrix, see :func:`rectifact.crowd.read_answers`.
    task, worker, label : str, default None
        Names of the columns of both tables, where they do not have usual names.
    wide : bool, default False
        Whether a table has one column per worker.

    Returns
    -------
    Agreement
        The tables ``overall``, ``classes``, ``workers`` and ``pairs``.

    Notes
    -----
    Tables by worker and by pair have the 60 workers with most answers. The first of several answers of a worker to the
    same task counts. Values, not intervals, equal those of the packages krippendorff and irrCAC.

    Examples
    --------
    >>> from rectifact import agreement
    >>> from rectifact.datasets import make_crowd
    >>> found = agreement(make_crowd(300, 5, 3).answers)
    >>> found.overall[["coefficient", "value", "low", "high"]].round(2)
                coefficient  value   low  high
    0    observed agreement   0.54  0.51  0.56
    1  Krippendorff's alpha   0.30  0.25  0.34
    2         Fleiss' kappa   0.30  0.25  0.34
    3            Gwet's AC1   0.30  0.26  0.35
    """
    columns = {"task": task, "worker": worker, "label": label}
    reading: dict[str, Any] = {"columns": columns, "wide": wide, "missing": missing}
    panel = read_mixed_panel(data, humans, people=people, level=level, classes=classes, **reading)
    return agreement_of(panel, confidence=confidence, n_resamples=n_resamples, random_state=random_state)


def agreement_of(panel: Panel, *, confidence: float, n_resamples: int, random_state: Any) -> Agreement:
    """Agreement of answers that have been read."""
    check_at_least(1, n_resamples=n_resamples)
    if not 0 < confidence < 1:
        raise InputError(
            f"confidence={confidence} must lie between 0 and 1.",
            "Give a probability, such as 0.95.",
            option="confidence",
        )
    is_numbers = panel.scale.level == "interval"
    bootstrap = Bootstrap(n_resamples, confidence, check_generator(random_state), studentized=is_numbers)
    _check_shared(panel)
    tallies = {name: _tally(panel, members) for name, members in _groups(panel).items()}
    return Agreement(
        pd.DataFrame(overall_rows(panel, bootstrap), columns=["among", *FIGURES]),
        pd.DataFrame(_classes(panel, tallies, bootstrap), columns=["among", "class", *FIGURES]),
        pd.DataFrame(_workers(panel, tallies, bootstrap), columns=["worker", "kind", "with", *FIGURES]),
        pd.DataFrame(pair_rows(panel, _busiest(panel), bootstrap), columns=["first", "second", "kind", *FIGURES]),
        panel.scale.level,
        confidence,
    )


def _check_shared(panel: Panel) -> None:
    """Refuse answers among which nothing can be compared."""
    answers = panel.answers
    if panel.has_people:
        check_people(panel)
    elif not (np.bincount(answers.task) > 1).any():
        raise InputError(
            "No task was answered by two workers, so that there is nothing to compare.",
            "Add answers of others to the same tasks, or name the columns of task and worker.",
        )


def _groups(panel: Panel) -> dict[str, NDArray[np.bool_]]:
    """Who are compared with each other."""
    if panel.has_people:
        return {"people": panel.is_person, "judges": ~panel.is_person}
    return {"workers": np.ones(len(panel.is_person), dtype=bool)}


def overall_rows(panel: Panel, bootstrap: Bootstrap) -> list[list[Any]]:
    """Rows of the table ``overall``: group, coefficient, value, low, high, tasks, note."""
    groups = _groups(panel)
    tallies = {name: _tally(panel, members) for name, members in groups.items()}
    rows = [row for name, members in groups.items() for row in _within(panel, name, members, tallies[name], bootstrap)]
    return rows + list(_between(panel, tallies, bootstrap)) if panel.has_people else rows


def _tally(panel: Panel, members: NDArray[np.bool_]) -> Tally:
    answers, theirs = panel.answers, members[panel.answers.worker]
    return tally(answers.task[theirs], answers.label[theirs], len(answers.tasks), panel.scale)


def _within(
    panel: Panel, name: str, members: NDArray[np.bool_], group: Tally, bootstrap: Bootstrap
) -> Iterator[list[Any]]:
    """Rows for the coefficients of one group."""
    scale = panel.scale
    found = estimates(within_terms(group, scale), within_figures(scale), bootstrap)
    n_several = int((group.size > 1).sum())
    notes = {"Gwet's AC2": MANY_VALUES} if not scale.has_classes else {}
    for row in _rows(within_names(scale), found, NO_PAIR if not n_several else ALL_SAME, notes):
        yield [name, *row[:4], n_several, row[5]]
    if scale.level == "interval":
        yield from ([name, *row] for row in _intraclass(panel, members, bootstrap))


def _intraclass(panel: Panel, members: NDArray[np.bool_], bootstrap: Bootstrap) -> Iterator[list[Any]]:
    """Rows for the intraclass correlations: of all answers, and of the tasks that all members answered."""
    answers = panel.answers
    theirs, value = members[answers.worker], panel.scale.points[:, 1]
    task, worker, value = answers.task[theirs], answers.worker[theirs], value[answers.label[theirs]]
    terms = intraclass.one_way_terms(task, value, len(answers.tasks))
    one = estimates(terms, intraclass.one_way_figures, bootstrap)
    yield from _rows(intraclass.ONE_WAY, one, NO_PAIR if not one.n_tasks else ALL_SAME)
    column = np.cumsum(members) - 1
    m = int(members.sum())
    complete = np.flatnonzero(np.bincount(task, minlength=len(answers.tasks)) == m)
    place = np.full(len(answers.tasks), -1)
    place[complete] = np.arange(len(complete))
    kept = place[task] >= 0
    values = np.zeros((len(complete), m))
    values[place[task[kept]], column[worker[kept]]] = value[kept]
    two = estimates(intraclass.two_way_terms(values), intraclass.two_way_figures, bootstrap)
    yield from _rows(intraclass.TWO_WAY, two, INCOMPLETE if two.n_tasks < 2 or m < 2 else ALL_SAME)


def _between(panel: Panel, tallies: dict[str, Tally], bootstrap: Bootstrap) -> Iterator[list[Any]]:
    terms = between_terms(tallies["judges"], tallies["people"], panel.scale)
    found = estimates(terms, between_figures(panel.scale), bootstrap)
    yield from (["judges with people", *row] for row in _rows(between_names(panel.scale), found, ALL_SAME))


def _classes(panel: Panel, tallies: dict[str, Tally], bootstrap: Bootstrap) -> Iterator[list[Any]]:
    if not panel.scale.has_classes:
        return
    bootstrap = replace(bootstrap, studentized=False)  # classes are labels
    for among, group in tallies.items():
        votes = group.votes(panel.scale.n_classes)
        for k, name in enumerate(panel.answers.classes.tolist()):
            found = estimates(class_terms(votes[:, k], group.size), class_figures, bootstrap)
            given = int((votes[group.size > 1, k] > 0).sum())
            for row in _rows(CLASS_NAMES, found, ALL_SAME if given else NEVER_GIVEN):
                yield [among, name, *row[:4], row[4] if row[0] == "share of answers" else given, row[5]]


def _workers(panel: Panel, tallies: dict[str, Tally], bootstrap: Bootstrap) -> Iterator[list[Any]]:
    """Each worker with all others, or with all other people."""
    whom = "people" if panel.has_people else "workers"
    reference, scale = tallies[whom], panel.scale
    for w in _busiest(panel):
        alone = _tally(panel, np.arange(len(panel.is_person)) == w)
        among = not panel.has_people or panel.is_person[w]
        others = _without(reference, alone) if among else reference
        found = estimates(between_terms(alone, others, scale), between_figures(scale), bootstrap)
        name = panel.name(w), _kind(panel, w), f"other {whom}" if among else whom
        note = ALL_SAME if found.n_tasks else NONE_SHARED
        yield from ([*name, *row] for row in _rows(between_names(scale), found, note))


def _without(group: Tally, member: Tally) -> Tally:
    counts = group.counts - member.count(group.cells)
    return Tally(group.size - member.size, group.sums - member.sums, group.cells, counts)


def pair_rows(panel: Panel, workers: Sequence[int], bootstrap: Bootstrap) -> Iterator[list[Any]]:
    """Rows of the table ``pairs``: two workers, their kind, coefficient, value, low, high, tasks, note."""
    scale = panel.scale
    alone = {w: _tally(panel, np.arange(len(panel.is_person)) == w) for w in workers}
    for a, b in combinations(workers, 2):
        found = estimates(between_terms(alone[a], alone[b], scale), between_figures(scale), bootstrap)
        kinds = _kind(panel, a), _kind(panel, b)
        name = panel.name(a), panel.name(b), "judge and person" if kinds[0] != kinds[1] else TWO_OF[kinds[0]]
        note = ALL_SAME if found.n_tasks else NONE_SHARED
        yield from ([*name, *row] for row in _rows(between_names(scale), found, note))


def _busiest(panel: Panel) -> list[int]:
    """Workers with most answers, in their own order; people first where there are too many."""
    given = panel.answers.given + panel.is_person * (len(panel.answers) + 1)
    return sorted(np.argsort(-given, kind="stable")[:MOST_WORKERS].tolist())


def _kind(panel: Panel, worker: int) -> str:
    return "worker" if not panel.has_people else "person" if panel.is_person[worker] else "judge"


def _rows(
    names: Sequence[str], found: Estimates, undefined: str, notes: dict[str, str] | None = None
) -> Iterator[list[Any]]:
    """Rows of a table: coefficient, value, low, high, tasks, note."""
    for name, value, low, high in zip(names, found.value, found.low, found.high, strict=True):
        note = "" if np.isfinite(value) else (notes or {}).get(name, undefined)
        low, high = np.clip([low, high], 0 if name in SHARES else -1, 1)  # studentized ends may lie outside
        if np.isfinite(value) and not high - low > TINY:
            note, low, high = NO_DISAGREEMENT if abs(value - 1) < TINY else NO_VARIATION, np.nan, np.nan
        yield [name, float(value), float(low), float(high), found.n_tasks, note]
