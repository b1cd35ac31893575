"""What 100 true labels buy on panels of LLM judges: writes docs/images/gold_labels.png and prints the guide's table.

Run it from the root of the repository, with RECTIFACT_DATA set to the folder that holds the panels.
"""

import warnings
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from rectifact import DawidSkene
from rectifact.core.errors import FitWarning
from rectifact.datasets import load_judges
from rectifact.metrics import calibration_error

N_GOLD, DRAWS = 100, 20
PICTURE = Path("docs/images/gold_labels.png")


def panels():
    """Name, answers and truth of each panel; grades of relevance also in two classes."""
    for name in ("relevance33", "stars", "advice", "summaries", "framing"):
        panel = load_judges(name)
        if name == "relevance33":
            yield "relevance, 33 judges, 4 grades", panel.answers, panel.truth
            binary = panel.answers.assign(label=(panel.answers["label"] >= 2).astype(int))
            yield "relevance, 33 judges, 2 grades", binary, (panel.truth >= 2).astype(int)
        else:
            yield f"{name}, 6 judges", panel.answers, panel.truth


def judged(model, truth):
    """Probabilities and classes of the tasks in ``truth``."""
    rows, codes = pd.Index(model.tasks_).get_indexer(truth.index), pd.Index(model.classes_).get_indexer(truth)
    return model.probas_[rows], codes


def error(probas, codes):
    """Share of wrong labels in percent."""
    return 100 * np.mean(probas.argmax(axis=1) != codes)


def measure(answers, truth):
    """Calibration error and error before and after, on tasks without gold labels; a reliability curve of one draw."""
    model = DawidSkene().fit(answers)
    truth = truth[truth.isin(model.classes_) & truth.index.isin(model.tasks_)]
    rows = []
    for seed in range(DRAWS):
        gold = truth.sample(N_GOLD, random_state=seed)
        rest = truth.drop(gold.index)
        model.calibrate(gold=gold)
        after = judged(model, rest)
        model._set_probas(model._model.posteriors)
        before = judged(model, rest)
        rows.append([f(*part) for f in (calibration_error, error) for part in (before, after)])
        if not seed:
            curves = [reliability(*part) for part in (before, after)]
    return np.mean(rows, axis=0), curves


def reliability(probas, codes, n_groups=10):
    """Mean confidence and share of right labels, in groups of equal size."""
    confidence, right = probas.max(axis=1), probas.argmax(axis=1) == codes
    groups = np.array_split(np.argsort(confidence), n_groups)
    return np.array([[confidence[group].mean(), right[group].mean()] for group in groups]).T


def draw(table, curves):
    """The diagram of the first panel beside the calibration errors of all."""
    colours = {"as the judges alone suggest": "#e07b39", "after 100 human labels": "#3b7dd8"}
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), width_ratios=[1, 1.2], layout="constrained")
    left.plot([0, 1], [0, 1], ":", color="#8a8f98")
    for (name, colour), (confidence, share) in zip(colours.items(), curves, strict=True):
        left.plot(confidence, share, "o-", color=colour, label=name)
    left.set(xlim=(0.2, 1), ylim=(0.2, 1), xlabel="confidence of the label", ylabel="share of right labels")
    left.set_title(table.index[0], fontsize=11)
    left.legend(frameon=False, loc="upper left")
    places = np.arange(len(table))[::-1]
    for colour, column, shift in zip(colours.values(), ("before", "after"), (0.18, -0.18), strict=True):
        right.barh(places + shift, table[column], 0.34, color=colour)
    right.set_yticks(places, table.index)
    right.set(xlabel="calibration error")
    right.set_title("Six panels of LLM judges", fontsize=11)
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(PICTURE, dpi=110)


def main():
    """Measure, draw, and print."""
    warnings.simplefilter("ignore", FitWarning)
    names, figures, first = [], [], None
    for name, answers, truth in panels():
        found, curves = measure(answers, truth)
        first = first or curves
        names.append(name)
        figures.append(found)
    table = pd.DataFrame(figures, names, ["before", "after", "error before", "error after"])
    draw(table, first)
    print(table.round({"before": 2, "after": 2, "error before": 1, "error after": 1}).to_string())


if __name__ == "__main__":
    main()
