"""Judges whose bias differs between groups of tasks, in words: what they lean to, and in which group."""

from typing import Any

import pandas as pd

from rectifact.crowd.data.names import in_words, sentence
from rectifact.crowd.panel_bias import MODEL, Biases, class_in_words

MOST_LEANINGS = 4
"""Leanings that are named in the results."""

MOST_JUDGES = 8
"""Judges whose leaning the decision names."""


def leaning_sentences(found: Biases) -> list[str]:
    """The largest leaning of each worker that is certain, in sentences; those of mean grades first."""
    first: dict[Any, Any] = {}
    for rows in _tables(found):
        first = {worker: _largest(rows[rows["worker"] == worker]) for worker in rows["worker"].unique()} | first
    return [leaning_words(row, found.confidence) for row in first.values()]


def leaning_words(row: Any, confidence: float) -> str:
    """A leaning as a sentence, which begins with the group where the class is said more.

    Examples
    --------
    >>> row = {"worker": "gpt", "class": "pass", "first": "v1", "second": "v2", "change": -0.13}
    >>> print(leaning_words(row | {"low": -0.21, "high": -0.05, "against": "people"}, 0.95))
    gpt leans to pass more in v1 than in v2, by 13.0 points, beyond the difference that people see (95% interval 5.0 to
    21.0).
    >>> row = {"worker": "gpt", "first": "v1", "second": "v2", "change": 0.7, "low": 0.4, "high": 1.0}
    >>> print(leaning_words(row | {"against": "gold labels"}, 0.95))
    gpt leans to higher grades in v2 than in v1, by 0.70, beyond the true difference (95% interval 0.40 to 1.00).
    """
    sign = 1 if row["change"] >= 0 else -1
    low, high = (_figure(row, end) for end in sorted([sign * row["low"], sign * row["high"]]))
    return (
        f"{in_words(row['worker'])} {_what(row)}, by {_size(row)}, {_beyond(row['against'])} ({confidence:.0%} "
        f"interval {low} to {high})."
    )


def leaning_of(found: Any, judge: Any, *, size: bool = True) -> str:
    """The largest leaning of a judge by gold labels or else by people, as a clause; empty if none is certain."""
    for biases in (found.biases, found.biases_by_people):
        if biases is None:
            continue
        for rows in _tables(biases):
            own = rows[(rows["worker"] == judge) & (rows["against"] != MODEL)]
            if len(own):
                row = _largest(own)
                return f"{_what(row)} (by {_size(row)})" if size else _what(row)
    return ""


def judges_leaning(found: Any) -> str:
    """Which judges lean to something more in one group than in another; empty if none does for certain."""
    judges = [found.panel.name(w) for w in range(found.panel.n_judges)]
    said = {judge: leaning_of(found, judge, size=False) for judge in judges}
    words = [f"{in_words(judge)} {what}" for judge, what in said.items() if what]
    return sentence(words, MOST_JUDGES) if words else ""


def _tables(found: Biases) -> list[pd.DataFrame]:
    """The changes that are certain: of mean grades, and of classes."""
    tables = (found.shift_changes, found.changes)
    return [table[table["certain"]] for table in tables if table is not None]


def _largest(rows: Any) -> Any:
    """The largest change, of the classes that were asked for if they have one."""
    asked = rows[rows["asked"].astype(bool)] if "asked" in rows else rows
    some = asked if len(asked) else rows
    return some.loc[some["change"].abs().idxmax()]


def _what(row: Any) -> str:
    more, less = (row["second"], row["first"])[:: 1 if row["change"] >= 0 else -1]
    if "class" not in row:
        return f"leans to higher grades in {more} than in {less}"
    return f"leans to {class_in_words(row['class'])} more in {more} than in {less}"


def _size(row: Any) -> str:
    return f"{_figure(row, abs(row['change']))}{' points' if 'class' in row else ''}"


def _figure(row: Any, value: float) -> str:
    return f"{100 * value:.1f}" if "class" in row else f"{value:.2f}"


def _beyond(against: str) -> str:
    if against == MODEL:
        return "beyond the true difference, if the model is right"
    return "beyond the difference that people see" if against == "people" else "beyond the true difference"
