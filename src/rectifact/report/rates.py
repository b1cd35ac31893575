"""Report on rates: corrected shares with their intervals, differences between groups, and labels that are needed."""

from collections.abc import Sequence
from typing import Any, Literal

import pandas as pd

from rectifact.crowd.panel_rates import Rates
from rectifact.crowd.rate_words import needed_words
from rectifact.report.blocks import Block, Column, Facts, Report, Section, Table
from rectifact.report.charts import ranges
from rectifact.report.trust import notes_table

MOST_NAMED = 20
"""Groups on a chart."""

MOST_COMPARED = 2
"""Differences on the first screen."""


def rates_report(found: Rates, notes: Sequence[str] = ()) -> Report:
    """Sections for the rates and, where there are groups, for their differences; ``notes`` were said on the way.

    Examples
    --------
    >>> from rectifact import rate
    >>> from rectifact.datasets import make_crowd
    >>> crowd = make_crowd(300, 5, 2, random_state=0)
    >>> report = rates_report(rate(crowd.answers, crowd.truth[:60], positive=1))
    >>> [section.title for section in report.sections]
    ['Share of 1']
    """
    sections = [_rates(found)]
    if len(found.differences):
        sections.append(_differences(found))
    words = (
        f"{_named(found)}. {_deciding(found)} decide; {found.panel} make the interval shorter. Intervals have "
        f"a probability of {found.confidence:.0%}: they say what other tasks of the same kind would give."
    )
    if notes:
        sections.append(Section("About the data", "", notes_table(notes)))
    first = found.words()[: 2 if found.contradicted else 1]
    main = [*first, *found.difference_words()[:MOST_COMPARED]]
    main += needed_words(found, [found.rates.head(1), found.differences.head(MOST_COMPARED)])
    return Report("Rates", words, sections, main=main)


def _named(found: Rates) -> str:
    """What was estimated, as a title."""
    return f"{found.quantity.what[0].upper()}{found.quantity.what[1:]}"


def _deciding(found: Rates) -> str:
    return "Labels of people" if found.reference == "people" else f"{found.reference[:1].upper()}{found.reference[1:]}"


def _rates(found: Rates) -> Section:
    whole = found.rates.iloc[0]
    quantity = found.quantity
    alone = "mean of their grades" if quantity.is_mean else "mean share of their answers"
    facts = [
        (quantity.what, quantity.value(whole["rate"]), quantity.ends(whole)),
        (f"{found.panel} alone", quantity.value(whole["judge_rate"]), f"{alone}, not corrected"),
        (_deciding(found).lower(), f"{whole['labels']}", f"worth {whole['worth']:.0f} without {found.panel}"),
    ]
    sentences = Table("In words", [Column("result")], [[words] for words in found.words()], folded=True)
    words = (
        f"The corrected {quantity.noun}, with that by {found.reference} alone beside it. Answers of {found.panel} "
        f"alone have no interval: how wrong they are is only known from {_deciding(found).lower()}."
    )
    blocks: list[Block] = [Facts(facts), _chart(found), sentences, _rate_table(found)]
    return Section(_named(found), words, blocks)


def _chart(found: Rates) -> Block:
    """Three points for each group: corrected, people alone, judges alone."""
    names, points, colours = [], [], []
    for row in found.rates.head(MOST_NAMED).to_dict("records"):
        alone = row["judge_rate"]
        names += [str(row["group"]), f"{row['group']}: {found.reference}", f"{row['group']}: {found.panel}"]
        points += [
            (row["rate"], row["low"], row["high"]),
            (row["human_rate"], row["human_low"], row["human_high"]),
            (alone, alone, alone),
        ]
        colours += [0, 1, 5]
    values, low, high = zip(*points, strict=True)
    whole, value = found.rates.iloc[0], found.quantity.value
    text = (
        f"All tasks: {value(whole['rate'])} corrected, {value(whole['human_rate'])} by {found.reference} alone, "
        f"{value(whole['judge_rate'])} by {found.panel} alone."
    )
    is_mean = found.quantity.is_mean
    chart = ranges(_named(found), names, values, low, high, "grade" if is_mean else "share", text, colours)
    return chart if is_mean else chart.with_y(form="share")


def _rate_table(found: Rates) -> Table:
    kind = _kind(found)
    columns = [
        Column("group"),
        Column(found.quantity.noun, kind, "corrected"),
        Column("low", kind, "lower end of the interval"),
        Column("high", kind, "upper end of the interval"),
        Column(found.reference, kind, f"by {_deciding(found).lower()} alone"),
        Column("from", kind),
        Column("to", kind),
        Column(found.panel, kind, "mean of their answers, not corrected"),
        Column("tasks", "integer"),
        Column("labels", "integer", _deciding(found).lower()),
        Column("worth", "integer", f"labels that would be as precise without {found.panel}"),
        *_needed_column(found),
    ]
    shares = ("rate", "low", "high", "human_rate", "human_low", "human_high", "judge_rate")
    rows = [
        [
            *(str(row["group"]), *(_number(row[name]) for name in shares), int(row["tasks"]), int(row["labels"])),
            *(None if pd.isna(row["worth"]) else round(row["worth"]), *_needed(row, found)),
        ]
        for row in found.rates.to_dict("records")
    ]
    return Table("Mean grades" if found.quantity.is_mean else "Rates", columns, rows, folded=True)


def _kind(found: Rates) -> Literal["number", "share"]:
    """How columns write the estimates."""
    return "number" if found.quantity.is_mean else "share"


def _differences(found: Rates) -> Section:
    rows, quantity = found.differences.to_dict("records"), found.quantity
    kind: Literal["number", "points"] = "number" if quantity.is_mean else "points"
    unit = f" in{quantity.unit}" if quantity.unit else ""
    paired = []
    if found.differences["pairs"].any():
        paired = [
            Column("pairs", "integer", "tasks that differ only in their group, which are compared with each other"),
            Column("labelled pairs", "integer", "pairs that have both labels"),
        ]
    columns = [
        Column("first"),
        Column("second"),
        Column("difference", kind, f"second minus first{unit}"),
        Column("low", kind, f"lower end of the interval{unit}"),
        Column("high", kind, f"upper end of the interval{unit}"),
        Column("p-value", "number", "small if there is a difference"),
        Column(found.reference, kind, f"difference by {_deciding(found).lower()} alone{unit}"),
        Column("their p-value", "number"),
        Column(found.panel, kind, f"difference by {found.panel} alone{unit}"),
        Column("labels", "integer", f"{_deciding(found).lower()} in both groups"),
        *paired,
        *_needed_column(found),
    ]
    names = "difference", "low", "high", "p_value", "human_difference", "human_p_value", "judge_difference"
    cells = [
        [
            *(str(row["first"]), str(row["second"]), *(_number(row[name]) for name in names), int(row["labels"])),
            *((int(row["pairs"]), int(row["labelled_pairs"])) if paired else ()),
            *_needed(row, found),
        ]
        for row in rows
    ]
    blocks: list[Block] = [Table(f"Differences{unit}", columns, cells, folded=True)]
    known = [row for row in rows if not pd.isna(row["difference"])][:MOST_NAMED]
    if known:
        titles = [f"{row['second']} minus {row['first']}" for row in known]
        scale, axis = (1, "difference") if quantity.is_mean else (100, "points")
        values, low, high = ([scale * row[name] for row in known] for name in ("difference", "low", "high"))
        text = f"{titles[0]}: {quantity.change(known[0]['difference'])}{quantity.unit}, {quantity.changes(known[0])}."
        blocks.insert(0, ranges("Differences", titles, values, low, high, axis, text, [0] * len(known)))
    words = (
        "An interval without 0 shows a difference. With many groups, some p-values below 0.05 occur by chance: divide "
        "0.05 by the number of comparisons."
    )
    return Section("Differences", words, blocks)


def _needed_column(found: Rates) -> list[Column]:
    if found.half_width is None:
        return []
    asked = found.quantity.wanted(found.half_width)
    meaning = f"more labels from people for {asked} on either side; empty if there are too few tasks"
    return [Column("more labels", "integer", meaning)]


def _needed(row: dict[Any, Any], found: Rates) -> list[int | None]:
    if found.half_width is None:
        return []
    needed = row["labels_needed"]
    return [max(int(needed) - int(row["labels"]), 0) if pd.notna(needed) and needed != float("inf") else None]


def _number(value: Any) -> float | None:
    return None if pd.isna(value) else float(value)  # the page rounds, once
