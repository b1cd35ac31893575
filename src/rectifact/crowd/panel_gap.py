"""Whether judges agree with people as often as people do with each other: the difference, and in words."""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rectifact.core.errors import count
from rectifact.crowd.agreement import Tally, between_terms, ratio, tally
from rectifact.crowd.data.people import Panel
from rectifact.crowd.resampling import Bootstrap, Floats, estimates

ALL_JUDGES = "all judges"
OBSERVED, WEIGHTED = "observed agreement", "weighted agreement"
COLUMNS = ["judge", "with_people", "among_people", "gap", "low", "high", "tasks"]


N_RESAMPLES = 10_000
"""Enough for the draws to move an end of an interval by about a fiftieth of its half-width."""


def agreement_gaps(panel: Panel, *, confidence: float = 0.95) -> pd.DataFrame:
    """Agreement of judges with people minus that of people with each other, for all judges and for each.

    Tasks are resampled for both figures together, so that what makes a task hard for all does not count as chance.
    The draws are always the same ones: what is said of a judge must not depend on them.

    Parameters
    ----------
    panel : Panel
        With two people or more who share tasks; an empty table otherwise.
    confidence : float, default 0.95

    Returns
    -------
    DataFrame
        By ``judge``: the shares of pairs of answers that agree, ``with_people`` and ``among_people``; ``gap``, the
        first minus the second, from ``low`` to ``high``; and the number of ``tasks`` that a judge and a person
        answered.

    Examples
    --------
    >>> from rectifact.crowd.data.people import read_panel
    >>> from rectifact.datasets import make_crowd
    >>> answers = make_crowd(400, 5, 2, labels_per_task=5, accuracy=(0.8, 0.8)).answers
    >>> is_judge = answers["worker"] < 2
    >>> gaps = agreement_gaps(read_panel(answers[is_judge], answers[~is_judge]))
    >>> gaps["judge"].tolist(), bool((gaps["low"] < 0).all() and (gaps["high"] > 0).all())
    (['all judges', 1, 0], True)
    """
    is_person, n_workers = panel.is_person, len(panel.answers.workers)
    people = _tally(panel, is_person)
    pairs, alike = _within(people, panel.scale.n_classes)
    if not panel.has_people or pairs.sum() < 2:
        return pd.DataFrame(columns=COLUMNS)
    judges = {ALL_JUDGES: ~is_person} | {panel.name(j): np.arange(n_workers) == j for j in range(panel.n_judges)}
    rows = []
    for name, members in judges.items():
        both, same = _between(_tally(panel, members), people, panel)
        bootstrap = Bootstrap(N_RESAMPLES, confidence, np.random.default_rng(0))
        terms = {"both": both, "same": same, "pairs": pairs, "alike": alike}
        found = estimates(terms, _figures, bootstrap)
        rows.append([name, *found.value[1:], found.value[0], found.low[0], found.high[0], int(both.sum())])
    table = pd.DataFrame(rows, columns=COLUMNS)
    return table[table["tasks"] > 0].reset_index(drop=True)


def _figures(sums: dict[str, Floats]) -> Floats:
    with_people, among = (ratio(sums[a][:, 0], sums[b][:, 0]) for a, b in (("same", "both"), ("alike", "pairs")))
    return np.column_stack([with_people - among, with_people, among])


def _tally(panel: Panel, members: NDArray[np.bool_]) -> Tally:
    answers, theirs = panel.answers, members[panel.answers.worker]
    return tally(answers.task[theirs], answers.label[theirs], len(answers.tasks), panel.scale)


def _within(group: Tally, n_classes: int) -> tuple[Floats, Floats]:
    """For each task, whether two of the group answered, and the share of their pairs that agree."""
    task = (group.cells // n_classes).astype(np.int64)
    equal = np.bincount(task, group.counts**2, len(group.size)) - group.size
    return (group.size > 1).astype(float), equal / np.maximum(group.size * (group.size - 1), 1)


def _between(judges: Tally, people: Tally, panel: Panel) -> tuple[Floats, Floats]:
    """For each task, whether both groups answered, and the share of pairs across them that agree."""
    both = (judges.size > 0) & (people.size > 0)
    same = np.zeros(len(both))
    same[both] = between_terms(judges, people, panel.scale)["equal"]
    return both.astype(float), same


def who(found: Any) -> str:
    """The panel in words."""
    n_people = int(found.panel.is_person.sum())
    judges = count(found.panel.n_judges, "judge")
    return judges if not n_people else f"{judges} and {n_people} {'person' if n_people == 1 else 'people'}"


def agreement_words(found: Any, *, short: bool = False) -> str:
    """How far judges agree with people, beside people with each other; or judges among each other."""
    if found.agreement is None:
        return ""
    overall = found.agreement.overall
    rows, near = (overall[overall["coefficient"] == name].set_index("among") for name in (OBSERVED, WEIGHTED))
    agree = "agree" if not len(near) else "give the same grade"
    if not found.panel.has_people:
        one = rows.loc["workers"] if "workers" in rows.index else None
        if one is None or pd.isna(one["value"]):
            return ""
        return f"Two judges give the same answer to a task {one['value']:.1%} of the time{_beside(one, near)}."
    both = rows.loc["judges with people"]
    if pd.isna(both["value"]):
        return ""
    text = f"A judge and a person {agree} {both['value']:.1%} of the time{_beside(both, near, short=short)}"
    if not len(found.gaps) or pd.isna(found.gaps["low"].iloc[0]):
        return f"{text}; too few tasks were answered by two people to say how far people agree with each other."
    return f"{text}, {gap_words(found.gaps.iloc[0])}."


def gap_words(row: Any) -> str:
    """How far judges agree with people, compared with people, as the end of a sentence."""
    ends = f"{100 * row['low']:+z.1f} to {100 * row['high']:+z.1f}"
    how = "more often" if row["gap"] >= 0 else "less often"
    text = f"{100 * abs(row['gap']):.1f} points {how} than two people ({ends})"
    return text if row["low"] > 0 or row["high"] < 0 else f"{text}, which is not more than chance explains"


def _beside(row: Any, near: pd.DataFrame, *, short: bool = False) -> str:
    """What stands in brackets behind a share: its interval, unless in ``short``, and the share with near misses."""
    parts = [] if short or pd.isna(row["low"]) else [f"{row['low']:.1%} to {row['high']:.1%}"]
    if row.name in near.index:
        parts.append(f"{float(near['value'][row.name]):.1%} if near misses count in part")
    return f" ({'; '.join(parts)})" if parts else ""
