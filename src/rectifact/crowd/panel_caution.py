"""What forbids to decide by the figures of an evaluation: labels that look selected, and results that contradict."""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rectifact.core.findings import Finding
from rectifact.crowd.advice.audit import MISFIT, RELY
from rectifact.crowd.data.names import in_words, sentence
from rectifact.crowd.events import LEANS
from rectifact.crowd.reference import GOLD, PEOPLE, consensus_classes

MOST_NAMED = 3
"""Groups of tasks that are named; of more, the number is."""


def is_selected(found: Any) -> bool:
    """Whether the labels that rates are measured by do not look like a random sample."""
    return found.rates is not None and bool(found.rates.selected)


def gold_words(found: Any) -> list[str]:
    """That gold labels do not fit the answers, and nothing below can be relied on; empty if they do."""
    return [f"{RELY} {_against_gold(found)} {found.audit.check()}"] if _against_gold(found) else []


def _against_gold(found: Any) -> str:
    return "" if found.audit is None else str(found.audit.contradiction())


def covered_groups(found: Any) -> tuple[str, str]:
    """Groups of tasks with labels that the panel is measured by, and groups without any; empty if not both exist."""
    if found.groups is None or not found.reference:
        return "", ""
    truth = consensus_classes(found.panel) if found.reference == PEOPLE else found.truth
    numbers, names = found.groups
    labelled = np.isin(np.arange(len(names)), numbers[truth >= 0])
    if labelled.all() or not labelled.any():
        return "", ""
    return _groups(names[labelled]), _groups(names[~labelled])


def _groups(names: NDArray[Any]) -> str:
    """A few groups by name, many by their number."""
    return sentence([in_words(name) for name in names]) if len(names) <= MOST_NAMED else f"{len(names)} groups"


def coverage_words(found: Any) -> list[str]:
    """That labels cover some groups of tasks alone, and what that means for the others; empty if they cover all."""
    covered, others = covered_groups(found)
    if not others:
        return []
    return [
        f"{_labels(found).capitalize()} cover {covered} alone: accuracies, biases and figures for all tasks hold for "
        f"{others} only if judges err there as they do in {covered}."
    ]


def _labels(found: Any) -> str:
    return GOLD if found.reference == GOLD else "labels of people"


def selection_words(found: Any) -> list[str]:
    """Why the share cannot be relied on; empty if it can."""
    if not is_selected(found):
        return []
    what = "mean" if found.rates.quantity.is_mean else "share"
    return [f"Do not rely on the {what} below yet. {found.rates.selected}"]


def agreement_caution(found: Any) -> list[str]:
    """Why agreement with people, and the test for replacing them, cannot be relied on; empty if they can.

    Judges and people agree less often on tasks in doubt, whatever rates are measured by.
    """
    rates = found.rates if found.reference == PEOPLE else found.by_people
    if rates is None or not rates.selected or (found.agreement is None and found.replacement is None):
        return []
    if found.reference == PEOPLE:  # the reason was given for the rate
        return ["For the same reason, do not rely yet on agreement with people, or on who may replace them."]
    told = rates.selected.replace(LEANS, "")
    return [f"Do not rely yet on agreement with people, or on who may replace them. {told}"]


def compared(found: Any) -> tuple[pd.DataFrame, bool]:
    """The differences between groups to decide by, and whether these are by people in place of gold.

    They are those with the shorter intervals, unless gold labels look selected and those of people do not.
    """
    differences = found.rates.differences.dropna(subset="difference")
    if found.by_people is None:
        return differences, False
    other = found.by_people.differences.dropna(subset="difference")
    if not len(other) or len(other) < len(differences):
        return differences, False
    preferred = is_selected(found) and not found.by_people.selected
    if preferred or not len(differences) or _mean_width(other) < _mean_width(differences):
        return other, True
    return differences, False


def _mean_width(differences: pd.DataFrame) -> float:
    return float((differences["high"] - differences["low"]).mean())


def contradictions(found: Any) -> dict[tuple[Any, Any], tuple[float, float]]:
    """Differences that gold labels and people find with opposite signs, both by more than chance explains."""
    if found.rates is None or found.by_people is None:
        return {}
    by_gold, by_people = (_significant(rates) for rates in (found.rates, found.by_people))
    both = {pair: (one, by_people[pair]) for pair, one in by_gold.items() if pair in by_people}
    return {pair: signs for pair, signs in both.items() if signs[0] * signs[1] < 0}


def opposed(found: Any) -> dict[tuple[Any, Any], tuple[float, float, str]]:
    """Differences of opposite signs by gold labels and by people, of which one is more than chance explains: whose."""
    return {pair: sides for pair, sides in _one_sided(found).items() if sides[0] * sides[1] < 0}


def half_shown(found: Any) -> dict[tuple[Any, Any], tuple[float, float, str]]:
    """Differences of one sign by gold labels and by people, of which one is more than chance explains: whose."""
    return {pair: sides for pair, sides in _one_sided(found).items() if sides[0] * sides[1] >= 0}


def _one_sided(found: Any) -> dict[tuple[Any, Any], tuple[float, float, str]]:
    """Differences that gold labels or people show, but not both: by gold labels, by people, and who shows it."""
    if found.rates is None or found.by_people is None:
        return {}
    tables = [rates.differences.dropna(subset=["difference"]) for rates in (found.rates, found.by_people)]
    by_gold, by_people = (
        {(row["first"], row["second"]): row["difference"] for row in table.to_dict("records")} for table in tables
    )
    clear = [set(_significant(rates)) for rates in (found.rates, found.by_people)]
    return {
        pair: (by_gold[pair], by_people[pair], "gold labels" if pair in clear[0] else "people")
        for pair in by_gold
        if pair in by_people and (pair in clear[0]) != (pair in clear[1])
    }


def _significant(rates: Any) -> dict[tuple[Any, Any], float]:
    """Differences that are more than chance explains, all comparisons considered."""
    rows = rates.differences.dropna(subset=["difference", "p_value"])
    some = rows[rows["p_value"] * len(rates.differences) < 1 - rates.confidence]
    return {(row["first"], row["second"]): row["difference"] for row in some.to_dict("records")}


def contradiction_words(found: Any) -> list[str]:
    """Sentences about results that contradict each other."""
    opposed = contradictions(found)
    if not opposed:
        return []
    change, unit = found.rates.quantity.change, found.rates.quantity.unit
    return [
        f"{second} minus {first} is {change(by_gold)}{unit} by gold labels and {change(by_people)} as people "
        "label, each more than chance explains: a contradiction."
        for (first, second), (by_gold, by_people) in opposed.items()
    ]


def caution_steps(found: Any) -> list[Finding]:
    """What to do before anything is decided."""
    steps = []
    if against_gold := _against_gold(found):
        steps.append(Finding("warning", MISFIT, against_gold, found.audit.check()))
    covered, others = covered_groups(found)
    if others:
        remedy = f"Label tasks drawn at random from {others} too, about as many as in {covered}."
        steps.append(Finding("warning", f"no {_labels(found)} in {others}", coverage_words(found)[0], remedy))
    if is_selected(found):
        remedy = "Label tasks drawn at random, and give these labels alone as {}"
        own = remedy.format("gold"), remedy.format("--gold (--sample tasks.csv draws them)")
        weighted = (", or weigh those you have with {}.", ".")[found.reference == "people"]
        ways = ("gold_weights of rectifact.rate", "rectifact rate --gold-weights")
        title = f"{_labels(found)} that look selected"
        given = (f"{text}{weighted.format(way)}" for text, way in zip(own, ways, strict=True))
        steps.append(Finding("warning", title, found.rates.selected, *given))
    elif caution := agreement_caution(found):
        remedy = "Let people answer tasks drawn at random, and measure agreement by these answers alone."
        steps.append(Finding("warning", "tasks of people that look selected", caution[0], remedy))
    against = contradictions(found)
    if against:
        pairs = sentence([f"{second} minus {first}" for first, second in against])
        remedy = f"Decide nothing by {pairs} before gold labels of more tasks, drawn at random, agree with people."
        steps.append(Finding("warning", "results that contradict", " ".join(contradiction_words(found)), remedy))
    return steps
