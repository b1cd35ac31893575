"""Intervals of agreement on planted panels: how often they hold what very many tasks would give."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rectifact.bench import Extent, Rows
from rectifact.crowd.agreement import Level
from rectifact.crowd.data.people import Panel, read_panel
from rectifact.crowd.panel_agreement import overall_rows, pair_rows
from rectifact.crowd.resampling import Bootstrap

Draw = Callable[[int, np.random.Generator], NDArray[np.float64]]
"""Answers of five workers to so many tasks."""

N_WORKERS = 5
CONFIDENCE = 0.95
N_RESAMPLES = 1000
DRAWS, QUICK_DRAWS = 500, 10

MANY_TASKS = 200_000
"""From which the truth is known well enough: to a hundredth of the length of an interval."""


@dataclass(frozen=True)
class Planted:
    """How panels of a kind are made.

    Attributes
    ----------
    name : str
    level : {"nominal", "ordinal", "interval"}
    classes : array
        All classes.
    draw : callable
        Gives answers.
    missing : float
        Share of the answers that are missing.
    """

    name: str
    level: Level
    classes: NDArray[np.float64]
    draw: Draw
    missing: float

    def panel(self, n_tasks: int, seed: int) -> Panel:
        """A panel of so many tasks."""
        rng = np.random.default_rng(seed)
        said = self.draw(n_tasks, rng)
        said[rng.random(said.shape) < self.missing] = np.nan
        said[np.isnan(said).all(axis=1), 0] = self.classes[0]
        return read_panel(said, level=self.level, classes=self.classes.tolist(), missing=np.nan)


def labels(shares: tuple[float, ...], accuracies: tuple[float, float]) -> Draw:
    """Workers who know the class with a probability between two, and guess otherwise."""

    def draw(n_tasks: int, rng: np.random.Generator) -> NDArray[np.float64]:
        truth = rng.choice(len(shares), n_tasks, p=shares)
        guesses = rng.integers(0, len(shares), (n_tasks, N_WORKERS))
        knows = rng.random((n_tasks, N_WORKERS)) < np.linspace(*accuracies, N_WORKERS)
        return np.where(knows, truth[:, None], guesses).astype(float)

    return draw


def numbers(noise: float, tails: float | None = None) -> Draw:
    """Values of tasks, normal or with the tails of a t distribution, plus bias and noise of each worker, in halves."""

    def draw(n_tasks: int, rng: np.random.Generator) -> NDArray[np.float64]:
        return np.clip(np.round(2 * _scores(n_tasks, noise, tails, rng)) / 2, -8, 8)

    return draw


def grades(noise: float) -> Draw:
    """Five grades, from numbers like those of :func:`numbers`."""

    def draw(n_tasks: int, rng: np.random.Generator) -> NDArray[np.float64]:
        return np.digitize(_scores(n_tasks, noise, None, rng), [-1, -0.3, 0.3, 1]).astype(float)

    return draw


def _scores(n_tasks: int, noise: float, tails: float | None, rng: np.random.Generator) -> NDArray[np.float64]:
    value = rng.normal(size=n_tasks) if tails is None else rng.standard_t(tails, size=n_tasks)
    spread, bias = noise * np.linspace(0.4, 1, N_WORKERS), np.linspace(-0.2, 0.2, N_WORKERS)
    return value[:, None] + bias + spread * rng.normal(size=(n_tasks, N_WORKERS))


HALVES, GRADES = np.arange(-16, 17) / 2, np.arange(5.0)
THREE, TWO = np.arange(3.0), np.arange(2.0)

MIDDLING = Planted("numbers, a fifth missing", "interval", HALVES, numbers(1.0), 0.2)
ALIKE = Planted("numbers, high agreement", "interval", HALVES, numbers(0.4), 0.0)
COMPLETE = Planted("numbers", "interval", HALVES, numbers(1.0), 0.0)
TAILED = Planted("numbers with long tails, a fifth missing", "interval", HALVES, numbers(1.0, tails=4), 0.2)
GRADED = Planted("five grades, a fifth missing", "ordinal", GRADES, grades(1.0), 0.2)
NAMED = Planted("three labels, a fifth missing", "nominal", THREE, labels((0.6, 0.3, 0.1), (0.6, 0.9)), 0.2)
SURE = Planted("three labels, high agreement", "nominal", THREE, labels((0.6, 0.3, 0.1), (0.93, 0.98)), 0.0)
RARE = Planted("two labels, one of them rare", "nominal", TWO, labels((0.93, 0.07), (0.8, 0.95)), 0.0)

PANELS: list[tuple[Planted, int]] = [
    *((MIDDLING, 100), (MIDDLING, 50), (ALIKE, 50), (COMPLETE, 30), (TAILED, 50)),
    *((GRADED, 50), (NAMED, 50), (NAMED, 30), (SURE, 50), (RARE, 50)),
]
"""Kinds of panels, with the number of tasks."""


def run_agreement(extent: Extent) -> Rows:
    """Rows by kind of panel and number of tasks: how often, in percent, 95 % intervals hold the truth.

    Returns
    -------
    list of dict : ``least`` and ``most`` over the coefficients of all workers, ``pair_least`` and ``pair_most`` over
        those of one pair
    """
    rows: Rows = []
    for planted, n_tasks in PANELS:
        draws = QUICK_DRAWS if extent.quick else DRAWS
        rows.append({"panel": planted.name, "tasks": n_tasks, "draws": draws, **coverage(planted, n_tasks, draws)})
    return rows


def coverage(planted: Planted, n_tasks: int, draws: int) -> dict[str, float]:
    """One row of :func:`run_agreement`."""
    truth = _figures(planted.panel(MANY_TASKS, seed=draws), 1, seed=0)
    held: dict[str, list[bool]] = {name: [] for name in truth}
    for seed in range(draws):
        for name, (_, low, high) in _figures(planted.panel(n_tasks, seed), N_RESAMPLES, seed).items():
            if high > low:
                held[name].append(low <= truth[name][0] <= high)
    shares = {name: round(100 * float(np.mean(some)), 1) for name, some in held.items() if some}
    all_workers, pair = (
        [share for name, share in shares.items() if name.startswith("pair ") == of_pair] for of_pair in (False, True)
    )
    return {"least": min(all_workers), "most": max(all_workers), "pair_least": min(pair), "pair_most": max(pair)}


def _figures(panel: Panel, n_resamples: int, seed: int) -> dict[str, tuple[float, float, float]]:
    """Value and interval of each coefficient of all workers, and of the first and the last one."""
    is_numbers = panel.scale.level == "interval"
    bootstrap = Bootstrap(n_resamples, CONFIDENCE, np.random.default_rng(seed), studentized=is_numbers)
    found = {row[1]: tuple(row[2:5]) for row in overall_rows(panel, bootstrap)}
    pair = pair_rows(panel, [0, N_WORKERS - 1], bootstrap)
    return found | {f"pair {row[3]}": tuple(row[4:7]) for row in pair}
