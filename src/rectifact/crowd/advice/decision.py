"""The result of an evaluation in words: three sentences to decide by, and all of it in sentences."""

from dataclasses import replace
from typing import Any

import pandas as pd

from rectifact.core.errors import count
from rectifact.crowd.data.names import sentence
from rectifact.crowd.events import EVERYTHING
from rectifact.crowd.panel_replacement import TOGETHER
from rectifact.crowd.replacement import MAY, MAY_NOT, TOO_FEW

OBSERVED = "observed agreement"
MOST_TWINS = 6
"""Pairs that are named."""

VERBS = (
    (MAY, "may replace people", "may replace people"),
    (MAY_NOT, "does not pass the test for replacing people", "do not pass the test for replacing people"),
    (TOO_FEW, "has too few tasks to say", "have too few tasks to say"),
)


def decision_words(found: Any) -> list[str]:
    """Three sentences: the rate, judges and people, and what to do next."""
    steps = found.next_steps()
    last = (
        steps[0].command or steps[0].remedy if steps else "Nothing is left to do: the labels can be used as they are."
    )
    return [_rate_sentence(found), _people_sentence(found), f"Next: {last[0].lower()}{last[1:]}" if steps else last]


def words_of(found: Any) -> list[str]:
    """All that was found, in sentences."""
    said = [_rate_sentence(found)]
    if found.rates is not None:
        said += replace(found.rates, half_width=None).words()
    said += [agreement_words(found), replacement_words(found), *twin_words(found), bias_summary(found)]
    if found.audit is not None:
        said.append(found.audit.words())
    return [f"All{words[3:]}" if words.startswith("all ") and "judges" in words else words for words in said if words]


def who(found: Any) -> str:
    """The panel in words."""
    n_people = int(found.panel.is_person.sum())
    judges = count(found.panel.n_judges, "judge")
    return judges if not n_people else f"{judges} and {n_people} {'person' if n_people == 1 else 'people'}"


def _rate_sentence(found: Any) -> str:
    if found.rates is None:
        return _labels_sentence(found)
    what = " or ".join(map(str, found.rates.positive))
    whole = found.rates.rates.iloc[0]
    start = "As people label, the" if found.reference == "people" else "The"
    by = (
        f"{count(int(whole['labels']), 'gold label')}"
        if found.reference == "gold labels"
        else (f"labels of people for {count(int(whole['labels']), 'task')}")
    )
    text = (
        f"{start} share of {what} is {whole['rate']:.1%} ({found.rates.confidence:.0%} interval {whole['low']:.1%} to "
        f"{whole['high']:.1%}), from {by}{_and_panel(found)}"
    )
    differences = found.rates.differences.dropna(subset="difference")
    if len(differences):
        row = differences.loc[differences["p_value"].idxmin()]
        text += f"; {_difference_clause(row, found.rates.confidence, len(differences))}"
    return f"{text}."


def _and_panel(found: Any) -> str:
    if found.reference == "people":
        return f" and {count(found.panel.n_judges, 'judge')}"
    return f"{',' if found.panel.has_people else ' and'} {who(found)}"


def _difference_clause(row: Any, confidence: float, n: int) -> str:
    more = "higher" if row["difference"] >= 0 else "lower"
    ends = f"{100 * row['low']:+.1f} to {100 * row['high']:+.1f}"
    shown = f"in {row['second']} it is {100 * abs(row['difference']):.1f} points {more} than in {row['first']} ({ends})"
    certain = row["p_value"] * n < 1 - confidence
    return f"{shown}, more than chance explains" if certain else f"{shown}, which is not more than chance explains"


def _labels_sentence(found: Any) -> str:
    """What the panel says, where nobody knows whether it is right."""
    model = found.model
    share = pd.Series(model.labels_).value_counts(normalize=True)
    common = "; ".join(f"{name}: {part:.1%}" for name, part in share.head(3).items())
    text = f"{who(found).capitalize()} label {count(len(model.tasks_), 'task')} ({common})"
    if not found.reference:
        return f"{text}, but without gold labels or people nobody knows how far they are right."
    return f"{text}; without a class named as positive there is no rate."


def _people_sentence(found: Any) -> str:
    parts = [agreement_words(found, short=True), _replacing(found)]
    twins = [pair for pair in found.pairs if pair.twins]
    parts += [f"{pair.one} and {pair.other} are twins, and count as one" for pair in twins[:2]]
    text = "; ".join(part.rstrip(".") for part in parts if part)
    return f"{text}." if text else "No two workers answered the same tasks."


def _replacing(found: Any) -> str:
    """Who may replace people, briefly."""
    if found.replacement is None:
        return ""
    decisions = found.replacement.judges.set_index("judge")["decision"].drop(TOGETHER, errors="ignore")
    names = decisions.index[decisions == MAY].tolist()
    epsilon = f"(epsilon {found.replacement.epsilon:g})"
    if not names and (decisions == TOO_FEW).any():
        return "too few tasks were answered by people to say whether judges may replace them"
    if not names:
        return f"no judge passes the test for replacing people {epsilon}"
    everyone = "all of them" if len(names) == len(decisions) > 1 else sentence(names, 4)
    return f"{everyone} may replace people {epsilon}"


def agreement_words(found: Any, *, short: bool = False) -> str:
    """How far judges agree with people, beside people with each other; or judges among each other."""
    if found.agreement is None:
        return ""
    rows = found.agreement.overall
    rows = rows[rows["coefficient"] == OBSERVED].set_index("among")
    if not found.panel.has_people:
        one = rows.loc["workers"] if "workers" in rows.index else None
        if one is None or pd.isna(one["value"]):
            return ""
        return f"Two judges agree on {one['value']:.1%} of the tasks{_ends(one)}."
    both = rows.loc["judges with people"]
    if pd.isna(both["value"]):
        return ""
    text = f"Judges agree with people on {both['value']:.1%} of the tasks{'' if short else _ends(both)}"
    if not len(found.gaps) or pd.isna(found.gaps["low"].iloc[0]):
        return f"{text}; too few tasks were answered by two people to say how far people agree with each other."
    return f"{text}, {gap_words(found.gaps.iloc[0])}."


def gap_words(row: Any) -> str:
    """How far judges agree with people, compared with people, as the end of a sentence."""
    ends = f"{100 * row['low']:+.1f} to {100 * row['high']:+.1f}"
    how = "more often" if row["gap"] >= 0 else "less often"
    text = f"{100 * abs(row['gap']):.1f} points {how} than people with each other ({ends})"
    return text if row["low"] > 0 or row["high"] < 0 else f"{text}, which is not more than chance explains"


def _ends(row: Any) -> str:
    return "" if pd.isna(row["low"]) else f" ({row['low']:.1%} to {row['high']:.1%})"


def replacement_words(found: Any) -> str:
    """Which judges may replace people, in one sentence."""
    test = found.replacement
    if test is None:
        return ""
    decisions = test.judges.set_index("judge")["decision"]
    joint = decisions.get(TOGETHER)
    decisions = decisions.drop(TOGETHER, errors="ignore")
    parts = []
    for decision, verb, verbs in VERBS:
        names = decisions.index[decisions == decision].tolist()
        if len(names) == len(decisions) > 1:
            parts.append(f"all {len(names)} judges {'and their joint label ' if joint == decision else ''}{verbs}")
            joint = None if joint == decision else joint
        elif names:
            parts.append(f"{sentence(names)} {verb if len(names) == 1 else verbs}")
    if joint is not None:
        parts.append(f"their joint label {next(verb for decision, verb, _ in VERBS if decision == joint)}")
    return f"{', '.join(parts)} (epsilon {test.epsilon:g})."


def accuracy_words(report: pd.DataFrame) -> str:
    """Who is most accurate, as far as the intervals tell.

    Examples
    --------
    >>> import pandas as pd
    >>> report = pd.DataFrame({"worker": ["gpt", "mini"], "accuracy": [0.9, 0.7]})
    >>> accuracy_words(report.assign(accuracy_low=[0.85, 0.65], accuracy_high=[0.95, 0.75]))
    'gpt is most accurate (90.0%, 85.0% to 95.0%), and mini is less accurate.'
    """
    rows = report.sort_values("accuracy", ascending=False, kind="stable")
    best = rows.iloc[0]
    level = rows["accuracy_high"] >= best["accuracy_low"]
    first, others = rows[level], rows.loc[~level, "worker"].tolist()
    if len(first) == 1:
        text = f"{best['worker']} is most accurate ({best['accuracy']:.1%}, {best['accuracy_low']:.1%} to "
        text += f"{best['accuracy_high']:.1%})"
    else:
        span = f"{first['accuracy'].iloc[-1]:.1%} to {best['accuracy']:.1%}"
        most = "are most accurate, and" if others else ""
        text = " ".join(f"{sentence(first['worker'].tolist())} {most} cannot be told apart ({span} right)".split())
    return (
        f"{text}, and {sentence(others)} {'is' if len(others) == 1 else 'are'} less accurate." if others else f"{text}."
    )


def twin_words(found: Any) -> list[str]:
    """Judges who err alike: twins one by one, and others together."""
    twins, others = ([pair for pair in found.pairs if pair.twins is kind] for kind in (True, False))
    said = [
        f"{pair.one} and {pair.other} are twins: they share {pair.shared:.0%} of their errors, and count as one."
        for pair in twins[:MOST_TWINS]
    ]
    if others:
        most = max(others, key=lambda pair: pair.shared)
        pairs = f"{len(others)} {'other ' if twins else ''}pairs of judges err alike"
        named = f"{most.one} and {most.other}"
        start = f"{pairs}, {named} most" if len(others) > 1 else f"{named} err alike"
        said.append(
            f"{start}, more often than chance explains (they share {most.shared:.0%} of their errors): their agreement "
            "counts for less."
        )
    return said


def bias_summary(found: Any) -> str:
    """The certain biases, or that there is none."""
    words = found.biases.words()
    if words:
        return " ".join(words[:3])
    table = found.biases.table
    judges = [found.panel.name(w) for w in range(found.panel.n_judges)]
    whole = table[(table["group"] == EVERYTHING) & table["worker"].isin(judges)]
    if not len(whole):
        return ""
    reach = max(whole["high"].max(), -whole["low"].min())
    return f"No bias of a judge is more than chance explains; intervals reach up to {100 * reach:.0f} points."
