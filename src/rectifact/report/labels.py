"""Report of an aggregated crowd: which workers are good, which tasks are uncertain, what to do next."""

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd
from scipy.sparse.csgraph import connected_components

from rectifact.core.errors import FitWarning
from rectifact.core.findings import Finding
from rectifact.crowd import DawidSkene
from rectifact.crowd.advice.audit import Audit
from rectifact.crowd.advice.budget import expected_error
from rectifact.crowd.advice.foresight import Needed
from rectifact.crowd.advice.summary import Summary, summary_of
from rectifact.crowd.base import Aggregator
from rectifact.crowd.panel_bias import model_biases
from rectifact.report.blocks import Block, Column, Facts, Findings, Matrices, Report, Section, Table
from rectifact.report.calibration import calibration_section
from rectifact.report.charts import bars, heat_map, histogram, lines
from rectifact.report.names import count
from rectifact.report.trust import accuracy_chart, audit_section, bias_blocks, excess_chart, notes_table, tasks_table

MOST_TASKS, MOST_WORKERS, MOST_MATRICES, MOST_PLANNED, MOST_ON_MAP = 20_000, 20_000, 60, 200, 60
LEAST_ERROR = 1e-6
"""Share of wrong labels from which on it is said how to lower it."""

MOST_CLASSES = 12
"""Classes of a confusion matrix; more make unreadable tables."""


def labels_report(
    model: Aggregator,
    needed: Needed | None = None,
    *,
    plan: pd.DataFrame | None = None,
    audit: Audit | None = None,
    texts: Mapping[Any, Any] | None = None,
    notes: Sequence[str] = (),
) -> Report:
    """Sections for any aggregator; confusion matrices, calibration, diagnosis and plans for those that have them.

    Parameters
    ----------
    model : Aggregator
    needed : Needed, default None
        Answers that are needed, to show instead of those that would halve the error.
    plan : DataFrame, default None
        With prices, a budget, a target or workers, to show instead of one without them.
    audit : Audit, default None
        How often labels are right that have seen no gold label.
    texts : mapping, default None
        Text by task, to show beside tasks.
    notes : sequence of str, default ()
        What was said when the answers were read.
    """
    summary = summary_of(model)
    sections = [_overview(model, summary), _workers(model, summary.workers), _tasks(model, summary.result, texts)]
    if audit is not None:
        sections.append(audit_section(audit))
    if isinstance(model, DawidSkene):
        findings = [*([] if audit is None else audit.findings()), *summary.findings]
        sections += [calibration_section(model), _diagnosis(findings), _worker_graph(model)]
        sections.append(_next(model, needed, plan))
    else:
        sections.append(_worker_graph(model))
    if notes:
        sections.append(Section("About the data", "", notes_table(notes)))
    words = (
        f"{count(len(model._answers), 'answer')} from {count(len(model.workers_), 'worker')} on "
        f"{count(len(model.tasks_), 'task')}, aggregated by {type(model).__name__}."
    )
    return Report("Labels", words, sections)


def _texts(values: Any) -> list[str]:
    return [str(value) for value in np.asarray(values).tolist()]


def _overview(model: Aggregator, summary: Summary) -> Section:
    result = summary.result
    votes, given = model._answers.votes(), result["answers"].to_numpy()
    several = given > 1
    unanimous = several & ((votes > 0).sum(axis=1) == 1)
    chosen = pd.Index(model.classes_).get_indexer(pd.Index(model.labels_))
    changed = votes[np.arange(len(votes)), chosen] < votes.max(axis=1)
    facts = [
        ("tasks", f"{len(model.tasks_):,}", ""),
        ("workers", f"{len(model.workers_):,}", ""),
        ("answers per task", f"{given.mean():.1f}", "on average"),
        ("unanimous", _share(unanimous.sum(), several.sum()), "of the tasks with several answers"),
        ("against the vote", f"{changed.sum():,}", "tasks whose label is not the most common answer"),
        ("mean confidence", f"{result['confidence'].mean():.1%}", "probability of the label under the model"),
        ("uncertain", f"{(result['entropy'] > 0.5).sum():,}", "tasks with an entropy above 0.5 bits"),
    ]
    classes = _texts(model.classes_)
    found = np.bincount(chosen, minlength=len(classes)) / len(model.tasks_)
    shares = bars("Labels found", classes, found, "share of tasks", _listing(classes, found))
    confidence = histogram("Confidence", result["confidence"], "confidence", span=(0, 1))
    words = (
        "Each task has one true label, and each worker makes their own kind of errors. The labels are "
        "inferred from all answers; confidence is the probability of the label given all answers."
    )
    return Section("Overview", words, [Facts(facts), shares, confidence])


def _names(workers: list[Any]) -> str:
    """Names, each kept apart from the direction of writing of the others."""
    return ", ".join(f"\u2068{name}\u2069" for name in workers)


def _share(part: Any, whole: Any) -> str:
    return f"{part / whole:.1%}" if whole else "–"


def _listing(names: list[str], shares: Any) -> str:
    return "; ".join(f"{name}: {share:.1%}" for name, share in list(zip(names, shares, strict=True))[:20]) + "."


def _workers(model: Aggregator, report: pd.DataFrame) -> Section:
    by = "information" if "information" in report else "agreement"
    report = report.sort_values(by, ascending=False, kind="stable")
    helps = {
        "accuracy": "share of the answers that are expected to be right",
        "accuracy_low": "lower end of a 90% interval",
        "accuracy_high": "upper end of a 90% interval",
        "information": "bits that one answer provides; 0 means no information",
        "spammer": "0: always right; 1: the answers do not depend on the task",
        "agreement": "expected share of right answers",
        "independence": "how much an answer counts compared with an independent one",
    }
    families = report["family"].tolist() if "family" in report else []
    biases = report.columns[report.columns.str.startswith("bias_")]
    helps |= dict.fromkeys(biases, "how much too often the class is given, by the inferred labels")
    numbers = [*report.columns.drop(["worker", "answers", "family", *biases], errors="ignore"), *biases[:12]]
    columns = [Column("worker"), Column("answers", "integer")]
    columns += [Column(name.replace("_", " ", 1), _form(name), helps.get(name, "")) for name in numbers]
    shown = report.head(MOST_WORKERS)
    rows = [
        [str(worker), int(answers), *(round(float(figure), 3) for figure in figures)]
        for worker, answers, *figures in shown[["worker", "answers", *numbers]].itertuples(index=False, name=None)
    ]
    if any(families):
        columns.append(Column("family", "text", "the first of the workers who give the same answers"))
        rows = [[*row, family] for row, family in zip(rows, families, strict=False)]
    blocks: list[Block] = [*accuracy_chart(report), Table("Workers", columns, rows, left_out=len(report) - len(shown))]
    if isinstance(model, DawidSkene):
        blocks += bias_blocks(model_biases(model), than=", by the inferred labels")
    if hasattr(model, "confusions_"):
        blocks.append(_confusions(model, report.index.to_numpy()))
    return Section(
        "Workers",
        "Ranked by how much information their answers provide. A worker who is always wrong in the same way is as "
        "informative as one who is always right; one who answers at random provides no information.",
        blocks,
    )


def _form(name: str) -> Literal["share", "number"]:
    return "share" if name.startswith(("accuracy", "agreement")) else "number"


def _confusions(model: Any, order: Any) -> Matrices:
    """Matrices of the first and the last in rank, true classes in rows."""
    chosen = order if len(order) <= MOST_MATRICES else np.r_[order[: MOST_MATRICES // 2], order[-MOST_MATRICES // 2 :]]
    few = slice(None, MOST_CLASSES)
    names = _texts(model.classes_)[few]
    all_shown = len(model.classes_) <= MOST_CLASSES
    note = "" if all_shown else f"The first {MOST_CLASSES} of {len(model.classes_)} classes."
    given = model._answers.given
    matrices = model._shown_matrices() if isinstance(model, DawidSkene) else model.confusions_
    items = [
        (str(model.workers_[i]), count(int(given[i]), "answer"), matrices[i].T[few, few].round(4).tolist())
        for i in chosen.tolist()
    ]
    return Matrices("Confusion matrices", "true", "answered", names, items, note, len(order) - len(chosen))


def _tasks(model: Aggregator, result: pd.DataFrame, texts: Mapping[Any, Any] | None) -> Section:
    words = "The most uncertain tasks first, with the answers that were given."
    return Section("Tasks", words, [tasks_table(model, result, MOST_TASKS, texts)])


def _diagnosis(findings: list[Finding]) -> Section:
    items = [(found.severity, found.finding, found.detail, found.command or found.remedy) for found in findings]
    return Section("Diagnosis", "What could be wrong with the answers, and what to do about it.", [Findings(items)])


def _next(model: DawidSkene, needed: Needed | None, plan: pd.DataFrame | None) -> Section:
    blocks = plan_blocks(model, needed, plan=plan)
    words = "The tasks where one more answer is expected to help most, and whom to ask."
    if isinstance(blocks[0], Table) and not blocks[0].rows:
        blocks, words = blocks[1:], "No task is left where one more answer is expected to help."
    return Section("What to label next", words, blocks)


def plan_blocks(
    model: DawidSkene,
    needed: Needed | None,
    asked: Sequence[Any] | None = None,
    plan: pd.DataFrame | None = None,
) -> list[Block]:
    """The tasks where an answer is expected to help most, and how many answers it takes; ``asked`` of these workers.

    A ``plan`` that was made with prices, a budget or a target is shown as it is.
    """
    if plan is None and asked is not None:
        with warnings.catch_warnings(action="ignore", category=FitWarning):  # the page says it in its own words
            plan = model.next_labels(MOST_PLANNED, workers=list(asked))
        note = f"These are the first {len(plan)}; --plan writes more." if len(plan) == MOST_PLANNED else ""
        return [_purchase(plan, note), *_curve(model, needed, asked)]
    if plan is not None and "worker" in plan:
        note = f"The first {MOST_PLANNED} of {len(plan):,} answers of the plan." if len(plan) > MOST_PLANNED else ""
        return [_purchase(plan.head(MOST_PLANNED), note), *_curve(model, needed, asked)]
    plan = model.next_labels(min(MOST_PLANNED, len(model.tasks_)))
    columns_of_plan = (plan[name].tolist() for name in ("task", "gain", "entropy", "workers"))
    rows = [
        [str(task), round(gain, 4), round(doubt, 3), _names(workers) or "somebody new"]
        for task, gain, doubt, workers in zip(*columns_of_plan, strict=True)
    ]
    columns = [
        Column("task"),
        Column("gain", "number", "bits that one more answer is expected to provide"),
        Column("entropy", "number", "uncertainty in bits"),
        Column("ask", "text", "workers whose answers would provide most; somebody new where all have answered"),
    ]
    return [Table("Next labels", columns, rows), *_curve(model, needed)]


def _purchase(plan: pd.DataFrame, note: str) -> Table:
    """Answers one by one, with prices where these differ."""
    priced = bool((plan["cost"] != 1).any())
    columns = {
        "task": Column("task"),
        "worker": Column("ask"),
        **({"cost": Column("cost", "number"), "spent": Column("spent", "number", "in all so far")} if priced else {}),
        "gain": Column("gain", "number", "wrong labels that the answer is expected to prevent"),
        "error": Column("error", "share", "wrong labels to expect after this answer and those before it"),
    }
    digits = {"cost": 4, "spent": 4, "gain": 4, "error": 9}
    rows = [
        [str(row[name]) if name not in digits else round(float(row[name]), digits[name]) for name in columns]
        for row in plan.to_dict("records")
    ]
    return Table("Next labels", list(columns.values()), rows, note)


def _curve(model: DawidSkene, needed: Needed | None, asked: Sequence[Any] | None = None) -> list[Block]:
    """The expected error against answers bought; none where no answers can be bought."""
    error = expected_error(model.probas_)
    if needed is None and error > LEAST_ERROR:
        needed = model.labels_needed(error / 2, workers=asked)
    if needed is None or len(needed.curve) < 2:
        return []
    curves = {"expected error": (needed.curve["answers"], needed.curve["error"])}
    words = (
        f"{needed.words()} This is a simulation in which answers are drawn from the model, and each is bought knowing "
        "those before it; a plan that is written all at once may promise another number. The expected errors follow "
        "from the probabilities: calibrate these first."
    )
    chart = lines("Expected error against answers bought", curves, "more answers", "share of wrong labels", words)
    return [chart.with_y(form="share", zero=True)]


def _worker_graph(model: Aggregator) -> Section:
    """Tasks that pairs of workers share: the graph that identifies the model."""
    answered = model._answers.answered()
    answered.data = np.ones_like(answered.data)
    busy = np.argsort(-answered.sum(axis=0), kind="stable")[:MOST_ON_MAP]
    own = answered[:, busy]
    shared = (own.T @ own).toarray()
    np.fill_diagonal(shared, 0)
    pairs = shared[np.triu_indices(len(busy), 1)]
    names = _texts(model.workers_[busy])
    words = f"{(pairs > 0).sum()} of {len(pairs)} pairs share tasks."
    if len(busy) < len(model.workers_):
        words += f" The {len(busy)} busiest of {len(model.workers_)} workers are shown."
    chart = heat_map("Tasks shared by pairs of workers", shared, "worker, by number of answers", names, words)
    components = connected_components(answered.T @ answered, directed=False)[0]
    facts = [("groups of workers", str(components), "that share no task with each other; 1 is best")]
    return Section(
        "Worker graph",
        "The model learns who is good from tasks that several workers answered. Groups that share no task cannot be "
        "compared.",
        [Facts(facts), chart, *(excess_chart(model) if isinstance(model, DawidSkene) else [])],
    )
