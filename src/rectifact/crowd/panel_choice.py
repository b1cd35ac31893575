"""Which judges may replace people, in words: the best first, and copies as one."""

from typing import Any

import pandas as pd

from rectifact.crowd.copies import families_of
from rectifact.crowd.data.names import sentence
from rectifact.crowd.panel_replacement import TOGETHER
from rectifact.crowd.replacement import MAY, MAY_NOT, TOO_FEW

SAME = 0.98
"""Share of tasks on which the joint label is that of one judge, from which on this is said."""

JOINT = "the joint label of all judges"


def replacing(found: Any) -> str:
    """Who may replace people, briefly: the best first, and one of each family."""
    if found.replacement is None:
        return ""
    decisions = _by_quality(found.replacement)
    single = decisions.drop(TOGETHER, errors="ignore")
    epsilon = f"(epsilon {found.replacement.epsilon:g})"
    names = _one_of_each(single.index[single == MAY].tolist(), found.pairs)
    if len(names) > 1 and (single == MAY).all():
        names = ["all of them"]
    joint = decisions.get(TOGETHER) == MAY
    open_ = single.index[single == TOO_FEW].tolist()
    if not names and not joint and open_:
        return "people answered too few tasks to say whether judges may replace them"
    if not names and not joint:
        return f"no judge passes the test for replacing people {epsilon}"
    who_may = names if names else [JOINT]
    text = f"{sentence(who_may, 4)} may replace people {epsilon}"
    if names:
        return text
    if not open_:
        return f"{text}, but no single judge"
    return f"{text}; for {sentence(_one_of_each(open_, found.pairs), 4)} alone, people answered too few tasks to say"


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
    return f"{'; '.join(parts)} (alternative annotator test, epsilon {test.epsilon:g}).{_followed(found)}"


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
