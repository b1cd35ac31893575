"""Whether confidence can be believed: each answer left out in turn, and compared with what the others predict."""

from typing import Any

import numpy as np

from rectifact.crowd import DawidSkene
from rectifact.report.blocks import Chart, Facts, Section
from rectifact.report.charts import lines

__all__ = ["agreement_chart", "calibration_section", "left_out"]

FEW_ANSWERS = 20
"""Answers of which a share says nothing."""


def calibration_section(model: DawidSkene) -> Section:
    """How sure labels are, and whether answers bear it out."""
    temperature = getattr(model, "temperature_", None)
    dispersion = model.resolved_.get("dispersion")
    words = (
        "Confidence is right if, among tasks with confidence 90 %, nine in ten labels are right. Without any truth "
        "only the answers can tell: each answer is left out in turn, and compared with what the others predict for it. "
        "Where it agrees less often than expected, confidence is too high."
    )
    facts = [("calibrated", "no" if temperature is None else "yes", "by --calibrate, calibrate() in Python")]
    if temperature is not None:
        meaning = (
            "no change: nothing spoke against the confidence"
            if temperature == 1
            else "1 is no change, lower is less sure"
        )
        facts.append(("temperature", f"{temperature:.2f}", meaning))
    if dispersion is not None:
        too_high = dispersion > 1.1 and temperature is None
        meaning = (
            "answers stray together: confidence is too high, calibrate it"
            if too_high
            else "1 where answers are independent"
        )
        facts.append(("dispersion", f"{dispersion:.2f}", meaning))
    return Section("Calibration", words, [Facts(facts), agreement_chart(model)])


def left_out(model: DawidSkene) -> Any:
    """Posterior of each answer's task without that answer, of shape (n_answers, n_classes)."""
    answers, fitted = model._answers, model._model
    with np.errstate(divide="ignore", invalid="ignore"):
        log_odds = np.log(fitted.posteriors)[answers.task] - fitted.log_confusions[answers.worker, answers.label]
    log_odds = np.where(np.isfinite(log_odds), log_odds, -np.inf)
    log_odds[np.isneginf(log_odds).all(axis=1)] = 0.0
    odds = np.exp(log_odds - log_odds.max(axis=1, keepdims=True))
    return odds / odds.sum(axis=1, keepdims=True)


def agreement_chart(model: DawidSkene) -> Chart:
    """Share of answers that agree with the label which the others give: observed, and expected by the model."""
    answers, without = model._answers, left_out(model)
    label, confidence = without.argmax(axis=1), without.max(axis=1)
    agree = answers.label == label
    # p(answer = label) = sum over true classes of p(class | other answers) p(worker says label | class)
    expected = np.einsum("ac,ac->a", model.confusions_[answers.worker, label], without)
    steps = np.array([0.5, 0.7, 0.8, 0.9, 0.95, 0.99, 0.999])
    names = ["below 50 %", "50–70 %", "70–80 %", "80–90 %", "90–95 %", "95–99 %", "99–99.9 %", "above 99.9 %"]
    place = np.searchsorted(steps, confidence, side="right")
    count = np.bincount(place, minlength=len(names))
    kept = np.flatnonzero(count >= min(FEW_ANSWERS, count.max()))  # of fewer a share says nothing
    observed, wanted = (
        np.bincount(place, weights=w, minlength=len(names))[kept] / count[kept] for w in (agree, expected)
    )
    words = (
        f"Over all answers, {agree.mean():.1%} agree with what the others say; the model expects {expected.mean():.1%}."
    )
    curves = {"observed": (kept, observed), "expected by the model": (kept, wanted)}
    axes = "confidence from the other answers", "share of answers that agree"
    chart = lines("Answers left out in turn", curves, *axes, words)
    chart.layout["xaxis"] |= {"tickmode": "array", "tickvals": kept.tolist(), "ticktext": [names[i] for i in kept]}
    return chart
