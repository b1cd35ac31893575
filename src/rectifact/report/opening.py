"""The first screen of a report on labels: the sentences that matter most, and what to do next."""

from typing import Any

import numpy as np

from rectifact.crowd import DawidSkene
from rectifact.crowd.advice.budget import expected_error
from rectifact.crowd.advice.diagnosis import uninformative
from rectifact.crowd.base import Aggregator
from rectifact.crowd.data.names import NAMED
from rectifact.report.names import count, isolated

SURE, DOUBTFUL = 0.99, 0.8

ENOUGH_GOLD, SOME_GOLD = 100, 20
"""Gold labels that calibrate confidences well (docs/crowd.rst), and those that show whether labels can be trusted."""


def labels_opening(model: Aggregator) -> tuple[list[str], list[str]]:
    """Sentences and next steps for an aggregated crowd."""
    confidence = np.asarray(model.probas_).max(axis=1)
    doubtful = int((confidence < DOUBTFUL).sum())
    sure = float(np.mean(confidence > SURE))
    main = [
        f"{count(len(confidence), 'task')} {'has' if len(confidence) == 1 else 'have'} a label: {sure:.0%} with a "
        f"confidence above {SURE:.0%}, and {count(doubtful, 'label') if doubtful else 'none'} below {DOUBTFUL:.0%}."
    ]
    if not isinstance(model, DawidSkene):
        return main, _steps(model, doubtful)
    main.append(
        f"About {expected_error(model.probas_):.1%} of the labels are expected to be wrong, if the confidences hold."
    )
    workers = model.worker_report().sort_values("information", ascending=False, kind="stable")
    if len(workers) > 1:
        best, last = workers.iloc[0], workers.iloc[-1]
        main.append(
            f"{_worker(best)} is the most informative worker, {_right(best)}; {_worker(last)} is the least "
            f"informative, {_right(last)}."
        )
    return main, _steps(model, doubtful)


def _worker(row: Any) -> str:
    return isolated(row["worker"])


def _right(row: Any) -> str:
    return f"right in {row['accuracy']:.0%} of cases ({row['accuracy_low']:.0%} to {row['accuracy_high']:.0%})"


def _leave_out(model: DawidSkene) -> list[str]:
    """Workers who could be left out, as the diagnosis names them."""
    silent = uninformative(model.workers_, model._model).tolist()
    if not silent:
        return []
    more = f" and {len(silent) - NAMED} more" if len(silent) > NAMED else ""
    names = ", ".join(isolated(name) for name in silent[:NAMED])
    return [f"Leave out {names}{more}, or ask them less often: their answers hardly depend on the class, see Workers."]


def _steps(model: Aggregator, doubtful: int) -> list[str]:
    steps = []
    if doubtful:
        steps.append(
            f"Read the {count(doubtful, 'task')} below {DOUBTFUL:.0%} confidence: they come first under Tasks."
        )
    if isinstance(model, DawidSkene):
        steps += [*_leave_out(model), *_ask(model), *_calibrate(model)]
    else:
        steps.append("Fit DawidSkene as well: it learns what kind of errors each worker makes.")
    return steps


def _ask(model: DawidSkene) -> list[str]:
    """Whether more answers would help, and whose."""
    best = model.next_labels(1)
    if not len(best):
        return []
    if not len(best["workers"].iloc[0]):
        return [
            "Ask somebody new about the tasks under What to label next: all workers have answered the first of them."
        ]
    return ["Ask for more answers where they help most: What to label next says which, and whom to ask."]


def _calibrate(model: DawidSkene) -> list[str]:
    """What is missing for confidences that can be believed: gold labels, or only the option that uses them."""
    if getattr(model, "calibration_", None) is not None:
        return []
    if model._gold is not None:
        return ["Calibrate the confidences by your gold labels: --calibrate."]
    if len(model.tasks_) < 2 * ENOUGH_GOLD:  # whoever labels most tasks needs no confidence in the others
        tasks = count(min(SOME_GOLD, len(model.tasks_)), "task")
        return [f"Label {tasks} yourself, drawn at random, to see how many labels are right: --gold gold.csv."]
    return [f"Label {ENOUGH_GOLD} tasks yourself, and calibrate the confidences by them: --gold gold.csv --calibrate."]
