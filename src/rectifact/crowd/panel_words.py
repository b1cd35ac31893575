"""An evaluation in words: a few sentences to decide by, and all of it in sentences."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from rectifact.core.errors import count
from rectifact.crowd.copies import families_of
from rectifact.crowd.data.names import in_words, matched, object_array, plain_text, sentence, who_all
from rectifact.crowd.panel_accuracy import accuracy_sentence
from rectifact.crowd.panel_caution import (
    agreement_caution,
    compared,
    contradiction_words,
    contradictions,
    coverage_words,
    gold_words,
    half_shown,
    is_selected,
    opposed,
    selection_words,
)
from rectifact.crowd.panel_choice import replacing, reservation_words
from rectifact.crowd.panel_gap import agreement_words, gap_words, who
from rectifact.crowd.panel_leaning import judges_leaning
from rectifact.crowd.panel_rates import Rates
from rectifact.crowd.panel_shift import bias_summary
from rectifact.crowd.rate_words import chance_words, pairs_words
from rectifact.crowd.reference import PEOPLE, consensus_classes

__all__ = ["accuracy_sentence", "agreement_words", "decision_words", "gap_words", "who", "words_of"]

MOST_TWINS, MOST_GROUPS, FEW_GROUPS = 6, 10, 3
"""Families that are named, groups of tasks, and groups whose shares the decision names."""


def decision_words(found: Any, *, command: bool = True) -> list[str]:
    """The rate, judges and people, and what to do next, in words of the ``command`` or of Python.

    Rates as people label, and mean grades, have sentences of their own. Where the rate cannot be relied on, or gold
    labels and people contradict each other, the first sentence says so.
    """
    steps = found.next_steps()
    last = ((steps[0].command if command else "") or steps[0].remedy) if steps else ""
    return [
        *gold_words(found),
        *coverage_words(found),
        *selection_words(found),
        *agreement_caution(found),
        *_opposite_words(found),
        *([] if of_grades(found) is None else _opposite_words(of_grades(found))),
        *_rate_sentences(found),
        _people_sentence(found),
        f"Next: {last[0].lower()}{last[1:]}" if steps else "Nothing is left to do: the labels can be used as they are.",
    ]


def words_of(found: Any) -> list[str]:
    """All that was found, in sentences."""
    said = _rate_sentences(found)[:1]
    if found.rates is not None:
        said += _rates_words(found.rates)
    said += two_rates_words(found)
    means = of_grades(found)
    if means is not None:
        said += [*_rates_words(means.rates), *two_rates_words(means)]
    said += [agreement_words(found), accuracy_sentence(found), *reservation_words(found), *twin_words(found)]
    said.append(bias_summary(found))
    if found.audit is not None:
        said.append(f"{found.audit.words()}{_of_these(found)}")
    return [
        f"{words[0].upper()}{words[1:]}" if words.startswith(("all ", "the ")) else words for words in said if words
    ]


def _of_these(found: Any) -> str:
    """That figures of gold labels that look selected are not those of all tasks."""
    chosen = is_selected(found) and found.reference == "gold labels"
    return " These tasks do not look drawn at random: of all labels, another share may be right." if chosen else ""


def _rates_words(rates: Rates) -> list[str]:
    """Rates and differences in sentences, of the first groups where there are many."""
    some = replace(
        rates, half_width=None, rates=rates.rates.head(MOST_GROUPS + 1), differences=rates.differences.head(MOST_GROUPS)
    )
    more = len(rates.rates) - 1 - MOST_GROUPS
    return [*some.words(), *([f"{count(more, 'more group')} in the table of rates."] if more > 0 else [])]


def _rate_sentences(found: Any) -> list[str]:
    """The rate by gold labels or people, as people label, and the mean grade, where there are these."""
    if found.rates is None:
        return [_labels_sentence(found)]
    return [words for words in (_rate_sentence(found), _people_say(found), *_grades_sentences(found)) if words]


def _rate_sentence(found: Any) -> str:
    whole, quantity = found.rates.rates.iloc[0], found.rates.quantity
    start = "As people label, the" if found.reference == "people" else "The"
    by = (
        count(int(whole["labels"]), "gold label")
        if found.reference == "gold labels"
        else f"labels of people for {count(int(whole['labels']), 'task')}"
    )
    text = (
        f"{start} {quantity.what} is {quantity.value(whole['rate'])} ({found.rates.confidence:.0%} interval "
        f"{quantity.ends(whole)}), from {by}{_and_panel(found)}"
        f"{_by_group(found.rates)}"
    )
    differences = found.rates.differences.dropna(subset="difference")
    if len(differences):
        clause = _difference_clause(_clearest(differences), found.rates, len(differences))
        text += f". {clause[0].upper()}{clause[1:]}"
        text += ", if these tasks are like the others after all" if is_selected(found) else ""
    return f"{text}."


def _clearest(differences: pd.DataFrame) -> Any:
    """The difference with the smallest p-value."""
    return differences.iloc[int(np.argmin(differences["p_value"]))]


def _people_say(found: Any) -> str:
    """The share and the difference as people label, where their intervals are shorter."""
    other, (differences, by_people) = found.by_people, compared(found)
    if other is None:
        return ""
    quantity, parts = other.quantity, []
    if narrower(other.rates, found.rates.rates):
        row = other.rates.iloc[0]
        whole = " in all" if len(other.rates) > 1 else ""
        parts.append(f"the {quantity.what} is {quantity.value(row['rate'])} ({quantity.ends(row)}){whole}")
    if by_people and len(differences):
        it = "it" if parts else f"the {quantity.what}"
        parts.append(_difference_clause(_clearest(differences), other, len(differences), it))
    return f"As people label, {'; '.join(parts)}.{_likely(found)}" if parts else ""


def _likely(found: Any) -> str:
    """What to make of a difference that gold labels and people both find, and only one of them for certain."""
    shown = half_shown(found)
    if not shown:
        return ""
    (first, second), (*_, whose) = next(iter(shown.items()))
    which = "it" if len(shown) == 1 and len(found.rates.differences) == 1 else f"that between {first} and {second}"
    return (
        f" Gold labels and people find {which} in the same direction, but only by {whose} is it more than chance "
        "explains: take it as likely, not as certain."
    )


def _opposite_words(found: Any) -> list[str]:
    """That gold labels and people do not agree on which group is better, where it is clear for one of them or both."""
    if contradictions(found):
        return [f"Gold labels and people contradict each other. {' '.join(contradiction_words(found))}"]
    said = []
    for (first, second), (by_gold, by_people, whose) in opposed(found).items():
        change, unit = found.rates.quantity.change, found.rates.quantity.unit
        figures = f"{change(by_gold)}{unit} by gold labels and {change(by_people)} as people label"
        said.append(f"{second} minus {first} is {figures}; only that by {whose} is more than chance explains")
    return [f"Gold labels and people do not agree on which is better: {'; '.join(said[:MOST_TWINS])}."] if said else []


def _grades_sentences(found: Any) -> list[str]:
    """The mean grade beside the share of a class, where there is one."""
    means = of_grades(found)
    if means is None:
        return []
    grades, start = means.rates, "As people label, the" if found.reference == PEOPLE else "The"
    row, quantity = grades.rates.iloc[0], grades.quantity
    text = f"{start} mean grade is {quantity.value(row['rate'])} ({quantity.ends(row)}){_by_group(grades)}"
    differences = grades.differences.dropna(subset="difference")
    if len(differences):
        text += f"; {_difference_clause(_clearest(differences), grades, len(differences))}"
    return [f"{text}.", _people_say(means)]


def of_grades(found: Any) -> Any:
    """The same evaluation with mean grades as its rates; None where these are its rates, or there are none."""
    if found.grades is None or found.grades is found.rates:
        return None
    return replace(found, rates=found.grades, by_people=found.grades_by_people)


def _by_group(rates: Rates) -> str:
    """The shares of a few groups."""
    rows = rates.rates.iloc[1:].dropna(subset="rate").to_dict("records")
    value, ends = rates.quantity.value, rates.quantity.ends
    said = [f"{value(row['rate'])} ({ends(row)}) in {row['group']}" for row in rows]
    return f"; it is {sentence(said)}" if 1 < len(said) <= FEW_GROUPS else ""


def narrower(one: pd.DataFrame, other: pd.DataFrame) -> bool:
    """Whether the intervals of the first rows are shorter in one table than in the other."""
    width, its = (float(table["high"].iloc[0] - table["low"].iloc[0]) for table in (one, other))
    return bool(width < its)


def two_rates_words(found: Any) -> list[str]:
    """What people say, where their interval is shorter than that of the gold labels, and which of both to use."""
    other = found.by_people
    if found.rates is None or other is None:
        return []
    said = contradiction_words(found)
    if narrower(other.rates, found.rates.rates):
        row, quantity = other.rates.iloc[0], other.quantity
        said.append(
            f"As people label, the {quantity.what} is {quantity.value(row['rate'])} ({other.confidence:.0%} "
            f"interval {quantity.ends(row)}), from {_agreed(found, int(row['labels']))}."
        )
        said.append(_which_share(found))
    if compared(found)[1]:
        said += [f"As people label, {words}" for words in other.difference_words()[:MOST_GROUPS]]
        if not contradictions(found) and not half_shown(found):
            said.append(
                "Compare groups as people label: errors that people make alike in all groups make a difference look "
                "smaller, not larger."
            )
    return said


def _which_share(found: Any) -> str:
    """Which of two intervals to use."""
    what = "mean" if found.rates.quantity.is_mean else "share"
    if is_selected(found):
        return (
            f"Use neither interval for the true {what} yet: gold labels do not look like a random sample, and that by "
            f"people has their errors in it{_beside_gold(found)}."
        )
    return (
        f"Use the interval by gold labels for the true {what}: that by people is shorter, but has their errors in it"
        f"{_beside_gold(found)}."
    )


def _agreed(found: Any, n_labels: int) -> str:
    """On how many tasks people agree, and on how many they tie."""
    answers, is_person = found.panel.answers, found.panel.is_person[found.panel.answers.worker]
    ties = len(np.intersect1d(answers.task[is_person], answers.task[~is_person])) - n_labels
    told = f", without {count(ties, 'task')} on which they tie" if ties > 0 else ""
    return f"{count(n_labels, 'task')} that people labelled{told}"


def _beside_gold(found: Any) -> str:
    if found.people_on_gold is None:
        return ""
    wrong, n = found.people_on_gold
    asked = _on_question(found)
    classes = " or ".join(plain_text(name) for name in found.rates.positive)
    labels, question = count(n, "gold label"), f"on whether they are {classes}"
    if not wrong:
        return f", and {labels} that people confirm are too few to rule these out"
    if asked == wrong or found.rates.quantity.is_mean:
        return f" (their consensus differs from {wrong} of {labels})"
    if not asked:
        return f" (their consensus agrees with all {labels} {question}, and differs from {wrong} in the exact label)"
    return f" (their consensus differs from {asked} of {labels} {question}, and from {wrong} in the exact label)"


def _on_question(found: Any) -> int:
    """From how many gold labels the consensus of people differs on the question whose share is asked for."""
    people, classes = consensus_classes(found.panel), found.panel.answers.classes
    both = (people >= 0) & (found.truth >= 0)
    positive = matched(classes, object_array(list(found.rates.positive))) >= 0
    return int((positive[people[both]] != positive[found.truth[both]]).sum())


def _and_panel(found: Any) -> str:
    if found.reference == "people":
        return f" and {count(found.panel.n_judges, 'judge')}"
    return f"{',' if found.panel.has_people else ' and'} {who(found)}"


def _difference_clause(row: Any, rates: Rates, n: int, it: str = "it") -> str:
    more = "higher" if row["difference"] >= 0 else "lower"
    shown = f"in {row['second']} {it} is {rates.quantity.size(row['difference'])} {more} than in {row['first']}"
    verdict = chance_words(row, n, rates.confidence)
    which = "which is " if verdict.startswith("not") else ""
    return f"{shown} ({rates.quantity.changes(row)}{pairs_words(row)}), {which}{verdict}"


def _labels_sentence(found: Any) -> str:
    """What the panel says, where nobody knows whether it is right."""
    model = found.model
    share = pd.Series(model.labels_).value_counts(normalize=True)
    common = "; ".join(f"{plain_text(name)}: {part:.1%}" for name, part in share.head(3).items())
    text = f"{who(found).capitalize()} label {count(len(model.tasks_), 'task')} ({common})"
    if not found.reference:
        return f"{text}, but without gold labels or people nobody knows how far they are right."
    return f"{text}; no rate is estimated, because no class is named."


def _people_sentence(found: Any) -> str:
    parts = [agreement_words(found, short=True), replacing(found), judges_leaning(found)]
    families = families_of(found.pairs)
    parts += [f"{who_all(names)} are {_alike(names)}, and count as one" for names in families[:2]]
    text = "; ".join(part.rstrip(".") for part in parts if part)
    return f"{text}." if text else "No two workers answered the same tasks."


def _alike(names: list[Any]) -> str:
    return "twins" if len(names) == 2 else "copies of each other"


def twin_words(found: Any) -> list[str]:
    """Judges who err alike: twins by family, and others together."""
    twins, others = ([pair for pair in found.pairs if pair.twins is kind] for kind in (True, False))
    said = [
        f"{who_all(names)} are {_alike(names)}: they share {shared_errors(found.pairs, names)} of their errors, and "
        "count as one."
        for names in families_of(twins)[:MOST_TWINS]
    ]
    if others:
        most = max(others, key=lambda pair: pair.shared)
        pairs = f"{len(others)} {'other ' if twins else ''}pairs of judges err alike"
        named = f"{in_words(most.one)} and {in_words(most.other)}"
        start = f"{pairs}, {named} most" if len(others) > 1 else f"{named} err alike"
        said.append(
            f"{start}, more often than chance explains (they share {most.shared:.0%} of their errors): their agreement "
            "counts for less."
        )
    return said


def shared_errors(pairs: Any, names: list[Any]) -> str:
    """The share of errors that members of a family have in common, from the least to the most of the pairs."""
    shares = [pair.shared for pair in pairs if pair.twins and pair.one in names]
    least, most = f"{min(shares):.0%}", f"{max(shares):.0%}"
    return least if least == most else f"{least} to {most}"


def by_words(rates: Rates | None, groups: Any, reference: str) -> tuple[str, str] | None:
    """Why groups that were given are not compared, and what is missing; None where they are."""
    if groups is None:
        return None
    if len(groups[1]) < 2:
        return f"All tasks that have a group are in {groups[1][0]!r}.", "Name a column with two groups or more"
    if rates is not None:
        return None
    if not reference:
        return (
            "Groups are compared by a rate, which takes gold labels or people.",
            "Give gold labels, or say who the people are",
        )
    return "Groups are compared by a rate, and no class is named for it.", "Name the class whose share you want"
