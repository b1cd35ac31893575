"""Report on an evaluation: the decision first, then whom to trust, agreement, bias, gold, doubts, and what to do next.

What was measured in detail follows as reports of their own: rates, agreement and labels.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from rectifact.crowd.advice.foresight import Needed
from rectifact.crowd.data.names import sentence
from rectifact.crowd.evaluation import Evaluation
from rectifact.crowd.panel_caution import compared
from rectifact.crowd.panel_choice import reservation_words
from rectifact.crowd.panel_rates import Rates
from rectifact.crowd.panel_shift import bias_summary
from rectifact.crowd.panel_steps import IN_DOUBT
from rectifact.crowd.panel_words import (
    accuracy_sentence,
    agreement_words,
    decision_words,
    narrower,
    twin_words,
    two_rates_words,
    who,
)
from rectifact.crowd.rate_words import pairs_words
from rectifact.crowd.reference import GOLD
from rectifact.report.agreement import agreement_report, replacing_fact
from rectifact.report.blocks import Block, Chart, Column, Facts, Findings, Matrices, Report, Section, Table
from rectifact.report.charts import histogram, ranges
from rectifact.report.labels import labels_report, plan_blocks
from rectifact.report.rates import rates_report
from rectifact.report.trust import (
    accuracy_chart,
    audit_section,
    bias_blocks,
    excess_chart,
    notes_table,
    tasks_table,
    whiskers,
)

MOST_GROUPS, MOST_TASKS = 12, 200


def evaluation_reports(
    found: Evaluation,
    *,
    needed: Needed | None = None,
    plan: pd.DataFrame | None = None,
    notes: Sequence[str] = (),
) -> list[Report]:
    """The report on the decision, and those with all details.

    Parameters
    ----------
    found : Evaluation
        From :func:`rectifact.evaluate`.
    needed : Needed, default None
        Answers that are needed, from :meth:`rectifact.DawidSkene.labels_needed`.
    plan : DataFrame, default None
        A plan that was made with prices, a budget or a target, from :meth:`rectifact.DawidSkene.next_labels`, to show
        in place of the report's own.
    notes : sequence of str, default ()
        What was said while the answers were read.

    Returns
    -------
    list of Report
        For :func:`rectifact.report.write_report`.

    Examples
    --------
    >>> from rectifact import evaluate
    >>> from rectifact.datasets import make_crowd
    >>> crowd = make_crowd(200, 6, 2, labels_per_task=6, accuracy=(0.8, 0.9), random_state=0)
    >>> reports = evaluation_reports(evaluate(crowd.answers, people=[3, 4, 5], gold=crowd.truth[:60], positive=1))
    >>> [report.title for report in reports if report.folded]
    ['Details: rates', 'Details: rates as people label', 'Details: agreement', 'Details: labels']
    >>> [section.title for section in reports[0].sections]
    ['Decision', 'Whom to trust', 'Agreement', 'Bias', 'Gold audit', 'Tasks in doubt', 'What to do next']
    """
    sections = [_decision(found), _trust(found), _agreement(found), _bias(found)]
    if found.audit is not None:
        sections.append(audit_section(found.audit))
    sections += [_doubts(found), _next(found, needed, plan)]
    if found.findings or notes:
        sections.append(_data(found, notes))
    answers = found.panel.answers
    words = f"{len(answers):,} verdicts from {who(found)} on {len(answers.tasks):,} tasks."
    reports = [Report("Evaluation", words, sections, main=decision_words(found))]
    if found.rates is not None:
        reports.append(_detail(rates_report(found.rates), _title(found.rates)))
    if found.grades is not None and found.grades is not found.rates:
        reports.append(_detail(rates_report(found.grades), _title(found.grades)))
    if found.by_people is not None:
        reports.append(_detail(rates_report(found.by_people), f"{_title(found.by_people)} as people label"))
    if found.agreement is not None:
        agreement = replace(agreement_report(found.agreement, found.replacement), main=[])  # the decision has said it
        reports.append(_detail(agreement, "agreement"))
    return [*reports, _detail(_labels(found, needed), "labels")]


def _title(rates: Rates) -> str:
    return f"{rates.quantity.noun}s"


def _detail(report: Report, title: str) -> Report:
    return replace(report, title=f"Details: {title}", folded=True)


def _labels(found: Evaluation, needed: Needed | None) -> Report:
    """The report on the labels, without what the first one has."""
    report = labels_report(found.model, needed, texts=found.texts)
    kept = []
    for section in report.sections:
        if section.title == "Workers":
            kept.append(replace(section, blocks=[block for block in section.blocks if isinstance(block, Matrices)]))
        elif section.title in ("Overview", "Calibration"):
            kept.append(section)
    return replace(report, sections=kept)


def _decision(found: Evaluation) -> Section:
    words = " ".join(two_rates_words(found))
    return Section("Decision", words, [_main_chart(found), Facts(_key_figures(found))])


def _data(found: Evaluation, notes: Sequence[str]) -> Section:
    items = [_item(finding) for finding in found.findings]
    return Section("About the data", "", [*([Findings(items)] if items else []), *notes_table(notes)])


def _item(found: Any) -> tuple[str, str, str, str]:
    return found.severity, found.finding, found.detail, found.command or found.remedy


def _key_figures(found: Evaluation) -> list[tuple[str, str, str]]:
    facts = []
    if found.rates is not None:
        whole = found.rates.rates.iloc[0]
        quantity = found.rates.quantity
        facts.append((quantity.what, quantity.value(whole["rate"]), quantity.ends(whole)))
        if found.by_people is not None:
            theirs = found.by_people.rates.iloc[0]
            facts.append(("as people label", quantity.value(theirs["rate"]), quantity.ends(theirs)))
        differences, by_people = compared(found)
        for row in differences.head(2).to_dict("records"):
            ends = f"{quantity.unit.strip()}, {quantity.changes(row)}".removeprefix(", ")
            ends += (", as people label" if by_people else "") + pairs_words(row)
            facts.append((f"{row['second']} minus {row['first']}", quantity.change(row["difference"]), ends))
    if found.grades is not None and found.grades is not found.rates:
        mean, quantity = found.grades.rates.iloc[0], found.grades.quantity
        facts.append((quantity.what, quantity.value(mean["rate"]), quantity.ends(mean)))
    if len(found.gaps):
        gap = found.gaps.iloc[0]
        meaning = f"judges with people; people with each other {gap['among_people']:.1%}"
        facts.append(("agreement", f"{gap['with_people']:.1%}", meaning))
    facts += [] if found.replacement is None else [replacing_fact(found.replacement)]
    if found.audit is not None:
        ends = f"of gold labels; {found.audit.low:.1%} to {found.audit.high:.1%}"
        facts.append(("labels right", f"{found.audit.accuracy:.1%}", ends))
    else:
        mean = found.model.probas_.max(axis=1).mean()
        facts.append(("mean confidence", f"{mean:.1%}", "probability of the labels, by the answers alone"))
    return facts


def _main_chart(found: Evaluation) -> Chart:
    """Rates with their intervals, or the confidence of the labels."""
    if found.rates is None:
        return histogram("Confidence of the labels", found.model.probas_.max(axis=1), "confidence", span=(0, 1))
    other = found.by_people
    by_people = other is not None and compared(found)[1]
    rows = found.rates.rates.head(MOST_GROUPS).to_dict("records")
    shown = [(str(row["group"]), row, 0) for row in rows]
    if other is not None and (by_people or narrower(other.rates, found.rates.rates)):
        theirs = other.rates.head(MOST_GROUPS if by_people else 1).to_dict("records")
        shown.append(("as people label", theirs[0], 2))
        shown += [(f"{row['group']}, as people label", row, 2) for row in theirs[1:]]
    shown = [one for one in shown if not np.isnan(one[1]["rate"])]
    names, colours = [name for name, _, _ in shown], [colour for _, _, colour in shown]
    points = [(row["rate"], row["low"], row["high"]) for _, row, _ in shown]
    whole, quantity = rows[0], found.rates.quantity
    alone = (whole["human_rate"], whole["human_low"], whole["human_high"])
    names += [f"{found.rates.reference} alone", f"{found.rates.panel} alone"]
    points += [alone, (whole["judge_rate"],) * 3]
    colours += [1, 5]
    value, low, high = ((1 if quantity.is_mean else 100) * np.array(part) for part in zip(*points, strict=True))
    text = (
        f"Bars are {found.rates.confidence:.0%} intervals. Blue is what {found.rates.reference} and the answers of "
        f"{found.rates.panel} say together; the answers of {found.rates.panel} alone are not corrected."
    )
    if by_people:
        text += " Groups are compared as people label, where the intervals of differences are shorter."
    title = f"{quantity.what[0].upper()}{quantity.what[1:]}"
    return ranges(title, names, value, low, high, "grade" if quantity.is_mean else "percent", text, colours)


def _trust(found: Evaluation) -> Section:
    report = found.workers()
    words = [accuracy_sentence(found), *twin_words(found)]
    table = replace(_trust_table(found, report), note=" ".join(reservation_words(found)))
    return Section("Whom to trust", " ".join(filter(None, words)), [*_accuracies(report), table])


def _accuracies(report: pd.DataFrame) -> list[Chart]:
    inferred = "inferred from all answers together, and too high where workers share errors."
    measured = report["accuracy_by"] == GOLD
    told = f"Accuracies are {inferred}"
    if measured.any():
        told = "Accuracies are measured by gold labels, and sharpened by all answers."
        told += "" if measured.all() else f" Those of workers with few gold labels are {inferred}"
    return [replace(chart, words=f"{chart.words} {told}") for chart in accuracy_chart(report)]


def _trust_table(found: Evaluation, report: pd.DataFrame) -> Table:
    decisions = {} if found.replacement is None else dict(found.replacement.judges[["judge", "decision"]].to_numpy())
    twins: dict[Any, list[str]] = {}
    for one, other, _, _ in found.pairs:
        twins.setdefault(one, []).append(str(other))
        twins.setdefault(other, []).append(str(one))
    gaps = found.gaps.set_index("judge")["gap"].to_dict() if len(found.gaps) else {}
    right = _right_on_gold(found)
    columns = [
        Column("worker"),
        Column("kind"),
        Column("answers", "integer"),
        Column("accuracy", "share", "share of the answers that are expected to be right"),
        Column("90% interval"),
        Column("measured by", "text", "gold labels, or all answers together, which do not show shared errors"),
        Column("on gold", "text", "right answers to tasks with a gold label"),
        Column("replaces people", "text", "by the alternative annotator test; reservations are named below"),
        Column("gap to people", "number", "points by which the judge agrees with people more often than people do"),
        Column("errs like"),
    ]
    rows = []
    for row in report.sort_values("accuracy", ascending=False, kind="stable").to_dict("records"):
        name = row["worker"]
        accuracy = round(float(row["accuracy"]), 6), f"{row['accuracy_low']:.1%} to {row['accuracy_high']:.1%}"
        gap = round(100 * gaps[name], 1) if row["kind"] == "judge" and name in gaps else None
        rows.append(
            [
                str(name),
                row["kind"],
                int(row["answers"]),
                *accuracy,
                row["accuracy_by"],
                right.get(name, ""),
                decisions.get(name, ""),
                gap,
                ", ".join(twins.get(name, [])),
            ]
        )
    return Table("Judges and people", columns, rows)


def _right_on_gold(found: Evaluation) -> dict[Any, str]:
    """How many answers of each worker are right, of those to tasks with a gold label."""
    if found.truth is None:
        return {}
    answers = found.panel.answers
    known = found.truth[answers.task]
    given = np.bincount(answers.worker[known >= 0], minlength=len(answers.workers))
    right = np.bincount(answers.worker[(known >= 0) & (known == answers.label)], minlength=len(answers.workers))
    return {name: f"{r} of {n}" for name, r, n in zip(answers.workers.tolist(), right, given, strict=True)}


def _agreement(found: Evaluation) -> Section:
    blocks: list[Block] = []
    words = " ".join([agreement_words(found), *found.unknown]) or "No two workers answered the same tasks."
    if len(found.gaps) > 1:
        each = found.gaps.iloc[1:]
        names = [str(name) for name in each["judge"]]
        figures = each[["gap", "low", "high"]]
        low = each[each["high"] < 0]["judge"].tolist()
        text = "0: the judge agrees with people as often as people do with each other. "
        text += (
            f"Below it by more than chance explains, each judge taken alone: {sentence(low)}."
            if low
            else "No judge is below it for certain."
        )
        blocks.append(
            whiskers("Agreement with people, compared with people", names, figures, "points", text, [0] * len(each))
        )
    blocks += excess_chart(found.model)
    return Section("Agreement", words, blocks)


def _bias(found: Evaluation) -> Section:
    how = {
        "gold labels": "Measured by gold labels, and sharpened by all answers.",
        "people": "Measured by the consensus of people, and sharpened by the answers of all judges.",
        "": "Measured by the model alone, where a bias that all judges share does not show; with --gold it would.",
    }[found.reference]
    unfit = " A bias that differs between groups (--by) makes a judge unfit to compare them."
    groups = "" if found.groups is None else unfit
    kinds = dict(zip(found.model.workers_.tolist(), np.where(found.panel.is_person, "person", "judge"), strict=True))
    blocks = bias_blocks(found.biases, kinds)
    if found.biases_by_people is not None:
        how += " Biases against people are shown as well."
        blocks += bias_blocks(found.biases_by_people, kinds, than=", compared with people")
    return Section("Bias", f"{bias_summary(found)} {how}{groups}", blocks)


def _doubts(found: Evaluation) -> Section:
    n_doubtful = int((found.model.probas_.max(axis=1) < IN_DOUBT).sum())
    have = "has" if n_doubtful == 1 else "have"
    words = f"{n_doubtful} of {len(found.model.tasks_)} labels {have} a confidence below {IN_DOUBT:.0%}."
    words += " The most uncertain tasks come first."
    if found.texts is None:
        words += " Name a column with the text of the tasks with --text-column to see it here."
    table = tasks_table(found.model, found.model.result(), MOST_TASKS, found.texts)
    return Section("Tasks in doubt", words, [replace(table, folded=True)])


def _next(found: Evaluation, needed: Needed | None, written: pd.DataFrame | None) -> Section:
    words = (
        "For a rate, label tasks drawn at random. To make single labels certain, ask where an answer is expected to "
        "help most: --plan writes such a list."
    )
    steps = Findings([_item(step) for step in found.next_steps()])
    plan = [
        replace(block, folded=True) if isinstance(block, Table) else block
        for block in plan_blocks(found.model, needed, found.people, written)
    ]
    return Section("What to do next", words, [steps, *plan])
