"""Report on agreement: overall, by class and by pair, and whether judges may replace people."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from rectifact.crowd.data.names import plain_text, sentence
from rectifact.crowd.panel_agreement import Agreement
from rectifact.crowd.panel_choice import JOINT
from rectifact.crowd.panel_replacement import TOGETHER, Replacement
from rectifact.crowd.replacement import FAILS, MAY, PASSES, RESERVED, TOO_FEW
from rectifact.report.blocks import Block, Chart, Column, Facts, Report, Section, Table
from rectifact.report.charts import heat_map, ranges
from rectifact.report.trust import notes_table

KAPPA = "Cohen's kappa"
MOST_IN_SENTENCE = 8
"""Judges that a sentence names."""

CAVEAT = "The test looks at agreement alone: rectifact evaluate also looks for biases, errors and copies."
MOST_NAMED = 60
"""Workers on a chart."""


def agreement_report(found: Agreement, test: Replacement | None = None, notes: Sequence[str] = ()) -> Report:
    """Sections for the tables of agreement and, where judges were tested, for the decisions; ``notes`` were said.

    Examples
    --------
    >>> from rectifact import agreement
    >>> from rectifact.datasets import make_crowd
    >>> report = agreement_report(agreement(make_crowd(100, 5, 3).answers))
    >>> [section.title for section in report.sections]
    ['Overview', 'Classes', 'Workers', 'Pairs']
    """
    sections = [] if test is None else [_decisions(test)]
    sections.append(_overview(found))
    if len(found.classes):
        sections.append(_classes(found))
    sections += [_workers(found), _pairs(found)]
    kinds = {"nominal": "labels", "ordinal": "ordered grades", "interval": "numbers"}
    words = (
        f"Answers are {kinds[found.level]}. Intervals have a probability of {found.confidence:.0%}: they say what "
        "other tasks, answered by the same workers, would give."
    )
    if notes:
        sections.append(Section("About the data", "", notes_table(notes)))
    return Report("Agreement", words, sections, main=[] if test is None else [*_verdicts(test), *_closeness(found)])


def _verdicts(test: Replacement) -> list[str]:
    """One sentence per outcome of the test, with the judges it is about, and what it leaves open."""
    sentences = {
        PASSES: f"The alternative annotator test at epsilon {test.epsilon:g} is passed by {{}}.",
        FAILS: f"The test at epsilon {test.epsilon:g} is not passed by {{}}.",
        TOO_FEW: "People answered too few tasks to say whether the test is passed by {}.",
    }
    judges = test.judges["judge"].map(lambda name: JOINT if name == TOGETHER else plain_text(name))
    by = {decision: judges[test.judges["decision"] == decision].tolist() for decision in sentences}
    said = [sentences[decision].format(sentence(names, MOST_IN_SENTENCE)) for decision, names in by.items() if names]
    return [*said, CAVEAT] if by[PASSES] else said


def _closeness(found: Agreement) -> list[str]:
    """How often a judge and a person agree, beside two people."""
    shares = found.overall[found.overall["coefficient"] == "observed agreement"].set_index("among")["value"].dropna()
    if not {"judges with people", "people"} <= set(shares.index):
        return []
    return [
        f"A judge and a person agree {shares['judges with people']:.1%} of the time, two people {shares['people']:.1%}."
    ]


def _decisions(test: Replacement) -> Section:
    facts = [
        replacing_fact(test),
        ("epsilon", f"{test.epsilon:g}", "allowance for the cost of people; --epsilon"),
    ]
    decisions = Table(
        "Decisions",
        [
            Column("judge"),
            Column("decision"),
            Column("winning rate", "share", "share of people against whom the judge wins; one half is needed"),
            Column("as good or better", "share", "mean share of tasks where the judge is as good as the person"),
            Column("people", "integer", "people with enough tasks"),
            Column("tasks", "integer", "fewest tasks behind a comparison"),
        ],
        [
            [
                *(str(row["judge"]), row["decision"], _number(row["winning_rate"]), _number(row["advantage"])),
                *(int(row["people"]), int(row["tasks"])),
            ]
            for row in test.judges.to_dict("records")
        ],
    )
    sentences = Table("In words", [Column("decision")], [[sentence] for sentence in test.words()], folded=True)
    people = Table(
        "Judge and person",
        [
            Column("judge"),
            Column("person"),
            Column("tasks", "integer"),
            Column("judge as good", "share", "share of tasks where the judge is as close to the others as the person"),
            Column("person as good", "share", "share of tasks where the person is as close to the others as the judge"),
            Column("p-value", "number", "small if the judge wins"),
            Column("outcome"),
        ],
        [
            [str(judge), str(person), int(tasks), _number(one), _number(other), _number(p), outcome]
            for judge, person, tasks, one, other, p, outcome in test.people.itertuples(index=False, name=None)
        ],
        note=f"The test includes people who share {test.least} tasks with the judge and another person.",
        folded=True,
    )
    words = (
        "The alternative annotator test leaves out each person in turn, and asks who is closer to the remaining "
        "people: the judge, or that person. A judge passes if it wins against half of them or more. To "
        "win, it must be as good as the person on more tasks than the other way round, after epsilon is taken off the "
        "person's share, by a t-test that allows for several people. The test looks at agreement alone: "
    )
    words += (
        "a judge that passes it, but is biased or right less often than people, has a reservation."
        if "reservation" in test.judges
        else "a judge that passes may be biased, or right less often than people, and copies of it pass with it; "
        "rectifact evaluate looks at that."
    )
    return Section("May judges replace people?", words, [Facts(facts), decisions, sentences, people])


def replacing_fact(test: Replacement) -> tuple[str, str, str]:
    """How many judges may replace people, or pass the test where it is all that is known, and the reservations."""
    judges = test.judges[test.judges["judge"] != TOGETHER]
    if "reservation" not in judges:
        passed = int((judges["decision"] == PASSES).sum())
        return "judges that pass the test", f"{passed} of {len(judges)}", f"at epsilon {test.epsilon:g}"
    passed, reserved = (int((judges["decision"] == decision).sum()) for decision in (MAY, RESERVED))
    more = f"; {reserved} more {'passes' if reserved == 1 else 'pass'} the test with a reservation" if reserved else ""
    return "judges that may replace people", f"{passed} of {len(judges)}", f"at epsilon {test.epsilon:g}{more}"


def _overview(found: Agreement) -> Section:
    words = (
        "Observed agreement is the share of equal pairs of answers to a task, averaged over tasks, each of "
        "which counts once however many answers it has. The other coefficients correct it for agreement by chance: 1 "
        "is full agreement, 0 is what chance gives. Kappa and alpha are low where nearly all answers are the same; "
        "Gwet's coefficient is not."
    )
    return Section("Overview", words, [_table("Agreement", found.overall, {"among": "among"})])


def _classes(found: Agreement) -> Section:
    words = (
        "Agreement is how often another worker gives the same class, after one has given it. Kappa compares the class "
        "with all others together."
    )
    return Section("Classes", words, [_table("By class", found.classes, {"among": "among", "class": "class"})])


def _workers(found: Agreement) -> Section:
    rows = found.workers[found.workers["coefficient"] == KAPPA].sort_values("value", ascending=False, kind="stable")
    rows = rows[rows["value"].notna()].head(MOST_NAMED)
    with_people = (found.workers["kind"] != "worker").any()
    whom = "people" if with_people else "all others"
    blocks: list[Block] = []
    if len(rows):
        kinds = rows["kind"].tolist()
        names = [
            f"{name} ({kind})" if with_people else str(name) for name, kind in zip(rows["worker"], kinds, strict=True)
        ]
        best, last = rows.iloc[0], rows.iloc[-1]
        text = f"From {best['value']:.2f} ({best['worker']}) to {last['value']:.2f} ({last['worker']})."
        colours = [1 if kind == "person" else 0 for kind in kinds]
        title = f"{KAPPA} of each worker with {whom}"
        blocks.append(ranges(title, names, rows["value"], rows["low"], rows["high"], "kappa", text, colours))
    columns = {"worker": "worker", "kind": "kind", "with": "with"}
    words = (
        "Each judge is compared with all people, and each person with all other people."
        if with_people
        else "Each worker is compared with all others."
    )
    return Section("Workers", words, [*blocks, _table("By worker", found.workers, columns)])


def _pairs(found: Agreement) -> Section:
    columns = {"first": "first", "second": "second", "kind": "kind"}
    words = "Workers with a high kappa and the same errors may be copies of each other: see rectifact labels."
    return Section("Pairs", words, [*kappa_map(found), _table("By pair", found.pairs, columns)])


def kappa_map(found: Agreement) -> list[Chart]:
    """Cohen's kappa of all pairs as colours; no chart where no pair has one."""
    kappas = found.pairs[found.pairs["coefficient"] == KAPPA].dropna(subset="value")
    if not len(kappas):
        return []
    best, last = (kappas.iloc[place(kappas["value"].to_numpy())] for place in (np.argmax, np.argmin))
    text = (
        f"Highest for {best['first']} and {best['second']} ({best['value']:.2f}), lowest for {last['first']} and "
        f"{last['second']} ({last['value']:.2f})."
    )
    return [_heat(found.matrix(KAPPA), text)]


def _heat(matrix: pd.DataFrame, words: str) -> Chart:
    names = [str(name) for name in matrix.index]
    return heat_map("Cohen's kappa by pair", matrix.to_numpy(), "worker", names, words, span=(-1.0, 1.0))


def _table(title: str, rows: pd.DataFrame, names: dict[str, str]) -> Table:
    columns = [Column(shown) for shown in names.values()]
    columns += [Column("coefficient"), Column("value", "number")]
    columns += [
        Column("low", "number", "lower end of the interval"),
        Column("high", "number", "upper end of the interval"),
    ]
    columns += [Column("tasks", "integer"), Column("note")]
    cells = [
        [
            *(str(row[name]) for name in names),
            row["coefficient"],
            *(_number(row[name]) for name in ("value", "low", "high")),
            int(row["tasks"]),
            row["note"],
        ]
        for row in rows.to_dict("records")
    ]
    return Table(title, columns, cells, folded=title != "Agreement")


def _number(value: Any) -> float | None:
    return None if pd.isna(value) else float(f"{value:.10g}")  # the page rounds, once
