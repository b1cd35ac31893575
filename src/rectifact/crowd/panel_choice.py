"""Which judges may replace people, in words: the best first, and copies as one."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import ndtr

from rectifact.crowd.advice.diagnosis import uninformative
from rectifact.crowd.copies import families_of
from rectifact.crowd.data.names import in_words, plain, sentence
from rectifact.crowd.events import EVERYTHING
from rectifact.crowd.panel_allowance import beyond_allowance, near_allowance
from rectifact.crowd.panel_bias import class_in_words, holm
from rectifact.crowd.panel_evidence import shared_reason, thin_evidence
from rectifact.crowd.panel_joint import as_joint
from rectifact.crowd.panel_leaning import leaning_of
from rectifact.crowd.panel_misses import missed_classes, missed_together
from rectifact.crowd.panel_replacement import TOGETHER
from rectifact.crowd.prediction_powered import deviations
from rectifact.crowd.replacement import FAILS, MAY, PASSES, RESERVED, RULED_OUT, TOO_FEW

CAUTION = [TOO_FEW, MAY, RESERVED, FAILS, RULED_OUT]
"""Verdicts on judges, the most cautious last: other tasks may change that of the test, but not a certain flaw."""

SAME = 0.98
"""Share of tasks on which the joint label is that of one judge, from which on this is said."""

MOST_NAMED = 8
"""Judges with the same decision who are named."""

JOINT = "the joint label of all judges"


def with_reservations(found: Any) -> Any:
    """The test, in which judges that pass, but are not as good as people, have a decision of their own.

    Judges whose bias is certainly larger than allowed, or whose answers hardly depend on the class, are ruled out
    whatever the test says. A judge with a flaw that people answered too few tasks to test keeps that decision, and the
    flaw as a reservation. Twins are one judge: what speaks against one of them speaks against the other.
    """
    test = found.replacement
    if test is None:
        return None
    decisions = test.judges.set_index("judge")["decision"].drop(TOGETHER, errors="ignore")
    own = flaws(found, decisions.index.tolist())
    passed = decisions.index[decisions == PASSES].tolist()
    said = {name: own.get(name) or _by_twin(_family(name, found.pairs), name, own, decisions) for name in passed}
    judges = test.judges.assign(reservation=[said.get(name, "") for name in test.judges["judge"]])
    judges.loc[(judges["judge"] == TOGETHER) & (judges["decision"] != FAILS), "reservation"] = _joint_flaws(found)
    judges["decision"] = judges["decision"].replace(PASSES, MAY)
    for row in judges.index[(judges["decision"] == MAY) & (judges["reservation"] == "")]:
        judges.loc[row, "reservation"] = thin_evidence(found, judges.at[row, "judge"])
    judges.loc[(judges["decision"] == MAY) & (judges["reservation"] != ""), "decision"] = RESERVED
    for row, name in judges["judge"].items():
        why = _ruled_out(found, name, judges.at[row, "decision"], own)
        if why:
            judges.loc[row, ["decision", "reservation"]] = RULED_OUT, why
        elif judges.at[row, "decision"] == TOO_FEW and _systematic(found, name):
            judges.loc[row, "reservation"] = own.get(name, "")
    return replace(test, judges=_with_twins(judges, found.pairs))


def _ruled_out(found: Any, name: Any, decision: str, own: dict[Any, str]) -> str:
    """Why a judge cannot replace people, whatever the test says, or would say if people answered more tasks."""
    if decision == FAILS:
        return ""
    if name == TOGETHER:
        joint = as_joint(found)
        return _joint_flaws(found) if joint is not None and beyond_allowance(joint, name) else ""
    if plain(name) in {plain(silent) for silent in uninformative(found.panel.answers.workers, found.model._model)}:
        return sentence(["gives answers that hardly depend on the class", *([own[name]] if name in own else [])])
    return own.get(name, "") if beyond_allowance(found, name) else ""


def _joint_flaws(found: Any) -> str:
    """What is wrong with the joint label for certain: judges who err in one direction do so together as well."""
    joint = as_joint(found)
    if joint is None:
        return ""
    bias = _shifted(joint, TOGETHER) or _biased(joint, TOGETHER)
    words = [text for text in (bias, leaning_of(joint, TOGETHER), missed_together(found)) if text]
    return sentence(words) if words else ""


def _systematic(found: Any, judge: Any) -> bool:
    """Whether a judge errs in one direction for certain, which more tasks would not mend."""
    return bool(
        _shifted(found, judge) or _biased(found, judge) or leaning_of(found, judge) or judge in missed_classes(found)
    )


def _with_twins(judges: pd.DataFrame, pairs: Any) -> pd.DataFrame:
    """The table in which judges that too few tasks tell about have the verdict on their twins."""
    decided = judges[judges["decision"] != TOO_FEW].set_index("judge")["decision"]
    for row in judges.index[judges["decision"] == TOO_FEW].tolist():
        family = _family(judges.at[row, "judge"], pairs)
        twins = [name for name in family if name in decided.index]
        if twins:
            twin = max(twins, key=lambda name: CAUTION.index(decided[name]))
            judges.loc[row, ["decision", "reservation"]] = decided[twin], f"is a twin of {twin}"
    return judges


def _family(name: Any, pairs: Any) -> list[Any]:
    """A judge and its twins."""
    return next((kin for kin in families_of(pairs) if name in kin), [name])


def _by_twin(family: list[Any], name: Any, own: dict[Any, str], decisions: "pd.Series[Any]") -> str:
    """What speaks against a judge because it does against a twin."""
    for twin in (other for other in family if other != name):
        reason = own.get(twin) or ("does not pass the test" if decisions[twin] == FAILS else "")
        if reason:
            return f"is a twin of {twin}, which {reason}"
    return ""


def replacing(found: Any) -> str:
    """Who may replace people: the best first, and one of each family."""
    if found.replacement is None:
        return ""
    decisions = _by_quality(found.replacement)
    single = _as_one(decisions.drop(TOGETHER, errors="ignore"), found.pairs)
    epsilon = f"(epsilon {found.replacement.epsilon:g})"
    by = {decision: single.index[single == decision].tolist() for decision in CAUTION}
    joint = decisions.get(TOGETHER) if not by[MAY] else None
    who = [JOINT] if joint == MAY else _one_of_each(by[MAY], found.pairs)
    with_joint = {decision: [JOINT] * (joint == decision) for decision in (RESERVED, RULED_OUT)}
    if len(who) > 1 and len(by[MAY]) == len(single):
        who = [f"all {len(single)} judges"]
    if not who and not any(by[one] or with_joint[one] for one in (RESERVED, RULED_OUT)) and by[TOO_FEW]:
        return "people answered too few tasks to say whether judges may replace them"
    parts = [
        f"{sentence(who, MOST_NAMED)} may replace people {epsilon}" if who else f"no judge may replace people {epsilon}"
    ]
    if by[RESERVED] or with_joint[RESERVED]:
        names = [*with_joint[RESERVED], *_one_of_each(by[RESERVED], found.pairs)]
        verb = "pass the test with reservations" if len(names) > 1 else "passes the test with a reservation"
        why = shared_reason(found, [*by[RESERVED], *([TOGETHER] * len(with_joint[RESERVED]))])
        parts.append(f"{sentence(names, MOST_NAMED)} {verb}{why}")
    if who and len(by[FAILS]) == len(single):
        parts.append("no single judge passes the test")
    elif who and by[FAILS]:
        names = _one_of_each(by[FAILS], found.pairs)
        parts.append(f"{sentence(names, MOST_NAMED)} {'does' if len(names) == 1 else 'do'} not pass the test")
    if by[RULED_OUT] or with_joint[RULED_OUT]:
        names = [*with_joint[RULED_OUT], *_one_of_each(by[RULED_OUT], found.pairs)]
        parts.append(f"{sentence(names, MOST_NAMED)} {'is' if len(names) == 1 else 'are'} ruled out by certain flaws")
    if by[TOO_FEW]:
        parts.append(
            f"for {sentence(_one_of_each(by[TOO_FEW], found.pairs), MOST_NAMED)}, people answered too few tasks to say"
        )
    return "; ".join(parts)


def _as_one(decisions: "pd.Series[Any]", pairs: Any) -> "pd.Series[Any]":
    """Decisions by judge, in which twins have the more cautious of theirs that the tasks were enough for."""
    worst = {name: max(decisions[_family(name, pairs)], key=CAUTION.index) for name in decisions.index}
    return pd.Series(worst, dtype=object)


def _allowed(epsilon: float) -> str:
    """What the test at this epsilon allows, in a sentence; empty if nothing.

    Examples
    --------
    >>> _allowed(0.2)
    'Epsilon 0.2 allows a judge to do as well as a person on up to 20 points fewer of the tasks.'
    """
    if not epsilon:
        return ""
    fewer = f"{100 * epsilon:g} {'point' if epsilon == 0.01 else 'points'} fewer"
    return f"Epsilon {epsilon:g} allows a judge to do as well as a person on up to {fewer} of the tasks."


def flaws(found: Any, judges: list[Any]) -> dict[Any, str]:
    """What is wrong with some judges for certain: a bias, a leaning, a class they miss, less accuracy."""
    missed, accuracy, apart = missed_classes(found), _less_accurate(found), _less_agreeing(found)
    said = {}
    for judge in judges:
        bias = _shifted(found, judge) or _biased(found, judge)
        less = accuracy.get(judge, "") or apart.get(judge, "")
        words = [text for text in (bias, leaning_of(found, judge), missed.get(judge, ""), less) if text]
        if words:
            said[judge] = sentence(words)
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
            return f"{_bias_clause(row)}{near_allowance(found, judge, row['class'])}"
    return ""


def _bias_clause(row: Any) -> str:
    often = "often" if row["bias"] > 0 else "rarely"
    than = f"{'more' if row['bias'] > 0 else 'less'} often than people"
    how = than if row["against"] == "people" else f"too {often}"
    return f"says {class_in_words(row['class'])} {100 * abs(row['bias']):.1f} points {how}"


def _shifted(found: Any, judge: Any) -> str:
    """By how much a judge grades too high or too low for certain."""
    for biases in (found.biases, found.biases_by_people):
        if biases is None or biases.shifts is None:
            continue
        shifts = biases.shifts[biases.shifts["group"] == EVERYTHING]
        rows = shifts[shifts["certain"] & (shifts["worker"] == judge)]
        if len(rows):
            row = rows.iloc[0]
            high = "high" if row["shift"] > 0 else "low"
            how = f"{high}er than people" if row["against"] == "people" else f"too {high}"
            return f"grades {abs(row['shift']):.2f} {how} on average"
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


def _less_agreeing(found: Any) -> dict[Any, str]:
    """Judges who agree with people less often than people do with each other, by more than chance explains."""
    rows = found.gaps.iloc[1:].dropna(subset=["low", "high"])
    error = (rows["high"] - rows["low"]).to_numpy(dtype=float) / (2 * deviations(found.biases.confidence))
    p_values = 2 * ndtr(-np.abs(rows["gap"].to_numpy(dtype=float)) / np.maximum(error, 1e-12))
    certain = holm(p_values, found.biases.confidence)
    return {
        row["judge"]: f"agrees with people {100 * -row['gap']:.1f} points less often than they do with each other"
        for row, sure in zip(rows.to_dict("records"), certain, strict=True)
        if sure and row["gap"] < 0
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
        family = _family(name, pairs)
        if name not in seen:
            others = [other for other in names if other in family and other != name]
            copy = "" if not others else " or its copy" if len(others) == 1 else f" or one of its {len(others)} copies"
            shown.append(f"{in_words(name)}{copy}")
        seen |= set(family)
    return shown


def reservation_words(found: Any) -> list[str]:
    """What speaks against judges that pass the test, or rules them out, and whose the joint label is, in sentences."""
    test = found.replacement
    if test is None:
        return []
    said = [
        _allowed(test.epsilon),
        _reasons(test, RESERVED, "Reservations about judges that pass the test for replacing people"),
        _reasons(
            test, RULED_OUT, "Judges that are ruled out as a replacement for people, however many tasks are tested"
        ),
        _reasons(test, TOO_FEW, "Flaws of judges that people answered too few tasks to test"),
        _followed(found),
    ]
    return [words for words in said if words]


def _reasons(test: Any, decision: str, about: str) -> str:
    """What speaks against each judge with this decision, in a sentence; empty if there is none."""
    rows = test.judges[test.judges["decision"] == decision].set_index("judge")["reservation"]
    same: dict[str, list[str]] = {}  # twins have the same flaws
    for name in _by_quality(test).index:
        if rows.get(name):
            same.setdefault(rows[name], []).append(JOINT if name == TOGETHER else in_words(name))
    named = [f"{names[0] if len(names) == 1 else f'each of {sentence(names)}'} {why}" for why, names in same.items()]
    return f"{about}: {'; '.join(named)}." if named else ""


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
        f"The joint label of all judges, without people, is that of {name}{also}, on {where} tasks: the other judges "
        "hardly change it."
    )
