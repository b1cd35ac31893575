"""Experiments of Li and Liang (2017): Figures 1 and 2, footnote 9, the conditions, lemmas and theorems, measured.

A quick run mixes 20 random parts of 200 features; a full one mixes 100 topics of TDT2 over 1000 words, as in section 7.
"""

import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import cache, partial
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from sklearn.decomposition import LatentDirichletAllocation

from rectifact.bench import Rows
from rectifact.bench.measure import timed
from rectifact.bench.papers import Curves, Experiment, paper
from rectifact.bench.parts import METHODS, PUBLISHED, paper_start, tdt2_topics
from rectifact.core.monitor import Monitor
from rectifact.core.operand import operand
from rectifact.core.rectify import Constant, Geometric, relu
from rectifact.datasets import MissingDataset, Topics, make_topics
from rectifact.metrics import mixing, total_correlation_error
from rectifact.parts.and_nmf import Threshold, and_nmf, decode, descend, products, stage
from rectifact.parts.baselines import anls, hals
from rectifact.parts.diagnosis import correlation_conditions, decay_order
from rectifact.parts.starts import STARTS, find_start, subspace

Parts = NDArray[np.float64]
Follow = Callable[..., Monitor]
Method = Callable[[Topics, Parts, Follow], object]
SMALL = {"n_samples": 1000, "n_features": 200, "n_topics": 20}
QUARTER = 0.25
"""The threshold of Theorems 1 and 5, for weights of zero and one."""


@cache
def _topics() -> Parts | None:
    with suppress(MissingDataset):
        return tdt2_topics()
    return None


def _data(kind: Any, quick: bool, **options: Any) -> Topics:
    if quick:
        return make_topics(kind, **SMALL | options)
    return make_topics(kind, **{"components": None if kind.startswith("neg") else _topics()} | options)


def _claim(experiment: str, data: str, method: str) -> Any:
    """What the paper says of a method, in any of its variants, on a set, with any of its weights."""
    said = paper("and").printed[experiment].get(data.removesuffix("-authors"), {})
    return said.get(method.split(",")[0].split()[0])


# Figures 1 and 2: curves


def followed(method: Method, data: Topics, start: Parts, n_iter: int, every: int = 5) -> Rows:
    """Total correlation error by iteration and by seconds; the time that it takes to find the error does not count."""
    truth = data.components
    rows: Rows = [{"iteration": 0, "seconds": 0.0, "error": total_correlation_error(start, truth)}]
    spent, since = 0.0, perf_counter()

    def look(lift: Parts | None, row: Any) -> None:
        nonlocal spent, since
        spent += perf_counter() - since
        if row["iter"] > rows[-1]["iteration"]:  # the last check may come twice
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
        data = _data(kind, quick)
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
    return _all_curves(kinds, SIGNED, quick, "footnote 9")


def figure_2(quick: bool) -> Rows:
    """Decreasing and constant thresholds; and noise, of the printed scale and of that in the authors' program."""
    rows: Rows = []
    for kind in ("dir", "ctm", "ctm-authors"):
        data = _data(kind, quick)
        schedules = {"decreasing": Geometric(0.1, 1.1)} | {
            f"constant {value:g}": Constant(value) for value in (0.1, 0.01, 0.001)
        }
        for name, schedule in schedules.items():
            method = partial(_compressed, Threshold(schedule, "absolute"))
            curve = followed(method, data, paper_start(data.components), 200)
            curve[-1]["printed"] = _claim("figure 2", kind, name)
            rows += [{"data": f"{kind}, thresholds", "method": name, **row} for row in curve]
    for gamma in (0.001, 0.01, 0.05, 0.1):
        rows += _noisy(gamma, quick)
    return rows


def _noisy(gamma: float, quick: bool) -> Rows:
    """Curves at one level of noise: as published, with T = 100, and with thresholds that stay above the noise."""
    rows: Rows = []
    panels = {"ctm, noise": ("ctm", 1.0), "ctm-authors, noise": ("ctm-authors", 1.0)}
    panels["ctm-authors, noise in the authors' unit"] = ("ctm-authors", SMALL["n_features"] if quick else 1000)
    for panel, (kind, divisor) in panels.items():
        level = gamma / np.sqrt(divisor)  # the authors' program divides by the number of features, not by its root
        data = _data(kind, quick, noise=level)
        floor = Threshold(PUBLISHED.schedule, "absolute", noise=level / np.sqrt(data.X.shape[1]))
        for name, threshold in {"": PUBLISHED, ", noise floor": floor}.items():
            curve = followed(partial(_and, threshold, 100), data, paper_start(data.components), 100, 10)
            curve[-1]["printed"] = _claim("figure 2", "noise", "gamma")
            rows += [{"data": panel, "method": f"gamma {gamma:g}{name}", **row} for row in curve]
    return rows


# Sweeps


def initialization(quick: bool) -> Rows:
    """Error after 200 stages from starts at several distances, in the span of the parts and outside of it."""
    rows: Rows = []
    for kind in ("dir", "ctm-authors", "neg-dir"):
        data = _data(kind, quick)
        parts, rng = data.components, np.random.default_rng(0)
        size = np.sqrt(100 / len(parts))  # the norm of U does not depend on the number of parts then
        for ratio in (0.5, 1.0, 1.5, 2.0, 4.0):
            inside = parts + ratio * size * (paper_start(parts) - parts)
            noise = rng.uniform(-0.5, 0.5, parts.shape) * np.abs(parts).mean()
            for name, start in {"A* (I + U)": inside, "A* (I + U) + N": inside + noise}.items():
                rows.append({"data": kind, "start": name, **_distance(start, parts), **_ends(data, start)})
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
    """Errors before the first stage and after the last."""
    before = total_correlation_error(start, data.components)
    runs = {name: followed(partial(_compressed, threshold), data, start, 200, 200) for name, threshold in ENDS.items()}
    return {"error of start": before} | {name: rows[-1]["error"] for name, rows in runs.items()}


ENDS = {"error": PUBLISHED, "error, from 0.5 by 1.3": Threshold(Geometric(0.5, 1.3))}


def definition_2(quick: bool) -> Rows:
    """Constants of the paper's start, and of starts that are found without the truth, in the best order and scale."""
    rows: Rows = []
    for kind in ("dir", "ctm-authors", "neg-dir"):
        data = _data(kind, quick)
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
            rows.append({"data": kind, "start": name, **figures, "l below 1": holds, **_ends(data, start)})
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
        for share in (0.02, 0.05, 0.1, 0.2, 0.4, 0.6) if not quick else (0.05, 0.1, 0.2, 0.4, 0.6):
            count = share * (SMALL["n_topics"] if quick else 100)
            data = _data(kind, quick, sparsity=count, **options)
            constants = correlation_conditions(data.weights)
            methods = {"decreasing": PUBLISHED.schedule, "constant 0.25": Constant(QUARTER)}
            for method, schedule in methods.items():
                run = partial(_compressed, Threshold(schedule, "absolute"))
                error = followed(run, data, paper_start(data.components), 200, 200)[-1]["error"]
                rows.append({"data": name, "method": method, "sparsity": count, "error": error, **constants})
    return rows


# Definitions, lemmas, theorems


def conditions(quick: bool) -> Rows:
    """The constants of Definitions 1 and 3 on the paper's sets, and the largest m that Theorems 1 and 4 allow."""
    rows: Rows = []
    kinds: dict[str, Any] = {
        "dir": {},
        "ctm": {},
        "ctm-authors": {},
        "groups": {},
        "binary": {},
        "binary, order 1": {"order": 1.0},
        "binary, order 4": {"order": 4.0},
    }
    for name, options in kinds.items():
        data = _data(name.split(",")[0], quick, **options)
        found = correlation_conditions(data.weights)
        q, D = decay_order(data.weights), data.weights.shape[1]
        rows.append({"data": name, **found, "q": q, "m allowed": _largest_m(found, D, q)})
    return rows


def _largest_m(found: dict[str, float], D: int, q: float) -> float:
    """What Theorem 4 allows, without its constant; for infinite q it is Theorem 1."""
    r, k, lam = found["r"], found["k"], found["lambda"]
    return float(k * D ** (1 - 1 / q) * lam ** (4 + 4 / q) / r ** (5 + 6 / (q + 1))) if q > 0 else 0.0


def proposition_1(quick: bool) -> Rows:
    """Second moments of the two examples, next to what their printed constants allow."""
    rows: Rows = []
    D, n = (50, 20_000) if quick else (100, 100_000)
    sizes = {"n_samples": n, "n_features": 1, "n_topics": D}
    for s in (2, 5, 10):
        binary = make_topics("binary", sparsity=s, **sizes).weights
        rows.append({"weights": "s-sparse, zero and one", "s": s} | _allowed(binary, s, s**2, 1 - 1 / s))
        as_printed = make_topics("dir", sparsity=s, **sizes).weights
        rows.append({"weights": "Dirichlet(s/D)", "s": s} | _allowed(as_printed, 1, 1 / (s * D), 1 - 1 / s))
        inverse = make_topics("dir", sparsity=1 / s, **sizes).weights
        rows.append({"weights": "Dirichlet(1/(s D))", "s": s} | _allowed(inverse, 1, 1 / s, 1 - 1 / s))
    return rows


def _allowed(x: Parts, k: float, m: float, lam: float) -> dict[str, Any]:
    """Largest and smallest moments, as shares of what the constants k, m and lambda allow; samples blur them by 5 %."""
    n, D = x.shape
    moments = x.T @ x / n
    off = (moments.sum() - np.trace(moments)) / (D * (D - 1))  # all pairs are alike
    shares = {
        "diagonal / (2k/D)": float(np.diag(moments).mean() * D / (2 * k)),
        "others / (m/D^2)": float(off * D**2 / m),
        "(k lambda/D) / least eigenvalue": float(k * lam / D / (np.diag(moments).mean() - off)),
    }
    return shares | {"holds": max(shares.values()) <= 1.05}


def _stages(
    data: Topics, start: Parts, threshold: Callable[[int, Parts], float], n: int
) -> Iterator[tuple[float, Parts]]:
    """Thresholds and parts of AND, stage by stage, where the threshold may depend on the parts."""
    H = start
    for t in range(n):
        alpha = threshold(t, H)
        *_, WtX, WtW = stage(data.X, H, Threshold(Constant(alpha), "absolute"), t)
        H = descend(H, WtX, WtW)
        yield alpha, H


def _normed_error(H: Parts, truth: Parts) -> float:
    """``||A - A* Sigma||_2 / ||A*||_2`` for the best diagonal Sigma, when parts have the scale of the true ones."""
    own = (H * truth).sum(axis=1) / (truth**2).sum(axis=1)
    scaled = H / np.where(np.abs(own) > 1e-12, own, 1)[:, None]
    return float(np.linalg.norm(scaled - truth, 2) / np.linalg.norm(truth, 2))


def theorem_1(quick: bool) -> Rows:
    """Weights of zero and one with the threshold 1/4: error by stage for pairs of parts that occur together."""
    rows: Rows = []
    for correlation in (0.0, 0.5, 0.8, 0.95):
        data = _data("independent", quick, sparsity=2 if quick else 5, correlation=correlation)
        constants = correlation_conditions(data.weights)
        constants["m allowed"] = _largest_m(constants, len(data.components), np.inf)
        stages = _stages(data, paper_start(data.components), lambda *_: QUARTER, 30)
        for t, (_, H) in enumerate(stages, 1):
            error = _normed_error(H, data.components)
            rows.append({"data": "binary", "correlation": correlation, "stage": t, "error": max(error, 1e-16)})
        rows[-1] |= constants
    return rows


def prescribed(constants: dict[str, float], q: float, truth: Parts, factor: float, _: int, H: Parts) -> float:
    """Threshold ``(lambda ||E|| / r)^(2 / (q + 1))`` of a stage that begins with the parts H, from Theorem 4."""
    E = float(np.linalg.norm(mixing(H, truth).others, 2))
    return float(factor * (constants["lambda"] * E / constants["r"]) ** (2 / (q + 1)))


def theorem_4(quick: bool) -> Rows:
    """Weights of order q: the thresholds that the analysis asks for, which needs the truth, and simpler ones."""
    rows: Rows = []
    for q in (1.0, 2.0, 4.0):
        data = _data("independent", quick, sparsity=2 if quick else 5, order=q)
        found, truth = correlation_conditions(data.weights), data.components
        schedules: dict[str, Callable[[int, Parts], float]] = {
            "Theorem 4": partial(prescribed, found, q, truth, 1.0),
            "Theorem 4, three times": partial(prescribed, found, q, truth, 3.0),
            "0.1 / 1.1^t": lambda t, _: 0.1 / 1.1**t,
            "0.1 / 1.3^t": lambda t, _: 0.1 / 1.3**t,
            "constant 0.1": lambda *_: 0.1,
        }
        for name, threshold in schedules.items():
            stages = _stages(data, paper_start(truth), threshold, 60)
            for t, (alpha, H) in enumerate(stages, 1):
                error = max(_normed_error(H, truth), 1e-16)
                rows.append({"data": f"q = {q:g}", "method": name, "stage": t, "threshold": alpha, "error": error})
            rows[-1] |= found | {"q measured": decay_order(data.weights)}
    return rows


def theorem_5(quick: bool) -> Rows:
    """Weights of zero and one with noise: error after 30 stages with the threshold 1/4, next to the bound's factor."""
    rows: Rows = []
    for kind in ("topics", "signed parts"):
        truth = None if kind == "topics" else _data("neg", quick, n_samples=1).components
        for gamma in (0.0, 0.001, 0.01, 0.1):
            options = {} if truth is None else {"components": truth}
            data = _data("binary", quick, sparsity=2 if quick else 5, noise=gamma, **options)
            found = correlation_conditions(data.weights)
            *_, (_, H) = _stages(data, paper_start(data.components), lambda *_: QUARTER, 30)
            sigma = np.linalg.svd(data.components, compute_uv=False)
            own = (H * data.components).sum(axis=1) / (data.components**2).sum(axis=1)
            error = float(np.linalg.norm(H / own[:, None] - data.components, 2))
            bound = found["r"] * sigma[0] / (sigma[-1] * found["lambda"]) * gamma
            rows.append({"data": kind, "gamma": gamma, "error": error, "bound without its constant": float(bound)})
    return rows


def lemma_2(quick: bool) -> Rows:
    """How far decoded weights z are from Sigma x in the two moments, with a threshold and without."""
    rows: Rows = []
    kinds: dict[str, Any] = {"binary": {"sparsity": 2 if quick else 5}, "dir": {}, "ctm": {}, "ctm-authors": {}}
    for kind, options in kinds.items():
        data = _data(kind, quick, **options)
        x, truth = data.weights, data.components
        inverse = np.linalg.pinv(paper_start(truth))
        scale = np.diag(truth @ inverse)  # Sigma: the diagonal of (Sigma_0 + E_0)^-1
        for alpha in (None, 0.0, 0.1, QUARTER):
            Z = data.X @ inverse
            z = Z if alpha is None else relu(Z, alpha)
            figures = {
                "E[z x'] against E[Sigma x x']": _relative(z.T @ x, (x * scale).T @ x),
                "E[z z'] against E[Sigma x z']": _relative(z.T @ z, (x * scale).T @ z),
            }
            rows.append({"data": kind, "threshold": "none" if alpha is None else alpha, **figures})
    return rows


def _relative(found: Parts, wanted: Parts) -> float:
    return float(np.linalg.norm(found - wanted, 2) / np.linalg.norm(wanted, 2))


def lemma_3(quick: bool) -> Rows:
    """The distance of one stage's parts from their goal, step by step, next to the bound."""
    data = _data("binary", quick, sparsity=2 if quick else 5)
    x, truth = data.weights, data.components
    H = paper_start(truth)
    z, n = relu(data.X @ np.linalg.pinv(H), QUARTER), len(x)
    scale = np.diag(truth @ np.linalg.pinv(H))
    goal = np.diag(1 / scale)
    drift = (x * scale).T @ (x * scale) / n  # Lambda = Sigma Delta Sigma
    least, eta = float(np.linalg.eigvalsh(drift)[0]), 0.5 / np.linalg.norm(z.T @ z / n, 2)
    current = mixing(H, truth)
    M = (current.others + np.diag(current.own)).T  # as the paper writes it: A = A* M
    first, worst, rows = np.linalg.norm(M - goal, 2), 0.0, []
    for t in range(1, 201):
        rest = x.T @ z / n - goal @ drift - M @ (z.T @ z / n - drift)
        worst = max(worst, float(np.linalg.norm(rest, 2)))
        M = M + eta * (x.T @ z / n - M @ (z.T @ z) / n)
        bound = float(first * (1 - eta * least) ** t + worst / least)
        figures = {"measured": float(np.linalg.norm(M - goal, 2)), "bound": bound}
        rows += [{"data": "binary", "curve": name, "step": t, "distance": value} for name, value in figures.items()]
    return rows


def algorithm_1(quick: bool) -> Rows:
    """Fresh samples in every step of a stage, as Algorithm 1 is stated, next to all steps on the same samples."""
    rows: Rows = []
    parts = _data("dir", quick, n_samples=1).components
    fixed = make_topics("dir", components=parts, n_samples=2000 if quick else 5000)
    largest = float(np.linalg.norm(fixed.weights.T @ fixed.weights / len(fixed.weights), 2))
    sizes = {"the same samples": 0, "fresh batches of 200": 200, "fresh batches of 20": 20, "fresh single samples": 1}
    for name, size in sizes.items():
        rng, H = np.random.default_rng(1), paper_start(parts)
        eta = (0.05 if size == 1 else 0.5) / largest  # single samples are farther from their mean
        for t in range(60 if quick else 100):
            batches = _batches_of(parts, size, rng) if size else [fixed.X]
            H = _stage(batches, H, t, eta, n_inner=1 if size else N_INNER)
            if t % 5 == 4:
                used = (t + 1) * N_INNER * size if size else len(fixed.X)
                error = total_correlation_error(H, parts)
                rows.append({"data": "dir", "method": name, "stage": t + 1, "samples": used, "error": error})
    return rows


N_INNER = 50
"""Steps of a stage (T)."""


def _batches_of(parts: Parts, size: int, rng: np.random.Generator) -> Iterator[Parts]:
    for _ in range(N_INNER):
        yield make_topics("dir", components=parts, n_samples=size, random_state=rng).X


def _stage(batches: Iterable[Parts], H: Parts, t: int, eta: float, n_inner: int) -> Parts:
    """One stage of Algorithm 1: its steps all decode with the parts of its beginning."""
    first = H
    for X in batches:
        W, _ = decode(X, first, PUBLISHED, t)
        WtX, WtW = products(X, W)
        H = descend(H, WtX / len(X), WtW / len(X), n_inner=n_inner, step=eta)
    return H


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
    "initialization": Experiment(initialization, Curves("norm of E", "error", line="start", log_y=True)),
    "sparsity": Experiment(sparsity, Curves("sparsity", "error", log_x=True, log_y=True)),
    "conditions": Experiment(conditions),
    "proposition 1": Experiment(proposition_1),
    "definition 2": Experiment(definition_2),
    "algorithm 1": Experiment(algorithm_1, Curves("samples", "error", log_x=True, log_y=True)),
    "lemma 2": Experiment(lemma_2),
    "lemma 3": Experiment(lemma_3, Curves("step", "distance", line="curve", log_y=True)),
    "theorem 1": Experiment(theorem_1, Curves("stage", "error", line="correlation", log_y=True)),
    "theorem 4": Experiment(theorem_4, Curves("stage", "error", log_y=True)),
    "theorem 5": Experiment(theorem_5, Curves("gamma", "error", panel="data", line="data", log_x=True, log_y=True)),
}
