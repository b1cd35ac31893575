"""The calibration section of a report on labels: each answer is left out, and predicted from the others."""

from typing import Any

import numpy as np
from scipy.special import softmax

from rectifact.core.errors import count
from rectifact.crowd import DawidSkene
from rectifact.crowd.data.answers import Answers
from rectifact.crowd.em import by_class, retreated
from rectifact.report.blocks import Chart, Facts, Section
from rectifact.report.charts import lines

FEW_ANSWERS = 20
"""Fewer answers than this are not shown as a share."""

LEAST_LOG = -1e3
"""Instead of the logarithm of zero."""


def calibration_section(model: DawidSkene) -> Section:
    """Whether the confidence is calibrated, and whether the answers agree as often as the model expects."""
    temperature = getattr(model, "temperature_", None)
    dispersion = model.resolved_.get("dispersion")
    words = (
        "Confidence is calibrated if nine in ten labels are right among the tasks with a confidence of 90 %. Without "
        "true labels, this can be checked only against the answers: each is left out in turn, and compared with what "
        "the others predict. Where answers agree less often than expected, confidence is too high."
    )
    facts = [("calibrated", "no" if temperature is None else "yes", "by --calibrate, calibrate() in Python")]
    by_gold = getattr(model, "calibration_", None)
    if by_gold is not None:
        error = f"{by_gold.error:.2f}", f"{by_gold.error_low:.2f} to {by_gold.error_high:.2f} with 90 % probability"
        facts[0] = ("calibrated", "yes", f"by {count(by_gold.n_gold, 'gold label')}")
        facts.append(("calibration error", error[0], f"to expect on other tasks; {error[1]}"))
    if temperature is not None:
        lowered = "1 is no change; below 1, confidence is lowered"
        meaning = "no change: the answers do not contradict the confidence" if temperature == 1 else lowered
        facts.append(("temperature", f"{temperature:.2f}", meaning))
    if dispersion is not None:
        facts.append(("dispersion", f"{dispersion:.2f}", "1 if answers are independent"))
        retreat = model.resolved_["retreat"]
        leaning = "answers to one task are correlated, so confidence leans on the vote"
        facts.append(("weight of the vote", f"{retreat:.2f}", leaning if retreat else "answers pass for independent"))
        worth = f"that the {len(model._answers) / len(model.tasks_):.1f} answers to a task are worth"
        facts.append(("independent answers", f"{model.n_effective_:.1f}", worth))
    return Section("Calibration", words, [Facts(facts), agreement_chart(model)])


def left_out(model: DawidSkene) -> Any:
    """Posterior of each answer's task without that answer, of shape (n_answers, n_classes)."""
    answers, fitted = model._answers, model._model
    n_classes, weight = len(model.classes_), _weights(answers)
    cells = np.maximum(fitted.log_confusions, LEAST_LOG)  # so that what one answer adds can be taken away again
    own = weight[:, None] * cells[answers.worker, answers.label]
    joint = np.maximum(fitted.log_priors, LEAST_LOG) + answers.one_hot() @ cells.reshape(-1, len(fitted.log_priors))
    posteriors = by_class(softmax(joint[answers.task] - own, axis=1), n_classes)
    if not fitted.retreat:
        return posteriors
    counted = np.asarray(fitted.vote_weights)
    votes = answers.one_hot() @ np.kron(counted[:, None], np.eye(n_classes))
    others = votes[answers.task] - (weight * counted[answers.worker])[:, None] * np.eye(n_classes)[answers.label]
    return retreated(posteriors, np.maximum(others, 0), None, fitted.retreat)


def _weights(answers: Answers) -> Any:
    return np.ones(len(answers)) if answers.weight is None else answers.weight


def agreement_chart(model: DawidSkene) -> Chart:
    """Share of answers that agree with the label which the others give: observed, and expected by the model.

    Answers count by their weights.
    """
    answers, without = model._answers, left_out(model)
    label, confidence, weight = without.argmax(axis=1), without.max(axis=1), _weights(answers)
    agree = answers.label == label
    # p(answer = label) = sum over true classes of p(class | other answers) p(worker says label | class)
    expected = np.einsum("ac,ac->a", model.confusions_[answers.worker, label], without)
    steps = np.array([0.5, 0.7, 0.8, 0.9, 0.95, 0.99, 0.999])
    names = ["below 50 %", "50–70 %", "70–80 %", "80–90 %", "90–95 %", "95–99 %", "99–99.9 %", "above 99.9 %"]
    place = np.searchsorted(steps, confidence, side="right")
    count, total = np.bincount(place, minlength=len(names)), np.bincount(place, weight, minlength=len(names))
    kept = np.flatnonzero(count >= min(FEW_ANSWERS, count.max()))
    observed, wanted = (np.bincount(place, weight * x, len(names))[kept] / total[kept] for x in (agree, expected))
    overall = [np.average(x, weights=weight) for x in (agree, expected)]
    words = f"Of all answers, {overall[0]:.1%} agree with what the others predict; the model expects {overall[1]:.1%}."
    curves = {"observed": (kept, observed), "expected by the model": (kept, wanted)}
    axes = "confidence from the other answers", "share of answers that agree"
    chart = lines("Answers left out in turn", curves, *axes, words)
    chart.layout["xaxis"] |= {"tickmode": "array", "tickvals": kept.tolist(), "ticktext": [names[i] for i in kept]}
    return chart
