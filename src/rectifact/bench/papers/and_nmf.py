"""Experiments of Li and Liang (2017): Figures 1 and 2, footnote 9, the conditions, lemmas and theorems, measured.

A quick run mixes 20 random parts of 200 features; a full one mixes 100 topics of TDT2 over 1000 words, as in section 7.
"""

import warnings
from collections.abc import Callable
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from sklearn.decomposition import LatentDirichletAllocation

from rectifact.bench import Rows
from rectifact.bench.measure import timed
from rectifact.bench.papers import Curves, Experiment, paper
from rectifact.bench.papers.and_theory import (
    QUARTER,
    SMALL,
    algorithm_1,
    conditions,
    lemma_2,
    lemma_3,
    mixtures,
    proposition_1,
    theorem_1,
    theorem_4,
    theorem_5,
)
from rectifact.bench.parts import METHODS, PUBLISHED, paper_start
from rectifact.core.monitor import Monitor
from rectifact.core.operand import operand
from rectifact.core.rectify import Constant, Geometric
from rectifact.datasets import Topics
from rectifact.metrics import mixing, total_correlation_error
from rectifact.parts.and_nmf import Threshold, and_nmf
from rectifact.parts.baselines import anls, hals
from rectifact.parts.conditions import correlation_conditions
from rectifact.parts.starts import STARTS, find_start, subspace

Parts = NDArray[np.float64]
Follow = Callable[..., Monitor]
Method = Callable[[Topics, Parts, Follow], object]


def _claim(experiment: str, data: str, method: str) -> Any:
    """What the paper says of a method, in any of its variants, on a set, with any of its weights."""
    said = paper("and").printed[experiment].get(data.removesuffix("-authors"), {})
    return said.get(method.split(",")[0].split()[0])


# Figures 1 and 2: curves


def followed(method: Method, data: Topics, start: Parts, n_iter: int, every: int = 5) -> Rows:
    """Total correlation error by iteration and by seconds; the time that it takes to find the error does not count."""
    truth = data.components
    rows: Rows = []
    spent, since = 0.0, perf_counter()

    def look(lift: Parts | None, row: Any) -> None:
        nonlocal spent, since
        spent += perf_counter() - since
        if not rows or row["iter"] > rows[-1]["iteration"]:  # the last check may come twice
            parts = row.U if lift is None else row.U @ lift
            rows.append({"iteration": row["iter"], "seconds": spent, "error": total_correlation_error(parts, truth)})
        since = perf_counter()

    def follow(lift: Parts | None = None) -> Monitor:
        return Monitor(n_iter, tol=0, check_every=every, callbacks=[partial(look, lift)])

    method(data, start, follow)
    return rows


def _and(threshold: Threshold, n_inner: int | None, data: Topics, start: Parts, follow: Follow) -> None:
    and_nmf(data.X, start, threshold=threshold, monitor=follow(), n_inner=n_inner)


def _compressed(threshold: Threshold, data: Topics, start: Parts, follow: Follow) -> None:
    space = subspace(data.X, len(start))
    monitor = follow(space.Vt)
    and_nmf(space.coordinates, start @ space.basis, threshold=threshold, monitor=monitor)


def _alternating(method: Callable[..., Any], signed: bool, data: Topics, start: Parts, follow: Follow) -> None:
    method(data.X, start if signed else np.maximum(start, 0), monitor=follow(), signed=signed)


def _one_word_lda(data: Topics, start: Parts, n_iter: int) -> Parts:
    """LDA as the authors' program runs it: from a random start, on documents whose counts add up to one word."""
    model = LatentDirichletAllocation(
        len(start), learning_method="online", doc_topic_prior=5 / len(start), max_iter=n_iter, random_state=0
    )
    return model.fit(data.X).components_


FOLLOWED: dict[str, tuple[Method, int, int]] = {
    "AND": (partial(_and, PUBLISHED, 50), 200, 10),
    "AND, decay 1.3, compressed": (partial(_compressed, Threshold(Geometric(0.1, 1.3))), 100, 5),
    "HALS": (partial(_alternating, hals, False), 150, 10),
    "ANLS": (partial(_alternating, anls, False), 20, 2),
}
"""Method, iterations, and iterations between two points of its curve."""

SIGNED: dict[str, tuple[Method, int, int]] = {
    "HALS, signed parts": (partial(_alternating, hals, True), 150, 10),
    "ANLS, signed parts": (partial(_alternating, anls, True), 20, 2),
}
REPEATED = {
    "MU": (METHODS["scikit-learn NMF, mu"][0], (10, 30, 100, 300)),
    "LDA": (METHODS["scikit-learn LDA, online"][0], (2, 10)),
    "LDA, one word per document": (_one_word_lda, (1, 5)),
}
"""Methods of scikit-learn, and how many iterations they run; they need non-negative data."""


def _all_curves(kinds: tuple[str, ...], methods: dict[str, Any], quick: bool, experiment: str) -> Rows:
    rows: Rows = []
    for kind in kinds:
        data = mixtures(kind, quick)
        start = paper_start(data.components)
        for name, (method, *lengths) in methods.items():
            if name in REPEATED and kind.startswith("neg"):
                continue
            common = {"data": kind, "method": name}
            if name in REPEATED:
                for n_iter in lengths[0]:
                    found, seconds = timed(method, data, start, n_iter)
                    error = total_correlation_error(found, data.components)
                    rows.append(common | {"iteration": n_iter, "seconds": seconds, "error": error})
            else:
                small = Topics(data.X[:50], data.weights[:50], data.components)
                followed(method, small, start, 1, 1)  # compiles
                rows += [common | row for row in followed(method, data, start, *lengths)]
            rows[-1]["printed"] = _claim(experiment, kind, name)
    return rows


def figure_1(quick: bool) -> Rows:
    """All methods from the same start on the paper's three sets, and on the weights that the authors' program draws."""
    kinds = ("dir", "ctm", "neg", "ctm-authors", "neg-authors")
    return _all_curves(kinds, FOLLOWED | REPEATED, quick, "figure 1")


def footnote_9(quick: bool) -> Rows:
    """HALS and ANLS whose parts may be negative, on signed parts; and on the others, where the authors ran ANLS so."""
    kinds = ("neg", "neg-authors", "dir", "ctm-authors")
    return _all_curves(kinds, {"AND": FOLLOWED["AND"]} | SIGNED, quick, "footnote 9")


def figure_2(quick: bool) -> Rows:
    """Decreasing and constant thresholds; and noise, of the printed scale and of that in the authors' program."""
    falling = [row for kind in ("dir", "ctm", "ctm-authors") for row in _thresholds(kind, quick)]
    return falling + [row for gamma in (0.001, 0.01, 0.05, 0.1) for row in _noisy(gamma, quick)]


def _thresholds(kind: str, quick: bool) -> Rows:
    """Curves on one set under decreasing and constant thresholds."""
    rows: Rows = []
    data = mixtures(kind, quick)
    constants = {f"constant {value:g}": Constant(value) for value in (0.1, 0.01, 0.001)}
    for name, schedule in ({"decreasing": Geometric(0.1, 1.1)} | constants).items():
        method = partial(_compressed, Threshold(schedule, "absolute"))
        curve = followed(method, data, paper_start(data.components), 200)
        curve[-1]["printed"] = _claim("figure 2", kind, name)
        rows += [{"data": f"{kind}, thresholds", "method": name, **row} for row in curve]
    return rows


def _noisy(gamma: float, quick: bool) -> Rows:
    """Curves at one level of noise: as published, with T = 100, and with thresholds that stay above the noise."""
    rows: Rows = []
    n_features = SMALL["n_features"] if quick else 1000
    # The authors' program divides by the number of features, not by its root.
    panels = {"ctm": 1, "ctm-authors": 1, "ctm-authors, authors' unit": n_features}
    for panel, divisor in panels.items():
        level = gamma / np.sqrt(divisor)
        data = mixtures(panel.split(",")[0], quick, noise=level)
        floor = Threshold(PUBLISHED.schedule, "absolute", noise=level / np.sqrt(data.X.shape[1]))
        for name, threshold in {"noise": PUBLISHED, "noise, thresholds above it": floor}.items():
            curve = followed(partial(_and, threshold, 100), data, paper_start(data.components), 100, 10)
            curve[-1]["printed"] = _claim("figure 2", "noise", "gamma")
            rows += [{"data": f"{panel}, {name}", "method": f"gamma {gamma:g}", **row} for row in curve]
    return rows


# Sweeps

SWEPT = ("dir", "ctm-authors", "neg-dir")
"""Sets on which starts are compared."""


def initialization(quick: bool) -> Rows:
    """Error after 200 stages from starts at several distances, in the span of the parts and outside of it."""
    rows: Rows = []
    for kind in SWEPT:
        data = mixtures(kind, quick)
        parts, rng = data.components, np.random.default_rng(0)
        size = np.sqrt(100 / len(parts))  # the norm of U does not depend on the number of parts then
        for ratio in (0.5, 1.0, 1.5, 2.0, 4.0):
            inside = parts + ratio * size * (paper_start(parts) - parts)
            noise = rng.uniform(-0.5, 0.5, parts.shape) * np.abs(parts).mean()
            for name, start in {"A* (I + U)": inside, "A* (I + U) + N": inside + noise}.items():
                distance = _distance(start, parts)
                for schedule, error in _ends(data, start).items():
                    rows.append({"data": kind, "method": f"{name}, {schedule}", **distance, "error": error})
    return rows


def _distance(start: Parts, truth: Parts) -> dict[str, float]:
    """The constants of Definitions 2 and 4."""
    apart = mixing(start, truth)
    return {
        "norm of E": float(np.linalg.norm(apart.others, 2)),
        "norm of Sigma - I": float(np.abs(apart.own - 1).max()),
        "norm of N": float(np.linalg.norm(apart.outside, 2)),
    }


def _ends(data: Topics, start: Parts) -> dict[str, float]:
    """Errors after 200 stages, by the thresholds: the published ones, and higher and relative ones."""
    thresholds = {"0.1 / 1.1^t": PUBLISHED, "0.5 / 1.3^t": Threshold(Geometric(0.5, 1.3))}
    runs = {name: followed(partial(_compressed, kept), data, start, 200, 200) for name, kept in thresholds.items()}
    return {name: rows[-1]["error"] for name, rows in runs.items()}


def definition_2(quick: bool) -> Rows:
    """Constants of the paper's start, and of starts that are found without the truth, in the best order and scale."""
    rows: Rows = []
    for kind in SWEPT:
        data = mixtures(kind, quick)
        truth = data.components
        starts = {"A* (I + U)": paper_start(truth)}
        space = subspace(data.X, len(truth))
        for name in STARTS:
            if not kind.startswith("neg") or name in ("ica", "spa"):
                found = find_start(name, operand(data.X), space, np.random.default_rng(0))
                starts[name] = _in_order(found, truth)
        for name, start in starts.items():
            figures = _distance(start, truth)
            holds = figures["norm of E"] < 1 and figures["norm of Sigma - I"] <= 0.25
            errors = {f"error, {schedule}": error for schedule, error in _ends(data, start).items()}
            errors = {"error of the start": total_correlation_error(start, truth)} | errors
            rows.append({"data": kind, "start": name, **figures, "l below 1": holds, **errors})
    return rows


def _in_order(found: Parts, truth: Parts) -> Parts:
    """Parts in the order of the true ones, scaled so that each has one times its true part."""
    unit = [rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (found, truth)]
    _, order = linear_sum_assignment(-np.abs(unit[1] @ unit[0].T))
    own = mixing(found[order], truth).own
    return found[order] / np.where(np.abs(own) > 1e-12, own, 1)[:, None]


def sparsity(quick: bool) -> Rows:
    """Error after 200 stages by the number of parts in a sample, for Dirichlet, binary and uniform weights."""
    rows: Rows = []
    weights: dict[str, Any] = {"dir": ("dir", {}), "binary": ("binary", {}), "uniform": ("binary", {"order": 1.0})}
    for name, (kind, options) in weights.items():
        for share in (0.05, 0.1, 0.2, 0.4, 0.6):
            count = share * (SMALL["n_topics"] if quick else 100)
            data = mixtures(kind, quick, sparsity=count, **options)
            constants = correlation_conditions(data.weights)
            methods = {"decreasing": PUBLISHED.schedule, "constant 0.25": Constant(QUARTER)}
            for method, schedule in methods.items():
                run = partial(_compressed, Threshold(schedule, "absolute"))
                error = followed(run, data, paper_start(data.components), 200, 200)[-1]["error"]
                rows.append({"data": name, "method": method, "sparsity": count, "error": error, **constants})
    return rows


def _quiet(measure: Callable[[bool], Rows]) -> Callable[[bool], Rows]:
    """Without warnings that runs of a fixed length do not converge."""

    def measured(quick: bool) -> Rows:
        with warnings.catch_warnings(action="ignore"):
            return measure(quick)

    return measured


TIME = Curves("seconds", "error", log_x=True, log_y=True)
EXPERIMENTS = {
    "figure 1": Experiment(_quiet(figure_1), TIME),
    "figure 2": Experiment(_quiet(figure_2), Curves("seconds", "error", log_y=True)),
    "footnote 9": Experiment(_quiet(footnote_9), TIME),
    "initialization": Experiment(initialization, Curves("norm of E", "error", log_y=True)),
    "sparsity": Experiment(sparsity, Curves("sparsity", "error", log_x=True, log_y=True)),
    "conditions": Experiment(conditions),
    "proposition 1": Experiment(proposition_1),
    "definition 2": Experiment(definition_2),
    "algorithm 1": Experiment(algorithm_1, Curves("stage", "error", log_y=True)),
    "lemma 2": Experiment(lemma_2),
    "lemma 3": Experiment(lemma_3, Curves("step", "distance", line="curve", log_y=True)),
    "theorem 1": Experiment(theorem_1, Curves("stage", "error", line="pairs", log_y=True)),
    "theorem 4": Experiment(theorem_4, Curves("stage", "error", log_y=True)),
    "theorem 5": Experiment(theorem_5, Curves("gamma", "error", line="curve", log_x=True, log_y=True)),
}
