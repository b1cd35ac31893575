"""The calibration section of a report on labels: each answer is left out, and predicted from the others."""

import numpy as np
from scipy.stats import binomtest

from rectifact.core.errors import count
from rectifact.crowd import DawidSkene
from rectifact.report.blocks import Chart, Facts, Section
from rectifact.report.charts import lines

FEW_ANSWERS = 20
"""Fewer answers than this are not shown as a share."""

PER_POINT, MOST_POINTS = 15, 10
"""Gold labels behind a point of the reliability diagram, at least; and points, at most."""


def calibration_section(model: DawidSkene) -> Section:
    """Whether the confidence is calibrated, and whether the answers agree as often as the model expects."""
    temperature = getattr(model, "temperature_", None)
    dispersion = model.resolved_.get("dispersion")
    words = (
        "Confidence is calibrated if nine in ten labels are right among the tasks with a confidence of 90%. Without "
        "true labels, this can be checked only against the answers: each is left out in turn, and compared with what "
        "the others predict. Where answers agree less often than expected, confidence is too high."
    )
    facts = [("calibrated", "no" if temperature is None else "yes", "by --calibrate, calibrate() in Python")]
    by_gold = getattr(model, "calibration_", None)
    if by_gold is not None:
        error = f"{by_gold.error:.2f}", f"{by_gold.error_low:.2f} to {by_gold.error_high:.2f} with 90% probability"
        facts[0] = ("calibrated", "yes", f"by {count(by_gold.n_gold, 'gold label')}")
        facts.append(("calibration error", error[0], f"to expect on other tasks; {error[1]}"))
    if temperature is not None:
        lowered = "1 means no change; below 1, confidence is lowered"
        meaning = "no change: the answers do not contradict the confidence" if temperature == 1 else lowered
        facts.append(("temperature", f"{temperature:.2f}", meaning))
    if dispersion is not None:
        facts.append(("dispersion", f"{dispersion:.2f}", "1 if answers are independent"))
        retreat = model.resolved_["retreat"]
        leaning = "answers to one task are correlated, so confidence leans on the vote"
        facts.append(("weight of the vote", f"{retreat:.2f}", leaning if retreat else "answers pass for independent"))
        worth = f"that the {len(model._answers) / len(model.tasks_):.1f} answers to a task are worth"
        facts.append(("independent answers", f"{model.n_effective_:.1f}", worth))
    charts = [*reliability_chart(model), *agreement_chart(model)]
    return Section("Calibration", words, [Facts(facts), *charts])


def reliability_chart(model: DawidSkene) -> list[Chart]:
    """Confidence of the labels and the share that are right, on tasks with gold labels; no chart without them.

    After a calibration by gold labels, each task is judged by what the others have taught.
    """
    by_gold = getattr(model, "calibration_", None)
    if by_gold is not None:
        probas, truth = by_gold.held_out, by_gold.truth
        source = "Each label was held out from the calibration that it checks."
    else:
        probas, truth = model._judged_gold()
        source = "The fit used these labels to learn how good each worker is, so this looks a little too good."
    if len(truth) < PER_POINT:
        return []
    confidence, right = probas.max(axis=1), probas.argmax(axis=1) == truth
    groups = np.array_split(np.argsort(confidence, kind="stable"), min(len(truth) // PER_POINT, MOST_POINTS))
    means = np.array([[confidence[group].mean(), right[group].mean()] for group in groups])
    intervals = [binomtest(int(right[group].sum()), len(group)).proportion_ci(0.9, "wilson") for group in groups]
    low, high = np.array([(interval.low, interval.high) for interval in intervals]).T
    words = (
        f"{count(len(truth), 'gold label')}: mean confidence {confidence.mean():.1%}, right {right.mean():.1%}. "
        f"Points on the diagonal are calibrated; bars are 90% intervals. {source}"
    )
    span = np.array([means[:, 0].min(), 1.0])
    curves = {"share of right labels": (means[:, 0], means[:, 1]), "calibrated": (span, span)}
    axes = "confidence of the label", "share of right labels"
    within = {"share of right labels": (low, high)}
    return [lines("Confidence and truth", curves, *axes, words, intervals=within, dotted=["calibrated"])]


def agreement_chart(model: DawidSkene) -> list[Chart]:
    """Share of answers that agree with the label which the others give: observed, and expected by the model.

    Answers count by their weights. No chart where no task has two answers.
    """
    left_out = model._held_out()
    if not left_out.weight.sum():
        return []
    label, confidence, weight = left_out.posteriors.argmax(axis=1), left_out.posteriors.max(axis=1), left_out.weight
    agree, expected = left_out.label == label, left_out.expected[np.arange(len(label)), label]
    steps = np.array([0.5, 0.7, 0.8, 0.9, 0.95, 0.99, 0.999])
    names = ["below 50%", "50–70%", "70–80%", "80–90%", "90–95%", "95–99%", "99–99.9%", "above 99.9%"]
    place = np.searchsorted(steps, confidence, side="right")
    count, total = np.bincount(place, minlength=len(names)), np.bincount(place, weight, minlength=len(names))
    kept = np.flatnonzero(count >= min(FEW_ANSWERS, count.max()))
    observed, wanted = (np.bincount(place, weight * x, len(names))[kept] / total[kept] for x in (agree, expected))
    overall = [np.average(x, weights=weight) for x in (agree, expected)]
    words = f"Of all answers, {overall[0]:.1%} agree with what the others predict; the model expects {overall[1]:.1%}."
    places = np.arange(len(kept))
    curves = {"observed": (places, observed), "expected by the model": (places, wanted)}
    axes = "confidence from the other answers", "share of answers that agree"
    return [lines("Answers left out in turn", curves, *axes, words).with_x(names=[names[i] for i in kept])]
