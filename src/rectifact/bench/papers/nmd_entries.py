"""What Saul (2022) derives for single entries: Tables 4.1 and 4.2 against integrals, Figures 4.1 and 4.2."""

from collections.abc import Callable
from math import sqrt

import numpy as np
from scipy.integrate import quad
from scipy.stats import norm

from rectifact.bench import Rows
from rectifact.kernels.truncated import truncated_moments
from rectifact.latent.nmd import expected


def table(binary: bool, quick: bool) -> Rows:
    """Largest relative difference between our formulas and numerical integration over theta, for some sigma."""
    rows: Rows = []
    for sigma in (0.5,) if quick else (0.1, 0.5, 1.0, 2.0):
        worst: dict[str, float] = {}
        for theta in np.linspace(-3, 3, 7 if quick else 25):
            for name, (ours, integral) in _inferences(float(theta), sigma, binary).items():
                worst[name] = max(worst.get(name, 0), abs(ours - integral) / max(abs(integral), 1e-3))
        rows += [{"sigma": sigma, "quantity": name, "largest relative error": error} for name, error in worst.items()]
    return rows


def _inferences(theta: float, sigma: float, binary: bool) -> dict[str, tuple[float, float]]:
    """Each quantity of Table 4.1 or 4.2: by our formulas, and by integrals over the latent variable."""

    def integral(function: Callable[[float], float], low: float, high: float) -> float:
        low, high = max(low, theta - 12 * sigma), min(high, theta + 12 * sigma)
        points = [theta] if low < theta < high else None
        return quad(lambda z: function(z) * norm.pdf(z, theta, sigma), low, high, points=points, epsabs=1e-13)[0]

    found = {}
    for x, sign, low, high in ((0, 1, -np.inf, 0), (1, -1, 0, np.inf)):
        if x and not binary:
            continue
        moments = truncated_moments(np.array(sign * theta / sigma))
        mass = integral(lambda z: 1, low, high)
        if mass < 1e-9:  # integrals are worth nothing there
            continue
        mean = integral(lambda z: z, low, high) / mass
        variance = integral(lambda z, m=mean: (z - m) ** 2, low, high) / mass  # type: ignore[misc]
        found[f"probability of {x}"] = float(np.exp(moments.log_tail)), mass
        found[f"posterior mean given {x}"] = float(-sign * sigma * moments.d), mean
        found[f"posterior variance given {x}"] = float(sigma**2 * moments.variance), variance
    link = "binary" if binary else "relu"
    value = integral(lambda z: 1 if binary else z, 0, np.inf)
    found["expected value"] = float(expected(np.array([[theta]]), sigma, link)[0, 0]), value
    return found


def figure_4_1(quick: bool) -> Rows:
    """A normal density and its two truncated parts, each with mass 1."""
    theta, sigma = 0.5, 1.0
    rows: Rows = []
    for z in np.linspace(-3, 4, 15 if quick else 141):
        density = float(norm.pdf(z, theta, sigma))
        below = float(norm.cdf(0, theta, sigma))
        parts = {"normal": density, "given x = 0": density / below if z <= 0 else 0.0}
        parts["given x > 0"] = density / (1 - below) if z > 0 else 0.0
        rows += [{"data": "theta 0.5", "method": name, "z": float(z), "density": v} for name, v in parts.items()]
    return rows


def figure_4_2(quick: bool) -> Rows:
    """The expected value by theta, for four variances."""
    rows: Rows = []
    theta = np.linspace(-2, 2, 9 if quick else 81)
    for data, link in (("binary", "binary"), ("non-negative", "relu")):
        for variance in (0.01, 0.1, 0.5, 1.0):
            values = expected(theta[None], sqrt(variance), link)[0]
            where = {"data": data, "variance": f"{variance:g}"}
            rows += [{**where, "theta": float(t), "expected": float(v)} for t, v in zip(theta, values, strict=True)]
    return rows
