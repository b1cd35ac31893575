"""What Li and Liang (2017) define and prove, measured: conditions, lemmas, theorems, and Algorithm 1 step by step."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rectifact.bench import Rows
from rectifact.bench.parts import PUBLISHED, paper_start, tdt2_topics
from rectifact.core.rectify import Constant, relu
from rectifact.datasets import MissingDataset, Topics, make_topics
from rectifact.metrics import mixing, total_correlation_error
from rectifact.parts.and_nmf import Threshold, decode, descend, products, stage
from rectifact.parts.conditions import correlation_conditions, decay_order

Parts = NDArray[np.float64]
SMALL = {"n_samples": 1000, "n_features": 200, "n_topics": 20}
QUARTER = 0.25
"""The threshold of Theorems 1 and 5, for weights of zero and one."""


@cache
def _topics() -> Parts | None:
    with suppress(MissingDataset):
        return tdt2_topics()
    return None


def mixtures(kind: Any, quick: bool, **options: Any) -> Topics:
    """Small mixtures of random parts, or those of section 7 with topics of TDT2."""
    if quick:
        return make_topics(kind, **SMALL | options)
    return make_topics(kind, **{"components": None if kind.startswith("neg") else _topics()} | options)


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
        data = mixtures(name.split(",")[0], quick, **options)
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


def _error(H: Parts, truth: Parts) -> float:
    """``||A - A*||_2`` for parts that are scaled like the true ones."""
    own = (H * truth).sum(axis=1) / (truth**2).sum(axis=1)
    return float(np.linalg.norm(H / np.where(np.abs(own) > 1e-12, own, 1)[:, None] - truth, 2))


def _relative_error(H: Parts, truth: Parts) -> float:
    """The same, relative to the true ones, and at least rounding error."""
    return max(_error(H, truth) / float(np.linalg.norm(truth, 2)), 1e-16)


def theorem_1(quick: bool) -> Rows:
    """Weights of zero and one with the threshold 1/4: error by stage for pairs of parts that occur together."""
    rows: Rows = []
    for correlation in (0.0, 0.5, 0.8, 0.95):
        data = mixtures("independent", quick, sparsity=2 if quick else 5, correlation=correlation)
        constants = correlation_conditions(data.weights)
        constants["m allowed"] = _largest_m(constants, len(data.components), np.inf)
        stages = _stages(data, paper_start(data.components), lambda *_: QUARTER, 30)
        for t, (_, H) in enumerate(stages, 1):
            error = _relative_error(H, data.components)
            rows.append({"data": "binary", "pairs": f"correlation {correlation:g}", "stage": t, "error": error})
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
        data = mixtures("independent", quick, sparsity=2 if quick else 5, order=q)
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
                error = _relative_error(H, truth)
                rows.append({"data": f"q = {q:g}", "method": name, "stage": t, "threshold": alpha, "error": error})
            rows[-1] |= found | {"q measured": decay_order(data.weights)}
    return rows


def theorem_5(quick: bool) -> Rows:
    """Weights of zero and one with noise: error after 30 stages with the threshold 1/4, next to the bound's factor."""
    rows: Rows = []
    for kind in ("topics", "signed parts"):
        options = {} if kind == "topics" else {"components": mixtures("neg", quick, n_samples=1).components}
        for gamma in (0.0, 0.001, 0.01, 0.1):
            data = mixtures("binary", quick, sparsity=2 if quick else 5, noise=gamma, **options)
            truth, found = data.components, correlation_conditions(data.weights)
            *_, (_, H) = _stages(data, paper_start(truth), lambda *_: QUARTER, 30)
            sigma = np.linalg.svd(truth, compute_uv=False)
            bound = found["r"] * sigma[0] / (sigma[-1] * found["lambda"]) * gamma
            figures = {"measured": _error(H, truth), "bound without its constant": float(bound)}
            rows += [{"data": kind, "curve": name, "gamma": gamma, "error": value} for name, value in figures.items()]
    return rows


def lemma_2(quick: bool) -> Rows:
    """How far decoded weights z are from Sigma x in the two moments, with a threshold and without."""
    rows: Rows = []
    kinds: dict[str, Any] = {"binary": {"sparsity": 2 if quick else 5}, "dir": {}, "ctm": {}, "ctm-authors": {}}
    for kind, options in kinds.items():
        data = mixtures(kind, quick, **options)
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
    data = mixtures("binary", quick, sparsity=2 if quick else 5)
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
    parts = mixtures("dir", quick, n_samples=1).components
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
