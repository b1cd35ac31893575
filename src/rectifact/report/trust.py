"""Charts and tables about workers, for several reports: accuracies, biases, shared errors, gold labels, doubts."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from rectifact.crowd.advice.audit import Audit
from rectifact.crowd.advice.dependence import excess_agreement
from rectifact.crowd.base import Aggregator
from rectifact.crowd.data.names import matched, object_array, plain_text, sentence
from rectifact.crowd.dawid_skene import DawidSkene
from rectifact.crowd.events import EVERYTHING
from rectifact.crowd.panel_bias import Biases
from rectifact.report.blocks import Block, Chart, Column, Facts, Section, Table
from rectifact.report.charts import heat_map, ranges

MOST_NAMED = 40
"""Workers on a chart."""


def accuracy_chart(report: pd.DataFrame) -> list[Chart]:
    """The accuracy of each worker with its interval, the best first; no chart where accuracies have no intervals.

    ``report`` is that of :meth:`rectifact.DawidSkene.worker_report`, perhaps with ``kind``, judge or person.
    """
    if "accuracy_low" not in report or not len(report):
        return []
    rows = report.sort_values("accuracy", ascending=False, kind="stable")
    shown = _ends(rows)
    is_person = (shown["kind"] == "person").to_numpy() if "kind" in shown else np.zeros(len(shown), dtype=bool)
    names = [
        f"{name} (person)" if person else str(name) for name, person in zip(shown["worker"], is_person, strict=True)
    ]
    best, last = rows.iloc[0], rows.iloc[-1]
    text = f"Highest for {_with_interval(best)}, lowest for {_with_interval(last)}. Bars are 90% intervals."
    if len(rows) > MOST_NAMED:
        text += f" The {MOST_NAMED // 2} best and the {MOST_NAMED // 2} last of {len(rows):,} are shown."
    figures = shown[["accuracy", "accuracy_low", "accuracy_high"]]
    return [whiskers("Accuracy", names, figures, "right answers in percent", text, is_person.astype(int).tolist())]


def whiskers(
    title: str, names: Sequence[str], figures: pd.DataFrame, y: str, words: str, colours: Sequence[int]
) -> Chart:
    """One point per name, with its interval, in percent; the columns are the shares and their lower and upper ends."""
    value, low, high = 100 * figures.to_numpy(dtype=float).T
    return ranges(title, names, value, low, high, y, words, colours)


def _ends(rows: pd.DataFrame) -> pd.DataFrame:
    """The first and the last rows, where there are too many, and an empty one between them that counts the others."""
    if len(rows) <= MOST_NAMED:
        return rows
    gap = pd.DataFrame({"worker": [f"… {len(rows) - MOST_NAMED:,} more …"]})
    return pd.concat([rows.head(MOST_NAMED // 2), gap, rows.tail(MOST_NAMED // 2)])


def _with_interval(row: Any) -> str:
    return f"{row['worker']} ({row['accuracy']:.1%}, {row['accuracy_low']:.1%} to {row['accuracy_high']:.1%})"


def excess_chart(model: DawidSkene) -> list[Chart]:
    """How much more often pairs of workers agree than the model expects; no chart where no two share a task."""
    pairs = excess_agreement(model._answers.one_hot(), model._model)
    if not len(pairs.one):
        return []
    busy = np.sort(np.argsort(-model._answers.given, kind="stable")[:MOST_NAMED])
    place = np.full(len(model.workers_), -1)
    place[busy] = np.arange(len(busy))
    points = 100 * pairs.excess / np.maximum(pairs.common, 1e-9)
    matrix = np.zeros((len(busy), len(busy)))
    shown = (place[pairs.one] >= 0) & (place[pairs.other] >= 0)
    at = place[pairs.one[shown]], place[pairs.other[shown]]
    matrix[at] = matrix[at[::-1]] = points[shown]
    most = int(np.argmax(pairs.scores))
    names = [str(name) for name in model.workers_]
    text = (
        f"Most for {names[pairs.one[most]]} and {names[pairs.other[most]]}: {points[most]:+z.1f} points, "
        f"{pairs.scores[most]:.1f} standard errors. Copies, and judges of one family, agree on errors as well."
    )
    full = max(float(np.ceil(np.abs(matrix).max())), 1.0)
    text += f" A colour is full where a pair agrees {full:.0f} points more, or less, often than expected."
    labels, legend = [names[i] for i in busy], (f"more often: +{full:.0f}", f"less often: -{full:.0f}")
    title, span = "Agreement beyond what the model expects, in points", (-full, full)
    return [heat_map(title, matrix, "worker", labels, text, span=span, legend=legend)]


def bias_blocks(found: Biases, kinds: Mapping[Any, str] | None = None, than: str = "") -> list[Block]:
    """Charts of shifts and of the biases of each class, those that are certain in sentences, and a table of all.

    ``than`` ends the titles.
    """
    blocks: list[Block] = _shift_chart(found, kinds, than)
    whole = found.table[found.table["group"] == EVERYTHING]
    for name, rows in whole.groupby("class", sort=False):
        rows = rows.sort_values("bias", ascending=False, kind="stable")
        shown = _ends(rows)
        colours = [int((kinds or {}).get(worker) == "person") for worker in shown["worker"]]
        text = f"Above 0: the class is given too often. {_certain(found, rows)}"
        workers = [str(worker) for worker in shown["worker"]]
        figures = shown[["bias", "low", "high"]]
        blocks.append(
            whiskers(f"How much too often {plain_text(name)} is said{than}", workers, figures, "points", text, colours)
        )
    bias = Column("bias", "number", "points by which the class is given too often; below 0, too rarely")
    return [*blocks, _measured_table(f"Biases in points{than}", found, found.table, bias, 100, 1)]


def _shift_chart(found: Biases, kinds: Mapping[Any, str] | None, than: str) -> list[Block]:
    """How much too high each worker grades on average, and by group; no chart for labels that are not grades."""
    if found.shifts is None or not len(found.shifts):
        return []
    shifts = found.shifts[found.shifts["group"] == EVERYTHING].sort_values("shift", ascending=False, kind="stable")
    rows, sure = _ends(shifts), shifts.loc[shifts["certain"], "worker"].tolist()
    text = f"More than chance explains for {sentence(sure)}." if sure else "None is more than chance explains."
    colours = [int((kinds or {}).get(worker) == "person") for worker in rows["worker"]]
    names, title = [str(worker) for worker in rows["worker"]], f"How much too high grades are on average{than}"
    chart = ranges(title, names, rows["shift"], rows["low"], rows["high"], "grades", text, colours)
    if len(shifts) == len(found.shifts):
        return [chart]
    shift = Column("shift", "number", "by how much grades are too high on average; below 0, too low")
    by_group = f"How much too high grades are by group{than}"
    return [chart, _measured_table(by_group, found, found.shifts, shift, 1, 2)]


def _measured_table(title: str, found: Biases, rows: pd.DataFrame, figure: Column, scale: float, digits: int) -> Table:
    """Biases or shifts of each worker in each group of tasks, with intervals, times ``scale``."""
    columns = [
        Column("worker"),
        *([Column("class")] if "class" in rows else []),
        Column("tasks of", "text", "group of tasks"),
        figure,
        Column("low", "number", f"lower end of the {found.confidence:.0%} interval"),
        Column("high", "number", f"upper end of the {found.confidence:.0%} interval"),
        Column("p-value", "number", f"small if there is a {figure.name}"),
        Column("labels", "integer", "labels behind it"),
        Column("measured by"),
    ]
    names = [name for name in ("worker", "class", "group") if name in rows]
    values = [
        [
            *(str(row[name]) for name in names),
            *(round(scale * row[name], digits) for name in (figure.name, "low", "high")),
            *(float(f"{row['p_value']:.2g}"), int(row["labels"]), row["against"]),
        ]
        for row in rows.to_dict("records")
    ]
    return Table(title, columns, values, folded=True)


def _certain(found: Biases, rows: pd.DataFrame) -> str:
    """Which biases are certain, and that those of all workers were tested together."""
    sure = rows.loc[rows["certain"], "worker"].tolist()
    off = rows.loc[((rows["low"] > 0) | (rows["high"] < 0)) & ~rows["certain"], "worker"].tolist()
    text = f"More than chance explains for {sentence(sure)}" if sure else "None is more than chance explains"
    text += f"{found.together()}."
    if off:
        text += f" A single bar that misses 0, such as that of {sentence(off[:1])}, can be chance among so many."
    return text


def audit_section(found: Audit) -> Section:
    """How often labels are right, by gold labels that they have not seen."""
    facts = [
        ("right on gold", f"{found.accuracy:.1%}", f"{found.low:.1%} to {found.high:.1%}"),
        ("gold labels", f"{found.n_gold}", f"{found.n_right} of them have the same label"),
        ("promised", f"{found.expected:.1%}", "mean confidence of these labels"),
    ]
    return Section("Gold audit", found.words(), [Facts(facts)])


def notes_table(notes: Sequence[str]) -> list[Block]:
    """What was said while answers were read; nothing if nothing was."""
    return [Table("Notes", [Column("note")], [[note] for note in notes])] if notes else []


def tasks_table(model: Aggregator, result: pd.DataFrame, most: int, texts: Mapping[Any, Any] | None = None) -> Table:
    """The most uncertain tasks first, with the answers that were given and, where there are some, the texts."""
    order = np.argsort(-result["entropy"].to_numpy(), kind="stable")[:most]
    said = _given(model, order)
    frame = result.iloc[order]
    names = ("task", "label", "confidence", "entropy", "answers")
    rows: list[list[Any]] = [
        [str(task), str(label), round(float(sure), 6), round(float(doubt), 3), int(n), text]
        for (task, label, sure, doubt, n), text in zip(
            frame[list(names)].itertuples(index=False, name=None), said, strict=True
        )
    ]
    columns = [
        Column("task"),
        Column("label"),
        Column("confidence", "share"),
        Column("entropy", "number", "uncertainty in bits"),
        Column("answers", "integer"),
        Column("given", "text", "answers and how often they were given"),
    ]
    if texts:
        columns.insert(1, Column("text"))
        shown = _texts_of(frame["task"].tolist(), texts)
        rows = [[row[0], text, *row[1:]] for row, text in zip(rows, shown, strict=True)]
    note = "The file of labels has all tasks." if len(order) < len(result) else ""
    return Table("Tasks by uncertainty", columns, rows, note, left_out=len(result) - len(order))


def _texts_of(tasks: Sequence[Any], texts: Mapping[Any, Any]) -> list[str]:
    known = object_array(list(texts))
    values = [str(text) for text in texts.values()]
    return [values[place] if place >= 0 else "" for place in matched(object_array(list(tasks)), known).tolist()]


def _given(model: Aggregator, order: Any) -> list[str]:
    votes = model._answers.votes()[order]
    classes = [str(name) for name in model.classes_.tolist()]
    texts = []
    for row in votes:
        chosen = np.argsort(-row, kind="stable")[:4]
        texts.append(", ".join(f"{classes[k]} ({row[k]:g}×)" for k in chosen if row[k] > 0))
    return texts
