"""Purification under adversarial and unbiased noise: the setting of Li, Liang and Risteski (2016)."""

import warnings
from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rectifact.bench import Rows
from rectifact.parts import PurificationNMF

Noise = Literal["none", "adversarial", "unbiased"]
Parts = NDArray[np.float64]


def planted_parts(n_parts: int = 20, n_features: int = 100, seed: int = 0) -> tuple[Parts, Parts]:
    """Block-like parts with l1 norm 1, and a start that mixes some of the others into each."""
    rng = np.random.default_rng(seed)
    block = np.repeat(np.eye(n_parts), n_features // n_parts, axis=1)
    parts = block * rng.uniform(0.8, 1.2, block.shape) + 0.1 * rng.random(block.shape) * (rng.random(block.shape) < 0.3)
    parts /= parts.sum(axis=1, keepdims=True)
    mixing = rng.random((n_parts, n_parts)) * (1 - np.eye(n_parts))
    return parts, parts + 0.08 * mixing / mixing.sum(axis=1, keepdims=True) @ parts


def noisy_batches(
    parts: Parts,
    noise: Noise,
    level: float,
    *,
    weights: Literal["binary", "uniform"] = "binary",
    n_batches: int = 40,
    n_samples: int = 30_000,
    n_active: float | NDArray[Any] = 3.0,
    seed: int = 0,
) -> Iterator[Parts]:
    """Fresh samples ``w @ parts + noise``, each part active with probability ``n_active / n_parts``.

    Entries of adversarial noise (N1) are at most ``level / n_features``, which for level 1 adds up to as much as a
    part, and depend on the weights: they are signs of a fixed random mixture of them. Unbiased noise (N2) is
    sqrt(n_parts) times as large, with random signs.
    """
    rng = np.random.default_rng(seed)
    n_parts, n_features = parts.shape
    mixture = rng.standard_normal((n_parts, n_features))
    for _ in range(n_batches):
        w = (rng.random((n_samples, n_parts)) < n_active / n_parts) * 1.0
        if weights == "uniform":
            w *= rng.random(w.shape)
        X = w @ parts
        if noise == "adversarial":
            X += level / n_features * np.sign(w @ mixture)
        elif noise == "unbiased":
            X += level * np.sqrt(n_parts) / n_features * rng.choice([-1.0, 1.0], X.shape)
        yield X


def largest_error(components: Parts, parts: Parts) -> float:
    """Largest l1 error of a part, with all parts scaled to l1 norm 1 and in the same order."""
    return float(np.abs(components / np.abs(components).sum(axis=1, keepdims=True) - parts).sum(axis=1).max())


def run_purification(*, quick: bool) -> Rows:
    """Largest error of a part by kind and level of noise, for binary and uniform weights; one row if ``quick``."""
    parts, start = planted_parts()
    cases: list[tuple[Noise, float]] = [("none", 0.0)]
    cases += [("adversarial", level) for level in (0.1, 0.3, 1.0)] + [("unbiased", level) for level in (0.1, 0.3, 1.0)]
    if quick:
        cases = [("unbiased", 0.3)]
    rows: Rows = []
    for noise, level in cases:
        row: dict[str, Any] = {"noise": noise, "level": level, "start": largest_error(start, parts)}
        for weights in ("binary", "uniform"):
            model = PurificationNMF(len(parts), init=start)
            for X in noisy_batches(parts, noise, level, weights=weights):
                model.partial_fit(X)
            row[f"{weights} weights"] = largest_error(model.components_, parts)
        rows.append(row)
    return rows


def run_checks() -> Rows:
    """Weights that sum to one, which Purification cannot handle and has to say so; and its linear decoding."""
    rng = np.random.default_rng(0)
    X = rng.dirichlet(np.ones(4), 2000) @ rng.random((4, 30))
    with warnings.catch_warnings(action="ignore"):
        table = PurificationNMF(4, random_state=0).fit(X).diagnose(X, halves=False)
    worst = table.iloc[0]
    X = (rng.random((5000, 3)) < 0.3) * rng.random((5000, 3)) @ rng.random((3, 20))
    model = PurificationNMF(3, decode="linear", random_state=0).fit(X)
    error = np.linalg.norm(model.inverse_transform(model.transform(X)) - X) / np.linalg.norm(X)
    return [
        {"data": "Dirichlet(1) weights", "severity": worst["severity"], "finding": worst["finding"]},
        {"data": "planted, no noise", "decode": "linear", "relative_error": float(error)},
    ]
