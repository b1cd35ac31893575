"""What to do next after an evaluation: rules that look at what was found, the most important first."""

from typing import Any

import numpy as np
import pandas as pd

from rectifact.core.errors import count
from rectifact.core.findings import Finding
from rectifact.crowd.data.names import sentence
from rectifact.crowd.replacement import MAY, MAY_NOT

FIRST_LABELS = 50
"""Labels to begin with, where there are none."""

IN_DOUBT = 0.8
"""Confidence below which a label is called doubtful."""


def next_steps(found: Any) -> list[Finding]:
    """What to do next, the most important first."""
    return [
        *_reference_steps(found),
        *_precision_steps(found),
        *_people_steps(found),
        *_twin_steps(found),
        *_doubt_steps(found),
    ]


def _reference_steps(found: Any) -> list[Finding]:
    if not found.reference:
        remedy = f"Let a person label {FIRST_LABELS} tasks drawn at random, and give them as {{}}."
        return [
            Finding(
                "problem",
                "nobody knows how far the judges are right",
                "Judges that agree may all be wrong in the same way; only labels of people show it.",
                remedy.format("gold"),
                remedy.format("--gold"),
            )
        ]
    if found.rates is None:
        remedy = "Name the class whose share you want with {}; the classes are " + (
            f"{sentence(found.panel.answers.classes.tolist())}."
        )
        return [
            Finding("note", "no rate", "No class was named.", remedy.format("positive"), remedy.format("--positive"))
        ]
    return []


def _precision_steps(found: Any) -> list[Finding]:
    """Labels that the asked half-width takes, for the rate and for the most uncertain difference."""
    if found.rates is None or found.rates.half_width is None:
        return []
    steps, points = [], f"{100 * found.rates.half_width:g} points to both sides"
    rates, differences = found.rates.rates, found.rates.differences
    rows = [
        ("the rate", rates.iloc[0]),
        *((f"{row['second']} minus {row['first']}", row) for _, row in differences.iterrows()),
    ]
    for name, row in rows[:3]:
        needed, labels = row["labels_needed"], int(row["labels"])
        if pd.isna(needed) or needed <= labels:
            continue
        now = f"The interval of {name} is {50 * (row['high'] - row['low']):.1f} points to both sides now."
        if np.isinf(needed):
            remedy = (
                f"For {points} of {name} you need more tasks: labels of all {int(row['tasks'])} would not be enough."
            )
        else:
            more = f"Label about {int(needed) - labels} more tasks, drawn at random"
            remedy = f"{more}, for an interval of {name} of {points}."
        steps.append(Finding("note", f"{name} could be more precise", now, remedy))
    return steps


def _people_steps(found: Any) -> list[Finding]:
    n_people = int(found.panel.is_person.sum())
    if n_people < 2:
        remedy = f"Let two or three people answer the same {FIRST_LABELS} tasks, and give their answers as {{}}."
        detail = "Whether judges agree with people as people do with each other, and may replace them, is not known"
        return [
            Finding(
                "note",
                f"{'no' if not n_people else 'one'} person to compare judges with",
                f"{detail}: that takes two people or more.",
                remedy.format("humans"),
                remedy.format("--humans"),
            )
        ]
    test = found.replacement
    if test is None:
        reason = " ".join(found.unknown)
        return [Finding("note", "judges could not be tested", reason, "Let people answer tasks that judges answered.")]
    needed = test.judges["tasks_needed"].dropna()
    needed = needed[np.isfinite(needed)]
    few = test.judges[~test.judges["decision"].isin([MAY, MAY_NOT])]["judge"].tolist()
    if not few:
        return []
    more = f"about {float(f'{needed.max():.2g}'):.0f} tasks" if len(needed) else f"at least {test.least} tasks"
    return [
        Finding(
            "note",
            f"too few answers of people to decide about {sentence(few)}",
            "Each person is compared on the tasks that another person answered too.",
            f"Let each person answer {more} that another person answers too.",
        )
    ]


def _twin_steps(found: Any) -> list[Finding]:
    return [
        Finding(
            "warning",
            f"{pair.one} and {pair.other} are twins",
            f"They share {pair.shared:.0%} of their errors, far more than chance explains.",
            f"Ask only one of {pair.one} and {pair.other}: the other tells next to nothing new.",
        )
        for pair in found.pairs[:3]
        if pair.twins
    ]


def _doubt_steps(found: Any) -> list[Finding]:
    doubtful = int((found.model.probas_.max(axis=1) < IN_DOUBT).sum())
    if not doubtful:
        return []
    remedy = f"Let people check the {count(doubtful, 'label')} in doubt, the most doubtful first{{}}."
    return [
        Finding(
            "note",
            f"{count(doubtful, 'label')} in doubt",
            f"{count(doubtful, 'task')} of {len(found.model.tasks_)} have a confidence below {IN_DOUBT:.0%}.",
            remedy.format(": model.next_labels() lists them"),
            remedy.format(": --plan lists them"),
        )
    ]
