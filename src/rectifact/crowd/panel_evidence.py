"""Judges that pass the test for replacing people where few people or few common tasks are behind it."""

from typing import Any

import pandas as pd

from rectifact.core.findings import Finding
from rectifact.crowd.data.names import in_words, sentence
from rectifact.crowd.panel_replacement import TOGETHER, rounded_up
from rectifact.crowd.replacement import RESERVED

FEWEST_PEOPLE = 3
"""People with whom a judge should be compared: of two, the test only says which of them it resembles."""

FEWEST_TASKS = 50
"""Tasks per person: the authors of the test advise 50 to 100."""

NOTICED = 0.1
"""How much less often than people a judge may agree with them before the tasks should be enough to notice it."""

HAS_BEEN = "has been "


def thin_evidence(found: Any, judge: Any) -> str:
    """What is too little behind a judge that passes, with the number that would be enough; empty if nothing is."""
    people, tasks = _people(found, judge), _tasks(found, judge)
    parts = []
    if people:
        who = "1 person" if people == 1 else f"{people} people"
        parts.append(f"compared with {who} only, where {FEWEST_PEOPLE} would be enough")
    if tasks is not None:
        now, enough = tasks
        parts.append(f"compared on {now} tasks per person only, where about {enough} would be enough")
    return f"{HAS_BEEN}{sentence(parts)}" if parts else ""


def _row(found: Any, judge: Any) -> Any:
    judges = found.replacement.judges
    return judges[judges["judge"] == judge].iloc[0]


def _people(found: Any, judge: Any) -> int:
    """How many people took part, if they are too few; else 0."""
    n = int(_row(found, judge)["people"])
    return n if n < FEWEST_PEOPLE else 0


def _tasks(found: Any, judge: Any) -> tuple[int, int] | None:
    """Tasks per person, and how many would be enough; None if they are enough."""
    now = int(_row(found, judge)["tasks"])
    enough = max(FEWEST_TASKS, rounded_up(now * _unnoticed(found.gaps, judge) ** 2))
    return (now, enough) if now < enough else None


def _unnoticed(gaps: pd.DataFrame, judge: Any) -> float:
    """How many times too long the interval of a gap in agreement is, where it would go unnoticed; else 0."""
    if not len(gaps):
        return 0.0
    own = gaps[gaps["judge"] == judge]
    gap = own.iloc[0] if len(own) else gaps.iloc[0]  # the joint label has none of its own
    half = float(gap["high"] - gap["low"]) / 2
    return half / NOTICED if half > NOTICED and gap["low"] < -NOTICED else 0.0


def shared_reason(found: Any, judges: list[Any]) -> str:
    """Why judges pass with a reservation only, in brackets, where that is the same thin evidence for all of them."""
    reasons = {_row(found, judge)["reservation"] for judge in judges}
    reason = reasons.pop() if len(reasons) == 1 else ""
    return f" ({reason.removeprefix(HAS_BEEN)})" if reason.startswith(HAS_BEEN) else ""


def evidence_steps(found: Any) -> list[Finding]:
    """How many more people, or answers of them, it takes to rely on judges that pass."""
    judges = found.replacement.judges
    rows = judges[(judges["decision"] == RESERVED) & (judges["judge"] != TOGETHER)]
    names = [row["judge"] for row in rows.to_dict("records") if row["reservation"].startswith(HAS_BEEN)]
    if not names:
        return []
    people = [n for n in (_people(found, name) for name in names) if n]
    tasks = [both for both in (_tasks(found, name) for name in names) if both is not None]
    remedies = []
    if people:
        lacking = FEWEST_PEOPLE - min(people)
        more = "1 more person" if lacking == 1 else f"{lacking} more people"
        remedies.append(f"let {more} answer the tasks that the others answered")
    if tasks:
        enough = max(enough for _, enough in tasks)
        remedies.append(f"let each person answer about {enough} tasks that another person answers too")
    remedy = sentence(remedies)
    shown = sentence([in_words(name) for name in names])
    detail = f"{'It passes' if len(names) == 1 else 'They pass'} the test, but too little is behind it to rely on that."
    return [Finding("note", f"little evidence about {shown}", detail, f"{remedy[0].upper()}{remedy[1:]}.")]
