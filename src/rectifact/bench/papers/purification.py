"""Experiments of Li, Liang and Risteski (2016): its theorems, lemmas and assumptions, measured.

The paper prints no figures of its own. Streams mix 20 block-like parts of 100 features, as in
:mod:`rectifact.bench.parts_purification`; where the analysis assumes infinitely many samples, all weights of zero and
one are listed with their probabilities, so that expectations are exact.
"""

import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from itertools import pairwise, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rectifact.bench import Rows
from rectifact.bench.measure import timed
from rectifact.bench.papers import Curves, Experiment
from rectifact.bench.parts_purification import largest_error, noisy_batches, planted_parts
from rectifact.core.linalg import pseudo_inverse
from rectifact.core.rectify import shifted_relu
from rectifact.datasets import MissingDataset, load_tdt2, make_topics
from rectifact.metrics import mixing
from rectifact.parts import ANDNMF
from rectifact.parts.conditions import independence_conditions
from rectifact.parts.diagnosis import CONSTANT_SUM, DEPENDENT
from rectifact.parts.inverses import least_infinity_inverse
from rectifact.parts.purification import Inverse, Purifier, begin, purify, sampling_floor, step_size

Parts = NDArray[np.float64]
NEAR = 0.1
"""Distance of a start from the truth that the theorems allow (l)."""

ACTIVE = 3.0
"""Parts in a sample, on average (s)."""

DECREASING = partial(step_size, 0.5)


def _batches(quick: bool) -> dict[str, Any]:
    return {"n_batches": 25, "n_samples": 8000} if quick else {"n_batches": 40, "n_samples": 30_000}


def stream(
    batches: Iterator[Parts],
    start: Parts,
    *,
    eta: Callable[[int], float] = DECREASING,
    inverse: Inverse = pseudo_inverse,
    balance: bool = False,
    unit: str = "component",
) -> Iterator[Parts]:
    """Parts after each step of Algorithm 1, with a fresh batch for every step."""
    state: Purifier | None = None
    for t, X in enumerate(batches):
        if state is None:
            state = begin(X, start, threshold=0.2, inverse=inverse, balance=balance, unit=unit)
        state, _ = purify(state, X, eta=eta(t), inverse=inverse)
        yield state.H


def _norms(H: Parts, truth: Parts) -> dict[str, float]:
    """What A3 and the theorems bound: the least own share, and the norms of E and N, as the paper takes them."""
    apart = mixing(H, truth)
    return {
        "least Sigma": float(apart.own.min()),
        "norm of E": float(np.abs(apart.others).sum(axis=1).max()),
        "symmetrised norm of E": _both(apart.others),
        "norm of N": float(np.abs(apart.outside).sum(axis=1).max()),
    }


def _both(E: Parts) -> float:
    return float(max(np.abs(E).sum(axis=axis).max() for axis in (0, 1)))


def _noise_unit(parts: Parts) -> float:
    """``m / max(m, n ||A^+||)``: what the theorems divide the noise by, next to the number of features m."""
    n, m = parts.shape
    inverse = float(np.abs(least_infinity_inverse(parts)).sum(axis=0).max())
    return m / max(m, n * inverse)


def _floor(quick: bool, n_parts: int = 20) -> float:
    """Error that the number of samples alone explains."""
    sizes = _batches(quick)
    return sampling_floor(n_parts, sizes["n_batches"] * sizes["n_samples"])


def _curve(parts: Parts, start: Parts, common: dict[str, Any], batches: Iterator[Parts], **options: Any) -> Rows:
    """Largest error of a part by step; the last row has the norms of E and N."""
    rows: Rows = [{**common, "step": 0, "error": largest_error(start, parts)}]
    for t, H in enumerate(stream(batches, start, **options), 1):
        rows.append({**common, "step": t, "error": largest_error(H, parts)})
    rows[-1] |= _norms(H, parts)
    return rows


def _noisy(noise: Any, quick: bool) -> Rows:
    """Curves by the level c of the noise, and the error that the theorem allows: 2c for normalised parts."""
    parts, start = planted_parts()
    unit, rows = _noise_unit(parts), []
    for c in (0.0, 0.1, 0.3, 1.0):
        kind: Any = noise if c else "none"
        batches = noisy_batches(parts, kind, c * unit, n_active=ACTIVE, **_batches(quick))
        rows += _curve(parts, start, {"noise": noise, "level": f"c = {c:g}"}, batches)
        largest = unit * c / parts.shape[1] * (len(parts) ** 0.5 if noise == "unbiased" else 1)
        noise_in_sample = largest * parts.shape[1]
        rows[-1] |= {"allowed": 2 * c, "l1 norm of the noise in a sample": noise_in_sample, "of the signal": ACTIVE}
        rows[-1]["sampling floor"] = _floor(quick)
    return rows


def theorem_1(quick: bool) -> Rows:
    """Adversarial noise, independent weights of zero and one."""
    return _noisy("adversarial", quick)


def theorem_2(quick: bool) -> Rows:
    """Unbiased noise, larger by the root of the number of parts."""
    return _noisy("unbiased", quick)


def _general(noise: Any, quick: bool) -> Rows:
    """Uniform weights, unequal frequencies, and a start with something outside of the span of the parts."""
    parts, start = planted_parts()
    unit, rows = _noise_unit(parts), []
    rng = np.random.default_rng(1)
    outside = rng.uniform(-1, 1, parts.shape)
    outside *= 0.05 / np.abs(outside).sum(axis=1, keepdims=True)
    cases: dict[str, tuple[Any, Any, Parts]] = {
        "uniform weights": ("uniform", ACTIVE, start),
        "frequencies 1 to 2": ("binary", np.linspace(2, 4, len(parts)), start),
        "frequencies 1 to 8": ("binary", np.geomspace(1, 8, len(parts)), start),
        "start with N": ("binary", ACTIVE, start + outside),
    }
    for name, (weights, active, begun) in cases.items():
        for c in (0.1, 0.3):
            batches = noisy_batches(parts, noise, c * unit, weights=weights, n_active=active, **_batches(quick))
            rows += _curve(parts, begun, {"data": name, "level": f"c = {c:g}"}, batches)
            rows[-1] |= {"allowed": 2 * c, "sampling floor": _floor(quick)}
    return rows


def theorem_6(quick: bool) -> Rows:
    """Adversarial noise under the general assumptions."""
    return _general("adversarial", quick)


def theorem_7(quick: bool) -> Rows:
    """Unbiased noise under the general assumptions."""
    return _general("unbiased", quick)


def constant_steps(quick: bool) -> Rows:
    """Steps of a constant size, as published, with that of the proof (l/6); and steps that decrease."""
    parts, start = planted_parts()
    sizes: dict[str, Callable[[int], float]] = {"decreasing": DECREASING}
    sizes |= {f"constant {eta:.2g}": partial(_always, eta) for eta in (0.5, 0.1, NEAR / 6)}
    rows: Rows = []
    for noise in ("none", "unbiased"):
        for name, eta in sizes.items():
            batches = noisy_batches(parts, noise, 1.0 if noise != "none" else 0.0, **_batches(quick))
            rows += _curve(parts, start, {"noise": noise, "steps": name}, batches, eta=eta)
    return rows


def _always(eta: float, _: int) -> float:
    return eta


def balancing(quick: bool) -> Rows:
    """The preparation of section 6, for parts of unequal frequency and for weights of unequal size."""
    parts, start = planted_parts()
    rows: Rows = []
    for unequal, ratio in (("frequencies", 1), ("frequencies", 4), ("frequencies", 16), ("sizes", 16), ("sizes", 64)):
        spread = np.geomspace(1, ratio, len(parts)) if ratio > 1 else np.ones(len(parts))
        active = ACTIVE * spread / spread.mean() if unequal == "frequencies" else ACTIVE
        truth = parts if unequal == "frequencies" else parts / np.sqrt(spread)[:, None]
        for unit in ("component", "absolute"):
            row: dict[str, Any] = {"unequal": unequal, "C2 / c2": ratio, "threshold": unit}
            for balance in (False, True):
                batches = noisy_batches(truth, "none", 0.0, n_active=active, **_batches(quick))
                *_, H = stream(batches, start, balance=balance, unit=unit)
                row["error, balanced" if balance else "error"] = largest_error(H, parts)
            rows.append(row)
    return rows


def inverses(quick: bool) -> Rows:
    """The pseudo-inverse, and the left inverse of least norm that Algorithm 1 asks for, under adversarial noise."""
    rows: Rows = []
    for overlap in (0.1, 1.0):
        parts, start = _overlapping(overlap)
        for name, inverse in {"pseudo-inverse": pseudo_inverse, "least norm": least_infinity_inverse}.items():
            for c in (0.1, 0.3):
                batches = noisy_batches(parts, "adversarial", c, **_batches(True) | {"n_batches": 10 if quick else 25})
                *_, H = stream(batches, start, inverse=inverse)
                P, seconds = timed(inverse, parts)
                norm = float(np.abs(P).sum(axis=0).max())
                figures = {"error": largest_error(H, parts), "norm of the inverse": norm, "seconds": seconds}
                rows.append({"overlap": overlap, "c": c, "inverse": name, **figures})
    return rows


def _overlapping(share: float, n: int = 10, m: int = 50, seed: int = 0) -> tuple[Parts, Parts]:
    """Parts that share some of their features, and a start near them."""
    rng = np.random.default_rng(seed)
    parts = np.repeat(np.eye(n), m // n, axis=1) + share * rng.random((n, m)) * (rng.random((n, m)) < 0.3)
    parts /= parts.sum(axis=1, keepdims=True)
    others = rng.random((n, n)) * (1 - np.eye(n))
    return parts, parts + 0.08 * others / others.sum(axis=1, keepdims=True) @ parts


# Assumptions


def assumptions(quick: bool) -> Rows:
    """A1 and A2 on planted and real weights, and A3 for the starts of this module."""
    parts, start = planted_parts()
    rows: Rows = []
    weights = make_topics("independent", components=parts, sparsity=ACTIVE).weights
    rows.append({"data": "planted stream", **independence_conditions(weights, parts), **_norms(start, parts)})
    sizes: dict[str, Any] = {"n_samples": 1000, "n_features": 200, "n_topics": 20} if quick else {}
    for kind in ("dir", "ctm", "binary", "independent"):
        data = make_topics(kind, **sizes)
        rows.append({"data": kind, **independence_conditions(data.weights, data.components)})
    if not quick:
        with suppress(MissingDataset), warnings.catch_warnings(action="ignore"):
            X = load_tdt2().X
            model = ANDNMF(30, random_state=0).fit(X)
            rows.append({"data": "TDT2", **independence_conditions(model.transform(X), model.components_)})
    for row in rows:
        row["A2 holds"] = bool(
            row["correlation"] < DEPENDENT and row["constant sum"] > CONSTANT_SUM and row["balance"] <= 2
        )
    return rows


# Exact expectations


def all_weights(n: int, p: float) -> tuple[Parts, Parts]:
    """All 2^n weights of zero and one, and their probabilities if each part is there with probability p."""
    W = np.array(list(product([0.0, 1.0], repeat=n)))
    return W, np.prod(np.where(W > 0, p, 1 - p), axis=1)


def expected_update(X: Parts, probability: Parts, H: Parts, alpha: float | None) -> Parts:
    """``E[(x - x')(w - w')]`` of the decoded weights w; without the ReLU for ``alpha=None``."""
    Z = X @ np.linalg.pinv(H)
    w = Z if alpha is None else shifted_relu(Z, alpha)
    return 2 * ((w * probability[:, None]).T @ X - np.outer(probability @ w, probability @ X))


def _mixed_start(n: int, seed: int = 0) -> Parts:
    """Shares of the true parts in those of a start: E has norm l and opposite signs on both sides of the diagonal."""
    E = np.random.default_rng(seed).standard_normal((n, n))
    E = E - E.T
    return np.eye(n) + NEAR * E / _both(E)


def potentials(quick: bool) -> Rows:
    """The positive and negative parts of E by iteration, and their weighted sum, with the ReLU and without."""
    n, alpha, beta = 8 if quick else 12, 0.2, 4.0
    p = 1 / n
    W, probability = all_weights(n, p)
    rows: Rows = []
    for name, threshold in {"ReLU": alpha, "no ReLU": None}.items():
        H = _mixed_start(n)
        r = 1 / (2 * p * (1 - p) * (1 - (threshold or 0.0)))
        eta, history = 0.1, []
        for t in range(200):
            E = mixing(H, np.eye(n)).others
            a, b = _both(np.maximum(E, 0)), _both(np.maximum(-E, 0))
            history.append((a, b))
            values = {"positive": a, "negative": b, "a + 4 b": a + beta * b}
            common = {"decoding": name, "iteration": t}
            rows += [common | {"curve": curve, "norm": value} for curve, value in values.items()]
            H = (1 - eta) * H + r * eta * expected_update(W, probability, H, threshold)
        rows[-1] |= _recurrences(history, eta)
    return rows


def _recurrences(history: list[tuple[float, float]], eta: float) -> dict[str, float]:
    """The least h with which the printed recurrences for a and b hold in every iteration."""
    excess = [
        max(
            (after[0] - (1 - 3 / 25 * eta) * a - 7 * eta * b) / eta,
            (after[1] - (1 - 24 / 25 * eta) * b - eta * a / 100) / eta,
        )
        for (a, b), after in pairwise(history)
    ]
    return {"least h": max(0.0, *excess)}


def lemmas(quick: bool) -> Rows:
    """The constants with which Lemmas 3 to 5 hold, by the number of parts: they should not grow."""
    rows: Rows = []
    alpha = 0.2
    for n in (6, 8, 10) if quick else (6, 8, 10, 12):
        W, probability = all_weights(n, ACTIVE / n)
        rng = np.random.default_rng(n)
        shares = _mixed_start(n, seed=n)
        Z = np.linalg.inv(shares.T)  # as the paper writes it: A = A* (Sigma + E), with parts in columns
        found = mixing(expected_update(W, probability, shares, alpha), np.eye(n))
        changes = found.others.T
        off = ~np.eye(n, dtype=bool)
        negative, positive = off & (Z < 0), off & (Z >= 0)
        figures = {
            "Lemma 3 (1), of |Z| / n^2": float((np.abs(changes.T) / np.abs(Z))[negative].max() * n**2),
            "Lemma 3 (2), upper, of Z / n": float((changes.T / np.abs(Z))[positive].max() * n),
            "Lemma 3 (2), lower, of Z / n^2": float((-changes.T / np.abs(Z))[positive].max(initial=0) * n**2),
            "Lemma 4, of (1/Sigma - alpha) / n": float((found.own / (1 / np.diag(shares) - alpha)).min() * n),
        }
        parts = np.hstack([np.eye(n), np.zeros((n, 2 * n))])
        level = 0.1 / (3 * n)
        noise = level * np.sign(W @ rng.standard_normal((n, 3 * n)) + 1e-9)
        outside = mixing(expected_update(W @ parts + noise, probability, shares @ parts, alpha), parts).outside
        rows.append({"parts": n, **figures, "Lemma 5, of C / n": float(np.abs(outside).max() / level * n)})
    return rows


EXPERIMENTS = {
    "theorem 1": Experiment(theorem_1, Curves("step", "error", panel="noise", line="level", log_y=True)),
    "theorem 2": Experiment(theorem_2, Curves("step", "error", panel="noise", line="level", log_y=True)),
    "theorem 6": Experiment(theorem_6, Curves("step", "error", line="level", log_y=True)),
    "theorem 7": Experiment(theorem_7, Curves("step", "error", line="level", log_y=True)),
    "constant steps": Experiment(constant_steps, Curves("step", "error", panel="noise", line="steps", log_y=True)),
    "balancing": Experiment(balancing),
    "inverses": Experiment(inverses),
    "assumptions": Experiment(assumptions),
    "potentials": Experiment(potentials, Curves("iteration", "norm", panel="decoding", line="curve", log_y=True)),
    "lemmas": Experiment(lemmas),
}
