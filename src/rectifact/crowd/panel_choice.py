"""Which judges may replace people, in words: the best first, and copies as one."""

from typing import Any

import numpy as np
import pandas as pd

from rectifact.crowd.copies import families_of
from rectifact.crowd.data.names import plain, plain_text, sentence
from rectifact.crowd.events import EVERYTHING
from rectifact.crowd.panel_replacement import TOGETHER
from rectifact.crowd.replacement import MAY, MAY_NOT, TOO_FEW

SAME = 0.98
"""Share of tasks on which the joint label is that of one judge, from which on this is said."""

JOINT = "the joint label of all judges"

MOST_FLAWED = 3
"""Judges whose flaws are named beside the test that they pass."""


def replacing(found: Any) -> str:
    """Who may replace people, briefly: the best first, and one of each family."""
    if found.replacement is None:
        return ""
    decisions = _by_quality(found.replacement)
    single = decisions.drop(TOGETHER, errors="ignore")
    epsilon = _allowed(found.replacement.epsilon)
    passed = single.index[single == MAY].tolist()
    flawed = flaws(found, passed)
    names = _one_of_each([name for name in passed if name not in flawed], found.pairs)
    if len(names) > 1 and (single == MAY).all() and not flawed:
        names = ["all of them"]
    joint = decisions.get(TOGETHER) == MAY
    open_ = single.index[single == TOO_FEW].tolist()
    if flawed and not names and not joint:
        return f"the test for replacing people {epsilon} is passed by {_flaw_words(flawed)}"
    if not names and not joint and open_:
        return "people answered too few tasks to say whether judges may replace them"
    if not names and not joint:
        return f"no judge passes the test for replacing people {epsilon}"
    who_may = names if names else [JOINT]
    text = f"{sentence(who_may, 4)} may replace people {epsilon}"
    if flawed:
        return f"{text}; the same test is passed by {_flaw_words(flawed)}"
    if names:
        return text
    if not open_:
        return f"{text}, but no single judge"
    return f"{text}; for {sentence(_one_of_each(open_, found.pairs), 4)} alone, people answered too few tasks to say"


def _allowed(epsilon: float) -> str:
    """What the test at this epsilon allows.

    Examples
    --------
    >>> _allowed(0.2)
    '(epsilon 0.2 allows a judge to do as well as a person on up to 20 points fewer of the tasks)'
    """
    if not epsilon:
        return "(epsilon 0)"
    fewer = f"{100 * epsilon:g} {'point' if epsilon == 0.01 else 'points'} fewer"
    return f"(epsilon {epsilon:g} allows a judge to do as well as a person on up to {fewer} of the tasks)"


def _flaw_words(flawed: dict[Any, str]) -> str:
    """Judges, each with what is wrong.

    Examples
    --------
    >>> _flaw_words({"gpt": "says pass 6.0 points too often", "mini": "grades 0.50 too high in the mean"})
    'gpt, which says pass 6.0 points too often, and by mini, which grades 0.50 too high in the mean'
    """
    said = [f"{name}, which {words}" for name, words in list(flawed.items())[:MOST_FLAWED]]
    more = len(flawed) - len(said)
    if more:
        said.append(f"{more} more with a bias or a lower accuracy than people")
    return ", and by ".join([", by ".join(said[:-1]), said[-1]]) if len(said) > 1 else said[0]


def flaws(found: Any, judges: list[Any]) -> dict[Any, str]:
    """What is wrong with some judges for certain, by judge: a bias, or an accuracy below that of people."""
    accuracy = _less_accurate(found)
    said = {}
    for judge in judges:
        words = [text for text in (_shifted(found, judge) or _biased(found, judge), accuracy.get(judge, "")) if text]
        if words:
            said[judge] = " and ".join(words)
    return said


def _biased(found: Any, judge: Any) -> str:
    """The largest bias of a judge that is certain, by gold labels or else by people."""
    for biases in (found.biases, found.biases_by_people):
        if biases is None:
            continue
        table = biases.table
        rows = table[(table["group"] == EVERYTHING) & table["certain"] & (table["worker"] == judge)]
        if len(rows):
            row = rows.loc[rows["bias"].abs().idxmax()]
            often = "often" if row["bias"] > 0 else "rarely"
            than = f"{'more' if row['bias'] > 0 else 'less'} often than people"
            how = than if row["against"] == "people" else f"too {often}"
            return f"says {plain_text(row['class'])} {100 * abs(row['bias']):.1f} points {how}"
    return ""


def _shifted(found: Any, judge: Any) -> str:
    """By how much a judge grades too high or too low for certain."""
    for biases in (found.biases, found.biases_by_people):
        if biases is None or biases.shifts is None:
            continue
        rows = biases.shifts[biases.shifts["certain"] & (biases.shifts["worker"] == judge)]
        if len(rows):
            row = rows.iloc[0]
            high = "high" if row["shift"] > 0 else "low"
            how = f"{high}er than people" if row["against"] == "people" else f"too {high}"
            return f"grades {abs(row['shift']):.2f} {how} in the mean"
    return ""


def _less_accurate(found: Any) -> dict[Any, str]:
    """Judges whose interval of the accuracy lies below those of people, with the accuracies of both."""
    table = found.workers()
    people = table[table["kind"] == "person"]
    if not len(people):
        return {}
    mean, least = (float(np.average(people[name], weights=people["answers"])) for name in ("accuracy", "accuracy_low"))
    judges = table[(table["kind"] == "judge") & (table["accuracy_high"] < least)]
    return {
        plain(row["worker"]): f"is right in {row['accuracy']:.1%} of its answers, where people are in {mean:.1%}"
        for row in judges.to_dict("records")
    }


def _by_quality(test: Any) -> "pd.Series[Any]":
    """Decisions by judge, the best judges first, and the joint label last."""
    table = test.judges.assign(last=test.judges["judge"] == TOGETHER)
    order = ["last", "winning_rate", "advantage"]
    table = table.sort_values(order, ascending=[True, False, False], kind="stable")
    decisions: pd.Series[Any] = table.set_index("judge")["decision"]
    return decisions


def _one_of_each(names: list[Any], pairs: Any) -> list[str]:
    """Names, of which copies of each other count as one."""
    shown, seen = [], set()
    for name in names:
        family = next((kin for kin in families_of(pairs) if name in kin), [name])
        if name not in seen:
            others = [other for other in names if other in family and other != name]
            copy = "" if not others else " or its copy" if len(others) == 1 else f" or one of its {len(others)} copies"
            shown.append(f"{name}{copy}")
        seen |= set(family)
    return shown


def replacement_words(found: Any) -> str:
    """Which judges may replace people, in one sentence, and whose the joint label is."""
    test = found.replacement
    if test is None:
        return ""
    decisions = _by_quality(test)
    parts = []
    for decision in (MAY, MAY_NOT, TOO_FEW):
        names = decisions.index[decisions == decision].tolist()
        judges = [name for name in names if name != TOGETHER]
        if len(judges) == len(decisions.drop(TOGETHER, errors="ignore")) > 1:
            subjects = [f"all {len(judges)} judges"]
        else:
            subjects = [str(name) for name in judges]
        subjects += [JOINT] if TOGETHER in names else []
        if subjects:
            parts.append(_decided(decision, sentence(subjects), len(subjects) > 1 or len(judges) > 1))
    flawed = flaws(found, [name for name in decisions.index[decisions == MAY] if name != TOGETHER])
    beware = f" Note that it is passed by {_flaw_words(flawed)}." if flawed else ""
    return f"{'; '.join(parts)} (alternative annotator test, epsilon {test.epsilon:g}).{beware}{_followed(found)}"


def _decided(decision: str, subject: str, several: bool) -> str:
    if decision == MAY:
        return f"{subject} may replace people"
    if decision == MAY_NOT:
        return f"{subject} {'do' if several else 'does'} not pass the test for replacing people"
    return f"too few tasks were answered by people to decide about {subject}"


def _followed(found: Any) -> str:
    """Whose label the joint one is, where it is nearly always that of one judge."""
    follows = found.replacement.follows
    if follows is None or follows[1] < SAME * follows[2]:
        return ""
    name, same, n = follows
    twins = [pair for pair in found.pairs if pair.twins and name in (pair.one, pair.other)]
    also = ""
    if twins:
        also = f", a twin of {twins[0].other if twins[0].one == name else twins[0].one}"
    where = f"all {n}" if same == n else f"{same} of {n}"
    return (
        f" The joint label of all judges is that of {name}{also}, on {where} tasks: the other judges hardly change it."
    )
