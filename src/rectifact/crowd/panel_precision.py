"""More labels, or more tasks, for shorter intervals after an evaluation."""

from typing import Any

import numpy as np
import pandas as pd

from rectifact.core.errors import count
from rectifact.core.findings import Finding
from rectifact.crowd.data.names import in_words, sentence
from rectifact.crowd.panel_caution import compared, is_selected
from rectifact.crowd.prediction_powered import LEAST_LABELS
from rectifact.crowd.rate_words import best_half_width
from rectifact.crowd.reference import GOLD

FIRST_LABELS = 50
"""Labels to begin with, where there are none."""

MOST_NAMED = 3
"""Groups that are named; of more, the number is."""


def precision_steps(found: Any) -> list[Finding]:
    """Labels that the asked half-width takes, for the rate and for the differences; first in groups with few."""
    if found.rates is None or found.rates.half_width is None:
        return []
    quantity = found.rates.quantity
    steps, wanted, whole = _few_labels(found), _wanted(found), f"the {quantity.noun}"
    differences, by_people = compared(found)
    whose = found.by_people if by_people else found.rates
    rows = [] if is_selected(found) else [(whole, found.rates.rates.iloc[0], found.rates)]
    if not whose.selected:
        rows += [(f"{row['second']} minus {row['first']}", row, whose) for _, row in differences.iterrows()]
    for name, row, rates in rows[:3]:
        needed, labels = row["labels_needed"], int(row["labels"])
        if pd.isna(needed) or needed <= labels:
            continue
        labels_of = "gold labels" if rates.reference == GOLD else "labels of people"
        by = "" if found.by_people is None else f" by {labels_of}"
        half = quantity.size((row["high"] - row["low"]) / 2)
        now = f"The interval of {name}{by} now reaches {half} on either side."
        if np.isinf(needed):
            best = quantity.size(best_half_width(row, rates))
            remedy = (
                f"Add tasks if you need {wanted} for {name}{by}: the {int(row['tasks'])} tasks that there are cannot "
                f"give it, and {labels_of if by else 'labels'} for all of them would give about {best}."
            )
        else:
            more = f"{_ask(rates)} about {count(int(needed) - labels, 'more task')}, drawn at random"
            remedy = f"{more}, for an interval of {name} of {wanted}."
        draws = "" if np.isinf(needed) or name != whole else " --sample tasks.csv draws them."
        steps.append(Finding("note", f"{name} could be more precise", now, remedy, f"{remedy}{draws}"))
    return steps


def _wanted(found: Any) -> str:
    return f"{found.rates.quantity.wanted(found.rates.half_width)} on either side"


def _ask(rates: Any) -> str:
    return "Get gold labels of" if rates.reference == GOLD else "Let people label"


def _few_labels(found: Any) -> list[Finding]:
    """Groups with so few labels that judges cannot help there, where the interval is longer than was asked for."""
    if is_selected(found):
        return []
    rows = found.rates.rates.iloc[1:]
    few = rows["labels"].between(1, LEAST_LABELS - 1) & (rows["tasks"] >= LEAST_LABELS)
    rows = rows[few & ~(rows["labels_needed"] <= rows["labels"])]
    if not len(rows):
        return []
    named = [in_words(name) for name in rows["group"]]
    where = sentence(named) if len(named) <= MOST_NAMED else f"{len(named)} groups"
    labels = "gold labels" if found.rates.reference == GOLD else "tasks that people labelled"
    most, have = min(FIRST_LABELS, int(rows["tasks"].min())), sorted({int(n) for n in rows["labels"]})
    now = str(have[0]) if len(have) == 1 else f"{have[0]} to {have[-1]}"
    until = f"until {'it has' if len(named) == 1 else 'each of them has'} {LEAST_LABELS}"
    better = f", better {most}" if most > LEAST_LABELS else ""
    alone = f"now {now}, which alone decide there"
    detail = f"Judges do not make the interval in {where} shorter before there are {LEAST_LABELS} {labels}."
    remedy = f"{_ask(found.rates)} more tasks in {where}, drawn at random, {until}{better} ({alone})."
    return [Finding("note", f"few {labels} in {where}", detail, remedy)]
